"""Views whose place depends on array data (`a[:, k]` where k is computed): read, written, kept, returned, in loops and beside
writes to the array that they are views of; and Python ints that are data."""

import os
import random

import numpy as np
import pytest
from compare import assert_same, outcome

import frameloom

STATEMENTS = [
    "v = a[{k}]",
    "v = a[:, {k}]",
    "v = a[{k}, 1:]",
    "v = a[1:4][{k}]",
    "v = a.T[{k}]",
    "v = a[::-1, {k}]",
    "w = b[{k}]",
    "w = b[:, {k}]",
    "w = b[..., {k}]",
    "w = b[{k}, :, {k}]; s = s + w.sum()",
    "w = b[{k}].T",
    "v = w[{k}]",
    "v = w[0]",
    "s = s + v.sum()",
    "s = s + (v * 2).max()",
    "s = s + np.dot(v, v)",
    "s = s + w.sum(axis=0)[0]",
    "x = x + v[:3].sum()",
    "y = v + 1",
    "y = w * 2",
    "y = np.sort(v)",
    "v += 1",
    "v *= 0.5",
    "v[1:] += s * 0.01",
    "v[0] = 7",
    "w += 1",
    "a[{k}] += 1",
    "a[:, {k}] -= 0.25",
    "a[{k}] = v[0]",
    "a[{k}] /= 2 + abs(a[{k}, 0])",
    "b[{k}] *= 0.5",
    "b[{k}, {k}] += x[{k}]",
    "a[0] = 3.0",
    "a *= 0.9",
    "b[:, 1] = a[0, 0]",
    "a[{k}] = a[{k}]",
    "a[{k}], a[0] = a[0].copy(), a[{k}].copy()",
    "c = a.copy(); c[{k}] += 2; s = s + c.sum()",
    "c = a.copy(); v = c[{k}]; c[{k}] += 2; s = s + v.sum()",
    "c = a.copy(); v = c[{k}]; v += 2; s = s + c.sum()",
    "out(1)",
    "out(v)",
    "kept = v",
    "kept = [v, w]",
    "i = int(o[{n}])",
    "i = int(a[1].argmax())",
    "i = i // 2",
    "i = i + 1 if i is None else i - 1",
    "i = -i",
    "i = i % 3",
    "i = 2 * i - 1",
    "s = s + x[i]",
    "s = s + i",
    "s = s + x[i + 1]",
    "x[i] += 1",
    "v = a[i]",
    "a[i] += 1",
    "for t in range({r}):\n    v = a[o[t]]\n    s = s + v.sum()",
    "for t in range({r}):\n    x = x * 0.9 + a[:, o[t]][0]",
    "for t in range({r}):\n    a[o[t]] += 0.1 * t",
    "for t in range({r}):\n    s = s * 0.5 + v.sum()\n    v = a[:, o[t]]",
    "for t in range({r}):\n    v = a[o[t]]\n    v += 0.1\n    s = s + a[0, 0]",
    "for t in range({r}):\n    k = int(o[t])\n    x[k] = x[k - 1] * 0.5 + t",
    "for t in range({r}):\n    j = x[:4].argmax()\n    a[j] -= 0.1\n    x[j] -= a[j].max()",
    "for t in range({r}):\n    c = a[o[t]].copy()\n    a[o[t - 1]] = c * 0.5",
    "if x[{n}] > 0:\n    v = a[{k}]",
    "if x[{n}] > 0:\n    v = a[{k}]\nelse:\n    v = a[{k}]",
    "def g(k): return a[k]\nif x[{n}] > 0:\n    v = g({k})\n    a[0] *= 0.5\nelse:\n    v = g({k})\n    a[0] *= 2",
    "if x[{n}] > 0:\n    a[{k}] += 1",
    "if x[{n}] > 0:\n    v += 1",
    "for t in range({r}):\n    if a[o[t], 0] > 0:\n        a[o[t]] *= 0.9",
    "for t in range({r}):\n    v = a[o[t]]\n    if v[0] > s * 0.1:\n        s = s + v[1]",
    "for k in o[:{r}]:\n    s = s + a[k].sum() * 0.1",
    "for k in o[:{r}]:\n    n = n + int(k)",
    "for t in range({r}):\n    n = n * 3 % 17 + int(o[t])",
    "s = s + n",
    "def f(k): return a[k] * 2\ny = f({k})",
    "def f(k):\n    u = a[k]\n    a[0] = 1.0\n    return u.sum()\ns = s + f({k})",
    "if v.flags.c_contiguous: s = s + 1",
    "s = s + v.strides[0]",
    "s = s + np.shares_memory(v, a)",
    "y = v.base is a",
    "y = v.reshape(-1)",
    "y = np.ascontiguousarray(v)",
    "y = [a[k].sum() for k in o[:3]]",
    "y = [a[k] for k in o[:2]]",
    "y = np.stack([a[k] for k in o[:4]])",
    "y = a[o[0]] is a[o[0]]",
]

KEYS = ["o[{n}]", "o[{n}]", "np.argmax(x[:4])", "a[0, :4].argmin()", "int(o[{n}])", "o[{n}] - 1", "i"]


def program(rng, limits):
    """A function of (a, b, x, o, out) with random statements, and its text."""
    lines = ["    s = 0.0; i = 1; n = 0; y = kept = None; v = a[0]; w = b[0]"]
    for _ in range(rng.randrange(2, 7)):
        statement = rng.choice(STATEMENTS)
        while "{k}" in statement:
            statement = statement.replace("{k}", rng.choice(KEYS), 1)
        while "{n}" in statement:
            statement = statement.replace("{n}", str(rng.randrange(-3, 5)), 1)
        statement = statement.replace("{r}", str(rng.choice(limits)))
        lines += ["    " + line for line in statement.split("\n")]
    result = rng.choice(["s, x, n", "s, y, i", "v, s", "y, kept, n", "w, s, x", "s, a, kept", "i, n, s"])
    text = "def f(a, b, x, o, out):\n" + "\n".join(lines) + f"\n    return {result}\n"
    names = {"np": np}
    exec(compile(text, "<placed>", "exec"), names)
    return names["f"], text


def arguments(seed, order):
    data = np.random.default_rng(seed)
    a = np.asarray(data.normal(size=(5, 5)), order=order)
    b = np.asarray(data.normal(size=(4, 5, 5)), order=order)
    low, high = (-4, 4) if seed % 5 else (-7, 7)
    return [a, b, data.normal(size=8), data.integers(low, high, 40)]


def describe(value, args):
    if isinstance(value, np.ndarray):
        return ("array", value.strides, value.flags.writeable, [np.shares_memory(value, a) for a in args], value.base is None)
    if isinstance(value, (list, tuple)):
        return [describe(item, args) for item in value]
    return type(value)


def played(function, seed, order):
    args, printed = arguments(seed, order), []
    result = outcome(function, [*args, lambda value: printed.append(np.array(value))])
    return result, args, printed, describe(result, args)


def program_alike(seed, limits=(1, 3, 20, 33)):
    rng = random.Random(seed)
    plain, text = program(rng, limits)
    compiled = frameloom.compile(plain)
    order = rng.choice("CCF")
    for call in range(3):
        with frameloom.config.patch(capture_data_dependent=seed % 3 == 0):
            got, want = (played(f, seed * 3 + call, order) for f in (compiled, plain))
        try:
            assert got[3] == want[3]
            for mine, his in zip(got[:3], want[:3]):
                assert_same(mine, his, ulps=64, scale=100.0)
        except (AssertionError, TypeError, ValueError) as error:
            raise AssertionError(f"seed {seed}, call {call}\n{text}\n{error}") from error


@pytest.mark.parametrize("first", range(0, int(os.environ.get("FRAMELOOM_PROGRAMS", "60")), 20))
def test_random_programs(first):
    for seed in range(first, first + 20):
        program_alike(seed)


if __name__ == "__main__":
    import sys

    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            program_alike(number)
        except AssertionError as error:
            print(error)
    print("done")
