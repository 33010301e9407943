"""What memory a call takes at its highest point, and that nothing is used before it is there or behind its end. New memory of the tests'
driver is NaNs, and what was freed is nobody's (cuda_tensors.py). No GPU is used."""

import copy

import pytest

torch = pytest.importorskip("torch")
cuda_tensors = pytest.importorskip("cuda_tensors")

from torch_help import close, compiled, fresh  # noqa: E402, F401

import frameloom.torch as ft  # noqa: E402

cuda_tensors.install()
driver = cuda_tensors.driver


def highest(run):
    """Bytes beyond those that are there at the end."""
    torch.zeros(1).cuda().cpu()  # waits
    driver.loom_nullgpu_peak()
    run()
    torch.zeros(1).cuda().cpu()
    return driver.loom_nullgpu_peak()


def layers():
    return torch.nn.Sequential(*[part for _ in range(4) for part in (torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.LayerNorm(256))])


def gradients(f, model, x):
    for p in model.parameters():
        p.grad = None
    f(x).square().mean().backward()


def test_a_training_step_takes_at_most_what_eager_torch_takes():
    """Activations go when the backward graph has read them, gradients come when they are computed, and so do the arena's parts."""
    model = layers()
    eager, mine = copy.deepcopy(model).cuda(), copy.deepcopy(model).cuda()
    x = torch.randn(512, 256)
    given, run = x.cuda(), compiled(mine)
    gradients(run, mine, given)  # compiles
    ours = highest(lambda: gradients(run, mine, given))
    assert 0 < ours <= highest(lambda: gradients(eager, eager, given))
    gradients(model, model, x)
    for one, other in zip(mine.parameters(), model.parameters(), strict=True):
        close(one.grad.cpu(), other.grad, rtol=1e-3, atol=1e-5)
    assert any(version["device_plan"]["arena"] for graph in ft.compiled_graphs for version in graph.report())


def several(x, y):
    a = x @ y.t()
    b = (a.softmax(-1) @ y).cumsum(0)
    c = torch.sort(b, dim=0, stable=True).values @ y.t()
    return c.softmax(0), (b * 2).cumsum(1), a.sum()


def test_the_arena_comes_and_goes_in_parts():
    """In a graph of the driver it is one piece, and all results are there from the start."""
    x, y = torch.randn(300, 300) / 10, torch.randn(300, 300) / 10
    on_device, peaks = (x.cuda(), y.cuda()), []
    for mode in (None, "reduce-overhead"):
        f = torch.compile(several, backend=ft.backend, mode=mode)
        for _ in range(2):
            close([t.cpu() for t in f(*on_device)], list(several(x, y)), rtol=1e-3, atol=1e-3)
        peaks.append(highest(lambda: f(*on_device)))
        torch._dynamo.reset()
    assert 0 < peaks[0] < peaks[1] and peaks[0] <= highest(lambda: several(*on_device))


def test_calls_of_torch_between_them():
    def f(x):
        q = torch.linalg.qr((x @ x.t()).softmax(-1))[1].abs()
        return (q @ q).cumsum(0), torch.linalg.qr(q.softmax(0) @ x)[1].abs() * 2

    x = torch.randn(260, 260)
    run = compiled(f)
    for _ in range(2):
        close([t.cpu() for t in run(x.cuda())], list(f(x)), rtol=1e-2, atol=1e-2)


def test_memory_that_is_missing_in_the_middle_of_a_run():
    f, given = compiled(several), [torch.randn(300, 300) / 10 for _ in range(2)]
    on_device = [t.cuda() for t in given]
    f(*on_device)
    torch.zeros(1).cuda().cpu()
    before, failed = (driver.loom_nullgpu_live(b"memory"), cuda_tensors.live()), 0
    for skip in range(20):
        driver.loom_nullgpu_fail(b"cuMemAllocAsync", skip, 2)
        try:
            f(*on_device)
        except Exception as error:  # torch's own
            assert isinstance(error, MemoryError) or "memory" in str(error)
            failed += 1
        came = driver.loom_nullgpu_failed()
        driver.loom_nullgpu_fail(b"", 0, 0)
        torch.zeros(1).cuda().cpu()
        assert (driver.loom_nullgpu_live(b"memory"), cuda_tensors.live()) == before
        if not came:
            break
    close([t.cpu() for t in f(*on_device)], list(several(*given)), rtol=1e-3, atol=1e-3)
    assert failed > 4 and not came
