"""The stride of an axis of one element is told as well: by the order of the others, by NumPy's iterator where it is needed."""

import numpy as np
from arrays import array

LEVELS = {"v4": 1, "v5": 1, "v7": 1, "v8": 1}
WRITTEN = 0
FILTERS = "always"


def arguments(size):
    a = array("f4", ((4, 4), (5, 5))[size], "permuted", "small", 869)
    b = array("f4", ((4, 3), (5, 2))[size], "F", "tame", 1)
    c = array("u8", ((2, 1), (3, 1))[size], "C", "few special", 0)
    d = array("u1", (4, 4), "F", "positive", 0)
    e = array("i8", ((1, 4), (1, 6))[size], "permuted", "small", 0)
    return a, b, c, d, e


def program(a, b, c, d, e):
    v0 = np.pad(a[None], 0)
    v1 = b[[1, 0], None]
    v2 = b[None, [[1, 0]], :]
    v3 = np.array(b[0], copy=False, ndmin=3)
    v4 = np.float_power(c, 0.5, order="A")
    v5 = np.arcsinh(d[..., None])
    v6 = np.logical_xor(c, e, order="A")
    v7 = np.fft.ihfft(e[::-1])
    v8 = np.sin(c > 0, order="A")
    v9 = c[:, 0][:, None].reshape(len(c), 1)
    return v0, v1, v2, v3, v4, v5, v6, v7, v8, v9
