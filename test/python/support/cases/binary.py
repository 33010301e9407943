"""array.array, bytearray, memoryview: containers of numbers that are no arrays of NumPy."""

import array

import numpy as np

from . import case, given


@given(lambda: bytearray(b"abc"))
def bytearray_live(x, y, b):
    b.append(7)
    b[0] = 65
    return x * len(b), b[1], bytes(b)


@given(lambda: bytearray(b"abc"))
def bytearray_extended(x, y, b):
    b += b"xyz"
    b.extend([1, 2])
    del b[0]
    return x + len(b), b[-1]


@given(lambda: bytearray(b"abc"))
def bytearray_read(x, y, b):
    return x * b[0], b.upper(), list(b), b"b" in b, b == b"abc", sum(b)


@case
def bytearray_made(x, y):
    b = bytearray(3)
    b[1] = 9
    b.append(len(x))
    return b, x * b[1]


@case
def bytearray_of_an_array(x, y):
    return x + 1, np.frombuffer(bytearray(b"\x01\x02"), np.uint8) * 2


@given(lambda: array.array("d", [1.0, 2.0]))
def array_live(x, y, a):
    a.append(3.0)
    a[0] = 5.0
    return x * len(a), a[1]


@given(lambda: array.array("d", [1.0, 2.0]))
def array_read(x, y, a):
    return x * a[0] + a[1], sum(a), list(a), a.typecode, len(a)


@given(lambda: array.array("d", [1.0] * 4))
def array_as_an_operand(x, y, a):
    return np.asarray(a) * 2, np.array(a) + x[0]


@case
def array_made(x, y):
    a = array.array("i", [1, 2])
    a.append(len(x))
    return a, x * a[0]


@given(lambda: array.array("i", range(4)))
def array_iterated(x, y, a):
    for k in a:
        x = x + k
    return x


@given(lambda: memoryview(b"abc"))
def memoryview_read(x, y, m):
    return x * m[0], len(m), bytes(m), m.nbytes


@given(lambda: memoryview(bytearray(b"abc")))
def memoryview_written(x, y, m):
    m[0] = 66
    return x + m[0], m.tobytes()


@case
def memoryview_of_an_array(x, y):
    z = x + 1
    return memoryview(z).nbytes, z
