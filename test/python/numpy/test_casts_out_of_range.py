"""Floats that an integer type cannot hold: NumPy's loops over vectors and over elements tell of other ones, and give other numbers."""


import numpy as np
import pytest
from compare import told

import frameloom

NUMBERS = [-1.0, 300.0, 70000.0, 3e9, 4294967296.0, 5e9, -2147483648.5, -5e9, 1e19, -1e19, np.nan, np.inf]
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 65]


@pytest.mark.parametrize("to", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
@pytest.mark.parametrize("of", ["f4", "f8"])
def test_casts(of, to):
    def function(x):
        return x.astype(to)

    compiled, different = frameloom.compile(function), []
    for number in NUMBERS:
        for step in (1, 2):
            for length in LENGTHS:
                for at in {0, length - 1}:
                    x = np.ones(length * step, of)[::step]
                    x[at] = number
                    want, got = told(function, x), told(compiled, x)
                    if got != want:
                        different.append(f"{number} at {at} of {length}, step {step}: {got} instead of {want}")
    assert not different, "\n".join(different)
