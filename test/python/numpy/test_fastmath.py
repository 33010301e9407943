"""Contraction and regrouping of sums and products happen only when `fastmath` allows them."""

import numpy as np
import pytest
from cpus import KINDS

import frameloom


@pytest.fixture(autouse=True)
def unchecked():
    """LLVM contracts within a block of code, and what compares an access with its bounds ends one."""
    with frameloom.config.patch(check=""):
        yield


def product_and_sum(a, b, c):
    return a * b + c


def values(dtype, size):
    """a * b + c is 0 with a rounded product, and not with an exact one."""
    step = 2.0 ** -(np.finfo(dtype).nmant // 2 + 1)
    return (np.full(size, x, dtype) for x in (1 + step, 1 + step, -(1 + 2 * step)))


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_contraction(dtype, size, cpu):
    a, b, c = values(dtype, size)
    plain = product_and_sum(a, b, c)
    assert not plain.any()
    np.testing.assert_array_equal(frameloom.compile(product_and_sum, options={"cpu": cpu})(a, b, c), plain)
    fast = frameloom.compile(product_and_sum, options={"cpu": cpu, "fastmath": True})(a, b, c)
    exact = np.longdouble(a[0]) * b[0] + c[0]
    assert np.isin(fast, [0, exact]).all() and (fast[:size // 16 * 16] == exact).all()


def test_only_what_is_allowed_changes():
    """Random sums and products in the order written, to the last bit; functions are as exact with fastmath as without."""
    values = np.random.default_rng(0)

    def program(a, b, c, d):
        return (a + b) - c + (d * a - b) * c + (a - d) + 1e8 - 1e8, ((a * b) * c) * d, a + (b + (c + d))

    compiled = frameloom.compile(program, fullgraph=True)
    for dtype in ("float32", "float64"):
        arrays = [values.standard_normal(1003).astype(dtype) * 1000 for _ in range(4)]
        for got, want in zip(compiled(*arrays), program(*arrays)):
            np.testing.assert_array_equal(got, want)
        fast = frameloom.compile(lambda a: np.exp(a / 1000) + np.sin(a), options={"fastmath": True})(arrays[0])
        np.testing.assert_allclose(fast, np.exp(arrays[0] / 1000) + np.sin(arrays[0]), rtol=8 * np.finfo(dtype).eps,
                                   atol=8 * np.finfo(dtype).eps)
