"""What a select leaves out is computed all the same: its warnings are the program's. LLVM may find out what the condition is."""

import numpy as np
from arrays import array

LEVELS = {"v0": 1, "v1": 1, "v2": 1, "v3": 1}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("u2", ((5, 5), (7, 3))[size], "C", "tame", 0)
    return a,


def program(a):
    v0 = a / a
    v4 = np.logical_or(a, 1e-320)
    np.bitwise_and(v4, v4, where=v4 > 0, out=v0)
    v1 = np.where(np.ones(a.shape, bool), a, a / (a - a))
    v2 = np.where((a & 1) < 2, a, a / (a - a))
    v3 = np.where(np.abs(a.astype(float)) < 0, np.sqrt(-a.astype(float)), a)
    return v0, v1, v2, v3
