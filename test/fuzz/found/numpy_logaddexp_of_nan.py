"""NaN is an invalid operation there."""

import numpy as np
from arrays import array

LEVELS = {'v0': 1, 'v1': 1}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('?', (3, 5), 'C', 'tame', 0)
    b = array('f4', (7,), 'C', 'few special', 3)
    return a, b,


def program(a, b):
    v0 = np.logaddexp(a, np.float64('nan'))
    v1 = np.logaddexp2(b, b)
    return v0, v1,
