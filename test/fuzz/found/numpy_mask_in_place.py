"""The index is looked at before the operator."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('u2', (6, 6), 'C', 'special', 0)
    c = array('?', (6,), 'C', 'small', 0)
    return a, c,


def program(a, c):
    try:
        v0 = np.take(a[:, :0], [9], axis=0)
    except Exception as error:
        v0 = type(error).__name__, str(error)
    try:
        v1 = c[[True, False, True]]
    except Exception as error:
        v1 = type(error).__name__, str(error)
    c[[True, False, True]] -= a
    return v0, v1,
