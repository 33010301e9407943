"""What debuggers, profilers and the function itself see of a compiled function: what plain Python shows."""

import contextlib
import copy
import cProfile
import functools
import gc
import inspect
import io
import pdb
import pickle
import pstats
import sys
import threading
import traceback
import warnings

import numpy as np
import pytest
from alarms import SOON, Alarm

import frameloom

X = np.arange(1.0, 4.0)
make = functools.partial(frameloom.compile, backend="interpret")


def helper(y):
    z = y + 1
    print(end="")
    return z * 2


def stepped(x):
    y = x * 2
    print(end="")
    y = helper(y)
    return y + 1


# ---- debuggers and profilers ----

def traced(call, install):
    """The lines, calls and returns that a tracer sees, in this file."""
    seen = []

    def tracer(frame, event, arg):
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name in ("stepped", "helper"):
            seen.append((frame.f_code.co_name, event, frame.f_lineno, sorted(frame.f_locals)))
        return tracer

    install(tracer)
    try:
        call(X)
    finally:
        install(None)
    return seen


@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile], ids=["settrace", "setprofile"])
def test_a_tracer_sees_everything(install):
    compiled = make(stepped)
    want = traced(stepped, install)
    assert traced(compiled, install) == want and want
    for _ in range(3):
        compiled(X)
    assert traced(compiled, install) == want
    np.testing.assert_array_equal(compiled(X), stepped(X))


@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile], ids=["settrace", "setprofile"])
def test_a_tracer_that_comes_and_goes(install):
    """Switched on in the middle, it sees all calls from there on; switched off, parts are compiled again."""
    seen = []

    def tracer(frame, event, arg):
        if event == "call" and frame.f_code.co_filename == __file__:
            seen.append(frame.f_code.co_name)
        return None

    def on():
        install(tracer)

    def off():
        install(None)

    def f(x):
        y = x + 1
        on()
        y = helper(y)
        off()
        y = y * 2
        return helper(y) - 1

    compiled, want = make(f), ((X + 1 + 1) * 2 * 2 + 1) * 2 - 1
    for call in (f, compiled, compiled, compiled):
        seen.clear()
        np.testing.assert_array_equal(call(X), want)
        assert seen == ["helper", "off"], seen


def test_cprofile_counts_calls():
    def profiled(call):
        profile = cProfile.Profile()
        profile.enable()
        for _ in range(3):
            call(X)
        profile.disable()
        return {name[2]: row[0] for name, row in pstats.Stats(profile).stats.items() if name[2] in ("stepped", "helper")}

    compiled = make(stepped)
    compiled(X)
    assert profiled(compiled) == profiled(stepped) == {"stepped": 3, "helper": 3}


def coverage_of(call):
    lines = set()

    def tracer(frame, event, arg):
        if frame.f_code.co_filename != __file__:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return tracer

    old = sys.gettrace()
    sys.settrace(tracer)
    try:
        call(X)
    finally:
        sys.settrace(old)
    return lines


def test_every_line_is_covered():
    compiled = make(stepped)
    compiled(X)
    first = stepped.__code__.co_firstlineno
    assert coverage_of(compiled) == coverage_of(stepped)
    assert {first + i for i in range(1, 5)} <= coverage_of(compiled)


def test_coverage_itself(tmp_path):
    coverage = pytest.importorskip("coverage")
    compiled = make(stepped)
    compiled(X)
    cover = coverage.Coverage(data_file=str(tmp_path / "data"), include=[__file__])
    cover.start()
    compiled(X)
    cover.stop()
    first = stepped.__code__.co_firstlineno
    assert {first + i for i in range(1, 5)} <= set(cover.get_data().lines(__file__))


def with_breakpoint(y, commands, out):
    z = y + 1
    debugger = pdb.Pdb(stdin=io.StringIO("\n".join(commands) + "\n"), stdout=out, nosigint=True, readrc=False)
    debugger.set_trace()
    z = z * 2
    return z


@pytest.mark.parametrize("commands", [["p z", "c"], ["n", "n", "p z", "c"], ["up", "p x", "down", "p y", "c"], ["r", "n", "p y", "c"],
                                      ["w", "c"]], ids=lambda c: "-".join(c).replace(" ", ""))
def test_a_breakpoint_in_a_called_function(commands):
    def f(x, out):
        y = x * 2
        y = with_breakpoint(y, commands, out)
        y = y + 1
        return y

    def session(call):
        out = io.StringIO()
        result = call(X, out)
        sys.settrace(None)
        lines = out.getvalue().split("\n")
        skip = ("session", "test_a_break", "pytest", "site-packages", "lib/python")
        return result.tolist(), [line for line in lines if not any(s in line for s in skip)]

    compiled = make(f)
    want = session(f)
    if commands == ["w", "c"]:  # the stack below the test differs by nothing
        assert "with_breakpoint" in str(want)
    for _ in range(3):
        assert session(compiled) == want


def test_a_breakpoint_in_the_function_itself():
    def f(x, out):
        y = x * 2
        debugger = pdb.Pdb(stdin=io.StringIO("p y\nn\nn\np y\nc\n"), stdout=out, nosigint=True, readrc=False)
        debugger.set_trace()
        y = y + 1
        y = y * 3
        return y

    def session(call):
        out = io.StringIO()
        result = call(X, out)
        sys.settrace(None)
        return result.tolist(), out.getvalue()

    compiled = make(f)
    for _ in range(3):
        assert session(compiled) == session(f)


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring is new in 3.12")
def test_monitoring():
    events, seen = sys.monitoring.events, []
    sys.monitoring.use_tool_id(4, "test")
    sys.monitoring.register_callback(4, events.PY_START, lambda code, offset: seen.append(code.co_name))
    compiled = make(stepped)
    compiled(X)
    sys.monitoring.set_events(4, events.PY_START)
    try:
        stepped(X)
        want = list(seen)
        seen.clear()
        compiled(X)
    finally:
        sys.monitoring.set_events(4, 0)
        sys.monitoring.free_tool_id(4)
    assert [s for s in seen if s in ("stepped", "helper")] == [s for s in want if s in ("stepped", "helper")]


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring is new in 3.12")
@pytest.mark.parametrize("watched", [stepped, helper], ids=lambda f: f.__name__)
@pytest.mark.parametrize("before", [False, True])
def test_monitoring_of_one_code_object(watched, before):
    """As a debugger asks for the lines of a function with a breakpoint, and of no other."""
    events, seen = sys.monitoring.events, []
    compiled = make(stepped)
    if before:
        compiled(X)
    sys.monitoring.use_tool_id(4, "test")
    sys.monitoring.register_callback(4, events.LINE, lambda code, line: seen.append((code.co_name, line)))
    sys.monitoring.set_local_events(4, watched.__code__, events.LINE)
    try:
        want = stepped(X)
        lines = list(seen)
        for _ in range(3):
            seen.clear()
            np.testing.assert_array_equal(compiled(X), want)
            assert seen == lines and len(lines) >= 3
    finally:
        sys.monitoring.set_local_events(4, watched.__code__, 0)
        sys.monitoring.free_tool_id(4)
    hits = sum(e["hits"] for e in compiled._report()["entries"])
    for _ in range(2):  # one of them may be a plain run, to compare how long they take
        compiled(X)
    assert not before or sum(e["hits"] for e in compiled._report()["entries"]) > hits


def quiet_helper(y):
    z = y + 1
    return z * 2


def whole(x):
    y = x * 2
    return quiet_helper(y) + 1


@pytest.mark.parametrize("place", ["whole", "quiet_helper"])
def test_a_breakpoint_by_line_in_what_is_captured_whole(place):
    """Set from outside, as `break file:line` does, while versions exist: each call stops there."""
    compiled, out, stops = make(whole), io.StringIO(), []
    compiled(X)
    line = globals()[place].__code__.co_firstlineno + 1

    class Debugger(pdb.Pdb):
        def user_line(self, frame):
            stops.append((frame.f_code.co_name, frame.f_lineno, sorted(frame.f_locals)))
            self.set_continue()

    def session(call):
        stops.clear()
        debugger = Debugger(stdout=out, nosigint=True, readrc=False)
        debugger.reset()
        debugger.set_break(__file__, line)
        debugger.botframe = sys._getframe()
        debugger.set_continue()
        sys.settrace(debugger.trace_dispatch)
        try:
            result = call(X)
        finally:
            sys.settrace(None)
            debugger.clear_all_breaks()
        return result.tolist(), list(stops)

    want = session(whole)
    assert [stop[:2] for stop in want[1]] == [(place, line)]
    for _ in range(3):
        assert session(compiled) == want
    np.testing.assert_array_equal(compiled(X), whole(X))


def test_a_profiler_of_other_threads():
    """threading.setprofile() sees compiled calls of threads that start from then on."""
    compiled, seen = make(stepped), []
    compiled(X)

    def profile(frame, event, arg):
        if event == "call" and frame.f_code.co_name in ("stepped", "helper"):
            seen.append(frame.f_code.co_name)

    threading.setprofile(profile)
    try:
        thread = threading.Thread(target=compiled, args=(X,))
        thread.start()
        thread.join()
    finally:
        threading.setprofile(None)
    assert seen == ["stepped", "helper"]


# ---- what a function sees of itself ----

def stack():
    return [(f.function, f.lineno) for f in inspect.stack() if f.filename == __file__]


def names_above():
    frame, names = sys._getframe(1), []
    while frame:
        names.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return names


def locals_above():
    frame = sys._getframe(1)
    return sorted(frame.f_locals), frame.f_code.co_name, frame.f_globals is globals(), frame.f_code.co_filename


def sees_the_stack(x):
    y = x + 1
    first = stack()[:2]
    y = y * 2
    return first, stack()[:2], y.tolist()


def sees_names(x):
    y = x + 1
    names = names_above()[:1]
    for i in range(2):
        y = y * 2
        names += names_above()[:1]
    with contextlib.suppress(ValueError):
        names += names_above()[:1]
    return names, y.tolist()


def sees_locals(x):
    y = x + 1
    a = locals_above()
    z = y * 2
    del y
    b = locals_above()
    return a, b, sorted(locals()), z.tolist()


def sees_itself(x):
    y = x + 1
    frame = sys._getframe()
    code = frame.f_code
    return code.co_name, code.co_firstlineno, code.co_varnames, code.co_argcount, frame.f_lineno, y.tolist()


def warns(x):
    y = x + 1
    warnings.warn("one", stacklevel=1)
    y = y * 2
    warnings.warn("two", stacklevel=2)
    return y.tolist()


def warns_below(x):
    def inner(a):
        warnings.warn("one", stacklevel=2)
        warnings.warn("two", stacklevel=3)
        return a * 2

    y = x + 1
    y = inner(y)
    return (y * 2).tolist()


def caller_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(X)
    return result, [(w.filename, w.lineno, str(w.message)) for w in caught]


@pytest.mark.parametrize("f", [sees_the_stack, sees_names, sees_locals, sees_itself, warns, warns_below], ids=lambda f: f.__name__)
def test_frames(f):
    compiled = make(f)
    want = caller_of(f)
    for _ in range(3):
        assert caller_of(compiled) == want


def deep_error(x):
    def one(a):
        b = a + 1
        print(end="")
        return two(b)

    def two(a):
        b = a * 2
        return [three(b, i) for i in range(3)]

    def three(a, i):
        print(end="")
        if i == 1:
            raise KeyError(i)
        return a + i

    try:
        return one(x)
    except KeyError as e:
        raise ValueError("outer") from e


def error_in_an_operation(x):
    y = x + 1
    print(end="")
    z = y[:2]
    return y + z


def error_in_a_lambda(x):
    y = x + 1
    return (lambda a: (print(end=""), a[10])[1])(y * 2)


@pytest.mark.parametrize("f", [deep_error, error_in_an_operation, error_in_a_lambda], ids=lambda f: f.__name__)
def test_tracebacks_name_the_users_lines(f):
    def text(call):
        try:
            call(X)
        except Exception:
            lines = traceback.format_exc().split("\n")
            return [line for line in lines if "in text" not in line and "call(X)" not in line]

    compiled = make(f)
    for _ in range(3):
        assert text(compiled) == text(f)


def test_the_callable_is_like_the_function():
    @functools.wraps(helper)
    def f(x, a=1, *, b: int = 2) -> np.ndarray:
        """Doc."""
        return x + a + b

    f.extra = "e"
    compiled = make(f)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__", "__annotations__",
                 "__code__", "__globals__", "__closure__", "__dict__", "extra"):
        assert getattr(compiled, name) == getattr(f, name), name
    assert compiled.__wrapped__ is f
    assert inspect.signature(compiled) == inspect.signature(f)
    assert copy.copy(compiled) is compiled and copy.deepcopy(compiled) is compiled
    compiled.extra = "changed"
    assert f.extra == "changed"
    compiled.__defaults__ = (5,)
    np.testing.assert_array_equal(compiled(X), f(X))
    compiled.__kwdefaults__ = {"b": 7}
    np.testing.assert_array_equal(compiled(X), f(X))
    assert callable(compiled) and hash(compiled) == hash(compiled)


@frameloom.compile
def pickled(x):
    return x + 1


def test_pickle():
    assert pickle.loads(pickle.dumps(pickled)) is pickled


def test_methods_bound_through_the_callable():
    class A:
        def __init__(self):
            self.k = 2.0

        @frameloom.compile
        def method(self, x):
            y = x * self.k
            print(end="")
            return y + 1

        @classmethod
        @frameloom.compile
        def of_class(cls, x):
            return x + 1, cls

        @staticmethod
        @frameloom.compile
        def static(x):
            return x + 2

    a = A()
    for _ in range(3):
        np.testing.assert_array_equal(a.method(X), X * 2 + 1)
        np.testing.assert_array_equal(A.method(a, X), X * 2 + 1)
        bound = a.method
        assert bound.__self__ is a and bound.__func__ is A.__dict__["method"] and bound.__name__ == "method"
        assert A.of_class(X)[1] is A
        np.testing.assert_array_equal(A.static(X), X + 2)
        assert inspect.ismethod(bound)


# ---- interrupts ----

@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
@pytest.mark.parametrize("after", [1, 2, 8, 30, 100, 400])
def test_an_interrupt_at_any_moment(after):
    """What was printed is a beginning of what plain Python prints, and what is left behind is whole."""
    log = []

    class Keeper:
        entered = 0

        def __enter__(self):
            Keeper.entered += 1

        def __exit__(self, *info):
            Keeper.entered -= 1

    def note(i, y):
        log.append(i)
        if len(log) == after:
            alarm.ring()
        return y

    def interrupt():
        raise KeyboardInterrupt

    def f(x):
        i = 0
        while True:
            with Keeper():
                x = x * 0.5
                x = note(i, x + 1)
                i += 1
                try:
                    if i % 7 == 0:
                        raise ValueError
                except ValueError:
                    x = x + 1
                    note(-1, x)

    def wanted(n):
        entries, i = [], 0
        while len(entries) < n:
            entries.append(i)
            i += 1
            if i % 7 == 0:
                entries.append(-1)
        return entries[:n]

    compiled = make(f)
    gc.disable()  # what is raised while functions run that watch the collector is lost, in Python too
    try:
        for _ in range(3):
            log.clear()
            with Alarm(interrupt, switch=SOON) as alarm, pytest.raises(KeyboardInterrupt):
                compiled(X)
            assert log == wanted(len(log))
            assert Keeper.entered in (0, 1)  # an interrupt between __enter__ and the block leaves it entered, in Python too
            Keeper.entered = 0
            assert sys.exc_info() == (None, None, None)
    finally:
        gc.enable()


def ask_exc_info(x):
    return repr(sys.exc_info()[1]), x * 2


def ask_exception(x):
    return repr(sys.exception()) if hasattr(sys, "exception") else "", x * 2


@pytest.mark.parametrize("function", [ask_exc_info, ask_exception])
def test_the_exception_that_the_caller_handles(function):
    compiled = make(function)
    for _ in range(3):
        assert compiled(X)[0] == function(X)[0]
        try:
            raise ValueError("outer")
        except ValueError:
            assert compiled(X)[0] == function(X)[0]


def named():
    """Has a dictionary with names that every function has."""


named.__dict__.update(dict.fromkeys(["__name__", "__qualname__", "__doc__", "__defaults__", "__type_params__"], "wrong"))


def test_what_every_function_has_comes_before_its_dictionary():
    def ask(x):
        return named.__name__, named.__qualname__, named.__doc__, named.__defaults__, getattr(named, "__type_params__"), x * 2

    assert make(ask)(X)[:5] == ask(X)[:5]
