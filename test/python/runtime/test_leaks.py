"""Nothing is kept of a call: references, objects and memory stay where they are over many calls; threads, forks and signals."""

import gc
import itertools
import os
import signal
import sys
import threading

import numpy as np
import pytest
from alarms import SOON, WHERE_THE_LOCK_IS_GIVEN, Alarm
from compare import assert_same
from processes import PATIENCE

import frameloom


class Box:
    def __init__(self, v):
        self.v = v


def whole(x, y):
    z = x * y + 1
    return z, z.sum()


def with_a_break(x, y):
    z = x + 1
    frameloom.graph_break()
    return [z * y, {"z": z}]


def with_a_break_in_a_loop(x, y):
    for _ in range(3):
        x = x + y
        frameloom.graph_break()
    return x


def with_a_long_loop(x, y):
    for _ in range(40):
        x = x * 0.5 + y
    return x


def with_objects(x, y):
    b = Box(x + 1)
    return b.v * 2, (b.v, [y])


def with_effects(x, y):
    x += 1
    x[1:] *= 2
    return x[:2]


def with_a_caught_exception(x, y):
    try:
        raise ValueError(len(x))
    except ValueError as error:
        return x * error.args[0]


def with_a_handler_that_breaks(x, y):
    try:
        raise ValueError(len(x))
    except ValueError as error:
        frameloom.graph_break()
        return x * len(error.args)


def that_raises(x, y):
    z = x + 1
    frameloom.graph_break()
    raise KeyError(len(z))


def with_numpys_failure(x, y):
    return x + np.ones(99)


def with_views(x, y):
    return x[1:], x[::-1], (x + y)[2:]


SHAPES = [whole, with_a_break, with_a_break_in_a_loop, with_a_long_loop, with_objects, with_effects, with_a_caught_exception,
          with_a_handler_that_breaks, that_raises, with_numpys_failure, with_views]


def many(function, count, x, y):
    for _ in range(count):
        try:
            function(x, y)
        except (KeyError, ValueError):
            pass


@pytest.mark.parametrize("function", SHAPES, ids=lambda f: f.__name__)
def test_nothing_is_left_of_calls(function):
    compiled = frameloom.compile(function)
    x, y = np.zeros(6), np.zeros(6)
    many(compiled, 300, x, y)
    while gc.collect():  # also what other tests have left
        pass
    objects, blocks, counts = len(gc.get_objects()), sys.getallocatedblocks(), (sys.getrefcount(x), sys.getrefcount(None))
    many(compiled, 3000, x, y)
    gc.collect()
    assert sys.getrefcount(x) == counts[0]
    assert abs(len(gc.get_objects()) - objects) < 20
    assert abs(sys.getallocatedblocks() - blocks) < 300
    assert abs(sys.getrefcount(None) - counts[1]) < 500  # caches of CPython's own move it a little


def resident():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("function", [whole, with_a_break, with_a_long_loop, with_effects], ids=lambda f: f.__name__)
def test_memory_stays_over_a_hundred_thousand_calls(function):
    compiled = frameloom.compile(function)
    x, y = np.zeros(6), np.zeros(6)
    many(compiled, 5000, x, y)
    before = resident()
    many(compiled, 100_000, x, y)
    assert resident() - before < 2 << 20


def test_nothing_is_left_of_a_callable():
    def round_trip():
        for function in SHAPES:
            compiled = frameloom.compile(lambda x, y, f=function: f(x, y), backend="interpret")
            many(compiled, 3, np.zeros(6), np.zeros(6))

    for _ in range(3):
        round_trip()
    gc.collect()
    objects = len(gc.get_objects())
    for _ in range(5):
        round_trip()
    gc.collect()
    assert abs(len(gc.get_objects()) - objects) < 100


def test_arguments_die_when_the_caller_drops_them():
    import weakref

    compiled = frameloom.compile(with_a_break)
    for _ in range(3):
        x = np.ones(6)
        dead = weakref.ref(x)
        compiled(x, np.ones(6))
        del x
        assert dead() is None


def test_threads_compile_each_shape_once():
    compiled = frameloom.compile(whole, dynamic=False)
    shapes, wrong = [np.arange(float(n)) for n in range(3, 11)], []
    gate = threading.Barrier(64)

    def work(i):
        gate.wait()
        for k in range(8):
            a = shapes[(i + k) % 8]
            if not np.array_equal(compiled(a, a)[0], a * a + 1):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for a in shapes:
        compiled(a, a)
    report = compiled._report()
    assert len(report["entries"]) == report["captures"] == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_another_thread_compiles():
    stop, children, begun = threading.Event(), [], threading.Semaphore(0)

    def compile_on():
        n = 2
        while not stop.is_set():
            n += 1
            begun.release()
            function = eval(f"lambda x, y: (x * y + {n}).sum()")
            frameloom.compile(function)(np.ones(n), np.ones(n))

    worker = threading.Thread(target=compile_on)
    worker.start()
    try:
        for i in range(6):
            for _ in range(1 + i):
                begun.acquire()
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(PATIENCE)  # one that hangs ends, and fails
                good = False
                try:
                    a = np.arange(20.0 + i)
                    good = np.allclose(frameloom.compile(lambda x, y: x * 2 + y)(a, a), 3 * a)
                finally:
                    os._exit(0 if good else 1)
            children.append(child)
    finally:
        stop.set()
        worker.join()
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Interrupt(BaseException):
    pass


@pytest.mark.parametrize("function", [whole, with_a_break_in_a_loop, with_a_long_loop, with_effects], ids=lambda f: f.__name__)
def test_an_interrupt_at_any_moment(function):
    """A signal in the first, the second, ... moment of compiling or running: its exception comes out, and the next call is as
    if nothing was."""
    def nothing():
        pass

    def interrupt():
        if alarm.calls == moment:
            raise Interrupt

    for n, switch in itertools.product(range(20), (WHERE_THE_LOCK_IS_GIVEN, SOON)):
        x, y, moment = np.arange(6.0 + n % 4), np.ones(6 + n % 4), 1 + n // 2
        want = function(x.copy(), y.copy())
        compiled = frameloom.compile(function, backend=["loom", "interpret"][n % 2])
        with frameloom.config.patch(cache=False), Alarm(switch=switch) as alarm:  # the compiler is waited for
            for _ in range(3):
                z = x.copy()
                try:
                    try:
                        alarm.handler = interrupt
                        alarm.ring(moment)
                        got = compiled(z, y)
                    finally:
                        alarm.handler = nothing
                except Interrupt:
                    continue
                assert_same(got, want, rtol=1e-12)
            assert_same(compiled(x.copy(), y), want, rtol=1e-12)


def test_guarded_things_that_another_thread_changes():
    """Capture looks at globals while they change: whatever it has seen, a later call is Python's."""
    space = {"k": 0.0, "table": {"a": 0.0}, "items": [0.0]}
    exec("def function(x): return x + k + table['a'] + items[0]", space)
    stop = threading.Event()

    def change():
        n = 0
        while not stop.is_set():
            n += 1
            space["k"] = space["table"]["a"] = space["items"][0] = float(n % 7)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    worker = threading.Thread(target=change)
    worker.start()
    try:
        x = np.zeros(3)
        for _ in range(60):
            compiled = frameloom.compile(space["function"], backend="interpret")
            for _ in range(5):
                got = compiled(x)[0]
                assert 0 <= got <= 18 and got == int(got)
    finally:
        stop.set()
        worker.join()
        sys.setswitchinterval(interval)
    for k in (1.0, 2.0, 1.0):
        space.update(k=k)
        space["table"]["a"] = space["items"][0] = 0.0
        assert compiled(x)[0] == k
