"""np.clip at the edges of floats: of two zeros NumPy keeps the element where the bounds are numbers, else the bound; NaN anywhere."""

import itertools

import numpy as np
import pytest
from compare import told

import frameloom

ZEROS = [0.0, -0.0]
BOUNDS = {
    "a float": float, "a scalar": np.float64, "no dimensions": np.asarray, "of one element": lambda z: np.full((1,), z),
    "of each element": lambda z: np.full(300, z), "broadcast": lambda z: np.broadcast_to(z, (300,)),
}  # fmt: skip
ELEMENTS = {
    "a float": float, "an int": int, "a scalar": np.float64, "no dimensions": np.asarray, "float64": lambda z: np.full(300, z), "float32": lambda z: np.full(300, z, "f4"),
    "float16": lambda z: np.full(300, z, "f2"), "strided": lambda z: np.full(600, z)[::2], "broadcast": lambda z: np.broadcast_to(z, (300,)),
}  # fmt: skip


def clipped(x, low, high):
    return np.clip(x, low, high)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("elements", ELEMENTS)
def test_zeros(elements, bound):
    for zero, other, low in itertools.product(ZEROS, ZEROS, (False, True)):
        x, edge = ELEMENTS[elements](zero), BOUNDS[bound](other)
        given = (x, edge, 2) if low else (x, -2, edge)
        want, compiled = told(clipped, *given), frameloom.compile(clipped)
        assert [told(compiled, *given) for _ in range(2)] == [want, want], (zero, other, low)


@pytest.mark.parametrize("bounds", [(-1, 2), (np.nan, 2), (-1, np.nan), (np.nan, np.nan), (3, 1), (-np.inf, np.inf), (np.array(-1.0), 2), (np.array([-1.0]), np.array([2.0]))])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_what_is_no_number(dtype, bounds):
    x = np.array([1, np.nan, -np.inf, np.inf, 5, -5, 0.0, -0.0] * 40).astype(dtype)
    want, compiled = told(clipped, x, *bounds), frameloom.compile(clipped)
    assert [told(compiled, x, *bounds) for _ in range(2)] == [want, want]
