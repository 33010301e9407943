"""What goes wrong while a graph is prepared or compiled leaves it to eager torch, with a warning; under `strict` it raises."""

import logging

import pytest

import torch_help
from torch_help import ft, torch
from torch_help import fresh  # noqa: F401

from frameloom import _torch_partition

STEPS = {"compute_norms_again": _torch_partition}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        self.norm, self.last = torch.nn.LayerNorm(8), torch.nn.LayerNorm(8)

    def forward(self, x):
        h = self.norm(self.first(x))
        return h + self.second(self.last(h)), torch.dropout(x, 0.0, True)


def step(model, x, **options):
    """Result and gradients of one training step."""
    model.zero_grad()
    x = x.clone().requires_grad_()
    out, _ = torch.compile(model, backend="frameloom", options=options)(x) if options else model(x)
    out.square().sum().backward()
    return [out.detach(), x.grad, *(p.grad.clone() for p in model.parameters())]


def close(got, want):
    assert len(got) == len(want)
    for g, w in zip(got, want):
        torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-5)


def broken(*_, **__):
    raise ZeroDivisionError("of the test")


broken.__name__ = "broken"


@pytest.mark.parametrize("name", STEPS)
def test_a_rewrite_that_fails(name, monkeypatch, caplog):
    model, x = Model(), torch.randn(4, 8)
    want = step(model, x)

    def half(*modules, **_):
        for module in modules[:2]:  # what it has done is undone
            for node in list(module.graph.nodes)[:-1] if isinstance(module, torch.fx.GraphModule) else ():
                if node.op == "call_function" and not node.users:
                    module.graph.erase_node(node)
        broken()

    monkeypatch.setattr(STEPS[name], name, half)
    with caplog.at_level(logging.WARNING):
        close(step(model, x, strict=False), want)
    assert "ZeroDivisionError: of the test" in caplog.text
    torch._dynamo.reset()
    with pytest.raises(Exception, match="of the test"):
        step(model, x, strict=True)


@pytest.mark.parametrize("name, what", [("_compile_graph", "a graph"), ("decompositions", "a function")])
def test_a_compiler_or_backend_that_fails(name, what, monkeypatch, caplog):
    model, x = Model(), torch.randn(4, 8)
    want = step(model, x)
    monkeypatch.setattr(ft, name, broken)
    with caplog.at_level(logging.WARNING):
        close(step(model, x, strict=False), want)
    assert f"{what} runs in eager torch: ZeroDivisionError: of the test" in caplog.text


def test_a_float_that_torch_takes_for_a_symbol_first(caplog):
    """Dynamo is told by an exception to begin again, the float a constant then: no failure of the backend."""
    graphs = []

    def f(x, eps):
        return torch.nn.functional.layer_norm(x, (5,), eps=eps) + eps

    def backend(module, inputs):
        graphs.append(ft.backend(module, inputs, options={"strict": False}))
        return graphs[-1]

    x = torch.randn(5)
    for eps in (0.25, 0.5):
        torch.testing.assert_close(torch.compile(f, backend=backend, dynamic=True)(x, eps), f(x, eps))
    assert graphs and "eager torch" not in caplog.text and len(ft.compiled_graphs) == len(graphs)


def solved(a, b):
    a = a @ a.mT + 3 * torch.eye(4)
    return torch.linalg.solve(a, b), b.mT


def inverted(a, b):
    return torch.linalg.inv(a @ a.mT + torch.eye(4)), a[:2]


def factored(a, b):
    return torch.linalg.lu_factor(a @ a.mT + torch.eye(4))[0], a.view(-1)


def largest(a, b):
    scores = torch.relu(a)
    values, places = scores.topk(3, -1)
    return torch.zeros_like(scores).scatter(-1, places, 1.0) * b, values


def slices(a, b):
    h = a.exp()
    return h[:, :2], h[:, 2:]


def slices_and_whole(a, b):
    h = a.exp()
    return h[:, :2], h[1:], h, h.view(-1)


@pytest.mark.parametrize("function", [solved, inverted, factored, largest, slices, slices_and_whole], ids=lambda f: f.__name__)
def test_results_of_every_kind(function):
    """Effects in front of results, ties, and views that come before what they are views of."""
    def run(f):
        torch.manual_seed(1)
        a, b = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
        out = f(a, b)
        sum(o.square().sum() for o in out).backward()
        return [*(o.detach() for o in out), a.grad, *([b.grad] if b.grad is not None else [])]
    close(run(torch_help.compiled(function)), run(function))
