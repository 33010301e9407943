"""Loops over lists and tuples of like values: captured once, with plain Python's answers, objects and effects."""

import copy
import random

import numpy as np
import pytest
from rolling import FIRST, RANDOM, alike, arrays, floats, horner, items_alike, total

import frameloom

# ---- numbers ----


def test_floats():
    items_alike(horner, floats(100), RANDOM.random(5))
    items_alike(horner, tuple(floats(100)), RANDOM.random(5))
    items_alike(horner, floats(100), RANDOM.random(5).astype(np.float32))
    items_alike(horner, floats(100), np.arange(5))
    items_alike(horner, [0.0, -0.0] * 20, RANDOM.random(5))
    items_alike(horner, [float("nan"), float("inf")] * 20, RANDOM.random(5))


def test_short_lists_are_unrolled():
    items_alike(horner, floats(16), RANDOM.random(5), rolled=False)
    items_alike(horner, floats(17), RANDOM.random(5), rolled=True)
    items_alike(horner, [], RANDOM.random(5), rolled=False)
    items_alike(horner, [0.5], RANDOM.random(5), rolled=False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, np.complex64])
def test_ints(dtype):
    numbers = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3] * 4

    def scaled(numbers, x):
        total = x.copy()
        for k in numbers:
            total = total + x * k
        return total

    items_alike(scaled, numbers, np.arange(5).astype(dtype), rolled=None)


def test_ints_that_do_not_fit():
    def scaled(numbers, x):
        for k in numbers:
            x = x + k
        return x

    items_alike(scaled, [3, 1] * 20 + [300], np.arange(5, dtype=np.uint8), rolled=None)
    items_alike(scaled, [3, 1] * 20 + [-1], np.arange(5, dtype=np.uint8), rolled=None)
    items_alike(scaled, [3, 1] * 20 + [2**70], np.arange(5.0), rolled=None)
    items_alike(scaled, [3, 1] * 20 + [2**62, 2**62], np.arange(5), rolled=None)


def test_ints_as_indices():
    def taken(order, x):
        total = np.zeros(3)
        for k in order:
            total = total * 0.5 + x[k]
        return total

    items_alike(taken, [3, 1, 0, 2, 7, 5] * 5, RANDOM.random((8, 3)))
    items_alike(taken, [3, -1, 0, 2, 7, 8] * 5, RANDOM.random((8, 3)), rolled=None)  # out of bounds
    items_alike(taken, list(range(30)), RANDOM.random((40, 3)))
    items_alike(taken, list(range(30)), RANDOM.random((20, 3)), rolled=None)


def test_bools_and_decisions():
    def chosen(flags, x):
        for flag in flags:
            x = x + 1 if flag else x * 2
        return x

    items_alike(chosen, [True, False, True] * 10, RANDOM.random(3), rolled=False)

    def positive(numbers, x):
        for c in numbers:
            if c > 0:
                x = x * c
        return x

    items_alike(positive, [1.5, -0.5, 0.7] * 10, RANDOM.random(3), rolled=False)


def test_mixed_kinds_are_unrolled():
    loops = items_alike(horner, [1, 2.5] * 20, RANDOM.random(3), rolled=False)
    assert "differ" in loops[0].why
    loops = items_alike(horner, [2.5] * 30 + [None], RANDOM.random(3), rolled=None)


def test_the_first_item_differs():
    items_alike(horner, [1, *floats(40)], RANDOM.random(3))


def test_constants_made_inside():
    def weighted(x):
        total = np.zeros_like(x)
        for w in [k / 7 for k in range(40)]:
            total = total * 0.9 + w * x
        return total

    items_alike(weighted, RANDOM.random(3))

    def literal(x):
        for c in (0.1, 0.7, 0.2, 0.9, 0.4, 0.8, 0.1, 0.3, 0.5, 0.6, 0.11, 0.12, 0.2, 0.9, 0.4, 0.8, 0.1, 0.3, 0.5):
            x = np.sin(x) + c
        return x

    items_alike(literal, RANDOM.random(3))


def test_python_numbers_stay_python_numbers():
    def kinds(numbers, x):
        for c in numbers:
            x = x * np.float32(0.5) + c * 2.0
        return x, isinstance(c, float), type(c) is float, c

    items_alike(kinds, floats(40), np.ones(3, np.float32), rolled=None)
    items_alike(kinds, floats(40), np.ones(3, np.float16), rolled=None)

    def summed(numbers):
        total = 0.0
        for c in numbers:
            total += c * c
        return total * np.ones(2)

    items_alike(summed, floats(40))
    items_alike(summed, [3, 1, 2] * 10, rolled=None)


def test_overflow_warns():
    import warnings

    def scaled(numbers, x):
        for c in numbers:
            x = x * c
        return x

    compiled = frameloom.compile(scaled)
    numbers = [1.0, 2.0] * 20 + [1e300]
    with warnings.catch_warnings(record=True) as want:
        warnings.simplefilter("always")
        plain = scaled(numbers, np.ones(3, np.float32))
    with warnings.catch_warnings(record=True) as got:
        warnings.simplefilter("always")
        own = compiled(numbers, np.ones(3, np.float32))
    alike(plain, own)
    assert [str(w.message) for w in want] == [str(w.message) for w in got]


def test_numbers_change_between_calls():
    compiled = frameloom.compile(horner)
    x = RANDOM.random(3)
    for _ in range(4):
        numbers = floats(40)
        alike(horner(numbers, x), compiled(numbers, x))
    numbers[7] = 5
    alike(horner(numbers, x), compiled(numbers, x))
    numbers[7] = 5.0
    numbers.append(0.25)
    alike(horner(numbers, x), compiled(numbers, x))
    del numbers[:30]
    alike(horner(numbers, x), compiled(numbers, x))


# ---- arrays ----


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.bool_, np.complex128])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 2)])
def test_arrays(dtype, shape):
    rolled = None if shape == () and dtype is np.complex128 else True  # such scalars are not captured
    items_alike(total, arrays(40, shape, dtype), np.zeros(shape), rolled=rolled)
    items_alike(total, tuple(arrays(40, shape, dtype)), np.zeros(shape), rolled=rolled)


def test_numpy_scalars():
    items_alike(total, [np.float32(x) for x in floats(40)], np.zeros(3, np.float32), rolled=None)
    items_alike(total, [np.int8(x) for x in (3, 1, 2) * 10], np.zeros(3, np.int8), rolled=None)


def test_layouts():
    wide = RANDOM.random((40, 3, 4))
    items_alike(total, [np.asfortranarray(x) for x in wide], np.zeros((3, 4)))
    items_alike(total, [x[:, ::2] for x in wide], np.zeros((3, 2)), rolled=None)
    items_alike(total, [x.T for x in wide], np.zeros((4, 3)), rolled=None)
    items_alike(total, list(wide), np.zeros((3, 4)), rolled=None)
    items_alike(total, [*arrays(20), *arrays(20, (1,))], np.zeros(4), rolled=False)
    items_alike(total, [*arrays(20), *arrays(20, dtype=np.float32)], np.zeros(4), rolled=False)


def test_layouts_of_results():
    def mapped(items):
        for x in items:
            y = x + 1
        return y, x.T * 1.0

    items_alike(mapped, [np.asfortranarray(x) for x in RANDOM.random((40, 3, 4))], rolled=None)


def test_large_arrays_are_unrolled():
    loops = items_alike(total, arrays(18, (20_000,)), np.zeros(20_000), rolled=False, calls=1)
    assert "large" in loops[0].why


def test_pairs():
    def layers(layers, x):
        for w, b in layers:
            x = np.tanh(x @ w + b)
        return x

    both = [(RANDOM.random((4, 4)), RANDOM.random(4)) for _ in range(30)]
    items_alike(layers, both, RANDOM.random((2, 4)))
    items_alike(layers, [list(pair) for pair in both], RANDOM.random((2, 4)))
    items_alike(layers, tuple(both), RANDOM.random((2, 4)))
    items_alike(layers, [*both[:25], (RANDOM.random((4, 4)), 0.5), *both[25:]], RANDOM.random((2, 4)), rolled=False)

    def nested(items, x):
        for (a, b), c in items:
            x = x * a + b * c
        return x

    items_alike(nested, [((k / 7, RANDOM.random(3)), float(k)) for k in range(30)], RANDOM.random(3))

    def two(ws, bs, x):
        for i, (w, b) in enumerate(zip(ws, bs), 3):
            x = np.tanh(x @ w + b) * i
        return x

    items_alike(two, arrays(30, (4, 4)), arrays(30), RANDOM.random((2, 4)))
    items_alike(two, arrays(30, (4, 4)), arrays(25), RANDOM.random((2, 4)))

    def back(items, x):
        for c, w in reversed(items):
            x = x * c + w
        return x

    items_alike(back, [(k / 7, RANDOM.random(3)) for k in range(30)], RANDOM.random(3))
    items_alike(back, [(k / 7, RANDOM.random(3)) for k in range(30)][::-1], RANDOM.random(3))


def test_items_that_are_written_to():
    def grown(items, start):
        for x in items:
            x += 1
            start = start + x
        return start

    items_alike(grown, arrays(30), np.zeros(4), rolled=False)

    def parts(items, start):
        for x in items:
            x[1:3] = start[1:3]
            start = start + x
        return start

    items_alike(parts, arrays(30), np.zeros(4), rolled=False)

    def view(items, start):
        for x in items:
            y = x[1:]
            y *= 2
            start = start + x
        return start

    items_alike(view, arrays(30), np.zeros(4), rolled=False)

    def lists(items, start):
        for pair in items:
            start = start * pair[0] + pair[1]
            pair[0] = 0.5
        return start

    items_alike(lists, [[k / 7, k / 9] for k in range(30)], np.zeros(4), rolled=False)


def test_items_that_are_written_to_in_other_ways():
    def first(items, start):
        for x in items:
            start = start + x
            items[0] += 1
        return start

    items_alike(first, arrays(30), np.zeros(4), rolled=False)

    def last(items, start):
        for x in items:
            start = start + x
            items[-1] += 1
        return start

    items_alike(last, arrays(30), np.zeros(4), rolled=False)

    def other(items, start):
        mine = items[20]
        for x in items:
            start = start + x
            mine *= 0.5
        return start

    items_alike(other, arrays(30), np.zeros(4), rolled=False)

    def before(items, start):
        items[20] += 3
        for x in items:
            start = start + x
        return start

    items_alike(before, arrays(30), np.zeros(4))

    def behind(items, start):
        for x in items:
            start = start + x
        items[20] += 3
        return start

    items_alike(behind, arrays(30), np.zeros(4))

    def replaced(items, start):
        for i, c in enumerate(items):
            start = start + c
            items[29] = 0.5 + i
        return start

    items_alike(replaced, floats(30), np.zeros(4), rolled=False)

    def swapped(items, start):
        items[3], items[20] = items[20], items[3]
        for c in items:
            start = start * 0.5 + c
        items[0] = 9.0
        return start

    items_alike(swapped, floats(30), np.zeros(4))


def test_items_that_share_memory():
    def added(items, out):
        for x in items:
            out += x
        return out

    x = RANDOM.random(40)
    for compiled in (frameloom.compile(added), added):
        data = x.copy()
        views = [data[i : i + 4] for i in range(30)]
        own = compiled(views, data[10:14])
        if compiled is added:
            alike(want, data)
        assert own.base is data
        want = data
    data = arrays(30)
    plain, own = copy.deepcopy(data), copy.deepcopy(data)
    compiled = frameloom.compile(added)
    alike(added(plain, plain[7]), compiled(own, own[7]))
    alike(plain, own)
    plain, own = copy.deepcopy(data), copy.deepcopy(data)
    alike(added(plain, np.zeros(4)), compiled(own, np.zeros(4)))
    plain, own = copy.deepcopy(data), copy.deepcopy(data)
    alike(added(plain, plain[9]), compiled(own, own[9]))
    alike(plain, own)
    once = RANDOM.random(4)
    items_alike(total, [once] * 30, np.zeros(4), rolled=None)
    alike(added([once.copy()] * 30, np.zeros(4)), compiled([once.copy()] * 30, np.zeros(4)))


def test_items_that_stay():
    def last(items, start):
        for x in items:
            start = start + x
        return start, x

    items_alike(last, arrays(30), np.zeros(4))

    def kept(items, start):
        out = []
        for x in items:
            start = start + x
            out.append(x)
        return start, out

    items_alike(kept, arrays(30), np.zeros(4), rolled=False)
    items_alike(kept, floats(30), np.zeros(4), rolled=None)

    def best(items, start):
        found = None
        for x in items:
            start = start + x
            if x is items[17]:
                found = x
        return start, found

    items_alike(best, arrays(30), np.zeros(4), rolled=False)

    def view(items, start):
        for x in items:
            start = start + x
            y = x[1:]
        return start, y

    items_alike(view, arrays(30), np.zeros(4))

    def before(items):
        previous = items[0]
        total = 0 * previous
        for x in items:
            total = total + x * previous
            previous = x
        return total

    items_alike(before, arrays(30), rolled=None)

    def stored(items, box):
        for x in items:
            box[0] = x
        return None

    items_alike(stored, arrays(30), [None], rolled=None)

    def inside(items, start):
        for x in items:
            start = start + x if any(x is y for y in items[:3]) else start - x
        return start

    items_alike(inside, arrays(30), np.zeros(4), rolled=False)


def test_what_an_item_says_of_itself():
    def said(items, start):
        for x in items:
            start = start + x if x.flags.owndata and x.base is None else start - x
        return start

    items_alike(said, arrays(30), np.zeros(4), rolled=None)
    items_alike(said, list(RANDOM.random((30, 4))), np.zeros(4), rolled=None)

    def none(items, start):
        for x in items:
            if x is not None and isinstance(x, np.ndarray) and x.ndim == 1 and x.shape == (4,):
                start = start + x.sum() + x.size + len(x)
        return start

    items_alike(none, arrays(30), np.zeros(4))


def test_loops_in_loops():
    def inner(items, steps, x):
        for _ in range(steps):
            for c in items:
                x = x * 0.5 + c
        return x

    items_alike(inner, floats(30), 40, RANDOM.random(4))
    items_alike(inner, arrays(30), 40, RANDOM.random(4))
    items_alike(inner, floats(5), 40, RANDOM.random(4))

    def outer(items, x):
        for c in items:
            for i in range(20):
                x = x * 0.5 + c
                x[1] = i
        return x

    items_alike(outer, floats(30), RANDOM.random(4))
    items_alike(outer, arrays(30), RANDOM.random(4))

    def both(items, x):
        for c in items:
            for d in items:
                x = x * 0.5 + c * d
        return x

    items_alike(both, floats(20), RANDOM.random(4))
    items_alike(both, arrays(20), RANDOM.random(4))

    def matrix(rows, x):
        for row in rows:
            for c in row:
                x = x * 0.5 + c
        return x

    items_alike(matrix, [floats(4) for _ in range(30)], RANDOM.random(4))
    items_alike(matrix, [floats(20) for _ in range(4)], RANDOM.random(4))
    items_alike(matrix, [floats(20) for _ in range(20)], RANDOM.random(4), rolled=None)


def test_written_in_an_inner_loop():
    def both(items, x):
        for c in items:
            for d in items:
                x = x * 0.5 + c * d
            items[3] += 1
        return x

    items_alike(both, arrays(20), RANDOM.random(4), rolled=None)


def test_several_calls_of_one_place():
    def fold(items, x):
        for c in items:
            x = x * 0.5 + c
        return x

    def run(first, second, third, x):
        return fold(third, fold(second, fold(first, x)))

    items_alike(run, floats(30), arrays(30), floats(40), RANDOM.random(4))


def test_breaks_in_between():
    def printed(items, x):
        for i, c in enumerate(items):
            x = x * 0.5 + c
            if i == 12:
                frameloom.graph_break()
        return x

    items_alike(printed, floats(30), RANDOM.random(4), rolled=None)
    items_alike(printed, arrays(30), RANDOM.random(4), rolled=None)


def test_raising_bodies():
    def raised(items, x):
        for i, c in enumerate(items):
            x = x + c
            if i == 25:
                raise ValueError(i)
        return x

    items_alike(raised, floats(30), RANDOM.random(4), rolled=None)

    def out(items, x):
        for i, c in enumerate(items):
            x[i] = x[i - 1] + c
        return x

    items_alike(out, floats(30), RANDOM.random(20), rolled=None)


def test_conditions_on_data():
    def until(items, x):
        for c in items:
            x = x * 0.9 + c
            if x.sum() > 7:
                break
        return x

    with frameloom.config.patch(capture_data_dependent=True):
        for limit in (0.01, 0.3, 3.0):
            items_alike(until, [c * limit for c in floats(40)], RANDOM.random(4), rolled=None)
            items_alike(until, [c * limit for c in arrays(40)], RANDOM.random(4), rolled=None)


# ---- lists that an earlier loop has made ----


@pytest.mark.parametrize("n", [20, 100, 300, 1000])
def test_lists_of_earlier_loops(n):
    def both(x, n):
        items = []
        for i in range(n):
            items.append(x * 0.5)
            x = x + 1
        total = np.zeros_like(x)
        for y in items:
            total = total * 0.9 + y
        return total

    items_alike(both, RANDOM.random(4), n)

    def pairs(x, n):
        items = [(x, 0.5)]
        for i in range(n):
            items.append((x * 0.5, float(i)))
            x = x + 1
        for i, (y, c) in enumerate(items):
            x = x * 0.9 + y * c + i
        return x

    items_alike(pairs, RANDOM.random(4), n)

    def indexed(x, n):
        items = [x]
        for i in range(n):
            items.append(items[-1] * 0.5 + 1)
        total = np.zeros_like(x)
        for i in range(len(items)):
            total = total * 0.9 + items[i] * items[-1] + items[len(items) - 1 - i]
        return total

    items_alike(indexed, RANDOM.random(4), n)

    def neighbours(x, n):
        items = [x]
        for i in range(n):
            items.append(items[-1] * 0.5 + 1)
        total = np.zeros_like(x)
        for i in range(1, len(items) - 1):
            total = total * 0.9 + items[i + 1] - 2 * items[i] + items[i - 1]
        return total, items[-1]

    items_alike(neighbours, RANDOM.random(4), n)

    def chain(x, n):
        items, more = [], []
        for i in range(n):
            items.append(np.sin(x + i))
        for y in items:
            more.append(y * 2 + len(items))
        for y, z in zip(items, more):
            x = x * 0.5 + y * z
        return x, more

    items_alike(chain, RANDOM.random(4), n)


@pytest.mark.parametrize("n", [30, 150])
def test_items_of_earlier_loops_that_are_needed_themselves(n):
    def written(x, n):
        items = []
        for i in range(n):
            items.append(x + i)
        for y in items:
            y *= 2
        return items

    items_alike(written, RANDOM.random(4), n, rolled=None)

    def kept(x, n):
        items, more = [], []
        for i in range(n):
            items.append(x + i)
        for y in items:
            more.append(y)
        return items[3] is more[3], items[-1] is more[-1], items, more

    items_alike(kept, RANDOM.random(4), n, rolled=None)

    def last(x, n):
        items = []
        for i in range(n):
            items.append(x + i)
        for y in items:
            x = x + y
        y += 1
        return x, items, y is items[-1]

    items_alike(last, RANDOM.random(4), n, rolled=None)

    def indexed(x, n):
        items = []
        for i in range(n):
            items.append(x + i)
        for i in range(n):
            items[i] += 1
        return items

    items_alike(indexed, RANDOM.random(4), n, rolled=None)

    def behind(x, n):
        items = []
        for i in range(n):
            items.append(x + i)
        for i in range(n):
            y = items[i]
            x = x + y
        items[n - 1] += 1
        return x, y, items

    items_alike(behind, RANDOM.random(4), n, rolled=None)


def test_a_list_of_an_earlier_loop_backwards():
    def back(x, n):
        items = []
        for i in range(n):
            items.append(x + i)
        for y in reversed(items):
            x = x * 0.5 + y
        return x

    items_alike(back, RANDOM.random(4), 100)

    def steps(x, n):
        items = []
        for i in range(n):
            items.append(x + i)
        for i in range(n - 1, -1, -1):
            x = x * 0.5 + items[i]
        return x

    items_alike(steps, RANDOM.random(4), 300)

    def negative(x, n):
        items = []
        for i in range(n):
            items.append(x + i)
        for i in range(1, n):
            x = x * 0.5 + items[-i]
        return x

    items_alike(negative, RANDOM.random(4), 300)

    def outside(x, n):
        items = []
        for i in range(n):
            items.append(x + i)
        for i in range(n + 1):
            x = x * 0.5 + items[i]
        return x

    items_alike(outside, RANDOM.random(4), 100, rolled=None)


# ---- random programs ----


def program(seed):
    """A function of a list and an array that goes through lists in one of many ways."""
    r = random.Random(seed)
    kind = r.choice(["floats", "ints", "arrays", "pairs", "lists", "made"])
    n = r.choice([3, 16, 17, 30, 45])
    lines = ["def run(items, x):", "    total, kept, c, i = x * 0, [], 0.5, 0"]
    if kind == "made":
        lines += [f"    for i in range({n}):", "        kept.append(x * i + 1)", "    items = kept", "    kept = []"]
    if r.random() < 0.2:
        lines.append("    items = items[::-1]" if kind != "made" else "    x = x + len(items)")
    head = r.choice(["for c in items:", "for i, c in enumerate(items):", "for c, e in zip(items, items):",
                     "for c in reversed(items):", f"for i in range({n}):", "for c in items[2:]:"])  # fmt: skip
    lines.append(f"    {head}")
    if head.startswith("for i in"):
        lines.append("        c = items[i]")
    if kind in ("pairs", "lists"):
        lines.append("        w, c = c")
    body = ["total = total * 0.5 + c", "total = total + x * c", "x = np.sin(x) + c * 0.1", "total = total - i",
            "x, total = total * 0.1, x", "total = np.maximum(total, c)", "total[1:] += x[:-1]"]  # fmt: skip
    rare = ["kept.append(c)", "items[2] = items[3]", "kept.append(total * 2)", "x = x if c is items[0] else x + 1",
            "total = total + (c if i < 5 else 0)", "last = c", "x += 1", "c = c * 2", "c += 1", "items[-1] = c"]  # fmt: skip
    if kind in ("pairs", "lists"):
        rare.append("x = x * w")
    chosen = r.sample(body, r.randint(1, 3)) + (r.sample(rare, r.randint(1, 2)) if r.random() < 0.6 else [])
    r.shuffle(chosen)
    lines += [f"        {line}" for line in chosen]
    if r.random() < 0.3:
        lines.append(r.choice(["    kept.append(c)", "    items[1] = items[2]", "    total = total + c"]))
    lines.append("    return total, x, kept, i" + (", c" if r.random() < 0.2 else ""))
    source = "\n".join(lines)
    space = {"np": np}
    exec(source, space)
    numbers = np.random.default_rng(seed)
    items = {"floats": lambda: float(numbers.random()), "ints": lambda: int(numbers.integers(0, 9)),
             "arrays": lambda: numbers.random(3), "made": lambda: 0.0,
             "pairs": lambda: (float(numbers.random()), numbers.random(3)),
             "lists": lambda: [numbers.random(3), numbers.random(3)]}[kind]  # fmt: skip
    return source, space["run"], ([items() for _ in range(n)], numbers.random(3))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 60))
def test_random_programs(seed):
    source, run, args = program(seed)
    print(source)
    with np.errstate(all="ignore"):
        items_alike(run, *args, rolled=None)
