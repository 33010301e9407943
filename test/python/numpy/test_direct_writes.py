"""Large arguments that a function writes: straight into them where that is exact, else by way of a copy."""

import sys
import threading
import warnings

import numpy as np
import pytest
from alarms import SOON, WHERE_THE_LOCK_IS_GIVEN, Alarm
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


# ---- loops that write parts of an argument ----


def each_row(a, b):
    for i in range(1, len(a)):
        a[i] = a[i - 1] * 0.5 + b[i]
    return a


def each_column(a, b):
    for j in range(a.shape[1] - 1, 0, -1):
        a[:, j] -= b[:, j] * a[:, j - 1]


def some_rows(a, b):
    for i in range(40, 70):
        a[i] = b[i] / b[i - 1]


def shrinking(a, b):
    for k in range(len(a) - 1):
        a[k + 1:, k] *= 0.5
        a[k, k + 1:] += b[k, k]


def rows_and_columns(a, b):
    for i in range(20, 60):
        for j in range(30, 90):
            a[i, j] = 0.25 * (a[i - 1, j] + a[i, j - 1]) + b[i, j]


def both_by_rows(a, b):
    for i in range(len(a)):
        a[i] += b[i]
        b[i] = a[i] * 2


def rows_exchanged(a, b):
    for i in range(len(a)):
        old = a[i].copy()
        a[i] = b[i]
        b[i] = old


def first_and_loop(a, b):
    total = a.sum()
    a[0] = 1
    for i in range(3, len(a)):
        a[i] = a[i - 3] + b[i]
    a[1] = 2
    return total, a.sum()


def from_the_old(a, b):
    old = a.copy()
    for i in range(len(a) - 1):
        a[i] = old[i + 1] + a[i]
    return old


def backwards(a, b):
    for i in range(len(a) - 1, -1, -3):
        a[i] = b[i] - a[0]


LOOPS = [each_row, each_column, some_rows, shrinking, rows_and_columns, both_by_rows, rows_exchanged, first_and_loop,
         from_the_old, backwards]


@pytest.mark.parametrize("layout", ["c", "fortran", "rows", "mixed"])
@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_loops_like_numpy(function, layout):
    compiled = frameloom.compile(function)
    for dtype in ("float64", "float32"):
        for state in ("ignore", "warn"):
            mine, plain = arrays(dtype, layout), arrays(dtype, layout)
            for pair in (mine, plain):
                pair[1] += 1
            with np.errstate(all=state):
                want, got = outcome(function, plain), outcome(compiled, mine)
            assert repr(got[1:]) == repr(want[1:])
            assert (got[0] is None) == (want[0] is None)
            for g, w in zip([got[0], *mine], [want[0], *plain]):
                if w is None:
                    continue
                assert isinstance(w, tuple) or (g is mine[0]) == (w is plain[0])
                for x, y in zip(*(v if isinstance(v, tuple) else (v,) for v in (g, w))):
                    np.testing.assert_allclose(x, y, rtol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_loops_that_report(function):
    """What was written before something has to be reported is put back: the plain function starts from what was there."""
    compiled = frameloom.compile(function)
    for state in ("warn", "raise", "ignore"):
        for row, column in ((50, 60), (129, 129), (3, 2)):
            mine, plain = ([np.full((130, 130), 1.5), np.full((130, 130), 2.5)] for _ in range(2))
            for a, b in (mine, plain):
                b[row, column] = np.inf
                a[row, column] = -np.inf
                b[row - 1, column] = np.inf
                b[row - 2, column] = 0
            with np.errstate(all=state):
                want, got = details(function, plain, state, "always"), details(compiled, mine, state, "always")
            assert got == want
            for g, w in zip(mine, plain):
                np.testing.assert_array_equal(g, w)


def test_loops_of_arguments_that_share_memory():
    for function in LOOPS:
        compiled = frameloom.compile(function)
        mine, plain = np.arange(260.0 * 200).reshape(260, 200) + 1, np.arange(260.0 * 200).reshape(260, 200) + 1
        for x, f in ((mine, compiled), (plain, function)):
            with np.errstate(all="ignore"):
                f(x[:130], x[130:])
                f(x[:130], x[65:195])
                f(x[:130], x[:130])
        np.testing.assert_allclose(mine, plain, rtol=1e-12)


def test_an_interrupted_loop_has_written_nothing():
    class Stop(Exception):
        pass

    def stop():
        raise Stop

    def long(a, n):
        for _ in range(n):
            for i in range(1, 130):
                a[i] = a[i - 1] * 0.5 + 1

    compiled = frameloom.compile(long)
    a = np.ones((130, 130))
    for n in (40, 50, 60):
        compiled(a, n)
    before = a.copy()
    with Alarm(stop) as alarm, pytest.raises(Stop):
        alarm.ring()
        compiled(a, 1 << 30)
    np.testing.assert_array_equal(a, before)


def test_filters_change_while_it_writes():
    """Whether warnings are shown is asked before: the plain function cannot run on what has been written."""
    def f(a, b):
        np.add(a, b + 1 / np.exp(b * 1000) * np.sin(np.sin(np.sin(b))), out=a)

    compiled, b, interval = frameloom.compile(f), np.ones(1_000_000), sys.getswitchinterval()

    def shows(begins):
        begins.acquire()
        warnings.resetwarnings()

    with warnings.catch_warnings(record=True), frameloom.config.patch(leave_slower=False):
        compiled(np.ones(b.size), b)  # what is compiled at first is compiled for long
        for switch in (WHERE_THE_LOCK_IS_GIVEN, SOON) * 4:  # while the kernel runs, or before it
            warnings.simplefilter("ignore")
            a, begins = np.ones(b.size), threading.Semaphore(0)
            thread = threading.Thread(target=shows, args=[begins])
            thread.start()
            sys.setswitchinterval(switch)
            try:
                begins.release()
                compiled(a, b)
            finally:
                sys.setswitchinterval(interval)
            thread.join()
            np.testing.assert_array_equal(a, 2)


def product(c, a, b):
    np.matmul(a, b, out=c)


def product_given(c, a, b):
    return np.matmul(a, b, c)


def exponential(c, a, b):
    np.exp(a, out=c)


def root_of_sum(c, a, b):  # the sum raises too, before anything is written
    np.sqrt(a + b, out=c)


def written_first(c, a, b):
    c[3] = 7
    np.log(a, out=c)


def old_values(c, a, b):
    old = c[0].copy()
    np.log(a, out=c)
    return old


def read_between(c, a, b):
    total = c.sum()
    np.matmul(a, b, out=c)
    return total


def given_twice(c, a, b):
    np.exp(a, out=c)
    np.matmul(a, b, out=c)


def changed_behind(c, a, b):
    np.log(a, out=c)
    c += 1


def into_a_part(c, a, b):
    np.log(a[:50], out=c[:50])


def where_some(c, a, b):
    np.log(a, out=c, where=b > 0)


def of_itself(c, a, b):
    np.log(c, out=c)


def assigned(c, a, b):
    c[:] = a @ b


GIVEN = [product, product_given, exponential, root_of_sum, written_first, old_values, read_between, given_twice, changed_behind, into_a_part,
         where_some, of_itself, assigned]


@pytest.mark.parametrize("action", ["always", "error", "ignore"])
@pytest.mark.parametrize("state", ["warn", "raise", "ignore"])
@pytest.mark.parametrize("function", GIVEN, ids=lambda f: f.__name__)
def test_results_into_out(function, state, action):
    """Where the plain function runs behind a run that has written, nothing shows that it was there."""
    compiled, n = frameloom.compile(function), 64  # no rest of a tile: with that BLAS raises what no element does
    rng = np.random.default_rng(1)
    for special in (None, np.inf, -1.0, 1e200, None):
        a, b = rng.uniform(.5, 2, (2, n, n))
        if special is not None:
            a[5, 7], b[7, 3] = special, -np.inf if special == np.inf else special
        layouts = [lambda: np.full((n, n), .25), lambda: np.full((n, n), .25).T[::-1], lambda: np.full((2 * n, n), .25)[::2]]
        for make in layouts:
            mine, plain = make(), make()
            with np.errstate(all=state):
                want, got = details(function, (plain, a, b), state, action), details(compiled, (mine, a, b), state, action)
            assert got[:3] == want[:3], "warnings, what is raised and from where, calls"
            np.testing.assert_allclose(mine, plain, rtol=1e-12)
        shared = a.copy()
        with np.errstate(all="ignore"):  # the result is one of the operands
            expected, given = shared.copy(), shared.copy()
            function(expected, expected, b)
            compiled(given, given, b)
        np.testing.assert_allclose(given, expected, rtol=1e-12)
