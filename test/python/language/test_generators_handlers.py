"""Generators whose parts begin and end inside of handlers, `finally` and `with`: fixed programs, and random ones."""

import contextlib
import os
import random
import sys

import numpy as np
import pytest
from managers import LOG, Manager, handled
from test_generators import OPERATIONS, X, play

import frameloom


def loop_in_handler(x):
    try:
        yield x + 1
        raise ValueError("own")
    except (ValueError, KeyError) as e:
        for i in range(3):
            x = x * 2 + i
            yield x
        handled()
        LOG.append(str(e))
        x = x - 1
        yield x * 3
    handled()
    yield x


def nested_handlers(x):
    try:
        try:
            yield x * 2
            [][1]
        except IndexError:
            x = x + 1
            yield x * 5
            try:
                y = x * 3
                yield y
                {}["k"]
            except KeyError:
                handled()
                y = y - 1
                yield y * 2
                raise ValueError("third")
    except ValueError as e:
        LOG.append((str(e), repr(e.__context__), repr(e.__context__.__context__)))
        x = x * 7
        yield x
        handled()
    handled()
    yield x + 1


def finally_with_work(x):
    for i in range(3):
        try:
            x = x + i
            yield x
            if i == 1:
                raise KeyError(i)
        except KeyError:
            x = x * 10
            yield x
            x = x + 0.5
            continue
        finally:
            y = x * 4
            yield y
            y = y + 1
            LOG.append(y.tolist())
            handled()
    return x.sum()


def reraises(x):
    try:
        try:
            yield x - 1
            raise ValueError("inner")
        except ValueError:
            y = x * 9
            yield y
            y = y * 2
            LOG.append(y.tolist())
            raise
    except ValueError:
        handled()
        z = x * 11
        yield z
        z = z + 1
        yield z


def with_in_handler(x):
    try:
        yield x
        raise KeyError("k")
    except KeyError:
        with Manager(swallows=True), Manager():
            x = x * 2
            yield x
            x = x + 1
            yield x
            raise ValueError("v")
        handled()
        x = x * 3
        yield x
        with contextlib.suppress(ZeroDivisionError):
            x = x - 2
            yield x
            1 // 0
        x = x + 5
        yield x
    handled()


def delegates_in_handler(x):
    def inner(x):
        try:
            x = x * 2
            yield x
            handled()
            x = x + 1
            yield x
        except ValueError:
            handled()
            x = x * 100
            yield x
            handled()
        return x.sum()

    try:
        yield x
        raise IndexError("outer")
    except IndexError:
        total = yield from inner(x)
        x = x * total
        yield x
        handled()
    yield x + 1


def breaks_in_handler(x):
    try:
        yield x
        raise KeyError("k")
    except KeyError:
        y = x * 2 + 1
        LOG.append(f"{id(None) == id(None)}")
        y = y * 3
        if y.sum() > 3:
            y = y - 1
            LOG.append(f"{id(None) == id(None)}")
            z = y * y
        else:
            z = y
        yield z
        w = [k for k in (z + 1)]
        yield sum(w)
    else:
        yield x * 100


def returns_in_handler(x):
    for i in range(3):
        try:
            x = x * 2
            yield x
            raise ValueError(i)
        except ValueError:
            x = x + 1
            yield x
            if i == 1:
                y = x * 3
                return y


def groups(x):
    try:
        yield x
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError:
        x = x * 2
        yield x
        x = x + 1
    except* KeyError:
        x = x * 5
        yield x
    yield x + 1


PROGRAMS = [loop_in_handler, nested_handlers, finally_with_work, reraises, with_in_handler, delegates_in_handler,
            breaks_in_handler, returns_in_handler, groups]


def rounds_alike(program, compiled, seed, rounds):
    choose = random.Random(seed)
    for round in range(rounds):
        names = ["next"] * choose.randrange(1, 14) if round < 4 else choose.choices(
            list(OPERATIONS), [12, 2, 1, 1, 1], k=choose.randrange(1, 14))
        assert play(compiled, names) == play(program, names), names
        try:  # the same while the generator's user handles an exception
            raise OSError("of the user")
        except OSError:
            assert play(compiled, names) == play(program, names), names


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_generators_with_handlers(program, backend):
    rounds_alike(program, frameloom.compile(program, backend=backend), program.__name__, 12)


def test_what_a_handler_computes_is_compiled():
    for program, operations in [(loop_in_handler, 6), (nested_handlers, 7), (finally_with_work, 5)]:
        compiled = frameloom.compile(program)
        for _ in range(2):
            play(compiled, ["next"] * 12)
        assert sum(len(entry["ops"]) for entry in compiled._report()["entries"]) >= operations, program.__name__


class Writer:
    """Writes one random generator function."""

    def __init__(self, seed):
        self.choose, self.lines, self.names, self.outer = random.Random(seed), [], 0, False

    def put(self, depth, line):
        self.lines.append("    " * depth + line)

    def block(self, depth, size, loop=False, handler=False):
        for _ in range(self.choose.randrange(1, size + 1)):
            self.statement(depth, size, loop, handler)

    def simple(self, depth, loop, handler):
        c = self.choose
        kinds = ["x = x * 2 - 1", "y = x + y", "yield x", "yield y * 2", "x = x * 0.5 + y", "z = yield x + 1", "LOG.append(float(y[1]))",
                 "handled()", "LOG.append(f'{id(None) == id(None)}')", f"raise {c.choice(['ValueError', 'KeyError'])}('{len(self.lines)}')"]
        kinds += ["continue", "break"] if loop else []
        kinds += ["raise", "raise ValueError('from') from sys.exc_info()[1]"] if handler else []
        weights = [4, 4, 5, 4, 3, 2, 2, 2, 2, 1.2] + [0.7, 0.7] * loop + [0.5, 0.5] * handler
        self.put(depth, c.choices(kinds, weights)[0])

    def statement(self, depth, size, loop, handler):
        c = self.choose
        if depth > 5 or size < 2 or c.random() < 0.55:
            return self.simple(depth, loop, handler)
        kind = c.choice(["try", "try", "finally", "with", "for", "if", "from" if self.outer else "if"])
        smaller = size - 1
        if kind in ("try", "finally"):
            self.put(depth, "try:")
            self.block(depth + 1, smaller, loop, handler)
            if kind == "try" or c.random() < 0.4:
                self.put(depth, c.choice(["except ValueError as e:", "except (KeyError, IndexError):", "except Exception:"]))
                self.block(depth + 1, smaller, loop, True)
                if c.random() < 0.2:
                    self.put(depth, "else:")
                    self.block(depth + 1, smaller, loop, handler)
            if kind == "finally":
                self.put(depth, "finally:")
                self.block(depth + 1, smaller, False, handler)
        elif kind == "with":
            self.put(depth, f"with Manager({c.choice(['True', 'False'])}):")
            self.block(depth + 1, smaller, loop, handler)
        elif kind == "for":
            self.names += 1
            self.put(depth, f"for i{self.names} in range({c.randrange(1, 4)}):")
            self.block(depth + 1, smaller, True, handler)
        elif kind == "if":
            self.put(depth, c.choice(["if x.sum() > y.sum():", "if len(LOG) % 2:", "if z is None:"]))
            self.block(depth + 1, smaller, loop, handler)
        else:
            self.put(depth, "z = yield from helper(x, y)")

    def function(self):
        self.put(0, "def helper(x, y):")
        self.block(1, 2)
        self.put(1, "yield x - y")
        self.put(1, "return 1")
        self.outer = True
        self.put(0, "def program(x):")
        self.put(1, "y, z = x + 1, None")
        self.block(1, 5)
        self.put(1, "yield x, y, z")
        return "\n".join(self.lines)


COUNT = min(int(os.environ.get("FRAMELOOM_PROGRAMS", "60")), 400)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("part", range(6))
def test_random_generators(part):
    for seed in range(part, COUNT, 6):
        source = Writer(seed).function()
        space = {"LOG": LOG, "Manager": Manager, "handled": handled, "sys": sys, "np": np}
        exec(compile(source, f"<program {seed}>", "exec"), space)
        try:
            rounds_alike(space["program"], frameloom.compile(space["program"], backend="interpret"), seed, 7)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}\n{source}") from error


def test_shapes_of_generators_are_varied():
    sources = [Writer(seed).function() for seed in range(60)]
    for part in ["finally:", "with Manager(True)", "raise\n", "yield from", "continue", "else:", " from sys.exc_info"]:
        assert sum(part in source for source in sources) > 2, part
    assert X.shape == (4,)
