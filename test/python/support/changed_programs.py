"""Random programs that change a container and ask iterators over it for items: those made in the function, which end at a graph
break or go on behind it as Python's own, and those that existed before the call. `differs` compares such a program with plain
Python."""

import random

from made_programs import drained

import frameloom


class Kind:
    """A type `name` of `names`; `make(values)` gives one. In `changes` K is a value and V a number; `inside` says which of them
    are tried on one that the function makes."""

    def __init__(self, name, make, iterators, changes, values, copy="{0}(c)", inside=lambda change: True):
        self.name, self.make, self.iterators, self.changes, self.values = name, make, iterators, changes, values
        self.copy, self.inside = copy.format(name), inside


class Program:
    def __init__(self, seed, kinds):
        self.chance = chance = random.Random(seed)
        self.kind = kind = chance.choice(kinds)
        self.values, self.changes = chance.choice(kind.values), kind.changes
        self.sizes = [chance.choice((0, 1, 2, 3, 3, 4, 5, 6))] * 2 + [chance.randrange(7), 0]
        self.outside = [(chance.choice(kind.iterators), chance.randrange(3)) for _ in range(2)]
        self.whole = chance.random() < 0.4  # nothing in it ends a capture
        self.number, self.names, lines = 10, [], []
        if chance.random() < 0.2:
            lines.append("    c = " + kind.copy)
            self.changes = list(filter(kind.inside, kind.changes))
        for _ in range(chance.choice((2, 3, 4, 6, 8))):
            lines += self.statement("    ", False)
        back = "".join(f", {name}" for name in self.names if not self.whole and chance.random() < 0.5)
        self.source = "\n".join(["def program(c, o0, o1):", "    log = []", *lines, f"    return log, c{back}", ""])

    def change(self):
        text = self.chance.choice(self.changes)
        while "K" in text:
            text = text.replace("K", repr(self.chance.choice(self.values)), 1)
        self.number += 1
        return text.replace("V", str(self.number))

    def caught(self, text, pad):
        told = self.chance.choice(("type(error).__name__", *["repr(error)", "repr(error)"] * (not self.whole)))
        return [f"{pad}try:", f"{pad}    {text}", f"{pad}except Exception as error:", f"{pad}    log.append({told})"]

    def look(self, pad):
        name = self.chance.choice([*self.names, *["o0", "o1"] * (not self.whole or not self.names)])
        return self.caught(self.chance.choice((f"log.append(next({name}))", f"log.append(next({name}, 'end'))")), pad)

    def loop(self, pad):
        name = self.chance.choice([self.chance.choice(self.kind.iterators), *self.names])
        head = [f"{pad}try:", f"{pad}    for item in {name}:", f"{pad}        log.append(item)", f"{pad}        if len(log) > 60 or len(c) > 99: break"]
        return [*head, *self.statement(pad + "        ", True), f"{pad}except Exception as error:", f"{pad}    log.append(type(error).__name__)"]

    def statement(self, pad, inner):
        sort = self.chance.random()
        if sort < 0.4:
            return self.caught(self.change(), pad)
        if sort < 0.55 and not inner:
            self.names.append(f"i{len(self.names)}")
            return [f"{pad}{self.names[-1]} = {self.chance.choice(self.kind.iterators)}"]
        if sort < 0.8:
            return self.look(pad)
        if sort < 0.9 or inner:
            return self.caught(self.change(), pad) if self.whole else [f"{pad}frameloom.graph_break()"]
        if sort < 0.95:
            return [f"{pad}for _ in range(3):", *self.statement(pad + "    ", True), *self.statement(pad + "    ", True)]
        return self.loop(pad)


def held(container):
    return type(container), list(container.items() if isinstance(container, dict) else container)


def seen(function, program, size):
    """What the function says, and what becomes of the container and of iterators over it that existed before."""
    c = program.kind.make(program.values[:size])
    outside = [eval(text, {"c": c}) for text, _ in program.outside]
    for iterator, (_, begun) in zip(outside, program.outside):
        for _ in range(begun):
            next(iterator, None)
    try:
        log, given, *inside = function(c, *outside)
        told = [log, held(given), *map(drained, inside)]
    except Exception as error:
        told = [repr(error)]
    return [*told, held(c), *map(drained, outside)]


def differs(seed, kinds, names):
    program = Program(seed, kinds)
    space = {**names, "frameloom": frameloom}
    exec(program.source, space)
    compiled = frameloom.compile(space["program"])
    for size in program.sizes:
        got, want = seen(compiled, program, size), seen(space["program"], program, size)
        if got != want:
            return f"seed {seed}: {program.kind.name} of {size}, {program.outside}\n{program.source}{got}\ninstead of\n{want}\n"
    return None


@frameloom.config.patch(leave_slower=False)
def check_changed(seeds, kinds, names):
    different = [text for seed in seeds if (text := differs(seed, kinds, names))]
    assert not different, f"{len(different)} of {len(seeds)}\n" + "\n".join(different[:3])
