"""Numbers that Python computes of sizes (int(n * 0.5), math.log2(n), n ** 0.5): one version for all sizes, exact."""

import math
import random

import numpy as np
import pytest
from compare import assert_same, assert_same_call, check_calls, copied, outcome

import frameloom

SIZES = [8, 12, 16, 25, 100, 7, 1000]


def ramp(n, dtype="f8"):
    return (np.arange(n) * 7 % 11 + 0.5).astype(dtype)


def for_all_numbers(function, calls, versions, backend="interpret", **options):
    """One function for all of these calls, of which at most so many versions are made."""
    return check_calls(function, *calls, versions=versions, raises=True, backend=backend, **options)


FORMULAS = [
    lambda a: a[: int(len(a) * 0.5)],
    lambda a: a[int(len(a) * 0.1) : int(len(a) * 0.9)],
    lambda a: (a[: int(len(a) * 0.8)].mean(), a[int(len(a) * 0.8) :].sum()),
    lambda a: a[: round(len(a) * 0.3) + 1],
    lambda a: np.zeros(math.ceil(len(a) / 3)),
    lambda a: np.zeros((math.floor(len(a) / 2), 3)),
    lambda a: a * math.log2(len(a)) + math.log(len(a)) - math.log10(len(a)),
    lambda a: np.ones(int(math.log2(len(a)))),
    lambda a: np.zeros(2 ** math.ceil(math.log2(len(a)))),
    lambda a: np.arange(len(a).bit_length()),
    lambda a: a / len(a) ** 0.5,
    lambda a: a * len(a) ** -0.2 + len(a) ** -1,
    lambda a: a + len(a) ** 3,
    lambda a: np.zeros(int(math.sqrt(len(a)))),
    lambda a: np.zeros(math.isqrt(len(a))),
    lambda a: (1.06 * len(a) ** (-1 / 5), math.exp(-1.0 / len(a)), math.gcd(len(a), 6)),
    lambda a: 2 if math.log2(len(a)) > 2.5 else a * 1.5,
    lambda a: a[int(0.5 * len(a))] + a[-int(0.25 * len(a)) - 1],
    lambda a: a[int(len(a) * 0.5) :] + a[-(len(a) - int(len(a) * 0.5)) :],
    lambda a: a[:: int(len(a) * 0.3)].sum() if False else (len(a) * 0.3).is_integer(),
    lambda a: (int(len(a) * 0.7) / len(a), float(int(len(a) * 0.7)), -(len(a) * 0.7) // 2, len(a) % 2.5),
]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["interpret", "loom"])
@pytest.mark.parametrize("number", range(len(FORMULAS)))
def test_formulas(number, backend, dynamic):
    branches = number in (16, 19)
    for_all_numbers(FORMULAS[number], [(ramp(n),) for n in SIZES], 3 if branches else 2, backend, dynamic=dynamic)


@pytest.mark.parametrize("number", range(len(FORMULAS)))
def test_the_smallest_sizes(number):
    for_all_numbers(FORMULAS[number], [(ramp(n, "f4"),) for n in (9, 20, 0, 1, 2, 3, 4, 5, 33, 0, 1, 2, 3)], 12)


def test_one_formula_is_one_size():
    def f(a, b):
        k = int(len(a) * 0.5)
        return a[:k] * b[: int(len(a) * 0.5)] + np.ones(k)

    for_all_numbers(f, [(ramp(n), ramp(n)) for n in SIZES], 2)


def test_constants_are_told_apart_to_the_last_bit():
    def f(a):
        n = len(a)
        return math.copysign(n * 0.5, 0.0), math.copysign(n * 0.5, -0.0), n**1, n**1.0, n**True

    for_all_numbers(f, [(ramp(n),) for n in SIZES], 2)


def test_ints_that_are_arguments():
    def f(a, n, share):
        k = int(n * share)
        return a[:k] if k < len(a) else a * math.log(n)

    for_all_numbers(f, [(ramp(n), m, 0.5) for n, m in [(9, 8), (20, 10), (30, 12), (40, 33), (50, 17)]], 2)
    for_all_numbers(f, [(ramp(9), m, 0.5) for m in (8, 10, 30, 12, 40)], 4)


def test_what_raises_is_pythons():
    def f(a, n):
        return a * math.log(n) + math.sqrt(n - 3) + 1 / (n - 5)

    for_all_numbers(f, [(ramp(9), n) for n in (8, 9, 0, -1, 2, 5, 7, 1000, 4, 5)], 8)


def test_guards_are_described():
    def f(a):
        return a[: int(len(a) * 0.5)] if math.log2(len(a)) > 2.5 else a

    compiled = for_all_numbers(f, [(ramp(n),) for n in (8, 12, 20)], 2)
    text = str(compiled._report()["entries"])
    assert "int((float(a.shape[0]) * 0.5))" in text and "log2(a.shape[0]) > 2.5" in text


def test_a_backend_of_the_users():
    seen = []

    def backend(graph, inputs):
        seen.append(graph)
        return graph.run if hasattr(graph, "run") else graph

    compiled = frameloom.compile(lambda a: a[: int(len(a) * 0.5)] * len(a) ** 0.5, backend=backend)
    for n in SIZES:
        assert_same(compiled(ramp(n)), ramp(n)[: int(n * 0.5)] * n**0.5)
    assert seen


# ---- random programs ---------------------------------------------------------------------------

INTS = ["n", "m", "len(b)", "k", "(n + m)", "(n // 3)", "int({f})", "round({f})", "math.ceil({f})", "math.floor({f})",
        "math.trunc({f})", "abs({i})", "({i} * 2 + 1)", "({i} - {i})", "math.isqrt(abs({i}))", "max({i}, 2)",
        "min({i}, {i})", "({i} % 7)", "({i}).bit_length()", "math.gcd({i}, {i})", "int({i})"]
FLOATS = ["n * {c}", "{i} / 3", "{i} / 4.0", "math.log(n + 2)", "math.log2(1 + abs({i}))", "math.sqrt(abs({i}))",
          "{c} * {i}", "(n + 1) ** {c}", "math.exp(-{i} / 50)", "abs({f})", "-({f})", "({f} + {f})", "({f} - {c})",
          "float({i})", "math.sin({f})", "({f}) // 1.5", "({f}) % 2.5", "round({f}, 1)", "math.hypot({f}, {i})",
          "math.pow(2.0, math.sin({f}))", "1 / ({f})"]
USES = ["out.append({f})", "out.append({i})", "a = a * ({f})", "a = a + ({i})", "out.append(a[:{i}])",
        "out.append(a[abs({i}):].sum())", "out.append(np.zeros(abs({i}) % 40))", "a = a[: max({i}, 3)] * 1.5",
        "k = {i}", "out.append({f} < {f})", "out.append(b[{i} % len(b)])",
        "if {f} > {c}:\n        out.append(a * 2)\n    else:\n        out.append({i})",
        "if {i} < {f}:\n        k = k + 1", "out.append(np.arange(abs({i}) % 30) * ({f}))",
        "b = b[{i} % 3 :]", "out.append(np.full(3, {f}))", "out.append((a[: {i}] * b[: {i}]).sum() if len(a) == len(b) else 0)"]


def fill(rng, text, depth=0):
    while "{" in text:
        kind = text[text.index("{") + 1]
        if kind == "c":
            new = str(rng.choice([0.5, 0.25, 1.5, 0.9, 2.0, -0.2, 3, 0.1]))
        else:
            rows = INTS if kind == "i" else FLOATS
            new = fill(rng, rng.choice(rows if depth < 2 else rows[:6]), depth + 1) if depth < 4 else "n"
        text = text.replace("{" + kind + "}", new, 1)
    return text


def program(seed):
    rng = random.Random(seed)
    lines = ["def f(a, b, m):", "    n, k, out = len(a), 5, []"]
    lines += ["    " + fill(rng, rng.choice(USES)) for _ in range(rng.randint(1, 5))]
    lines.append("    return out, a, b, k")
    space = {"np": np, "math": math}
    exec("\n".join(lines), space)
    return space["f"], rng


def random_program(seed, backend="interpret"):
    function, rng = program(seed)
    compiled = frameloom.compile(function, backend=backend, dynamic=rng.choice([None, True]))
    sizes = [rng.choice([0, 1, 2, 3, 4, 5, 8, 13, 16, 33, 100, 257]) for _ in range(8)]
    with np.errstate(all="ignore"):
        for n in sizes:
            b, m = (ramp(n) if rng.random() < 0.6 else ramp(n + 5)), rng.choice([0, 1, 2, 7, 40, -3, n])
            want = outcome(function, copied((ramp(n, "f4"), b, m)))
            assert_same_call(outcome(compiled, copied((ramp(n, "f4"), b, m))), want)


@pytest.mark.parametrize("block", range(10))
def test_random_programs(block, recwarn):
    for seed in range(block * 8, block * 8 + 8):
        random_program(seed)
