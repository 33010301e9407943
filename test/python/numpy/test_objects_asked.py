"""Capture runs nobody's code: every public function of NumPy, and operators, with objects that note what they are asked for. A
compiled call asks as often as the plain one, with the same outcome."""

import warnings

import numpy as np
import pytest

import frameloom

asked = []


class Asked:
    """Notes each attribute that is looked for, and has none."""

    def __getattr__(self, name):
        asked.append(name)
        raise AttributeError(name)


class Number(float):
    """A number that notes when it is asked for its value."""

    def __float__(self):
        asked.append("__float__")
        return 2.0

    def __index__(self):
        asked.append("__index__")
        return 2

    __int__ = __index__


class Whole(int):
    """An int that notes when it is asked for its value."""

    def __index__(self):
        asked.append("__index__")
        return 1

    def __int__(self):
        asked.append("__int__")
        return 2


class Complex(complex):
    def __complex__(self):
        asked.append("__complex__")
        return 2j


class Index:
    """No number, but an index."""

    def __index__(self):
        asked.append("__index__")
        return 1


class Array:
    """An array by its method."""

    def __array__(self, dtype=None, copy=None):
        asked.append("__array__")
        return np.arange(3.0)


class Sequence:
    """What NumPy takes for a sequence."""

    def __len__(self):
        asked.append("__len__")
        return 2

    def __getitem__(self, i):
        asked.append("__getitem__")
        if i < 2:
            return 1.5
        raise IndexError(i)


OBJECTS = {"asked": Asked, "number": lambda: Number(1.5), "whole": lambda: Whole(2), "complex": lambda: Complex(1), "index": Index, "array": Array, "sequence": Sequence}
SPACES = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}
# Of the state of the process, of files, of text, and what writes into arrays of the caller.
LEFT_OUT = {"seterr", "seterrcall", "setbufsize", "set_printoptions", "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "fromfile",
            "genfromtxt", "fromregex", "memmap", "test", "show_config", "show_runtime", "info", "get_include", "printoptions", "errstate",
            "open_memmap", "bmat", "from_dlpack", "asmatrix", "matrix"}  # fmt: skip
FUNCTIONS = sorted(
    f"{space}.{name}"
    for space, module in SPACES.items()
    for name in dir(module)
    if not name.startswith("_") and name not in LEFT_OUT and callable(getattr(module, name)) and not isinstance(getattr(module, name), type)
)
CALLS = ["{f}(o)", "{f}([o, 1.0])", "{f}(a, o)", "{f}(o, 2)", "{f}([a[0], (o,)], a)", "{f}(a, [o])"]
OPERATORS = ["a + o", "o * a", "a[0] < o", "a @ o", "a[o]", "a.reshape(o)", "a.sum(axis=o)", "a.astype(float) ** [o, o, o]", "a.dot([o, 1.0, 2.0])",
             "np.array([[1.0, o]], dtype=float)", "np.asarray((o,), int)", "a.take([o])", "a.clip(o, None)", "np.full(3, o)", "a == [o]", "divmod(a, o)",
             "np.float64(o)", "np.int64(o)", "np.zeros(o)", "np.arange(o)", "a.put([0], [o])", "np.where([o], a, 1)", "np.dtype(o)"]  # fmt: skip


METHODS = [name for name in dir(np.ndarray) if callable(getattr(np.ndarray, name)) and name not in {
    "resize",  # counts references to the array
    "tofile", "dump", "dumps", "setflags", "__array_finalize__", "__array_wrap__", "__class__", "__class_getitem__", "__delattr__", "__dir__",
    "__format__", "__getattribute__", "__init__", "__init_subclass__", "__new__", "__reduce__", "__reduce_ex__", "__setattr__", "__setstate__",
    "__sizeof__", "__subclasshook__", "__dlpack__", "__array_function__", "__array_ufunc__", "__buffer__", "__repr__", "__str__"}]  # fmt: skip
METHOD_CALLS = ["a.{f}(o)", "a.{f}([o])", "a.{f}(0, o)", "a[0].{f}(o)"]


def outcome_and_asked(function, a, make):
    asked.clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            made = function(a.copy(), make())
        except Exception as error:
            made = type(error)
    kind = made if isinstance(made, type) else (type(made), getattr(made, "dtype", None), getattr(made, "shape", None))
    return list(asked), kind, [str(one.message) for one in told]


def calls_that_differ(texts):
    """The calls for which a compiled function asks for something else than the plain one, with both."""
    a, found = np.arange(3.0) + 0.5, []
    for text in texts:
        function = eval(f"lambda a, o: {text}", {"np": np})
        for name, make in OBJECTS.items():
            want = outcome_and_asked(function, a, make)
            compiled = frameloom.compile(function)
            for _ in range(2):
                got = outcome_and_asked(compiled, a, make)
                if got != want:
                    found.append((text, name, want, got))
                    break
    return found


@pytest.mark.parametrize("part", range(8))
def test_functions(part):
    found = calls_that_differ([call.format(f=function) for function in FUNCTIONS[part::8] for call in CALLS])
    assert not found, f"{len(found)}: {found[:5]}"


def test_operators_and_makers():
    found = calls_that_differ(OPERATORS)
    assert not found, f"{len(found)}: {found[:5]}"


@pytest.mark.parametrize("part", range(3))
def test_methods(part):
    found = calls_that_differ([call.format(f=method) for method in METHODS[part::3] for call in METHOD_CALLS])
    assert not found, f"{len(found)}: {found[:5]}"
