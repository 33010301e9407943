"""Functions and arrays on devices, on the driver of the tests (test/runtime/nullgpu.h): it runs work as late as it may, and
device memory faults on the host. No GPU is needed, and none is used."""

import ctypes
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest
from device_programs import assert_attention_agrees, assert_products_agree
from processes import PATIENCE

import frameloom

DRIVER = pathlib.Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve() / "lib" / "libnullcuda.so"
if not DRIVER.exists():
    pytest.skip(f"{DRIVER} is not built", allow_module_level=True)
os.environ["FRAMELOOM_CUDA_DRIVER"] = str(DRIVER)
null = ctypes.CDLL(str(DRIVER))
for name in ("loom_nullgpu_live", "loom_nullgpu_calls", "loom_nullgpu_pending"):
    getattr(null, name).restype = ctypes.c_long
null.loom_nullgpu_failed.restype = ctypes.c_bool
RNG = np.random.default_rng(5)
X, Y = (RNG.standard_normal((64, 48)).astype(np.float32) for _ in range(2))
ROW = np.arange(48, dtype=np.float32)


@pytest.fixture(scope="module")
def gpu():
    return frameloom.device("cuda:0")


def live():
    return null.loom_nullgpu_live(b"memory")


# ---- functions ----


def chain(a, b):
    return a * b + 1


def softmax(a, b):
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) + b


def several(a, b):
    return {"sum": a + b, "views": [(a - b).T, a[1:, ::2]], "rows": (a.shape[0], a * 2)}


def product(a, b):
    return np.maximum(a @ b.T, 0)


def number(a, b):
    return (a * b).sum()


def columns(a, b):
    return a.mean(axis=0), b.max(axis=0)


def with_a_global(a, b):
    return a + ROW - b


def scan(a, b):
    return np.cumsum(a, axis=1) + b


def pieces(a, b):
    return np.concatenate([a, b], axis=1), np.where(a > b, a, b), a > 0, a[::-1] + 1


def unchanged(a, b):
    return a, b[2:]


FUNCTIONS = [chain, softmax, several, product, number, columns, with_a_global, scan, pieces, unchanged]


def assert_alike(got, wanted):
    if isinstance(wanted, (tuple, list)):
        assert type(got) is type(wanted) and len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            assert_alike(g, w)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted)
        assert_alike(list(got.values()), list(wanted.values()))
    elif not isinstance(wanted, (np.ndarray, np.generic)):
        assert type(got) is type(wanted) and (got == wanted or got == pytest.approx(wanted))
    else:
        assert isinstance(got, frameloom.DeviceArray) == isinstance(wanted, np.ndarray), type(got)
        host = np.asarray(got)
        assert host.dtype == np.asarray(wanted).dtype and host.shape == np.shape(wanted)
        np.testing.assert_allclose(host, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gives_what_numpy_gives(gpu, function):
    compiled = frameloom.compile(function, device=gpu)
    wanted = function(X, Y)
    for _ in range(2):
        assert_alike(compiled(gpu.array(X), gpu.array(Y)), wanted)


def changes_a_copy(a):
    z = a.copy()
    z[0] = 1
    z[:, 1] += 2
    return z


def fills(a):
    z = np.zeros((6, 5))
    z[1:3] = a[1:3]
    return z, np.add(a, 1, out=np.empty_like(a))


def collects(a):
    rows = []
    for i in range(3):
        rows.append(a[i] * i)
    return rows


FORMS = [
    changes_a_copy, fills, collects,
    lambda a: (a.sum(axis=1, keepdims=True), a.sum(keepdims=True), (a > 0).any(), float(a.sum()), a[0, 0].item()),
    lambda a: (a[0], *list(a[1:]), [r.sum() for r in a[:3]], {i: a[i] for i in range(3)}),
    lambda a: ((a * 1j).real, np.stack([a, a + 1]), a.argmax(axis=1), a.argmax(), a.dtype, a.size, f"{a.shape}", None),
    lambda a: (a[:1, :1], a[:1, :1].reshape(()), a[0:0], a.var(axis=0), a.std(), np.outer(a[0], a[1]), a[0] @ a[1]),
    lambda a: (np.clip(a, -1, 1), np.round(a, 1), a % 0.3, np.repeat(a, 2, axis=0), np.tile(a, 2), np.roll(a, 1), np.pad(a, 1)),
    lambda a: (np.tril(a), np.diag(a[0]), np.cumprod(a), np.linalg.norm(a), np.linspace(0, 1, 5) * a, np.isnan(a).sum()),
    lambda a: (a.astype(np.int32), a.flatten(), a.ravel(), a.T @ a, np.broadcast_to(a, (2, 6, 5)), a[:, None, :] - a[None]),
]


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_forms(gpu, form):
    """What has no part on the device (sizes, dtypes, numbers) and what is made of several parts comes out as in NumPy."""
    a = RNG.standard_normal((6, 5))
    assert_alike(frameloom.compile(FORMS[form], device=gpu)(gpu.array(a)), FORMS[form](a.copy()))


def test_arrays_of_the_host_are_copied(gpu):
    """With their strides, at each call; what is a view of one stays one."""
    compiled = frameloom.compile(lambda a, b: (a * b, a[1:], b), device=gpu)
    a, b = np.asfortranarray(X)[::-1], gpu.array(Y)
    for _ in range(2):
        a += 1
        result = compiled(a, b)
        np.testing.assert_array_equal(np.asarray(result[0]), a * Y)
        assert result[1].base is not None and np.shares_memory(result[1], a) and result[2] is b


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_products_by_instructions_on_matrices(gpu, dtype):
    assert_products_agree(gpu, dtype)


def test_products_of_float32_are_exact_unless_the_setting_allows_tf32(gpu, monkeypatch):
    """TF32 does not know 1 + 2**-12, which float32 does. The disk cache has both."""
    x, y = np.full((64, 64), 1 + 2.0**-12, np.float32), np.eye(64, dtype=np.float32)
    got = []
    for on in (False, True, False):
        monkeypatch.setattr(frameloom.config, "tf32", on)
        got.append(np.asarray(frameloom.compile(lambda a, b: a @ b, device=gpu)(x, y))[3, 5])
    assert got == [1 + 2.0**-12, 1, 1 + 2.0**-12]


def test_attention(gpu):
    assert_attention_agrees(gpu)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64"])
def test_dtypes(gpu, dtype):
    a = RNG.integers(0, 2 if dtype == "bool" else 100, (5, 7)).astype(dtype)
    compiled = frameloom.compile(lambda a, b: a + b, device="cuda")
    result = compiled(gpu.array(a), gpu.array(a))
    assert result.dtype == a.dtype and result.shape == (5, 7) and result.ndim == 2 and result.size == 35
    assert result.nbytes == a.nbytes and len(result) == 5 and result.device == "cuda:0"
    np.testing.assert_array_equal(np.asarray(result), a + a)


def test_sizes(gpu):
    """Each layout has a version of its own; sizes of 0 and 1 and numbers are nothing special."""
    compiled = frameloom.compile(lambda a, s: a * s + 1, device=gpu)
    for shape in [(), (0,), (1,), (3, 0), (1, 1), (1000,), (17, 3), (2, 3, 4)]:
        a = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)
        for s in (2.0, 0.5, 3):
            result = compiled(gpu.array(a), s)
            np.testing.assert_array_equal(np.asarray(result), a * s + 1)
            assert np.shape(result) == shape


def test_layouts(gpu):
    compiled = frameloom.compile(lambda a, b: (a + b, b), device=gpu)
    views = frameloom.compile(lambda a: (a.T, a[::-1, 1::2], a[3], a[::2]), device=gpu)
    for one, other in zip(views(gpu.array(X)), (X.T, X[::-1, 1::2], X[3], X[::2]), strict=True):
        assert one.strides == other.strides
        two = compiled(one, one)
        np.testing.assert_array_equal(np.asarray(two[0]), other + other)
        assert two[1] is one
        np.testing.assert_array_equal(np.asarray(compiled(np.asarray(one), one)[0]), other + other)


def test_work_is_ordered_and_not_waited_for(gpu):
    compiled = frameloom.compile(chain, device=gpu)
    a, b = gpu.array(X), gpu.array(Y)
    compiled(a, b)
    gpu.synchronize()
    assert null.loom_nullgpu_pending() == 0
    waits = null.loom_nullgpu_calls(b"cuStreamSynchronize")
    first = compiled(a, b)
    last = compiled(first, first)
    assert null.loom_nullgpu_calls(b"cuStreamSynchronize") == waits and null.loom_nullgpu_pending() >= 4
    wanted = X * Y + 1
    np.testing.assert_allclose(np.asarray(last), wanted * wanted + 1, rtol=1e-6)


def test_memory_is_given_back(gpu):
    gpu.synchronize()
    before = live()
    compiled = frameloom.compile(several, device=gpu)
    for _ in range(3):
        compiled(gpu.array(X), gpu.array(Y))
    kept = compiled(gpu.array(X), gpu.array(Y))["views"][1]
    gpu.synchronize()
    assert live() == before + 1  # what the view lies in
    np.testing.assert_array_equal(np.asarray(kept), X[1:, ::2])
    del kept
    gpu.synchronize()
    assert live() == before


def test_devices_of_a_block():
    with frameloom.device("cuda:0") as gpu:
        there = frameloom.compile(chain)
        with frameloom.device("cuda:1"):
            elsewhere = frameloom.compile(chain)
    here = frameloom.compile(chain)
    assert "on cuda:0" in repr(there) and "on cuda:1" in repr(elsewhere)
    assert isinstance(there(X, Y), frameloom.DeviceArray) and isinstance(here(X, Y), np.ndarray)
    assert elsewhere(gpu.array(X), Y).device == "cuda:1"
    assert frameloom.device("cuda") == gpu and frameloom.device("cuda:1") != gpu and len({gpu, frameloom.device()}) == 1


def test_methods_and_globals(gpu):
    global ROW

    class Scale:
        def __init__(self, by):
            self.by = by

        @frameloom.compile(device="cuda:0")
        def apply(self, a):
            return a * self.by

    for by in (2.0, 3.0):
        np.testing.assert_array_equal(np.asarray(Scale(by).apply(gpu.array(X))), X * np.float32(by))
    compiled, before = frameloom.compile(with_a_global, device=gpu), ROW
    try:
        for ROW in (before, before + 1):
            np.testing.assert_array_equal(np.asarray(compiled(gpu.array(X), gpu.array(Y))), X + ROW - Y)
            ROW[3] = 99  # what a global array holds now counts
            np.testing.assert_array_equal(np.asarray(compiled(gpu.array(X), gpu.array(Y))), X + ROW - Y)
    finally:
        ROW = before


def test_indices(gpu):
    compiled = frameloom.compile(lambda a, i: a[i], device=gpu)
    a, index = np.arange(10.0), np.array([3, 1, 9])
    np.testing.assert_array_equal(np.asarray(compiled(gpu.array(a), gpu.array(index))), a[index])
    assert not frameloom.explain(compiled, gpu.array(a), gpu.array(index)).device_plans[0].waits
    for read in (np.asarray, lambda c: gpu.synchronize(), lambda c: np.asarray(gpu.array(a))):
        waits = null.loom_nullgpu_calls(b"cuStreamSynchronize")
        c = compiled(gpu.array(a), gpu.array(index + 1))
        assert null.loom_nullgpu_calls(b"cuStreamSynchronize") == waits, "nobody has waited"
        with pytest.raises(IndexError, match=r"out of bounds in gather \(k0_s0\) of test_indices.<locals>.<lambda>, in a call before"):
            read(c)
    with pytest.raises(IndexError, match="out of bounds"):  # a number is waited for
        frameloom.compile(lambda a, i: a[i].sum(), device=gpu)(gpu.array(a), gpu.array(index + 1))
    np.testing.assert_array_equal(np.asarray(compiled(gpu.array(a), gpu.array(index))), a[index])


def test_values_that_lead_to_a_raise_or_a_warning(gpu):
    """What capture has assumed of values does not hold: no error of an index is told."""
    def positive(a):
        if (a < 0).any():
            raise ValueError("negative")
        return np.sqrt(a)

    compiled = frameloom.compile(positive, device=gpu)
    assert frameloom.explain(compiled, gpu.array(np.full(4, 9.0))).device_plans[0].waits
    np.testing.assert_array_equal(np.asarray(compiled(gpu.array(np.full(4, 9.0)))), np.full(4, 3.0))
    with pytest.raises(frameloom.DeviceError, match="would have to run as plain Python"):
        compiled(gpu.array(np.full(4, -9.0)))
    with pytest.raises(frameloom.DeviceError, match="would have to run as plain Python"):
        frameloom.compile(lambda a: np.nanmean(a), device=gpu)(np.zeros((6, 0), np.float32))


def test_no_floating_point_warnings(gpu, recwarn):
    with np.errstate(all="raise"):
        result = frameloom.compile(lambda a: 1 / a, device=gpu)(gpu.array(np.zeros(3)))
        integers = frameloom.compile(lambda a: a // 0, device=gpu)(gpu.array(np.arange(3)))
    assert np.isinf(np.asarray(result)).all() and not np.asarray(integers).any() and not recwarn.list


def test_threads(gpu):
    compiled = frameloom.compile(chain, device=gpu)
    failures = []

    def work(seed):
        a = np.full((64, 48), seed, np.float32)
        for _ in range(10):
            if not np.array_equal(np.asarray(compiled(gpu.array(a), gpu.array(a))), a * a + 1):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---- what is refused ----

SEEN = []


def decides(a):
    return a if a.sum() > 0 else -a


def sorts(a):
    return np.sort(a, axis=1)


def masks(a):
    return a[a > 0]


def writes(a):
    a += 1
    return a


def remembers(a):
    SEEN.append(a * 2)
    return a + 1


def generates(a):
    return (row for row in a)


def wraps(a):
    return iter([a])


REFUSED = {
    decides: (frameloom.GraphBreak, "the truth of an array"),
    sorts: (frameloom.DeviceError, "calls a function that runs on the host"),
    masks: (frameloom.GraphBreak, "sizes that depend on data"),
    writes: (frameloom.GraphBreak, "read-only"),
    remembers: (frameloom.DeviceError, "changes an object that it was given, or a global one"),
    generates: (frameloom.DeviceError, "gives a generator"),
    wraps: (frameloom.DeviceError, "gives arrays and numbers, and tuples, lists and dicts of them, not list_iterator"),
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(gpu, function):
    error, text = REFUSED[function]
    compiled = frameloom.compile(function, device=gpu)
    for _ in range(2):
        with pytest.raises(error, match=text):
            compiled(gpu.array(X))
    assert not SEEN
    np.testing.assert_array_equal(np.asarray(frameloom.compile(chain, device=gpu)(X, Y)), X * Y + 1)


def test_never_runs_as_plain_python(gpu):
    compiled = frameloom.compile(chain, device=gpu)
    for setting in (frameloom.config.patch(disable=True), frameloom.set_stance("force_eager")):
        with setting, pytest.raises(frameloom.DeviceError, match="cannot be run as plain Python"):
            compiled(gpu.array(X), gpu.array(Y))
    sys.settrace(lambda *event: None)  # compiled code runs as plain Python meanwhile
    try:
        with pytest.raises(frameloom.DeviceError, match="has to be compiled whole, and this call ran as plain Python"):
            compiled(gpu.array(X), gpu.array(Y))
    finally:
        sys.settrace(None)
    np.testing.assert_array_equal(np.asarray(compiled(gpu.array(X), gpu.array(Y))), X * Y + 1)


def test_bad_arguments(gpu):
    for name, text in (("cuda:9", "there is no cuda:9: this machine has 2 devices"), ("tpu", "there is no device 'tpu'")):
        with pytest.raises(frameloom.DeviceError, match=text):
            frameloom.compile(chain, device=name)
    with pytest.raises(TypeError, match="must be a str"):
        frameloom.device(3)
    with pytest.raises(ValueError, match="does not run on a device"):
        frameloom.compile(chain, device=gpu, backend="interpret")
    with pytest.raises(TypeError, match="expects a Python function"):
        frameloom.compile(len, device=gpu)
    with pytest.raises(TypeError, match="cannot be on a device"):
        gpu.array(np.array(["text"]))
    with pytest.raises(TypeError, match="device\\(...\\).array makes"):
        frameloom.DeviceArray()
    assert frameloom.compile(chain, device=gpu, disable=True) is chain


# ---- arrays of others ----


class Stream:
    """Another library's stream, and memory whose work is ordered on it."""

    def __init__(self):
        self.context, self.handle = ctypes.c_void_p(), ctypes.c_void_p()
        assert null.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 100) == 0
        with self:
            assert null.cuStreamCreate(ctypes.byref(self.handle), 0) == 0

    def __enter__(self):
        assert null.cuCtxPushCurrent_v2(self.context) == 0

    def __exit__(self, *exception):
        assert null.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())) == 0

    def write(self, address, host):
        with self:
            done = null.cuMemcpyHtoDAsync_v2(address, host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(host.nbytes), self.handle)
            assert done == 0

    def alloc(self, host):
        address = ctypes.c_uint64()
        with self:
            assert null.cuMemAllocAsync(ctypes.byref(address), ctypes.c_size_t(host.nbytes), self.handle) == 0
        self.write(address, host)
        return address

    def synchronize(self):
        with self:
            assert null.cuStreamSynchronize(self.handle) == 0


class Foreign:
    """An array of another library, whose elements have yet to be written by its stream."""

    def __init__(self, host, version=3):
        self.host, self.version = host, version
        self.stream = Stream()
        self.address = self.stream.alloc(host)

    @property
    def __cuda_array_interface__(self):
        face = {"shape": self.host.shape, "typestr": self.host.dtype.str, "data": (self.address.value, False), "version": self.version}
        if self.version == 3:
            face["stream"] = self.stream.handle.value
        return face


def test_other_arrays_are_read_when_they_are_written(gpu):
    compiled = frameloom.compile(chain, device=gpu)
    for _ in range(2):
        a = Foreign(X)
        result = compiled(a, gpu.array(Y))
        a.stream.write(a.address, np.zeros_like(X))  # behind the call, so the call does not see it
        a.stream.synchronize()
        np.testing.assert_array_equal(np.asarray(result), X * Y + 1)


def test_streams_of_older_arrays(gpu):
    """Without a stream, what the default stream has ordered comes first, and the call waits for its end."""
    compiled = frameloom.compile(chain, device=gpu)
    a = Foreign(X, version=2)
    a.stream.synchronize()
    result = compiled(a, gpu.array(Y))
    assert null.loom_nullgpu_pending() <= 4  # to give memory back
    a.stream.write(a.address, np.zeros_like(X))
    a.stream.synchronize()
    np.testing.assert_array_equal(np.asarray(result), X * Y + 1)


class Packed:
    """What another library gives by DLPack alone: here an array of our own."""

    def __init__(self, array):
        self.array, self.streams = array, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream)


def test_dlpack(gpu):
    compiled = frameloom.compile(lambda a, b: a * 2 - b, device=gpu)
    gpu.synchronize()
    before = live()
    view = frameloom.compile(lambda a: a.T[1:], device=gpu)(gpu.array(X))
    packed = Packed(view)
    assert packed.__dlpack_device__() == (2, 0)
    result = compiled(packed, view)
    assert packed.streams == [gpu._native.stream]
    np.testing.assert_array_equal(np.asarray(result), X.T[1:])
    del packed, view, result
    gpu.synchronize()
    assert live() == before
    a = gpu.array(X)
    for options, error in (({"stream": 0}, ValueError), ({"copy": True}, BufferError), ({"dl_device": (1, 0)}, BufferError)):
        with pytest.raises(error):
            a.__dlpack__(**options)
    capsule = a.__dlpack__(stream=-1)
    del capsule, a  # which nobody has taken
    gpu.synchronize()
    assert live() == before


def test_arrays_for_others(gpu):
    a = frameloom.compile(chain, device=gpu)(X, Y)
    face = a.__cuda_array_interface__
    assert face["shape"] == (64, 48) and face["typestr"] == "<f4" and face["strides"] is None and face["version"] == 3
    assert face["stream"] == gpu._native.stream and not face["data"][1]
    stream, out = Stream(), np.zeros_like(X)
    gpu._native.before(stream.handle.value)  # what a consumer does with the stream
    with stream:
        done = null.cuMemcpyDtoHAsync_v2(out.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(face["data"][0]),
                                         ctypes.c_size_t(out.nbytes), stream.handle)
    assert done == 0
    np.testing.assert_array_equal(out, X * Y + 1)
    empty = gpu.array(np.zeros((0, 3)))
    assert empty.__cuda_array_interface__["data"][0] == 0
    assert frameloom.compile(lambda a: a.T, device=gpu)(a).__cuda_array_interface__["strides"] == (4, 192)
    with pytest.raises(ValueError, match="without a copy"):
        np.array(a, copy=False)
    assert np.asarray(a, dtype=np.float64).dtype == np.float64


def test_wrong_arrays(gpu):
    class Wrong:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3, "stream": None}

    compiled = frameloom.compile(lambda a: a + 1, device=gpu)
    with pytest.raises(frameloom.DeviceError, match="an address is no memory of cuda:0: invalid argument"):
        compiled(Wrong())
    for change, error in (({"typestr": ">f4"}, TypeError), ({"mask": 1}, TypeError), ({"stream": 0}, ValueError)):
        wrong = Wrong()
        wrong.__cuda_array_interface__ = dict(Wrong.__cuda_array_interface__, **change)
        with pytest.raises(error):
            compiled(wrong)


# ---- failures ----

CALLS = [
    "cuCtxPushCurrent_v2", "cuStreamSynchronize", "cuMemAllocAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
    "cuMemFreeAsync", "cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernelEx",
]
RARE = {"cuMemFreeAsync"}  # it is called again (test/runtime/test_device.c fails the rest)


@pytest.mark.parametrize("symbol", CALLS)
def test_each_call_of_the_driver_fails_once(gpu, symbol, monkeypatch):
    """An exception in the driver's words, nothing is lost, and the next call works."""
    monkeypatch.setenv("FRAMELOOM_CACHE", "0")
    good = frameloom.compile(chain, device=gpu)
    good(X, Y)
    frameloom.reset()
    gpu.synchronize()
    before = live(), null.loom_nullgpu_live(b"module"), null.loom_nullgpu_live(b"link")
    failures = 0
    for skip in range(30):
        null.loom_nullgpu_fail(symbol.encode(), skip, 999)
        try:
            compiled = frameloom.compile(chain, device=gpu)
            result = np.asarray(compiled(gpu.array(X), gpu.array(Y)))
        except frameloom.DeviceError as error:
            assert "unknown error (CUDA_ERROR_UNKNOWN, 999)" in str(error)
            failures += 1
        else:
            np.testing.assert_array_equal(result, X * Y + 1)
        came = null.loom_nullgpu_failed()
        null.loom_nullgpu_fail(b"", 0, 0)
        assert_alike(good(gpu.array(X), gpu.array(Y)), chain(X, Y))
        if not came:
            break
    compiled = None
    frameloom.reset()
    gpu.synchronize()
    after = live(), null.loom_nullgpu_live(b"module"), null.loom_nullgpu_live(b"link")
    assert failures or symbol in RARE
    assert after == before


PROGRAM = """
import ctypes, sys
import numpy as np
import frameloom
a = np.arange(2000, dtype=np.float32)
f = frameloom.compile(lambda a: a * 3 + 1, device="cuda")
assert np.array_equal(np.asarray(f(a)), a * 3 + 1)
null = ctypes.CDLL(sys.argv[1])
print(null.loom_nullgpu_calls(b"cuLinkCreate_v2"))
"""


def run_program(folder, program=PROGRAM, **environment):
    environment = {**os.environ, "FRAMELOOM_CACHE_DIR": str(folder), **environment}
    return subprocess.run([sys.executable, "-c", program, str(DRIVER)], env=environment, capture_output=True, text=True, timeout=PATIENCE)


def test_code_comes_from_the_disk_cache(tmp_path):
    """By the architecture and the driver's version; damaged entries are made anew."""
    (tmp_path / "cache").mkdir(mode=0o700)
    folder = tmp_path / "cache"
    assert [run_program(folder).stdout for _ in range(2)] == ["1\n", "0\n"]
    assert [run_program(folder, NULLGPU_VERSION="12050").stdout for _ in range(2)] == ["1\n", "0\n"]
    assert [run_program(folder, NULLGPU_ARCHITECTURE="80").stdout for _ in range(2)] == ["1\n", "0\n"]
    for entry in folder.glob("*.loom"):
        data = bytearray(entry.read_bytes())
        data[-100] ^= 1
        entry.write_bytes(data)
    done = run_program(folder)
    assert done.stdout == "1\n", done.stderr


@pytest.mark.parametrize("environment, text", [
    ({"FRAMELOOM_CUDA_DRIVER": "/nowhere/libcuda.so.1"}, "there is no driver: /nowhere/libcuda.so.1"),
    ({"FRAMELOOM_CUDA_DRIVER": "libm.so.6"}, "is too old: it has no cuGetErrorName"),
    ({"NULLGPU_VERSION": "11040"}, "the driver is too old: it supports CUDA 11.4, and 11.8 or later is needed"),
    ({"NULLGPU_DEVICES": "0"}, "this machine has no NVIDIA GPU"),
    ({"NULLGPU_ARCHITECTURE": "61"}, "cuda:0 is too old: it has sm_61"),
    ({"NULLGPU_FAIL": "cuDevicePrimaryCtxRetain"}, "the context of cuda:0 cannot be made: unknown error"),
])
def test_what_is_missing_is_told(tmp_path, environment, text):
    done = run_program(tmp_path, **environment)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("frameloom.DeviceError: CUDA: "), done.stderr
    assert text in done.stderr.splitlines()[-1]


RING = """
import ctypes, sys
import numpy as np
import frameloom
null = ctypes.CDLL(sys.argv[1])
gpu, rng = frameloom.device("cuda"), np.random.default_rng(3)
x, w = (rng.standard_normal((1100, 72)).astype(np.float16) for _ in range(2))
products = frameloom.compile(lambda a, b: (a @ b.T, b @ a.T), device=gpu)


class At:
    def __init__(self, array, offset):
        whole = gpu.array(np.concatenate([np.zeros(offset, np.float16), array.ravel()]))
        where = whole.__cuda_array_interface__
        self.keep = whole
        self.__cuda_array_interface__ = {**where, "shape": array.shape, "data": (where["data"][0] + 2 * offset, False), "strides": None}


def agree(a, b):
    before = null.loom_nullgpu_calls(b"cuTensorMapEncodeTiled")
    wide = x.astype(np.float32) @ w.astype(np.float32).T
    for got, want in zip(products(a, b), (wide, wide.T)):
        assert np.abs(np.asarray(got) - want).max() < 0.02
    return null.loom_nullgpu_calls(b"cuTensorMapEncodeTiled") - before


print(agree(gpu.array(x), gpu.array(w)), agree(At(x, 8), At(w, 16)), agree(At(x, 3), gpu.array(w)))
null.loom_nullgpu_fail(b"cuTensorMapEncodeTiled", 1, 999)
try:
    products(gpu.array(x), gpu.array(w))
except frameloom.DeviceError as error:
    print(error)
null.loom_nullgpu_fail(b"cuFuncSetAttribute", 0, 999)
try:
    frameloom.compile(lambda a, b: a @ b.T + 1, device=gpu)(gpu.array(x), gpu.array(w))
except frameloom.DeviceError as error:
    print(error)
with frameloom.config.patch(cudagraphs=True):
    graphs = [agree(gpu.array(x), gpu.array(w)), agree(gpu.array(x), gpu.array(w)), agree(At(x, 3), gpu.array(w)), agree(gpu.array(x), At(w, 8))]
print(graphs, null.loom_nullgpu_calls(b"cuGraphLaunch"))
"""


def test_products_by_tensor_maps(tmp_path):
    """Each launch has maps of its operands, but of those that no map can be made of; also in a graph of the driver."""
    done = run_program(tmp_path, RING, FRAMELOOM_WGMMA="1", NULLGPU_ARCHITECTURE="90")
    lines = done.stdout.splitlines()
    assert lines[0] == "4 4 2", done.stdout + done.stderr
    assert "a tensor map cannot be made on cuda:0: unknown error" in lines[1]
    assert "bytes of shared memory on cuda:0: unknown error" in lines[2]
    assert lines[3] == "[4, 4, 2, 4] 3"
    done = run_program(tmp_path, RING.split("print(agree")[0] + "print(agree(gpu.array(x), gpu.array(w)))\n", NULLGPU_ARCHITECTURE="90")
    assert done.stdout == "0\n", done.stderr  # nobody has asked for it
