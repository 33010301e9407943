"""NumPy's private ufuncs do not check their arguments: one divides by the step of a slice, whatever it is."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("S4", ((2, 3), (3, 4))[size], "C", "tame", 0)
    b = array("i8", ((3,), (4,))[size], "C", "positive", 0)
    return a, b


def program(a, b):
    v0 = np.strings.slice(b"a", np.int64(7))
    v1 = np.strings.slice("abcdef", b)
    v2 = np.strings.center("abc", b)
    v3 = np.strings.replace("abcabc", "a", "xyz", b)
    v4 = np.strings.slice(a, 1, b)
    return v0, v1, v2, v3, v4
