"""Random programs over a list of the caller's that is longer than what is looked at item by item, floats or arrays: changed,
copied, gone through, with calls that break between, and the list itself is what Python leaves."""

import copy
import os
import random

import numpy as np
import pytest

import frameloom

STATEMENTS = [
    "xs.append({v})",
    "xs.insert({i},{v})",
    "xs.pop()",
    "xs.pop({i})",
    "xs[{i}] = {v}",
    "del xs[{i}]",
    "xs.reverse()",
    "xs.extend([{v},{v}])",
    "xs += [{v}]",
    "ys = xs[{i}:]",
    "ys = xs[::-1]",
    "ys = list(xs)",
    "ys = xs + [{v}]",
    "ys = xs * 2",
    "t = t + xs[{i}]",
    "t = t + len(xs)",
    "t = t + sum(xs[:3])",
    "for x in xs:\n        t = t * 0.9 + x",
    "for i, x in enumerate(xs):\n        t = t + x * i",
    "for x in reversed(xs):\n        t = t * 0.5 + x",
    "for a, b in zip(xs, xs[1:]):\n        t = t + a * b",
    "for i in range(len(xs)):\n        t = t + xs[i] * 0.1",
    "xs[{i}] *= 2",
    "for i in range(len(xs)):\n        xs[i] = xs[i] + 1",
    "for x in xs:\n        x *= 2\n        t = t + x",
    "a, *b = xs\n    t = t + a + len(b)",
    "t = t + max(xs, key=lambda v: float(np.sum(v)))",
    "out(len(xs))",
    "out(1)",
    "t = t + np.sum(xs, axis=0)",
    "t = t + np.array(xs).sum(axis=0)",
    "t = t + np.stack([np.asarray(x) for x in xs]).sum(axis=0)",
    "ys = [x + 1 for x in xs]",
    "ys = sorted(xs, key=lambda v: float(np.sum(v)))",
    "t = t + (xs[0] is xs[-1])",
    "xs[1:3] = [{v}]",
    "xs.clear()",
    "ys = xs\n    ys.append({v})",
    "t = t + ys[-1]",
    "for x in ys:\n        t = t + x",
    "ys = [*xs, {v}]",
    "f2 = lambda: xs[{i}]\n    t = t + f2()",
    "t = t + xs.count({v})",
    "xs.sort(key=lambda v: float(np.sum(v)))",
]

PROGRAMS = int(os.environ.get("FRAMELOOM_PROGRAMS", 200))


def program(seed):
    rng = random.Random(seed)
    floats = rng.random() < 0.5
    chosen = [rng.choice(STATEMENTS) for _ in range(rng.randint(2, 6))]
    new = "1.5" if floats else "np.full(3, 1.5)"
    body = "\n    ".join(s.format(v=new, i=rng.randint(-3, 5)) for s in chosen if floats or "count" not in s)
    space = {"np": np}
    exec(f"def f(xs, t, out):\n    ys = xs\n    {body}\n    return t, xs, ys is xs, ys\n", space)
    return space["f"], floats


def run(function, xs, t):
    log = []
    try:
        result = function(xs, t, log.append)
    except Exception as error:
        result = type(error).__name__, str(error)
    return result, xs, log


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, rtol=1e-10, equal_nan=True)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (float, np.floating)):
        return bool(np.allclose(a, b, rtol=1e-10, equal_nan=True))
    return a == b


@pytest.mark.parametrize("block", range(8))
def test_random_programs(block):
    for seed in range(block * 10000, block * 10000 + max(1, PROGRAMS // 8)):
        function, floats = program(seed)
        compiled = frameloom.compile(function, backend="interpret")
        for n in (20, 20, 25, 40, 3):
            numbers = np.random.default_rng(n + seed)
            xs = [float(x) for x in numbers.random(n)] if floats else [numbers.random(3) for _ in range(n)]
            if not floats and seed % 3 == 0:
                xs[2] = xs[0]
            t = 0.5 if seed % 2 else np.zeros(3)
            with np.errstate(all="ignore"):
                want = run(function, copy.deepcopy(xs), copy.deepcopy(t))
                assert same(want, run(compiled, copy.deepcopy(xs), copy.deepcopy(t))), seed
