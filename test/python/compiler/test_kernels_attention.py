"""The ops loom.attention and loom.attention_gradient as compiled programs: heads of k and v that are shared."""


from cpus import KINDS
import kernel_harness as kh
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not kh.available(), reason="needs loom-opt and LLVM's tools")


def run_op(tmp_path, op, attributes, inputs, outputs, cpu):
    """Compiles one op on all inputs; fills the outputs."""
    types, given = (", ".join(map(kh.tensor, arrays)) for arrays in (outputs, inputs))
    names, operands = (", ".join(f"%{letter}{i}" for i in range(len(arrays))) for letter, arrays in (("r", outputs), ("a", inputs)))
    body = f"  {names} = loom.{op} {operands} {attributes} : ({given}) -> ({types})\n  return {names}"
    return kh.run_program(tmp_path, body, inputs, outputs, cpu)


def operands(dtype):
    rng = np.random.default_rng(0)
    shapes = (1, 4, 70, 12), (1, 2, 150, 12), (1, 2, 150, 9), (1, 4, 70, 9)
    return [rng.standard_normal(s).astype(dtype) for s in shapes]


def exact(q, k, v, scale, hidden=False):
    """Weights, result and logarithms in float64, with the heads of k and v repeated."""
    k, v = (np.repeat(t.astype(float), 2, 1) for t in (k, v))
    scores = np.where(hidden, -np.inf, q.astype(float) @ k.swapaxes(-1, -2) * float(scale))
    high = scores.max(-1, keepdims=True)
    e = np.exp(scores - high)
    total = e.sum(-1, keepdims=True)
    return e / total, e / total @ v, (high + np.log(total))[..., 0]


def near(got, want, dtype):
    tolerance = 2e-3 if dtype == "float16" else 2e-6
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(1, 1, 70, 150), (1, 4, 1, 150)])
def test_shared_heads(tmp_path, dtype, shape, cpu):
    q, k, v, _ = operands(dtype)
    scale, seen = np.float32(0.3), np.random.default_rng(1).random(shape) < 0.7
    out = [np.empty((1, 4, 70, 9), dtype), np.empty((1, 4, 70), np.float32)]
    run_op(tmp_path, "attention", 'causal = false empty = "nan"', [q, k, v, np.array(scale), seen], out, cpu)
    _, result, lse = exact(q, k, v, scale, ~seen)
    near(out[0], result, dtype)
    near(out[1], lse, dtype)


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_gradient_of_shared_heads(tmp_path, dtype, cpu):
    q, k, v, grad = operands(dtype)
    scale = np.float32(0.3)
    p, result, lse = exact(q, k, v, scale)
    dot = (result * grad).sum(-1)
    repeated_k, repeated_v = (np.repeat(t.astype(float), 2, 1) for t in (k, v))
    ds = p * (grad.astype(float) @ repeated_v.swapaxes(-1, -2) - dot[..., None]) * float(scale)
    dk = (ds.swapaxes(-1, -2) @ q.astype(float)).reshape(1, 2, 2, 150, 12).sum(2)
    dv = (p.swapaxes(-1, -2) @ grad.astype(float)).reshape(1, 2, 2, 150, 9).sum(2)
    inputs = [grad, q, k, v, lse.astype(np.float32), dot.astype(np.float32), np.array(scale)]
    out = run_op(tmp_path, "attention_gradient", "causal = false", inputs, [np.empty_like(t) for t in (q, k, v)], cpu)
    for got, want in zip(out, (ds @ repeated_k, dk, dv)):
        near(got, want, dtype)
