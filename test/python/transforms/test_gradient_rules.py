"""frameloom.custom_vjp: functions whose derivative the user gives."""

import dataclasses
import functools

import frameloom
import numpy as np
import pytest
from differences import assert_near

X = np.array([0.3, 1.2, -2.0])


def known(forward=lambda x: (np.sin(x), x), backward=lambda x, g: (g * np.cos(x),), function=np.sin):
    made = frameloom.custom_vjp(lambda x: function(x))
    made.defvjp(forward, backward)
    return made


def test_the_rule_takes_the_place_of_the_derivative():
    straight = known(lambda x: (np.round(x), None), lambda kept, g: (g,), np.round)
    assert_near(frameloom.grad(lambda x: np.sum(straight(x * 3) ** 2))(X), 6 * np.round(X * 3))
    times_seven = known(backward=lambda x, g: (g * 7,))
    assert frameloom.grad(lambda x: times_seven(x) * 2)(1.5) == 14.0
    assert_near(frameloom.grad(lambda x, y: np.sum(times_seven(x) * y), 1)(X, X), np.sin(X))
    assert_near(frameloom.grad(lambda x: np.sum(x) + 0 * np.sum(times_seven(frameloom.stop_gradient(x))))(X), np.ones(3))


def test_where_nothing_is_differentiated_the_function_is_called():
    calls = []
    function = known(lambda x: calls.append(1), None)
    assert_near(function(X), np.sin(X))
    assert_near(frameloom.compile(function, fullgraph=True)(X), np.sin(X))
    assert not calls


def test_derivatives_of_the_rule():
    def softplus(x):
        return np.log(1 + np.exp(x))

    function = known(lambda x: (softplus(x), x), lambda x, g: (g * (1 - 1 / (1 + np.exp(x))),), softplus)
    assert frameloom.grad(function)(100.0) == 1.0
    assert_near(frameloom.grad(frameloom.grad(function))(1.0), np.exp(1.0) / (1 + np.exp(1.0)) ** 2)
    assert_near(frameloom.hessian(lambda x: np.sum(function(x)))(X), np.diag(np.exp(X) / (1 + np.exp(X)) ** 2))
    value, along = frameloom.jvp(function, (X,), (np.ones(3),))
    assert_near(along, np.exp(X) / (1 + np.exp(X)))


def test_trees_and_other_arguments():
    @functools.partial(frameloom.custom_vjp, nondiff_argnums=(0,))
    def apply(name, given):
        return {"y": getattr(np, name)(given["a"]) * given["b"], "n": 3}

    def backward(name, given, g):
        assert name == "sin" and g["n"] is None
        return ({"a": g["y"] * 1000, "b": None},)

    apply.defvjp(lambda name, given: (apply.fun(name, given), given), backward)
    found = frameloom.grad(lambda given: np.sum(apply("sin", given)["y"]) * 2)({"a": X, "b": X})
    assert_near(found["a"], np.full(3, 2000.0))
    assert_near(found["b"], np.zeros(3))


def test_dataclasses_lists_and_missing_cotangents():
    @dataclasses.dataclass
    class Pair:
        a: np.ndarray
        b: list

    @frameloom.custom_vjp
    def total(pair, weight):
        return np.sum(pair.a * pair.b[0]) * weight

    total.defvjp(lambda pair, weight: (total.fun(pair, weight), weight), lambda weight, g: (Pair(None, [g * weight * 5 * np.ones(3)]), None))
    by_pair, by_weight = frameloom.grad(total, (0, 1))(Pair(X, [X * 2]), 3.0)
    assert_near(by_pair.a, np.zeros(3))
    assert_near(by_pair.b[0], np.full(3, 15.0))
    assert by_weight == 0.0


def test_each_call_in_a_loop_has_its_own_rule():
    times_seven = known(backward=lambda x, g: (g * 7,))

    def steps(x):
        for _ in range(30):
            x = times_seven(x) * 0.5
        return np.sum(x)

    assert_near(frameloom.grad(steps)(X), np.full(3, 3.5**30))


def test_a_result_that_is_written_into():
    times_seven = known(backward=lambda x, g: (g * 7,))

    def written(x):
        y = times_seven(x)
        y[0] = 3.0
        return np.sum(y * y)

    assert_near(frameloom.grad(written)(X), 14 * np.sin(X) * [0, 1, 1])


def test_the_cotangent_has_the_dtype_of_the_argument():
    function = known(backward=lambda x, g: (g.astype(np.float64) * 2,))
    found = frameloom.grad(lambda x: np.sum(function(x)))(X.astype(np.float32))
    assert found.dtype == np.float32
    assert_near(found, np.full(3, 2.0))


def explode(*_):
    raise KeyError("no such key")


@pytest.mark.parametrize("forward, backward, words", [
    (explode, None, "forward rule raises KeyError"),
    (lambda x: np.sin(x), None, "gives no pair"),
    (lambda x: (np.sin(x), x), explode, "backward rule raises KeyError"),
    (lambda x: (np.sin(x), x), lambda x, g: g, "a tuple of 1 cotangents"),
    (lambda x: (np.sin(x), x), lambda x, g: (g[:2],), "another shape"),
    (lambda x: (np.sin(x), x), lambda x, g: (np.arange(3),), "must be a float"),
    (lambda x: (np.sin(x), x), lambda x, g: ("text",), "must be a float"),
])  # fmt: skip
def test_a_wrong_rule_is_told(forward, backward, words):
    function = known(forward, backward)
    with pytest.raises(frameloom.GraphBreak, match=words) as told:
        frameloom.grad(lambda x: np.sum(function(x)))(X)
    assert "FL0029" in str(told.value)


def test_what_is_no_function_and_what_has_no_rule():
    with pytest.raises(TypeError, match="expects a function"):
        frameloom.custom_vjp(3)
    bare = frameloom.custom_vjp(np.sin)
    assert_near(bare(X), np.sin(X))
    with pytest.raises(frameloom.GraphBreak, match=r"without defvjp\(\)"):
        frameloom.grad(lambda x: np.sum(bare(x)))(X)
