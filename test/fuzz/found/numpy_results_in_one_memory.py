"""np.unravel_index gives columns of one array."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("i8", ((4,), (6,))[size], "C", "positive", 3)
    return a,


def program(a):
    v0, v1 = np.unravel_index(a, (3, 4))
    v2, v3, v4 = np.unravel_index(a[None], (2, 3, 4), order="F")
    v1 += 1
    v5 = np.einsum("...->...", a[0])
    return v0, v1, v2, v3, v4, v5
