"""NumPy's own sine and cosine report what small numbers lose."""

import numpy as np
from arrays import array
LEVELS = {'v1': 1, 'v2': 1, 'b': 1}
WRITTEN = 1
GLOBALS = (2, 2, 3.5, 2, True, 3)
G = 2
FILTERS = 'always'
BACKEND = 'interpret'


def arguments(size):
    b = array('f4', ((6, 1), (2, 1))[size % 2], 'broadcast', 'special', 0)
    if size == 3:
        b = array('f8', (1, 3), 'broadcast', 'special', 725)
    if size == 4:
        b = 2
    return (b,)


def program(b):
    with np.errstate(all='raise'):
        v1 = np.cos(b)
        v2 = np.sin(b, out=b)
    return v1, v2
