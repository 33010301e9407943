"""Random programs over a list of the caller's that is longer than what is looked at item by item, floats, arrays or pairs: changed,
copied, gone through, with calls that break between, and the list itself is what Python leaves."""

import copy
import os
import random

import numpy as np
import pytest
from compare import naming
from rolling import alike, result_of

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

PAIRS = [
    "xs.append({v})",
    "xs.pop()",
    "xs[{i}] = {v}",
    "del xs[{i}]",
    "xs.reverse()",
    "xs += [{v}]",
    "ys = xs[{i}:]",
    "ys = list(xs)",
    "ys = xs + [{v}]",
    "t = t + xs[{i}][0]",
    "t = t + xs[{i}][1]",
    "t = t + len(xs)",
    "for a, b in xs:\n        t = t * 0.9 + a * b",
    "for i, (a, b) in enumerate(xs):\n        t = t + a * i + b",
    "for a, b in reversed(xs):\n        t = t * 0.5 + a - b",
    "for p, q in zip(xs, xs[1:]):\n        t = t + p[0] * q[1]",
    "for i in range(len(xs)):\n        t = t + xs[i][0] * 0.1",
    "for p in xs:\n        a, b = p\n        t = t + a",
    "for a, b in xs:\n        a *= 2\n        t = t + a",
    "out(len(xs))",
    "for a, b in xs:\n        if b > 0.9: out(b)\n        t = t + a",
    "ys = [(a + 1, b) for a, b in xs]",
    "t = t + sum(b for a, b in xs)",
    "t = t + sum(p[1] for p in xs)",
    "for p in xs:\n        t = t + (p is xs[0])",
    "c = [a for a, _ in xs]\n    t = t + np.stack([np.asarray(q) for q in c]).sum(axis=0)",
    "ys = xs\n    ys.append({v})",
    "t = t + ys[-1][1]",
    "for a, b in ys:\n        t = t + b",
    "zs = [p for p in xs]\n    zs.append({v})\n    out(len(zs))",
    "xs.sort(key=lambda p: p[1])",
    "k = [b for a, b in xs]\n    for q in k:\n        t = t * 0.99 + q",
    "while len(xs) > 18:\n        a, b = xs.pop()\n        t = t + a",
    "it = iter(xs)\n    t = t + next(it)[1]\n    for a, b in it:\n        t = t * 0.7 + b",
]

PROGRAMS = int(os.environ.get("FRAMELOOM_PROGRAMS", 200))


def program(seed, pairs):
    rng = random.Random(seed)
    floats = rng.random() < 0.5
    chosen = [rng.choice(PAIRS if pairs else STATEMENTS) for _ in range(rng.randint(2, 6))]
    new = "1.5" if floats else "np.full(3, 1.5)"
    new = f"({new}, 0.25)" if pairs else new
    body = "\n    ".join(s.format(v=new, i=rng.randint(-3, 5)) for s in chosen if floats or "count" not in s)
    space = {"np": np}
    exec(f"def f(xs, t, out):\n    ys = xs\n    {body}\n    return t, xs, ys is xs, ys\n", space)
    return space["f"], floats


def played(function, xs, t):
    log = []
    return result_of(function, (xs, t, log.append)), xs, log


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("block", range(4))
def test_random_programs(block, pairs):
    for seed in range(block * 10000, block * 10000 + max(1, PROGRAMS // 4)):
        function, floats = program(seed, pairs)
        compiled = frameloom.compile(function, backend="interpret")
        for n in (20, 20, 25, 40, 3):
            numbers = np.random.default_rng(n + seed)
            xs = [float(x) for x in numbers.random(n)] if floats else [numbers.random(3) for _ in range(n)]
            if not floats and seed % 3 == 0:
                xs[2] = xs[0]
            if pairs:
                xs = [(x, float(numbers.random())) for x in xs]
            t = 0.5 if seed % 2 else np.zeros(3)
            with np.errstate(all="ignore"):
                want, got = (played(f, copy.deepcopy(xs), copy.deepcopy(t)) for f in (function, compiled))
                with naming(seed):
                    alike(want, got, rtol=1e-10)


def test_a_list_behind_a_while():
    def f(xs, t):
        while len(xs) > 18:
            t = t + xs.pop()[0]
        t = t + xs[-1][1]
        return [p for p in xs], t

    compiled = frameloom.compile(f)
    for n in (20, 20, 25, 19, 40):
        xs = [(float(i), 0.5 * i) for i in range(n)]
        assert f(list(xs), 0.5) == compiled(list(xs), 0.5)
