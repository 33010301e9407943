"""Sums of few floats have NumPy's bits: its order of additions, not only its bound."""

import numpy as np
import pytest

import frameloom

LENGTHS = [1, 2, 3, 5, 7, 8, 9, 10, 15, 16, 17, 24, 31, 64, 100, 127, 128]


def total(x):
    return np.sum(x)


def shares(x):
    return x / x.sum()


def mean(x):
    return np.mean(x)


def variance(x):
    return np.var(x)


def fused(x):
    return (x * x + 1).sum()


def strided(x):
    return np.sum(x[::2])


def rows(x):
    return np.stack([x, x[::-1], -x]).sum(axis=1)


FUNCTIONS = [total, shares, mean, variance, fused, strided, rows]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_same_bits(function, dtype):
    for length in LENGTHS:
        compiled = frameloom.compile(function, dynamic=False, fullgraph=True)
        for seed in range(12):
            x = np.random.default_rng(seed).standard_normal(length).astype(dtype)
            np.testing.assert_array_equal(compiled(x), function(x), err_msg=str((length, seed)))
