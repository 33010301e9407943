"""Compiled as well: no call that rounds a sign to float16."""

import numpy as np
from arrays import array

LEVELS = {'v0': 1, 'v1': 1, 'v2': 1}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('i1', (6,), 'broadcast', 'tame', 0)
    b = array('i1', ())
    return a, b,


def program(a, b):
    v0 = np.arcsinh(a)
    v1 = np.sinh(b)
    v2 = np.arctanh(b)
    return v0, v1, v2,
