"""Loops over a range that are captured once: the same results, effects and identities as plain Python's."""

import random

import numpy as np
import pytest
import time_steps
from compare import copied, naming
from rolling import FIRST, assert_close, for_all_sizes, operations, short  # noqa: F401

import frameloom


def for_all_counts(function, *args, rolled=True):
    """The last argument is the number of iterations."""
    with np.errstate(all="ignore"):
        for_all_sizes(function, *args, lambda n: n, sizes=(40, 5, 0, 1, 2, 4, 200), rolled=rolled)


U = np.linspace(0.0, 1.0, 33)


def test_stencil():
    def heat(u, n):
        for _ in range(n):
            lap = u[:-2] - 2 * u[1:-1] + u[2:]
            u = u.copy()
            u[1:-1] += 0.1 * lap
        return u
    for_all_counts(heat, U)


def test_names_that_change_places():
    def wave(u, v, n):
        t = 0.0
        for i in range(n):
            w = 2 * u - v
            w[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
            v, u = u, w
            t += 0.01
        return u, v, t
    for_all_counts(wave, U, U * 0.9)


def test_arguments_written():
    def step(a, b, n):
        inner = a[1:-1]
        for i in range(n):
            inner += 0.125 * (b[2:] - b[:-2])
            b *= 0.5
        return inner.sum()
    for_all_counts(step, U, U[::-1])


def test_result_is_the_argument():
    def step(a, n):
        for i in range(n):
            a *= 0.5
        return a
    x = U.copy()
    assert frameloom.compile(step)(x, 30) is x
    for_all_counts(step, U)


def test_index_as_a_number():
    def step(a, n):
        for i in range(3, 3 + 2 * n, 2):
            a = a + i * 0.5
        return a, i if n else None
    for_all_counts(step, U)


def test_index_as_an_index():
    def step(a, n):
        s = 0.0
        for i in range(n):
            s = s + a[i % 3]
        return s
    for_all_counts(step, U)


def test_decisions_by_the_index():
    def step(a, n):
        for i in range(n):
            a = a + (1.0 if i % 2 else 2.0)
        return a
    for_all_counts(step, U)


def test_leaving_early():
    def step(a, n):
        for i in range(n):
            a = a + 1.0
            if i == 30:
                break
        else:
            a = a * 2
        return a, i if n else None
    compiled = frameloom.compile(step)
    for n in (10, 31, 50, 500):
        assert_close(compiled(U, n), step(U, n))


def test_loops_in_loops():
    def step(a, n):
        for i in range(n):
            x = a
            for j in range(12):
                x = 0.5 * (x + (a + 1) / (x + 1))
            a = x + 0.001
        return a
    for_all_counts(step, U)


def test_numpy_scalars_and_floats():
    def lotka(x, y, n):
        t = 0.0
        for _ in range(n):
            x, y = x + 0.01 * (x - x * y), y + 0.01 * (x * y - y)
            t += 0.01
        return x, y, t
    for_all_counts(lotka, np.float64(1.0), np.float64(0.5))


def test_containers_and_closures():
    def step(a, n):
        d = {"x": a, "c": [a, a + 1]}
        scale = 0.5

        def inner(v):
            nonlocal scale
            scale = scale * 0.99
            return v * scale
        for i in range(n):
            d["x"] = inner(d["x"]) + 1.0
            d["c"][0] = d["c"][1] + d["x"]
            d["c"].reverse()
        return d, scale
    for_all_counts(step, U)

    def plain(a, n):
        d = {"x": a, "c": [a, a + 1]}
        for i in range(n):
            d["x"] = d["x"] * 0.5 + 1.0
            d["c"][0] = d["c"][1] + d["x"]
        return d
    for_all_counts(plain, U)


def test_objects():
    class Particle:
        def __init__(self, x):
            self.x, self.v, self.steps = x, x * 0, 0

        def move(self, dt):
            self.v = self.v - dt * self.x
            self.x = self.x + dt * self.v

    def step(a, n):
        p = Particle(a)
        for i in range(n):
            p.move(0.01)
        return p.x, p.v
    for_all_counts(step, U)


def test_a_counter():
    def step(a, n):
        k = 0
        for i in range(n):
            a = a + 1.0
            k += 1
        return a, k
    for_all_counts(step, U)


def test_a_growing_list():
    def step(a, n):
        out = []
        for i in range(n):
            a = a * 0.5
            out.append(a)
        return out
    for_all_counts(step, U)


def test_two_names_of_one_array():
    def step(a, n):
        b = a
        for i in range(n):
            b = b + 1.0
            c = b
            c *= 0.5
        return b, (b is c) if n else None
    for_all_counts(step, U)


def test_a_view_kept_from_one_iteration_to_the_next():
    def step(a, n):
        a = a.copy()
        v = a[::2]
        for i in range(n):
            v[:] = a[1:34:2].sum() * 0.01
            a[1::2] += v[1:]
            v = a[::2]
        return a, v
    for_all_counts(step, U)


def test_nothing_carried():
    def step(a, n):
        for k in range(n):
            pass
        return a + 1, k if n else None
    for_all_counts(step, U)


def test_warnings_are_those_of_the_library():
    def step(a, n):
        for i in range(n):
            a = a * a
        return a
    with pytest.warns(RuntimeWarning, match="overflow"):
        frameloom.compile(step)(np.full(3, 2.0), 40)


def test_a_count_that_changes():
    def heat(u, n):
        i = None
        for i in range(n):
            lap = u[:-2] - 2 * u[1:-1] + u[2:]
            u = u.copy()
            u[1:-1] += 0.1 * lap
        return u, i
    compiled = frameloom.compile(heat)
    for n in (100, 200, 50, 1000, 99, 7, 12345, 6, 5, 4, 3, 2, 1, 0, 300):
        assert_close(compiled(U, n), heat(U, n))
    assert len(compiled._report()["entries"]) <= 7

    def leaves(u, n):
        for i in range(n):
            u = u + 1.0
            break
        return u
    compiled = frameloom.compile(leaves)
    for n in (100, 200, 0, 1, 50, 0):
        assert_close(compiled(U, n), leaves(U, n))

    def seen(u, n):
        r = range(n)
        return u * len(r), r, 3 in r, list(r)[:2], [i for i in r if i > 7]
    compiled = frameloom.compile(seen)
    for n in (100, 200, 0, 1, 50, 0):
        assert_close(compiled(U, n), seen(U, n))


def test_an_error_on_the_way():
    def step(a, b, n):
        for i in range(n):
            a = a + 1
            if i == 20:
                b = b[:2]
            a = a + b
        return a
    with pytest.raises(ValueError):
        frameloom.compile(step)(U, U, 40)


def test_many_iterations_cost_no_more():
    def step(a, n):
        for i in range(n):
            a = 0.5 * (a + 1 / (a + 1))
        return a
    compiled = frameloom.compile(step)
    assert_close(compiled(U, 100_000), step(U, 100_000))
    assert operations(compiled, U, 100_000) == operations(frameloom.compile(step), U, 1000)


@pytest.mark.parametrize("name", time_steps.PROGRAMS)
def test_programs_that_step_through_time(name):
    frameloom.config.unroll_limit = 16
    function = time_steps.PROGRAMS[name][0]
    compiled = frameloom.compile(function)
    for steps in (200, 40, 3):
        want, got = (f(*time_steps.arguments(name), steps) for f in (function, compiled))
        assert np.allclose(time_steps.flat(want), time_steps.flat(got), rtol=1e-6, equal_nan=True)
    ops = [operations(frameloom.compile(function), *time_steps.arguments(name), steps) for steps in (40, 5000)]
    assert ops[0] == ops[1]


# ---- random loops ----

SIZES = {"a": 8, "b": 8, "c": 8}


class Loop:
    def __init__(self, rng):
        self.rng = rng

    def array(self):
        return self.rng.choice(["a", "b", "c", "a", "b", "d['k']", "l[0]", "l[1]", "p[0]"])

    def term(self):
        r = self.rng
        return r.choice([self.array(), self.array(), f"{self.array()}[::-1]", "s", "f", str(r.randint(1, 3) / 4),
                         f"{self.array()}.mean()", f"np.sin({self.array()})", "w", "(i * 0.125)"])

    def expression(self):
        return f"{self.array()} {self.rng.choice('+-*')} {self.term()} {self.rng.choice('+-')} {self.term()}"

    def statement(self):
        r = self.rng
        a = r.choice("abc")
        return r.choice([
            f"{a} = ({self.expression()}) * 0.5",
            f"{a} = np.tanh({self.expression()})",
            f"{a}[1:] = {self.array()}[:-1] * 0.5",
            f"{a} *= 0.5",
            f"{a} += {self.term()}",
            "a, b = b, a",
            "a, b, c = c, a, b",
            f"d['k'] = {self.array()} * 0.25",
            f"l[{r.randint(0, 1)}] = {self.expression()}",
            f"p = (np.cos({self.array()}), {r.randint(1, 3)})",
            f"s = s * 0.5 + {r.choice(['f', '0.25', 'i * 0.5'])}",
            f"f = np.float64({a}.sum()) * 0.125",
            "w = a[:]",
            "w = w * 0.5",
            f"{a} = {a}.copy()",
            f"l.reverse()",
            f"for j in range({r.randint(2, 9)}):\n            {a} = {a} * 0.5 + {self.array()}",
            f"if {r.choice(['True', 'p[1] > 1', 'len(l) == 2'])}:\n            {a} = {a} + 0.5",
            f"t = {self.expression()}\n        {a} = t - t.mean()",
        ])

    def text(self):
        body = "\n        ".join(self.statement() for _ in range(self.rng.randint(1, 6)))
        result = "a, b, c, d, l, s, f, w" + self.rng.choice(["", ", i", ", a is b", ", l[0] is l[1]", ", p"])
        return (f"def loop(a, b, n):\n    c = a * 0.5\n    d = {{'k': b}}\n    l = [a, b]\n    s = 0.5\n"
                f"    f = np.float64(0.25)\n    p = (a, 2)\n    w = b[:]\n    i = None\n"
                f"    for i in range(n):\n        {body}\n    return {result}\n")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 60))
def test_random_loops(seed):
    rng = random.Random(seed)
    space = {"np": np}
    text = Loop(rng).text()
    exec(compile(text, f"<loop {seed}>", "exec"), space)
    loop, compiled = space["loop"], frameloom.compile(space["loop"])
    generator = np.random.default_rng(seed)
    x, y = generator.random(8) + 0.5, generator.random(8) + 0.5
    for n in (rng.choice([6, 9, 15]), rng.choice([0, 1, 2, 5, 7])):
        mine, theirs = copied([x, y]), copied([x, y])
        if rng.random() < 0.2:
            mine[1], theirs[1] = mine[0], theirs[0]
        with np.errstate(all="ignore"):
            want, got = loop(*theirs, n), compiled(*mine, n)
        with naming(text):
            assert_close(got, want)
        with naming(text):
            assert_close(mine, theirs)
