"""Decisions on array data that only lead to an exception are checked when the plan runs; bools of arrays are results.

The programs' own assertions are to be compiled as they stand: PYTEST_DONT_REWRITE.
"""

import numpy as np
import pytest

import frameloom
from compare import assert_same, outcome


def raise_if_negative(x):
    if (x < 0).any():
        raise ValueError(f"least is {x.min()}")
    return np.sqrt(x) + 1


def asserted(x):
    assert np.isfinite(x).all(), "not finite"
    return x * 2


def asserted_plainly(x):
    assert x.max() > -10
    return x.sum()


def raise_unless(x):
    if not np.all(x < 100):
        raise OverflowError("large")
    else:
        y = x - 1
    return y


def raised_and_caught(x):
    try:
        if x[0] == 7:
            raise KeyError(3)
        return x + 1
    except KeyError as error:
        return x + error.args[0]


def in_a_loop(x):
    for k in range(3):
        if x[k] < 0:
            raise IndexError(f"at {k}")
        x = x * 1.5
    return x


def written_before(x):
    x += 1
    if x.sum() > 50:
        raise RuntimeError("much")
    x *= 2
    return None


def in_a_call(x):
    def check(y):
        if np.isnan(y).any():
            raise FloatingPointError("nan")
        return y

    return check(x) + check(x * 2)


def deleted(x):
    if x.any():
        pass
    else:
        raise ZeroDivisionError
    return 1 / x.sum()


PROGRAMS = [raise_if_negative, asserted, asserted_plainly, raise_unless, raised_and_caught, in_a_loop, written_before,
            in_a_call, deleted]
INPUTS = [[1.0, 2.0, 3.0], [-1.0, 2.0, 3.0], [7.0, 1.0, 2.0], [np.nan, 1.0, 2.0], [np.inf, 1.0, 1.0], [200.0, 1.0, -1.0],
          [0.0, 0.0, 0.0], [-20.0, -30.0, -11.0], [1.0, 2.0, -3.0], [1.0, 2.0, 4.0]]


@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_like_python(program, backend):
    compiled = frameloom.compile(program, backend=backend)
    with np.errstate(all="ignore"):
        for numbers in INPUTS:
            one, other = np.array(numbers), np.array(numbers)
            want, want_error, _ = outcome(program, [one])
            got, error, _ = outcome(compiled, [other])
            assert type(error) is type(want_error) and str(error) == str(want_error)
            if want_error is None:
                assert_same(got, want)
            assert_same(other, one)


@pytest.mark.parametrize("program", PROGRAMS)
def test_captured_whole(program):
    frameloom.compile(program, fullgraph=True)(np.array([1.0, 2.0, 3.0]))


def branches(x):
    if x.sum() > 0:
        return x
    return -x


def both_raise(x):
    if x.any():
        raise ValueError
    raise KeyError


def raises_after_more(x):
    if x.any():
        if x.all():
            raise ValueError
    return x


@pytest.mark.parametrize("program", [branches, both_raise, raises_after_more])
def test_other_decisions_are_left_to_python(program):
    with pytest.raises((frameloom.GraphBreak, ValueError, KeyError)):
        frameloom.compile(program, fullgraph=True)(np.ones(3))
    compiled = frameloom.compile(program)
    for x in (np.ones(3), np.zeros(3), -np.ones(3), np.array([0.0, 1.0, 0.0])):
        want, want_error, _ = outcome(program, [x])
        got, error, _ = outcome(compiled, [x])
        assert type(error) is type(want_error)
        if want_error is None:
            assert_same(got, want)


RESULTS = """bool(x.any()) | not x.any() | not not (x > 0).all() | np.array_equal(x, y) | np.allclose(x, y) | np.array_equiv(x, y)
(bool(x.sum() > y.sum()), x + 1) | [np.allclose(x, x), not np.allclose(x, y)] | {'same': np.array_equal(x, y)} | bool(x[0]) | isinstance(bool(x[1]), bool)
np.array_equal(x[:2], y) | bool(x[:1]) | np.where(np.array_equal(x, y), x, y)""".replace("\n", " | ")


@pytest.mark.parametrize("expression", RESULTS.split(" | "))
def test_bools_are_results(expression):
    program = eval(f"lambda x, y: {expression}", {"np": np})
    compiled = frameloom.compile(program, fullgraph=True)
    values = [np.array(n) for n in ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [-1.0, np.nan, 2.0], [1.0, 2.0, 3.0 + 1e-12])]
    for x in values:
        for y in values:
            assert_same(compiled(x, y), program(x, y))


def test_identity_of_a_bool_is_not_guessed():
    compiled = frameloom.compile(lambda x: bool(x.any()) is True)
    assert compiled(np.ones(2)) is True and compiled(np.zeros(2)) is False
    compiled = frameloom.compile(lambda x: (x.any().item() is False, x.any().item() is None))
    assert compiled(np.ones(2)) == (False, False) and compiled(np.zeros(2)) == (True, False)


@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_integer_powers(dtype, backend):
    compiled = frameloom.compile(lambda a, b: (a**b, b ** a[:1], np.power(a, b[0])), backend=backend, fullgraph=True)
    plain = lambda a, b: (a**b, b ** a[:1], np.power(a, b[0]))  # noqa: E731
    values = np.array([3, 0, 2, 7, 1], dtype)
    for b in ([1, 2, 3, 0, 5], [0, 0, 0, 0, 0], [1, 2, -1, 3, 4], [63, 64, 100, 5, 1], [-1, -2, -3, -4, -5]):
        want, want_error, _ = outcome(plain, [values, np.array(b, dtype)])
        got, error, _ = outcome(compiled, [values, np.array(b, dtype)])
        assert type(error) is type(want_error) and str(error) == str(want_error)
        if want_error is None:
            assert_same(got, want)
