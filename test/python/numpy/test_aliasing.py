"""Arrays that share memory: what is returned, written and indexed shares what NumPy's would."""

import numpy as np
import pytest

import frameloom
from compare import assert_same, check, outcome


def overlapping():
    return np.lib.stride_tricks.as_strided(np.arange(10.0), (4, 4), (16, 8))


def shift_rows(a):
    a[1:] = a[:-1]
    return a, a.sum()


def repeated():
    return np.lib.stride_tricks.as_strided(np.arange(3.0), (4, 3), (0, 8))


def add_rows(a):
    a += np.arange(12.0).reshape(4, 3)
    return a


@pytest.mark.parametrize("make,function", [(overlapping, shift_rows), (repeated, add_rows)])
def test_writes_into_an_array_that_overlaps_itself(make, function):
    compiled = frameloom.compile(function)
    for _ in range(2):
        a, b = make(), make()
        got, error, _ = outcome(compiled, (a,))
        want, wanted_error, _ = outcome(function, (b,))
        assert str(error) == str(wanted_error)
        assert_same(a, b)
        if wanted_error is None:
            assert_same(got, want)


V, M = np.arange(5.0), np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("array,index", [(V, np.array(1)), (V, np.array(-5)), (V, np.array(5)), (V, np.uint8(1)),
                                         (M, np.array(2)), (M, np.int64(1))])
def test_index_without_dimensions(array, index, dynamic):
    for function in (lambda a, k: a[k], lambda a, k: a[k,], lambda a, k: a[k, ...], lambda a, k: a[..., k]):
        check(frameloom.compile(function, dynamic=dynamic), function, (array, index))


def test_row_by_a_number_of_numpy_is_a_view():
    def function(a, k):
        row = a[k]
        row += 1
        return row

    compiled = frameloom.compile(function, dynamic=True)
    for k in (np.int64(0), np.int64(1), np.int64(2)):
        a = M.copy()
        row = compiled(a, k)
        assert np.shares_memory(row, a)
        assert_same(a[k], M[k] + 1)


def test_element_at_the_greatest():
    check(frameloom.compile(lambda a: a[np.argmax(a)]), lambda a: a[np.argmax(a)], (V,))


def pair(kind):
    a = np.arange(16.0)
    square = a.reshape(4, 4)
    return {"same": (a, a), "ahead": (a[:-2], a[2:]), "behind": (a[2:], a[:-2]), "reversed": (a, a[::-1]),
            "transposed": (square, square.T), "halves": (a[:8], a[8:]), "interleaved": (a[::2], a[1::2])}[kind]


def add_in_place(a, b):
    a += b
    return a


def write_both(a, b):
    np.add(a, b, out=a)
    np.multiply(a, b, out=b)
    return a, b


def read_before_and_after(a, b):
    first, old = b[0].copy(), b.copy()
    a[...] = 7
    return first, old, b[0], b


def return_them(a, b):
    return a is b, [a, b, a], b[1:]


@pytest.mark.parametrize("function", [add_in_place, write_both, read_before_and_after, return_them])
@pytest.mark.parametrize("kind", ["same", "ahead", "behind", "reversed", "transposed", "halves", "interleaved"])
def test_two_arguments_over_one_block(kind, function):
    compiled = frameloom.compile(function)
    for first in ("halves", kind, kind):
        got_args, want_args = pair(first), pair(first)
        assert_same(compiled(*got_args), function(*want_args))
        for got, want in zip(got_args, want_args):
            assert_same(got, want)


@pytest.mark.parametrize("written, read", [(1, 3), (2, 2), (3, 4), (4, 9), (13, 0), (5, 60), (40, 40)])
def test_many_arrays_some_of_which_overlap(written, read):
    def scale(xs, ys):
        for i in range(len(xs)):
            xs[i] *= 2
            xs[i] += sum(y.sum() for y in ys)
        return sum(x.sum() for x in xs)

    def arrays(rng, overlapping):
        base = np.arange(4.0 * (written + read) + 8)
        starts, empty = 4 * rng.permutation(written + read), rng.integers(8, size=written + read) == 0
        for _ in range(overlapping):
            starts[rng.integers(len(starts))] += rng.integers(1, 4)
        made = [base[s:s] if none else base[s : s + 4] for s, none in zip(starts, empty)]
        return made[:written], made[written:], base

    compiled = frameloom.compile(scale, backend="interpret", dynamic=False)
    for round in range(12):
        seed, overlapping = round // 3, round % 3
        mine = arrays(np.random.default_rng(seed), overlapping)
        plain = arrays(np.random.default_rng(seed), overlapping)
        assert_same(compiled(*mine[:2]), scale(*plain[:2]))
        assert_same(mine[2], plain[2])


def test_many_written_arrays_are_guarded_by_one_guard():
    def scale(xs):
        for x in xs:
            x *= 2

    xs = [np.ones(3) for _ in range(50)]
    explained = frameloom.explain(scale, xs)
    assert sum("overlap" in str(g.text) for g in explained.out_guards) == 1
    compiled = frameloom.compile(scale)
    compiled(xs)
    xs[7] = xs[31]  # written twice
    compiled(xs)
    assert xs[7][0] == 16 and xs[8][0] == 8


def test_many_written_arrays_beside_a_long_list():
    def add(items, outs):
        for x in items:
            for out in outs:
                out += x
        return outs

    def pairs(items, outs):
        for w, (x, scale) in items:
            outs[0] += w * x * scale
        for out in outs:
            out *= 2
        return outs

    compiled = frameloom.compile(add)
    nested = frameloom.compile(pairs)
    for shared in (None, 3, None, 17):
        for function, fast, make in (
            (add, compiled, lambda a: a),
            (pairs, nested, lambda a: (np.ones(2), (a, 0.5))),
        ):
            results = []
            for run in (function, fast):
                arrays = [np.full(2, float(i)) for i in range(24)]
                outs = [np.zeros(2) for _ in range(13)]
                if shared is not None:
                    outs[7] = arrays[shared]
                    outs[0] = arrays[shared + 1]
                run([make(a) for a in arrays], outs)
                results.append((arrays, outs))
            assert_same(*results)
