"""What is known at capture warns at every call, in the user's line."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('f8', (3,), 'C', 'tame', 0)
    return a,


def program(a):
    v0 = np.nanvar(np.float64('nan'))
    try:
        v1 = np.nanmean(np.array([]))
    except Exception as error:
        v1 = type(error).__name__, str(error)
    try:
        v2 = np.fft.rfft2(a, out=a)
    except Exception as error:
        v2 = type(error).__name__, str(error)
    return v0, v1, v2,
