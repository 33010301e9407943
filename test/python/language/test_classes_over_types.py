"""Classes of class statements over types written in C: attributes of instances, what the type itself keeps, copies and instances made
inside, as plain Python has them. Each type has attributes in a way of its own: those of threading.local are the thread's."""

import array
import collections
import ctypes
import datetime
import decimal
import fractions
import functools
import io
import itertools
import queue
import random
import sqlite3
import struct
import threading
import types
import weakref

import numpy as np
import pytest

import frameloom

# Types, and the arguments that make an instance.
BASES = {
    "local": (threading.local, ()),
    "partial": (functools.partial, (max, 3)),
    "StringIO": (io.StringIO, ("a\nb\n",)),
    "BytesIO": (io.BytesIO, (b"a\nb\n",)),
    "array": (array.array, ("d", [1.0, 2.0])),
    "Random": (random.Random, (5,)),
    "C Random": (random.Random.__base__, (5,)),
    "bytearray": (bytearray, (b"ab",)),
    "deque": (collections.deque, ([1, 2], 5)),
    "OrderedDict": (collections.OrderedDict, ({"a": 1},)),
    "defaultdict": (collections.defaultdict, (int, {"a": 1})),
    "Counter": (collections.Counter, ("aab",)),
    "SimpleNamespace": (types.SimpleNamespace, ()),
    "module": (types.ModuleType, ("made",)),
    "property": (property, (abs,)),
    "staticmethod": (staticmethod, (abs,)),
    "classmethod": (classmethod, (abs,)),
    "map": (map, (abs, [-1, 2])),
    "zip": (zip, ([1, 2], [3, 4])),
    "enumerate": (enumerate, ("ab",)),
    "reversed": (reversed, ([1, 2],)),
    "chain": (itertools.chain, ([1], [2])),
    "count": (itertools.count, (3,)),
    "date": (datetime.date, (2026, 1, 2)),
    "datetime": (datetime.datetime, (2026, 1, 2)),
    "timedelta": (datetime.timedelta, (3,)),
    "Decimal": (decimal.Decimal, ("1.5",)),
    "Fraction": (fractions.Fraction, (1, 3)),
    "ndarray": (np.ndarray, ((2,), float, np.arange(2.0))),
    "float64": (np.float64, (1.5,)),
    "float": (float, (1.5,)),
    "int": (int, (3,)),
    "complex": (complex, (1, 2)),
    "str": (str, ("ab",)),
    "bytes": (bytes, (b"ab",)),
    "tuple": (tuple, ([1, 2],)),
    "frozenset": (frozenset, ([1, 2],)),
    "set": (set, ([1, 2],)),
    "list": (list, ([1, 2],)),
    "dict": (dict, ({"a": 1},)),
    "SimpleQueue": (queue.SimpleQueue, ()),
    "Struct": (struct.Struct, ("ii",)),
    "Exception": (Exception, ("a", 1)),
    "OSError": (OSError, (2, "no")),
    "KeyError": (KeyError, ("a",)),
    "StopIteration": (StopIteration, (4,)),
    "ref": (weakref.ref, (frameloom.compile,)),
    "Structure": (ctypes.Structure, ()),
    "type": (type, ("Made", (), {})),
    "Connection": (sqlite3.Connection, (":memory:",)),
}


def classes(base, given):
    """Classes made anew, so that nothing that a run does to them is seen by the next."""

    class Plain(base):
        shared = 4

        def hit(self, by=1):
            self.n = self.n + by
            return self.n

        @property
        def twice(self):
            return self.n * 2

        @twice.setter
        def twice(self, value):
            self.n = value // 2

    class Slots(Plain):
        __slots__ = ("other",) if base.__itemsize__ == 0 else ()

    class Hooked(Plain):
        def __setattr__(self, name, value):
            super().__setattr__(name, value + 10 if name == "n" else value)

        def __getattr__(self, name):
            if name == "absent":
                return 77
            raise AttributeError(name)

    class Started(Plain):
        def __init__(self, *args, **kwargs):
            if base.__init__ is not object.__init__:
                super().__init__(*args, **kwargs)
            self.n = 20

    def make(cls):
        made = cls(*given)
        made.n = 1
        return made

    return [Plain, Slots, Hooked, Started], make


def stored(x, o, make):
    o.n += 1
    return x + o.n


def stored_between(x, o, make):
    o.n += 1
    len(eval("'ab'"))
    o.n += 1
    return x + o.n


def by_methods(x, o, make):
    y = x * o.hit() + o.hit(by=3)
    o.twice = 8
    return y + o.n + o.twice + o.shared


def by_builtins(x, o, make):
    setattr(o, "n", getattr(o, "n") + 2)
    setattr(o, "m", x.sum())
    return x + o.n + o.m, hasattr(o, "m"), hasattr(o, "k"), getattr(o, "absent", 5), sorted(vars(o))


def deleted(x, o, make):
    o.k = 3
    del o.k
    try:
        o.k
    except AttributeError:
        x = x + 1
    try:
        del o.k
    except AttributeError:
        x = x + 2
    del o.n
    return x, hasattr(o, "n"), "n" in o.__dict__


def by_dict(x, o, make):
    o.__dict__["n"] = 5
    o.__dict__.update(p=6)
    return x + o.n + o.p, dict(o.__dict__)


def made_inside(x, o, make):
    other = make(type(o))
    other.n += 3
    other.p = x * 2
    return other.p + other.n, type(other) is type(o), isinstance(other, type(o).__mro__[-2])


def by_object(x, o, make):
    seen = []
    for way in (object.__setattr__, object.__getattribute__, object.__delattr__):
        try:
            seen.append(way(o, "n", *([3] if way is object.__setattr__ else [])))
        except (TypeError, AttributeError) as error:
            seen.append(type(error).__name__)
    return x, seen


PROGRAMS = (stored, stored_between, by_methods, by_builtins, deleted, by_dict, made_inside, by_object)


def outcomes(program, base, given, number, compiled):
    kinds, make = classes(base, given)
    try:
        o = make(kinds[number])
    except (TypeError, AttributeError, ValueError) as error:
        return type(error).__name__
    seen = []
    for x in (np.arange(3.0), np.arange(3.0) + 1, np.arange(4.0)):
        try:
            seen.append(repr(compiled(x, o, make)))
        except Exception as error:
            seen.append(type(error).__name__)
        seen.append(repr(getattr(o, "__dict__", None)))
    return seen


@pytest.mark.parametrize("name", BASES)
def test_instances_are_as_plain_ones(name):
    if not BASES[name][0].__flags__ & 1 << 10:
        pytest.skip("no base of a class in this version")
    differ = []
    for program in PROGRAMS:
        for number in range(4):
            got = outcomes(program, *BASES[name], number, frameloom.compile(program))
            want = outcomes(program, *BASES[name], number, program)
            if got != want:
                differ.append((program.__name__, number, got, want))
    assert not differ, "\n".join(f"{program} of class {number}\n   {got}\n   not\n   {want}" for program, number, got, want in differ)
