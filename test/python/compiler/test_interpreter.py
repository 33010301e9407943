"""The reference interpreter against NumPy: every op of the table, every element type it takes.

All cases go through one run of `loom-opt --loom-interpret`: each is a function whose arguments carry their elements.
"""

import os
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from paths import ROOT, op_table

TYPES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8", "uint16": "ui16",
    "uint32": "ui32", "uint64": "ui64", "float16": "f16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
}
INTS = [f"{s}int{w}" for s in ("", "u") for w in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]


def find_loom_opt():
    """The built tool: of LOOM_BUILD, of the build folders, or installed."""
    for folder in (os.environ.get("LOOM_BUILD"), ROOT / "build" / "wheel", ROOT / "build" / "dev"):
        if folder and (Path(folder) / "bin" / "loom-opt").exists():
            return str(Path(folder) / "bin" / "loom-opt")
    return shutil.which("loom-opt")


LOOM_OPT = find_loom_opt()
pytestmark = pytest.mark.skipif(LOOM_OPT is None, reason="loom-opt is not built")


def type_text(dtype, shape):
    return "tensor<" + "".join(f"{n}x" for n in shape) + TYPES[str(np.dtype(dtype))] + ">"


def dense_text(array):
    kind = type_text(array.dtype, array.shape)
    if array.dtype == bool:
        return f"dense<{str(array.tolist()).lower()}> : {kind}"
    return f'dense<"0x{np.ascontiguousarray(array).tobytes().hex().upper()}"> : {kind}'


class Case:
    """`text` has {0}, {1}, ... for the operands and {t} for the function type."""

    def __init__(self, text, arrays, expected, ulp=0):
        self.text, self.arrays, self.expected, self.ulp = text, [np.asarray(a) for a in arrays], np.asarray(expected), ulp

    def function(self, name):
        types = [type_text(a.dtype, a.shape) for a in self.arrays]
        # An empty array has no elements to write.
        values = [f" {{loom.values = {dense_text(a)}}}" if a.size else "" for a in self.arrays]
        arguments = ", ".join(f"%a{i}: {t}{v}" for i, (t, v) in enumerate(zip(types, values)))
        result = type_text(self.expected.dtype, self.expected.shape)
        body = self.text.format(*[f"%a{i}" for i in range(len(types))], t=f"({', '.join(types)}) -> {result}", r=result)
        return f"func.func @{name}({arguments}) -> {result} {{\n  %r = loom.{body}\n  return %r : {result}\n}}\n"


def parse(line):
    head, _, rest = line.partition("]")
    name, _, kind = head.partition(" 0: ")
    dtype, _, shape = kind.partition("[")
    words = re.findall(r"\([^)]*\)|\S+", rest)
    shape = tuple(int(n) for n in shape.split("x") if n)
    if dtype.startswith("complex"):
        values = [complex(*[float(p) for p in w[1:-1].split(",")]) for w in words]
    elif dtype.startswith("float"):
        values = [float(w) for w in words]
    else:
        values = [int(w) for w in words]
    return name, np.array(values, dtype=dtype).reshape(shape)


def interpreted(cases):
    """Interprets all cases at once; a dictionary from case number to result."""
    module = "".join(case.function(f"c{i}") for i, case in enumerate(cases))
    done = subprocess.run([LOOM_OPT, "--loom-interpret", "-o", os.devnull, "-"], input=module, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    results = dict(parse(line) for line in done.stdout.splitlines())
    return [results[f"c{i}"] for i in range(len(cases))]


def ulp_of(expected, dtype):
    real = np.dtype(dtype).type(0).real.dtype
    magnitude = np.abs(expected).astype(real)
    with np.errstate(all="ignore"):
        return np.spacing(np.where(np.isfinite(magnitude), magnitude, real.type(1)))


def agree(got, case):
    want = case.expected
    assert got.dtype == want.dtype and got.shape == want.shape, (case.text, got.dtype, got.shape, want.dtype, want.shape)
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want, err_msg=case.text)
        return
    same = (got == want) | ((got != got) & (want != want))
    if want.dtype.kind == "f" and case.ulp == 0:
        same &= (np.signbit(got) == np.signbit(want)) | (want != want)
    with np.errstate(all="ignore"):
        close = np.abs(got - want) <= case.ulp * ulp_of(want, want.dtype)
    if not np.all(same | close):
        bad = np.argwhere(~(same | close))[0]
        at = tuple(bad)
        inputs = [a[at] if a.shape == want.shape else "..." for a in case.arrays]
        raise AssertionError(f"{case.text} {want.dtype}: {inputs} gave {got[at]!r}, NumPy {want[at]!r}")


def interpreted_alike(cases):
    for got, case in zip(interpreted(cases), cases):
        agree(got, case)


def samples(dtype, seed=0):
    """Pairs that cover the corners: all combinations of special values, then random ones."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed)
    if dtype == bool:
        special = np.array([False, True])
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        special = np.unique(np.array([info.min, info.min + 1, -2 % 256 if dtype.kind == "u" else -2, 0, 1, 2, 3, 7, 8,
                                      info.bits, info.bits - 1, info.max - 1, info.max,
                                      0 if dtype.kind == "u" else -1], dtype=dtype))
    else:
        with np.errstate(all="ignore"):
            special = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -2.5, 2, 3, -7, 1e3, 6e4, -6e4, 1e-3, 1e30, -1e300, 1e-310, np.inf,
                                -np.inf, np.nan]).astype(dtype)
    a, b = (x.ravel() for x in np.meshgrid(special, special))
    if dtype.kind == "f":
        extra = (random.standard_normal((2, 200)) * 10).astype(dtype)
    elif dtype.kind == "c":
        extra = (random.standard_normal((2, 50)) + 1j * random.standard_normal((2, 50))).astype(dtype)
        a = b = a[:0]
    elif dtype == bool:
        extra = random.integers(0, 2, (2, 10)).astype(bool)
    else:
        extra = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (2, 100), dtype=dtype, endpoint=True)
    return np.concatenate([a, extra[0]]), np.concatenate([b, extra[1]])


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


EXACT_UNARY = {"neg": np.negative, "abs": np.abs, "sign": np.sign, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc,
               "round_even": np.rint, "sqrt": np.sqrt}
CLOSE_UNARY = {n: getattr(np, n) for n in (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh cbrt").split()}
CLOSE_UNARY.update(asin=np.arcsin, acos=np.arccos, atan=np.arctan, asinh=np.arcsinh, acosh=np.arccosh, atanh=np.arctanh,
                   rsqrt=lambda x: (1 / np.sqrt(x.astype(float))).astype(x.dtype),
                   logistic=lambda x: (1 / (1 + np.exp(-x.astype(float)))).astype(x.dtype))


def test_unary_floats():
    cases = []
    for dtype in FLOATS:
        x, _ = samples(dtype)
        for name, f in EXACT_UNARY.items():
            cases.append(Case(name + " {0} : {r}", [x], f(x)))
        for name, f in CLOSE_UNARY.items():
            cases.append(Case(name + " {0} : {r}", [x], f(x), ulp=4))
    interpreted_alike(cases)


def test_erf():
    from math import erf
    x, _ = samples("float64")
    interpreted_alike([Case("erf {0} : {r}", [x], np.array([erf(v) for v in x]), ulp=2)])


def test_unary_integers():
    cases = []
    for dtype in INTS:
        x, _ = samples(dtype)
        for name, f in {"neg": np.negative, "abs": np.abs, "sign": np.sign, "not": np.invert, "floor": np.floor}.items():
            cases.append(Case(name + " {0} : {r}", [x], f(x).astype(dtype)))
        cases.append(Case("popcount {0} : {r}", [x], np.bitwise_count(x).astype(dtype)))
    x, _ = samples(bool)
    cases.append(Case("not {0} : {r}", [x], ~x))
    cases.append(Case("abs {0} : {r}", [x], np.abs(x)))
    interpreted_alike(cases)


def test_predicates():
    cases = []
    for dtype in FLOATS + COMPLEX + ["int8", "uint64"]:
        x, _ = samples(dtype)
        for name, f in {"is_nan": np.isnan, "is_inf": np.isinf, "is_finite": np.isfinite}.items():
            cases.append(Case(name + " {0} : {t}", [x], f(x)))
        if dtype in FLOATS:
            cases.append(Case("signbit {0} : {t}", [x], np.signbit(x)))
    interpreted_alike(cases)


def test_binary_floats():
    exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floor_div": np.floor_divide,
             "rem": np.remainder, "fmod": np.fmod, "copysign": np.copysign, "nextafter": np.nextafter, "beside": lambda a, b: a}
    close = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "max": np.maximum, "min": np.minimum,
             "fmax": np.fmax, "fmin": np.fmin}
    cases = []
    for dtype in FLOATS:
        a, b = samples(dtype)
        for name, f in exact.items():
            cases.append(Case(name + " {0}, {1} : {r}", [a, b], f(a, b)))
        for name, f in close.items():
            cases.append(Case(name + " {0}, {1} : {r}", [a, b], f(a, b), ulp=2))
    interpreted_alike(cases)


def test_binary_integers():
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "floor_div": np.floor_divide, "rem": np.remainder,
                 "fmod": np.fmod, "max": np.maximum, "min": np.minimum, "fmax": np.fmax, "fmin": np.fmin,
                 "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift,
                 "shr": np.right_shift, "gcd": np.gcd}
    cases = []
    for dtype in INTS:
        a, b = samples(dtype)
        for name, f in functions.items():
            cases.append(Case(name + " {0}, {1} : {r}", [a, b], f(a, b)))
        positive = np.where(b < 0, 3, b).astype(dtype)
        cases.append(Case("pow {0}, {1} : {r}", [a, positive], np.power(a, positive)))
    a, b = samples(bool)
    for name in "add mul max min fmax fmin and or xor".split():
        cases.append(Case(name + " {0}, {1} : {r}", [a, b], {**functions}[name](a, b)))
    interpreted_alike(cases)


def test_complex():
    cases = []
    for dtype in COMPLEX:
        a, b = samples(dtype)
        for name, f in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power}.items():
            cases.append(Case(name + " {0}, {1} : {r}", [a, b], f(a, b), ulp=64))
        for name, f in {"neg": np.negative, "sign": np.sign, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin,
                        "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos,
                        "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh,
                        "atanh": np.arctanh}.items():
            cases.append(Case(name + " {0} : {r}", [a], f(a), ulp=64))
    interpreted_alike(cases)


def test_mul_add():
    """Rounded once: of a product that is 1 - 2^-2k there is something left when 1 is taken away."""
    cases = []
    for dtype, k in (("float32", 13), ("float64", 27)):
        a, b = np.array([1 + 2.0**-k, 2, np.inf, 0], dtype), np.array([1 - 2.0**-k, 3, 1, -1], dtype)
        c = np.array([-1, 4, -np.inf, 0], dtype)
        cases.append(Case("mul_add {0}, {1}, {2} : {r}", [a, b, c], np.array([-(2.0 ** (-2 * k)), 10, np.nan, 0], dtype)))
    interpreted_alike(cases)


def test_compare_and_select():
    cases = []
    directions = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
                  "ge": np.greater_equal}
    for dtype in ["bool"] + INTS + FLOATS + COMPLEX:
        a, b = samples(dtype)
        for name, f in directions.items():
            cases.append(Case(f'compare "{name}" {{0}}, {{1}} : {{t}}', [a, b], f(a, b)))
        condition = np.arange(a.size) % 3 == 0
        cases.append(Case("select {0}, {1}, {2} : {t}", [condition, a, b], np.where(condition, a, b)))
    interpreted_alike(cases)


def in_range(x, dtype):
    """Out of range the C conversion is undefined; the values that the type holds must be right."""
    if np.dtype(dtype).kind not in "iu" or x.dtype.kind not in "fc":
        return x
    info = np.iinfo(dtype)
    with np.errstate(all="ignore"):
        wide = np.trunc(x.real.astype("float64"))
    return np.where((wide >= float(info.min)) & (wide < float(info.max) + 1), x, 0).astype(x.dtype)


def test_convert():
    cases = []
    names = ["bool"] + INTS + FLOATS + COMPLEX
    for source in names:
        x, _ = samples(source)
        for target in names:
            y = in_range(x, target)
            cases.append(Case("convert {0} : {t}", [y], y.astype(target)))
    interpreted_alike(cases)


def test_bitcast():
    x = np.array([1.5, -0.0, np.inf], dtype="float32")
    interpreted_alike([Case("bitcast {0} : {t}", [x], x.view("int32")), Case("bitcast {0} : {t}", [x], x.view("uint32"))])
    byte = np.array([0, 1, 1], dtype="uint8")  # other bytes: test_bool_bytes.py
    interpreted_alike([Case("bitcast {0} : {t}", [byte.view("bool")], byte), Case("bitcast {0} : {t}", [byte], byte.view("bool"))])


def test_creation():
    interpreted_alike([
        Case("constant(2.5 : f32) : {r}", [], np.full((2, 3), 2.5, "float32")),
        Case("constant(-3 : i16) : {r}", [], np.full((4,), -3, "int16")),
        Case("constant(true) : {r}", [], np.full((), True)),
        Case("constant([1.0 : f64, -2.0 : f64]) : {r}", [], np.full((2,), 1 - 2j, "complex128")),
        Case("constant(1.0 : f32) : {r}", [], np.empty((0, 3), "float32")),
        Case("iota {{axis = 1 : i64}} : {r}", [], np.broadcast_to(np.arange(4, dtype="uint8"), (3, 4))),
        Case("iota {{axis = 0 : i64}} : {r}", [], np.arange(5, dtype="float64")),
    ])


def test_views():
    x = np.arange(24, dtype="int32").reshape(2, 3, 4)
    row = np.arange(3, dtype="float32").reshape(3, 1)
    interpreted_alike([
        Case("broadcast {0} dims = [1, 2] : {t}", [row], np.broadcast_to(row, (2, 3, 4))),
        Case("reshape {0} : {t}", [x], x.reshape(4, 6)),
        Case("reshape {0} : {t}", [x], x.reshape(24, 1, 1)),
        Case("transpose {0} perm = [2, 0, 1] : {t}", [x], x.transpose(2, 0, 1)),
        Case("slice {0} starts = [1, 2, 3] sizes = [1, 3, 2] steps = [1, -1, -3] : {t}", [x], x[1:2, ::-1, ::-3]),
        Case("slice {0} starts = [0, 0, 0] sizes = [2, 0, 4] steps = [1, 1, 1] : {t}", [x], x[:, :0]),
        Case("copy {0} : {r}", [x], x),
        Case("windows {0} sizes = [1, 2, 2] strides = [1, 1, 2] dilation = [1, 2, 1] : {t}", [x],
             np.lib.stride_tricks.sliding_window_view(x, (1, 3, 2))[:, :, ::2, :, ::2]),
    ])


def test_movement():
    x = np.arange(12, dtype="float64").reshape(3, 4)
    y = -np.ones((3, 2))
    updated = x.copy()
    updated[::-2, 1:3] = y[:2]
    index = np.array([[2, -1], [0, 1]])
    scattered = x.copy()
    np.add.at(scattered, np.array([0, 2, 0]), np.ones((3, 4)))
    assigned = x.copy()
    assigned[:, [3, 0]] = y
    wild = np.array([5, -7, 100], dtype="int8")
    interpreted_alike([
        Case("update_slice {0}, {1} starts = [2, 1] steps = [-2, 1] : {t}", [x, y[:2]], updated),
        Case("concatenate {0}, {1} axis = 1 : {t}", [x, y], np.concatenate([x, y], axis=1)),
        Case("pad {0}, {1} low = [1, 0] high = [0, 2] : {t}", [x, np.float64(7)],
             np.pad(x, [(1, 0), (0, 2)], constant_values=7)),
        Case('gather "raise" {0}, {1} axis = 0 : {t}', [x, index], np.take(x, index, axis=0)),
        Case('gather "wrap" {0}, {1} axis = 1 : {t}', [x, wild], np.take(x, wild, axis=1, mode="wrap")),
        Case('gather "clip" {0}, {1} axis = 1 : {t}', [x, wild], np.take(x, wild, axis=1, mode="clip")),
        Case('scatter "add" {0}, {1}, {2} axis = 0 : {t}', [x, np.array([0, 2, 0]), np.ones((3, 4))], scattered),
        Case('scatter "set" {0}, {1}, {2} axis = 1 : {t}', [x, np.array([3, 0]), y], assigned),
    ])


def test_reductions():
    random = np.random.default_rng(1)
    cases = []
    functions = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max}
    for dtype in INTS + ["float32", "float64"]:
        x = (random.standard_normal((3, 4, 5)) * 3).astype(dtype)
        if dtype in FLOATS:
            x = np.abs(x)  # no cancellation, so that a bound in ulp holds for sums in any order
        for kind, f in functions.items():
            for axes in ([0], [1, 2], [0, 1, 2], []):
                keep = {"dtype": dtype} if kind in ("sum", "prod") else {}
                want = f(x, axis=tuple(axes), **keep)
                cases.append(Case(f'reduce "{kind}" {{0}} axes = {axes} : {{t}}', [x], want, ulp=16))
        for kind, f in {"argmin": np.argmin, "argmax": np.argmax}.items():
            cases.append(Case(f'reduce "{kind}" {{0}} axes = [1] : {{t}}', [x], f(x, axis=1)))
    holed = np.array([[1, np.nan, 3, np.nan], [4, 5, 5, -1]])
    for kind, f in {**functions, "argmin": np.argmin, "argmax": np.argmax}.items():
        cases.append(Case(f'reduce "{kind}" {{0}} axes = [1] : {{t}}', [holed], f(holed, axis=1)))
    truth = random.integers(0, 2, (4, 3)).astype(bool)
    cases.append(Case('reduce "or" {0} axes = [0] : {t}', [truth], truth.any(axis=0)))
    cases.append(Case('reduce "and" {0} axes = [1] : {t}', [truth], truth.all(axis=1)))
    cases.append(Case('reduce "and" {0} axes = [0] : {t}', [np.array([6, 3], "uint8")], np.uint8(2)))
    cases.append(Case('reduce "sum" {0} axes = [0] : {t}', [np.empty((0, 2))], np.zeros(2)))
    cases.append(Case('reduce "prod" {0} axes = [0] : {t}', [np.empty((0, 2), "int32")], np.ones(2, "int32")))
    cases.append(Case('reduce "sum" {0} axes = [0] : {t}', [np.array([-0.0, -0.0])], np.float64(0)))
    interpreted_alike(cases)


def test_scans():
    random = np.random.default_rng(2)
    cases = []
    for dtype in ["int8", "uint64", "float16", "float32", "float64"]:
        x = (random.standard_normal((3, 6)) * 3).astype(dtype)
        cases.append(Case('scan "sum" {0} axis = 1 : {r}', [x], np.cumsum(x, axis=1, dtype=dtype)))
        cases.append(Case('scan "prod" {0} axis = 0 : {r}', [x], np.cumprod(x, axis=0, dtype=dtype)))
        cases.append(Case('scan "max" {0} axis = 1 : {r}', [x], np.maximum.accumulate(x, axis=1)))
    interpreted_alike(cases)


def test_sort():
    x = np.array([[3, np.nan, -1, 3, np.inf], [0.0, 2, -np.inf, np.nan, 1]])
    small = np.array([3, 1, 2, 1, 3], "uint8")
    interpreted_alike([
        Case("sort {0} axis = 1 {{indices = false}} : {t}", [x], np.sort(x, axis=1)),
        Case("sort {0} axis = 1 {{indices = true}} : {t}", [x], np.argsort(x, axis=1, kind="stable")),
        Case("sort {0} axis = 0 {{indices = true}} : {t}", [small], np.argsort(small, kind="stable")),
    ])


def test_contractions():
    random = np.random.default_rng(3)
    cases = []
    for dtype in ["bool", "int8", "uint32", "float32", "float64", "complex128"]:
        a = (random.standard_normal((2, 3, 4)) * 3).astype(dtype)
        b = (random.standard_normal((2, 4, 5)) * 3).astype(dtype)
        cases.append(Case("dot_general {0}, {1} batch = [0] x [0] contract = [2] x [1] : {t}", [a, b], a @ b, ulp=64))
    a, b = random.standard_normal((3, 4)), random.standard_normal((5, 4))
    cases.append(Case("dot_general {0}, {1} batch = [] x [] contract = [] x [] : {t}", [a, b], np.multiply.outer(a, b)))
    cases.append(Case("dot_general {0}, {1} batch = [] x [] contract = [1] x [1] : {t}", [a, b], a @ b.T, ulp=64))
    image, kernel = random.standard_normal((2, 4, 7)), random.standard_normal((6, 2, 3))
    cases.append(Case("convolution {0}, {1} strides = [2] padding = [1, 2] dilation = [2] groups = 2 : {t}",
                      [image, kernel], convolve(image, kernel, 2, 1, 2, 2, 2), ulp=64))
    gradient, weights = random.standard_normal((2, 6, 3)), np.zeros((6, 2, 3))
    for place in np.ndindex(*weights.shape):  # the convolution is linear in its weights
        one = np.zeros_like(weights)
        one[place] = 1
        weights[place] = (convolve(image, one, 2, 1, 2, 2, 2) * gradient).sum()
    cases.append(Case("convolution_gradient {0}, {1} strides = [2] padding = [1, 2] dilation = [2] window = [3] groups = 2 : {t}",
                      [image, gradient], weights, ulp=64))
    gradient, own = random.standard_normal((2, 4, 3)), random.standard_normal((4, 1, 3))
    inputs = np.zeros((2, 4, 7))
    for place in np.ndindex(*inputs.shape):  # the convolution is linear in its input, too
        one = np.zeros_like(inputs)
        one[place] = 1
        inputs[place] = (convolve(one, own, 2, 1, 2, 2, 4) * gradient).sum()
    cases.append(Case("convolution_input {0}, {1} strides = [2] padding = [1, 2] dilation = [2] sizes = [7] : {t}", [gradient, own], inputs, ulp=64))
    interpreted_alike(cases)


def convolve(x, w, stride, low, high, dilation, groups):
    x = np.pad(x, [(0, 0), (0, 0), (low, high)])
    count = (x.shape[2] - dilation * (w.shape[2] - 1) - 1) // stride + 1
    out = np.zeros((x.shape[0], w.shape[0], count))
    for o in range(w.shape[0]):
        first = o // (w.shape[0] // groups) * w.shape[1]
        for i in range(count):
            at = i * stride + dilation * np.arange(w.shape[2])
            out[:, o, i] = (x[:, first:first + w.shape[1]][:, :, at] * w[o]).sum(axis=(1, 2))
    return out


def test_random_is_philox():
    """NumPy's own Philox is the 4x64 one, so the known answers of Random123 for 4x32-10 serve."""
    key, counter = np.zeros(2, "uint64"), np.zeros(2, "uint64")
    ones = np.full(2, 2**64 - 1, "uint64")
    zero = np.array([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8], "uint32")
    full = np.array([0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD], "uint32")
    wide = (zero[0::2].astype("uint64") | zero[1::2].astype("uint64") << np.uint64(32))
    interpreted_alike([
        Case('random "bits" {0}, {1} : {t}', [key, counter], zero),
        Case('random "bits" {0}, {1} : {t}', [ones, ones], full),
        Case('random "bits" {0}, {1} : {t}', [key, counter], wide),
        Case('random "uniform" {0}, {1} : {t}', [key, counter], (zero >> 8).astype("float32") * np.float32(2**-24)),
    ])


def test_sizes():
    x = np.zeros((3, 0, 5))
    interpreted_alike([Case("size {0} axis = 2 : {t}", [x], np.int64(5)), Case("assume_shape {0} : {t}", [x], x)])


def ufunc_rows():
    """Op: the ufunc that it is, for each op that has one of its own in the frontend's table."""
    text = (ROOT / "frontend" / "numpy" / "ufuncs.def").read_text()
    found = re.findall(r"^LOOM_UFUNC\((\w+), (?:SAME1|SAME2|PREDICATE), (\w+), NULL\)", text, re.M)
    return {op.lower(): getattr(np, ufunc) for ufunc, op in found if ufunc != "float_power"}


def elementwise_rows():
    """Op: (Unary, Binary or Predicate, the classes of element types that it computes on)."""
    table = op_table()
    found = re.findall(r'^def \w+ : Loom_(Unary|Binary|Predicate)<\s*"(\w+)",\s*"[^"]*",\s*"(\w+)"', table, re.M)
    return {op: (kind, classes) for kind, op, classes in found}


@pytest.mark.parametrize("op", sorted(set(ufunc_rows()) & set(elementwise_rows())))
def test_ufuncs_of_the_table(op):
    """A new op with a row for NumPy is compared here without a line of its own."""
    ufunc, cases, (what, classes) = ufunc_rows()[op], [], elementwise_rows()[op]
    types = "{t}" if what == "Predicate" else "{r}"
    for dtype in ["bool", *INTS, *FLOATS]:
        kind = np.dtype(dtype).kind
        operands = samples(dtype)[:ufunc.nin]
        if kind not in classes:
            continue
        result = ufunc(*operands)
        if what != "Predicate" and result.dtype != dtype:  # the frontend converts before this op
            continue
        text = f"{op} " + ", ".join("{%d}" % i for i in range(ufunc.nin)) + f" : {types}"
        cases.append(Case(text, operands, result, ulp=4 * (kind == "f")))
    assert cases
    interpreted_alike(cases)


def test_every_op_is_interpreted_here():
    """A new row of the op table needs a case above (or stands here with the reason)."""
    listed = subprocess.run([LOOM_OPT, "--help"], capture_output=True, text=True)
    assert listed.returncode == 0
    table = op_table()
    names = set(re.findall(r'^def \w+ : Loom_(?:Unary|Binary|Predicate|View|\w*Op)<"(\w+)"', table, re.M)) - set(ufunc_rows())
    structure = {"for", "while", "if", "control", "yield", "fusion", "kernel", "apply", "plan", "buffer", "launch", "call_host", "copy_buffer",
                 "trim_arena"}
    elsewhere = {"host_call", "attention", "attention_gradient"}  # need a library; test_torch_attention.py
    here = Path(__file__).read_text()
    missing = [n for n in names - structure - elsewhere if not re.search(rf"\b{n}\b", here)]
    assert not missing, f"{missing}: a row in frontend/numpy/ufuncs.def (SAME1, SAME2, PREDICATE) or a case in this file"
