"""Where there is a mask, NumPy converts what is in out= to the type of the loop, and warns of what that cannot hold."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("i4", ((4,), (6,))[size], "C", "tame", 0)
    b = array("c16", ((4,), (6,))[size], "C", "tame", 0)
    c = array("f8", ((4,), (6,))[size], "C", "special", 0)
    return a, b, c


def program(a, b, c):
    v0 = np.negative(a, where=b == b, out=b)
    v1 = np.add(a, a, where=a > 0, out=c)
    return v0, v1
