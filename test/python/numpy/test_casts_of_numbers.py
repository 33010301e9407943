"""A Python number that does not fit a small float: NumPy's warning comes once."""

import numpy as np
import pytest

import frameloom
from compare import check


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("number", [10**30, 10**60, -(10**40), 1e39, 70000, 65504, 3])
def test_number_times_array(dtype, number):
    def function(a, k):
        return a * (k * k)

    check(frameloom.compile(function), function, (np.arange(4, dtype=dtype), number))
