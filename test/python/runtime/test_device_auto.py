"""Functions that choose between the host and a device (`device="auto"`), on the drivers of the tests. No decision depends on time: costs are
stated, and clocks are pretended."""

import copy
import ctypes
import functools
import gc
import inspect
import itertools
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from processes import PATIENCE

import frameloom
from frameloom import _costs, _place

LIB = pathlib.Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve() / "lib"
DRIVERS = {"cuda": LIB / "libnullcuda.so", "hip": LIB / "libnullhip.so"}
if not all(path.exists() for path in DRIVERS.values()):
    pytest.skip(f"the drivers of the tests are not built in {LIB}", allow_module_level=True)
for kind, path in DRIVERS.items():
    os.environ[f"FRAMELOOM_{kind.upper()}_DRIVER"] = str(path)
NULL = {kind: ctypes.CDLL(str(path)) for kind, path in DRIVERS.items()}
for null in NULL.values():
    for name in ("loom_nullgpu_live", "loom_nullgpu_calls"):
        getattr(null, name).restype = ctypes.c_long
    null.loom_nullgpu_failed.restype = ctypes.c_bool
LAUNCH = {"cuda": b"cuLaunchKernelEx", "hip": b"hipModuleLaunchKernel"}
FREE = "up=1e18 down=1e18 memory=1e18 operations=1e21 launch=1e-15 wait=1e-15"  # whatever runs there is faster
DEAR = "up=1e10 down=1e10 memory=1e12 operations=1e13 launch=1 wait=1"
RNG = np.random.default_rng(11)
X, Y = (RNG.standard_normal((64, 48)).astype(np.float32) for _ in range(2))


@pytest.fixture(params=["cuda", "hip"])
def kind(request, monkeypatch):
    monkeypatch.setattr(_place, "_KINDS", (request.param,))
    return request.param


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    """Estimates alone decide, and the device is free."""
    monkeypatch.setattr(frameloom.config, "leave_slower", False)
    monkeypatch.setattr(frameloom.config, "device_costs", FREE)


def launches(kind="cuda"):
    return NULL[kind].loom_nullgpu_calls(LAUNCH[kind])


def auto(function, **options):
    return frameloom.compile(function, device="auto", **options)


def where(function):
    return [placing.where for placing in function._placings.values()]


def why(function):
    return [placing.why for placing in function._placings.values()]


def assert_as_numpy(got, wanted):
    assert type(got) is type(wanted), (type(got), type(wanted))
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            assert_as_numpy(g, w)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted)
        assert_as_numpy(list(got.values()), list(wanted.values()))
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    else:
        assert got == wanted


# ---- the choice ----

COSTS = _costs.Costs(host=2e10, host_operations=1e11, up=1e10, down=1e10, memory=1e12, operations=1e13)


def chosen(size, operations, kernels=1, up=0, down=0, parts=0, kept=0, left=0, costs=COSTS):
    e = _costs.decide((size, operations, kernels, False), up, down, parts, kept, left, costs)
    return e.device_s < e.host_s


SIZES = [0, *(10.0**k for k in range(2, 12))]


def test_more_work_never_speaks_for_the_host():
    for kernels, moved, parts, kept in itertools.product((1, 3, 40), (0, 1e5, 1e8), (0, 3), (0, 1e6)):
        for other in SIZES:
            by_bytes = [chosen(size, other, kernels, moved, moved, parts, kept) for size in SIZES]
            by_operations = [chosen(other, n, kernels, moved, moved, parts, kept) for n in SIZES]
            assert by_bytes == sorted(by_bytes) and by_operations == sorted(by_operations)


def test_what_speaks_for_each_side():
    """Copies, kernels and waits speak for the host, what lies on the device and what is to lie there for the device."""
    for size, operations in itertools.product(SIZES, SIZES):
        for field in ("up", "down", "parts", "kernels"):
            choices = [chosen(size, operations, **{field: n}) for n in (1, 10, 1e4, 1e7, 1e10)]
            assert choices == sorted(choices, reverse=True), field
        for field in ("kept", "left"):
            choices = [chosen(size, operations, up=1e5, parts=1, **{field: n}) for n in (0, 10, 1e4, 1e7, 1e10)]
            assert choices == sorted(choices), field
    assert not chosen(1e3, 1e3, up=1e3, down=1e3, parts=2), "a small array stays"
    assert not chosen(3e8, 1e8, up=2e8, down=1e8, parts=3), "to copy it takes longer than to read it"
    assert chosen(3e8, 1e8, down=8, parts=1), "what lies there stays there"
    assert chosen(1.2e8, 6.9e10, up=8e7, down=4e7, parts=3), "a large product goes there"


def test_stated_costs():
    assert _costs.stated("up=2.5e10, launch=4e-6") == {"up": 2.5e10, "launch": 4e-6}
    for text, message in (("speed=3", "unknown cost 'speed'"), ("up", "has no number"), ("up=-1", "is not positive"), ("source=1", "unknown cost")):
        with pytest.raises(ValueError, match=message):
            _costs.stated(text)


def work_of(function, *arguments):
    """What the graph of a call is taken to be: (bytes, operations, kernels)."""
    compiled = auto(function)
    compiled(*arguments)
    (placing,) = compiled._placings.values()
    return placing.estimate.bytes, placing.estimate.operations, placing.estimate.kernels


def test_work():
    with np.errstate(all="ignore"):  # no witness
        a, b = np.ones((40, 50), np.float32), np.ones((50, 60), np.float32)
        assert work_of(lambda a: a * 2 + 1, a) == (2 * a.nbytes, 2 * a.size, 1)
        assert work_of(lambda a, b: a @ b, a, b) == (a.nbytes + b.nbytes + 4 * 40 * 60, 40 * 50 * 60, 1)
        assert work_of(lambda a: a[:10] + 1, a) == (2 * a.nbytes / 4, a.size / 4, 1), "of what a slice has"
        size, operations, kernels = work_of(lambda a: (a * a).sum(axis=1), a)
        assert size == a.nbytes + 4 * 40 and kernels == 1 and operations == 2 * a.size

        def steps(a, count):
            for _ in range(count):
                a = a * 0.5 + 1
            return a

        few, many = (work_of(functools.partial(steps, count=n), a) for n in (100, 1000))
        assert few[2] < many[2] and few[1] < many[1]


def test_small_work_stays_on_the_host(monkeypatch):
    """And no kernel is made for the device."""
    monkeypatch.setattr(frameloom.config, "device_costs", DEAR)
    compiled, before = auto(lambda a: a + 1), launches()
    for _ in range(3):
        assert_as_numpy(compiled(X), X + 1)
    assert where(compiled) == ["host"] and launches() == before and not compiled._filling._plans


def test_calls_that_the_host_runs(monkeypatch):
    """What has been decided is looked up by layouts and types."""
    monkeypatch.setattr(frameloom.config, "device_costs", DEAR)
    calls, whole = [], _place.AutoFunction._called
    monkeypatch.setattr(_place.AutoFunction, "_called", lambda self, *rest: calls.append(rest) or whole(self, *rest))
    compiled = auto(lambda a, k: a * k, dynamic=True)
    x = np.arange(12.0).reshape(3, 4)
    gpu = frameloom.device("cuda:0")
    for arguments, times in (((x, 2), 1), ((x + 1, 5), 1), ((x, 2.5), 2), ((x.T, 2), 3), ((x[:2], 2), 4), ((x.astype(np.float32), 2), 5), ((x, True), 6),
                             ((x, 3), 6), ((x.T, 7), 6), ((x, x), 7), ((x, np.float64(3)), 8), ((x, np.float64(3)), 9)):
        assert_as_numpy(compiled(*arguments), arguments[0] * arguments[1])
        assert len(calls) == times, arguments
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(compiled(gpu.array(x), 2)), x * 2)
        assert_as_numpy(compiled(x, k=2), x * 2)
    assert len(calls) == 13
    with pytest.raises(TypeError):
        compiled(x)


def test_measured_costs(monkeypatch):
    monkeypatch.setattr(frameloom.config, "device_costs", "")
    monkeypatch.setattr(_costs, "_known", {})
    ticks = itertools.count()
    monkeypatch.setattr(_costs, "clock", lambda: next(ticks) * 1e-3)
    costs = _costs.costs_of(frameloom.device("cuda:0")._native)
    assert costs.source == "measured" and costs.up == costs.down == pytest.approx((1 << 22) * 1e3) and costs.wait == pytest.approx(1e-3)
    assert costs.memory == pytest.approx(8 * _costs._INNER * 1e3) and costs.operations == 10 * costs.memory


# ---- on the host's arrays ----


def several(a, b):
    return {"sum": a + b, "views": [(a - b).T, a[1:, ::2]], "rows": (a.shape[0], a * 2)}


def numbers(a, b):
    return (a * b).sum(), a.max(), float(b[0, 0]), a.shape


def softmax(a, b):
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) + b


def product(a, b):
    return np.maximum(a @ b.T, 0), np.cumsum(a, axis=1)


def scatters(a, b):
    z = np.zeros(8, np.float32)
    np.add.at(z, np.arange(48) % 8, a[0])
    return z, a[np.array([3, 1, -1])]


def turned(a, b):
    return (a * 1e3).astype(np.int16), np.abs(b * 100).astype(np.uint64) // 3, np.concatenate([a, b], axis=1)[::-1], np.where(a > b, a, b), a.argmax(axis=0), a > 0


@pytest.mark.parametrize("function", [several, numbers, softmax, product, scatters, turned], ids=lambda f: f.__name__)
def test_gives_what_numpy_gives(kind, function):
    compiled, before = auto(function), launches(kind)
    for _ in range(2):
        assert_as_numpy(compiled(X, Y), function(X, Y))
    assert where(compiled) == ["device"] and launches(kind) > before and why(compiled) == ["estimated (stated)"]
    assert_as_numpy(compiled(np.asfortranarray(X), Y[::-1]), function(X, Y[::-1]))


def test_results_share_memory_as_in_numpy(kind):
    compiled = auto(lambda a: (a * 2, (a * 2)[1:], a, a[1:]))
    y = auto(lambda a: (lambda z: (z, z[1:], z.T))(a * 2))(X)
    y[1][...] = 7
    assert (y[0][1:] == 7).all() and (y[2][:, 1:] == 7).all() and y[0].flags.writeable and y[0].flags.owndata
    same = compiled(X)
    assert same[2] is X and same[3].base is X


def test_writes_and_changes(kind):
    seen = []

    def writes(a, b):
        a += b
        a[0] = 3
        seen.append(a.shape)
        return a * 2

    compiled, before = auto(writes), launches(kind)
    one, other = X.copy(), X.copy()
    for _ in range(2):
        assert_as_numpy(compiled(one, Y), writes(other, Y))
        np.testing.assert_array_equal(one, other)
    assert len(seen) == 4 and where(compiled) == ["device"] and launches(kind) > before


def test_overlapping_arguments(kind):
    def shift(a, b):
        a[:] = b + 1
        return a

    compiled = auto(shift)
    one, other = np.arange(20.0), np.arange(20.0)
    for _ in range(3):
        assert_as_numpy(compiled(one[1:], one[:-1]), shift(other[1:], other[:-1]))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float16", "float64", "complex64", "complex128"])
def test_dtypes_and_sizes(dtype):
    compiled = auto(lambda a, b: (a + b, a * b))
    for shape in [(), (0,), (1,), (3, 0), (7, 5)]:
        a = RNG.integers(0, 2 if dtype == "bool" else 10, shape).astype(dtype)
        assert_as_numpy(compiled(a, a), (a + a, a * a))


def test_sizes_that_change():
    for dynamic in (None, True, False):
        compiled = auto(lambda a: np.maximum(a, 0) * 2, dynamic=dynamic)
        for n in range(2, 22):
            a = RNG.standard_normal(n)
            assert_as_numpy(compiled(a), np.maximum(a, 0) * 2)
        assert set(where(compiled)) <= {"host", "device"}


def test_what_the_device_refuses_runs_on_the_host(kind):
    def decides(a):
        return a if a.sum() > 0 else -a

    for function in (decides, lambda a: np.sort(a, axis=1), lambda a: a[a > 0], lambda a: [str(x) for x in a[0]], lambda a: np.unique(a)):
        compiled = auto(function)
        for _ in range(4):
            assert_as_numpy(compiled(X), function(X))
        assert where(compiled) == ["host"], why(compiled)


def test_exceptions_are_numpys(kind):
    def picks(a, i):
        return a[i] * 2

    compiled = auto(picks)
    for _ in range(2):
        assert_as_numpy(compiled(X, np.array([1, 2])), picks(X, np.array([1, 2])))
        with pytest.raises(IndexError, match="index 64 is out of bounds for axis 0 with size 64"):
            compiled(X, np.array([1, 64]))
        with pytest.raises(ValueError, match="operands could not be broadcast"):
            auto(lambda a, b: a + b)(X, Y[:5])


def warned(function, *arguments):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = function(*arguments)
    return result, sorted(str(w.message) for w in found)


def test_warnings_are_numpys(kind):
    """The device has no flags: a witness tells where NumPy would warn."""
    def divides(a, b):
        return np.log(a / b) + 1

    compiled, bad = auto(divides), np.abs(Y)
    bad[3, 4] = 0
    for b in (np.abs(Y) + 1, bad, np.abs(Y) + 1, bad):
        (got, told), (wanted, expected) = warned(compiled, np.abs(X), b), warned(divides, np.abs(X), b)
        assert_as_numpy(got, wanted)
        assert told == expected
    before = launches(kind)
    warned(compiled, np.abs(X), np.abs(Y) + 1)
    assert launches(kind) > before, "a call in between counts"
    for _ in range(3):
        warned(compiled, np.abs(X), bad)
    assert where(compiled) == ["host"] and "floating-point warning" in why(compiled)[0]
    cuts, large = auto(lambda a: a.astype(np.int8)), X.copy()
    large[0, 0] = 1e10
    for a in (X, large, X):
        assert warned(cuts, a)[1] == warned(lambda a: a.astype(np.int8), a)[1]
    assert where(cuts) == ["device"]
    quiet = auto(divides)
    with np.errstate(all="ignore"):
        assert_as_numpy(quiet(np.abs(X), bad), divides(np.abs(X), bad))
    assert where(quiet) == ["device"]
    for how, error in (("raise", FloatingPointError), ("ignore", None)):
        with np.errstate(all=how):
            if error:
                with pytest.raises(error):
                    quiet(np.abs(X), bad)
            else:
                assert_as_numpy(quiet(np.abs(X), bad), divides(np.abs(X), bad))


# ---- arrays that lie on the device ----


def test_arrays_on_the_device(kind, monkeypatch):
    """Results lie there, wherever the graph runs."""
    gpu = frameloom.device(f"{kind}:0")

    def chain(a, b):
        return a * b + 1, a, b, a[1:], (a * b).max()

    for costs, side in ((FREE, "device"), (DEAR, "host")):
        monkeypatch.setattr(frameloom.config, "device_costs", costs)
        a, compiled = gpu.array(X), auto(chain)
        for _ in range(2):
            got = compiled(a, Y)
            wanted = chain(X, Y)
            assert isinstance(got[0], frameloom.DeviceArray) and got[1] is a and got[2] is Y and isinstance(got[3], frameloom.DeviceArray)
            for g, w in zip(got, wanted, strict=True):
                np.testing.assert_allclose(np.asarray(g), w, rtol=1e-5)
            assert type(got[4]) is np.float32
        assert where(compiled) == [side], why(compiled)
        with pytest.raises((ValueError, frameloom.GraphBreak), match="read-only"):
            auto(lambda a: a.__setitem__(0, 1))(a)


def test_what_lies_on_the_device_keeps_the_graph_there(monkeypatch):
    """The same work moves with its arguments: to copy these costs more than to run where they are."""
    monkeypatch.setattr(frameloom.config, "device_costs", "up=1e9 down=1e9 memory=1e12 operations=1e13 launch=1e-7 wait=1e-7 host=1e10")
    gpu = frameloom.device("cuda:0")
    a, compiled = np.ones((300, 300)), auto(lambda a: a * 2 + 1)
    assert type(compiled(a)) is np.ndarray and type(compiled(gpu.array(a))) is frameloom.DeviceArray
    assert where(compiled) == ["host", "device"]
    (_, there) = (p.estimate for p in compiled._placings.values())
    assert there.kept == a.nbytes and there.up == there.down == 0


def test_copies_of_kept_arrays_are_kept(monkeypatch):
    """Several calls on the host copy an array of the device once, unless others may write to it."""
    monkeypatch.setattr(frameloom.config, "device_costs", DEAR)
    gpu, compiled = frameloom.device("cuda:0"), auto(lambda a: a.sum())
    a = gpu.array(X)
    compiled(a)

    def copies():
        before = NULL["cuda"].loom_nullgpu_calls(b"cuMemcpyDtoHAsync_v2")
        compiled(a)
        return NULL["cuda"].loom_nullgpu_calls(b"cuMemcpyDtoHAsync_v2") - before

    assert copies() == 0
    assert a.__cuda_array_interface__["data"][0]
    assert copies() == 1 and copies() == 1
    gc.collect()
    count = len(_place._hosted)
    b = gpu.array(X)
    compiled(b)
    assert len(_place._hosted) == count + 1
    del b
    gc.collect()
    assert len(_place._hosted) == count


# ---- trials ----


@pytest.mark.parametrize("faster", ["host", "device"])
def test_a_trial_corrects_the_estimate(monkeypatch, faster):
    monkeypatch.setattr(frameloom.config, "leave_slower", True)
    now, took = [0.0], {"host": 1.0, "device": 1.0, faster: 0.25}
    monkeypatch.setattr(_place, "clock", lambda: now[0])
    for side, name in (("host", "_here"), ("device", "_there")):
        def timed(self, *arguments, inner=getattr(_place.AutoFunction, name), side=side):
            result = inner(self, *arguments)
            now[0] += took[side]
            return result

        monkeypatch.setattr(_place.AutoFunction, name, timed)
    compiled = auto(lambda a, b: a * b + 1)
    for _ in range(len(_place._TURNS)):
        assert_as_numpy(compiled(X, Y), X * Y + 1)
    assert where(compiled) == [faster] and why(compiled) == ["measured"]
    before = now[0]
    compiled(X, Y)
    assert now[0] - before == 0.25
    (placement,) = [p.placement() for p in compiled._placings.values()]
    assert placement.measured_host_s == took["host"] and placement.measured_device_s == took["device"]
    assert f"{'on the host' if faster == 'host' else 'on cuda:0'}: measured; " in str(placement)


def test_no_trial_where_the_host_is_clearly_faster(monkeypatch):
    monkeypatch.setattr(frameloom.config, "leave_slower", True)
    monkeypatch.setattr(frameloom.config, "device_costs", DEAR)
    compiled, before = auto(lambda a: a * 3), launches()
    for _ in range(8):
        compiled(X)
    assert launches() == before and where(compiled) == ["host"]


# ---- failures ----

CALLS = {
    "cuda": ["cuCtxPushCurrent_v2", "cuStreamSynchronize", "cuMemAllocAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemFreeAsync",
             "cuLinkAddData_v2", "cuLinkComplete", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernelEx"],
    "hip": ["hipSetDevice", "hipStreamSynchronize", "hipMallocAsync", "hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync", "hipFreeAsync", "hipModuleLoadData",
            "hipModuleGetFunction", "hipModuleLaunchKernel"],
}


@pytest.mark.parametrize("residence", ["host", "device"])
def test_each_call_of_the_driver_fails_once(kind, monkeypatch, recwarn, residence):
    """The call runs on the host, and the next one on the device again; nothing is lost."""
    monkeypatch.setenv("FRAMELOOM_CACHE", "0")
    null, gpu = NULL[kind], frameloom.device(f"{kind}:0")
    wanted, a = X * Y + 1, X if residence == "host" else gpu.array(X)
    auto(lambda a, b: a * b + 1)(a, Y)
    frameloom.reset()
    gc.collect()
    gpu.synchronize()
    before, failed = null.loom_nullgpu_live(b"memory"), 0
    for symbol in CALLS[kind]:
        for skip in range(40):
            frameloom.reset()
            compiled = auto(lambda a, b: a * b + 1)
            null.loom_nullgpu_fail(symbol.encode(), skip, 999)
            try:
                got = compiled(a, Y)
                came = null.loom_nullgpu_failed()
            except frameloom.DeviceError:  # without the device its arrays cannot be read or made
                assert residence == "device" and null.loom_nullgpu_failed()
                came, got = True, wanted
            null.loom_nullgpu_fail(b"", 0, 0)
            np.testing.assert_array_equal(np.asarray(got), wanted)
            np.testing.assert_array_equal(np.asarray(compiled(a, Y)), wanted)
            if not came:
                break
            failed += 1
    assert failed >= len(CALLS[kind]) - 1 and not recwarn.list
    del got, compiled
    frameloom.reset()
    gc.collect()
    gpu.synchronize()
    assert null.loom_nullgpu_live(b"memory") == before


def test_a_driver_that_fails_again_and_again(kind):
    null, compiled = NULL[kind], auto(lambda a, b: a * b - 1)
    compiled(X, Y)
    for _ in range(_place._FAILURES):
        null.loom_nullgpu_fail(LAUNCH[kind], 0, 999)
        assert_as_numpy(compiled(X, Y), X * Y - 1)
    null.loom_nullgpu_fail(b"", 0, 0)
    assert where(compiled) == ["host"] and "the device failed: " in why(compiled)[0] and "999" in why(compiled)[0]
    assert_as_numpy(compiled(X, Y), X * Y - 1)


PROGRAM = """
import numpy as np, warnings
import frameloom
warnings.simplefilter("error")
a = np.arange(2000, dtype=np.float32)
f = frameloom.compile(lambda a: a * 3 + 1, device="auto")
for _ in range(3):
    assert np.array_equal(f(a), a * 3 + 1)
print(frameloom.explain(f, a))
"""


@pytest.mark.parametrize("environment, text", [
    ({"FRAMELOOM_CUDA_DRIVER": "/nowhere/libcuda.so.1"}, "there is no device: CUDA: there is no driver: /nowhere/libcuda.so.1"),
    ({"NULLGPU_DEVICES": "0"}, "this machine has no NVIDIA GPU"),
    ({"NULLGPU_FAIL": "cuInit"}, "unknown error"),
])
def test_without_a_device(tmp_path, environment, text):
    environment = {**os.environ, "FRAMELOOM_CACHE_DIR": str(tmp_path), "FRAMELOOM_HIP_DRIVER": "/nowhere/libamdhip64.so", **environment}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "where it runs:\n  on the host: " in done.stdout and text in done.stdout


# ---- forms ----


def test_explain(kind, monkeypatch):
    compiled = auto(lambda a, b: a @ b.T)
    compiled(X, Y)
    explanation = frameloom.explain(compiled, X, Y)
    (placement, _) = explanation.placements
    assert placement.where == "device" and placement.device == f"{kind}:0" and placement.up == X.nbytes + Y.nbytes and placement.down == 64 * 64 * 4
    assert explanation.device_plans and explanation.graph_count == 1
    assert f"on {kind}:0: estimated (stated); estimated " in str(explanation) and "look for floating-point warnings" in str(explanation) and "24.6 kB to copy there, 16.4 kB back, 0 bytes lie there, 4 kernels" in str(explanation)
    assert '"placements"' in explanation.json()
    monkeypatch.setattr(frameloom.config, "device_costs", DEAR)
    explanation = frameloom.explain(auto(lambda a, b: a @ b.T), X, Y)
    assert explanation.placements[0].where == "host" and not explanation.device_plans and "dot_general" in explanation.graphs[0]


class Scale:
    def __init__(self, by):
        self.by = by

    @frameloom.compile(device="auto")
    def apply(self, a):
        return a * self.by


def test_methods_callees_and_settings(kind):
    for by in (2.0, np.arange(48, dtype=np.float32), 3.0):
        assert_as_numpy(Scale(by).apply(X), X * by)
    inner = auto(lambda a: a + 1)
    for outer in (frameloom.compile(lambda a: inner(a) * 2, fullgraph=True), auto(lambda a: inner(a) * 2)):
        assert_as_numpy(outer(X), (X + 1) * 2)
    assert where(outer) == ["device"]
    with frameloom.config.patch(device="auto"):
        there, here = frameloom.compile(lambda a: a - 1), frameloom.compile(lambda a: a - 1, device="host")
        assert isinstance(frameloom.compile(lambda a: a, backend="eager"), type(here))
    assert isinstance(there, _place.AutoFunction) and not isinstance(here, _place.AutoFunction)
    assert_as_numpy(there(X), X - 1)
    with frameloom.config.patch(device="gpu"), pytest.raises(ValueError, match="unknown config.device 'gpu'"):
        frameloom.compile(lambda a: a)
    with pytest.raises(ValueError, match="does not run on a device"):
        auto(lambda a: a, backend="eager")
    with pytest.raises(TypeError, match="expects a Python function"):
        auto(len)
    assert_as_numpy(functools.partial(there)(X), X - 1)
    assert_as_numpy(auto(functools.partial(lambda a, k: a * k, k=3))(X), X * 3)


class Tensor:
    """As torch's: they have a device of their own."""

    __module__ = "torch"

    def __mul__(self, other):
        return "product"

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("nobody is to ask")


def test_tensors_are_not_placed():
    compiled = auto(lambda a: a * 2)
    assert compiled(Tensor()) == "product" and compiled(Tensor()) == "product"
    assert where(compiled) == ["host"] and why(compiled) == ["tensors of torch are not placed"]


def by_name(a):
    return a + 1


by_name_there = by_name
by_name = frameloom.compile(by_name, device="auto")


def test_copies_and_pickles():
    """As compiled functions do."""
    assert copy.copy(by_name) is by_name and copy.deepcopy([by_name])[0] is by_name and pickle.loads(pickle.dumps(by_name)) is by_name
    assert str(inspect.signature(by_name)) == "(a)" and by_name.__wrapped__ is by_name_there
    there = frameloom.compile(by_name_there, device="cuda:0")
    assert copy.copy(there) is there


def test_plain_python(monkeypatch):
    compiled, before = auto(lambda a: a * 5), launches()
    with frameloom.config.patch(disable=True):
        assert_as_numpy(compiled(X), X * 5)
    with frameloom.set_stance("force_eager"):
        assert_as_numpy(compiled(X), X * 5)
    assert launches() == before
    assert_as_numpy(compiled(X), X * 5)
    assert launches() > before


def test_threads(kind):
    compiled, failures = auto(lambda a, b: a * b + 1), []

    def work(seed):
        a = np.full((64, 48), seed, np.float32)
        failures.extend(seed for _ in range(10) if not np.array_equal(compiled(a, a), a * a + 1))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
