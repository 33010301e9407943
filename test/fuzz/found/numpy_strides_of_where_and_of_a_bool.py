"""Strides of axes of one element: behind a number that is converted, and of np.where, which always asks the iterator."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = 'always'
BACKEND = 'interpret'


def arguments(size):
    a = array("u4", ((3, 3), (4, 4))[size], "broadcast", "tame", 0)
    b = array("f8", ((1, 3, 3), (1, 4, 4))[size], "permuted", "tame", 0)
    return a, b,


def program(a, b):
    v0 = np.stack([a.T])
    v1 = v0.astype('f8') + True
    v2 = v0 + np.True_
    v3 = np.where(v0 > 1, v0, 0)
    v4 = np.where(b > 1, b, True)
    return v1, v2, v3, v4,
