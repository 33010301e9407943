"""Every ufunc on every supported pair of dtypes agrees with NumPy: dtype, strides, values, exceptions."""

import numpy as np
import pytest
from compare import assert_same, outcome

import frameloom

DTYPES = "?bhilBHILefd"
NOT_COMPILED = {"frexp", "isnat", "ldexp", "matmul", "matvec", "spacing", "vecdot", "vecmat"}
NAMES = sorted({getattr(np, n).__name__ for n in dir(np) if isinstance(getattr(np, n), np.ufunc)} - NOT_COMPILED)
ALL_PAIRS = {"add", "less", "floor_divide", "maximum", "left_shift", "equal"}


def operand(rng, dtype, shape=(3, 4)):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -6, 7, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype) * 2


def captured_alike(function, arguments):
    compiled = frameloom.compile(function, fullgraph=True, backend="interpret")
    with np.errstate(all="ignore"):
        want, want_error, _ = outcome(function, arguments)
        got, error, _ = outcome(compiled, arguments)
    if isinstance(error, frameloom.GraphBreak):
        # integer reciprocals: left to NumPy
        assert want_error is not None or "FL0006" in str(error) or "FL0007" in str(error), error
        return False
    if want_error is not None:
        assert type(error) is type(want_error) and str(error) == str(want_error)
        return True
    assert error is None, error
    assert_same(got, want)
    return True


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    rng = np.random.default_rng(3)
    ufunc = getattr(np, name)
    captured = 0
    for d in DTYPES:
        if ufunc.nin == 1:
            captured += captured_alike(lambda a: ufunc(a), [operand(rng, d)])
            continue
        for e in DTYPES if name in ALL_PAIRS else d + "ld":
            captured += captured_alike(lambda a, b: ufunc(a, b), [operand(rng, d), operand(rng, e)])
    assert captured > 0


@pytest.mark.parametrize("number", [0, 1, -3, 2.5, True, 300, np.float32(2), np.int8(3), np.float64(0.5)])
def test_numbers(number):
    rng = np.random.default_rng(4)
    for d in DTYPES:
        a = operand(rng, d)
        for function in (lambda a: a + number, lambda a: number * a, lambda a: a < number, lambda a: number == a,
                         lambda a: np.maximum(a, number), lambda a: a / number):
            captured_alike(function, [a])


LAYOUTS = [lambda x: x, lambda x: np.asfortranarray(x), lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x.T,
           lambda x: x.transpose(2, 0, 1) if x.ndim == 3 else x.T[::-1], lambda x: np.broadcast_to(x[:1], x.shape),
           lambda x: x[:, :1], lambda x: x[:0], lambda x: x[:, :, None] if x.ndim == 2 else x]


@pytest.mark.parametrize("shape", [(3, 4), (4, 4), (2, 3, 4), (1, 5), (5, 1), (3, 1, 4), (3, 3, 3)])
def test_memory_order(shape):
    rng = np.random.default_rng(5)
    for first in LAYOUTS:
        a = first(rng.standard_normal(shape))
        for second in LAYOUTS:
            b = second(rng.standard_normal(shape))
            try:
                want = a + b
            except ValueError:
                continue
            compiled = frameloom.compile(lambda a, b: a + b, fullgraph=True, backend="interpret")
            got = compiled(a, b)
            assert got.strides == want.strides, (a.strides, b.strides)
            assert_same(got, want)


def test_out_and_where():
    a, b, mask = np.arange(6.0), np.full(6, 2.0), np.arange(6) % 2 == 0

    def function(a, b, mask):
        out = np.zeros(6)
        same = np.add(a, b, out=out)
        np.multiply(a, b, out=out, where=mask)
        single = np.subtract(a, b, dtype=np.float32, casting="same_kind")
        return same is out, out, single, np.add(a.reshape(2, 3), 1, order="F")

    compiled = frameloom.compile(function, fullgraph=True, backend="interpret")
    assert_same(compiled(a, b, mask), function(a, b, mask))


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "bool", "int64"])
def test_numbers_in_lists(dtype):
    """Beside NumPy's scalars in a list Python's numbers are int64 and float64, not weak."""
    a = np.ones(3, dtype)
    for f in (lambda a: np.array([a[0], 1]), lambda a: np.array([1.5, a[1]]), lambda a: np.asarray([a[0], True]),
              lambda a: np.stack([a[0], 2]), lambda a: a + [a[0], 1, 2], lambda a: np.array([[a[0], 1], [2.5, a[1]]])):
        got, want = frameloom.compile(f)(a), f(a)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("number", [3, 3.0])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_casting_of_arrays_and_numbers(casting, number, dtype):
    """With every rule, also for one operand that is a Python number, and for two."""
    def function(a):
        results = []
        for one, other, dtype in ((a, number, None), (number, a, None), (a, a, None), (number, number, None), (number, number, "int32"),
                                  (a, number, "float32"), (number, number, "float64")):
            try:
                results.append(np.add(one, other, casting=casting, dtype=dtype))
            except TypeError as error:
                results.append(str(error))
        return results

    a = np.arange(3).astype(dtype)
    compiled = frameloom.compile(function)
    for _ in range(2):
        got, want = compiled(a), function(a)
        assert [type(result) for result in got] == [type(result) for result in want]
        assert all(ours == theirs if isinstance(ours, str) else np.array_equal(ours, theirs) and ours.dtype == theirs.dtype
                   for ours, theirs in zip(got, want, strict=True))
