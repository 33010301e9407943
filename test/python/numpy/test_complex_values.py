"""Every function of complex numbers over all pairs of special values: zeros of both signs, infinities, NaN, the largest
and the smallest numbers, each as the real and as the imaginary part."""


import numpy as np
import pytest
from compare import outcome

import frameloom

PARTS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e30, 1e-44]
VALUES = np.array([complex(re, im) for re in PARTS for im in PARTS])
UFUNCS = [u for u in (getattr(np, name) for name in sorted(dir(np))) if isinstance(u, np.ufunc) and not u.signature]
UNARY = [f"np.{u.__name__}(a)" for u in UFUNCS if u.nin == 1] + [
    f"a.{name}()" for name in "sum prod mean var std min max argmin argmax cumsum cumprod any all conj".split()
] + ["-a", "abs(a)", "a - a", "a / a", "a * 0", "0 * a", "a + 0", "a - 0", "a / 1", "1 / a", "a ** 2", "a ** 3", "a ** 0.5",
     "a == a", "a.real", "a.imag", "np.nan_to_num(a)", "np.isclose(a, a)", "np.nansum(a)", "np.nanprod(a)", "np.sort(a)",
     "np.unique(a)", "np.where(a != a, 0, a)", "a @ a", "np.iscomplex(a)", "np.isreal(a)", "np.clip(a, 0, 1)",
     "np.round(a, 1)", "np.diff(a)", "a.astype(bool)", "np.nonzero(a)", "np.count_nonzero(a)", "np.argsort(a)",
     "np.array_equal(a, a, equal_nan=True)"]
BINARY = [f"np.{u.__name__}(a, b)" for u in UFUNCS if u.nin == 2] + ["a + b", "a - b", "a * b", "a / b", "a == b", "a < b"]


def results_and_words(function, *arguments):
    """Results, or the exception, and the texts of warnings."""
    result, error, warned = outcome(function, arguments)
    if error is not None:
        return [], (type(error), str(error))
    return result if isinstance(result, tuple) else [result], warned


def differ(want, got):
    want, got = np.asarray(want), np.asarray(got)
    if (want.dtype, want.shape) != (got.dtype, got.shape):
        return True
    if want.dtype.kind not in "fc":
        return not np.array_equal(want, got)
    tolerance = 4 * np.finfo(want.dtype).eps
    for part in ("real", "imag"):
        x, y = getattr(want, part), getattr(got, part)
        with np.errstate(all="ignore"):
            near = (x == y) | ((x != x) & (y != y)) | (np.abs(x - y) <= tolerance * np.abs(x))
        if not near.all():
            return True
    return False


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("group", range(8))
def test_functions_of_special_values(group, dtype):
    a, b = VALUES.astype(dtype), VALUES[::-1].astype(dtype)
    wrong = []
    for text in (UNARY + BINARY)[group::8]:
        fn = eval(f"lambda a, b: {text}", {"np": np})
        results, words = results_and_words(fn, a, b)
        compiled = frameloom.compile(fn)
        for _ in range(2):
            got, said = results_and_words(compiled, a, b)
            if said != words or len(got) != len(results) or any(map(differ, results, got)):
                wrong.append((text, words, said))
                break
    assert not wrong


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("text", ["a * b", "a * a", "a ** 2", "np.square(a)", "a * b[0]", "a[0] * b[0]", "np.multiply(a, b)", "a[::-3] * b[::-3]"])
def test_products_have_the_same_bits(text, dtype):
    """Libraries compare a power with a product, so that neither may be rounded in another way."""
    rng = np.random.default_rng(1)
    plain = eval(f"lambda a, b: {text}", {"np": np})
    compiled = frameloom.compile(plain)
    for n in (1, 2, 3, 7, 100):
        parts = rng.standard_normal((4, n)) * 10.0 ** rng.integers(-30, 30, (4, n))
        a, b = (parts[0] + 1j * parts[1]).astype(dtype), (parts[2] + 1j * parts[3]).astype(dtype)
        with np.errstate(all="ignore"):
            assert np.asarray(compiled(a, b)).tobytes() == np.asarray(plain(a, b)).tobytes()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("number", [3 + 4j, 1, 0, 1e30 + 1e30j, 1e200 + 1e-200j, complex("inf"), complex("nan"), 1e-30j, 1e-200 - 1e-170j], ids=str)
@pytest.mark.parametrize("text", ["abs(c)", "np.abs(c[::-2])", "c * c", "c + c", "c - c", "np.square(c) + a", "np.exp(c)", "c / c", "np.hypot(c.real, c.imag)",
                                  "abs(c * c)", "c[0] * c[1]", "abs(c[0] * c[0])", "np.sqrt(c)", "np.angle(c)", "np.where(c == 0, 0, a)"])
def test_constants(text, number, dtype):
    """What is computed of constants is left to the library where that would warn, and compiled where not."""
    with np.errstate(all="ignore"):
        number = dtype(number)
    plain = eval(f"lambda a: [c := np.full(4, number), {text}][-1]", {"np": np, "number": number})
    compiled = frameloom.compile(plain)
    a = np.ones(4, dtype)
    want = results_and_words(plain, a)
    for _ in range(2):
        got = results_and_words(compiled, a)
        assert not differ(want[0][0], got[0][0]) and want[1] == got[1]
    assert not [row for row in compiled._report()["breaks"] or () if row[0] == 16]
