"""frameloom.vmap: what it takes and gives, what it refuses."""

import collections
import dataclasses

import frameloom
import numpy as np
import pytest

X = np.arange(12.0).reshape(4, 3) / 5 - 1


def assert_rows(got, rows):
    want = np.stack([np.asarray(row) for row in rows])
    assert type(got) is np.ndarray and got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_an_axis_of_each_argument():
    w = np.array([1.0, -2.0, 3.0])

    def f(x, w, scale):
        return np.tanh(x) @ w * scale

    assert_rows(frameloom.vmap(f, in_axes=(0, None, None))(X, w, 2.0), [f(x, w, 2.0) for x in X])
    assert_rows(frameloom.vmap(f, (1, None, 0))(X.T, w, np.arange(4.0)), [f(x, w, s) for x, s in zip(X, np.arange(4.0))])
    assert_rows(frameloom.vmap(f, [-1, None, None])(X.T, w, 2), [f(x, w, 2) for x in X])
    assert_rows(frameloom.vmap(f, (0, None, None))(X[:1], w, 2.0), [f(X[0], w, 2.0)])


def test_keywords_are_mapped_over_their_first_axis():
    assert_rows(frameloom.vmap(lambda x, *, y: x - y)(X, y=2 * X), -X)


def test_results_where_they_are_wanted():
    def f(x):
        return {"sum": x.sum(), "pair": (x[::-1], 7)}

    got = frameloom.vmap(f, out_axes={"sum": 0, "pair": (1, None)})(X)
    assert_rows(got["sum"], [x.sum() for x in X])
    np.testing.assert_array_equal(got["pair"][0], X[:, ::-1].T)
    assert got["pair"][1] == 7
    assert_rows(frameloom.vmap(lambda x: 7)(X), [7] * 4)
    assert_rows(frameloom.vmap(lambda x: X[0], out_axes=0)(X), [X[0]] * 4)


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Layer:
    weight: np.ndarray
    bias: float


def test_trees():
    def f(pair, layer):
        return Pair(pair.left * layer.weight, {"b": pair.right + layer.bias})

    got = frameloom.vmap(f, in_axes=((0, None), None))(Pair(X, 2.0), Layer(X[1], 3.0))
    assert type(got) is Pair
    assert_rows(got.left, X * X[1])
    assert_rows(got.right["b"], [5.0] * 4)
    layers = Layer(X, np.arange(4.0))
    assert_rows(frameloom.vmap(lambda layer: layer.weight.sum() + layer.bias)(layers), X.sum(axis=1) + np.arange(4.0))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex64", "complex128"])
def test_dtypes(dtype):
    x = (X * 4).astype(dtype)
    assert_rows(frameloom.vmap(lambda row: row[::-1] + row)(x), [row[::-1] + row for row in x])


def test_an_element_of_a_vector_is_a_scalar():
    kinds = []

    def f(x):
        kinds.append(type(x))
        return x + 1

    assert_rows(frameloom.vmap(f)(np.arange(3.0)), [1.0, 2.0, 3.0])
    assert kinds == [np.float64]


def test_nested_and_with_derivatives():
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    outer = frameloom.vmap(frameloom.vmap(lambda x, y: x * y, (None, 0)), (0, None))
    assert_rows(outer(a, b), np.outer(a, b))

    def loss(x):
        return np.sum(np.sin(x) ** 2)

    assert_rows(frameloom.vmap(frameloom.grad(loss))(X), np.sin(2 * X))
    assert_rows(frameloom.grad(lambda x: frameloom.vmap(loss)(x).sum())(X), np.sin(2 * X))
    assert_rows(frameloom.vmap(frameloom.hessian(loss))(X), [np.diag(2 * np.cos(2 * x)) for x in X])
    value, slope = frameloom.vmap(frameloom.value_and_grad(loss))(X)
    assert_rows(value, [loss(x) for x in X])
    assert_rows(slope, np.sin(2 * X))


def test_each_element_ends_its_loop_for_itself():
    def collatz(n):
        steps = 0
        while n > 1:
            n = np.where(n % 2 == 0, n // 2, 3 * n + 1)
            steps += 1
        return steps

    numbers = np.array([1, 2, 3, 7, 27])
    assert frameloom.vmap(collatz)(numbers).tolist() == [0, 1, 7, 16, 111]


def test_a_branch_on_an_element():
    def f(x):
        if x.sum() > 0:
            double = x * 2
            return double + 1
        return x - 1

    assert_rows(frameloom.vmap(f)(X), [f(x) for x in X])


def test_an_index_outside_of_its_element_raises():
    @frameloom.vmap
    def f(x, i):
        return x[i]

    assert_rows(f(X, np.array([0, 2, -1, 1])), X[range(4), [0, 2, -1, 1]])
    with pytest.raises(IndexError):
        f(X, np.array([0, 3, 0, 0]))
    with pytest.raises(IndexError):
        f(X, np.array([0, 0, 0, -4]))


def test_an_index_that_nobody_reads_raises():
    @frameloom.vmap
    def f(x, i):
        y = x.copy()
        y[i] = 0.0
        return x

    with pytest.raises(IndexError):
        f(X, np.array([0, 1, 2, 3]))


def test_calls_of_the_library_are_made_for_each_element():
    matrices = np.random.default_rng(1).normal(size=(3, 4, 4)) + 4 * np.eye(4)
    assert_rows(frameloom.vmap(np.linalg.inv)(matrices), [np.linalg.inv(m) for m in matrices])
    values, vectors = frameloom.vmap(np.linalg.eigh)(matrices + matrices.transpose(0, 2, 1))
    assert values.shape == (3, 4) and vectors.shape == (3, 4, 4)
    with pytest.raises(np.linalg.LinAlgError):
        frameloom.vmap(np.linalg.inv)(np.concatenate([matrices, np.zeros((1, 4, 4))]))


def test_side_effects_happen_once():
    seen = []

    def f(x):
        seen.append(len(x))
        return x * 2

    mapped = frameloom.vmap(f)
    for _ in range(3):
        mapped(X)
    assert seen == [3, 3, 3]


def test_inside_of_a_compiled_function():
    @frameloom.compile(fullgraph=True)
    def f(x, w):
        return frameloom.vmap(np.dot, (0, None))(x, w) + 1

    assert_rows(f(X, X[0]), X @ X[0] + 1)


def test_an_argument_is_a_copy():
    def f(x):
        x[0] = 9.0
        return x.sum()

    before = X.copy()
    assert_rows(frameloom.vmap(f)(X), 9 + before[:, 1:].sum(axis=1))
    np.testing.assert_array_equal(X, before)


# ---- what is refused ----


def test_an_element_that_leaves_the_function():
    kept = []

    def f(x):
        kept.append(x * 2)
        return x

    with pytest.raises(frameloom.GraphBreak, match="FL0032.*one element leaves"):
        frameloom.vmap(f)(X)
    assert kept == []


def test_what_may_raise_where_not_all_come():
    @frameloom.vmap
    def f(x, i):
        if x.sum() > 0:
            y = x[i]
        else:
            y = x[0]
        return y

    with pytest.raises(frameloom.GraphBreak, match="FL0032.*which may raise, in a branch or loop that not all examples take") as told:
        f(X, np.array([0, 1, 2, 0]))
    assert "y = x[i]" in str(told.value)


def test_what_might_never_end_where_not_all_come():
    @frameloom.vmap
    def f(s):
        if s > 0.0:
            while s > 1.0:
                s = s - 1.0
        return s

    with pytest.raises(frameloom.GraphBreak, match="FL0032.*unknown length.*might never end"):
        f(np.array([3.0, -1.0]))


def test_too_many_calls_of_the_library():
    with pytest.raises(frameloom.GraphBreak, match="FL0032.*would be called for each of more than 1000 elements"):
        frameloom.vmap(np.linalg.inv)(np.ones((1001, 2, 2)))


def test_rules_of_derivatives_are_not_lost():
    @frameloom.custom_vjp
    def f(x):
        return x * 2.0

    f.defvjp(lambda x: (x * 2.0, None), lambda residuals, cotangent: (cotangent * 100.0,))
    assert_rows(frameloom.vmap(frameloom.grad(lambda x: f(x) * 3.0))(np.arange(3.0)), [300.0] * 3)
    assert_rows(frameloom.grad(lambda x: frameloom.vmap(f)(x).sum())(np.arange(3.0)), [100.0] * 3)


@pytest.mark.parametrize("axes, arguments, error, text", [
    (0, (1.0,), TypeError, "maps over axes of arrays, not of float"),
    (1, (np.ones(3),), ValueError, "an argument has 1 dimensions, and no axis 1"),
    (-2, (np.ones(3),), ValueError, "no axis -2"),
    (0, (np.ones(3), np.ones(4)), ValueError, "the mapped axes are of 3 and of 4 elements"),
    (None, (np.ones(3),), ValueError, "no argument has an axis to map over"),
    (0, (np.ones((0, 3)),), ValueError, "no element along the mapped axis"),
    ((0,), (np.ones(3), np.ones(3)), ValueError, "in_axes is for 1 arguments, and there are 2"),
    (({"a": 0},), ({"b": np.ones(3)},), ValueError, "in_axes must be an int, None or a tree"),
])
def test_bad_arguments(axes, arguments, error, text):
    for run in (frameloom.vmap, plainly):
        with pytest.raises(error, match=text):
            run(lambda *args: 1, axes)(*arguments)


@pytest.mark.parametrize("axes, text", [(None, "differs between elements, and its axis in out_axes is None"), (2, "no axis 2"), ((0, 0), "out_axes must be")])
def test_bad_places_of_results(axes, text):
    with pytest.raises(ValueError, match=text):
        frameloom.vmap(lambda x: x, out_axes=axes)(X)


def test_no_number_as_a_result():
    with pytest.raises(TypeError, match="a result is of type str"):
        frameloom.vmap(lambda x: "a")(X)


def test_no_functions():
    with pytest.raises(TypeError, match="vmap expects a function"):
        frameloom.vmap(3)
    with pytest.raises(TypeError, match="in_axes must be"):
        frameloom.vmap(np.sum, in_axes=True)


def plainly(fun, *axes):
    mapped = frameloom.vmap(fun, *axes)

    def run(*args):
        with frameloom.config.patch(disable=True):
            return mapped(*args)

    return run


def test_plain_python_calls_it_for_each():
    calls = []

    def f(x):
        calls.append(1)
        return {"a": x.sum(), "b": x}

    got = plainly(f, 0, {"a": 0, "b": 1})(X)
    assert_rows(got["a"], X.sum(axis=1))
    np.testing.assert_array_equal(got["b"], X.T)
    assert len(calls) == 4
