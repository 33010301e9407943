"""Values that nothing uses: NumPy still computes them, and warns."""

import numpy as np
from compare import check

import frameloom


def unused_integer_division(a):
    a // a
    return a + 1


def unused_square_root(a):
    np.sqrt(a * 1.0 - 1)
    return a + 1


def test_unused_values_still_warn():
    for function in (unused_integer_division, unused_square_root):
        compiled = frameloom.compile(function, fullgraph=True)
        for array in (np.arange(5), np.arange(1, 6)):
            check(compiled, function, [array])


def division_of_constants():
    return 1 / np.zeros(3)


def constants_in_steps():
    ones = np.ones((2, 3), np.float32)
    return np.sqrt((ones + 2).T * 3) - np.full((3, 2), 2, np.int8)


def test_constants_warn_at_every_call():
    check(frameloom.compile(division_of_constants), division_of_constants, [])
    check(frameloom.compile(constants_in_steps, fullgraph=True), constants_in_steps, [])


def index_of_one_element(a):
    index = np.argmin(a)
    return index / np.abs(index)


def test_results_that_are_known_to_be_zero_warn():
    check(frameloom.compile(index_of_one_element), index_of_one_element, [np.array(3)])
    check(frameloom.compile(index_of_one_element), index_of_one_element, [np.arange(3, 0, -1)])
