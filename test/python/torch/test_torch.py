"""torch.compile(..., backend="frameloom") against eager torch."""

import weakref

import pytest
from processes import printed

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
import torch_help  # noqa: E402
from torch_help import BACKENDS, close, fresh, host_calls  # noqa: E402, F401

import frameloom.torch as ft  # noqa: E402


class Block(torch_help.Block):
    """With attention that is written by hand."""

    def attend(self, q, k, v, mask):
        t, width = q.shape[-2:]
        scores = q @ k.transpose(-2, -1) / width**0.5
        scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
        return scores.softmax(-1) @ v


@pytest.mark.parametrize("name", BACKENDS)
def test_inference(name):
    model, x = Block().eval(), torch.randn(2, 8, 32)
    with torch.no_grad():
        close(torch.compile(model, backend=BACKENDS[name])(x), model(x))
    assert len(ft.compiled_graphs) == 1 and not host_calls()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", [False, True])
def test_attention(causal, mask):
    if causal and mask:
        return
    bias = torch.randn(1, 4, 8, 8) if mask else None

    def f(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, bias, is_causal=causal)

    leaves = [[torch.randn(2, 4, 8, 16, requires_grad=True) for _ in range(3)]]
    leaves.append([t.detach().clone().requires_grad_() for t in leaves[0]])
    weight = torch.randn(2, 4, 8, 16)
    results = [run(*qkv) for run, qkv in zip((torch.compile(f, backend=ft.backend), f), leaves)]
    close(results[0], results[1])
    for r in results:
        (r * weight).sum().backward()
    for got, expected in zip(*leaves):
        close(got.grad, expected.grad, rtol=1e-4, atol=1e-5)
    assert not host_calls()


@pytest.mark.parametrize("name", BACKENDS)
def test_training_step(name):
    model, x, weight = Block(), torch.randn(2, 8, 32), torch.randn(2, 8, 32)
    compiled = torch.compile(model, backend=BACKENDS[name])
    grads = []
    for run in (compiled, model):
        model.zero_grad()
        leaf = x.clone().requires_grad_()
        (run(leaf) * weight).sum().backward()
        grads.append([leaf.grad] + [p.grad.clone() for p in model.parameters()])
    for got, expected in zip(*grads):
        close(got, expected, rtol=1e-4, atol=1e-5)
    assert len(ft.compiled_graphs) == 2


def test_training_converges_like_eager():
    def train(wrap):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
        step = wrap(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.randn(64, 4)
        y = x.sum(1, keepdim=True)
        for _ in range(20):
            loss = F.mse_loss(step(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    got, expected = train(lambda m: torch.compile(m, backend=ft.backend)), train(lambda m: m)
    assert got == pytest.approx(expected, rel=1e-4)


def test_found_by_name():
    code = (
        "import sys, torch\n"
        "f = torch.compile(lambda x: x * 2 + 1, backend='frameloom')\n"
        "assert torch.equal(f(torch.arange(4.)), torch.arange(4.) * 2 + 1)\n"
        "assert 'frameloom.torch' in sys.modules\n"
    )
    from importlib.metadata import entry_points

    if not any(e.name == "frameloom" for e in entry_points(group="torch_dynamo_backends")):
        pytest.skip("frameloom is not installed")
    printed(code)


def test_without_torch_nothing_of_it_is_imported():
    code = "import frameloom, sys; assert 'torch' not in sys.modules"
    printed(code)


def test_unknown_options_are_refused():
    with pytest.raises(Exception, match="unknown options nonsense; known are cpu, fastmath"):
        torch.compile(lambda x: x + 1, backend=ft.backend, options={"nonsense": 1})(torch.ones(3))
    with pytest.raises(Exception, match="unknown mode"):
        ft.backend(None, [], mode="fastest")


@pytest.mark.parametrize("mode", ["default", "max-autotune", "reduce-overhead"])
def test_modes(mode):
    def f(module, inputs):
        return ft.backend(module, inputs, mode=mode)

    close(torch.compile(lambda x: x.exp() + 1, backend=f)(torch.ones(3)), torch.ones(3).exp() + 1)


def test_every_returned_tensor_has_storage_of_its_own():
    def f(x):
        y, z = x.clone(), x + 1
        return y, z, z.clone(), z.view(-1), x, z

    x = torch.randn(3, 4)
    got = torch.compile(f, backend=ft.backend)(x)
    expected = f(x)
    for g, e in zip(got, expected):
        close(g, e)
    assert got[4] is x and got[0].data_ptr() != x.data_ptr()
    assert got[1].data_ptr() == got[3].data_ptr() == got[5].data_ptr() != got[2].data_ptr()


def test_mutated_inputs():
    def f(x, y):
        x.add_(y)
        y[1:].mul_(2)
        return x * 2, x.t()

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    x2, y2 = x.clone(), y.clone()
    got, expected = torch.compile(f, backend=ft.backend)(x, y), f(x2, y2)
    close(x, x2)
    close(y, y2)
    close(got[0], expected[0])
    assert got[1].data_ptr() == x.data_ptr()


def test_aliased_inputs():
    def f(x, y):
        x.mul_(2)
        return x + y

    base = torch.arange(6.0)
    other = base.clone()
    close(torch.compile(f, backend=ft.backend)(base[:4], base[2:]), f(other[:4], other[2:]))
    close(base, other)


LAYOUTS = {
    "transposed": lambda: torch.randn(4, 3).t(),
    "sliced": lambda: torch.randn(6, 8)[::2, ::2],
    "expanded": lambda: torch.randn(3, 1).expand(3, 4),
    "channels_last": lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "0-d": lambda: torch.tensor(2.5),
    "empty": lambda: torch.randn(0, 4),
    "offset": lambda: torch.randn(10)[3:],
    "negative view": lambda: torch.randn(4, dtype=torch.complex64).conj().imag,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    def f(x):
        return x * 2 + 1, x.sum(), x.relu()

    x = LAYOUTS[name]()
    for got, expected in zip(torch.compile(f, backend=ft.backend)(x), f(x)):
        close(got, expected)


def test_sizes_that_vary_do_not_capture_again():
    counter = torch._dynamo.testing.CompileCounterWithBackend("eager")
    captures = []

    def backend(module, inputs):
        captures.append(module)
        return ft.backend(module, inputs)

    f = torch.compile(lambda x: (x * 2).softmax(-1).sum(0), backend=backend)
    x = torch.randn(16, 5)
    torch._dynamo.mark_dynamic(x, 0)
    f(x)
    for n in (3, 7, 16, 100):
        y = torch.randn(n, 5)
        close(f(y), (y * 2).softmax(-1).sum(0))
    assert len(captures) == 1
    del counter


def test_ops_without_a_lowering_run_through_torch():
    def f(x):
        q, r = torch.linalg.qr(x @ x.t())
        return (q @ r).sum(), torch.fft.rfft(x).abs()

    x = torch.randn(4, 4)
    for got, expected in zip(torch.compile(f, backend=ft.backend)(x), f(x)):
        close(got, expected, rtol=1e-4, atol=1e-4)
    assert any("linalg_qr" in str(op) for op in host_calls())


def test_an_error_of_torch_comes_through():
    f = torch.compile(lambda x: torch.linalg.cholesky(x), backend=ft.backend)
    with pytest.raises(torch.linalg.LinAlgError):
        f(-torch.eye(3))


@pytest.mark.parametrize("index", [5, -1])
def test_an_embedding_out_of_range_raises(index):
    weight = torch.randn(5, 3)
    f = torch.compile(lambda i: F.embedding(i, weight), backend=ft.backend)
    with pytest.raises(IndexError):
        f(torch.tensor([0, index]))


@pytest.mark.parametrize("index", [(7, 0), (0, 4), (-6, 0)])
def test_an_index_out_of_range_raises(index):
    x = torch.randn(5, 3)
    f = torch.compile(lambda i, j: x[i, j], backend=ft.backend)
    close(f(torch.tensor([-5, 4]), torch.tensor([2, -3])), x[[-5, 4], [2, -3]])
    with pytest.raises(IndexError):
        f(torch.tensor([0, index[0]]), torch.tensor([0, index[1]]))


def test_random_numbers_are_those_of_eager_torch_where_asked_for():
    def f(x):
        return F.dropout(x, 0.3) + torch.rand_like(x)

    x = torch.randn(100)
    compiled = torch.compile(f, backend=ft.backend, options={"fallback_random": True})
    compiled(x)
    torch.manual_seed(7)
    got = compiled(x), compiled(x)
    torch.manual_seed(7)
    close(got, (f(x), f(x)))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float64])
def test_dtypes(dtype):
    def f(x, y):
        return x + y, x * y, x == y, x.sum(), torch.where(x > y, x, y), x / (y + 1)

    x, y = (torch.randint(0, 5, (3, 4)).to(dtype) for _ in range(2))
    for got, expected in zip(torch.compile(f, backend=ft.backend)(x, y), f(x, y)):
        close(got, expected)


def test_custom_op():
    @torch.library.custom_op("frameloom_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    x = torch.randn(3)
    close(torch.compile(lambda x: twice(x + 1) + 1, backend=ft.backend)(x), (x + 1) * 2 + 1)


def test_checkpoint():
    model, x = Block(), torch.randn(2, 8, 32)

    def f(x):
        return torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False).sum()

    grads = []
    for run in (torch.compile(f, backend=ft.backend), f):
        leaf = x.clone().requires_grad_()
        run(leaf).backward()
        grads.append(leaf.grad)
    close(grads[0], grads[1], rtol=1e-4, atol=1e-5)


def test_functional_transforms():
    def f(x):
        return torch.func.vmap(torch.func.grad(lambda v: (v.sin() * v).sum()))(x)

    x = torch.randn(3, 4)
    close(torch.compile(f, backend=ft.backend)(x), f(x))


def test_inference_mode():
    model, x = Block().eval(), torch.randn(2, 8, 32)
    with torch.inference_mode():
        close(torch.compile(model, backend=ft.backend)(x), model(x))


def test_threads_share_a_graph():
    import threading

    f = torch.compile(lambda x: (x * 2).cumsum(0).tanh(), backend=ft.backend)
    xs = [torch.randn(1000) for _ in range(8)]
    f(xs[0])
    got = [None] * 8

    def work(i):
        for _ in range(50):
            got[i] = f(xs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for x, g in zip(xs, got):
        close(g, (x * 2).cumsum(0).tanh())


def test_outputs_may_be_kept_and_freed_in_any_order():
    f = torch.compile(lambda x: (x + 1, x * 2), backend=ft.backend)
    x = torch.randn(1000)
    kept = [f(x) for _ in range(100)]
    del kept[::2]
    for a, b in kept:
        close(a, x + 1)
        close(b, x * 2)


@ft.config.patch(strict=False)
def test_parts_of_one_tensor_and_expanded_results():
    def f(x):
        y = x + 1
        return (*y.chunk(3, 1), y.sum().expand(4), y[:, :1].expand(4, 5))

    x = torch.randn(4, 6)
    for got, expected in zip(torch.compile(f, backend=ft.backend)(x), f(x)):
        close(got, expected)


def test_a_list_with_large_tensors_is_given_away():
    """So that each can be dropped when it was read last, and results made when they are first written."""
    from torch.fx.experimental.proxy_tensor import make_fx

    def f(a, b):
        return a.sin() @ a + b, b, a[:0] * 2, a.sum(0)

    module = make_fx(f, tracing_mode="fake")(torch.randn(300, 300), torch.randn(300, 300))
    graph = ft.compile_graph(module)
    a, b = torch.randn(300, 300), torch.randn(300, 300)
    want, kept, inputs = f(a, b), weakref.ref(a), [a, b]
    del a
    got = graph(inputs)
    assert kept() is None and not inputs and got[1] is b
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


def test_gradients_have_storage_of_their_own():
    def f(x, y):
        return (x + y).sum()

    x, y = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    compiled = torch.compile(f, backend=ft.backend)
    for _ in range(2):
        compiled(x, y).backward()
    close(x.grad, torch.full((3, 4), 2.0))
    x.grad.add_(1)
    close(y.grad, torch.full((3, 4), 2.0))
