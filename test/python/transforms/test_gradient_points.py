"""Derivatives of every ufunc on a grid of points, ties and zeros among them, against differences wherever these agree from both sides."""

import itertools

import numpy as np
import pytest

import frameloom

GRID = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]
STEEP = 1e3  # what has larger differences has a jump, or no derivative
UFUNCS = sorted({f.__name__ for f in vars(np).values() if isinstance(f, np.ufunc) and f.nout == 1 and not f.signature
                 and "d" * f.nin + "->d" in f.types} - {"spacing"})  # which has no derivative


def differences(f, x, step, apart):
    """By differences, and where they agree from both sides."""
    below, here, above = f(x - step), f(x), f(x + step)
    left, right = (here - below) / step, (above - here) / step
    return (left + right) / 2, np.isfinite(left) & np.isfinite(right) & (abs(left - right) < apart) & (abs(left) < STEEP)


def differ(found, expected, tolerance):
    return ~(abs(found - expected) <= tolerance * np.maximum(1, abs(expected)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs(name):
    function = getattr(np, name)
    points = [np.array(column) for column in zip(*itertools.product(GRID, repeat=function.nin))]
    along = np.ones(len(points[0]))
    for k in range(function.nin):
        def f(x):
            return function(*points[:k], x, *points[k + 1 :])

        def derivative(x):
            return frameloom.jvp(f, (x,), (along,))[1]

        first, smooth = differences(f, points[k], 1e-6, 1e-3)
        value, (pulled,) = frameloom.vjp(f, points[k], cotangent=along)
        np.testing.assert_allclose(value, f(points[k]), rtol=1e-14)
        for found in (derivative(points[k]), pulled):
            assert not (wrong := smooth & differ(found, first, 1e-3)).any(), [p[wrong] for p in (*points, found, first)]
        second, bent = differences(derivative, points[k], 1e-5, 1e-2)
        found = frameloom.jvp(derivative, (points[k],), (along,))[1]
        assert not (wrong := smooth & bent & differ(found, second, 1e-2)).any(), [p[wrong] for p in (*points, found, second)]
        assert smooth.any() or name in ("arccosh", "acosh")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in UFUNCS if getattr(np, name).nin == 2])
def test_mixed_second_derivatives(name):
    function = getattr(np, name)
    x, y = [np.array(column) for column in zip(*itertools.product(GRID, repeat=2))]
    along = np.ones(len(x))
    for f, a, b in ((function, x, y), (lambda b, a: function(a, b), y, x)):
        def derivative(b):
            return frameloom.jvp(lambda a: f(a, b), (a,), (along,))[1]

        _, smooth = differences(lambda a: f(a, b), a, 1e-6, 1e-3)
        mixed, bent = differences(derivative, b, 1e-5, 1e-2)
        found = frameloom.jvp(derivative, (b,), (along,))[1]
        assert not (wrong := smooth & bent & differ(found, mixed, 1e-2)).any(), [p[wrong] for p in (a, b, found, mixed)]


EXTREME = [np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, 0.0, -0.0, 1.0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UFUNCS)
def test_values_stay_those_of_the_ufunc(name):
    function = getattr(np, name)
    points = [np.array(column) for column in zip(*itertools.product(EXTREME, repeat=function.nin))]
    value, _ = frameloom.vjp(lambda x: function(x, *points[1:]), points[0], cotangent=np.ones(len(points[0])))
    np.testing.assert_allclose(value, function(*points), rtol=1e-14, atol=1e-320)


@pytest.mark.parametrize("x", [np.array([2.0]), np.full((2, 3), 0.5), np.array([[1.0, 2.0], [3.0, 3.0]])])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_the_deviation_of_equal_numbers_has_the_derivative_zero(x, axis):
    found = frameloom.grad(lambda x: np.std(x, axis=axis).sum())(x)
    away = x - x.mean(axis, keepdims=True)
    deviation = x.std(axis, keepdims=True)
    expected = np.divide(away, deviation * (x.size if axis is None else x.shape[axis]), where=deviation != 0, out=np.zeros_like(x))
    np.testing.assert_allclose(found, expected, atol=1e-14)
    with np.errstate(all="raise"):
        frameloom.value_and_grad(lambda x: np.std(x, axis=axis).sum())(x)
