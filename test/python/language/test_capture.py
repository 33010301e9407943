"""Capture of plain Python: every function's known result equals what running it gives."""

import os
import sys
import types
import warnings

import numpy as np
import pytest
from capture_cases import CASES, LIVE, SCALE, Base
from compare import described

import frameloom
from frameloom import _native


def report(function, *args):
    return _native._capture(function, args)


@pytest.mark.parametrize("function,args", CASES, ids=lambda v: getattr(v, "__name__", None))
def test_known_result(function, args):
    got = report(function, *args)
    want = function(*args)
    assert got["break"] is None
    assert got["known"]
    assert described(got["result"]) == described(want)


# ---- what breaks, and why ------------------------------------------------------------------------


def prints():
    print("no")


def raises():
    raise ValueError("text")


def divides():
    return 1 // 0


def unknown():
    return sys.getrefcount(None)


def endless():
    while True:
        pass


def deep(n=0):
    return deep(n + 1)


def generator():
    yield 1


async def coroutine():
    return 1


def returns_object():
    made = Base(1)
    made.itself = made
    return made


def huge():
    return 10 ** (10**9)


def long_list():
    return list(range(10**9))


@pytest.mark.parametrize(
    "function,args,name",
    [
        (prints, (), "SIDE_EFFECT"),
        (raises, (), "RAISES"),
        (divides, (), "RAISES"),
        (unknown, (), "UNKNOWN_CALL"),
        (endless, (), "LIMIT"),
        (deep, (), "RECURSION"),
        (generator, (), "GENERATOR"),
        (coroutine, (), "GENERATOR"),
        (returns_object, (), "UNSUPPORTED_TYPE"),
        (huge, (), "LIMIT"),
        (long_list, (), "LIMIT"),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_break(function, args, name):
    code, got, detail, file, line, column = report(function, *args)["break"]
    assert got == name
    assert file == __file__
    assert line >= function.__code__.co_firstlineno


def test_break_place():
    assert report(raises)["break"][3:] == (__file__, raises.__code__.co_firstlineno + 1, 5)


def test_nothing_runs():
    """Capture looks at objects of user types without running their code."""
    ran = []

    class Loud:
        def __hash__(self):
            ran.append("hash")
            return 1

        def __eq__(self, other):
            ran.append("eq")
            return True

        def __bool__(self):
            ran.append("bool")
            return True

        @property
        def p(self):
            ran.append("property")
            return 1

        def __getattr__(self, name):
            ran.append("getattr")
            return 1

    loud = Loud()

    def f(a, b):
        return a.p, a.q, a == b, bool(a), {a: 1}, a is b

    report(f, loud, loud)
    assert ran == []


# ---- guards ----------------------------------------------------------------------------------------


def test_guards_name_their_sources():
    def f(a, b, c):
        return a[0] + b["k"] + SCALE + LIVE.y

    guards = report(f, [1], {"k": 2}, 99)["guards"]
    assert "a[0] equals 1" in guards
    assert "b['k'] equals 2" in guards
    assert "SCALE equals 3" in guards
    assert "LIVE.y equals 4" in guards
    assert not any(g.startswith("c") for g in guards)  # never looked at


def test_same_object_twice_is_guarded():
    def f(a, b):
        return a is b

    x = [1]
    assert any("same 1" in g for g in report(f, x, x)["guards"])
    assert any("same 0" in g for g in report(f, x, [1])["guards"])


def test_missing_attribute_is_guarded():
    def f(o):
        return getattr(o, "absent", 1)

    assert any("o.absent missing" in g for g in report(f, Base(1))["guards"])


def test_symbolic_arguments():
    def scaled(x, n):
        return x * 2.0 + 1.0, n

    got = _native._capture(scaled, (3.0, 4), True)
    assert got["break"] is None and not got["known"]
    assert "x type float" in got["guards"]
    assert "n type int" in got["guards"]

    def decided(x, n):
        return [x] * n if x > 1 else None

    got = _native._capture(decided, (3.0, 4), True)
    assert got["break"] is None and got["known"] and got["result"] == [3.0] * 4
    assert "n equals 4" in got["guards"]


# ---- the decoder ---------------------------------------------------------------------------------


def code_objects(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from code_objects(const)


def test_decodes_the_standard_library():
    root = os.path.dirname(os.__file__)
    count = 0
    for name in sorted(os.listdir(root)):
        if not name.endswith(".py"):
            continue
        with open(os.path.join(root, name), "rb") as file:
            module = compile(file.read(), name, "exec", dont_inherit=True)
        for code in code_objects(module):
            assert _native._capture(code) > 0
            count += 1
    assert count > 5000


def test_the_inverse_of_a_bool_warns_as_in_python():
    def f(x, flag):
        return x + ~flag

    compiled = frameloom.compile(f)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as want:
            warnings.simplefilter("always")
            f(np.ones(3), True)
        with warnings.catch_warnings(record=True) as got:
            warnings.simplefilter("always")
            np.testing.assert_array_equal(compiled(np.ones(3), True), np.full(3, -1.0))
        assert [str(w.message) for w in got] == [str(w.message) for w in want]
