"""np.searchsorted, np.digitize and np.interp of many numbers, which are compiled: the same elements as NumPy's, bit by bit."""

import numpy as np
import pytest
from compare import assert_same
from reports import break_codes

import frameloom

RNG = np.random.default_rng(8)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324])
LINES = {
    "one": np.array([0.5]),
    "two": np.array([-0.5, 0.5]),
    "odd": np.sort(RNG.normal(size=1001)),
    "power": np.sort(RNG.normal(size=1024)),
    "ties": np.sort(RNG.integers(-3, 4, 500)).astype(float),
    "infinite": np.array([-np.inf, -1.0, 0.0, 0.0, 2.0, np.inf]),
    "float32": np.sort(RNG.normal(size=777).astype("f4")),
    "float16": np.sort(RNG.normal(size=300).astype("f2")),
    "int64": np.sort(RNG.integers(-100, 100, 300)),
    "uint8": np.sort(RNG.integers(0, 255, 60).astype("u1")),
    "reversed view": np.sort(RNG.normal(size=100))[::-1].copy()[::-1],
    "every second": np.sort(RNG.normal(size=200))[::2],
    "huge": np.array([-1.7e308, -1e308, 0.0, 1e308, 1.7e308]),
}
NUMBERS = {
    "normal": np.concatenate([RNG.normal(size=40000), SPECIAL]),
    "two axes": RNG.normal(size=(300, 200)),
    "int32": RNG.integers(-120, 120, 50000).astype("i4"),
    "float32": RNG.normal(size=50000).astype("f4"),
    "met": np.repeat(np.concatenate([LINES["odd"], LINES["ties"], SPECIAL]), 30),
}
# Each line with numbers of its dtype, and of each other dtype, shape and kind where either is of another dtype than float64, or
# where the numbers meet the line.
PAIRS = [(line, numbers) for line, a in LINES.items() for numbers in NUMBERS
         if numbers == "normal" or line == "odd" or a.dtype != float or numbers == "met" and line in ("ties", "infinite")]  # fmt: skip


def compared(function, *arguments):
    compiled = frameloom.compile(function)
    with np.errstate(all="ignore"):
        for _ in range(2):
            assert_same(compiled(*arguments), function(*arguments), ulps=0)
    return compiled


@pytest.mark.parametrize("line, numbers", PAIRS)
def test_searchsorted(line, numbers):
    a, v = LINES[line], NUMBERS[numbers]
    compared(lambda a, v: (np.searchsorted(a, v), a.searchsorted(v, side="right"), np.searchsorted(a, v, "left")), a, v)


def test_nan_is_the_largest_number():
    a = np.append(np.sort(RNG.normal(size=500)), [np.nan] * 3)
    compared(lambda a, v: (np.searchsorted(a, v), np.searchsorted(a, v, "right")), a, NUMBERS["normal"])


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("right", [False, True])
def test_digitize(line, right):
    compared(lambda x, bins: np.digitize(x, bins, right=right), NUMBERS["normal"], LINES[line])
    compared(lambda x, bins: np.digitize(x, bins, right), NUMBERS["int32"], LINES[line])


@pytest.mark.parametrize("line, numbers", PAIRS)
def test_interp(line, numbers):
    x, xp = NUMBERS[numbers], LINES[line]
    fp = RNG.normal(size=xp.shape)
    compared(lambda x, xp, fp: np.interp(x, xp, fp), x, xp, fp)
    compared(lambda x, xp, fp: np.interp(x, xp, fp, left=-7.5, right=np.inf), x, xp, fp)


def test_interp_of_special_values():
    """A line between infinite or equal values, and one that overflows."""
    xp = np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 1.0, 2.0, 3.0])
    for fp in ([np.inf] * 8, [0, np.inf, -np.inf, 1, 1, 2, np.nan, 3], [-1e308, 1e308] * 4, [5.0] * 8):
        compared(lambda x, xp, fp: np.interp(x, xp, fp), NUMBERS["normal"], xp, np.array(fp, float))


@pytest.mark.parametrize("function", [lambda a, v: np.searchsorted(a, v), lambda a, v: np.interp(v, a, a * 2), lambda a, v: np.searchsorted(a, v, "right")])
@pytest.mark.parametrize("spoiled", [np.nan, -5.0])
def test_what_is_not_sorted_is_searched_by_numpy(function, spoiled):
    a, v = LINES["odd"].copy(), NUMBERS["normal"]
    compiled = compared(function, a, v)
    a[500] = spoiled
    for _ in range(3):
        assert_same(compiled(a, v), function(a, v), ulps=0)


def test_bins_that_fall_or_neither_fall_nor_rise():
    digitize = frameloom.compile(lambda x, bins: np.digitize(x, bins))
    for bins in (LINES["odd"], LINES["odd"][::-1].copy(), LINES["ties"][::-1].copy(), np.ones(5)):
        assert_same(digitize(NUMBERS["normal"], bins), np.digitize(NUMBERS["normal"], bins), ulps=0)
    with pytest.raises(ValueError, match="monotonically"):
        digitize(NUMBERS["normal"], np.array([1.0, 3.0, 2.0]))


def test_what_is_compiled():
    """Many numbers are searched by a kernel, few by the library; other arguments go to the library."""
    search = frameloom.compile(lambda a, v: np.searchsorted(a, v))
    assert "host_call" not in str(frameloom.explain(search, LINES["odd"], NUMBERS["normal"]))
    assert "host_call" in str(frameloom.explain(search, LINES["odd"], np.ones(10)))
    for other in (lambda a, v: np.searchsorted(a, v, sorter=np.arange(1001)), lambda a, v: np.interp(v, a, a, period=3.0),
                  lambda a, v: np.searchsorted(a, 0.3)):
        compiled = compared(other, LINES["odd"], NUMBERS["normal"])
        assert not break_codes(compiled, LINES["odd"], NUMBERS["normal"])
    compared(lambda a, v: np.interp(v, a, a * 1j), LINES["odd"], NUMBERS["normal"])
    with pytest.raises(ValueError, match="side"):
        frameloom.compile(lambda a, v: np.searchsorted(a, v, side="middle"))(LINES["odd"], NUMBERS["normal"])
