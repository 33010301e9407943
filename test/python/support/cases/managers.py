"""The with statement."""

import contextlib
import sys

import numpy as np

from . import case, program


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


@case
def traceback_of_what_was_caught(x, y):
    seen = [ValueError("a").__traceback__ is None]
    try:
        try:
            raise ValueError("b")
        except ValueError as error:
            seen.append(error.__traceback__ is None)
            error.__traceback__ = None
            seen.append(error.__traceback__)
            raise
    except ValueError as error:
        seen += [bool(error.__traceback__), type(error.__traceback__).__name__]
    return x + 1, seen


@case
def traceback_is_itself(x, y):
    try:
        raise KeyError(1)
    except KeyError as error:
        here = error.__traceback__
        return x * 2, here is error.__traceback__, here is sys.exc_info()[2]


class Wrapping:
    """Keeps the traceback, as contextlib does."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if error is not None:
            error.__traceback__ = traceback
        return kind is ValueError


@case
def traceback_put_back(x, y):
    with Wrapping():
        raise ValueError("no")
    return x - y


@case
def stack_of_managers_that_suppress(x, y):
    log = []
    with contextlib.ExitStack() as stack:
        stack.push(lambda kind, error, traceback: log.append((kind is None, traceback is not None)))
        stack.enter_context(Wrapping())
        stack.push(lambda kind, error, traceback: log.append(kind is ValueError))
        raise ValueError("inside")
    return x + y, log
