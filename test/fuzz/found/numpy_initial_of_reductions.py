"""One number, and no array of more dimensions."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('u4', (5, 1), 'C', 'positive', 0)
    b = array('f8', (5, 5), 'C', 'positive', 0)
    return a, b,


def program(a, b):
    try:
        v0 = np.multiply.reduce(a[0], axis=0, initial=b)
    except Exception as error:
        v0 = type(error).__name__, str(error)
    try:
        v1 = np.max(a, initial=b)
    except Exception as error:
        v1 = type(error).__name__, str(error)
    v2 = np.max(a, initial=b[0, 0])
    return v0, v1, v2,
