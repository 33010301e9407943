"""Calls of NumPy's public functions, methods and ufuncs with every pair of keyword arguments.

Of two that are refused, the exception is that of the one that NumPy looks at first. What is taken gives the same values, dtype,
strides and warnings.
"""

import itertools
import random
import re
import sys
import warnings

import numpy as np
import numpy_table
import pytest
from seen import EPS, calls_compared

import frameloom

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
TAKEN = {
    "axis": ["0", "-1", "None", "(0,)", "()"],
    "axis1": ["0", "-1"], "axis2": ["1", "-2"], "axes": ["None", "(1, 0)", "(0,)", "0", "1"],
    "out": ["np.full(3, 9.0)", "np.full(4, 9.0)", "np.full((3, 4), 9.0)", "np.full((3, 1), 9.0)", "np.full((), 9.0)", "np.full((4, 3), 9.0, 'f4').T", "None",
            "np.full(4, 9)", "np.full((3, 4), 9)", "np.full((4, 4), 9.0)[:, ::2]", "np.full((3, 4), 9 + 0j)", "np.full((3, 4), True)"],
    "dtype": ["'f4'", "'i8'", "'u1'", "'c16'", "bool", "None", "'f2'", "'>f8'", "object"],
    "keepdims": ["True", "0"],
    "initial": ["2", "-1.5", "np.inf", "0", "np.float32(3)"],
    "where": ["np.array([True, False, True, True])", "np.zeros((3, 1), bool)", "True", "False", "np.arange(12).reshape(3, 4) % 3 > 0"],
    "casting": ["'unsafe'", "'same_kind'", "'safe'", "'no'"],
    "order": ["'C'", "'F'", "'K'", "'A'", "None"],
    "mode": ["'wrap'", "'clip'", "'raise'", "'valid'", "'full'", "'edge'"],
    "kind": ["'stable'", "None"], "side": ["'left'", "'right'"], "method": ["'lower'", "'nearest'", "'median_unbiased'"],
    "ddof": ["1", "0.5", "5"], "correction": ["1", "0.5"], "n": ["1", "2", "0", "5"], "k": ["1", "-1", "0", "7"], "axisa": ["0"], "axisb": ["-1"], "axisc": ["0"],
    "subok": ["True", "False"], "copy": ["True", "False", "None"], "ndmin": ["3", "0"], "offset": ["1", "-2"], "weights": ["np.arange(4.0)", "None"],
    "bins": ["3", "[0, 1, 5]"], "range": ["(0, 2)", "(1, 1)"], "density": ["True"], "minlength": ["9", "0"], "rowvar": ["False"],
    "decimals": ["1", "-1", "20"], "prepend": ["0", "np.ones((3, 1))"], "append": ["2.5"], "return_index": ["True"], "return_inverse": ["True"],
    "return_counts": ["True"], "equal_nan": ["True", "False"], "sorter": ["None"], "sorted": ["False"], "assume_unique": ["True"], "invert": ["True"],
    "repeats": ["2", "[1, 2, 0]"], "shape": ["(4, 3)", "12", "(2, -1)"], "UPLO": ["'L'", "'U'"], "norm": ["'ortho'"], "ord": ["1", "np.inf", "-2", "'fro'"],
    "rtol": ["0.1", "0"], "atol": ["0.5"], "nan": ["7"], "posinf": ["3.0"], "neginf": ["-3"], "fill_value": ["2", "True", "1.5"], "endpoint": ["False"],
    "retstep": ["True"], "num": ["5", "0", "1"], "dx": ["0.5"], "d": ["2.0"], "edge_order": ["2"], "sparse": ["True"], "indexing": ["'ij'"], "bias": ["True"],
    "left": ["-5"], "right": ["5.0"], "period": ["3"], "full_matrices": ["False"], "compute_uv": ["False"], "max": ["2", "b"], "min": ["1", "None"],
    "include_initial": ["True"], "increasing": ["True"], "upper": ["True"], "hermitian": ["True"], "s": ["(2, 2)"], "shift": ["1", "(1, 2)"],
}  # fmt: skip
UFUNCS = numpy_table.ufuncs()
TYPES = ["f8", "f4", "f2", "i8", "i2", "u1", "?", "c8", "c16", "u8", "i1", ">f8", "g", "O"]
ARGUMENTS = ["a", "a, b", "a, a", "b", "b, b", "a, 1", "b, 1", "a > 1, a", "a, a > 1", "[a, a]", "3", "3, 4", "b, a, a", "i", "i, i", "u", "c, c"]
SAMPLE = 8  # calls of each function; all of them take some minutes
CRASHES = re.compile(r"(cum|accumulate).*out=np.(zeros|full)\(\(\)|frombuffer.*object")  # the library itself
UNSAID = {"np.empty_like", "np.empty", "np.frombuffer", "np.show_config", "np.array_repr", "np.array_str", "np.array2string", "np.savez", "np.save"}


def setting(dtype="f8"):
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    a = (np.arange(12.0).reshape(3, 4) % 5).astype(dtype)
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
    return [name for name, _, _ in numpy_table.parameters(function) or [] if name in REFUSED.keys() | TAKEN.keys()]


def found():
    """{function: (a call that it takes, its parameters)}"""
    calls = {}
    for name, thing in numpy_table.functions().items():
        calls[name] = [f"{name}({given}@)" for given in ARGUMENTS], named(thing)
    for name, thing in UFUNCS.items():
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


def texts(name, values):
    """Its calls with each of the values for one of its parameters, and for each two."""
    calls, names = CALLS[name]
    single = [[(p, v)] for p in names for v in values.get(p, ())]
    double = [[(p, v), (q, w)] for p, q in itertools.combinations(names, 2) for v in values.get(p, ()) for w in values.get(q, ())]
    made = (call.replace("@", ", " * (not call.endswith("(@)")) + ", ".join(f"{p}={v}" for p, v in row)) for call in calls for row in single + double)
    unfilled = name.removesuffix(".outer") in UFUNCS  # where= leaves elements that nothing has written
    return [t for t in made if not CRASHES.search(t) and not (unfilled and "where=" in t and not re.search("out=np|where=True", t))]


def chosen(name, values):
    rows = texts(name, values)
    return random.Random(name).sample(rows, min(SAMPLE, len(rows)))


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    CALLS = found()


def check_refused(text):
    for words in False, True:
        plain = program(text, words)
        compiled = frameloom.compile(plain, backend="interpret")
        want = seen(plain)
        for _ in range(2):
            assert seen(compiled) == want, text


def check_taken(text, dtype):
    """The arguments are those of the function, so that nothing of it is known."""
    source = f"def program(a, b, i, u, c):\n    return {text}\n"
    EPS[0] = 1e-3 if "f2" in text + dtype else 1e-7
    for rows, _, _ in calls_compared(source, setting(dtype), lambda: [setting(dtype)[x] for x in "abiuc"], 20.0, backend="interpret"):
        assert not rows, f"{text} ({dtype}): {rows}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_refused_first(name):
    for text in chosen(name, REFUSED):
        check_refused(text)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_taken(name):
    for i, text in enumerate(chosen(name, TAKEN)):
        check_taken(text, TYPES[(i + len(name)) % len(TYPES)])


def test_there_are_calls():
    assert len(CALLS) > 400


if __name__ == "__main__":  # many of them
    warnings.simplefilter("ignore")
    for name in CALLS:
        for check, values in ((check_refused, REFUSED), (check_taken, TAKEN)):
            rows = texts(name, values)
            for text in random.Random(name + sys.argv[2]).sample(rows, min(int(sys.argv[1]), len(rows))):
                more = (random.choice(TYPES),) * (check is check_taken)
                try:
                    check(text, *more)
                except AssertionError as error:
                    print(str(error).replace("\n", " ")[:400], flush=True)
