"""type of result 0: <class 'NoneType'> instead of <class 'tuple'>: None instead of ('TypeError', 'sort kind must be str, not slice')"""

import numpy as np
from arrays import array
LEVELS = {}
WRITTEN = 0
FILTERS = 'ignore'
BACKEND = 'loom'

def arguments(size):
    c = array('i8', (5, 5), 'C', 'special', 0)
    return (c,)

def program(c):
    try:
        v0 = c.sort(-2, slice(1), None)
    except Exception as error:
        v0 = (type(error).__name__, str(error))
    return (v0,)
