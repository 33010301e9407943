"""Sizes that change from call to call: one version for all of them, right each time."""

import math

import numpy as np
import pytest
from compare import assert_same, check_calls

import frameloom

SIZES = [5, 7, 9, 100, 4, 3]


BACKEND = "interpret"


def for_all_sizes(function, calls, captures=2, **options):
    """One function for all of these calls, of which at most `captures` versions are made."""
    return check_calls(function, *calls, versions=captures, backend=BACKEND, fullgraph=True, **options)


@pytest.fixture(params=["interpret", "loom"], autouse=True)
def backend(request, monkeypatch):
    monkeypatch.setitem(globals(), "BACKEND", request.param)
    return request.param


def ramp(*shape, dtype="f4"):
    return (np.arange(np.prod(shape, dtype=int)) % 13 + 0.5).astype(dtype).reshape(shape)


SQUARE = [(5, 3), (7, 9), (9, 2), (20, 20), (3, 4)]


def softmax(a):
    e = np.exp(a - a.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def writes(a):
    b = np.zeros_like(a)
    b[1:] = a[:-1]
    b[0] = 5
    a[::2] += 1
    return b


ONE = [
    lambda a: a * 2 + 1,
    lambda a: (a.sum(), a.mean(), a.max(), a.var(), np.argmax(a), a.any()),
    lambda a: a[1:] - a[:-1],
    lambda a: (a[-2:], a[-1], a[1], a[::-1]),
    lambda a: np.cumsum(a),
    lambda a: (np.zeros(a.shape[0]), np.ones(len(a), "i4"), np.full(a.shape, 3.5), np.arange(len(a))),
    lambda a: (np.arange(1, len(a)), np.arange(len(a), 0, -1), np.arange(len(a), dtype="f4")),
    lambda a: (len(a), a.size, a.shape, a.nbytes, a.strides, a.ndim),
    lambda a: (len(a) * 2 + 1, len(a) // 2, len(a) % 4, len(a) / 2, -len(a), abs(len(a)), len(a) ** 2),
    lambda a: a * len(a) + a.shape[0] / 3,
    lambda a: np.concatenate([a, a[1:], np.ones(2, "f4")]),
    lambda a: a[:, None] * a[None, :],
    lambda a: np.outer(a, a).sum() if False else (a[:, None] + a).sum(axis=0),
    lambda a: np.where(a > 3, a, -a),
    lambda a: np.clip(a, 1, 6),
    lambda a: np.broadcast_to(a, (3, len(a))) + 1,
    lambda a: np.stack([a, a]),
    lambda a: a.reshape(-1, 1) @ np.ones((1, 1), "f4") if False else a.reshape(1, -1) + a.reshape(-1, 1),
    lambda a: a.astype("f8").copy(),
    lambda a: np.eye(len(a)) * 2,
    writes,
    softmax,
]


@pytest.mark.parametrize("number", range(len(ONE)))
def test_vectors(number):
    for_all_sizes(ONE[number], [(ramp(n),) for n in SIZES if n > 3])


TWO = [
    lambda a: a * 2 + 1,
    lambda a: a.T + 1,
    lambda a: (a.sum(axis=0), a.mean(axis=1), a.std(), a.max(axis=1)),
    lambda a: a[1:, :-1] * a[:-1, 1:],
    lambda a: (a.reshape(-1), a.ravel(), a.flatten(), a.T.reshape(-1)),
    lambda a: a.reshape(a.shape[1], a.shape[0]),
    lambda a: a.T.copy() + a.T,
    lambda a: a - a.mean(axis=0),
    lambda a: a - a.mean(axis=1)[:, None],
    lambda a: np.concatenate([a, a], axis=1),
    lambda a: np.swapaxes(a, 0, 1)[None],
    lambda a: a[0] + a[-1] + a[:, :1],
    lambda a: np.zeros_like(a.T),
    lambda a: a[::-1, ::2],
    lambda a: np.cumsum(a, axis=1) + np.cumprod(a, axis=0),
    softmax,
]


@pytest.mark.parametrize("number", range(len(TWO)))
@pytest.mark.parametrize("order", "CF")
def test_matrices(number, order):
    # A result of one row or column, or equal sizes where the layout depends on them, is a version of its own.
    calls = [(ramp(*s).copy(order=order),) for s in SQUARE if min(s) > 2 or number not in (3, 13)]
    for_all_sizes(TWO[number], calls, captures=4 if number == 5 else 2)


CALLS = """np.diff(a); np.roll(a, 1); np.roll(a, -2); np.flip(a); np.sort(a); np.argsort(a, kind='stable'); np.median(a)
np.percentile(a, 30); np.take(a, [0, 1]); np.repeat(a, 2); np.tile(a, 2); np.stack([a, a]); np.vstack([a, a]); np.hstack([a, a])
np.interp(a, np.sort(a), a); np.einsum('i,i->', a, a); np.einsum('i,j->ij', a, a); np.outer(a, a); np.cov(a); np.gradient(a)
np.meshgrid(a, a)[0]; np.searchsorted(np.sort(a), a); np.count_nonzero(a); np.ptp(a); np.average(a); np.nansum(a); np.nanmean(a)
np.linalg.norm(a); np.dot(a, a); np.tril(a[:, None] + a); np.diag(a); np.expand_dims(a, 0); np.squeeze(a[None])
np.moveaxis(a[:, None], 0, 1); np.clip(a, 0.2, 0.8); np.isclose(a, a); np.allclose(a, a); np.maximum.reduce(a)
np.add.accumulate(a); np.multiply.outer(a, a); np.histogram(a)[0]; np.insert(a, 0, 1); np.append(a, 1); np.delete(a, 0)
np.triu(np.ones((len(a), len(a)))); np.eye(len(a)) @ a; np.arange(len(a)) / len(a); np.zeros((len(a), 3)).sum(axis=0)
np.std(a, ddof=1); (a - a.mean()) / a.std(); np.polyval([1, 2, 3], a); np.select([a > 0.5], [a], 0); np.nan_to_num(a)
np.round(a, 2); np.atleast_2d(a); np.broadcast_arrays(a, a[:, None])[0] + 1; np.rot90(a[None]); a[a.shape[0] // 2]
a[len(a) // 2:]; a[:len(a) // 2] + a[len(a) - len(a) // 2:]; max(a.shape[0], 3); float(len(a)); [x for x in a.shape]
a[-len(a):]; np.float32(len(a)); np.sqrt(len(a)); a.shape == (5,); a.reshape(a.shape); np.zeros(a.shape + (2,))
a[..., None].shape; np.sum(a[:, None] @ a[None], axis=0)""".replace("\n", ";").split(";")


@pytest.mark.parametrize("call", [c.strip() for c in CALLS])
def test_calls(call):
    for_all_sizes(eval("lambda a: " + call), [(ramp(n),) for n in (5, 8, 10, 14)])


def test_sizes_that_belong_together():
    for_all_sizes(lambda a, b: a + b, [(ramp(n), ramp(n)) for n in SIZES])
    for_all_sizes(lambda a, b: a + b, [(ramp(n, m), ramp(m)) for n, m in SQUARE])
    for_all_sizes(lambda a, b: a + b, [(ramp(n, m), ramp(n, 1)) for n, m in SQUARE])
    for_all_sizes(lambda a, b, c: a * b[: len(c)] + c, [(ramp(n), ramp(2 * n), ramp(n)) for n in SIZES])


def test_sizes_that_part_again():
    f = for_all_sizes(lambda a, b: a.sum() + b.sum(), [(ramp(5), ramp(5)), (ramp(7), ramp(7)), (ramp(9), ramp(8)),
                                             (ramp(6), ramp(4)), (ramp(3), ramp(30))], captures=3)
    assert len(f._report()["entries"]) == 3


def test_sizes_of_one_and_none_are_compiled_apart():
    f = for_all_sizes(lambda a, b: a + b, [(ramp(n), ramp(5 if n == 1 else n)) for n in (5, 6, 1, 7, 1)], captures=4)
    assert len(f._report()["entries"]) == 3
    for_all_sizes(lambda a: a * 2, [(ramp(n),) for n in (5, 6, 0, 7, 1, 8, 0, 1)], captures=4)


def test_symbolic_ints():
    for_all_sizes(lambda a, n: (a[:n] * n, n + 1, n * 0.5, n / 4, 2 * n - 1, n // 3), [(ramp(50), n) for n in (5, 7, 9, 11, 4)])
    for_all_sizes(lambda n: np.arange(n) + n, [(n,) for n in (5, 7, 9, 11, 4)])
    for_all_sizes(lambda a, i: (a[i], a[i + 1:]), [(ramp(20), i) for i in (3, 5, 9, 11)], captures=2)
    for_all_sizes(lambda a, n: a + n, [(np.arange(4, dtype="i1"), n) for n in (3, 5, 100, -7)])


def test_ints_that_do_not_fit_raise_as_numpy():
    f = frameloom.compile(lambda a, n: a + n, backend=BACKEND)
    a = np.arange(4, dtype="i1")
    for n in (3, 5, 100):
        np.testing.assert_array_equal(f(a, n), a + n)
    with pytest.raises(OverflowError):
        f(a, 1000)
    assert f(2, 2**70) == 2**70 + 2


def test_large_ints_stay_exact():
    f = frameloom.compile(lambda n, m: (n * m, n - m, n / m), backend=BACKEND)
    for n, m in ((3, 5), (4, 7), (2**40, 2**41), (2**62, 3), (-(2**60), 2**60), (10**30, 7)):
        assert f(n, m) == (n * m, n - m, n / m)
    with pytest.raises(ZeroDivisionError):
        f(3, 0)


def test_division_of_floats():
    f = frameloom.compile(lambda x, y: x / y, backend=BACKEND)
    for x, y in ((1.0, 2.0), (3.0, 7.0), (0.0, -3.0), (1e308, 1e-10), (5.0, 9.0)):
        assert f(x, y) == x / y
    for x, y in ((1.0, 0.0), (float("nan"), 0.0), (float("inf"), -0.0)):
        with pytest.raises(ZeroDivisionError):
            f(x, y)


def test_branches_on_sizes():
    def f(a):
        if a.shape[0] > 10:
            return a + 1
        return a - 1

    for_all_sizes(f, [(ramp(n),) for n in (5, 7, 9, 100, 4, 30, 11, 10)], captures=3)


def zero_where(a):
    b = a.copy()
    b[b > 3] = 0
    b[a < 1] = 2.5
    return b


def test_indexing_with_arrays():
    for_all_sizes(zero_where, [(ramp(n),) for n in SIZES])
    for_all_sizes(zero_where, [(ramp(*s),) for s in SQUARE])
    for_all_sizes(lambda a, i: a[i], [(ramp(n), np.arange(n)[::-1].copy() - n // 2) for n in SIZES])
    for_all_sizes(lambda a, i: a[i] + 1, [(ramp(n), np.array([[0, -1], [1, 2]])) for n in SIZES])
    f = frameloom.compile(lambda a, i: a[i], backend=BACKEND)
    for n in SIZES:
        np.testing.assert_array_equal(f(ramp(n), np.array([0, -n])), ramp(n)[[0, -n]])
    for bad in (3, -4):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3"):
            f(ramp(3), np.array([0, bad]))


def test_sizes_that_are_divided():
    even = [(ramp(n),) for n in (6, 8, 10, 12, 40)]
    for_all_sizes(lambda a: a.reshape(-1, 2), even)
    for_all_sizes(lambda a: a.reshape(-1, 2).sum(axis=1) + 1, even)
    for_all_sizes(lambda a: a[::2] + a[1::2], even)
    for_all_sizes(lambda a: a[: len(a) // 2 * 2].reshape(-1, 2), [(ramp(n),) for n in (6, 9, 10, 13, 40)])
    for_all_sizes(lambda a: a.reshape(-1, 4) if len(a) % 4 == 0 else a, [(ramp(n),) for n in (8, 12, 10, 16, 41, 40)], captures=3)

    def pool(a):
        n, m = a.shape
        return a.reshape(n // 2, 2, m // 2, 2).max(axis=(1, 3))

    for_all_sizes(pool, [(ramp(n, m),) for n, m in ((6, 8), (8, 4), (10, 6), (12, 12), (40, 20))])
    for_all_sizes(lambda a: a.reshape(a.shape[0] // 2, 2, -1), [(ramp(n, m),) for n, m in ((6, 8), (8, 5), (10, 7), (40, 20))])
    f = frameloom.compile(lambda a: a.reshape(-1, 2), backend=BACKEND)
    for n in (6, 8, 10):
        f(ramp(n))
    with pytest.raises(ValueError, match="cannot reshape array of size 7"):
        f(ramp(7))


def test_loops_over_sizes_are_specialised():
    def f(a):
        out = a * 0
        for i in range(len(a)):
            out = out + a[i]
        return out

    for_all_sizes(f, [(ramp(n),) for n in (2, 3, 4, 5)], captures=4)


def test_dynamic_true_and_false():
    f = for_all_sizes(lambda a: a + 1, [(ramp(n),) for n in SIZES], captures=1, dynamic=True)
    assert len(f._report()["entries"]) == 1
    f = for_all_sizes(lambda a, n: a * n, [(ramp(n), n) for n in SIZES], captures=1, dynamic=True)
    f = for_all_sizes(lambda a: a + 1, [(ramp(n),) for n in SIZES], captures=6, dynamic=False)
    assert len(f._report()["entries"]) == 6


def test_arrays_that_are_not_arguments():
    box = {"a": ramp(4)}
    f = frameloom.compile(lambda: box["a"] * 2, backend=BACKEND)
    for n in SIZES:
        box["a"] = ramp(n)
        np.testing.assert_array_equal(f(), box["a"] * 2)
    assert f._report()["captures"] == 2


def test_strides_that_follow_from_nothing():
    for_all_sizes(lambda a: a + 1, [(ramp(n, m)[:, :3],) for n, m in ((5, 6), (7, 9), (6, 12), (9, 7), (3, 4))], captures=3)
    for_all_sizes(lambda a: a.reshape(-1), [(ramp(n, m)[:, :3],) for n, m in ((5, 6), (7, 9), (6, 12), (9, 7))], captures=3)
    for_all_sizes(lambda a: a + 1, [(ramp(n, 6)[:, ::2],) for n in SIZES])


def test_guards_are_described():
    f = for_all_sizes(lambda a, b: a[1:] + b, [(ramp(n), ramp(n - 1)) for n in SIZES if n > 3], captures=4)
    guards = [g[2] for e in f._report()["entries"] for g in e["guards"]]
    assert any(g.startswith("a: float32[?]") for g in guards)
    assert any("a.shape[0]" in g for g in guards)


def test_changes_are_logged(capfd):
    with frameloom.config.patch(logs="dynamic,recompiles"):
        f = frameloom.compile(lambda a: a + 1, backend=BACKEND)
        f(ramp(4)), f(ramp(6))
    text = capfd.readouterr().err
    assert "a was float32[4] and is float32[6]" in text
    assert "a.shape[0] was 4 and is 6" in text and "mark_dynamic(a, 0)" in text


def test_marks():
    a = ramp(6, 4)
    frameloom.mark_dynamic(a, 0)
    f = frameloom.compile(lambda a: a * 2, backend=BACKEND)
    for b in (a, ramp(9, 4), ramp(20, 4), ramp(2, 4)):
        np.testing.assert_array_equal(f(b), b * 2)
    assert f._report()["captures"] == 1
    f(ramp(9, 5))
    assert f._report()["captures"] == 2
    frameloom.mark_dynamic(a, [0, -1], min=3, max=8)
    f = frameloom.compile(lambda a: a * 2, backend=BACKEND)
    f(a), f(ramp(3, 8)), f(ramp(8, 3))
    assert f._report()["captures"] == 1
    f(ramp(9, 9))
    assert f._report()["captures"] == 2
    f = frameloom.compile(lambda a: a * 2, backend=BACKEND, dynamic=False)
    f(a), f(ramp(3, 8))
    assert f._report()["captures"] == 2


def test_static_marks():
    f = frameloom.compile(lambda a: a * 2, backend=BACKEND, dynamic=True)
    for n in (3, 4, 5):
        a = ramp(n, n + 2)
        frameloom.mark_static(a, 1)
        f(a)
    assert f._report()["captures"] == 3


def test_marks_are_checked_and_die_with_their_array():
    a = ramp(3)
    for wrong in ([1], 3, "x"):
        with pytest.raises(TypeError):
            frameloom.mark_dynamic(wrong, 0)
    for axis in (1, -2, [0, 1]):
        with pytest.raises(ValueError):
            frameloom.mark_dynamic(a, axis)
    with pytest.raises(ValueError):
        frameloom.mark_dynamic(a, 0, min=5, max=4)
    with pytest.raises(TypeError):
        frameloom.mark_static(None)
    for _ in range(1000):
        frameloom.mark_dynamic(ramp(3), 0)


@pytest.mark.parametrize("dynamic", [True, None])
def test_a_range_that_was_empty_at_first(dynamic):
    def rows(a, n):
        return list(range(n)), [a * i for i in range(n)]

    def guarded(a, n):
        if n > len(a):
            return None
        return tuple(range(n)), [i for i in reversed(range(n))], a + n

    for function in (rows, guarded):
        compiled = frameloom.compile(function, dynamic=dynamic, backend=BACKEND)
        for size, n in [(1, 0), (1, 5), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1)]:
            assert_same(compiled(ramp(size), n), function(ramp(size), n))


WHOLE = {
    "shifts": lambda a, k: (a[:len(a) >> 1], len(a) << 2, -len(a) >> 1, k >> 1, a * (k << 3), 1 << 3),
    "masks": lambda a, k: (len(a) & 7, -len(a) & 3, 15 & k, a * (k & 1), a[len(a) & 3:]),
    "divmod": lambda a, k: (divmod(len(a), 3), divmod(-k, 4), divmod(len(a), k), a * divmod(len(a), 2)[1]),
    "sums": lambda a, k: (sum(a.shape) * a, sum([len(a), k, 3]), sum((k, 1), 2), sum([k], len(a))),
    "square_roots": lambda a, k: (a / math.sqrt(len(a)), math.sqrt(k), math.sqrt(len(a) * k) + 1),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers(name):
    function, compiled = WHOLE[name], frameloom.compile(WHOLE[name])
    for n, k in [(9, 5), (12, 6), (17, 9), (30, 14), (64, 33), (11, 100)]:
        a = np.linspace(1, 2, n)
        want, got = function(a, k), compiled(a, k)
        assert repr(want) == repr(got)
    assert len(compiled._report()["entries"]) == 2


def test_whole_numbers_that_cannot_stay_symbols():
    def function(a, k):
        return a * (k & 5), sum([len(a), 0.1, 0.2, 0.3]), k << len(a), a * (k | 1)

    compiled = frameloom.compile(function)
    for n, k in [(4, 5), (6, 6), (9, 9)]:
        assert repr(compiled(np.ones(n), k)) == repr(function(np.ones(n), k))
    for compiled, wrong in [(frameloom.compile(lambda k: 1 >> k), -1), (frameloom.compile(lambda k: divmod(3, k)), 0),
                            (frameloom.compile(lambda k: math.sqrt(k)), -4)]:
        for k in (2, 3, 4):
            compiled(k)
        with pytest.raises((ValueError, ZeroDivisionError)):
            compiled(wrong)


def test_the_limits_warning_names_the_line_of_the_call():
    compiled = frameloom.compile(lambda a: a + 1, dynamic=False)
    with pytest.warns(RuntimeWarning, match="recompile_limit") as seen:
        for n in range(2, 14):
            compiled(np.ones(n))
    assert len(seen) == 1 and seen[0].filename == __file__
