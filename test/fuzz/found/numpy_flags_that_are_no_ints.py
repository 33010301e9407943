"""type of result 0: <class 'numpy.ndarray'> instead of <class 'tuple'>: array([[False]]) instead of ('TypeError', "'numpy.bool' object cannot be interpreted as an integer") (first call 0)"""

import numpy as np
from arrays import array

LEVELS = {'v0': 0}
WRITTEN = 0
FILTERS = 'always'
BACKEND = 'interpret'


def arguments(size):
    a = array("f8", (6, 0), "C", "tame", 0)
    b = np.float16(2)
    return a, b,


def program(a, b):
    try:
        v0 = np.any(a, out=None, keepdims=np.bool_(1), where=~(b < 1))
    except Exception as error:
        v0 = type(error).__name__, str(error)
    return v0,
