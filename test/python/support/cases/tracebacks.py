"""Exceptions that leave: type, arguments, lines and names of functions, causes and contexts."""

import numpy as np

from . import case, given


def fails(x):
    y = x + 1
    raise ValueError("in the helper", len(y))


def passes_on(x):
    z = x * 2
    return fails(z)


@case
def raised(x, y):
    z = x + 1
    raise ValueError(len(z))


@case
def raised_class(x, y):
    raise KeyError


@case
def raised_in_a_callee(x, y):
    return passes_on(x)


@case
def raised_in_a_method(x, y):
    class C:
        def f(self):
            raise IndexError("f")

    return C().f()


@case
def raised_in_a_loop(x, y):
    for i in range(5):
        x = x + 1
        if i == 3:
            raise RuntimeError(i)


@case
def raised_in_a_comprehension(x, y):
    return [1 // i for i in (1, 0)]


@case
def raised_in_a_generator(x, y):
    def g():
        yield x
        raise LookupError("g")

    return list(g())


@case
def raised_in_a_lambda(x, y):
    return sorted([1, 2], key=lambda v: fails(x))


@case
def raised_from(x, y):
    try:
        fails(x)
    except ValueError as error:
        raise RuntimeError("second") from error


@case
def raised_from_none(x, y):
    try:
        fails(x)
    except ValueError:
        raise RuntimeError("second") from None


@case
def raised_in_a_handler(x, y):
    try:
        fails(x)
    except ValueError:
        return {}["missing"]


@case
def raised_in_a_finally(x, y):
    try:
        fails(x)
    finally:
        raise OSError("last")


@case
def raised_again(x, y):
    try:
        fails(x)
    except ValueError:
        z = x + 1  # noqa: F841
        raise


@case
def raised_again_by_name(x, y):
    try:
        fails(x)
    except ValueError as error:
        raise error


@case
def with_notes(x, y):
    error = ValueError("a")
    error.add_note("more")
    raise error


@case
def own_class(x, y):
    class Mine(Exception):
        def __init__(self, n):
            super().__init__("mine", n)
            self.n = n

    raise Mine(len(x))


@case
def by_python(x, y):
    return [1, 2][5]


@case
def by_python_on_attributes(x, y):
    return x.nothing


@case
def by_python_on_types(x, y):
    return "a" + 1


@case
def by_python_on_names(x, y):
    return nowhere  # noqa: F821


@case
def by_python_on_calls(x, y):
    return fails(1, 2)


@case
def by_python_on_unpacking(x, y):
    a, b, c = [1, 2]
    return a


@case
def by_numpy(x, y):
    z = x * 2
    return z.reshape(7, 7)


@case
def by_numpy_in_a_callee(x, y):
    def inner(v):
        return v @ np.ones(99)

    return inner(x)


@case
def by_numpy_as_a_warning(x, y):
    return np.log(x - x)


@case
def by_numpy_as_an_error(x, y):
    with np.errstate(all="raise"):
        return np.log(x - x)


@case
def by_an_exit(x, y):
    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            raise KeyError("exit")

    with Manager():
        raise ValueError("body")


@case
def groups(x, y):
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        z = group.exceptions[0].args
    except* KeyError:
        z = None
    return z, x


@case
def stop_iteration_in_a_generator(x, y):
    def g():
        yield 1
        raise StopIteration

    return list(g())


@case
def after_writes(x, y):
    x[0] = 1
    x[1] = 2
    y += x
    return x + np.ones(99)


@given(lambda: {})
def from_an_argument(x, y, d):
    z = x + 1
    return z * d["k"]


@given(lambda: None)
def from_none(x, y, n):
    return x + n.value
