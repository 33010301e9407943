"""Python numbers that are data of arrays: sums of them, to the last bit, ints that are computed with, lists and ranges as
indices."""

import math
import random
import struct

import numpy as np
import pytest

import frameloom
from compare import assert_same, outcome

ITEMS = ["w[{}]", "float(w[{}])", "1e16", "-1e16", "0.1", "3", "-0.0", "2**60", "int(k[{}])", "w[0] * 1.0", "float(w[1]) * 1e17"]
STARTS = ["", "", ", 0.0", ", 1", ", -0.0", ", float(w[2])"]
NUMBERS = [0.1, 1e16, -1e16, 3.0, -0.0, float("inf"), 1e-3]


def bits(number):
    return type(number), struct.pack("d", number) if number == number else "nan"


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_sums_round_as_pythons(first):
    """sum() adds up what it rounds off from CPython 3.12 on, as long as the items are floats and ints."""
    for seed in range(first, first + 30):
        rng = random.Random(seed)
        items = [rng.choice(ITEMS).format(rng.randrange(3)) for _ in range(rng.randrange(1, 9))]
        text = f"def f(w, k): return sum([{', '.join(items)}]{rng.choice(STARTS)})"
        names = {}
        exec(text, names)
        compiled = frameloom.compile(names["f"])
        for _ in range(2):
            w, k = np.array([rng.choice(NUMBERS) for _ in range(3)]), np.array([1, -7, 2**40])
            with np.errstate(all="ignore"):
                assert bits(compiled(w, k)) == bits(names["f"](w, k)), (seed, text, w)


def test_sums_are_captured():
    def f(w):
        return sum(float(row.mean()) for row in w), sum([float(w[0, 0]), 1, 2.5])

    w = np.random.default_rng(0).normal(size=(4, 3))
    found = frameloom.explain(f, w)
    assert (found.graph_count, found.graph_break_count) == (1, 0)
    assert_same(frameloom.compile(f)(w), f(w))


EXPRESSIONS = ["{} + {}", "{} - {}", "{} * {}", "{} // 3", "{} % 7", "-{}", "{} + 5", "3 - {}", "{} * 12", "+{}"]


@pytest.mark.parametrize("seed", range(20))
def test_ints_are_pythons(seed):
    """Also where they are larger than 64 bits."""
    rng = random.Random(seed)
    text = "def f(k):\n    a, b = int(k[0]), int(k[1])\n"
    for _ in range(4):
        text += f"    {rng.choice('ab')} = {rng.choice(EXPRESSIONS).format(rng.choice('ab'), rng.choice('ab'))}\n"
    text += "    return a, b"
    names = {}
    exec(text, names)
    compiled = frameloom.compile(names["f"])
    for numbers in ([3, 4], [-5, 2**31], [2**62, -(2**62)], [-(2**63), 2**63 - 1], [0, -1]):
        want = names["f"](np.array(numbers))
        assert compiled(np.array(numbers)) == want, text
        assert [type(item) for item in want] == [int, int]


def f_range(w, n):
    return w[range(n)] * 2


def f_range_column(w, n):
    return w[:, range(1, n)].sum()


def f_list(w, n):
    rows = [0, 1]
    rows.append(int(np.argmax(w[:, 0])))
    return w[rows] + 1


def f_pair(w, n):
    k = int(np.argmin(w[0]))
    return w[[0, 1], [k, 0]]


def f_array(w, n):
    return np.array([1, int(np.argmax(w[0])), float(w[0, 1])])


def f_set(w, n):
    w = w.copy()
    w[[0, int(np.argmax(w[:, 0]))]] = 7
    w[range(n)] += 1
    return w


def f_outside(w, n):
    return w[[0, int(np.argmax(w[:, 0])) + 3]]


@pytest.mark.parametrize("function", [f_range, f_range_column, f_list, f_pair, f_array, f_set, f_outside])
def test_indices(function):
    compiled = frameloom.compile(function)
    for seed in range(4):
        w = np.random.default_rng(seed).normal(size=(4, 5))
        got, want = (outcome(f, [w.copy(), 3]) for f in (compiled, function))
        assert_same(got, want)
    assert frameloom.explain(function, w, 3).graph_break_count == 0 or want[1]


def f_sqrt(w):
    return math.sqrt(float(w @ w)) + math.sqrt(float(w[0]) * 2)


def f_sqrt_of_negative(w):
    return math.sqrt(float(w[0]) - 10)


def f_quotient(w):
    return 1 / float(w.sum()), float(w[0]) / float(w[1]), 2.5 / (float(w[0]) - 1e300)


def f_by_zero(w):
    w[2] = 5
    return 1 / (float(w[0]) - float(w[0]))


def f_square(w):
    return float(w[0]) ** 2 + float(w[1]) ** 2.0


def f_square_overflows(w):
    return (float(w[0]) * 1e200) ** 2


def f_norms(w):
    total = 0.0
    for i in range(40):
        total = math.sqrt(total**2 + float(w[i % 3])) / (1 + total)
    return total


@pytest.mark.parametrize("function", [f_sqrt, f_sqrt_of_negative, f_quotient, f_by_zero, f_square, f_square_overflows, f_norms])
def test_floats(function):
    compiled = frameloom.compile(function)
    for seed in range(4):
        w = np.random.default_rng(seed).random(3) + 0.5
        mine, his = w.copy(), w.copy()
        got, want = outcome(compiled, [mine]), outcome(function, [his])
        assert type(got[1]) is type(want[1])
        assert_same(mine, his)
        if want[1] is None:
            np.testing.assert_allclose(got[0], want[0], rtol=1e-14)
    assert frameloom.explain(function, w).graph_break_count == 0 if want[1] is None else want[1]
