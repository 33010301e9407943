"""Classes made inside of compiled functions are new for each call; what else the language has is in test_conformance.py."""

import numpy as np
import pytest

import frameloom


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
