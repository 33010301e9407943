"""Where names come from: scopes, globals, builtins, imports, defaults."""

import math
import math as renamed

import numpy as np

from . import case, given, made

K = 2.0


def shadow(x):
    len = 3  # noqa: A001
    return x * len


@case
def module_constant(x, y):
    return x * K


@case
def module_alias(x, y):
    return x * renamed.pi, math.floor(2.5)


@case
def shadowed_builtin(x, y):
    return shadow(x)


@case
def missing(x, y):
    try:
        return undefined_name  # noqa: F821
    except NameError as error:
        return str(error), x


@case
def missing_uncaught(x, y):
    z = x + 1
    return undefined_name + z  # noqa: F821


@case
def unbound(x, y):
    try:
        z += 1  # noqa: F821, F841
    except UnboundLocalError as error:
        return str(error), x


@case
def nonlocal_counter(x, y):
    n = 0

    def count():
        nonlocal n
        n += 1
        return n

    return [count(), count()], n, x


@case
def two_levels(x, y):
    def a():
        def b():
            return x + y

        return b()

    return a()


@case
def shared_cell(x, y):
    v = x

    def get():
        return v

    def put(w):
        nonlocal v
        v = w

    put(y * 2)
    return get(), v


@case
def class_scope(x, y):
    v = 1

    class C:
        v = 2
        w = [v for _ in range(1)]

        def get(self):
            return v

    return C.v, C.w, C().get(), x


@case
def lambda_defaults(x, y):
    f = lambda a, b=x, *, c=y: a * b + c  # noqa: E731
    return f(2), f(2, 3, c=1)


@case
def default_evaluated_once(x, y):
    n = 1

    def f(a=n):
        return a

    n = 2
    return f(), n, x


@case
def keyword_only(x, y):
    def f(a, *, b):
        return a - b

    return f(x, b=y)


@case
def positional_only(x, y):
    def f(a, /, b, **rest):
        return a + b, rest

    return f(x, b=y, a=1)


@case
def wrong_call(x, y):
    def f(a, b):
        return a

    try:
        return f(x)
    except TypeError as error:
        return type(error).__name__, x


@case
def imported_inside(x, y):
    import math as m
    from math import sqrt

    return x * sqrt(4), m.pi


@case
def imported_part(x, y):
    import os.path

    return os.path.join("a", "b"), x


@case
def deleted(x, y):
    z = x
    del z
    try:
        return z
    except UnboundLocalError:
        return y


@case
def walrus(x, y):
    if (n := len(x)) > 2:
        return x * n
    return n


@case
def walrus_in_a_while(x, y):
    values = [1, 2, 0]
    total = 0
    while v := values.pop(0):
        total += v
    return x * total


@case
def annotated(x, y):
    z: np.ndarray = x + 1
    w: int
    return z


@case
def docstring(x, y):
    """Says what it does."""
    return x, docstring.__doc__, docstring.__name__


@case
def many_arguments(x, y):
    def f(*args, **kwargs):
        return len(args), sorted(kwargs), args[0] + kwargs["b"]

    return f(x, 1, 2, a=3, b=y)


@case
def passed_through(x, y):
    def inner(a, b=1, *args, c=2, **kw):
        return a * b + c, args, kw

    def outer(*args, **kw):
        return inner(*args, **kw)

    return outer(x, 2, 3, c=4, d=5)


@case
def global_declared_and_read(x, y):
    global K
    return x * K


@made
def free_variable():
    k = 3.0
    return (lambda x, y: x * k), lambda: k


@made
def free_array():
    w = np.arange(3.0)
    return (lambda x, y: x[:3] * w), lambda: w


@made
def free_function():
    def helper(v):
        return v + 1

    return (lambda x, y: helper(x)), lambda: helper


@given(lambda: {"b": 2.0})
def keywords_from_a_dict(x, y, kw):
    def f(a, b):
        return a * b

    return f(x, **kw)


@given(lambda: (1.0, 2.0))
def arguments_from_a_tuple(x, y, args):
    def f(a, b, c):
        return a * b + c

    return f(x, *args)
