"""Results in other orders than C that a later kernel reads again."""

import numpy as np
import pytest
from compare import check

import frameloom


def concatenated_twice(b):
    once = np.concatenate([b, b])
    return once, np.concatenate([once, once])


def summed(b):
    more = np.exp(b) + 1
    return more, more.sum(axis=0), more @ more.T, np.cumsum(more, axis=1)


def reshaped(b):
    more = b * 2
    return more, more.reshape(-1), (more.sum(axis=1) + more.reshape(-1)[0]), np.sqrt(np.abs(more)).T


def twice(b):
    more = b + 1
    return more, more, more.copy(), more.T.copy(), np.ascontiguousarray(more)


def kept(b):
    return b.sum(0), b.max(1, keepdims=True), b.min(0, keepdims=True), b.mean((0, 1), keepdims=True)


@pytest.mark.parametrize("function", [concatenated_twice, summed, reshaped, twice, kept])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_in_any_order(function, dtype):
    values = np.random.default_rng(0).standard_normal((5, 7)).astype(dtype)
    for b in (values, values.T, np.asfortranarray(values), np.broadcast_to(values[:1], values.shape), values[::-1],
              values[:, ::2]):
        check(frameloom.compile(function), function, [b], ulps=64, scale=64.0)


def test_kept_dimensions_of_one_element_are_compiled():
    frameloom.compile(kept, fullgraph=True)(np.asfortranarray(np.arange(42.0).reshape(6, 7)))
