"""A scalar type called with an array of that type gives the array."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('u8', (3, 3), 'C', 'few special', 0)
    return a,


def program(a):
    v0 = np.uint64(a)
    v1 = np.uint64(a.T)
    return v0, v1,
