"""Large arguments that a function writes: straight into them where that is exact, else by way of a copy."""

import numpy as np
import pytest
from compare import outcome

import frameloom


def increment(a, b):
    a += 1


def scale(a, b):
    a *= b
    return a


def assign(a, b):
    a[:] = a * 2 + b


def add_out(a, b):
    np.add(b, b, out=a)


def reversed_sum(a, b):
    a += a[::-1]


def transposed_sum(a, b):
    a += a.T if a.ndim > 1 else a[::-1]


def centred(a, b):
    a -= a.max()


def keeps_old(a, b):
    old = a.copy()
    a += b
    return old


def keeps_sum(a, b):
    total = a.sum()
    a += b
    return total, a.sum()


def both(a, b):
    a += b
    b += a


def exchange(a, b):
    c = a.copy()
    a[...] = b
    b[...] = c


def inner(a, b):
    a[1:-1] = a[2:] + a[:-2] - b[1:-1]


def last(a, b):
    a[..., 1:] = b[..., :-1]


def steps(a, b):
    a[::2] = b[::2]
    a[1::2] -= b[1::2]


def several(a, b):
    a += b
    b *= 2
    return a + b, a


def twice(a, b):
    a += 1
    a *= 2
    a -= b


def shifted(a, b):
    a[1:] = a[:-1]


FUNCTIONS = [increment, scale, assign, add_out, reversed_sum, transposed_sum, centred, keeps_old, keeps_sum, both,
             exchange, inner, last, steps, several, twice, shifted]


def arrays(dtype, layout):
    values = np.random.default_rng(1)
    made = [values.integers(0, 9, (130, 130)).astype(dtype) for _ in range(2)]
    if layout == "fortran":
        return [np.asfortranarray(x) for x in made]
    if layout == "rows":
        return [np.zeros((130, 200), dtype)[:, 30:160] + x for x in made]
    if layout == "strided":
        wide = [np.zeros((130, 260), dtype) for _ in made]
        for w, x in zip(wide, made):
            w[:, ::2] = x
        return [w[:, ::2] for w in wide]
    if layout == "line":
        return [x.reshape(-1) for x in made]
    if layout == "mixed":
        return [made[0], np.asfortranarray(made[1])]
    return made


@pytest.mark.parametrize("layout", ["c", "fortran", "rows", "strided", "line", "mixed"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_like_numpy(function, layout):
    for dtype in ("float32", "int64", "uint8"):
        compiled = frameloom.compile(function)
        for state in ("ignore", "warn"):
            mine, plain = arrays(dtype, layout), arrays(dtype, layout)
            for _ in range(2):
                with np.errstate(all=state):
                    want = outcome(function, plain)
                    got = outcome(compiled, mine)
                assert repr(got[1:]) == repr(want[1:])
                for g, w in zip([got[0], *mine], [want[0], *plain]):
                    np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("function", [scale, assign, add_out, increment], ids=lambda f: f.__name__)
def test_nothing_changes_before_a_warning(function):
    """A floating-point exception that is to be reported makes the plain function run on what was there."""
    compiled = frameloom.compile(function)
    for state in ("raise", "warn", "ignore"):
        mine, plain = ([np.full(20000, 3e38, np.float32), np.full(20000, 2, np.float32)] for _ in range(2))
        mine[1][777] = plain[1][777] = np.inf
        mine[0][778] = plain[0][778] = -np.inf
        for _ in range(2):
            with np.errstate(all=state):
                want = outcome(function, plain)
                got = outcome(compiled, mine)
            assert repr(got) == repr(want)
            for g, w in zip(mine, plain):
                np.testing.assert_array_equal(g, w)


def test_arguments_that_share_memory():
    compiled = frameloom.compile(assign)
    mine, plain = np.arange(40000), np.arange(40000)
    with np.errstate(all="ignore"):
        for x, f in ((mine, compiled), (plain, assign)):
            f(x[:20000], x[20000:])
            f(x[:20000], x[10000:30000])
            f(x[:20000], x[:20000])
            f(x[20000:], x[:20000][::-1])
    np.testing.assert_array_equal(mine, plain)
