"""Whatever interrupts a capture arrives: at each of its moments, counted by allocations, a signal comes."""

import ctypes
import pathlib
import re
import shutil
import signal
import subprocess
import sysconfig
import threading
import types
import warnings

import numpy as np
import pytest

import frameloom

pytestmark = [pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread"),
              pytest.mark.skipif(not shutil.which("gcc"), reason="a helper is compiled with gcc")]


class Interrupt(BaseException):
    pass


class Timeout(Exception):
    """What many programs' handlers of SIGALRM raise: an Exception like others."""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("interrupt") / "interrupt.so"
    source = pathlib.Path(__file__).with_name("interrupt.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", f"-I{sysconfig.get_paths()['include']}", str(source), "-o", str(path)], check=True)
    lib = ctypes.PyDLL(str(path))
    lib.interrupt_arm.argtypes = [ctypes.c_long, ctypes.py_object]
    lib.interrupt_arm.restype = None
    lib.interrupt_seen.restype = ctypes.c_long
    lib.interrupt_install(int(signal.SIGALRM))
    yield lib
    lib.interrupt_remove()


class Signals:
    """Calls with one signal each; `kind` is what its handler raises, `thrown` whether it comes without a handler."""

    def __init__(self, lib, kind, thrown=False):
        self.lib, self.kind, self.given, self.came = lib, kind, kind if thrown else None, 0

    def handle(self, number, frame):
        self.came += 1
        raise self.kind

    def count(self, call):
        self.lib.interrupt_arm(0, None)
        call()
        return self.lib.interrupt_seen()

    def one(self, at, call):
        """The call's result, and whether the interrupt came out of it, or right behind it; None when none was sent."""
        result = None
        try:
            self.lib.interrupt_arm(at, self.given)
            result = call()
            sent = self.lib.interrupt_seen() >= at
            self.lib.interrupt_arm(0, None)
            for _ in range(3):
                pass
        except self.kind:
            self.lib.interrupt_arm(0, None)
            return result, True
        return result, False if sent else None


@pytest.fixture(params=[KeyboardInterrupt, Interrupt, Timeout, TimeoutError], ids=lambda kind: kind.__name__)
def signals(library, request):
    made = Signals(library, request.param)
    before = signal.signal(signal.SIGALRM, made.handle)
    yield made
    signal.signal(signal.SIGALRM, before)


def of_the_library(x, y):
    z = np.roll(x, int(y[0]))
    return np.pad(z, 1).cumsum() + np.median(x)


def by_host_calls(x, y):
    return np.linalg.norm(np.fft.fft(x).real) + np.histogram(x, 4)[0].sum() + np.percentile(y, 3)


def with_breaks(x, y):
    z = []
    for i in range(3):
        try:
            x = x + y
            frameloom.graph_break()
            if i == 1:
                raise ValueError(i)
        except ValueError as error:
            z.append(error.args[0])
            x = x * 2
    return x + z[0]


def logged(x, y):
    """Its log is written by an object of the user's."""
    x = x + 1
    frameloom.graph_break()
    return (x * y).sum()


def fresh(function):
    return frameloom.compile(function, backend="interpret")


def interrupted_everywhere(signals, function, moments=120):
    x, y = np.arange(6.0), np.ones(6)
    want = function(x.copy(), y)
    for _ in range(3):
        fresh(function)(x.copy(), y)
    compiled, state = fresh(function), (warnings.filters, np.geterr())
    total, lost = signals.count(lambda: compiled(x.copy(), y)), []
    for at in range(1, total, max(1, total // moments)):
        compiled = fresh(function)
        _, arrived = signals.one(at, lambda: compiled(x.copy(), y))
        if arrived is False:
            lost.append(at)
        np.testing.assert_allclose(compiled(x.copy(), y), want)
        assert frameloom.explain(function, x.copy(), y).graph_count > 0
    assert (warnings.filters, np.geterr()) == state
    assert not lost, f"{len(lost)} lost of {total}"


@pytest.mark.parametrize("function", [of_the_library, by_host_calls, with_breaks], ids=lambda f: f.__name__)
def test_none_is_lost(signals, function):
    interrupted_everywhere(signals, function)


def test_none_is_lost_while_logs_are_written(signals, capsys):
    frameloom.set_logs("graph,guards,breaks,time")
    try:
        interrupted_everywhere(signals, logged, 60)
    finally:
        frameloom.set_logs("")
    assert "frameloom" in capsys.readouterr().err


def test_none_is_lost_in_other_threads(library):
    """There PyThreadState_SetAsyncExc() brings them."""
    signals, failures = Signals(library, Interrupt, thrown=True), []

    def work():
        try:
            interrupted_everywhere(signals, of_the_library, 60)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures


class Box:
    def __init__(self):
        self.steps = []


def test_the_functions_own_handlers_see_it(signals):
    """Also behind a break, and where objects and arrays have been changed: whatever was done is what the lines before do."""
    def function(x, box, kind):
        try:
            y = x + 1
            frameloom.graph_break()
            box.steps.append(1)
            x[:] = np.roll(y, 1)
            box.steps.append(2)
            frameloom.graph_break()
            box.steps.append(3)
            x += np.median(y)
            return "done"
        except kind:
            return "caught"

    def run(call, x, box):
        return call(x, box, signals.kind)

    states = []
    for box, x in [(Box(), np.arange(6.0))]:
        states.append(([], x.tolist()))
        run(function, x, box)
        first = np.roll(np.arange(6.0) + 1, 1)
        states += [([1], np.arange(6.0).tolist()), ([1], first.tolist()), ([1, 2], first.tolist()), ([1, 2, 3], first.tolist()),
                   ([1, 2, 3], x.tolist())]
    compiled, caught = fresh(function), 0
    total = signals.count(lambda: run(compiled, np.arange(6.0), Box()))
    for at in range(1, total, max(1, total // 150)):
        compiled, box, x = fresh(function), Box(), np.arange(6.0)
        result, arrived = signals.one(at, lambda: run(compiled, x, box))
        assert arrived is None or arrived != (result == "caught"), (at, result)
        assert (box.steps, x.tolist()) in states
        caught += result == "caught"
    assert caught > total // max(1, total // 150) // 4


def whole_caught(x, log, kind):
    log.append("begun")
    try:
        for i in range(3):
            x = np.roll(x, i) + np.mean(x)
        log.append("end")
    except kind:
        log.append("caught")
    return x


def whole_finally(x, log, kind):
    log.append("begun")
    try:
        for i in range(3):
            x = np.roll(x, i) + np.mean(x)
        log.append("end")
    finally:
        log.append("finally")
    return x


class Noted:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("enter")

    def __exit__(self, kind, error, traceback):
        self.log.append(kind)
        return True


def whole_with(x, log, kind):
    log.append("begun")
    with Noted(log):
        for i in range(3):
            x = np.roll(x, i) + np.mean(x)
        log.append("end")
    return x


def called_for_real(x, log, kind):
    made = []
    re.sub("a", lambda match: str(made.append(whole_caught(x, log, kind))), "a")
    return made[0]


class Worker:
    def __init__(self):
        self.part = None

    def run(self, x, log, kind):
        return whole_caught(x, log, kind)

    def __call__(self, x, log, kind):
        log.append("begun")
        with Noted(log):
            for i in range(3):
                x = np.roll(x, i) + np.mean(x)
            log.append("end")
        return x


def closed_over():
    worker = Worker()
    worker.part = Worker()

    def by_an_attribute_of_a_variable(x, log, kind):
        return worker.part.run(x, log, kind)

    return by_an_attribute_of_a_variable


by_an_attribute_of_a_variable, called = closed_over(), Worker()
space = types.SimpleNamespace(step=whole_finally, worker=called)


def by_a_namespace(x, log, kind):
    return space.step(x, log, kind)


def by_an_instance(x, log, kind):
    return space.worker(x, log, kind)


def by_a_class(x, log, kind):
    return Worker().run(x, log, kind)


def by_an_argument(x, log, kind, step=whole_finally):
    return step(x, log, kind)


def passed(x, log, kind):
    return by_an_argument(x, log, kind, step=lambda *rest: whole_finally(*rest))


@pytest.mark.parametrize("function, ends", [
    (by_an_attribute_of_a_variable, [["begun", "caught"], ["begun", "end"], ["begun", "end", "caught"]]),
    (by_a_namespace, [["begun", "finally"], ["begun", "end", "finally"]]),
    (by_an_instance, [["begun", "enter", "kind"], ["begun", "enter", "end", None], ["begun", "enter", "end", "kind"]]),
    (by_a_class, [["begun", "caught"], ["begun", "end"], ["begun", "end", "caught"]]),
    (by_an_argument, [["begun", "finally"], ["begun", "end", "finally"]]),
    (passed, [["begun", "finally"], ["begun", "end", "finally"]]),
    (whole_caught, [["begun", "caught"], ["begun", "end"], ["begun", "end", "caught"]]),
    (whole_finally, [["begun", "finally"], ["begun", "end", "finally"]]),
    (whole_with, [["begun", "enter", "kind"], ["begun", "enter", "end", None], ["begun", "enter", "end", "kind"]]),
    (called_for_real, [["begun", "caught"], ["begun", "end"], ["begun", "end", "caught"]]),
], ids=lambda f: getattr(f, "__name__", None))
def test_handlers_of_a_function_see_what_interrupts_its_capture(signals, function, ends):
    x, outcomes = np.arange(6.0), []
    for _ in range(3):
        fresh(function)(x, [], signals.kind)
    frameloom.reset()
    compiled = fresh(function)
    total = signals.count(lambda: compiled(x, [], signals.kind))
    ends = [[signals.kind if step == "kind" else step for step in end] for end in ends]
    for at in range(1, total, max(1, total // 200)):
        frameloom.reset()  # what is called for real is compiled once for all its callers
        compiled, log = fresh(function), []
        result, arrived = signals.one(at, lambda: compiled(x, log, signals.kind))
        assert log in ends or arrived and not log, (at, log)
        if result is not None:  # nothing else is left half done
            np.testing.assert_array_equal(compiled(x, [], signals.kind), function(x, [], signals.kind))
        outcomes.append(ends.index(log) if log else -1)
    before = outcomes.count(-1)  # in front of the function's first line: of one without handlers, while it is captured
    assert before < 6 or function is called_for_real, outcomes
    assert outcomes.count(0) > (len(outcomes) - before) // 2, outcomes


def test_what_interrupts_a_capture_names_the_functions_lines(signals):
    def function(x):
        y = np.roll(x, 1)
        return y + np.mean(y)

    x, named = np.arange(6.0), 0
    for _ in range(3):
        fresh(function)(x)
    compiled = fresh(function)
    total = signals.count(lambda: compiled(x))
    for at in range(1, total):
        compiled = fresh(function)
        try:
            signals.lib.interrupt_arm(at, None)
            compiled(x)
            signals.lib.interrupt_arm(0, None)
        except signals.kind as error:
            signals.lib.interrupt_arm(0, None)
            names, at = [], error.__traceback__
            while at:
                names.append(at.tb_frame.f_code.co_name)
                at = at.tb_next
            named += "function" in names
    assert named > 10
