"""exception: None instead of UFuncTypeError(<ufunc 'invert'>, 'same_kind', dtype('int64'), dtype('uint8'), 0) line 12 (first call 0)"""

import numpy as np
from arrays import array
LEVELS = {'v0': 0}
WRITTEN = 0
FILTERS = 'always'
BACKEND = 'interpret'

def arguments(size):
    return ()

def program():
    v0 = np.invert(3, dtype='u1')
