"""Floating-point warnings are NumPy's own, as np.errstate asks."""

import warnings

import numpy as np
import pytest

import frameloom


@pytest.fixture(params=["interpret", "loom"])
def compiled(request):
    return lambda fn, **kwargs: frameloom.compile(fn, backend=request.param, **kwargs)


def caught(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = call()
        except FloatingPointError as e:
            return "raised", str(e)
    return [str(w.message) for w in seen], result


def same(f, fn, *args):
    (seen, got), (expected, want) = caught(lambda: f(*args)), caught(lambda: fn(*args))
    assert seen == expected
    if isinstance(want, str):
        assert got == want
    else:
        np.testing.assert_allclose(got, want, rtol=1e-15 if want.dtype.kind == "f" else 0)


CASES = [
    (lambda a, b: a / b, np.array([1.0, 0.0, -1.0]), np.array([0.0, 0.0, 2.0])),
    (lambda a, b: np.log(a) + b, np.array([0.0, -1.0, 1.0]), np.ones(3)),
    (lambda a, b: np.exp(a) * b, np.array([1000.0, 1.0]), np.ones(2)),
    (lambda a, b: np.sqrt(a - b), np.array([1.0]), np.array([2.0])),
    (lambda a, b: a * b, np.array([1e300, 1e-300]), np.array([1e300, 1e-300])),
    (lambda a, b: a // b, np.array([1, 5]), np.array([0, 2])),
    (lambda a, b: a % b, np.array([1, 5]), np.array([0, 2])),
    (lambda a, b: a // b, np.array([-128], np.int8), np.array([-1], np.int8)),
    (lambda a, b: a - b, np.array([np.inf]), np.array([np.inf])),
    (lambda a, b: (a * b).sum(), np.array([1e308, 1e308]), np.array([1.0, 1.0])),
    (lambda a, b: a + b, np.array([np.nan, np.inf]), np.array([1.0, 1.0])),
]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("how", ["warn", "ignore", "raise"])
def test_like_numpy(compiled, case, how):
    fn, a, b = CASES[case]
    f = compiled(fn)
    for _ in range(2):
        with np.errstate(all=how):
            same(f, fn, a, b)
    with np.errstate(all="ignore", divide="warn"):
        same(f, fn, a, b)


def test_call_and_log(compiled):
    f = compiled(lambda a: 1.0 / a)
    seen = []

    class Log:
        def write(self, message):
            seen.append(message)

    x = np.array([0.0])
    with np.errstate(divide="call", call=lambda kind, flag: seen.append((kind, flag))):
        f(x)
    with np.errstate(divide="log", call=Log()):
        f(x)
    assert seen[0] == ("divide by zero", 1) and "divide by zero" in seen[1]


def test_the_warning_has_the_users_line(compiled):
    f = compiled(lambda a: 1.0 / a)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f(np.zeros(3))
    assert seen[0].filename == __file__
    assert seen[0].lineno == f.__code__.co_firstlineno


def test_nothing_is_written_before_a_warning(compiled):
    def g(a, b):
        a += 1
        a /= b
        return a

    f = compiled(g)
    a, c = np.arange(3.0), np.arange(3.0)
    b = np.array([1.0, 0.0, 2.0])
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError):
            f(a, b)
        with pytest.raises(FloatingPointError):
            g(c, b)
    np.testing.assert_array_equal(a, c)


def test_flags_do_not_leak(compiled):
    """A flag that a kernel raises is not seen by NumPy's next operation, nor the other way round."""
    f = compiled(lambda a: a * 2)
    with np.errstate(all="ignore"):
        np.array([1.0]) / 0.0
        f(np.array([1e308]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(np.array([1.0]))
        np.array([1.0]) * 2


def test_context_of_each_thread(compiled):
    import threading

    f = compiled(lambda a: 1.0 / a)
    x, results = np.array([0.0]), []

    def work(how):
        with np.errstate(divide=how):
            results.append((how, caught(lambda: f(x))))

    threads = [threading.Thread(target=work, args=(how,)) for how in ("ignore", "raise")]
    for t in threads:
        t.start()
        t.join()
    outcome = dict(results)
    assert outcome["ignore"][0] == [] and outcome["raise"][0] == "raised"
