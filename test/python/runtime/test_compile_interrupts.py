"""Signals while a function is compiled: handlers run at once, and what they raise ends the wait, not what is compiled."""

import os
import pty
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import frameloom


def long_program(count):
    """A function that takes seconds to compile: so many different operations on one array."""
    ops = ["np.sin(x)", "np.arctan(x) * 0.5", "np.log1p(x * x)", "np.tanh(x)", "np.cos(x) + {}.0", "np.power(np.abs(x) + {}.0, 0.3)", "np.exp(-x * x)"]
    lines = [f"    x = {ops[(i * i) % len(ops)].format(i % 5 + 1)} * 0.5 + x[::-1] * 0.{i + 1000}" for i in range(count)]
    scope = {"np": np}
    exec("def long_program(x):\n" + "\n".join(lines) + "\n    return x", scope)
    return scope["long_program"]


class Stop(Exception):
    pass


@pytest.fixture
def alarm():
    def stop(*_):
        raise Stop
    before = signal.signal(signal.SIGALRM, stop)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def took_long(function, x):
    start = time.perf_counter()
    frameloom.compile(function)(x)
    return time.perf_counter() - start


def test_what_a_handler_raises_ends_the_wait(alarm, monkeypatch):
    monkeypatch.setitem(os.environ, "FRAMELOOM_CACHE", "0")
    count, x = 50, np.linspace(0.1, 1, 7)
    while took_long(long_program(count), x) < 1.5:
        count *= 2
    compiled = frameloom.compile(long_program(count + 1))
    alarm(0.5)
    start = time.perf_counter()
    with pytest.raises(Stop):
        compiled(x)
    assert time.perf_counter() - start < 1.2
    want = long_program(count + 1)(x.copy())
    np.testing.assert_allclose(compiled(x), want, rtol=1e-9)  # compiled again, or from what was left to its thread


def test_what_a_handler_raises_after_the_end_is_raised(monkeypatch):
    """What is compiled is ready by the time that the handler raises."""
    monkeypatch.setitem(os.environ, "FRAMELOOM_CACHE", "0")
    ended = []

    def late(*_):
        while len(os.listdir("/proc/self/task")) > threads:
            time.sleep(0.01)
        ended.append(True)
        raise Stop

    before = signal.signal(signal.SIGALRM, late)
    frameloom.compile(long_program(3))(np.ones(3))
    threads = len(os.listdir("/proc/self/task"))
    compiled, x = frameloom.compile(long_program(60)), np.linspace(0.1, 1, 7)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(Stop):
            compiled(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ended
    np.testing.assert_allclose(compiled(x), long_program(60)(x), rtol=1e-9)


def test_handlers_that_return_run_meanwhile():
    ran = []
    before = signal.signal(signal.SIGALRM, lambda *_: ran.append(time.perf_counter()))
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        start = time.perf_counter()
        compiled = frameloom.compile(long_program(301))
        got = compiled(np.linspace(0.1, 1, 5))
        took = time.perf_counter() - start
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_allclose(got, long_program(301)(np.linspace(0.1, 1, 5)), rtol=1e-9)
    assert len(ran) >= int(took / 0.1) // 4


def test_other_threads_compile_as_well():
    got = []
    thread = threading.Thread(target=lambda: got.append(frameloom.compile(long_program(20))(np.ones(3))))
    thread.start()
    thread.join()
    np.testing.assert_allclose(got[0], long_program(20)(np.ones(3)), rtol=1e-9)


PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell ignores it
sys.path[:0] = {path!r}
import numpy as np, frameloom, time
from test_compile_interrupts import long_program
print("begins", flush=True)
frameloom.compile(long_program({count}))(np.linspace(0.1, 1, 7))
print("done", flush=True)
"""


def started(count, **options):
    path = [os.path.dirname(__file__), *sys.path]
    environment = {**os.environ, "FRAMELOOM_CACHE": "0"}
    return subprocess.Popen([sys.executable, "-c", PROGRAM.format(path=path, count=count)], env=environment, **options)


def test_ctrl_c_ends_a_process_that_compiles():
    process = started(1200, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    start = time.perf_counter()
    _, error = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in error
    assert time.perf_counter() - start < 8  # exit() waits three seconds for the thread that compiles
    assert process.returncode == -signal.SIGINT or process.returncode == 130


def test_a_terminal_is_told_what_takes_long():
    controller, terminal = pty.openpty()
    process = started(1000, stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    text = b""
    try:
        while b"\n" not in text:
            text += os.read(controller, 1000)
    finally:
        process.kill()
        process.wait()
        os.close(controller)
    assert b"frameloom: still compiling long_program" in text and b" ops, stage '" in text


def test_a_handler_changes_the_arguments(alarm, monkeypatch):
    """Whenever it runs: what was captured before is not run on what the function is not for."""
    def twice(d):
        return d["x"] * 2.0 + 1

    monkeypatch.setitem(os.environ, "FRAMELOOM_CACHE", "0")
    for k in range(1, 30):
        d = {"x": np.full(1 << 12, 3.0)}
        signal.signal(signal.SIGALRM, lambda *_: d.update(x=np.full(1 << 13, 5.0, np.float32)))
        alarm(0.0005 * k)
        got = frameloom.compile(twice)(d)
        alarm(0)
        want = twice({"x": np.full(1 << 12, 3.0)}) if got.dtype == np.float64 else twice({"x": np.full(1 << 13, 5.0, np.float32)})
        np.testing.assert_array_equal(got, want)
