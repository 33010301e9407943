"""Flags of every public function of NumPy: what it refuses, whether by Python's rules or a C int's, is refused with its words."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import frameloom

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "fuzz"))

import numpy_table  # noqa: E402

A, B = np.arange(12.0).reshape(3, 4) % 5, np.arange(4) % 3
VALUES = ["True", "0", "2", "2**31", "2**64", "None", "np.bool_(True)", "np.bool_(False)", "np.int8(1)", "1.0", "''", "[1]", "np.array(1)", "np.array([True])"]
ARGUMENTS = ["a", "a, b", "a, a", "b", "b, b", "a, 1", "b, 1", "a, a, a", "a > 1", "a, a > 1", "[a, a]", "3", "3, 4"]
FLAGS = set(numpy_table.KINDS["flag"].split())
UNSAID = {"np.empty_like", "np.show_config"}  # whose results are any bytes


def function(text):
    return eval(f"lambda a, b: {text}", {"np": np})


def seen(call):
    try:
        result = call(A.copy(), B.copy())
        return type(result), repr(result)
    except Exception as error:
        return type(error), str(error)


def calls():
    """{function and flag: a call of it that NumPy takes, with @ for the flag}"""
    found = {}
    for name, thing in numpy_table.functions().items():
        flags = [p for p, _, _ in numpy_table.parameters(thing) or [] if p in FLAGS and name not in UNSAID]
        found |= {f"{name} {flag}": [f"{name}({given}, {flag}=@)" for given in ARGUMENTS] for flag in flags}
    for name, thing in numpy_table.ufuncs().items():
        if (thing.nin, thing.nout) == (2, 1):
            found[f"{name}.reduce keepdims"] = [f"{name}.reduce({given}, keepdims=@)" for given in ("a", "b")]
        found[f"{name} subok"] = [f"{name}({', '.join('ab'[:thing.nin])}, subok=@)", f"{name}({', '.join('bb'[:thing.nin])}, subok=@)"]
    for name in numpy_table.methods():
        flags = [p for p, _, _ in numpy_table.parameters(getattr(np.ndarray, name)) or [] if p in FLAGS]
        found |= {f"{name} {flag}": [f"a.{name}({given}{flag}=@)" for given in ("", "1, ", "'f4', ", "b, ")] for flag in flags}
    return {name: text for name, texts in found.items()
            if (text := next((t for t in texts if not issubclass(seen(function(t.replace("@", "True")))[0], Exception)), None))}


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    CALLS = calls()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_flags(call):
    for value in VALUES:
        program = function(CALLS[call].replace("@", value))
        compiled = frameloom.compile(program, backend="interpret")
        want = seen(program)
        for _ in range(2):
            assert seen(compiled) == want, CALLS[call].replace("@", value)


def test_there_are_flags():
    assert len(CALLS) > 150
