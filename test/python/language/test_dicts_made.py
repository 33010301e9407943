"""Iterators over dicts that a function makes find what they find in plain Python while keys are exchanged, and so do those over
dicts that it gives back: the tables have the same gaps."""

import collections
import os
import sys

import frameloom
import pytest
from dict_programs import check_dicts, exchanged
from reports import captures

COUNT = int(os.environ.get("FRAMELOOM_PROGRAMS", 2000)) // 4


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part):
    check_dicts(range(part * COUNT, part * COUNT + COUNT))


class Over(dict):
    pass


def deleted(n):
    d = {"a": 1, "b": 2, "c": 3, "d": n}
    del d["b"]
    return d


def popped(n):
    d = {i: i for i in range(n)}
    for i in range(0, n, 2):
        d.pop(i)
    d.popitem()
    d["x"] = d
    del d["x"]
    return d


def merged(n):
    d = {i: i for i in range(n)}
    d.update({i: "again" for i in range(n)})
    e = {**d, "a": 1}
    del e[1]
    return d | e


def of_keys(n):
    return dict.fromkeys({"a": 1, "b": 2, "c": n})


def repeated(n):
    return {"a": 1, "a": 2, "b": 3, "b": 4, 5: 6, "c": n}


def over(n):
    d = Over(a=1, b=2, c=n)
    del d["a"]
    return d


def counted(n):
    d = collections.defaultdict(int, a=1, b=2, c=n)
    d.pop("b")
    return d


@pytest.mark.parametrize("function", [deleted, popped, merged, of_keys, repeated, over, counted])
@pytest.mark.parametrize("n", [3, 6, 11])
def test_what_is_given_back_has_the_same_table(function, n):
    compiled = frameloom.compile(function, fullgraph=True)
    for _ in range(2):
        got, want = compiled(n), function(n)
        assert type(got) is type(want) and list(got.items()) == list(want.items())
        assert sys.getsizeof(got) == sys.getsizeof(want)
        for ordinary in (True, False):
            assert found_when_exchanged(got, ordinary) == found_when_exchanged(want, ordinary)


def found_when_exchanged(d, ordinary):
    try:
        return exchanged(d, ordinary)
    except RuntimeError as error:
        return repr(error), list(d)


def three_copies(o):
    return o.copy(), {**o}, dict.fromkeys(o)


@frameloom.config.patch(leave_slower=False)
def test_a_copy_has_the_gaps_that_the_argument_has_in_this_call():
    compiled = frameloom.compile(three_copies, fullgraph=True, backend="interpret")
    for gone in ("", "x", "xy", "wxyz"):
        o = {key: key for key in gone + "abcde"}
        for key in gone:
            del o[key]
        for got, want in zip(compiled(o), three_copies(o)):
            assert list(got.items()) == list(want.items()) and found_when_exchanged(got, True) == found_when_exchanged(want, True)
    assert captures(compiled) == 1
