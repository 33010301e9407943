"""What else of NumPy shows outside of values: shared memory, views that warn, special methods, named results."""

import warnings

import numpy as np
import pytest

import frameloom
from compare import assert_same, check, outcome

A = np.arange(24.0).reshape(4, 6)

SHARING = """np.may_share_memory(a, b) | np.shares_memory(a, b) | np.shares_memory(a[::2], a[1::2]) | np.may_share_memory(a[::2], a[1::2])
np.shares_memory(a, a.copy()) | np.shares_memory(a, a.T) | np.shares_memory(a[:2], a[2:]) | np.may_share_memory(a[:, 0], a[:, 1]) | np.shares_memory(a[:, 0], a[:, 1])
np.shares_memory(a + 1, b + 1) | np.shares_memory(a.ravel(), a) | np.shares_memory(a.T.ravel(), a) | np.shares_memory(a[::-1, 2], a[3]) | np.may_share_memory(a[0], a[0, 5:])
np.shares_memory(a[:0], a) | np.shares_memory(a, a, max_work=1) | np.may_share_memory(a.reshape(2, 12)[0], a[2:])""".replace("\n", " | ")


@pytest.mark.parametrize("expression", SHARING.split(" | "))
def test_sharing(expression):
    program = eval(f"lambda a, b: {expression}", {"np": np})
    check(frameloom.compile(program, fullgraph=True), program, [A.copy(), A.copy()])


LIMITS = ["0", "-1", "-2", "-3", "1", "True", "False", "None", "2**63 - 1", "2**63", "-2**63 - 1", "1.0", "'1'", "()", "1j", "np.int8(2)", "np.int64(1)",
          "np.bool_(True)", "np.array(1)", "np.float64(1)", "...", "object", "n", "type('I', (int,), {})(1)", "a[0, 0]", "a.size"]


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_of_the_work_of_sharing(limit):
    """What is no such limit is refused whichever arrays are asked about, and although nothing would have to be looked at."""
    for name in ("may_share_memory", "shares_memory"):
        for arrays in ("a, b", "a, a", "a[::2], a[1::2]", "a, a + 1", "a[:0], b", "a + 1, b + 1"):
            for call in (f"np.{name}({arrays}, {limit})", f"np.{name}({arrays}, max_work={limit})"):
                program = eval(f"lambda a, b, n: {call}", {"np": np})
                check(frameloom.compile(program), program, [A.copy(), A.copy(), 2])


def test_sharing_of_arguments_is_not_remembered():
    compiled = frameloom.compile(lambda a, b: np.shares_memory(a, b))
    block = np.arange(20.0)
    for a, b in ((block[:5], block[10:15]), (block[:5], block[4:9]), (block[:5], block[5:10]), (block[:5], block[:5])):
        assert compiled(a, b) == np.shares_memory(a, b)


def test_what_broadcast_arrays_gives_warns_when_written():
    program = lambda a, b: np.broadcast_arrays(a, b)  # noqa: E731
    compiled = frameloom.compile(program, fullgraph=True)
    for function in (program, compiled, compiled):
        a, b = np.arange(3.0), np.arange(2.0)[:, None]
        one, other = function(a, b)
        assert one.base is not None and np.shares_memory(one, a) and one.strides == (0, 8)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            one[0, 0] = 7
            other[1][...] = 3
        assert len(seen) == 2 and a[0] == 7 and b[1, 0] == 3
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    with pytest.raises(ValueError):
        compiled(frozen, np.ones((2, 1)))[0][0, 0] = 1


def test_writes_into_it_inside_warn_too():
    def program(a, b):
        x, y = np.broadcast_arrays(a, b)
        x[0] = 1
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(frameloom.compile(program), program, [np.arange(3.0), np.ones((2, 1))])


SLOTS = """a.__truediv__(b) | a.__rsub__(2) | a.__pow__(2) | a.__neg__() | a.__lt__(b) | a.__getitem__(1) | a.__matmul__(b.T)
a.__abs__() | a.__add__(1.5) | a.__and__ is None | a.__mod__(3) | a[0].__len__() | a.__eq__(b)""".replace("\n", " | ")


@pytest.mark.parametrize("expression", SLOTS.split(" | "))
def test_special_methods(expression):
    program = eval(f"lambda a, b: {expression}", {"np": np})
    check(frameloom.compile(program), program, [A.copy(), A + 1])


def test_special_methods_in_place():
    def program(a):
        a.__iadd__(1)
        a.__setitem__((0, slice(None)), 5)
        return a

    compiled = frameloom.compile(program, fullgraph=True)
    one, other = A.copy(), A.copy()
    assert_same(compiled(one), program(other))
    assert_same(one, other)


@pytest.mark.parametrize("name", ["eigh", "qr", "svd", "slogdet"])
def test_named_results(name):
    m = A[:, :4] @ A[:, :4].T + np.eye(4)
    program = eval(f"lambda m: np.linalg.{name}(m)", {"np": np})
    compiled = frameloom.compile(program, fullgraph=True)
    for _ in range(2):
        got, want = compiled(m), program(m)
        assert type(got) is type(want) and got._fields == want._fields
        for g, w in zip(got, want):
            assert_same(g, w, ulps=1000, scale=100)
    fields = frameloom.compile(eval(f"lambda m: np.linalg.{name}(m).{want._fields[0]} + 1", {"np": np}), fullgraph=True)
    assert_same(fields(m), want[0] + 1, ulps=1000, scale=100)


def test_exceptions_of_the_library():
    def program(a):
        return np.linalg.cholesky(a) + np.linalg.eigh(a)[1]

    check(frameloom.compile(program), program, [np.zeros((2, 3))])
    check(frameloom.compile(program), program, [-np.eye(3)])


def test_index_out_of_range_in_a_host_call():
    program = lambda i, a: np.unravel_index(i, (2, 3))[0] + np.ravel_multi_index((i % 2, i % 3), (2, 3)) + a  # noqa: E731
    compiled = frameloom.compile(program, fullgraph=True)
    check(compiled, program, [np.arange(6), np.ones(6)])
    check(compiled, program, [np.arange(6) + 1, np.ones(6)])
    check(compiled, program, [np.arange(6), np.ones(6)])


def test_results_that_are_arguments_stay_them():
    """np.histogram gives the edges that it was given; a host call would give a copy."""
    program = lambda v, edges: np.histogram(v, bins=edges)[1]  # noqa: E731
    compiled = frameloom.compile(program)
    v, edges = np.arange(9.0), np.array([0.0, 4.0, 9.0])
    for _ in range(2):
        assert (compiled(v, edges) is edges) == (program(v, edges) is edges)


MORE = """np.lib.stride_tricks.sliding_window_view(v, 3) | np.lib.stride_tricks.sliding_window_view(a, (2, 3)).sum((2, 3)) | np.lib.stride_tricks.sliding_window_view(a, 2, axis=0).max(-1)
np.lib.stride_tricks.sliding_window_view(a[::-1, ::2], 2, axis=1) * 2 | np.lib.stride_tricks.sliding_window_view(v, 3)[::2, 1] | np.lib.stride_tricks.sliding_window_view(a.T, (2, 2), (0, 1))
np.lib.stride_tricks.sliding_window_view(v, (2, 2), (0, 0)) | np.lib.stride_tricks.sliding_window_view(v, 9) | a.item(3) | a.item(1, 2) | a.item(-1) | v.item(2) | a.view() | a.view()[0]
round(a[0, 0], 2) | round(v.sum(), 1) | np.repeat(a, [1, 2, 0, 2], axis=0) | np.repeat(v, [0, 1, 2, 0, 0, 1, 1, 3]) | np.repeat(a[:2, :2], [1, 2, 3, 4]) | np.repeat(a, [1, 2], axis=0)
np.bincount(i, minlength=10) | np.bincount(i, v[:6], minlength=10) | np.bincount(i, minlength=2) | np.bincount(i) | np.add.reduceat(v, [0, 3]) | np.maximum.reduceat(a, [0, 2], axis=1)
np.linspace(0, a[0, 0], 5) | np.linspace(v, v + 1, 4, axis=1) | np.linspace(v[0], 3, 5, retstep=True) | np.logspace(0, v[0], 3) | np.geomspace(1, v[0] + 100, 3) | np.pad(v, 2, mode='linear_ramp')""".replace("\n", " | ")


@pytest.mark.parametrize("expression", MORE.split(" | "))
def test_more(expression):
    program = eval(f"lambda a, v, i: {expression}", {"np": np})
    compiled = frameloom.compile(program)
    args = lambda: [np.sin(A), np.cos(np.arange(8.0)), np.array([1, 0, 4, 1, 5, 1])]  # noqa: E731
    check(compiled, program, args(), ulps=64)
    if outcome(program, args())[1] is not None:
        return
    got, want = compiled(*args()), program(*args())
    if isinstance(want, np.ndarray):
        assert got.flags.writeable == want.flags.writeable and (got.base is None) == (want.base is None)


def test_windows_see_writes():
    def program(v):
        w = np.lib.stride_tricks.sliding_window_view(v, 2)
        before = w.sum()
        v[1] = 10
        return w, before, w.sum(axis=1)

    one, other = np.arange(4.0), np.arange(4.0)
    compiled = frameloom.compile(program, fullgraph=True)
    assert_same(compiled(one), program(other))
    assert np.shares_memory(compiled(one)[0], one)


def test_writes_into_windows_raise():
    def program(v):
        w = np.lib.stride_tricks.sliding_window_view(v, 2)
        w[0] = 1
        return w

    check(frameloom.compile(program), program, [np.arange(4.0)])


def ranges(n, x, r):
    d = np.zeros((n + 1, 4))
    d[:, 0] = range(n + 1)
    d[0] = range(4)
    return d, x + r, np.maximum(x, range(0, 6, 2)), np.sum(range(5)), np.array(range(3)), x @ range(3)


def test_ranges_are_arrays_of_their_items():
    compiled = frameloom.compile(ranges, fullgraph=True)
    for r in (range(3), range(1, 4), range(9, 0, -3)):
        for dtype in (np.float32, np.int8):
            x = np.arange(3).astype(dtype)
            assert_same(ranges(5, x, r), compiled(5, x, r))
