"""Results whose sizes depend on data: masks, nonzero, unique and their like, as NumPy has them, for all counts."""

import numpy as np
import pytest

import frameloom
from compare import check

RNG = np.random.default_rng(11)
V = RNG.standard_normal(40)
M = RNG.standard_normal((6, 7)).astype(np.float32)
I = RNG.integers(-4, 5, 30).astype(np.int16)

EXPRESSIONS = """
a[a > 0] | a[a > 0] + 1 | a[a > 0].sum() | a[a > 0].prod() | (a[a > 0] > 1).any() | (a[a > 0] > 1).all() | a[a > 0].mean() | a[a > 0].max()
a[a > 0].min() | a[a > 0].std() | a[a > 0].argmax() | a[a > 0].ptp() if hasattr(a, "ptp") else np.ptp(a[a > 0]) | a[a != a] | a[a == a]
a[a > 0] * b[a > 0] | a[a > 0] * b[~(a <= 0)] | a[a > 0] + a[b > 0] | len(a[a > 0]) | a[a > 0].size * 2 | a[a > 0].shape | a[a > 0].nbytes
a[a > 0].sum() / len(a[a > 0]) | a[a > 0][0] | a[a > 0][-1] | a[a > 0][1:] - a[a > 0][:-1] | a[a > 0][::2] | a[a > 0][::-1] | a[a > 0][:]
a[a > 0][None] | a[a > 0][:, None] * a[a > 0] | np.cumsum(a[a > 0]) | np.sort(a[a > 0]) | np.concatenate([a[a > 0], b[b > 0]])
np.concatenate([a[a > 0], np.ones(3, a.dtype)]) | np.zeros(len(a[a > 0])) | np.arange(a[a > 0].size) * 2 | a[a > 0].astype(np.float64)
np.where(a[a > 0] > 1, a[a > 0], 0) | np.clip(a[a > 0], 0, 1) | np.dot(a[a > 0], b[a > 0]) | a[a > 0] @ b[a > 0] | np.median(a[a > 0])
a[a > 0].reshape(-1, 1) | a[a > 0].reshape(-1) | a[a > 0].copy() | np.outer(a[a > 0], a[a > 0]) | np.flip(a[a > 0]) | np.diff(a[a > 0])
a[a > 0].T | a[a > 0].ravel() | a[a > 0].tolist() | a[a > 0].item() | float(a[a > 0]) | bool(a[a > 0].any()) | list(a[a > 0]) | np.add.reduce(a[a > 0])
np.maximum.reduce(a[a > 0]) | np.add.accumulate(a[a > 0]) | a[a > 0][a[a > 0] > 1] | b[np.nonzero(a > 0)] | a.T[a.T > 0] | a[::-1][a > 0]
np.nonzero(a) | np.nonzero(a > 0) | (a > 0).nonzero() | np.flatnonzero(a > 0) | np.argwhere(a > 0) | np.argwhere(a > 0).sum(0) | np.where(a > 0)
np.where(a > 0)[0] * 2 | np.count_nonzero(a > 0) | np.extract(a > 0, b) | np.compress((a > 0).ravel(), b) | np.compress(a.ravel()[:5] > 0, b, axis=0)
np.unique(a) | np.unique(np.round(a)) | np.unique(np.round(a), return_index=True) | np.unique(np.round(a), return_inverse=True)
np.unique(np.round(a), return_counts=True) | np.unique(np.round(a), True, True, True) | np.unique(a > 0) | np.unique(a[a > 0]) | np.unique(a, axis=0)
np.intersect1d(np.round(a), np.round(b)) | np.intersect1d(np.round(a), np.round(b), return_indices=True) | np.union1d(np.round(a), b) | np.setdiff1d(np.round(a), np.round(b))
np.setxor1d(np.round(a), np.round(b)) | np.isin(np.round(a), np.round(b)) | np.isin(a, a[a > 0]) | np.trim_zeros((a > 0).ravel()) | np.histogram(a[a > 0], 4, (0, 4))
a[True] | a[False] | a[np.True_] | a[a[0] > 0] if a.ndim == 1 else a[a[:, 0] > 0] | a[a[:, 0] > 0].sum(0) if a.ndim == 2 else a | a[:, a[0] > 0] if a.ndim == 2 else a
a[1, a[0] > 0] if a.ndim == 2 else a | a[a[:, 0] > 0, 1] if a.ndim == 2 else a | a[a[:, 0] > 0, 1:3] if a.ndim == 2 else a | a[..., a[0] > 0] if a.ndim == 2 else a
a[None, a > 0] | a[a > 0, None] | a[(a > 0,)] | a[a > 0, ...] | a[:3][a[:3] > 0] | (a[a > 0].size == 0, a[a > 0].sum()) | a[np.zeros(3, bool)]
a[(a > 0) & (b > 0)] | a[a > 0] if (a > 0).sum() else None | max(a[a > 0].sum(), 0) | sum(a[a > 0][:2]) | a[a > 0].mean() - b[b > 0].mean()
""".replace("\n", " | ").strip(" |").split(" | ")

STATEMENTS = [
    "a[a > 0] = 0; return a",
    "a[a > 0] = b[a > 0]; return a",
    "a[a > 0] = b[a > 0] * 2 + a[a > 0]; return a",
    "m = a > 0; a[m] += 1; return a, a[m]",
    "a[a > 0] *= 2; return a.sum()",
    "m = a > 0; a[m] -= a[m].mean(); return a",
    "m = a > 0; a[m] = a[m][::-1]; return a",
    "c = np.zeros_like(a); m = b > a; c[m] = a[m]; c[~m] = b[~m]; return c",
    "a[a > 0] = b.ravel()[:3]; return a",
    "a[b > 0] = a[a > 0]; return a",
    "x = a[a > 0]; x[0] = 5; return x, a",
    "x = a[a > 0]; x += 1; y = x[1:]; y *= 2; return x",
    "x = a[a > 0]; y = x.reshape(-1, 1); y[:] = 3; return x, y",
    "x = a[a > 0]\n    if len(x) == 0:\n        return None\n    return x / len(x)",
    "x = a[a > 0]\n    if x.size > 1:\n        return x.std(ddof=1)\n    return x.sum()",
    "x = a[a > 0]\n    return [y * 2 for y in x]",
    "x = a[a > 0]\n    try:\n        return x.max()\n    except ValueError:\n        return 7",
    "i = np.nonzero(a.ravel() > 0)[0]; c = b.ravel().copy(); c[i] = 1; return c",
    "i = np.flatnonzero(a > 0); return i[-1] - i[0]",
    "x, n = np.unique(np.round(a), return_counts=True); return x[n > 1], n.sum(), len(x)",
    "x, n = np.unique(np.round(a), return_counts=True); return x[n.argmax()]",
    "i, = np.where(a.ravel() > 0); return i.dtype, i.size, b.ravel()[i].sum()",
    "q = a.ravel(); x = q[q > 0]; y = np.ones(len(x)); y[1:] = x[:-1]; return y",
    "return {'n': len(a[a > 0]), 'x': [a[a > 0], (b[a > 0],)]}",
]


def inputs():
    yield V, V[::-1] * 0.5
    yield np.abs(V) + 1, V
    yield -np.abs(V) - 1, V
    yield np.concatenate([-np.abs(V) - 1, [2.0]]), np.arange(41.0)
    yield np.tile(V, 3), np.tile(V, 3) - 0.1
    yield V[::2], V[1::2]
    yield np.empty(0), np.empty(0)
    yield np.array([3.0]), np.array([1.0])
    yield M, M * 2 - 1
    yield M.T, M.T + 1
    yield np.asfortranarray(M), M
    yield M[:, ::-2], M[:, :4]
    yield I, I[::-1]
    yield I.astype(np.uint8), I.astype(np.uint8) + 1
    yield I > 0, I > 1
    yield V.astype(np.float16), V.astype(np.float16)
    exact = np.round(4 * V) / 4  # products of complex numbers are compared bit by bit
    yield exact + 1j * exact[::-1], exact * 1j


@pytest.fixture(autouse=True)
def many_versions():
    before, frameloom.config.recompile_limit = frameloom.config.recompile_limit, 64
    yield
    frameloom.config.recompile_limit = before


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    function = eval(f"lambda a, b: {expression}", {"np": np})
    compiled = frameloom.compile(function)
    for arguments in inputs():
        check(compiled, function, arguments, ulps=64, scale=100)


@pytest.mark.parametrize("body", STATEMENTS)
def test_statements(body):
    space = {"np": np}
    exec(f"def function(a, b):\n    {body}\n", space)

    def copied(function):
        def run(a, b):
            a, b = np.copy(a, order="K"), np.copy(b, order="K")
            result = function(a, b)
            return result, a, b
        return run

    compiled = frameloom.compile(space["function"])
    for arguments in inputs():
        check(copied(compiled), copied(space["function"]), arguments, ulps=64, scale=100)


SCATTERS = [
    "i=np.flatnonzero(m); c=a.copy(); c[i]=1; return c",
    "i=np.flatnonzero(m); c=a.copy(); c[i]=b[i]; return c",
    "i=np.nonzero(m)[0]; c=a.copy(); c[i]+=b[i]*2; return c",
    "i=np.flatnonzero(m); a[i]=b[i][::-1]; return a.sum()",
    "i=np.flatnonzero(m); c=np.zeros((len(a),3)); c[i]=5; return c",
    "i=np.flatnonzero(m); c=np.zeros((len(a),3)); c[i,1]=b[i]; return c",
    "i=np.flatnonzero(m); c=np.zeros((3,len(a))); c[:,i]=b[i]; return c",
    "i,j=np.nonzero(np.outer(m,m)); c=np.zeros((len(a),len(a))); c[i,j]=1; return c",
    "i,j=np.nonzero(np.outer(m,m)); c=np.zeros((len(a),len(a))); c[i,j]=b[i]; return c",
    "i=np.flatnonzero(m); c=a.copy(); c[i]=b[:3]; return c",
    "i=np.flatnonzero(m); c=a.copy(); np.add.at(c,i,b[i]); return c",
    "c=a.copy(); c[m.nonzero()]=2; return c",
    "c=np.zeros((len(a),4)); c[m]=b[m][:,None]; return c",
    "c=np.zeros((len(a),4)); c[m]=7; return c",
    "c=np.zeros((len(a),4)); c[m,1]=b[m]; return c",
    "c=np.zeros((4,len(a))); c[:,m]=b[m]; return c",
    "c=np.zeros((4,len(a))); c[:,m]*=2; c[1,m]+=b[m]; return c",
]


@pytest.mark.parametrize("body", SCATTERS)
def test_assignments_through_indices(body):
    space = {"np": np}
    exec(f"def function(a, b, m):\n    {body}\n", space)

    def copied(function):
        def run(a, b, m):
            a = a.copy()
            return function(a, b, m), a
        return run

    compiled = frameloom.compile(space["function"])
    for n in (20, 20, 1, 33, 300):
        for share in (0.5, 0, 1, 0.1):
            check(copied(compiled), copied(space["function"]),
                  [RNG.standard_normal(n), RNG.standard_normal(n), RNG.random(n) < share], ulps=64, scale=10)


MIXED = """
a[m0] | a[m0].sum(0) | a[m0]*2 | a[:,m1] | a[:,:,m2] | a[..., m2] | a[m0, 1] | a[m0, :, 2] | a[1, m1] | a[1, :, m2] | a[m01] | a[m01, 2] | a[:, m12]
a[m0, 1:3] | a[m0, None] | a[None, m0] | a[m0, ..., 0] | a[::2][:, m1] | a[m0][:, 0] | a[m0, m0c] | a[m01[0], m2c] | a[m0][m0[m0]] | a[0][m12]
a[m01].shape | a[:, m1].mean(1) | a[m0].max(0) | a[:, m1].max(axis=(0,2)) | a[m0, [0]] | a[m0,:,[1]] | a[m0].T + 1 | np.sort(a[m0],axis=0)
np.concatenate([a[m0],a[~m0]]) | a[m0] @ a[0].T | a[m0].reshape(-1) | a[:, m1].ravel() | a[:,m1].copy() | a[m0]+a[0] | a[m0].cumsum(0)
np.compress(m1,a,axis=1) | np.compress(m0,a,axis=0) | a[m0].std(0) | len(a[m0]) | a[m2] | a[:,:,:,m0] | np.argwhere(a>0) | np.nonzero(a)
a[a>0].sum() | np.take(a, np.flatnonzero(m1), axis=1) | a[m0][::-1] | a[:,m1,None] | a[m01].sum(1) | a[np.flatnonzero(m0)] | np.stack([a[m0], a[m0]])
np.where(m0[:,None,None],a,0)[m0] | np.tile(a[m0],2) | a[m0].swapaxes(0,1) | np.einsum('ijk->k',a[m0]) | a[m0].any(1) | a[m0].argmax(0)
a[m0].argmax(1) | a[m0].var()
""".replace("\n", " | ").strip(" |").split(" | ")


def masks():
    """Of the first three axes of an array, of the first two together, of the last two together."""
    for share in (0.5, 0.0, 1.0, 0.2):
        yield [RNG.random(n) < share for n in (4, 5, 6, (4, 5), (5, 6))]
    one = [np.arange(n) == 1 for n in (4, 5, 6)] + [np.zeros((4, 5), bool), np.zeros((5, 6), bool)]
    one[3][1, 2] = one[4][1, 2] = True
    yield one


@pytest.mark.parametrize("expression", MIXED)
def test_masks_of_some_axes(expression):
    function = eval(f"lambda a, m0, m1, m2, m01, m12, m0c, m2c: {expression}", {"np": np})
    compiled = frameloom.compile(function)
    a = RNG.standard_normal((4, 5, 6))
    for array in (a, np.asfortranarray(a), a.transpose(0, 2, 1).copy().transpose(0, 2, 1), a[:, ::-1]):
        for m in masks():
            check(compiled, function, [array, *m, m[0].copy(), np.resize(m[2], 5)], ulps=64, scale=10)


WHOLE = """
a[a > 0] | a[a > 0].sum() | a[a > 0].mean() | a[a > 0].max() | a[a > 0] * b[a > 0] | a[a > 0] + b[~(a <= 0)] | len(a[a > 0]) | a[a > 0].sum() / len(a[a > 0])
a[a > 0][1:] | np.nonzero(a) | np.flatnonzero(a > 0) | np.argwhere(a > 0) | np.where(a > 0) | np.extract(a > 0, b) | np.compress(a > 0, b) | np.sort(a[a > 0])
np.unique(a) | np.unique(a, True, True, True) | np.intersect1d(a, b) | np.union1d(a, b) | np.setdiff1d(a, b) | np.setxor1d(a, b) | b[np.nonzero(a > 0)[0]]
np.concatenate([a[a > 0], b[b > 0]]) | np.zeros(len(a[a > 0])) | a[a > 0][:, None] * a[a > 0] | np.cumsum(a[a > 0]) | a[a > 0][a[a > 0] > 1]
np.outer(a, b)[a > 0] | np.outer(a, b)[:, a > 0].sum(0) | np.outer(a, b)[a > 0, 1:3] | np.outer(a, b)[np.flatnonzero(a > 0)]
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.mark.parametrize("expression", WHOLE)
def test_captured_whole(expression):
    function = eval(f"lambda a, b: {expression}", {"np": np})
    frameloom.compile(function, fullgraph=True)(V, V[::-1])


def test_one_version_for_all_counts():
    def function(a):
        x = a[a > 0]
        return x * 2, x.sum(), len(x)

    compiled = frameloom.compile(function)
    for positive in (17, 0, 1, 2, 40, 3):
        a = np.where(np.arange(40) < positive, 1.5, -1.0)
        x, total, n = compiled(a)
        assert n == positive and x.shape == (positive,) and total == 1.5 * positive and (x == 3).all()
    report = compiled._report()
    assert report["captures"] == 1 and len(report["entries"]) == 1


def test_nothing_is_written_when_the_plain_function_has_to_run():
    def function(a, b):
        b += 1
        return a[a > 0].max()

    compiled = frameloom.compile(function)
    b = np.zeros(3)
    assert compiled(np.arange(3.0), b) == 2 and (b == 1).all()
    with pytest.raises(ValueError, match="zero-size array"):
        compiled(-np.arange(3.0), b)
    assert (b == 2).all()


def test_sizes_of_two_masks_that_differ():
    def function(a, b):
        return a[a > 0] + b[b > 0]

    compiled = frameloom.compile(function)
    a, b = np.array([1.0, -1, 2]), np.array([-1.0, 3, 4])
    assert (compiled(a, b) == [4, 6]).all()
    assert (compiled(a, np.array([-1.0, -3, 4])) == [5, 6]).all()  # broadcast
    with pytest.raises(ValueError, match="could not be broadcast"):
        compiled(a, np.array([1.0, 3, 4]))


def test_a_call_that_small_sizes_end_is_right_however_often():
    def function(a):
        return a[a > 0].max() if (a > 0).any() is not None else 0

    compiled = frameloom.compile(function)
    for i in range(200):
        a = np.array([-1.0, i - 100.0])
        if i > 100:
            assert compiled(a) == i - 100
        else:
            with pytest.raises(ValueError):
                compiled(a)


@pytest.mark.parametrize("value", [2.0, -2.5])
def test_what_has_a_masks_size_and_reads_nothing_of_it_comes_behind_it(value):
    def function(a, m, k):
        t = np.spacing(k * 2)
        y = a[m]
        p = np.broadcast_to(k, y.shape)
        return y, t, np.any(p < 0), p.sum(), np.broadcast_to(k, (len(y), 2)) * 2

    compiled = frameloom.compile(function, fullgraph=True)
    a, k = np.arange(10.0), np.array(value)
    for m in (a > 3, a > 8, a < 0, a >= 0):
        for got, want in zip(compiled(a, m, k), function(a, m, k)):
            assert np.array_equal(got, want) and got.dtype == want.dtype
