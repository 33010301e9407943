"""Sets that a function makes iterate as plain Python's, and so do those that it gives back."""

import os

import numpy as np

import frameloom
import pytest
from reports import captures
from set_programs import check_sets

COUNT = int(os.environ.get("FRAMELOOM_PROGRAMS", 2000)) // 4


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part):
    check_sets(range(part * COUNT, part * COUNT + COUNT))


def operators(n):
    c = {1, 9, 17, "a"} | {8}
    c -= {9}
    d = {i * 8 for i in range(n)}
    d ^= c
    first = d.pop()
    return [first, *d], list(frozenset(d)), repr(d), list({1: 2, 17: 3}.keys() & [17, 1]), list(d.copy() & {8, 16, 17})


def given_back(n):
    s = set(range(n))
    s.difference_update(range(1, n - 1))
    s.discard(0)
    return s, frozenset(x * 16 for x in range(n)), {(i, "x") for i in range(n)} - {(1, "x")}


def iterated(s):
    s = s | {16}
    s.discard(1)
    return [x for x in s], s


@pytest.mark.parametrize("n", [2, 5, 9, 20])
def test_order_without_a_break(n):
    assert frameloom.compile(operators, fullgraph=True)(n) == operators(n)


@pytest.mark.parametrize("n", [2, 5, 9, 20])
def test_what_is_given_back_has_the_same_table(n):
    compiled = frameloom.compile(given_back, fullgraph=True)
    for _ in range(2):
        for got, want in zip(compiled(n), given_back(n)):
            assert type(got) is type(want) and list(got) == list(want)
            got, want = set(got) if isinstance(got, frozenset) else got, set(want) if isinstance(want, frozenset) else want
            for item in (72, 3, 41):
                got.add(item), want.add(item)
            assert list(got) == list(want) and got.pop() == want.pop()


def changed(s, t):
    s.add(16)
    s.discard(1)
    s.difference_update(x for x in (9, 2, 3, 4))
    s |= t
    return [x for x in s], s - {3}


@frameloom.config.patch(leave_slower=False)
def test_sets_that_existed_before_are_changed_and_iterated():
    compiled = frameloom.compile(changed, fullgraph=True, backend="interpret")
    for items in ([1, 9, 17], [17, 9, 1], [17, 9, 1], [*range(6)], [*range(6)]):
        for function, told in ((compiled, []), (changed, want := [])):
            s = set(items)
            r = function(s, {24, 32})
            told += [r[0], list(r[1]), list(s)]
            if function is compiled:
                got = told
        assert got == want
    assert captures(compiled) == 3


@frameloom.config.patch(leave_slower=False)
def test_equal_sets_of_another_order_are_told_apart():
    compiled = frameloom.compile(iterated, fullgraph=True, backend="interpret")
    for items in ([1, 9, 17], [17, 9, 1], [17, 9, 1], [9, 1, 17]):
        got, want = compiled(set(items)), iterated(set(items))
        assert got[0] == want[0] and list(got[1]) == list(want[1])
    assert captures(compiled) == 3


def test_hashes_that_another_call_changes_are_no_order():
    def function(x):
        nan = float(x)
        return [type(item) for item in {nan, 1.5, 8, "a"} - {1.5}]

    compiled = frameloom.compile(function)
    for _ in range(3):
        assert sorted(map(str, compiled("nan"))) == sorted(map(str, function("nan")))


def sets_as_keys(n, d):
    a, b = frozenset([1, n]), frozenset([n, 1])
    made = {a: 1, frozenset(): 2, (b, 2): 3}
    made[b] = 4
    d[frozenset({n, 3})] = n
    members = {a, frozenset([b])}
    members.add(b)
    found = [d.get(a), d[frozenset((3, n))], b in members, frozenset({frozenset({1, n})}) in members, (a, 2) in made, {1, n} in members, made.pop(b)]
    return made, members, found, {frozenset(x) for x in ("ab", "ba", "c")}


@pytest.mark.parametrize("dynamic", [False, True])
def test_frozen_sets_are_keys_and_members(dynamic):
    compiled = frameloom.compile(sets_as_keys, fullgraph=True, dynamic=dynamic)
    for n in (2, 2, 5, 1):
        got, want = ((function(n, d := {frozenset({1, 2}): 7, "a": 0}), d) for function in (compiled, sets_as_keys))
        assert repr(got) == repr(want)


def changeable_key(n):
    try:
        return {set([n]): 1}
    except TypeError:
        return {frozenset([n]): {n}}


def test_a_set_that_can_be_changed_is_no_key():
    assert frameloom.compile(changeable_key, fullgraph=True)(4) == changeable_key(4)


def test_live_sets_of_classes():
    known = {int, float}

    def function(x, kind):
        return x + 1 if kind in known else x - 1

    compiled = frameloom.compile(function, fullgraph=True)
    for kind in (int, str, float):
        assert compiled(np.zeros(2), kind).tolist() == function(np.zeros(2), kind).tolist()
    known.add(str)
    assert compiled(np.zeros(2), str).tolist() == [1, 1]
