"""Loops captured once whose index selects elements, rows and slices, over ranges, arrays and several iterables."""

import random

import numpy as np
import pytest
from compare import copied, naming
from rolling import FIRST, assert_close, for_all_sizes, short  # noqa: F401

import frameloom

R = np.random.default_rng(3)


def for_sizes(function, *makers, rolled=True, sizes=(40, 5, 0, 1, 2, 4, 150)):
    for_all_sizes(function, *makers, sizes=sizes, rolled=rolled, raises=True)


def vector(n):
    return R.random(n)


def rows(n):
    return R.random((n, 6))


def columns(n):
    return R.random((6, n))


def number(n):
    return n


def test_rows():
    def by_index(a, n):
        s = np.zeros(6)
        for i in range(n):
            s = s * 0.5 + a[i]
        return s

    def over_the_array(a):
        s = np.zeros(6)
        for row in a:
            s = s * 0.5 + row
        return s

    def columns_of(a):
        s = np.zeros(6)
        for column in a.T:
            s = s + column.max()
        return s
    for_sizes(by_index, rows, number)
    for_sizes(over_the_array, rows)
    for_sizes(columns_of, columns)


def test_elements_before():
    def recurrence(n):
        out = np.zeros(n + 2)
        out[1] = 1
        for i in range(2, n + 2):
            out[i] = 0.5 * out[i - 1] + out[i - 2]
        return out
    for_sizes(recurrence, number)

    def backwards(a):
        s = 0.0
        for i in range(len(a) - 1, -1, -1):
            s = s * 0.9 + a[i]
        return s

    def from_the_end(a):
        s = 0.0
        for i in range(len(a)):
            s = s * 0.9 + a[-i - 1]
        return s
    for_sizes(backwards, vector)
    for_sizes(from_the_end, vector)


def test_slices_of_one_size():
    def windows(a):
        s = 0.0
        for i in range(len(a) - 3):
            s = s + a[i:i + 4].prod()
        return s

    def blocks(a, n):
        a = a.copy()
        for i in range(n // 4):
            a[4 * i:4 * i + 4] -= a[4 * i:4 * i + 4].mean()
        return a
    for_sizes(windows, vector, sizes=(40, 6, 5, 4, 3, 0, 150))
    for_sizes(blocks, vector, number)


def test_writes_to_arguments():
    def step(a, out):
        for i in range(a.shape[1]):
            a[:, i] += i
            out[i, 1:3] = a[:2, i]
    for_sizes(step, columns, rows)


def test_several_at_once():
    def step(a, b, v):
        s = np.zeros(6)
        for i, (x, y, c) in enumerate(zip(a, b, v), start=2):
            s = s + c * x * y * i
        return s

    def unequal(a, b):
        s = 0.0
        i = None
        for i, (x, y) in enumerate(zip(a, b)):
            s = s + x * y.sum()
        return s, i
    for_sizes(step, rows, rows, vector)
    for_sizes(unequal, vector, lambda n: R.random((n + 7, 3)))
    for_sizes(unequal, lambda n: R.random(n + 7), rows)


def test_one_iterator_twice():
    def pairs(a):
        s = 0.0
        it = iter(a)
        for x, y in zip(it, it):
            s = s * 0.5 + x - y
        return s

    def skips(a):
        s = 0.0
        it = iter(a)
        for x in it:
            s = s * 0.5 + x
            next(it, None)
        return s
    for_sizes(pairs, vector, rolled=False)
    for_sizes(skips, vector, rolled=False)


def test_indices_that_go_round():
    def step(a, n):
        s = 0.0
        for i in range(n):
            s = s * 0.5 + a[i % 3] + a[(i + 1) % 5] * a[i // 200]
        return s

    def ring(a, n):
        a = a.copy()
        for i in range(n):
            a[(i + 1) % 6] = a[i % 6] * 0.5 + i
        return a
    for_sizes(step, lambda n: R.random(6), number)
    for_sizes(ring, lambda n: R.random(6), number)


def test_loops_in_loops():
    def product(a, b):
        out = np.zeros((a.shape[0], b.shape[1]))
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                out[i, j] = a[i] @ b[:, j]
        return out

    def triangle(a):
        s = 0.0
        for i in range(4, len(a)):
            for j in range(i):
                s = s + a[i] * a[j]
        return s
    for_sizes(product, lambda n: R.random((n, 6)), lambda n: R.random((6, 9)), sizes=(40, 5, 0, 1, 2, 4, 150))
    for_sizes(triangle, vector, sizes=(40, 9, 5, 0, 1, 4, 150))


def test_counters():
    def step(a, n):
        k, m, last = 0, 5, None
        for i in range(n):
            k += 3
            m = m - 2
            last = i + m
            a = a + k * m
        return a, k, m, last, i if n else None
    for_sizes(step, vector, number)

    def doubles(a, n):
        k = 1
        for i in range(n):
            k *= 2
            a = a + 1.0
        return a, k
    for_sizes(doubles, vector, number, rolled=False)

    def as_an_index(a, n):
        k, s = 0, 0.0
        while_at = []
        for _ in range(n):
            s = s + a[k]
            k += 2
        return s, k, while_at
    for_sizes(as_an_index, lambda n: R.random(2 * n + 1), number)


def test_the_last_row_is_a_view():
    def step(a):
        row = None
        for row in a:
            row *= 0.5
        return row
    for n in (40, 1):
        a = rows(n)
        got = frameloom.compile(step)(a)
        assert np.shares_memory(got, a) and got.base is a
        assert_close(a[-1], got)
    for_sizes(step, rows)


def test_out_of_bounds():
    def step(a, n):
        s = 0.0
        for i in range(n):
            s = s + a[i + 2]
            a[i] = s
        return s
    for_sizes(step, vector, number)


def test_decisions_that_all_iterations_share():
    def step(a, n):
        s = 0.0
        for i in range(n):
            if i < 1000:
                s = s + a[i]
            if i == 0 or i < 0:
                s = s + 2.0
        return s
    for_sizes(step, vector, number)


def test_sizes_that_change():
    def step(a):
        s = np.zeros(3)
        for i in range(1, len(a) - 1):
            s = s + a[i - 1] * a[i + 1]
        return s
    compiled = frameloom.compile(step)
    for n in (100, 200, 50, 12, 7, 3, 2, 1, 0, 1000):
        a = R.random((n, 3))
        assert_close(compiled(a), step(a))
    assert len(compiled._report()["entries"]) <= 8

    def over(a, v):
        s = 0.0
        for i, (x, y) in enumerate(zip(a, v)):
            s = s + x.sum() * y - i
        return s
    compiled = frameloom.compile(over)
    for n in (100, 200, 50, 12, 7, 3, 2, 1, 0, 1000):
        a, v = R.random((n, 3)), R.random(n)
        assert_close(compiled(a, v), over(a, v))


# ---- random loops ----

HEADS = ["for i in range(n):", "for i in range(1, n):", "for i in range(n - 1, 0, -1):", "for i in range(0, n, 2):",
         "for i, x in enumerate(v):", "for i, (x, r) in enumerate(zip(v, m)):", "for (i, r), x in zip(enumerate(m), w):",
         "for i, x in enumerate(v[::-1]):", "for i, r in zip(range(n), m[:, ::-1]):", "for i in reversed(range(1, n)):",
         "for i in range(-n, 0):"]


class Indexed:
    def __init__(self, rng):
        self.rng = rng
        self.head = rng.choice(HEADS)

    def index(self):
        r = self.rng
        plain = ["i", "i % 3", "i // 2", "-1 - i", "k", "(i + 1) % n", "i % 2 + 1", "0"]
        if "range(1" in self.head or "n - 1, 0" in self.head:
            plain += ["i - 1", "n - i"]
        if "-n" in self.head:
            plain = ["i", "i + n", "-1 - i", "i % 3"]
        return r.choice(plain)

    def piece(self):
        i = self.index()
        return self.rng.choice([f"v[{i}]", f"w[{i}]", f"m[{i}].sum()", f"m[{i}, 1]", f"m[{i}, ::2].max()", "x", "s",
                                f"a[:3].sum()", "(i * 0.25)", f"q[{i}]", "(k * 0.5)", "r.mean()"])

    def row(self):
        i = self.index()
        return self.rng.choice(["a", f"m[{i}]", f"t[:, {i}]", "a[::-1]", "r", f"(a * {self.piece()})", f"np.sin(m[{i}])"])

    def statement(self):
        r = self.rng
        i = self.index()
        return r.choice([
            f"s = s * 0.5 + {self.piece()}",
            f"a = a * 0.5 + {self.row()}",
            f"v[{i}] = {self.piece()} * 0.5",
            f"w[{i}] += {self.piece()}",
            f"m[{i}] = {self.row()} * 0.5",
            f"m[{i}] *= 0.5",
            f"m[{i}, 1:3] = {self.row()}[:2] * 0.5",
            f"t[:, {i}] -= {self.row()} * 0.125",
            f"t[{r.randint(0, 3)}, {i}] = {self.piece()}",
            f"q[{i}] = {self.piece()}",
            "k += 1" if "k" not in self.head else "k = k",
            f"z = m[{i}]\n        z *= 0.75",
            f"y = v[{i}]\n        s = s + y * 0.5",
            f"for j in range({r.choice(['3', '7', '4'])}):\n            s = s * 0.5 + m[{i}, j % 4] * v[{r.choice(['j', i])}]",
            f"if {r.choice(['i < 1000', 'n > 2', 'k >= 0'])}:\n            a = a + {self.row()}",
        ])

    def text(self):
        body = "\n        ".join(self.statement() for _ in range(self.rng.randint(1, 5)))
        more = self.rng.choice(["", ", i", ", k", ", x", ", r", ", i, k"])
        return (f"def loop(v, w, m, t):\n    n = len(v)\n    s, k, i, x, r = 0.5, 0, 0, 0.25, m[0]\n    a = m[1] + 0.5\n"
                f"    q = np.zeros(2 * n)\n    {self.head}\n        {body}\n    return s, a, q{more}\n")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 80))
def test_random_indexed_loops(seed):
    rng = random.Random(seed)
    space = {"np": np}
    text = Indexed(rng).text()
    exec(compile(text, f"<loop {seed}>", "exec"), space)
    loop, compiled = space["loop"], frameloom.compile(space["loop"])
    generator = np.random.default_rng(seed)
    for n in (rng.choice([8, 9, 15]), rng.choice([4, 5, 6]), rng.choice([8, 21])):
        args = [generator.random(n), generator.random(n), generator.random((n, 4)), generator.random((4, n))]
        mine, theirs = copied(args), copied(args)
        with np.errstate(all="ignore"):
            try:
                want = loop(*theirs)
            except (IndexError, ValueError, TypeError, NameError) as error:
                with pytest.raises(type(error)) as caught:
                    compiled(*mine)
                assert str(caught.value) == str(error), text
            else:
                got = compiled(*mine)
                with naming(text):
                    assert_close(got, want)
        assert all(np.allclose(a, b, rtol=1e-9) for a, b in zip(theirs, mine)), text
