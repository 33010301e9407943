"""reduce, accumulate, outer, at and reduceat of every ufunc that NumPy has, of operands of several dtypes: results and refusals."""


import numpy as np
import pytest
from compare import described, outcome

import frameloom

UFUNCS = sorted({name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)})
CALLS = ("reduce(a)", "reduce(a, axis=1)", "reduce(a, axis=None, keepdims=True)", "accumulate(a)", "accumulate(a, axis=-1)", "outer(a, b)",
         "outer(a, 2)", "outer(a[0], b, dtype=None)", "reduceat(a, [0, 1])", "at(a, ([0, 1, 0], [1, 1, 1]), b[0, 0])", "at(a, 0)")
DTYPES = ("?", "i2", "i8", "f8", "c16")


def digits(result):
    """So few that functions which are a bit off the library's have the same."""
    return np.array2string(result, precision=5) if isinstance(result, (np.ndarray, np.generic)) else repr(result)


def told_in_digits(function, dtype):
    a = np.array([[1, 3, 0], [2, 2, 5]]).astype(dtype)
    b = np.array([[2, 1, 1], [0, 3, 1]]).astype(dtype)
    result, error, warned = outcome(function, (a, b))
    shown = type(result), getattr(result, "dtype", None), getattr(result, "strides", None), digits(result)
    return shown if error is None else (type(error), str(error)), described(a), warned


@pytest.mark.parametrize("name", UFUNCS)
def test_methods(name):
    wrong = []
    for call in CALLS:
        function = eval(f"lambda a, b: np.{name}.{call}", {"np": np})
        for dtype in DTYPES:
            frameloom.reset()
            compiled = frameloom.compile(function, backend="interpret")
            want, got = told_in_digits(function, dtype), told_in_digits(compiled, dtype)
            if want != got:
                wrong.append(f"np.{name}.{call} of {dtype}: {got} instead of {want}")
    assert not wrong, "\n".join(wrong)


NUMBERS = ("3", "-1", "2**63 - 1", "2**70", "1.5", "np.int8(-3)")
OPTIONS = ("", ", dtype='f8'", ", dtype='i4'", ", dtype=bool", ", casting='no'", ", casting='unsafe', dtype='u1'", ", out=np.zeros((2, 3), 'f4')")


@pytest.mark.parametrize("name", [name for name in UFUNCS if getattr(np, name).nin == 2])
def test_numbers_and_options(name):
    wrong = []
    for number in NUMBERS:
        for option in OPTIONS:
            function = eval(f"lambda a, b: np.{name}(a, {number}{option})", {"np": np})
            for dtype in ("i2", "u8"):
                frameloom.reset()
                want, got = told_in_digits(function, dtype), told_in_digits(frameloom.compile(function, backend="interpret"), dtype)
                if want != got:
                    wrong.append(f"np.{name}(a, {number}{option}) of {dtype}: {got} instead of {want}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["logical_or", "logical_and", "add", "multiply", "maximum", "bitwise_or", "equal", "greater"])
def test_types_that_a_reduction_is_asked_for(name):
    different = []
    for dtype in ("np.uint64", "bool", "float", "np.int8", "'O'", "None", "complex", "np.float16", "'S3'", "'V3'"):
        for keepdims in (True, False):
            text = f"np.{name}.reduce(a, axis=0, dtype={dtype}, keepdims={keepdims})"
            space = {"np": np}
            exec(f"def function(a):\n    try:\n        return {text}\n    except Exception as error:\n        return type(error).__name__\n", space)
            for given in (np.array(1, "u4"), np.array(True), np.ones(3), np.ones(3, "u4"), np.zeros(3, bool), np.ones(0)):
                compiled = frameloom.compile(space["function"], backend="interpret")
                want, got = space["function"](given), [compiled(given) for _ in range(2)]
                if any(type(one) is not type(want) or repr(one) != repr(want) for one in got):
                    different.append(f"{text} of {given!r}: {got} instead of {want!r}")
    assert not different, "\n".join(different)
