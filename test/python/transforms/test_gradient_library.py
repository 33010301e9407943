"""Derivatives of functions that the library computes: every function that has a rule or is replaced, called in every way; complex numbers, singular
matrices, and more kinds of arguments than a compiled function has versions."""

import numpy as np
import pytest

import frameloom
from differences import by_differences
from frameloom._gradient import _cofactors
from frameloom._gradient_rules import REPLACED, RULES

rng = np.random.default_rng(0)
NUMBERS = rng.uniform(0.2, 0.9, 6)
MATRIX = rng.normal(size=(3, 3))

# function: calls of it with some of six numbers x, each as an array, a list or a tuple of numbers (`as_`)
L, F = np.linalg, np.fft
CALLS = {
    L.inv: "L.inv(square)", L.det: "L.det(square)", L.slogdet: "L.slogdet(square)[1]", L.solve: "L.solve(square, as_(x[4:]))",
    L.cholesky: "L.cholesky(even)", L.eigh: "np.abs(L.eigh(even)[1])", L.eigvalsh: "L.eigvalsh(even)", L.svd: "L.svd(square, compute_uv=False)",
    L.svdvals: "L.svdvals(square)", L.qr: "L.qr(square)[1]", L.pinv: "L.pinv(square)", L.lstsq: "L.lstsq(square, as_(x[4:]), rcond=None)[0]",
    F.fft: "np.abs(F.fft(as_(x[:4])))", F.ifft: "np.abs(F.ifft(as_(x[:4]), 3))", F.rfft: "np.abs(F.rfft(as_(x[:4])))", F.irfft: "F.irfft(as_(x[:4]))",
    F.fftn: "np.abs(F.fftn(square))", F.ifftn: "np.abs(F.ifftn(square))", F.rfftn: "np.abs(F.rfftn(square))", F.irfftn: "F.irfftn(square)",
    F.fft2: "np.abs(F.fft2(square))", F.ifft2: "np.abs(F.ifft2(square))", F.rfft2: "np.abs(F.rfft2(square))", F.irfft2: "F.irfft2(square)",
    np.sort: "np.sort(as_(x[:4]))", np.partition: "np.partition(as_(x[:4]), 2)", np.frexp: "np.frexp(as_(x[:4]))[0]",
    np.linspace: "np.linspace(as_(x[:2]), 3.0, 4)", np.median: "np.median(square, axis=(0, 1))", np.percentile: "np.percentile(as_(x[:4]), [30, 60.0])",
    np.quantile: "np.quantile(as_(x[:4]), 0.3, method='midpoint')", np.nanmean: "np.nanmean(as_(x[:4]))", np.ldexp: "np.ldexp(as_(x[:2]), [1, 2])",
    np.choose: "np.choose(as_([0, 1, 0]), as_([x[:3], x[3:]]))", np.interp: "np.interp(as_(x[:2] * 9), [0.0, 1, 2.5], as_(x[2:5]), period=3)",
    np.convolve: "np.convolve(as_(x[:3]), as_(x[3:5]))", np.correlate: "np.correlate(as_(x[:3]), as_(x[3:5]), 'full')", np.sinc: "np.sinc(as_(x[:2]))",
    np.delete: "np.delete(as_(x[:4]), [0, 2])", np.bincount: "np.bincount(as_([0, 2, 0]), as_(x[:3]), 4) * x[0]",
    np.nanmedian: "np.nanmedian(as_([x[0], np.nan, x[1], x[2]]))", np.nanpercentile: "np.nanpercentile(square, 30, axis=1)",
    np.nanquantile: "np.nanquantile(as_([x[0], np.nan, x[1], x[2]]), 0.7)", np.matvec: "np.matvec(square, as_(x[4:]))",
    np.vecmat: "np.vecmat(as_(x[4:]), square)", L.cond: "L.cond(square) + L.cond(square, 1)", L.tensorsolve: "L.tensorsolve(square, as_(x[4:]))",
    F.hfft: "F.hfft(as_(x[:4]))", F.ihfft: "np.abs(F.ihfft(as_(x[:4]), norm='ortho'))",
}
COMPLEX_ALONE = {f for f in RULES if isinstance(f, np.ufunc)} - {np.frexp} | {_cofactors}


def as_array(x):
    return np.array(x)


def as_list(x):
    return list(x)


def as_tuple(x):
    return tuple(x)


def called(text, as_):
    names = {"np": np, "L": L, "F": F, "as_": as_}
    exec("def function(x):\n    square = as_([as_(x[:2]), as_(x[2:4])])\n"
         f"    even = as_([as_([x[0] + 1, x[1]]), as_([x[1], x[2] + 1])])\n    return np.sum({text})\n", names)
    return names["function"]


def test_every_rule_is_called():
    assert set(RULES) | set(REPLACED) == set(CALLS) | COMPLEX_ALONE


# Each of an array, and every second one of lists, the others of tuples.
@pytest.mark.parametrize("text, as_", [(text, as_) for i, text in enumerate(CALLS.values()) for as_ in (as_array, (as_list, as_tuple)[i % 2])])
def test_ways_to_call(text, as_):
    function = called(text, as_)
    value, found = frameloom.value_and_grad(function)(NUMBERS)
    np.testing.assert_allclose(value, function(NUMBERS), rtol=1e-13)
    np.testing.assert_allclose(found, by_differences(function, NUMBERS), atol=1e-6)


@pytest.mark.parametrize("as_", [as_array, as_list])
def test_functions_over_batches_of_arrays_in_lists(as_):
    batch = rng.uniform(0.2, 0.9, (3, 6))
    for text in ("np.sort(as_(x[:4]))", "L.det(square)", "np.choose(as_([0, 1, 0]), as_([x[:3], x[3:]]))", "np.quantile(as_(x[:4]), [0.3, 0.6])"):
        function = called(text, as_)
        np.testing.assert_allclose(frameloom.vmap(function)(batch), [function(x) for x in batch], rtol=1e-13)


def test_a_call_without_a_rule_of_arrays_in_a_list_is_refused():
    with pytest.raises(frameloom.GraphBreak, match="of arrays in a list cannot be vectorised"):
        frameloom.vmap(lambda x: np.lexsort((x, x * x)))(rng.normal(size=(3, 4)))


# ---- complex numbers ----


def complex_array(*sizes):
    return rng.normal(size=sizes) + 1j * rng.normal(size=sizes)


def cotangent_by_differences(function, z, weights):
    """That of z where the result has these cotangents: of a real function of z = x + iy it is df/dx - i df/dy."""

    def loss(z):
        y = function(z)
        return sum(np.sum(w * part).real for w, part in zip(weights, y if isinstance(y, tuple) else (y,), strict=True))

    found = np.zeros_like(z)
    for at in np.ndindex(z.shape):
        step = np.zeros_like(z)
        step[at] = 1e-6
        along = [(loss(z + d * step) - loss(z - d * step)) / 2e-6 for d in (1, 1j)]
        found[at] = along[0] - 1j * along[1]
    return found


def like(y):
    return complex_array(*np.shape(y)) if np.iscomplexobj(y) else rng.normal(size=np.shape(y))


def check_complex(function, z, second=True):
    y = function(z)
    weights = tuple([like(part) for part in y]) if isinstance(y, tuple) else like(y)

    def pulled(z):
        return frameloom.vjp(function, z, cotangent=weights)[1][0]

    found = pulled(z)
    np.testing.assert_allclose(found, cotangent_by_differences(function, z, weights if isinstance(y, tuple) else (weights,)), atol=1e-6)
    if second:
        again = like(found)
        twice = frameloom.vjp(pulled, z, cotangent=again)[1][0]
        np.testing.assert_allclose(twice, cotangent_by_differences(pulled, z, (again,)), atol=1e-4)


# Of complex numbers in general; `sign` has no rule.
UFUNCS = sorted({f.__name__ for f in vars(np).values() if isinstance(f, np.ufunc) and "D->D" in f.types and f.nin == 1} - {"sign", "rint"})


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_of_complex_numbers(name):
    z = np.array([0.5 + 1.5j, -1.2 + 0.3j, -0.4 - 2.0j])
    function = getattr(np, name)
    check_complex(function, z)


@pytest.mark.parametrize("name", ["sin", "sqrt", "exp", "absolute"])
def test_by_a_complex_number(name):
    z = np.array([0.5 + 1.5j])
    function = getattr(np, name)
    for number in (z[0], complex(z[0]), np.complex64(z[0])):
        cotangent = function(number)
        value, (found,) = frameloom.vjp(function, number, cotangent=cotangent)
        assert isinstance(found, np.complexfloating)
        np.testing.assert_allclose(value, function(number), rtol=1e-6)
        np.testing.assert_allclose(found, frameloom.vjp(function, z, cotangent=function(z))[1][0][0], rtol=1e-5)


@pytest.mark.parametrize("power", [2, 3, -1, 0.5, 2.5, 1 + 1j])
def test_powers_of_complex_numbers(power):
    z = np.array([0.5 + 1.5j, -1.2 + 0.3j])
    check_complex(lambda z: z**power, z)
    check_complex(lambda z: (1.5 + power) ** z, z)


def test_a_gradient_is_that_of_a_real_number():
    np.testing.assert_allclose(frameloom.grad(lambda z: np.abs(z) ** 2)(1 + 2j), 2 - 4j)
    for z in (1 + 2j, np.array(1 + 2j)):
        with pytest.raises(TypeError, match="the result is a complex number"):
            frameloom.grad(lambda z: z * z)(z)


def hermitian(z):
    return (z + z.conj().T) / 2


MATRICES = {
    "inv": L.inv, "det": L.det, "slogdet": lambda z: tuple(L.slogdet(z)), "solve": lambda z: L.solve(z, MATRIX[0]), "pinv": L.pinv,
    "cholesky": lambda z: L.cholesky(z @ z.conj().T + np.eye(3)), "upper": lambda z: L.cholesky(z @ z.conj().T + np.eye(3), upper=True),
    "eigvalsh": lambda z: L.eigvalsh(hermitian(z)), "eigh": lambda z: np.abs(L.eigh(hermitian(z))[1]) ** 2, "qr": lambda z: tuple(L.qr(z)),
    "svd": lambda z: (lambda u, s, vh: (u * np.sin(s)) @ vh)(*L.svd(z)), "vectors": lambda z: (lambda u, s, vh: abs(u) ** 2 @ abs(vh))(*L.svd(z)),
    "svdvals": L.svdvals, "lstsq": lambda z: L.lstsq(z, MATRIX[0], rcond=None)[0], "nuclear": lambda z: L.norm(z, "nuc"), "kron": lambda z: np.kron(z, z),
    "tall": lambda z: tuple(L.qr(z[:, :2])), "wide": lambda z: (lambda u, s, vh: (u * s * s) @ vh)(*L.svd(z[:2], full_matrices=False)),
    "sort": np.sort, "partition": lambda z: np.partition(z, 1, axis=0),
}


@pytest.mark.parametrize("name", MATRICES)
def test_complex_matrices(name):
    check_complex(MATRICES[name], complex_array(3, 3), second=name in ("det", "cholesky", "svd", "qr"))


OPTIONS = [
    "L.qr(square, 'r')", "L.qr(square, 'complete')[0]", "L.svd(as_([x[:3], x[3:]]))[1]", "np.linspace(as_(x[:2]), as_(x[2:4]), 3, axis=1) * x[0]",
    "np.median(as_([x[:3], x[3:]]), axis=0, keepdims=True)", "np.quantile(square, [0.2, 0.7], axis=(0, 1), keepdims=True)", "np.quantile(square, 0.3, method='lower')",
    "np.nanmedian(square, keepdims=True)", "np.partition(square, 1, axis=None)[:2]", "np.delete(square, 0, axis=1)", "np.interp(1.5, [0, 1.0, 2], as_(x[:3]), left=x[0])",
    "L.slogdet(square)[0] * x[0]", "np.einsum(square, [0, 1], as_(x[4:]), [1], [0])", "np.einsum(square, [0, 0])",
]


@pytest.mark.parametrize("text", OPTIONS)
def test_options(text):
    function = called(text, as_array)
    np.testing.assert_allclose(frameloom.grad(function)(NUMBERS), by_differences(function, NUMBERS), atol=1e-6)


# ---- points where a formula has none ----


@pytest.mark.parametrize("rank", range(3))
def test_determinants_of_singular_matrices(rank):
    for a in (MATRIX[:, :rank] @ MATRIX[:rank], np.diag(np.arange(3.0) < rank) * 1.0):
        np.testing.assert_allclose(frameloom.grad(L.det)(a), by_differences(L.det, a), atol=1e-8)
        gradient = frameloom.grad(lambda a: np.sum(frameloom.grad(L.det)(a) * MATRIX))
        np.testing.assert_allclose(gradient(a), by_differences(lambda a: np.sum(frameloom.grad(L.det)(a) * MATRIX), a), atol=1e-6)


def test_sinc_has_derivatives_of_every_order_at_zero():
    derivative, expected = np.sinc, [1, 0, -(np.pi**2) / 3, 0, np.pi**4 / 5]
    for value in expected:
        np.testing.assert_allclose(derivative(0.0), value, atol=1e-12)
        derivative = frameloom.grad(derivative)


def test_what_the_derivative_raises_is_no_missing_compiler():
    with pytest.raises(RuntimeError, match="the inverse of a singular matrix"):
        frameloom.grad(lambda a: L.slogdet(a)[1])(np.zeros((2, 2)))


def test_more_kinds_of_arguments_than_versions():
    with frameloom.config.patch(recompile_limit=2):
        gradient = frameloom.grad(lambda x, how: np.sum(x**how))
        for how in range(2, 8):
            for x in (np.full(how, 0.5), np.full((how, 2), 0.5, np.float32)):
                np.testing.assert_allclose(gradient(x, how), how * x ** (how - 1), rtol=1e-6)
