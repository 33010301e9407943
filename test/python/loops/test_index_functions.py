"""Functions of the index of a loop that is captured once: powers, divisions and math functions are Python's own."""

import math
import random

import numpy as np
import pytest

import frameloom

from compare import assert_same, outcome

FUNCTIONS = {
    "power": lambda k: 0.9**k,
    "alternating": lambda k: (-1) ** k,
    "power_of_two": lambda k: 2 ** (k % 20),
    "sine": lambda k: math.sin(0.1 * k),
    "exponential": lambda k: math.exp(-k / 100),
    "root": lambda k: math.sqrt(k + 1),
    "quotient": lambda k: 0.1 / (1 + 0.01 * k),
    "remainder": lambda k: (0.3 * k) % 1.7,
    "floor": lambda k: (0.3 * k) // 1.7,
    "rounded": lambda k: round(0.37 * k, 1),
    "truncated": lambda k: int(0.37 * k),
    "ceiling": lambda k: math.ceil(0.37 * k),
    "hypotenuse": lambda k: math.hypot(k, 3.0),
    "nested": lambda k: math.sin(0.9**k) / math.cosh(0.01 * k),
    "of_a_table": lambda k: 2.0 * 0.5 ** int(0.1 * k) - 1,
    "negative": lambda k: math.copysign(0.0, -k) - 0.0**k,
    "bits": lambda k: (k ^ 5) | 1,
    "factorial": lambda k: math.factorial(k % 9) / math.comb(9, k % 9),
    "infinite": lambda k: math.inf if False else float("inf") * 0.5**k,
}

ALIKE_AT_FIRST = {"floor", "negative", "infinite"}  # the first iterations carry one value: other loops are seen


def loop(g, x, n):
    total = 0.0
    for k in range(n):
        c = g(k)
        x = x * 0.99 + c
        total += c
    return x, total


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_loop_is_rolled(name):
    g, x = FUNCTIONS[name], np.linspace(-1, 1, 5)
    compiled = frameloom.compile(loop)
    assert_same(compiled(g, x, 1500), loop(g, x, 1500))
    if name not in ALIKE_AT_FIRST:
        explained = frameloom.explain(loop, g, x, 1500)
        assert [entry.fate for entry in explained.loops] == ["rolled"]
        assert explained.graph_count == 1


@pytest.mark.parametrize("name", ["power", "nested", "truncated", "bits"])
def test_any_number_of_iterations(name):
    g, x = FUNCTIONS[name], np.linspace(-1, 1, 5)
    compiled = frameloom.compile(loop, backend="interpret")
    for n in (40, 41, 60, 255, 256, 257, 90, 1030, 1031, 900, 2000):
        assert_same(compiled(g, x, n), loop(g, x, n))
    assert compiled._report()["captures"] <= 4
    for n in (3, 2, 1, 0, 70):
        assert_same(compiled(g, x, n), loop(g, x, n))


def test_random_functions():
    unary = ["math.sin({})", "math.atan({})", "abs({})", "-{}", "float({})", "math.floor({})", "{} ** 2", "math.tanh({})"]
    binary = ["({} + {})", "({} - {})", "({} * {})", "({} / (abs({}) + 1))", "({} // 3 + {})", "max({}, 0) + {}"]

    def make(rng, depth):
        if not depth or rng.random() < 0.2:
            return rng.choice(["k", "k", str(rng.randint(-3, 5)), str(round(rng.uniform(-2, 2), 2)), "(k % 7)", "(n - k)"])
        pieces = rng.choice(unary if rng.random() < 0.5 else binary)
        return pieces.format(*(make(rng, depth - 1) for _ in range(pieces.count("{}"))))

    rng = random.Random(5)
    for _ in range(40):
        text = make(rng, 3)
        space = {"math": math}
        exec(f"def f(x, n):\n    for k in range(1, n):\n        x = x * 0.5 + {text}\n    return x, {text.replace('k', '1')}", space)
        compiled, x = frameloom.compile(space["f"], backend="interpret"), np.linspace(-1, 1, 3)
        for n in (70, 71, 95):
            assert_same(outcome(compiled, (x, n)), outcome(space["f"], (x, n)))


def test_what_raises_in_some_iteration():
    def over(x, n):
        seen = []
        try:
            for k in range(n):
                x = x + 1.0 / (50 - k) + 10.0 ** (6 * k)
                seen.append(k)
        except (ZeroDivisionError, OverflowError) as error:
            return x, len(seen), str(error)
        return x, len(seen)

    compiled = frameloom.compile(over)
    for n in (40, 45, 200, 60, 52):
        assert_same(compiled(np.ones(2), n), over(np.ones(2), n))


def test_sizes_that_halve():
    def halve(x):
        for k in range(4):
            m = len(x) // 2**k
            x = x + x[:m].sum() / m
            x[: 2 ** (k + 1)] *= 0.5
        return x

    compiled = frameloom.compile(halve)
    for n in (32, 48, 64):
        assert_same(compiled(np.arange(float(n))), halve(np.arange(float(n))))


def test_two_loops():
    def both(x, n, m):
        for i in range(n):
            for j in range(m):
                x = x + 0.5**j * math.sin(i) + 0.25 ** (i + j)
        return x, 0.5**j

    compiled = frameloom.compile(both)
    for n, m in ((30, 40), (31, 40), (30, 41), (5, 3)):
        assert_same(compiled(np.ones(2), n, m), both(np.ones(2), n, m))


def test_adam():
    def adam(x, n):
        m = v = np.zeros_like(x)
        for t in range(1, n + 1):
            g = 2 * x
            m = 0.9 * m + 0.1 * g
            v = 0.999 * v + 0.001 * g * g
            x = x - 1e-3 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return x

    x = np.linspace(0.1, 1, 8)
    assert_same(frameloom.compile(adam)(x, 3000), adam(x, 3000))
    assert frameloom.explain(adam, x, 3000).graph_count == 1
