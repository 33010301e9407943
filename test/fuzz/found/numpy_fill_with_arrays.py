"""More than one value is an error."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('?', (5, 5), 'one negative', 'small', 0)
    return a,


def program(a):
    try:
        v0 = a.fill(np.sort(a))
    except Exception as error:
        v0 = type(error).__name__, str(error)
    try:
        v1 = a.fill([1, 0])
    except Exception as error:
        v1 = type(error).__name__, str(error)
    return v0, v1,
