"""Generator functions that are compiled: what they compute between two yields is, and all else is the interpreter's."""

import collections.abc
import contextlib
import gc
import inspect
import random
import sys
import threading
import traceback
import types
import weakref

import numpy as np
import pytest
from managers import LOG

import frameloom

X = np.arange(4.0)


@contextlib.contextmanager
def manager(name):
    LOG.append(("enter", name))
    try:
        yield name
    except ValueError as e:
        LOG.append(("caught", str(e)))
    finally:
        LOG.append(("exit", name))


def inner(x):
    try:
        r = yield x + 1
        if r is not None:
            x = x * r
        yield x * 3
    except KeyError:
        yield x - 100
    finally:
        LOG.append("inner done")
    return x.sum()


def plain_loop(x):
    for i in range(3):
        x = x * 2 + i
        yield x
    return 7


def sends(x):
    while True:
        r = yield x * 2 + 1
        if r is None:
            r = 1
        x = x + r * 2
        if x[0] > 100:
            return "end"


def handlers(x):
    try:
        y = x * 2
        yield y
        y = y + 1
        yield y
    except ValueError as e:
        z = x * 5 + 1
        yield z
        yield z * 2
        LOG.append((repr(e), repr(sys.exc_info()[1])))
        try:
            raise
        except ValueError as f:
            LOG.append(f is e)
        yield x - 1
    else:
        yield x + 1000
    finally:
        w = x * 7
        LOG.append(w.tolist())
        yield w
        LOG.append("finally")
    yield x


def managers(x):
    with manager("a"), manager("b"):
        y = x * 3 - 1
        yield y
        y = y * 2
        yield y
    yield y + 1


def delegates(x):
    y = x * 2
    v = yield from inner(y)
    LOG.append(float(v))
    y = y + v
    yield y
    yield from [y * 2, y * 3]
    for k in plain_loop(y):
        yield k + 1


def breaks(x):
    for i in range(4):
        if x.sum() > 10:
            x = x * 0.5
        else:
            x = x * 3
        LOG.append(f"{i}: {id(None) == id(None)}")
        x = x + 1
        yield i, x
        if i == 2:
            y = x * x
            yield y


def comprehensions(x):
    rows = [x * i for i in range(3)]
    yield sum(rows)
    yield [q + 1 for q in rows][1]


def raises(x):
    y = x * 2
    yield y
    y = y + 1
    raise RuntimeError("boom")


def stops(x):
    y = x * 2
    yield y
    next(iter(()))


def while_loop(x):
    i = 0
    while i < 5:
        x = x + i
        i += 1
        if i == 3:
            continue
        yield x
    else:
        yield x * 10


def yields_while_closed(x):
    try:
        try:
            yield x * 2
        finally:
            x = x + 1
            LOG.append(x.tolist())
    except GeneratorExit:
        LOG.append("closed")
        raise


def handler_in_loop(x):
    for i in range(4):
        try:
            x = x * 2
            if i == 2:
                raise KeyError(i)
            yield x
        except KeyError:
            x = x - 1
            yield x
            x = x - 2
    yield x


def cells(x):
    total = 1.0

    def add(y):
        nonlocal total
        total = total + y
        return total

    for i in range(3):
        x = x * add(x.sum())
        yield x
        yield total


def unbound(x):
    y = x + 1
    yield y
    del y
    yield x * 2
    try:
        yield y
    except UnboundLocalError:
        yield x * 3


def conditional(x, flag=True):
    a = (yield x * 2) if flag else None
    b = x + (1 if a is None else a)
    yield b if not flag or b[1] > 1 else -b
    yield (yield (yield b * 2))


def writes(x):
    x = x.copy()
    for i in range(3):
        x[i] = x.sum() + i
        yield x.copy()
        x += 1
        yield x


PROGRAMS = [plain_loop, sends, handlers, managers, delegates, breaks, comprehensions, raises, stops, while_loop,
            yields_while_closed, handler_in_loop, cells, unbound, conditional, writes]
OPERATIONS = {
    "next": next, "send": lambda g: g.send(np.float64(2)), "value": lambda g: g.throw(ValueError("v")),
    "key": lambda g: g.throw(KeyError("k")), "close": lambda g: g.close()}


def shown(value):
    return value.tolist() if isinstance(value, np.ndarray) else (type(value).__name__, repr(value))


def play(function, names):
    """All that can be seen while these operations are done with a generator."""
    LOG.clear()
    seen = []
    generator = function(X)
    for name in names:
        try:
            seen.append(shown(OPERATIONS[name](generator)))
        except BaseException as e:
            frames = [(f.name, f.lineno) for f in traceback.extract_tb(e.__traceback__)[1:]]
            seen.append((type(e).__name__, str(e), frames, repr(e.__context__), repr(e.__cause__)))
        frame = generator.gi_frame
        seen.append((inspect.getgeneratorstate(generator), frame and frame.f_lineno, frame and sorted(frame.f_locals),
                     generator.gi_yieldfrom is None, repr(sys.exc_info())))
    seen.append(str(LOG))
    del generator
    return seen, str(LOG)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_everything_that_is_done_with_a_generator(program, backend):
    compiled = frameloom.compile(program, backend=backend)
    choose = random.Random(program.__name__)
    for round in range(15):
        names = ["next"] * choose.randrange(1, 9) if round < 5 else choose.choices(
            list(OPERATIONS), [6, 2, 1, 1, 1], k=choose.randrange(1, 9))
        assert play(compiled, names) == play(program, names), names


@pytest.mark.parametrize("program", [plain_loop, sends, handlers, managers, delegates, while_loop, breaks, conditional],
                         ids=lambda f: f.__name__)
def test_what_is_computed_between_yields_is_compiled(program):
    compiled = frameloom.compile(program)
    play(compiled, ["next"] * 8)
    report = compiled._report()
    assert sum(len(entry["ops"]) for entry in report["entries"]) > 0





def test_a_long_generator_runs_the_same_parts():
    @frameloom.compile
    def steps(x):
        while True:
            x = np.sqrt(x * x + 1)
            yield x

    made = 0
    for k, (a, b) in enumerate(zip(steps(X), steps.__wrapped__(X))):
        np.testing.assert_array_equal(a, b)
        if k == 20:
            made = len(steps._report()["entries"])
        if k == 300:
            break
    assert 0 < len(steps._report()["entries"]) == made <= 3


def test_explain_runs_a_generator():
    report = frameloom.explain(plain_loop, X)
    assert report.op_count >= 2 and {b.name for b in report.break_reasons} >= {"GENERATOR"}


def test_arguments_defaults_and_names():
    def f(a, b=2.0, *rest, c=3.0, **more):
        yield a * b + c
        yield len(rest), sorted(more)

    compiled = frameloom.compile(f)
    for args, kwargs in [((X,), {}), ((X, 5.0), {"c": 1.0}), ((X, 5.0, 1, 2), {"z": 1}), ((), {"a": X})]:
        assert [shown(v) for v in compiled(*args, **kwargs)] == [shown(v) for v in f(*args, **kwargs)]
    for bad in [lambda g: g(), lambda g: g(X, a=1)]:
        with pytest.raises(TypeError) as ours:
            bad(compiled)
        with pytest.raises(TypeError) as pythons:
            bad(f)
        assert str(ours.value) == str(pythons.value)
    f.__defaults__, f.__kwdefaults__ = (7.0,), {"c": 11.0}
    assert [shown(v) for v in compiled(X)] == [shown(v) for v in f(X)]
    generator = compiled(X)
    assert isinstance(generator, types.GeneratorType)
    assert (generator.__name__, generator.__qualname__) == (f.__name__, f.__qualname__)
    assert generator.gi_code.co_name == "f" and generator.gi_frame.f_globals is globals()


def test_methods_and_closures():
    class Walk:
        def __init__(self):
            self.at = X.copy()

        @frameloom.compile
        def steps(self, n):
            for i in range(n):
                self.at = self.at * 2 + 1
                yield self.at
                self.at[0] = i
                yield self.at.copy()

    def make(k):
        total = k * 1.0

        def steps(x):
            nonlocal total
            for i in range(3):
                total = total + x.sum()
                x = x * total
                yield x
        return steps

    for k in range(4):
        a, b = Walk(), Walk()
        assert [shown(v.copy()) for v in a.steps(3)] == [shown(v.copy()) for v in Walk.steps.__wrapped__(b, 3)]
        assert shown(a.at) == shown(b.at)
        assert [shown(v) for v in frameloom.compile(make(k))(X)] == [shown(v) for v in make(k)(X)]


def test_new_code_and_reset():
    def f(x):
        yield x * 2
        yield x * 3

    def g(x):
        yield x * 5

    def h(x):
        return x * 7

    compiled = frameloom.compile(f)
    running = compiled(X)
    assert shown(next(running)) == shown(X * 2)
    f.__code__ = g.__code__
    assert [shown(v) for v in compiled(X)] == [shown(X * 5)]
    assert [shown(v) for v in running] == [shown(X * 3)]
    f.__code__ = h.__code__
    assert shown(compiled(X)) == shown(X * 7)
    f.__code__ = g.__code__
    running = compiled(X)
    frameloom.reset()
    assert [shown(v) for v in running] == [shown(X * 5)]
    running = compiled(X)
    del compiled, f
    gc.collect()
    assert [shown(v) for v in running] == [shown(X * 5)]


def test_objects_die_as_they_would():
    class Held:
        pass

    dead = []

    @frameloom.compile
    def f(x):
        held = Held()
        weakref.finalize(held, dead.append, 1)
        y = x * 2
        yield y
        y = y + 1
        yield sys.getrefcount(y)
        held = None
        yield y * 2
        yield list(dead)

    for k in range(5):
        dead.clear()
        expected = [shown(v) for v in f.__wrapped__(X)]
        dead.clear()
        assert [shown(v) for v in f(X)] == expected
        dead.clear()
        generator = f(X)
        next(generator)
        assert not dead
        del generator
        assert dead == [1]


def test_a_warning_and_an_error_are_the_librarys_own():
    def f(x):
        yield x * 2
        y = 1 / x
        yield y
        yield np.ones(3) + x

    compiled = frameloom.compile(f)
    for function in (f, compiled, compiled):
        generator = function(X)
        next(generator)
        with pytest.warns(RuntimeWarning, match="divide by zero") as caught:
            next(generator)
        assert caught[0].lineno == f.__code__.co_firstlineno + 2 and caught[0].filename == __file__
        with pytest.raises(ValueError, match="broadcast") as error:
            next(generator)
        assert error.tb.tb_next is None or error.tb.tb_next.tb_next is None


def test_many_generators_at_once_and_in_threads():
    compiled = frameloom.compile(plain_loop)
    expected = [shown(v) for v in plain_loop(X)]
    for values in zip(*[compiled(X) for _ in range(20)]):
        assert all(shown(v) == shown(values[0]) for v in values)
    results = []
    threads = [threading.Thread(target=lambda: results.append([shown(v) for v in compiled(X)])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


def test_a_generator_that_runs_itself():
    @frameloom.compile
    def f(x):
        y = x * 2
        yield y
        next(me)

    me = f(X)
    next(me)
    with pytest.raises(ValueError, match="already executing"):
        next(me)


def test_a_trace_function_that_comes_and_goes():
    compiled = frameloom.compile(plain_loop)
    list(compiled(X))
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code.co_name == "plain_loop":
            lines.append((event, frame.f_lineno))
        return tracer

    def traced(function):
        lines.clear()
        generator = function(X)
        seen = [shown(next(generator))]
        sys.settrace(tracer)
        try:
            seen += [shown(next(generator)), shown(next(generator))]
        finally:
            sys.settrace(None)
        return seen, [event for event in lines if event[0] != "opcode"]

    assert traced(compiled) == traced(plain_loop)


def test_disabled_and_eager():
    compiled = frameloom.compile(plain_loop)
    expected = [shown(v) for v in plain_loop(X)]
    with frameloom.config.patch(disable=True):
        assert [shown(v) for v in compiled(X)] == expected
    with frameloom.set_stance("force_eager"):
        assert [shown(v) for v in compiled(X)] == expected
    assert not compiled._report()["entries"]
    assert [shown(v) for v in frameloom.compile(plain_loop, backend="eager")(X)] == expected
    generator = compiled(X)
    next(generator)
    with frameloom.config.patch(disable=True):
        assert shown(next(generator)) == expected[1]
    assert shown(next(generator)) == expected[2]


class Doubler:
    def __init__(self, log):
        self.log = log

    def __call__(self, x, *more, scale=2.0):
        y = x * scale
        self.log.append(y.sum())
        return y + len(more)

    def method(self, x):
        self.log.append("method")
        return x * 3 + 1


def test_functions_that_a_generator_calls_are_compiled():
    log, depths = [], []
    double = Doubler(log)

    def helper(x, k=1):
        y = np.abs(x) * 4 + k
        depths.append([sys._getframe(i).f_code.co_name for i in range(3)])
        log.append(y.tolist())
        return y * 2

    class Base:
        def offset(self):
            log.append("offset")
            return 1.5

    class Walk(Base):
        def steps(self, x):
            y = helper(x)
            yield y
            y = y + super().offset()
            for key, value in sorted({"b": y, "a": x}.items(), key=lambda item: (log.append(item[0]), item[0])[1]):
                yield value * 2
            args, more = (y, 1), {"scale": 3.0}
            yield double(*args, **more) + double.method(y)
            yield double(y, 1, scale=0.5)
            yield sum(map(helper, [y, y + 1]))
            try:
                yield helper(None)
            except TypeError as e:
                log.append(str(e))
            yield double(*[y, 2])

    def run(function):
        log.clear()
        depths.clear()
        return [shown(v) for v in function(Walk(), X)], str(log), str(depths)

    compiled = frameloom.compile(Walk.steps)
    Walk.steps, plain = compiled, Walk.steps
    expected = run(plain)
    for _ in range(6):
        assert run(compiled) == expected
    assert len(compiled._report()["entries"]) > 4


class Counted(collections.abc.Sequence):
    """Its `__iter__` is a generator that waits inside of a `try`."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, at):
        return self.items[at]


def left(catches, last):
    try:
        yield 1
        yield 2
    except catches:
        LOG.append(last)


def drops(x, catches):
    for k in left(catches, "dropped"):
        break
    return x * k + len(LOG)


def listens():
    try:
        yield 5
    except (KeyError, IndexError):
        LOG.append("raised")
    except ValueError:
        LOG.append("raised")


def drops_a_listener(x, items):
    for k in listens():
        return x * k + len(LOG)


def looks(x, items):
    return x + 1 if 2 in items else x


def begins(x, items):
    first = next(iter(items))
    return x * first


@pytest.mark.parametrize("f, argument, whole", [
    (looks, Counted(1, 2, 3), True), (looks, Counted(1, 3), True), (begins, Counted(4, 5), True), (drops_a_listener, None, True), (drops, ValueError, False),
    (drops, (KeyError, IndexError), False), (drops, GeneratorExit, False), (drops, BaseException, False), (drops, (KeyError, BaseException), False)])
def test_generators_that_are_dropped_in_a_try(f, argument, whole):
    """Where the clauses let GeneratorExit pass, nothing is to be seen of it. Else the handler runs when Python drops the generator."""
    compiled = frameloom.compile(f)
    for _ in range(3):
        LOG.clear()
        want, log = f(X, argument), list(LOG)
        LOG.clear()
        got = compiled(X, argument)
        np.testing.assert_array_equal(got, want)
        assert LOG == log
    assert not whole or not compiled._report()["breaks"]
