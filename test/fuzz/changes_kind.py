"""Programs for which everything may change from call to call.

Half are over NumPy: sizes, dtypes, layouts and kinds of their arguments change, and a global number. The others are those of
the whole language (changes_programs.py): their globals, classes, functions, defaults and code change, modules that they use,
the error state, filters of warnings, and attributes and contents of their arguments.
"""

import builtins
import functools
import math
import operator
import random
import warnings

import arrays
import numpy as np
import numpy_kind
import python_kind
import python_space
from changes_programs import STEPS, Changed
from numpy_programs import Program

import frameloom

CALLS = (("call", None, (0, 2, 1, 0, 3, 2, 4, 0, 3)), ("dynamic call", True, (0, 1, 2, 3)))
GLOBALS = "(2, 2, 3.5, 2, True, 3)"


def make(seed, index):
    rng = random.Random(f"changes {seed} {index}")
    return numbers(rng) if rng.random() < 0.4 else language(rng)


def language(rng):
    return python_kind.readable(lambda: f"BACKEND = {rng.choice(['loom'] + ['interpret'] * 14)!r}\n{Changed(rng).made()}")


def numbers(rng):
    program = Program(rng)
    text = program.make()
    names = [name for name, _ in program.arguments]
    shapes = [((2, 4), (3, 5)), ((3, 5),), ((3, 3), (3, 5)), (), ((1, 1), (3, 5)), ((0, 0),), ((2, 2), (3, 3), (4, 4))]
    base, others = rng.choice(arrays.NUMBERS), []
    for size in (2, 3, 4):
        lines = []
        for name, given in program.arguments:
            kept = rng.random() < 0.4 and given[:1] not in names
            lines.append(f"        {name} = {given.replace('[size]', '[size % 2]') if kept else variant(rng, base, shapes)}")
        others.append(f"    if size == {size}:\n" + "\n".join(lines))
    head, _, rest = text.partition("def arguments(size):\n")
    own, _, last = rest.partition("    return")
    own = own.replace("[size]", "[size % 2]")
    text = f"{head}def arguments(size):\n{own}" + "\n".join(others) + "\n    return" + last
    return text.replace("FILTERS =", f"GLOBALS = {GLOBALS}\nG = 2\nFILTERS =").replace("    return v0,", "    v0 = v0 * G if isinstance(v0, np.ndarray) else v0\n    return v0,")


def variant(rng, base, shapes):
    if rng.random() < 0.15:
        return rng.choice(["1.5", "2", "True", "-1", "np.float32(2)", "np.int64(3)", "[1, 2, 3]", "None", "'x'"])
    dtype = base if rng.random() < 0.5 else rng.choice(arrays.NUMBERS)
    shape = repr(tuple(d[0] for d in rng.choice(shapes)))
    return f'array("{dtype}", {shape}, "{rng.choice(arrays.LAYOUTS)}", "{rng.choice(arrays.VALUES[:4])}", {rng.randrange(1000)})'


def check(text):
    return check_language(text) if "def vary(" in text or "def change(" in text else numpy_kind.check(text, CALLS)


SHARED = (np, math, operator, functools, builtins, python_space.Guard, python_space.Cell, python_space.Thing, python_space.Point)


def check_language(text):
    frameloom.reset()
    code, kept, state = python_kind.read(text), [dict(vars(shared)) for shared in SHARED], np.geterr()
    try:
        with warnings.catch_warnings(), frameloom.config.patch(recompile_limit=64):  # it warns when it comes to that
            return calls(code)
    finally:
        for shared, names in zip(SHARED, kept):
            restore(shared, names)
        np.seterr(**state)


def restore(shared, names):
    """What belongs to both copies of a program becomes what it was."""
    for name in set(vars(shared)) - set(names) if isinstance(shared, type) else ():
        delattr(shared, name)
    for name, value in names.items():
        if vars(shared)[name] is not value:
            setattr(shared, name, value)


def calls(code):
    spaces, compiled = python_kind.two_of(code, warnings=warnings, builtins=builtins, original_where=np.where)
    change = spaces[0].get("change")
    for step in range(STEPS + 1):
        given, before = [], [dict(vars(shared)) for shared in SHARED]
        for space in spaces:
            try:
                if change:
                    for shared, names in zip(SHARED, before):  # as the other copy of the program has found them
                        restore(shared, names)
                    space["change"](step)
            except Exception:
                python_space.LOG.clear()
            own = python_space.arguments((0, 1, 1, 2, 1, 0, 3, 1, 1, 0)[step])
            try:
                own = space["vary"](step, *own) if "vary" in space else own
            except Exception:
                own = python_space.arguments(1)
            given.append(own)
        found, ended = python_kind.compare(spaces, compiled, given, step, None)
        if ended:
            return []
        if found:
            return found
    return python_kind.refused(compiled)
