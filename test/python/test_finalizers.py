"""Objects that die in the middle of captured code: a generator's `finally`, a `__del__` and what a weak reference calls run
before what comes behind."""

import weakref

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


class Plain:
    def __init__(self, name):
        self.name = name


@frameloom.disable
def plain(name, **others):
    made = Plain(name)
    vars(made).update(others)
    return made


@frameloom.disable
def watched(name):
    made = Plain(name)
    made.watch = weakref.ref(made, lambda _: LOG.append(name))
    REFERENCES.append(made.watch)
    return made


REFERENCES = []


def watched_deleted(x):
    held = watched("w")
    x = x * 2
    del held
    return x, str(LOG)


def finalized_deleted(x):
    held = plain("f")
    weakref.finalize(held, LOG.append, "f")
    x = x * len(held.name)
    held = None
    return x, str(LOG)


def members_of_a_weak_set(x):
    held = plain("s")
    members = weakref.WeakSet([held])
    x = x * 2
    del held
    return x, len(members)


def held_by_an_attribute(x):
    held = plain("p", inner=make("q"))
    x = x * len(held.inner.name)
    del held
    return x, str(LOG)


def held_by_containers(x):
    held = plain("p", inner={"a": (plain("r", inner=[watched("w")]),)})
    x = x * len(held.inner["a"][0].inner[0].name)
    held = x
    return held, str(LOG)


@frameloom.disable
def closure(inner):
    return lambda: inner


def held_by_a_closure(x):
    held = plain("p", call=closure(make("c")))
    x = x * len(held.name)
    del held
    return x, str(LOG)


def held_twice(x):
    held = plain("p", inner=make("q"))
    inner = held.inner
    x = x * 2
    del held
    before = str(LOG)
    del inner
    return x, before, str(LOG)


@pytest.mark.parametrize("function", [
    watched_deleted, finalized_deleted, members_of_a_weak_set, held_by_an_attribute, held_by_containers, held_by_a_closure,
    held_twice, deleted, rebound, kept_by_another_name, in_a_loop, dropped_from_the_stack, generator_deleted, generator_rebound,
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


class Slotted:
    __slots__ = ("inner",)


VARIABLE = None


def attribute_rebound(x, holder):
    holder.inner = None
    return x * 2, str(LOG)


def attribute_deleted(x, holder):
    del holder.inner
    return x * 2, str(LOG)


def variable_rebound(x, holder):
    global VARIABLE
    VARIABLE = x
    return x * 2, str(LOG)


def of_a_closure():
    inner = make("c")

    def function(x, holder):
        nonlocal inner
        inner = holder
        return x * 2, str(LOG)

    return function


@pytest.mark.parametrize("holder", [Plain, Slotted])
@pytest.mark.parametrize("function", [attribute_rebound, attribute_deleted, variable_rebound, None])
def test_what_lives_on_gives_it_up(function, holder, monkeypatch):
    compiled = frameloom.compile(function) if function else None
    for call in range(3):
        results = []
        for plainly in (False, True):
            run = function if plainly else compiled
            if not function:
                run = of_a_closure() if plainly else frameloom.compile(of_a_closure())
            monkeypatch.setitem(globals(), "VARIABLE", make("v"))
            held = holder.__new__(holder)
            held.inner = make("i")
            LOG.clear()
            results.append((run(np.arange(3.0) + call, held)[1], str(LOG)))
        assert results[0] == results[1]
