"""Flags and axes of every public function of NumPy: what it refuses, whether by Python's rules or a C int's, is refused with its words."""

import contextlib
import resource
import warnings

import numpy as np
import numpy_table
import pytest
from compare import assert_same_call, naming, outcome

import frameloom

A, B = np.arange(12.0).reshape(3, 4) % 5, np.arange(4) % 3
VALUES = {
    "flag": ["True", "0", "2", "2**31", "2**64", "None", "np.bool_(True)", "np.bool_(False)", "np.int8(1)", "1.0", "''", "[1]", "np.array(1)", "np.array([True])"],
    "axis": ["1", "True", "2**31", "None", "np.bool_(True)", "np.int8(1)", "1.0", "''", "b''", "()", "[0]", "(0, 1)", "np.array(1)", "np.array([1])", "range(1)"],
}
VALUES["axes"] = VALUES["axis"]
TAKEN = {"flag": ["True"], "axis": ["1", "0"], "axes": ["(0, 1)", "0", "1"]}
ARGUMENTS = ["a", "a, b", "a, a", "b", "b, b", "a, 1", "b, 1", "a, a, a", "a > 1", "a, a > 1", "[a, a]", "3", "3, 4"]
NAMES = {name: kind for kind in VALUES for name in numpy_table.KINDS[kind].split()}
UNSAID = {"np.empty_like", "np.show_config"}  # whose results are any bytes


def function(text):
    return eval(f"lambda a, b: {text}", {"np": np})


def catching(text):
    """What is raised is caught inside of the function, where nothing runs it again."""
    space = {"np": np}
    exec(f"def function(a, b):\n    try:\n        return {text}\n    except Exception as error:\n        return type(error).__name__\n", space)
    return space["function"]


def named(function):
    """Its parameters that are flags or axes."""
    return [name for name, _, _ in numpy_table.parameters(function) or [] if name in NAMES]


def calls():
    """{function and parameter: a call of it that NumPy takes, with @ for the argument}"""
    found = {}
    for name, thing in numpy_table.functions().items():
        found |= {f"{name} {p}": [f"{name}({given}, {p}=@)" for given in ARGUMENTS] for p in named(thing) if name not in UNSAID}
    for name, thing in numpy_table.ufuncs().items():
        if (thing.nin, thing.nout) == (2, 1):
            found |= {f"{name}.reduce {p}": [f"{name}.reduce({given}, {p}=@)" for given in ("a", "b")] for p in ("keepdims", "axis")}
            found[f"{name}.accumulate axis"] = [f"{name}.accumulate({given}, axis=@)" for given in ("a", "b")]
        found[f"{name} subok"] = [f"{name}({', '.join('ab'[:thing.nin])}, subok=@)", f"{name}({', '.join('bb'[:thing.nin])}, subok=@)"]
    for name in numpy_table.methods():
        found |= {f"{name} {p}": [f"a.{name}({given}{p}=@)" for given in ("", "1, ", "'f4', ", "b, ")] for p in named(getattr(np.ndarray, name))}
    return {name: text for name, texts in found.items() if (text := next((t for t in texts if taken(name, t)), None))}


def kind(call):
    return NAMES[call.rpartition(" ")[2]]


def taken(call, text):
    return any(outcome(function(text.replace("@", value)), (A.copy(), B.copy()))[1] is None for value in TAKEN[kind(call)])


@contextlib.contextmanager
def bounded_memory():
    """A value that a function takes for a size may ask for more than there is: that is a MemoryError then, in both forms."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


with warnings.catch_warnings(), bounded_memory():
    warnings.simplefilter("ignore")
    CALLS = calls()


@pytest.fixture(autouse=True)
def memory():
    with bounded_memory():
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_flags_and_axes(call):
    for value in VALUES[kind(call)]:
        for make in function, catching:
            program = make(CALLS[call].replace("@", value))
            compiled = frameloom.compile(program, backend="interpret")
            for _ in range(2):
                with naming(CALLS[call].replace("@", value)):
                    got, want = (outcome(f, (A.copy(), B.copy())) for f in (compiled, program))
                    assert_same_call(got, want, scale=10)


def test_there_are_calls():
    assert len(CALLS) > 400
