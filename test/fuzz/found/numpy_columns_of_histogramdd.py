"""Asking what a function gives for other sizes must not take for ever: this one's result has an axis for each column."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("i2", ((3, 3), (5, 5))[size], "broadcast", "few special", 408)
    return a,


def program(a):
    v0 = np.histogramdd(a)
    return v0,
