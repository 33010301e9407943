"""What random programs of the language find in their globals: things to work on, managers, decorators, and arguments."""

import collections
import contextlib
import functools
import itertools
import math
import operator
import sys

import numpy as np

import frameloom

LOG = []


def say(*things):
    """A side effect whose order shows."""
    LOG.append(" ".join(map(str, things)))


def brk(value=None):
    """A graph break for whoever calls it, and for itself."""
    LOG.append(f"{id(None) == id(None)}")
    return value


def handled():
    """What is handled where this is called."""
    return sys.exc_info()[1]


class Oops(Exception):
    """The programs' own."""


def line_of(error, traceback):
    """Where the function of a `with` was left. Where it raised that a name is not bound itself, CPython names the line before, once
    two instructions have become one: as often as the code has run."""
    return traceback and (traceback.tb_next or not isinstance(error, UnboundLocalError)) and traceback.tb_lineno


class Guard:
    """A context manager that may swallow what is raised."""

    def __init__(self, name, *swallowed):
        self.name, self.swallowed = name, swallowed

    def __enter__(self):
        say("enter", self.name)
        return self

    def __exit__(self, kind, error, traceback):
        say("exit", self.name, kind and kind.__name__, error, line_of(error, traceback))
        return kind is not None and issubclass(kind, self.swallowed)


class Failing(Guard):
    """One that raises on one of its two ways."""

    def __enter__(self):
        if self.name == "in":
            raise Oops("entering")
        return super().__enter__()

    def __exit__(self, *given):
        super().__exit__(*given)
        if self.name == "out":
            raise KeyError("leaving")


@contextlib.contextmanager
def managed(name, swallowed=()):
    say("begin", name)
    try:
        yield name
    except swallowed as error:
        say("caught", type(error).__name__, error)
    finally:
        say("end", name)


class Cell:
    """A data descriptor."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self.name
        return instance.__dict__.get(self.name, 5)

    def __set__(self, instance, value):
        if value == 13:
            raise ValueError("thirteen")
        instance.__dict__[self.name] = value


def logged(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        say("call", function.__name__, len(args), sorted(kwargs))
        return function(*args, **kwargs)
    return call


def plus(more):
    def decorator(function):
        def call(*args, **kwargs):
            return function(*args, **kwargs) + more
        return call
    return decorator


Pair = collections.namedtuple("Pair", "left right")


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


class Thing:
    """An argument whose attributes change."""

    def __init__(self, value):
        self.value, self.items, self.array = value, [value, 1], np.arange(3.0)


def arguments(k):
    """Of the call with this number; numbers repeat, so that what was compiled is used again."""
    items = [k, 2, -1][:3 - k % 2]
    x = np.arange(4.0) - k if k < 3 else np.arange(6.0)
    table = {"a": k, "b": 2} if k != 2 else {"b": 1, "a": 0, "c": 4}
    return x, np.ones(len(x)) * 2, k, 0.5 + k, items, table, Thing(k), "ab c"[:4 - k % 2]


def space():
    """Globals for one copy of a program."""
    made = {"G0": 3, "G1": [1, 2], "G2": {"a": 1, "z": 2}, "__name__": "program", "cmath": math}
    for name in ("LOG say brk handled Oops Guard Failing managed Cell logged plus Pair Point Thing collections contextlib functools itertools math "
                 "operator np frameloom").split():
        made[name] = globals()[name]
    return made
