"""Breaks: what cannot be captured runs for real, and capture goes on behind it.

Every function is run plainly and compiled, several times: result, printed output, arguments afterwards, exceptions with
the lines of their tracebacks have to be the same; and the graphs and breaks are counted.
"""

import gc
import sys
import threading

import numpy as np
import pytest
from alarms import SOON, Alarm
from breaking import Manager, X, check_breaks, told_with_lines
from reports import graphs

import frameloom

# ---- the plain path ----

def test_a_call_between_two_graphs():
    def f(x):
        y = x * 2 + 1
        print("y", y[0])
        return y.sum() + x

    report = check_breaks(f, X, graphs=2, breaks=["SIDE_EFFECT"])
    assert report["breaks"][0][7] == f.__code__.co_firstlineno + 2


def test_with_machine_code():
    def f(x):
        y = x * 2 + 1
        print("y", y[0])
        return y.sum() + x

    check_breaks(f, X, graphs=2, make=frameloom.compile)
    explained = frameloom.explain(f, X)
    assert (explained.graph_count, explained.graph_break_count) == (2, 1)


def test_branches_on_data():
    def f(x):
        y = x - 3
        if y.sum() > 0:
            z = y * 2
        else:
            z = y * 3
        return z + 1

    compiled = frameloom.compile(f, backend="interpret")
    for x in (X, -X, X * 9, -X):
        np.testing.assert_array_equal(compiled(x), f(x))
    assert graphs(compiled) == 3
    with pytest.raises(frameloom.GraphBreak):
        frameloom.compile(f, fullgraph=True)(X)
    with pytest.raises(ValueError, match="ambiguous"):
        frameloom.compile(lambda x: 1 if x else 2)(X)


def test_while_on_data():
    def f(x):
        s = x * 2
        while s.sum() < 100000:
            s = s * 2
        return s

    check_breaks(f, X, graphs=2, breaks=["DATA_DEPENDENT"])


def test_graph_break():
    def f(x):
        y = x + 1
        frameloom.graph_break()
        return y * 2

    check_breaks(f, X, graphs=2, breaks=["USER"])


def test_and_or_not():
    def f(x, y):
        a = x.any() and y.any()
        b = x.all() or y
        return not x.all(), a, b if (x > 2).any() else a

    for y in (X, X * 0):
        check_breaks(f, X, y)
        check_breaks(f, y, X)


# ---- loops ----

def loop_range(x):
    for i in range(4):
        x = x * 1.5
        print(i, x.sum())
        x = x + 1
    return x


def loop_list(x):
    total = 0
    for v in [x, x + 1, x * 2]:
        total = total + v
        print(total)
        if total.sum() > 20:
            break
        if total.sum() > 10:
            continue
        total = total * 1.0
    else:
        print("else")
    return total


def loop_zip(x):
    for i, (a, b) in enumerate(zip([1, 2, 3], (4.0, 5.0, 6.0)), 10):
        x = x * a + b
        print(i)
    return x


def loop_dict(x):
    d = {"a": x, "b": x + 1}
    for key, v in d.items():
        print(key)
        x = x + v
    return x


def loop_array(x):
    out = []
    for row in np.outer(x, x):
        out.append(row * 2)
        print(len(out))
    return out


def loop_reversed(x):
    for v in reversed([1.0, 2.0, 3.0]):
        x = x * v
        print(x)
    return x


def loop_nested(x):
    for i in range(3):
        for j in range(2):
            x = x + i * j
            print(i, j)
        x = x * 2
    return x


def loop_generator(x):
    total = 0
    for v in (a * 2 for a in x):
        total = total + v
        print(total)
    return total


def loop_comprehension(x):
    return [print(i) or x * i for i in range(3)], {i: x + i for i in range(2)}


def loop_grows(x):
    items = [x]
    for v in items:
        print(len(items))
        if len(items) < 4:
            items.append(v * 2)
    return items


def loop_over_what_grew_before(x):
    items = [x]
    print(len(items))
    items += [x + 1, x + 2]
    for v in items:
        frameloom.graph_break()
        print(v)
    items += [1, 2]
    for v in reversed(items):
        frameloom.graph_break()
        print(v)
    items.append(3)
    for i, (v, w) in enumerate(zip(items, items[1:])):
        frameloom.graph_break()
        print(i, v, w)
    return [print(v) for v in items]


@pytest.mark.parametrize("f", [loop_range, loop_list, loop_zip, loop_dict, loop_array, loop_reversed, loop_nested, loop_generator,
                               loop_comprehension, loop_grows, loop_over_what_grew_before])
def test_loops(f):
    check_breaks(f, X)


def test_a_loop_compiles_its_parts_once():
    def f(x, n):
        for _ in range(n):
            x = x * 0.5
            print(end="")
            x = x + 1
        return x

    compiled = frameloom.compile(f, backend="interpret")
    np.testing.assert_array_equal(compiled(X, 5), f(X, 5))
    report = compiled._report()
    assert graphs(compiled) == 3  # up to the break, behind it, and a whole round
    np.testing.assert_array_equal(compiled(X, 2000), f(X, 2000))
    assert compiled._report()["captures"] <= report["captures"] + 2


# ---- with and try ----

def with_body(x):
    with Manager() as m:
        y = x * 2
        print(y)
        y = y + len(m.swallows)
    return y


def with_swallows(x):
    with Manager(KeyError):
        y = x * 2
        print(y)
        {}["a"]
    return y + 1


def with_in_a_loop(x):
    for i in range(3):
        with Manager(ValueError):
            x = x - 1
            print("in", i)
            if i == 1:
                raise ValueError("v")
            x = x * 2
    return x


def with_errstate(x):
    with np.errstate(divide="ignore"):
        y = 1 / (x - 1)
        print(y)
        z = np.log(x - 1)
    return y, z


def try_handler(x):
    try:
        y = x + 1
        print(y)
        y = y * 2
        raise KeyError("k")
    except KeyError as e:
        y = y + 5
        print("handler", e, sys.exc_info()[0])
        y = y * 3
    finally:
        print("finally")
        y = y - 1
    return y


def try_nested(x):
    try:
        try:
            y = x + 1
            print(y)
            int("q")
        finally:
            print("inner")
            y = x * 3
    except ValueError as e:
        print("outer", e)
        raise RuntimeError("r") from e


def try_call_raises(x):
    try:
        y = x + 1
        int("no number")
    except ValueError:
        y = x * 2
    else:
        y = x * 3
    return y


def finally_returns(x):
    for i in range(3):
        try:
            x = x + i
            print(i)
            if i == 1:
                return x
        finally:
            print("left", i)
            x = x * 2


def uncaught(x):
    y = x * 2
    print(y)
    y = y + 1
    if y.sum() < 1000:
        raise AssertionError("small")


def bare_raise(x):
    try:
        print(x + 1)
        [][1]
    except IndexError:
        print("handled")
        raise


@pytest.mark.parametrize("f", [with_body, with_swallows, with_in_a_loop, with_errstate, try_handler, try_nested, try_call_raises,
                               finally_returns, uncaught, bare_raise])
def test_with_and_try(f):
    check_breaks(f, X)


# ---- what a frame holds ----

def holds_cells(x):
    k = 3.0

    def g(a):
        return a * k

    y = g(x)
    print(y)
    k = k + 1
    z = g(y)
    return z, k, sorted(locals())


def holds_aliases(x):
    y = x + 1
    a = [y, y]
    d = {"k": a}
    t = (y, [y, (y,)], {"a": y})
    print(y)
    a[0] += 1
    return a[0] is y, d["k"] is a, d, y, t[0] is t[1][0], t[2]["a"] is y


def holds_views(x):
    y = x[1:]
    y += 1
    print(x)
    y *= 2
    print(x)
    return x, y, y.base is x


def holds_a_lambda(x):
    f = lambda a, b=2: a * b + x.sum()
    y = f(x)
    print(y)
    return f(y, b=3)


def holds_nothing(x):
    gone = x + 1
    print(gone)
    del gone
    print("x")
    try:
        gone
    except UnboundLocalError as e:
        print(e)
    return x


def holds_a_partial_call(x):
    return max(print("a") or 3.0, float(x.sum()), key=lambda v: -v) + x


def holds_a_list_display(x):
    return [x, x + 1, print("in a list"), {"a": x * 2, "b": print("in a dict")}, (x, print("t"), *[1, 2])]


def holds_a_method(x):
    items = [3, 1, 2]
    print(items)
    items.sort()
    items.append(x * 2)
    items[0] = x
    items += [1]
    return items


def holds_an_object(x):
    class Box:
        pass

    box = Box()
    box.a = x * 2
    print("box")
    box.b = box.a + 1
    return box.a, box.b, vars(box).keys()


def holds_a_frame(x):
    y = x * 2
    frame = sys._getframe()
    print(frame.f_code.co_name, frame.f_lineno, sorted(frame.f_locals))
    y = y + 1
    return frame.f_lineno - frame.f_code.co_firstlineno, y


def holds_numbers(x):
    n, r = 0, 1.0
    for i in range(5):
        n += i
        r = r * 0.5
        x = x + n * r
        print(n, r)
    return n, r, x


def writes_array(x):
    a = np.zeros(3)
    for i in range(3):
        a[i] = x[i] * 2
        x[i] = -1
        print(a, x)
    return a


def evaluates(x):
    y = x + 1
    z = eval("y * 2")
    return z + y


def imports(x):
    import colorsys

    y = x * 2
    return y, colorsys.rgb_to_hsv(0.1, 0.2, 0.3)


def matches(x):
    match [print("subject"), x]:
        case [None, y]:
            return y * 2


def formats(x):
    y = x * 2
    text = f"{y} and {y.sum():.2f}"
    return text, y + 1


@pytest.mark.parametrize("f", [holds_cells, holds_aliases, holds_views, holds_a_lambda, holds_nothing, holds_a_partial_call,
                               holds_a_list_display, holds_a_method, holds_an_object, holds_a_frame, holds_numbers, writes_array,
                               evaluates, imports, matches, formats])
def test_what_a_frame_holds(f):
    check_breaks(f, X)


def test_arguments_of_all_kinds():
    def f(x, /, y, *rest, k=2, **more):
        z = x * k + y + rest[0]
        print(z, rest, more)
        z = z + more["z"]
        more["n"] = 1
        print(sorted(more))
        del y
        print(sorted(locals()))
        return z

    compiled = frameloom.compile(f, backend="interpret")
    call = lambda g: lambda x: g(x, 2.0, 1.0, k=3, z=2.0)
    for _ in range(3):
        assert told_with_lines(call(compiled), (X,)) == told_with_lines(call(f), (X,))


def test_super_and_class_cells():
    class A:
        def m(self, x):
            return x + 1

    class B(A):
        @frameloom.compile
        def m(self, x):
            y = x * 2
            print("m")
            return super().m(y), __class__ is B

    want, got = [None, None], B().m(X)
    np.testing.assert_array_equal(got[0], X * 2 + 1)
    assert got[1]


def test_reference_counts_are_plain_pythons():
    def f(x):
        y = x * 2
        before = sys.getrefcount(y)
        y.resize(2)
        z = [y]
        return before, sys.getrefcount(z), y

    check_breaks(f, X)


# ---- calls ----

def helper(a):
    b = a * 2
    print("helper", b)
    return b + 1


def test_a_break_in_a_called_function():
    def f(x):
        y = helper(x + 1)
        return y * 2

    check_breaks(f, X, graphs=4)


def recursive(n, x):
    if n == 0:
        print("base")
        return x
    return recursive(n - 1, x * 2) + 1


def test_recursion():
    check_breaks(recursive, 4, X)


# ---- what has to run again ----

def test_only_the_part_runs_again():
    """A floating-point warning behind a break: what came before is not done twice."""
    def f(x, log):
        y = x + 1
        log.append(1)
        z = y / (x - 1)
        log.append(2)
        return z * 2

    compiled = frameloom.compile(f, backend="interpret")
    for _ in range(3):
        log = []
        with pytest.warns(RuntimeWarning, match="divide by zero") as seen:
            got = compiled(X, log)
        assert log == [1, 2] and len(seen) == 1
        assert seen[0].filename == __file__ and seen[0].lineno == f.__code__.co_firstlineno + 3
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(got, f(X, []))


def test_parts_are_captured_anew_for_other_types():
    def f(x, kinds):
        for kind in kinds:
            x = x.astype(kind)
            print(x.dtype)
            x = x + 1
        return x

    check_breaks(f, X, ["f4", "i4", "f8", "u1"])
    f = lambda numbers: [n + 1 for n in numbers if print(end="") is None]
    check_breaks(f, list(range(20)))


def test_the_recompile_limit_goes_on_in_the_part():
    def f(x, seen):
        seen.append(len(seen))
        return x + len(seen)

    compiled = frameloom.compile(f, backend="interpret", dynamic=False)
    seen = []
    for i in range(1, 14):
        np.testing.assert_array_equal(compiled(X, seen), X + i)
    assert seen == list(range(13))


def test_what_varies_without_end_runs_for_real_in_a_part():
    """Behind the recompile limit, the part ends before the instruction that looks at it; the rest stays compiled."""
    def f(x, names):
        for n in names:
            x = x + 1
            print(n, end=" ")
            x = x * 2 + len(n)
            print(end="")
            x = x - 1
        return x * 3

    compiled = frameloom.compile(f, backend="interpret", dynamic=False)
    for count in (5, 40, 60):
        names = ["a" * i for i in range(1, count)]
        assert told_with_lines(compiled, (X, names)) == told_with_lines(f, (X, names))
    entries = compiled._report()["entries"]
    assert len(entries) < 40
    assert sum(e["hits"] for e in entries if e["ops"] == ["constant", "sub"]) > 90


def test_the_code_is_replaced_behind_a_break():
    def f(x):
        y = x + 1
        swap()
        y = y * 2
        swap()
        return y

    def g(x):
        swap  # both have the same free variables
        return x - 100

    code = f.__code__
    compiled = frameloom.compile(f, backend="interpret")

    def swap():
        f.__code__ = g.__code__

    for _ in range(2):
        f.__code__ = code
        np.testing.assert_array_equal(compiled(X), (X + 1) * 2)
        np.testing.assert_array_equal(compiled(X), X - 100)


def test_reset_behind_a_break():
    def f(x):
        y = x + 1
        frameloom.reset()
        y = y * 2
        frameloom.reset()
        return y

    check_breaks(f, X)


def test_tracing_begins_at_a_break():
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code.co_name == "f" and event == "line":
            lines.append(frame.f_lineno - frame.f_code.co_firstlineno)
        return tracer

    def f(x):
        y = x + 1
        start()
        y = y * 2
        return y

    def start():
        sys.settrace(tracer)
        sys._getframe(1).f_trace = tracer

    compiled = frameloom.compile(f, backend="interpret")
    for call in (f, compiled):
        lines.clear()
        try:
            np.testing.assert_array_equal(call(X), (X + 1) * 2)
        finally:
            sys.settrace(None)
        assert lines == [3, 4]


def test_an_interrupt_is_handled_where_the_function_stands():
    def f(x):
        try:
            while True:
                x = x + 1
                begun()
                if x[0] > 1e12:
                    return "never"
        except KeyboardInterrupt:
            return "stopped"

    def begun():
        seen.append(1)
        if len(seen) == 20:
            alarm.ring()

    def interrupt():
        raise KeyboardInterrupt

    compiled, seen = frameloom.compile(f, backend="interpret"), []
    with Alarm(interrupt, switch=SOON) as alarm:
        assert compiled(np.zeros(2)) == "stopped"
    assert len(seen) >= 20


def test_threads():
    def f(x):
        for i in range(20):
            x = x + 1
            note(i)
        return x

    def note(i):
        seen.append(i)

    seen, results = [], []
    compiled = frameloom.compile(f, backend="interpret")
    threads = [threading.Thread(target=lambda: results.append(compiled(X))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8 and len(seen) == 160
    for result in results:
        np.testing.assert_array_equal(result, X + 20)


def test_no_reference_is_lost():
    def f(x, items):
        y = x * 2
        for item in items:
            y = y + item
            note(y)
        return y

    def note(y):
        pass

    compiled = frameloom.compile(f, backend="interpret")
    items = [np.ones(3), 2.0, np.full(3, 5.0)]
    for _ in range(3):
        compiled(X, items)
    gc.collect()
    counts = [sys.getrefcount(o) for o in (X, items, *items)]
    for _ in range(50):
        compiled(X, items)
    assert [sys.getrefcount(o) for o in (X, items, *items)] == counts


# ---- every place for every cause ----

CAUSES = {
    "call": "print('c', end='')",
    "value": "y = y + (print('v') or 1)",
    "data": "y = y * 2 if y.sum() > 3 else y * 3",
    "raises": "y = y + boom(y)",
    "break": "frameloom.graph_break()",
    "list": "log.append(y.sum())",
}

PLACES = {
    "plain": "{}",
    "for_range": "for i in range(3):\n    y = y + i\n    {}\n    y = y * 1.5",
    "for_zip": "for a, b in zip((1.0, 2.0), [y, y + 1]):\n    {}\n    y = y * a + b",
    "for_dict": "for k in {{'a': 1, 'b': 2}}:\n    {}\n    y = y + len(k)",
    "while": "n = 0\nwhile n < 3:\n    n += 1\n    {}\n    y = y + n",
    "with": "with Manager(ValueError):\n    y = y + 1\n    {}\n    y = y * 2",
    "try": "try:\n    y = y + 1\n    {}\nexcept ValueError as e:\n    y = y * 7\nelse:\n    y = y - 1",
    "finally": "try:\n    {}\nfinally:\n    y = y + 1\n    print('f')",
    "handler": "try:\n    raise KeyError('k')\nexcept KeyError as e:\n    y = y + 1\n    {}\n    y = y * 2",
    "in_finally": "try:\n    y = y + 1\nfinally:\n    {}\n    y = y * 2",
    "for_with": "for i in range(2):\n    with Manager(ValueError):\n        {}\n        y = y * 2\n    y = y + 1",
    "with_for": "with Manager():\n    for i in range(2):\n        {}\n        y = y + i",
    "nested_try": "for i in range(2):\n    try:\n        try:\n            {}\n        finally:\n            y = y + 1\n"
                  "    except ValueError:\n        y = y * 3\n        continue",
}


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("place", PLACES)
def test_places_and_causes(place, cause, tmp_path):
    body = PLACES[place].format("{}")
    lines = []
    for line in body.split("\n"):
        lines.append(line.replace("{}", CAUSES[cause]))
    source = "def f(x, log):\n    y = x + 1\n" + "".join(f"    {line}\n" for line in lines) + "    return y * 2, log\n"
    path = tmp_path / "case.py"
    path.write_text(source)

    def boom(y):
        print("boom")
        if y[0] > 2.5:
            raise ValueError("boom")
        return 1.0

    space = {"Manager": Manager, "frameloom": frameloom, "boom": boom}
    exec(compile(source, str(path), "exec"), space)
    check_breaks(space["f"], X, [], calls=2)
    check_breaks(space["f"], X * 2, [], calls=2)


# ---- objects of classes over builtin types, which live behind every break ----

def test_live_objects_of_classes_over_builtin_types():
    class Row(list):
        pass

    class Table(dict):
        pass

    def f(row, table, frozen):
        try:
            both = row + [3]
        except TypeError:
            both = None
        return row == [1, 2], [1, 2] != row, table == {"a": 1}, row in [[1, 2]], frozen == {1, 2}, both

    assert frameloom.compile(f)(Row([1, 2]), Table(a=1), frozenset([1, 2])) == (True, False, True, True, True, [1, 2, 3])


def test_a_slice_up_to_a_number_that_is_computed():
    def f(x, n):
        return x[int(n[0]):] * 2, x[: int(n[1])] + 1

    x, n = np.arange(60.0), np.array([5, 40])
    report = frameloom.explain(f, x, n)
    assert {r.name for r in report.break_reasons} == {"DATA_DEPENDENT"}
    for want, got in zip(f(x, n), frameloom.compile(f)(x, n), strict=True):
        assert np.array_equal(want, got)
