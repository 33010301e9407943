"""value of result 0: array([[ -57.29578018, 115.59156036, -111.59156036, -113.59156036, 56.29578018], [ 114.59156036, 58.29578018, -111.59156036, -56.29578018, ... instead of array([[ -57.29577637, 115.59155273, -111.59155273, -113.59155273, 56.29577637], [ 114.59155273, 58.29577637, -111.59155273, -5"""

import numpy as np
from arrays import array
LEVELS = {'v0': 1, 'v1': 1, 'v2': 1, 'v3': 1, 'c': 0, 'v4': 1, 'v5': 1, 'v6': 1}
WRITTEN = 0
FILTERS = 'always'
BACKEND = 'interpret'

def arguments(size):
    b = array('f8', (5,), 'C', 'small', 0)
    c = array('f4', (5, 5), 'C', 'small', 0)
    return (b, c)

def program(b, c):
    v0 = np.logaddexp2(b, b, subok=False)
    v3 = np.rad2deg(c)
    v5 = np.add(v3, v0)
    return (v5,)
