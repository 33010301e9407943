"""Random functions of torch tensors, compiled and against eager torch: views, writes through them, indices, reductions, products,
scalars, lists of tensors, loops and branches on sizes.

    python tensor_programs.py COUNT SEED [gradients|training|modes|batches|complex|derivatives|reshaped]

Prints what differs and ends with 1 if anything does. `compare(seed)` is one program; `compare(seed, "gradients")` one whose
arguments require gradients, which are compared as well, and for some those of the gradients; `compare(seed, "training")` one that
calls backward() itself, too, and uses what its arguments have in `grad`; compare(seed, "modes") one of these with parts under
autocast, whose calls are under autocast or not; compare(seed, "batches") one with gradients that calls torch.vmap();
compare(seed, "complex") one of complex numbers, their parts and conjugates, and of views of one as the other, every second with gradients;
compare(seed, "reshaped") one that changes sizes of tensors in place, every second with gradients;
compare(seed, "derivatives") one with gradients that calls functions of torch.func and classes of torch.autograd.Function.
"""

import contextlib
import random
import re
import sys

import numpy as np
import tensor_derivatives
import torch

import frameloom

UNARY = ("relu", "exp", "tanh", "neg", "abs", "sigmoid", "square", "clone", "contiguous", "floor", "sign", "isnan")
BINARY = ("+", "-", "*", "/", "<", ">=", "==")
REDUCTIONS = ("sum", "mean", "amax", "amin", "cumsum", "softmax", "argmax", "flip")
SMOOTH_UNARY = ("tanh", "neg", "sigmoid", "clone", "contiguous", "square")
SMOOTH = ("gelu", "silu", "softplus", "log_softmax", "softmax", "elu", "logsigmoid", "hardswish")
# What is told of a tensor, x, beside its numbers; of two, x and y.
FACTS = (
    "x.type()", "x.half().type()", "x.dtype", "str(x.dtype)", "x.device", "str(x.device)", "x.layout", "x.shape", "x.size()[1:]", "x.shape + (1,)",
    "(2,) + x.shape[:1]", "x.shape * 2", "0 * x.shape", "x.shape + x.shape[1:]", "torch.Size([3]) + x.shape", "tuple(x.shape)", "list(x.shape[::-1])",
    "x.shape == (4, 6)", "x.shape.numel()", "x.stride()", "x.stride(-1) if x.dim() else 0", "x.storage_offset()", "x.numel()", "x.nelement()", "x.dim()",
    "x.ndim", "x.itemsize", "x.nbytes", "x.element_size()", "x.is_contiguous()", "x.requires_grad", "x.is_leaf", "x._is_view()", "x.is_floating_point()",
    "x.is_complex()", "x.is_signed()", "x.is_inference()", "x.is_cuda", "x.is_cpu", "x.is_meta", "x.is_sparse", "x.is_quantized", "x.get_device()",
    "x.retains_grad", "x.output_nr", "x.grad_fn is None", "x.mT.shape if x.dim() > 1 else x.T.shape", "torch.is_tensor(x)", "torch.numel(x)",
    "torch.result_type(x, 2.0)", "torch.result_type(x, y)", "torch.promote_types(x.dtype, y.dtype)", "torch.can_cast(x.dtype, torch.int32)",
    "torch.finfo(x.float().dtype).eps", "x.is_same_size(y)", "x is y", "type(x).__name__", "isinstance(x, torch.Tensor)", "x.type_as(y).dtype",
    "torch.broadcast_shapes(x.shape, (1,))", "x.is_set_to(y)", "x.data.requires_grad", "torch.is_floating_point(x)", "torch.is_nonzero(x.new_ones(1))",
    "x.new_zeros(2).dtype", "x.new_empty((0,)).shape", "x.size(0) if x.dim() else None", "len(x) if x.dim() else None", "x.T.is_contiguous()",
    "x.untyped_storage().nbytes()", "x.is_conj()", "x.is_neg()", "hash(x.dtype) == hash(y.dtype)", "{x.dtype: 1}.get(torch.float32)", "x.cpu() is x",
    "x.contiguous() is x", "x.to(y.dtype) is x", "x.float() is x", "f'{x.dtype} {x.shape}'", "repr(x.shape)", "x.__class__.__name__", "x.is_nested",
    "x.layout == torch.strided", "callable(x.sum)", "hasattr(x, 'grad')", "x.is_shared()", "x.dtype.itemsize", "x.dtype.is_floating_point",
    "x.dtype.to_complex() if x.dtype.is_floating_point else None", "x.device.type", "x.device.index", "x.device == y.device", "torch.get_default_dtype()",
)  # fmt: skip
INPLACE = ("add_", "mul_", "sub_", "copy_")


class Program:
    """The source of a random function of tensors a, b (rows, columns), c (columns,) and an index i (rows,), and what makes its
    arguments. Of every fourth the arguments are so large that a run writes straight into them."""

    def __init__(self, seed, kind=None):
        self.gradients, self.training, self.modes = kind is not None, kind in ("training", "modes"), kind == "modes"
        self.batches, self.complex, self.derivatives = kind == "batches", kind == "complex", kind == "derivatives"
        self.random = random.Random(seed)
        self.reshaped = kind == "reshaped"
        self.gradients &= not (self.complex or self.reshaped) or seed % 2 == 1
        self.numbers = {}  # complex tensors: their shapes
        self.rows, self.columns = size = (160, 96) if seed % 4 == 3 and not self.derivatives else (4, 6)
        self.seed, self.lines, self.shapes, self.count = seed, [], {"a": size, "b": size, "c": size[1:]}, 0
        self.asks = seed % 5 == 2 and not self.complex  # of a fifth what is told of its tensors is a result, too
        for _ in range(self.random.randint(2, 8)):
            self.statement()
        if self.complex:
            self.lines.append("return " + ", ".join(self.random.choice([*self.shapes, *2 * list(self.numbers)]) for _ in range(self.random.randint(1, 3))))
            return
        names = [self.random.choice(list(self.shapes)) for _ in range(self.random.randint(1, 3))]
        if self.asks:
            self.lines.insert(0, "facts = []")
        self.lines.append(f"return {', '.join([*names, *['facts'] * self.asks])}")

    def pick(self, rank=0):
        return self.random.choice([name for name, shape in self.shapes.items() if len(shape) >= rank])

    def new(self, text, shape):
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"{name} = {text}")
        self.shapes[name] = shape

    def statement(self):
        getattr(self, self.random.choice(("unary", "binary", "reduce", "view", "view", "write", "inplace", "index", "place", "product", "many", "loop", *("number", "exchange", "late") * (not self.derivatives),
                                             *("fact", "fact", "fact") * self.asks, *("quiet", "smooth", "smooth") * self.gradients,
                                             *("backward", "backward", "gradient", "step") * self.training,
                                             *("cast", "cast", "cast", "leaf", "leaf") * self.modes,
                                             *("mapped",) * 10 * self.batches, *("derivative", "custom") * 6 * self.derivatives, *("as_complex", *("with_complex",) * 3) * 4 * self.complex, *("shaped",) * 9 * self.reshaped)))()

    def new_complex(self, text, shape):
        self.new(text, shape)
        self.numbers[f"v{self.count}"] = self.shapes.pop(f"v{self.count}")

    def as_complex(self):
        """Complex numbers of real ones: in the same memory, or new ones."""
        name = self.pick(1)
        shape = self.shapes[name]
        if shape[-1] == 2:
            return self.new_complex(f"torch.view_as_complex({name}.float())", shape[:-1])
        text, shape = self.random.choice((
            (f"torch.complex({name}.float(), {name}.float() * 0.5)", shape), ("torch.view_as_complex(a.view(-1, a.shape[1] // 2, 2))", (self.rows, self.columns // 2)),
            (f"torch.view_as_complex({name}.float().repeat_interleave(2, -1).unflatten(-1, (-1, 2)))", shape),
            (f"torch.polar({name}.float().abs() + 1, {name}.float())", shape), ("torch.view_as_complex(c.unflatten(0, (-1, 2)))", (self.columns // 2,)),
        ))  # fmt: skip
        self.new_complex(text, shape)

    def with_complex(self):
        if not self.numbers:
            return self.as_complex()
        name = self.random.choice(list(self.numbers))
        shape = self.numbers[name]
        other = self.random.choice([other for other, its in self.numbers.items() if its == shape])
        real = {"view_as_real": f"torch.view_as_real({name}.resolve_conj())", "pairs": f"torch.view_as_real({name})", "abs": f"{name}.abs()",
                "real": f"{name}.real", "imag": f"{name}.imag", "angle": f"({name} + 3).angle()"}  # fmt: skip
        made = {"conj": f"{name}.conj()", "physical": f"{name}.conj_physical()", "resolve": f"{name}.resolve_conj()", "times": f"{name} * {other}",
                "less": f"{name} - {other}.conj()", "half": f"{name} * 0.5", "turned": f"{name} * (1 - 2j)", "clone": f"{name}.clone()",
                "cat": f"torch.stack([{name}, {other}]).sum(0)", "at": f"{name}[..., :1] + {name}" if shape else f"{name} + 1"}  # fmt: skip
        kind = self.random.choice([*real, *made, "write", "inplace", "part", "view", *("adjoint", "product") * (len(shape) == 2)])
        if kind in real:
            return self.new(real[kind], (*shape, *(2,) * (kind in ("view_as_real", "pairs"))))
        if kind in made:
            return self.new_complex(made[kind], shape)
        if kind == "adjoint":
            return self.new_complex(f"{name}.mH", shape[::-1])
        if kind == "product":
            return self.new_complex(f"{name} @ {name}.mH", (shape[0], shape[0]))
        if kind == "view":
            return self.new_complex(f"{name}.reshape(-1)[1:]", (max(_product(shape) - 1, 0),))
        self.lines.append({"write": f"{name}[..., 0] = 1j" if shape and shape[-1] else f"{name}.zero_()", "inplace": f"{name}.{self.random.choice(INPLACE)}({other} * 2)",
                           "part": f"{name}.{self.random.choice(('real.mul_(2)', 'imag.mul_(2)', 'real += 1', f'imag = {name}.real * 2'))}"}[kind])  # fmt: skip

    def mapped(self):
        """torch.vmap() of a function of one or two tensors, or of one that calls it."""
        name = self.pick(1)
        shape = self.shapes[name]
        axis, kind = self.random.randrange(len(shape)), self.random.choice(("vmap", "shared", "nested"))
        same = self.random.choice([other for other, its in self.shapes.items() if its == shape])
        rest = shape[:axis] + shape[axis + 1 :]
        if kind == "nested" and rest:
            function = f"lambda p, q: torch.vmap(lambda p, q: {self.body(rest[1:])}, (0, 0))(p, q)"
        else:
            function = f"lambda p, q: {self.body(rest)}"
        place = self.random.choice((0, len(rest)))
        if kind == "shared":
            given, axes = f"{name}, {same}.select({axis}, 0)" if shape[axis] else f"{name}, {name}", f"({axis}, {None if shape[axis] else axis})"
        else:
            given, axes = f"{name}, {same}", f"({axis}, {axis})"
        self.new(f"torch.vmap({function}, {axes}, {place})({given})", (*rest[:place], shape[axis], *rest[place:]))

    def derivative(self):
        """A derivative of a function of two tensors."""
        name = self.pick()
        shape = self.shapes[name]
        same = self.random.choice([other for other, its in self.shapes.items() if its == shape])
        given, ways = f"{name}.float(), {same}.float()", ["grad", "both", "value", "twice", "vjp", "jvp", "aux"]
        ways += ["jacrev", "jacfwd", "hessian"] * (0 < _product(shape) < 9) + ["mapped", "mapped", "shared"] * bool(shape and shape[0])
        kind = self.random.choice(ways)
        inner = shape[1:] if kind in ("mapped", "shared") else shape
        body = self.body(inner).replace(".double().to(p.dtype)", ".abs()").replace("torch.maximum", "torch.fmin")
        scalar = f"lambda p, q: ({body}).sin().sum()"
        text = {"grad": f"torch.func.grad({scalar}, {self.random.choice((0, 1))})({given})", "both": f"sum(torch.func.grad({scalar}, (0, 1))({given}))",
                "value": f"torch.func.grad_and_value({scalar})({given})[{self.random.choice((0, 0, 1))}]",
                "twice": f"torch.func.grad(lambda p, q: torch.func.grad({scalar})(p, q).cos().sum(), 1)({given})",
                "vjp": f"torch.func.vjp(lambda p, q: {body}, {given})[1]({name}.float() * 0.5)[0]",
                "jvp": f"torch.func.jvp(lambda p, q: {body}, ({given}), ({given}))[{self.random.choice((0, 1, 1))}]",
                "aux": f"sum(torch.func.grad(lambda p, q: (({body}).mean(), p * q), has_aux=True)({given}))",
                "jacrev": f"torch.func.jacrev(lambda p, q: {body})({given}).sum()", "jacfwd": f"torch.func.jacfwd(lambda p, q: {body}, 1)({given}).sum()",
                "hessian": f"torch.func.hessian({scalar})({given}).sum()", "mapped": f"torch.vmap(torch.func.grad({scalar}))({given})",
                "shared": f"torch.vmap(torch.func.grad({scalar}, 1), (0, None))({name}.float(), {same}.float()[0])"}[kind]  # fmt: skip
        scalars = kind in ("jacrev", "jacfwd", "hessian") or kind == "value" and text.endswith("[1]")
        text += ".contiguous()" * (kind in ("mapped", "shared", "jvp"))  # of other strides where torch has other operations
        text += f" + {name}.float().sum() * 0.25" * (kind in ("jvp", "jacfwd", "hessian"))  # a constant may have a history in torch
        self.new(f"torch.tanh({text})", () if scalars else shape)

    def custom(self):
        """A call of a class of torch.autograd.Function."""
        name = self.pick()
        shape = self.shapes[name]
        same = self.random.choice([other for other, its in self.shapes.items() if its == shape])
        self.new(self.random.choice((f"Tripled.apply({name}.float(), {same}.float())", f"Turned.apply({name}.float() * 1, 0.5) * 2", f"Turned.apply({name}.float(), 2).cos()",
                                     f"sum(Pair.apply({name}.float(), 0.5))", f"Pair.apply({name}.float())[0]", f"Twofold.apply({name}.float())", f"Ended.apply({name}.float()) * {name}",
                                     f"torch.func.grad(lambda p: Pair.apply(p)[1].sin().sum())({name}.float() * 1)", f"Tripled.apply({name}.float(), {name}.float().detach())")), shape)  # fmt: skip

    def body(self, shape):
        """An expression of p and q, tensors of a shape, that has this shape."""
        text = self.random.choice(("p", "p * q", "p - q.sin()", "p / (q * q + 1)", "p + q.mean()", "q.expand(3, *q.shape).sum(0)"))
        for _ in range(self.random.randint(0, 3)):
            choices = ["({}).tanh()", "({}) * 2 + p", "torch.where(p > q, {}, q)", "torch.maximum({}, q)", "sum([{}, p])", "({}).clone().mul_(2).add_(q)",
                       "torch.stack([{}, q]).sum(0)", "({}).unsqueeze(-1).squeeze(-1)", "({}) * torch.ones_like(q)", "({}).double().to(p.dtype)"]  # fmt: skip
            if shape:
                choices += ["({}).float().softmax(-1)", "({}).cumsum(0)", "({}).flip(0)", "torch.cat([{}, q])[: p.shape[0]]", "({}).roll(1, 0)",
                            "({}) - p.float().amax(0)"]  # fmt: skip
            if len(shape) == 1 and shape[0]:
                choices += ["({}) * (p @ q)", "({}) + torch.outer(p, q) @ q", "({}) + q @ torch.outer(p, q)", "({})[torch.arange(p.shape[0])]", "({}).index_select(0, torch.argsort(p, stable=True))"]
            text = self.random.choice(choices).format(text)
        return text

    def unary(self):
        name = self.pick()
        self.new(f"{name}.{self.random.choice(SMOOTH_UNARY if self.modes else UNARY)}()", self.shapes[name])

    def binary(self):
        name = self.pick()
        same = [other for other, shape in self.shapes.items() if shape == self.shapes[name]]
        other = self.random.choice([*same, "2", "0.5", "c" if self.shapes[name][-1:] == (self.columns,) else "3"])
        self.new(f"{name} {self.random.choice(BINARY[:3] if self.modes else BINARY)} {other}", self.shapes[name])

    def reduce(self):
        name = self.pick(1)
        shape, what = self.shapes[name], self.random.choice(REDUCTIONS[:2] if self.modes else REDUCTIONS)
        axis = self.random.randrange(len(shape))
        if what in ("cumsum", "softmax", "flip"):
            argument = f"[{axis}]" if what == "flip" else axis
            self.new(f"{name}.float().{what}({argument})", shape)
        else:
            self.new(f"{name}.float().{what}({axis})", shape[:axis] + shape[axis + 1 :])

    def view_of(self, name):
        shape = self.shapes[name]
        axis = self.random.randrange(len(shape))
        size = shape[axis]
        kind = self.random.choice(("slice", "select", "transpose", "unsqueeze", "reshape", "expand", "narrow", "flatten"))
        if kind == "slice":
            step, start = self.random.choice((1, 2)), self.random.randrange(size + 1)
            key = ", ".join([":"] * axis + [f"{start}::{step}"])
            return f"{name}[{key}]", (*shape[:axis], len(range(start, size, step)), *shape[axis + 1 :])
        if kind == "select" and size:
            return f"{name}.select({axis}, {self.random.randrange(size)})", shape[:axis] + shape[axis + 1 :]
        if kind == "transpose":
            other = self.random.randrange(len(shape))
            turned = list(shape)
            turned[axis], turned[other] = turned[other], turned[axis]
            return f"{name}.transpose({axis}, {other})", tuple(turned)
        if kind == "reshape":
            return f"{name}.reshape(-1, 1)" if 0 not in shape else f"{name}.reshape(0, 1)", (_product(shape), 1)
        if kind == "expand":
            return f"{name}.unsqueeze(0).expand(2, *{name}.shape)", (2, *shape)
        if kind == "narrow" and size:
            length = self.random.randint(1, size)
            return f"{name}.narrow({axis}, {size - length}, {length})", (*shape[:axis], length, *shape[axis + 1 :])
        if kind == "flatten":
            return f"{name}.flatten()", (_product(shape),)
        return f"{name}[None]", (1, *shape)

    def view(self):
        text, shape = self.view_of(self.pick(1))
        if len(shape) < 6:
            self.new(text, shape)

    def write(self):
        name = self.pick(1)
        text, shape = self.view_of(name)
        if "[" in text and "expand" not in text and not text.endswith("[None]"):
            self.lines.append(f"{text} = {self.random.choice(('1', '0.5', 'float(2)'))}")

    def inplace(self):
        name, what = self.pick(), self.random.choice(INPLACE)
        same = [other for other, shape in self.shapes.items() if shape == self.shapes[name] and other != name]
        by = self.random.choice([f"{what}({other})" for other in (*same, "torch.tensor(2)")] + ["square_()", "pow_(2)", "pow_(3)"])
        through = self.random.choice(("", "", "", ".data", ".detach()", "[..., :1].data", ".data[..., :1]"))  # whose writes count and whose do not
        self.lines.append(f"{name}{through}.{by}" if self.shapes[name] or "[" not in through else f"{name}.data.{by}")

    def index(self):
        name = self.pick(1)
        shape = self.shapes[name]
        if self.random.random() < 0.5:
            return self.index_by_list(name, shape)
        if shape[0] == self.rows:
            self.new(f"{name}[i]", shape)
        elif shape[0]:
            self.new(f"{name}.index_select(0, i % {shape[0]})", (self.rows, *shape[1:]))

    def index_by_list(self, name, shape):
        axis = self.random.randrange(len(shape))
        size = shape[axis]
        count = self.random.randint(0, 3) if size else 0
        numbers = [self.random.randrange(-size, size) for _ in range(count)]
        before = self.random.choice((":, " * axis, "..., " * (axis == len(shape) - 1) or ":, " * axis, "None, " + ":, " * axis))
        kept = (1,) * ("None" in before)
        if self.random.random() < 0.2 and 0 < size < 10:
            taken = [self.random.random() < 0.5 for _ in range(size)]
            return self.new(f"{name}[{before}{taken}]", (*kept, *shape[:axis], sum(taken), *shape[axis + 1 :]))
        if self.random.random() < 0.2 and count and not self.gradients:
            return self.lines.append(f"{name} = {name}.clone()\n    {name}[{before}{numbers}] = {self.random.choice(('1', '0.5'))}")
        if self.random.random() < 0.1 and size:
            numbers, count = [size], 1  # out of bounds
        self.new(f"{name}[{before}{numbers}]", (*kept, *shape[:axis], count, *shape[axis + 1 :]))

    def place(self):
        """An index that is a tensor of one whole number: a view whose place depends on elements, and what is written there."""
        name = self.pick(1)
        shape = self.shapes[name]
        axis = self.random.choice((0, 0, 0, len(shape) - 1))
        size = shape[axis]
        if not size:
            return
        number = f"n{self.count}"
        self.lines.append(f"{number} = " + self.random.choice((f"i[{self.random.randrange(self.rows)}] % {size}", f"i[-1] % {size} - {size}", f"torch.tensor({size - 1})",
                                                               f"{self.pick()}.detach().float().argmax() % {size}")))  # fmt: skip
        key = self.random.choice((":, " * axis + number, ("..., " if axis else "None, ") + number, f"{':, ' * axis}{number}, ..."))
        made = (*(1,) * ("None" in key), *shape[:axis], *shape[axis + 1 :])
        kind = self.random.choice(("view", "copy", "write", "add", "later"))
        if kind in ("view", "later"):
            self.new(f"{name}[{key}]", made)
        if kind == "later":
            self.lines.append(f"{number} -= 1")
        if kind == "copy":
            self.new(f"{name}[{key}] * 2", made)
        if kind in ("write", "add"):
            self.lines.append(f"{name}[{key}] {'=' if kind == 'write' else '+='} {self.random.choice(('1', '0.5', 'torch.tensor(2)'))}")

    def product(self):
        if self.modes and self.random.random() < 0.5:
            return self.cast()
        if self.random.random() < 0.3:
            return self.new(self.random.choice(("c @ a.T", "a @ c", "torch.matmul(c, b.t())", "b[0] @ a.T")), (self.rows,))
        self.new(self.random.choice(("a @ b.T", "torch.einsum('ij,kj->ik', a, b)", "torch.matmul(b, a.t())")), (self.rows, self.rows))

    def cast(self):
        """What autocast casts, and parts of it where it does not."""
        dtype = "float16" if self.seed % 3 == 1 else "bfloat16"  # one for all, since torch keeps casts
        self.lines.append(f"with torch.autocast('cpu', dtype=torch.{dtype}{self.random.choice(('', ', cache_enabled=False'))}):\n        pass")
        for _ in range(self.random.randint(1, 3)):
            name = self.pick(2)
            shape = self.shapes[name]
            if self.random.random() < 0.2:
                self.lines[-1] += f"\n        with torch.autocast('cpu', enabled=False):\n            v{self.count + 1} = {name}.float() @ {name}.float().mT"
                self.count += 1
                self.shapes[f"v{self.count}"] = (*shape[:-1], shape[-2])
                continue
            text, made = self.random.choice((
                (f"{name}.float() @ {name}.float().mT", (*shape[:-1], shape[-2])), ("torch.mm(a, b.t())", (self.rows, self.rows)),
                ("torch.nn.functional.linear(a, b, a[:, 0])" if self.rows == shape[-2] else "a @ c", (self.rows, self.rows) if self.rows == shape[-2] else (self.rows,)),
                (f"torch.nn.functional.mse_loss({name}, {name} * 0.5)", ()), (f"torch.cat([{name}.bfloat16(), {name}.float()])" if dtype == "bfloat16" else f"torch.stack([{name}.half(), {name}.half()])",
                                                                            (2 * shape[0], *shape[1:]) if dtype == "bfloat16" else (2, *shape)),
                (f"{name}.softmax(-1)", shape), (f"torch.nn.functional.layer_norm({name}.float(), {name}.shape[-1:])", shape), (f"{name} * 0.5", shape),
            ))  # fmt: skip
            self.count += 1
            self.lines[-1] += f"\n        v{self.count} = {text}"
            self.shapes[f"v{self.count}"] = made

    def leaf(self):
        """A leaf that the program makes, and a gradient of it."""
        name = self.pick()
        shape = self.shapes[name]
        made, gradient = f"v{self.count + 1}", f"v{self.count + 2}"
        self.count += 2
        self.lines.append(self.random.choice((
            f"{made} = {name}.float().detach().requires_grad_()", f"{made} = {name}.detach().clone().float()\n    {made}.requires_grad = True",
            f"{made} = torch.full({tuple(shape)}, 0.5, requires_grad=True)", f"{made} = torch.ones_like({name}, dtype=torch.float32, requires_grad=True)",
        )))  # fmt: skip
        self.lines.append(self.random.choice((
            f"({made}.sin() * {made}).sum().backward()\n    {gradient} = {made}.grad",
            f"({made} * {name}.float()).sum().backward()\n    {gradient} = {made}.grad",
            f"({gradient},) = torch.autograd.grad(({made} * {made}.exp()).sum(), {made})",
            f"({gradient},) = torch.autograd.grad(({made} * {made} * 2).sum(), [{made}], create_graph=True)",
            f"{gradient}, = torch.autograd.grad(({made} * {name}.float()).mean(), {made}, retain_graph=True)",
        )))  # fmt: skip
        self.shapes[gradient] = shape
        if self.random.random() < 0.3:
            self.shapes[made] = shape

    def number(self):
        """A number of Python that is known only when the function runs, and what is computed with it."""
        name, other = self.pick(), self.pick()
        self.count += 1
        number = f"n{self.count}"
        self.lines.append(f"{number} = " + self.random.choice((
            f"{name}.float().sum().item()", f"float({name}.float().mean())", f"int({name}.isnan().sum())", f"len({name}.reshape(-1)) * {name}.gt(0).sum().item()",
            f"sum({name}.reshape(-1)[:3].tolist())", f"[*{name}.reshape(-1)[:2].float().tolist(), 1.0][0]",
        )))  # fmt: skip
        self.new(self.random.choice((f"{other} * {number}", f"{number} + {other}", f"{other} - {number}", f"{other} / ({number} * {number} + 1)")), self.shapes[other])

    def late(self):
        """What has sizes that depend on elements, and a result of it that has none."""
        name = self.pick(1)
        shape = self.shapes[name]
        mask = self.random.choice((f"{name} > 0", f"{name}.isnan()", f"{name} == {name}"))
        first = f"{name}{''.join(f'[:, {0 if size else slice(None)}]' for size in shape[1:2])} > 0" if len(shape) == 2 and shape[1] else mask
        text, made = self.random.choice((
            (f"{name}[{mask}].float().sum()", ()), (f"{name}.masked_select({mask}).float().exp().sum()", ()), (f"{name}[{mask}].numel() * {name}", shape),
            (f"{name}[{first}].float().sum(0)", shape[1:] if first is not mask else ()), (f"({mask}).nonzero().float().sum(0)", (len(shape),)),
            (f"{name}[torch.where({mask})].float().sum()", ()), (f"torch.nonzero({mask})[:, 0].sum() * {name}", shape),
            (f"{name}[..., {name}.select(-1, 0).flatten()[:1].expand({shape[-1]}) > 0].float().sum(-1)" if shape[-1] else f"{name} * 2", shape[:-1] if shape[-1] else shape),
            (f"torch.bincount((({mask}).flatten().long() * 3)) .float().sum() * {name}", shape), (f"torch.unique({name}.detach().float().round()).numel() + {name}", shape),
            (f"{name}.float().repeat_interleave(({name}.detach().flatten()[:1] > 0).long() + 1, 0).sum(0)", shape[1:]),
            (f"{name}.float().repeat_interleave(torch.arange({shape[0]}) % 3, dim=0).sum(0)", shape[1:]),
            (f"(torch.unique({name}.detach().float() > 0, return_inverse=True)[1] * {name})", shape),
        ))  # fmt: skip
        self.new(text, made)

    def exchange(self):
        """Tensors as arrays of NumPy and arrays as tensors, in the same memory."""
        name = self.pick(1)
        shape = self.shapes[name]
        if self.random.random() < 0.3 and not self.gradients:  # autograd does not find out
            return self.lines.append(f"{name}.detach().numpy()[..., :1] {self.random.choice(('= 2', '+= 1'))}")
        text, shape = self.random.choice((
            (f"torch.from_numpy(np.tanh({name}.float().detach().numpy()))", shape), (f"torch.as_tensor({name}.float().detach().cpu().numpy().T)", shape[::-1]),
            (f"torch.from_numpy({name}.detach().numpy()[..., 1:])", (*shape[:-1], max(shape[-1] - 1, 0))), (f"torch.tensor({name}.detach().numpy())", shape),
            (f"torch.from_numpy({name}.detach().numpy()) * 2", shape), (f"torch.as_tensor({name}.detach().numpy(), dtype=torch.float64)", shape),
        ))  # fmt: skip
        self.new(text, shape)

    def many(self):
        name = self.pick(1)
        shape = self.shapes[name]
        axis = self.random.randrange(len(shape))
        self.new(f"torch.cat([{name}, {name}], {axis})", (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]))

    def loop(self):
        name = self.pick()
        self.lines.append(f"for k in range({self.random.randint(1, 3)}):\n        {name} = {name} * 0.5 + k")

    def shaped(self):
        """Other sizes of the same tensor."""
        name = self.pick()
        shape = self.shapes[name]
        rank, kind = len(shape), self.random.choice(("unsqueeze_", "unsqueeze_", "squeeze_", "transpose_", "t_", "swapaxes_", "as_strided_"))
        if kind == "unsqueeze_" and rank < 5:
            axis = self.random.randint(0, rank)
            self.lines.append(f"{name}.unsqueeze_({axis})")
            self.shapes[name] = (*shape[:axis], 1, *shape[axis:])
        elif kind in ("transpose_", "swapaxes_") and rank:
            first, second = self.random.randrange(rank), self.random.randrange(rank)
            turned = list(shape)
            turned[first], turned[second] = turned[second], turned[first]
            self.lines.append(f"{name}.{kind}({first}, {second - rank})")
            self.shapes[name] = tuple(turned)
        elif kind == "t_" and rank < 3:
            self.lines.append(f"{name}.t_()")
            self.shapes[name] = shape[::-1]
        elif kind == "squeeze_" and rank:
            axis = self.random.choice((None, self.random.randrange(rank)))
            self.lines.append(f"{name}.squeeze_({'' if axis is None else axis})")
            self.shapes[name] = tuple(size for i, size in enumerate(shape) if size != 1 or axis not in (None, i))
        elif kind == "as_strided_" and rank and _product(shape):
            self.lines.append(f"{name}.as_strided_(({shape[0]}, 1), ({name}.stride(0), 1))")
            self.shapes[name] = (shape[0], 1)

    def quiet(self):
        """What autograd does not record."""
        name = self.pick()
        if self.random.random() < 0.5:
            self.new(f"{name}.detach()", self.shapes[name])
        else:
            self.count += 1
            self.lines.append(f"with torch.no_grad():\n        v{self.count} = {name} * 2")
            self.shapes[f"v{self.count}"] = self.shapes[name]

    def smooth(self):
        name = self.pick(1)
        text = self.random.choice(SMOOTH)
        self.new(f"torch.nn.functional.{text}({name}.float(){', -1' if 'softmax' in text else ''})", self.shapes[name])

    def fact(self):
        words = {"x": self.pick(), "y": self.pick()}
        text = re.sub(r"\b[xy]\b", lambda found: words[found[0]], self.random.choice(FACTS))
        self.lines.append(f"facts.append({text})")

    def backward(self):
        name = self.pick()
        kept = ", retain_graph=True" * (self.random.random() < 0.4)
        self.lines.append(self.random.choice((
            f"{name}.float().square().mean().backward({kept[2:]})", f"{name}.float().sum().backward({kept[2:]})",
            f"({name} * a.sum()).float().sum().backward({kept[2:]})", f"torch.autograd.backward([({name} * 2.0).sum(), (c * 1.5).sum()])",
            f"{name}.float().backward(torch.ones_like({name}).float(){kept})", f"({name} * c.sum()).sum().backward(inputs=[c]{kept})",
        )))  # fmt: skip

    def gradient(self):
        """What reads or replaces the gradient of an argument."""
        name = self.random.choice("abc")
        self.count += 1
        self.shapes[f"v{self.count}"] = self.shapes[name]
        self.lines.append(self.random.choice((
            f"v{self.count} = {name}.grad * 2 if {name}.grad is not None else {name} * 1", f"v{self.count}, {name}.grad = {name} * 2, None",
            f"{name}.grad = v{self.count} = {name}.detach() * 0.5", f"v{self.count} = {name} * 1\n    if {name}.grad is not None: {name}.grad.zero_()",
        )))  # fmt: skip

    def step(self):
        name = self.random.choice("abc")
        self.lines.append(self.random.choice((
            f"with torch.no_grad():\n        if {name}.grad is not None: {name} -= 0.1 * {name}.grad",
            "torch.optim.SGD([a, c], lr=0.1).step()" if self.random.random() < 0.1 else f"with torch.no_grad():\n        if {name}.grad is not None: {name}.sub_({name}.grad.sign() * 0.1)",
            f"with torch.no_grad():\n        if {name}.grad is not None: {name}.addcdiv_({name}.grad, {name}.exp(), value=-0.1)",
        )))  # fmt: skip

    def source(self):
        return "def program(a, b, c, i):\n" + "".join(f"    {line}\n" for line in self.lines)

    def arguments(self):
        made = torch.Generator().manual_seed(self.seed)
        size = self.rows, self.columns
        a = torch.randn(size, generator=made)
        b = torch.randn(size[::-1], generator=made).T if self.seed % 3 == 0 else torch.randn(size, generator=made)
        c = a[0] if self.seed % 5 == 0 and not self.gradients else torch.randn(self.columns, generator=made)
        for number, one in enumerate((a, b, c)):
            one.requires_grad_(self.gradients and (self.seed >> number) % 4 != 1)
        return a, b, c, torch.randperm(self.rows, generator=made)


def _product(shape):
    total = 1
    for size in shape:
        total *= size
    return total


def told(tensor):
    return (type(tensor), tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype, tensor._is_view(), tensor.requires_grad, tensor.is_conj(), tensor.is_neg())


def numbers(tensor):
    """The numbers as doubles; of complex ones the parts."""
    return (torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor).double()


def outcome(function, arguments):
    """What a call gives: results or the exception, and the arguments behind it; and which tensors share memory."""
    try:
        results = function(*arguments)
    except Exception as error:
        half = "modified by an inplace operation" in str(error) or "graph a second time" in str(error)  # of a gradient that has begun
        return type(error).__name__, [*(one.detach() for one in arguments), *([] if half else kept(arguments))], ()
    results = list(results) if isinstance(results, tuple) else [results]
    facts = [f"{type(one).__name__} {one!r}" for one in results.pop()] if isinstance(results[-1], list) else []
    left, counted = kept(arguments), [f"written: {one._version > 0}" for one in arguments]
    places = [one.untyped_storage().data_ptr() for one in (*results, *arguments, *(one for one in left if one.numel()))]
    try:
        found = gradients(results, arguments)
    except RuntimeError as error:
        for reason in ("modified by an inplace operation", "graph a second time"):
            if reason in str(error):
                return reason, [], ()
        return f"backward: {type(error).__name__}", [*(one.detach() for one in arguments), *left], ()
    return None, [*results, *arguments, *left, *found], (*(places.index(place) for place in places), *facts, *counted)


def kept(arguments):
    """What the arguments have in `grad`."""
    return [torch.zeros(0) if one.grad is None else one.grad for one in arguments]


def gradients(results, arguments):
    """The gradients of the results, with different weights, and for few elements their own gradients."""
    wanted = [one for one in arguments if one.requires_grad]
    results = [torch.view_as_real(one.resolve_conj()) if one.is_complex() else one for one in results]
    weighted = [(one * torch.linspace(0.5, 1.5, max(one.numel(), 1))[: one.numel()].reshape(one.shape)).sum() for one in results if one.requires_grad]
    if not wanted or not weighted:
        return []
    twice = arguments[0].numel() < 100
    first = torch.autograd.grad(sum(weighted), wanted, create_graph=twice, allow_unused=True)
    found = [one for one in first if one is not None]
    curved = [one.sin().sum() for one in found if one.requires_grad]
    second = torch.autograd.grad(sum(curved), wanted, allow_unused=True) if curved else ()
    return [torch.zeros(0) if one is None else one.detach().contiguous() for one in (*first, *second)]


def difference(plain, compiled, tolerance=1e-4):
    """Words for what differs of two outcomes, or None."""
    if not plain[1] or compiled[0] == "modified by an inplace operation":
        return None  # the compiled backward may not need what was modified, or be one with another that does
    if plain[0] != compiled[0]:
        return f"raises {compiled[0]}, not {plain[0]}"
    if plain[2] != compiled[2]:
        return f"facts or shared memory: {compiled[2]}, not {plain[2]}"
    for number, (one, other) in enumerate(zip(plain[1], compiled[1], strict=True)):
        if told(one) != told(other):
            return f"tensor {number} is {told(other)}, not {told(one)}"
        one, other = numbers(one), numbers(other)
        largest = one[one.isfinite()].abs().max().item() if one.isfinite().any() else 0
        if not torch.allclose(one, other, rtol=tolerance, atol=tolerance / 10 * max(largest, 1), equal_nan=True):
            return f"tensor {number} holds other numbers"
    return None


def compare(seed, kind=None):
    """The source of one random program and what differs of it (None: nothing)."""
    program = Program(seed, kind)
    space = {"torch": torch, "np": np, **tensor_derivatives.FUNCTIONS}
    exec(program.source(), space)
    compiled = frameloom.compile(space["program"])
    with torch.set_grad_enabled(kind is not None):
        for _ in range(2):
            plain, other = program.arguments(), program.arguments()
            for _ in range(1 + (kind == "training")):  # a second time with what the first one has left in `grad`
                outer = torch.autocast("cpu", torch.bfloat16) if kind == "modes" and seed % 3 == 0 else contextlib.nullcontext()
                with outer:
                    expected, got = outcome(space["program"], plain), outcome(compiled, other)
                found = difference(expected, got, {"modes": 0.1, "derivatives": 1e-2}.get(kind, 1e-4))
                if found:
                    return program.source(), found
    return program.source(), None


def main():
    count, seed = (int(word) for word in sys.argv[1:3])
    kind = sys.argv[3] if sys.argv[3:] else None
    bad = 0
    for number in range(seed, seed + count):
        source, found = compare(number, kind)
        if found:
            bad += 1
            print(f"seed {number}: {found}\n{source}")
        if number % 50 == 49:
            frameloom.reset()
    print(f"{bad} of {count} differ")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
