"""mode="reduce-overhead": the launches of a call as graphs of the driver. Tensors of CUDA are those of the tests' driver, which launches
a graph's nodes in the most unexpected order that the nodes' dependencies allow (cuda_tensors.py). No GPU is used."""

import copy
import ctypes

import pytest

torch = pytest.importorskip("torch")
cuda_tensors = pytest.importorskip("cuda_tensors")

import torch.nn.functional as F  # noqa: E402
from torch_help import Block, close, fresh  # noqa: E402, F401

import frameloom  # noqa: E402
import frameloom.torch as ft  # noqa: E402

cuda_tensors.install()
COUNTED = (b"cuLaunchKernelEx", b"cuGraphLaunch")


def fast(f, mode="reduce-overhead", **options):
    return torch.compile(f, backend=ft.backend, mode=mode, **options)


def counts():
    """Launches and graphs so far."""
    return [cuda_tensors.driver.loom_nullgpu_calls(name) for name in COUNTED]


def plans():
    return [version["device_plan"] for graph in ft.compiled_graphs for version in graph.report()]


def several(x, y):
    return x.softmax(-1) @ y.t(), x.cumsum(0), (x * y).sum(0)


def test_results_of_earlier_calls_stay():
    """Neither arguments nor results lie where those of an earlier call did, and nobody writes over these."""
    f, kept = fast(several), []
    for _ in range(5):
        x, y = torch.randn(40, 300), torch.randn(40, 300)
        kept.append((f(x.cuda(), y.cuda()), several(x, y)))
    for got, wanted in kept:
        close([t.cpu() for t in got], list(wanted), rtol=1e-4, atol=1e-4)
    (plan,) = plans()
    assert plan["graph"] == "used" and plan["replays"] == 4 and plan["updates"] > 0 and plan["depth"] < plan["launches"]


def test_a_graph_for_the_launches_of_a_call():
    f, (x, y) = fast(several), (torch.randn(40, 300).cuda() for _ in range(2))
    f(x, y)
    f(x, y)
    before = counts()
    f(x, y)
    assert counts() == [before[0], before[1] + 1]


@pytest.mark.parametrize("mode, on, graphs", [
    (None, False, 0), (None, True, 1), ("default", True, 1), ("max-autotune", False, 1), ("max-autotune-no-cudagraphs", True, 0), ("reduce-overhead", False, 1),
])
def test_which_settings_ask_for_it(mode, on, graphs):
    with frameloom.config.patch(cudagraphs=on):
        f, (x, y) = fast(several, mode), (torch.randn(40, 300).cuda() for _ in range(2))
        f(x, y)
    before = counts()[1]
    f(x, y)
    assert counts()[1] == before + graphs


def test_the_option():
    f = torch.compile(several, backend=ft.backend, options={"cudagraphs": True})
    x, y = (torch.randn(40, 300).cuda() for _ in range(2))
    for _ in range(2):
        f(x, y)
    assert plans()[0]["graph"] == "used"


def test_pieces_between_calls_of_torch():
    def f(x, y):
        q = torch.linalg.qr(x.softmax(-1).t() @ y)[1].abs()
        return q.softmax(-1) @ q, q.cumsum(0)

    run = fast(f)
    for _ in range(4):
        x, y = torch.randn(7, 6), torch.randn(7, 6)
        close([t.cpu() for t in run(x.cuda(), y.cuda())], list(f(x, y)), rtol=1e-3, atol=1e-3)
    (plan,) = plans()
    assert plan["graph"] == "used" and plan["pieces"] == 2 and plan["replays"] == 6


def test_streams_have_graphs_of_their_own():
    """One beyond the fourth stream launches one by one. Work on another stream runs as late as it may."""
    f, given, kept = fast(several), [torch.randn(40, 300) for _ in range(2)], []
    on_device = [t.cuda() for t in given]
    on_device[0].cpu()
    try:
        for stream in range(6):
            if stream:
                cuda_tensors.new_stream()
            for _ in range(3):
                kept.append(f(*on_device))
            close([t.cpu() for t in kept[-1]], list(several(*given)), rtol=1e-4, atol=1e-4)
    finally:
        cuda_tensors.new_stream()
    assert plans()[0]["replays"] == 4 * 2


def test_training_steps():
    """Parameters, gradients and activations: forward and backward are a graph each."""
    models = [Block()]
    models.append(copy.deepcopy(models[0]).cuda())
    run = fast(models[1])
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.05) for m in models]
    for step in range(4):
        x = torch.randn(2, 5, 32)
        for f, optimizer, given in ((models[0], optimizers[0], x), (run, optimizers[1], x.cuda())):
            optimizer.zero_grad()
            f(given).square().mean().backward()
            optimizer.step()
    for theirs, mine in zip(*(m.parameters() for m in models), strict=True):
        close(mine.detach().cpu(), theirs.detach(), rtol=1e-3, atol=1e-4)
    assert [plan["graph"] for plan in plans()] == ["used", "used"] and all(plan["replays"] == 3 for plan in plans())


def test_sizes_that_change():
    run = fast(several, dynamic=True)
    for rows in (5, 9, 9, 17, 5, 40):
        x, y = torch.randn(rows, 30), torch.randn(rows, 30)
        close([t.cpu() for t in run(x.cuda(), y.cuda())], list(several(x, y)), rtol=1e-4, atol=1e-4)


def test_a_driver_that_refuses():
    """The launches come one by one then, and a warning says so once."""
    f, given = fast(several), [torch.randn(40, 300) for _ in range(2)]
    on_device = [t.cuda() for t in given]
    f(*on_device)
    cuda_tensors.driver.loom_nullgpu_fail(b"cuGraphInstantiateWithFlags", 0, ctypes.c_int(999))
    for _ in range(3):
        close([t.cpu() for t in f(*on_device)], list(several(*given)), rtol=1e-4, atol=1e-4)
    assert plans()[0]["graph"] == "failed"


def test_explain_tells_what_is_ordered():
    told = ft.explain(several, *(torch.randn(40, 300).cuda() for _ in range(2)))
    (plan,) = told.graphs[0].device_plans
    assert plan.launches > 1 and "on the device: cuda:0: " in str(told) and '"launches"' in told.json()
