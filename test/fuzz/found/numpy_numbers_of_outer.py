"""A number of Python has a dtype of its own in ufunc.outer."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('u1', (3,), 'C', 'special', 0)
    return a,


def program(a):
    v0 = np.minimum.outer(a, 128)
    v1 = np.add.outer(a[0], 1.5)
    try:
        v2 = np.ceil.outer(a, 1)
    except Exception as error:
        v2 = type(error).__name__, str(error)
    return v0, v1, v2,
