"""Who may compile, and when: stances, frozen and disabled functions, skipped frames, compiled classes."""

import functools
import types

import numpy as np
import pytest
from reports import captures

import frameloom

x = np.arange(4.0)
wide = np.ones((2, 3))


def fresh(fn=None, **options):
    return frameloom.compile(fn or (lambda a: a * 2 + 1), backend="interpret", **options)


def hits(f):
    return f._report()["hits"]


@pytest.fixture(autouse=True)
def default_stance():
    yield
    frameloom.set_stance("default")


def test_run_uses_what_there_is():
    f = fresh()
    frozen = frameloom.run(f)
    np.testing.assert_array_equal(frozen(x), x * 2 + 1)
    assert captures(f) == 0 and frozen.__name__ == f.__name__ and "frozen" in repr(frozen)
    f(x)
    before = hits(f)
    np.testing.assert_array_equal(frozen(x), x * 2 + 1)
    assert hits(f) == before + 1 and captures(f) == 1
    np.testing.assert_array_equal(frozen(wide), wide * 2 + 1)
    assert captures(f) == 1
    f(wide)
    assert captures(f) == 2


def test_run_reaches_compiled_callees():
    f = fresh()
    g = frameloom.run(lambda a: f(a) + 1)
    np.testing.assert_array_equal(g(x), x * 2 + 2)
    assert captures(f) == 0

    class C:
        @frameloom.compile(backend="interpret")
        def m(self, a):
            return a + 1

    c = C()
    np.testing.assert_array_equal(frameloom.run(c.m)(x), x + 1)
    assert captures(C.m) == 0
    with pytest.raises(TypeError):
        frameloom.run(3)


def test_run_passes_exceptions_on():
    @frameloom.run
    def f():
        raise KeyError("k")

    with pytest.raises(KeyError):
        f()
    g = fresh()
    g(x)  # the thread is not frozen any more
    assert captures(g) == 1


def test_force_eager():
    f = fresh()
    f(x)
    frameloom.set_stance("force_eager")
    f(x), f(wide)
    frameloom.set_stance("default")
    assert captures(f) == 1 and f._report()["misses"] == 1
    with frameloom.config.patch(disable=True):
        with frameloom.set_stance("force_eager"):
            f(wide)
        f(wide)
    assert captures(f) == 1
    f(wide)
    assert captures(f) == 2


def test_eager_on_recompile():
    f = fresh()
    f(x)
    before = hits(f)
    with frameloom.set_stance("eager_on_recompile"):
        np.testing.assert_array_equal(f(x), x * 2 + 1)
        np.testing.assert_array_equal(f(wide), wide * 2 + 1)
    assert captures(f) == 1 and hits(f) == before + 1
    f(wide)
    assert captures(f) == 2


def test_fail_on_recompile():
    f = fresh()
    f(x)
    with frameloom.set_stance("fail_on_recompile"):
        f(x)
        with pytest.raises(frameloom.RecompileError, match=r"a was float64\[4\] and is float64\[2, 3\]"):
            f(wide)
        with pytest.raises(frameloom.RecompileError, match="has not been compiled before"):
            fresh()(x)
    f(wide)


def test_error_on_recompile():
    f = fresh()
    with frameloom.config.patch(error_on_recompile=True):
        f(x)
        with pytest.raises(RuntimeError, match="error_on_recompile"):
            f(wide)
        f(x)


def test_stances_nest_and_decorate():
    f = fresh()

    @frameloom.set_stance("force_eager")
    def g(a):
        """Doc."""
        return f(a)

    assert g.__doc__ == "Doc." and g.__name__ == "g"
    g(x)
    assert captures(f) == 0
    with frameloom.set_stance("fail_on_recompile"):
        g(x)
        with frameloom.set_stance("default"):
            f(x)
        f(x)
    f(wide)
    assert captures(f) == 2
    for bad in ("nope", 3, None):
        with pytest.raises(ValueError, match="unknown stance"):
            frameloom.set_stance(bad)
    with pytest.raises(ValueError):
        with frameloom.set_stance("force_eager"):
            raise ValueError
    fresh(dynamic=False)(x)
    with pytest.raises(TypeError):
        frameloom.set_stance("default")(3)


def test_skip_frame():
    @frameloom.compile(backend="interpret")
    def f(a):
        b = a * 2
        frameloom.skip_frame("for the test")
        return b + 1

    for _ in range(3):
        np.testing.assert_array_equal(f(x), x * 2 + 1)
    report = f._report()
    assert report["captures"] == 1 and not report["entries"]
    assert [(row[0], row[4]) for row in report["breaks"]] == [(19, "for the test")]
    assert frameloom.skip_frame() is None and frameloom.skip_frame("m") is None
    with pytest.raises(frameloom.GraphBreak, match="FL0019"):
        frameloom.compile(f.__wrapped__, fullgraph=True)(x)
    with pytest.raises(TypeError):
        frameloom.skip_frame(3)


def test_skip_frame_of_a_callee():
    def inner(b):
        frameloom.skip_frame()
        return b * 5

    @frameloom.compile(backend="interpret")
    def f(a):
        b = a * 3
        c = inner(b)
        return c + 1

    for _ in range(3):
        np.testing.assert_array_equal(f(x), x * 15 + 1)
    assert [e["ops"] for e in f._report()["entries"]] == [["constant", "mul"], ["constant", "add"]]


def test_graph_break_with_a_message():
    @frameloom.compile(backend="interpret")
    def f(a):
        b = a + 1
        frameloom.graph_break(msg="here it is")
        return b * 2

    np.testing.assert_array_equal(f(x), (x + 1) * 2)
    assert f._report()["breaks"][0][4] == "here it is"
    assert frameloom.graph_break("x") is None


def test_disable_recursively_or_not():
    inner = fresh()

    @frameloom.disable
    def everything(a):
        return inner(a)

    @frameloom.disable(recursive=False)
    def itself(a):
        return inner(a)

    np.testing.assert_array_equal(everything(x), x * 2 + 1)
    assert captures(inner) == 0
    np.testing.assert_array_equal(itself(x), x * 2 + 1)
    assert captures(inner) == 1
    with pytest.raises(TypeError, match="reason"):
        frameloom.disable(itself, reason=3)


def test_disabled_functions_break_the_graph():
    @frameloom.disable(reason="it is noisy")
    def noisy(a):
        return a + 1

    @frameloom.compile(backend="interpret")
    def f(a):
        return noisy(a * 2) * 3

    np.testing.assert_array_equal(f(x), (x * 2 + 1) * 3)
    assert "noisy(): it is noisy" in f._report()["breaks"][0][4]


def test_classes():
    @frameloom.compile(backend="interpret")
    class Model:
        def __init__(self, w):
            self.w = w

        def __call__(self, a):
            return a * self.w

    class Child(Model):
        pass

    np.testing.assert_array_equal(Model(3.0)(x), x * 3)
    np.testing.assert_array_equal(Child(4.0)(x), x * 4)
    assert captures(Model.__call__) == 2 and isinstance(Model, type)
    assert frameloom.compile(Child, disable=True) is Child and "__call__" not in vars(Child)

    @frameloom.disable
    class Plain:
        def __init__(self, a):
            self.a = Model(2.0)(a)

    before = captures(Model.__call__)
    np.testing.assert_array_equal(Plain(wide).a, wide * 2)
    assert captures(Model.__call__) == before
    with pytest.raises(TypeError, match="expects a Python function, not class int"):
        frameloom.compile(int)
    with pytest.raises(TypeError, match="no __init__ or __call__"):
        frameloom.disable(type("Empty", (), {}))


def test_objects_and_partials():
    class Scale:
        def __init__(self, w):
            self.w = w

        def __call__(self, a):
            return a * self.w

    f = fresh(Scale(3.0))
    assert isinstance(f, types.MethodType)
    np.testing.assert_array_equal(f(x), x * 3)
    g = fresh(functools.partial(lambda a, b: a * b, 5.0))
    np.testing.assert_array_equal(g(x), x * 5)
    assert captures(g.func) == 1
