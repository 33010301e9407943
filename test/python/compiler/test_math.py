"""Every function of passes/math.def against a wider type, over the whole range, within its stated bound in ulp."""

import ctypes
import functools
import re
import tempfile
from pathlib import Path

from cpus import HAS_AVX512, KINDS
import kernel_harness as kh
import numpy as np
import pytest
from paths import ROOT

pytestmark = pytest.mark.skipif(not kh.available(), reason="needs loom-opt and LLVM's tools")

ROWS = {}
with open(ROOT / "passes" / "math.def") as table:
    for op, f32, f64 in re.findall(r"LOOM_MATH2?\((\w+), \w+, (\d+), \w+, (\d+), \w+\)", table.read()):
        ROWS[op.lower()] = {"float32": int(f32), "float64": int(f64)}

EXACT = ("nextafter", "fmod", "rem", "floor_div")
BINARY = ("pow", "atan2", "hypot") + EXACT
REFERENCE = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
             "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power, "hypot": np.hypot,
             "logistic": lambda x: 1 / (1 + np.exp(-x))}
FLAGS = {"exp": (88.0, 89.0, 2), "log": (0.5, 0.0, 1), "sqrt": (0.5, -1.0, 8)}


# Made with 40 digits: C has no wider erf for Python to call.
ERF = [(1e-300, "1.128379167095512602172316e-300"), (1e-10, "1.12837916709551261500173e-10"),
       (0.01, "0.01128341555584961715077714"), (0.1, "0.1124629160182848984047123"),
       (0.25, "0.2763263901682369329850683"), (0.4, "0.4283923550466684764541096"),
       (0.47, "0.4937450508860821124102186"), (0.5, "0.5204998778130465376827467"),
       (0.6, "0.6038560908479259050823068"), (0.75, "0.7111556336535151315989378"),
       (0.9, "0.7969082124228321396646662"), (0.99, "0.8385080695553697998187909"),
       (1.0, "0.8427007929497148693412206"), (1.0000000000000002, "0.8427007929497149615136009"),
       (1.01, "0.8468104962282767014998326"), (1.1, "0.8802050695740817296572595"),
       (1.25, "0.9229001282564582301365235"), (1.5, "0.9661051464753107270669763"),
       (1.75, "0.9866716712191824437722111"), (2.0, "0.9953222650189527341620693"),
       (2.5, "0.9995930479825550410604358"), (3.0, "0.9999779095030014145586272"),
       (3.5, "0.9999992569016276585872545"), (4.0, "0.9999999845827420997199811"),
       (4.5, "0.9999999998033839558457113"), (5.0, "0.999999999998462540205572"),
       (5.5, "0.999999999999992642152082"), (5.8, "0.9999999999999997644410625"),
       (5.9, "0.9999999999999999280959022"), (6.0, "0.9999999999999999784802633")]


def erf(x):
    import math
    return np.array([math.erf(float(v)) for v in x], np.longdouble)


def compile_op(op, dtype, n, operands, tmp_path, cpu="x86-64-v3", options=""):
    a = [np.zeros(n, dtype)] * operands
    args = ", ".join(f"%a{i}" for i in range(operands))
    body = f"%0 = loom.{op} {args} : {kh.tensor(a[0])}\nyield %0"
    compiled = kh.Kernel(kh.kernel("k", a, body, [a[0]]), str(tmp_path / f"k{len(list(tmp_path.iterdir()))}"),
                         cpu=cpu, options=options)

    def call(*inputs):
        out = np.empty(n, dtype)
        assert compiled.run(list(inputs), [out]) & ~15 == 0
        return out

    call.compiled = compiled
    return call


@functools.cache  # tests of flags ask the same code for good arguments and for bad ones
def with_a_tail(op, dtype, operands, cpu, options=""):
    """77 is no multiple of any width."""
    with tempfile.TemporaryDirectory() as folder:
        return compile_op(op, dtype, 77, operands, Path(folder), cpu=cpu, options=options)


def values(dtype, n):
    rng = np.random.default_rng(3)
    special = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, 2, 1e-30, 88.7, -103.9, 89.4, 709.7, -745, 1e5, 3e6]
    if dtype == "float32":
        bits = np.linspace(0, 2**32 - 1, n - len(special) - n // 2).astype(np.uint32).view(np.float32)
    else:
        bits = rng.integers(0, 2**64, n - len(special) - n // 2, np.uint64).view(np.float64)
    near = np.concatenate([rng.uniform(-1.5, 1.5, n // 8), rng.uniform(-20, 20, n // 8), rng.normal(0, 200, n // 8)])
    near = np.concatenate([near, np.exp(rng.uniform(-80, 80, n // 2 - near.size))])
    with np.errstate(all="ignore"):
        return np.concatenate([special, bits, near]).astype(dtype)


def ulps(got, exact, dtype):
    """Distance in units of the last place; special values must agree exactly."""
    with np.errstate(all="ignore"):
        want = exact.astype(dtype)
        special = ~np.isfinite(want)
        limit = np.finfo(dtype)
        edge = special & np.isfinite(got) & (np.abs(got) >= limit.max * 0.9999) & ~np.isnan(want)
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | edge
        assert same[special].all(), "special values differ"
        zero = (want == 0) & (np.signbit(got) != np.signbit(want)) & ~np.isnan(got)
        assert not (zero & (exact == 0)).any(), "signs of zeros differ"
        unit = np.maximum(np.spacing(np.abs(want)), limit.smallest_subnormal).astype(np.longdouble)
        gap = np.where(same, 0, np.abs(got.astype(np.longdouble) - exact) / unit)
    return gap


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", sorted(op for op in ROWS if op not in BINARY))
def test_unary(tmp_path, op, dtype):
    n = 200_000 if op != "erf" else 20_000
    x = values(dtype, n)
    if op == "cbrt":  # every exponent modulo 3
        x[n // 2:] = np.random.default_rng(2).uniform(1, 8, n - n // 2).astype(dtype)
    call = compile_op(op, dtype, n, 1, tmp_path)
    with np.errstate(all="ignore"):
        wide = x.astype("f8" if dtype == "float32" else np.longdouble)
        exact = erf(wide) if op == "erf" else REFERENCE.get(op, getattr(np, op, None))(wide)
    gap = ulps(call(x), exact.astype(np.longdouble), dtype)
    worst = int(np.nanargmax(gap))
    spare = 1 if op == "erf" and dtype == "float64" else 0  # the reference is rounded itself
    assert gap[worst] <= ROWS[op][dtype] + spare, (x[worst], gap[worst])


# What is made of an instruction of AVX-512: powers of two by which a number is scaled, and tables.
SCALED = ["exp", "exp2", "sinh", "cosh", "logistic"]
WIDE = {"cpu": "x86-64-v4", "options": "loom.vector = 64 : i64"}


@pytest.mark.skipif(not HAS_AVX512, reason="needs AVX-512")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", SCALED)
def test_scaled_by_an_instruction(tmp_path, op, dtype):
    """The bits of code that has no such instruction, of single numbers and of vectors of any length."""
    n = 50_000
    x = values(dtype, n)
    plain, wide = compile_op(op, dtype, n, 1, tmp_path)(x), compile_op(op, dtype, n, 1, tmp_path, **WIDE)(x)
    np.testing.assert_array_equal(plain, wide)
    for count in (1, 3, 8, 15, 17, 33):
        np.testing.assert_array_equal(compile_op(op, dtype, count, 1, tmp_path, **WIDE)(x[:count]), wide[:count])


@pytest.mark.skipif(not HAS_AVX512, reason="needs AVX-512")
def test_erf_by_tables(tmp_path):
    n = 100_000
    x = values("float32", n)
    near = np.random.default_rng(4).uniform(-4.2, 4.2, n // 2)
    x[n // 2:] = near
    x[100:164] = np.arange(-32, 32) / 8 + 1 / 16  # between two places
    got = compile_op("erf", "float32", n, 1, tmp_path, **WIDE)(x)
    gap = ulps(got, erf(x), "float32")
    worst = int(np.nanargmax(gap))
    assert gap[worst] <= ROWS["erf"]["float32"], (x[worst], gap[worst])
    assert np.nanmax(np.abs(got)) == 1
    for count in (1, 3, 8, 15, 17, 33, 48, 77):  # one number, a part of a register, several
        np.testing.assert_array_equal(compile_op("erf", "float32", count, 1, tmp_path, **WIDE)(x[:count]), got[:count])


def test_erf_at_known_values(tmp_path):
    x = np.array([v for v, _ in ERF] + [-v for v, _ in ERF])
    exact = np.array([np.longdouble(text) for _, text in ERF] + [-np.longdouble(text) for _, text in ERF])
    gap = ulps(compile_op("erf", "float64", x.size, 1, tmp_path)(x), exact, "float64")
    assert gap.max() <= ROWS["erf"]["float64"]


@pytest.mark.parametrize("op,want", [("cos", -4.6871659242546276e-19), ("sin", 1.0), ("tan", -2133485385753703843.7)])
def test_the_argument_nearest_to_a_multiple_of_half_pi(tmp_path, op, want):
    got = compile_op(op, "float64", 9, 1, tmp_path)(np.full(9, 6381956970095103.0 * 2.0**797))
    assert np.all(np.abs(got - want) <= 4 * np.spacing(abs(want)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["pow", "atan2", "hypot"])
def test_binary(tmp_path, op, dtype):
    n = 100_000
    rng = np.random.default_rng(5)
    x, y = values(dtype, n), rng.permutation(values(dtype, n))
    grid = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, -2, 3, -3, 0.5, -0.5, 1e30], dtype)
    pairs = np.meshgrid(grid, grid)
    m = grid.size**2
    x[:m], y[:m] = pairs[0].ravel(), pairs[1].ravel()
    if op == "pow":
        y[m:n // 2] = rng.uniform(-30, 30, n // 2 - m)
        y[n // 2:3 * n // 4] = np.rint(rng.uniform(-9, 9, n // 4))
    call = compile_op(op, dtype, n, 2, tmp_path)
    with np.errstate(all="ignore"):
        wide = "f8" if dtype == "float32" else np.longdouble
        exact = REFERENCE[op](x.astype(wide), y.astype(wide))
    gap = ulps(call(x, y), exact.astype(np.longdouble), dtype)
    worst = int(np.nanargmax(gap))
    assert gap[worst] <= ROWS[op][dtype], (x[worst], y[worst], gap[worst])


def powers(dtype, n, rng):
    """x of all magnitudes, many of them near one another and near the square root of two, and y for which the power is normal."""
    info, part = np.finfo(dtype), n // 8
    most = 0.49 * (info.maxexp - info.minexp)
    bands = [(0.7, 1.45), (1.41, 1.4145), (0.7068, 0.7074), (0.999, 1.001), (1.9, 2.1), (0.05, 20)]
    x = [rng.uniform(low, high, part) for low, high in bands] + [np.exp2(rng.uniform(0.98 * info.minexp, 0.98 * info.maxexp, part))]
    x.append(1 + rng.choice([-1, 1], n - 7 * part) * np.exp2(rng.uniform(-info.nmant, -6, n - 7 * part)))
    x = np.concatenate(x).astype(dtype)
    log = np.abs(np.log2(x.astype(np.longdouble)))
    size = np.where(rng.random(n) < 0.5, rng.uniform(0.9, 1, n), rng.random(n)) * most
    y = rng.choice([-1, 1], n) * size / np.where(log == 0, 1, log)
    y = np.where(rng.random(n) < 0.2, rng.choice([0.5, 2.5, -1.5, 1 / 3, 2.2], n), y.astype(dtype))
    return x, np.where(np.abs(y * log) < most, y, 1).astype(dtype)


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_ordinary_numbers(tmp_path, dtype, cpu, odd):
    """Which take a shorter way where no lane beside them is odd."""
    libm, n = ctypes.CDLL("libm.so.6"), 200_003
    rng = np.random.default_rng(7)
    x, y = powers(dtype, n, rng)
    if odd:
        x[::5], y[::11] = rng.choice([0.0, -1.5, np.inf, np.nan, 1e-45 if dtype == "float32" else 5e-324], x[::5].size), rng.choice([0.0, np.inf, 1e-30], y[::11].size)
    call = compile_op("pow", dtype, n, 2, tmp_path, cpu=cpu)
    libm.feclearexcept(0x3d)
    got = call(x, y)
    assert odd or libm.fetestexcept(0x1d) == 0
    with np.errstate(all="ignore"):
        gap = ulps(got, np.power(x.astype(np.longdouble), y.astype(np.longdouble)), dtype)
    worst = int(np.nanargmax(gap))
    bound = ROWS["pow"][dtype] if odd else {"float32": 0.51, "float64": 0.95}[dtype]
    assert gap[worst] <= bound, (x[worst], y[worst], gap[worst])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["floor_div", "rem", "fmod", "nextafter"])
def test_exact(tmp_path, op, dtype):
    n = 20_000
    rng = np.random.default_rng(5)
    x, y = values(dtype, n), rng.permutation(values(dtype, n))
    grid = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -3, 5e-324, -1e-310, 1e-40, 1.7e38, 3e38], dtype)
    x[:9000], y[:9000] = rng.integers(-50, 50, 9000) / 4, rng.integers(-12, 12, 9000) / 4
    x[-144:], y[-144:] = np.repeat(grid, 12), np.tile(grid, 12)
    f = {"floor_div": np.floor_divide, "rem": np.remainder, "fmod": np.fmod, "nextafter": np.nextafter}[op]
    with np.errstate(all="ignore"):
        x, y = x.astype(dtype), y.astype(dtype)
        want = f(x, y)
    got = compile_op(op, dtype, n, 2, tmp_path)(x, y)
    np.testing.assert_array_equal(got, want)
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op,kind", [(op, {"cpu": "native"}) for op in sorted(ROWS) + ["div", "sqrt"]] + [(op, WIDE) for op in SCALED + ["erf"] if HAS_AVX512])
def test_ordinary_arguments_raise_no_flags(op, dtype, kind):
    """Tails included."""
    libm = ctypes.CDLL("libm.so.6")
    n, rng = 77, np.random.default_rng(1)
    low, high = {"acosh": (1, 30), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atanh": (-0.9, 0.9),
                 "erf": (-6, 6), "sin": (-1e12, 1e12), "cos": (-1e12, 1e12), "tan": (-1e12, 1e12), "log1p": (-0.9, 9),
                 "sinh": (-80, 80), "cosh": (-80, 80), "asinh": (-80, 80), "expm1": (-80, 80), "logistic": (-80, 80),
                 "atan": (-50, 50), "tanh": (-30, 30), "cbrt": (-9, 9)}.get(op, (0.1, 20))
    operands = 2 if op in BINARY + ("div",) else 1
    x = [rng.uniform(low, high, n).astype(dtype) for _ in range(operands)]
    call = with_a_tail(op, dtype, operands, **kind)
    out = np.empty(n, dtype)
    libm.feclearexcept(0x3d)
    status = call.compiled.run(x, [out])
    assert (libm.fetestexcept(0x3d) & 0x0d) == 0 and status == 0


@pytest.mark.parametrize("op,bad,flag", [("exp", 800.0, 8), ("log", 0.0, 4), ("log", -1.0, 1), ("acosh", 0.5, 1),
                                         ("asin", 1.5, 1), ("log1p", -1.0, 4), ("sin", np.inf, 1), ("expm1", 800, 8),
                                         ("tan", -np.inf, 1), ("log10", 0.0, 4), ("log10", -2.0, 1), ("cosh", 800, 8),
                                         ("atanh", 2.0, 1), ("log1p", -2.0, 1),
                                         ("sqrt", -1.0, 1), ("sinh", 800, 8), ("atanh", 1.0, 4),
                                         ("pow", (0.0, -1.0), 4), ("pow", (-2.0, 0.5), 1), ("pow", (1e30, 90), 8),
                                         ("rem", (1.0, 0.0), 1), ("rem", (np.inf, 1.0), 1), ("fmod", (1.0, 0.0), 1),
                                         ("floor_div", (1.0, 0.0), 4), ("floor_div", (np.inf, 2.0), 1),
                                         ("hypot", "max", 8), ("nextafter", "max", 8)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bad_arguments_raise_flags(op, bad, flag, dtype):
    """As NumPy warns: 1 invalid, 4 divide, 8 overflow, of the unit (fenv.h) or in the status."""
    libm = ctypes.CDLL("libm.so.6")
    if bad == "max":
        bad = (np.finfo(dtype).max, np.inf if op == "nextafter" else np.finfo(dtype).max)
    bad = bad if isinstance(bad, tuple) else (bad,)
    x = [np.full(77, 1.0 if op == "acosh" else 0.5, dtype) for _ in bad]
    for array, value in zip(x, bad):
        array[76] = value
    call = with_a_tail(op, dtype, len(bad), cpu="native")
    libm.feclearexcept(0x3d)
    status = call.compiled.run(x, [np.empty(77, dtype)])
    unit = libm.fetestexcept(0x3d)
    named = {1: 8, 4: 1, 8: 2}[flag]
    assert unit & flag or status & named
