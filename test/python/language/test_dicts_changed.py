"""Iterators over a dict that is changed find what they find in plain Python."""

import collections
import os

import pytest
from changed_programs import Kind, check_changed

COUNT = int(os.environ.get("FRAMELOOM_PROGRAMS", 2000)) // 4


class OverDict(dict):
    pass


class OverOrdered(collections.OrderedDict):
    pass


NAMES = {**vars(collections), "OverDict": OverDict, "OverOrdered": OverOrdered}
ITERATORS = ["iter(c)", "iter(c.keys())", "iter(c.values())", "iter(c.items())", "reversed(c)", "reversed(c.keys())", "reversed(c.values())", "reversed(c.items())"]  # fmt: skip
CHANGES = [
    "c[K] = V", "c[K] = V", "c[K] = V", "del c[K]", "del c[K]", "c.pop(K)", "c.pop(K, None)", "c.popitem()", "c.clear()", "c.setdefault(K, V)", "c[K] += 1",
    "c.update({K: V})", "c |= {K: V}", "c.update([(K, V)])", "c.update(i=V, j=V)", "c.update({K: V, K: V, K: V})", "c.update(dict.fromkeys('abcdef', V))",
    "c[K] = V; del c[K]", "x = c.pop(K); c[K] = x", "c[next(iter(c))] = V", "c.pop(next(iter(c)))", "c.__init__({K: V})", "len(c)", "list(c)", "c.get(K)",
]  # fmt: skip
ORDERED = [
    "c.move_to_end(K)", "c.move_to_end(K, last=False)", "c.move_to_end(next(reversed(c)))", "c.move_to_end(next(iter(c)), last=False)",
    "c.popitem(last=False)", "c.popitem(last=False)",
] * 2  # fmt: skip
COUNTED = ["c.update([K])", "c.subtract([K])", "c += Counter([K])"] * 2
VALUES = [list("abcdefgh"), list("abcdefgh"), [1, 2, "a", (1, 2), None, 1.0, True, 2.0]]


def numbered(cls):
    return lambda values: cls(dict(zip(values, range(len(values)))))


def kind(cls, more=()):
    return Kind(cls.__name__, numbered(cls), ITERATORS, [*CHANGES, *more], VALUES)


def counting(items):
    return collections.defaultdict(int, items)


KINDS = [
    kind(dict), kind(dict), kind(collections.OrderedDict, ORDERED), kind(collections.OrderedDict, ORDERED), kind(OverDict),
    kind(OverOrdered, ORDERED), kind(collections.Counter, COUNTED),
    Kind("defaultdict", numbered(counting), ITERATORS, [*CHANGES, "c[K]", "c[K]"], VALUES, "{0}(int, c)"),
]  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_iterators_find_changes(part):
    check_changed(range(part * COUNT, part * COUNT + COUNT), KINDS, NAMES)
