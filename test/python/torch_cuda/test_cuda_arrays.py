"""Tensors on CUDA as arguments of functions of NumPy: their interface names no stream, so that torch's current one is asked. The driver
of the tests runs work as late as it may, on each stream by itself."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
cuda_tensors = pytest.importorskip("cuda_tensors")

import frameloom  # noqa: E402

cuda_tensors.install()


def mixed(a, b):
    return np.tanh(a) @ b.T


@pytest.fixture(params=["a stream", "the default stream"])
def stream(request):
    kept = torch.cuda.current_stream().cuda_stream
    if request.param == "the default stream":
        cuda_tensors.set_stream(0)
    else:
        cuda_tensors.new_stream()
    yield torch.cuda.current_stream().cuda_stream
    cuda_tensors.set_stream(kept)


def test_a_call_waits_for_what_makes_its_arguments(stream):
    """Each argument has just been made, and is written again before anybody has read the call's result."""
    compiled = frameloom.compile(mixed, device=frameloom.device("cuda:0"))
    a, b = torch.randn(70, 40).cuda(), torch.randn(50, 40).cuda()
    for _ in range(3):
        a = a * 0.5 + 1
        wanted = mixed(a.cpu().numpy(), b.cpu().numpy())
        a = a + 0
        got = compiled(a, b)
        a.fill_(7)
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-4, atol=1e-4)
        assert float(a.sum()) == 7 * a.numel()


def test_tensors_of_another_device(stream):
    """What lies on another device is read on torch's stream of that device."""
    compiled = frameloom.compile(mixed, device=frameloom.device("cuda:0"))
    a, b = (torch.randn(70, 40).to("cuda:1") * 2 for _ in range(2))
    np.testing.assert_allclose(np.asarray(compiled(a, b)), mixed(a.cpu().numpy(), b.cpu().numpy()), rtol=1e-4, atol=1e-4)


def test_views_and_dtypes(stream):
    compiled = frameloom.compile(lambda a: a[:, ::2].sum(axis=0) + a.dtype.itemsize, device=frameloom.device("cuda:0"))
    for dtype in (torch.float32, torch.float64, torch.int64, torch.float16):
        a = (torch.randn(30, 40) * 9).to(dtype).cuda().t()[3:]
        got, wanted = np.asarray(compiled(a)), a.cpu().numpy()[:, ::2].sum(axis=0) + dtype.itemsize
        assert got.dtype == wanted.dtype
        # Sums of some 20 numbers of both signs have the error of the largest of them.
        rtol, atol = (1e-2, 1) if dtype == torch.float16 else (1e-5, 1e-4)
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)
