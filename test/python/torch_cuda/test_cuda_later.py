"""Errors of kernels that are known after their call has returned, and streams that are captured into a graph of the user's. Tensors of
CUDA are those of the tests' driver, where work runs as late as it may (cuda_tensors.py). No GPU is used."""

import contextlib
import gc

import pytest

torch = pytest.importorskip("torch")
cuda_tensors = pytest.importorskip("cuda_tensors")

from paths import SUPPORT  # noqa: E402
from processes import run_code  # noqa: E402
from torch_help import close, compiled, fresh  # noqa: E402, F401

import frameloom  # noqa: E402
import frameloom.torch as ft  # noqa: E402

cuda_tensors.install()
driver = cuda_tensors.driver


def waits():
    return driver.loom_nullgpu_calls(b"cuStreamSynchronize")


def rows(x, i):
    return x[i] * 2


def embed(table, i):
    return torch.nn.functional.embedding(i, table).sum(0)


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    frameloom.device("cuda:0").synchronize()


# ---- errors ----


@pytest.mark.parametrize("function", [rows, embed], ids=lambda f: f.__name__)
def test_a_call_with_indices_waits_for_nothing(function):
    f, x = compiled(function), torch.randn(5, 3)
    given, i = x.cuda(), torch.tensor([4, 0])
    on_device = i.cuda()
    f(given, on_device)
    before = waits()
    got = [f(given, on_device) for _ in range(3)]
    assert waits() == before and driver.loom_nullgpu_pending() > 0
    for one in got:
        close(one.cpu(), function(x, i))


@pytest.mark.parametrize("graphs", [False, True], ids=["plain", "graphs"])
def test_an_index_out_of_bounds_is_told_by_the_next_call(graphs):
    f = torch.compile(lambda x, i: (x[i] * 2, x.cumsum(0)), backend=ft.backend, options={"cudagraphs": graphs})
    x = torch.randn(5, 3).cuda()
    good, bad = torch.tensor([4, 0]).cuda(), torch.tensor([5, 0]).cuda()
    for _ in range(3):
        f(x, good)
    for _ in range(2):
        f(x, bad)[0].cpu()  # waits: the word has come
        with pytest.raises(IndexError, match=r"an index was out of bounds in gather \(k\d_s0\) of <lambda>, inference, in a call before this one"):
            f(x, good)
        close(f(x, good)[0].cpu(), x.cpu()[[4, 0]] * 2)


def test_another_graph_of_the_device_tells_it_too():
    f, other = compiled(rows), compiled(lambda x: x + 1)
    x = torch.randn(5, 3).cuda()
    f(x, torch.tensor([-6]).cuda()).cpu()
    with pytest.raises(IndexError, match="in gather .* of rows"):
        other(x)
    close(other(x).cpu(), x.cpu() + 1)


def test_each_call_is_told_once_and_in_its_order():
    f, g = compiled(rows), compiled(embed)
    x, bad = torch.randn(5, 3).cuda(), torch.tensor([7]).cuda()
    f(x, bad), g(x, bad)
    device = frameloom.device("cuda:0")
    for name in ("rows", "embed"):
        with pytest.raises(IndexError, match=f"of {name}, inference"):
            device.synchronize()
    device.synchronize()


def test_a_result_on_the_cpu_tells_its_own_error():
    f = compiled(lambda x, i: x[i].cpu())
    x = torch.randn(5, 3).cuda()
    with pytest.raises(IndexError, match="out of bounds in gather"):
        f(x, torch.tensor([9]).cuda())
    close(f(x, torch.tensor([1]).cuda()), x.cpu()[[1]])


def test_gradients_of_an_embedding():
    table, i = torch.randn(9, 4), torch.tensor([[1, 8], [1, 0]])
    model = torch.nn.Embedding(9, 4, _weight=table.clone()).cuda()
    f = compiled(lambda i: model(i).square().sum())
    f(i.cuda()).backward()
    other = torch.nn.Embedding(9, 4, _weight=table.clone())
    other(i).square().sum().backward()
    close(model.weight.grad.cpu(), other.weight.grad)
    with pytest.raises(IndexError, match="out of bounds in gather .*, forward, in a call before"):  # by the backward graph or later
        f(torch.tensor([9]).cuda()).backward()
        frameloom.device("cuda:0").synchronize()


def test_many_calls_that_nobody_waits_for():
    """There is room for the errors of some of them; then a call waits, and none is lost."""
    f, x = compiled(rows), torch.randn(5, 3).cuda()
    good, bad = torch.tensor([4, 0]).cuda(), torch.tensor([5, 0]).cuda()
    f(x, good)
    before, told = waits(), 0
    for call in range(200):
        try:
            f(x, bad if call == 70 else good)
        except IndexError:
            told += 1
    assert waits() - before < 10 and told == 1


PROGRAM = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
import cuda_tensors
cuda_tensors.install()
import torch, frameloom.torch as ft
f = torch.compile(lambda x, i: x[i], backend=ft.backend)
print(f(torch.ones(3).cuda(), torch.tensor([3]).cuda()).shape)
"""


def test_the_end_of_the_process_tells_what_nobody_has_told():
    done = run_code(PROGRAM)
    assert done.returncode == 0 and "frameloom: at the end of the process: an index was out of bounds in gather (k0_s0) of" in done.stderr


# ---- captured streams ----


@contextlib.contextmanager
def captured():
    cuda_tensors.capture(True)
    try:
        yield
    finally:
        cuda_tensors.capture(False)


@pytest.fixture
def forgotten():
    yield
    driver.loom_nullgpu_forget()


def test_a_captured_call_is_a_part_of_the_users_graph(forgotten):
    """Its kernels read the arguments and write the results where these lay when it was captured."""

    def step(x, y):
        return (x @ y).softmax(-1), x.cumsum(0) * torch.tensor([1.0, 2, 3, 4, 5, 6], device=x.device)

    f = torch.compile(step, backend=ft.backend, mode="reduce-overhead")
    x, y = torch.randn(6, 6).cuda(), torch.randn(6, 6).cuda()
    f(x, y)
    launches = driver.loom_nullgpu_calls(b"cuGraphLaunch")
    with captured():
        got = f(x, y)
    del f
    torch._dynamo.reset()
    gc.collect()
    assert not len(ft.compiled_graphs)
    for _ in range(3):
        x.copy_(torch.randn(6, 6))
        cuda_tensors.replay()
        close([t.cpu() for t in got], list(step(x.cpu(), y.cpu())), rtol=1e-4, atol=1e-4)
    assert driver.loom_nullgpu_calls(b"cuGraphLaunch") == launches


def test_a_replay_tells_an_index_out_of_bounds(forgotten):
    f = compiled(rows)
    x, i = torch.randn(5, 3).cuda(), torch.tensor([1, 2]).cuda()
    f(x, i)
    with captured():
        got = f(x, i)
    device = frameloom.device("cuda:0")
    for index in ([4, 0], [0, 5], [3, 3], [-6, 1]):
        i.copy_(torch.tensor(index))
        cuda_tensors.replay()
        got.cpu()
        if min(index) < -5 or max(index) > 4:
            with pytest.raises(IndexError, match="out of bounds in gather"):
                device.synchronize()
        else:
            device.synchronize()
            close(got.cpu(), x.cpu()[index] * 2)


def test_what_has_to_wait_is_refused():
    def checked(x):
        return torch.linalg.qr(x)[1] * 2

    f = compiled(checked)
    x = torch.randn(3, 3).cuda()
    f(x)
    with captured(), pytest.raises(RuntimeError, match="the driver of the tests has failed: 900"):  # torch's own refusal here
        f(x)
    driver.loom_nullgpu_forget()
    close(f(x).cpu(), checked(x.cpu()), rtol=1e-4, atol=1e-4)
