"""Random functions of torch tensors that are called with tensors of many sizes, compiled and against eager torch: broadcasts, views,
writes through them, reductions, products, joins, and Python's arithmetic on sizes.

    python tensor_sizes.py COUNT SEED

Prints what differs and ends with 1 if anything does. `compare(seed)` is one program; it gives how many versions were compiled.
"""

import random
import sys

import torch

import frameloom

SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 16, 33)
UNARY = ("relu", "tanh", "neg", "abs", "sigmoid", "clone", "contiguous", "sign", "exp")
BINARY = ("+", "-", "*", "/", "<", "==")


class Program:
    """The source of a random function of tensors a, b (n, m), c (m,), d (n, 1), e (m, n) and s (n, k, m)."""

    ARGUMENTS = {"a": ("n", "m"), "b": ("n", "m"), "c": ("m",), "d": ("n", "1"), "e": ("m", "n"), "s": ("n", "k", "m")}

    def __init__(self, seed):
        self.random, self.lines, self.shapes, self.count = random.Random(seed), [], dict(self.ARGUMENTS), 0
        for _ in range(self.random.randint(2, 7)):
            getattr(self, self.random.choice(("unary", "binary", "binary", "reduce", "view", "view", "slice", "write", "product", "join", "make", "number",
                                              "branch", "layer", "loose", "index")))()
        names = [self.random.choice(list(self.shapes)) for _ in range(self.random.randint(1, 3))]
        self.lines.append(f"return {', '.join(names)}, *numbers")
        self.source = "def f(a, b, c, d, e, s):\n    numbers = []\n" + "".join(f"    {line}\n" for line in self.lines)

    def pick(self, rank=0):
        """A tensor of at least this rank; its shape is in words."""
        return self.random.choice([name for name, shape in self.shapes.items() if len(shape) >= rank])

    def new(self, text, shape):
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"{name} = {text}")
        self.shapes[name] = tuple(shape)

    def unary(self):
        name = self.pick()
        self.new(f"{name}.{self.random.choice(UNARY)}()", self.shapes[name])

    def binary(self):
        name = self.pick()
        shape = self.shapes[name]
        alike = [other for other, sizes in self.shapes.items() if sizes == shape[len(shape) - len(sizes):] or sizes == ("n", "1") and shape == ("n", "m")]
        other = self.random.choice([*alike, "2", "0.5"])
        self.new(f"{name} {self.random.choice(BINARY)} {other}", shape)

    def loose(self):
        """An operation whose sizes may fit or not, or be broadcast one way or the other."""
        one, other = self.pick(1), self.pick(1)
        if len(self.shapes[one]) == len(self.shapes[other]):
            self.new(f"{one} {self.random.choice('+-*')} {other}", ("?",) * len(self.shapes[one]))

    def reduce(self):
        name = self.pick(1)
        shape = self.shapes[name]
        axis = self.random.randrange(len(shape))
        how = self.random.choice(("sum", "mean", "amax", "argmax", "cumsum", "softmax", "flip", "var", "logsumexp", "all", "norm"))
        if how in ("cumsum", "softmax", "flip"):
            self.new(f"{name}.float().{how}({axis})", shape)
        elif self.random.random() < 0.3:
            self.new(f"{name}.float().{how}({'' if how != 'logsumexp' else '0'})", () if how != "logsumexp" else shape[1:])
        else:
            keep = self.random.random() < 0.3 and how != "norm"
            text = f"dim={axis}" + ", keepdim=True" * keep
            self.new(f"{name}.float().{how}({text})", (*shape[:axis], *("1",) * keep, *shape[axis + 1 :]))

    def view(self):
        name = self.pick(1)
        shape, rank = self.shapes[name], len(self.shapes[name])
        axis = self.random.randrange(rank)
        kind = self.random.randrange(9)
        if kind == 0:
            self.new(f"{name}.reshape(-1)", ("?",))
        elif kind == 1 and rank > 1:
            self.new(f"{name}.flatten({axis})" if axis else f"{name}.flatten(0, 1)", (*shape[:axis], "?") if axis else ("?", *shape[2:]))
        elif kind == 2:
            self.new(f"{name}.unsqueeze({axis})", (*shape[:axis], "1", *shape[axis:]))
        elif kind == 3 and rank > 1:
            self.new(f"{name}.transpose(0, {rank - 1})", (shape[-1], *shape[1:-1], shape[0]))
        elif kind == 4:
            self.new(f"{name}.expand(3, *{name}.shape)", ("3", *shape))
        elif kind == 5 and rank > 1:
            self.new(f"{name}.view({name}.shape[0], -1)", (shape[0], "?"))
        elif kind == 6:
            self.new(f"{name}.reshape({name}.size(0), -1, 2)", (shape[0], "?", "2"))
        elif kind == 7:
            self.new(f"{name}.chunk(2, {axis})[0]", (*shape[:axis], "?", *shape[axis + 1 :]))
        else:
            self.new(f"{name}.repeat(2, {', '.join('1' * rank)})", ("2", *shape) if rank else ("2",))

    def slice(self):
        name = self.pick(1)
        shape = self.shapes[name]
        key = self.random.choice(("1:", ":-1", "::2", ":3", "-2:", "0", "-1", ": len({}) // 2", "1:{}.shape[0]", "None", "..., :1", "2:5", "::3"))
        rest = shape[1:]
        shapes = {"0": rest, "-1": rest, "None": ("1", *shape), "..., :1": (*shape[:-1], "?")}
        self.new(f"{name}[{key.format(name)}]", shapes.get(key, ("?", *rest)))

    def write(self):
        name = self.pick(1)
        key = self.random.choice(("0", "1:", ":-1", "...", "::2"))
        self.lines.append(self.random.choice((f"{name}[{key}] = 0.5", f"{name}.add_(1)", f"{name}[{key}] *= 2", f"{name}[{key}].mul_(3)")))

    def product(self):
        kind = self.random.randrange(5)
        if kind == 0:
            self.new("a @ e", ("n", "n"))
        elif kind == 1:
            self.new("s @ e", ("n", "k", "n"))
        elif kind == 2:
            self.new("torch.einsum('nm,mk->nk', a, e)", ("n", "n"))
        elif kind == 3:
            self.new("e @ b + c[:, None]", ("m", "m"))
        else:
            self.new("torch.bmm(s, s.transpose(1, 2))", ("n", "k", "k"))

    def join(self):
        name = self.pick(1)
        shape = self.shapes[name]
        axis = self.random.randrange(len(shape))
        if self.random.random() < 0.5:
            self.new(f"torch.cat([{name}, {name}], {axis})", (*shape[:axis], "?", *shape[axis + 1 :]))
        else:
            self.new(f"torch.stack([{name}, {name}], {axis})", (*shape[:axis], "2", *shape[axis:]))

    def make(self):
        name = self.pick(1)
        texts = ("torch.zeros({0}.shape[0], 2) + 1", "torch.arange({0}.shape[-1])", "torch.full((len({0}),), 2.5)", "torch.ones_like({0})", "{0}.new_zeros({0}.shape)",
                 "torch.eye({0}.size(0))", "torch.arange({0}.numel()) * 2", "torch.ones({0}.shape[0], {0}.shape[0]).tril()")
        self.new(self.random.choice(texts).format(name), ("?",) * 1)

    def number(self):
        name = self.pick(1)
        text = self.random.choice(("{0}.shape", "{0}.numel()", "len({0}) + 1", "{0}.shape[0] * {0}.shape[-1]", "{0}.stride()", "{0}.size(-1) // 2", "{0}.shape[0] % 3",
                                   "{0}.numel() / 2", "{0}.shape[0] == {0}.shape[-1]", "{0}.storage_offset()", "{0}.is_contiguous()", "{0}.sum() / {0}.shape[0]",
                                   "{0} * {0}.size(0)", "{0}.shape[0] ** 0.5"))
        self.lines.append(f"numbers.append({text.format(name)})")

    def branch(self):
        name = self.pick(1)
        test = self.random.choice(("{0}.shape[0] > 4", "{0}.shape[0] == {0}.shape[-1]", "{0}.numel() % 2 == 0", "len({0}) < 3"))
        self.new(f"{name} + 1 if {test.format(name)} else {name} * 2", self.shapes[name])

    def layer(self):
        kind = self.random.randrange(5)
        if kind == 0:
            self.new("torch.nn.functional.layer_norm(s, s.shape[2:])", ("n", "k", "m"))
        elif kind == 1:
            self.new("torch.nn.functional.gelu(a)", ("n", "m"))
        elif kind == 2:
            self.new("torch.nn.functional.pad(a, (1, 2))", ("n", "?"))
        elif kind == 3:
            self.new("torch.nn.functional.scaled_dot_product_attention(s, s, s)", ("n", "k", "m"))
        else:
            self.new("torch.where(a > 0, a, b)", ("n", "m"))

    def index(self):
        self.new(self.random.choice(("a[torch.zeros(len(a), dtype=torch.int64)]", "a.masked_fill(a > 0, 1.0)", "a.gather(0, torch.zeros_like(b, dtype=torch.int64))",
                                     "s.index_select(1, torch.tensor([0]))", "a.roll(1, 0)", "a.sort(0)[0]", "a.unbind(1)[0]", "b.tril()", "a.sum(-1, keepdim=True)")), ("?",))


def told(value):
    """What shows of a result. Strides along axes on which nothing depends are left out."""
    if isinstance(value, torch.Tensor):
        strides = [stride for size, stride in zip(value.shape, value.stride()) if size > 1] if value.numel() else None
        return (value.shape, value.dtype, strides, value.clone())
    return (type(value), [told(one) for one in value]) if isinstance(value, (tuple, list)) else (type(value), value)


def alike(one, other):
    if isinstance(one, torch.Tensor):
        return torch.allclose(one.double(), other.double(), 1e-4, 1e-5, equal_nan=True)
    if isinstance(one, (tuple, list)) and type(one) is type(other):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other


def called(f, arguments):
    """The results, which arguments they share memory with, the arguments afterwards; or the exception's type."""
    try:
        results = f(*arguments)
    except Exception as error:
        return type(error)
    tensors = [one for one in results if isinstance(one, torch.Tensor)]
    places = [one.untyped_storage().data_ptr() if one.numel() else None for one in (*tensors, *arguments)]
    shared = [[a == b and a is not None for b in places] for a in places]
    return [told(results), shared, [told(one) for one in arguments]]


def arguments(shapes, sizes, generator):
    return [torch.randn([sizes.get(size, 1) for size in shape], generator=generator) for shape in shapes.values()]


def compare(seed, calls=12):
    """Compares one program's calls; AssertionError with its source where one differs. How many versions there are then."""
    program = Program(seed)
    scope = {"torch": torch}
    exec(compile(program.source, f"<sizes {seed}>", "exec"), scope)
    plain, choose, generator = scope["f"], random.Random(seed), torch.Generator().manual_seed(seed)
    compiled = frameloom.compile(plain, dynamic=choose.choice((None, None, True)))
    for number in range(calls):
        sizes = {"n": choose.choice(SIZES), "m": choose.choice(SIZES), "k": choose.choice(SIZES)}
        if choose.random() < 0.3:
            sizes["m"] = sizes["n"]
        given = arguments(program.ARGUMENTS, sizes, generator)
        copies = [one.clone() for one in given]
        with torch.no_grad():
            wanted, got = called(plain, copies), called(compiled, given)
        assert alike(wanted, got), f"seed {seed}, call {number}, {sizes}\n{program.source}\neager: {wanted}\ncompiled: {got}"


def main(count, seed):
    bad = 0
    for one in range(seed, seed + count):
        try:
            compare(one)
        except AssertionError as error:
            bad += 1
            print(str(error)[:1500], end="\n\n", flush=True)
    print(f"{count} programs, {bad} differ")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
