"""The attention operations that torch chooses from on CUDA, as graphs of fake tensors: torch without CUDA has none of their
kernels. What they give, and their gradients, is compared with torch's attention on the CPU."""

import itertools
import operator

import pytest

torch = pytest.importorskip("torch")
cuda_tensors = pytest.importorskip("cuda_tensors")

import torch.nn.functional as F  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402
from torch_help import fresh, host_calls  # noqa: E402, F401

import frameloom.torch as ft  # noqa: E402

cuda_tensors.install()
aten = torch.ops.aten


def efficient(graph, tensors, grad, mask, causal, scale):
    q, k, v = tensors
    op, back = aten._scaled_dot_product_efficient_attention.default, aten._scaled_dot_product_efficient_attention_backward.default
    made = graph(op, q, k, v, mask, True, 0.0, causal, scale=scale)
    wanted = [True, True, True, False]
    return made[0], graph(back, grad, q, k, v, mask, made[0], made[1], made[2], made[3], 0.0, wanted, causal, scale=scale)[:3]


def flash(graph, tensors, grad, mask, causal, scale):
    q, k, v = tensors
    op, back = aten._scaled_dot_product_flash_attention.default, aten._scaled_dot_product_flash_attention_backward.default
    made = graph(op, q, k, v, 0.0, causal, False, scale=scale)
    n, m = q.meta["val"].shape[2], k.meta["val"].shape[2]
    return made[0], graph(back, grad, q, k, v, made[0], made[1], None, None, n, m, 0.0, causal, made[6], made[7], scale=scale)


def cudnn(graph, tensors, grad, mask, causal, scale):
    q, k, v = tensors
    op, back = aten._scaled_dot_product_cudnn_attention.default, aten._scaled_dot_product_cudnn_attention_backward.default
    made = graph(op, q, k, v, mask, True, 0.0, causal, False, scale=scale)
    n, m = q.meta["val"].shape[2], k.meta["val"].shape[2]
    return made[0], graph(back, grad, q, k, v, made[0], made[1], made[6], made[7], mask, None, None, n, m, 0.0, causal, scale=scale)


class Graph:
    """Writes calls of operations down, with what torch declares for them."""

    def __init__(self, tensors):
        self.graph, self.mode = torch.fx.Graph(), FakeTensorMode()
        self.inputs = [self.graph.placeholder(f"x{i}") for i in range(len(tensors))]
        for node, tensor in zip(self.inputs, tensors, strict=True):
            node.meta["val"] = self.mode.from_tensor(tensor)

    def __call__(self, op, *args, **kwargs):
        node = self.graph.call_function(op, args, kwargs)
        with self.mode:
            node.meta["val"] = op(*torch.fx.node.map_arg(args, lambda n: n.meta["val"]), **kwargs)
        items = [self.graph.call_function(operator.getitem, (node, i)) for i in range(len(node.meta["val"]))]
        for item, value in zip(items, node.meta["val"], strict=True):
            item.meta["val"] = value
        return items

    def module(self, *results):
        self.graph.output(results)
        return torch.fx.GraphModule(torch.nn.Module(), self.graph)


def wanted(q, k, v, grad, mask, causal, scale):
    leaves = [t.detach().float().requires_grad_() for t in (q, k, v)]
    out = F.scaled_dot_product_attention(*leaves, attn_mask=None if mask is None else mask.float(), is_causal=causal, scale=scale)
    return out, torch.autograd.grad(out, leaves, grad.float())


SIZES = [(2, 3, 9, 9, 16), (1, 2, 40, 40, 32), (1, 2, 2, 7, 8), (2, 1, 33, 12, 64)]
CASES = [
    (form, dtype, sizes, way)
    for form, dtype, sizes, way in itertools.product((efficient, flash, cudnn), (torch.float32, torch.bfloat16), SIZES, ("plain", "causal", "mask"))
    if (form is not flash or way != "mask") and (way != "causal" or sizes[2] == sizes[3]) and (form is efficient or dtype != torch.float32)
]


@pytest.mark.parametrize("form, dtype, sizes, way", CASES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_attention(form, dtype, sizes, way):
    n, heads, queries, keys, width = sizes
    q, grad = (torch.randn(n, heads, queries, width, dtype=dtype) for _ in range(2))
    k, v = (torch.randn(n, heads, keys, width, dtype=dtype) for _ in range(2))
    mask = torch.randn(n, heads, queries, keys, dtype=dtype) if way == "mask" else None
    given = [q, k, v, grad] + ([mask] if mask is not None else [])
    given = [t.cuda() for t in given]
    graph = Graph(given)
    out, gradients = form(graph, graph.inputs[:3], graph.inputs[3], graph.inputs[4] if mask is not None else None, way == "causal", 0.3)
    compiled = ft.compile_graph(graph.module(out, *gradients), strict=True)
    got, *got_gradients = compiled(given)
    assert not host_calls()
    expected, expected_gradients = wanted(q, k, v, grad, mask, way == "causal", 0.3)
    near = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 5e-2, "atol": 5e-2}
    torch.testing.assert_close(got.cpu().float(), expected, **near)
    for mine, theirs in zip(got_gradients, expected_gradients, strict=True):
        torch.testing.assert_close(mine.cpu().float(), theirs, **near)


def test_dropout_is_left_to_torch():
    q = torch.randn(1, 2, 8, 8, dtype=torch.bfloat16).cuda()
    graph = Graph([q])
    (x,) = graph.inputs
    out = graph(aten._scaled_dot_product_flash_attention.default, x, x, x, 0.5, False, False)
    compiled = ft.compile_graph(graph.module(out[0]))
    assert host_calls() == ["aten._scaled_dot_product_flash_attention.default"] and compiled.report()[0]["kernels"] == 0


def test_causal_with_other_numbers_of_keys_is_left_to_torch():
    q, k = torch.randn(1, 2, 8, 8, dtype=torch.bfloat16).cuda(), torch.randn(1, 2, 12, 8, dtype=torch.bfloat16).cuda()
    graph = Graph([q, k])
    x, y = graph.inputs
    out = graph(aten._scaled_dot_product_flash_attention.default, x, y, y, 0.0, True, False)
    compiled = ft.compile_graph(graph.module(out[0]))
    assert host_calls() == ["aten._scaled_dot_product_flash_attention.default"] and compiled.report()[0]["kernels"] == 0


@pytest.fixture
def dropping():
    """torch's attention with dropout as its kernels have it: the state of random numbers is on the host, which reads it again."""
    library = torch.library.Library("aten", "IMPL")

    def kept(seed, offset, scores, p):
        assert seed.device.type == offset.device.type == "cpu"
        made = torch.Generator().manual_seed(int(seed) + int(offset))
        return torch.rand(scores.shape, generator=made).ge(p) / (1 - p)

    def attend(q, k, v, seed, offset, p):
        weights = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
        return (weights * kept(seed, offset, weights, p)) @ v

    def forward(q, k, v, bias, compute, p=0.0, causal=False, *, scale=None):
        seed, offset = torch.tensor(71), torch.tensor(4)
        out = attend(q.cpu(), k.cpu(), v.cpu(), seed, offset, p)
        return out.cuda(), torch.zeros(*q.shape[:2], 64).cuda(), seed, offset

    def backward(grad, q, k, v, bias, out, lse, seed, offset, p, wanted, causal=False, *, scale=None):
        grad, q, k, v = (t.cpu() for t in (grad, q, k, v))
        factor = q.shape[-1] ** -0.5
        weights = (q @ k.transpose(-1, -2) * factor).softmax(-1)
        drawn = kept(seed, offset, weights, p)
        of_weights = grad @ v.transpose(-1, -2) * drawn
        of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True)) * factor
        made = of_scores @ k, of_scores.transpose(-1, -2) @ q, (weights * drawn).transpose(-1, -2) @ grad
        return *(t.cuda() for t in made), None

    library.impl("_scaled_dot_product_efficient_attention", forward, "CUDA")
    library.impl("_scaled_dot_product_efficient_attention_backward", backward, "CUDA")
    yield attend
    library._destroy()


def test_gradient_of_a_dropout_finds_its_state_on_the_host(dropping):
    """The state passes from one compiled graph to another one, through the device's memory."""
    given = [torch.randn(1, 2, 40, 32).cuda() for _ in range(4)]
    op, back = aten._scaled_dot_product_efficient_attention.default, aten._scaled_dot_product_efficient_attention_backward.default
    graph = Graph(given[:3])
    out, lse, seed, offset = graph(op, *graph.inputs, None, True, 0.5)
    made = ft.compile_graph(graph.module(out, lse, seed, offset))(given[:3])
    graph = Graph([*given, *made])
    q, k, v, grad, *rest = graph.inputs
    gradients = graph(back, grad, q, k, v, None, *rest, 0.5, [True, True, True, False])[:3]
    got = ft.compile_graph(graph.module(*gradients))([*given, *made])
    leaves = [t.cpu().requires_grad_() for t in given[:3]]
    expected = dropping(*leaves, torch.tensor(71), torch.tensor(4), 0.5)
    torch.testing.assert_close(made[0].cpu(), expected)
    for mine, theirs in zip(got, torch.autograd.grad(expected, leaves, given[3].cpu()), strict=True):
        torch.testing.assert_close(mine.cpu(), theirs)
