"""Comparison of a compiled function with plain NumPy: types, dtypes, shapes, layout, values, warnings, exceptions."""

import threading
import warnings

import numpy as np


def outcome(function, arguments):
    """Runs a function: (result or None, exception or None, texts of the warnings in order)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = function(*arguments), None
        except Exception as exception:  # whatever NumPy raises must come out of the compiled function too
            result, error = None, exception
    return result, error, [(w.category, str(w.message)) for w in caught]


def tolerance(dtype, ulps):
    """`ulps`: a number, or a function that gives it for a dtype."""
    return (ulps(dtype) if callable(ulps) else ulps) * np.finfo(dtype).eps


def assert_same(got, want, ulps=16, scale=None):
    """Equal types, dtypes, shapes and strides; integers exact, floats within `ulps` of the largest magnitude near."""
    assert type(got) is type(want), f"{type(got)} instead of {type(want)}"
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            assert_same(g, w, ulps, scale)
        return
    if isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            assert_same(got[key], want[key], ulps, scale)
        return
    if isinstance(want, BaseException):
        assert_same(got.args, want.args, ulps, scale)
        return
    if not isinstance(want, (np.ndarray, np.generic)):
        assert got == want or (got != got and want != want)
        return
    assert got.dtype == want.dtype, f"{got.dtype} instead of {want.dtype}"
    assert got.shape == want.shape, f"{got.shape} instead of {want.shape}"
    if isinstance(want, np.ndarray) and want.size > 0:
        wanted = [s for s, n in zip(want.strides, want.shape) if n > 1]
        assert [s for s, n in zip(got.strides, got.shape) if n > 1] == wanted, f"strides {got.strides}, not {want.strides}"
        assert got.flags.writeable == want.flags.writeable
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    got64, want64 = np.asarray(got, np.float64), np.asarray(want, np.float64)
    finite = np.isfinite(want64)
    np.testing.assert_array_equal(got64[~finite], want64[~finite])
    with np.errstate(all="ignore"):
        limit = tolerance(want.dtype, ulps) * np.maximum(np.abs(want64[finite]), scale or 0) + np.finfo(want.dtype).tiny
        error = np.abs(got64[finite] - want64[finite])
    worst = np.argmax(error / limit) if error.size else None
    assert worst is None or error[worst] <= limit[worst], (
        f"{got64[finite][worst]!r} instead of {want64[finite][worst]!r}: error {error[worst]:.3g} over {limit[worst]:.3g}")


def check(compiled, plain, arguments, ulps=16, scale=None):
    """Runs both twice (the second call takes the compiled path) and compares everything that can be seen."""
    want, want_error, want_warnings = outcome(plain, arguments)
    for _ in range(2):
        got, error, seen = outcome(compiled, arguments)
        assert type(error) is type(want_error), f"raised {error!r} instead of {want_error!r}"
        if want_error is not None:
            assert str(error) == str(want_error)
            continue
        assert seen == want_warnings, f"warned {seen} instead of {want_warnings}"
        assert_same(got, want, ulps, scale)


def at_once(count, work):
    """What `work()` gives in each of so many threads that begin together."""
    barrier, results = threading.Barrier(count), [None] * count

    def call(i):
        barrier.wait()
        results[i] = work()

    threads = [threading.Thread(target=call, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
