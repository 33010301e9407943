"""Loops captured once whose slices grow or shrink from one iteration to the next: factorisations, substitutions, windows."""

import random

import numpy as np
import pytest
from compare import assert_same, assert_same_call, outcome
from paths import FIRST
from processes import printed, with_own_path

import frameloom


def system(n, seed=0):
    values = np.random.default_rng(seed)
    a = values.standard_normal((n, n))
    return a @ a.T + n * np.eye(n), values.standard_normal(n)


def lu(a, b):
    a, n = a.copy(), a.shape[0]
    for k in range(n - 1):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a


def lu_by_rows(a, b):
    n = a.shape[0]
    for k in range(n - 1):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1:] -= a[i, k] * a[k, k + 1:]
    return a


def cholesky(a, b):
    n = a.shape[0]
    lower = np.zeros_like(a)
    for j in range(n):
        lower[j, j] = np.sqrt(a[j, j] - lower[j, :j] @ lower[j, :j])
        for i in range(j + 1, n):
            lower[i, j] = (a[i, j] - lower[i, :j] @ lower[j, :j]) / lower[j, j]
    return lower


def cholesky_by_columns(a, b):
    lower = np.zeros_like(a)
    for j in range(len(b)):
        lower[j, j] = np.sqrt(a[j, j] - np.sum(lower[j, :j] ** 2))
        lower[j + 1:, j] = (a[j + 1:, j] - lower[j + 1:, :j] @ lower[j, :j]) / lower[j, j]
    return lower


def forward(a, b):
    x = np.zeros(len(b))
    for i in range(len(b)):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def backward(a, b):
    x = np.zeros(len(b))
    for i in range(len(b) - 1, -1, -1):
        x[i] = (b[i] - np.dot(a[i, i + 1:], x[i + 1:])) / a[i, i]
    return x


def gauss_seidel(a, b):
    x = np.zeros_like(b)
    for _ in range(3):
        for i in range(len(b)):
            x[i] = (b[i] - np.dot(a[i, :i], x[:i]) - np.dot(a[i, i + 1:], x[i + 1:])) / a[i, i]
    return x


def gram_schmidt(a, b):
    n = a.shape[1]
    q, r = a.copy(), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.sum(q[:, k] ** 2))
        q[:, k] /= r[k, k]
        for j in range(k + 1, n):
            r[k, j] = q[:, k] @ q[:, j]
            q[:, j] -= r[k, j] * q[:, k]
    return q, r


def levinson(a, b):
    out = np.zeros_like(b)
    for i in range(1, len(b)):
        out[:i] += b[i] * out[:i][::-1] * 0.01 + b[:i]
    return out


def prefixes(a, b):
    out = np.zeros_like(b)
    for i in range(len(b)):
        out[i] = b[:i + 1].sum() + b[max(0, i - 3):i + 1].max()
    return out


def sorted_blocks(a, b):
    out = np.zeros_like(b)
    for i in range(len(b)):
        t = np.sort(a[i:, :i + 1] @ a[:i + 1, i:], axis=0)
        out[i] = (t @ t).sum()
    return out


def down(a, b):
    i = len(b) - 1
    while i > 0:
        b[:i] += 0.5 * b[i] * a[i, :i]
        i -= 1
    return b


FUNCTIONS = [lu, lu_by_rows, cholesky, cholesky_by_columns, forward, backward, gauss_seidel, gram_schmidt, levinson, prefixes,
             sorted_blocks, down]


def same_for(function, compiled, n, state="warn"):
    """Results, effects and warnings for a system of this size."""
    plain, own = system(n), system(n)
    with np.errstate(all=state):
        want = outcome(function, plain)
        assert_same_call(outcome(compiled, own), want, rtol=1e-9, atol=1e-9)
    assert_same(own, plain, rtol=1e-9, atol=1e-9)


def report(function, n):
    return frameloom.explain(function, *system(n))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_body_for_all(function):
    """The same operations for 40 and 60 iterations, each version right for its size."""
    small, large = report(function, 40), report(function, 60)
    assert small.op_count == large.op_count
    assert any(loop.fate == "rolled" for loop in small.loops), small.loops
    for n in (40, 61):
        same_for(function, frameloom.compile(function, dynamic=False), n)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_sizes_that_change(function):
    """Whatever becomes a symbol, and however few iterations there are."""
    compiled = frameloom.compile(function)
    for n in (24, 31, 50, 3, 1, 2, 20, 0, 18):
        same_for(function, compiled, n)


@pytest.mark.parametrize("function", [lu, cholesky, backward, sorted_blocks], ids=lambda f: f.__name__)
def test_valid_at_every_step(function, tmp_path):
    """A trace makes the compiler verify what each pass has made."""
    code = (f"import frameloom, test_rolled_parts as t\n"
            f"compiled = frameloom.compile(t.{function.__name__}, fullgraph=True)\n"
            f"t.same_for(t.{function.__name__}, compiled, 40)\n")
    printed(code, environment={"FRAMELOOM_CACHE": "0", "FRAMELOOM_TRACE": str(tmp_path), **with_own_path()})
    assert list(tmp_path.glob("*/03-plan.mlir"))


def test_warnings():
    def ratios(a, b):
        out = np.zeros_like(b)
        for i in range(len(b)):
            out[i] = (b[i:] / (b[i] - b[30])).sum()
        return out

    def empty(a, b):
        out = np.zeros_like(b)
        for i in range(len(b)):
            out[i] = b[i + 1:].mean()
        return out

    def nothing(a, b):
        out = np.zeros_like(b)
        for i in range(len(b)):
            out[i] = b[i + 1:].max()
        return out

    for function in (ratios, empty, nothing):
        for state in ("warn", "ignore", "raise"):
            same_for(function, frameloom.compile(function), 40, state)


def test_results_that_nobody_reads():
    """What is computed only for what it may report has another size in each iteration, and fits nowhere else."""

    def growing(a, b):
        out = np.zeros_like(b)
        for i in range(len(b) - 1):
            t = b[:i + 1] * 2
            b[:i + 1] / (b[30] - 1e300)
            out[i] = t[0] + a[i, i]
        return out

    for n in (40, 200):
        same_for(growing, frameloom.compile(growing), n)


def test_ends_by_themselves():
    """A decision that is another one at an end of the loop leaves the iterations there out of it."""

    def ends(a, b):
        out = np.zeros_like(b)
        n = len(b)
        for i in range(n):
            if i == 0:
                out[i] = b[0]
            elif i >= n - 2:
                out[i] = out[i - 1] * 2
            else:
                out[i] = b[i + 1] - b[i - 1] + out[i - 1]
        return out

    assert report(ends, 40).op_count == report(ends, 60).op_count
    for n in (40, 5, 3, 2, 1):
        same_for(ends, frameloom.compile(ends), n)


def test_what_keeps_its_size_leaves():
    """An array of one iteration's size that is read behind the loop is that of the last one."""

    def last(a, b):
        t = b
        for i in range(len(b)):
            t = b[i:] * 2.0
            b[i] += t.sum()
        return t, b

    same_for(last, frameloom.compile(last), 30)


PARTS = ["i:", ":i", "i+1:", ":i+1", ":n-i", "n-i:", "i:n-1", "i//2:i", "i::-1", ":i:2", "max(0, i-3):i+2", "-i:", ":-i", ":"]
RANGES = ["range(n)", "range(n-1)", "range(1, n)", "range(n-1, -1, -1)", "range(0, n, 2)", "range(2, n-1)"]
INNER = ["range(i)", "range(i+1, n)", "range(i, n)", "range(i-1, -1, -1)", "range(1, i+1)"]


def statements(choose, names, depth):
    lines = []
    for _ in range(choose.randint(1, 2)):
        v, w = choose.choice(names), choose.choice(names)
        p, q = (choose.choice(PARTS).replace("i", v) for _ in range(2))
        lines.append(choose.choice([
            f"x[{v}] = (b[{v}] - a[{v}, {p}] @ x[{p}]) / a[{v}, {v}]", f"x[{p}] -= 0.5 * a[{v}, {p}]",
            f"x[{p}] = a[{p}, {w}] * 0.25", f"out[{v}] = a[{p}, {q}].sum()", f"a[{p}, {v}] /= 2 + abs(a[{v}, {v}])",
            f"a[{p}, {q}] -= 0.01 * np.outer(x[{p}], b[{q}])", f"m[{p}, {w}] += x[{p}]", f"s = s + x[{p}].sum()",
            f"out[{p}] = np.cumsum(b[{p}])", f"x[{p}] = a[{p}, {q}] @ b[{q}]"]))
    if depth < 2 and choose.random() < 0.5:
        name, ranges = "jk"[depth], choose.choice(INNER).replace("i", names[-1])
        lines.append(f"for {name} in {ranges}:")
        lines += ["    " + line for line in statements(choose, [*names, name], depth + 1)]
    return lines


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 10))
def test_random_loops(seed):
    choose = random.Random(seed)
    body = "\n".join(" " * 8 + line for line in statements(choose, ["i"], 0))
    text = (f"def f(a, b):\n    n = len(b)\n    x, s, out, m = b.copy(), 0.0, np.zeros(n), np.zeros((n, n))\n"
            f"    for i in {choose.choice(RANGES)}:\n{body}\n    return x, np.array(s), out, m\n")
    space = {"np": np}
    exec(text, space)
    compiled = frameloom.compile(space["f"])
    for n in (20, 27, 3):
        same_for(space["f"], compiled, n, choose.choice(["warn", "ignore"]))
