"""What captured functions ask of the interpreter: context variables, texts of classes, the recursion limit."""

import contextvars
import sys

import numpy as np
import pytest

import frameloom

LEVEL = contextvars.ContextVar("level", default=2.0)
BARE = contextvars.ContextVar("bare")


def check_whole(function, *arguments):
    """The same twice, compiled and plainly; whole."""
    compiled = frameloom.compile(function, fullgraph=True)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(*arguments), function(*arguments))
    return compiled


def test_a_value_is_guarded():
    compiled = check_whole(lambda x: x * LEVEL.get(), np.arange(3.0))
    token = LEVEL.set(5.0)
    np.testing.assert_array_equal(compiled(np.arange(3.0)), [0, 5, 10])
    LEVEL.reset(token)
    np.testing.assert_array_equal(compiled(np.arange(3.0)), [0, 2, 4])


def test_what_holds_nothing():
    compiled = check_whole(lambda x: x * BARE.get(3.0), np.arange(3.0))
    contextvars.copy_context().run(lambda: (BARE.set(4.0), np.testing.assert_array_equal(compiled(np.arange(3.0)), [0, 4, 8])))
    with pytest.raises(LookupError):
        frameloom.compile(lambda x: x * BARE.get())(np.arange(3.0))


def inner(x):
    return x * LEVEL.get()


def test_set_and_reset():
    def function(x):
        token = LEVEL.set(7.0)
        try:
            first = inner(x)
        finally:
            LEVEL.reset(token)
        return first + inner(x)

    check_whole(function, np.arange(3.0))
    assert LEVEL.get() == 2.0


def test_objects_are_kept():
    def function(x):
        found = {}
        token = BARE.set(found)
        BARE.get()["y"] = x + 1
        BARE.reset(token)
        return found["y"]

    check_whole(function, np.arange(3.0))


def test_what_stays_set_is_left_to_python():
    def function(x):
        LEVEL.set(LEVEL.get() + 1)
        return x * LEVEL.get()

    def outcome(function):
        return contextvars.copy_context().run(lambda: (function(np.arange(3.0)).tolist(), function(np.arange(3.0)).tolist(), LEVEL.get()))

    assert outcome(frameloom.compile(function)) == outcome(function) == ([0, 3, 6], [0, 4, 8], 4.0)


@pytest.mark.parametrize("reset", [True, False])
def test_in_loops(reset):
    def function(x):
        tokens = []
        for i in range(20):
            x = x + LEVEL.get()
            tokens.append(LEVEL.set(float(i)))
            if reset:
                LEVEL.reset(tokens.pop())
        while tokens:
            LEVEL.reset(tokens.pop())
        return x

    for _ in range(2):
        np.testing.assert_array_equal(frameloom.compile(function)(np.zeros(2)), function(np.zeros(2)))
    assert LEVEL.get() == 2.0


def test_a_token_is_used_once():
    def function(x):
        token = LEVEL.set(1.0)
        LEVEL.reset(token)
        LEVEL.reset(token)
        return x

    for one in (function, frameloom.compile(function)):
        with pytest.raises(RuntimeError, match="used once"):
            one(np.zeros(2))
    assert LEVEL.get() == 2.0


class Meta(type):
    pass


class Made(metaclass=Meta):
    pass


def text(x):
    return str(Made)


def test_texts_of_classes():
    check_whole(text, np.zeros(1))
    compiled = frameloom.compile(text)
    assert compiled(np.zeros(1)) == str(Made)
    Meta.__repr__ = lambda cls: "changed"
    assert compiled(np.zeros(1)) == "changed"


def test_the_recursion_limit_is_guarded():
    compiled = check_whole(lambda x: x + sys.getrecursionlimit(), np.zeros(1))
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 7)
    assert compiled(np.zeros(1)) == before + 7
    sys.setrecursionlimit(before)
    assert compiled(np.zeros(1)) == before


class Counted(type):
    asked = 0

    def __instancecheck__(cls, instance):
        Counted.asked += 1
        return getattr(instance, "counts", False) or super().__instancecheck__(instance)


class Number(metaclass=Counted):
    pass


class Odd(Number):
    pass


class Foreign:
    counts = True


def test_a_metaclass_decides_what_an_instance_is():
    def function(x, k):
        return x + isinstance(k, Number), isinstance(k, (str, Number)), isinstance(k, Odd)

    compiled = frameloom.compile(function, fullgraph=True)
    for k in (Number(), Odd(), Foreign(), 3, "text", Number):
        before = Counted.asked
        found = [one.tolist() if isinstance(one, np.ndarray) else one for one in function(np.zeros(1), k)]
        between = Counted.asked
        for _ in range(2):
            assert [one.tolist() if isinstance(one, np.ndarray) else one for one in compiled(np.zeros(1), k)] == found
        assert Counted.asked - between == 2 * (between - before)
