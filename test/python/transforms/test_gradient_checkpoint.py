"""frameloom.checkpoint: calls whose values a derivative computes again."""

import os

import frameloom
import numpy as np
import pytest
from differences import assert_near
from processes import printed

RNG = np.random.default_rng(5)
X, W = RNG.standard_normal((6, 4)), RNG.standard_normal((4, 4))


def layer(w, x):
    h = np.exp(-np.tanh(x @ w) ** 2)
    return np.sin(h @ w) * x + h[::-1]


def stack(call):
    def loss(w, x):
        for scale in (1.0, 2.0, 0.5):
            x = call(w * scale, x)
        return np.sum(x**2)

    return loss


def by_branch(call):
    def loss(w, x):
        y = call(lambda w, x: np.sin(x @ w) if np.sum(x) > 0 else np.cos(x @ w))(w, x)
        return np.sum(y * x)

    return loss


def by_loop(call):
    def many(w, x):
        for i in range(40):
            x = np.sin(x @ w) + x * i
        return x

    return lambda w, x: np.sum(call(many)(w, x) ** 2)


def in_loop(call):
    inner = call(layer)

    def loss(w, x):
        for _ in range(40):
            x = inner(w, x) * 0.5
        return np.sum(x)

    return loss


def trees(call):
    def both(given):
        return {"y": np.tanh(given["x"] @ given["w"]), "n": 3, "z": (given["x"] ** 2,)}

    def loss(w, x):
        made = call(both)({"x": x, "w": w})
        return np.sum(made["y"] * made["z"][0]) * made["n"]

    return loss


def nested(call):
    inner = call(layer)
    return lambda w, x: np.sum(call(lambda w, x: inner(w, np.exp(-inner(w, x))))(w, x))


def of_library(call):
    return lambda w, x: np.sum(call(lambda w, x: np.sin(x @ np.linalg.inv(w @ w.T + np.eye(4))))(w, x))


def with_rule(call):
    known = frameloom.custom_vjp(np.sin)
    known.defvjp(lambda x: (np.sin(x), x), lambda x, g: (g * np.cos(x) * 2,))
    return lambda w, x: np.sum(call(lambda w, x: known(np.tanh(x @ w)))(w, x))


def of_complex(call):
    return lambda w, x: np.real(np.sum(call(lambda w, x: (1j * (x @ w) + np.sin(x)) ** 2 * (x + 2j))(w, x)))


def of_writes(call):
    def written(w, x):
        y = np.tanh(x @ w)
        y[0] += np.sin(y[1])
        y[:, 1] = 2.0
        return y

    return lambda w, x: np.sum(call(written)(w, x) ** 3)


def of_nothing(call):
    return lambda w, x: np.sum(call(lambda w, x: x)(w, x) * call(lambda w, x: 3.0)(w, x))


def of_gradients(call):
    """A derivative that is taken inside of the call, and one of what is outside."""
    inner = frameloom.grad(lambda w, x: np.sum(np.sin(x @ w)))
    return lambda w, x: np.sum(call(lambda w, x: np.tanh(inner(w, x)))(w, x) ** 2)


PROGRAMS = [lambda call: stack(call(layer)), by_branch, by_loop, in_loop, trees, nested, of_library, with_rule, of_complex, of_writes,
            of_nothing, of_gradients]


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_derivatives_are_those_of_the_function(program):
    plain, again = program(lambda fun: fun), program(frameloom.checkpoint)
    for argnums in (0, 1, (0, 1)):
        for want, found in zip(frameloom.value_and_grad(plain, argnums)(W, X), frameloom.value_and_grad(again, argnums)(W, X)):
            for one, two in zip(want if isinstance(want, tuple) else (want,), found if isinstance(found, tuple) else (found,)):
                assert_near(two, one)
    assert_near(again(W, X), plain(W, X))
    assert_near(frameloom.compile(again)(W, X), plain(W, X))


@pytest.mark.parametrize("program", [lambda call: stack(call(layer)), trees, nested, of_complex, of_writes])
def test_derivatives_of_any_order(program):
    x, w = X[:2, :2], W[:2, :2]
    plain, again = program(lambda fun: fun), program(frameloom.checkpoint)
    assert_near(frameloom.hessian(again)(w, x), frameloom.hessian(plain)(w, x))
    for want, found in zip(frameloom.jvp(plain, (w, x), (w, x)), frameloom.jvp(again, (w, x), (w, x))):
        assert_near(found, want)


def test_batches_of_derivatives():
    plain, again = (frameloom.vmap(frameloom.grad(stack(call(layer))), in_axes=(None, 0)) for call in (lambda fun: fun, frameloom.checkpoint))
    xs = RNG.standard_normal((3, 6, 4))
    assert_near(again(W, xs), plain(W, xs))


def test_side_effects_happen_once():
    calls = []

    def noted(x):
        calls.append(1)
        return np.sin(x) * x

    gradient = frameloom.grad(lambda x: np.sum(frameloom.checkpoint(noted)(x)))
    for i in range(3):
        gradient(X)
        assert len(calls) == i + 1


def test_what_is_raised_inside():
    def fails(x):
        if x.shape[0] == 6:
            raise KeyError("inside")
        return x * x

    def loss(x):
        try:
            x = frameloom.checkpoint(fails)(x)
        except KeyError:
            x = np.sin(x)
        return np.sum(frameloom.checkpoint(lambda x: np.exp(x))(x))

    assert_near(frameloom.grad(loss)(X), np.exp(np.sin(X)) * np.cos(X))
    with pytest.raises(KeyError, match="inside"):
        frameloom.grad(lambda x: np.sum(frameloom.checkpoint(fails)(x)))(X)
    with pytest.raises(TypeError, match="expects a function"):
        frameloom.checkpoint(3)


def test_the_function_keeps_its_name():
    assert frameloom.checkpoint(layer).__name__ == "layer" and frameloom.checkpoint(layer).__wrapped__ is layer


MEMORY = """
import resource
import numpy as np
import frameloom

def layer(w, x):
    h = np.exp(-np.tanh(x @ w) ** 2)
    return np.sin(np.cos(h @ w) @ w) * x

call = frameloom.checkpoint(layer) if CHECKPOINT else layer

def loss(w, x):
    for _ in range(8):
        x = call(w, x)
        x = np.sin(x)
    return np.sum(x)

w, x = np.ones((16, 16)), np.ones((40000, 16))
gradient = frameloom.grad(loss)
gradient(w, x[:100].copy())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gradient(w, x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 5000)  # in arrays like x, which has 5 MB
"""


def test_values_inside_take_no_memory_until_they_are_needed(tmp_path):
    os.chmod(tmp_path, 0o700)
    plain, again = (int(printed(f"CHECKPOINT = {on}\n" + MEMORY, environment={"FRAMELOOM_CACHE_DIR": str(tmp_path)})) for on in (False, True))
    assert again < 0.6 * plain
