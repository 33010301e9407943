"""config.capture_data_dependent: decisions on data become branches and loops of the graph."""

import os
import random
import re

import numpy as np
import pytest
from compare import check_calls, copied
from paths import FIRST

import frameloom

M = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]])
B = np.array([1.0, 2.0, 3.0])


def check_branches(function, *calls, breaks=0):
    """One compiled function for all calls; none of them breaks, unless `breaks`."""
    with np.errstate(all="ignore"):
        check_calls(function, *calls, rtol=1e-9, atol=1e-12)
        report = frameloom.explain(frameloom.compile(function), *copied(calls[0]))
    assert report.graph_break_count == breaks, report
    return report


@pytest.fixture(autouse=True)
def option():
    with frameloom.config.patch(capture_data_dependent=True):
        yield


def names(report):
    return [word for graph in report.graphs for word in re.findall(r"loom\.(if|while|for)\b", graph)]


def test_off_by_default():
    def f(a):
        if a.sum() > 0:
            return a * 2
        return a - 1
    with frameloom.config.patch(capture_data_dependent=False):
        check_branches(f, (M,), (-M,), breaks=1)


def test_branches():
    def assigned(a):
        if a.sum() > 0:
            y = a * 2
        else:
            y = a - 1
        return y + 1

    def returned(a):
        if a.sum() > 0:
            return a * 2
        return a - 1

    def one_way(a):
        y = a + 1
        if (y > 3).any():
            y = np.sqrt(abs(y))
        return y, a

    def nested(a):
        if a.max() > 1:
            if a.min() < 0:
                s = a.sum()
            else:
                s = a.mean()
        elif a.max() > -1:
            s = a.std()
        else:
            s = a.var()
        return s * 2

    def numbers(a):
        if a.sum() > 0:
            k, scale = 1, 0.5
        else:
            k, scale = 2, 1.5
        return a * scale, k, scale

    def writes(a):
        if a[0, 0] > 0:
            a[1:] = 0
        else:
            a += 1
        return a.sum()

    def both(a):
        if a.sum() > 0 and a.max() < 5:
            return a + 1
        return a + 2

    def either(a):
        y = a * 1
        if a.sum() > 0 or not (a == a).all():
            y += 1
        return y

    for f in (assigned, returned, one_way, nested, numbers, writes, both, either):
        report = check_branches(f, (M,), (-M,), (M * 0,), (M - 2,), (M * 1e9,), (M * np.nan,))
        assert "if" in names(report), f.__name__


def test_what_is_no_branch_of_the_graph():
    log = []

    def effects(a):
        if a.sum() > 0:
            log.append(1)
        return a * 2

    def kinds(a):
        if a.sum() > 0:
            return a * 2
        return None

    def identity(a):
        if a.sum() > 0:
            y = a
        else:
            y = a * 2
        return y

    def shapes(a):
        if a.sum() > 0:
            return a * 2
        return a[0] * 2

    for f in (effects, kinds, shapes):
        check_branches(f, (M,), (-M,), (M,), breaks=1)
    check_branches(identity, (M,), (-M,), breaks=1)
    x = M.copy()
    assert frameloom.compile(identity)(x) is x


def test_raising_on_one_way_is_a_check():
    def f(a):
        if a.sum() < 0:
            raise ValueError("negative")
        return a * 2
    check_branches(f, (M,))
    with pytest.raises(ValueError, match="negative"):
        frameloom.compile(f)(-M)


def jacobi(a, b):
    x, y = np.zeros(3), np.ones(3)
    d = np.diag(a)
    r = a - np.diag(d)
    while np.abs(x - y).max() > 1e-10:
        y = x
        x = (b - r @ x) / d
    return x


def test_convergence_is_one_loop():
    report = check_branches(jacobi, (M, B), (M, B * 0), (M * 2, B))
    assert names(report).count("while") == 1 and "if" not in names(report)


def test_convergence():
    def error(a, b):
        x, error = np.zeros(3), 1.0
        while error > 1e-10:
            new = (b - a @ x) / 8 + x
            error = np.abs(new - x).max()
            x = new
        return x, error

    def forever(a, b):
        x, steps = np.zeros(3), 0
        while True:
            new = (b - a @ x) / 8 + x
            steps += 1
            if np.abs(new - x).max() < 1e-10:
                break
            x = new
        return new, steps

    def limited(a, b):
        x, steps, error = np.zeros(3), 0, 1.0
        while error > 1e-10 and steps < 20:
            new = (b - a @ x) / 8 + x
            error = np.abs(new - x).max()
            x = new
            steps += 1
        return x, steps

    def argument(a, b):
        steps = 0
        while float(np.abs(b).sum()) > 1e-3:
            b = b - (a @ b) / 8
            steps += 1
        return b, steps

    for f in (error, forever, limited, argument):
        report = check_branches(f, (M, B), (M, B * 100), (M / 2, B), (M, -B))
        assert "while" in names(report) or "if" in names(report)
    check_branches(argument, (M, B), (M, B * 0), (M, B))


def test_for_that_breaks():
    def plain(a, b, n):
        x = np.zeros(3)
        for _ in range(n):
            new = (b - a @ x) / 8 + x
            if np.abs(new - x).max() < 1e-10:
                break
            x = new
        return x

    def counted(a, b, n):
        x = np.zeros(3)
        i = -1
        for i in range(n):
            new = (b - a @ x) / 8 + x
            if np.abs(new - x).max() < 1e-6:
                break
            x = new
        return x, i

    def otherwise(a, b, n):
        x = np.zeros(3)
        for _ in range(n):
            new = (b - a @ x) / 8 + x
            if np.abs(new - x).max() < 1e-6:
                return new
            x = new
        else:
            x = x * 1000
        return x

    def goes_on(a, b, n):
        x = np.zeros(3)
        for i in range(n):
            if x.sum() > 0.5:
                x = x - 0.1 * i
                continue
            x = x + b * 0.01
        return x

    def first(a, b, n):
        for i in range(n):
            if (a[0] * i > 7).any():
                break
            b = b + a[0] * i
        return b * 2, i

    for f in (plain, counted, otherwise, goes_on):
        for n in (1000, 1, 2, 3, 20, 0):
            check_branches(f, (M, B, n), (M, B * 100, n), (M, B * 0, n))
    check_branches(first, (M, B, 100), (-M, B, 100))


def test_inner_and_outer():
    def f(a, b, n):
        total = np.zeros(3)
        for k in range(n):
            x = b * (k + 1)
            while np.abs(x).max() > 1:
                x = x * 0.5
            total = total + x
        return total

    def g(a, b, n):
        x = b * 1.0
        while x.max() > 0.1:
            for _ in range(n):
                x = x * 0.9
        return x

    for h in (f, g):
        check_branches(h, (M, B, 40), (M, B * 9, 40), (M, B * 0, 40))


def test_compiling_takes_no_longer_for_more_steps():
    def f(b, n):
        x, i = np.zeros(3), 0
        for i in range(n):
            x = x + b
            if x.max() > 1e9:
                break
        return x, i
    sizes = [frameloom.explain(frameloom.compile(f), B, n).op_count for n in (100, 100000)]
    assert sizes[0] == sizes[1]
    check_branches(f, (B, 1000), (B * 1e8, 1000))


SCALAR, ARRAY, NUMBERS = np.float64(2.5), np.arange(3.0), [1.0, 2.0, 3.0]


def test_what_is_looked_at_on_one_way_first_is_there_behind_it():
    class Holder:
        array = np.arange(3.0) + 1

    holder = Holder()
    holder.scale = np.float32(1.5)

    def one(x):
        x = x * 1
        if x.sum() > 0:
            x = x * 0.5 + SCALAR + ARRAY * holder.scale + np.array(NUMBERS) + holder.array
        return x + SCALAR * 2 + ARRAY + holder.scale + np.array(NUMBERS) + holder.array

    def other(x):
        if x.sum() > 0:
            x = x * 0.5 + SCALAR
        else:
            x = x - SCALAR * ARRAY + holder.scale
        return x + SCALAR * ARRAY + holder.scale

    def loop(x):
        y = x * 1.0
        while y.max() > 0.1:
            y = y * 0.25 - SCALAR * 1e-3 + holder.array * holder.scale * 1e-3
        return y + SCALAR + holder.scale

    for f in (one, other, loop):
        check_branches(f, (M[0],), (-M[0],), (M[1],))


# ---- random programs ----------------------------------------------------------------------------

EXPRESSIONS = ["x * 0.5 + y", "np.abs(y) * 0.25 - x", "x + b", "np.minimum(x, y) + 0.5", "x - y.mean()", "y[::-1] * 0.9",
               "np.where(x > y, x, 1 - y)", "x * s", "b - x", "x + G * 0.1",
               "y * H[0] + H[1:2]", "x - H.mean()"]
CONDITIONS = ["x.sum() > 1.0", "(x > y).any()", "np.abs(x - y).max() < 2.0", "y.max() > s", "float(x[0]) > 0.5",
              "not (y < 0).any()", "x[1] < y[1] and s > 0.2"]
SCALARS = ["s * 0.5", "float(x.max()) * 0.25", "s + 0.1", "float(np.abs(y).mean())"]


def program(rng):
    lines = []

    def block(depth, indent, loop):
        for _ in range(rng.randint(1, 3)):
            kind = rng.random()
            pad = "    " * indent
            if kind < 0.45 or depth > 2:
                lines.append(f"{pad}{rng.choice('xy')} = {rng.choice(EXPRESSIONS)}")
            elif kind < 0.55:
                lines.append(f"{pad}s = {rng.choice(SCALARS)}")
            elif kind < 0.6:
                lines.append(f"{pad}k += {rng.randint(1, 3)}")
            elif kind < 0.8:
                lines.append(f"{pad}if {rng.choice(CONDITIONS)}:")
                block(depth + 1, indent + 1, loop)
                if loop and rng.random() < 0.4:
                    lines.append(f"{pad}    {rng.choice(['break', 'continue', 'break', 'return x, k, s'])}")
                elif rng.random() < 0.5:
                    lines.append(f"{pad}else:")
                    block(depth + 1, indent + 1, loop)
            elif kind < 0.92:
                lines.append(f"{pad}for i{depth} in range({rng.choice([2, 7, 40])}):")
                block(depth + 1, indent + 1, True)
            else:
                lines.append(f"{pad}c{depth} = 0")
                lines.append(f"{pad}while {rng.choice(CONDITIONS)} and c{depth} < {rng.choice([3, 30])}:")
                lines.append(f"{pad}    c{depth} += 1")
                block(depth + 1, indent + 1, True)
    block(0, 1, False)
    return "def f(x, y, b, s, k):\n" + "\n".join(lines) + "\n    return x, y, s, k\n"


def close(a, b):
    """Means are rounded elsewhere, and loops may make more of that."""
    return all(type(x) is type(y) and np.allclose(x, y, rtol=1e-5, atol=1e-9, equal_nan=True) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + int(os.environ.get("FRAMELOOM_PROGRAMS", "40")) // 2))
def test_random_programs(seed):
    rng = random.Random(seed)
    space = {"np": np, "G": np.float64(1.5), "H": np.linspace(0.5, 1, 5)}
    text = program(rng)
    exec(text, space)
    f, data = space["f"], np.random.default_rng(seed)
    compiled = frameloom.compile(f)
    for _ in range(4):
        args = [data.normal(size=5), data.normal(size=5), data.normal(size=5), 0.5, 0]
        mine, theirs = copied(args), copied(args)
        with np.errstate(all="ignore"):
            want, got = f(*theirs), compiled(*mine)
        assert close(want, got), (text, want, got)
        assert close(theirs, mine), text
