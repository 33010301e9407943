"""owndata of result 0: False instead of True (first call 0)"""

import numpy as np
from arrays import array

LEVELS = {'v0': 0}
WRITTEN = 0
FILTERS = 'always'
BACKEND = 'interpret'


def arguments(size):
    a = array("f8", (), "C", "tame", 0)
    return a,


def program(a):
    v0 = a.squeeze(-1)
    return v0,
