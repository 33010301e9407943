"""The helpers of the tests see what they are for: each difference between two values or two calls is one for them."""

import collections
import warnings

import numpy as np
import pytest
from compare import assert_same, assert_same_call, check_calls, copied, described, outcome, told

import frameloom

A = np.arange(6.0).reshape(2, 3)
FROZEN = A.copy()
FROZEN.flags.writeable = False
NEAR = A + 1e-12

DIFFERENT = [
    (1, 1.0), (1, True), (0.0, 0.5), ([1], (1,)), ([1], [1, 2]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({"a": 1}, {"a": 2}), ("a", "b"),
    (collections.deque([1], 3), collections.deque([1], 4)), (collections.defaultdict(int), collections.defaultdict(list)),
    ({1}, {2}), (int, float), (None, 0), (np.float64(1), 1.0), (np.float64(1), np.float32(1)), (np.int8(1), np.int8(2)),
    (A, A.astype("f4")), (A, A.reshape(3, 2)), (A, np.asfortranarray(A)), (A, FROZEN), (A, A + 1), (A, A.astype("c16")), (A, A.view(np.ma.MaskedArray)),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])), (np.array([1, "a"], object), np.array([1.0, "a"], object)),
    (np.array([np.nan, 1]), np.array([1, np.nan])), (np.array([np.inf]), np.array([-np.inf])), ([A], [A.T]), ((A, 1), (A, 2)),
    (ValueError("a"), ValueError("b")), (ValueError("a"), KeyError("a")),
]  # fmt: skip
ONLY_DESCRIBED = [(-0.0, 0.0), (np.array([-0.0]), np.array([0.0])), (np.float64(-0.0), np.float64(0.0)), (A, NEAR), (len, max)]


@pytest.mark.parametrize("one, other", DIFFERENT, ids=str)
def test_values_that_differ(one, other):
    with pytest.raises(AssertionError):
        assert_same(one, other)
    assert described(one) != described(other)


def test_iterators_are_what_they_give():
    assert described(iter([1, 2])) == described(iter([1, 2])) != described(iter([1, 3])) != described(iter((1, 3)))
    assert_same(iter([1, 2]), iter([1, 2]))
    with pytest.raises(AssertionError):
        assert_same(iter([1, 2]), iter([1, 3]))


@pytest.mark.parametrize("one, other", ONLY_DESCRIBED, ids=str)
def test_bits_and_names_that_differ(one, other):
    assert described(one) != described(other)


@pytest.mark.parametrize("value", [1, 2.5, "a", A, A.T, A[::-1], FROZEN, [A, (1, {"b": A})], np.float32(0.1), {1, 2}, len, int, object(),
                                   np.array([np.nan, -0.0]), np.array([A, None], object), np.ma.array([1, 2], mask=[0, 1])], ids=str)
def test_a_value_is_itself(value):
    assert_same(value, value)
    assert described(value) == described(value)


def test_bounds():
    assert_same(NEAR, A, rtol=1e-11, atol=1e-11)
    assert_same(1.0 + 1e-12, 1.0, rtol=1e-11)
    assert_same(A * (1 + 1e-15), A)
    for bounds in ({"rtol": 1e-13}, {"ulps": 16}, {"ulps": 0}):
        with pytest.raises(AssertionError):
            assert_same(NEAR, A, **bounds)
    with pytest.raises(AssertionError):
        assert_same(A * (1 + 1e-15), A, ulps=0)
    with pytest.raises(AssertionError):
        assert_same(A * (1 + 1e-12j), A * (1 + 0j), rtol=1e-13)


def warns(x):
    warnings.warn("one", UserWarning)
    return x


def writes(x):
    x[0] = 7.0
    return x * 1


def raises(x):
    raise ValueError("of the test")


CALLS = {"plain": lambda x: x, "warns": warns, "writes": writes, "raises": raises, "more": lambda x: x + 1, "raises another": lambda x: 1 // 0}


@pytest.mark.parametrize("one", CALLS)
@pytest.mark.parametrize("other", CALLS)
def test_calls_that_differ(one, other):
    pairs = [(CALLS[one], np.ones(3)), (CALLS[other], np.ones(3))]
    assert (told(*pairs[0]) == told(*pairs[1])) == (one == other)
    got, want = (outcome(function, (np.ones(3),)) for function, _ in pairs)
    if one == other:
        assert_same_call(got, want)
    else:
        with pytest.raises(AssertionError):
            assert_same_call(got, want)


@pytest.mark.parametrize("function", [lambda x: x + (frameloom.is_compiling() * 1.0), lambda x: x.sum(axis=0) if frameloom.is_compiling() else x])
def test_a_compiled_function_that_differs(function):
    with pytest.raises(AssertionError):
        check_calls(function, (A,), (A,))


def test_what_a_plain_function_raises_is_no_answer_unless_asked_for():
    with pytest.raises(ValueError, match="of the test"):
        check_calls(raises, (A,))
    check_calls(raises, (A,), raises=True)


def test_versions_are_counted():
    with pytest.raises(AssertionError):
        check_calls(lambda x: x + 1, (A,), (A.astype("f4"),), versions=1)
    check_calls(lambda x: x + 1, (A,), (A.astype("f4"),), versions=2)


def test_copies_lie_as_what_they_are_of():
    given = [A.T, [1, 2], 3, A[::2]]
    own = copied(given)
    assert own[0].strides == A.T.strides and own[1] == [1, 2] and own[1] is not given[1] and own[0] is not given[0]
