"""Sizes at which kernels are split into chunks, stages, tiles and blocks, with every remainder."""

import numpy as np
import pytest
from compare import check, outcome
from processes import printed

import frameloom

SHAPES = [(300, 4096), (4099, 517), (2048, 1024), (100_003, 8), (7, 300_001), (1_000_003,), (33, 65, 257), (3, 100_000, 3)]
REDUCTIONS = ["sum", "prod", "max", "min", "mean", "var", "argmax", "argmin", "any", "all"]


def array(shape, dtype=np.float32):
    rng = np.random.default_rng(sum(shape))
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(-100, 100, shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions(shape, kind):
    x = array(shape)
    if kind == "prod":
        x = 1 + x / 1e6
    for axis in (None, *range(len(shape))):
        def function(x):
            return getattr(x, kind)(axis=axis)
        count = x.size if axis is None else shape[axis]
        check(frameloom.compile(function, fullgraph=True), function, [x], ulps=64, scale=4 * np.sqrt(count))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float64", "uint16", "bool"])
@pytest.mark.parametrize("shape", SHAPES[:4], ids=str)
def test_reductions_of_other_dtypes(shape, dtype):
    x = array(shape, dtype)
    for axis in (None, 0, 1):
        def function(x):
            return x.sum(axis=axis), x.max(axis=axis), x.argmin(axis=axis), x.any(axis=axis)
        check(frameloom.compile(function, fullgraph=True), function, [x], ulps=64, scale=1000.0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elementwise_of_several_layouts(shape):
    x, y = array(shape), array(shape) + 2

    def function(x, y):
        return np.maximum(x * y + 1, x - y), x > y

    check(frameloom.compile(function, fullgraph=True), function, [x, y])
    check(frameloom.compile(function, fullgraph=True), function, [x.T, y.T])
    check(frameloom.compile(function, fullgraph=True), function, [x[::-1], y])
    mixed = np.asfortranarray(y)
    check(frameloom.compile(function, fullgraph=True), function, [x, mixed])
    check(frameloom.compile(function, fullgraph=True), function, [x[..., ::2], y[..., 1::2][..., : x[..., ::2].shape[-1]]]
          if shape[-1] % 2 == 0 else [x, y[..., :1]])


@pytest.mark.parametrize("shape", [s for s in SHAPES if len(s) > 1], ids=str)
def test_rows(shape):
    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def normalise(x):
        return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)

    def columns(x):
        return (x - x.mean(axis=0)) / (x.std(axis=0) + 1)

    for function in (softmax, normalise, columns):
        check(frameloom.compile(function, fullgraph=True), function, [array(shape)], ulps=128, scale=1.0)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 7, 3), (64, 64, 64), (129, 255, 130), (300, 17, 500), (512, 512, 512),
                                   (1, 1000, 1000), (1000, 1000, 1), (257, 1, 257), (6, 2000, 16)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_products(sizes, dtype):
    m, k, n = sizes

    def plain(a, b):
        return a @ b

    def with_epilogue(a, b):
        return np.maximum(a @ b + 1, 0)

    a, b = array((m, k), dtype), array((k, n), dtype)
    for function in (plain, with_epilogue):
        for left, right in ((a, b), (np.asfortranarray(a), b), (a, np.asfortranarray(b)), (a[::-1], b[:, ::-1])):
            check(frameloom.compile(function), function, [left, right], ulps=64, scale=np.sqrt(k) * 4)


def test_batches_of_products():
    def function(a, b):
        return a @ b

    check(frameloom.compile(function), function, [array((6, 33, 40)), array((6, 40, 17))], ulps=64, scale=16)
    check(frameloom.compile(function), function, [array((6, 33, 40)), array((40, 17))], ulps=64, scale=16)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_movement(shape):
    def function(x):
        return (np.concatenate([x, x * 2], axis=-1), np.roll(x, 3, axis=0), np.cumsum(x, axis=-1), x[::-1].copy(),
                np.ascontiguousarray(x.T), np.diff(x, axis=0))

    check(frameloom.compile(function), function, [array(shape)], ulps=256, scale=np.sqrt(shape[-1]) * 4)


@pytest.mark.parametrize("shape", [(16, 700), (129, 640), (1000, 513), (3, 70, 200)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "bool"])
def test_transposed_operands(shape, dtype):
    x, y = array(shape, dtype), array((*shape[:-2], shape[-1], shape[-2]), dtype)

    def function(x, y):
        return (np.swapaxes(x, -1, -2) | y if dtype == "bool" else np.swapaxes(x, -1, -2) + y), np.swapaxes(y, -1, -2).copy()

    check(frameloom.compile(function, fullgraph=True), function, [x, y])


def framed(x):
    y = np.pad(x, 2, constant_values=1)
    y[1:-1, 3:-3] += 2 * y[:-2, 3:-3] - y[2:, 3:-3]
    return y


def updated(x):
    y = x.copy()
    y[5:-5:2, ::-1] = x[5:-5:2] * 2
    y[-3:] = 7
    y[:, 10:11] -= 1
    return y


MOVES = {
    "rows": lambda x: np.concatenate([x, x[:3] * 2, x[::-1]], axis=0),
    "columns": lambda x: np.concatenate([x[:, :1], x, x[:, 7:90] + 1, x[:, ::-1]], axis=1) * 2,
    "roll": lambda x: np.roll(np.roll(x, 3, axis=0), -70, axis=1) - x,
    "framed": framed,
    "updated": updated,
    "broadcast": lambda x: np.pad(x[:, :1], ((2, 2), (0, 0))) + np.pad(x, ((4, 0), (0, 0))),
    "transposed": lambda x: np.pad(x.T, ((1, 0), (0, 2))) + 1,
    "many": lambda x: np.concatenate([x[:, i : i + 20] for i in range(0, 100, 4)], axis=1),
}


@pytest.mark.parametrize("shape", [(300, 4096), (129, 130), (1031, 517)], ids=str)
@pytest.mark.parametrize("kind", MOVES)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_parts_of_moved_arrays(shape, kind, dtype):
    check(frameloom.compile(MOVES[kind], fullgraph=True), MOVES[kind], [array(shape, dtype)])


@pytest.mark.parametrize("sizes", [(70, 90, 16), (33, 257, 3), (9, 1000, 64), (300, 40, 10), (1, 700, 8)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32"])
def test_reductions_over_few_coordinates(sizes, dtype):
    n, m, k = sizes
    x, y, w = array((n, k), dtype), array((m, k), dtype), array((m,), dtype)

    def function(x, y, w):
        d = x[:, None, :] - y[None, :, :]
        return (d * d).sum(axis=-1) + w, (d * x[:, None, :]).max(axis=-1), np.argmin(np.abs(d), axis=-1), y.sum(axis=-1)

    check(frameloom.compile(function, fullgraph=True), function, [x, y, w], ulps=256, scale=4 * k)


INTERLEAVED = {
    "stacked": lambda x: np.stack([x, x * 2, x[::-1]], axis=-1),
    "pairs": lambda x: np.stack([x > 0, x.T.copy().T < 1], axis=-1),
    "repeated": lambda x: np.repeat(x, 4, axis=1) + 1,
    "channels": lambda x: x[:, : x.shape[1] // 4 * 4].reshape(x.shape[0], -1, 4)[..., :3] * np.array([1, 2, 3], x.dtype),
    "reversed": lambda x: x[:, : x.shape[1] // 3 * 3].reshape(-1, 3)[:, ::-1] + x[0, 0],
    "padded": lambda x: np.pad(x[..., None], ((0, 0), (1, 1), (1, 2))),
}


@pytest.mark.parametrize("shape", [(300, 128), (129, 131), (2, 5003), (1, 40)], ids=str)
@pytest.mark.parametrize("kind", INTERLEAVED)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16"])
def test_interleaved(shape, kind, dtype):
    function = INTERLEAVED[kind]
    check(frameloom.compile(function, fullgraph=True), function, [array(shape, dtype)])
    check(frameloom.compile(function, fullgraph=True), function, [np.asfortranarray(array(shape, dtype))])


def test_same_bits_for_any_number_of_threads():
    program = (
        "import hashlib, numpy as np, frameloom\n"
        "x = np.random.default_rng(0).standard_normal((1500, 1111), dtype=np.float32)\n"
        "f = frameloom.compile(lambda x: (x.sum(), x.sum(0), x.var(1), np.exp(x).mean(0), x @ x.T, x.T + x[0, 0]))\n"
        "print(hashlib.sha256(b''.join(np.ascontiguousarray(r).tobytes() for r in f(x))).hexdigest())\n")
    digests = {printed(program, environment={"OMP_NUM_THREADS": str(threads)}) for threads in (1, 2, 3, 7)}
    assert len(digests) == 1


@pytest.mark.parametrize("function", [
    lambda a: a + 1, lambda a: a.copy(), lambda a: np.zeros(a.shape, np.int8)[:2], lambda a: np.concatenate([a, a]),
    lambda a: a[3], lambda a: a[-5:].mean(), lambda a: a[::2**38].shape, lambda a: a.reshape(-1)[:3], lambda a: a.size,
    lambda a: (a[:10] > 0).all(), lambda a: np.broadcast_to(a[:1], a.shape).strides,
])
def test_huge_views(function):
    """More elements than memory, in an array of one: what needs no memory works, what does raises NumPy's own error."""
    for a in (np.broadcast_to(np.float64(1), (2**45,)), np.broadcast_to(np.float32(1), (2**55, 0))):
        compiled = frameloom.compile(function)
        for _ in range(2):
            assert repr(outcome(compiled, (a,))) == repr(outcome(function, (a,)))
