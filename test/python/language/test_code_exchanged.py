"""Functions whose code is exchanged while they run: each call goes on in the code that it began with."""

import itertools

import pytest
from compare import told

import frameloom

FORMS = {  # what a function does once its code has been exchanged; NAME is what exchanges it
    "call": "return NAME(own)(*args, **kwargs)",
    "value": "kept = [1, 2]; NAME(own); return kept, args, sorted(kwargs)",
    "loop": "total = 0\n    for i in range(3):\n        if i == 1: NAME(own)\n        total += i\n    return total, args, sorted(kwargs)",
    "try": "try:\n        NAME(own)\n        raise KeyError(args)\n    except KeyError as error:\n        return error.args, sorted(kwargs)",
    "with": "with Guard() as guard:\n        NAME(own)\n        guard.append(args)\n    return guard, sorted(kwargs)",
    "generator": "def items():\n        yield 1\n        NAME(own)\n        yield args\n    return list(items()), sorted(kwargs)",
    "itself": "yield 1\n    NAME(own)\n    yield args\n    yield sorted(kwargs)",
}
NEW = {
    "same": "def f(*args, own=None, **kwargs):\n    return ('new', args, sorted(kwargs))",
    "more": "def f(*args, own=None, extra=5, **kwargs):\n    a = 1\n    b = [a, extra]\n    return ('new', args, b, sorted(kwargs))",
    "fewer": "def f(*args, **kwargs):\n    return ('new', len(args), sorted(set(kwargs) - {'own'}))",
    "generator": "def f(*args, own=None, **kwargs):\n    yield 'new'\n    yield args",
}


class Guard(list):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.append("left")


def made(form, new, runs_for_real):
    """A function that makes functions with one code; each exchanges its own when it is called."""
    text = f"def make():\n  def f(*args, own=None, **kwargs):\n    {FORMS[form].replace('NAME', 'exchange')}\n  f.__kwdefaults__['own'] = f\n  return f\n"
    space = {}
    exec(NEW[new], space)
    fresh = space["f"]

    def exchange(function):
        if runs_for_real:
            print(end="")
        if function is None:
            return lambda *args, **kwargs: ("none", args, sorted(kwargs))
        function.__code__, function.__kwdefaults__ = fresh.__code__, fresh.__kwdefaults__
        return function

    scope = {"exchange": exchange, "Guard": Guard}
    exec(text, scope)
    return scope["make"]


@pytest.mark.parametrize("form, new", list(itertools.product(FORMS, NEW)))
@pytest.mark.parametrize("runs_for_real", [True, False])
def test_exchanged_while_it_runs(form, new, runs_for_real):
    make = made(form, new, runs_for_real)

    def program(function):
        return function(1, 2, x=3)

    def calls(around, of):
        results = []
        for _ in range(4):
            function = of(make())
            results += [told(around, function, after=False), told(around, function, after=False)]
        return results

    expected = calls(program, lambda f: f)
    with frameloom.config.patch(leave_slower=False):
        assert calls(frameloom.compile(program), lambda f: f) == expected
        assert calls(program, frameloom.compile) == expected
