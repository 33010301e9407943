"""Arrays made of NumPy scalars have memory of their own."""

import numpy as np
from compare import check

import frameloom


def reshaped(a):
    scalar = a // 2
    row = scalar.reshape(-1)
    return scalar, row, row[::-1]


def with_new_axis(a):
    total = np.sum(a)
    return total, total[None], np.expand_dims(total, 0), np.broadcast_to(total, (2, 3))


def test_views_of_scalars():
    check(frameloom.compile(reshaped, fullgraph=True), reshaped, [np.array(7, np.uint8)])
    for function, argument in ((with_new_axis, np.arange(6.0)), (reshaped, np.array(9))):
        compiled = frameloom.compile(function)
        check(compiled, function, [argument])
        results = compiled(argument)
        assert [np.asarray(r).ravel().tolist() for r in results] == [
            np.asarray(r).ravel().tolist() for r in function(argument)]


def test_views_of_one_scalar_array_share_memory():
    _, row, turned = frameloom.compile(reshaped)(np.array(7, np.uint8))
    row[0] = 9
    assert turned[0] == 9
