"""Bounds that do not go together."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('f4', (6, 2), 'C', 'small', 0)
    return a,


def program(a):
    try:
        v0 = np.clip(a, 0)
    except Exception as error:
        v0 = type(error).__name__, str(error)
    try:
        v1 = np.clip(a, 0, 1, max=2)
    except Exception as error:
        v1 = type(error).__name__, str(error)
    try:
        v2 = np.clip(a)
    except Exception as error:
        v2 = type(error).__name__, str(error)
    return v0, v1, v2,
