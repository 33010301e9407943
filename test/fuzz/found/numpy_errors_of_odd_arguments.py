"""Arguments that NumPy refuses, or takes in another place than ours did."""

import numpy as np
from arrays import array

LEVELS = {}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("f8", ((2, 3), (3, 4))[size], "C", "tame", 0)
    b = array("i4", (5, 0), "C", "small", 0)
    return a, b


def program(a, b):
    found = []
    for call in (
        lambda: np.min(a, range(2)), lambda: a.sum(axis=range(1)), lambda: np.sum(a, axis=[0]), lambda: np.modf(a, out=a),
        lambda: np.frexp(a, out=(a,)), lambda: np.divmod(a, a, out=None), lambda: np.divmod(a, a, out=(None, None))[0].sum() + 0, lambda: np.fabs(a, subok=None), lambda: np.add(a, a, casting=None),
        lambda: np.add(a, a, order=None)[0, 0] + 0, lambda: a.any(-2, a, True), lambda: a.all(0, None, None, True).shape,
        lambda: b.sort(kind="quicksort", stable=False), lambda: np.poly(np.int8(-3)), lambda: np.roots(np.float64(2)),
        lambda: b.T[np.array([[-1]])], lambda: np.max(a, axis=np.array([0, 1])),
        lambda: np.subtract(a, a, None, out=np.zeros((1, 1))), lambda: type(np.dot(3, 3, np.zeros(()))).__name__,
    ):
        try:
            found.append(str(call()))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return found
