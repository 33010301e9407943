"""Programs over NumPy whose arguments change from call to call: sizes, dtypes, layouts, kinds of objects, and a global number."""

import random

import arrays
import numpy_kind
from numpy_programs import Program

CALLS = (("call", None, (0, 2, 1, 0, 3, 2, 4, 0, 3)), ("dynamic call", True, (0, 1, 2, 3)))
GLOBALS = "(2, 2, 3.5, 2, True, 3)"


def make(seed, index):
    rng = random.Random(f"changes {seed} {index}")
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
    return numpy_kind.check(text, CALLS)
