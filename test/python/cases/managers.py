"""The with statement."""

import contextlib

import numpy as np

from . import program


class Scope:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(kind.__name__ if kind else "out")
        return self.swallow


@program
def context_managers(x, y):
    log = []
    with Scope(log) as a, Scope(log, True):
        z = x + y
        raise ValueError("swallowed")
    with contextlib.suppress(KeyError):
        {}["a"]
    with contextlib.nullcontext(3) as k:
        z = z * k
    return z, log, a.swallow


@contextlib.contextmanager
def shifted(a):
    yield a + 1


@program
def context_manager_of_a_generator(x, y):
    with shifted(x) as z:
        z = z * y
    return z


@program
def exit_stacks(x, y):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(Scope(log))
        stack.callback(log.append, "called")
        z = x + y
    return z, log
