"""What an array has beside its elements, sizes and strides: flags, and a dtype that is not NumPy's plain one of its number.
Every operation over every kind of array, twice, against NumPy: results with their dtypes, and warnings."""


import numpy as np
import pytest
from compare import told

import frameloom

FIELDS = np.dtype((np.int32, [("a", "<i2"), ("b", "<i2")]))
METADATA = np.dtype("f8", metadata={"unit": "m"})


def warns_on_write():
    a = np.arange(3.0)
    a.flags._warn_on_write = True
    return a


def read_only():
    a = np.arange(3.0)
    a.flags.writeable = False
    return a


def misaligned():
    a = np.zeros(25, np.uint8)[1:].view(np.float64)
    a[:] = range(3)
    return a


ARRAYS = {
    "plain": lambda: np.arange(3.0),
    "warns": warns_on_write,
    "read_only": read_only,
    "misaligned": misaligned,
    "fields": lambda: np.arange(3, dtype=FIELDS),
    "metadata": lambda: np.arange(3.0).astype(METADATA),
    "swapped": lambda: np.arange(3.0).astype(">f8"),
    "long_long": lambda: np.arange(3, dtype=np.longlong),
}


def stored(a):
    a[0] = 5
    a[1] = 6


def added(a):
    a += 1
    return a


def given_as_out(a):
    return np.add(a, 1, out=a)


def copied_to(a):
    np.copyto(a, 2)


def filled(a):
    a.fill(3)


def sorted_inside(a):
    a.sort()


def stored_in_a_view(a):
    v = a[1:]
    v[0] = 7
    return v


def asked(a):
    return a.flags.writeable, a.flags.aligned, a.dtype.names, a.dtype.metadata, a.dtype.byteorder


def computed(a):
    return a + 1, a.sum(), a * a, np.sqrt(a)


def like_it(a):
    return np.zeros_like(a), np.ones_like(a), np.empty_like(a).dtype, a.copy(), np.array(a), np.asarray(a)


def of_its_dtype(a):
    return np.zeros(2, a.dtype), np.full(2, 1, dtype=a.dtype), np.array([1, 2], a.dtype), np.arange(3).astype(a.dtype)


def views(a):
    return a[::2], a.T, a.reshape(3, 1), a.view()


def joined(a):
    return np.concatenate([a, a]), np.stack([a, a]), np.where(a > 1, a, a)


FUNCTIONS = [stored, added, given_as_out, copied_to, filled, sorted_inside, stored_in_a_view, asked, computed, like_it,
             of_its_dtype, views, joined]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_operations_on_arrays_with_properties(function, dynamic):
    compiled = frameloom.compile(function, dynamic=dynamic)
    wrong = []
    for _ in range(2):
        for name, make in ARRAYS.items():
            want, got = told(function, make()), told(compiled, make())
            if want != got:
                wrong.append((name, want, got))
    assert not wrong


@pytest.mark.parametrize("numbers", [(1.0, 2), (np.float32(1), 1.0), (np.int8(1), 1), (np.int8(1), 1000), (np.float32(1), 1e300),
                                     (np.complex64(1), 1j), (True, 1), (np.float16(1), [1.0]), (np.uint8(3), -1)], ids=str)
def test_numbers_that_are_joined(numbers):
    """Python's numbers are weak in promotion where np.concatenate flattens."""
    a = np.ones(2, np.float32)
    for function in (lambda: np.concatenate(numbers, axis=None), lambda: np.concatenate([a, *numbers], axis=None),
                     lambda: np.append(a, numbers[1]), lambda: np.hstack(numbers), lambda: np.r_[numbers]):
        compiled = frameloom.compile(function)
        for _ in range(2):
            assert told(compiled) == told(function)
