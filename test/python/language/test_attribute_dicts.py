"""Attributes and variables whose dictionary is used, too: as `__dict__`, and as a dictionary that the caller hands over."""

import types

import numpy as np
import pytest
from compare import described, told

import frameloom


class Thing:
    k = 5

    @property
    def shown(self):
        return self.__dict__.get("z", 0)


def stored_and_read(o, d):
    o.__dict__["x"] = 1
    return o.x


def stored_deleted_and_read(o, d):
    own = o.__dict__
    own["k"] = 7
    r = o.k
    del own["k"]
    return r, getattr(o, "k", None)


def read_by_a_property(o, d):
    o.__dict__["z"] = 9
    return getattr(o, "shown", None)


def vars_and_getattr(o, d):
    vars(o)["y"] = 3
    return o.y, getattr(o, "y"), hasattr(o, "nope")


def updated(o, d):
    o.__dict__.update(a=1)
    o.b = 2
    return o.__dict__["b"], o.a


def handed_over_and_read(o, d):
    d["k"] = 1
    return o.k


def handed_over_after_a_store(o, d):
    o.k = 3
    return d["k"]


def handed_over_read_twice(o, d):
    a = d.get("k")
    o.k = 3
    return a, d.get("k")


def handed_over_mixed(o, d):
    a = o.k
    d["k"] = 4
    o.j = 2
    return a, o.k, d["j"]


def stored_both_ways(o, d):
    d["k"] = 4
    o.k = 6


def of_a_ufunc(o, d):
    np.add.__dict__["other"] = 5
    r = np.add.other
    del np.add.__dict__["other"]
    return r, hasattr(np.add, "other")


def text_of_a_ufunc(o, d):
    before = np.add.__doc__
    np.add.__dict__["__doc__"] = "new"
    r = np.add.__doc__
    del np.add.__dict__["__doc__"]
    return r, np.add.__doc__ == before


def make(kind):
    made = {"object": Thing, "module": lambda: types.ModuleType("made"), "namespace": types.SimpleNamespace,
            "function": lambda: lambda: 0}[kind]()
    made.k = 0
    return made


FUNCTIONS = [f for f in list(globals().values()) if isinstance(f, types.FunctionType) and f.__module__ == __name__ and f is not make]


def told_with_attributes(function, thing):
    call = told(function, thing, thing.__dict__, after=False)
    return call, described({name: item for name, item in thing.__dict__.items() if not name.startswith("__")})


@pytest.mark.parametrize("kind", ["object", "module", "namespace", "function"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_attributes_and_their_dictionary(function, kind):
    compiled = frameloom.compile(function)
    for _ in range(2):
        assert told_with_attributes(compiled, make(kind)) == told_with_attributes(function, make(kind))


VARIABLE = 10


def stored_in_globals(d):
    d["VARIABLE"] = 12
    return VARIABLE


def read_before_and_after(d):
    a = VARIABLE
    d["VARIABLE"] = 12
    return a, VARIABLE


def assigned(d):
    global VARIABLE
    VARIABLE = 15
    return d["VARIABLE"]


@pytest.mark.parametrize("function", [stored_in_globals, read_before_and_after, assigned])
def test_variables_and_their_dictionary(function):
    global VARIABLE
    compiled = frameloom.compile(function)
    seen = []
    for call in (function, compiled, compiled):
        VARIABLE = 10
        seen.append((call(globals()), VARIABLE))
    assert seen[1:] == [seen[0]] * 2
