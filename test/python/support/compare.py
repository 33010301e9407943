"""What tests compare: the values that a function gives, and all else that a call of it does.

`check` runs a function plainly and compiled; `check_calls` does so for several calls of one compiled function. Where a test
needs more than these, `outcome` runs a function and `assert_same` compares two values within a bound, or `told` gives all that a
call does as one value, to the last bit, and two of those are compared by `==`.

Asserts in here are no test module's, so that pytest does not show their operands: each has a message.
"""

import collections
import contextlib
import re
import threading
import types
import warnings
from itertools import islice

import numpy as np

import frameloom

# ---- two values -------------------------------------------------------------------------------------------------------------


def share_of(dtype, ulps):
    """`ulps`: a number, or a function that gives it for a dtype."""
    return (ulps(dtype) if callable(ulps) else ulps) * np.finfo(dtype).eps


def assert_same(got, want, ulps=16, scale=None, rtol=None, atol=0):
    """Equal types, dtypes, shapes, strides, all the way down; all but floats of arrays and of NumPy's scalars exact.

    Floats are within `ulps` of the larger of themselves and `scale`, and exact where `ulps` is 0. With `rtol` they are within
    that share of themselves and `atol` instead, and so are Python's own floats and complex numbers.
    """
    assert type(got) is type(want), f"{type(got)} instead of {type(want)}: {got!r} instead of {want!r}"
    bounds = {"ulps": ulps, "scale": scale, "rtol": rtol, "atol": atol}
    if isinstance(want, (tuple, list, collections.deque)):
        assert len(got) == len(want), f"{len(got)} items instead of {len(want)}: {got!r} instead of {want!r}"
        for g, w in zip(got, want):
            assert_same(g, w, **bounds)
        assert getattr(got, "maxlen", None) == getattr(want, "maxlen", None), "the greatest length of a deque"
    elif isinstance(want, dict):
        assert list(got) == list(want), f"keys {list(got)} instead of {list(want)}"
        for key in want:
            assert_same(got[key], want[key], **bounds)
        assert getattr(got, "default_factory", None) is getattr(want, "default_factory", None), "what a dictionary makes"
        if type(want) is collections.OrderedDict:
            assert_same(vars(got), vars(want), **bounds)
    elif isinstance(want, BaseException):
        assert_same(got.args, want.args, **bounds)
    elif isinstance(want, (np.ndarray, np.generic)):
        same_elements(got, want, **bounds)
    elif hasattr(want, "__next__"):
        assert_same(list(islice(got, 100)), list(islice(want, 100)), **bounds)
    elif isinstance(want, (float, complex)) and rtol is not None:
        same_numbers(np.asarray(got), np.asarray(want), **bounds)
    else:
        assert got == want or (got != got and want != want), f"{got!r} instead of {want!r}"


def same_elements(got, want, **bounds):
    """What assert_same asks of arrays and of NumPy's scalars."""
    assert got.dtype == want.dtype, f"{got.dtype} instead of {want.dtype}"
    assert got.shape == want.shape, f"{got.shape} instead of {want.shape}"
    if isinstance(want, np.ndarray) and want.size > 0:
        wanted = [s for s, n in zip(want.strides, want.shape) if n > 1]
        assert [s for s, n in zip(got.strides, got.shape) if n > 1] == wanted, f"strides {got.strides}, not {want.strides}"
        assert got.flags.writeable == want.flags.writeable, f"writeable: {got.flags.writeable}, not {want.flags.writeable}"
    if isinstance(want, np.ma.MaskedArray):
        np.testing.assert_array_equal(np.ma.getmaskarray(got), np.ma.getmaskarray(want))
        same_elements(got.compressed(), want.compressed(), **bounds)
    elif want.dtype.kind in "OV" and isinstance(want, np.ndarray):
        assert_same(got.tolist(), want.tolist(), **bounds)
    else:
        same_numbers(got, want, **bounds)


def same_numbers(got, want, ulps, scale, rtol, atol):
    if want.dtype.kind == "c" and rtol is not None:
        same_numbers(got.real, want.real, ulps, scale, rtol, atol)
        same_numbers(got.imag, want.imag, ulps, scale, rtol, atol)
        return
    if want.dtype.kind != "f" or (rtol is None and ulps == 0):
        np.testing.assert_array_equal(got, want)
        return
    got64, want64 = np.asarray(got, np.float64), np.asarray(want, np.float64)
    finite = np.isfinite(want64)
    np.testing.assert_array_equal(got64[~finite], want64[~finite])
    with np.errstate(all="ignore"):
        if rtol is None:
            limit = share_of(want.dtype, ulps) * np.maximum(np.abs(want64[finite]), scale or 0)
        else:
            limit = rtol * np.abs(want64[finite]) + atol
        limit += np.finfo(want.dtype).tiny
        error = np.abs(got64[finite] - want64[finite])
    worst = np.argmax(error / limit) if error.size else None
    assert worst is None or error[worst] <= limit[worst], (
        f"{got64[finite][worst]!r} instead of {want64[finite][worst]!r}: error {error[worst]:.3g} over {limit[worst]:.3g}")


# ---- one call ---------------------------------------------------------------------------------------------------------------


def outcome(function, arguments):
    """Runs a function: (result or None, exception or None, texts of the warnings in order)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = function(*arguments), None
        except Exception as exception:  # whatever NumPy raises must come out of the compiled function too
            result, error = None, exception
    return result, error, [(w.category, str(w.message)) for w in caught]


def described(value, depth=0):
    """A value in terms that `==` compares to the last bit: types, dtypes, shapes, strides, flags, elements, order.

    Iterators are consumed, a hundred items of them. Classes and functions are told by their names, so that two runs of one
    text are alike; other objects by what they show of themselves.
    """
    kind = type(value).__qualname__
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)):
        return kind, value.__qualname__
    if depth > 8:
        return kind, "..."
    if isinstance(value, np.ndarray):
        flags = value.flags.writeable, value.flags.aligned
        elements = described(value.tolist(), depth + 1) if value.dtype.kind in "OV" else (repr(value.tolist()), value.tobytes())
        return kind, str(value.dtype), value.dtype.metadata, value.shape, value.strides, flags, elements, masked(value)
    if isinstance(value, np.generic):
        return kind, str(value.dtype), repr(value), value.tobytes()
    if isinstance(value, (tuple, list, collections.deque)):
        return kind, [described(item, depth + 1) for item in value], getattr(value, "maxlen", None)
    if isinstance(value, dict):
        items = [(described(k, depth + 1), described(v, depth + 1)) for k, v in value.items()]
        return kind, items, described(getattr(value, "default_factory", None), depth + 1)
    if isinstance(value, (set, frozenset)):
        return kind, sorted((described(item, depth + 1) for item in value), key=str)
    if isinstance(value, BaseException):
        return "raised", kind, without_addresses(value)
    if hasattr(value, "__next__"):
        return kind, [described(item, depth + 1) for item in islice(value, 100)]
    return kind, without_addresses(repr(value))


def masked(value):
    return np.ma.getmaskarray(value).tolist() if isinstance(value, np.ma.MaskedArray) else None


def without_addresses(thing):
    return re.sub(r"0x[0-9a-f]+", "0x", str(thing))


def told(function, *arguments, after=True):
    """All that a call does, described: what it gives or raises, its warnings in order, its arguments `after` it."""
    result, error, warned = outcome(function, arguments)
    return described(result if error is None else error), warned, after and [described(a) for a in arguments]


@contextlib.contextmanager
def naming(case):
    """What fails in here says of which case it is."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{case}: {error}") from error


def copied(arguments):
    """Copies of arrays, which lie as the arrays do, and of lists; the rest as it is."""
    copy = {np.ndarray: lambda a: a.copy(order="K"), list: list}
    return [copy.get(type(a), lambda a: a)(a) for a in arguments]


# ---- plain and compiled -----------------------------------------------------------------------------------------------------


def assert_same_call(got, want, ulps=16, scale=None, rtol=None, atol=0):
    """Two outcomes: the same exception with the same text, or the same value; and the same warnings."""
    (got, error, warned), (want, want_error, want_warned) = got, want
    assert type(error) is type(want_error), f"raised {error!r} instead of {want_error!r}"
    assert str(error) == str(want_error), f"raised {error!r} instead of {want_error!r}"
    assert warned == want_warned, f"warned {warned} instead of {want_warned}"
    if want_error is None:
        assert_same(got, want, ulps, scale, rtol, atol)


def reruns(compiled):
    """How many calls have run again as plain Python, to report floating-point exceptions."""
    return sum(entry["again"] for entry in compiled._report()["entries"]) if hasattr(compiled, "_report") else 0


def assert_no_more_reruns(compiled, before, want):
    """A call that raises and warns of nothing plainly has nothing to run again for."""
    assert want[1] is not None or want[2] or reruns(compiled) == before, "ran again as plain Python, in vain"


def check(compiled, plain, arguments, ulps=16, scale=None):
    """Runs both twice (the second call takes the compiled path) and compares everything that can be seen."""
    want, before = outcome(plain, arguments), reruns(compiled)
    for _ in range(2):
        assert_same_call(outcome(compiled, arguments), want, ulps, scale)
    assert_no_more_reruns(compiled, before, want)


def check_calls(function, *calls, versions=None, raises=False, ulps=16, scale=None, rtol=None, atol=0, **options):
    """One compiled function, called with each tuple of arguments in turn: what it gives and warns of, what it leaves of its
    arguments and, if it `raises`, the exception. At most `versions` are made for all of the calls. `options` are those of
    compile(). Gives what was compiled.
    """
    compiled = frameloom.compile(function, **options)
    for arguments in calls:
        own, plain = copied(arguments), copied(arguments)
        want, before = outcome(function, plain), reruns(compiled)
        if want[1] is not None and not raises:
            raise want[1]
        assert_same_call(outcome(compiled, own), want, ulps, scale, rtol, atol)
        assert_no_more_reruns(compiled, before, want)
        assert_same(own, plain, ulps, scale, rtol, atol)
    report = compiled._report()
    assert versions is None or report["captures"] <= versions, [entry["guards"] for entry in report["entries"]]
    return compiled


# ---- threads ----------------------------------------------------------------------------------------------------------------


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
