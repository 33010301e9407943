"""Orders and devices that there are not."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('i2', (3, 5), 'F', 'normal', 0)
    return a,


def program(a):
    try:
        v0 = np.add(a, a, order='X')
    except Exception as error:
        v0 = type(error).__name__, str(error)
    try:
        v1 = np.full((2, 3), 1, order='K')
    except Exception as error:
        v1 = type(error).__name__, str(error)
    try:
        v2 = np.zeros((2, 3), order='A')
    except Exception as error:
        v2 = type(error).__name__, str(error)
    try:
        v3 = np.eye(2, order='K')
    except Exception as error:
        v3 = type(error).__name__, str(error)
    try:
        v4 = a.reshape((5, 3), order='K')
    except Exception as error:
        v4 = type(error).__name__, str(error)
    try:
        v5 = np.empty_like(a, device='gpu')
    except Exception as error:
        v5 = type(error).__name__, str(error)
    try:
        v6 = np.full_like(a, 1, device='gpu')
    except Exception as error:
        v6 = type(error).__name__, str(error)
    return v0, v1, v2, v3, v4, v5, v6,
