"""Attention written by hand: recognised, and what it computes is what NumPy computes."""

import warnings

import numpy as np
import pytest
from compare import check_calls

import frameloom


def plain(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)
    s = np.exp(s - s.max(-1, keepdims=True))
    return (s / s.sum(-1, keepdims=True)) @ v


def unscaled(q, k, v):
    s = np.einsum("...qd,...kd->...qk", q, k)
    s = np.exp(s - s.max(-1, keepdims=True))
    return (s / s.sum(-1, keepdims=True)) @ v


def biased(q, k, v, mask):
    s = np.matmul(q, k.swapaxes(-1, -2)) * q.dtype.type(0.3) + mask
    s = np.exp(s - s.max(-1, keepdims=True))
    return (s / s.sum(-1, keepdims=True)) @ v


def hidden(q, k, v, mask):
    s = np.where(mask, q @ k.swapaxes(-1, -2), q.dtype.type(-np.inf))
    s = np.exp(s - s.max(-1, keepdims=True))
    return (s / s.sum(-1, keepdims=True)) @ v


def shown(q, k, v, mask):
    s = np.where(mask, q.dtype.type(-np.inf), q @ k.swapaxes(-1, -2))
    s = np.exp(s - s.max(-1, keepdims=True))
    return (s / s.sum(-1, keepdims=True)) @ v


def with_weights(q, k, v):
    s = q @ k.swapaxes(-1, -2)
    s = np.exp(s - s.max(-1, keepdims=True))
    s = s / s.sum(-1, keepdims=True)
    return s @ v, s


def operands(batch, queries, keys, depth, width, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((*batch, n, d)).astype(dtype)
            for n, d in ((queries, depth), (keys, depth), (keys, width))]


def attends_alike(f, *arguments):
    bounds = {"rtol": 2e-5, "atol": 2e-6} if arguments[0].dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-13}
    check_calls(f, arguments, fullgraph=True, **bounds)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch", [(), (3,), (2, 4)])
@pytest.mark.parametrize("f", [plain, unscaled])
def test_plain(f, batch, dtype):
    attends_alike(f, *operands(batch, 40, 70, 24, 20, dtype))


@pytest.mark.parametrize("shape", [(40, 70), (70,), (40, 1), (2, 1, 40, 70), (1, 4, 1, 70)])
def test_bias(shape):
    mask = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    attends_alike(biased, *operands((2, 4), 40, 70, 16, 16), mask)


@pytest.mark.parametrize("f", [hidden, shown])
@pytest.mark.parametrize("shape", [(40, 70), (2, 1, 1, 70), (3, 1, 40, 70)])
def test_bool_mask(f, shape):
    mask = np.random.default_rng(1).random(shape) < 0.5
    attends_alike(f, *operands((shape[0] if len(shape) > 2 else 1, 2), 40, 70, 16, 16), mask)


def test_what_else_reads_the_weights_keeps_them():
    q, k, v = operands((2,), 40, 70, 16, 16)
    compiled = frameloom.compile(with_weights, fullgraph=True)
    for got, expected in zip(compiled(q, k, v), with_weights(q, k, v)):
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)


def test_rows_without_keys_and_nans():
    q, k, v = operands((2,), 40, 70, 16, 16)
    mask = np.zeros((40, 70), np.float32)
    mask[3] = -np.inf
    mask[5, 66] = np.nan
    mask[7, 2] = np.inf
    mask[9, :66] = -np.inf
    with np.errstate(all="ignore"):
        attends_alike(biased, q, k, v, mask)


def test_warning_of_a_row_without_keys():
    q, k, v = operands((), 40, 70, 16, 16)
    mask = np.ones((40, 70), bool)
    mask[3] = False
    compiled = frameloom.compile(hidden, fullgraph=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        got = compiled(q, k, v, mask)
    assert any("invalid value" in str(w.message) for w in seen)
    assert np.isnan(got[3]).all() and np.isfinite(np.delete(got, 3, 0)).all()


def test_integers_keep_their_products():
    def f(q, k, v):
        s = (q @ k.T).astype(np.float64)
        s = np.exp(s - s.max(-1, keepdims=True))
        return (s / s.sum(-1, keepdims=True)) @ v

    rng = np.random.default_rng(0)
    q, k = (rng.integers(-2, 3, (40, 8)) for _ in range(2))
    np.testing.assert_allclose(frameloom.compile(f)(q, k, k.astype(float)), f(q, k, k.astype(float)))


def test_sizes_that_change():
    compiled = frameloom.compile(plain, fullgraph=True)
    for queries, keys in ((40, 70), (41, 80), (90, 33), (17, 200), (64, 64)):
        arguments = operands((2, 3), queries, keys, 16, 16)
        np.testing.assert_allclose(compiled(*arguments), plain(*arguments), rtol=2e-5, atol=2e-6)
