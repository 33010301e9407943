"""Kernels of one op with a lowering of their own, alone: what `run-test` cannot see.

Bad indices are reported, and the bits do not depend on how the chunks are shared out.
"""

import numpy as np
import pytest

import kernel_harness as harness

pytestmark = pytest.mark.skipif(not harness.available(), reason="loom-opt or LLVM's tools are missing")
INDEX = 0x100


def scatter(tmp_path, target, indices, updates, axis, combine):
    out = np.empty_like(target)
    kinds = ", ".join(harness.tensor(a) for a in (target, indices, updates))
    body = (f'%0 = loom.scatter "{combine}" %a0, %a1, %a2 axis = {axis} : ({kinds}) -> {harness.tensor(target)}\n'
            "yield %0")
    text = harness.kernel("k", [target, indices, updates], body, [out], inplace=[0])
    return harness.Kernel(text, str(tmp_path / "k"))


@pytest.mark.parametrize("shape, axis", [((50,), 0), ((50, 300), 0), ((50, 9, 3), 0), ((20, 50, 2), 1)])
def test_scatter_in_any_division(tmp_path, shape, axis):
    rng = np.random.default_rng(0)
    n = 3_000_000 // max(1, int(np.prod(shape)) // 50)
    indices = rng.integers(-shape[axis], shape[axis], n)
    target = rng.standard_normal(shape).astype(np.float32)
    updates = rng.standard_normal(shape[:axis] + (n,) + shape[axis + 1:]).astype(np.float32)
    kernel = scatter(tmp_path, target, indices, updates, axis, "add")
    expected = target.copy()
    np.add.at(np.moveaxis(expected, axis, 0), indices, np.moveaxis(updates, axis, 0))
    for parts, reverse in ((1, False), (3, True)):
        out = target.copy()
        assert kernel.run([out, indices, updates], [out], parts=parts, reverse=reverse) == 0
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("bad", [7, -8, 2**62, -2**63])
def test_scatter_reports_bad_indices(tmp_path, bad):
    target, updates = np.arange(7.0), np.array([10.0, 20.0, 30.0])
    indices = np.array([-7, bad, 6])
    kernel = scatter(tmp_path, target, indices, updates, 0, "set")
    assert kernel.run([target, indices, updates], [target]) == INDEX
    np.testing.assert_array_equal(target, [10, 1, 2, 3, 4, 5, 30])


@pytest.mark.parametrize("cpu, options", [("x86-64-v3", ""), ("x86-64-v4", "loom.vector = 64 : i64")])
def test_random_convolutions(tmp_path, cpu, options):
    """Every form of a convolution against a sum over the window, the chunks shared out in both orders."""
    if cpu == "x86-64-v4" and "avx512f" not in open("/proc/cpuinfo").read():
        pytest.skip("no AVX-512")
    rng = np.random.default_rng(1)
    for case in range(12):
        spatial, groups = int(rng.integers(1, 3)), int(rng.choice([1, 1, 2, 5]))
        n, outs, ins = int(rng.integers(1, 4)), groups * int(rng.integers(1, 20)), groups * int(rng.integers(1, 6))
        window, stride, dilation = (rng.integers(1, high, spatial) for high in (5, 4, 3))
        padding = rng.integers(0, 3, (spatial, 2))
        size = dilation * (window - 1) + 1 + rng.integers(0, 20, spatial)
        x = rng.standard_normal((n, ins, *size)).astype(np.float32)
        w = rng.standard_normal((outs, ins // groups, *window)).astype(np.float32)
        padded = np.pad(x.astype(float), [(0, 0), (0, 0), *map(tuple, padding)])
        out = (np.array(padded.shape[2:]) - dilation * (window - 1) - 1) // stride + 1
        expected = np.zeros((n, outs, *out))
        for place in np.ndindex(*window):
            view = padded[(slice(None), slice(None), *(
                slice(k * d, k * d + (o - 1) * s + 1, s) for k, d, o, s in zip(place, dilation, out, stride)))]
            view = view.reshape(n, groups, ins // groups, *out)
            weights = w[(slice(None), slice(None), *place)].reshape(groups, outs // groups, ins // groups)
            expected += np.einsum("ngi...,goi->ngo...", view, weights).reshape(expected.shape)
        result = np.empty(expected.shape, np.float32)
        kinds = ", ".join(harness.tensor(a) for a in (x, w))
        listed = lambda a: "[" + ", ".join(map(str, np.ravel(a))) + "]"
        body = (f"%0 = loom.convolution %a0, %a1 strides = {listed(stride)} padding = {listed(padding)} "
                f"dilation = {listed(dilation)} groups = {groups} : ({kinds}) -> {harness.tensor(result)}\nyield %0")
        kernel = harness.Kernel(harness.kernel("k", [x, w], body, [result]), str(tmp_path / f"k{case}"), cpu, options)
        assert kernel.run([x, w], [result]) == 0
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
        again = np.empty_like(result)
        kernel.run([x, w], [again], parts=3, reverse=True)
        np.testing.assert_array_equal(again, result)
