"""The language's parts inside compiled functions: results and side effects are plain Python's, and most are captured whole."""

import numpy as np
import pytest
from compare import assert_same, outcome
from language_cases import CASES, LEFT

import frameloom


def arguments():
    rng = np.random.default_rng(5)
    return [rng.standard_normal(6), rng.standard_normal(6)]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_like_python(function):
    compiled = frameloom.compile(function)
    for _ in range(2):
        want, want_error, want_warned = outcome(function, arguments())
        got, error, warned = outcome(compiled, arguments())
        assert type(error) is type(want_error) and str(error) == str(want_error), (error, want_error)
        assert warned == want_warned
        assert_same(got, want)


@pytest.mark.parametrize("function", [f for f in CASES if f.__name__ not in LEFT], ids=lambda f: f.__name__)
def test_captured_whole(function):
    frameloom.compile(function, fullgraph=True)(*arguments())


@pytest.mark.parametrize("function", [f for f in CASES if f.__name__ in LEFT], ids=lambda f: f.__name__)
def test_left_to_python(function):
    """A function that is captured whole after all loses its mark."""
    with pytest.raises(frameloom.GraphBreak):
        frameloom.compile(function, fullgraph=True)(*arguments())


def test_classes_made_inside_are_new_for_each_call():
    def program(x):
        class Box:
            def __init__(self, a):
                self.a = a

        return Box, Box(x), {"k": [Box(x + 1)]}

    with pytest.raises(frameloom.GraphBreak):
        frameloom.compile(program, fullgraph=True)(np.ones(2))
    compiled = frameloom.compile(program)
    first, second = compiled(np.ones(2)), compiled(np.ones(2))
    assert first[0] is not second[0] and type(first[1]) is first[0] and first[2]["k"][0].a[0] == 2


def test_types_of_classes_made_inside():
    def program(x):
        class Box:
            pass

        return x, type(Box())

    compiled = frameloom.compile(program)
    assert compiled(np.ones(1))[1] is not compiled(np.ones(1))[1]


def test_a_class_made_inside_sees_changes():
    scale = [2.0]

    def program(x):
        k = scale[0]

        class Box:
            factor = k

            def apply(self, v):
                return v * self.factor

        return Box().apply(x)

    compiled = frameloom.compile(program, fullgraph=True)
    assert compiled(np.ones(1))[0] == 2
    scale[0] = 3.0
    assert compiled(np.ones(1))[0] == 3
