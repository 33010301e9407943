"""Objects that die in the middle of captured code: a generator's `finally` and a `__del__` run before what comes behind."""

import numpy as np
import pytest

import frameloom

LOG = []


class Guarded:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        LOG.append(self.name)


@frameloom.disable
def make(name):
    return Guarded(name)


def counting(x):
    try:
        while True:
            yield x
            x = x + 1
    finally:
        LOG.append("closed")


@frameloom.disable
def begun(x):
    generator = counting(x)
    next(generator)
    return generator


def deleted(x):
    held = make("a")
    x = x * 2
    del held
    return x + 1, len(LOG), str(LOG)


def rebound(x):
    held = make("a")
    x = x * 2
    held = x
    return held + 1, str(LOG)


def kept_by_another_name(x):
    held = make("a")
    other = held
    del held
    seen = str(LOG)
    del other
    return x + 1, seen, str(LOG)


def in_a_loop(x):
    seen = []
    for i in range(4):
        held = make(i)
        x = x + held.name
        seen.append(len(LOG))
    return x, seen, len(LOG)


def dropped_from_the_stack(x):
    make("a")
    x = x * 2
    return x, str(LOG)


def generator_deleted(x):
    generator = begun(x)
    y = x + 1
    del generator
    return y, str(LOG)


def generator_rebound(x):
    generator = begun(x)
    generator = generator.gi_frame is not None
    return x * 2, generator, str(LOG)


def generator_left_by_break(x):
    for item in begun(x):
        if item.sum() > 10:
            break
    return x * 2, len(LOG)


def generator_not_begun(x):
    generator = counting(x)
    frameloom.graph_break()
    del generator
    return x * 2, str(LOG)


@pytest.mark.parametrize("function", [
    deleted, rebound, kept_by_another_name, in_a_loop, dropped_from_the_stack, generator_deleted, generator_rebound,
    generator_left_by_break, generator_not_begun])
@pytest.mark.parametrize("backend", ["loom", "interpret"])
def test_order(function, backend):
    compiled = frameloom.compile(function, backend=backend)
    for call in range(4):
        results = []
        for f in (compiled, function):
            LOG.clear()
            got = f(np.arange(3.0) + call)
            results.append((got, list(LOG)))
        for got, want in zip(results[0][0], results[1][0]):
            assert np.array_equal(got, want), (function.__name__, call, results)
        assert results[0][1] == results[1][1]
