"""Functions on a device of the tests' drivers that are compared with NumPy's, for each driver."""

import numpy as np

import frameloom

RNG = np.random.default_rng(7)


def assert_products_agree(gpu, dtype):
    """Batches, turned and sliced operands; halves are summed in f32 and rounded once."""
    a, b = RNG.standard_normal((3, 70, 48)).astype(dtype), RNG.standard_normal((3, 40, 48)).astype(dtype)
    functions = [lambda a, b: a @ b.transpose(0, 2, 1), lambda a, b: a[0].T @ (2 * a[1]), lambda a, b: a[1, 1:, 1:] @ b[0, :, :-1].T + a[1, 0, 0]]
    for function in functions:
        got = np.asarray(frameloom.compile(function, device=gpu)(gpu.array(a), gpu.array(b)))
        wanted = function(a.astype(np.float64), b.astype(np.float64))
        assert got.dtype == dtype
        np.testing.assert_allclose(got, wanted, **({"rtol": 2e-3, "atol": 2e-3} if dtype == "float16" else {"rtol": 1e-13, "atol": 1e-13}))


def assert_attention_agrees(gpu):
    """A softmax between two products becomes an attention; with a mask for each query and key, or for each key."""
    q, k, v = (RNG.standard_normal((2, 3, rows, 24)).astype(np.float32) for rows in (70, 100, 100))
    mask = RNG.standard_normal((70, 100)).astype(np.float32)

    def attend(q, k, v, mask):
        scores = q @ k.transpose(0, 1, 3, 2) * np.float32(0.2) + mask
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) @ v

    for some in (mask, mask[0]):
        got = np.asarray(frameloom.compile(attend, device=gpu)(*map(gpu.array, (q, k, v, some))))
        np.testing.assert_allclose(got, attend(q, k, v, some), rtol=1e-5, atol=1e-5)
