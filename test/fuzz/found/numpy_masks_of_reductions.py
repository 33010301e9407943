"""where= of other elements than bools, and of other sizes."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('f8', ((3,), (5,))[size], 'C', 'tame', 0)
    b = array('i1', ((3,), (5,))[size], 'C', 'tame', 0)
    return a, b,


def program(a, b):
    try:
        v0 = np.sum(a, where=b)
    except Exception as error:
        v0 = type(error).__name__, str(error)
    try:
        v1 = np.all(b, where=[True, False, True])
    except Exception as error:
        v1 = type(error).__name__, str(error)
    try:
        v2 = np.add(a, a, where=b, out=a)
    except Exception as error:
        v2 = type(error).__name__, str(error)
    try:
        v3 = np.sum(a[:1], where=b > 0)
    except Exception as error:
        v3 = type(error).__name__, str(error)
    return v0, v1, v2, v3,
