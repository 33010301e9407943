"""Functions of more arrays than a kernel has buffers: operations of many operands, many results, many views and many writes."""

import numpy as np
import pytest

import frameloom


def concatenated(*xs):
    return np.concatenate(xs)


def stacked(*xs):
    return np.stack(xs, axis=-1)


def of_numbers(*xs):
    return np.array([x[0] for x in xs])


def of_halves(*xs):  # two views of each array
    return np.block([[x[:1] for x in xs], [x[1:2] for x in xs]])


def of_types(*xs):
    return np.concatenate([x.astype(t) for x, t in zip(xs, ["f4", "f8", "i4", "c8"] * len(xs), strict=False)])


def chain(*xs):
    r = xs[0]
    for x in xs[1:]:
        r = np.where(x > r, x + r, r)
    return r


def chain_of_views(*xs):  # parts that are read through a view are computed where they are used
    c = np.zeros((len(xs[0]), len(xs[0])), xs[0].dtype)
    for i, x in enumerate(xs):
        c = (c.T if i % 20 == 19 else c) | np.outer(x, x) if x.dtype == bool else (c[::-1] if i % 20 == 19 else c) + np.outer(x, x)
    return c


def each(*xs):
    return [x + x for x in xs]


def of_one(a, *xs):
    return [a[i % 5:i % 5 + 2].copy() for i, _ in enumerate(xs)]


def sums(*xs):
    return [x.sum() for x in xs]


def products(*xs):
    return [np.dot(x, xs[0]) for x in xs]


def sorts(*xs):
    return [np.sort(x) for x in xs]


def gathered(*xs):
    return [x[np.array([1, 0])] for x in xs]


def placed(*xs):
    b = np.zeros(2 * len(xs), xs[0].dtype)
    for i, x in enumerate(xs):
        b[2 * i:2 * i + 2] = x[:2]
    return b


def written(*xs):
    for x in xs:
        x[0] = x[1]
    return xs


FUNCTIONS = [concatenated, stacked, of_numbers, of_halves, of_types, chain, chain_of_views, each, of_one, sums, products, sorts, gathered, placed, written]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["?", "i8", "f4", "c16"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_many(function, dtype, monkeypatch):
    monkeypatch.setattr(frameloom.config, "suppress_errors", False)  # what cannot be compiled raises
    for count in (65, 130):
        compiled = frameloom.compile(function)
        for _ in range(2):
            want, got = (f(*[(np.arange(6) * (i % 5 + 1)).astype(dtype) for i in range(count)]) for f in (function, compiled))
            want, got = ([r] if isinstance(r, np.ndarray) else r for r in (want, got))
            assert len(want) == len(got)
            for x, y in zip(want, got, strict=True):
                np.testing.assert_array_equal(y, x)
                assert y.dtype == x.dtype
