"""NumPy scalars and floats that are others on each call, or in each part behind a break: versions do not pile up, and
what decides by them is Python's."""

import numpy as np
import pytest

import frameloom

from compare import assert_same


class State:
    def __init__(self, number):
        self.h = number(0.1)
        self.t = number(0)
        self.x = np.array([0.0, 1.0])

    def grow(self):
        self.x = self.x * 0.9 + self.h
        self.t += self.h
        self.h = self.h * 1.01
        return self.x

    def decide(self):
        self.x = self.x * 0.9 + self.h
        self.t += self.h
        if self.t > 1:
            self.x = self.x - 1
        return self.x


def locals_in_a_loop(number, y, n):
    h, t = number(0.1), number(0)
    for k in range(n):
        y = y * 0.9 + h
        if y[0] > 0.3:
            t += h
        h = h * 1.01 if t < 1.0 else h * 0.98
    return y, t, h


def attributes_in_a_loop(number, y, n):
    s = State(number)
    for k in range(n):
        y = y * 0.9 + s.h
        if y[0] > 0.3:
            s.t += s.h
        s.h = s.h * 1.01 if s.t < 1.0 else s.h * 0.98
    return y, s.t, s.h


@pytest.mark.parametrize("function", [locals_in_a_loop, attributes_in_a_loop])
@pytest.mark.parametrize("number", [float, np.float64, np.float32])
def test_parts_of_a_loop(function, number):
    y = np.array([0.0, 1.0])
    compiled = frameloom.compile(function)
    for n in (5, 60, 60):
        assert_same(compiled(number, y, n), function(number, y, n))
    assert len(frameloom.explain(function, number, y, 60).recompiles) <= 12


@pytest.mark.parametrize("number", [float, np.float64, np.float32])
@pytest.mark.parametrize("name, versions", [("grow", 2), ("decide", 5)])
def test_attributes_of_an_instance(number, name, versions):
    method = getattr(State, name)
    compiled = frameloom.compile(method)
    mine, plain = State(number), State(number)
    for _ in range(30):
        assert_same(compiled(mine), method(plain))
        assert_same([mine.t, mine.h, mine.x], [plain.t, plain.h, plain.x])
    report = compiled._report()
    assert report["captures"] <= versions
    assert report["hits"] >= 25


@pytest.mark.parametrize("number", [float, np.float64, np.int64])
def test_arguments_that_are_decided_by(number):
    def f(a, x):
        return a * x if x > 10 else a - x

    compiled = frameloom.compile(f)
    a = np.arange(4.0)
    for i in range(40):
        assert_same(compiled(a, number(i)), f(a, number(i)))
    assert compiled._report()["hits"] >= 20


def test_a_few_values_have_a_version_each():
    def f(a, x):
        return a * x if x > 1 else a - x

    compiled = frameloom.compile(f, fullgraph=True)
    a = np.arange(4.0)
    for _ in range(5):
        for x in (0.5, 1.5, 2.5):
            assert_same(compiled(a, x), f(a, x))
    assert compiled._report()["captures"] == 3


def test_the_old_number_is_told(capfd):
    def f(a, x):
        return a * x

    compiled = frameloom.compile(f)
    a = np.ones(3)
    with frameloom.config.patch(logs="recompiles"):
        for x in (np.float64(1.5), np.float64(2.5)):
            compiled(a, x)
    assert "x was np.float64(1.5) and is np.float64(2.5)" in capfd.readouterr().err
