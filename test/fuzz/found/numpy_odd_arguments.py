"""What each of them refuses."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('i1', (3, 4), 'readonly', 'small', 0)
    b = array('f8', ())
    return a, b,


def program(a, b):
    try:
        v0 = a.fill(128)
    except Exception as error:
        v0 = type(error).__name__, str(error)
    try:
        v1 = np.fft.ifftshift(b)
    except Exception as error:
        v1 = type(error).__name__, str(error)
    try:
        v2 = b.reshape()
    except Exception as error:
        v2 = type(error).__name__, str(error)
    try:
        v3 = np.roll(b, 1, ())
    except Exception as error:
        v3 = type(error).__name__, str(error)
    try:
        v4 = np.power(2, a, subok=np.bool_(1))
    except Exception as error:
        v4 = type(error).__name__, str(error)
    return v0, v1, v2, v3, v4,
