"""Comparing a part that is NaN warns, which a constant NaN does not where the compiler has folded it."""

import numpy as np
from arrays import array

LEVELS = {"v0": 1, "v2": 1}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("f2", ((2,), (3,))[size], "C", "normal", 0)
    b = array("c16", ((2, 3), (4, 5))[size], "F", "tame", 0)
    return a, b


def program(a, b):
    v0 = np.logaddexp(a, np.float64("nan"))
    v1 = np.greater(b, float("nan"))
    v2 = np.logaddexp2(np.full(a.shape, np.nan), a)
    v3 = np.empty_like(b, order="K", shape=(2, 24))
    v3.fill(0)
    return v0, v1, v2, v3
