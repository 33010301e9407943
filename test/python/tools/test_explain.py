"""Reports: explain, logs, recompilations, the profiler, times."""

import json
import re

import numpy as np
import pytest

import frameloom

x = np.arange(6.0)
TABLE = {"scale": 2.0}


def logged(capfd, logs, fn, *calls, backend="interpret", **options):
    capfd.readouterr()
    with frameloom.config.patch(logs=logs):
        f = frameloom.compile(fn, backend=backend, **options)
        for args in calls:
            f(*args)
    return capfd.readouterr().err


def sample(a, n=3):
    for i in range(100):
        a = a * 0.5 + n
    print(end="")
    for i in range(3):
        a = a + TABLE["scale"]
    return a


def test_nothing_to_compile():
    report = frameloom.explain(lambda: 3)
    assert report.op_count == report.graph_break_count == 0 and report.ops_per_graph in ([], [[]])

    def generator():
        yield 1

    report = frameloom.explain(generator)
    assert (report.graph_count, report.op_count, report.graphs, report.out_guards) == (0, 0, [], [])
    assert report.graph_break_count == 1


def test_guards_have_sources_lines_and_costs():
    report = frameloom.explain(sample, x)
    guards = {guard.source: guard for guard in report.out_guards}
    line = sample.__code__.co_firstlineno
    assert guards["a"].kind == "array" and guards["a"].text == "a: float64[6]" and guards["a"].line in (line + 2, line + 5)
    assert guards["n"].kind == "value" and guards["n"].file == __file__ and guards["n"].function.endswith("sample")
    assert guards["TABLE['scale']"].line == line + 5
    assert all(0 <= guard.cost_ns < 1e6 for guard in report.out_guards)
    assert guards["a"].cost_ns > 0 and "ns" in str(guards["a"]) and f"{__file__}:" in str(guards["a"])
    assert frameloom.compile(sample, backend="interpret")(x) is not None
    f = frameloom.compile(lambda a: a + 1, backend="interpret")
    f(x)
    assert {row[6] for row in f._report()["entries"][0]["guards"]} == {None}  # only explain measures


def test_symbolic_guards_have_costs_too():
    report = frameloom.explain(frameloom.compile(lambda a: a[1:] + a[:-1], dynamic=True), x)
    sizes = [guard for guard in report.out_guards if guard.kind == "size"]
    assert sizes and all(guard.cost_ns > 0 for guard in sizes)


def test_loops():
    report = frameloom.explain(sample, x)
    first = report.loops[0]
    assert (first.fate, first.iterations, first.line, first.why) == ("rolled", 100, sample.__code__.co_firstlineno + 1, "")
    assert str(first).endswith("loop of 100 iterations rolled")

    def grows(a):
        for i in range(40):
            a = np.concatenate([a, a[:1]])
        return a

    loop = next(loop for loop in frameloom.explain(grows, x).loops if loop.iterations == 40)
    assert loop.fate in ("unrolled", "left") and loop.why and loop.why in str(loop)


def test_names_and_json():
    report = frameloom.explain(sample, x, n=4)
    assert report.graph_names == ["sample", f"sample from line {sample.__code__.co_firstlineno + 3}"]
    fields = json.loads(report.json())
    assert fields["graph_count"] == 2 and fields["graph_break_count"] == 1 and len(fields["ops_per_graph"]) == 2
    assert fields["break_reasons"][0]["code"].startswith("FL")
    assert {"kind", "source", "text", "file", "line", "cost_ns"} <= set(fields["out_guards"][0])
    assert fields["loops"][0]["fate"] == "rolled" and fields["recompiles"] == [] and fields["compile_times"][0]["total_ms"] >= 0
    text = str(report)
    assert all(part in text for part in ("sample: 2 graphs", "guards, ", "loops:", "breaks:", "graph 1, sample from line"))


def test_explain_runs_the_function_once():
    calls = []

    def f(a):
        calls.append(1)
        return a + 1

    frameloom.explain(f, x)
    assert calls == [1]
    compiled = frameloom.compile(f, backend="interpret")
    frameloom.explain(compiled, x)
    assert compiled._report()["misses"] == 0


def test_explain_of_partials_methods_and_objects():
    import functools

    class Scale:
        def __init__(self, w):
            self.w = w

        def __call__(self, a):
            return a * self.w

        def add(self, a):
            return a + self.w

    for fn in (functools.partial(functools.partial(lambda a, b, c=1: b * a + c, 5.0), c=2.0), Scale(3.0), Scale(3.0).add,
               frameloom.compile(Scale(2.0)), frameloom.compile(functools.partial(lambda k, a: a * k, 2.0))):
        report = frameloom.explain(fn, x)
        assert report.graph_count == 1 and report.graph_break_count == 0 and report.op_count
    with pytest.raises(TypeError):
        frameloom.explain(len, x)
    with pytest.raises(TypeError):
        frameloom.explain(Scale, 3.0)


RECOMPILES = [
    (lambda a: a + 1, (x,), (x[:4],), r"a was float64\[6\] and is float64\[4\]", r"frameloom.mark_dynamic\(a, 0\)"),
    (lambda a: a + 1, (x,), (x.astype("f4"),), r"a was float64\[6\] and is float32\[6\]", "np.ascontiguousarray"),
    (lambda a, n: a + 1 if n > 3 else a - 1, (x, 5), (x, 2), "n was 5 and is 2", r"np.asarray\(n\), or compile with dynamic=True"),
    (lambda a, flag: a + 1 if flag else a, (x, True), (x, False), "flag was True and is False", "one compiled function"),
    (lambda a, word: a * len(word), (x, "ab"), (x, "abc"), "word was 'ab' and is 'abc'", "for each value of word"),
    (lambda a: a[0] * len(a), ([x],), ([x, x],), r"len|a was 1 items and is 2 items", r"np.stack\(a\)"),
    (lambda a: a + 1, (x,), (3,), r"a was float64\[6\] and is 3", "keep rank"),
]


@pytest.mark.parametrize("row", range(len(RECOMPILES)))
def test_recompiles_say_what_changed(row, capfd):
    fn, first, second, change, advice = RECOMPILES[row]
    text = logged(capfd, "recompiles", fn, first, second)
    line, = [line for line in text.splitlines() if line.startswith("[frameloom recompiles]")]
    assert re.search(r"compiled again in \d+\.\d\d ms: ", line)
    assert re.search(change, line) and re.search(advice, line) and f"({__file__}:" in line


def test_recompiles_by_globals_and_closures(capfd):
    factor = 2.0

    def f(a):
        return a * factor * TABLE["scale"]

    capfd.readouterr()
    with frameloom.config.patch(logs="recompiles"):
        g = frameloom.compile(f, backend="interpret")
        g(x)
        factor = 3.0
        np.testing.assert_array_equal(g(x), x * 6)
        TABLE["scale"] = 5.0
        try:
            np.testing.assert_array_equal(g(x), x * 15)
        finally:
            TABLE["scale"] = 2.0
    text = capfd.readouterr().err
    assert "factor was 2.0 and is 3.0" in text and "TABLE['scale'] was 2.0 and is 5.0" in text and "as an argument" in text


def test_the_limit_warns_once():
    f = frameloom.compile(lambda a, n: a + n if n > 3 else a, backend="interpret", dynamic=False)
    with frameloom.config.patch(recompile_limit=2), pytest.warns(RuntimeWarning, match="recompile_limit") as caught:
        for n in range(6):
            np.testing.assert_array_equal(f(x, n), x + n if n > 3 else x)
    assert len(caught) == 1 and f._report()["captures"] == 2


def test_every_log(capfd):
    def f(a, out):
        out[0] = a.sum()
        frameloom.graph_break()
        return np.sort(a)

    text = logged(capfd, "all", f, (x.copy(), x.copy()), (x[:4].copy(), x.copy()), backend="loom")
    logs = set(re.findall(r"^\[frameloom (\w+)\]", text, re.M))
    assert logs == {"graph", "graph_code", "bytecode", "guards", "recompiles", "breaks", "dynamic", "side_effects", "host_calls",
                    "kernels", "schedule", "cache", "time"}
    assert re.search(r"\[frameloom side_effects\] \S+f: writes output \d+ into a view of out", text)
    assert "loom.kernel" in text and "schedule = {" in text and "def " in text and "reduce(arg0" in text


def test_logs_name_functions_and_parts(capfd):
    text = logged(capfd, "graph,guards", sample, (x,))
    line = sample.__code__.co_firstlineno + 3
    assert "[frameloom graph] sample\n" in text and f"[frameloom graph] sample from line {line}\n" in text
    assert re.search(rf"\[frameloom guards\] sample: a: float64\[6\] \({re.escape(__file__)}:\d+\)", text)


def test_profiler():
    profiler = frameloom.CompileProfiler()
    f = frameloom.compile(sample, backend=profiler)
    assert "No graph breaks." in profiler.report() and "No recompilations." in profiler.report()
    np.testing.assert_array_equal(f(x), sample(x))
    np.testing.assert_array_equal(f(x.reshape(2, 3)), sample(x.reshape(2, 3)))
    assert profiler.frame_count == 4 and profiler.op_count > 10
    text = profiler.report()
    assert "FL0" in text and "print()" in text and "a was float64[6] and is float64[2, 3]" in text
    assert "recompile_limit = 3" in text
    metrics = profiler.get_metrics()
    (name, rows), = metrics["recompiles"].items()
    assert name.startswith("sample (") and rows[0].source == "a" and rows[0].compiled
    other = frameloom.CompileProfiler()
    assert other.get_metrics() == {"breaks": {}, "recompiles": {}}


def test_compile_times():
    def timed_for_this_test(a):
        return a + 1

    frameloom.compile(timed_for_this_test)(x)
    frameloom.compile(timed_for_this_test)(x)
    name = "test_compile_times.<locals>.timed_for_this_test: "
    text = frameloom.compile_times()
    assert all(name + phase in text for phase in ("capture", "load", "import", "passes", "lower", "emit", "total"))
    header, rows = frameloom.compile_times(repr="csv")
    assert rows[header.index(name + "total")].count(",") == 1
    header, rows = frameloom.compile_times(repr="csv", aggregate=True)
    assert float(rows[header.index(name + "total")]) > 0
    with pytest.raises(ValueError):
        frameloom.compile_times("xml")


def test_reports_name_ints_of_any_size():
    large = 10**5000
    table = {large: 1, (large, 2): 3}

    def f(n):
        return table[n] + (n == large)

    compiled = frameloom.compile(f, backend="interpret")
    assert compiled(large) == 2 and compiled((large, 2)) == 3
    compiled._report()
    assert str(frameloom.explain(f, large))
