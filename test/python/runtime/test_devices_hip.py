"""Functions and arrays on AMD's GPUs, on HIP's driver of the tests (test/runtime/nullgpu.h). What does not depend on the driver is in
test_devices.py. No GPU is needed, and none is used."""

import ctypes
import gc
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from device_programs import assert_attention_agrees, assert_products_agree
from processes import PATIENCE

import frameloom

DRIVER = pathlib.Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve() / "lib" / "libnullhip.so"
if not DRIVER.exists():
    pytest.skip(f"{DRIVER} is not built", allow_module_level=True)
os.environ["FRAMELOOM_HIP_DRIVER"] = str(DRIVER)
null = ctypes.CDLL(str(DRIVER))
for name in ("loom_nullgpu_live", "loom_nullgpu_calls", "loom_nullgpu_pending"):
    getattr(null, name).restype = ctypes.c_long
null.loom_nullgpu_failed.restype = ctypes.c_bool
RNG = np.random.default_rng(6)
X, Y = (RNG.standard_normal((64, 48)).astype(np.float32) for _ in range(2))


@pytest.fixture(scope="module")
def gpu():
    return frameloom.device("hip:0")


def live():
    return [null.loom_nullgpu_live(kind) for kind in (b"memory", b"module")]


def chain(a, b):
    return a * b + 1


def softmax(a, b):
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) + b


def product(a, b):
    return np.maximum(a @ b.T, 0)


def several(a, b):
    return {"columns": a.mean(axis=0), "views": [(a - b).T, a[1:, ::2]], "number": (a * b).sum()}


def scan(a, b):
    return np.cumsum(a, axis=1) + b


def assert_alike(got, wanted):
    if isinstance(wanted, (list, tuple)):
        for g, w in zip(got, wanted, strict=True):
            assert_alike(g, w)
    elif isinstance(wanted, dict):
        assert_alike(list(got.values()), list(wanted.values()))
    else:
        assert isinstance(got, frameloom.DeviceArray) == isinstance(wanted, np.ndarray)
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [chain, softmax, product, several, scan], ids=lambda f: f.__name__)
def test_gives_what_numpy_gives(gpu, function):
    compiled = frameloom.compile(function, device=gpu)
    for _ in range(2):
        assert_alike(compiled(gpu.array(X), gpu.array(Y)), function(X, Y))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_products_by_instructions_on_matrices(gpu, dtype):
    assert_products_agree(gpu, dtype)


def test_attention(gpu):
    assert_attention_agrees(gpu)


def test_names(gpu):
    assert frameloom.device("hip") == gpu and repr(gpu) == "frameloom.device('hip:0')" and gpu.architecture == "gfx90a"
    other = frameloom.device("hip:1")
    assert other != gpu
    array = other.array(X)
    assert array.device == "hip:1" and np.array_equal(np.asarray(array), X)
    assert frameloom.compile(chain, device=gpu)(array, Y).device == "hip:0"
    assert np.array_equal(np.asarray(frameloom.compile(chain, device=other)(array, Y)), X * Y + 1)
    with pytest.raises(frameloom.DeviceError, match="there is no hip:7: this machine has 2 devices"):
        frameloom.device("hip:7")
    assert null.loom_nullgpu_depth() == 0  # the current device is what it was


def test_indices(gpu):
    compiled = frameloom.compile(lambda a, i: a[i], device=gpu)
    index = np.array([3, 1, 9])
    assert np.array_equal(np.asarray(compiled(gpu.array(np.arange(10.0)), gpu.array(index))), [3, 1, 9])
    later = compiled(gpu.array(np.arange(10.0)), gpu.array(index + 1))
    with pytest.raises(IndexError, match="out of bounds"):
        np.asarray(later)


class Packed:
    """What another library gives by DLPack alone: here an array of our own."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__(stream=stream)


def test_dlpack(gpu):
    """ROCm has a number of its own for its devices, and 0 for the default stream."""
    array = gpu.array(X)
    assert array.__dlpack_device__() == (10, 0)
    result = frameloom.compile(chain, device=gpu)(Packed(array), Y)
    np.testing.assert_array_equal(np.asarray(result), X * Y + 1)
    waits = null.loom_nullgpu_calls(b"hipStreamWaitEvent")
    for stream in (None, 0):
        array.__dlpack__(stream=stream)
    assert null.loom_nullgpu_calls(b"hipStreamWaitEvent") == waits + 2
    for stream in (1, 2):
        with pytest.raises(ValueError, match="0 is the default stream"):
            array.__dlpack__(stream=stream)


CALLS = ["hipGetDevice", "hipStreamSynchronize", "hipMallocAsync", "hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync",
         "hipModuleLoadData", "hipModuleGetFunction", "hipModuleLaunchKernel"]


@pytest.mark.parametrize("symbol", CALLS)
def test_each_call_of_the_driver_fails_once(gpu, symbol):
    """An exception in the driver's words, nothing is lost, no error is left for others, and the next call works."""
    good = frameloom.compile(chain, device=gpu)
    good(X, Y)
    frameloom.reset()
    gc.collect()  # results of other tests
    gpu.synchronize()
    before, failures = live(), 0
    for skip in range(30):
        null.loom_nullgpu_fail(symbol.encode(), skip, 999)
        try:
            compiled = frameloom.compile(chain, device=gpu)
            np.testing.assert_array_equal(np.asarray(compiled(gpu.array(X), gpu.array(Y))), X * Y + 1)
        except frameloom.DeviceError as error:
            assert "unknown error (hipErrorUnknown, 999)" in str(error)
            failures += 1
        compiled = None
        came = null.loom_nullgpu_failed()
        null.loom_nullgpu_fail(b"", 0, 0)
        assert null.loom_nullgpu_last() == 0
        np.testing.assert_array_equal(np.asarray(good(X, Y)), X * Y + 1)
        if not came:
            break
    compiled = None
    frameloom.reset()
    gpu.synchronize()
    assert failures and live() == before


PROGRAM = """
import sys
import numpy as np
import frameloom
gpu = frameloom.device("hip")
a = np.arange(2000, dtype=np.float32).reshape(40, 50)
f = frameloom.compile(lambda a: a * 3 + a.sum(axis=1, keepdims=True), device=gpu)
np.testing.assert_allclose(np.asarray(f(a)), a * 3 + a.sum(axis=1, keepdims=True), rtol=1e-6)
print(gpu.architecture)
"""


def run_program(folder, **environment):
    environment = {**os.environ, "FRAMELOOM_CACHE_DIR": str(folder), **environment}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=PATIENCE)


def test_architectures(tmp_path):
    """Each has code of its own, with waves of 64 or 32 threads, also from the disk cache."""
    (tmp_path / "cache").mkdir(mode=0o700)
    for architecture in ("gfx90a", "gfx942", "gfx1100", "gfx90a"):
        done = run_program(tmp_path / "cache", NULLGPU_ARCHITECTURE=architecture)
        assert done.stdout == f"{architecture}\n", done.stderr


@pytest.mark.parametrize("environment, text", [
    ({"FRAMELOOM_HIP_DRIVER": "/nowhere/libamdhip64.so"}, "there is no driver: /nowhere/libamdhip64.so"),
    ({"NULLGPU_VERSION": "50700000"}, "the driver is too old: it supports HIP 5.7, and 6.0 or later is needed"),
    ({"NULLGPU_DEVICES": "0"}, "this machine has no AMD GPU"),
    ({"NULLGPU_ARCHITECTURE": "gfx906"}, "no code can be made for gfx906"),
])
def test_what_is_missing_is_told(tmp_path, environment, text):
    done = run_program(tmp_path, **environment)
    assert done.returncode == 1 and "frameloom.DeviceError: " in done.stderr.splitlines()[-1], done.stderr
    assert text in done.stderr.splitlines()[-1]
