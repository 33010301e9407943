"""Lists of the caller's that are longer than what is looked at item by item: inputs of the graph as a whole."""

import copy

import numpy as np
import pytest
from rolling import RANDOM, alike, arrays, floats, horner, items_alike, result_of, total

import frameloom

USES = [
    "len(xs)", "bool(xs)", "xs[3]", "xs[-1]", "xs[-30]", "xs[k]", "xs[-k]", "xs[2:5]", "xs[::-1]", "xs[:]", "xs + [1.5]", "[1.5] + xs",
    "xs * 2", "list(xs)", "tuple(xs)", "xs is xs", "isinstance(xs, list)", "type(xs)", "[*xs]", "(lambda *a: a[-1])(*xs)",
    "sum(xs)", "np.array(xs)", "np.asarray(xs) * 2", "np.mean(xs, axis=0)", "np.sum(xs)", "np.stack(xs)", "np.concatenate(xs)",
    "np.array(xs, dtype=np.float32)", "np.dot(np.arange(30.0), xs)", "list(reversed(xs))", "list(map(lambda x: x, xs))", "[x for x in xs]",
    "[x * 2 for x in xs]", "{i: x for i, x in enumerate(xs)}[4]", "xs.copy()", "xs.append(0.5)", "xs.pop()", "xs.insert(3, 0.25)", "xs.reverse()",
    "xs.clear()", "xs.extend([0.5])", "xs.remove(xs[0])", "next(iter(xs))", "list(zip(xs, xs))[2]", "xs", "(xs, xs)", "(xs[3], xs)", "max(xs)",
    "sorted(xs)", "min(xs)", "xs.index(xs[3])", "xs.count(xs[3])", "xs == xs", "xs == ys", "xs < ys", "xs[3] in xs", "xs[3] is ys[3]", "first(xs)",
    "assign(xs)", "remove(xs)", "slices(xs)", "extend(xs)", "unpack(xs)", "keep(xs)", "write(xs)", "xs[30]", "xs[-31]", "xs['a']", "xs[1.5]", "hash(xs)",
    "xs.nothing", "str(len(xs))", "any(x is xs[4] for x in xs)", "all(xs[i] is x for i, x in enumerate(xs))", "xs is ys", "f'{len(xs)}'",
    "np.shape(xs)", "np.ndim(xs)", "copy.copy(xs)", "dict(enumerate(xs))", "list(enumerate(xs, 2))[1]", "xs.__len__()", "xs.__getitem__(2)",
]  # fmt: skip

HELPERS = """
import copy
import numpy as np
def first(xs):
    a, *rest = xs
    return a, len(rest)
def assign(xs):
    xs[2] = xs[3]
def remove(xs):
    del xs[2:5]
def slices(xs):
    xs[2:4] = [0.5, 0.5, 0.25]
def extend(xs):
    xs += [0.5]
    return xs
def unpack(xs):
    a, b, c = xs
def keep(xs):
    box = [None]
    for x in xs:
        box[0] = x
    return box
def write(xs):
    for x in xs:
        x *= 2
def use(xs, ys, k):
    return USE
def after(xs, ys, k):
    total = ys[0] * 0
    for x in xs:
        total = total * 0.5 + x
    return total, USE
"""


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ["floats", "arrays", "pairs"])
def test_other_uses(kind, use):
    space = {}
    exec(HELPERS.replace("USE", use), space)
    made = {"floats": floats, "arrays": arrays, "pairs": lambda n: list(zip(floats(n), arrays(n)))}[kind]
    for name in ("use", "after"):
        compiled = frameloom.compile(space[name])
        if kind == "pairs" and name == "after":
            continue
        for _ in range(2):
            args = made(30), made(30), 7
            plain, own = copy.deepcopy(args), copy.deepcopy(args)
            with np.errstate(all="ignore"):
                want, got = result_of(space[name], plain), result_of(compiled, own)
            alike([want, list(plain)], [got, list(own)])


def test_one_version_for_all_numbers():
    compiled = frameloom.compile(horner)
    x = RANDOM.random(3)
    with frameloom.config.patch(error_on_recompile=True):
        for _ in range(12):
            numbers = floats(40)
            alike(horner(numbers, x), compiled(numbers, x))
        compiled = frameloom.compile(total)
        for _ in range(12):
            items = arrays(40)
            alike(total(items, x[0]), compiled(items, x[0]))


def test_one_version_for_all_lengths():
    compiled = frameloom.compile(horner)
    x = RANDOM.random(3)
    for n in (40, 60):
        numbers = floats(n)
        alike(horner(numbers, x), compiled(numbers, x))
    with frameloom.config.patch(error_on_recompile=True):
        for n in (80, 33, 2000, 57, 5000):
            numbers = floats(n)
            alike(horner(numbers, x), compiled(numbers, x))


def test_long_lists():
    items_alike(horner, floats(3000), RANDOM.random(3))
    items_alike(total, arrays(1500), np.zeros(4))

    def indexed(items, start):
        for i in range(1, len(items) - 1):
            start = start * 0.5 + items[i + 1] - 2 * items[i] + items[i - 1] + items[-i]
        return start

    items_alike(indexed, arrays(1500), np.zeros(4))
    items_alike(indexed, floats(1500), np.zeros(4))


def test_what_is_guarded():
    compiled = frameloom.compile(total)
    strided = [x[::2] for x in arrays(40, (8,))]
    read_only = arrays(40)
    for x in read_only:
        x.flags.writeable = False
    swapped = [x.astype(">f8") for x in arrays(40)]
    kinds = [arrays(40), floats(40), arrays(40, (4,), np.float32), strided, arrays(40), [*arrays(39), 0.5], [*floats(39), 3], arrays(40, (1,)),
             [*arrays(39), arrays(1, (1,))[0]], read_only, swapped, [], arrays(1), tuple(arrays(40)), [*arrays(39), strided[0]], [None],
             [*arrays(39), np.ma.array(arrays(1)[0])], arrays(40), [np.float64(x) for x in floats(40)], floats(40), [True] * 40, list(range(40))]  # fmt: skip
    with frameloom.config.patch(recompile_limit=64):
        for _ in range(2):
            for items in kinds:
                plain, own = result_of(total, (items, np.zeros(4))), result_of(compiled, (items, np.zeros(4)))
                alike(plain, own)


def test_overlap_on_a_later_call():
    def added(items, out):
        for x in items:
            out += x
        return out

    compiled = frameloom.compile(added)
    for overlapping in (False, True, False, True):
        items = arrays(30)
        plain, own = copy.deepcopy(items), copy.deepcopy(items)
        want = added(plain, plain[11] if overlapping else np.zeros(4))
        got = compiled(own, own[11] if overlapping else np.zeros(4))
        alike(want, got)
        alike(plain, own)

    def pairs(items, out):
        for c, x in items:
            out += c * x
        return out

    compiled = frameloom.compile(pairs)
    for overlapping in (False, True, False, True):
        items = list(zip(floats(30), arrays(30)))
        plain, own = copy.deepcopy(items), copy.deepcopy(items)
        want = pairs(plain, plain[11][1] if overlapping else np.zeros(4))
        got = compiled(own, own[11][1] if overlapping else np.zeros(4))
        alike(want, got)
        alike(plain, own)


WEIGHTS = floats(40)


class Model:
    def __init__(self):
        self.layers = [(RANDOM.random((4, 4)), RANDOM.random(4)) for _ in range(30)]

    def __call__(self, x):
        for w, b in self.layers:
            x = np.tanh(x @ w + b)
        return x


def test_globals_attributes_and_cells():
    scale = floats(40)

    def run(x):
        for c, d in zip(WEIGHTS, scale):
            x = x * d + c
        return x

    compiled, x = frameloom.compile(run), RANDOM.random(4)
    for _ in range(3):
        alike(run(x), compiled(x))
        WEIGHTS[3] = RANDOM.random()
        scale[5] = RANDOM.random()
    WEIGHTS.append(0.5)
    scale.append(0.25)
    alike(run(x), compiled(x))
    model = Model()
    forward = frameloom.compile(Model.__call__)
    for _ in range(3):
        alike(model(x), forward(model, x))
        model.layers[4][0][1] += 1
        model.layers[7] = (np.eye(4), np.ones(4))
    model.layers.append((np.eye(4), np.ones(4)))
    alike(model(x), forward(model, x))


def test_the_same_list_twice():
    def run(xs, ys, x):
        for a, b in zip(xs, ys):
            x = x * 0.5 + a * b
        return x, xs is ys

    compiled, x = frameloom.compile(run), RANDOM.random(4)
    for _ in range(3):
        a, b = floats(30), floats(30)
        alike(run(a, a, x), compiled(a, a, x))
        alike(run(a, b, x), compiled(a, b, x))
    items_alike(run, arrays(30), arrays(30), x)


def test_list_displays_and_comprehensions_across_breaks():
    """Their list stands on the stack of what comes behind a break, longer than what is looked at item by item."""
    def display(x):
        return [*[x * 1.0, x + 2] * 12, (print("a"), x + 25)[1], x * 26.0, *[x] * 30, (print("b"), x)[1], x * 2]

    def comprehension(x, n):
        return [x * k if k % 20 else x + len(str(print(k))) for k in range(n)], sum([x + k if k != 30 else (print(), x)[1] for k in range(n)])

    for function, more in ((display, ()), (comprehension, (70,))):
        compiled = frameloom.compile(function)
        x = np.arange(1.0, 4.0)
        for _ in range(3):
            alike(function(x, *more), compiled(x, *more))
