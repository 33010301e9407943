"""Values that nothing uses: NumPy still computes them, and warns."""

import numpy as np
from compare import check

import frameloom


def unused_integer_division(a):
    a // a
    return a + 1


def unused_square_root(a):
    np.sqrt(a * 1.0 - 1)
    return a + 1


def test_unused_values_still_warn():
    for function in (unused_integer_division, unused_square_root):
        compiled = frameloom.compile(function, fullgraph=True)
        for array in (np.arange(5), np.arange(1, 6)):
            check(compiled, function, [array])
