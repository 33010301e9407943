"""Graphs of ATen ops with results, layouts and arguments off the beaten track."""

import pytest

torch = pytest.importorskip("torch")

from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

import frameloom.torch as ft  # noqa: E402

aten = torch.ops.aten


def graph_as_eager(fn, *inputs, host_calls=None):
    """Compiles fn and compares its results, bit for bit, with those of the graph in torch."""
    module = make_fx(fn, tracing_mode="fake")(*inputs)
    graph = ft.compile_graph(module)
    got, expected = graph(list(inputs)), module(*inputs)
    torch.testing.assert_close(got, tuple(expected), rtol=0, atol=0, equal_nan=True, check_stride=True)
    if host_calls is not None:
        assert len(graph.report()[0]["host_calls"]) == host_calls
    return graph


def test_a_conjugate_view_of_another_result():
    x = torch.randn(5, 5)

    def fn(x):
        values, vectors = aten.linalg_eig(x)
        return values, vectors, aten._conj(aten.alias(values))

    graph_as_eager(fn, x)


@pytest.mark.parametrize("shape", [(40, 1), (40, 2), (0, 2)])
def test_a_library_result_in_another_order_than_c(shape):
    n = shape[0]
    a, b = torch.randn(n, n).triu() / 9 + 3 * torch.eye(n), torch.randn(shape)  # so many are left to torch

    def fn(a, b):
        x = aten.linalg_solve_triangular(a, b, upper=True)
        return x, aten.permute(x, [1, 0])

    graph_as_eager(fn, a, b, host_calls=1 if shape[0] else 0)


def test_results_without_an_element_need_no_kernel():
    def fn(x, index):
        return [aten.cat([x, x], 1), aten.gather(x, 0, index), aten._softmax(x, 0, False)]

    graph_as_eager(fn, torch.zeros(0, 2), torch.zeros(0, 2, dtype=torch.int64), host_calls=0)


def test_halves_are_compared_as_they_were_rounded():
    x = torch.randn(5, 7, generator=torch.manual_seed(0)).to(torch.bfloat16)

    def fn(x):
        norm = aten.linalg_vector_norm(x, 1.0, [0], True)
        return [aten.eq(aten.amax(norm, [1], True), norm), aten.sum(aten.eq(norm, aten.amax(norm)))]

    graph = graph_as_eager(fn, x, host_calls=0)
    assert graph([x])[1] >= 1


def test_checks_that_torch_orders_by_tokens():
    """linalg.inv raises for a singular matrix, by an op without a result."""
    fn = torch.compile(torch.linalg.inv, backend=ft.backend, fullgraph=True)
    ft.compiled_graphs.clear()
    x = torch.randn(4, 4) + 4 * torch.eye(4)
    x.requires_grad_()
    torch.testing.assert_close(fn(x), torch.linalg.inv(x))
    assert ft.compiled_graphs  # it did not run in eager torch
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        fn(torch.zeros(4, 4).requires_grad_())


CHECKED = {
    "bool": lambda x: (x > 0).all(),
    "float": lambda x: x.amin().clamp(min=0),
    "half": lambda x: x.amin().clamp(min=0).half(),
    "integer": lambda x: (x > 0).all().long().reshape(1, 1),
    "complex": lambda x: torch.complex(x.amin().clamp(min=0), x.amin().clamp(min=0)),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["frameloom", "frameloom_interpret"])
@pytest.mark.parametrize("kind", CHECKED)
def test_assertions_of_values(kind, backend, dynamic):
    def fn(x):
        torch._assert_async(CHECKED[kind](x), "all positive")
        torch._assert_async(x.sum() < 100, "a small sum")
        return x * 2

    def assertion(x):
        torch._assert_async(CHECKED[kind](x), "all positive")

    ft.compiled_graphs.clear()
    torch._dynamo.reset()
    with torch.no_grad():
        compiled = torch.compile(fn, backend=backend, fullgraph=True, dynamic=dynamic)
        for n in (3, 5):
            x = torch.full((n,), 0.5)
            torch.testing.assert_close(compiled(x), fn(x))
            with pytest.raises(RuntimeError, match="^all positive$"):
                compiled(-x)
            with pytest.raises(RuntimeError, match="^a small sum$"):
                compiled(x + 100)
        compiled_alone = torch.compile(assertion, backend=backend, fullgraph=True)  # a graph without results
        compiled_alone(x)
        with pytest.raises(RuntimeError, match="^all positive$"):
            compiled_alone(-x)
    assert not [call for graph in ft.compiled_graphs for version in graph.report() for call in version["host_calls"]]


def test_an_assertion_of_a_large_input():
    """It is there still when eager torch makes the error."""
    x = torch.ones(1 << 18)

    def fn(x):
        y = x.sin()
        torch._assert_async((y > 0).all(), "all positive")
        return y.cos()

    compiled = torch.compile(fn, backend=ft.backend)
    torch.testing.assert_close(compiled(x), fn(x))
    with pytest.raises(RuntimeError, match="all positive"):
        compiled(-x)


def test_a_library_call_without_results():
    fn = lambda info: [aten._linalg_check_errors(info, "linalg.inv", is_matrix=True), info + 1][1:]  # noqa: E731
    module = make_fx(fn, tracing_mode="fake")(torch.zeros(1, dtype=torch.int32))
    graph = ft.compile_graph(module)
    assert graph([torch.zeros(1, dtype=torch.int32)])[0] == 1
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        graph([torch.ones(1, dtype=torch.int32)])


def test_an_index_that_is_wrong_has_the_error_of_torch():
    x = torch.arange(6.0).reshape(2, 3)
    for fn, i in ((lambda x, i: x.gather(0, i), torch.tensor([[0, 2, 1]])), (lambda x, i: x[i], torch.tensor([0, -3])),
                  (lambda x, i: x.index_select(1, i), torch.tensor([3]))):
        with pytest.raises((IndexError, RuntimeError)) as expected:
            fn(x, i)
        with pytest.raises((IndexError, RuntimeError)) as got:
            torch.compile(fn, backend=ft.backend)(x, i)
        assert type(got.value) is type(expected.value) and str(got.value) == str(expected.value)


def test_a_library_result_of_another_size_than_declared():
    """torch's shape rule for embedding_bag of halves differs from what the kernel gives."""
    weight = torch.randn(10, 3).to(torch.bfloat16)
    index, offsets = torch.tensor([1, 2, 4, 5, 4]), torch.tensor([0, 3])

    def fn(weight, index, offsets):
        return list(aten._embedding_bag(weight, index, offsets))

    module = make_fx(fn, tracing_mode="fake")(weight, index, offsets)
    got, expected = ft.compile_graph(module)([weight, index, offsets]), module(weight, index, offsets)
    torch.testing.assert_close(list(got), list(expected))


def test_inputs_of_other_sizes_than_traced_run_in_torch():
    module = make_fx(lambda x: aten.add(x, 1), tracing_mode="fake")(torch.zeros(3))
    graph = ft.compile_graph(module)
    for x in (torch.zeros(4), torch.zeros(3, dtype=torch.int64), torch.zeros(2, 3)):
        torch.testing.assert_close(graph([x])[0], x + 1)
