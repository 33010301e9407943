"""Breaks of the graph: what cannot be captured runs, and capture goes on."""

import contextlib
import io
import random
import sys
import time

import numpy as np

import frameloom

from . import case, given, made


@case
def printed(x, y):
    z = x * 2
    print("half way", len(z))
    return z + y


@case
def printed_values(x, y):
    print(round(float(x.sum()), 3))
    return x + y


@case
def printed_twice(x, y):
    print("a", end="")
    z = x + 1
    print("b")
    return z


@case
def asked_for(x, y):
    z = x + 1
    frameloom.graph_break()
    return z * y


@case
def branch_on_data(x, y):
    z = x * 2
    if z.sum() > 0:
        z = z + 1
    else:
        z = z - 1
    return z * y


@case
def loop_on_data(x, y):
    n = 0
    while np.abs(x).sum() > 0.5 and n < 20:
        x = x / 2
        n += 1
    return x, n


@case
def in_a_loop(x, y):
    for i in range(3):
        x = x + i
        print(i)
    return x


@case
def in_a_nested_loop(x, y):
    for i in range(2):
        for j in range(2):
            x = x + i * j
            print(i, j)
        x = x * 2
    return x


@case
def in_a_while(x, y):
    n = 3
    while n:
        x = x * 2
        print(n)
        n -= 1
    return x


@case
def in_a_with(x, y):
    with np.errstate(all="ignore"):
        z = x / 2
        print("inside")
        z = z + 1
    return z


@case
def in_a_try(x, y):
    try:
        z = x + 1
        print("inside")
        z = z * 2
    finally:
        z = z - 1
    return z


@case
def in_a_handler(x, y):
    try:
        raise ValueError("a")
    except ValueError as error:
        print(error)
        z = x + 1
    return z * 2


@case
def in_a_finally(x, y):
    try:
        z = x + 1
    finally:
        print("last")
        z = z * 2
    return z


@case
def in_an_expression(x, y):
    return (x + 1) * (print("now") or 2) + y


@case
def in_an_argument(x, y):
    return np.add(x + 1, print("now") or y)


@case
def in_a_comprehension(x, y):
    return [x * (print(i) or i) for i in range(3)]


@case
def in_a_condition(x, y):
    return x + 1 if print("now") is None else y


@case
def in_a_boolean(x, y):
    return print("now") or x * 2


def helper(x):
    z = x + 1
    print("in the helper")
    return z * 2


def outer_helper(x):
    return helper(x * 3) + 1


@case
def in_a_callee(x, y):
    return helper(x) + y


@case
def in_a_callee_of_a_callee(x, y):
    return outer_helper(x) + y


@case
def in_a_callee_in_a_loop(x, y):
    for _ in range(3):
        x = helper(x)
    return x


@case
def in_a_method(x, y):
    class Box:
        def __init__(self, v):
            self.v = v

        def show(self):
            print(len(self.v))
            return self.v + 1

    return Box(x).show() * 2


@case
def in_a_generator(x, y):
    def numbers():
        for i in range(3):
            print(i)
            yield x + i

    return sum(numbers())


@case
def in_a_lambda(x, y):
    return list(map(lambda i: print(i) or x + i, range(2)))


@case
def unknown_function(x, y):
    z = x + 1
    t = time.time() > 0
    return z, t


@case
def random_numbers(x, y):
    random.seed(3)
    return x * random.random()


@case
def locals_seen(x, y):
    z = x + 1
    names = sorted(locals())
    return z, names


@case
def frame_seen(x, y):
    z = x * 2
    f = sys._getframe()
    return z, f.f_code.co_name, f.f_lineno


@case
def evaluated(x, y):
    k = 3
    return x * eval("k + 1")


@case
def redirected_output(x, y):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print("caught")
        z = x + 1
    return z, out.getvalue()


@case
def with_a_name_that_is_unbound(x, y):
    if len(x) > 100:
        z = 1
    print("here")
    try:
        return z
    except UnboundLocalError as error:
        return str(error)


@case
def with_a_deleted_name(x, y):
    z = x + 1
    del z
    print("here")
    z = y
    return z


@case
def with_arrays_that_alias(x, y):
    v = x[1:]
    w = v
    print("here")
    w += 1
    return x, v, w


@case
def with_a_pending_iterator(x, y):
    it = iter([1, 2, 3])
    a = next(it)
    print("here")
    return x * a, list(it)


@case
def with_an_object(x, y):
    class Box:
        pass

    b = Box()
    b.v = x + 1
    print("here")
    b.v = b.v * 2
    return b.v


@case
def with_keywords(x, y):
    d = dict(a=x, b=print("here") or y)
    return d


@case
def that_raises(x, y):
    z = x + 1
    print("before")
    raise ValueError(len(z))


@case
def that_is_caught(x, y):
    try:
        print("before")
        raise KeyError("k")
    except KeyError as error:
        return x, error.args


@case
def many(x, y):
    for i in range(10):
        x = x * 1.5
        print(i, end=" ")
        x = x - 1
    return x


@given(lambda: iter([1.0, 2.0]))
def live_iterator(x, y, it):
    for k in it:
        x = x * k
    return x


@given(lambda: io.StringIO())
def written_file(x, y, f):
    f.write("a")
    z = x + 1
    f.write("b")
    return z, f.getvalue()


@made
def in_a_closure():
    count = 0

    def function(x, y):
        nonlocal count
        z = x + 1
        print(count)
        count += 1
        return z * 2

    return function, lambda: count
