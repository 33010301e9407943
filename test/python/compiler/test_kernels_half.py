"""float16 and bfloat16 in kernels: every op is computed in f32 and rounded once, to nearest even."""

import ctypes
from pathlib import Path

from cpus import KINDS
import kernel_harness as kh
import numpy as np
import pytest

import frameloom

pytestmark = pytest.mark.skipif(not kh.available(), reason="needs loom-opt and LLVM's tools")

DTYPES = ["float16", "bfloat16"]
MLIR = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int16": "i16", "int32": "i32",
        "int64": "i64", "uint8": "ui8", "uint32": "ui32", "bool": "i1"}
EVERY = np.arange(65536, dtype=np.uint16)  # every value of both types, as bits


def widen(bits, dtype):
    """As float64."""
    if dtype == "float16":
        return bits.view(np.float16).astype(np.float64)
    with np.errstate(invalid="ignore"):  # signalling NaN
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def rounded(exact, dtype):
    """The nearest value of the type, as float64: ties to even, subnormals, infinity from half an ulp beyond."""
    exact = np.asarray(exact, np.float64)
    if dtype == "float16":
        return exact.astype(np.float16).astype(np.float64)
    fraction, least = 7, -133
    power = np.maximum(np.frexp(exact)[1] - 1 - fraction, least).astype(np.int32)
    near = np.ldexp(np.rint(np.ldexp(exact, -power)), power)
    return np.where(np.isfinite(exact), np.where(np.abs(near) > 3.4e38, np.copysign(np.inf, exact), near), exact)


def compile_kernel(tmp_path, lines, types, result, n, cpu):
    """A kernel over one-dimensional operands of these types; the last line yields."""
    kind = lambda t: f"tensor<{n}x{MLIR[t]}>"
    args = ", ".join(f"%a{i}: {kind(t)}" for i, t in enumerate(types))
    strides = ", ".join(["array<i64: 1>"] * (len(types) + 1))
    body = "\n".join(line.replace("{R}", kind(result)).replace("{0}", kind(types[0])) for line in lines)
    text = (f"loom.kernel @k {{\n^bb0({args}):\n{body}\nloom.yield %r : {kind(result)}\n}} "
            f"{{strides = [{strides}], scalars = array<i64>, inplace = array<i64: -1>}}\n")
    return kh.Kernel(text, str(tmp_path / f"k{len(list(tmp_path.iterdir()))}"), cpu=cpu)


def same_halves(got, want):
    zeros = (got == 0) & (want == 0)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(got[~zeros], want[~zeros])
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


UNARY = {"abs": np.abs, "neg": np.negative, "sign": np.sign, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc,
         "round_even": np.rint, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "tanh": np.tanh,
         "cbrt": np.cbrt, "expm1": np.expm1, "log1p": np.log1p, "atan": np.arctan, "log2": np.log2}
EXACT = ("abs", "neg", "sign", "ceil", "floor", "trunc", "round_even", "sqrt")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op,cpu", [(op, KINDS[-1]) for op in sorted(UNARY)] + [(op, cpu) for op in ("sqrt", "exp") for cpu in KINDS[:-1]])
def test_every_value(tmp_path, op, dtype, cpu):
    kernel = compile_kernel(tmp_path, [f"%r = loom.{op} %a0 : {{R}}"], [dtype], dtype, EVERY.size, cpu)
    out = np.empty(EVERY.size, np.uint16)
    kernel.run([EVERY], [out])
    with np.errstate(all="ignore"):
        exact = UNARY[op](widen(EVERY, dtype))
        want, got = rounded(exact, dtype), widen(out, dtype)
        if op in EXACT:
            return same_halves(got, want)
        differ = ~((got == want) | np.isnan(want) & np.isnan(got))
        # Only where the exact result is so close to a tie that the few ulp of f32 decide.
        assert differ.sum() <= 60
        assert np.all(np.abs(got - exact)[differ] <= 0.501 * np.abs(got - want)[differ])


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum,
          "min": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "copysign": np.copysign, "fmod": np.fmod,
          "rem": np.remainder}


def pairs(n):
    rng = np.random.default_rng(11)
    x, y = rng.integers(0, 65536, n, np.uint16), rng.integers(0, 65536, n, np.uint16)
    near = n // 2  # exponents close to each other, so that sums round
    y[:near] = x[:near] ^ rng.integers(0, 0x1000, near, np.uint16)
    return x, y


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op,cpu", [(op, KINDS[-1]) for op in sorted(BINARY)] + [(op, cpu) for op in ("add", "div") for cpu in KINDS[:-1]])
def test_pairs(tmp_path, op, dtype, cpu):
    n = 60_001
    x, y = pairs(n)
    kernel = compile_kernel(tmp_path, [f"%r = loom.{op} %a0, %a1 : {{R}}"], [dtype, dtype], dtype, n, cpu)
    out = np.empty(n, np.uint16)
    kernel.run([x, y], [out])
    with np.errstate(all="ignore"):
        a, b = widen(x, dtype), widen(y, dtype)
        exact = BINARY[op](a, b)
        if op == "rem":  # the sum that makes the sign right is rounded, as NumPy's is to float32
            r = np.fmod(a, b)
            exact = np.where((r != 0) & ((r < 0) != (b < 0)), (r.astype("f4") + b.astype("f4")).astype("f8"), exact)
        want, got = rounded(exact, dtype), widen(out, dtype)
    if op in ("fmax", "fmin", "max", "min"):  # the sign of a zero among zeros is nobody's
        zero = (want == 0) & (got == 0)
        got, want = got[~zero], want[~zero]
    same_halves(got, want)


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_each_op_is_rounded(tmp_path, dtype, cpu):
    """No excess precision between two ops of a kernel."""
    n = 50_001
    x, y = pairs(n)
    lines = ["%0 = loom.mul %a0, %a1 : {R}", "%r = loom.add %0, %a0 : {R}"]
    kernel = compile_kernel(tmp_path, lines, [dtype, dtype], dtype, n, cpu)
    out = np.empty(n, np.uint16)
    kernel.run([x, y], [out])
    with np.errstate(all="ignore"):
        a, b = widen(x, dtype), widen(y, dtype)
        same_halves(widen(out, dtype), rounded(rounded(a * b, dtype) + a, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_nextafter(tmp_path, dtype):
    n = 30_001
    x, y = pairs(n)
    kernel = compile_kernel(tmp_path, ["%r = loom.nextafter %a0, %a1 : {R}"], [dtype, dtype], dtype, n, KINDS[-1])
    out = np.empty(n, np.uint16)
    kernel.run([x, y], [out])
    a, b, got = widen(x, dtype), widen(y, dtype), widen(out, dtype)
    nan = np.isnan(a) | np.isnan(b)
    assert np.array_equal(np.isnan(got), nan)
    with np.errstate(all="ignore"):
        key = lambda bits: np.where(bits & 0x8000, -(bits & 0x7fff).astype(int), (bits & 0x7fff).astype(int))
        assert np.array_equal((key(out) - key(x))[~nan], np.sign(b - a)[~nan] * (a != b)[~nan])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("to", ["float32", "float64", "bool", "int32"])
def test_converting_from(tmp_path, dtype, to):
    x = EVERY if to != "int32" else EVERY[np.abs(widen(EVERY, dtype)) < 2**31]
    kernel = compile_kernel(tmp_path, ["%r = loom.convert %a0 : ({0}) -> {R}"], [dtype], to, x.size, KINDS[-1])
    out = np.empty(x.size, to)
    kernel.run([x], [out])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, widen(x, dtype).astype(to))


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("source", ["float32", "float64", "int16", "int32", "int64", "uint8", "uint32", "bool"])
def test_converting_to(tmp_path, dtype, source, cpu):
    rng = np.random.default_rng(5)
    n = 40_001
    if source in ("float32", "float64"):
        x = widen(rng.integers(0, 65536, n, np.uint16), dtype)
        half = 2.0**-11 if dtype == "float16" else 2.0**-8
        with np.errstate(all="ignore"):
            ties = x * (1 + half * rng.integers(0, 2, n))  # half way between two values, or one, or a little beside
            x = ties * (1 + 2.0**-45 * rng.integers(-1, 2, n))
            x[:4] = np.inf, -np.inf, np.nan, -0.0
            x = x.astype(source)
    elif source == "bool":
        x = rng.random(n) < 0.5
    else:
        bits = np.dtype(source).itemsize * 8
        x = (rng.integers(0, 2**63, n, np.uint64) >> rng.integers(64 - bits, 63, n).astype(np.uint64)).astype(source)
    kernel = compile_kernel(tmp_path, ["%r = loom.convert %a0 : ({0}) -> {R}"], [source], dtype, n, cpu)
    out = np.empty(n, np.uint16)
    kernel.run([x], [out])
    with np.errstate(all="ignore"):
        same_halves(widen(out, dtype), rounded(x, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["sum", "max", "min", "argmax"])
@pytest.mark.parametrize("shape,axis", [((7, 300), 1), ((300, 37), 0), ((1, 100_000), 1)])
def test_reductions(tmp_path, dtype, kind, shape, axis):
    rng = np.random.default_rng(3)
    x = rng.normal(0.3, 2, shape).astype(np.float32)
    bits = (x.view(np.uint32) >> 16).astype(np.uint16) if dtype == "bfloat16" else x.astype(np.float16).view(np.uint16)
    wide = widen(bits, dtype)
    rows = shape[1 - axis]
    result = "int64" if kind == "argmax" else dtype
    t = f"tensor<{shape[0]}x{shape[1]}x{MLIR[dtype]}>"
    text = (f"loom.kernel @k {{\n^bb0(%a0: {t}):\n%r = loom.reduce \"{kind}\" %a0 axes = [{axis}] : ({t}) -> "
            f"tensor<{rows}x{MLIR[result]}>\nloom.yield %r : tensor<{rows}x{MLIR[result]}>\n}} "
            f"{{strides = [array<i64: {shape[1]}, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}}\n")
    out = np.empty(rows, np.int64 if kind == "argmax" else np.uint16)
    kernel = kh.Kernel(text, str(tmp_path / "k"))
    assert kernel.run([bits], [out], parts=3) == 0
    want = getattr(np, kind)(wide, axis=axis)
    if kind == "argmax":
        return np.testing.assert_array_equal(out, want)
    got, want = widen(out, dtype), rounded(want, dtype)
    # One rounding at the end: at most a last place off where f32's error decides.
    assert np.all(np.abs(got - want) <= np.abs(want) * (2.0**-10 if dtype == "float16" else 2.0**-7))
    assert kind != "sum" or np.mean(got == want) > 0.9 or rows == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m,k,n", [(1, 50, 1), (5, 33, 7), (64, 100, 48), (40, 7, 1)])
def test_products(tmp_path, dtype, m, k, n):
    rng = np.random.default_rng(4)
    make = lambda *shape: rng.normal(0, 1, shape).astype(np.float32)
    pack = lambda x: (x.view(np.uint32) >> 16).astype(np.uint16) if dtype == "bfloat16" else x.astype("f2").view("u2")
    a, b = pack(make(m, k)), pack(make(k, n))
    t = lambda r, c: f"tensor<{r}x{c}x{MLIR[dtype]}>"
    text = (f"loom.kernel @k {{\n^bb0(%a0: {t(m, k)}, %a1: {t(k, n)}):\n"
            f"%r = loom.dot_general %a0, %a1 batch = [] x [] contract = [1] x [0] : ({t(m, k)}, {t(k, n)}) -> {t(m, n)}\n"
            f"loom.yield %r : {t(m, n)}\n}} {{strides = [array<i64: {k}, 1>, array<i64: {n}, 1>, array<i64: {n}, 1>], "
            f"scalars = array<i64>, inplace = array<i64: -1>}}\n")
    out = np.empty((m, n), np.uint16)
    kh.Kernel(text, str(tmp_path / "k")).run([a, b], [out])
    exact = widen(a, dtype) @ widen(b, dtype)
    unit = 2.0**-11 if dtype == "float16" else 2.0**-8
    size = np.abs(widen(a, dtype)) @ np.abs(widen(b, dtype))
    assert np.all(np.abs(widen(out, dtype) - exact) <= unit * np.abs(exact) + size * 2.0**-22)


def test_functions_of_two_are_rounded_once():
    """As close to NumPy, which computes in float32, as one rounding of nearly the same float32 is."""
    a, b = (np.random.default_rng(3).normal(0, 4, (2, 20000))).astype(np.float16)
    for name in ("logaddexp", "logaddexp2", "hypot", "arctan2", "power", "remainder", "fmod", "floor_divide", "heaviside", "copysign"):
        function = eval(f"lambda a, b: np.{name}(a, b)", {"np": np})
        with np.errstate(all="ignore"):
            want, got = function(a, b), frameloom.compile(function)(a, b)
        bits = np.abs(want.view(np.int16).astype(int) - got.view(np.int16))[~np.isnan(want)]
        assert bits.max() <= 1 and np.mean(bits > 0) < 1e-3, name


ONE_AFTER_ANOTHER = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc) and "e->e" in getattr(np, name).types]


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("second", ["arctanh", "arcsin", "cbrt", "expm1", "rint"])
@pytest.mark.filterwarnings("ignore")
def test_two_functions_compile(second, cpu):
    """Both results are kept, as numbers and in vectors: what LLVM makes of the conversions between them needs no library."""
    for first in ONE_AFTER_ANOTHER:
        compiled = frameloom.compile(eval(f"lambda x: (lambda v: (v, np.{second}(v)))(np.{first}(x))", {"np": np}), options={"cpu": cpu})
        for shape in ((), 5):
            compiled(np.array(np.full(shape, 0.5), np.float16))
        assert not [row for row in compiled._report()["breaks"] or () if "COMPILER" in row], (first, second)


@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_neighbours_of_every_special_number(dtype, backend):
    """Bits: of two zeros a half's neighbour is the first, any other's the second."""
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 6e-8, -6e-8, 65504, -65504], dtype)
    x, y = (v.ravel().copy() for v in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        want = np.nextafter(x, y)
        got = frameloom.compile(lambda x, y: np.nextafter(x, y), backend=backend)(x, y)
    known = ~np.isnan(want)
    assert (np.isnan(got) == ~known).all() and got[known].tobytes() == want[known].tobytes()


def has_pairs(unit):
    """May this process use the unit's instructions?"""
    ask_for_tiles = (158, 0x1023, 18)  # arch_prctl(ARCH_REQ_XCOMP_PERM, the state of tiles)
    flag = {"amx": "amx_bf16", "bf16": "avx512_bf16"}[unit]
    return flag in Path("/proc/cpuinfo").read_text() and (unit != "amx" or ctypes.CDLL(None).syscall(*ask_for_tiles) == 0)


@pytest.mark.parametrize("unit", ["amx", "bf16"])
def test_products_of_pairs(tmp_path, unit):
    """Products of small integers by the instructions on pairs of bfloat16, whatever the sizes and layouts: depths of no whole pair or
    tile and of several blocks, fewer rows than a tile has, batches. Nothing is written beside the result, by any division of chunks."""
    if not has_pairs(unit) or kh.CHECKED:
        pytest.skip("no instructions on pairs of bfloat16")
    rng = np.random.default_rng(3)
    options = f'loom.vector = 64 : i64, loom.matrix = "{unit}"'
    for batch, rows, columns, depth in [(1, 16, 16, 16), (1, 70, 100, 33), (3, 33, 17, 95), (1, 5, 40, 64), (2, 40, 64, 2100), (1, 100, 32, 128)]:
        for turned in range(4):
            shapes = [(batch, rows, depth), (batch, depth, columns), (batch, rows, columns)]
            left, right = (rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes[:2])
            bits = [(a.view(np.uint32) >> 16).astype(np.uint16) for a in (left, right)]
            bits = [np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2) if turned >> i & 1 else b for i, b in enumerate(bits)]
            block = np.full((batch * rows * columns + 64), 7, np.float32)
            result = block[32:-32].reshape(shapes[2])
            kinds = ["x".join(map(str, shape)) + "x" for shape in shapes]
            text = (f"loom.kernel @k {{\n^bb0(%a0: tensor<{kinds[0]}bf16>, %a1: tensor<{kinds[1]}bf16>):\n"
                    + "".join(f"%{i} = loom.convert %a{i} : (tensor<{kinds[i]}bf16>) -> tensor<{kinds[i]}f32>\n" for i in range(2))
                    + f"%2 = loom.dot_general %0, %1 batch = [0] x [0] contract = [2] x [1] : (tensor<{kinds[0]}f32>, tensor<{kinds[1]}f32>) "
                    f"-> tensor<{kinds[2]}f32>\n%3 = loom.neg %2 : tensor<{kinds[2]}f32>\nloom.yield %3 : tensor<{kinds[2]}f32>\n}} "
                    f"{{strides = [{', '.join(kh.strides(a) for a in (*bits, result))}], scalars = array<i64>, inplace = array<i64: -1>}}\n")
            kernel = kh.Kernel(text, str(tmp_path / f"{rows}x{columns}x{depth}-{turned}"), "native", options)
            if rows >= 16:
                assert f'"llvm.x86.{"tdp" if unit == "amx" else "avx512bf16.dp"}bf16ps' in kernel.lowered
            for parts in (1, 3):
                result[...] = 7
                assert kernel.run(bits, [result], parts=parts, reverse=parts > 1) == 0
                np.testing.assert_array_equal(result, -(left @ right))
                assert (block[:32] == 7).all() and (block[-32:] == 7).all()
