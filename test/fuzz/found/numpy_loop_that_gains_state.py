"""A loop that is tried as rolled, and has more state behind an iteration than before: what was known of the old was read of the new."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array('i4', ((5, 5), (3, 3))[size], 'C', 'positive', 886)
    b = array('i8', ((5, 1), (3, 1))[size], 'swapped', 'normal', 51)
    return a, b,


def program(a, b):
    v0 = np.fft.ifftshift(b)
    for i in range(len(a)):
        a[i] = a[-i]
    return v0, a,
