"""Large arguments that a function writes: straight into them where that is exact, else by way of a copy."""

import warnings

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


def divide(a, b):
    a /= b
    return a


def subtract_out(a, b):
    return np.subtract(a, b, out=a)


def nested(a, b):
    return scale(a, b), 1


REPORTED = [increment, scale, divide, subtract_out, add_out, nested, twice, both]


def details(function, arguments, state, action):
    import traceback

    globals().pop("__warningregistry__", None)
    calls, where, result = [], None, None
    with warnings.catch_warnings(record=True) as caught, np.errstate(all=state, under="ignore",
                                                                     call=lambda *a: calls.append(a)):
        warnings.simplefilter(action)
        try:
            result = function(*arguments)
        except (RuntimeWarning, FloatingPointError) as error:
            where = repr(error), [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__)][1:]
    seen = [(str(w.message), w.category, w.filename, w.lineno) for w in caught]
    return seen, where, calls, repr(result), repr(arguments), sorted(map(str, globals().get("__warningregistry__", {})))


@pytest.mark.parametrize("state,action", [("warn", "always"), ("warn", "default"), ("warn", "error"), ("raise", "always"),
                                          ("call", "always"), ("ignore", "always")])
@pytest.mark.parametrize("function", REPORTED, ids=lambda f: f.__name__)
def test_reports_after_writing(function, state, action):
    """One ufunc that writes an argument reports after it has written, from the user's line."""
    compiled = frameloom.compile(function)
    for dtype in ("float32", "float64"):
        big = float(np.finfo(dtype).max)
        for values in ((big, 2.0), (np.inf, np.inf), (0.0, 0.0), (1.0, 0.0), (1.5, 2.0), (-np.inf, 0.0), (-big, big)):
            mine, plain = ([np.full(20001, 1.5, dtype), np.full(20001, 2, dtype)] for _ in range(2))
            for arrays in (mine, plain):
                arrays[0][12345], arrays[1][12345] = values
            assert details(compiled, mine, state, action) == details(function, plain, state, action)
            for g, w in zip(mine, plain):
                np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("size", [16385, 20000, 20001, 33333])
@pytest.mark.parametrize("function", [increment, scale, divide, subtract_out], ids=lambda f: f.__name__)
def test_no_report_without_cause(function, size, capfd):
    """Nothing but the elements raises flags: no masked lane, no tail."""
    compiled = frameloom.compile(function, fullgraph=True)
    for dtype in ("float32", "float64"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                compiled(np.full(size, 1.5, dtype), np.full(size, 2.5, dtype))
                compiled(np.full((size // 11, 11), 1.5, dtype), np.full((1, 11), 2.5, dtype))
