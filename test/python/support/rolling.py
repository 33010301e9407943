"""What tests of loops that are captured once share."""

import collections
import copy

import numpy as np
import pytest
from compare import assert_same, assert_same_call, copied, outcome
from paths import FIRST

import frameloom

RANDOM = np.random.default_rng(FIRST)


@pytest.fixture(autouse=True)
def short():
    """Import it into a module, and loops of more than three iterations are long in each of its tests."""
    with frameloom.config.patch(unroll_limit=3):
        yield


# ---- operands ---------------------------------------------------------------------------------------------------------------


def floats(n):
    return RANDOM.random(n).tolist()


def arrays(n, shape=(4,), dtype=np.float64):
    return [(RANDOM.random(shape) * 9).astype(dtype) for _ in range(n)]


def horner(coefficients, x):
    total = np.zeros_like(x)
    for c in coefficients:
        total = total * x + c
    return total


def total(items, start):
    for x in items:
        start = start * 0.5 + x
    return start


# ---- what a report says -----------------------------------------------------------------------------------------------------


def operations(compiled, *args):
    return frameloom.explain(compiled, *args).op_count


def fates(function, *args):
    """Whether each loop is rolled, unrolled or left to Python."""
    return [loop.fate for loop in frameloom.explain(function, *args).loops]


# ---- comparisons ------------------------------------------------------------------------------------------------------------


def assert_close(got, want):
    """Sums may be regrouped in a loop."""
    assert_same(got, want, rtol=1e-9, atol=1e-12)


def for_all_sizes(function, *makers, sizes, rolled=True, raises=False, again=False):
    """The results, effects and, if it `raises`, exceptions of a function on arguments for each size; what is callable makes one.

    It is compiled anew for each size, and `again` once for all of them. `rolled`: the graph for the last size is no larger than
    the one for the first.
    """
    counts, kept = [], frameloom.compile(function)
    for n in sizes:
        args = [make(n) if callable(make) else make for make in makers]
        for compiled in [frameloom.compile(function)] + [kept] * again:
            own, plain = copied(args), copied(args)
            want = outcome(function, plain)
            if want[1] is not None and not raises:
                raise want[1]
            assert_same_call(outcome(compiled, own), want, rtol=1e-9, atol=1e-12)
            assert_close(own, plain)
        if want[1] is None and n in (sizes[0], sizes[-1]):
            counts.append(operations(frameloom.compile(function), *copied(args)))
    assert len(counts) < 2 or (counts[0] == counts[1]) == rolled, counts


def result_of(function, args):
    """The result, or the type and the text of the exception."""
    result, error, _ = outcome(function, args)
    return result if error is None else (type(error), str(error))


def shape_of(thing, known):
    """What can be seen of a result, with the identities of its arrays: equal for two results that look alike."""
    if isinstance(thing, (list, tuple, collections.deque)):
        number = None if isinstance(thing, tuple) else known.setdefault(id(thing), len(known))
        return type(thing), number, [shape_of(item, known) for item in thing]
    if isinstance(thing, dict):
        return dict, [(key, shape_of(item, known)) for key, item in thing.items()]
    if isinstance(thing, np.ndarray):
        number = known.setdefault(id(thing), len(known))
        base = None if thing.base is None else known.setdefault(id(thing.base), len(known))
        return number, thing.dtype, thing.shape, thing.strides, base, thing.flags.writeable, thing.flags.owndata
    return (type(thing),)


def alike(want, got, rtol=1e-9):
    """The same to look at: values, and which lists, arrays and bases of arrays are one object."""
    shapes = shape_of(want, {}), shape_of(got, {})
    assert shapes[0] == shapes[1], f"{shapes[1]} instead of {shapes[0]}"
    assert_same(got, want, rtol=rtol, atol=1e-12)


def items_alike(function, *args, rolled=True, calls=2):
    """Calls with the same arguments: results, what is left of the arguments, and identities; whether a loop is `rolled`."""
    compiled = frameloom.compile(function)
    for _ in range(calls):
        plain, own = copy.deepcopy(args), copy.deepcopy(args)
        want, got = result_of(function, plain), result_of(compiled, own)
        alike([want, list(plain)], [got, list(own)])
    if isinstance(want, tuple) and want and isinstance(want[0], type):
        return None
    loops = frameloom.explain(function, *copy.deepcopy(args)).loops
    if rolled is not None:
        assert ("rolled" in [loop.fate for loop in loops]) == rolled, loops
    return loops


def pattern(*things):
    """All numbers and arrays in `things` by when they are first met, with what they are worth."""
    seen, keep = {}, []

    def look(x):
        if isinstance(x, (list, tuple)):
            return [type(x).__name__] + [look(item) for item in x]
        if isinstance(x, (int, float, np.generic, np.ndarray)) and not isinstance(x, bool):
            if type(x) is int and -5 <= x <= 256:
                return x
            keep.append(x)
            return seen.setdefault(id(x), len(seen)), type(x).__name__, repr(x)
        if isinstance(x, type):
            return x.__name__
        return x if x is None or isinstance(x, (bool, str)) else type(x).__name__

    return [look(thing) for thing in things]


def identities_alike(function, *args, rolled=True, calls=2):
    """Calls with the same arguments: the patterns of results and arguments, to the last bit; whether a loop is `rolled`."""
    compiled = frameloom.compile(function)
    for _ in range(calls):
        plain, own = copy.deepcopy(args), copy.deepcopy(args)
        want, got = pattern(result_of(function, plain), *plain), pattern(result_of(compiled, own), *own)
        assert want == got, f"{got} instead of {want}"
    if rolled is not None:
        found = fates(function, *copy.deepcopy(args))
        assert ("rolled" in found) == rolled, found
