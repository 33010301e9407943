"""What a function observes of itself: stack levels, frames, names, its own object."""

import copy
import functools
import inspect
import pickle
import sys
import traceback
import warnings

import numpy as np

import frameloom

from . import case, program


def warned(message, level):
    warnings.warn(message, stacklevel=level)


def warned_deeper(message, level):
    warned(message, level)


@program
def warnings_of_levels(x, y):
    z = x + 1
    warnings.warn("one", stacklevel=1)
    warned("two", 2)
    warned_deeper("three", 3)
    warned_deeper("deep", 2)
    return z * y


@program
def warnings_as_errors(x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warned("now", 2)
        except UserWarning as error:
            return str(error), x + 1
    return y


@program
def warnings_counted(x, y):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i in range(2):
            warned(f"round {i}", 2)
            x = x + i
    return x, [(str(w.message), w.lineno) for w in seen]


@program
def frames(x, y):
    frame = sys._getframe()
    z = x * 2
    return frame.f_code.co_name, frame.f_lineno, sys._getframe().f_lineno, z + y


@program
def stack_inspected(x, y):
    z = x + 1
    rows = [(f.function, f.lineno) for f in inspect.stack()[:1]]
    here = inspect.currentframe()
    return rows, here.f_lineno, z * y, inspect.getframeinfo(here).code_context


@program
def signature_of_itself(x, y):
    return str(inspect.signature(signature_of_itself)), signature_of_itself.__name__, signature_of_itself.__module__, x + 1


@program
def own_attributes(x, y):
    own_attributes.count = getattr(own_attributes, "count", 0) + 1
    n = own_attributes.count
    del own_attributes.count
    return x * n, own_attributes.__qualname__, own_attributes.__defaults__, own_attributes.__kwdefaults__


@program
def extracted_stack(x, y):
    z = x * 2
    rows = traceback.extract_stack(limit=1)
    return [(r.name, r.lineno, r.line) for r in rows], z


@program
def formatted_exception(x, y):
    try:
        z = x + 1
        z["k"]
    except IndexError:
        text = traceback.format_exc()
        return text.splitlines()[1:], y * 2


@program
def locals_read(x, y):
    z = x + 1
    names = sorted(locals())
    for i in range(2):
        k = locals()["i"]
        z = z + k
    return names, z, sorted(locals())


@program
def locals_in_a_callee(x, y):
    def inner(a, *rest, key=1, **more):
        b = a + key
        return sorted(locals()), b

    return inner(x, 1, 2, other=3), inner(y)


@program
def evaluated(x, y):
    z = x + 1
    return eval("z + y"), eval("[k for k in range(3)]"), eval("a * 2", {"a": y})


@program
def executed(x, y):
    space = {"x": x}
    exec("z = x * 2", space)
    return space["z"] + y


@program
def code_of_callers(x, y):
    def caller():
        return sys._getframe(1).f_code.co_name

    def named():
        return caller()

    return named(), caller(), (lambda: caller())(), [caller() for _ in range(1)], x + 1


@program
def wrapped(x, y):
    def double(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs) * 2

        return inner

    @double
    def add(a, b: float = 1.0) -> float:
        """Adds."""
        return a + b

    return add(x), add.__wrapped__(y), add.__name__, add.__doc__, add.__annotations__, str(inspect.signature(add))


@program
def deep_recursion(x, y):
    def down(n):
        return down(n + 1)

    try:
        down(0)
    except RecursionError as error:
        return str(error)[:32], x + 1
    return y


@program
def deep_recursion_with_arrays(x, y):
    def down(a, n):
        if n == 0:
            return a
        return down(a + 1, n - 1)

    return down(x, 60), y


@program
def copied_function(x, y):
    def f(a):
        return a + 1

    return copy.copy(f) is f, copy.deepcopy(f) is f, f(x)


@program
def pickled(x, y):
    again = pickle.loads(pickle.dumps((x * 2, {"k": 1})))
    return again[0] + y, again[1]


@program
def global_names(x, y):
    return __name__, sorted(k for k in globals() if k == "pickle"), "np" in globals(), x * 2


@program
def unraised(x, y):
    try:
        raise ValueError("a")
    except ValueError as error:
        error.add_note("a note")
        kind, value, tb = sys.exc_info()
        return kind, value is error, tb.tb_lineno, tb.tb_frame.f_code.co_name, x + 1


@program
def traceback_kept(x, y):
    def fail():
        z = x * 2
        raise ValueError(z.shape)

    try:
        fail()
    except ValueError as error:
        tb = error.__traceback__
        return [t.f_code.co_name for t, _ in traceback.walk_tb(tb)], [n for _, n in traceback.walk_tb(tb)], y * 2


@program
def interrupted(x, y):
    try:
        x = x + 1
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        x = x * 2
    finally:
        x = x - 1
    return x


@program
def left_by_exit(x, y):
    try:
        x = x + 1
        sys.exit(3)
    except SystemExit as error:
        return error.code, x


@program
def compiling(x, y):
    return sys.gettrace(), sys.getprofile(), sys.getrecursionlimit() > 10, x + 1


@program
def cached_by_itself(x, y):
    @functools.lru_cache
    def size(n):
        seen.append(n)
        return n * 2

    seen = []
    return x * size(2) + size(2) * size(3), seen, size.cache_info()[:2]
