"""Operators, truth, length, items and conversions of objects of many types, and of pairs of them: the interpreter's answers.

By hand, with a seed and the number of programs: `python test/python/language/test_operators.py SEED COUNT`, with `support` and `test/fuzz` on the path.
"""

import collections
import decimal
import fractions
import functools
import random
import sys
import types

import numpy as np
import pytest
from seen import compared

import frameloom

SPACE = {"np": np, "collections": collections, "decimal": decimal, "fractions": fractions, "functools": functools, "types": types}
OBJECTS = [
    "a", "a[0]", "a[:0]", "a[0, 0]", "a[0, 0] > 1", "a.flat", "a.flags", "a.dtype", "a.shape", "a.T", "a.sum", "np.float32", "np.add", "np.int8(3)",
    "np.str_('a')", "np.datetime64('2020-01-01')", "np.void(b'ab')", "np.zeros(2, [('a', 'i4')])", "np.ma.array([1, 2], mask=[0, 1])", "np.matrix([[1, 2]])",
    "np.ndindex(2)", "np.ndenumerate(a)", "np.finfo(float)", "np", "slice(1, 2)", "range(3)", "len", "(lambda: 1)", "'x'.join", "functools.partial(len)",
    "iter([1, 2])", "reversed([1, 2])", "enumerate([1])", "zip([1], [2])", "map(abs, [1])", "(x for x in (1, 2))", "{1: 2}.keys()", "{1: 2}.items()",
    "{1: 2}.values()", "{1, 2}", "frozenset([1])", "'ab'", "b'ab'", "bytearray(b'a')", "memoryview(b'ab')", "None", "...", "NotImplemented", "3", "2**70",
    "2.5", "1j", "[1, 2]", "(1, 2)", "()", "{'a': 1}", "float", "list[int]", "(int | str)", "collections.deque([1])", "collections.Counter('a')",
    "collections.OrderedDict(a=1)", "fractions.Fraction(1, 2)", "decimal.Decimal(1)", "types.MappingProxyType({1: 2})", "types.SimpleNamespace(a=1)", "ValueError(1)",
]  # fmt: skip
OF_ONE = [
    "not X", "bool(X)", "len(X)", "X[0]", "X[0:1]", "-X", "+X", "~X", "abs(X)", "int(X)", "float(X)", "complex(X)", "round(X)", "list(X)", "tuple(X)", "sorted(X)",
    "next(iter(X))", "callable(X)", "type(X)", "X()", "sum(X)", "max(X)", "any(X)", "1 in X", "[*X]", "{**X}", "dict(X)", "set(X)", "bytes(X)", "X == X", "X is X",
    "X and 1", "X or 1", "1 if X else 2", "np.asarray(X)", "np.size(X)", "np.shape(X)", "X[...]", "X[None]", "X['a']", "repr(X)", "X @ X", "X | X", "divmod(X, 2)",
    "X ** 2", "X.__len__()", "X.__bool__()", "X.__eq__(X)", "X.__iter__()", "reversed(X)", "enumerate(X)", "X.__getitem__(0)", "hasattr(X, '__array__')",
]  # fmt: skip
OF_TWO = ["X == Y", "X != Y", "X < Y", "X >= Y", "X in Y", "X + Y", "X - Y", "X * Y", "X / Y", "X % Y", "X @ Y", "X << Y", "X ^ Y", "X | Y", "X is Y", "X[Y]", "X and Y",
          "isinstance(X, type(Y))"]


def programs(seed, count):
    chance = random.Random(seed)
    for _ in range(count):
        x, y = (f"({o})" for o in chance.sample(OBJECTS, 2))
        if chance.random() < 0.5:
            yield chance.choice(OF_ONE).replace("X", x)
        else:
            yield chance.choice(OF_TWO).replace("X", x).replace("Y", y)


def difference(source):
    function = eval(f"lambda a: {source}", SPACE)
    return compared(function, frameloom.compile(function), lambda: [np.arange(6.0).reshape(2, 3)])[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_operators(seed):
    for source in programs(seed, 120):
        assert not (rows := difference(source)), (source, rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", ["a.flat != 0", "0 == a.flat", "a.flat == a.T.flat", "a.flat[a.flat > 2]", "a.flat == None", "a.flat < [1, 2, 3, 4, 5, 6]", "3 in a.flat",
                                    "a.flat >= np.arange(6)", "np.arange(6) != a.flat", "a.flat == np.arange(4)", "not a.flat", "a.flat == 1j"])
def test_flat_is_compared_by_elements(source):
    assert not difference(source)


if __name__ == "__main__":
    for number, source in enumerate(programs(int(sys.argv[1]), int(sys.argv[2]))):
        if rows := difference(source):
            print(number, source, rows, flush=True)
