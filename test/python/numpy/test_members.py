"""Every member of what NumPy gives, read and called inside of a compiled function: arrays, scalars, dtypes, ufuncs, iterators and more."""

import warnings

import numpy as np
import pytest
from seen import calls_compared

OBJECTS = {
    "vector": "np.arange(4.0)", "matrix": "np.arange(6.0).reshape(2, 3)", "whole": "np.arange(6, dtype='i2').reshape(3, 2)", "flat": "np.array(2.5)",
    "none": "np.zeros((0, 3))", "zero": "np.array(-0.0, 'f4')", "fortran": "np.ones((2, 3), order='F')", "bools": "np.array([True, False])", "complex": "np.array([1 + 2j, 0])", "bytes": "np.arange(3, dtype='u1')",
    "halves": "np.arange(3, dtype='f2')", "float64": "np.float64(2.5)", "float32": "np.float32(-0.0)", "float16": "np.float16(3)", "int64": "np.int64(-3)",
    "int8": "np.int8(100)", "uint64": "np.uint64(7)", "bool": "np.bool_(True)", "complex64": "np.complex64(1 - 1j)", "complex128": "np.complex128(2)",
    "longdouble": "np.longdouble(1)", "str": "np.str_('a')", "datetime": "np.datetime64('2020-01-01')", "dtype": "np.dtype('f4')", "record": "np.dtype('i4,f8')",
    "swapped": "np.dtype('>i2')", "flags": "np.zeros(3).flags", "flatiter": "np.arange(4.0).reshape(2, 2).flat", "finfo": "np.finfo('f4')", "iinfo": "np.iinfo('i2')",
    "broadcast": "np.broadcast(np.ones(3), 1)", "poly": "np.poly1d([1, 2])", "text": "np.array(['a', 'bc'])", "things": "np.array([1, None], object)",
    "masked": "np.ma.array([1.0, 2.0], mask=[0, 1])", "add": "np.add", "float type": "np.float32", "generic": "np.floating", "index": "np.s_", "errstate": "np.errstate()",
}  # fmt: skip
CALLS = ["", "()", "(1)", "(a)", "(0, 1)", "(None)", "('f4')", "(axis=0)", "(1.5)", "('C')", "(x)", "(-1)", "(True)", "(a, a)", "(out=a)", "('C', True)", "(1, 1, 1)"]
# Those that write files, give addresses or what is of this process, change the object's memory, or end the process in NumPy itself.
LEFT_OUT = set("tofile dump dumps ctypes data __array_interface__ __array_struct__ base __dir__ __subclasses__ __doc__ __reduce__ __reduce_ex__ "
               "__sizeof__ setflags resize __setstate__ __class__ __init_subclass__ __subclasshook__ __hash__ ids unshare_mask __getstate__ __dlpack__ "
               "__new__ __init__ __call__ __mro__ mro _ctypes __dict__ coords __del__ _repr_latex_ __weakref__ at reduceat resolve_dtypes "
               "baseclass _baseclass __deepcopy__ _resolve_dtypes_and_context _get_strided_loop __module__".split())  # fmt: skip


def members(text):
    return [name for name in dir(eval(text, {"np": np})) if name not in LEFT_OUT]


def functions(text, name):
    """The object is an argument of the function, or made in it."""
    for call in CALLS:
        caught = "\n    except Exception as error:\n        return type(error).__name__"
        yield f"def program(x, a):\n    return x.{name}{call}\n"
        yield f"def program(x, a):\n    try:\n        return x.{name}{call}{caught}\n"
        yield f"def program(x, a):\n    x = {text}\n    try:\n        return x.{name}{call}{caught}\n"


def member_alike(text, program):
    if "byteswap" in program and "'a'" in text:
        return  # what is no text any more is not shown
    given = lambda: [eval(text, {"np": np}), np.arange(4.0)]
    for rows, got, want in calls_compared(program, {"np": np}, given, 20.0, backend="interpret"):
        assert not rows or same_thing(got.result, want.result), f"{text} {program}: {rows}"


def same_thing(got, want):
    """Bound methods and the like, which are made anew each time."""
    return type(got) is type(want) and type(want).__name__ in ("builtin_function_or_method", "method-wrapper", "method") and \
        got.__qualname__ == want.__qualname__ and type(got.__self__) is type(want.__self__)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OBJECTS)
def test_members(name):
    text = OBJECTS[name]
    for i, member in enumerate(members(text)):
        for k, program in enumerate(functions(text, member)):
            if (i + k) % 11 == 0:  # of 60,000
                member_alike(text, program)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for text in OBJECTS.values():
        for member in members(text):
            for program in functions(text, member):
                try:
                    member_alike(text, program)
                except AssertionError as error:
                    print(str(error)[:500], flush=True)
