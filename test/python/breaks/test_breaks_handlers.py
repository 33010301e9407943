"""Breaks inside of exception handlers, and exceptions raised by what runs for real: capture goes on in the handler.

`__context__`, `__cause__`, tracebacks, `sys.exc_info()` and a bare `raise` have to be plain Python's, and what a handler
computes is compiled: the graphs are counted.
"""

import contextlib
import sys
import traceback

import numpy as np
import pytest
import reports
from breaking import Manager, X, check_breaks

import frameloom


def chain(e):
    """An exception and all that it was raised in, with the lines of their tracebacks."""
    seen = []
    while e is not None and len(seen) < 9:
        frames = [(f.name, f.lineno, f.line) for f in traceback.extract_tb(e.__traceback__)]
        seen.append((type(e).__name__, str(e), [f for f in frames if f[0] not in ("handled", "call")], e.__suppress_context__))
        e = e.__cause__ if e.__cause__ is not None else e.__context__
    return seen


def handled(f, x):
    """What a call does and what is handled behind it."""
    log = []
    try:
        result = ("value", f(x.copy(), log.append))
    except BaseException as e:
        result = ("raised", chain(e))
    return repr(result), repr(log), sys.exc_info()


def handlers_alike(f, graphs=None, calls=3, x=X):
    compiled = frameloom.compile(f, backend="interpret")
    for _ in range(calls):
        assert handled(compiled, x) == handled(f, x)
        with pytest.raises(LookupError) as got:  # what the caller handles is there again
            try:
                raise LookupError("outer")
            except LookupError:
                assert handled(compiled, x) == handled(f, x)
                raise
        assert str(got.value) == "outer"
    assert graphs is None or reports.graphs(compiled) == graphs, [e["ops"] for e in compiled._report()["entries"]]


def boom(*values):
    raise ValueError(f"boom {len(values)}")


def in_a_handler(x, note):
    y = x + 1
    try:
        boom(y)
    except ValueError as e:
        y = y * 2
        note(str(e))
        y = y + 5
        note(sys.exc_info()[1] is e)
        y = y * 3
    return y - 1


def bare(x, note):
    y = x * 2
    try:
        boom(y)
    except ValueError:
        y = y + 1
        note(float(y.sum()))
        y = y * 2
        note(float(y.sum()))
        raise


def bare_below(x, note):
    def again(y):
        note(float((y * 2).sum()))
        raise

    try:
        boom(x)
    except ValueError:
        y = x + 1
        again(y)


def context(x, note):
    try:
        boom(x)
    except ValueError:
        y = x + 1
        note(float(y.sum()))
        z = y * 2
        {}[float(z.sum())]


def cause(x, note):
    try:
        boom(x)
    except ValueError as e:
        y = x + 1
        note(float(y.sum()))
        raise KeyError(float((y * 2).sum())) from e


def from_none(x, note):
    try:
        boom(x)
    except ValueError:
        y = x * 2
        note(y.tolist())
        raise KeyError("k") from None


def nested(x, note):
    try:
        boom(x)
    except ValueError as e:
        y = x + 1
        note(repr(e))
        try:
            y = y * 2
            boom(y, y)
        except ValueError as f:
            y = y - 1
            note((repr(e), repr(f), f.__context__ is e))
            y = y * 2
        note(sys.exc_info()[1] is e)
        y = y + 3
    note(sys.exc_info()[1] is None or str(sys.exc_info()[1]))
    return y * 2


def passes_on(x, note):
    try:
        try:
            boom(x)
        except KeyError:
            note("never")
        finally:
            x = x * 2
            note(x.tolist())
            x = x + 1
    except ValueError as e:
        x = x * 3
        note(str(e))
    return x + 1


def finally_in_a_loop(x, note):
    for i in range(4):
        try:
            x = x + 1
            if i == 2:
                boom(x)
            note(i)
        except ValueError:
            x = x * 2
            note("handled")
            continue
        finally:
            x = x - 0.5
            note(x.tolist())
            x = x * 1.5
    return x


def with_that_raises(x, note):
    with contextlib.suppress(ValueError):
        y = x + 1
        note(y.tolist())
        boom(y)
    return y * 2 + x


def with_managers(x, note):
    with Manager(), Manager(ValueError), Manager(KeyError):
        x = x * 2
        note(1)
        boom(x)
    x = x + 1
    note(2)
    return x * 2


def returns_from_a_handler(x, note):
    for i in range(3):
        try:
            boom(i)
        except ValueError:
            x = x + i
            note(x.tolist())
            if i == 1:
                return x * 2


def breaks_out_of_handlers(x, note):
    while True:
        try:
            try:
                boom(x)
            except ValueError:
                x = x * 2
                note(x.tolist())
                if x.sum() > 50:
                    break
                x = x + 1
        finally:
            x = x - 1
            note("f")
    return x * 2


def own_exception(x, note):
    class Mine(Exception):
        def __init__(self, a):
            super().__init__("mine")
            self.a = a

    try:
        raise Mine(x * 2)
    except Mine as e:
        y = e.a + 1
        note(str(e))
        return y * 2


def exception_kept(x, note):
    kept = None
    try:
        boom(x)
    except ValueError as e:
        kept = e
        x = x + 1
        note(1)
    try:
        x = x * 2
        raise kept
    except ValueError as e:
        note(chain(e))
        x = x + 1
    return x


def raised_again_by_name(x, note):
    try:
        boom(x)
    except ValueError as e:
        x = x + 1
        note(x.tolist())
        raise e


def formatted(x, note):
    try:
        x = x * 2
        boom(x)
    except ValueError:
        note([line for line in traceback.format_exc().split("\n") if "File" not in line])
        x = x + 1
    return x


def group(x, note):
    try:
        raise ExceptionGroup("g", [ValueError("v"), KeyError("k"), TypeError("t")])
    except* ValueError as e:
        x = x * 2
        note(repr(e))
        x = x + 1
    except* KeyError as e:
        note(repr(e))
        x = x * 3
        note(x.tolist())
    return x


def group_that_raises(x, note):
    try:
        raise ExceptionGroup("g", [ValueError("v"), KeyError("k")])
    except* ValueError:
        x = x * 2
        note(x.tolist())
        raise TypeError("in it")


def in_a_comprehension(x, note):
    try:
        return [boom(note(i)) for i in range(3)]
    except ValueError:
        x = x + 1
        note(1)
        return [x * i for i in range(2) if note(i) is None]


def operation_raises(x, note):
    try:
        y = x + 1
        y = y[7]
    except IndexError as e:
        y = x * 2
        note(str(e))
        y = y + 1
    return y


def uncaught(x, note):
    y = x * 2
    note(y.tolist())
    z = y + 1
    raise RuntimeError(float(z.sum()))


CASES = [in_a_handler, bare, bare_below, context, cause, from_none, nested, passes_on, finally_in_a_loop, with_that_raises,
         with_managers, returns_from_a_handler, breaks_out_of_handlers, own_exception, exception_kept, raised_again_by_name,
         formatted, group, group_that_raises, in_a_comprehension, operation_raises, uncaught]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_handlers(f):
    handlers_alike(f)


@pytest.mark.parametrize("f, graphs", [(in_a_handler, 4), (bare, 3), (context, 2), (cause, 2), (nested, 7), (passes_on, 3),
                                       (with_that_raises, 2), (uncaught, 2)], ids=lambda p: getattr(p, "__name__", None))
def test_handlers_are_compiled(f, graphs):
    handlers_alike(f, graphs=graphs)


def test_loops_in_handlers_are_rolled():
    def f(x, n):
        try:
            boom(x)
        except ValueError as e:
            print(e)
            for i in range(n):
                x = x * 0.5 + i
            x = x + sys.exc_info()[1].args[0].count("o")
        return x

    compiled = frameloom.compile(f, backend="interpret")
    for n in (100, 1000, 2000):
        np.testing.assert_allclose(compiled(X, n), f(X, n))
    loops = [loop for e in compiled._report()["entries"] for loop in e["loops"]]
    assert loops and all(loop[4] == "rolled" for loop in loops), loops


def test_what_the_caller_handles():
    """A function without a handler of its own sees its caller's exception, compiled or not."""
    def reads(x):
        y = x + 1
        return y, sys.exc_info()[0]

    def raises(x):
        y = x + 1
        raise

    compiled, again = frameloom.compile(reads, backend="interpret"), frameloom.compile(raises, backend="interpret")
    for _ in range(3):
        assert compiled(X)[1] is None
        with pytest.raises(RuntimeError, match="No active exception"):
            again(X)
        try:
            boom()
        except ValueError as e:
            assert compiled(X)[1] is ValueError
            with pytest.raises(ValueError) as got:
                again(X)
            assert got.value is e
        assert compiled(X)[1] is None


def test_printed_output():
    def f(x):
        try:
            y = x + 1
            print(y)
            boom(y)
        except (KeyError, ValueError) as e:
            y = y * 2
            print(e, y)
            y = y + 1
        else:
            print("else")
        finally:
            print("finally")
            y = y - 3
        return y

    check_breaks(f, X)


def test_lifetimes():
    """Leaving a handler drops the exception and what its traceback holds."""
    import gc
    import weakref

    seen = []

    class Error(Exception):
        def __init__(self):
            seen.append(weakref.ref(self))

    def thrower():
        raise Error

    def f(x):
        try:
            y = x + 1
            thrower()
        except Error:
            y = x * 2
            seen.append(1)
            y = y + 1
        z = y * 2
        return z, seen[0]()

    compiled = frameloom.compile(f, backend="interpret")
    gc.disable()
    try:
        for call in (f, compiled, compiled, compiled):
            seen.clear()
            result, alive = call(X)
            assert alive is None
            np.testing.assert_array_equal(result, (X * 2 + 1) * 2)
    finally:
        gc.enable()


STACKS = {
    "for": "for i in range(2):\n    {}",
    "while": "n = 0\nwhile n < 2:\n    n += 1\n    {}",
    "with": "with Manager(ValueError):\n    {}",
    "try": "try:\n    {}\nexcept KeyError:\n    y = y + 100",
    "handler": "try:\n    boom()\nexcept ValueError:\n    y = y + 1\n    {}\n    y = y * 2",
    "finally": "try:\n    y = y + 1\nfinally:\n    {}",
    "raised_finally": "try:\n    try:\n        boom()\n    finally:\n        y = y + 1\n        {}\nexcept ValueError:\n    y = y * 2",
}
DEPTHS = {
    "statement": "note({}); y = y * 2",
    "operand": "y = y + (1.0 if note({}) is None else 2.0)",
    "argument": "y = np.add(y, [1.0, (note({}), 2.0)[1], 3.0][1])",
    "deep": "y = y * (1 + (2 + (3 + (note({}) or 4.0))))",
    "comprehension": "y = y + sum([k for k in (1.0, 2.0) if note({}) is None])",
    "call": "y = y + (lambda a: (note(a), 2.0)[1])({})",
    "caught": "try:\n    note({}); boom()\nexcept ValueError as e:\n    y = y + 1; note(str(e)); y = y * 2",
}


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("inner", STACKS)
@pytest.mark.parametrize("outer", STACKS)
def test_stack_shapes(outer, inner, depth, tmp_path):
    """A break at each depth of the operand stack inside of each pair of blocks."""
    def indent(text, by):
        return text.replace("\n", "\n" + " " * by)

    def put(block, body):
        line = next(line for line in block.split("\n") if "{}" in line)
        return block.replace("{}", indent(body, len(line) - len(line.lstrip())))

    body = put(STACKS[outer], put(STACKS[inner], DEPTHS[depth].replace("{}", "float(y.sum())")))
    source = "def f(x, note):\n    y = x + 1\n    " + indent(body, 4) + "\n    return y * 2\n"
    path = tmp_path / "case.py"
    path.write_text(source)
    space = {"Manager": Manager, "boom": boom, "np": np}
    exec(compile(source, str(path), "exec"), space)
    handlers_alike(space["f"], calls=2)
