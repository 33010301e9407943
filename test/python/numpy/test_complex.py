"""Complex arrays: arithmetic, sums, products, moves and views of parts as in NumPy; the rest is left to NumPy."""

import numpy as np
import pytest
from compare import assert_same, check

import frameloom

RNG = np.random.default_rng(0)


def numbers(shape, dtype):
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


def same_parts(function, arguments, ulps=64, scale=1):
    """As compare.check, which knows floats only: complex results are compared part by part."""
    def parts(f):
        def run(*args):
            result = f(*args)
            results = result if isinstance(result, tuple) else (result,)
            out = []
            for r in results:
                assert isinstance(r, (np.ndarray, np.generic))
                out.append((str(r.dtype), r.shape, r.strides if isinstance(r, np.ndarray) else (), type(r).__name__))
                out += [r.real.copy(), r.imag.copy()] if r.dtype.kind == "c" else [r]
            return tuple(out)
        return run

    compiled = frameloom.compile(function, fullgraph=True)
    check(parts(compiled), parts(function), arguments, ulps=ulps, scale=scale)


CASES = {
    "arithmetic": lambda a, b: (a + b, a - b, a * b, a / b, -a, +a),
    "numbers": lambda a, b: (a * 2, 1 - a, a + 1.5, a * (2 + 3j), 1j * a, a / 2j, 2 / a),
    "chain": lambda a, b: (a * b + a) / (b * b + 1) - a,
    "floats": lambda a, b: (a * b.real, a + np.abs(b), a.imag * 2, a.real - b.imag),
    "norm": lambda a, b: (np.abs(a), np.abs(a * b), (a * np.conj(a)).real, a.conj(), np.conjugate(b)),
    "square": lambda a, b: (np.square(a), a**2, b**3, a**2.0),
    "exp": lambda a, b: (np.exp(a), np.exp(1j * a.real), np.exp(b * 3)),
    "compare": lambda a, b: (a == b, a != b, np.isnan(a), np.isfinite(a), np.logical_and(a, b), a.astype(bool)),
    "sums": lambda a, b: (a.sum(), a.sum(axis=0), np.sum(b, axis=1, keepdims=True)),
    "means": lambda a, b: (a.mean(), np.mean(a, axis=0), np.mean(b, axis=-1)),
    "cumsum": lambda a, b: np.cumsum(a, axis=1),
    "products": lambda a, b: (a @ b.T, np.dot(a[0], b[0]), np.outer(a[0], b[0]), np.einsum("ij,ij->i", a, b)),
    "moves": lambda a, b: (a.T.copy(), a[::-1, ::2] * 1, np.concatenate([a, b]), np.where(a.real > 0, a, b), np.stack([a, b]),
                           np.roll(a, 1), np.take(a, [1, 0], axis=1)),
    "made": lambda a, b: (np.zeros_like(a) + 1, np.ones(3, complex), np.full(4, 2 - 1j), np.full_like(a, 1j)),
    "casts": lambda a, b: (a.astype("c8"), a.astype("c16") * b, b.real.astype("c8")),
    "real_input": lambda a, b: a + np.arange(a.shape[1]),
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_as_numpy(name, dtype):
    same_parts(CASES[name], (numbers((7, 13), dtype), numbers((7, 13), dtype)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_larger_and_strided(dtype):
    a, b = numbers((40, 300), dtype), numbers((300, 40), dtype)
    function = lambda a, b: (a * b.T + 1, (a + b.T[::-1]).sum(axis=0), np.abs(a))  # noqa: E731
    same_parts(function, (a, b), scale=40)
    same_parts(function, (np.asfortranarray(a), b[::-1]), scale=40)
    same_parts(lambda a: a[:, ::-2] * 2j, (a,))


@pytest.mark.parametrize("other", ["?", "b", "h", "i", "l", "e", "f", "d", "F", "D"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_promotion(dtype, other):
    a = numbers((3, 5), dtype)
    x = RNG.integers(0, 5, (3, 5)).astype(other)
    same_parts(lambda a, x: (a + x, x * a, a / (x * x + 1), x + 1j), (a, x))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [17, 64, 1000])
def test_short_inner_dimensions(n, dtype):
    """Numbers side by side in memory: nothing may be shuffled as if they were floats."""
    a, b = numbers((n,), dtype), numbers((n,), dtype)
    same_parts(lambda a, b: np.stack([a, b], axis=-1), (a, b))
    same_parts(lambda a, b: np.stack([a, b, a], axis=-1) * 2, (a, b))
    same_parts(lambda a: np.repeat(a, 2), (a,))
    same_parts(lambda a: a.reshape(-1), (numbers((2, n), dtype).T,))
    same_parts(lambda a: a[:, ::-1].T + 1, (numbers((n, 3), dtype),))


def test_sizes_that_vary():
    function = lambda a, b: ((a * b + 1j).sum(axis=0), np.abs(a) * 2, a.real + b.imag)  # noqa: E731
    compiled = frameloom.compile(function, fullgraph=True)
    for n in (5, 6, 7, 31, 64, 1):
        a, b = numbers((n, 9), "complex64"), numbers((n, 9), "complex64")
        for got, want in zip(compiled(a, b), function(a, b)):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", sorted(CASES))
def test_interpreted(name):
    a, b = numbers((3, 4), "complex128"), numbers((3, 4), "complex128")
    got = frameloom.compile(CASES[name], backend="interpret", fullgraph=True)(a, b)
    want = CASES[name](a, b)
    for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-12)


def test_parts_are_views():
    def views(z):
        return z.real, z.imag[::2], z

    z = numbers((4, 6), "complex64")
    re, im, whole = frameloom.compile(views, fullgraph=True)(z)
    assert re.base is not None and np.shares_memory(re, z) and re.strides == z.real.strides
    assert im.strides == z.imag[::2].strides and whole is z
    np.testing.assert_array_equal(im, z.imag[::2])
    re[0, 0] = 7
    assert z[0, 0].real == 7


def test_parts_are_written():
    def function(z):
        z.real[:, 0] = 5
        z.imag *= 2
        w = z * 1
        w.imag = 3
        return w, w.real + w.imag

    z = numbers((4, 6), "complex128")
    mine, plain = z.copy(), z.copy()
    got, want = frameloom.compile(function)(mine), function(plain)
    np.testing.assert_array_equal(mine, plain)
    for g, w in zip(got, want):
        np.testing.assert_array_equal(g, w)


def test_in_place():
    def function(z, w):
        z += w
        z *= 2
        z[1] = 1j
        return z.sum()

    z, w = numbers((4, 6), "complex64"), numbers((4, 6), "complex64")
    mine, plain = z.copy(), z.copy()
    np.testing.assert_allclose(frameloom.compile(function, fullgraph=True)(mine, w), function(plain, w), rtol=1e-5)
    np.testing.assert_allclose(mine, plain, rtol=1e-6)


@pytest.mark.parametrize("function", [
    lambda z: np.log(z), lambda z: z ** 5, lambda z: z ** z, lambda z: z ** -1, lambda z: np.sort(z, axis=0), lambda z: z.prod(), lambda z: z.max(), lambda z: np.round(z, 1),
    lambda z: z.var(), lambda z: np.sqrt(z), lambda z: z ** 0.5, lambda z: np.vdot(z[0], z[0]), lambda z: np.sign(z),
    lambda z: z < z[::-1], lambda z: np.angle(z), lambda z: np.linalg.norm(z), lambda z: complex(z[0, 0]),
    lambda z: z.astype(float), lambda z: np.reciprocal(z), lambda z: z[z.real > 0], lambda z: np.clip(z, 0, 1),
    lambda z: z.tolist(), lambda z: np.median(z.real), lambda z: z[0, 0] * z[0, 1], lambda z: np.real_if_close(z),
    lambda z: np.nan_to_num(z), lambda z: np.unique(z), lambda z: np.count_nonzero(z), lambda z: np.argmax(z),
    lambda z: np.trace(z[:3, :3]), lambda z: z.item(0), lambda z: np.allclose(z, z), lambda z: np.isclose(z, z * 1),
    lambda z: np.iscomplexobj(z), lambda z: np.isreal(z), lambda z: np.fft.fft(z), lambda z: np.diff(z), lambda z: f"{z[0, 0]}",
    lambda z: np.float_power(z, 2), lambda z: np.real(z) + np.imag(z), lambda z: np.kron(z, z), lambda z: np.pad(z, 1)])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_everything_else_is_right_too(function):
    z = numbers((4, 6), "complex128")
    want = function(z.copy())
    compiled = frameloom.compile(function)
    for _ in range(2):
        got = compiled(z.copy())
        assert type(got) is type(want)
        if isinstance(want, (np.ndarray, np.generic)):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
        else:
            assert got == want


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_exp_at_the_ends(dtype):
    top = 88.6 if dtype == "complex64" else 709.7
    ends = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, top, top + 0.4, top + 1, top * 1.2, -top, -top * 1.05, 3 * top]
    z = np.empty((len(ends), len(ends)), dtype)
    z.real, z.imag = np.array(ends)[:, None], np.array(ends)
    with np.errstate(all="ignore"):
        got, want = frameloom.compile(lambda z: np.exp(z), fullgraph=True)(z), np.exp(z)
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        same = (np.isnan(g) & np.isnan(w)) | (g == w)
        with np.errstate(all="ignore"):
            near = np.abs(g - w) <= 16 * np.spacing(np.abs(w))
        assert np.all(same | near), (z[~(same | near)], got[~(same | near)], want[~(same | near)])
        number = ~np.isnan(w)
        zero = number & (w == 0) & np.isfinite(z.imag)
        np.testing.assert_array_equal(np.signbit(g[zero]), np.signbit(w[zero]))


@pytest.mark.parametrize("function", [lambda z: np.exp(z * np.inf), lambda z: np.exp(z * 1000), lambda z: z / (z - z), lambda z: z * 1e38 * 1e38, lambda z: z / 0])
def test_warnings(function):
    z = numbers((4, 6), "complex64")
    check(frameloom.compile(lambda z: np.abs(function(z))), lambda z: np.abs(function(z)), (z,), ulps=64)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_are_ordered_as_in_numpy(dtype):
    special = [0, 1, -1, -0.0, np.nan, np.inf]
    all_pairs = np.array([complex(re, im) for re in special for im in special]).astype(dtype)
    same_parts(lambda a, b: (a < b, a <= b, a > b, a >= b), (all_pairs[:, None], all_pairs[None, :]))
    same_parts(lambda a: a > 0.5, (numbers((7, 3), dtype),))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_arange(dtype):
    """Known ones as well as those that take part in arithmetic."""
    for function in (lambda x: np.arange(2, 10, 2, dtype=dtype) * x, lambda x: np.arange(4, dtype=dtype) + x,
                     lambda x: np.arange(0.5, 2.5, 0.5, dtype=dtype) - x, lambda x: np.arange(2, 10, 2, dtype=dtype)):
        x = np.arange(4.0)
        assert_same(frameloom.compile(function)(x), function(x))
