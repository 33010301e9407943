"""A mask of other sizes than the axis; indices out of bounds where nothing is taken."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('f4', ((3, 2), (5, 2))[size])
    return a,


def program(a):
    try:
        v0 = a[[True, False, True]]
    except Exception as error:
        v0 = type(error).__name__, str(error)
    try:
        v1 = a[np.array([2, -3]), 1:1]
    except Exception as error:
        v1 = type(error).__name__, str(error)
    try:
        v2 = a[:, :0][[7]]
    except Exception as error:
        v2 = type(error).__name__, str(error)
    return v0, v1, v2,
