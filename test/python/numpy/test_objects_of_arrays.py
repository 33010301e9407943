"""Objects that the library makes of arrays hold the arrays themselves, and lists of arrays have at most 16 dimensions."""

import numpy as np
import pytest

import frameloom


def programs():
    def written_behind_it(x):
        a = np.zeros(3)
        b = np.broadcast(a, x)
        a[0] = 5
        return b.iters[0].base[0], b.shape, b.size, b.numiter

    def items(x):
        return list(np.broadcast(x, x + 1))

    def state(x):
        b = np.broadcast(x, x)
        next(b)
        return b.index

    def sizes(x):
        b = np.broadcast(x, np.ones((2, 1)))
        return b.shape, b.ndim, b.nd, b.size, b.numiter

    def nested(x):
        b = np.broadcast(np.broadcast(x, x), x[None])
        return b.shape, b.numiter

    def flat_shares(x):
        a = x.copy().reshape(1, -1)
        np.array(a.flat)[0] = 9
        return a.tolist()

    return [written_behind_it, items, state, sizes, nested, flat_shares]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("fn", programs(), ids=lambda fn: fn.__name__)
def test_objects_of_arrays(fn, dynamic):
    f = frameloom.compile(fn, dynamic=dynamic)
    for n in (3, 3, 4, 1) if fn.__name__ != "written_behind_it" else (3, 3):
        x = np.arange(1.0, n + 1)
        if fn.__name__ == "state" and n == 1:
            continue
        assert repr(f(x)) == repr(fn(x))


@pytest.mark.parametrize("rank", [14, 15, 16, 17, 32, 63, 64])
def test_lists_of_arrays_of_many_dimensions(rank):
    def fn(a):
        return np.array([a * 2, a]).shape

    f, a = frameloom.compile(fn), np.ones((1,) * rank)
    for _ in range(2):
        try:
            want = fn(a)
        except ValueError as error:
            with pytest.raises(ValueError) as got:
                f(a)
            assert str(got.value) == str(error)
        else:
            assert f(a) == want
    assert all(row[0] != 16 for row in f._report()["breaks"] or ())
