"""Backends written in Python, and the graph that they get."""

import gc
import sys
import weakref

import numpy as np
import pytest
from compare import check_calls

import frameloom

x = np.arange(6.0).reshape(2, 3)


class Recorder:
    """Runs each graph as it is, and keeps what it was given."""

    def __init__(self):
        self.graphs, self.inputs, self.calls = [], [], 0

    def __call__(self, graph, inputs):
        self.graphs.append(graph)
        self.inputs.append(inputs)

        def run(*args):
            self.calls += 1
            return graph(*args)

        return run


def recorded(fn, *args, graphs=1):
    """The recorder behind two calls that are the same as plain Python's."""
    backend = Recorder()
    check_calls(fn, args, args, backend=backend, ulps=0)
    assert len(backend.graphs) == graphs and backend.calls == 2 * graphs
    return backend


def test_graph_can_be_read():
    def f(a, b):
        return np.maximum(a.T * b, 0.5).sum(axis=1)

    backend = recorded(f, x, x.T.copy())
    graph, = backend.graphs
    assert graph.name.endswith("f") and len(graph) == len(graph.nodes) and "Graph" in repr(graph)
    a, b = graph.inputs
    assert (a.name, a.dtype, a.shape, a.kind, a.strides, a.node) == ("%arg0", "float64", (2, 3), "array", (3, 1), None)
    assert a.type == "tensor<2x3xf64>" and a.index == 0 and a.graph is graph
    mul = next(node for node in graph.nodes if node.op == "mul")
    assert mul.operands[1] == b and mul.operands[1] != a and hash(mul.operands[1]) == hash(b)
    result, = mul.results
    assert result.node == mul and result.shape == (3, 2) and result.kind == "result" and result.strides is None
    reduce = graph.outputs[0].node
    assert reduce.op == "reduce" and reduce.attributes == {"kind": "sum", "axes": (1,)}
    file, line, column, function = reduce.location
    assert file == __file__ and line == f.__code__.co_firstlineno + 1 and column > 0 and "f" in function
    assert [node.attributes["value"] for node in graph.nodes if node.op == "constant"] == [0.5]
    assert mul.regions == () and mul.target is None and mul != reduce


def test_graph_prints(capsys):
    graph, = recorded(lambda a: np.tanh(a) + 1, x).graphs
    assert "loom.tanh %arg0" in str(graph) and "func.func" in str(graph)
    graph.print()
    assert capsys.readouterr().out == str(graph)
    assert "= tanh(arg0)  # float64[2, 3]  test_backends.py:" in graph.code and graph.code.count("\n") >= 4


def test_inputs_are_those_of_the_call():
    table = np.arange(20000.0)

    def f(a, k):
        return a * k + table[:3]

    backend = recorded(f, x, 2.5)
    inputs = backend.inputs[0]
    np.testing.assert_array_equal(inputs[0], x)
    assert not inputs[0].flags.writeable
    with pytest.raises(ValueError):
        inputs[0][0, 0] = 1


def test_symbolic_sizes():
    backend = Recorder()
    f = frameloom.compile(lambda a, n: (a * n).reshape(-1)[1:] + a.shape[0], backend=backend, dynamic=True)
    for rows in (4, 7, 9):
        a = np.arange(rows * 3.0).reshape(rows, 3)
        np.testing.assert_array_equal(f(a, rows + 1), (a * (rows + 1)).reshape(-1)[1:] + rows)
    assert len(backend.graphs) == 1
    graph = backend.graphs[0]
    assert graph.symbols and any(isinstance(size, str) for v in graph.inputs for size in v.shape)
    assert isinstance(graph.outputs[0].shape[0], str)


def test_loops_and_library_calls():
    def f(a):
        for i in range(200):
            a = a * 0.5 + i
        return np.sort(a, axis=0)

    graph, = recorded(f, x).graphs
    loop = next(node for node in graph.nodes if node.op == "for")
    body, = loop.regions
    assert {"mul", "add"} <= {node.op for node in body.nodes} and len(body.inputs) == len(loop.operands)
    call = graph.outputs[0].node
    assert call.op == "host_call" and call.target is np.sort
    with pytest.raises(TypeError, match="region"):
        body(1, 2)


def test_breaks_make_several_graphs():
    def f(a):
        b = a + 1
        frameloom.graph_break()
        return b * 2

    backend = recorded(f, x, graphs=2)
    assert backend.graphs[1].name.endswith(f"from line {f.__code__.co_firstlineno + 2}")


def test_each_backend_gets_the_graphs_of_what_both_call():
    def helper(a):
        b = a + 1
        frameloom.graph_break()
        return b * 2

    def first(a):
        frameloom.graph_break()
        return helper(a) - 1

    def second(a):
        frameloom.graph_break()
        return helper(a) - 1

    for fn in (first, second):
        backend = Recorder()
        check_calls(fn, (x,), (x,), backend=backend, ulps=0)
        assert {node.op for graph in backend.graphs for node in graph.nodes} >= {"add", "mul", "sub"}


def test_writes_into_arguments():
    def f(a, b):
        a[0] = b[1] * 2
        b += a
        return a.sum()

    recorded(f, x, x + 1)


def test_results_are_copied():
    kept = np.zeros(3)
    f = frameloom.compile(lambda a: a[0] + 1, backend=lambda graph, inputs: lambda a: kept)
    result = f(x)
    assert result is not kept and not np.shares_memory(result, kept)
    g = frameloom.compile(lambda a: (a + 0.0, a - 0.0), backend=lambda graph, inputs: lambda a: [a, a])
    one, two = g(x)
    one[0, 0] = 9
    assert two[0, 0] == x[0, 0] == 0


def test_errors():
    def compiled(backend, fn=lambda a: a[0] + 1):
        return frameloom.compile(fn, backend=backend)

    with pytest.raises(ZeroDivisionError):
        compiled(lambda graph, inputs: 1 / 0)(x)
    with pytest.raises(TypeError, match="cannot be called"):
        compiled(lambda graph, inputs: 3)(x)
    with pytest.raises(KeyError):
        compiled(lambda graph, inputs: lambda a: {}["k"])(x)
    with pytest.raises(ValueError, match=r"shape \(7,\), not \(3,\)"):
        compiled(lambda graph, inputs: lambda a: np.ones(7))(x)
    with pytest.raises(TypeError, match="dtype float32, not float64"):
        compiled(lambda graph, inputs: lambda a: np.ones(3, np.float32))(x)
    with pytest.raises(TypeError, match="no tuple of 2 results"):
        compiled(lambda graph, inputs: lambda a: (a,), lambda a: (a + 1, a - 1))(x)
    with pytest.raises(TypeError, match="must be a str or a callable"):
        frameloom.compile(lambda a: a, backend=3)
    with pytest.raises(TypeError):
        frameloom.Graph()


def test_graph_call_checks_its_inputs():
    graph, = recorded(lambda a: a + 1, x).graphs
    np.testing.assert_array_equal(graph(x)[0], x + 1)
    np.testing.assert_array_equal(graph(np.asfortranarray(x))[0], x + 1)
    for bad, error in ((x[0], TypeError), (x.astype("f4"), TypeError), (np.ones((3, 3)), ValueError)):
        with pytest.raises(error):
            graph(bad)
    with pytest.raises(TypeError):
        graph()
    with pytest.raises(TypeError):
        graph(a=x)


def test_nothing_is_kept_alive():
    backend = Recorder()
    f = frameloom.compile(lambda a: a + 1, backend=backend)
    array = x.copy()
    f(array)
    count = sys.getrefcount(array)
    backend.inputs.clear()
    for _ in range(100):
        f(array)
    assert sys.getrefcount(array) <= count
    refs = [weakref.ref(f), weakref.ref(f.__wrapped__)]
    del f, backend
    gc.collect()
    assert [ref() for ref in refs] == [None, None]
