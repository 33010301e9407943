"""Loops over lists of arrays, and of arrays beside numbers: captured once, with plain Python's answers, objects and effects."""

import copy

import numpy as np
import pytest
from rolling import RANDOM, alike, arrays, floats, items_alike, total

import frameloom


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
