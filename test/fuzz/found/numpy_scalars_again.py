"""Methods of NumPy's scalars give another object of the same value, but for __copy__."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("f8", ((2, 3), (3, 4))[size], "C", "tame", 0)
    return a,


def program(a):
    v = a.max()
    others = (v.squeeze(), v.conj(), v.transpose(), v.reshape(()), v.copy(), v[()], np.flip(v), v.__copy__(), np.squeeze(v), v.real)
    v0 = [other is v for other in others]
    return v0, others
