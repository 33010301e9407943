"""Derivatives by differences, for comparison."""

import numpy as np


def weighted(function, like):
    """The sum of all elements of the function's result, each times a number of its own: a function whose result is one float."""
    weights = np.random.default_rng(1).normal(size=np.shape(like))
    return lambda x: (function(x) * weights).sum() if weights.ndim else function(x) * float(weights)


def by_differences(function, x, step=1e-6):
    """The gradient at x (float64) by central differences."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        found[at] = (function(up) - function(down)) / (2 * step)
    return found


def assert_near(found, expected, tolerance=1e-6):
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)
