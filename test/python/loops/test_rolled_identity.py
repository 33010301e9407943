"""Which numbers and arrays are one object behind a loop that is captured once: those that are in plain Python."""

import copy
import os
import random
import warnings

import numpy as np
import pytest
from paths import FIRST
from rolling import identities_alike, pattern, result_of

import frameloom

SEEDS = int(os.environ.get("FRAMELOOM_SEEDS", "60"))


NUMBERS = [i + 0.5 for i in range(40)]
ARRAYS = [np.arange(3.0) + i for i in range(40)]
KINDS = {
    "list": NUMBERS,
    "tuple": tuple(NUMBERS),
    "scalars": [np.float64(x) for x in NUMBERS],
    "arrays": ARRAYS,
    "tuple of arrays": tuple(ARRAYS),
    "ints": [3000, 1000, 5000, 7] * 10,
    "ints in steps": tuple(range(1000, 1040)),
    "one of few": [NUMBERS[0], NUMBERS[1]] * 20,
}


@pytest.mark.parametrize("kind", KINDS)
def test_items_that_names_stand_for(kind):
    items = KINDS[kind]

    def last(xs):
        for v in xs:
            end = v
        return end

    def by_is(xs):
        end = None
        for v in xs:
            end = v
        return end, end is xs[-1], end is xs[0]

    def two(xs):
        p = q = None
        for v in xs:
            p = q
            q = v
        return p, q

    def changed_behind(xs):
        for v in xs:
            end = v
        xs[-1] = 1.5
        return end, xs

    def in_front(xs, x):
        for v in xs:
            x = x + v
        return x, v

    for function in (last, by_is, two):
        identities_alike(function, items)
    identities_alike(in_front, items, 1.0)
    identities_alike(changed_behind, items, rolled=None)


def test_items_that_are_not_read_behind_cost_nothing():
    def total(xs, x):
        for v in xs:
            x = x + v
        return x

    compiled = frameloom.compile(total)
    for n in (40, 60, 80):
        assert compiled([float(i) for i in range(n)], 1.0) == total([float(i) for i in range(n)], 1.0)
    identities_alike(total, NUMBERS, 1.0)


def test_parts_of_items():
    pairs = [(x, a) for x, a in zip(NUMBERS, ARRAYS)]

    def parts(ps):
        for t, v in ps:
            a, b = t, v
        return a, b

    def whole(ps):
        for p in ps:
            a = p
        return a, a is ps[-1], a[0] is ps[-1][0]

    for kind in (pairs, tuple(pairs), [list(p) for p in pairs]):
        identities_alike(parts, kind)
        identities_alike(whole, kind)


def test_lists_made_inside():
    def f(x, n):
        hs, q = [], None
        for i in range(n):
            hs.append(x + i)
        for h in hs:
            q = h
        return q, hs, q is hs[-1]

    def g(x, n):
        hs, q = [], None
        for i in range(n):
            hs.append(x + i)
        for h in hs:
            q = h
        return hs, q

    def pairs(x, n):
        hs, q = [], None
        for i in range(n):
            hs.append((x + i, x * 2))
        for h, k in hs:
            q = k
        return hs, q

    for x in (1.5, np.ones(3)):
        identities_alike(f, x, 100)
        identities_alike(g, x, 100)
        identities_alike(pairs, x, 100)


def test_length_that_changes():
    def f(xs):
        end = before = None
        for v in xs:
            before, end = end, v
        return before, end

    compiled = frameloom.compile(f)
    for make in (float, lambda i: np.full(2, float(i))):
        for n in (100, 101, 17, 16, 40, 1, 0):
            xs = [make(i) for i in range(n)]
            assert pattern(f(xs), xs) == pattern(compiled(xs), xs)


def test_names_for_one_number():
    def both(x, n):
        a = b = x
        for _ in range(n):
            a = a * 0.5 + 1
            b = a
        return a, b, a is b

    def callers(x, n):
        a = b = x
        c = 0.1
        for _ in range(n):
            a = a * 0.5 + 1
            b, c = a, x
        return a, b, c, x

    def swapped(a, b, n):
        for _ in range(n):
            a, b = b, a
        return a, b

    def handed_on(x, n):
        p = q = x
        for _ in range(n):
            q = p
            p = x
            x = x * 0.5
        return p, q, x

    def counters(n):
        k = j = 1000
        for _ in range(n):
            k = k + 1
            j = k
        return k, j

    def constants(n, x):
        s = x
        for _ in range(n):
            a = 2.5
            b = a
            s = s + a
        return a, b, s

    for n in (17, 100, 101):
        identities_alike(both, 1.5, n)
        identities_alike(callers, 1.5, n)
        identities_alike(swapped, 1.5, 2.5, n, rolled=None)
        identities_alike(handed_on, 1.5, n)
        identities_alike(counters, n)
        identities_alike(constants, n, 0.5)


def test_numbers_that_are_appended():
    def sums(xs):
        out, s = [], 0.0
        for v in xs:
            s = s + v
            out.append(s)
        return out, s, out[-1] is s

    def times(t, n):
        ts = []
        for _ in range(n):
            ts.append(t)
            t = t + 0.1
        return ts, t

    def the_same(xs, c):
        out = []
        for v in xs:
            out.append(c)
        return out, c

    def twice(xs):
        out, other = [], []
        for v in xs:
            w = v * 2
            out.append(w)
            other.append(w)
        return out, other

    def items(xs):
        out = []
        for v in xs:
            out.append(v)
        return out

    def pairs(xs, c):
        out = []
        for v in xs:
            out.append((v * 2, c, 0.5))
        return out, c

    identities_alike(sums, NUMBERS)
    identities_alike(times, 0.5, 100)
    identities_alike(the_same, NUMBERS, 0.5)
    identities_alike(pairs, NUMBERS, 0.25)
    identities_alike(twice, NUMBERS, rolled=None)
    for kind in KINDS.values():
        identities_alike(items, kind, rolled=None)


# ---- random programs ----


def body(r, kind):
    names = "a b p q v z c x".split()
    lines = ["v = xs[i]"] if kind == "indices" else []
    if kind == "pairs":
        lines = [r.choice(["w, v = v", "w = v[0]; t = v; v = v[1]"])]
    forms = [
        lambda: f"{r.choice('abpqz')} = {r.choice(names)}",
        lambda: f"{r.choice('abs')} = {r.choice('absc')} * 0.5 + {r.choice(['v', '1.0', 'c', 'a'])}",
        lambda: "s = s + v",
        lambda: f"k = k + {r.randint(0, 3)}",
        lambda: "m = k",
        lambda: f"out.append({r.choice(['s', 'a', 'v', 'k', 'c', 'p', '(a, b)', '(k, v)', '1.5', 'a * 2.0'])})",
        lambda: f"other.append({r.choice(['s', 'a', 'k', 'b', 'q', 'a + 1.0'])})",
        lambda: "a, b = b, a",
        lambda: "q = p; p = v",
        lambda: "t = (v, a); p = t[0]",
    ]
    return lines + [r.choice(forms)() for _ in range(r.randint(1, 6))]


def program(r):
    kind = r.choice("floats ints arrays pairs mixed scalars range enumerate zip indices steps".split())
    source = r.choice(["xs", "xs", "tuple(xs)", "reversed(xs)", "list(xs)", "xs[1:]"])
    head = {
        "range": "v in range(1000, 1000 + n)",
        "enumerate": f"i, v in enumerate({source})",
        "zip": f"v, w in zip({source}, ys)",
        "indices": "i in range(len(xs))",
    }.get(kind, f"v in {source}")
    results = r.sample("a b p q k m out other z c x s v".split(), r.randint(1, 8))
    lines = ["a = b = x", "p = q = None", "k = m = 1000", "out = []", "other = []", "z = c", "s = 0.0"]
    lines += [f"for {head}:"] + ["    " + line for line in body(r, kind)]
    if r.random() < 0.3:
        lines.append("same = (p is q, a is b, p is xs[-1], z is c)")
        results.append("same")
    if r.random() < 0.15:
        lines.append("xs.append(a)")
    if r.random() < 0.1:
        lines.append("xs[0] = b")
    if r.random() < 0.2:
        lines.append("for u in out: q = u")
    lines.append(f"return {', '.join(results)},")
    return "\n    ".join(["def f(xs, ys, x, c, n):"] + lines), kind


def arguments(r, kind, n):
    make = {
        "ints": lambda i: r.choice([1, 2, 300, 4000, 5]),
        "arrays": lambda i: np.array([r.random(), r.random()]),
        "pairs": lambda i: (r.random(), r.random()),
        "mixed": lambda i: r.choice([1.5, 2, r.random()]),
        "scalars": lambda i: np.float64(r.random()),
        "steps": lambda i: 1000 + 3 * i,
    }.get(kind, lambda i: r.random())
    xs = [make(i) for i in range(n)]
    if n and r.random() < 0.2:
        xs = [xs[0] if r.random() < 0.5 else x for x in xs]
    x = r.choice([r.random(), np.array([1.0, 2.0]), np.float64(2.5)])
    return xs, [r.random() for _ in range(n)], x, r.random(), n


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_random_programs(seed):
    r = random.Random(seed)
    text, kind = program(r)
    space = {"np": np}
    exec(text, space)
    plain, compiled = space["f"], frameloom.compile(space["f"])
    n, state = r.choice([17, 20, 40, 100, 16, 3]), r.getrandbits(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in range(4):
            state = r.getrandbits(30) if call == 2 else state
            n = r.choice([n + 1, 17, 1, 0, 50]) if call == 3 else n
            args = arguments(random.Random(state), kind, n)
            one, other = copy.deepcopy(args), copy.deepcopy(args)
            want, got = result_of(plain, one), result_of(compiled, other)
            assert pattern(want, *one) == pattern(got, *other), text
