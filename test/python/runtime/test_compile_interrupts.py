"""Signals while a function is compiled: handlers run at once, and what they raise ends the wait, not what is compiled."""

import itertools
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from alarms import SOON, WHERE_THE_LOCK_IS_GIVEN, Alarm
from processes import PATIENCE, threads_named, with_own_path

import frameloom


def long_program(count):
    """A function that takes a second or so to compile: so many different operations on one array."""
    ops = ["np.sin(x)", "np.arctan(x) * 0.5", "np.log1p(x * x)", "np.tanh(x)", "np.cos(x) + {}.0", "np.power(np.abs(x) + {}.0, 0.3)", "np.exp(-x * x)"]
    lines = [f"    x = {ops[(i * i) % len(ops)].format(i % 5 + 1)} * 0.5 + x[::-1] * 0.{i + 1000}" for i in range(count)]
    scope = {"np": np}
    exec("def long_program(x):\n" + "\n".join(lines) + "\n    return x", scope)
    return scope["long_program"]


class Stop(Exception):
    pass


@pytest.fixture
def handle(monkeypatch):
    """handle(handler): from here on it is called at each moment, until it raises or the test ends; handle(None): no more."""
    monkeypatch.setitem(os.environ, "FRAMELOOM_CACHE", "0")
    with Alarm() as alarm:
        def start(handler):
            def again():
                handler()
                alarm.ring()

            alarm.handler = again if handler else lambda: None
            if handler:
                alarm.ring()

        yield start


def compiler_works(process="self"):
    return threads_named("loom-compile", process) > 0


@pytest.fixture
def compiles():
    """Whether the compiler's thread is at work. What an earlier test has left to it is at its end."""
    while compiler_works():
        time.sleep(0.01)
    return compiler_works


def test_what_a_handler_raises_ends_the_wait(handle, compiles):
    """The compiler is still at work by the time that the exception has come out."""
    function, x = long_program(150), np.linspace(0.1, 1, 7)
    compiled = frameloom.compile(function)

    def stop():
        if compiles():
            raise Stop

    handle(stop)
    with pytest.raises(Stop):
        compiled(x)
    assert compiles()
    np.testing.assert_allclose(compiled(x), function(x.copy()), rtol=1e-9)  # compiled again, or from what was left to its thread


def test_what_a_handler_raises_after_the_end_is_raised(handle, compiles):
    """What is compiled is ready by the time that the handler raises."""
    seen, x = [], np.linspace(0.1, 1, 7)

    def late():
        if not compiles():
            return
        while compiles():
            time.sleep(0.01)
        seen.append("ready")
        raise Stop

    for count in (60, 120, 240, 480):  # until the handler comes while the compiler is at work
        compiled = frameloom.compile(long_program(count))
        handle(late)
        try:
            compiled(x)
        except Stop:
            break
        handle(None)
    assert seen == ["ready"]
    np.testing.assert_allclose(compiled(x), long_program(count)(x), rtol=1e-9)


def test_handlers_that_return_run_meanwhile(handle, compiles):
    """More than once while the compiler is at work; those that wait for it run once, at its end."""
    meanwhile = []
    handle(lambda: meanwhile.append(compiles()))
    compiled = frameloom.compile(long_program(131))
    got = compiled(np.linspace(0.1, 1, 5))
    handle(None)
    np.testing.assert_allclose(got, long_program(131)(np.linspace(0.1, 1, 5)), rtol=1e-9)
    assert sum(meanwhile) > 2


def test_threads_of_the_program_keep_their_names(monkeypatch):
    monkeypatch.setitem(os.environ, "FRAMELOOM_CACHE", "0")

    def names(number):  # of kernels that call no function of a library, so that several threads emit them
        lines = [f"    x = x * 0.{i + number} + x.reshape({1 + i % 7}, -1).cumsum(axis=0).max()" for i in range(20)]
        scope = {}
        exec("def kernels(x):\n" + "\n".join(lines) + "\n    return x", scope)
        before = Path("/proc/thread-self/comm").read_text()
        frameloom.compile(scope["kernels"])(np.ones(420))
        return before, Path("/proc/thread-self/comm").read_text()

    with ThreadPoolExecutor(1) as other:
        for before, behind in (names(1), other.submit(names, 2).result()):
            assert before == behind


def test_other_threads_compile_as_well():
    got = []
    thread = threading.Thread(target=lambda: got.append(frameloom.compile(long_program(20))(np.ones(3))))
    thread.start()
    thread.join()
    np.testing.assert_allclose(got[0], long_program(20)(np.ones(3)), rtol=1e-9)


PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell ignores it
import numpy as np, frameloom, time
from test_compile_interrupts import long_program
print("begins", flush=True)
frameloom.compile(long_program({count}))(np.linspace(0.1, 1, 7))
print("done", flush=True)
"""


def started(count, environment, **options):
    environment = {**os.environ, **with_own_path(), **environment}
    return subprocess.Popen([sys.executable, "-c", PROGRAM.format(count=count)], env=environment, **options)


def test_ctrl_c_ends_a_process_that_compiles(tmp_path):
    """It does not wait for the end of what is compiled, which would be in the cache then."""
    tmp_path.chmod(0o700)
    process = started(1600, {"FRAMELOOM_CACHE": "1", "FRAMELOOM_CACHE_DIR": str(tmp_path)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    while not compiler_works(process.pid):  # it captures
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said, error = process.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in error and "done" not in said
    assert not list(tmp_path.rglob("*.loom"))
    assert process.returncode == -signal.SIGINT or process.returncode == 130


def test_a_terminal_is_told_what_takes_long():
    controller, terminal = pty.openpty()
    process = started(1000, {"FRAMELOOM_CACHE": "0"}, stdout=subprocess.DEVNULL, stderr=terminal)
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


def test_a_handler_changes_the_arguments(monkeypatch):
    """At whichever moment it runs: what was captured before is not run on what the function is not for."""
    def twice(d):
        return d["x"] * 2.0 + 1

    def change():
        if alarm.calls == moment:
            d.update(x=np.full(1 << 13, 5.0, np.float32))

    monkeypatch.setitem(os.environ, "FRAMELOOM_CACHE", "0")
    changed = 0
    for moment, switch in itertools.product(range(1, 8), (WHERE_THE_LOCK_IS_GIVEN, SOON)):
        d = {"x": np.full(1 << 12, 3.0)}
        with Alarm(change, switch=switch) as alarm:
            alarm.ring(moment)
            got = frameloom.compile(twice)(d)
        want = twice({"x": np.full(1 << 12, 3.0)}) if got.dtype == np.float64 else twice({"x": np.full(1 << 13, 5.0, np.float32)})
        np.testing.assert_array_equal(got, want)
        changed += d["x"].dtype == np.float32
    assert changed
