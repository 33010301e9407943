"""Loops over lists and tuples of like values: captured once, with plain Python's answers, objects and effects."""

import random

import numpy as np
import pytest
from rolling import FIRST, RANDOM, alike, floats, horner, items_alike

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
