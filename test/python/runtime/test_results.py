"""Results: who owns their memory, what kind of objects they are, identity and views."""

import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import frameloom


@pytest.fixture(params=["interpret", "loom"])
def compiled(request):
    def wrap(fn, **kwargs):
        return frameloom.compile(fn, backend=request.param, **kwargs)

    wrap.rounds = 100_000 if request.param == "loom" else 1_000
    return wrap


@pytest.mark.parametrize("n", [0, 1, 3, 100, 256, 1000, 100_000, 3_000_000])
def test_ownership_and_resize(compiled, n):
    f = compiled(lambda a: a + 1)
    r = f(np.zeros(n))
    assert r.flags.owndata and r.flags.writeable and r.flags.aligned and r.base is None
    assert type(r) is np.ndarray and r.shape == (n,)
    assert (r == 1).all()
    r[...] = 5
    r.resize(2 * n + 3, refcheck=False)
    assert (r[:n] == 5).all() and (r[n:] == 0).all()
    r.resize(1, refcheck=False)
    del r
    assert (f(np.zeros(n)) == 1).all()


def test_memory_comes_back(compiled):
    f = compiled(lambda a: a + 1)
    x = np.zeros(1 << 18)
    first = f(x).ctypes.data
    assert any(f(x).ctypes.data == first for _ in range(3))
    held = [f(x) for _ in range(4)]
    assert len({h.ctypes.data for h in held}) == 4
    assert all((h == 1).all() for h in held)


def test_results_outlive_everything(compiled):
    f = compiled(lambda a: a * 2 + 1)
    r = f(np.ones(50_000))
    view = r[10:20]
    del f, r
    gc.collect()
    frameloom.reset()
    assert (view == 3).all() and view.base is not None


def test_setting_shape_dtype_and_strides(compiled):
    r = compiled(lambda a: a + 1)(np.zeros((64, 64)))
    r.shape = (4096,)
    s = r.view(np.int32)
    r = r.reshape(8, 512)
    del r
    assert s.size == 8192


def test_weakref_pickle_copy_of_results(compiled):
    import copy
    import pickle

    r = compiled(lambda a: a + 1)(np.zeros(5000))
    assert weakref.ref(r)() is r
    assert (pickle.loads(pickle.dumps(r)) == 1).all()
    c = copy.deepcopy(r)
    assert c is not r and (c == 1).all()


def test_memoryview_and_buffer(compiled):
    r = compiled(lambda a: a + 1)(np.zeros(2000))
    m = memoryview(r)
    del r
    assert m[1999] == 1.0


def test_zero_dimensional_results_are_scalars(compiled):
    f = compiled(lambda a: a.sum())
    for x in (np.arange(4.0), np.arange(4, dtype=np.float32), np.arange(4, dtype=np.int16), np.ones(3, bool)):
        got, want = f(x), x.sum()
        assert type(got) is type(want) and got == want
    g = compiled(lambda a: a + 1)
    for x in (np.array(2.0), np.float32(3), np.int8(4)):
        got, want = g(x), x + 1
        assert type(got) is type(want) and got == want
    h = compiled(lambda a: (a > 1).any())
    assert type(h(np.arange(3.0))) is np.bool_


def test_argument_returned_is_the_argument(compiled):
    f = compiled(lambda a, b: (a, b, a + b))
    x, y = np.ones(3), np.ones(3)
    a, b, c = f(x, y)
    assert a is x and b is y and c is not x
    assert compiled(lambda a: a)(x) is x
    obj = {"k": [1, 2]}
    assert compiled(lambda a, o: (a + 1, o))(x, obj)[1] is obj


def test_copy_is_fresh(compiled):
    f = compiled(lambda a: a.copy())
    x = np.ones(4)
    r = f(x)
    assert r is not x and not np.shares_memory(r, x)
    two = compiled(lambda a: (a + 1, a + 1))
    one, other = two(x)
    assert one is not other and not np.shares_memory(one, other)
    same = compiled(lambda a: [(b := a + 1), b])(x)
    assert same[0] is same[1]


@pytest.mark.parametrize("fn", [
    lambda a: a.T, lambda a: a[1:], lambda a: a[::-1, ::2], lambda a: a.reshape(-1), lambda a: a[0],
    lambda a: a[:, None], lambda a: np.broadcast_to(a, (2,) + a.shape), lambda a: a.swapaxes(0, 1), lambda a: a[...],
])
def test_views_of_arguments_are_views(compiled, fn):
    f = compiled(fn)
    x = np.arange(12.0).reshape(3, 4)
    for _ in range(2):
        got, want = f(x), fn(x)
        assert np.shares_memory(got, x) and got.strides == want.strides and got.shape == want.shape
        assert got.flags.writeable == want.flags.writeable
        assert (got.base is x) == (want.base is x)
        np.testing.assert_array_equal(got, want)
    x[0, 0] = 100.0
    np.testing.assert_array_equal(f(x), fn(x))


def test_views_of_results(compiled):
    f = compiled(lambda a: (a + 1).T)
    x = np.arange(6.0).reshape(2, 3)
    got, want = f(x), (x + 1).T
    np.testing.assert_array_equal(got, want)
    assert got.strides == want.strides and not np.shares_memory(got, x)

    def g(a):
        b = a * 2
        return b, b[1:]

    whole, part = compiled(g)(x)
    assert np.shares_memory(whole, part)
    whole[1] = -1
    assert (part == -1).all()


def test_containers(compiled):
    def g(a):
        b = a + 1
        return {"t": (b, [b, a], {"n": None, 3: 2.5}), "s": {1, 2}, "f": frozenset("ab"), "z": slice(1, None, 2)}

    x = np.ones(2)
    got = compiled(g)(x)
    assert list(got) == ["t", "s", "f", "z"] and got["s"] == {1, 2} and got["f"] == frozenset("ab")
    assert got["z"] == slice(1, None, 2)
    b, items, table = got["t"]
    assert items[0] is b and items[1] is x and table == {"n": None, 3: 2.5}
    assert compiled(lambda a: None)(x) is None
    assert compiled(lambda a: (1, 2.5, "s", b"b", True))(x) == (1, 2.5, "s", b"b", True)


def test_fresh_containers_each_call(compiled):
    f = compiled(lambda a: [a + 1, {}])
    x = np.ones(2)
    one, two = f(x), f(x)
    assert one is not two and one[1] is not two[1]
    one.append(3)
    assert len(f(x)) == 2


def test_list_that_contains_itself(compiled):
    def g(a):
        items = [a + 1]
        items.append(items)
        return items

    got = compiled(g)(np.ones(2))
    assert got[1] is got
    (got[0] == 2).all()


def test_written_arguments(compiled):
    def g(a, b):
        a[1:3] = b[:2] * 2
        a += 1
        b[0] = a.sum()
        return a

    f = compiled(g)
    for _ in range(2):
        a, b = np.arange(4.0), np.arange(4.0)
        c, d = a.copy(), b.copy()
        r = f(a, b)
        assert r is a
        g(c, d)
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)


def test_written_view_of_argument(compiled):
    def g(a):
        v = a.T[1:]
        v *= 2
        return v

    f = compiled(g)
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(f(a), g(b))
    np.testing.assert_array_equal(a, b)
    flipped, c = np.arange(6)[::-1], np.arange(6)[::-1]

    def h(a):
        a += 10

    assert compiled(h)(flipped) is None
    h(c)
    np.testing.assert_array_equal(flipped, c)


def test_memory_is_bounded(compiled):
    import resource

    f = compiled(lambda a: a + 1)
    x = np.zeros(1 << 17)
    for _ in range(50):
        f(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(compiled.rounds // 50):
        f(x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def test_refcounts_over_many_calls(compiled):
    f = compiled(lambda a, b: a * b + 1)
    x, y = np.ones(2000), np.ones(2000)
    f(x, y)
    counts = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(x.dtype)
    for _ in range(compiled.rounds):
        f(x, y)
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(y)) == counts[:2]
    assert abs(sys.getrefcount(x.dtype) - counts[2]) < 10


def test_tracemalloc_does_not_grow(compiled):
    f = compiled(lambda a: a * 2)
    x = np.ones(4000)
    f(x)
    tracemalloc.start()
    try:
        f(x)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            f(x)
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", ["int32", "bool", "float64"])
def test_layout_of_running_sums(dtype):
    """Strides of a broadcast array say nothing about the order of its axes."""
    compiled = frameloom.compile(lambda a: (np.cumsum(a, axis=0), np.cumprod(a, axis=1)), fullgraph=True)
    a = np.broadcast_to(np.arange(17).astype(dtype), (8, 17))
    for x in (a, a.T, np.ones((2, 3, 4), dtype).transpose(2, 0, 1)):
        for got, want in zip(compiled(x), (np.cumsum(x, axis=0), np.cumprod(x, axis=1))):
            assert got.strides == want.strides
            np.testing.assert_array_equal(got, want)
