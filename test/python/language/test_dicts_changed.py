"""Iterators over a dict that is changed find what they find in plain Python: those made in the function, which end at a graph
break or go on behind it as Python's own, and those that existed before the call."""

import collections
import os
import random

import frameloom
import pytest

SEEDS = int(os.environ.get("FRAMELOOM_PROGRAMS", 400))
KINDS = ["dict", "dict", "OrderedDict", "OrderedDict", "defaultdict", "Counter", "OverDict", "OverOrdered"]
KEYS = [list("abcdefgh"), list("abcdefgh"), [1, 2, "a", (1, 2), None, 1.0, True, 2.0]]
ITERATORS = ["iter(d)", "iter(d.keys())", "iter(d.values())", "iter(d.items())", "reversed(d)", "reversed(d.keys())", "reversed(d.values())", "reversed(d.items())"]  # fmt: skip
CHANGES = [
    "d[K] = V", "d[K] = V", "d[K] = V", "del d[K]", "del d[K]", "d.pop(K)", "d.pop(K, None)", "d.popitem()", "d.clear()", "d.setdefault(K, V)", "d[K] += 1",
    "d.update({K: V})", "d |= {K: V}", "d.update([(K, V)])", "d.update(i=V, j=V)", "d.update({K: V, K: V, K: V})", "d.update(dict.fromkeys('abcdef', V))",
    "d[K] = V; del d[K]", "x = d.pop(K); d[K] = x", "d[next(iter(d))] = V", "d.pop(next(iter(d)))", "d.__init__({K: V})", "len(d)", "list(d)", "d.get(K)",
]  # fmt: skip
OWN = {
    "dict": [], "OverDict": [], "Counter": ["d.update([K])", "d.subtract([K])", "d += Counter([K])"], "defaultdict": ["d[K]", "d[K]"],
    "OrderedDict": ["d.move_to_end(K)", "d.move_to_end(K, last=False)", "d.move_to_end(next(reversed(d)))", "d.move_to_end(next(iter(d)), last=False)",
                    "d.popitem(last=False)", "d.popitem(last=False)"],
}  # fmt: skip
OWN["OverOrdered"] = OWN["OrderedDict"]


class OverDict(dict):
    pass


class OverOrdered(collections.OrderedDict):
    pass


NAMES = {**vars(collections), "frameloom": frameloom, "OverDict": OverDict, "OverOrdered": OverOrdered, "dict": dict}


class Program:
    """A function that changes a dict and asks iterators over it for items, in a random order."""

    def __init__(self, seed):
        self.chance = chance = random.Random(seed)
        self.kind, self.size = chance.choice(KINDS), chance.choice((0, 1, 2, 3, 3, 4, 5, 6))
        self.keys = chance.choice(KEYS)
        self.others = [chance.randrange(7), 0]
        self.outside = [(chance.choice(ITERATORS), chance.randrange(3)) for _ in range(2)]
        self.number, self.names, lines = 10, [], []
        self.whole = chance.random() < 0.4  # nothing in it ends a capture
        self.changes = CHANGES + 2 * OWN[self.kind]
        if chance.random() < 0.2:
            lines.append(f"    d = {self.kind}({'int, ' * (self.kind == 'defaultdict')}d)")
            if "Ordered" not in self.kind:  # what a deletion leaves in the table of one that is made again behind a break is unknown
                self.changes = [change for change in self.changes if not any(word in change for word in ("del", "pop(", "Counter("))]
        for _ in range(chance.choice((2, 3, 4, 6, 8))):
            lines += self.statement("    ", False)
        back = "".join(f", {name}" for name in self.names if not self.whole and chance.random() < 0.5)
        self.source = "\n".join(["def program(d, o0, o1):", "    log = []", *lines, f"    return log, d{back}", ""])

    def change(self):
        text = self.chance.choice(self.changes)
        while "K" in text:
            text = text.replace("K", repr(self.chance.choice(self.keys)), 1)
        self.number += 1
        return text.replace("V", str(self.number))

    def caught(self, text, pad):
        told = self.chance.choice(("type(error).__name__", *["repr(error)", "repr(error)"] * (not self.whole)))
        return [f"{pad}try:", f"{pad}    {text}", f"{pad}except Exception as error:", f"{pad}    log.append({told})"]

    def look(self, pad):
        names = [*self.names, *["o0", "o1"] * (not self.whole or not self.names)]
        name = self.chance.choice(names)
        return self.caught(self.chance.choice((f"log.append(next({name}))", f"log.append(next({name}, 'end'))")), pad)

    def loop(self, pad):
        name = self.chance.choice([self.chance.choice(ITERATORS), *self.names])
        head = [f"{pad}try:", f"{pad}    for k in {name}:", f"{pad}        log.append(k)", f"{pad}        if len(log) > 60: break"]
        return [*head, *self.statement(pad + "        ", True), f"{pad}except Exception as error:", f"{pad}    log.append(type(error).__name__)"]

    def statement(self, pad, inner):
        sort = self.chance.random()
        if sort < 0.4:
            text = self.change()
            return [pad + text] if self.chance.random() < 0.15 and text.startswith(("d.update", "d |=", "d.set")) else self.caught(text, pad)
        if sort < 0.55 and not inner:
            self.names.append(f"i{len(self.names)}")
            return [f"{pad}{self.names[-1]} = {self.chance.choice(ITERATORS)}"]
        if sort < 0.8:
            return self.look(pad)
        if sort < 0.9 or inner:
            return self.caught(self.change(), pad) if self.whole else [f"{pad}frameloom.graph_break()"]
        if sort < 0.95:
            return [f"{pad}for _ in range(3):", *self.statement(pad + "    ", True), *self.statement(pad + "    ", True)]
        return self.loop(pad)

    def live(self, size):
        items = dict(zip(self.keys[:size], range(size)))
        return collections.defaultdict(int, items) if self.kind == "defaultdict" else NAMES[self.kind](items)


def drained(iterator):
    """What comes, what ends it, and what comes then."""
    got = []
    while len(got) < 30:
        try:
            got.append(next(iterator))
        except Exception as error:
            got.append(repr(error))
            if len(got) > 1 and got[-2] == got[-1]:
                break
    return got


def seen(function, program, size):
    """What the function says, and what becomes of the dict and of iterators over it that existed before."""
    d = program.live(size)
    outside = [eval(text, {"d": d}) for text, _ in program.outside]
    for iterator, (_, begun) in zip(outside, program.outside):
        for _ in range(begun):
            next(iterator, None)
    try:
        log, given, *inside = function(d, *outside)
        told = [log, type(given), list(given.items()), *map(drained, inside)]
    except Exception as error:
        told = [repr(error)]
    return [*told, list(d.items()), *map(drained, outside)]


def differs(seed):
    program = Program(seed)
    space = dict(NAMES)
    exec(program.source, space)
    compiled = frameloom.compile(space["program"])
    for size in (program.size, program.size, *program.others):
        got, want = seen(compiled, program, size), seen(space["program"], program, size)
        if got != want:
            return f"seed {seed}: {program.kind} of {size}, {program.outside}\n{program.source}{got}\ninstead of\n{want}"
    return None


@pytest.mark.parametrize("part", range(4))
@frameloom.config.patch(leave_slower=False)
def test_iterators_find_changes(part):
    count = SEEDS // 4
    different = [text for seed in range(part * count, part * count + count) if (text := differs(seed))]
    assert not different, f"{len(different)} of {count}\n" + "\n".join(different[:3])
