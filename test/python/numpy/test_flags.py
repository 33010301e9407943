"""No floating-point flag is lost: not where a result is not selected, not where the operands are known when compiling."""

import random

import numpy as np
import pytest
from cpus import KINDS
from compare import outcome

import frameloom


KEPT = [
    "np.minimum(x * y, 100)", "np.clip(x / y, 0, 1)", "np.where(x > y, x * y, 0)", "np.where(x == 0, 0, 1 / (x - x))",
    "np.where(x > y, 1, (x * y).astype(np.int32))", "np.where(x == 0, x, np.sqrt(-x))",
    "np.where(x == 0, x, np.log(y - y))", "np.maximum(np.log(x * 0), -5)", "(x < x) / (x < x)",
    "np.log(np.isfinite(x) & 2)", "np.sqrt(-1.0 - (np.isfinite(x) & 2))",
    "np.fmod(np.isfinite(x) & 2, (x < x).astype(float))", "(x < x).astype(float) // (x < x).astype(float)",
    "np.logical_xor(x, x) // np.logical_xor(x, x)", "1.0 / (np.isfinite(x) & 2)", "(np.isfinite(x) & 2) ** -1.0",
    "np.where(x > 5, (x * y).astype(np.float32), 0)", "np.where(x > 5, 0, (x * y).astype(np.float32))",
    "np.where(False, 0, 1 / (x * 0))", "np.arctanh(np.logical_not(x < x).astype(float))",
    "np.where(x > 1e38, np.arcsin(x), 0)", "np.where(x > 1e38, np.cosh(x), 0)", "np.nan_to_num(x * y)",
    "np.where(x < 0, np.power(-2.0, x + .5), 0)", "np.where(x > 1e305, -(x * y), 0)",
    "np.max(x * y, initial=5, where=x > 1e305)", "np.log1p(-1.0 - (np.isfinite(x) & 2))",
    "np.where(x > 1, (x - x) * np.inf, 5)", "np.where(x > 1e306, np.expm1(x), 2.)",
    "np.where(x > 1e306, np.tan(x * np.inf), 2.)", "np.where(x > 1e306, np.exp2(x), 2.)",
    "np.where(x > 1e306, np.log2(-x), 2.)", "np.where(x > 1e306, np.hypot(x, x), 2.)",
    "np.less(x // (x - x), x // (x - x))", "(x * y == x * y) * 1.0", "np.where(x > 1e306, np.reciprocal(x * 0), 2.)", "np.where(x > 1e306, np.logaddexp(x, x), 2.)",
    "np.copysign(x ** 0 - 1, y) / np.copysign(x ** 0 - 1, y)", "np.copysign(np.zeros(x.shape), y) // np.copysign(np.zeros(x.shape), y)", "abs(x * 0) / -abs(x * 0)",
]


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("source", KEPT)
def test_kept(source, cpu):
    plain = eval(f"lambda x, y: {source}", {"np": np})
    compiled = frameloom.compile(eval(f"lambda x, y: {source}", {"np": np}), options={"cpu": cpu})
    big = np.array([1e300, 2.0, 3.0, 1e301, 7, 8, 9, 10, 11, 12, 13])
    for x in (big, big[:1], big[3:4].reshape(()), big.clip(None, 3e38).astype(np.float32)):
        want = outcome(plain, (x, x.copy()))
        for _ in range(2):
            assert outcome(compiled, (x, x.copy()))[2] == want[2]


@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["sin", "cos", "exp", "square", "reciprocal", "deg2rad", "rad2deg"])
def test_underflow_of_small_numbers(name, dtype, backend):
    function, info = getattr(np, name), np.finfo(dtype)
    plain, compiled = (lambda x: function(x)), frameloom.compile(lambda x: function(x), backend=backend)
    for number in (info.smallest_subnormal, info.tiny / 2, info.tiny, info.eps / 4, info.eps, 1, info.max):
        for x in (np.full(1, number, dtype), np.full(19, -number, dtype)):
            with np.errstate(all="raise"):
                assert str(outcome(compiled, (x,))[1:]) == str(outcome(plain, (x,))[1:]), (number, len(x))


def test_kept_where_it_is_overwritten():
    def program(x):
        y = 1 / x
        y[1:2] = 0
        return y

    compiled = frameloom.compile(program, fullgraph=True)
    x = np.array([1.0, 0.0, 2.0, 3.0])
    assert outcome(compiled, (x,))[2] == outcome(program, (x,))[2] != []


# What raises, where a select leaves it out: `n` is a number or an array of 1e300, of one shape after the other.
LEFT_OUT = [
    "n.astype('f4')", "(n + 1j).astype('c8')", "n * n", "n * 1e8 + n * 1e8", "np.sqrt(-n)", "np.log(n * 0)", "np.exp(n)", "n ** 2.5",
    "n.astype('i4')", "n.astype('i1')", "(n + 1j * n) * (n - 2j * n)", "(n + 1j * n) / (n - n + 0j)", "x / (n - n)", "n // (n * 0)",
    "np.fmod(n, n * 0)", "(n * 1e8).sum(axis=-1, keepdims=True)", "n.prod() * 1e300", "np.cumsum(x * 1e308)", "np.cosh(n)",
    "np.maximum(n * n, x)", "np.clip(n * n, 0, 1)", "np.where(CONDITION, x, n * n) + 1", "np.where(x > 5, x, n * n)",
    "half * np.float16(60000) * np.float16(2)", "n.astype('f2')", "np.float_power(n, 2)", "np.exp(n + 1j)",
]
# Conditions that are known to anybody, that LLVM may find out, and that are not known; of one element, or of one for each.
CONDITIONS = [
    "True", "np.ones(7, bool)", "np.arange(7) >= 0", "np.arange(x.size) < x.size", "bytes < 256", "(bytes & 1) < 2", "bytes % 4 < 4",
    "np.minimum(bytes, 3) < 4", "bytes == bytes", "np.isfinite(bytes)", "(bytes > 3) | (bytes <= 3)", "abs(x) >= 0", "x * x >= 0",
    "x < np.inf", "one < 256", "one[..., None] < 256", "(one & 1) < 2", "one > 3", "n > 3.0", "x > 0.5", "x.size > 0",
    "np.sum(np.ones(3)) > 0", "np.array([True] * 7)",
]
COMBINATIONS = [(value, condition, shape, dynamic) for value in LEFT_OUT for condition in CONDITIONS
                for shape in range(4) for dynamic in (False, True)]


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("share", range(8))
def test_kept_where_the_condition_is_known(share, cpu):
    x, half, numbers = np.ones(7, np.float32), np.ones(7, np.float16), np.arange(7, dtype=np.uint8)
    shapes = [np.full(shape, 1e300) for shape in ((), 1, (3, 1), 7)]
    warned = 0
    for value, condition, shape, dynamic in random.Random(share).sample(COMBINATIONS, 24):
        source = "np.where(CONDITION, x, VALUE)".replace("VALUE", value).replace("CONDITION", condition)
        plain = eval(f"lambda x, half, bytes, one, n: {source}", {"np": np})
        operands = x, half, numbers, np.array(5, np.uint8), shapes[shape]
        want = outcome(plain, operands)
        got = outcome(frameloom.compile(plain, dynamic=dynamic, options={"cpu": cpu}), operands)
        assert got[2] == want[2], (source, shape, dynamic, got[2], want[2])
        warned += want[2] != []
    assert warned > 20


DECIDES_NOTHING = ["np.where(VALUE > 0, x, x)", "np.where(VALUE != 3, x * 2, x * 2)", "np.positive(x, where=np.ones(7) * (VALUE) > 2, out=x)",
                   "np.where(VALUE > 0, x, x).sum() + np.where(CONDITION, x, VALUE)"]


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("form", DECIDES_NOTHING)
def test_kept_where_the_condition_decides_nothing(form, cpu):
    half, numbers, warned = np.ones(7, np.float16), np.arange(7, dtype=np.uint8), 0
    shapes = [np.full(shape, 1e300) for shape in ((), 1, 7)] + [np.full(7, np.nan)]
    values = LEFT_OUT + ["(n * (1 + 1j)) > 0", "(x > n * 1j) < (n + 1j * n)"]
    for number, value in enumerate(values):
        source = form.replace("VALUE", f"({value})").replace("CONDITION", CONDITIONS[number % len(CONDITIONS)])
        plain = eval(f"lambda x, half, bytes, one, n: {source}", {"np": np})
        operands = np.ones(7, np.float32), half, numbers, np.array(5, np.uint8), shapes[number % 4]
        want = outcome(plain, operands)
        got = outcome(frameloom.compile(plain, options={"cpu": cpu}), operands)
        assert got[2] == want[2], (source, operands, got[2], want[2])
        warned += want[2] != []
    assert warned > 8


# What is computed and then only asked about: LLVM knows the answer to many of the questions.
COMPUTED = ["np.sqrt(-n)", "n * n", "n - m", "n.astype('f4')", "n / z", "n + n", "n.astype('i4')", "n.astype('f2')", "i // (i - i)", "np.log(-n)", "n % z", "n ** 2",
            "np.floor(n * n)", "abs(n * n)", "-(n * n)", "np.copysign(n * n, -1)", "(n * n).astype('f4')", "np.sqrt(-n) + 0", "np.sqrt(-n) * np.sqrt(-n)"]
ASKED = ["V > 0", "V < 0", "V >= 0", "V == 0", "V != 0", "V > 1", "V == 1", "V < np.inf", "V == np.inf", "V != V", "np.isnan(V)", "np.isinf(V)", "np.isfinite(V)",
         "np.signbit(V)", "V.astype(bool)", "np.sign(V)", "np.maximum(V, 0)", "np.clip(V, 0, 1)", "V * 0", "V * 0 > 1", "(V > 0) & (V < 0)", "(V > 1) | (V <= 1)",
         "np.where(V > 0, 1, 1)", "np.abs(V) >= 0", "V >= -np.inf", "np.fmax(V, 0)", "V ** 0", "V * -1 > 0", "np.logical_not(V)", "V * 2 > 0", "(V - 1).astype(bool)",
         "np.square(V) >= 0", "np.max(V) > 0", "np.sum(V) < 0", "np.any(V)", "np.all(V > 0)", "np.count_nonzero(V)", "np.argmax(V)", "np.nonzero(V)", "np.trunc(V) == V"]


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("share", range(3))
def test_kept_where_only_the_outcome_is_asked(share, cpu):
    chance, warned = random.Random(share), 0
    for _ in range(70):
        source = chance.choice(ASKED).replace("V", f"({chance.choice(COMPUTED)})")
        plain = eval(f"lambda n, m, z, i: {source}", {"np": np})
        size = chance.choice([(), 7, 40])
        operands = np.full(size, 1e300), np.full(size, -1.7e308), np.zeros(size), np.full(size, 3)
        want, got = outcome(plain, operands), outcome(frameloom.compile(plain, options={"cpu": cpu}), operands)
        assert got[2] == want[2], (source, size, got[2], want[2])
        warned += want[2] != []
    assert warned > 40


SHARED = {"np.log(V)": 0.0, "np.log1p(V)": -2.0, "np.arctanh(V)": 1.0, "np.exp(V)": 1e30, "np.sin(V)": np.inf, "np.tan(V)": np.inf,
          "np.cosh(V)": 1e30, "np.arcsin(V)": 3.0, "V ** -2.5": 0.0, "np.fmod(V, V - .5)": np.inf, "np.nextafter(V, np.inf)": None,
          "np.arctan2(V, .3)": None, "np.tanh(V)": None}


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("call", SHARED)
@frameloom.config.patch(leave_slower=False)  # bits are those of compiled code
def test_kept_where_a_function_is_called(call, cpu):
    """A kernel calls a function that it needs at many places: results are those of one place, flags come back from each."""
    places = 9
    source = "lambda x: " + " + ".join(f"x[{i}] * 0 + " + call.replace("V", f"x[{i}]") for i in range(places))
    plain, once = (eval(text, {"np": np}) for text in (source, "lambda x: " + call.replace("V", "x")))
    together, apart = (frameloom.compile(function, options={"cpu": cpu}) for function in (plain, once))
    for dtype in (np.float32, np.float64):
        for size in (3, 64, 75):  # less than a vector, whole ones, and both
            x = np.linspace(.55, .95, places * size).reshape(places, size).astype(dtype)
            single = [apart(row) for row in x]
            want = x[0] * 0 + single[0]
            for row, value in zip(x[1:], single[1:]):
                want = want + row * 0 + value
            np.testing.assert_array_equal(together(x), want)
            for place in range(places) if SHARED[call] is not None else ():
                bad = x.copy()
                bad[place, random.Random(place).randrange(size)] = SHARED[call]
                assert outcome(together, (bad,))[2] == outcome(plain, (bad,))[2] != []


# Of one or two arrays with missing values: functions whose kernels compare, choose and clamp.
MISSING = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc) and "d" in "".join(getattr(np, name).types)
           and not {"divmod", "modf", "frexp"} & {name}]
MISSING_EXPRESSIONS = [
    "np.where(x < 0, x * 2, y)", "np.clip(x, -1, 1)", "np.max(x + y)", "np.min(x, axis=0, keepdims=True)", "np.argmax(x * y)",
    "np.maximum.accumulate(x + 1)", "np.minimum.accumulate(np.stack([x, y]), axis=0)", "x ** y", "np.abs(x) ** .3", "(x < y) | (y > 1)",
    "np.round(x, 2)", "np.sort(x * 2)", "np.where((x < y) & (y <= 2), x, 0)", "np.nan_to_num(x, nan=1)", "np.heaviside(x, y)",
    "np.select([x < 0, x > 1], [x, y], 7)", "x % 2.0", "x // 3.0", "np.fmod(x, 1.5)", "np.ptp(x + y)", "np.searchsorted(np.sort(y), x)",
    "x / y", "x * y", "1 / x", "x ** -1", "np.var(x)", "np.cumsum(x + y)", "np.median(x)", "x.clip(None, y)", "np.floor(x) <= y", "(x >= y).sum()", "np.nanmax(x)", "np.interp(x, np.sort(np.abs(y[:5])), y[:5])",
]


MISSING_VALUES = {"f": [np.nan], "c": [complex(np.nan, 0), complex(0, np.nan), complex(np.nan, np.nan), complex(np.inf, np.nan), complex(1, np.nan)]}


def with_missing(numbers, dtype, size, holds):
    """An array of numbers in (0, 1), one of which is missing where it `holds` one."""
    x = np.array(numbers.uniform(0.1, 0.9, size)).astype(dtype)
    if holds:
        x.reshape(-1)[numbers.integers(x.size)] = numbers.choice(MISSING_VALUES[dtype[0]])
    return x


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@frameloom.config.patch(leave_slower=False)
def test_missing_values_raise_what_numpy_raises(dtype, cpu):
    """A NaN in the data: the same warnings at each call, and where there are none no call runs twice to find that out."""
    numbers, asked, again = np.random.default_rng(5), [0, 0], []
    sources = [f"np.{name}({'x, y' if getattr(np, name).nin == 2 else 'x'})" for name in MISSING] + MISSING_EXPRESSIONS
    for first, source in enumerate(sources, KINDS.index(cpu)):
        plain = eval(f"lambda x, y: {source}", {"np": np})
        compiled = frameloom.compile(plain, options={"cpu": cpu})
        for size in (1, 3, 37, ())[first % 2 :: 2]:  # for each CPU the other ones
            holds = numbers.choice([(True, False), (False, True), (True, True)]) if "y" in source else (True, False)
            x, y = (with_missing(numbers, dtype, size, held) for held in holds)
            want = outcome(plain, (x.copy(), y.copy()))
            if want[1] is not None:
                continue
            for _ in range(2):
                assert outcome(compiled, (x.copy(), y.copy()))[2] == want[2], (source, size, x, y)
            asked[bool(want[2])] += 1
            if not want[2] and dtype[0] == "f":
                with frameloom.config.patch(cpu=cpu):
                    if frameloom.explain(plain, x.copy(), y.copy()).again:
                        again.append((source, size, x, y))
    assert not again and asked[0] > 100 and (asked[1] > 20) == (dtype[0] == "c"), (asked, again)


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "c8"])
@frameloom.config.patch(leave_slower=False, check="bounds")
def test_lanes_that_are_not_set_raise_nothing(dtype, cpu):
    """A few elements, and what a checked kernel finds in the registers of vectors: signalling NaNs and huge numbers."""
    numbers, again, count = np.random.default_rng(7), [], 0
    with frameloom.config.patch(cpu=cpu):
        sources = [f"np.{name}({'x, y' if getattr(np, name).nin == 2 else 'x'})" for name in MISSING] + MISSING_EXPRESSIONS
        for first, source in enumerate(sources, KINDS.index(cpu)):
            plain = eval(f"lambda x, y: {source}", {"np": np})
            for size in (1, 2, 4, 9)[first % 2 :: 2]:  # for each CPU the other ones
                x, y = (with_missing(numbers, dtype, size, False) for _ in range(2))
                if outcome(plain, (x, y))[1:] == (None, []):
                    count += 1
                    if frameloom.explain(plain, x, y).again:
                        again.append((source, size))
    assert not again and count > 80, (again, count)


# ---- special values: a call runs a second time only where NumPy reports something ---------------------------------------

SPECIAL = [0.0, -0.0, 1.0, 1.5, -2.0, -3.0, 0.5, np.nan, np.inf, -np.inf, 800.0, -800.0, 1e30, -1e30, 1e-30, 1e300]
PARTS = [0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf, 800.0, -800.0]
OF_REALS = sorted({getattr(np, name).__name__ for name in dir(np) if isinstance(getattr(np, name), np.ufunc)} - {"matvec", "vecmat", "vecdot", "matmul", "ldexp"})
OF_COMPLEX = ["np.exp(x)", "np.exp(x) * y", "np.exp(1j * x.real)", "x > y", "x <= y", "x == y", "x * y", "x + y", "x - y", "x ** 2", "np.abs(x)", "np.square(x)", "np.exp(x)[::2]",
              "np.where(x.real > 1, np.exp(x), x)", "np.exp(x).real", "np.exp(x).imag", "np.sqrt(x)", "np.log(x)", "np.sin(x)", "np.tanh(x)", "np.expm1(x)"]  # fmt: skip
POWERS = ("power", "pow", "float_power")


def runs_twice_in_vain(plain, rows):
    """Of the rows of arguments those whose call runs again although NumPy warns of nothing."""
    quiet = [row for row in rows if outcome(plain, row)[1:] == (None, [])]
    return [row for row in quiet if frameloom.explain(plain, *row).again]


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.filterwarnings("ignore")
def test_special_values_run_once(dtype, cpu):
    wrong = []
    with np.errstate(all="ignore"):
        values = [np.array([0.5, 0.75, 0.5, v]).astype(dtype) for v in SPECIAL]
    for name in OF_REALS:
        if getattr(np, name).nin > 2 or (name in POWERS and dtype != "f8"):
            continue  # whether a power of single or half floats by infinity warns depends on the CPU
        two = getattr(np, name).nin == 2
        plain = eval(f"lambda x, y: np.{name}(x, y)" if two else f"lambda x: np.{name}(x)", {"np": np})
        with frameloom.config.patch(cpu=cpu):
            wrong += [(name, row) for row in runs_twice_in_vain(plain, [(x, y) for x in values for y in values] if two else [(x,) for x in values])]
    assert not wrong


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("source", OF_COMPLEX)
def test_special_complex_values_run_once(source, dtype, cpu):
    rows = []
    with np.errstate(all="ignore"):
        for re in PARTS:
            for im in PARTS:
                for size in (1, 4, ()):
                    x = np.full(size, 1 + 1j).astype(dtype)
                    x[(-1,) if size else ()] = complex(re, im)
                    rows.append((x, np.full(size, 1.5 - 2j).astype(dtype)))
    with frameloom.config.patch(cpu=cpu):
        assert not runs_twice_in_vain(eval(f"lambda x, y: {source}", {"np": np}), rows)


def test_the_sign_of_a_zero_of_an_exponential():
    """e^-inf has the sign of the imaginary part, whatever that is."""
    x = np.array([complex(-np.inf, im) for im in (0.0, -0.0, 1.0, -1.0, 4.0, np.inf, -np.inf, np.nan, -np.nan)])
    compiled = frameloom.compile(lambda x: np.exp(x))
    with np.errstate(all="ignore"):
        for _ in range(2):
            assert np.exp(x).view("f8").tobytes() == compiled(x).view("f8").tobytes()
