"""Loops captured once: `while` on ints and floats, and iterations that are alike a few at a time."""

import random

import numpy as np
import pytest
from compare import copied, naming
from rolling import FIRST, assert_close, for_all_sizes, short  # noqa: F401

import frameloom

R = np.random.default_rng(5)


def for_sizes(function, *makers, sizes=(60, 5, 0, 1, 2, 4, 7, 180), rolled=True):
    for_all_sizes(function, *makers, sizes=sizes, rolled=rolled, again=True)


def vector(n):
    return R.random(n + 1)


def number(n):
    return n


def test_counting():
    def down(a, n):
        while n > 0:
            a = a * 0.5 + n
            n -= 1
        return a, n

    def up(a, n):
        i, s = 0, 0.0
        while i < n:
            s = s * 0.5 + a[i]
            i += 1
        return s, i

    def at_most(a, n):
        i = 1
        while i <= n:
            a = a + i * 0.5
            i += 3
        return a, i

    def both_ends(a, n):
        i, j = 0, n
        while i < j:
            a[i], a[j] = a[j] * 0.5, a[i]
            i += 1
            j -= 1
        return a, i, j
    for function in (down, up, at_most, both_ends):
        for_sizes(function, vector, number)


def test_while_in_while():
    def step(a, n):
        i = 0
        while i < n:
            j = 0
            while j < n:
                a[i] += a[j] * 0.01
                j += 1
            i += 1
        return a
    for_sizes(step, vector, number)


def test_counters_that_do_not_count():
    def doubles(a, n):
        i = 1
        while i < n:
            a = a + 1
            i *= 2
        return a, i

    def slower(a, n):
        i, step = 0, n
        while i < 3 * n and step > 0:
            a = a + i
            i += step
            step -= 1
        return a, i, step
    for_sizes(doubles, vector, number, rolled=False)
    for_sizes(slower, vector, number)

    def two_tests(a, n):
        i = 0
        while i < n and i < 50:
            a = a + i
            i += 1
        return a, i
    for_sizes(two_tests, vector(4), number)


def test_floats():
    def euler(a, n):
        t, end, dt = 0.0, n * 0.01, 0.01
        while t < end:
            a = a + dt * (1 - a * a)
            t += dt
        return a, t

    def backwards(a, n):
        t = n * 0.1
        while t >= 0.05:
            t = t - 0.1
            a = a * 0.5 + t
        return a, t
    for_sizes(euler, vector(6), number)
    for_sizes(backwards, vector(6), number)


def test_leaving_in_the_middle():
    def step(a, n):
        i = 0
        while i < n:
            a = a + 1.0
            i += 1
            if i == 20:
                break
        else:
            a = a * 2
        return a, i
    compiled = frameloom.compile(step)
    for n in (60, 19, 20, 21, 0, 180):
        assert_close(compiled(np.zeros(3), n), step(R.random(3) * 0, n))


def test_every_few_iterations():
    def parity(a, n):
        for i in range(n):
            a = a + (1.0 if i % 2 else 2.0)
            if i % 3 == 0:
                a = a * 0.5
        return a

    def coefficients(a, n):
        k = [0.5, 0.25, 0.125]
        for i in range(n):
            a = a * k[i % 3] + i
        return a

    def halves(n):
        g, now = [np.zeros(4), np.ones(4)], 0
        for i in range(n):
            g[1 - now] = g[now] * 0.5 + i
            now = 1 - now
        return g, now
    for_sizes(parity, vector(5), number)
    for_sizes(coefficients, vector(5), number)
    for_sizes(halves, number)


def test_names_of_the_callers_arrays_change_places():
    def step(a, b, n):
        for i in range(n):
            a += 0.5 * b
            a, b = b, a
        return a, b

    def three(a, b, c, n):
        for i in range(n):
            a *= 0.5
            a += c
            a, b, c = c, a, b
        return a, b, c
    for_sizes(step, vector(5), vector(5), number)
    for_sizes(three, vector(5), vector(5), vector(5), number)
    a, b = vector(4), vector(4)
    for n in (40, 41):
        got = frameloom.compile(step)(a, b, n)
        assert got[0] is (b if n % 2 else a) and got[1] is (a if n % 2 else b)


def test_a_long_loop_that_is_no_other_is_left_to_python():
    def step(a, n):
        k = 1
        for i in range(n):
            k = k * 3 % 1001
            a = np.sin(a) * 0.5 + k
        return a, k, i
    compiled = frameloom.compile(step)
    assert_close(compiled(np.zeros(3), 3000), step(R.random(3) * 0, 3000))
    report = frameloom.explain(frameloom.compile(step), np.zeros(3), 3000)
    assert report.op_count < 100 and [r.code for r in report.break_reasons] == ["FL0023"]


def test_rows_of_a_large_array():
    def step(a, n):
        h = np.zeros((n, len(a)))
        for i in range(n):
            a = a * 0.5 + i
            h[i] = a
        return h

    def given(a, h, n):
        for i in range(1, n):
            h[i] = h[i - 1] * 0.5 + a
        return a.sum()

    for n in (50, 3000):
        assert_close(frameloom.compile(step)(np.ones(40), n), step(np.ones(40), n))
        mine, theirs = np.ones((n, 40)), np.ones((n, 40))
        given(np.ones(40), theirs, n)
        frameloom.compile(given)(np.ones(40), mine, n)
        assert_close(mine, theirs)
    report = frameloom.explain(frameloom.compile(step), np.ones(40), 3000)
    assert not report.break_reasons and [loop.fate for loop in report.loops] == ["rolled"]


# ---- random loops ----

class While:
    def __init__(self, rng):
        self.rng = rng
        self.kind = rng.choice(["up", "down", "float", "for"])

    def index(self):
        known = {"up": ["i", "i % 3", "i // 2"], "down": ["i - 1", "n - i", "i % 2"], "float": ["0", "1"],
                 "for": ["i", "i % 2", "n - 1 - i"]}
        return self.rng.choice(known[self.kind])

    def term(self):
        return self.rng.choice([f"v[{self.index()}]", "s", "x * 0.5", f"({self.index()}) * 0.25", "a.sum()", "b[0]", "k[p]"])

    def statement(self):
        r = self.rng
        return r.choice([
            f"s = s * 0.5 + {self.term()}", f"a = a * 0.5 + {self.term()}", f"v[{self.index()}] = {self.term()}",
            "a, b = b, a", "a, b, c = b, c, a", "a *= 0.5", f"b += {self.term()}", "p = 1 - p", "x = x * 0.5 + 0.25",
            f"if {self.index()} % 2:\n            a = a + {self.term()}", f"if ({self.index()}) % 3 == 1:\n            s = s * 0.5",
            "m += 2", f"c = c * 0.5 + m", f"k[p] = {self.term()}",
            "j = 0\n        while j < 5:\n            a = a * 0.5 + j\n            j += 1"])

    def text(self):
        head, tail = {"up": ("while i < n:", "i += 1"), "down": ("while i > 0:", "i -= 1"),
                      "float": ("while t < n * 0.1:", "t += 0.1"), "for": ("for i in range(n):", "pass")}[self.kind]
        body = "\n        ".join(self.statement() for _ in range(self.rng.randint(1, 4)))
        first = "n" if self.kind == "down" else "0"
        more = self.rng.choice(["", ", i", ", m, p", ", a is b", ", t"])
        return (f"def loop(v, a, b, n):\n    i, s, x, t, p, m, c, k = {first}, 0.5, 0.75, 0.0, 0, 1, a + b, [0.5, 0.25]\n"
                f"    {head}\n        {body}\n        {tail}\n    return s, a, b, c, x, k{more}\n")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 60))
def test_random_loops(seed):
    rng = random.Random(seed)
    space = {"np": np}
    text = While(rng).text()
    exec(compile(text, f"<loop {seed}>", "exec"), space)
    loop, compiled = space["loop"], frameloom.compile(space["loop"])
    generator = np.random.default_rng(seed)
    for n in (rng.choice([12, 17, 20]), rng.choice([0, 1, 2, 5]), rng.choice([14, 25])):
        args = [generator.random(n + 1), generator.random(3), generator.random(3), n]
        mine, theirs = copied(args), copied(args)
        want, got = loop(*theirs), compiled(*mine)
        with naming(text):
            assert_close(got, want)
        with naming(text):
            assert_close(mine, theirs)
