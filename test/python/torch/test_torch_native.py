"""Ops that functions of the extension compute, because data decides what is done: they choose as eager torch does."""

import random

import pytest
from torch.fx.experimental.proxy_tensor import make_fx
from torch_help import close, compiled, fresh, ft, host_calls, identical, torch  # noqa: F401

aten = torch.ops.aten
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int16, torch.uint8]


# ---- topk --------------------------------------------------------------------------------------------------------------


def tied(rng, shape, dtype, dim):
    """Elements of which many are equal, in orders that quicksorts like and dislike."""
    n = shape[dim]
    ends = torch.arange(n).minimum(torch.arange(n).flip(0)) % 100
    kinds = {
        "few": lambda: torch.randint(0, rng.choice([1, 2, 3, 20]), shape),
        "many": lambda: torch.randint(0, 127, shape),
        "sorted": lambda: torch.randint(0, 9, shape).sort(dim)[0],
        "reversed": lambda: torch.randint(0, 9, shape).sort(dim, descending=True)[0],
        "both ends": lambda: ends.reshape([-1 if i == dim % len(shape) else 1 for i in range(len(shape))]).expand(shape).clone(),
    }
    x = kinds[rng.choice(list(kinds))]().to(dtype)
    if dtype.is_floating_point and rng.random() < 0.5:
        x = torch.where(torch.rand(shape) < 0.2, torch.tensor(rng.choice([float("nan"), -0.0, float("inf")])).to(dtype), x)
    return x


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 16, 17, 18, 33, 64, 100, 128, 300, 3000])
def test_topk_takes_those_of_equal_elements_that_torch_takes(n):
    rng = random.Random(n)
    torch.manual_seed(n)
    for _ in range(25):
        k = min(n, rng.choice([1, 2, 3, n, max(1, n // 64), n // 2 + 1, rng.randint(1, n)]))
        dtype, dim, largest, order = rng.choice(DTYPES), rng.choice([-1, 0, 1]), rng.random() < 0.5, rng.random() < 0.7
        shape = [3, 5, 4]
        shape[dim] = n
        fn = lambda x: list(aten.topk(x, k, dim, largest, order))  # noqa: E731
        x = tied(rng, shape, dtype, dim)
        x = rng.choice([x, x.transpose(0, 2).contiguous().transpose(0, 2), x[:, :, ::2] if dim != -1 else x[:, ::2]])
        graph = ft.compile_graph(make_fx(fn, tracing_mode="fake")(x))
        identical(graph([x]), fn(x))
        assert not graph.report()[0]["host_calls"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_few_of_many(dtype, largest):
    """Which are read in blocks that are passed by as a whole; with NaN of both signs, in lines that rise and fall."""
    torch.manual_seed(5)
    for n in (320, 2049, 4000):
        x = torch.randn(6, n, dtype=dtype)
        x[1:3] = torch.randint(-2, 3, (2, n)).to(dtype)
        x[2, torch.rand(n) < 0.01] = float("nan")
        x[3, 100:107] = -torch.tensor(float("nan"), dtype=dtype)
        x[4], x[5] = x[4].sort()[0], x[5].sort(descending=True)[0]
        for k in (1, 2, n // 64):
            fn = lambda x: list(aten.topk(x, k, 1, largest, True))  # noqa: B023, E731
            graph = ft.compile_graph(make_fx(fn, tracing_mode="fake")(x))
            identical(graph([x]), fn(x))


def test_topk_of_elements_that_make_quicksort_slow():
    """Medians of three that are always near an end: the library turns to heaps."""
    n = 2000
    x = torch.empty(n)
    order = torch.arange(n, dtype=torch.float32)
    x[0::2], x[1::2] = order[: n // 2], order[n // 2:]
    for y in (x, -x, (x / 3).floor(), torch.cat([x, x]), torch.cat([x.flip(0), -x])):
        for k in (40, 700, len(y)):
            graph = ft.compile_graph(make_fx(lambda y: list(aten.topk(y, k)), tracing_mode="fake")(y))
            identical(graph([y]), aten.topk(y, k))


@pytest.mark.parametrize("backend", ["frameloom", "frameloom_interpret"])
def test_topk_in_a_router(backend):
    def route(x, w):
        values, experts = torch.topk(torch.relu(x @ w), 2, dim=-1)
        return values / (values.sum(-1, keepdim=True) + 1), experts, torch.nn.functional.one_hot(experts, 8).sum(1)

    run = torch.compile(route, backend=backend, dynamic=True, fullgraph=True)
    for tokens in (5, 16, 33):
        x, w = torch.randn(tokens, 12), torch.randn(12, 8)
        got, expected = run(x, w), route(x, w)
        close(got[0], expected[0])
        assert torch.equal(got[1], expected[1]) and torch.equal(got[2], expected[2])
    assert not host_calls()


def test_topk_of_what_has_no_order_is_the_error_of_torch():
    with pytest.raises(RuntimeError) as expected:
        torch.topk(torch.tensor([True, False]), 1)
    with pytest.raises(RuntimeError) as got:
        compiled(lambda x: torch.topk(x, 1))(torch.tensor([True, False]))
    assert str(got.value) == str(expected.value)


# ---- grouped products --------------------------------------------------------------------------------------------------


@torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=(), schema="(Tensor input, Tensor weight, Tensor offs) -> Tensor")
def grouped(input, weight, offs):
    out = torch.zeros(input.size(0), weight.size(2), dtype=input.dtype)
    start = 0
    for i, end in enumerate(offs.tolist()):
        out[start:end] = input[start:end] @ weight[i]
        start = end
    return out


@torch.library.custom_op("transformers::grouped_mm_fallback_backward", mutates_args=(),
                         schema="(Tensor input, Tensor weight, Tensor offs, Tensor grad_output) -> (Tensor, Tensor)")
def grouped_backward(input, weight, offs, grad):
    rows, weights = torch.zeros_like(input), torch.zeros_like(weight)
    start = 0
    for i, end in enumerate(offs.tolist()):
        rows[start:end] = grad[start:end] @ weight[i].T
        weights[i] = input[start:end].T @ grad[start:end]
        start = end
    return rows, weights


grouped.register_fake(lambda x, w, offs: torch.empty(x.size(0), w.size(2), dtype=x.dtype))
grouped_backward.register_fake(lambda x, w, offs, grad: (torch.empty_like(x), torch.empty_like(w)))
grouped.register_autograd(
    lambda ctx, grad: (*torch.ops.transformers.grouped_mm_fallback_backward(*ctx.saved_tensors, grad), None),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))

LAYOUTS = {"in order": lambda w: w, "turned": lambda w: w.transpose(1, 2).contiguous().transpose(1, 2), "with gaps": lambda w: w.repeat(1, 1, 2)[:, :, ::2]}
OFFSETS = [[2, 5, 9], [0, 0, 9], [9, 9, 9], [0, 3, 3], [0, 0, 0], [1, 2, 3]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_grouped_products_and_their_gradients(dtype, layout):
    dynamic = (dtype == torch.float64) == (layout == "turned")  # each with every dtype and layout
    run = compiled(lambda x, w, offs: (torch.ops.transformers.grouped_mm_fallback(x.sin(), w, offs) * 2), dynamic=dynamic)
    for offsets in OFFSETS:
        for kind in (torch.int32, torch.int64):
            x, w = torch.randn(9, 4, dtype=dtype), LAYOUTS[layout](torch.randn(3, 4, 6, dtype=dtype))
            offs, results = torch.tensor(offsets, dtype=kind), []
            for f in (run, lambda x, w, offs: torch.ops.transformers.grouped_mm_fallback(x.sin(), w, offs) * 2):
                a, b = x.clone().requires_grad_(), w.detach().requires_grad_()
                out = f(a, b, offs)
                out.square().sum().backward()
                results.append((out.detach(), a.grad, b.grad))
            for got, expected in zip(*results):
                torch.testing.assert_close(got, expected, rtol=2e-2 if dtype == torch.bfloat16 else 1e-5, atol=1e-4 if dtype != torch.bfloat16 else 0.2)
    assert not host_calls()


def test_grouped_mm_of_torch():
    dtype = torch.bfloat16  # torch's shape rule takes no other
    offs = torch.tensor([4, 4, 16], dtype=torch.int32)
    results = []
    x, w, y = torch.randn(16, 8, dtype=dtype), torch.randn(3, 8, 16, dtype=dtype), torch.randn(16, 24, dtype=dtype)
    for wrap in (compiled, lambda f: f):
        a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
        rows = wrap(lambda x, w, offs: torch.nn.functional.grouped_mm(x, w, offs=offs))(a, b, offs)
        sums = wrap(lambda x, y, offs: torch.nn.functional.grouped_mm(x.t(), y, offs=offs))(x, y, offs)
        rows.float().square().sum().backward()
        results.append((rows.detach(), sums, a.grad, b.grad))
    for got, expected in zip(*results):
        torch.testing.assert_close(got, expected)
        assert got.stride() == expected.stride()
    assert not host_calls()


def test_offsets_that_make_no_sense_are_left_to_torch():
    x, w = torch.randn(6, 4), torch.randn(2, 4, 3)
    fn = torch.ops.transformers.grouped_mm_fallback
    run = compiled(lambda x, w, offs: fn(x, w, offs))
    for offsets in ([4, 9], [5, 2], [-3, 6]):
        offs = torch.tensor(offsets)
        close(run(x, w, offs), fn(x, w, offs))


# ---- triangular systems ------------------------------------------------------------------------------------------------

SHAPES = [((4, 4), (4, 3)), ((1, 1), (1, 1)), ((2, 5, 5), (2, 5, 2)), ((3, 1, 6, 6), (2, 6, 4)), ((5, 5), (4, 5, 2)), ((40, 3, 3), (3, 2)), ((32, 32), (32, 9)), ((7, 7), (7, 17))]


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_triangular_systems_and_their_gradients(dtype, upper, left, unit):
    """Each form with two of the shapes, and each shape with every value of dtype, upper, left and unit."""

    def solve(a, b):
        return torch.linalg.solve_triangular(a, b if left else b.mT, upper=upper, left=left, unitriangular=unit)

    number = (unit ^ upper) + 2 * (unit ^ left ^ (dtype == torch.float64))
    for i in (number, number + 4):
        first, second = SHAPES[i]
        torch._dynamo.reset()
        n = first[-1]
        a = torch.randn(first, dtype=dtype) / n + 2 * torch.eye(n, dtype=dtype)  # the other triangle is not read
        b, results = torch.randn(second, dtype=dtype), []
        if i % 2:
            a = a.mT.contiguous().mT
        for f in (compiled(solve), solve):
            x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
            out = f(x, y)
            out.square().sum().backward()
            results.append((out.detach(), x.grad, y.grad))
        for got, expected in zip(*results):
            torch.testing.assert_close(got, expected, rtol=2e-4 if dtype == torch.float32 else 1e-10, atol=1e-4 if dtype == torch.float32 else 1e-10)
        assert results[0][0].stride() == results[1][0].stride()
    assert not host_calls()


def test_triangular_systems_that_are_large_or_singular():
    a, b = torch.randn(90, 90).tril() / 9 + 3 * torch.eye(90), torch.randn(90, 2)
    solve = lambda a, b: torch.linalg.solve_triangular(a, b, upper=False)  # noqa: E731
    close(compiled(solve)(a, b), solve(a, b), rtol=1e-4, atol=1e-4)
    assert host_calls()
    a, b = torch.eye(3), torch.tensor([[1.0], [-2.0], [3.0]])
    a[1, 1] = 0
    torch.testing.assert_close(compiled(solve)(a, b), solve(a, b), equal_nan=True)


def test_triangular_systems_whose_sizes_change():
    solve = lambda a, b: torch.linalg.solve_triangular(a.tril() + torch.eye(a.shape[-1]), b, upper=False)  # noqa: E731
    run = compiled(solve, dynamic=True)
    for n in (3, 4, 7):
        a, b = torch.rand(5, n, n), torch.randn(5, n, 2)
        close(run(a, b), solve(a, b), rtol=1e-4, atol=1e-4)
