"""Scalars and arrays of no dimension in functions that give arrays."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = np.int64(7)
    b = array('f8', ())
    return a, b,


def program(a, b):
    v0 = np.asfortranarray(a)
    v1 = np.asfortranarray(b)
    v2 = a.reshape(())
    try:
        v3 = np.abs(1.5).mT
    except Exception as error:
        v3 = type(error).__name__, str(error)
    v4 = np.squeeze([1, 2, 3])
    return v0, v1, v2, v3, v4,
