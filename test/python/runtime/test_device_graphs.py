"""Launches of a call as one graph of the driver (config.cudagraphs), on the drivers of the tests: they launch a graph's nodes in the most
unexpected order that the nodes' dependencies allow (test/runtime/nullgpu_graph.c)."""

import ctypes
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import frameloom

LIBRARIES = pathlib.Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve() / "lib"
DRIVERS = {"cuda": "FRAMELOOM_CUDA_DRIVER", "hip": "FRAMELOOM_HIP_DRIVER"}
LAUNCH = {"cuda": b"cuLaunchKernelEx", "hip": b"hipModuleLaunchKernel"}
GRAPH = {"cuda": b"cuGraphLaunch", "hip": b"hipGraphLaunch"}
if not (LIBRARIES / "libnullcuda.so").exists():
    pytest.skip(f"{LIBRARIES} has no drivers", allow_module_level=True)
for kind, variable in DRIVERS.items():
    os.environ[variable] = str(LIBRARIES / f"libnull{kind}.so")
RNG = np.random.default_rng(11)


class Gpu:
    """A device, and what its driver counts."""

    def __init__(self, kind):
        self.device = frameloom.device(kind)
        self.null = ctypes.CDLL(os.environ[DRIVERS[kind]])
        self.null.loom_nullgpu_calls.restype = self.null.loom_nullgpu_live.restype = ctypes.c_long
        self.names = LAUNCH[kind], GRAPH[kind]

    def count(self):
        """Launches and graphs so far."""
        return tuple(self.null.loom_nullgpu_calls(name) for name in self.names)

    def live(self):
        self.device.synchronize()
        return [self.null.loom_nullgpu_live(kind) for kind in (b"memory", b"module", b"graph", b"exec")]


@pytest.fixture(scope="module", params=["cuda", "hip"])
def gpu(request):
    return Gpu(request.param)


@pytest.fixture(autouse=True)
def use_graphs():
    with frameloom.config.patch(cudagraphs=True):
        yield


def softmax(a, b):
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) + b


def chained(a, b):
    c = np.cumsum(a, axis=0) @ b.T
    return c, np.maximum(c, 0).sum(axis=1), (c * 2).sum()


def sorted_pieces(a, b):
    return np.concatenate([np.where(a > 0, a, b), b]), a.argmax(axis=1), np.repeat(b, 2, axis=0) + 1


def picked(a, b):
    return (a @ b.T)[b.argmax(axis=0)], b.mean(axis=0)


def centred(a, b):
    a = a - a.mean(axis=0)
    return (a * a).mean(axis=0), a @ b.T, b.std()


FUNCTIONS = [softmax, chained, sorted_pieces, picked, centred]


def assert_alike(got, wanted):
    for one, other in zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]:
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5, atol=1e-5 * max(1, np.abs(other).max()))


def floats_of(shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_other_arrays_and_numbers_each_time(gpu, function):
    """Arrays and results lie elsewhere each time; two sets of sizes by turns, each with a graph of its own."""
    compiled = frameloom.compile(function, device=gpu.device)
    kept = []
    for call in range(8):
        a, b = floats_of((40, 300) if call % 2 else (17, 5)), floats_of((40, 300) if call % 2 else (17, 5))
        kept.append((compiled(gpu.device.array(a), gpu.device.array(b)), function(a, b)))
    for got, wanted in kept:
        assert_alike(got, wanted)


def test_one_graph_from_the_second_call_on(gpu):
    compiled = frameloom.compile(chained, device=gpu.device)
    a = gpu.device.array(floats_of((40, 300)))
    start = gpu.count()
    compiled(a, a)
    first = gpu.count()
    assert first[0] > start[0] + 1 and first[1] == start[1]
    for call in range(3):
        compiled(a, a)
        assert gpu.count() == (first[0], first[1] + call + 1)
    with frameloom.config.patch(cudagraphs=False):
        compiled(a, a)
    assert gpu.count() == (first[0] + first[0] - start[0], first[1] + 3)


def apart(a, b):
    c = np.cumsum(a, axis=0) @ b.T
    return b.max(axis=1), a.sum(axis=0), c.max(axis=0)


def in_a_row(a, b):
    return np.cumsum(np.cumsum(np.cumsum(a, axis=0) @ b.T, axis=1), axis=0)


@pytest.mark.parametrize("function, wide", [(apart, True), (in_a_row, False)], ids=["apart", "in a row"])
def test_what_does_not_depend_on_each_other_may_overlap(gpu, function, wide):
    """The driver of the tests takes such steps in another order than the plan's."""
    compiled = frameloom.compile(function, device=gpu.device)
    for _ in range(4):
        a, b = floats_of((40, 300)), floats_of((40, 300))
        assert_alike(compiled(gpu.device.array(a), gpu.device.array(b)), function(a, b))
    plan = frameloom.explain(compiled, gpu.device.array(a), gpu.device.array(b)).device_plans[-1]
    steps = plan.launches + plan.copies
    assert plan.graph == "used" and plan.pieces == 1 and (plan.depth < steps if wide else plan.depth == steps)


def test_pieces_between_what_the_host_does(gpu):
    """A loop of many iterations is the host's; the steps before and behind it are a graph each."""

    def looped(a, b):
        c = np.cumsum(a, axis=0) @ b.T
        for _ in range(40):
            c = np.sin(c) + 1
        return np.cumsum(c, axis=1).sum(axis=0), c.max(axis=1)

    compiled = frameloom.compile(looped, device=gpu.device)
    start = gpu.count()[1]
    for _ in range(4):
        a, b = floats_of((40, 300)), floats_of((40, 300))
        assert_alike(compiled(gpu.device.array(a), gpu.device.array(b)), looped(a, b))
    plan = frameloom.explain(compiled, gpu.device.array(a), gpu.device.array(b)).device_plans[-1]
    assert plan.graph == "used" and plan.pieces == 2 and gpu.count()[1] == start + 6


def test_numbers_change(gpu):
    compiled = frameloom.compile(lambda a, s: ((a * s).sum(axis=0), a.sum(axis=1) - s), device=gpu.device)
    a = floats_of((40, 300))
    on_device = gpu.device.array(a)
    for s in (1.5, 2.5, 2.5, -3.0, 0.0):
        assert_alike(compiled(on_device, s), ((a * np.float32(s)).sum(axis=0), a.sum(axis=1) - np.float32(s)))


def test_errors_of_kernels_are_raised(gpu):
    compiled = frameloom.compile(lambda a, i: (a[i] + 1, a.sum(axis=0)), device=gpu.device)
    a = floats_of((40, 30))
    good, bad = np.array([1, 2, 39]), np.array([1, 2, 40])
    for index in (good, good, bad, good, bad):
        if index is bad:
            with pytest.raises(IndexError):
                np.asarray(compiled(gpu.device.array(a), gpu.device.array(index))[0])
        else:
            assert_alike(compiled(gpu.device.array(a), gpu.device.array(index)), (a[index] + 1, a.sum(axis=0)))


def test_all_is_given_back(gpu):
    frameloom.reset()
    before = gpu.live()
    compiled = frameloom.compile(chained, device=gpu.device)
    for _ in range(3):
        compiled(gpu.device.array(floats_of((8, 300))), gpu.device.array(floats_of((8, 300))))
    assert gpu.live()[2:] == [before[2] + 1, before[3] + 1]
    del compiled
    frameloom.reset()
    assert gpu.live() == before


def test_threads(gpu):
    """The graph is one thread's while it is changed and launched."""
    compiled = frameloom.compile(centred, device=gpu.device)
    inputs = [(floats_of((20, 300)), floats_of((20, 300))) for _ in range(4)]
    wrong = []

    def work(a, b):
        for _ in range(10):
            try:
                assert_alike(compiled(gpu.device.array(a), gpu.device.array(b)), centred(a, b))
            except BaseException as error:  # noqa: BLE001
                wrong.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_explain_says_so(gpu):
    compiled = frameloom.compile(chained, device=gpu.device)
    a = gpu.device.array(floats_of((40, 300)))
    plans = frameloom.explain(compiled, a, a).device_plans
    assert [plan.graph for plan in plans] == ["waits"]
    for _ in range(3):
        compiled(a, a)
    explanation = frameloom.explain(compiled, a, a)
    fresh, used = explanation.device_plans
    assert fresh.graph == "waits" and used.graph == "used" and used.replays == 2 and used.launches == fresh.launches > 1
    assert fresh.device == gpu.device.name and explanation.graph_count == 1 and explanation.op_count > 2
    assert f"one graph of the driver ({used.depth} steps deep), 2 calls of it" in str(explanation) and '"replays": 2' in explanation.json()
    with frameloom.config.patch(cudagraphs=False):
        assert "ordered one by one (cudagraphs is off)" in str(frameloom.explain(compiled, a, a))
    single = frameloom.explain(frameloom.compile(lambda a: a + 1, device=gpu.device), a)
    assert single.device_plans[0].graph == "single"


REFUSED = """
import os, sys, warnings
import numpy as np
import frameloom
gpu = frameloom.device(sys.argv[1])
compiled = frameloom.compile(lambda a: (a.sum(axis=0), a.sum(axis=1)), device=gpu)
a = np.arange(12000, dtype=np.float32).reshape(40, 300)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for _ in range(4):
        got = compiled(gpu.array(a))
        assert all(np.allclose(np.asarray(g), w) for g, w in zip(got, (a.sum(axis=0), a.sum(axis=1))))
(text,) = [str(t.message) for t in told if "graph" in str(t.message)]
assert "a graph of launches on " + gpu.name + " is not possible: unknown error" in text and "one by one" in text, text
assert frameloom.explain(compiled, gpu.array(a)).device_plans[-1].graph == "failed"
"""


@pytest.mark.parametrize("symbol", ["cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags", "cuGraphLaunch", "hipGraphExecKernelNodeSetParams"])
def test_a_refused_graph_is_told_once(symbol):
    environment = dict(os.environ, NULLGPU_FAIL=symbol, FRAMELOOM_CUDAGRAPHS="1")
    done = subprocess.run([sys.executable, "-c", REFUSED, "hip" if symbol.startswith("hip") else "cuda"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
