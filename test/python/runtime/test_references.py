"""No reference is lost or made, by calls, captures, recompiles and resets: the reference counts of all objects that can be
reached, and the number of blocks of memory, stay where they are. (The sum of a debug build drifts by itself: NumPy's own
extension, built for the release one, does not count.)"""

import gc
import json
import sys

import numpy as np
import pytest
import test_leaks
from processes import printed, run_python, with_own_path

import frameloom


def numbers(x):
    for i in range(3):
        x = x + i
        yield x


def with_a_generator(x, y):
    return [n * y for n in numbers(x)]


def with_an_abandoned_generator(x, y):
    return next(frameloom.compile(numbers)(x)) + y


def with_a_rolled_loop(x, y):
    for i in range(50):
        x = x * 0.5 + y * i
    return x


def with_a_loop_that_breaks(x, y):
    total = []
    for i in range(4):
        total.append(x + i)
        frameloom.graph_break()
    return total


def with_a_context(x, y):
    with np.errstate(all="ignore"):
        z = x / y
        frameloom.graph_break()
        return z + 1


def with_a_closure(x, y):
    n = 1

    def inner(v):
        nonlocal n
        n += 1
        return v * n

    return inner(x) + inner(y)


def with_nested_exceptions(x, y):
    try:
        try:
            raise KeyError(1)
        except KeyError as error:
            frameloom.graph_break()
            raise ValueError(2) from error
    except ValueError as error:
        return x + len(error.args)
    finally:
        y = y + 1


def that_raises_at_once(x, y):
    raise ValueError(x + 1)


def with_a_host_call(x, y):
    return np.interp(x, [0.0, 1.0], [1.0, 2.0]) + np.sort(y), "%s" % len(x)


def with_masks(x, y):
    x = x.copy()
    x[y > 0] = 3
    return x[x > 1], np.nonzero(y)


def with_many_kinds(x, y):
    table = {"a": x, "b": (y, [x])}
    name = f"{len(table)}:{x.dtype}"
    return {**table, "c": name}, {1, 2, name}, [*table], x.shape, slice(1, name)


SHAPES = [*test_leaks.SHAPES, with_a_generator, with_an_abandoned_generator, with_a_rolled_loop, with_a_loop_that_breaks, with_a_context,
          with_a_closure, with_nested_exceptions, that_raises_at_once, with_a_host_call, with_masks, with_many_kinds]


def settle():
    """Without garbage and without CPython's cache of attributes of types, which holds a name or None in each place."""
    gc.collect()
    (getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache)()


def counted():
    """The objects that the collector knows and what those refer to, each with its reference count; the blocks in use."""
    settle()
    known = gc.get_objects()
    known += gc.get_referents(*known)
    objects = {id(o): o for o in known if type(o) is not int}  # those of the counts themselves
    del known
    return objects, {name: sys.getrefcount(o) for name, o in objects.items()}


def growth(work, warm, rounds):
    """Of the counts, and of the blocks. NumPy's own caches fill now and then: the least of four."""
    least = None
    for _ in range(warm):
        work()
    for _ in range(4):
        objects, before = counted()
        blocks = sys.getallocatedblocks()
        for _ in range(rounds):
            work()
        settle()
        blocks = sys.getallocatedblocks() - blocks
        moved = sum(abs(sys.getrefcount(o) - before[name]) for name, o in objects.items())
        del objects, before
        grown = max(abs(blocks), moved)
        least = grown if least is None else min(least, grown)
        if least < 12:
            break
    return least


def calls(function):
    compiled = frameloom.compile(function)
    x, y = np.zeros(6), np.ones(6)
    return growth(lambda: test_leaks.many(compiled, 1, x, y), 100, 200)


def captured_anew(function):
    x, y = np.zeros(6), np.ones(6)

    def work():
        test_leaks.many(frameloom.compile(function, backend="interpret"), 2, x, y)

    return growth(work, 10, 60)


def recompiles_and_resets(function):
    compiled = frameloom.compile(function, backend="interpret", dynamic=False)
    kinds = [(np.zeros(n, t), np.ones(n, t)) for n, t in [(3, "f8"), (4, "f8"), (4, "f4"), (5, "i8")]]

    def work():
        for x, y in kinds:
            test_leaks.many(compiled, 1, x, y)
        compiled._reset()

    return growth(work, 6, 20)


def captures_that_fail():
    def unsupported(x):
        return x.view(np.recarray), memoryview(x).hex(), eval("x.sum()", {"x": x})

    whole = frameloom.compile(unsupported, fullgraph=True)
    kinds = np.ones(2), "text", None, [1, {2: 3}], object()  # here: NumPy's own ones() counts a reference to its dtype

    def work():
        for x in kinds:
            try:
                whole(x)
            except Exception as error:
                error.__traceback__ = None
        whole._reset()

    return growth(work, 10, 40)


def what_is_asked_of_a_callable():
    compiled = frameloom.compile(with_many_kinds)
    x = np.ones(3)
    compiled(x, x)

    def work():
        frameloom.explain(with_a_loop_that_breaks, x, x).json()
        repr(compiled), compiled._report(), compiled.__name__, compiled.__get__(x)

    return growth(work, 10, 60)


def measure():
    """The growth of everything, by name."""
    grown = {f"{work.__name__} {f.__name__}": work(f) for work in (calls, captured_anew, recompiles_and_resets) for f in SHAPES}
    return grown | {work.__name__: work() for work in (captures_that_fail, what_is_asked_of_a_callable)}


@pytest.fixture(scope="module")
def grown():
    """Of a process of its own: in that of the other tests there are so many objects that counting them takes minutes."""
    done = run_python(__file__, environment=with_own_path())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("function", SHAPES, ids=lambda f: f.__name__)
def test_calls(function, grown):
    assert grown[f"calls {function.__name__}"] < 50


@pytest.mark.parametrize("function", SHAPES, ids=lambda f: f.__name__)
def test_captures(function, grown):
    assert grown[f"captured_anew {function.__name__}"] < 50


@pytest.mark.parametrize("function", SHAPES, ids=lambda f: f.__name__)
def test_recompiles_and_resets(function, grown):
    assert grown[f"recompiles_and_resets {function.__name__}"] < 18


def test_captures_that_fail(grown):
    assert grown["captures_that_fail"] < 30


def test_what_is_asked_of_a_callable(grown):
    assert grown["what_is_asked_of_a_callable"] < 50


if __name__ == "__main__":
    print(json.dumps(measure()))


MADE = """
import frameloom, numpy as np
def program():
    made = [round(np.float64(n), ndigits=-1) for n in range(20)]
    return [(isinstance(number, np.floating), type(number).__name__, int(number), float(number)) for number in made]
compiled = frameloom.compile(program)
assert compiled() == program() and compiled() == program()
print("same")
"""


def test_numbers_made_while_capturing_live_as_long_as_it_does():
    """What a function called at capture gives is known by the object itself, which nobody else refers to. The allocator
    that checks writes over what is freed."""
    assert printed(MADE, environment={"PYTHONMALLOC": "debug"}) == "same\n"
