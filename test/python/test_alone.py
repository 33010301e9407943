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
