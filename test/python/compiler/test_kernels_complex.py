"""Complex numbers in compiled programs: parts are computed as floats, memory holds pairs."""

import subprocess

from cpus import KINDS
import kernel_harness as kh
import numpy as np
import pytest
from kernel_harness import tensor_type as tensor

pytestmark = pytest.mark.skipif(not kh.available(), reason="needs loom-opt and LLVM's tools")


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1,), (13,), (37, 5), (40, 64)])
def test_arithmetic(tmp_path, dtype, shape, cpu):
    x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
    t, real, truth = tensor(shape, dtype), tensor(shape, x.real.dtype), tensor(shape, "bool")
    y.flat[0] = x.flat[0]
    body = f"""%0 = loom.mul %a0, %a1 : {t}
    %1 = loom.div %a0, %a1 : {t}
    %2 = loom.sub %1, %0 : {t}
    %3 = loom.imag %2 : ({t}) -> {real}
    %4 = loom.compare "eq" %a0, %a1 : ({t}, {t}) -> {truth}
    %5 = loom.neg %a0 : {t}
    return %0, %1, %3, %4, %5"""
    out = kh.run_program(tmp_path, body, [x, y], [np.empty(shape, d) for d in (dtype, dtype, x.real.dtype, bool, dtype)], cpu)
    # NumPy's own products are fused or not, depending on the machine.
    near = lambda got, want, size: np.all(np.abs(got - want) <= 8 * np.finfo(dtype).eps * size)
    assert near(out[0], x * y, np.abs(x) * np.abs(y))
    assert near(out[1], x / y, np.abs(x / y))
    assert near(out[2], (x / y - x * y).imag, np.abs(x / y) + np.abs(x * y))
    np.testing.assert_array_equal(out[3], x == y)
    np.testing.assert_array_equal(out[4], -x)


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_moving(tmp_path, dtype, cpu):
    """Reversed, strided, transposed, broadcast and joined elements."""
    x = numbers((21, 19), dtype)
    t, part, turned = tensor((21, 19), dtype), tensor((21, 10), dtype), tensor((19, 21), dtype)
    body = f"""%0 = loom.slice %a0 starts = [20, 18] sizes = [21, 19] steps = [-1, -1] : ({t}) -> {t}
    %1 = loom.slice %a0 starts = [0, 0] sizes = [21, 10] steps = [1, 2] : ({t}) -> {part}
    %2 = loom.transpose %a0 perm = [1, 0] : ({t}) -> {turned}
    %3 = loom.slice %a0 starts = [3, 0] sizes = [1, 19] steps = [1, 1] : ({t}) -> {tensor((1, 19), dtype)}
    %4 = loom.broadcast %3 dims = [0, 1] : ({tensor((1, 19), dtype)}) -> {t}
    %5 = loom.concatenate %4, %1 axis = 1 : ({t}, {part}) -> {tensor((21, 29), dtype)}
    return %0, %1, %2, %5"""
    outs = [np.empty(s, dtype) for s in ((21, 19), (21, 10), (19, 21), (21, 29))]
    out = kh.run_program(tmp_path, body, [x], outs, cpu)
    np.testing.assert_array_equal(out[0], x[::-1, ::-1])
    np.testing.assert_array_equal(out[1], x[:, ::2])
    np.testing.assert_array_equal(out[2], x.T)
    np.testing.assert_array_equal(out[3], np.concatenate([np.broadcast_to(x[3], (21, 19)), x[:, ::2]], axis=1))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sums_and_products(tmp_path, dtype):
    x, y = numbers((30, 50), dtype), numbers((50, 20), dtype, 1)
    tx, ty = tensor(x.shape, dtype), tensor(y.shape, dtype)
    body = f"""%0 = loom.reduce "sum" %a0 axes = [1] : ({tx}) -> {tensor((30,), dtype)}
    %1 = loom.reduce "sum" %a0 axes = [0] : ({tx}) -> {tensor((50,), dtype)}
    %2 = loom.dot_general %a0, %a1 batch = [] x [] contract = [1] x [0] : ({tx}, {ty}) -> {tensor((30, 20), dtype)}
    %3 = loom.scan "sum" %a0 axis = 1 : {tx}
    return %0, %1, %2, %3"""
    outs = [np.empty(s, dtype) for s in ((30,), (50,), (30, 20), (30, 50))]
    out = kh.run_program(tmp_path, body, [x, y], outs, "x86-64-v3")
    limit = 100 * np.finfo(dtype).eps
    for got, want in zip(out, (x.sum(axis=1), x.sum(axis=0), x @ y, np.cumsum(x, axis=1))):
        np.testing.assert_allclose(got, want, rtol=limit, atol=limit)


def test_what_has_no_parts_is_diagnosed(tmp_path):
    source = tmp_path / "bad.mlir"
    source.write_text("func.func @p(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {\n"
                      "  %0 = loom.log %a : tensor<4xcomplex<f32>>\n  return %0 : tensor<4xcomplex<f32>>\n}\n")
    done = subprocess.run([kh.COMPILE, str(source), "-o", str(tmp_path / "o")], capture_output=True, text=True)
    assert done.returncode == 1 and "'loom.log' of complex numbers has no code" in done.stderr
