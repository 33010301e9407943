"""float16 arrays: captured, each op rounded as NumPy rounds it, with NumPy's promotion and warnings."""

import numpy as np
import pytest
from compare import check

import frameloom

RNG = np.random.default_rng(0)
A, B = RNG.normal(0, 2, (37, 53)).astype("f2"), RNG.normal(1, 2, (37, 53)).astype("f2")

EXACT = {
    "add": lambda a, b: a + b,
    "numbers": lambda a, b: a * 2.5 + 1,
    "divide": lambda a, b: a / b,
    "chain": lambda a, b: (a * b + a) / (b * b + 1) - a,
    "float32": lambda a, b: a + b.astype("f4"),
    "float64": lambda a, b: a.astype("f8") * b,
    "from_float64": lambda a, b: (a.astype("f8") / 3).astype("f2"),
    "scalar16": lambda a, b: a * np.float16(1.5),
    "scalar32": lambda a, b: a * np.float32(1.5),
    "element": lambda a, b: a[0, 0] + b,
    "to_int": lambda a, b: (a * 10).astype("i4"),
    "to_bool": lambda a, b: a.astype(bool) & (b > 0),
    "compare": lambda a, b: (a < b) | (a == b) | np.isnan(a),
    "where": lambda a, b: np.where(a > b, a, b),
    "clip": lambda a, b: np.clip(a, -1, 1),
    "minimum": lambda a, b: np.minimum(a, np.fmax(b, 1)),
    "remainder": lambda a, b: np.divmod(a, b) + (np.fmod(a, b), a % b, a // b),
    "modf": lambda a, b: np.modf(a),
    "sqrt": lambda a, b: np.sqrt(np.abs(a)),
    "square": lambda a, b: a**2,
    "round": lambda a, b: np.round(a, 1),
    "floor": lambda a, b: np.floor(a) + np.rint(b) - np.trunc(a),
    "nextafter": lambda a, b: np.nextafter(a, b),
    "copysign": lambda a, b: np.copysign(a, b),
    "transposed": lambda a, b: a.T + b.T[::-1],
    "reversed": lambda a, b: a[::-1, ::2] * b[:, ::2],
    "joined": lambda a, b: np.concatenate([a, b]) * 2,
    "arange": lambda a, b: np.arange(0, 5.3, 0.1, dtype="f2") + a,
    "filled": lambda a, b: np.ones_like(a) + np.full(53, 3, np.float16),
    "max": lambda a, b: (a.max(axis=0), a.min(), a.argmax(axis=1), np.any(a, axis=1), np.ptp(a, axis=0)),
    "cumsum": lambda a, b: np.cumsum(a, axis=1),
    "cumprod": lambda a, b: np.cumprod(a[:, :6], axis=0),
}
CLOSE = {
    "functions": lambda a, b: (np.exp(a), np.tanh(a), np.log(np.abs(a) + 1), np.sin(b), np.hypot(a, b), np.expm1(b)),
    "gelu": lambda a, b: 0.5 * a * (1 + np.tanh(0.79788456 * (a + 0.044715 * a**3))),
    "products": lambda a, b: (a @ b.T, np.dot(a[0], b[0]), a @ b[0], np.outer(a[0], b[0])),
    "einsum": lambda a, b: np.einsum("ij,ij->i", a, b),
    "sum": lambda a, b: (a.sum(), a.sum(axis=0), a.sum(axis=1, keepdims=True)),
    "mean": lambda a, b: (a.mean(), a.mean(axis=0), a.mean(axis=1, keepdims=True)),
    "var": lambda a, b: (a.var(axis=1), np.std(a, axis=0), np.std(a)),
    "softmax": lambda a, b: (lambda e: e / e.sum(axis=1, keepdims=True))(np.exp(a - a.max(axis=1, keepdims=True))),
}


@pytest.mark.parametrize("name", sorted(EXACT))
def test_as_numpy_bit_for_bit(name):
    compiled = frameloom.compile(EXACT[name], fullgraph=True)
    check(compiled, EXACT[name], (A, B), ulps=0)


@pytest.mark.parametrize("name", sorted(CLOSE))
def test_near_numpy(name):
    """Functions may round the other way where the exact result is near a tie; sums have an order of their own."""
    compiled = frameloom.compile(CLOSE[name], fullgraph=True)
    check(compiled, CLOSE[name], (A, B), ulps=8, scale=4)


@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("dtype", ["?", "b", "B", "h", "H", "i", "l", "e", "f", "d"])
def test_promotion(dtype, backend):
    x = RNG.integers(0, 5, (7, 9)).astype(dtype)
    a = A[:7, :9]
    for function in (lambda a, x: (a + x, a * x, np.maximum(a, x), x / (a * a + 1), a < x),
                     lambda a, x: (np.sqrt(x), np.sin(x), np.exp(x), np.float16(2) * x, x.astype("f2"))):
        check(frameloom.compile(function, backend=backend, fullgraph=True), function, (a, x), ulps=2)


@pytest.mark.parametrize("function", [
    lambda a: a * 60000, lambda a: a / (a - a), lambda a: np.log(-np.abs(a)), lambda a: (a * 0 + 60000).sum(),
    lambda a: (a.astype("f4") * 1e6).astype("f2"), lambda a: np.exp(a * 20), lambda a: a % (a - a),
    lambda a: (a.astype("i8") + 100_000).astype("f2"), lambda a: np.nextafter(a * 0 + np.float16(65504), np.inf)])
@pytest.mark.parametrize("backend", ["loom", "interpret"])
def test_warnings(function, backend):
    check(frameloom.compile(function, backend=backend), function, (A,), ulps=2)


@pytest.mark.parametrize("function", [
    lambda: np.float16(60000) + np.float16(60000), lambda: np.int64(100_000).astype("f2"), lambda: np.int64(3).astype("f2"),
    lambda: np.float16(6e-8) / np.float16(3), lambda: np.full(3, np.float16(300)) * np.full(3, np.float16(300))])
@pytest.mark.parametrize("backend", ["loom", "interpret"])
def test_warnings_of_constants(function, backend):
    check(frameloom.compile(function, backend=backend), function, (), ulps=1)


def test_sums_are_no_worse_than_numpys():
    """NumPy adds whole rows in float16 along other axes than the last; here float16 is always summed in float32."""
    x = RNG.uniform(0, 1, (4000, 5)).astype("f2")
    compiled = frameloom.compile(lambda x: x.sum(axis=0), fullgraph=True)
    exact = x.astype("f8").sum(axis=0)
    ours, theirs = compiled(x), x.sum(axis=0)
    assert np.abs(ours - exact).max() <= np.spacing(ours).max() / 2 * 1.01
    assert np.abs(ours - exact).max() <= np.abs(theirs - exact).max()


def test_a_number_that_changes():
    compiled = frameloom.compile(lambda a, k: a * k + k, fullgraph=True)
    for k in (1.5, 2.5, 0.1, 3.3):
        np.testing.assert_array_equal(compiled(A, k), A * k + k)


def test_written_arguments():
    def function(a, b):
        a += b
        a[:, 0] = 5
        return a * 2

    got, want = A.copy(), A.copy()
    np.testing.assert_array_equal(frameloom.compile(function, fullgraph=True)(got, B), function(want, B))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (1, 1), (3, 0)])
def test_small(shape):
    a = np.ones(shape, "f2")
    function = lambda a: (a + 1, np.exp(a), a.sum(), a.astype("f4"))  # noqa: E731
    check(frameloom.compile(function, fullgraph=True), function, (a,), ulps=2)
