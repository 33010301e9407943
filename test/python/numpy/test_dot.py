"""Products of arrays against NumPy: tails of every kind, layouts, element types, batches, epilogues."""

import numpy as np
import pytest
from compare import check_calls

import frameloom

SIZES = [1, 2, 5, 7, 8, 16, 17, 33, 49, 100]


def multiplies_alike(function, *args):
    """Within what sums of so many products may be off in any order."""
    depth, largest = args[0].shape[-1] or 1, 1.0
    if args[0].dtype.kind == "f":  # of integers all bits agree; NumPy takes long for their products
        largest = np.abs(function(*args)).max(initial=0)
    check_calls(function, args, fullgraph=True, ulps=4 * depth, scale=max(1.0, largest))


def make(rng, shape, dtype):
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(-4 if np.dtype(dtype).kind == "i" else 0, 9, shape).astype(dtype)


def matmul(a, b):
    return a @ b


@pytest.mark.parametrize("seed", range(30))
def test_sizes(seed):
    rng = np.random.default_rng(seed)
    m, n, k = rng.choice(SIZES, 3)
    dtype = rng.choice(["float32", "float64", "int32", "int64", "uint8", "int16", "bool"])
    a, b = make(rng, (m, k), dtype), make(rng, (k, n), dtype)
    if seed % 3 == 1:
        a = np.ascontiguousarray(a.T).T
    if seed % 3 == 2:
        b = np.ascontiguousarray(b.T).T
    multiplies_alike(matmul, a, b)


@pytest.mark.parametrize("shapes", [((300, 310), (310, 290)), ((512, 64), (64, 512)), ((7, 1000), (1000, 300))])
@pytest.mark.parametrize("layout", ["plain", "columns", "reversed"])
def test_packed(shapes, layout):
    rng = np.random.default_rng(1)
    a, b = (make(rng, s, "float32") for s in shapes)
    if layout == "columns":
        a, b = np.asfortranarray(a), np.asfortranarray(b)
    elif layout == "reversed":
        a, b = a[::-1, ::-1], b[::-1]
    multiplies_alike(matmul, a, b)


@pytest.mark.parametrize("layout", range(4))
@pytest.mark.parametrize("shapes", [
    ((130, 300), (300, 3001)), ((3001, 300), (300, 130)), ((901, 513), (513, 1203)), ((19, 1900), (1900, 801)),
    ((17, 190, 201), (17, 201, 301)), ((17, 190, 201), (201, 901)), ((402, 301), (3, 301, 1503)),
    ((3, 402, 701), (3, 701, 1103)), ((2, 901, 513), (513, 603)),
])
def test_packed_in_rounds(shapes, layout):
    """Operands of which only some panels are packed at once; ragged ends of rounds along each dimension."""
    rng = np.random.default_rng(2)
    a, b = (make(rng, s, "int32" if layout == 3 else "float32") for s in shapes)
    if layout & 1:
        a = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout & 2:
        b = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)
    multiplies_alike(lambda x, y: x @ y + 1, a, b)


@pytest.mark.parametrize("m,n", [(3, 17), (70, 130), (9, 1100)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "uint8"])
def test_great_depth(m, n, dtype):
    """The depth is taken in blocks: operands that are packed and not, an epilogue, ragged last blocks."""
    rng = np.random.default_rng(2)
    for depth in (1601, 4099):
        a, b = make(rng, (m, depth), dtype), make(rng, (depth, n), dtype)
        multiplies_alike(matmul, a, b)
        multiplies_alike(lambda a, b, c: (a @ b) * c + c, np.asfortranarray(a), b, make(rng, (n,), dtype))
        multiplies_alike(lambda a, b: a @ b.T, a, np.ascontiguousarray(b.T))


def test_depth_in_blocks_keeps_the_order_of_sums():
    """A depth's first block, then zeros: the bits of the first block alone."""
    rng = np.random.default_rng(3)
    a, b = make(rng, (65, 2048), "float32"), make(rng, (2048, 50), "float32")
    a[:, 512:] = 0
    whole, part = (frameloom.compile(matmul)(x, y) for x, y in ((a, b), (a[:, :512].copy(), b[:512].copy())))
    np.testing.assert_array_equal(whole, part)


def test_epilogue():
    rng = np.random.default_rng(2)
    x, w, b = make(rng, (70, 90), "float32"), make(rng, (90, 50), "float32"), make(rng, 50, "float32")
    multiplies_alike(lambda x, w, b: np.maximum(x @ w + b, 0) * 2, x, w, b)
    multiplies_alike(lambda x, w, b: (x @ w).T + b[:, None], x, w, b)
    multiplies_alike(lambda x, w, b: (x @ w).sum(axis=1), x, w, b)


def test_prologue():
    rng = np.random.default_rng(3)
    x, w = make(rng, (20, 30), "float64"), make(rng, (30, 40), "float64")
    multiplies_alike(lambda x, w: (x + 1) @ (w * 2), x, w)
    multiplies_alike(lambda x, w: x[::2, 3:] @ w[3:, ::-1], x, w)


@pytest.mark.parametrize("a,b", [((5, 20, 30), (5, 30, 10)), ((5, 20, 30), (30, 10)), ((2, 1, 9, 8), (3, 8, 7)), ((40,), (40, 9)),
                                 ((9, 40), (40,)), ((40,), (40,)), ((3, 9, 40), (40,)), ((0, 4), (4, 3)), ((3, 0), (0, 4))])
def test_shapes(a, b):
    rng = np.random.default_rng(4)
    multiplies_alike(matmul, make(rng, a, "float32"), make(rng, b, "float32"))


def test_chain():
    rng = np.random.default_rng(5)
    x, v, w = make(rng, (64, 48), "float32"), make(rng, (48, 80), "float32"), make(rng, (80, 16), "float32")
    multiplies_alike(lambda x, v, w: np.maximum(x @ v, 0) @ w, x, v, w)


def test_shared_operand():
    """One matrix for a whole batch is packed once."""
    rng = np.random.default_rng(6)
    multiplies_alike(matmul, make(rng, (3, 100, 120), "float32"), make(rng, (120, 300), "float32"))
    multiplies_alike(matmul, make(rng, (300, 120), "float32"), make(rng, (3, 120, 100), "float32"))
    multiplies_alike(matmul, make(rng, (2, 1, 90, 300), "float32"), make(rng, (3, 300, 200), "float32"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool"])
def test_products_with_numbers(dtype):
    """Numbers are not weak in np.dot, and the result is in C order."""
    for a in (np.ones((3, 4), dtype, order="F"), np.ones((3, 4), dtype)[:, ::-1], np.ones((), dtype), np.ones(3, dtype)):
        for f in (lambda a: np.dot(2.0, a), lambda a: np.dot(a, 3), lambda a: a.dot(a.max()), lambda a: np.inner(a.max(), a),
                  lambda a: np.dot(np.array(2), a), lambda a: np.dot(a, True)):
            got, want = frameloom.compile(f, fullgraph=True)(a), f(a)
            assert type(got) is type(want) and got.dtype == want.dtype and got.strides == want.strides
            np.testing.assert_array_equal(got, want)


def test_long_sums_round_little():
    """A chain of 4,000 additions would be ten times as far from the exact result as runs of 200 are."""
    rng = np.random.default_rng(7)
    for m, n in ((60, 70), (5, 70), (600, 300)):
        a, b = rng.standard_normal((m, 4000)).astype("float32"), rng.standard_normal((4000, n)).astype("float32")
        exact = a.astype("float64") @ b.astype("float64")
        got = frameloom.compile(matmul, fullgraph=True)(a, b)
        assert np.linalg.norm(got - exact) / np.linalg.norm(exact) < 4e-7


# ---- a matrix with its own transpose: what lies below the diagonal is not computed ----


def bits_equal(x, y):
    assert x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


EPILOGUE = np.arange(260)
BODIES = {
    "plain": matmul,
    "prologue": lambda x, y: (x - 1) @ (y - 1),
    "epilogue": lambda x, y: np.maximum(x @ y, 3) + EPILOGUE[: x.shape[-2]].astype(x.dtype),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("seed", range(14))
def test_symmetric(seed, body):
    """The bits are those of the product of the matrix with a copy of its transpose."""
    rng, body = np.random.default_rng(seed), BODIES[body]
    size, depth = int(rng.integers(49, 260)), int(rng.integers(32, 500))
    dtype = ["float32", "float64", "float16", "int32", "int64", "uint8", "int16"][seed % 7]
    a = make(rng, (3, size, depth) if seed % 4 == 3 else (size, depth), dtype)
    once = frameloom.compile(lambda x: body(x, np.swapaxes(x, -1, -2)), fullgraph=True)
    if seed % 2:
        a = np.ascontiguousarray(np.swapaxes(a, -1, -2))
        once = frameloom.compile(lambda x: body(np.swapaxes(x, -1, -2), x), fullgraph=True)
    left, right = (a, np.swapaxes(a, -1, -2))[:: -1 if seed % 2 else 1]
    got = once(a)
    bits_equal(got, frameloom.compile(body, fullgraph=True)(left.copy(), right.copy()))
    if dtype != "float16":
        multiplies_alike(body, left, right)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_symmetric_with_sizes_that_change(dtype):
    rng = np.random.default_rng(5)
    once = frameloom.compile(lambda x: 2 * (x.T @ x), fullgraph=True, dynamic=True)
    twice = frameloom.compile(lambda x, y: 2 * (x.T @ y), fullgraph=True, dynamic=True)
    for shape in [(200, 130), (40, 300), (33, 50), (1000, 97), (5, 7), (0, 60), (60, 1)]:
        a = make(rng, shape, dtype)
        bits_equal(once(a), twice(a, a.copy()))


FEW_ROWS = [1, 2, 3, 7, 16, 31, 40]
FEW_DTYPES = ["float32", "float64", "float16", "int32", "int64", "uint8", "bool"]


@pytest.mark.parametrize("dtype", FEW_DTYPES)
@pytest.mark.parametrize("m", FEW_ROWS)
def test_few_rows_turned(m, dtype):
    """As x @ w.T of a linear layer: lanes along the depth, ragged at its end, whole blocks of it, batches, strided rows. Each number of
    rows and each dtype meets all sizes and forms."""
    rng, turn = np.random.default_rng(m), FEW_ROWS.index(m) + FEW_DTYPES.index(dtype)
    sizes = [(8, 16), (33, 100), (70, 257), (129, 1603), (24, 4100)]
    (n, k), (rows, depth) = sizes[turn % 5], sizes[(turn + 2) % 5]
    multiplies_alike(lambda a, b: a @ b.T, make(rng, (m, k), dtype), make(rng, (n, k), dtype))
    multiplies_alike(lambda a, b, c: (a @ b.T) * c + c, make(rng, (m, depth), dtype), make(rng, (rows, depth), dtype), make(rng, (rows,), dtype))
    a, b = make(rng, (3, m, 77), dtype), make(rng, (3, 40, 77), dtype)
    if turn % 3 == 0:
        multiplies_alike(lambda a, b: a @ b.T, make(rng, (m, 2, 200), dtype)[:, 1], make(rng, (90, 3, 200), dtype)[::2, 2])
    elif turn % 3 == 1:
        multiplies_alike(lambda a, b: a @ b.swapaxes(1, 2), a, b)
    else:
        multiplies_alike(lambda a, b: a @ b[1].T, a, b)


@pytest.mark.parametrize("m", [2, 20])
def test_few_rows_turned_of_changing_sizes(m):
    """Columns and depth are symbols."""
    rng = np.random.default_rng(m)
    compiled = frameloom.compile(lambda a, b: a @ b.T, dynamic=True)
    for n, k in [(40, 64), (41, 65), (9, 20), (300, 1700), (64, 3072), (2, 3), (0, 5), (5, 0), (1, 1)]:
        a, b = make(rng, (m, k), "float32"), make(rng, (n, k), "float32")
        np.testing.assert_allclose(compiled(a, b), a @ b.T, rtol=1e-4, atol=1e-4 * max(k, 1) ** 0.5)
