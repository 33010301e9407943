"""Generators consumed in the function."""

import numpy as np

from . import program


@program
def generators(x, y):
    def powers(a, n):
        p = a
        for _ in range(n):
            yield p
            p = p * a

    return sum(powers(x, 4)), list(powers(y, 2)), max(len(p) for p in powers(x, 2))


@program
def generator_delegation(x, y):
    def inner():
        got = yield x
        yield got
        return y * 10

    def outer():
        result = yield from inner()
        yield result

    g = outer()
    a = next(g)
    b = g.send(x + y)
    c = next(g)
    return a, b, c, next(g, "done")


@program
def generator_with_finally(x, y):
    log = []

    def work():
        try:
            yield x
            yield y
        finally:
            log.append("closed")

    g = work()
    first = next(g)
    g.close()
    return first, log


@program
def generator_throw(x, y):
    def work():
        total = x
        while True:
            try:
                total = total + (yield total)
            except ValueError:
                total = -total

    g = work()
    next(g)
    g.send(y)
    return g.throw(ValueError)


@program
def generator_expressions(x, y):
    rows = (a * b for a in x for b in (1, 2) if b > 1)
    return sum(rows), {i: v + 1 for i, v in enumerate(y[:2])}, {len(s) for s in ("a", "bb", "cc")}
