"""Calls of NumPy's public functions with two arguments that it refuses, or one alone: the exception is that of the one it looks at first."""

import itertools
import random
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import frameloom

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "fuzz"))

import numpy_table  # noqa: E402

REFUSED = {
    "axis": ["5", "-4", "'x'", "1.5", "(0, 0)", "(0, 7)", "np.array(0)"],
    "axis1": ["5", "'x'"], "axis2": ["5", "0"], "axes": ["5", "(5, 6)", "'x'"],
    "out": ["np.zeros((7, 7))", "np.zeros(())", "np.zeros((3, 4), 'i1')", "np.zeros(4, 'i1')", "'x'", "(None, None)", "READ_ONLY"],
    "dtype": ["'nothing'", "'S3'", "'V3'", "'M8[s]'", "bool"],
    "keepdims": ["2**64", "'x'"],
    "initial": ["np.nan", "'x'", "[1, 2]", "2**70", "1j"],
    "where": ["np.ones((9, 9), bool)", "np.ones((5, 3, 4), bool)", "3.5", "'x'", "np.arange(4)"],
    "casting": ["'nothing'", "'no'", "1"],
    "order": ["'Q'", "1", "'x'"], "mode": ["'nothing'", "7"], "kind": ["'nothing'", "7"], "side": ["'up'"], "method": ["'nothing'"],
    "ddof": ["'x'", "[1]"], "n": ["-1", "'x'", "1.5"], "k": ["'x'", "1.5", "2**70"], "axisa": ["5"], "axisb": ["5"], "axisc": ["5"],
    "subok": ["2**64"], "copy": ["7"], "ndmin": ["40", "'x'"], "offset": ["'x'", "2**70"], "weights": ["np.ones(7)", "'x'"], "indices": ["9"],
    "bins": ["-1", "'x'", "[2, 1]"], "range": ["(2, 1)", "(np.nan, 1)"], "density": ["'x'"], "minlength": ["-1", "'x'"], "rowvar": ["'x'"],
    "decimals": ["'x'", "2**40"], "prepend": ["np.ones((9, 9))"], "append": ["np.ones((9, 9))"], "return_index": ["2**64"], "sorter": ["[9]"],
    "repeats": ["-1", "[1, 2]"], "shape": ["-1", "(2**40, 2**40)", "'x'"], "UPLO": ["'Q'"], "norm": ["'nothing'"], "ord": ["'x'", "7"],
}  # fmt: skip
ARGUMENTS = ["a", "a, b", "a, a", "b", "b, b", "a, 1", "b, 1", "a > 1, a", "a, a > 1", "[a, a]", "3", "3, 4", "b, a, a", "i", "i, i", "u", "c, c"]
SAMPLE = 12  # calls of each function; all of them take some minutes
CRASHES = re.compile(r"(cum|accumulate).*out=np.zeros\(\(\)\)")  # the library itself
UNSAID = {"np.empty_like", "np.empty", "np.show_config", "np.array_repr", "np.array_str", "np.array2string", "np.savez", "np.save"}


def setting():
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    a = np.arange(12.0).reshape(3, 4) % 5
    return {"np": np, "READ_ONLY": read_only, "a": a, "b": np.arange(4) % 3, "i": np.arange(12).reshape(3, 4), "u": np.arange(4, dtype="u1"), "c": a * 1j}


def program(text, words):
    """What is raised is caught inside of the function, where nothing runs it again."""
    scope = setting()
    said = ", str(error)" if words else ""
    exec(f"def program():\n    try:\n        return {text}\n    except Exception as error:\n        return type(error).__name__{said}\n", scope)
    return scope["program"]


def seen(call):
    result = call()
    if isinstance(result, tuple) and isinstance(result[0], str) and result[0] == "SystemError":  # the library forgot what it refuses
        result = result[:1]
    return type(result), result if isinstance(result, tuple) and isinstance(result[0], str) else repr(result)


def taken(text):
    try:
        eval(text, setting())
    except Exception:
        return False
    return True


def named(function):
    return [name for name, _, _ in numpy_table.parameters(function) or [] if name in REFUSED]


def found():
    """{function: (a call that it takes, its parameters)}"""
    calls = {}
    for name, thing in numpy_table.functions().items():
        calls[name] = [f"{name}({given}@)" for given in ARGUMENTS], named(thing)
    for name, thing in numpy_table.ufuncs().items():
        calls[name] = [f"{name}({', '.join(x * thing.nin)}@)" for x in "abiuc"], ["out", "where", "casting", "dtype", "order", "subok"]
        if (thing.nin, thing.nout) == (2, 1):
            calls[f"{name}.reduce"] = [f"{name}.reduce({x}@)" for x in "abiu"], ["axis", "dtype", "out", "keepdims", "initial", "where"]
            calls[f"{name}.accumulate"] = [f"{name}.accumulate({x}@)" for x in "abiu"], ["axis", "dtype", "out"]
            calls[f"{name}.outer"] = [f"{name}.outer({x}, {x}@)" for x in "biu"], ["dtype", "out", "where", "casting"]
    for name in numpy_table.methods():
        texts = [f"{x}.{name}({given}@)" for x in "abiu" for given in ("", "1", "'f4'", "b", "0, 1")]
        calls[f"ndarray.{name}"] = texts, named(getattr(np.ndarray, name))
    calls = {name: ([t for t in texts if taken(t.replace("@", ""))], names) for name, (texts, names) in calls.items() if names and name not in UNSAID}
    return {name: row for name, row in calls.items() if row[0]}


def texts(name):
    """Calls with one and with two arguments that are refused, most of them."""
    calls, names = CALLS[name]
    single = [[(p, v)] for p in names for v in REFUSED[p]]
    double = [[(p, v), (q, w)] for p, q in itertools.combinations(names, 2) for v in REFUSED[p] for w in REFUSED[q]]
    made = (call.replace("@", ", " * (not call.endswith("(@)")) + ", ".join(f"{p}={v}" for p, v in row)) for call in calls for row in single + double)
    return [text for text in made if not CRASHES.search(text)]


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    CALLS = found()


def check(text):
    for words in False, True:
        plain = program(text, words)
        compiled = frameloom.compile(plain, backend="interpret")
        want = seen(plain)
        for _ in range(2):
            assert seen(compiled) == want, text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_refused_first(name):
    rows = texts(name)
    for text in random.Random(name).sample(rows, min(SAMPLE, len(rows))):
        check(text)


def test_there_are_calls():
    assert len(CALLS) > 400


if __name__ == "__main__":  # all of them
    warnings.simplefilter("ignore")
    for name in CALLS:
        for text in texts(name):
            try:
                check(text)
            except AssertionError as error:
                print(str(error).replace("\n", " ")[:400], flush=True)
