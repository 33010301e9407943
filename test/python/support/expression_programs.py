"""Random NumPy programs as source text with inputs, for comparison with plain NumPy."""

from dataclasses import dataclass

import numpy as np
from compare import check
from hypothesis import strategies as st

FLOATS = ("float32", "float64")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = FLOATS + INTS + ("bool",)

UNARY_ANY = ("np.negative({0})", "np.abs({0})", "np.square({0})", "np.sign({0})", "(+{0})", "np.isfinite({0})")
UNARY_FLOAT = (
    "np.exp(np.minimum({0}, 3))", "np.log(np.abs({0}) + 1)", "np.sqrt(np.abs({0}))", "np.tanh({0})", "np.sin({0})",
    "np.cos({0})", "np.floor({0})", "np.ceil({0})", "np.rint({0})", "np.log1p(np.abs({0}))", "np.arctan({0})",
    "np.expm1(np.minimum({0}, 3))", "np.trunc({0})", "np.exp2(np.minimum({0}, 3))", "np.sinh(np.clip({0}, -3, 3))",
    "np.signbit({0})",
)
BINARY_ANY = (
    "({0} + {1})", "({0} * {1})", "({0} - {1})", "np.maximum({0}, {1})", "np.minimum({0}, {1})", "({0} / {1})",
    "({0} // {1})", "({0} % {1})", "({0} < {1})", "({0} >= {1})", "({0} == {1})", "({0} != {1})",
    "np.where({0} > {1}, {0}, {1})", "np.fmax({0}, {1})", "np.fmod({0}, {1})", "np.logical_and({0}, {1})",
    "np.logical_xor({0}, {1})",
)
BINARY_FLOAT = ("np.hypot({0}, {1})", "np.arctan2({0}, {1})", "np.copysign({0}, {1})", "np.logaddexp({0}, {1})")
BINARY_INT = ("({0} & {1})", "({0} | {1})", "({0} ^ {1})")
REDUCTIONS = ("np.sum({0}{axis})", "np.max({0}{axis})", "np.min({0}{axis})", "{0}.sum({axis1})", "np.any({0}{axis})",
              "np.all({0}{axis})", "np.argmax({0}{axis})", "np.mean({0}{axis})", "np.prod({0}{axis})",
              "np.cumsum({0}{axis})", "np.argmin({0}{axis})", "np.var({0}{axis})")
SHAPES = ("{0}.T", "{0}[::-1]", "{0}[..., ::2]", "{0}[None]", "{0}.reshape(-1)", "{0}[..., None]", "{0}[1:]", "np.ravel({0})",
          "np.concatenate([{0}, {0}])", "np.stack([{0}, {0}])", "np.flip({0})", "{0}.copy()", "np.roll({0}, 1)",
          "np.expand_dims({0}, 0)", "np.squeeze({0})", "np.tile({0}, 2)", "np.repeat({0}, 2)")
CONSTANTS = ("2", "0.5", "-1", "True", "np.float32(1.5)", "3", "np.int64(2)")


@dataclass
class Program:
    source: str
    arrays: list

    def function(self):
        scope = {"np": np}
        exec(compile(self.source, "<program>", "exec"), scope)
        return scope["program"]


def layouts(array, kind):
    """The same values with other strides."""
    if array.ndim == 0 or kind == "contiguous":
        return array
    if kind == "fortran":
        return np.asfortranarray(array)
    if kind == "reversed":
        return array[::-1].copy()[::-1]
    if kind == "strided":
        wide = np.zeros(array.shape[:-1] + (array.shape[-1] * 2,), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    return np.broadcast_to(array[:1], array.shape)


@st.composite
def arrays(draw, shape, dtype):
    values = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype == "bool":
        array = values.integers(0, 2, shape).astype(bool)
    elif dtype in FLOATS:
        array = np.asarray(values.standard_normal(shape) * 2).astype(dtype)
        if draw(st.integers(0, 7)) == 0 and array.size:
            array.reshape(-1)[draw(st.integers(0, array.size - 1))] = draw(
                st.sampled_from([0.0, -0.0, np.inf, -np.inf, np.nan]))
    else:
        low = 0 if dtype.startswith("u") else -5
        array = values.integers(low, 9, shape).astype(dtype)
        if draw(st.integers(0, 7)) == 0 and array.size:
            info = np.iinfo(dtype)
            array.reshape(-1)[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from([info.min, info.max]))
    return layouts(array, draw(st.sampled_from(
        ["contiguous", "contiguous", "fortran", "reversed", "strided", "broadcast"])))


@st.composite
def programs(draw, shape_ops=True, reductions=True):
    rank = draw(st.integers(0, 3))
    sizes = st.sampled_from([1, 2, 3, 5, 8, 17, 33])
    shape = tuple(draw(sizes) for _ in range(rank))
    if rank and draw(st.integers(0, 30)) == 0:
        shape = (0,) + shape[1:]
    names, inputs, lines = [], [], []
    dtype = draw(st.sampled_from(DTYPES))
    for i in range(draw(st.integers(1, 3))):
        own = dtype if draw(st.booleans()) else draw(st.sampled_from(DTYPES))
        own_shape = tuple(1 if draw(st.integers(0, 5)) == 0 else s for s in shape)
        own_shape = own_shape[draw(st.integers(0, len(own_shape))) if draw(st.integers(0, 4)) == 0 else 0:]
        names.append("abc"[i])
        inputs.append(draw(arrays(own_shape, own)))
    known = list(names)
    for i in range(draw(st.integers(1, 5))):
        pick = lambda: draw(st.sampled_from(known))  # noqa: E731
        kind = draw(st.integers(0, 9))
        if kind <= 4:
            other = draw(st.sampled_from(CONSTANTS)) if draw(st.integers(0, 3)) == 0 else pick()
            template = draw(st.sampled_from(BINARY_ANY + BINARY_FLOAT + BINARY_INT))
            text = template.format(pick(), other)
        elif kind <= 6 or (kind == 7 and not reductions) or (kind > 7 and not shape_ops):
            text = draw(st.sampled_from(UNARY_ANY + UNARY_FLOAT)).format(pick())
        elif kind == 7:
            axis = draw(st.sampled_from(["", "axis=0", "axis=-1", "axis=0, keepdims=True"]))
            template = draw(st.sampled_from(REDUCTIONS))
            if "cum" in template:
                axis = axis.replace(", keepdims=True", "")
            text = template.format(pick(), axis=", " + axis if axis else "", axis1=axis)
        else:
            text = draw(st.sampled_from(SHAPES)).format(pick())
        name = f"v{i}"
        lines.append(f"    {name} = {text}")
        known.append(name)
    result = ", ".join(draw(st.lists(st.sampled_from(known[len(names):]), min_size=1, max_size=2, unique=True)))
    source = f"def program({', '.join(names)}):\n" + "\n".join(lines) + f"\n    return {result}\n"
    return Program(source, inputs)


def program_alike(program, compiled, arrays):
    """Two calls of a program on arrays of its kinds, plain and compiled."""
    # Cancellation in a later step scales an earlier rounding error: compare with the largest magnitude in play.
    scale = max([1.0] + [float(np.max(np.abs(a[np.isfinite(a)].astype(np.float64)), initial=0)) ** 2 for a in arrays if a.size])
    # A wide result of narrow steps is as exact as these.
    narrow = any(a.dtype.name in ("float32", "int16", "uint16") for a in program.arrays) or "float32" in program.source
    check(compiled, program.function(), arrays, ulps=lambda t: 64 * 2.0**29 if narrow and t == np.float64 else 64, scale=scale)
