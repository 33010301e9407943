"""missing warning of call: [] instead of Degrees of freedom"""

import numpy as np
from arrays import array
LEVELS = {'v0': 1}
WRITTEN = 1
FILTERS = 'always'
BACKEND = 'loom'

def arguments(size):
    return ()

def program():
    try:
        v0 = np.std(2 ** 63, dtype=float, out=np.float32(2), ddof=np.int8(2), mean=(i for i in range(3)))
    except Exception as error:
        pass
