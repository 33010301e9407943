"""Sizes that change, on the drivers of the tests: a version for each set of sizes, then one of symbolic sizes for all others."""

import ctypes
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
LOADED = {"cuda": b"cuModuleLoadData", "hip": b"hipModuleLoadData"}
NULL = {kind: ctypes.CDLL(str(LIBRARIES / f"libnull{kind}.so")) for kind in ("cuda", "hip")}
for library in NULL.values():
    library.loom_nullgpu_calls.restype = ctypes.c_long
    library.loom_nullgpu_failed.restype = ctypes.c_bool
SIZES = [(50, 6), (7, 9), (33, 64), (20, 31), (3, 3), (100, 40), (2, 5), (9, 8), (1, 6), (13, 14), (5, 1), (300, 2), (64, 1030), (1, 1), (65, 33)]
LIMIT = 8  # config.recompile_limit


@pytest.fixture(scope="module", params=["cuda", "hip"])
def gpu(request):
    return frameloom.device(request.param)


def loaded(gpu):
    return NULL[gpu.name[:-2]].loom_nullgpu_calls(LOADED[gpu.name[:-2]])


def elementwise(x, y):
    return x * y + 1, np.where(x > y, x, y)


def reductions(x, y):
    return (x * y).sum(axis=0), x.sum(), x.mean(axis=1), y.max(axis=0), x.argmax(axis=1)


def product(x, y):
    return x @ y.T, np.concatenate([x, y])


def softmax(x, y):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) + y


def loop(x, y):
    for i in range(x.shape[0]):
        y = y * 0.5 + x[i]
    return y


def scan(x, y):
    return np.cumsum(x, axis=0), np.zeros(x.shape) + x.shape[0], y[0]


def views(x, y):
    return x.reshape(-1) + 1, np.repeat(x, 2, axis=0), np.tile(x, 2), x[::-1, 1:], x.shape[0], y.T


FUNCTIONS = [elementwise, reductions, product, softmax, loop, scan, views]


def assert_alike(got, wanted):
    for one, other in zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]:
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dynamic", [True, None, False])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_numpy(gpu, function, dynamic):
    compiled = frameloom.compile(function, device=gpu, dynamic=dynamic)
    rng = np.random.default_rng(41)
    for sizes in SIZES + SIZES[::-1]:
        x, y = rng.standard_normal((2, *sizes))
        assert_alike(compiled(gpu.array(x), gpu.array(y)), function(x.copy(), y.copy()))
    assert len(compiled._versions) == {True: 0, None: LIMIT, False: len(SIZES)}[dynamic]


def test_one_version_for_all(gpu):
    """Of sizes of two and more: those of one and none are others. Numbers that change are symbols, too."""
    compiled = frameloom.compile(lambda x, n: x * n + x.shape[0], device=gpu, dynamic=True)
    x = np.arange(12.0)
    compiled(gpu.array(x), 2)
    before = loaded(gpu)
    for length in (2, 3, 1000, 7):
        for n in (2, 5, 11):
            x = np.arange(float(length))
            np.testing.assert_array_equal(np.asarray(compiled(gpu.array(x), n)), x * n + length)
    assert loaded(gpu) == before


@pytest.mark.parametrize("dynamic", [True, None])
def test_graphs(gpu, dynamic):
    """Steps of another size are changed like those of other addresses."""
    compiled = frameloom.compile(softmax, device=gpu, dynamic=dynamic)
    rng = np.random.default_rng(42)
    with frameloom.config.patch(cudagraphs=True):
        for sizes in SIZES + SIZES:
            x, y = rng.standard_normal((2, *sizes))
            assert_alike(compiled(gpu.array(x), gpu.array(y)), softmax(x, y))


def test_layouts_that_are_not_plain(gpu):
    compiled = frameloom.compile(lambda x, y: x + y * 2, device=gpu, dynamic=True)
    rng = np.random.default_rng(43)
    turned = frameloom.compile(lambda x: x.T, device=gpu, dynamic=True)
    for sizes in SIZES[:10]:
        x, y = rng.standard_normal(sizes), rng.standard_normal(sizes[::-1])
        assert_alike(compiled(gpu.array(x), turned(gpu.array(y))), x + y.T * 2)


def test_code_that_symbolic_sizes_do_not_have(gpu):
    """Such sizes have a version of their own."""
    kind = gpu.name[:-2]
    compiled = frameloom.compile(elementwise, device=gpu)
    for sizes in SIZES[:LIMIT]:
        compiled(gpu.array(np.ones(sizes)), gpu.array(np.ones(sizes)))
    NULL[kind].loom_nullgpu_fail(f"{'cu' if kind == 'cuda' else 'hip'}ModuleGetFunction".encode(), 0, 999)
    x = np.full((41, 42), 2.0)
    assert_alike(compiled(gpu.array(x), gpu.array(x)), elementwise(x, x))
    assert NULL[kind].loom_nullgpu_failed() and len(compiled._versions) == LIMIT + 1
    NULL[kind].loom_nullgpu_fail(b"", 0, 0)
