"""Values that the library reads while it writes them."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('f8', ((2, 2), (4, 4))[size], 'C', 'special', 0)
    return a,


def program(a):
    np.place(a, ~(a < 1), a)
    return ()
