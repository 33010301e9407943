"""Loops that are captured once, and branches of the graph, on the drivers of the tests: the host runs them, and waits for conditions alone."""

import ctypes
import gc
import os
import pathlib
import signal
import threading

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
    library.loom_nullgpu_failed.restype = ctypes.c_bool
WAITS = {"cuda": b"cuStreamSynchronize", "hip": b"hipStreamSynchronize"}
RNG = np.random.default_rng(31)


@pytest.fixture(scope="module", params=["cuda", "hip"])
def gpu(request):
    return frameloom.device(request.param)


@pytest.fixture(autouse=True)
def capture():
    with frameloom.config.patch(capture_data_dependent=True):
        yield


def waits(gpu):
    return NULL[gpu.name[:-2]].loom_nullgpu_calls(WAITS[gpu.name[:-2]])


def memory_in_use(gpu):
    gpu.synchronize()
    return NULL[gpu.name[:-2]].loom_nullgpu_live(b"memory")


def counts(x):
    for i in range(100):
        x = x * 0.5 + i
    return x


def counts_an_odd_number(x):
    for i in range(37):
        x = np.sqrt(np.abs(x)) - i
    return x


def swaps(x):
    a, b, c = x, x + 1, x[0]
    for _ in range(41):
        a, b, c = b + c, a * 0.5, a[1]
    return a, b, c


def hands_on(x):
    """What was a carried value before becomes another; two values that are one result."""
    a, b, c, d = x, x * 2, x - 1, x
    for _ in range(33):
        a, b, c, d = b, c, a * 0.9 + 1, a
        c = c - d * 0.1
    return a, b, c, d


def nested(x):
    t = x * 0
    for i in range(20):
        for j in range(25):
            t = t * 0.9 + i * j * x
        t = t - t.mean(axis=0)
    return t


def picks(x):
    for i in range(30):
        x = x + x[i % 3] * 0.01
    return x, x[::2]


def rows(x):
    t = np.zeros(4)
    for i in range(x.shape[0]):
        t = t + x[i, :4]
    return t


def parts(x):
    """Sizes that depend on the index."""
    t = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        t[i] = x[:i, 0].sum() + x[i - 1, 1]
    return t


def many_stages(x):
    for _ in range(20):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        x = e / e.sum(axis=1, keepdims=True) + x.mean(axis=0)
    return x


def halves(x):
    n = 0
    while (x > 1).any():
        x = x * 0.5
        n += 1
    return x, n


def chooses(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x * 2
    return y, y[:1]


def chooses_within(x):
    n = 0
    y = x
    while np.abs(y).sum() < 1000:
        if (y > 3).any():
            y = y + 10
        else:
            y = y * 2
        n += 1
    return y, n


COUNTED = [counts, counts_an_odd_number, swaps, hands_on, nested, picks, rows, parts, many_stages]
ASKED = [halves, chooses, chooses_within]


def assert_alike(got, wanted):
    for one, other in zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]:
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("function", COUNTED + ASKED, ids=lambda f: f.__name__)
def test_as_numpy(gpu, function):
    """Where counts are known, nobody waits before a result is read."""
    memory = memory_in_use(gpu)
    compiled = frameloom.compile(function, device=gpu)
    for sign in (1, -1, 1):
        x = sign * (RNG.standard_normal((50, 6)) + 1)
        wanted = function(x.copy())
        gc.collect()  # plans that end wait, too
        before = waits(gpu)
        got = compiled(gpu.array(x))
        assert function in ASKED or waits(gpu) == before
        assert_alike(got, wanted)
    del got
    assert memory_in_use(gpu) == memory


def test_graphs_are_for_what_lies_between_loops(gpu):
    with frameloom.config.patch(cudagraphs=True):
        compiled = frameloom.compile(many_stages, device=gpu)
        for _ in range(3):
            x = RNG.standard_normal((20, 6))
            assert_alike(compiled(gpu.array(x)), many_stages(x))
        explanation = frameloom.explain(compiled, gpu.array(x))
    assert [plan.graph for plan in explanation.device_plans] == ["waits", "used"]


def test_an_error_ends_a_loop(gpu):
    """What kernels compute behind an index out of bounds may keep a condition true."""
    def walks(x, at):
        n = 0
        while at[0] >= 0:
            at = x[at]
            n += 1
        return at, n

    compiled = frameloom.compile(walks, device=gpu)
    steps = np.array([1, 2, 3, -1])
    assert_alike(compiled(gpu.array(steps), gpu.array(np.array([0]))), walks(steps, np.array([0])))
    steps[3] = 4
    with pytest.raises((IndexError, frameloom.DeviceError), match="index"):
        compiled(gpu.array(steps), gpu.array(np.array([0])))


def test_an_endless_loop_is_interrupted(gpu):
    def grows(x, by):
        while (x < 2).any():
            x = x * by
        return x

    compiled = frameloom.compile(grows, device=gpu)
    compiled(gpu.array(np.ones(3)), gpu.array(np.full(1, 1.5)))
    memory = memory_in_use(gpu)
    x, by = gpu.array(np.ones(3)), gpu.array(np.full(1, 0.5))
    before = waits(gpu)

    def interrupt():
        while waits(gpu) < before + 50:  # it has asked for its condition so often
            pass
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell ignores it
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            compiled(x, by)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, handler)
    del x, by
    assert memory_in_use(gpu) == memory


CALLS = {"cuda": ["cuMemAllocAsync", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD32Async", "cuLaunchKernelEx", "cuMemFreeAsync",
                  "cuStreamSynchronize", "cuModuleGetFunction"],
         "hip": ["hipMallocAsync", "hipMemcpyDtoHAsync", "hipMemcpyDtoDAsync", "hipMemsetD32Async", "hipModuleLaunchKernel", "hipFreeAsync",
                 "hipStreamSynchronize", "hipModuleGetFunction"]}


@pytest.mark.parametrize("call", range(8))
def test_each_call_of_the_driver_fails_once(gpu, call):
    def both(x):
        for _ in range(17):
            x, y = x * 0.5, x
        while (x > 0.5).any():
            if x.sum() > 1:
                x = x * 0.5 + y * 0.01
            else:
                x = x - 1
        return x, y

    kind = gpu.name[:-2]
    x = RNG.random((4, 3)) * 2e5
    wanted = both(x)
    frameloom.compile(both, device=gpu)(gpu.array(x))
    frameloom.reset()
    memory = memory_in_use(gpu)
    failures = 0
    for skip in range(60):
        NULL[kind].loom_nullgpu_fail(CALLS[kind][call].encode(), skip, 999)
        try:
            compiled = frameloom.compile(both, device=gpu)
            assert_alike(compiled(gpu.array(x)), wanted)
        except frameloom.DeviceError as error:
            assert "unknown error" in str(error)
            failures += 1
        came = NULL[kind].loom_nullgpu_failed()
        NULL[kind].loom_nullgpu_fail(b"", 0, 0)
        compiled = None
        frameloom.reset()
        assert memory_in_use(gpu) == memory
        if not came:
            break
    assert failures or "Free" in CALLS[kind][call]
