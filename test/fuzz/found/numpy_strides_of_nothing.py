"""Arrays without elements have strides, too: none of a new array, those of a step where NumPy makes a view."""

import numpy as np
from arrays import array

LEVELS = {"v5": 2, "v6": 1}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("f8", (0,), "negative", "small", 0)
    b = array("u1", ((2, 0, 3), (4, 0, 3))[size], "C", "normal", 0)
    c = array("i1", ((3, 0), (4, 0))[size], "C", "few special", 0)
    d = array("f4", (3, 6), "C", "tame", 0)
    return a, b, c, d


def program(a, b, c, d):
    v0 = (255 - a).ravel("F")
    v1 = np.nonzero(b)
    v2 = np.nonzero(d > 100)
    v3 = c.reshape((3, 0)) if len(c) == 3 else c.reshape((4, 0))
    v4 = np.fromiter(range(3), int, -(2**63))
    v5 = np.linalg.lstsq(d, d)[1]
    v6 = np.nanpercentile(d, [], method="midpoint")
    v7 = np.roll(a, -100)
    v8 = np.intersect1d(a, a).ravel()
    v9 = np.roll(c, 2)
    return v0, v1, v2, v3, v4, v5, v6, v7, v8, v9
