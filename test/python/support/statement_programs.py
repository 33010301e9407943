"""Random programs of statements: writes through views, loops, reductions with all their arguments, products, indexing.

The functions take arrays that may share memory and may be changed; run() compares results, arguments afterwards,
warnings, exceptions, dtypes, layouts.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from compare import assert_same
from hypothesis import strategies as st

import frameloom

FLOATS = ("float32", "float64")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = FLOATS * 3 + INTS + ("bool",)

EXACT = ("-{0}", "abs({0})", "np.square({0})", "np.sign({0})", "np.floor({0})", "np.ceil({0})", "np.rint({0})",
         "np.trunc({0})", "np.isfinite({0})", "np.isnan({0})", "np.signbit({0})", "np.logical_not({0})", "~{0}",
         "np.sqrt(np.abs({0}))", "np.reciprocal({0})", "{0}.astype(np.{d})", "np.clip({0}, -1, 2)", "np.nan_to_num({0})",
         "np.round({0}, 1)", "np.positive({0})", "{0} ** 2", "{0}.copy()", "np.abs({0}).astype(np.{d})")
SMOOTH = ("np.exp(np.minimum({0}, 3))", "np.tanh({0})", "np.sin({0})", "np.log1p(np.abs({0}))", "np.arctan({0})",
          "np.log({0})", "np.sqrt({0})", "np.exp({0})", "np.arcsin({0})", "np.cbrt({0})", "np.expm1({0})")
BINARY = ("{0} + {1}", "{0} * {1}", "{0} - {1}", "{0} / {1}", "{0} // {1}", "{0} % {1}", "np.maximum({0}, {1})",
          "np.minimum({0}, {1})", "{0} < {1}", "{0} == {1}", "np.where({0} > {1}, {0}, {1})", "np.fmod({0}, {1})",
          "np.logical_xor({0}, {1})", "{0} & {1}", "{0} | {1}", "{0} ^ {1}", "np.where({0}, {1}, 0)", "{0} << ({1} % 4)",
          "{0} >> 1", "np.copysign({0}, {1})", "np.heaviside({0}, {1})", "np.divmod({0}, {1})[1]", "np.fmax({0}, {1})",
          "np.add.outer({0}.ravel()[:3], np.ravel({1})[:2])", "np.where(np.isfinite({0}), {0} / {1}, 1)",
          "np.float_power(np.abs({0}), 2)", "np.gcd({0}, {1})", "np.nextafter({0}, {1})")
REDUCE = ("np.sum({0}{k})", "np.max({0}{k})", "np.min({0}{k})", "np.mean({0}{k})", "np.prod({0}{k})", "np.any({0}{k})",
          "np.all({0}{k})", "np.var({0}{k})", "np.std({0}{k})", "np.ptp({0}{k})", "np.count_nonzero({0}{k})",
          "np.nansum({0}{k})", "np.nanmax({0}{k})", "np.median({0}{k})")
ARG_REDUCE = ("np.argmax({0}{a})", "np.argmin({0}{a})", "np.cumsum({0}{a})", "np.cumprod({0}{a})", "np.sort({0}{s})",
              "np.argsort({0}{s}, kind='stable')", "np.diff({0}{s})", "np.flip({0}{a})", "np.roll({0}, 2{a})",
              "np.repeat({0}, 2{a})", "np.take({0}, [0, -1]{a})", "np.logical_and.reduce({0}{s})",
              "np.add.reduce({0}{s})", "np.maximum.accumulate({0}{s})", "np.percentile({0}, 30{a})",
              "np.expand_dims({0}{s})", "np.stack([{0}, {0}]{s})", "np.concatenate([{0}, {0}]{s})")
SHAPES = ("{0}.T", "{0}.reshape(-1)", "np.squeeze({0})", "np.ravel({0})", "np.tile({0}, 2)", "np.atleast_2d({0})",
          "np.pad({0}, 1)", "np.tril(np.atleast_2d({0}))", "np.swapaxes(np.atleast_2d({0}), 0, -1)", "{0}.flatten()",
          "np.diag({0}.ravel()[:4])", "np.trace(np.atleast_2d({0}))", "np.rot90(np.atleast_2d({0}))",
          "np.broadcast_to({0}, (2,) + {0}.shape)", "np.meshgrid({0}.ravel()[:3], {0}.ravel()[:2])[0]",
          "np.array([{0}.sum(), 1])", "np.zeros_like({0}) + 1", "np.full({0}.shape, 2)", "np.triu(np.atleast_2d({0}), 1)")
PRODUCTS = ("{0} @ {1}", "np.dot({0}, {1})", "np.matmul({0}, {1}.T)", "np.outer({0}, {1})", "np.inner({0}, {1})",
            "np.einsum('...i,...i->...', {0}, {1})", "np.einsum('i...->...', {0})", "np.tensordot({0}, {1}, 1)",
            "np.vdot({0}, {1})", "np.einsum('ij,jk', {0}, {1})", "np.einsum('ij->ji', {0})", "np.kron({0}, {1})",
            "np.einsum('ii->i', {0})", "np.einsum('ij,kj->ik', {0}, {1})")
MASKS = ("{0} > 0", "{0} < {1}", "~({0} > 1)", "{0} == {1}", "{0} != 0", "({0} > 0) & ({1} > 0)", "np.isfinite({0})", "{0} > 100",
         "({0} > -1) | ({1} < 0)")
MASKED = ("{0}[{m}]", "{0}[{m}]", "{1}[{m}]", "{0}[{m}].sum()", "{1}[{m}].mean()", "{0}[{m}].max()", "len({0}[{m}])",
          "{0}[{m}] {o} {1}[{m}]", "{0}[{m}] * 2 + 1", "np.nonzero({m})[0]", "np.nonzero({m})[-1] * 2", "np.flatnonzero({m})",
          "np.argwhere({m})", "np.where({m})[0].size", "{0}.ravel()[np.flatnonzero({m})]", "np.extract({m}, {1})", "np.unique({0})",
          "np.unique({0}, return_counts=True)[1]", "np.unique({0}, return_inverse=True)[1]", "np.union1d({0}, {1})",
          "np.setdiff1d({0}, {1})", "np.compress(np.ravel({m})[:4], {1})", "np.cumsum({0}[{m}])", "np.sort({1}[{m}])",
          "{0}[{m}][::-1]", "{0}[{m}][1:]", "{0}[{m}][:, None]", "np.concatenate([{0}[{m}], {1}.ravel()])", "{0}[{m}].std()",
          "{0}[..., np.ravel({m})[:3]]", "{0}[np.ravel({m})[:{0}.shape[0]]]", "{0}[({m}).any(-1)]", "{0}[:, ({m}).any(0)]",
          "{0}[0, ({m})[0]]", "{0}[{m}].sum() / len({0}[{m}])", "np.zeros(({m}).sum())", "{0}[{m}].any()", "{0}[{m}].astype(np.{d})",
          "np.where({0}[{m}] > 1, {0}[{m}], 0)", "{0}[{m}].reshape(-1, 1)", "{0}[{m}].prod()", "{0}[{m}][0]", "{0}[{m}].T")
CONSTANTS = ("2", "0.5", "-1", "True", "np.float32(1.5)", "3", "np.int64(2)", "0", "1e30", "np.uint8(200)", "7.0")
INDICES = ("0", "-1", "1:", ":-1", "::2", "::-1", "1::2", "-3:", "...", "None", ":0", "2:5", "-2::-1", "::-2", ":, 0", ":, ::-1",
           "..., 0", "..., ::-1", "..., None", "1:, ..., :-1", "[0, 0]", "[0, -1]", "..., [0]", "None, ..., None", "..., 1:",
           "0:1", "..., -1, None")


@dataclass
class Program:
    source: str
    arrays: list
    aliases: list  # (base, index) pairs: arrays that are views of others
    state: str

    def function(self):
        scope = {"np": np}
        exec(compile(self.source, "<program>", "exec"), scope)
        return scope["program"]

    def arguments(self):
        """Fresh copies with the same layout and sharing."""
        made = [clone(a) for a in self.arrays]
        return made + [made[base][eval(f"np.s_[{index}]")] for base, index in self.aliases]


def clone(a):
    if a.size == 0 or a.ndim == 0:
        return a.copy()
    reach = [(n - 1) * s for n, s in zip(a.shape, a.strides)]
    low = sum(r for r in reach if r < 0)
    block = np.zeros((sum(abs(r) for r in reach) + a.itemsize) // a.itemsize, a.dtype)
    out = np.ndarray(a.shape, a.dtype, block.data, -low, a.strides)
    out.setflags(write=True)
    out[...] = a
    out.setflags(write=a.flags.writeable)
    return out


@st.composite
def inputs(draw, shape, dtype):
    values = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype == "bool":
        a = values.integers(0, 2, shape).astype(bool)
    elif dtype in FLOATS:
        a = np.asarray(values.integers(-16, 17, shape) / 4).astype(dtype)
        if draw(st.integers(0, 5)) == 0 and a.size:
            special = draw(st.sampled_from([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, 1e-40, -2.0**70]))
            a.reshape(-1)[draw(st.integers(0, a.size - 1))] = special
    else:
        a = np.asarray(values.integers(0 if dtype[0] == "u" else -6, 10, shape)).astype(dtype)
        if draw(st.integers(0, 5)) == 0 and a.size:
            info = np.iinfo(dtype)
            a.reshape(-1)[draw(st.integers(0, a.size - 1))] = draw(st.sampled_from([info.min, info.max]))
    how = draw(st.sampled_from(["c", "c", "c", "f", "reversed", "strided", "transposed", "broadcast"]))
    if a.ndim == 0 or a.size == 0 or how == "c":
        return a
    if how == "f":
        return np.asfortranarray(a)
    if how == "reversed":
        return a[..., ::-1].copy()[..., ::-1]
    if how == "strided":
        wide = np.zeros(a.shape[:-1] + (a.shape[-1] * 3,), a.dtype)
        wide[..., ::3] = a
        return wide[..., ::3]
    if how == "transposed":
        order = draw(st.permutations(range(a.ndim)))
        return np.ascontiguousarray(a.transpose(order)).transpose(np.argsort(order))
    return np.broadcast_to(a[:1], a.shape)


@st.composite
def wide_programs(draw, masks=False):
    rank = draw(st.sampled_from([0, 1, 1, 2, 2, 2, 3, 4]))
    sizes = st.sampled_from([1, 2, 3, 4, 5, 8, 17, 40] if rank < 3 else [1, 2, 3, 5, 9])
    shape = tuple(draw(sizes) for _ in range(rank))
    if rank == 2 and draw(st.integers(0, 3)) == 0:
        shape = (shape[0], shape[0])
    if rank and draw(st.integers(0, 25)) == 0:
        shape = shape[:-1] + (0,)
    if draw(st.integers(0, 4)) == 0:  # large enough for writes straight into arguments
        shape = draw(st.sampled_from([(5001,), (72, 71), (17, 300), (3, 40, 45)]))
    exact = draw(st.booleans())
    names, arrays, aliases = [], [], []
    dtype = draw(st.sampled_from(DTYPES))
    for i in range(draw(st.integers(1, 3))):
        own = dtype if draw(st.booleans()) else draw(st.sampled_from(DTYPES))
        own_shape = tuple(1 if draw(st.integers(0, 6)) == 0 else s for s in shape)
        own_shape = own_shape[draw(st.integers(0, len(own_shape))) if draw(st.integers(0, 5)) == 0 else 0:]
        names.append("abc"[i])
        arrays.append(draw(inputs(own_shape, own)))
    if draw(st.integers(0, 6)) == 0 and arrays[0].ndim:
        aliases.append((0, draw(st.sampled_from(["...", "::-1", "1:", "..., :1", ":"]))))
        names.append("d")
    known, lines, local = list(names), [], []

    def pick():
        return draw(st.sampled_from(known[-4:] + known))

    def expression():
        kind = draw(st.integers(0, 19))
        d = draw(st.sampled_from(DTYPES))
        axis = draw(st.sampled_from([0, -1, 1, None]))
        if masks and draw(st.booleans()):
            x, y = pick(), pick()
            m = draw(st.sampled_from(MASKS)).format(*([x, y] if draw(st.booleans()) else [y, x]))
            return draw(st.sampled_from(MASKED)).format(x, y, m=m, d=d, o=draw(st.sampled_from("+-*")))
        if kind < 6:
            other = draw(st.sampled_from(CONSTANTS)) if draw(st.integers(0, 3)) == 0 else pick()
            return draw(st.sampled_from(BINARY)).format(pick(), other)
        if kind < 10:
            return draw(st.sampled_from(EXACT if exact else EXACT + SMOOTH * 2)).format(pick(), d=d)
        if kind < 13:
            x = pick()
            k = draw(st.sampled_from(["", ", axis=0", ", axis=-1", ", axis=(0, 1)", ", axis=(-1, 0)", ", axis=()", ", axis=None"]))
            k += draw(st.sampled_from(["", "", ", keepdims=True"]))
            template = draw(st.sampled_from(REDUCE))
            if any(w in template for w in ("sum", "max(", "min(", "prod", "any", "all", "mean", "var", "std")):
                if draw(st.integers(0, 4)) == 0:
                    k += f", where={x} > 0" + ("" if "mean" in template or "var" in template or "std" in template or
                                               "any" in template or "all" in template else ", initial=1")
                elif ("sum" in template or "prod" in template) and draw(st.integers(0, 4)) == 0:
                    k += f", dtype=np.{d}"
            return template.format(x, k=k)
        if kind < 15:
            a = "" if axis is None else f", axis={axis}"
            return draw(st.sampled_from(ARG_REDUCE)).format(pick(), a=a, s=a or ", axis=-1")
        if kind < 17:
            return f"{pick()}[{draw(st.sampled_from(INDICES))}]"
        if kind == 17:
            return draw(st.sampled_from(PRODUCTS)).format(pick(), pick())
        if kind == 18:
            x = pick()
            return draw(st.sampled_from([f"{x}[{x} > 0]", f"{x}.sum()", f"{x}.shape[0]", f"np.unique({x})", f"{x}.size + {pick()}",
                                         f"[{x}, {pick()}][1]", f"({x}, 1)[0]", f"sum([{x}, {x}])"]))
        return draw(st.sampled_from(SHAPES)).format(pick())

    def statement(indent, i):
        pad = "    " * indent
        kind = draw(st.integers(0, 15))
        x = pick()
        operator = draw(st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "&", "|"]))
        index = draw(st.sampled_from(INDICES))
        if masks and draw(st.booleans()):
            index = draw(st.sampled_from(MASKS)).format(x, pick())
        if kind == 0:
            lines.append(f"{pad}{x} {operator}= {expression()}")
        elif kind == 1:
            lines.append(f"{pad}{x}[{index}] = {expression()}")
        elif kind == 2:
            lines.append(f"{pad}{x}[{index}] {operator}= {expression()}")
        elif kind == 3:
            lines.append(f"{pad}{x}[...] = {expression()}")
        elif kind == 4:
            name = draw(st.sampled_from(["np.add", "np.multiply", "np.maximum", "np.divide", "np.subtract", "np.less"]))
            extra = draw(st.sampled_from(["", "", f", where={pick()} > 1"]))
            lines.append(f"{pad}{name}({pick()}, {pick()}, out={x}{extra})")
        elif kind == 5 and indent == 1:
            lines.append(f"{pad}for i in range({draw(st.integers(0, 3))}):")
            for _ in range(draw(st.integers(1, 2))):
                statement(2, i)
        elif kind == 6 and indent == 1:
            lines.append(f"{pad}if {x}.ndim > 1:")
            statement(2, i)
        else:
            lines.append(f"{pad}v{i} = {expression()}")
            if indent == 1:
                known.append(f"v{i}")
                local.append(f"v{i}")

    for i in range(draw(st.integers(1, 6))):
        statement(1, i)
    result = ", ".join(draw(st.lists(st.sampled_from(local + names), min_size=1, max_size=3, unique=True)))
    result = draw(st.sampled_from(["{}", "({},)", "[{}]", "{{'r': ({})}}"])).format(result)
    source = f"def program({', '.join(names)}):\n" + "\n".join(lines) + f"\n    return {result}\n"
    return Program(source, arrays, aliases, draw(st.sampled_from(["warn", "warn", "ignore", "raise"])))


@st.composite
def broken_programs(draw):
    """The same with breaks between statements."""
    program = draw(wide_programs())
    lines = []
    for line in program.source.split("\n"):
        lines.append(line)
        pad = line[: len(line) - len(line.lstrip())]
        if pad and not line.endswith(":") and "return" not in line and draw(st.integers(0, 2)) == 0:
            lines.append(pad + "print(end='')")
    program.source = "\n".join(lines)
    return program


def outcome(function, arguments, state):
    with warnings.catch_warnings(record=True) as caught, np.errstate(all=state, under="ignore"):
        warnings.simplefilter("always")
        try:
            result, error = function(*arguments), None
        except Exception as exception:  # whatever NumPy raises must come out of the compiled function too
            result, error = None, exception
    return result, error, [(w.category, str(w.message), w.filename, w.lineno) for w in caught]


def largest(*objects):
    best = 1.0
    for o in objects:
        if isinstance(o, (tuple, list)):
            best = max(best, largest(*o))
        elif isinstance(o, dict):
            best = max(best, largest(*o.values()))
        elif isinstance(o, (np.ndarray, np.generic)) and o.size and o.dtype.kind in "fiu":
            wide = np.abs(np.asarray(o, np.float64))
            best = max(best, float(np.max(wide[np.isfinite(wide)], initial=0)))
    return best


def statements_alike(program, backend="loom", compiled=None):
    """Two calls of a program, plain and compiled: results, arguments, exceptions, and warnings with their lines."""
    plain = program.function()
    compiled = compiled or frameloom.compile(program.function(), backend=backend)
    want_args = program.arguments()
    want, want_error, want_warnings = outcome(plain, want_args, program.state)
    narrow = any(a.dtype.name in ("float32", "int16", "uint16", "int8", "uint8", "bool") for a in program.arrays)
    narrow |= "float32" in program.source or "int" in program.source
    scale = largest(want, want_args, *program.arrays)
    for _ in range(2):
        args = program.arguments()
        got, error, seen = outcome(compiled, args, program.state)
        assert type(error) is type(want_error), f"raised {error!r} instead of {want_error!r}"
        assert want_error is None or str(error) == str(want_error), f"{error!r} instead of {want_error!r}"
        assert seen == want_warnings, f"warned {seen} instead of {want_warnings}"
        if want_error is None:
            assert_same(got, want, lambda t: 256 * (2.0**29 if narrow and t == np.float64 else 1), scale)
        if "negative integer powers" in str(want_error):
            continue  # NumPy leaves what its buffer held
        for mine, theirs in zip(args, want_args):
            assert_same(mine, theirs, lambda t: 256 * (2.0**29 if narrow and t == np.float64 else 1), scale)
