"""Functions, methods, partials and generators that are made inside a compiled function and leave it."""

import functools
import operator
import types

import numpy as np
import pytest

import frameloom

X = np.arange(1.0, 4.0)


class Box:
    def __init__(self, value):
        self.value = value

    def twice(self):
        return self.value * 2


LIVE = Box(3)


def closure(x):
    y = x * 2

    def add(a, b=3, *, c=4):
        """Adds."""
        return a + b + c + y

    return add


def one_cell(x):
    n = x

    def get():
        return n

    def put(value):
        nonlocal n
        n = value

    put(x + 1)
    return get, put


def recursive(x):
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    return factorial


def mutual(x):
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    return even, odd


def decorated(x):
    def twice(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs) * 2

        inner.tag = "t"
        return inner

    @twice
    def scaled(a: int, k=x) -> float:
        return a * k

    return scaled


def default_list(x):
    def log(item, items=[]):  # noqa: B006
        items.append(item)
        return items

    log(1)
    return log


def test_closures():
    compiled, plain = frameloom.compile(closure, fullgraph=True)(X), closure(X)
    assert np.array_equal(compiled(1), plain(1)) and np.array_equal(compiled(1, 2, c=3), plain(1, 2, c=3))
    assert type(compiled) is types.FunctionType
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__defaults__", "__kwdefaults__", "__code__"):
        assert getattr(compiled, name) == getattr(plain, name), name
    assert compiled.__globals__ is plain.__globals__ and compiled.__dict__ == {}


def test_functions_are_new_for_each_call():
    f = frameloom.compile(closure, fullgraph=True)
    first, second = f(X), f(X + 1)
    assert first is not second and first(1)[0] == 10 and second(1)[0] == 12


def test_two_functions_share_their_variable():
    get, put = frameloom.compile(one_cell, fullgraph=True)(X)
    assert get.__closure__[0] is put.__closure__[0]
    assert get().tolist() == [2, 3, 4]
    put("other")
    assert get() == "other"


def test_functions_that_know_themselves():
    factorial = frameloom.compile(recursive, fullgraph=True)(X)
    assert factorial(6) == 720 and factorial.__closure__[0].cell_contents is factorial
    even, odd = frameloom.compile(mutual, fullgraph=True)(X)
    assert even(10) and not odd(10) and odd.__closure__[0].cell_contents is even


def test_decorated_functions():
    got, want = frameloom.compile(decorated, fullgraph=True)(X), decorated(X)
    assert np.array_equal(got(2), want(2)) and np.array_equal(got.__wrapped__(2), want.__wrapped__(2))
    assert (got.__name__, got.tag, got.__annotations__) == (want.__name__, want.tag, want.__annotations__)
    assert got.__qualname__ == want.__qualname__ and sorted(got.__dict__) == sorted(want.__dict__)


def test_defaults_keep_what_was_done_to_them():
    log = frameloom.compile(default_list, fullgraph=True)(X)
    assert log(2) == [1, 2] and log.__defaults__ == ([1, 2],)


def test_bound_methods():
    def made(x):
        return Box(x).twice

    def live(x):
        return LIVE.twice

    got = frameloom.compile(made, fullgraph=True)(X)
    assert type(got) is types.MethodType and got().tolist() == [2, 4, 6] and type(got.__self__) is Box
    assert frameloom.compile(live, fullgraph=True)(X) == LIVE.twice


def test_partials():
    def f(x):
        def inner(a, b, c):
            return a + b * c

        return functools.partial(inner, x, c=2), functools.partial(operator.add, 1)

    first, second = frameloom.compile(f, fullgraph=True)(X)
    assert first(10).tolist() == [21, 22, 23] and first.keywords == {"c": 2} and second(4) == 5
    assert type(first) is functools.partial and second.args == (1,)


def test_generators_that_have_not_begun():
    def f(x):
        def count(a, *more, k=1, **named):
            yield a
            yield from more
            yield k, named

        return (v * 2 for v in [x, 3]), count(x, 4, 5, z=6)

    first, second = frameloom.compile(f, fullgraph=True)(X)
    assert isinstance(first, types.GeneratorType) and [str(v) for v in first] == ["[2. 4. 6.]", "6"]
    assert second.__name__ == "count" and [str(v) for v in second][1:] == ["4", "5", "(1, {'z': 6})"]


def test_half_run_generators_go_on():
    def f(x):
        def numbers():
            yield x
            yield x + 1

        g = numbers()
        y = next(g) * 2
        return y, g

    y, g = frameloom.compile(f)(X)
    assert y[0] == 2 and [v[0] for v in g] == [2]


def test_functions_left_in_what_existed():
    table, box = {}, Box(0)

    def f(x):
        n = 0

        def up():
            nonlocal n
            n += 1
            return n

        up()
        table["up"] = up
        box.up = up
        return x + n

    frameloom.compile(f, fullgraph=True)(X)
    assert table["up"] is box.up and box.up() == 2 and table["up"]() == 3


def test_a_function_across_a_break():
    def f(x):
        n = x

        def get():
            return n

        frameloom.graph_break()
        n = n + 1
        frameloom.graph_break()
        return get, n

    get, n = frameloom.compile(f)(X)
    assert get() is n and n.tolist() == [2, 3, 4]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_coroutines_are_refused(asynchronous):
    async def inner(x):
        return x

    async def stream(x):
        yield x

    def f(x):
        made = inner(x) if asynchronous else stream(x)
        if asynchronous:
            made.close()
        return x + 1, type(made).__name__

    got, name = frameloom.compile(f)(X)
    assert got.tolist() == [2, 3, 4] and name == ("coroutine" if asynchronous else "async_generator")


def test_views_and_iterators_of_subclasses_at_a_break():
    class Rows(dict):
        pass

    class Items(list):
        pass

    def views(x):
        rows = Rows(a=x)
        keys, values, pairs = rows.keys(), rows.values(), rows.items()
        print(end="")
        rows["b"] = x * 2
        return list(keys), [v.tolist() for v in values], len(pairs), type(keys)

    def iterators(x):
        items = Items([x])
        forward = iter(items)
        print(end="")
        items.append(x * 2)
        return [v.tolist() for v in forward], len(items)

    for function in (views, iterators):
        compiled = frameloom.compile(function)
        for _ in range(3):
            assert compiled(np.arange(3.0)) == function(np.arange(3.0))
