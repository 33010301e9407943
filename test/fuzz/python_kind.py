"""Programs of the language, by the writer of test_breaks_random.py: loops, handlers, `with`, matches, closures, containers, breaks."""

import sys
import test_breaks_random as programs

import frameloom


def make(seed, index):
    return programs.Writer(seed * 1000003 + index).program() + "\n"


def check(text):
    frameloom.reset()
    spaces = [dict(vars(programs)) for _ in range(2)]
    for space in spaces:
        exec(compile(text, "<program>", "exec"), space)
    plain, found = spaces[0]["program"], []
    for backend in ("interpret", "loom"):
        compiled = frameloom.compile(spaces[1]["program"], backend=backend)
        for i, k in enumerate((0, 1, 1, 2, 3)):
            want, got = programs.seen(plain, k), programs.seen(compiled, k)
            names = ("result", "what was done", "arguments", "list", "exception of the thread")
            found += [f"{name} of call {i} ({backend}): {g} instead of {w}" for name, g, w in zip(names, got, want) if g != w]
            if found:
                return found
    if sys.exc_info()[1]:
        found.append("state of the thread: an exception is handled")
    return found
