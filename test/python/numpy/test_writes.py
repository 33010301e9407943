"""Writes through arrays and views: what the caller sees afterwards, and what comes back, is what NumPy gives."""

import numpy as np
import pytest

import frameloom
from compare import assert_same, outcome


def program1(a):
    a += 1
    return a


def program2(a):
    a[0] = 5
    return a.sum()


def program3(a):
    b = a[1:]
    b *= 2
    return (b, a)


def program4(a):
    b = a.T
    b[0] = 7
    return b


def program5(a):
    a[1:3, ::2] = [[1, 2], [3, 4]]
    return None


def program6(a):
    b = a.copy()
    b[0] = 1
    c = b[1]
    c[...] = 9
    b += c
    return (b, c, a)


def program7(a):
    a[a > 3] = 0
    return a


def program8(a):
    a[::-1] += a
    return a


def program9(a):
    a[1:] = a[:-1]
    return a


def program10(a):
    b = a.reshape(-1)
    b[3] = 100
    return b


def program11(a):
    np.add(a, 1, out=a)
    return a


def program12(a):
    np.sqrt(a, out=a, where=a > 2)
    return a


def program13(a):
    a.fill(3)
    return a


def program14(a):
    for i in range(3):
        a[i, i] = i * 10
        return a


def program15(a):
    a[..., None][0] = 3
    return a


def program16(a):
    a[0], a[1] = (a[1], a[0])
    return a


def program17(a):
    a.T[...] = a.T[::-1]
    return a


def program18(a):
    r = a[0]
    s = r.copy()
    r[:] = 0
    return (s, r)


def program19(a):
    a -= a.mean(0)
    a /= a.std(0) + 1
    return a


def program21(a):
    b = a
    b += 1
    return b is a


def program22(a):
    a.sort(axis=1)
    return a


def program24(a):
    a[0] = 1.5
    a[0, 0] = np.float32(2)
    a[1] = True
    return a


def program25(a):
    d = a[:, 1:3]
    e = d[1:]
    e[0, 0] = -1
    d += 1
    return (d, e, a)


def program26(a):
    a[:] = 0
    a[0] = np.arange(4)
    return a


def program27(a):
    x = np.zeros((2, 2))
    y = x
    y[0] = 1
    return (x, y)


def program28(a):
    x = np.zeros(3)
    return ([x, x], (x[1:], x))


def program29(a):
    return (a, a[1:], a[1:][0], a.T.T)


def program30(a):
    return (a.copy(), a.copy(), a + 0)


def program32(a):
    a[2:0:-1, 1] = 5
    return a


def program33(a):
    a.flat[::5] = 1
    return a


def program34(a):
    a[0] = a[1] + a[2]
    a[1] = a[0]
    return a


def program35(a):
    a[1, 2] += 3
    return a[1, 2]


def program36(a):
    a *= a
    a **= 2
    a -= 1
    a //= 2
    a %= 3
    return a


def program37(a):
    a[0] = a[1] + 1
    a[2, ::2] = 4
    a[2, 1::2] = a[0, 1::2]
    a[0] *= 2
    return None


def program38(a):
    a[:2] = 1
    a[1:] += a[:2]
    a[0, 1] = 9
    return a[1]


def program39(a):
    b = a.T
    b[1] = 2
    a[::-1][0] = 3
    a[1, 1:1] = 5
    return b


PROGRAMS = [f for name, f in sorted(globals().items()) if name.startswith("program")]


def bases():
    yield np.arange(12.0).reshape(3, 4)
    yield np.asfortranarray(np.arange(12.0).reshape(3, 4))
    yield np.arange(12.0).reshape(3, 4)[:, ::-1]
    yield np.arange(24).reshape(6, 4)[::2]
    yield np.arange(12, dtype=np.float32).reshape(3, 4)
    yield np.arange(12, dtype=np.uint8).reshape(3, 4)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program):
    for mine, plain in zip(bases(), bases()):
        compiled = frameloom.compile(program, fullgraph=True, backend="interpret")
        with np.errstate(all="ignore"):
            want, want_error, _ = outcome(program, [plain])
            got, error, _ = outcome(compiled, [mine])
        if want_error is not None:
            assert isinstance(error, frameloom.GraphBreak)
            continue
        assert error is None, error
        assert_same(got, want)
        assert_same(mine, plain)


def test_several_slices_of_a_large_array():
    """Only what is written is computed and copied back; slices that share elements are seen in order."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        writes = []
        for _ in range(rng.integers(2, 7)):
            low, step = rng.integers(0, 30, 2), rng.choice([1, 1, 2, -1], 2)
            high = low + rng.integers(0, 9, 2)
            index = tuple(slice(int(x), int(y)) if z > 0 else slice(int(y), int(x) or None, int(z))
                          for x, y, z in zip(low, high, step))
            writes.append((index if rng.random() < 0.8 else int(low[0]), int(rng.integers(1, 5))))

        def program(a, b):
            for index, factor in writes:
                a[index] = a[index] * factor + b[index]
            return a[3] + 1

        a, b = rng.standard_normal((2, 40, 40))
        mine, plain = a.copy(), a.copy()
        assert_same(frameloom.compile(program, fullgraph=True)(mine, b), program(plain, b))
        np.testing.assert_array_equal(mine, plain)


def add_in_place(a, b):
    a += b
    return a


def exchange(a, b):
    a[:] = b
    b[:] = a + 1
    return a, b


@pytest.mark.parametrize("function", [add_in_place, exchange])
@pytest.mark.parametrize("split", [
    lambda x: (x[:10], x[10:]), lambda x: (x[:10], x[5:15]), lambda x: (x, x), lambda x: (x[::2], x[1::2]),
    lambda x: (x[:10], x[:10][::-1]),
])
def test_overlap(function, split):
    mine, plain = np.arange(20.0), np.arange(20.0)
    compiled = frameloom.compile(function, backend="interpret")
    for _ in range(2):
        compiled(*split(mine))
        function(*split(plain))
        np.testing.assert_array_equal(mine, plain)


def test_distinct_arguments_then_the_same():
    compiled = frameloom.compile(exchange, backend="interpret")
    compiled(np.arange(4.0), np.ones(4))
    compiled(np.arange(4.0), np.ones(4))
    mine, plain = np.arange(4.0), np.arange(4.0)
    compiled(mine, mine)
    exchange(plain, plain)
    np.testing.assert_array_equal(mine, plain)


def test_fresh_results_have_storage_of_their_own():
    compiled = frameloom.compile(lambda a: (a.copy(), a.copy(), a + 0, a), backend="interpret", fullgraph=True)
    a = np.arange(3.0)
    x, y, z, same = compiled(a)
    assert same is a
    for one in (x, y, z):
        assert not np.shares_memory(one, a)
    assert not np.shares_memory(x, y)


def test_read_only():
    a = np.arange(3.0)
    a.flags.writeable = False

    def program(a):
        a[0] = 1

    with pytest.raises(ValueError, match="read-only"):
        frameloom.compile(program, backend="interpret")(a)


def test_assignments_that_change_nothing():
    """They raise for a read-only array all the same."""
    a = np.broadcast_to(np.float32(1.5), (4,))

    def program(a):
        a[::-1] = a[::-1]

    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            frameloom.compile(program)(a)


def test_an_element_is_no_place_for_an_array():
    def program(a, b):
        a[-1] = b

    compiled = frameloom.compile(program)
    for b in (np.ones(1), np.ones((1, 1)), np.ones(()), np.float64(2), [3.0]):
        mine, plain = np.zeros(2), np.zeros(2)
        assert repr(outcome(compiled, (mine, b))[:2]) == repr(outcome(program, (plain, b))[:2])
        np.testing.assert_array_equal(mine, plain)


def stored(way):
    def program(x):
        a, n = np.zeros(3, np.int8), x.sum()
        return way(a, n)

    return program


STORES = [
    lambda a, n: np.array([n, 1], dtype=np.int8), lambda a, n: np.array(n, dtype=np.int8), lambda a, n: a.fill(n),
    lambda a, n: np.full(3, n, np.int8), lambda a, n: a.__setitem__(1, n), lambda a, n: a.__setitem__(slice(1, 3), n),
    lambda a, n: a.__setitem__(slice(1, 3), [n, n]), lambda a, n: np.pad(a, 1, constant_values=n),
    lambda a, n: np.sum(a, initial=n, dtype=np.int8), lambda a, n: np.array([[n], [1]], dtype=np.int16),
    lambda a, n: np.full_like(a, n), lambda a, n: np.where(a == 0, n, a), lambda a, n: np.append(a, n),
]


@pytest.mark.parametrize("way", range(len(STORES)))
@pytest.mark.parametrize("x", [[100, 39], [100.5, 39.0], [np.nan, 1.0], [-129.5, 1.0], [1e30, 1.0]])
def test_numbers_that_do_not_fit(way, x):
    """NumPy stores a number in an array of signed integers as a Python int, which raises; other conversions wrap."""
    program = stored(STORES[way])
    compiled, x = frameloom.compile(program), np.array(x)
    for values in (x, x / 50 if x[0] == 100 else x, x):
        for _ in range(2):
            assert repr(outcome(compiled, (values,))) == repr(outcome(program, (values,)))


@pytest.mark.parametrize("number", [139, 139.5, np.int64(139), np.float64(-129.5), 100])
@pytest.mark.parametrize("made", [lambda n: [n, n], lambda n: (1, n), lambda n: [n, np.int8(1)]])
def test_known_numbers_of_a_list_that_do_not_fit(number, made):
    def program(a, n):
        a[1:3] = made(n)

    mine, plain = np.zeros(3, np.int8), np.zeros(3, np.int8)
    compiled = frameloom.compile(program)
    for _ in range(2):
        assert repr(outcome(compiled, (mine, number))) == repr(outcome(program, (plain, number)))
        np.testing.assert_array_equal(mine, plain)
