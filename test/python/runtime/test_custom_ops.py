"""Functions of the user's in the graph, and functions kept out of it."""

import numpy as np
import pytest

import frameloom

BACKENDS = ["interpret", "loom"]
x = np.arange(12.0).reshape(3, 4)


def make_op(real, fake, name="test::op"):
    op = frameloom.custom_op(name)(real)
    if fake is not None:
        op.register_fake(fake)
    return op


def breaks(f):
    return [(f"FL{row[0]:04d}", row[4]) for row in f._report()["breaks"] or []]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_operator_is_in_the_graph(backend):
    calls, fakes = [], []

    @frameloom.custom_op("test::rows")
    def rows(a, scale, axis=0):
        calls.append(a.shape)
        return a.sum(axis=axis) * scale

    @rows.register_fake
    def _(a, scale, axis=0):
        fakes.append(a.shape)
        return np.empty(a.shape[:axis] + a.shape[axis + 1:], a.dtype)

    f = frameloom.compile(lambda a: rows(a * 2, 3.0, axis=1) + 1, backend=backend)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), (x * 2).sum(1) * 3 + 1)
    report = f._report()
    assert not breaks(f) and report["captures"] == 1 and "host_call" in report["entries"][0]["ops"]
    if backend == "loom":
        assert calls == [(3, 4)] * 3 and fakes == [(3, 4)]
    np.testing.assert_array_equal(rows(x, 2.0), x.sum(0) * 2)
    assert rows.__name__ == "rows" and "test::rows" in repr(rows)


def test_several_results_and_symbolic_sizes():
    seen = []

    def fake(a):
        seen.append(a.shape)
        return np.empty(a.shape[1:], a.dtype), np.empty(a.shape, np.int64), 0.0

    op = make_op(lambda a: (a.max(0), np.argsort(a, 0), float(a.sum())), fake)
    f = frameloom.compile(lambda a: op(a + 1))
    for n in (5, 7, 9, 11):
        a = np.random.default_rng(n).random((n, 3))
        for got, wanted in zip(f(a), ((a + 1).max(0), np.argsort(a + 1, 0), float((a + 1).sum()))):
            assert type(got) is type(wanted)
            np.testing.assert_allclose(got, wanted, rtol=1e-14)
    assert f._report()["captures"] == 2 and len(set(seen)) >= 3


def test_large_and_empty_arrays_cost_no_sample():
    op = make_op(lambda a: a[:1] + 1, lambda a: np.empty(min(1, len(a)), a.dtype))
    f = frameloom.compile(lambda a: op(a), dynamic=False)
    for n in (3_000_000, 0):
        a = np.ones(n, np.float32)
        np.testing.assert_array_equal(f(a), a[:1] + 1)
    assert not breaks(f)


def test_arguments_are_not_to_be_written_and_results_are_copied():
    kept = np.zeros(3)

    def writes(a):
        a[0] = 5
        return a.copy()

    f = frameloom.compile(make_op(writes, lambda a: np.empty_like(a)))
    with pytest.raises(TypeError):
        frameloom.custom_op("test::no")(3)
    g = frameloom.compile(lambda a, op=make_op(writes, lambda a: np.empty_like(a)): op(a))
    a = np.ones(3)
    np.testing.assert_array_equal(g(a), [5, 1, 1])  # plain Python ran, as the operator is not pure
    h = frameloom.compile(lambda a, op=make_op(lambda a: kept, lambda a: np.empty(3)): op(a))
    assert h(a) is not kept and not np.shares_memory(h(a), kept)


def test_results_that_are_not_as_the_fake_says():
    f = frameloom.compile(lambda a, op=make_op(lambda a: a.astype("f4"), lambda a: np.empty_like(a)): op(a) * 2)
    for _ in range(3):
        got = f(x)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, x.astype("f4") * 2)


def test_exceptions_are_the_operators_own():
    def real(a):
        raise KeyError("from inside")

    f = frameloom.compile(lambda a, op=make_op(real, lambda a: np.empty_like(a)): op(a))
    with pytest.raises(KeyError, match="from inside"):
        f(x)


@pytest.mark.parametrize("fake,words", [
    (None, "test::op has no fake"),
    (lambda a: a.nothing, "its fake raised AttributeError: 'numpy.ndarray' object has no attribute 'nothing'"),
    (lambda a, b: a, "its fake raised TypeError"),
    (lambda a: a, "no arrays or numbers of their own"),
    (lambda a: object(), "no arrays or numbers of their own"),
    (lambda a: None, "no arrays or numbers of their own"),
])
def test_fakes_that_do_not_serve(fake, words):
    op = make_op(lambda a: a * 2, fake)
    f = frameloom.compile(lambda a: op(a + 1) - 1)
    for _ in range(2):
        np.testing.assert_array_equal(f(x), (x + 1) * 2 - 1)
    (code, detail), = breaks(f)
    assert code == "FL0021" and words in detail
    with pytest.raises(frameloom.GraphBreak, match="FL0021"):
        frameloom.compile(f.__wrapped__, fullgraph=True)(x)


def test_arguments_that_cannot_be_passed():
    op = make_op(lambda a, o: a * 2, lambda a, o: np.empty_like(a))
    f = frameloom.compile(lambda a, o: op(a, o) + 1)
    np.testing.assert_array_equal(f(x, object()), x * 2 + 1)
    assert breaks(f)[0][0] == "FL0021" and "neither an array nor a plain constant" in breaks(f)[0][1]


@pytest.mark.parametrize("mark", [frameloom.allow_in_graph, frameloom.nonstrict_trace])
def test_allowed_functions(mark):
    lines = []

    @mark
    def sums(a, names):
        lines.append(list(map(str, names)))  # not to be captured
        return {"n": a.cumsum()}["n"]

    f = frameloom.compile(lambda a: sums(a + 1, ("x", "y")) * 2)
    for _ in range(2):
        np.testing.assert_array_equal(f(x), (x + 1).cumsum() * 2)
    assert not breaks(f) and f._report()["captures"] == 1 and "host_call" in f._report()["entries"][0]["ops"]
    assert len(lines) == 3  # once for the shapes
    with pytest.raises(TypeError):
        mark(3)
    with pytest.raises(TypeError):
        mark(f)


def test_an_allowed_function_that_fails_on_samples():
    @frameloom.allow_in_graph
    def picky(a):
        if a[0, 0] != 7:
            raise ValueError("seven, please")
        return a * 2

    f = frameloom.compile(lambda a: picky(a) + 1)
    np.testing.assert_array_equal(f(x + 7), (x + 7) * 2 + 1)
    assert "seven, please" in breaks(f)[0][1]


def test_disallowed_functions():
    def helper(a):
        return a * 2

    def half(a):
        return a / 2

    assert frameloom.disallow_in_graph([helper, half]) == [helper, half]
    f = frameloom.compile(lambda a: half(helper(a + 1)) - 1, backend="interpret")
    for _ in range(2):
        np.testing.assert_array_equal(f(x), x)
    assert {code for code, _ in breaks(f)} == {"FL0022"}
    with pytest.raises(frameloom.GraphBreak, match="helper"):
        frameloom.compile(f.__wrapped__, fullgraph=True)(x)


def test_marked_functions_are_guarded():
    ops = [make_op(lambda a: a * 2, lambda a: np.empty_like(a)), make_op(lambda a: a * 3, lambda a: np.empty_like(a))]
    table = {"op": ops[0]}
    f = frameloom.compile(lambda a: table["op"](a) + 1)
    np.testing.assert_array_equal(f(x), x * 2 + 1)
    table["op"] = ops[1]
    np.testing.assert_array_equal(f(x), x * 3 + 1)
    table["op"] = lambda a: a * 4
    np.testing.assert_array_equal(f(x), x * 4 + 1)


def test_bad_registrations():
    with pytest.raises(TypeError, match="name"):
        frameloom.custom_op(3)
    with pytest.raises(ValueError, match="mutates_args"):
        frameloom.custom_op("test::m", mutates_args=("a",))
    with pytest.raises(TypeError, match="register_fake"):
        frameloom.custom_op("test::f", lambda a: a).register_fake(3)
    with pytest.raises(TypeError):
        frameloom.disallow_in_graph(3)
