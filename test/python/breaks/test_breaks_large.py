"""Frames with many locals and deep stacks are left and entered like small ones; generator functions are passed on."""

import asyncio
import inspect

import numpy as np
import pytest
from breaking import X, check_breaks, told_with_lines
from reports import graphs

import frameloom


def built(source):
    space = {"np": np}
    exec(source, space)
    return space["f"]


@pytest.mark.parametrize("count", [40, 61, 62, 63, 64, 65, 66, 100, 127, 128, 129, 200, 240])
def test_many_locals(count):
    lines = [f"    v{i} = x + {i}.0" for i in range(count)]
    source = ("def f(x):\n" + "\n".join(lines) + "\n    print(v0)\n    del v1\n"
              "    try:\n        y = v0 * 2\n        print(y)\n        {}['k']\n    except KeyError:\n        y = y * 3\n        print(y)\n"
              f"    return y + v{count - 1}, " + " + ".join(f"v{i}" for i in range(2, count)) + "\n")
    check_breaks(built(source), X, graphs=4)


@pytest.mark.parametrize("count", [60, 62, 63, 64, 70, 120, 130, 200])
def test_deep_stacks(count):
    items = ", ".join(f"x * {i}.0" if i % 7 else f"(print({i}), x + {i})[1]" for i in range(count))
    source = f"def f(x):\n    y = x + 1\n    return sum([{items}]) + y, np.stack(({items})).sum(), max(y.sum(), {count}.0, *({items},)[0])\n"
    check_breaks(built(source), X)
    calls = "def f(x):\n    y = x * 2\n    def many(*a):\n        print(len(a))\n        return sum(a)\n    return many(" + items + ") + y\n"
    check_breaks(built(calls), X)


@pytest.mark.parametrize("count", [63, 64, 65, 100, 230])
def test_many_arguments(count):
    names = ", ".join(f"a{i}" for i in range(count))
    f = built(f"def f({names}, *rest, k=1.0, **more):\n    s = {' + '.join(names.split(', '))}\n    print(s)\n    return s * k + rest[0]\n")
    compiled = frameloom.compile(f, backend="interpret")
    args = [X * i for i in range(count)] + [X]
    for kwargs in ({}, {"k": 2.0}, {"k": 2.0, "z": 1}):
        call = lambda g: lambda a: g(*a, **kwargs)
        for _ in range(2):
            assert told_with_lines(call(compiled), (args,)) == told_with_lines(call(f), (args,))
    assert graphs(compiled) >= 2


@pytest.mark.parametrize("count", [255, 256, 257, 300, 1000])
def test_more_than_is_kept(count):
    lines = [f"    v{i} = x + {i}.0" for i in range(count)]
    source = "def f(x):\n" + "\n".join(lines) + "\n    print(v0)\n    return v0 + " + " + ".join(f"v{i}" for i in range(count)) + "\n"
    check_breaks(built(source), X, calls=2)


def test_numbers_in_far_slots():
    """Numbers that change become inputs wherever they stand."""
    names = ", ".join(f"a{i}" for i in range(80))
    f = built(f"def f(x, {names}):\n    y = x * a79 + a1\n    print(y)\n    return y + a78\n")
    compiled = frameloom.compile(f, backend="interpret")
    for k in range(20):
        args = [X] + [float(k + i) for i in range(80)]
        assert told_with_lines(compiled, tuple(args)) == told_with_lines(f, tuple(args))
    assert len(compiled._report()["entries"]) < 12


# ---- generator functions and coroutines ----

def test_a_generator_function():
    @frameloom.compile
    def f(x):
        for i in range(3):
            x = x + 1
            got = yield x
            if got is not None:
                x = x * got

    def plain(x):
        return f.__wrapped__(x)

    for _ in range(3):
        a, b = f(X), plain(X)
        assert inspect.isgenerator(a)
        np.testing.assert_array_equal(next(a), next(b))
        np.testing.assert_array_equal(a.send(3.0), b.send(3.0))
        np.testing.assert_array_equal(list(a), list(b))
    with pytest.raises(frameloom.GraphBreak) as refused:
        frameloom.compile(f.__wrapped__, fullgraph=True)(X)
    assert "generator" in str(refused.value)
    assert inspect.isgeneratorfunction(f.__wrapped__)


def test_a_coroutine_function():
    @frameloom.compile
    async def f(x):
        await asyncio.sleep(0)
        return x + 1

    @frameloom.compile
    async def g(x):
        yield x
        yield x * 2

    async def main():
        return (await f(X)) * 2, [y async for y in g(X)]

    for _ in range(3):
        one, many = asyncio.run(main())
        np.testing.assert_array_equal(one, (X + 1) * 2)
        np.testing.assert_array_equal(many, [X, X * 2])
    with pytest.raises(frameloom.GraphBreak, match="coroutine"):
        frameloom.compile(f.__wrapped__, fullgraph=True)(X)
