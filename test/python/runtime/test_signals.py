"""Signal handlers run while a long plan does, and what they raise ends it."""

import os
import sys

import numpy as np
import pytest
from alarms import Alarm

import frameloom


def one_long_kernel(a):
    for _ in range(60):
        a = np.sin(a) + 0.5
    return a


def a_loop(a):
    for _ in range(300):
        a = np.sin(a) + 0.5
    return a


def many_kernels(a):
    b = a.reshape(1000, -1)[:600, :600]
    for _ in range(40):
        b = b @ b * 1e-3
    return b


def writes(a):
    a += one_long_kernel(a)


@pytest.fixture
def alarm():
    with Alarm() as alarm:
        yield alarm


@pytest.fixture(autouse=True)
def unrolled():
    with frameloom.config.patch(unroll_limit=100):
        yield


@pytest.mark.parametrize("function", [one_long_kernel, many_kernels, a_loop])
def test_handlers_run(function, alarm):
    compiled = frameloom.compile(function, fullgraph=True)
    a = np.full(3_000_000, 0.25)
    want = compiled(a)
    alarm.ring(3)
    got = compiled(a)
    assert alarm.calls == 3  # without polls there is one call, when the plan is done
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("function", [one_long_kernel, many_kernels, a_loop, writes])
def test_what_they_raise(function, alarm):
    def handler():
        raise KeyboardInterrupt

    compiled = frameloom.compile(function, fullgraph=True)
    a = np.full(1_000_000, 0.25)
    compiled(a.copy())
    alarm.handler, mine = handler, a.copy()
    alarm.ring()
    with pytest.raises(KeyboardInterrupt):
        compiled(mine)
    mine, plain = a.copy(), a.copy() if function is many_kernels else a[:1000].copy()  # others: each element by itself
    got, want = compiled(mine), function(plain)
    np.testing.assert_equal(got is None, want is None)
    np.testing.assert_allclose(mine, np.resize(plain, mine.shape), rtol=1e-12)


def test_handlers_that_run_plans(alarm):
    compiled = frameloom.compile(one_long_kernel, fullgraph=True)
    small = frameloom.compile(lambda x: np.tanh(x) @ x)
    a, x, seen = np.full(3_000_000, 0.25), np.eye(64), []
    want, inner = compiled(a), small(x)
    alarm.handler = lambda: seen.append(np.array_equal(small(x), inner))
    for _ in range(5):
        alarm.ring(3)
        np.testing.assert_array_equal(compiled(a), want)
    assert len(seen) == 15 and all(seen)


class Stop(Exception):
    pass


def caught(a, log, n):
    log.append("begun")
    try:
        for _ in range(n):
            a = np.sin(a) + 0.5
    except (KeyboardInterrupt, Stop) as error:
        log.append((type(error).__name__, error.__traceback__.tb_lineno - caught.__code__.co_firstlineno))
        a = a * 0
    finally:
        log.append("finally")
    return a


class Noted:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(kind and kind.__name__)
        return True


def in_a_with(a, log, n):
    with Noted(log):
        for _ in range(n):
            a = np.sin(a) + 0.5
    return a * 0


def behind_another_try(a, log, n):
    try:
        log.append(1)
    finally:
        log.append(2)
    try:
        for _ in range(n):
            a = np.sin(a) + 0.5
    except BaseException:
        log.append(3)
    return a * 0


def behind_a_long_loop(a, log, n):
    for _ in range(n):
        a = np.sin(a) + 0.5
    try:
        log.append("never")
    finally:
        log.append("never")
    return a


def without(a, log, n):
    for _ in range(n):
        a = np.sin(a) + 0.5
    log.append("never")
    return a


@pytest.mark.parametrize("kind", [KeyboardInterrupt, Stop])
@pytest.mark.parametrize("function, log", [(caught, ["begun", None, "finally"]), (in_a_with, [None]), (behind_another_try, [1, 2, 3]),
                                           (behind_a_long_loop, []), (without, [])], ids=lambda p: getattr(p, "__name__", ""))
def test_the_functions_own_handlers_see_it(function, log, kind, alarm):
    """The loop is one plan: the function runs plainly up to the lines that wait for the exception."""
    def handler():
        raise kind

    compiled, a, seen = frameloom.compile(function), np.full(64, 0.25), []
    for n in (300, 400):  # from here on n is a symbol, and what is compiled fits the long call
        compiled(a, [], n)
    alarm.handler = handler
    alarm.ring()
    try:
        got = compiled(a, seen, 1_000_000_000)
    except kind:
        got = None
    assert (got is None) == (not log)
    if log:
        np.testing.assert_array_equal(got, a * 0)
        assert [kind.__name__ if item is None else item for item in log] == [i[0] if isinstance(i, tuple) else i for i in seen]
    else:
        assert seen == []
    assert all(item[1] in (3, 4) for item in seen if isinstance(item, tuple))
    assert sys.gettrace() is None


def never_settles(a):
    b = a
    for _ in range(60):
        a = np.sin(a) + b
    return a


def test_a_handler_forks(alarm):
    """What threads of the parent had begun is done in both processes."""
    children, compiled = [], frameloom.compile(never_settles)
    a = np.linspace(0, 1, 600_000)
    alarm.handler = lambda: children.append(os.fork())
    with frameloom.config.patch(leave_slower=False):
        compiled(a)
        for k in range(1, 4):
            want = never_settles(a + k)
            x = a + k
            alarm.ring()
            got = compiled(x)
            wrong = np.count_nonzero(abs(got - want) > 1e-9)
            for child in children:
                if child == 0:
                    os._exit(int(wrong != 0))
                assert os.waitpid(child, 0)[1] == 0
            assert wrong == 0 and len(children) == 1
            children.clear()


def adds_to_an_item(d):
    x = d["x"]
    x[1:] = one_long_kernel(x)[1:]
    return x[10:]


def test_a_handler_replaces_what_is_written(alarm):
    """What is written and given is of the array that was read, or of the new one."""
    compiled, small = frameloom.compile(adds_to_an_item), np.full(64, 7.0)
    with frameloom.config.patch(leave_slower=False):
        compiled({"x": np.full(1_000_000, 3.0)})
        d = {"x": np.full(1_000_000, 3.0)}
        alarm.handler = lambda: d.update(x=small)
        alarm.ring()
        got = compiled(d)
    want = {"x": np.full(64 if got.size == 54 else 1_000_000, 7.0 if got.size == 54 else 3.0)}
    np.testing.assert_allclose(got, adds_to_an_item(want), rtol=1e-9)
