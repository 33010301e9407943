"""Arrays that a function makes while it is captured are constants: what is made of them alone is made once."""

import warnings

import numpy as np
import pytest

import frameloom
from compare import at_once


def with_table(body, table):
    """A function of x whose `table` is a literal."""
    scope = {"np": np}
    exec(f"def f(x):\n    table = np.array({table!r}, dtype=np.float32)\n    {body}", scope)
    return scope["f"]


def numbers(rows, columns):
    values = np.random.default_rng(3).normal(size=(rows, columns)).round(3)
    return tuple(tuple(float(v) for v in row) for row in values)


BODIES = {
    "a product": "return np.tanh(x @ table)",
    "a product from the left": "return table.T @ x.T",
    "two products": "return (x @ table) @ (table.T * 2)",
    "computed in a kernel of its own": "return x @ (table / np.abs(table).sum(axis=0))",
    "computed and returned": "s = np.exp(table); return x @ s, s, s.sum(0)",
    "written over": "s = np.cumsum(table, 0); y = x @ s; s[1] = x[0, 0]; return y, s",
    "updated with each call": "s = table * 2; s += x[0, 0]; return s, x @ s",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_values(body):
    f = with_table(body, numbers(60, 90))
    compiled = frameloom.compile(f)
    for i in range(4):
        x = np.random.default_rng(i).normal(size=(7, 60)).astype(np.float32)
        got, expected = compiled(x), f(x)
        for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, expected))):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
            a[...] = 0  # a result is the caller's


def test_every_call_warns():
    rows = tuple((0.0, *row[1:]) for row in numbers(60, 90))
    f = with_table("return x @ np.cumsum(1 / table, 1)", rows)
    compiled, x = frameloom.compile(f), np.ones((7, 60), np.float32)
    for call in (f, compiled, compiled, compiled):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            call(x)
        assert ["divide by zero" in str(w.message) for w in seen if w.category is RuntimeWarning][:1] == [True]


def test_eight_threads_make_the_first_call():
    f = with_table("return (x @ table).sum(1)", numbers(90, 200))
    compiled, x = frameloom.compile(f), np.ones((7, 90), np.float32)
    results = at_once(8, lambda: [compiled(x) for _ in range(3)])
    for result in results:
        for y in result:
            np.testing.assert_allclose(y, f(x), rtol=1e-4)
