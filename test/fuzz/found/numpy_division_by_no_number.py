"""Dividing complex numbers by NaN compares the divisor's parts, which warns; to LLVM such a comparison may be a question for NaN."""

import numpy as np
from arrays import array

LEVELS = {"v0": 1, "v1": 1, "v2": 1, "v3": 1}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("c8", ((1, 2), (3, 4))[size], "inner", "tame", 0)
    b = array("f4", ((1, 2), (3, 4))[size], "C", "few special", 0)
    c = array("f8", ((3, 3), (4, 4))[size], "F", "tame", 0)
    return a, b, c


def program(a, b, c):
    v0 = np.true_divide(a, np.float64("nan"))
    v1 = a / complex(1, np.nan)
    v2 = a / (b * np.nan)
    v3 = a / b
    v4 = np.inner(c, np.int8(-3))
    v5 = np.inner(c.astype("c8"), 2.5)
    v6 = np.dot(c.astype("f2"), np.float16(2))
    return v0, v1, v2, v3, v4, v5, v6
