"""type of result 0: <class 'bool'> instead of <class 'tuple'>: False instead of ('ValueError', 'max_work must be an integer') (first call 0)"""

import numpy as np
from arrays import array
LEVELS = {'v0': 1}
WRITTEN = 0
FILTERS = 'always'
BACKEND = 'interpret'

def arguments(size):
    a = array('?', (4, 4), 'one negative', 'few special', 0)
    b = array('c16', (1, 1), 'C', 'special', 0)
    return (a, b)

def program(a, b):
    try:
        v0 = np.may_share_memory(a, b, np.int8(2))
    except Exception as error:
        v0 = (type(error).__name__, str(error))
    return (v0,)
