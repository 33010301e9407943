"""Iterators over a set, list or bytearray that is changed find what they find in plain Python."""

import os

import pytest
from changed_programs import Kind, check_changed
from made_programs import drained

import frameloom

COUNT = int(os.environ.get("FRAMELOOM_PROGRAMS", 2000)) // 4
SETS = [
    "c.add(K)", "c.add(K)", "c.add(K)", "c.discard(K)", "c.discard(K)", "c.remove(K)", "c.pop()", "c.clear()", "c.update([K, K])", "c.update({K, K, K})", "c |= {K}",
    "c -= {K, K}", "c &= {K, K, K}", "c ^= {K, K}", "c.difference_update([K])", "c.intersection_update([K, K])", "c.symmetric_difference_update([K])",
    "c.add(K); c.discard(K)", "c.remove(next(iter(c)))", "c.__init__([K])", "c.__init__()", "len(c)", "list(c)", "K in c", "c.update(range(V))", "c.copy()",
]  # fmt: skip
LISTS = [
    "c.append(K)", "c.append(K)", "c.insert(0, K)", "c.insert(2, K)", "c.pop()", "c.pop(0)", "c.pop(1)", "del c[0]", "del c[-1]", "del c[1:3]", "c.clear()", "c.extend([K, K])",
    "c += [K]", "c *= 2", "c *= 0", "c[0] = K", "c[-1] = K", "c[1:1] = [K, K]", "c[:2] = [K]", "c[:] = [K]", "c[::2] = [K]", "c.reverse()", "c.remove(K)", "c.append(K); c.pop()",
    "c.__init__([K, K])", "len(c)", "list(c)", "c.index(K)", "c.count(K)", "c = c + [K]", "c.extend(c)", "c.copy()",
]  # fmt: skip
SORTED = ["c.sort()", "c.sort(reverse=True)", "c.sort(key=lambda v: -v)"]
NUMBERS = [[1, 2, 3, 4, 5, 6, 7], [3, 1, 2, 9, 17, 25, 8], [8, 16, 24, 32, 40, 0, 1]]
# No set is made in the function: the order of one that is made of another depends on more than capture knows.
KINDS = [
    Kind("set", set, ["iter(c)"], SETS, NUMBERS, "c"), Kind("set", set, ["iter(c)"], SETS, NUMBERS, "c"),
    Kind("list", list, ["iter(c)", "reversed(c)", "enumerate(c)", "zip(c, c)", "iter(c)"], LISTS + SORTED, NUMBERS),
    Kind("bytearray", bytearray, ["iter(c)", "reversed(c)"], LISTS, NUMBERS),
]  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_iterators_find_changes(part):
    check_changed(range(part * COUNT, part * COUNT + COUNT), KINDS, {})


def shortened(c):
    backwards, log = reversed(c), []
    c.pop()
    for item in backwards:
        log.append(item)
    return log


def shortened_and_given(c):
    c = [1, 2, 3]
    backwards = reversed(c)
    c.pop()
    return backwards, c


def test_backwards_from_behind_the_end():
    for function in (shortened, shortened_and_given):
        compiled = frameloom.compile(function)
        for size in (1, 1, 2, 5):
            got, want = compiled(list(range(size))), function(list(range(size)))
            if function is shortened_and_given:
                got, want = (drained(got[0]), got[1]), (drained(want[0]), want[1])
            assert got == want
