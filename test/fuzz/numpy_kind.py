"""Programs over NumPy, compiled and plain: values, layouts, memory, warnings and exceptions of four calls of two sizes."""

import ast
import random
import re

import numpy as np
from minimise import class_of
from numpy_programs import Program
from numpy_table import ufuncs
from seen import ANY_ZERO, EPS, FILE, UNIT, Seen, differences, largest

import frameloom

CALLS = (("first call", None, (0, 0, 1, 0)), ("dynamic call", True, (0, 1, 0)))


def make(seed, index):
    return Program(random.Random(f"numpy {seed} {index}")).make()


def loaded(tree):
    scope = {}
    exec(compile(tree, FILE, "exec"), scope)
    return scope


def returned(tree):
    """Names in the returned tuple."""
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "program")
    last = function.body[-1]
    return [getattr(e, "id", "") for e in last.value.elts] if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple) else []


def check(text, calls=CALLS):
    """Texts of what differs."""
    frameloom.reset()
    tree = ast.parse(text)
    scope = loaded(tree) | {"text": text, "BODY": text.partition("def program")[2].partition("\n")[2]}
    UNIT[0] = narrowest(text)
    mixed = len(set(re.findall(r"array\(['\"]([\w?]+)['\"]", text))) > 1
    EPS[0] = UNIT[0] if mixed or re.search(r"\b(out|dtype)=|\] = |np\.(float|complex|longdouble)|astype", text) else 0.0
    ANY_ZERO[0] = bool(re.search(r"max|min|clip|sort|partition|median|percentile|quantile|unique", text))
    levels = [scope["LEVELS"].get(name, 0) for name in returned(tree)]
    if "GLOBALS" in scope and re.search(r"array\(['\"](c|G)", text):  # a later call may be of complex numbers
        levels, scope["WRITTEN"] = [max(1, level) for level in levels], max(1, scope["WRITTEN"])
    found = []
    for label, dynamic, sizes in calls:
        compiled = frameloom.compile(scope["program"], dynamic=dynamic, backend=scope.get("BACKEND", "loom"))
        for i, size in enumerate(sizes):
            if "GLOBALS" in scope:
                scope["program"].__globals__["G"] = scope["GLOBALS"][i % len(scope["GLOBALS"])]
            want = Seen(scope["program"], scope["arguments"](size), scope["FILTERS"])
            got = Seen(compiled, scope["arguments"](size), scope["FILTERS"])
            rows = differences(got, want)
            if rows and any([*levels, scope["WRITTEN"]]):
                scale = largest([*scope["arguments"](size), want.result if isinstance(want.result, tuple) else 1])
                rows = differences(got, want, levels, scope["WRITTEN"], scale)
            if rows and (excused(scope, size, rows, got, want) or wavers(scope, size, want)):
                rows = []
            found += [f"{row} ({label} {i})" for row in rows]
            if rows:
                return found
        found += refused(compiled) + state()
    return found


def refused(compiled):
    """Graphs that could not be compiled."""
    breaks = compiled._report()["breaks"] or ()
    return [f"compiler: {row}" for row in breaks if "COMPILER" in row]


def narrowest(text):
    """The unit of the narrowest floating type that the program may compute in."""
    named = re.findall(r"['\"]([?]|\w\d)['\"]", text) + [NAMES[name] for name in re.findall(r"np\.(\w+)", text) if name in NAMES]
    return max([float(np.finfo(UNITS[t]).eps) for t in named if t in UNITS], default=0.0)


NAMES = {"half": "f2", "float16": "f2", "single": "f4", "float32": "f4", "csingle": "c8", "complex64": "c8", "uint8": "u1", "int8": "i1", "int16": "i2", "bool_": "?"}
UNITS = {"?": "f2", "i1": "f2", "u1": "f2", "f2": "f2", "i2": "f4", "u2": "f4", "f4": "f4", "c8": "f4"}


def state():
    """Of the thread, which a call must leave as it was."""
    if np.geterr() != {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}:
        np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
        return [f"state of the thread: {np.geterr()}"]
    if np.float64(5e-324) * 1 == 0 or (np.ones(3) / 3 * 3 != 1).any():
        return ["state of the thread: the mode of the floating-point unit"]
    return []


def wavers(scope, size, want):
    """Does the plain program itself do something else each time? What a refused power leaves in its result is any bytes."""
    again = [Seen(scope["program"], scope["arguments"](size), scope["FILTERS"]) for _ in range(3)]
    return any(differences(other, want) for other in again)


def excused(scope, size, rows, got, want):
    """Whether what differs may come from what is only within a bound, or from sums whose order is nobody's promise."""
    inexact = max([scope["WRITTEN"], *scope["LEVELS"].values(), 0])
    if any(isinstance(e, MemoryError) for e in (got.error, want.error)) or inexact == 2:
        return True
    if "sort" in scope["BODY"] and '"f2"' in scope["text"].replace("'", '"') and {class_of(row) for row in rows} == {"missing warning"}:
        return True  # NumPy's own sort of halves may leave NaNs that signal
    if re.search("sort|partition", scope["BODY"]) and re.search(r"getfield|view\(|\.dtype = ", scope["BODY"]) and {class_of(row) for row in rows} <= {"value", "block"}:
        return True  # its sort of vectors gives NaNs bits of its own, which another type shows
    if "negative integer powers" in str(want.error) and {class_of(row) for row in rows} <= {"value", "NaN", "infinity", "sign of zero", "block"}:
        return True  # a refused power may leave any bytes in its result
    kinds, raised = {class_of(row) for row in rows}, [e for e in (got.error, want.error) if e is not None]
    if re.search(r"byteswap|view\(|getfield|\.dtype = ", scope["BODY"]) and kinds <= {"missing warning", "exception"} and \
            all("invalid value" in str(e) for e in raised):
        return True  # comparing NaNs that signal, which numbers made of other bytes may be, is invalid to the library's loops
    if re.search(r"negative\(.*out=", scope["BODY"]):
        return True  # NumPy's own negates but the first of 8-byte elements with others between them
    bits = re.search(r"view\(|getfield|\.dtype = |byteswap", scope["BODY"])
    if bits and kinds <= {"value", "NaN", "infinity", "sign of zero", "block"} and (inexact or re.search(r"bool|'\?'", scope["BODY"])):
        return True  # the bits of what is only within a bound; bytes of a bool that are neither 0 nor 1, of which copies are 1
    if re.search("u4|uint32|uintc", scope["text"]) and (scope["FILTERS"] == "ignore" or "ignore" in scope["BODY"]) and kinds <= {"value", "block"}:
        return True  # a float that no uint32 holds, of which nobody is told: the library's vectors and its loops give different numbers
    if inexact and (any("underflow" in str(e) for e in (got.error, want.error)) or all("underflow" in row for row in rows)):
        return True  # which the library's vectors do not tell of, its loops over strides do; an order of factors decides as well
    if inexact == 0 or not re.search("@|matmul|vecdot|matvec|vecmat|prod", scope["BODY"]) and all(name in ufuncs() for name in re.findall(r"[\w.]+(?=\()", scope["BODY"])):
        return False
    raised = [str(e) for e in (got.error, want.error) if e is not None]
    floating = isinstance(want.error or got.error, (RuntimeWarning, FloatingPointError))
    if kinds > {"block"}:  # an argument that holds another value
        kinds -= {"block"}
    if floating:  # the other goes on to what the program does next
        kinds -= {"exception type"}
    if raised and not floating or not kinds <= OPEN:
        return False
    if "prod" in scope["BODY"]:  # of tame numbers as well
        return True
    return order_decides([*scope["arguments"](size), *want.arguments, want.result])


OPEN = {"missing warning", "extra warning", "warning", "NaN", "infinity", "value", "exception", "exception text"}


def any_complex(things):
    return any(any_complex(t) if isinstance(t, (tuple, list)) else getattr(getattr(t, "dtype", None), "kind", "") == "c" or isinstance(t, complex) for t in things)


def order_decides(things):
    """Whether sums of such numbers may overflow, or be NaN, or be so without an invalid operation, by the order of their terms."""
    for thing in things:
        if isinstance(thing, (tuple, list)) and order_decides(thing):
            return True
        if isinstance(thing, (np.ndarray, np.generic, float, complex)) and np.asarray(thing).dtype.kind in "fc":
            values = np.asarray(thing)
            with np.errstate(all="ignore"):
                sizes = np.abs(values.astype(np.clongdouble))
            huge = np.isfinite(sizes) & (sizes > np.sqrt(np.finfo(values.dtype).max))
            infinite = np.isinf(sizes).any()  # of complex numbers, BLAS may make NaN where one formula does not
            if huge.any() or infinite and (np.isnan(sizes).any() or any_complex(things)):
                return True
    return False
