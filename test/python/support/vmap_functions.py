"""Random functions of `loom` ops (test/fuzz/ir_programs.py), vectorised by loom-vmap, against the function run for each example.

    python vmap_functions.py COUNT SEED

Both sides run in the reference interpreter. Some arguments are shared by all examples, at random. An element of an example is one
of those that the argument has already, or a small number, so that indices stay legal.
"""

import random
import re
import sys

from ir_kind import close, functions, run
from ir_programs import Function

EXAMPLES = 3
ARGUMENT = re.compile(r"(%\w+): (tensor<((?:\d+x)*)([^>]*?(?:<f\d+>)?)>)(?: \{loom\.values = dense<([^>]*)> : tensor<[^ ]*>\})?(?=[,)])")


def number(rng, dtype):
    if dtype == "i1":
        return rng.choice(["true", "false"])
    if dtype[0] in "ui":
        return str(rng.randrange(5))
    if dtype.startswith("complex"):
        return f"({rng.randrange(-16, 17) / 8}, {rng.randrange(-16, 17) / 8})"
    return str(rng.randrange(-32, 33) / 8)


def listed(values, shape):
    """The values as the text of a nested list."""
    if not shape:
        return values[0]
    step = len(values) // shape[0] if shape[0] else 0
    return "[" + ", ".join(listed(values[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])) + "]"


def argument(name, shape, dtype, values):
    type_of = f"tensor<{''.join(f'{n}x' for n in shape)}{dtype}>"
    return f"{name}: {type_of}" + (f" {{loom.values = dense<{listed(values, shape)}> : {type_of}}}" if values else "")


def heads(text, rng):
    """The arguments of a function: (name, shape, dtype, the values of each example or of all of them)."""
    found = []
    for name, _, sizes, dtype, given in ARGUMENT.findall(text[:text.index(") -> (") + 1]):
        shape = tuple(map(int, sizes.split("x")[:-1]))
        count = 1
        for n in shape:
            count *= n
        words = re.findall(r"\([^)]*\)|[^\[\], ]+", given)
        if words and len(words) < count:
            words *= count
        rows = [[rng.choice(words) if words else number(rng, dtype) for _ in range(count)] for _ in range(EXAMPLES)]
        found.append((name, shape, dtype, rows if rng.random() < 0.7 else rows[:1]))
    return found


def interpreted(text):
    """What each result is: {"f0 1": [words]}."""
    out, end = run(["loom-opt", "--loom-interpret", "-o", "/dev/null", "-"], text)
    return {row.partition(":")[0]: row.partition(": ")[2].split() for row in out.splitlines()}, end


def alone(text, arguments, example):
    """The function with the values of one example, under another name."""
    name = re.match(r"func\.func @(\w+)", text)[1]
    listing = ", ".join(argument(n, shape, dtype, rows[example % len(rows)]) for n, shape, dtype, rows in arguments)
    return f"func.func @{name}_{example}({listing}" + text[text.index(") -> ("):]


def vectorised(text, arguments):
    """(the function for all examples with their values, or how the pass ended)"""
    shared = ",".join(str(i) for i, (*_, rows) in enumerate(arguments) if len(rows) == 1)
    bare = text.replace(text[:text.index(") -> (")], "func.func @f(" + ", ".join(argument(n, s, d, None) for n, s, d, _ in arguments))
    out, end = run(["loom-opt", f"--loom-vmap=size={EXAMPLES} shared={shared}" if shared else f"--loom-vmap=size={EXAMPLES}", "-"], bare)
    if end:
        return "", end
    given = []
    for i, (_, shape, dtype, rows) in enumerate(arguments):
        wide = shape if len(rows) == 1 else (EXAMPLES, *shape)
        given.append(argument(f"%arg{i}", wide, dtype, [value for row in rows for value in row]))
    begin, end_of = out.index("func.func @f("), out.index(") -> (")
    return out[:begin] + "func.func @f(" + ", ".join(given) + out[end_of:], ""


def check_function(text, rng):
    """Differences: texts."""
    arguments = heads(text, rng)
    name = re.match(r"func\.func @(\w+)", text)[1]
    want, end = interpreted("".join(alone(text, arguments, e) for e in range(EXAMPLES)))
    if end or not want:
        return []  # the function itself does not run
    batch, end = vectorised(text, arguments)
    if end:
        return [] if re.search("more than 1000|has too many|not all examples take|might never end", end) else [f"pass: {end}\n{text}"]
    got, end = interpreted(batch)
    if end:
        return [f"interpreter: {end}\n{batch}"]
    found = []
    for key, words in got.items():
        result = key.split()[1]
        rows = [want[f"{name}_{e} {result}"] for e in range(EXAMPLES)]
        if not close(" ".join(["float64", *words[1:]]), " ".join(["float64", *[word for row in rows for word in row[1:]]])):
            found.append(f"result {result}: {words[:40]} instead of {[row[:20] for row in rows]}\n{text}\n{batch}")
    return found


def programs(count, seed):
    for i in range(count):
        rng = random.Random(f"vmap {seed} {i}")
        yield functions(Function(rng, f"f{i}").text() + "\n")[0], rng


def differences(count, seed):
    return [row for text, rng in programs(count, seed) for row in check_function(text, rng)]


if __name__ == "__main__":
    rows = differences(int(sys.argv[1]), int(sys.argv[2]))
    print("\n\n".join(rows[:5]), f"{len(rows)} differ", sep="\n")
    sys.exit(bool(rows))
