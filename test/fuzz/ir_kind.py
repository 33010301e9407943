"""Modules of random functions of `loom` ops: passes, one after another, and compiled plans against the reference interpreter.

A process for a whole module; a module is small enough to be made again of its functions when one ends the process.
"""

import math
import os
import random
import re
import resource
import signal
import subprocess
import tempfile
from pathlib import Path

from ir_programs import Function

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("LOOM_BUILD", ROOT / "build" / "dev")).resolve() / "bin"
FUNCTIONS = 40  # of a module
# Each is run behind the ones before it, with the interpreter after each.
PASSES = (("--loom-simplify",), ("--loom-regions", "--loom-simplify"), ("--loom-attend", "--loom-simplify"),
          ("--loom-sizes", "--loom-complex", "--loom-simplify", "--loom-thin", "--loom-simplify"), ("--loom-forward", "--loom-simplify", "--canonicalize", "--cse"),
          ("--loom-sums", "--loom-simplify"))
PLANS = ((), ("-s",), ("-mx86-64-v3",), ("-s", "-mx86-64-v3"), ("-b",), ("-s", "-b"))


def make(seed, index):
    rng = random.Random(f"ir {seed} {index}")
    plan = rng.randrange(len(PLANS))
    return f"// plan {plan}\n" + "\n".join(Function(rng, f"f{i}").text() for i in range(FUNCTIONS)) + "\n"


def functions(text):
    return re.findall(r"^func\.func .*?^}\n", text, re.DOTALL | re.MULTILINE)


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (50, 50))  # then SIGKILL


def run(command, text=""):
    """(what it printed and reported, how it ended)"""
    done = subprocess.run([str(BUILD / command[0]), *command[1:]], input=text, capture_output=True, text=True, preexec_fn=limit)
    if done.returncode < 0:
        return done.stdout, f"{signal.Signals(-done.returncode).name} {done.stderr[:300]}"
    return done.stdout, f"status {done.returncode} {done.stderr[:300]}" if done.returncode else ""


def interpreted(text):
    """For each result "f 0" what the interpreter gives at each stage; and how the process ended."""
    options = ["--loom-interpret"]
    for passes in PASSES:
        options += [*passes, "--loom-interpret"]
    out, end = run(["loom-opt", "--mlir-disable-threading", *options, "-o", os.devnull, "-"], text)
    rows = {}
    for line in out.splitlines():
        name, _, values = line.partition(": ")
        rows.setdefault(name, []).append(values)
    return rows, end


def check(text):
    whole = functions(text)
    found, options = [], PLANS[int((re.search(r"// plan (\d+)", text) or [0, 0])[1])]
    rows, end = interpreted(text)
    if end:
        if len(whole) > 1:
            return one_by_one(text, whole)
        return [f"interpreter or pass: {end}"]
    for name, stages in rows.items():
        for stage, got in enumerate(stages[1:]):
            if not close(got, stages[0]):
                passes = " ".join(p for some in PASSES[:stage + 1] for p in some)
                found.append(f"value of {passes}: {name}: {got[:200]} instead of {stages[0][:200]}")
                break
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        out, end = run(["run-test", *options, file.name])
    for line in out.splitlines():
        if not re.search(r"right$|static$|kernels  \(trial|: a symbolic size", line):
            found.append(f"plan of run-test {' '.join(options)}: {line[:300]}")
    if not found and (not end.startswith("status 1") and end or len(set(re.findall(r"(\w+): (?=\d+ ops|static|error)", out))) < len(whole)):
        if len(whole) > 1:
            return one_by_one(text, whole)
        found.append(f"plan of run-test {' '.join(options)}: {end}")
    return found


def one_by_one(text, whole):
    head = text[:text.find("func.func")]
    return [row for function in whole for row in check(head + function)]


def smaller(text):
    """Makers of simpler texts: fewer functions, fewer results, fewer ops."""
    whole, head = functions(text), text[:text.find("func.func")]
    if len(whole) > 1:
        for function in whole:
            yield lambda function=function: head + function
        return
    lines = whole[0].rstrip("\n").split("\n")
    names, types = re.fullmatch(r"  return (.*) : (.*)", lines[-2]).groups()
    names, types = names.split(", "), re.findall(r"tensor<[^ ]*>(?=,|$)", types)
    steps = re.split(r"\n(?=  %\w+(?::\d+)? = )", "\n".join(lines[1:-2])) if len(lines) > 3 else []
    body = [(re.match(r"  (%\w+)", step)[1], step, (re.search(r"(tensor<\S*>)$", step) or [None])[0]) for step in steps]
    arguments = lines[0][:lines[0].rindex(") -> (")]
    single = [i for i in range(len(body)) if body[i][2]]  # an op of several results is all there or not
    for i in single:  # what is computed up to there alone
        yield lambda i=i: function_of(head, arguments, body[:i + 1], [body[i][0]], [body[i][2]])
    if len(names) > 1:
        for i in range(len(names)):
            yield lambda i=i: function_of(head, arguments, body, names[:i] + names[i + 1:], types[:i] + types[i + 1:])
    for i in single:  # as an argument
        name, _, type_of = body[i]
        rest = body[:i] + body[i + 1:]
        yield lambda name=name, type_of=type_of, rest=rest: function_of(head, f"{arguments}, {name}: {type_of}", rest, names, types)
    yield lambda: re.sub(r" \{loom.values = dense<[^>]*> : \S*>\}", "", text)


def function_of(head, arguments, body, names, types):
    """Without ops that nothing uses, nor arguments."""
    used, kept = {name.partition("#")[0] for name in names}, []
    for name, line, _ in reversed(body):
        if name in used:
            kept.insert(0, line)
            used |= set(re.findall(r"%\w+", line))
    begin, _, listed = arguments.partition("(")
    listed = [a for a in re.split(r", (?=%)", listed) if a.split(":")[0] in used]
    types = ", ".join(types)
    return head + f"{begin}({', '.join(listed)}) -> ({types}) attributes {{loom.open_sums}} {{\n" + "\n".join(kept) + f"\n  return {', '.join(names)} : {types}\n}}\n"


def close(got, want, running=False, unit=None):
    """Numbers in printed rows; integers are the same, floats within what another order of operations gives. `running`: they are sums of
    each other, so that the largest one says how exact all are. `unit`: of floats, where it is not their own."""
    g, w = got.split(), want.split()
    if len(g) != len(w) or g[:1] != w[:1]:
        return False
    dtype = w[0].partition("[")[0]
    unit = unit or {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4, "complex64": 1e-4}.get(dtype, 1e-10)
    largest = max([1.0, *(abs(float(n)) for n in w[1:] if math.isfinite(float(n)))]) if running and dtype.startswith(("float", "bfloat")) else 1.0
    for a, b in zip(g[1:], w[1:]):
        if a == b:
            continue
        try:
            x, y = (float(part.strip("(),")) for part in (a, b))
        except ValueError:
            return False
        if not dtype.startswith(("float", "bfloat", "complex")):
            return False
        if x != x and y != y:  # NaNs of either sign
            continue
        if not abs(x - y) <= unit * max(largest, abs(y)):
            return False
    return True
