"""NumPy's integer scalars report overflow, where arrays and ufuncs do not."""

import operator

import numpy as np
import pytest

import frameloom
from compare import check


def elements(operation):
    return lambda a: operation(a[0], a[1])


BINARY = [operator.add, operator.sub, operator.mul]


@pytest.mark.parametrize("dtype", "bBhHiIlL")
def test_two_scalars(dtype):
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    for operation in BINARY:
        f = frameloom.compile(elements(operation))
        for x in (least, most, 0, 1, 15, most // 2, most // 2 + 1):
            for y in (least, most, 0, 1, 16, 3):
                check(f, f.__wrapped__, (np.array([x, y], dtype),))
        assert f._report()["entries"]


@pytest.mark.parametrize("dtype", "bBhHiIlL")
def test_one_scalar(dtype):
    for function in (lambda a: -a.max(), lambda a: abs(a.max()), lambda a: a.max() + 1, lambda a: a.min() * 3):
        f = frameloom.compile(function)
        for x in (np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1):
            check(f, function, (np.array([x], dtype),))
        assert f._report()["entries"]


def test_arrays_and_ufuncs_wrap_around():
    a = np.array([127, 127], np.int8)
    for function in (lambda a: np.add(a[0], a[1]), lambda a: a + a[0], lambda a: a.max() + np.array(1, np.int8)):
        check(frameloom.compile(function), function, (a,))


def test_unused_result():
    def function(a):
        a[0] + a[1]
        return a * 2

    f = frameloom.compile(function)
    check(f, function, (np.array([100, 27], np.int8),))
    check(f, function, (np.array([100, 28], np.int8),))


def test_as_an_exception():
    def function(a):
        with np.errstate(over="raise"):
            return a[0] * a[1]

    f = frameloom.compile(function)
    check(f, function, (np.array([10, 12], np.int8),))
    check(f, function, (np.array([10, 13], np.int8),))
