"""Functions that are called by what runs for real are compiled too, however they are called, and once for all callers."""

import ctypes
import functools
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import warnings

import numpy as np
import pytest
from breaking import Manager, X, check_breaks, told_with_lines
from processes import PATIENCE
from reports import captures, graphs

import frameloom


def kept_and_made(compiled):
    return [len(compiled._report()["entries"]), captures(compiled)]


def evaluator():
    """The address of the interpreter's frame evaluation function."""
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = ctypes.c_void_p
    api._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
    api._PyInterpreterState_GetEvalFrameFunc.argtypes = [ctypes.c_void_p]
    return api._PyInterpreterState_GetEvalFrameFunc(api.PyInterpreterState_Get())


def helper(a):
    b = a * 2
    print("helper", b)
    return b + 1


def compiled_and_called(f, *args, calls=4, expect=None):
    check_breaks(f, *args, calls=1)
    compiled = frameloom.compile(f, backend="interpret")
    with_output = told_with_lines(compiled, args)
    assert with_output == told_with_lines(f, args)
    told_with_lines(compiled, args)
    before = kept_and_made(compiled)
    for _ in range(calls):
        assert told_with_lines(compiled, args) == told_with_lines(f, args)
    assert kept_and_made(compiled) == before, "captured again"
    if expect is not None:
        assert graphs(compiled) == expect, [e["ops"] for e in compiled._report()["entries"]]


class Thing:
    def __init__(self, scale):
        self.scale = scale

    def method(self, a):
        a = a * self.scale
        print("method", a)
        return a + 1

    @classmethod
    def make(cls, a):
        a = a + 1
        print("make", a)
        return cls(a * 2)

    @staticmethod
    def static(a):
        print("static")
        return a + 3

    @property
    def prop(self):
        print("prop")
        return self.scale + 1

    def __call__(self, a):
        print("call")
        return a * self.scale

    def __add__(self, other):
        print("add")
        return self.scale + other

    def __len__(self):
        return len(print("len") or self.scale * 2)


# Each: two graphs of the caller (before and behind the call) and two of the callee.

def calls_function(x):
    return helper(x + 1) * 2


def calls_method(x):
    return Thing(3.0).method(x + 1) * 2


def calls_bound_method(x):
    method = Thing(3.0).method
    return method(x + 1) * 2


def calls_closure(x):
    k = 3.0

    def inner(a):
        a = a * k
        print("inner", a)
        return a + k

    return inner(x + 1) * 2


def calls_lambda(x):
    inner = lambda a, b=2.0: (a * b, print("lambda"))[0] + 1
    return inner(x + 1) * 2


def calls_partial(x):
    return functools.partial(helper, x + 1)() * 2


def calls_with_keywords(x):
    def inner(a, *rest, scale, **more):
        a = a * scale + rest[0]
        print(sorted(more))
        return a + more["m"]

    return inner(x + 1, 1.0, scale=3.0, m=2.0) * 2


def calls_under_try(x):
    try:
        y = x + 1
        y = helper(y) * 2
    except ValueError:
        y = x
    return y


def calls_under_with(x):
    with Manager():
        y = x + 1
        return helper(y) * 2


def calls_through_map(x):
    return [a * 2 for a in map(helper, [x + 1])]


def calls_call(x):
    return Thing(3.0)(x + 1) * 2


@pytest.mark.parametrize("f, expect", [(calls_function, 4), (calls_method, 4), (calls_bound_method, 4), (calls_closure, 4),
                                       (calls_lambda, 4), (calls_partial, 4), (calls_with_keywords, 4), (calls_under_try, 4),
                                       (calls_under_with, 4), (calls_through_map, 4), (calls_call, 3)],
                         ids=lambda p: getattr(p, "__name__", None))
def test_callers_and_callees_are_compiled_once(f, expect):
    compiled_and_called(f, X, expect=expect)


def through_sorted(x):
    def key(i):
        print("key", i)
        return float((x * i).sum())

    return sorted([3, -1, 2], key=key), x + 1


def through_reduce(x):
    return functools.reduce(lambda a, b: (print("r"), a + b * 2)[1], [x, x + 1, x * 2]) * 2


def through_operators(x):
    thing = Thing(x + 1)
    return (thing + x) * 2, len(thing), thing.prop, Thing.static(x), Thing.make(x).scale


def through_a_dict(x):
    class Key:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            print("hash", float((x * self.n).sum()))
            return hash(self.n)

        def __eq__(self, other):
            return print("eq") or self.n == other.n

    return {Key(1): x + 1}[Key(1)] * 2


def two_deep(x):
    def middle(a):
        b = helper(a + 1)
        return b * 3

    return middle(x * 2) - 1


def nested_recursion(x, n=4):
    def down(a, n):
        if n == 0:
            print("base")
            return a * 2
        return down(a + 1, n - 1) * 2

    return down(x * 2, n) - 1


def raises_below(x):
    def bad(a):
        a = a + 1
        print("bad", a)
        raise ValueError(float(a.sum()))

    try:
        bad(x)
    except ValueError as e:
        print(e, e.__traceback__.tb_next.tb_lineno)
        return x * 2


def raises_through(x):
    def bad(a):
        a = a + 1
        print("bad", a)
        a[5]

    return bad(x * 2)


def generators_below(x):
    def numbers(a):
        for i in range(3):
            print("yields", i)
            yield a * i

    return sum(numbers(x + 1)) * 2, list(numbers(x))


def coroutine_below(x):
    async def work(a):
        print("work")
        return a * 2

    try:
        work(x + 1).send(None)
    except StopIteration as e:
        return e.value + 1


def deletes_its_argument(x):
    def inner(a):
        print("a")
        b = a * 2
        del a
        print("b")
        return b

    return inner(x + 1) + 1


def changes_defaults(x):
    def inner(a, k=[1]):
        k.append(len(k))
        print(k)
        return a * len(k)

    return inner(x), inner(x), inner.__defaults__


@pytest.mark.parametrize("f", [through_sorted, through_reduce, through_operators, through_a_dict, two_deep, nested_recursion,
                               raises_below, raises_through, generators_below, coroutine_below, deletes_its_argument,
                               changes_defaults])
def test_ways_to_call(f):
    check_breaks(f, X, calls=4)


def test_closures_share_what_is_compiled():
    """Cells, defaults and keyword defaults are those of the function that is called."""
    def make(k, default):
        def inner(a, b=default, *, c=k + 1):
            a = a * k + b
            print(end="")
            return a + c * k
        return inner

    def f(x, inner):
        return inner(x + 1) * 2

    compiled = frameloom.compile(f, backend="interpret")
    for k, default in ((2.0, 1.0), (2.0, 1.0), (3.0, 5.0), (2.0, 1.0), (4.0, X), (3.0, 5.0)):
        inner = make(k, default)
        np.testing.assert_array_equal(compiled(X, inner), f(X, inner))


def test_two_callers_share_what_is_compiled():
    def callee(a):
        a = a * 2
        print(end="")
        return a + 1

    def one(x):
        return callee(x + 1)

    def two(x):
        return callee(x * 3)

    compiled = [frameloom.compile(g, backend="interpret") for g in (one, two)]
    for g in compiled:
        for _ in range(2):
            g(X)
    own = [{e["guards"][0][2].split(" at ")[0] for e in g._report()["entries"]} for g in compiled]
    assert own[0] & own[1], own
    hits = [e["hits"] for e in compiled[0]._report()["entries"] if "callee" in e["guards"][0][2]]
    assert hits and all(h == 4 for h in hits), hits


def test_the_hook_is_off_outside():
    seen = []

    def f(x):
        y = x + 1
        seen.append(evaluator())
        raise_if(y)
        return y * 2

    def raise_if(y):
        if y[0] > 5:
            raise ValueError

    before = evaluator()
    compiled = frameloom.compile(f, backend="interpret")
    for x in (X, X, X + 9, X):
        try:
            compiled(x)
        except ValueError:
            pass
        assert evaluator() == before
    assert len(seen) == 4 and all(s != before for s in seen)


def test_other_threads_are_left_alone():
    """While one thread is inside of a step, functions of another one run as they are."""
    entered, leave, names = threading.Event(), threading.Event(), []

    def blocks(y):
        entered.set()
        leave.wait(PATIENCE)
        return y

    def f(x):
        return blocks(x + 1) * 2

    def elsewhere(x):
        names.append(sys._getframe().f_code.co_name)
        return x * 2

    compiled = frameloom.compile(f, backend="interpret")
    results = []
    thread = threading.Thread(target=lambda: results.append(compiled(X)))
    thread.start()
    assert entered.wait(PATIENCE)
    for _ in range(3):
        np.testing.assert_array_equal(elsewhere(X), X * 2)
    leave.set()
    thread.join()
    np.testing.assert_array_equal(results[0], (X + 1) * 2)
    assert names == ["elsewhere"] * 3


def test_a_child_process_is_hooked_no_longer_than_it_has_to():
    """Another thread is inside of a step when the process forks: in the child that thread is gone."""
    entered, leave, status = threading.Event(), threading.Event(), []

    def blocks(y):
        entered.set()
        leave.wait(PATIENCE)
        return y

    def f(x):
        return blocks(x + 1) * 2

    def forks(x):
        y = x + 1
        child = os.fork()
        y = y * 2
        if child == 0:
            return y
        status.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return y

    before = evaluator()
    thread = threading.Thread(target=frameloom.compile(f, backend="interpret"), args=(X,))
    thread.start()
    assert entered.wait(PATIENCE)
    parent, compiled = os.getpid(), frameloom.compile(forks, backend="interpret")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        good = (compiled(X) == (X + 1) * 2).all()
    if os.getpid() != parent:
        os._exit(0 if good and evaluator() == before else 1)
    leave.set()
    thread.join()
    assert good and status == [0] and evaluator() == before


def test_what_has_nothing_to_compute_is_let_alone():
    def key(i):
        return -i

    def f(x):
        y = x + 1
        print(end="")
        return y * 2, sorted([1, 2, 3], key=key)

    compiled = frameloom.compile(f, backend="interpret")
    for _ in range(20):
        compiled(X)
    hits = [e["hits"] for e in compiled._report()["entries"] if "key" in e["guards"][0][2]]
    assert sum(hits) < 20


def test_a_skipped_function_calls_compiled_ones():
    def callee(a):
        return a * 2 + 1

    def f(x):
        frameloom.skip_frame()
        return callee(x) + callee(x + 1)

    compiled = frameloom.compile(f, backend="interpret")
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), f(X))
    assert graphs(compiled) == 1, compiled._report()


def test_disabled_functions_stay_so():
    @frameloom.disable
    def plain(a):
        return inner(a)

    def inner(a):
        print(end="")
        return a * 2

    def f(x):
        return plain(x + 1) * 3

    compiled = frameloom.compile(f, backend="interpret")
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), (X + 1) * 6)
    assert not any("inner" in e["guards"][0][2] for e in compiled._report()["entries"])


def test_reset_inside():
    def callee(a):
        a = a * 2
        frameloom.reset()
        return a + 1

    def f(x):
        return callee(x + 1) + callee(x)

    check_breaks(f, X, calls=4)


def test_nothing_outlives_its_caller():
    import gc
    import weakref

    big = np.zeros(3)
    dead = weakref.ref(big)

    def f(x):
        def inner(a, held=big):
            print(end="")
            return a + held

        return inner(x) * 2

    compiled = frameloom.compile(f, backend="interpret")
    for _ in range(3):
        compiled(X)
    del compiled, f, big
    gc.collect()
    assert dead() is None


CHAINED = """
#include <Python.h>
struct _PyInterpreterFrame;
static long seen;
static PyObject *count(PyThreadState *s, struct _PyInterpreterFrame *f, int thrown) {
  seen++;
  return _PyEval_EvalFrameDefault(s, f, thrown);
}
static PyObject *on(PyObject *m, PyObject *yes) {
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(),
                                       yes == Py_True ? count : _PyEval_EvalFrameDefault);
  return PyLong_FromLong(seen);
}
static PyMethodDef methods[] = {{"on", on, METH_O, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "chained", 0, -1, methods};
PyMODINIT_FUNC PyInit_chained(void) { return PyModule_Create(&module); }
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_an_earlier_hook_is_chained(tmp_path, monkeypatch):
    source = tmp_path / "chained.c"
    source.write_text(CHAINED)
    made = subprocess.run(["cc", "-shared", "-fPIC", f"-I{sysconfig.get_paths()['include']}", str(source), "-o",
                           str(tmp_path / "chained.so")], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(made.stderr)
    monkeypatch.syspath_prepend(str(tmp_path))
    import chained

    def generator():
        yield 1
        yield 2

    def f(x):
        y = x + 1
        print(end="")
        return y * 2, list(generator())

    compiled = frameloom.compile(f, backend="interpret")
    compiled(X)
    try:
        before = chained.on(True)
        theirs = evaluator()
        compiled(X)
        assert evaluator() == theirs
        assert chained.on(True) > before
        compiled(X)
    finally:
        chained.on(False)
    np.testing.assert_array_equal(compiled(X)[0], f(X)[0])


@pytest.mark.parametrize("folder", ["project", "site-packages", "dist-packages"])
def test_installed_packages_are_compiled_like_the_users_own_code(folder, tmp_path, monkeypatch):
    place = tmp_path / folder
    place.mkdir()
    name = "installed_" + folder.replace("-", "_")
    (place / f"{name}.py").write_text("""
import numpy as np

def layer(x):
    y = np.sin(x) * 2
    print(end="")
    return np.cos(y) + part(y)

def part(x):
    return x * x + 1

def model(x):
    return layer(x) - layer(x + 1)
""")
    monkeypatch.syspath_prepend(str(place))
    model = __import__(name).model
    compiled = frameloom.compile(model)
    for _ in range(3):
        np.testing.assert_allclose(compiled(X), model(X), rtol=1e-12)
    explanation = frameloom.explain(model, X)
    assert {"layer", "layer from line 6"} <= set(explanation.graph_names) and explanation.graph_break_count <= 2


@pytest.mark.parametrize("limit", [200, 1000])
def test_deep_recursion_ends_as_plain_pythons(limit):
    def f(x, n):
        y = x + 1
        print(end="")
        return f(y, n - 1) if n else y

    compiled = frameloom.compile(f, backend="interpret")
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        for call in (f, compiled, compiled):
            np.testing.assert_array_equal(call(X, 20), X + 21)
            with pytest.raises(RecursionError):
                call(X, 100000)
            np.testing.assert_array_equal(call(X, 20), X + 21)
    finally:
        sys.setrecursionlimit(old)


def test_very_deep_recursion_does_not_use_up_the_c_stack():
    """Plain calls under the hook use the C stack: it is taken away in time."""
    def down(n):
        return down(n - 1) + 1 if n else 0

    def f(x):
        y = x + 1
        print(end="")
        return y, down(40000)

    compiled = frameloom.compile(f, backend="interpret")
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(100000)
    try:
        for _ in range(3):
            assert compiled(X)[1] == 40000
    finally:
        sys.setrecursionlimit(old)
