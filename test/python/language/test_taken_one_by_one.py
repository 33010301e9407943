"""What takes items from something takes each when Python does: what is done with one is seen before the next one is made,
what is raised leaves the others where they are, and what stops early takes no more.

A grid: every way of taking items (`WAYS`, of `{g}`) with every kind of thing that gives them (`SOURCES`), over items that
show what is done with them, that cannot be worked with, or that fail to be made.
"""

import collections
import functools  # noqa: F401
import heapq  # noqa: F401
import itertools
import math  # noqa: F401
import operator  # noqa: F401
import re

import numpy as np
import pytest

import frameloom

LOG = []


def say(*things):
    LOG.append(things)


class Loud:
    """A number that tells what is done with it."""

    def __init__(self, number):
        self.number = number

    def tell(self, what, other=None):
        say(what, self.number, getattr(other, "number", other))
        return getattr(other, "number", other)

    def __add__(self, other):
        return Loud(self.number + self.tell("add", other))

    def __radd__(self, other):
        return Loud(self.number + self.tell("radd", other))

    def __mul__(self, other):
        return Loud(self.number * self.tell("mul", other))

    def __rmul__(self, other):
        return Loud(self.number * self.tell("rmul", other))

    def __lt__(self, other):
        return self.number < self.tell("lt", other)

    def __gt__(self, other):
        return self.number > self.tell("gt", other)

    def __eq__(self, other):
        return self.number == self.tell("eq", other)

    def __hash__(self):
        self.tell("hash")
        return hash(self.number)

    def __index__(self):
        self.tell("index")
        return self.number

    def __bool__(self):
        self.tell("bool")
        return self.number != 2

    def __iter__(self):
        self.tell("iter")
        return iter((self.number, self.number + 1))

    def __repr__(self):
        return f"Loud({self.number})"


ITEMS = {
    "numbers": [1, 2, 3], "many": [1, 2, 3, 4, 5, 6], "one": [7], "none": [], "floats": [1.5, "a", 2.5], "nothing in between": [1, None, 3],
    "a list in between": [1, [], 3], "pairs": [(1, 2), (3, 4), (5,)], "texts": ["a", "b", 3, "c"], "sets": [{1}, {2}],
    "arrays": [np.arange(3.0), np.ones(3)], "loud": [Loud(3), Loud(1), Loud(2)], "loud pairs": [(Loud(1), 1), (Loud(1), 2)],
    "that fail": [1, 2, "FAIL", 3],
}


def made(item):
    if isinstance(item, str) and item == "FAIL":
        raise ValueError("made")
    return item


def stepped(items, target=None):
    try:
        for item in items:
            say("make", str(item), target is not None and len(target))
            yield made(item)
    finally:
        say("finally")


class Stepping:
    def __init__(self, items):
        self.rest, self.at = list(items), 0

    def __iter__(self):
        say("iter")
        return self

    def __next__(self):
        say("next", self.at)
        if self.at >= len(self.rest):
            raise StopIteration
        self.at += 1
        return made(self.rest[self.at - 1])


class Counted(Stepping):
    def __iter__(self):
        return Stepping(self.rest)

    def __len__(self):
        say("len")
        if len(self.rest) == 1:
            raise TypeError("unknown")
        return 2


class Hinting(Stepping):
    def __length_hint__(self):
        say("hint")
        return 3


class Listed(list):
    def __iter__(self):
        say("iter of a list")
        return list.__iter__(self)

    def __getitem__(self, i):
        say("item of a list")
        return list.__getitem__(self, i)


class Long(list):
    def __len__(self):
        say("len of a list")
        return list.__len__(self)


class Firm(tuple):
    def __iter__(self):
        say("iter of a tuple")
        return tuple.__iter__(self)

    def __len__(self):
        say("len of a tuple")
        return tuple.__len__(self)


class Keyed(dict):
    def __iter__(self):
        say("iter of a dict")
        return dict.__iter__(self)

    def keys(self):
        say("keys")
        return dict.keys(self)

    def __getitem__(self, key):
        say("item of a dict")
        return dict.__getitem__(self, key)


def begun(items):
    made = stepped(items)
    next(made, None)
    return made


class Indexed:
    def __init__(self, items):
        self.rest = list(items)

    def __getitem__(self, i):
        say("get", i)
        return made(self.rest[i])


SOURCES = ["stepped({i})", "Stepping({i})", "Counted({i})", "Hinting({i})", "Indexed({i})", "list({i})", "tuple({i})", "map(lambda p: (say('map', str(p)), p)[1], {i})",
           "(p for p in {i} if say('if') is None)", "Listed({i})", "Long({i})", "Firm({i})", "Keyed(enumerate({i}))", "collections.deque({i})",
           "itertools.chain(Stepping({i}), Stepping([1]))", "enumerate(Stepping({i}))", "zip(Stepping({i}), stepped([1, 2]))", "filter(lambda p: (say('kept'), True)[1], Stepping({i}))",
           "begun({i})", "iter([*{i}, 3].pop, 3)"]
PASSED = "lambda p: (say('key'), p)[1]"
WAYS = {
    "sum": "sum({g})", "sum, start": "sum({g}, 10)", "sum, list": "sum({g}, [])", "sum of a generator": "sum(p for p in {g})", "sum of sums": "sum(sum([p, p]) for p in {g})",
    "sum of products": "sum(map(operator.mul, {g}, [1, 2, 3]))", "sum of floats": "sum((p * 0.1 for p in {g}), 0.5)", "product": "math.prod({g})", "fsum": "math.fsum({g})",
    "min": "min({g})", "max": "max({g})", "min, key": f"min({{g}}, key={PASSED})", "max, key": f"max({{g}}, key={PASSED}, default=0)", "max of arguments": "max(*{g})", "max, enumerated": "max(enumerate({g}), key=lambda p: (say('k'), -p[0])[1])",
    "reduce": "functools.reduce(lambda p, r: (say('f'), p)[1], {g})", "reduce, start": "functools.reduce(lambda p, r: (say('f'), r)[1], {g}, 0)", "reduce, operator": "functools.reduce(operator.add, {g})",
    "sorted": "sorted({g})", "sorted, key": f"sorted({{g}}, key={PASSED})", "sorted, reverse": f"sorted({{g}}, key={PASSED}, reverse=True)", "sort": "sort({g})", "any": "any({g})", "all": "all({g})",
    "list": "list({g})", "tuple": "tuple({g})", "set": "len(set({g}))", "frozenset": "len(frozenset({g}))", "dict": "dict({g})", "fromkeys": "dict.fromkeys({g})", "join": "'-'.join({g})", "bytes": "bytes({g})",
    "deque": "collections.deque({g})", "short deque": "collections.deque({g}, 2)", "Counter": "list(collections.Counter({g}).items())", "defaultdict": "collections.defaultdict(list, {g})", "OrderedDict": "collections.OrderedDict({g})", "class over list": "List({g})", "class over tuple": "Tuple({g})",
    "namedtuple": "Three(*{g})", "namedtuple, made": "Three._make({g})", "array": "np.array(list({g}))", "fromiter": "np.fromiter({g}, float)",
    "unpacked": "unpacked({g})", "unpacked, rest": "unpacked_rest({g})", "unpacked, middle": "unpacked_middle({g})", "in": "2 in {g}", "loud in": "Loud(2) in {g}", "contains": "operator.contains({g}, 2)", "call": "collect(*{g})", "partial": "functools.partial(collect, *{g})()", "yield from": "list(passed_on({g}))", "next": "next({g})",
    "list comprehension": "[say('item') for p in {g}]", "set comprehension": "len({{p for p in {g}}})", "dict comprehension": "{{p: say('value') for p in {g}}}",
    "zip": "list(zip({g}, {g}))", "zip, strict": "list(zip({g}, [1], strict=True))", "map": "list(map(lambda p: say('m'), {g}))", "filter": "list(filter(lambda p: say('f'), {g}))", "enumerate": "list(enumerate({g}))",
    "islice": "late(itertools.islice({g}, 2))", "accumulate": "late(itertools.accumulate({g}))", "accumulate, function": "late(itertools.accumulate({g}, lambda p, r: (say('a'), r)[1]))", "chain": "late(itertools.chain({g}, {g}))", "tee": "[list(p) for p in itertools.tee({g})]", "cycle": "late(itertools.islice(itertools.cycle({g}), 4))",
    "takewhile": f"late(itertools.takewhile({PASSED}, {{g}}))", "dropwhile": f"late(itertools.dropwhile({PASSED}, {{g}}))", "filterfalse": f"late(itertools.filterfalse({PASSED}, {{g}}))", "compress": "late(itertools.compress({g}, {g}))", "starmap": "late(itertools.starmap(lambda *p: say('s'), {g}))", "pairwise": "late(itertools.pairwise({g}))", "zip_longest": "late(itertools.zip_longest({g}, [1]))",
    "groupby": "[(k, list(v)) for k, v in itertools.groupby({g})]", "groupby, key": "[(k, list(v)) for k, v in itertools.groupby({g}, lambda p: (say('k'), str(p) < '2')[1])]", "groupby, groups passed over": "[k for k, v in late(itertools.groupby({g}))]", "groupby, groups read late": "[list(v) for v in [v for k, v in itertools.groupby({g})]]", "groupby, firsts": "[next(v) for k, v in itertools.groupby({g}, type)]",
    "product of two": "list(itertools.product({g}, [1]))", "permutations": "list(itertools.permutations({g}, 2))[:2]", "nsmallest": "heapq.nsmallest(2, {g})", "merge": "list(heapq.merge({g}, [2]))",
    "extend": "changed([0], lambda p: p.extend({g}))", "extend, looked at": "looked_at({i})", "+=": "changed([0], lambda p: operator.iadd(p, {g}))", "slice": "changed([0, 1, 2], lambda p: operator.setitem(p, slice(1, 2), {g}))", "slice in steps": "changed([0, 1, 2, 3], lambda p: operator.setitem(p, slice(0, 4, 2), {g}))",
    "update": "changed({{1, 2, 9}}, lambda p: p.update({g}))", "update by two": "changed({{9}}, lambda p: p.update({g}, {g}))", "union": "len({{1, 2}}.union({g}))", "intersection": "len({{1, 2}}.intersection({g}))", "difference": "len({{1, 2}}.difference({g}))", "symmetric difference": "len({{1, 9}}.symmetric_difference({g}))", "|=": "changed({{0}}, lambda p: operator.ior(p, {g}))",
    "intersection_update": "changed({{1, 2, 9}}, lambda p: p.intersection_update({g}))", "difference_update": "changed({{1, 2, 9}}, lambda p: p.difference_update({g}))", "symmetric_difference_update": "changed({{1, 9}}, lambda p: p.symmetric_difference_update({g}))", "issubset": "{{1}}.issubset({g})", "issuperset": "{{1, 2}}.issuperset({g})", "isdisjoint": "{{9}}.isdisjoint({g})",
    "update of a dict": "changed({{0: 1}}, lambda p: p.update({g}))", "|= of a dict": "changed({{0: 1}}, lambda p: operator.ior(p, {g}))", "update of a Counter": "changed(collections.Counter(), lambda p: p.update({g}))", "extend of a deque": "changed(collections.deque([0]), lambda p: p.extend({g}))", "extendleft": "changed(collections.deque([0], 3), lambda p: p.extendleft({g}))",
}
Three = collections.namedtuple("Three", "a b c")


class List(list):
    pass


class Tuple(tuple):
    pass


def unpacked(given):
    a, b = given
    return a


def unpacked_rest(given):
    a, *b = given
    return b


def unpacked_middle(given):
    a, *b, c = given
    return a, b, c


def collect(*given):
    return given


def passed_on(given):
    yield from given


def late(iterator):
    say("it is there")
    return list(iterator)


def sort(given):
    items = list(given)
    items.sort()
    return items


def changed(target, change):
    try:
        change(target)
    except Exception as error:
        say("caught", type(error).__name__)
    seen = sorted(map(str, target)) if isinstance(target, set) else target
    return list(seen.items()) if isinstance(target, collections.Counter) else seen, len(target)


def looked_at(items):
    target = [0]
    target.extend(stepped(items, target))
    return target


def seen(function):
    LOG.clear()
    try:
        result = function()
    except Exception as error:
        result = type(error).__name__
    return re.sub("0x[0-9a-f]+", "0x", repr((result, LOG)))


def program(way, source, items):
    """What it does is caught and told inside, where capture has to know when."""
    scope = globals() | {"itertools": itertools}
    text = way.format(g=source.format(i=f"ITEMS[{items!r}]"), i=f"ITEMS[{items!r}]")
    exec(f"def program():\n    try:\n        return {text}\n    except Exception as error:\n        say('raised', type(error).__name__)\n", scope)
    return scope["program"]


@pytest.mark.parametrize("way", WAYS)
def test_every_item_in_its_time(way):
    for source in SOURCES:
        for items in ITEMS:
            function = program(WAYS[way], source, items)
            compiled = frameloom.compile(function, backend="interpret")
            want = seen(function)
            for _ in range(2):
                assert seen(compiled) == want, (source, items)
