"""What explain() says of loops: rolled, unrolled or left to Python, and why."""

import numpy as np
import pytest

import frameloom


@pytest.fixture(autouse=True)
def patient():
    with frameloom.config.patch(leave_slower=False):
        yield


def loops(function, *args):
    report = frameloom.explain(frameloom.compile(function), *args)
    return [(loop.fate, loop.iterations, loop.why) for loop in report.loops]


def test_short_and_long():
    def f(x):
        for i in range(5):
            x = x + i
        for i in range(100):
            x = x * 0.5
        return x
    assert loops(f, np.ones(3)) == [("unrolled", 5, ""), ("rolled", 100, "")]


def test_unrolled_says_why():
    def f(x):
        rows = []
        for _ in range(30):
            x = x * 0.5 + len(rows)
            rows.append(x)
        return rows
    (fate, count, why), = loops(f, np.ones(3))
    assert (fate, count) == ("unrolled", 30) and "reads a list" in why


def test_loops_over_objects():
    def f(x, weights, names):
        for w in weights:
            x = x * w
        for i, (name, w) in enumerate(zip(names, weights)):
            x = x + len(name) * w
        for w in (v for v in weights if v.ndim):
            x = x - w
        for name in names * 10:
            x = x + len(name)
        return x

    args = np.ones(3), [np.full(3, float(i)) for i in range(20)], ["a", "bc"]
    why = "its items are objects, each looked at by itself"
    assert loops(f, *args) == [("rolled", 20, ""), ("unrolled", 2, ""), ("unrolled", None, why),
                               ("unrolled", 20, "a generator"), ("unrolled", 20, why)]  # fmt: skip


def test_left_to_python():
    def grows(x):
        rows = []
        for _ in range(5000):
            x = x * 0.5 + len(rows)
            rows.append(x)
        return x

    def breaks(x):
        for _ in range(100):
            x = x * 0.5
            print("", end="")
        return x

    (fate, count, why), = loops(grows, np.ones(3))
    assert (fate, count) == ("left", 5000) and "too many iterations" in why
    (fate, count, why), = loops(breaks, np.ones(3))
    assert (fate, count) == ("left", None) and "breaks" in why


def test_what_nobody_reads_is_part_of_the_loop():
    """`t + h / 2` is not used by this right-hand side, but NumPy could warn of it."""
    def slope(y, t):
        return np.array([y[1], -0.1 * y[1] - np.sin(y[0])])

    def solve(start, t):
        y = np.zeros((len(t), 2))
        y[0] = start
        for i in range(len(t) - 1):
            h = t[i + 1] - t[i]
            k1 = slope(y[i], t[i])
            k2 = slope(y[i] + h * k1 / 2, t[i] + h / 2)
            y[i + 1] = y[i] + h * k2
        return y

    start, t = np.array([1.0, 0.0]), np.linspace(0, 10, 101)
    assert loops(solve, start, t) == [("rolled", 100, "")]
    assert np.allclose(frameloom.compile(solve)(start, t), solve(start, t), rtol=1e-12)
    t[50] = np.inf
    with pytest.warns(RuntimeWarning):
        solve(start, t)
    with pytest.warns(RuntimeWarning):
        frameloom.compile(solve)(start, t)
