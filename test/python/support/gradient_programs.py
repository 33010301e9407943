"""Random programs over arrays whose result is one float, for derivatives: `python gradient_programs.py COUNT [SEED] [WORD]` tries
so many and prints those that differ. With the word `rules` each is a function of frameloom.custom_vjp as well, whose rule is its
own derivative, and the gradients of a program that calls it are compared with those of one that calls the function itself. With
`checkpoints` parts of each program are calls of frameloom.checkpoint."""

import random
import re
import sys
import traceback

import numpy as np
from differences import by_differences

UNARY = ["np.sin({})", "np.cos({})", "np.tanh({})", "np.exp(-np.abs({}))", "np.log(1.5 + {} ** 2)", "np.sqrt(1 + {} ** 2)", "np.arctan({})",
         "np.abs({})", "{} ** 2", "{} ** 3", "-{}", "np.expm1(np.sin({}))", "1 / (1.5 + np.cos({}))", "np.arcsinh({})", "np.cbrt(2 + np.sin({}))",
         "np.where({0} > 0.3, {0}, {0} * 0.5)", "np.clip({}, -0.7, 0.7)", "np.square({})", "np.sign({0}) * {0}", "np.fmod({}, 1.7)",
         "np.logaddexp({}, 0.2)", "np.exp2(np.sin({}))", "np.maximum({}, -0.2)", "np.minimum({}, 0.4)", "np.nan_to_num({})",
         "np.real(np.exp(1j * {}))", "np.abs({} + 1j)"]
BINARY = ["{} + {}", "{} - {}", "{} * {}", "{} / (2.5 + np.sin({}))", "np.maximum({}, {})", "np.minimum({}, {})", "np.hypot({}, 1 + np.abs({}))",
          "np.arctan2({}, 2 + np.cos({}))", "np.where({0} > {1}, {0}, {1})", "np.power(1.2 + np.abs({}), np.cos({}))", "np.copysign({}, {})"]
# shape -> shape
MOVES = [("{}.T", lambda s: s[::-1]), ("{}[::-1]", lambda s: s), ("{}[:, ::-1]", lambda s: s), ("np.roll({}, 1, axis=0)", lambda s: s),
         ("np.sort({}, axis=0)", lambda s: s), ("np.cumsum({}, axis=1)", lambda s: s), ("np.flip({})", lambda s: s),
         ("{}[1:]", lambda s: (s[0] - 1, s[1])), ("{}[:, :-1]", lambda s: (s[0], s[1] - 1)), ("np.concatenate([{0}, {0} * 0.5])", lambda s: (2 * s[0], s[1])),
         ("np.repeat({}, 2, axis=1)", lambda s: (s[0], 2 * s[1])), ("np.pad({}, ((1, 0), (0, 1)))", lambda s: (s[0] + 1, s[1] + 1)),
         ("np.diff({}, axis=0)", lambda s: (s[0] - 1, s[1])), ("{}[np.array([0, 0])]", lambda s: (2, s[1])), ("np.tril({})", lambda s: s),
         ("{}.reshape(-1, 1)", lambda s: (s[0] * s[1], 1)), ("{0} @ {0}.T", lambda s: (s[0], s[0])), ("np.outer({0}[0], {0}[:, 0])", lambda s: (s[1], s[0])),
         ("np.cumprod(np.cos({}), axis=0)", lambda s: s), ("np.maximum.accumulate({}, axis=1)", lambda s: s),
         ("np.linalg.inv({0} @ {0}.T + 2 * np.eye({0}.shape[0]))", lambda s: (s[0], s[0])),
         ("np.take_along_axis({0}, np.argsort({0}, axis=1), axis=1)", lambda s: s)]
REDUCTIONS = ["np.sum({}, axis={}, keepdims=True)", "np.mean({}, axis={}, keepdims=True)", "np.max({}, axis={}, keepdims=True)",
              "np.prod(np.cos({}), axis={}, keepdims=True)", "np.var({}, axis={}, keepdims=True)", "np.min({}, axis={}, keepdims=True)",
              "np.linalg.norm(1 + np.abs({}), axis={}, keepdims=True)"]


def program(seed):
    """(source of f(x, s), x, s)"""
    r = random.Random(seed)
    shape = (r.randint(1, 4), r.randint(1, 4))
    lines, values = [], [("x", shape)]
    for number in range(r.randint(2, 9)):
        name, (operand, size) = f"v{number}", r.choice(values[-4:])
        kind = r.random()
        if kind < 0.35:
            lines.append(f"{name} = {r.choice(UNARY).format(operand)}")
        elif kind < 0.6:
            alike = [v for v, other in values if other == size] + ["s"]
            lines.append(f"{name} = {r.choice(BINARY).format(operand, r.choice(alike))}")
        elif kind < 0.75:
            axis = r.randint(0, 1)
            lines.append(f"{name} = {r.choice(REDUCTIONS).format(operand, axis)}")
            size = (1, size[1]) if axis == 0 else (size[0], 1)
        elif kind < 0.88:
            text, after = r.choice(MOVES)
            if min(after(size)) < 1 or max(after(size)) > 12:
                continue
            lines.append(f"{name} = {text.format(operand)}")
            size = after(size)
        elif kind < 0.92:
            lines += [f"{name} = {operand} * 1.5", f"{name}[0] = {name}[-1] * s", f"{name} += 0.3"]
        else:
            step = r.choice(["np.sin({0}) + i * s", "{0} * 0.9 + np.cos({0}) * x[i % x.shape[0], 0]", "np.where({0} > 0.1, {0} * 0.8, {0} + 0.1)",
                             "np.tanh({0} * s) + x.sum() * 0.01", "{0} * 0.7 + np.sort({0}, axis=0) * 0.2"]).format(name)
            count = r.choice([1, 3, 17, 40])
            lines += [f"{name} = {operand}", f"for i in range({count}):", f"    {name} = {step}"]
            if r.random() < 0.3:
                lines[-2:] = [f"kept = np.zeros(({count},) + {operand}.shape)", *lines[-2:], f"    kept[i] = {name}", f"{name} = {name} + kept.sum(axis=0)"]
        values.append((name, size))
    total = " + ".join(f"np.sum({v} * {r.uniform(-1, 1):.3f})" for v, _ in values[-3:])
    source = "def f(x, s):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {total} + s * 0.1\n"
    generator = np.random.default_rng(seed)
    return source, generator.normal(size=shape), float(generator.normal())


def difference(seed):
    """What is wrong with the gradient of a program, as text; None: nothing."""
    import frameloom

    source, x, s = program(seed)
    space = {"np": np}
    exec(source, space)
    f = space["f"]
    with np.errstate(all="ignore"):
        expected = by_differences(lambda x: f(x, s), x)
        expected_s = (f(x, s + 1e-6) - f(x, s - 1e-6)) / 2e-6
    if not np.isfinite(expected).all() or np.abs(expected).max(initial=0) > 1e5:
        return None
    try:
        value, (by_x, by_s) = frameloom.value_and_grad(f, (0, 1))(x, s)
        again, _ = frameloom.value_and_grad(f, (0, 1))(x, s)
    except Exception:
        return f"{source}\n{traceback.format_exc(limit=-2)}"
    scale = max(1.0, np.abs(expected).max(initial=0), abs(expected_s))
    near = abs(value - f(x, s)) < 1e-9 * max(1, abs(value)) and np.abs(by_x - expected).max(initial=0) < 2e-5 * scale
    if near and abs(by_s - expected_s) < 2e-5 * scale:
        return None
    return f"{source}\nx = {x!r}\ns = {s!r}\nvalue {value} and {f(x, s)}\n{by_x}\n{expected}\n{by_s} and {expected_s}"


def with_rule(f):
    """The function with its own derivative as the rule."""
    import frameloom

    known = frameloom.custom_vjp(f)
    known.defvjp(lambda x, s: (f(x, s), {"given": (x, s)}), lambda kept, g: frameloom.vjp(f, *kept["given"], cotangent=g)[1])
    return known


def with_checkpoints(source, seed):
    """The program with some of its statements in a checkpointed function, which it calls."""
    r = random.Random(seed)
    head, *lines = source.splitlines()
    starts = [i for i, line in enumerate(lines) if not line.startswith("     ")]
    begin, end = sorted(r.sample(starts, 2))
    made = sorted(set(re.findall(r"^ +(\w+)(?: =|\[.*?\] =| \+=)", "\n".join(lines[begin:end]), re.M)))
    given = ", ".join(["x", "s", *sorted(set(re.findall(r"^    (\w+) =", "\n".join(lines[:begin]), re.M)))])
    part = [f"    def part({given}):", *("    " + line for line in lines[begin:end]), f"        return {', '.join(made)},"]
    call = f"    {', '.join(made)}, = frameloom.checkpoint(part)({given})" if made else "    pass"
    return "\n".join([head, *lines[:begin], *part, call, *lines[end:]]) + "\n"


def caller(f, outer):
    """A program that calls f several times, and not always on its own arguments."""

    def total(x, s):
        y = x * np.cos(s)
        return f(x, s) * outer + np.sin(f(y, s + 0.1)) - f(y, s).real

    return total


def gradients_differ(f, g, x, s):
    """The values and gradients by (x, s) of two functions that should have the same, as text; None: they have."""
    import frameloom

    made = []
    for function in (f, g):
        try:
            made.append(frameloom.value_and_grad(function, (0, 1))(x, s))
        except Exception:
            made.append(traceback.format_exc(limit=-2))
    if isinstance(made[0], str):
        return None  # difference() looks for these
    if not isinstance(made[1], str):
        (value, (by_x, by_s)), (other, (other_x, other_s)) = made
        scale = max(1.0, np.abs(by_x).max(initial=0), abs(by_s))
        same = abs(value - other) <= 1e-9 * max(1, abs(value)) and np.abs(by_x - other_x).max(initial=0) <= 1e-9 * scale
        if same and abs(by_s - other_s) <= 1e-9 * scale or not np.isfinite(scale):
            return None
    return f"x = {x!r}\ns = {s!r}\n{made[0]}\n{made[1]}"


def rule_difference(seed):
    """What is wrong with the gradient through a rule, as text; None: nothing."""
    source, x, s = program(seed)
    space = {"np": np}
    exec(source, space)
    f, g = (caller(f, 0.5 + seed % 3) for f in (space["f"], with_rule(space["f"])))
    found = gradients_differ(f, g, x, s)
    return found and f"{source}\n{found}"


def checkpoint_difference(seed):
    """What is wrong with the gradient of a program with checkpoints, as text; None: nothing."""
    import frameloom

    source, x, s = program(seed)
    other = with_checkpoints(source, seed)
    spaces = [{"np": np, "frameloom": frameloom} for _ in range(2)]
    exec(source, spaces[0])
    exec(other, spaces[1])
    outer = frameloom.checkpoint(spaces[1]["f"]) if seed % 2 else spaces[1]["f"]
    found = gradients_differ(caller(spaces[0]["f"], 0.5), caller(outer, 0.5), x, s)
    return found and f"{other}\n{found}"


DIFFERENCES = {"rules": rule_difference, "checkpoints": checkpoint_difference}

if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word not in DIFFERENCES]
    count, first = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 0
    bad, compare_one = 0, DIFFERENCES.get(sys.argv[-1], difference)
    for seed in range(first, first + count):
        found = compare_one(seed)
        if found:
            bad += 1
            print(f"seed {seed}: {found}\n", flush=True)
    print(f"{bad} of {count} differ")
    sys.exit(bad > 0)
