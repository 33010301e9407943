"""Generators of functions that nobody has decorated, made and used by what a compiled function runs for real."""

import contextlib
import functools
import gc
import os
import random
import sys
import types

import numpy as np
import pytest
import test_generators
import test_generators_handlers as handlers
from test_generators import LOG, X, play, shown

import frameloom
from frameloom import _native

PROGRAMS = test_generators.PROGRAMS + handlers.PROGRAMS


def compiled_parts(function):
    """How many versions of parts there are for code that no callable was asked for."""
    return sum(len(c._report()["entries"]) for c in _native.callables()
               if c.__wrapped__.__code__ is function.__code__ and any(e["ops"] for e in c._report()["entries"]))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_all_that_is_done_with_a_generator_inside(program):
    def run(function, names):
        return play(function, names)

    inside = frameloom.compile(run, backend="interpret")
    choose = random.Random(program.__name__)
    for round in range(10):
        names = ["next"] * choose.randrange(1, 12) if round < 4 else choose.choices(
            list(test_generators.OPERATIONS), [10, 2, 1, 1, 1], k=choose.randrange(1, 12))
        assert inside(program, names) == run(program, names), names


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_random_generators_inside():
    inside = frameloom.compile(lambda function, names: play(function, names), backend="interpret")
    for seed in range(min(int(os.environ.get("FRAMELOOM_PROGRAMS", "30")), 200)):
        source = handlers.Writer(1000 + seed).function()
        space = {"LOG": LOG, "Manager": handlers.Manager, "handled": handlers.handled, "sys": sys, "np": np}
        exec(compile(source, f"<program {seed}>", "exec"), space)
        for names in (["next"] * 9, ["next", "send", "value", "next", "key", "next"], ["next", "next", "close", "next"]):
            for _ in range(3):
                assert inside(space["program"], names) == play(space["program"], names), source


def with_breaks(x, n, *rest, k=2.0, **more):
    for i in range(n):
        y = np.sqrt(x * x + i) * k
        LOG.append(f"{id(None) == id(None)}")
        y = y * 2 + len(rest) + len(more)
        yield y


def loops(x):
    total = 0
    for y in with_breaks(x, 3, 1, 2, k=3.0, z=1):
        total = total + y
    return total, list(with_breaks(x, 2)), sum(with_breaks(k=1.0, n=2, x=x))


def test_what_such_a_generator_computes_is_compiled():
    compiled = frameloom.compile(loops)
    for _ in range(3):
        got, want = compiled(X), loops(X)
        assert shown(got[0]) == shown(want[0]) and [shown(v) for v in got[1]] == [shown(v) for v in want[1]]
        assert shown(got[2]) == shown(want[2])
    assert compiled_parts(with_breaks) > 2


def test_closures_names_and_defaults():
    def make(k):
        total = k * 1.0

        def steps(x, scale=2.0, *, shift=k):
            nonlocal total
            for i in range(3):
                total = total + x.sum()
                LOG.append(f"{id(None) == id(None)}")
                x = x * total * scale + shift
                yield x
        return steps

    def use(steps, other):
        made, second = steps(X), other(X, 1.0, shift=0.5)
        LOG.append(f"{id(None) == id(None)}")
        names = made.__name__, made.__qualname__, type(made) is types.GeneratorType, made.gi_code.co_name
        return names, [shown(a) + shown(b) for a, b in zip(made, second)], [shown(v) for v in (q * 2 for q in steps(X + 1))]

    compiled = frameloom.compile(use)
    for k in range(6):
        pairs = [make(k), make(k + 1)], [make(k), make(k + 1)]
        for steps in (pairs[0][0], pairs[1][0]):
            steps.__name__, steps.__qualname__ = f"name{k % 2}", f"in.name{k % 2}"
        assert compiled(*pairs[0]) == use(*pairs[1])


def test_context_managers_of_generators():
    @contextlib.contextmanager
    def scaled(x):
        y = x * 3 + 1
        LOG.append(f"{id(None) == id(None)}")
        try:
            yield y * 2
        except ValueError as e:
            LOG.append((str(e), (y * 4).tolist()))
        finally:
            LOG.append((y * 5).tolist())

    def use(x, bad):
        LOG.append(f"{id(None) == id(None)}")
        with scaled(x) as y:
            z = y + 1
            LOG.append(f"{id(None) == id(None)}")
            if bad:
                raise ValueError("bad")
            z = z * 2
        return z

    compiled = frameloom.compile(use)
    for bad in (False, True, False, True, False):
        LOG.clear()
        want, done = shown(use(X, bad)), list(LOG)
        LOG.clear()
        assert (shown(compiled(X, bad)), LOG) == (want, done)


def test_a_generator_outlives_what_made_it():
    def make(x):
        LOG.append(f"{id(None) == id(None)}")
        made = with_breaks(x, 4)
        LOG.append(f"{id(None) == id(None)}")
        return made, next(made)

    compiled = frameloom.compile(make)
    for _ in range(3):
        made, first = compiled(X)
        frameloom.reset()
        gc.collect()
        assert [shown(first), *map(shown, made)] == [shown(v) for v in with_breaks(X, 4)]
    made, _ = compiled(X)
    del compiled
    gc.collect()
    assert len(list(made)) == 3


@pytest.mark.parametrize("tracer", ["settrace", "setprofile"])
def test_debuggers_see_it(tracer):
    compiled = frameloom.compile(loops)
    for _ in range(3):
        compiled(X)

    def traced(function):
        seen = []

        def note(frame, event, arg):
            if frame.f_code.co_name == "with_breaks" and not event.startswith("c_"):
                seen.append((event, frame.f_lineno))
            return note

        getattr(sys, tracer)(note)
        try:
            function(X)
        finally:
            getattr(sys, tracer)(None)
        return seen

    assert traced(compiled) == traced(loops)


def test_a_log_that_grows_does_not_compile_anew():
    """Its method and the list lie on the stack while the argument breaks."""
    log, seen = [], set()

    @frameloom.compile
    def f(x):
        y = x * 2
        log.append(id(None) == 0)
        y = y + 1
        log.append(f"{id(None) == id(None)}")
        seen.add(id(None) == 0)
        return y - 1

    for k in range(12):
        np.testing.assert_array_equal(f(X), X * 2)
        assert len(log) == 2 * k + 2 and log[-1] == "True" and seen == {False}
    assert len(f._report()["entries"]) < 10


def breaks():
    return id(None) and 1


def reads_what_is_handled(end):
    try:
        yield breaks()
        yield sys.exc_info()[1]
        try:
            raise
        except RuntimeError as error:
            yield str(error)
    finally:
        breaks()
        end.append(1)


def test_what_the_caller_handled_is_not_handled_later():
    """A generator that was begun while its caller handled an exception has nothing to do with that once it goes on."""

    def begun(end):
        try:
            raise ValueError("of the caller")
        except ValueError:
            made = reads_what_is_handled(end)
            next(made)
            return made

    for wrap in (lambda f: f, frameloom.compile, functools.partial(frameloom.compile, backend="interpret")):
        called = wrap(begun)
        for _ in range(4):
            assert list(called([])) == [None, "No active exception to reraise"]


def test_what_a_finished_generator_held_dies():
    """Its frame is kept by the traceback of an exception that it has caught, and held that exception within a compiled part."""

    @contextlib.contextmanager
    def caught(log):
        try:
            yield
        except TypeError as error:
            log.append(breaks())
            log.append(str(error))
        log.append("end")

    def f(log):
        with caught(log):
            [1] < 2
        held = reads_what_is_handled(log)
        log.append(next(held))

    gc.collect()
    gc.disable()
    try:
        for wrap in (lambda f: f, frameloom.compile, functools.partial(frameloom.compile, backend="interpret")):
            called = wrap(f)
            for _ in range(4):
                log = []
                called(log)
                assert log == [1, "'<' not supported between instances of 'list' and 'int'", "end", 1, 1]
    finally:
        gc.enable()
