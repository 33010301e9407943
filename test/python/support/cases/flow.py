"""Branches, loops, try and recursion on what is known."""

import numpy as np

from . import case, given


@case
def if_else(x, y):
    if len(x) > 4:
        return x
    elif len(x) > 2:
        return x * 2
    else:
        return x * 3


@case
def conditional_expression(x, y):
    return x if len(x) == 6 else y


@case
def short_circuit(x, y):
    return (None or x) + (0 and y) + (1 and y)


@case
def chained_comparison(x, y):
    n = len(x)
    return x * (1 if 2 < n <= 6 else 3), 1 < 2 < 3 < 0


@case
def for_range(x, y):
    for i in range(4):
        x = x + i
    return x, i


@case
def for_long_range(x, y):
    for i in range(50):
        x = x * 0.5 + y
    return x, i


@case
def for_no_round(x, y):
    for _ in range(0):
        x = x + 1
    else:
        x = x * 2
    return x


@case
def for_else(x, y):
    for i in range(3):
        if i == 5:
            break
    else:
        x = x + 100
    return x


@case
def for_break(x, y):
    for i in range(10):
        x = x + 1
        if i == 2:
            break
    else:
        x = x * 1000
    return x, i


@case
def for_continue(x, y):
    for i in range(5):
        if i % 2:
            continue
        x = x + i
    return x


@case
def nested_break(x, y):
    for i in range(3):
        for j in range(3):
            if j > i:
                break
            x = x + j
    return x, i, j


@case
def while_counted(x, y):
    n = 0
    while n < 4:
        x = x + n
        n += 1
    return x, n


@case
def while_true(x, y):
    n = 0
    while True:
        n += 1
        x = x * 1.5
        if n > 3:
            return x


@case
def while_else(x, y):
    n = 3
    while n:
        n -= 1
    else:
        x = x + 1
    return x


@case
def swapped_in_a_loop(x, y):
    for _ in range(5):
        x, y = y, x + y
    return x, y


@case
def swapped_in_a_long_loop(x, y):
    for _ in range(40):
        x, y = y, (x + y) * 0.5
    return x, y


@case
def list_grown_in_a_loop(x, y):
    kept = []
    for i in range(5):
        x = x * 0.5
        kept.append(x)
    return kept


@case
def list_grown_in_a_long_loop(x, y):
    kept = []
    for i in range(30):
        x = x * 0.5 + i
        kept.append(x)
    return kept[3], kept[-1], len(kept)


@case
def counter_in_a_long_loop(x, y):
    n = 0
    for i in range(30):
        x = x * 0.5
        n += i
    return x, n


@case
def float_in_a_long_loop(x, y):
    t = 0.0
    for i in range(30):
        x = x + t
        t += 0.25
    return x, t


@case
def index_in_a_long_loop(x, y):
    z = np.zeros(30)
    for i in range(30):
        z[i] = i * x[0]
    return z


@case
def recursion(x, y):
    def power(v, n):
        return v if n == 1 else v * power(v, n - 1)

    return power(x, 5)


@case
def mutual_recursion(x, y):
    def even(n):
        return x if n == 0 else odd(n - 1)

    def odd(n):
        return y if n == 0 else even(n - 1)

    return even(4), odd(4)


@case
def deep_recursion(x, y):
    def down(n):
        return x if n == 0 else down(n - 1) + 1

    return down(120)


@case
def early_return_in_a_loop(x, y):
    for i in range(10):
        if i == 3:
            return x * i


@case
def return_in_try_finally(x, y):
    log = []

    def f():
        try:
            return x + 1
        finally:
            log.append("done")

    return f(), log


@case
def finally_overrides(x, y):
    def f():
        try:
            return 1
        finally:
            return 2

    return f() * x


@case
def break_through_finally(x, y):
    log = []
    for i in range(3):
        try:
            if i == 1:
                break
        finally:
            log.append(i)
    return x, log


@case
def assertion_holds(x, y):
    assert len(x) > 1, "never"
    return x


@case
def assertion_fails(x, y):
    assert len(x) > 100, "too short"
    return x


@case
def passes(x, y):
    pass


@case
def nested_functions(x, y):
    def outer(a):
        def inner(b):
            return a * b

        return inner

    return outer(x)(y)


@given(lambda: 3)
def range_of_an_argument(x, y, n):
    for _ in range(n):
        x = x + 1
    return x


@given(lambda: [1.0, 2.0, 3.0])
def loop_over_a_list(x, y, factors):
    for f in factors:
        x = x * f
    return x


@given(lambda: True)
def flag(x, y, on):
    return x if on else y


@given(lambda: None)
def optional(x, y, z):
    return x if z is None else x + z
