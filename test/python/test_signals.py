"""Signal handlers run while a long plan does, and what they raise ends it."""

import signal

import numpy as np
import pytest

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
    b = a.reshape(1000, -1)[:, :1000]
    for _ in range(40):
        b = b @ b * 1e-3
    return b


def writes(a):
    a += one_long_kernel(a)


@pytest.fixture
def timer():
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    yield calls
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def unrolled():
    with frameloom.config.patch(unroll_limit=100):
        yield


@pytest.mark.parametrize("function", [one_long_kernel, many_kernels, a_loop])
def test_handlers_run(function, timer):
    compiled = frameloom.compile(function, fullgraph=True)
    a = np.full(3_000_000, 0.25)
    want = compiled(a)
    for _ in range(20):  # on a machine so fast that a plan ends before the second poll, perhaps the next
        del timer[:]
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        got = compiled(a)
        signal.setitimer(signal.ITIMER_REAL, 0)
        np.testing.assert_array_equal(got, want)
        if len(timer) > 2:  # without polls there is one call, when the plan is done
            return
    pytest.fail(f"{len(timer)} calls of the handler")


@pytest.mark.parametrize("function", [one_long_kernel, many_kernels, a_loop, writes])
def test_what_they_raise(function, timer):
    def handler(*_):
        raise KeyboardInterrupt

    compiled = frameloom.compile(function, fullgraph=True)
    a = np.full(3_000_000, 0.25)
    compiled(a.copy())
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            compiled(a.copy())
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    mine, plain = a.copy(), a.copy()
    np.testing.assert_equal(compiled(mine) is None, function(plain) is None)
    np.testing.assert_allclose(mine, plain, rtol=1e-12)


def test_handlers_that_run_plans(timer):
    compiled = frameloom.compile(one_long_kernel, fullgraph=True)
    small = frameloom.compile(lambda x: np.tanh(x) @ x)
    a, x, seen = np.full(3_000_000, 0.25), np.eye(64), []
    want, inner = compiled(a), small(x)
    signal.signal(signal.SIGALRM, lambda *_: seen.append(np.array_equal(small(x), inner)))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    for _ in range(5):
        np.testing.assert_array_equal(compiled(a), want)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert seen and all(seen)
