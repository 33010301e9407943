"""Indexing with arrays: values, dtypes, memory order, views, exceptions, as NumPy has them."""

import numpy as np
import pytest

import frameloom
from compare import assert_same, check, outcome

RNG = np.random.default_rng(3)
A3 = RNG.standard_normal((4, 5, 6))
I = RNG.integers(-4, 4, (3,))
J = RNG.integers(-4, 4, (2, 3))
JF = np.asfortranarray(J)
M2 = RNG.integers(0, 2, (4, 5)).astype(bool)

READS = """
a[i] | a[i, i] | a[i, i, i] | a[:, i] | a[:, :, i] | a[i, :, i] | a[:, i, i] | a[0, i] | a[i, 0] | a[0, :, i] | a[i, 0, i]
a[None, i] | a[i, None] | a[i, None, i] | a[..., i] | a[i, ...] | a[i, ..., i] | a[i, ..., i, i] | a[i, i, ..., i]
a[j] | a[j, j] | a[:, j] | a[j, :, j] | a[jf] | a[jf, j] | a[:, jf, jf] | a[jf, :, i] | a[j.T] | a[j[::-1]] | a[::-1][j]
a[::2, j % 2] | a.T[j] | a.T[:, j] | a.T[j % 3, :, j] | a[[0, 2]] | a[[0, 2], [1, 3]] | a[[[0, 2]], 1:3] | a[[0, 1], ..., ::-1]
a[i[0]] | a[i[0], i] | a[np.array(1)] | a[np.array(1), i] | a[np.array(2), np.array(1)] | a[(i,)] | a[i[:, None], i] | a[i[:, None], i[None]]
a[i[:0]] | a[[]] | a[j.astype(np.uint8) % 4] | a[np.ix_([0, 1], [2, 3])] | a[j, 1, 2:4] | a[1:, j % 2, None] | a[-1, j, j]
a.transpose(1, 2, 0)[i, j[0]] | a.transpose(1, 2, 0)[:, :, i] | a.transpose(2, 0, 1)[i, :, i] | a[:, 1:4][:, i % 3] | np.broadcast_to(a[0], (3, 5, 6))[i % 3]
a[i][0] + a[:, i].max() | a[i].sum() | a[a.argmax(0)] | a[:, [True, False, True, False, True]] | a[i, [True, False, True, False, True][:3] and 1]
a[i[1], i[2]] | a[i[1], i[2], i[0]] | a[i[0], ...] | a[:, i[0]] | a[None, i[:1]] | a[i, i][:, None] | a.ravel()[i] | a.ravel()[j] | a.ravel()[i[0]]
np.take_along_axis(a, np.argsort(a, axis=1), axis=1) | np.take_along_axis(a, a.argmax(0)[None], 0) | np.take_along_axis(a, np.argsort(a, None), None)
np.take_along_axis(a.T, np.argsort(a.T, 0), 0)
""".replace("\n", " | ").strip(" |").split(" | ")


def arguments():
    return [A3.copy(), I.copy(), J.copy(), JF.copy("F")]


def whole(function, args):
    """Is the function captured whole? Compiled as such when it is."""
    try:
        compiled = frameloom.compile(function, fullgraph=True)
        compiled(*[np.copy(a, order="K") for a in args])
        return compiled
    except frameloom.GraphBreak:
        return None


@pytest.mark.parametrize("expression", READS)
def test_read(expression):
    function = eval(f"lambda a, i, j, jf: {expression}", {"np": np})
    compiled = frameloom.compile(function)
    check(compiled, function, arguments(), ulps=64)
    got, want = compiled(*arguments()), function(*arguments())
    if isinstance(want, np.ndarray):
        assert (got.base is None) == (want.base is None)
        assert got.flags.owndata == want.flags.owndata


def test_most_reads_are_captured():
    left = [e for e in READS if not whole(eval(f"lambda a, i, j, jf: {e}", {"np": np}), arguments())]
    # The last one is an array of a.flat, which may share the memory of a: that is left to NumPy.
    assert set(left) <= {"a[i[0]]", "a[i[1], i[2]]", "a[i[0], ...]", "a[:, i[0]]", "a[i[:0]]", "a[[]]",
                         "np.take_along_axis(a, np.argsort(a, None), None)"}, left


WRITES = """
a[i] = 1 | a[i] = 2.5 | a[i, i] = 3 | a[:, i] = 4 | a[i] += 1 | a[i, :, i] *= 2 | a[j] = a[j[::-1]] | a[:, j] = a[0, 0, :3, None] | a[jf] = 1
a[jf] = a[j] | a[i] = a[:3] | a[i] = a[:3, ::-1] | a[i, 0] = a[0, :3, :6] | a[j, j] = np.arange(36.).reshape(2, 3, 6) | a[..., i] = a[..., :3].copy()
a[m] = 0 | a[m] = a[0, 0] | a[m] = np.arange(m.sum()*6.).reshape(-1, 6) | a[a > 0] = 0 | a[a > 0] = a[a > 0] * 2 | a[a > 0] *= 2 | a[m, 0] = 1 | a[m, i[0]] = 7
a[0, m[0]] = 5 | a[i, m[0][:5].argmax()] = 5 | a[[0, 1]] = [[1], [2], [3], [4], [5]] | a[[]] = 1 | a[i] = i[:, None, None] | a[i[0]] = 3 | a[i[0], i] = 1
a[True] = 2 | a[np.ix_([0, 1], [2, 3])] = 9 | np.put(a, i, 5) | np.put(a, j, [1, 2]) | a.put(i, a[0, 0, :3]) | np.put(a, [1, 200], 3, mode='clip') | np.putmask(a, a > 0, -a) | np.putmask(a, m[:, :, None] & (a > 0), [1., 2.])
np.place(a, a > 0, [1, 2, 3]) | np.put_along_axis(a, a.argmax(0)[None], 9, 0) | np.put_along_axis(a, np.argsort(a, 1), a, 1) | a.T[i] = 1 | a[::2][i % 2] = 3 | a[1:, ::-1][i % 2, i % 3] = a[0, :3]
np.fill_diagonal(a[0], a[1, 0]) | np.copyto(a, 3, where=m[:, :, None]) | a[a != a] = 3 | a[i, i, i] = i | a[:, m.any(0)] = 2 | a[i] = np.nan | a[j] = j[..., None, None] | a[m] = [1, 2, 3, 4, 5, 6]
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.mark.parametrize("statement", WRITES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("order", ["C", "F", "local"])
def test_write(statement, dtype, order):
    scope = {"np": np}
    local = "    a = a + 1\n" if order == "local" else ""
    exec(f"def function(a, i, j, jf, m):\n{local}    {statement}\n    return a\n", scope)
    function = scope["function"]
    compiled = frameloom.compile(function)
    base = np.array((A3 * 4).astype(dtype), order="F" if order == "F" else "C")
    for _ in range(2):
        args = [[np.copy(base, order="K"), I.copy(), J.copy(), JF.copy("F"), M2.copy()] for _ in range(2)]
        want, want_error, want_warned = outcome(function, args[0])
        got, error, warned = outcome(compiled, args[1])
        assert type(error) is type(want_error) and str(error) == str(want_error)
        assert warned == want_warned
        if want_error is None:
            assert_same(got, want)
        assert_same(args[1][0], args[0][0])


def test_most_writes_are_captured():
    left = []
    for statement in WRITES:
        scope = {"np": np}
        exec(f"def function(a, i, j, jf, m):\n    {statement}\n    return a\n", scope)
        if not whole(scope["function"], [A3, I, J, JF, M2]):
            left.append(statement)
    assert len(left) <= 14, left


@pytest.mark.parametrize("expression", ["a[i]", "a[i, i]", "a[:, i, 0]", "a[0, i]", "a[i, :, i]"])
@pytest.mark.parametrize("bad", [7, -8, 100000, -2**62])
def test_index_out_of_bounds(expression, bad):
    def at(k):
        index = I.copy()
        index[k] = bad
        return [A3.copy(), index]

    function = eval(f"lambda a, i: {expression}", {"np": np})
    compiled = frameloom.compile(function)
    assert_same(compiled(A3.copy(), I.copy()), function(A3.copy(), I.copy()))
    for k in range(3):
        _, want, _ = outcome(function, at(k))
        _, got, _ = outcome(compiled, at(k))
        assert type(got) is type(want) is IndexError and str(got) == str(want)
    assert_same(compiled(A3.copy(), I.copy()), function(A3.copy(), I.copy()))


def test_bad_keys_raise_as_numpy_does():
    for expression in ("a[1.5]", "a['x']", "a[[0.5]]", "a[i, i, i, i]", "a[i, [0, 1]]", "a[m]", "a[..., ..., i]"):
        function = eval(f"lambda a, i, m: {expression}", {"np": np})
        check(frameloom.compile(function), function, [A3.copy(), I.copy(), np.ones((4, 4), bool)])


def test_last_of_equal_indices_wins():
    def scatter(a, i, v):
        a[i] = v
        return a

    compiled = frameloom.compile(scatter)
    for _ in range(20):
        a, i, v = np.zeros(5), RNG.integers(0, 5, 40), RNG.standard_normal(40)
        assert_same(compiled(a.copy(), i, v), scatter(a.copy(), i, v))
        assert_same(compiled(a.copy(), i[::-1], v[::-1]), scatter(a.copy(), i[::-1], v[::-1]))


@pytest.mark.parametrize("seed", range(40))
def test_random_keys(seed):
    rng = np.random.default_rng(seed)
    rank = rng.integers(1, 4)
    shape = tuple(int(n) for n in rng.integers(1, 5, rank))
    a = rng.integers(-9, 9, shape).astype(rng.choice([np.float32, np.int16, np.float64]))
    a = a.transpose(rng.permutation(rank))[tuple(slice(None, None, int(rng.choice([1, 1, -1]))) for _ in shape)]
    items, arrays = [], {}
    common = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 3)))
    for axis in range(rank):
        kind = rng.choice(["array", "array", "slice", "int", "none"])
        n = a.shape[axis]
        if kind == "array":
            sizes = tuple(s if rng.random() < .7 else 1 for s in common[int(rng.integers(0, len(common) + 1)):])
            index = np.asarray(rng.integers(-n, n, sizes), rng.choice([np.int64, np.int32, np.int8]))
            arrays[f"x{axis}"] = np.asfortranarray(index) if rng.random() < .3 else index
            items.append(f"x{axis}")
        elif kind == "slice":
            items.append(rng.choice([":", "::-1", f"{n // 2}:", "..."]) if "..." not in items else ":")
        elif kind == "int":
            items.append(str(rng.integers(-n, n)))
        else:
            items += ["None", ":"]
    text = ", ".join(items)
    scope = {"np": np}
    exec(f"def get(a, {', '.join(arrays)}):\n    return a[{text}]\n", scope)
    check(frameloom.compile(scope["get"]), scope["get"], [a, *arrays.values()])


@pytest.mark.parametrize("seed", range(60))
def test_random_writes(seed):
    """Also with elements that several indices name."""
    rng = np.random.default_rng(1000 + seed)
    rank = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(1, 40 if seed % 3 == 0 else 6, rank))
    a = rng.integers(-9, 9, shape).astype(rng.choice([np.float32, np.int16, np.float64, np.bool_, np.uint8]))
    a = a.transpose(rng.permutation(rank))[tuple(slice(None, None, int(rng.choice([1, 1, -1]))) for _ in shape)]
    items, arrays = [], {}
    common = tuple(int(n) for n in rng.integers(1, 9, rng.integers(0, 3)))
    for axis in range(rank):
        kind, n = rng.choice(["array", "array", "slice", "int"]), a.shape[axis]
        if kind == "array":
            sizes = tuple(s if rng.random() < .7 else 1 for s in common[int(rng.integers(0, len(common) + 1)):])
            arrays[f"x{axis}"] = np.asarray(rng.integers(-n, n, sizes), rng.choice([np.int64, np.int32, np.int8]))
            items.append(f"x{axis}")
        else:
            items.append(rng.choice([":", "::-1", f"{n // 2}:"]) if kind == "slice" else str(rng.integers(-n, n)))
    text = ", ".join(items)
    scope = {"np": np}
    names = ", ".join(["a", "v", *arrays])
    exec(f"def get({names}):\n    return a[{text}]\ndef put({names}):\n    a[{text}] = v\n    return a\n", scope)
    taken = np.asarray(scope["get"](a, None, *arrays.values()))
    sizes = tuple(n if rng.random() < .7 else 1 for n in taken.shape[int(rng.integers(0, taken.ndim + 1)):])
    value = rng.integers(-3, 4, sizes).astype(rng.choice([np.float32, np.int64]))
    compiled = frameloom.compile(scope["put"])
    for _ in range(2):
        one, other = np.copy(a, order="K"), np.copy(a, order="K")
        assert_same(compiled(one, value, *arrays.values()), scope["put"](other, value, *arrays.values()))
        assert_same(one, other)


@pytest.mark.parametrize("where", ["a[i] = v", "a[i, i] = v", "a[:, i] = v", "a[i, 0] = v"])
@pytest.mark.parametrize("bad", [6, -7, 2**40])
def test_writes_out_of_bounds_leave_the_array_alone(where, bad):
    scope = {}
    exec(f"def put(a, i, v):\n    {where}\n    return a\n", scope)
    compiled = frameloom.compile(scope["put"], fullgraph=True)
    good, wrong = np.array([1, 2]), np.array([1, bad])
    for index in (good, wrong, good):
        one, other = np.zeros((6, 6)), np.zeros((6, 6))
        want, want_error, _ = outcome(scope["put"], [one, index, 1.0])
        got, error, _ = outcome(compiled, [other, index, 1.0])
        assert type(error) is type(want_error) and str(error) == str(want_error)
        assert_same(other, one)


AT = """np.add.at(a, i, v) | np.subtract.at(a, i, v) | np.multiply.at(a, (i, i), 2) | np.maximum.at(a, i, 0) | np.add.at(a, (slice(None), i), 1)
np.negative.at(a, i) | np.add.at(a, i[::-1], v) | np.add.at(a, [0, 0, 1], 1) | np.divide.at(a, i, 0)""".replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("statement", AT)
def test_ufunc_at(statement):
    scope = {"np": np}
    exec(f"def program(a, i, v):\n    {statement}\n    return a\n", scope)
    compiled = frameloom.compile(scope["program"])
    for _ in range(2):
        one, other = np.arange(36.0).reshape(6, 6), np.arange(36.0).reshape(6, 6)
        i, v = np.array([0, 0, 3, -1, 0]), np.full((5, 6), 0.1)
        want, want_error, warned = outcome(scope["program"], [one, i, v])
        got, error, seen = outcome(compiled, [other, i, v])
        assert type(error) is type(want_error) and seen == warned
        assert_same(other, one)


@pytest.mark.parametrize("count", [1, 2, 7, 16, 19, 100])
def test_indices_of_a_constant_are_checked(count):
    def f(i):
        return np.zeros(3)[i], np.full((4, 3), 2.5)[:, i]

    compiled, indices = frameloom.compile(f), np.zeros(count, int)
    compiled(indices)
    for place in {0, count // 2, count - 1}:
        outside = indices.copy()
        outside[place] = 7
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            compiled(outside)
