"""Each operator between objects of every builtin type, also such that capture knows by their type alone.

What is raised is caught inside of the compiled function, where nothing runs it again.
"""

import array
import datetime
import decimal
import fractions

import pytest

import frameloom

OPERATORS = "+ - * / // % & | ^ << >> @ == != < <= is in".split() + ["not in", "**"]
VALUES = [
    bytearray(b"ab"), memoryview(b"ab"), b"%d", [1], (1,), {"a": 1}, {1}, frozenset({1}), range(3), slice(1), None, ..., NotImplemented, int, list,
    datetime.date(2020, 1, 1), datetime.timedelta(1), decimal.Decimal(2), fractions.Fraction(1, 2), array.array("i", [1, 2]), 2, 1.5, 1j, True, "a", "%s",
    {}.keys(), {"a": 1}.items(), {1: 2}.values(), len, datetime, object(), pytest.raises, "a".join,
]  # fmt: skip


def shown(value):
    return type(value).__name__, str(value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("operator", OPERATORS)
def test_as_plainly(operator, inplace):
    if inplace and operator in ("==", "!=", "<", "<=", "is", "in", "not in"):
        pytest.skip("no such statement")
    line = f"l {operator}= r; x = l" if inplace else f"x = l {operator} r"
    space, different = {}, []
    exec(f"def function(l, r):\n    try:\n        {line}\n    except Exception as error:\n        return type(error).__name__\n    return x\n", space)
    for left in VALUES:
        if inplace and isinstance(left, (bytearray, list, set, dict, array.array, type({}.keys()))):
            continue  # which it changes
        for right in VALUES:
            frameloom.reset()
            compiled, want = frameloom.compile(space["function"], backend="interpret"), shown(space["function"](left, right))
            got = [shown(compiled(left, right)) for _ in range(2)]
            if got != [want, want]:
                different.append(f"{left!r} and {right!r}: {got} instead of {want}")
    assert not different, "\n".join(different)
