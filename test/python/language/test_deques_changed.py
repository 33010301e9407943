"""Iterators over a deque find that it has changed, also where it has its old items again, as plain Python's do."""

import collections
import random

import frameloom
import pytest

CHANGES = [
    "d.append(8)", "d.appendleft(8)", "d.pop()", "d.popleft()", "d.rotate(1)", "d.rotate(-1)", "d.rotate(0)", "d.rotate(len(d))", "d.clear()",
    "d.extend(())", "d.extend([8])", "d.extendleft([8, 9])", "d.reverse()", "d.insert(1, 8)", "d.remove(8)", "del d[0]", "d[0] = 8",
    "d[-1] = d[-1]", "d *= 1", "d *= 2", "d *= 0", "d += [8]", "d.copy()", "d.append(8); d.pop()", "d.appendleft(8); d.popleft()",
    "x = list(d); d.clear(); d.extend(x)", "d.__init__(list(d), d.maxlen)", "d.append(d.popleft())", "len(d)",
]  # fmt: skip
PROGRAM = """
def program(d, outside):
    {made}
    inside = {inside}
    if {begun}:
        next(inside)
    try:
        {changes}
    except IndexError as error:
        outcome = repr(error)
    except ValueError as error:
        outcome = "missing"
    else:
        outcome = "none"
    try:
        outcome += repr(next(inside, "end"))
    except RuntimeError as error:
        outcome += repr(error)
    return outcome, list(d){after}
"""


def made(seed):
    """A program of some changes to a deque between two looks at an iterator over it."""
    chance = random.Random(seed)
    changes = "; ".join(chance.choice(CHANGES) for _ in range(chance.choice((1, 1, 2, 3))))
    size = chance.choice((0, 1, 1, 2, 3, 5))
    source = PROGRAM.format(
        made=chance.choice(("pass", f"d = collections.deque(range({size}), {chance.choice((None, size))})")),
        inside=chance.choice(("iter(d)", "reversed(d)")), begun=bool(size and chance.random() < 0.5), changes=changes,
        after=chance.choice(("", ", next(outside)" if size else "")))  # fmt: skip
    return source, size, chance.choice((None, None, size, size + 1)), chance.random() < 0.3


def seen(function, size, most, begun):
    """What the function says, and what becomes of the deque and an iterator over it that existed before."""
    d = collections.deque(range(size), most)
    outside, told = iter(d), []
    if begun:
        next(outside, None)
    for what in (lambda: function(d, outside), lambda: next(outside, "end"), lambda: d):
        try:
            told.append(repr(what()))
        except (RuntimeError, StopIteration) as error:
            told.append(repr(error))
    return told


@pytest.mark.parametrize("part", range(4))
@frameloom.config.patch(leave_slower=False)
def test_iterators_find_changes(part):
    different = []
    for seed in range(part * 60, part * 60 + 60):
        source, *deque = made(seed)
        space = {"collections": collections}
        exec(source, space)
        want, compiled = seen(space["program"], *deque), frameloom.compile(space["program"])
        for _ in range(2):
            got = seen(compiled, *deque)
            if got != want:
                different.append((seed, source, deque, want, got))
                break
    assert not different, "\n".join(map(str, different[:3])) + f"\n{len(different)} of 60"
