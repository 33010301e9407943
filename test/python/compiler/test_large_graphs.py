"""Programs with many nodes of one shape compile whole and compute what NumPy does."""


import compile_scaling
import numpy as np
import pytest
from compare import check_calls

import frameloom


def whole_and_same(function, *args):
    with np.errstate(all="ignore"), frameloom.config.patch(unroll_limit=1 << 40):
        compiled = check_calls(function, args, rtol=1e-9, atol=1e-12)
    assert not compiled._report()["breaks"]


@pytest.mark.parametrize("count", [31, 32, 33, 48, 49, 65, 300])
@pytest.mark.parametrize("axis", [0, 1])
def test_concatenations_of_many(count, axis):
    a, b = np.random.default_rng(0).random((2, 3, 5))

    def one(a, b):
        return np.concatenate([a] * count, axis=axis), np.stack([a] * count, axis=axis) + 1

    def several(a, b):
        return (np.concatenate([a * i if i % 3 else b for i in range(count)], axis=axis),
                np.stack([(a + i).sum(axis=axis) for i in range(count)], axis=axis))

    def sizes(a, b):
        return (np.concatenate([a[: i % 4] if axis == 0 else a[:, : i % 4] for i in range(count)], axis=axis),)

    whole_and_same(one, a, b)
    whole_and_same(several, a, b)
    whole_and_same(sizes, a, b)


@pytest.mark.parametrize("axes", [None, 0, 1, (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("count", [9, 17, 40])
def test_reductions_in_turn_and_side_by_side(axes, count):
    t = np.random.default_rng(1).random((3, 4, 5))

    def in_turn(t):
        for i in range(count):
            t = t - t.mean(axis=axes, keepdims=True) * (0.1 * i)
        return t, t.max(axis=axes)

    def side_by_side(t):
        return [(t * i).sum(axis=axes) for i in range(count)]

    def both(t):
        r = []
        for i in range(count):
            r.append((t + i).max(axis=axes))
            t = t * 0.5 + r[-1 - i % 3 if i > 3 else -1].max()
        return r + [t]

    whole_and_same(in_turn, t)
    whole_and_same(side_by_side, t)
    whole_and_same(both, t)


@pytest.mark.parametrize("shape", compile_scaling.SHAPES)
def test_every_shape_compiles_whole(shape):
    n = 160
    function = compile_scaling.function(shape, n)
    expected = function(*compile_scaling.arguments(n))
    compiled = frameloom.compile(function)
    with np.errstate(all="ignore"), frameloom.config.patch(unroll_limit=1 << 40):
        got = compiled(*compile_scaling.arguments(n))
    assert not compiled._report()["breaks"]
    several = isinstance(expected, (list, tuple))
    for one, other in zip(*(v if several else [v] for v in (got, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("count", [40, 100])
def test_wide_concatenations_of_any_size(count):
    def apart(a, b):
        return np.concatenate([a * i if i % 2 else b[: len(b) // 2] for i in range(count)]) * 2

    def stacked(a, b):
        return np.stack([a + b[i % 3] for i in range(count)], axis=1)

    for function in (apart, stacked):
        compiled = frameloom.compile(function, dynamic=True)
        for size in (30, 31, 50):
            a, b = np.random.default_rng(size).random((2, size))
            np.testing.assert_allclose(compiled(a, b), function(a, b), rtol=1e-12)
        report = compiled._report()
        assert not report["breaks"] and len(report["entries"]) == 1


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float64])
@pytest.mark.parametrize("operation", [np.power, np.floor_divide, np.add, np.maximum])
@pytest.mark.parametrize("count", [47, 48, 49, 62, 96, 200])
def test_scalars_in_turn(count, operation, dtype):
    """Powers of integers are checked one by one: what a check computes nobody reads, and is stored all the same."""
    a = (np.arange(count) % 3 + (operation is np.floor_divide)).astype(dtype)

    def in_turn(a):
        results = [a[0]]
        for i in range(1, count):
            results.append(operation(results[-1], a[i]))
        return (np.array(results),)

    whole_and_same(in_turn, a)
