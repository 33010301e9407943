"""Calls of functions on a device that are like an earlier one (frontend/device/caller.c), on the driver of the tests: they pass through no Python."""

import gc
import os
import pathlib
import weakref

import numpy as np
import pytest

import frameloom

DRIVER = pathlib.Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve() / "lib" / "libnullcuda.so"
if not DRIVER.exists():
    pytest.skip(f"{DRIVER} is not built", allow_module_level=True)
os.environ["FRAMELOOM_CUDA_DRIVER"] = str(DRIVER)
RNG = np.random.default_rng(52)


@pytest.fixture(scope="module")
def gpu():
    return frameloom.device("cuda:0")


@pytest.fixture
def long_ways(monkeypatch):
    """Calls that were made in Python."""
    calls, whole = [], frameloom._device.DeviceFunction._call

    def counted(self, *args, **kwargs):
        calls.append(args)
        return whole(self, *args, **kwargs)

    monkeypatch.setattr(frameloom._device.DeviceFunction, "_call", counted)
    return calls


def on_host(thing):
    if type(thing) in (tuple, list):
        return type(thing)(map(on_host, thing))
    return np.asarray(thing) if isinstance(thing, frameloom.DeviceArray) else thing


def test_calls_like_an_earlier_one(gpu, long_ways):
    """The same arrays or others of the same layout, in the same places; results that are arguments, views of them, and numbers."""
    def several(a, b, k, word):
        return a * b + k, [a, b[1:]], word, a.shape, (a - b).max()

    x, y = RNG.standard_normal((2, 6, 5))
    compiled = frameloom.compile(several, device=gpu)
    a, b, c = gpu.array(x), gpu.array(y), gpu.array(x + 1)
    for first, second, h, i in ((a, b, x, y), (b, a, y, x), (a, c, x, x + 1), (a, a, x, x), (c, c, x + 1, x + 1)):
        for k in (0.5, -2.0):
            got, wanted = compiled(first, second, k, "one"), several(h, i, k, "one")
            assert got[1][0] is first and got[2:4] == wanted[2:4] and type(got[4]) is type(wanted[4]) and got[4] == wanted[4]
            np.testing.assert_allclose(on_host(got[0]), wanted[0])
            np.testing.assert_array_equal(on_host(got[1][1]), wanted[1][1])
    assert len(long_ways) == 2, "two different arrays, and the same one twice"
    for k, word, times in ((1, "one", 3), (2, "one", 4), (1, "one", 4), (True, "one", 5), (1, None, 6), (1, "one", 6)):
        np.testing.assert_allclose(on_host(compiled(a, b, k, word)[0]), x * y + k)
        assert len(long_ways) == times, (k, word)


def test_other_calls_are_made_in_python(gpu, long_ways):
    x = RNG.standard_normal((4, 4))
    compiled = frameloom.compile(lambda *args, scale=2: sum(args[1:], args[0]) * scale, device=gpu)
    a = gpu.array(x)
    for _ in range(2):  # of the host, by name, too many, and of other layouts
        for args, names in (((x, x), {}), ((a, a), {"scale": 3}), ((a,) * 20, {})):
            np.testing.assert_allclose(on_host(compiled(*args, **names)), x * len(args) * names.get("scale", 2))
    assert len(long_ways) == 6
    views = frameloom.compile(lambda a: (a.T, a[::2], a[:, 1:]), device=gpu)(a)
    del long_ways[:]
    for _ in range(3):
        for view, host in zip(views, (x.T, x[::2], x[:, 1:]), strict=True):
            np.testing.assert_allclose(on_host(compiled(view)), host * 2)
    assert len(long_ways) == 3


def test_more_patterns_than_are_known(gpu):
    compiled = frameloom.compile(lambda a: (a * 2, a[:0]), device=gpu)
    for _ in range(2):
        for n in range(14):
            h = RNG.standard_normal(n)
            got = compiled(gpu.array(h))
            np.testing.assert_array_equal(on_host(got[0]), h * 2)
            assert got[1].shape == (0,)


def test_what_the_function_reads_is_compared(gpu, long_ways):
    by = {"k": 2.0}
    compiled = frameloom.compile(lambda a: a * by["k"], device=gpu)
    a = gpu.array(np.ones(5))
    for k in (2.0, 2.0, 3.0, 3.0, np.arange(5.0), 4.0):
        by["k"] = k
        np.testing.assert_array_equal(on_host(compiled(a)), np.ones(5) * k)
    assert len(long_ways) == 1
    with frameloom.config.patch(disable=True), pytest.raises(frameloom.DeviceError, match="cannot be run as plain Python"):
        compiled(a)
    with pytest.raises(TypeError, match="positional argument"):
        compiled(a, a)


def test_functions_go_with_what_they_know(gpu):
    a = gpu.array(np.ones(5))

    def made():
        compiled = frameloom.compile(lambda a: a + 1, device=gpu)
        for _ in range(3):
            result = compiled(a)
        return weakref.ref(compiled), result

    gone, result = made()
    frameloom.reset()
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(on_host(result), np.ones(5) + 1)


class Foreign:
    """Another library's array, which has the memory of one of ours."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__
        self.array = array


def test_views_of_other_libraries_arrays_are_given_to_others(gpu):
    """Their memory is the other library's to keep, and the view keeps the array."""
    x = RNG.standard_normal((6, 5))
    foreign = Foreign(gpu.array(x))
    view = frameloom.compile(lambda a: a[1:], device=gpu)(foreign)
    assert view.__cuda_array_interface__["shape"] == (5, 5)
    assert view.__dlpack__() is not None
    gone = weakref.ref(foreign)
    del foreign
    assert gone() is not None
    np.testing.assert_array_equal(on_host(view), x[1:])
