"""NaN of argument 0 afterwards: array([[nan+nanj, 1. +0.j, 1. +0.j, 1. +0.j, 1. +0.j], [nan+nanj, 1. +0.j, nan+nanj, 1. +0.j, nan+nanj], [ 1. +0.j, 1. +0.j, 1. -0.j, 1. +0... instead of array([[nan+nanj, 1. +0.j, 1. +0.j, 1. +0.j, 1. +0.j], [nan+nanj, 1. +0.j, nan+nanj, 1. +0.j, nan+nanj], [ 1. +0.j, """

import numpy as np
from arrays import array
LEVELS = {'v0': 1, 'v1': 0, 'a': 1}
WRITTEN = 1
FILTERS = 'always'
BACKEND = 'interpret'

def arguments(size):
    a = array('c16', (5, 5), 'C', 'special', 619)
    return (a,)

def program(a):
    with np.errstate(all='ignore'):
        v0 = np.ravel(a)
        v0 /= v0
