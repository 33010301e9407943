"""CuPy's arrays as arguments: results are CuPy's, too. On the drivers of the tests, with a module that stands for CuPy and has of it what a call
uses: its class of arrays, and `from_dlpack`."""

import ctypes
import os
import pathlib
import sys
import types

import numpy as np
import pytest

import frameloom
from frameloom import _device, _native, _place

LIBRARIES = pathlib.Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve() / "lib"
if not (LIBRARIES / "libnullcuda.so").exists():
    pytest.skip(f"{LIBRARIES} has no drivers", allow_module_level=True)
for name in ("cuda", "hip"):
    os.environ[f"FRAMELOOM_{name.upper()}_DRIVER"] = str(LIBRARIES / f"libnull{name}.so")
NULL = {kind: ctypes.CDLL(str(LIBRARIES / f"libnull{kind}.so")) for kind in ("cuda", "hip")}
for library in NULL.values():
    library.loom_nullgpu_live.restype = library.loom_nullgpu_calls.restype = ctypes.c_long
WAITS = {"cuda": b"cuStreamSynchronize", "hip": b"hipStreamSynchronize"}
STREAM = {"cuda": 1, "hip": 0}  # how DLPack names the default stream, which is CuPy's current one
CODES = {code: kind for kind, code in _device._KINDS.items()}
RNG = np.random.default_rng(31)
X, Y = (RNG.standard_normal((40, 30)).astype(np.float32) for _ in range(2))


class StandIn:
    """CuPy's class: arrays over memory that somebody keeps."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype, self.strides = array.shape, array.dtype, array.strides

    @property
    def __cuda_array_interface__(self):
        return dict(self.array.__cuda_array_interface__, stream=1)

    @property
    def address(self):
        return self.array._address


def from_dlpack(array):
    kind, number = array.__dlpack_device__()
    kind = {2: "cuda", 10: "hip"}[kind]
    capsule = array.__dlpack__(stream=STREAM[kind])
    owner, _, _, address, shape, strides, code, bits = _native.read_dlpack(capsule)
    dtype = np.dtype(f"{CODES[code]}{bits // 8}")
    strides = _device._strides(shape, dtype.itemsize) if strides is None else tuple(s * dtype.itemsize for s in strides)
    native = frameloom.device(f"{kind}:{number}")._native
    return cupy.ndarray(_device._new(native, owner, address, tuple(shape), strides, dtype))


cupy = types.SimpleNamespace(ndarray=StandIn, from_dlpack=from_dlpack)


@pytest.fixture(params=["cuda", "hip"])
def kind(request, monkeypatch):
    monkeypatch.setattr(_place, "_KINDS", (request.param,))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return request.param


@pytest.fixture
def gpu(kind):
    return frameloom.device(kind)


def given(gpu, host):
    return cupy.ndarray(gpu.array(host))


def host(array):
    return np.asarray(array.array)


def several(a, b):
    return {"sum": a + b, "views": [(a - b).T, a[1:, ::2]], "same": (a, b), "larger": a > b, "none": a[:0] * 2, "total": a.sum(), "rows": a.shape[0]}


def assert_several(got, a, b):
    assert all(type(v) is StandIn for v in (got["sum"], *got["views"], got["larger"], got["none"]))
    want = several(X, Y)
    for name in ("sum", "larger", "none"):
        np.testing.assert_array_equal(host(got[name]), want[name])
        assert got[name].dtype == want[name].dtype and got[name].shape == want[name].shape
    for view, expected in zip(got["views"], want["views"], strict=True):
        np.testing.assert_array_equal(host(view), expected)
    assert got["same"][0] is a and got["same"][1] is b and got["rows"] == 40
    np.testing.assert_allclose(got["total"], want["total"], rtol=1e-5)


def test_results_are_arrays_of_cupy(gpu):
    a, b = given(gpu, X), given(gpu, Y)
    compiled = frameloom.compile(several, device=gpu)
    for _ in range(2):
        got = compiled(a, b)
        assert_several(got, a, b)
        assert got["views"][1].address == a.address + X.strides[0]  # a view of the argument's memory
    np.testing.assert_array_equal(host(compiled(got["sum"], b)["sum"]), X + Y + Y)


def test_beside_arrays_of_a_device(gpu):
    a, b = given(gpu, X), gpu.array(Y)
    assert_several(frameloom.compile(several, device=gpu)(a, b), a, b)
    got = frameloom.compile(several, device=gpu)(gpu.array(X), b)
    assert isinstance(got["sum"], frameloom.DeviceArray)


def test_arrays_of_another_device(kind, gpu):
    other = frameloom.device(f"{kind}:1")
    a = given(other, X)
    got = frameloom.compile(lambda a: (a * 2, a), device=gpu)(a)
    assert [type(v) for v in got] == [StandIn] * 2 and {v.array.device for v in got} == {gpu.name}
    np.testing.assert_array_equal(host(got[0]), X * 2)
    np.testing.assert_array_equal(host(got[1]), X)


def test_nobody_waits(kind, gpu):
    """An array of CuPy names its stream, and CuPy's stream waits for results, not the host."""
    a, compiled = given(gpu, X), frameloom.compile(lambda a: a * 2 + 1, device=gpu)
    compiled(a)
    before = NULL[kind].loom_nullgpu_calls(WAITS[kind])
    got = compiled(a)
    assert NULL[kind].loom_nullgpu_calls(WAITS[kind]) == before
    np.testing.assert_array_equal(host(got), X * 2 + 1)


def test_memory_is_given_back(kind, gpu):
    compiled = frameloom.compile(several, device=gpu)
    live = []
    for _ in range(3):
        compiled(given(gpu, X), given(gpu, Y))
        gpu.synchronize()
        live.append(NULL[kind].loom_nullgpu_live(b"memory"))
    assert live[1] == live[2]


def test_other_classes_are_none_of_its_arrays(gpu, monkeypatch):
    class Other(StandIn):
        pass

    compiled = frameloom.compile(lambda a: a + 1, device=gpu)
    assert isinstance(compiled(Other(gpu.array(X))), frameloom.DeviceArray)
    a = given(gpu, X)
    for half in (types.SimpleNamespace(), None):  # a module of that name without arrays; one that must not be imported
        monkeypatch.setitem(sys.modules, "cupy", half)
        assert isinstance(compiled(a), frameloom.DeviceArray)


@pytest.mark.parametrize("launch", ["1e-15", "1"], ids=["device", "host"])
def test_where_the_host_may_run_the_call(kind, gpu, launch, monkeypatch):
    monkeypatch.setattr(frameloom.config, "leave_slower", False)
    monkeypatch.setattr(frameloom.config, "device_costs", f"up=1e18 down=1e18 memory=1e18 operations=1e21 launch={launch} wait=1e-15")
    a, b = given(gpu, X), given(gpu, Y)
    got = frameloom.compile(several, device="auto")(a, b)
    assert_several(got, a, b)
