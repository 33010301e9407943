"""Slices written into large arrays are written in place: right whatever else reads the old and the new values."""

import os
import random

import numpy as np
import pytest

import frameloom
from compare import assert_same

PROGRAMS = int(os.environ.get("FRAMELOOM_PROGRAMS", "60"))
N = 72


def index(rng, name):
    """One of several kinds of regions of `name`, all small."""
    i, j = rng.randrange(N), rng.randrange(N)
    low = rng.randrange(N - 20)
    return name + rng.choice([f"[{i}]", f"[{i}, {low}:{low + 9}]", f"[:, {j}]", f"[{i}, {j}]", f"[{low}:{low + 5}, {j}:]",
                              f"[{low}:{low + 3}]", f"[{low}:{low + 18}:3, ::2]", f"[{low + 6}:{low}:-1, {j}]", f"[-1, {low}:{low + 9}]"])


def value(rng, names):
    a, b = rng.choice(names), rng.choice(names)
    return rng.choice([f"{a}.sum()", f"{a}[{rng.randrange(N)}].mean()", f"{a}[0, 0] * 2", f"{a}[1, 1] + {b}[2, 2]", "1.5",
                       f"np.float64({rng.randrange(9)})", f"{b}.max() * 0.25"])


def statement(rng, names, depth=0):
    """A statement over arrays of N x N; it may add a name."""
    a, b = rng.choice(names), rng.choice(names)
    kind = rng.randrange(9)
    if kind <= 2:
        return [f"{index(rng, a)} = {value(rng, names)}"]
    if kind == 3:
        i, k = rng.randrange(N), rng.randrange(N)
        return [f"{a}[{i}] = {b}[{k}] * 0.5 + {value(rng, names)}"]
    if kind == 4:
        return [f"{index(rng, a)} *= 0.75"]
    if kind == 5:
        low = rng.randrange(1, N - 12)
        return [f"{a}[{low}:{low + 9}] = {rng.choice([a, b])}[{low + rng.choice([-1, 1, 2])}:][:9]"]
    if kind == 6 and len(names) < 6:
        names.append(f"v{len(names)}")
        return [f"{names[-1]} = " + rng.choice([f"{a} + 1", f"{a}.copy()", f"{a} * {b}", f"{a}.T", f"{a}[::-1]", f"{a} + {b}.sum()"])]
    if kind == 7 and depth == 0:
        body = statement(rng, list(names), 1) + [f"{a}[i] = {a}[i - 1] * 0.5 + {b}[i, 3]"]
        return [f"for i in range(1, {rng.choice([4, 30])}):"] + ["    " + line for line in body]
    return [f"{a}[{rng.randrange(N)}] += {b}.sum(axis=0) * 0.01"]


def program(seed):
    rng = random.Random(seed)
    names = ["x", "y"]
    lines = ["def f(x, y):"]
    if rng.random() < 0.7:
        lines += ["    x = x * 1.25"]
    for _ in range(rng.randrange(2, 9)):
        lines += ["    " + line for line in statement(rng, names)]
    results = rng.sample(names, rng.randrange(1, len(names) + 1))
    lines += [f"    return {', '.join(results)}" + (f", {rng.choice(names)}[3].sum()" if rng.random() < 0.5 else "")]
    scope = {"np": np}
    source = "\n".join(lines)
    exec(source, scope)
    return scope["f"], source


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs(seed):
    function, source = program(seed)
    compiled = frameloom.compile(function)
    dtype = [np.float64, np.float32][seed % 2]
    rng = np.random.default_rng(seed)
    for _ in range(2):
        arrays = [(rng.random((N, N)) * 0.5).astype(dtype) for _ in range(2)]
        plain, ours = [a.copy() for a in arrays], [a.copy() for a in arrays]
        with np.errstate(all="ignore"):
            want, got = function(*plain), compiled(*ours)
        want, got = (r if isinstance(r, tuple) else (r,) for r in (want, got))
        tolerance = 1e-10 if dtype == np.float64 else 2e-4
        for w, g in zip([*want, *plain], [*got, *ours], strict=True):
            assert np.shape(w) == np.shape(g) and w.dtype == g.dtype, source
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance, err_msg=source)


def rows(a):
    a = a * 2
    for i in range(1, 60):
        a[i] = a[i - 1] * 0.5 + a[i]
    return a


def old_and_new(a):
    a = a * 2
    old = a + 0
    first = a[3]
    total = a.sum()
    a[3] = 7
    return old, first, total, a, old[3] - a[3]


@pytest.mark.parametrize("function", [rows, old_and_new])
@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.bool_, np.complex64])
def test_of_each_kind_of_element(function, dtype):
    if dtype == np.bool_ and function is old_and_new:
        pytest.skip("NumPy does not subtract bools")
    a = np.random.default_rng(1).integers(0, 2, (200, 100)).astype(dtype)
    assert_same(function(a), frameloom.compile(function)(a))


def touched(a, k):
    a = a * 1.0
    a[k, 1:-1] = a[k + 1, 1:-1]
    return a


def test_symbolic_sizes():
    compiled = frameloom.compile(touched, dynamic=True)
    for n in (60, 90, 200):
        a = np.random.default_rng(n).random((n, n + 3))
        assert_same(touched(a, 5), compiled(a, 5))


def test_an_argument_is_written_too():
    def step(a, k):
        for i in range(1, 40):
            a[i] = a[i] * 0.5 + a[i - 1]
        a[0] = k

    a = np.random.default_rng(0).random((64, 64))
    b = a.copy()
    step(a, 3.0)
    frameloom.compile(step)(b, 3.0)
    assert_same(a, b)
