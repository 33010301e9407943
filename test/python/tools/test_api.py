"""The public names: what `compile` takes and gives, settings, logs, reports."""

import copy
import gc
import inspect
import json
import pickle
import sys
import types
import weakref

import numpy as np
import pytest
from processes import run_code, run_command

import frameloom

BACKENDS = ["interpret", "loom"]


def scale(a, b):
    """Doc of scale."""
    return a * b + 1


scale_compiled = frameloom.compile(scale)
scale_compiled_module_name = __name__


@frameloom.compile
def pickled(a):
    return a + 1


def test_decorator_with_and_without_arguments():
    @frameloom.compile
    def f(x):
        return x + 1

    @frameloom.compile(backend="interpret", fullgraph=True)
    def g(x):
        return x + 1

    x = np.arange(4.0)
    np.testing.assert_array_equal(f(x), x + 1)
    np.testing.assert_array_equal(g(x), x + 1)
    assert frameloom.compile(scale, disable=True) is scale


def test_behaves_like_the_function():
    f = frameloom.compile(scale)
    assert f.__name__ == "scale" and f.__doc__ == "Doc of scale." and f.__module__ == __name__
    assert f.__qualname__ == "scale" and f.__wrapped__ is scale
    assert f.__code__ is scale.__code__ and f.__globals__ is globals() and f.__defaults__ is None
    assert inspect.signature(f) == inspect.signature(scale)
    assert "scale" in repr(f) and callable(f) and hash(f) == hash(f)
    assert copy.copy(f) is f and copy.deepcopy(f) is f
    assert weakref.ref(f)() is f


def test_attributes_are_the_functions():
    def g(a):
        return a

    f = frameloom.compile(g)
    f.tag = 3
    assert f.tag == 3 and g.tag == 3 and f.__dict__ == {"tag": 3}
    del f.tag
    with pytest.raises(AttributeError):
        f.tag
    f.__name__ = "renamed"
    assert g.__name__ == "renamed"
    f.__doc__ = "new"
    assert g.__doc__ == "new"
    with pytest.raises(AttributeError):
        f.__wrapped__ = None


def test_pickle_by_name():
    assert pickle.loads(pickle.dumps(pickled)) is pickled

    @frameloom.compile
    def local(a):
        return a

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(local)


def test_methods_class_and_static_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        @frameloom.compile
        def forward(self, x):
            return x * self.w

        @classmethod
        @frameloom.compile
        def build(cls, w):
            return cls(w)

        @staticmethod
        @frameloom.compile
        def double(x):
            return x * 2

        @frameloom.compile
        @staticmethod
        def triple(x):
            return x * 3

    x = np.arange(5.0)
    m = Model(3.0)
    np.testing.assert_array_equal(m.forward(x), x * 3.0)
    np.testing.assert_array_equal(Model.forward(m, x), x * 3.0)
    np.testing.assert_array_equal(Model.double(x), x * 2)
    np.testing.assert_array_equal(m.triple(x), x * 3)
    assert Model.build(2.0).w == 2.0
    bound = frameloom.compile(m.forward)
    assert isinstance(bound, types.MethodType)
    np.testing.assert_array_equal(bound(x), x * 3.0)
    m.w = 4.0
    np.testing.assert_array_equal(m.forward(x), x * 4.0)


@pytest.mark.parametrize("bad", [3, None.__class__, "f", np.sin, len, int, object()])
def test_not_a_function(bad):
    with pytest.raises(TypeError, match="expects a Python function"):
        frameloom.compile(bad)


def test_bad_options():
    with pytest.raises(ValueError, match="unknown backend"):
        frameloom.compile(scale, backend="nope")
    with pytest.raises(ValueError, match="unknown option 'fast'"):
        frameloom.compile(scale, options={"fast": True})
    with pytest.raises(TypeError, match="fullgraph"):
        frameloom.compile(scale, fullgraph=1)
    with pytest.raises(TypeError, match="dynamic"):
        frameloom.compile(scale, dynamic="yes")
    with pytest.raises(TypeError, match="options"):
        frameloom.compile(scale, options=[1])
    with pytest.raises(TypeError, match="'fastmath' must be a bool"):
        frameloom.compile(scale, options={"fastmath": 1})
    with pytest.raises(ValueError, match="unknown cpu"):
        frameloom.compile(scale, options={"cpu": "z80"})


def test_config():
    assert frameloom.config.recompile_limit == 8
    with frameloom.config.patch(recompile_limit=2, backend="interpret") as config:
        assert config.recompile_limit == 2 and frameloom.config.backend == "interpret"
    assert frameloom.config.recompile_limit == 8
    with frameloom.config.patch(cache_size_limit=3, unroll=5):
        assert frameloom.config.recompile_limit == 3 and frameloom.config.unroll_limit == 5
    assert frameloom.config.cache_size_limit == 8 and frameloom.config.unroll_limit == 16
    with pytest.raises(AttributeError):
        frameloom.config.nothing = 1
    with pytest.raises(AttributeError):
        frameloom.config.nothing
    with pytest.raises(TypeError):
        frameloom.config.recompile_limit = "8"
    with pytest.raises(TypeError):
        frameloom.config.recompile_limit = True
    with pytest.raises(ValueError):
        frameloom.config.recompile_limit = -1
    with pytest.raises(ValueError):
        frameloom.config.backend = "nope"
    with pytest.raises(ValueError):
        with frameloom.config.patch(disable=True, cpu="z80"):
            pass
    assert frameloom.config.disable is False
    assert "recompile_limit" in dir(frameloom.config) and "recompile_limit=8" in repr(frameloom.config)


def test_set_logs(capfd):
    frameloom.set_logs("graph", guards=True)
    try:
        assert frameloom.config.logs == "graph,guards"
        f = frameloom.compile(lambda a: a * 2 + 1, backend="interpret")
        f(np.ones(3))
    finally:
        frameloom.set_logs()
    err = capfd.readouterr().err
    assert "[frameloom graph]" in err and "loom.mul" in err
    assert "[frameloom guards]" in err and "float64[3]" in err
    with pytest.raises(ValueError, match="unknown log"):
        frameloom.set_logs("nothing")


def test_environment():
    code = "import frameloom; print(frameloom.config.backend, frameloom.config.recompile_limit)"
    assert run_code(code, environment={"FRAMELOOM_BACKEND": "eager", "FRAMELOOM_RECOMPILE_LIMIT": "3"}).stdout.split() == ["eager", "3"]
    done = run_code(code, environment={"FRAMELOOM_BACKEND": "nope", "FRAMELOOM_RECOMPILE_LIMIT": "x"})
    assert done.stdout.split() == ["loom", "8"] and "FRAMELOOM_BACKEND='nope' is ignored" in done.stderr


def test_trace_folder(tmp_path):
    with frameloom.config.patch(trace=str(tmp_path / "trace")):
        frameloom.compile(lambda a: a * 3 + 1, backend="loom")(np.ones(7))
        frameloom.compile(scale, backend="loom")(np.ones(7), np.ones(7))
    folders = sorted(p.name for p in (tmp_path / "trace").iterdir())
    assert len(folders) == 2 and folders[0].endswith("-_lambda_") and folders[1].endswith("-scale")
    files = list((tmp_path / "trace" / folders[1]).iterdir())
    assert files and any("loom.mul" in f.read_text(errors="replace") for f in files)


def test_explain():
    def f(a, b):
        return np.maximum(a * b, 0) + 1

    a = np.arange(6.0).reshape(2, 3)
    report = frameloom.explain(f, a, a)
    assert report.graph_count == 1 and report.graph_break_count == 0
    assert report.op_count >= 3 and report.ops_per_graph[0].count("mul") == 1
    assert "loom.mul" in report.graphs[0]
    assert any("float64[2, 3]" in guard.text for guard in report.out_guards)
    assert report.compile_times[0]["total_ms"] >= 0
    assert "1 graph" in str(report) and "Explanation" in repr(report)
    assert json.loads(report.json())["graph_count"] == 1


def test_explain_a_break_and_a_method():
    def f(a):
        print(end="")
        return a + 1

    report = frameloom.explain(f, np.ones(3))
    assert report.graph_count == 1 and report.graph_break_count == 1
    reason = report.break_reasons[0]
    assert reason.code.startswith("FL") and reason.file == __file__ and reason.line > 0
    assert "print" in str(reason)

    class C:
        @frameloom.compile
        def m(self, x):
            return x + 1

    assert frameloom.explain(C().m, np.ones(2)).graph_count == 1
    with pytest.raises(ZeroDivisionError):
        frameloom.explain(lambda: 1 // 0)
    with pytest.raises(TypeError):
        frameloom.explain(3)


def test_graph_break_exception():
    @frameloom.compile(fullgraph=True)
    def f(a):
        return a + open("x")

    with pytest.raises(frameloom.GraphBreak) as info:
        f(np.ones(3))
    error = info.value
    assert isinstance(error, RuntimeError) and error.code.startswith("FL") and error.reason
    assert error.filename == __file__ and error.lineno > 0
    text = str(error)
    assert 'return a + open("x")' in text and "^" in text and f"{__file__}:{error.lineno}" in text


def test_graph_break_function():
    @frameloom.compile(fullgraph=True)
    def f(a):
        frameloom.graph_break()
        return a + 1

    assert frameloom.graph_break() is None
    with pytest.raises(frameloom.GraphBreak, match="FL0012"):
        f(np.ones(2))
    g = frameloom.compile(f.__wrapped__)
    np.testing.assert_array_equal(g(np.ones(2)), np.full(2, 2.0))


def test_is_compiling():
    @frameloom.compile(fullgraph=True, backend="interpret")
    def f(a):
        return a + 1 if frameloom.is_compiling() else a

    assert frameloom.is_compiling() is False
    np.testing.assert_array_equal(f(np.ones(2)), np.full(2, 2.0))
    np.testing.assert_array_equal(f.__wrapped__(np.ones(2)), np.ones(2))


def test_disable():
    inner = frameloom.compile(lambda a: a + 1)

    @frameloom.disable
    def f(a):
        return inner(a)

    x = np.ones(3)
    np.testing.assert_array_equal(f(x), x + 1)
    assert inner._report()["hits"] == inner._report()["misses"] == 0
    with frameloom.config.patch(disable=True):
        inner(x)
    assert inner._report()["misses"] == 0
    inner(x)
    assert inner._report()["misses"] == 1
    with pytest.raises(TypeError):
        frameloom.disable(3)


def test_reset():
    f = frameloom.compile(lambda a: a + 1, backend="interpret")
    f(np.ones(3))
    assert len(f._report()["entries"]) == 1
    frameloom.reset()
    assert f._report()["entries"] == [] and f._report()["misses"] == 0
    np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 2.0))


def test_version_and_names():
    assert frameloom.__version__.count(".") == 2
    for name in frameloom.__all__:
        assert getattr(frameloom, name).__doc__ or name == "config"


def test_command_line():
    done = run_command()
    assert done.returncode == 0 and "FRAMELOOM_LOGS" in done.stdout and "OMP_NUM_THREADS" in done.stdout
    done = run_command("reasons")
    assert done.returncode == 0 and "FL0001" in done.stdout
    done = run_command("nonsense")
    assert done.returncode == 2


def test_import_loads_no_compiler():
    code = ("import numpy, sys; before = set(sys.modules); import frameloom\n"
            "print(sorted(set(sys.modules) - before))\n"
            "print('libloom_compiler' in open('/proc/self/maps').read())")
    lines = run_code(code).stdout.splitlines()
    assert lines[-1] == "False"
    assert all(name.startswith(("frameloom", "numpy.fft")) for name in eval(lines[0]))


def test_sub_interpreter_refuses():
    code = ("import _xxsubinterpreters as s\n"
            "i = s.create()\n"
            "try: s.run_string(i, 'import frameloom._native')\n"
            "except s.RunFailedError as e: print('refused', e)")
    if sys.version_info >= (3, 13):
        code = ("import _interpreters as s\n"
                "failed = s.run_string(s.create('legacy'), 'import frameloom._native')\n"
                "if failed: print('refused', failed.formatted)")
    done = run_code(code)
    assert done.returncode == 0 and "refused" in done.stdout and "Import" in done.stdout


def test_free_threaded_fallback():
    code = ("import sys, warnings; sys._is_gil_enabled = lambda: False\n"
            "import frameloom\n"
            "with warnings.catch_warnings(record=True) as w:\n"
            "    warnings.simplefilter('always')\n"
            "    f = frameloom.compile(lambda a: a + 1)\n"
            "    g = frameloom.compile(fullgraph=True)(lambda a: a + 2)\n"
            "with frameloom.config.patch(backend='eager'): pass\n"
            "print(len(w), f(1), g(1), 'frameloom._native' in sys.modules)")
    assert run_code(code).stdout.split() == ["1", "2", "3", "False"]


def test_cycles_are_collected():
    def make():
        f = None

        @frameloom.compile(backend="interpret")
        def f(a):
            return a + 1 if f else a

        f(np.ones(2))
        f.me = f
        return weakref.ref(f)

    ref = make()
    gc.collect()
    assert ref() is None
