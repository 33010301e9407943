"""Arrays of another device: `DeviceArray.to`, and arguments of functions. On the drivers of the tests, where a kernel reaches the memory of
its own device alone, and work runs as late as it may."""

import ctypes
import gc
import os
import pathlib

import numpy as np
import pytest

import frameloom

LIBRARIES = pathlib.Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve() / "lib"
if not (LIBRARIES / "libnullcuda.so").exists():
    pytest.skip(f"{LIBRARIES} has no drivers", allow_module_level=True)
for name in ("cuda", "hip"):
    os.environ[f"FRAMELOOM_{name.upper()}_DRIVER"] = str(LIBRARIES / f"libnull{name}.so")
NULL = {kind: ctypes.CDLL(str(LIBRARIES / f"libnull{kind}.so")) for kind in ("cuda", "hip")}
for library in NULL.values():
    library.loom_nullgpu_calls.restype = library.loom_nullgpu_live.restype = ctypes.c_long
WAITS = {"cuda": b"cuStreamSynchronize", "hip": b"hipStreamSynchronize"}
RNG = np.random.default_rng(21)
X = RNG.standard_normal((40, 30)).astype(np.float32)


@pytest.fixture(scope="module", params=["cuda", "hip"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def pair(kind):
    return frameloom.device(f"{kind}:0"), frameloom.device(f"{kind}:1")


def live(kind, pair):
    for device in pair:
        device.synchronize()
    return NULL[kind].loom_nullgpu_live(b"memory")


def waits(kind):
    gc.collect()  # plans that end wait, too
    return NULL[kind].loom_nullgpu_calls(WAITS[kind])


@pytest.mark.parametrize("host", [
    X, X.T, X[::-2, 1::3], X[3], X[0:0], np.float64(3.5), np.arange(6).reshape(1, 2, 3), X > 0, X.astype(np.complex64), np.broadcast_to(X[0], (5, 30)),
], ids=lambda a: f"{a.dtype}{np.shape(a)}{a.strides}")
def test_each_array(pair, host):
    first, second = pair
    source = first.array(host)
    moved = source.to(second)
    assert moved.device == second.name and source.device == first.name and moved.strides == source.strides and moved.dtype == source.dtype
    np.testing.assert_array_equal(np.asarray(moved), host)
    assert moved.to(second) is moved and moved.to(second.name) is moved
    np.testing.assert_array_equal(np.asarray(moved.to(first.name)), host)


def test_views(pair):
    first, second = pair
    views = frameloom.compile(lambda a: (a.T, a[::-1, 1::2], a[3], a[::2, 5:0:-1]), device=first)
    for one, other in zip(views(first.array(X)), (X.T, X[::-1, 1::2], X[3], X[::2, 5:0:-1]), strict=True):
        moved = one.to(second)
        assert moved.strides == one.strides == other.strides
        np.testing.assert_array_equal(np.asarray(moved), other)


def test_nobody_waits(kind, pair):
    first, second = pair
    double = frameloom.compile(lambda a: a * 2, device=first)
    add = frameloom.compile(lambda a: a + 1, device=second)
    double(first.array(X)), add(second.array(X))
    before = waits(kind)
    result = add(double(first.array(X)).to(second))  # whose arguments are gone before anything has run
    assert waits(kind) == before
    np.testing.assert_array_equal(np.asarray(result), X * 2 + 1)


def test_arguments_are_copied(kind, pair):
    """Results lie on the function's device, also those that are arguments or views of them; all is given back."""
    first, second = pair
    compiled = frameloom.compile(lambda a, b: (a @ b.T, a, b[1:], b), device=second)
    memory = live(kind, pair)
    for _ in range(2):
        a, b = first.array(X), second.array(X)
        before = waits(kind)
        got = compiled(a, b)
        assert waits(kind) == before
        assert [r.device for r in got] == [second.name] * 4 and got[1] is not a and got[3] is b
        for one, other in zip(got, (X @ X.T, X, X[1:], X), strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5, atol=1e-5)
    del a, b, got, one
    assert live(kind, pair) == memory


def test_another_driver():
    cuda, hip = frameloom.device("cuda"), frameloom.device("hip")
    moved = cuda.array(X).to(hip)
    assert moved.device == "hip:0"
    np.testing.assert_array_equal(np.asarray(moved), X)
    np.testing.assert_array_equal(np.asarray(frameloom.compile(lambda a: a + 1, device=cuda)(moved)), X + 1)


class Lent:
    """An array of another library on a device, with the stream that writes it."""

    def __init__(self, array, stream):
        self.array, self.stream = array, stream

    @property
    def __cuda_array_interface__(self):
        return dict(self.array.__cuda_array_interface__, stream=self.stream)


class Packed:
    def __init__(self, array):
        self.array, self.streams = array, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream)


@pytest.mark.parametrize("stream", ["own", None], ids=["stream", "no stream"])
def test_other_libraries(kind, pair, stream):
    """The array's own device waits for its stream, or the call for the copy where it names none."""
    first, second = pair
    compiled = frameloom.compile(lambda a: (a * 2, a), device=second)
    a = first.array(X)
    before = waits(kind)
    got = compiled(Lent(a, first._native.stream if stream else None))
    assert (waits(kind) == before) == bool(stream)
    first._native.upload(a._address, np.zeros_like(X))  # behind the call, so the call does not see it
    np.testing.assert_array_equal(np.asarray(got[0]), X * 2)
    assert isinstance(got[1], frameloom.DeviceArray) and got[1].device == second.name
    np.testing.assert_array_equal(np.asarray(got[1]), X)


def test_dlpack(pair):
    first, second = pair
    packed = Packed(first.array(X))
    got = frameloom.compile(lambda a: a * 2, device=second)(packed)
    assert packed.streams == [first._native.stream]
    np.testing.assert_array_equal(np.asarray(got), X * 2)


@pytest.mark.parametrize("symbol", ["PeerAsync", "EventRecord", "StreamWaitEvent"])
def test_each_call_of_the_driver_fails_once(kind, pair, symbol):
    first, second = pair
    name = {"cuda": "cuMemcpyPeerAsync", "hip": "hipMemcpyPeerAsync"}[kind] if symbol == "PeerAsync" else {"cuda": "cu", "hip": "hip"}[kind] + symbol
    compiled = frameloom.compile(lambda a: a + 1, device=second)
    compiled(first.array(X))
    memory = live(kind, pair)
    for skip in range(3):
        NULL[kind].loom_nullgpu_fail(name.encode(), skip, 999)
        try:
            got = np.asarray(compiled(first.array(X)))
        except frameloom.DeviceError as error:
            assert "unknown error" in str(error)
        else:
            np.testing.assert_array_equal(got, X + 1)
            assert skip
        NULL[kind].loom_nullgpu_fail(b"", 0, 0)
        assert live(kind, pair) == memory
