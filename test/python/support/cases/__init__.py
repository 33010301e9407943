"""Small functions over everything in the language, for test_conformance.py: each is run plainly and compiled.

A theme is a module. Its functions take two arrays unless they say otherwise, and are captured by name in expected.txt with
the number of graphs and breaks. They are no test modules, because pytest rewrites the assertions of those.
"""

import copy
import importlib
import itertools
import sys
from dataclasses import dataclass
from typing import Callable

import numpy as np

THEMES = [
    "arrays", "binary", "breaks", "caches", "calling", "classes", "collected", "comprehensions", "copying", "daily", "derived", "descriptors", "effects", "enumerated", "equality", "flow", "formatting",
    "generators", "halfway", "identity", "iterating", "library", "live", "lookups", "managers", "matching", "names", "nested", "numbers", "objects", "observed", "oddities", "raising", "records",
    "sequences", "spoken", "tracebacks", "turning", "unpacking",
]
CASES, PROGRAMS = [], []


@dataclass
class Case:
    name: str  # "theme.function"
    make: Callable  # -> the function, a function that makes its arguments, one that tells what is to be seen elsewhere


def inputs(kind=0):
    """Fresh arguments: the same of a kind each time; another kind has other sizes and dtypes."""
    rng = np.random.default_rng(5)
    n, dtype = [(6, np.float64), (4, np.float64), (5, np.float32)][kind]
    return [rng.standard_normal(n).astype(dtype), rng.standard_normal(n).astype(dtype)]


def name_of(function):
    return function.__module__.rsplit(".", 1)[1] + "." + function.__name__


def case(function):
    """A function of two arrays. What the theme's module has under the names in its WATCHED is told, too, and put back before
    each call."""
    module = sys.modules[function.__module__]
    before = {n: copy.deepcopy(vars(module)[n]) for n in vars(module).get("WATCHED", ())}

    def make():
        def arguments(kind=0):
            vars(module).update(copy.deepcopy(before))
            return inputs(kind)

        return function, arguments, lambda: {n: vars(module).get(n) for n in before}

    CASES.append(Case(name_of(function), make))
    return function


def program(function):
    """A longer one: test_breaks_everywhere puts breaks in all its places."""
    PROGRAMS.append(function)
    return case(function)


def given(*extra):
    """Further arguments: functions that make them."""

    def decorate(function):
        def make():
            return function, lambda kind=0: inputs(kind) + [e() for e in extra], lambda: None

        CASES.append(Case(name_of(function), make))
        return function

    return decorate


def made(maker):
    """A function that makes the function, anew for plain and compiled: (function, probe), where probe() tells what its cells
    hold."""

    def make():
        function, probe = maker()
        return function, inputs, probe

    CASES.append(Case(name_of(maker), make))
    return maker


def turned(*changes):
    """A function of two arrays that changes nothing: before its i-th call the i-th change is made, once for plain and compiled."""

    def decorate(function):
        makes = itertools.count()

        def make():
            calls, first = itertools.count(), next(makes) % 2 == 0

            def arguments(kind=0):
                if first:
                    changes[next(calls) % len(changes)]()
                return inputs(kind)

            return function, arguments, lambda: None

        CASES.append(Case(name_of(function), make))
        return function

    return decorate


for _theme in THEMES:
    importlib.import_module(f"{__name__}.{_theme}")
