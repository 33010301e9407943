"""Loops that raise in an iteration: exception, traceback, and what is left behind are plain Python's."""

import os
import random
import traceback
import warnings

import numpy as np
import pytest
from paths import FIRST

import frameloom

SEEDS = int(os.environ.get("FRAMELOOM_SEEDS", "40"))


class Box:
    pass


def left(args):
    return repr([vars(x) if isinstance(x, Box) else x for x in args])


def result_or_lines(function, args):
    try:
        return repr(function(*args))
    except Exception as problem:
        steps = traceback.extract_tb(problem.__traceback__)
        lines = [(s.name, s.lineno) for s in steps if s.name == function.__name__]
        return type(problem).__name__, str(problem), lines, repr(problem.__cause__), repr(problem.__context__)


def raises_alike(function, make, calls=3):
    compiled = frameloom.compile(function)
    for _ in range(calls):
        one, other = make(), make()
        assert result_or_lines(function, one) == result_or_lines(compiled, other)
        assert left(one) == left(other)


def arguments(size=60, n=100, fill=1.0):
    return lambda: [np.full(size, fill), [], Box(), n]


def out_of_bounds(x, out, box, n):
    for i in range(n):
        out.append(i)
        box.k = i
        x[0] += 1
        x[i] = x[i] * 2
    return x


def by_data(x, out, box, n):
    order = np.concatenate([np.arange(30), [77], np.arange(69)])
    for i in range(n):
        out.append(x[0])
        box.k = i
        x[order[i]] += 1
    return x


def by_zero(x, out, box, n):
    t = 10.0
    for i in range(n):
        x += 1
        out.append(t)
        box.k = t
        t = t - 0.5
        x[1] = 1.0 / t
    return x


def whole_by_zero(x, out, box, n):
    t = 30
    for i in range(n):
        x += 1
        out.append(t)
        t = t - 1
        box.k = 100 // t
    return x


def overflow(x, out, box, n):
    with np.errstate(all="raise"):
        for i in range(n):
            x += 1
            out.append(i)
            box.k = i
            x[1] = x[1] * 1e10
    return x


def error_state_restored(x, out, box, n):
    old = np.seterr(divide="raise")
    try:
        for i in range(n):
            out.append(x[0] * 1)
            x -= 0.5
            box.y = 1.0 / x
    finally:
        np.seterr(**old)
        out.append("finally")
    return x


def on_data(x, out, box, n):
    for i in range(n):
        x += 1
        out.append(i)
        box.k = i
        if x.sum() > 1000:
            raise ValueError(f"too large in {i}")
    return x


def on_the_index(x, out, box, n):
    for i in range(n):
        x += 1
        out.append(i)
        if i == 40:
            raise ValueError("now") from KeyError(i)
    return x


def caught(x, out, box, n):
    try:
        for i in range(n):
            x += 1
            out.append(x.copy())
            box.k = i
            if x.sum() > 1000:
                raise ValueError(f"too large in {i}")
    except ValueError as problem:
        box.e = str(problem)
        x *= 2
    return x


def asserted(x, out, box, n):
    for i in range(n):
        x *= 1.1
        out.append(x[0])
        if not x.max() < 50:
            raise AssertionError(i)
    return x


def nested(x, out, box, n):
    for i in range(n):
        for j in range(n):
            x[j] += 1
            out.append(j)
            box.k = (i, j)
            if x[j] > 40:
                raise KeyError((i, j))
    return x


def in_a_while(x, out, box, n):
    i = 0
    while i < n:
        x[i % 3] += 1
        out.append(i)
        x[2] = x[i]
        i += 1
    return x


def shapes(x, out, box, n):
    for i in range(n):
        x += 1
        out.append(i)
        box.y = x[:i] + x[: 60 - i]
    return x


FUNCTIONS = [out_of_bounds, by_data, by_zero, whole_by_zero, overflow, error_state_restored, on_data, on_the_index]
FUNCTIONS += [caught, asserted, nested, in_a_while, shapes]


@pytest.mark.parametrize("branches", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_left_behind(function, branches):
    with frameloom.config.patch(capture_data_dependent=branches), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raises_alike(function, arguments())
        raises_alike(function, arguments(n=17))
        raises_alike(function, arguments(size=3))


# ---- random programs ----


def program(r):
    effects = [
        "out.append(i)",
        "out.append(x[1] * 1)",
        "out.append(s)",
        "box.k = i",
        "box.s = s",
        "box.items.append(s)",
        "x[0] += 1",
        "x[i % 5] += s",
        "y += x",
        "y = x * 2",
        "s = s + 0.25",
        "k -= 1",
        "x = x + 1",
        "table['s'] = s",
        "table[i % 2] = x",
    ]
    raising = [
        "x[i] = s",
        "s = x[i]",
        "box.q = 1.0 / (s - 5)",
        "box.q = 10 // k",
        "x[order[i]] += 1",
        "if x.sum() > 300: raise ValueError(i)",
        "if i == 33: raise KeyError(i)",
        "assert s < 6, s",
        "y[2] = 1 / (y[2] - 7)",
        "box.missing",
        "out[50 - i]",
        "y = y[: 60 - i] + y[:i]",
    ]
    lines = [r.choice(effects) for _ in range(r.randint(1, 4))]
    for _ in range(r.randint(1, 2)):
        lines.insert(r.randint(0, len(lines)), r.choice(raising))
    head = r.choice(["for i in range(n):", "for i, v in enumerate(order):", "for i in reversed(range(n)):"])
    text = [head] + ["    " + line for line in lines]
    if r.random() < 0.3:
        text = ["with np.errstate(all='raise'):"] + ["    " + line for line in text]
    if r.random() < 0.3:
        text = ["try:"] + ["    " + line for line in text]
        if r.random() < 0.5:
            text += ["except (ValueError, IndexError) as e:", "    box.e = str(e); y *= 2"]
        else:
            text += ["finally:", "    out.append('end')"]
    start = "box.items = []; y = np.ones(50); s = 0.5; k = 30; table = {}"
    return "\n    ".join(["def f(x, order, out, box, n):", start] + text + ["return x, y, s, k, table"])


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_random_programs(seed):
    r = random.Random(seed)
    text = program(r)
    space = {"np": np}
    exec(text, space)
    size, n = r.choice([50, 50, 30, 200]), r.choice([100, 40, 17])
    order = np.array([r.randrange(50) for _ in range(n)] + [60])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            raises_alike(space["f"], lambda: [np.ones(size), order.copy(), [], Box(), n])
        except AssertionError as problem:
            raise AssertionError(text) from problem
