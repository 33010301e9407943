"""What frameloom.grad and its like take and give, and how they fail."""

import collections
import dataclasses
import math
import threading
import warnings

import frameloom
import numpy as np
import pytest
from differences import assert_near, by_differences

X = np.array([0.5, -1.0, 2.0])


def test_argnums():
    def f(x, y, z):
        return np.sum(x * y) + z * z

    assert_near(frameloom.grad(f)(X, 2 * X, 3.0), 2 * X)
    assert_near(frameloom.grad(f, 1)(X, 2 * X, 3.0), X)
    by_two = frameloom.grad(f, (0, -1))(X, 2 * X, 3.0)
    assert isinstance(by_two, tuple) and by_two[1] == 6.0 and type(by_two[1]) is float
    assert_near(by_two[0], 2 * X)
    assert frameloom.grad(f, argnums=(2,))(X, X, 1.5) == (3.0,)


@pytest.mark.parametrize("number", [2.0, np.float64(2), np.float32(2), np.array(2.0), np.array(2, np.float32), np.float16(2)], ids=repr)
def test_a_gradient_has_the_type_of_the_argument(number):
    found = frameloom.grad(lambda x: x * x * x)(number)
    assert type(found) is type(number) and found == 12
    assert getattr(found, "dtype", None) == getattr(number, "dtype", None)


Pair = collections.namedtuple("Pair", "weight bias")


@dataclasses.dataclass
class Layer:
    weight: np.ndarray
    scale: float


def test_trees():
    def f(tree):
        return np.sum(tree["a"][0] * tree["b"].weight) + tree["b"].bias * tree["layer"].scale + np.sum(tree["layer"].weight ** 2)

    tree = {"a": [X, None], "b": Pair(2 * X, 3.0), "layer": Layer(X, 4.0)}
    found = frameloom.grad(f)(tree)
    assert found.keys() == tree.keys() and found["a"][1] is None and type(found["b"]) is Pair and type(found["layer"]) is Layer
    assert_near(found["a"][0], 2 * X)
    assert_near(found["b"].weight, X)
    assert (found["b"].bias, found["layer"].scale) == (4.0, 3.0)
    assert_near(found["layer"].weight, 2 * X)


def test_aux_and_side_effects():
    seen = []

    def f(x, *, power):
        seen.append(power)
        return np.sum(x**power), {"double": x * 2}

    gradient, aux = frameloom.grad(f, has_aux=True)(X, power=2)
    assert seen == [2]
    assert_near(gradient, 2 * X)
    assert_near(aux["double"], 2 * X)
    (value, aux), gradient = frameloom.value_and_grad(f, has_aux=True)(X, power=3)
    assert seen == [2, 3]
    assert_near(value, np.sum(X**3))
    assert_near(gradient, 3 * X**2)


def test_arguments_are_not_changed():
    def f(x):
        x *= 2
        return np.sum(x * x)

    x = X.copy()
    assert_near(frameloom.grad(f)(x), 8 * X)
    np.testing.assert_array_equal(x, X)


def test_the_same_array_from_elsewhere_is_a_constant():
    def f(x):
        return np.sum(x * X)

    assert_near(frameloom.grad(f)(X), X)
    assert_near(frameloom.grad(lambda x, y: np.sum(x * y))(X, X), X)
    assert_near(frameloom.grad(lambda x, y: np.sum(x * y), (0, 1))(X, X)[1], X)


def test_nested():
    assert frameloom.grad(frameloom.grad(frameloom.grad(lambda x: x**4)))(2.0) == 48.0
    inner = frameloom.grad(lambda x, y: np.sum(x * x * y))
    assert_near(frameloom.grad(lambda x: np.sum(inner(x, x)))(X), 4 * X)


def test_inside_of_a_compiled_function():
    @frameloom.compile(fullgraph=True)
    def step(x):
        for _ in range(3):
            x = x - 0.1 * frameloom.grad(lambda y: np.sum(y * y))(x)
        return x

    assert_near(step(X), X * 0.8**3)
    both = frameloom.compile(lambda x: (frameloom.vjp(np.sin, x, cotangent=x)[1][0], frameloom.jvp(np.sin, (x,), (x,))[1]), fullgraph=True)
    for found in both(X):
        assert_near(found, np.cos(X) * X)
    assert_near(frameloom.grad(frameloom.compile(lambda x: np.sum(x * x)))(X), 2 * X)


def test_sizes_that_change():
    gradient = frameloom.grad(lambda x: np.sum(np.sin(x)[1:] * x[:-1]) + np.mean(x) + x.max())
    for n in (3, 4, 5, 9, 17):
        x = np.linspace(0.1, 1.9, n)
        expected = by_differences(lambda x: np.sum(np.sin(x)[1:] * x[:-1]) + np.mean(x) + x.max(), x)
        assert_near(gradient(x), expected)


def test_stop_gradient():
    assert_near(frameloom.grad(lambda x: np.sum(x * frameloom.stop_gradient(x)))(X), X)
    assert frameloom.grad(lambda x: x * frameloom.stop_gradient(x * x))(3.0) == 9.0
    z = X + 1j
    assert_near(frameloom.grad(lambda z: np.sum(np.real(z * frameloom.stop_gradient(z))))(z), z)
    assert frameloom.stop_gradient(X) is X


def test_complex_gradients_are_jaxs():
    """df/dx - i df/dy for a real function of z = x + iy."""
    z = np.array([1 + 2j, -0.5j])
    assert_near(frameloom.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * np.conj(z))
    assert_near(frameloom.grad(lambda z: np.sum(np.real(np.exp(z) * z)))(z), np.exp(z) * (z + 1))
    assert_near(frameloom.grad(lambda z: np.sum(np.imag(z * z)))(z), -1j * 2 * z)


def test_branches_and_loops():
    def f(x):
        total = 0.0
        for i in range(20):
            total = total + np.sum(np.sin(x * i)) if i % 3 else total * 1.01
        if total > 0:
            return total * total
        return -total

    for x in (X, -X):
        assert_near(frameloom.grad(f)(x), by_differences(f, x), 1e-5)

    def g(x):
        return x * x if x > 0 else math.exp(x) * 3

    assert frameloom.grad(g)(2.0) == 4.0
    assert frameloom.grad(g)(-1.0) == pytest.approx(3 * math.exp(-1))


def runge_kutta(y, k):
    for _ in range(200):
        first = np.stack([y[1], -k[0] * np.sin(y[0]) - k[1] * y[1]])
        z = y + 0.02 * first
        y = y + 0.01 * (first + np.stack([z[1], -k[0] * np.sin(z[0]) - k[1] * z[1]]))
    return np.sum(y * y)


def by_index(x, k):
    total = 0.0
    for i in range(50):
        total = total * 0.9 + np.sum(x[1] * k[i % 2] ** i) + np.sin(total)
    return total


def kept_states(x, k):
    kept = np.zeros((40, 2))
    for i in range(40):
        x = np.tanh(x * 1.1 + i * 0.01 * k)
        kept[i] = x
    return np.sum(kept * kept)


def nested(x, k):
    for _ in range(20):
        for _ in range(15):
            x = np.sin(x) + 0.1 * x * k
        x = x * 1.01
    return x.sum()


def branch_inside(x, k):
    for _ in range(30):
        x = x - 0.3 * np.cos(x) * k if x.sum() > 0 else x * x + 0.4
    return x.sum()


def library_inside(x, k):
    for _ in range(12):
        x = x + 0.01 * np.linalg.inv(np.outer(x, k) + np.eye(2)) @ k
    return x.sum()


def descent(x, k):
    for _ in range(30):
        x = x - 0.1 * frameloom.grad(lambda u: np.sum((np.sin(u) * k) ** 2))(x)
    return np.sum(x * x)


def descent_by_hand(x, k):
    for _ in range(30):
        x = x - 0.1 * 2 * np.sin(x) * np.cos(x) * k * k
    return np.sum(x * x)


@pytest.mark.parametrize("function, plain", [(f, f) for f in (runge_kutta, by_index, kept_states, nested, branch_inside, library_inside)] + [
    (descent, descent_by_hand)], ids=lambda f: f.__name__)
def test_loops_that_are_captured_once(function, plain):
    x, k = np.array([0.8, 0.1]), np.array([0.9, 0.3])
    value, (by_x, by_k) = frameloom.value_and_grad(function, (0, 1))(x, k)
    assert_near(value, plain(x, k))
    assert_near(by_x, by_differences(lambda x: plain(x, k), x), 1e-5)
    assert_near(by_k, by_differences(lambda k: plain(x, k), k), 1e-5)


def test_a_loop_of_many_iterations_is_compiled_once():
    def f(x):
        for _ in range(5000):
            x = x + 0.001 * np.sin(x)
        return np.sum(x)

    x = np.linspace(0.1, 1, 4)
    gradient = frameloom.grad(f)
    assert_near(gradient(x), by_differences(f, x), 1e-5)
    assert "loom.for" in str(frameloom.explain(gradient, x))


def test_ties_share():
    x = np.array([1.0, 2.0, 2.0])
    np.testing.assert_array_equal(frameloom.grad(lambda x: x.max())(x), [0, 0.5, 0.5])
    np.testing.assert_array_equal(frameloom.grad(lambda x: np.sum(np.maximum(x, 2.0)))(x), [0, 0.5, 0.5])


def test_corners():
    zeros = np.zeros(3)
    np.testing.assert_array_equal(frameloom.grad(lambda x: np.prod(x))(np.array([0.0, 2.0, 3.0])), [6, 0, 0])
    np.testing.assert_array_equal(frameloom.grad(lambda x: np.prod(x))(zeros), zeros)
    np.testing.assert_array_equal(frameloom.grad(lambda x: np.sum(x**2))(zeros), zeros)
    np.testing.assert_array_equal(frameloom.grad(lambda x: np.sum(x**0.0))(zeros), zeros)
    np.testing.assert_array_equal(frameloom.grad(lambda x: np.sum(np.hypot(x, x)))(zeros), zeros)
    assert frameloom.grad(lambda x: np.sum(x))(np.zeros((0, 3))).shape == (0, 3)
    assert frameloom.grad(lambda x: 1.0)(2.0) == 0.0
    np.testing.assert_array_equal(frameloom.grad(lambda x: np.sum(np.floor(x)) + np.sum(x > 0))(X), zeros)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(frameloom.grad(lambda x: np.sum(np.sqrt(x)))(zeros)).all()


def test_warnings_beside_a_derivative_are_shown():
    """Of the derivative itself none is; what the compiled function does besides warns as ever."""
    @frameloom.compile(fullgraph=True)
    def step(x):
        gradient = frameloom.grad(lambda y: np.sum(np.sqrt(y)))(x)
        return np.log(x), gradient

    x = np.array([0.0, 1.0])
    for _ in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            logarithm, gradient = step(x)
        assert [str(w.message) for w in caught] == ["divide by zero encountered in log"]
        np.testing.assert_array_equal(logarithm, [-np.inf, 0])
        np.testing.assert_array_equal(gradient, [np.inf, 0.5])


@pytest.mark.parametrize("state", [{"all": "ignore"}, {"all": "warn"}, {"divide": "ignore"}, {"all": "raise"}], ids=str)
def test_error_states_inside_of_what_is_differentiated(state):
    def f(x):
        with np.errstate(**state):
            y = 1 / x
        return np.sum(np.where(np.isinf(y), 0.0, y)) + np.sum(np.sqrt(x))

    x = np.array([0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            found = frameloom.grad(f)(x)
            assert found[1] == -0.5 and not np.isfinite(found[0])


def test_an_exception_that_is_caught_ends_what_is_differentiated():
    @frameloom.compile
    def step(x, i):
        try:
            gradient = frameloom.grad(lambda y: y[i] * 2)(x)
        except IndexError:
            gradient = None
        return np.log(x), gradient

    x = np.array([0.0, 1.0])
    for i in (5, 1, 5):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _, gradient = step(x, i)
        assert len(caught) == 1 and (gradient is None) == (i == 5)


def test_vjp_and_jvp():
    def f(x, y):
        return {"product": x * y, "sum": np.sum(x)}

    tangents = (np.ones(3), np.arange(3.0))
    value, pushed = frameloom.jvp(f, (X, 2 * X), tangents)
    assert_near(value["product"], 2 * X * X)
    assert_near(pushed["product"], 2 * X * tangents[0] + X * tangents[1])
    assert pushed["sum"] == 3.0
    cotangent = {"product": np.arange(3.0), "sum": 2.0}
    value, pulled = frameloom.vjp(f, X, 2 * X, cotangent=cotangent)
    assert value["sum"] == np.sum(X)
    assert_near(pulled[0], 2 * X * np.arange(3) + 2)
    assert_near(pulled[1], X * np.arange(3))
    # <cotangent, J tangent> = <J^T cotangent, tangent>
    left = np.sum(pushed["product"] * cotangent["product"]) + pushed["sum"] * cotangent["sum"]
    assert_near(left, sum(np.sum(a * b) for a, b in zip(pulled, tangents)))


def test_jacobian_and_hessian():
    matrix = np.arange(6.0).reshape(2, 3)
    assert_near(frameloom.jacobian(lambda x: matrix @ x)(X), matrix)
    found = frameloom.jacobian(lambda x, s: np.outer(x, x) * s, (0, 1))(X, 2.0)
    assert found[0].shape == (3, 3, 3) and found[1].shape == (3, 3)
    assert_near(found[1], np.outer(X, X))
    assert_near(frameloom.hessian(lambda x: np.sum(x**3) + x[0] * x[1])(X), np.diag(6 * X) + np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    assert frameloom.hessian(lambda x: x**3)(2.0) == 12.0
    assert_near(frameloom.hessian(lambda x: x[:2] ** 3)(X), 6 * np.array([np.diag([X[0], 0, 0]), np.diag([0, X[1], 0])]))


def test_jacobian_and_hessian_of_trees():
    def function(given, s):
        return {"a": given["x"] * s, "b": (np.sum(given["z"] ** 2), given["z"][0] * s)}

    given, z = {"x": X, "z": X[:2] * 2}, X[:2] * 2
    by_given, by_s = frameloom.jacobian(function)(given, 2.0), frameloom.jacobian(function, (0, 1))(given, 2.0)
    assert_near(by_given["a"]["x"], 2 * np.eye(3))
    assert_near(by_given["a"]["z"], np.zeros((3, 2)))
    assert_near(by_given["b"][0]["z"], 2 * z)
    assert_near(by_given["b"][1]["z"], np.array([2.0, 0]))
    assert_near(by_s["a"][0]["x"], 2 * np.eye(3))
    assert_near(by_s["a"][1], X)
    assert_near(by_s["b"][1][1], z[0])
    assert frameloom.hessian(lambda d: d["x"] * d["y"] ** 2)({"x": 2.0, "y": 3.0}) == {"x": {"x": 0.0, "y": 6.0}, "y": {"x": 6.0, "y": 4.0}}
    with pytest.raises(TypeError, match="a Jacobian is that of real numbers"):
        frameloom.jacobian(lambda x: np.exp(1j * x))(X)


@pytest.mark.parametrize("function, argument, error, text", [
    (lambda x: x, X, TypeError, "shape \\(3,\\)"),
    (lambda x: np.sum(x), np.arange(3), TypeError, "int64"),
    (lambda x: x, 3, TypeError, "type int"),
    (lambda x: "text", X, TypeError, "type str"),
    (lambda x: None, X, TypeError, "NoneType"),
    (lambda x: x / 0, 1.0, ZeroDivisionError, "division by zero"),
    (lambda x: math.log(x), -1.0, ValueError, "math domain error"),
    (lambda x: np.linalg.inv(x).sum(), np.zeros((2, 2)), np.linalg.LinAlgError, "Singular"),
    (lambda x: x[5], X, IndexError, "out of bounds"),
], ids=lambda v: getattr(v, "__name__", None) or str(v)[:20])
def test_exceptions_are_pythons(function, argument, error, text):
    with pytest.raises(error, match=text):
        frameloom.grad(function)(argument)


def test_what_has_no_derivative_is_told_with_its_line():
    def f(x):
        y = x * 2
        return np.sum(np.insert(y, 1, 0.0))

    with pytest.raises(frameloom.GraphBreak, match="insert has no derivative") as raised:
        frameloom.grad(f)(X)
    assert raised.value.code == "FL0029"
    assert raised.value.lineno == f.__code__.co_firstlineno + 2 and raised.value.filename == __file__


def test_what_a_mask_chooses():
    def f(x):
        chosen = x[x > 0.1]
        return np.sum(chosen * chosen) + np.sum(np.sin(x[np.nonzero(x < 1)])) + chosen.size

    gradient = frameloom.grad(f)
    for x in (X, np.array([[0.5, 0.2], [-0.3, 2.0]]), -np.abs(X), np.linspace(-1, 2.2, 7)):
        assert_near(gradient(x), by_differences(f, x))
    again = frameloom.grad(lambda x: np.sum(gradient(x) ** 3))
    assert_near(again(X), by_differences(lambda x: np.sum(gradient(x) ** 3), X), 1e-5)


@pytest.mark.parametrize("function", [
    lambda x: np.linalg.svd(x)[0].sum(),  # of a matrix that is not square
    lambda x: np.quantile(x, 0.5, method="nearest"),
    lambda x: np.linalg.qr(x)[0].sum(),
])
def test_options_that_are_not_followed_are_refused(function):
    with pytest.raises(frameloom.GraphBreak, match="FL0029"):
        frameloom.grad(function)(np.ones((2, 3)))


def test_illegal_calls():
    with pytest.raises(TypeError, match="expects a function"):
        frameloom.grad(3)
    for argnums in ("x", (), 1.5, (0, True)):
        with pytest.raises(TypeError, match="argnums"):
            frameloom.grad(lambda x: x, argnums)
    with pytest.raises(IndexError):
        frameloom.grad(lambda x: x, 1)(1.0)
    with pytest.raises(TypeError):
        frameloom.jvp(lambda x: x, (1.0,), (1.0, 2.0))
    with pytest.raises(ValueError, match="shape"):
        frameloom.vjp(lambda x: x * 2, X, cotangent=np.ones(2))


def test_nothing_is_differentiated_where_nothing_is_compiled():
    with frameloom.config.patch(disable=True), pytest.raises(RuntimeError, match="plain Python"):
        frameloom.grad(lambda x: x * x)(1.0)


def test_names_and_documentation():
    def loss(x):
        """The loss."""
        return x * x

    gradient = frameloom.grad(loss)
    assert gradient.__name__ == "grad(loss)" and "The loss." in gradient.__doc__


def test_a_gradient_is_compiled_once():
    gradient = frameloom.grad(lambda x, y: np.sum(x * y))
    for i in range(5):
        gradient(X + i, X)
    assert len(frameloom._native.Callable._report(gradient)["entries"]) == 1


# ---- custom_vjp, as JAX's users write it ----


def tripled():
    """sin(x) * y, whose rule has a factor 3: so it shows where the rule is used."""

    @frameloom.custom_vjp
    def f(x, y=2.0):
        return np.sin(x) * y

    def forward(x, y):
        return f(x, y), (np.cos(x), np.sin(x), y)

    def backward(residuals, g):
        cos, sin, y = residuals
        return [3 * cos * y * g, np.sum(3 * sin * g)]

    f.defvjp(forward, backward)
    return f


def test_the_forward_rule_may_call_the_function():
    f = tripled()
    assert_near(frameloom.grad(lambda x: np.sum(f(x)))(X), 6 * np.cos(X))
    assert_near(frameloom.grad(lambda x: np.sum(f(x, y=4.0)))(X), 12 * np.cos(X))
    assert_near(frameloom.grad(lambda x, y: np.sum(f(x, y)), 1)(X, 4.0), 3 * np.sum(np.sin(X)))
    assert_near(frameloom.grad(lambda x: np.sum(frameloom.grad(lambda x: np.sum(f(x)))(x)))(X), -6 * np.sin(X))
    assert_near(frameloom.vmap(frameloom.grad(f))(X), 6 * np.cos(X))
    with pytest.raises(frameloom.GraphBreak, match="keyword arguments that are not its function's"):
        frameloom.grad(lambda x: f(x, z=x))(1.0)


def test_a_residual_that_is_the_result_has_the_derivative_of_the_rule():
    @frameloom.custom_vjp
    def f(x):
        return np.exp(x)

    def forward(x):
        y = f(x)
        return y, y

    f.defvjp(forward, lambda y, g: (2 * y * g,))
    gradient = frameloom.grad(f)
    for order in range(1, 4):
        assert_near(gradient(1.0), 2.0**order * np.e)
        gradient = frameloom.grad(gradient)


@frameloom.custom_vjp
def of_rows(x, w):
    """Two results; the factors of the rule show where it is used."""
    return np.sin(x) * w, x.sum() * 2.0


of_rows.defvjp(lambda x, w: (of_rows(x, w), (x, w)),
               lambda r, g: (3 * np.cos(r[0]) * r[1] * g[0] + 5 * g[1] * np.ones_like(r[0]), 7 * np.sum(np.sin(r[0]) * g[0])))


def squares(results):
    return np.sum(results[0] ** 2) + np.sum(results[1] ** 2)


ROWS = np.random.default_rng(0).normal(size=(2, 3, 4))
OVER_BATCHES = {  # the same by frameloom.vmap and by a loop
    "one w for all": (lambda x, w: squares(frameloom.vmap(of_rows, (0, None))(x[0], w[0, 0])), lambda x, w: sum(squares(of_rows(r, w[0, 0])) for r in x[0])),
    "a w for each": (lambda x, w: squares(frameloom.vmap(of_rows)(x[0], w[0])), lambda x, w: sum(squares(of_rows(r, v)) for r, v in zip(x[0], w[0]))),
    "twice": (lambda x, w: squares(frameloom.vmap(frameloom.vmap(of_rows, (0, None)))(x, w[:, 0])),
              lambda x, w: sum(squares(of_rows(r, v)) for rows, v in zip(x, w[:, 0]) for r in rows)),
    "the same for all": (lambda x, w: np.sum(frameloom.vmap(lambda r: of_rows(x[0, 0], w[0, 0])[0] * r)(x[0])),
                         lambda x, w: sum(np.sum(of_rows(x[0, 0], w[0, 0])[0] * r) for r in x[0])),
    "a derivative inside": (lambda x, w: np.sum(frameloom.vmap(frameloom.grad(lambda r, v: squares(of_rows(r, v))))(x[0], w[0]) ** 2),
                            lambda x, w: sum(np.sum(frameloom.grad(lambda r, v: squares(of_rows(r, v)))(r, v) ** 2) for r, v in zip(x[0], w[0]))),
}


@pytest.mark.parametrize("name", OVER_BATCHES)
def test_rules_of_functions_over_batches(name):
    batch, loop = OVER_BATCHES[name]
    w = np.arange(1.0, 7).reshape(2, 3)
    for found, expected in zip(frameloom.grad(batch, (0, 1))(ROWS, w), frameloom.grad(loop, (0, 1))(ROWS, w)):
        assert_near(found, expected)
    second = [frameloom.grad(lambda x: np.sum(np.sin(frameloom.grad(f)(x, w))))(ROWS) for f in (batch, loop)]
    assert_near(*second)


def test_threads_that_take_a_derivative_at_once():
    gradient = frameloom.grad(lambda x: np.sum(np.sin(x) * x))
    start, found = threading.Barrier(4), []

    def run(n):
        start.wait()
        found.append((n, gradient(np.ones(n))))

    threads = [threading.Thread(target=run, args=(3 + i % 2,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(n for n, _ in found) == [3, 3, 4, 4]
    for n, by_x in found:
        assert_near(by_x, np.full(n, np.sin(1) + np.cos(1)))
