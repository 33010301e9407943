"""Iterators of the caller that have begun: random ones, random uses of them, and where they stand afterwards."""

import os
import random

import numpy as np
import pytest
from compare import described

import frameloom

COUNT = min(int(os.environ.get("FRAMELOOM_PROGRAMS", "60")), 2000)


def items_of(choose):
    kind = choose.randrange(4)
    if kind == 0:
        return [choose.choice([1, 2.5, -3, True]) for _ in range(choose.randrange(6))]
    if kind == 1:
        return [np.arange(3.0) + i for i in range(choose.randrange(1, 4))]
    if kind == 2:
        return tuple(range(choose.randrange(5)))
    return [1.5, 2.5, 3.5, 4.5]


def iterator_of(choose, lists, depth=0):
    """A description, from which plain and compiled make iterators of their own."""
    kind = choose.choice(["list", "list", "tuple", "range", "reversed", "enumerate", "zip", "map", "filter", "str"])
    if depth > 1 and kind in ("enumerate", "zip", "map", "filter"):
        kind = "list"
    inner = [iterator_of(choose, lists, depth + 1) for _ in range(2)] if kind in ("enumerate", "zip", "map", "filter") else ()
    return kind, choose.randrange(len(lists)), inner, choose.randrange(4), choose.choice([0, 0, 1, 2, 3])


def made(description, lists):
    kind, which, inner, number, steps = description
    over = [made(d, lists) for d in inner]
    it = {"list": lambda: iter(lists[which]), "tuple": lambda: iter(tuple(lists[which])), "range": lambda: iter(range(number, 9, 2)),
          "reversed": lambda: reversed(lists[which]), "str": lambda: iter("abcd"[number:]), "enumerate": lambda: enumerate(over[0], number),
          "zip": lambda: zip(*over), "map": lambda: map(lambda v: [v], over[0]), "filter": lambda: filter(None, (n for n in ()))}[kind]()
    if kind == "filter":
        it = filter(lambda v: v is not None, over[0])
    for _ in range(steps):
        next(it, None)
    return it


STEPS = [
    "out.append(next(a, 'end'))", "out.append(next(b, 'end'))", "out.append([next(a, -1), next(a, -2)])", "out.extend(list(b))",
    "for i, v in zip(range(2), a):\n        out.append((i, v))", "for v in b:\n        out.append(v)\n        break",
    "out.append(list(zip(a, b)))", "out.append(list(zip(a, a)))", "x = x * 2", "lists[0].append(7.0)", "lists[1][:1] = []",
    "out.append([v for v in a])", "out.append(dict(enumerate(b)))", "x = x + len(out)", "out.append(max(a, key=str, default=0))",
    "for v in a:\n        if isinstance(v, float):\n            x = x + v", "try:\n        next(a)\n        next(a)\n        next(a)\n    except StopIteration:\n        out.append('stop')",
    "u, *w = list(b) or [0]\n    out.append((u, w))", "out.append(str(x.sum() > 3))", "held.append(a)"]


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_uses(seed):
    choose = random.Random(seed)
    body = "\n    ".join(choose.choice(STEPS) for _ in range(choose.randrange(1, 6)))
    source = f"def program(x, a, b, lists, held):\n    out = []\n    {body}\n    return x + 1, out\n"
    names = {"np": np}
    exec(compile(source, f"<half run {seed}>", "exec"), names)
    program = names["program"]
    compiled = frameloom.compile(program, backend="interpret")
    sorts = [[items_of(choose) for _ in range(3)] for _ in range(2)]
    shapes = [(iterator_of(choose, sorts[0]), iterator_of(choose, sorts[0])) for _ in range(2)]
    alone = choose.random() < 0.3
    for call in range(6):
        lists = sorts[choose.randrange(2)] if choose.random() < 0.3 else sorts[0]
        shape = shapes[choose.random() < 0.3]
        if choose.random() < 0.3:
            shape = tuple(d[:4] + (choose.randrange(4),) for d in shape)
        seen = []
        for function in (program, compiled):
            own = [list(v) for v in lists]
            a = made(shape[0], own)
            b = a if alone else made(shape[1], own)
            held, x = [], np.arange(3.0)
            try:
                result = function(x, a, b, own, held)
            except Exception as error:
                result = type(error).__name__, str(error)
            assert all(h is a for h in held)
            seen.append((result, x, own, list(a), list(b)))
        assert described(seen[1]) == described(seen[0]), f"call {call} of\n{source}"
