"""Random graphs of ATen ops. Which ops there are, and what they take, is torch's own knowledge: each call is made by an op's schema.

A call is made until eager torch takes it. What ops within a bound give is not exact, and is given to no op that makes large
differences of small ones.
"""

import re
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = (ROOT / "frontend" / "torch" / "aten.def").read_text()
# Results that nobody promises: random numbers, memory that nobody has written, the order of equal elements; or no functions of tensors.
LEFT_OUT = re.compile(r"rand|bernoulli|multinomial|normal|uniform|dropout|empty|poisson|exponential|cauchy|geometric|native_batch_norm|batch_norm|resize|set_|_assert|sym_|item|_local_scalar|"
                      r"^sort\.default|topk|kthvalue|^median|nanmedian|mode|_pdist|grid_sampler|special_|digamma|lgamma|polygamma|erfinv|igamma|bessel|_to_copy|lift|copy_|svd|eig|linalg|_cdist|_embedding_bag|"
                      r"scaled_dot|attention|fake_quantize|histc|backward|max_pool|fractional|convolution|ctc|lstm|gru|rnn|^_foreach|_unsafe_index_put|upsample|renorm|logcumsumexp|index_put|scatter_reduce|put\.")
JUMPS = re.compile(r"^(view\.dtype|view_copy\.dtype|ceil|floor|round|trunc|frac|sign|signbit|eq|ne|lt|le|gt|ge|isnan|isinf|isfinite|argmax|argmin|argsort|sort|searchsorted|bucketize|remainder|fmod|floor_divide|div\.\w*_mode|logical|bitwise|nonzero|any|all|count|"
                   r"max\.dim|min\.dim|cummax|cummin|aminmax|unique|heaviside|nextafter|frexp|where|masked|_to_copy|threshold|hardtanh|hardshrink|softshrink|angle|atan2|copysign|sgn|mod|is|equal|gcd|lcm|nan_to_num|argwhere|bincount|fmax|fmin|clamp|"
                   r"tan\.|reciprocal|rsqrt|log|sqrt|div|pow|acos|asin|atanh|acosh|xlogy|logit|norm|std|var|exp|sinh|cosh|prod|cumprod|hypot|addcdiv|square|glu|cross|dist|celu|elu|log_sigmoid|softplus|mish|cosine|true_divide|rdiv|float_power|ldexp|logaddexp)")
STEADY = re.compile(r"^(neg|abs|positive|clone|view|reshape|permute|transpose|t\.|expand|slice|select|squeeze|unsqueeze|cat|stack|flip|roll|repeat|narrow|split|chunk|unbind|diagonal|alias|detach|as_strided|unfold|index_select|gather|constant_pad|"
                    r"tril|triu|add\.|sub\.|mul\.Scalar|mul\.Tensor|sum|mean|amax|amin|maximum|minimum|relu|sin\.|cos\.|tanh|sigmoid|erf|atan\.|_softmax|lerp|mm|matmul|bmm|addmm|mv|dot)")
DTYPES = [torch.float32, torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.bool, torch.uint8, torch.int8, torch.int16, torch.complex64]
EXACT_DTYPES = (torch.float32, torch.float64)
UNIT = {torch.float32: 2e-4, torch.complex64: 2e-4, torch.float16: 2e-2, torch.bfloat16: 1.2e-1}

# Of more than 16 equal elements torch takes any order, or any one.
UNSTABLE = re.compile(r"(sort|argsort|msort|kthvalue|mode|median|nanmedian|topk)\b")


def overloads():
    """Of core ops: those that are compiled most, then all that take tensors and give new ones."""
    names = dict.fromkeys(re.findall(r'^ATEN\("([\w.]+)"', TABLE, re.MULTILINE))
    found = {}
    for name in names:
        packet, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, packet, None), overload, None)
        if op is not None and not LEFT_OUT.search(name) and not op._schema.is_mutable and op._schema.returns:
            found[name] = op
    return found


OPS = overloads()


class Program:
    def __init__(self, rng):
        self.rng, self.lines, self.values, self.arguments, self.exact = rng, [], {}, [], {}

    def make(self):
        rng = self.rng
        m, n = rng.sample([(3, 5), (4, 6), (5, 2), (2, 3), (6, 4)], 2)
        self.large = rng.random() < 0.03
        if self.large:  # several threads, memory given back on the way
            m, n = rng.sample([(67, 96), (130, 61), (96, 130), (64, 65)], 2)
        one, base = (1, 1), rng.choice(DTYPES)
        shapes = [(m, n), (n,), (m, n), (one, n), (m, one), (m, m), ((2, 2), m, n), (m,), (), (n, m), ((2, 2), (3, 3), m, n)]
        for name in "abc"[:rng.randrange(1, 4)]:
            dtype = base if rng.random() < 0.7 else rng.choice(DTYPES)
            self.argument(name, rng.choice(shapes), dtype)
        for _ in range(rng.choice([1, 2, 2, 3, 4, 6])):
            self.statement()
        return self.text()

    def argument(self, name, shape, dtype):
        sizes = [tuple(d[i] for d in shape) for i in (0, 1)]
        layout = self.rng.choice(["C"] * 5 + ["T", "step", "expanded", "flipped", "offset", "channels"])
        text = f'tensor({dtype}, ({sizes[0]}, {sizes[1]})[size], "{layout}", {self.rng.randrange(1000)})'
        self.arguments.append((name, text))
        self.values[name] = tensor(dtype, sizes[0], layout, int(text.rsplit(", ", 1)[1][:-1]))
        self.exact[name] = dtype not in (torch.float16, torch.bfloat16)

    def statement(self):
        for _ in range(30):
            name = self.rng.choice(list(OPS))
            made = self.call(name, OPS[name])
            if made is None or (self.large and UNSTABLE.match(name)):
                continue
            text, used = made
            exact = all(self.exact[u] for u in used)
            if not exact and (JUMPS.match(name) or not STEADY.match(name)):
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    value = eval(text, {"torch": torch, "aten": torch.ops.aten}, self.values)
            except Exception:
                continue
            parts = list(value) if isinstance(value, (tuple, list)) else [value]
            if not parts or not all(isinstance(p, torch.Tensor) and p.numel() <= (100000 if self.large else 2048) and p.layout == torch.strided and tame(p) for p in parts):
                continue
            number = len(self.lines)
            self.lines.append(f"v{number} = {text}")
            names = [f"v{number}"] if not isinstance(value, (tuple, list)) else [f"w{number}_{i}" for i in range(len(parts))]
            if isinstance(value, (tuple, list)):
                self.lines[-1] += "; " + "; ".join(f"{n} = v{number}[{i}]" for i, n in enumerate(names))
            for n, p in zip(names, parts):
                self.values[n] = p
                self.exact[n] = exact and (not p.dtype.is_floating_point and not p.dtype.is_complex or p.dtype in EXACT_DTYPES and bool(re.match(
                    r"(neg|abs|clone|view|reshape|permute|transpose|t\.|expand|slice|select|squeeze|unsqueeze|cat|flip|roll|repeat|split|diagonal|alias|index|gather|tril|triu|add\.|sub\.|mul\.|maximum|minimum|where|amax|amin|max|min|sort|floor|ceil|trunc|relu|sign)", name)))
            return

    # ---- arguments of a call ----

    def tensor(self, fits=lambda v: True):
        names = [n for n, v in self.values.items() if fits(v)]
        return self.rng.choice(names[-4:]) if names else None

    def call(self, name, op):
        positional, keywords, used = [], [], []
        self.first = None
        for argument in op._schema.arguments:
            if argument.has_default_value() and self.rng.random() < 0.6:
                if not argument.kwarg_only and any(not a.has_default_value() for a in op._schema.arguments[len(positional):]):
                    return None
                if argument.kwarg_only:
                    continue
                break_here = True
            else:
                break_here = False
            if break_here:
                keywords_only = [a for a in op._schema.arguments if a.kwarg_only]
                if keywords_only and not all(a.has_default_value() for a in keywords_only):
                    return None
                break
            text = self.given(name, argument.name, str(argument.type), used)
            if text is None:
                if argument.has_default_value():
                    continue
                return None
            (keywords if argument.kwarg_only else positional).append(f"{argument.name}={text}" if argument.kwarg_only else text)
        packet, _, overload = name.partition(".")
        return f"aten.{packet}.{overload}({', '.join(positional + keywords)})", used

    def given(self, op, name, kind, used):
        rng = self.rng
        rank = self.first.dim() if self.first is not None else 2
        if kind == "Tensor" or kind == "Optional[Tensor]":
            if kind != "Tensor" and rng.random() < 0.4:
                return "None"
            chosen = None
            if name in ("index", "indices", "self_indices"):
                chosen = self.tensor(lambda v: v.dtype == torch.int64)
            elif name in ("mask", "condition"):
                chosen = self.tensor(lambda v: v.dtype == torch.bool)
            elif self.first is not None and rng.random() < 0.7:
                chosen = self.tensor(lambda v: v.shape == self.first.shape and v.dtype == self.first.dtype)
            chosen = chosen or self.tensor()
            used.append(chosen)
            if self.first is None:
                self.first = self.values[chosen]
            return chosen
        if kind == "List[Tensor]":
            first = self.tensor()
            self.first = self.values[first]
            some = [first] + [self.tensor(lambda v: v.dtype == self.first.dtype and v.dim() == self.first.dim()) for _ in range(rng.randrange(3))]
            used += some
            return f"[{', '.join(some)}]"
        if kind in ("number", "Optional[number]"):
            if self.first is not None and not self.first.dtype.is_floating_point:
                return rng.choice(["2", "1", "3", "True", "-1"])
            return rng.choice(["2", "0.5", "1", "-1.5", "3", "True"])
        if kind in ("int", "Optional[int]", "SymInt", "Optional[SymInt]"):
            if name in ("dtype",):
                return rng.choice(["torch.float32", "torch.float64", "torch.int64", "torch.bfloat16", "torch.bool"])
            if name in ("layout", "device", "pin_memory", "memory_format"):
                return None
            if name.startswith("dim") or name in ("axis", "dim0", "dim1"):
                return str(rng.randrange(-rank, rank)) if rank else "0"
            return str(rng.choice([0, 1, 1, 2, 2, -1, 3]))
        if kind in ("List[int]", "Optional[List[int]]", "List[SymInt]", "Optional[List[SymInt]]"):
            if name in ("dim", "dims") and op.startswith("permute"):
                return str(rng.sample(range(rank), rank))
            if name in ("dim", "dims", "axes"):
                return str(rng.sample(range(rank), rng.randrange(rank + 1)))
            if name in ("size", "shape") and self.first is not None:
                shape = list(self.first.shape)
                if rng.random() < 0.4 and self.first.numel():
                    return rng.choice([f"[{self.first.numel()}]", "[-1]", f"[-1, {shape[-1] if shape else 1}]", f"[1, {self.first.numel()}]"])
                return str([rng.choice([2, 3])] * rng.randrange(2) + shape)
            if name == "pad":
                return str([rng.randrange(-1, 3) for _ in range(2 * rng.randrange(1, max(rank, 1) + 1))])
            return str([rng.choice([1, 1, 2, 3]) for _ in range(rng.choice([rank, rank, 2, 1]))])
        if kind == "bool" or kind == "Optional[bool]":
            return None if name == "pin_memory" else rng.choice(["True", "False"])
        if kind in ("float", "Optional[float]"):
            return rng.choice(["0.5", "1.0", "2.0", "-0.25"])
        if kind in ("str", "Optional[str]"):
            return {"rounding_mode": rng.choice(["'floor'", "'trunc'"]), "approximate": rng.choice(["'none'", "'tanh'"])}.get(name)
        return None

    def text(self):
        names = [name for name, _ in self.arguments]
        made = [n for n in self.values if n not in names]
        results = self.rng.sample(made, self.rng.randint(1, len(made))) if made else names[:1]
        if made and made[-1] not in results:
            results.append(made[-1])
        lines = ["import torch", "from graphs_programs import tensor", "aten = torch.ops.aten", f"DYNAMIC = {self.rng.random() < 0.2}", f"INTERPRET = {self.rng.random() < 0.9}", "", "", "def arguments(size):"]
        lines += [f"    {name} = {text}" for name, text in self.arguments]
        lines += [f"    return {', '.join(names)},", "", "", f"def program({', '.join(names)}):"]
        lines += ["    " + line for line in self.lines]
        return "\n".join([*lines, f"    return {', '.join(results)},"]) + "\n"


def tame(value):
    if value.dtype.is_floating_point or value.dtype.is_complex:
        return bool(torch.isfinite(value).all()) and (value.numel() == 0 or float(value.abs().max()) < 1e3)
    return value.numel() == 0 or value.dtype == torch.bool or int(value.to(torch.int64).abs().max()) < 2**40


def tensor(dtype, shape, layout, seed):
    """The same tensor whenever it is asked for with the same words: quarters and small integers."""
    generator = torch.Generator().manual_seed(seed)
    if layout == "channels" and len(shape) == 4:
        return tensor(dtype, shape, "C", seed).contiguous(memory_format=torch.channels_last)
    if layout == "T" and len(shape) > 1:
        return tensor(dtype, shape[::-1], "C", seed).permute(*reversed(range(len(shape))))
    if layout == "step" and shape:
        return tensor(dtype, (*shape[:-1], 2 * shape[-1]), "C", seed)[..., ::2]
    if layout == "expanded" and shape:
        return tensor(dtype, (1, *shape[1:]), "C", seed).expand(shape)
    if layout == "flipped" and shape:
        return tensor(dtype, shape, "C", seed).flip(0)
    if layout == "offset" and shape:
        return tensor(dtype, (shape[0] + 1, *shape[1:]), "C", seed)[1:]
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype.is_complex:
        return torch.complex(*(torch.randint(-8, 9, shape, generator=generator).float() / 4 for _ in range(2)))
    if dtype.is_floating_point:
        return (torch.randint(-12, 13, shape, generator=generator) / 4).to(dtype)
    return torch.randint(0 if seed % 2 or dtype == torch.uint8 else -5, 3 if seed % 3 else 7, shape, generator=generator).to(dtype)
