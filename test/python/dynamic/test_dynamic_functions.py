"""Functions of the library and indexing with arrays where sizes change: two versions, the library's answers."""

import math
import random

import numpy as np
import pytest
from compare import assert_same, assert_same_call, check_calls, copied, outcome
from numpy.lib.stride_tricks import sliding_window_view

import frameloom

SIZES = [8, 12, 16, 25, 100, 7, 300]


def ramp(n, dtype="f8"):
    return (np.arange(n) * 7 % 11 + 0.5).astype(dtype)


def diagonal_then_written(a):
    b = a[:, None] * a
    d = np.diagonal(b)
    b[1, 1] = -5
    b[0] += 1
    return d * 2, d, b


def test_a_diagonal_is_a_view():
    check_calls(diagonal_then_written, *[(ramp(n),) for n in SIZES], versions=2, backend="interpret", scale=10)


def updated(b, key, item):
    b[key] = item
    return b


# Of one vector, whose size changes.
ONE = {
    "pad": lambda a: (np.pad(a, 1), np.pad(a, (2, 3)), np.pad(a, (0, 4), constant_values=7)),
    "pad modes": lambda a: (np.pad(a, 2, mode="edge"), np.pad(a, 2, mode="wrap"), np.pad(a, 1, mode="reflect")),
    "diagflat": lambda a: np.diagflat(a),
    "linspace": lambda a: np.linspace(0.0, 1.0, len(a)),
    "linspace more": lambda a: np.sin(np.linspace(0.0, 2 * np.pi, len(a) + 1))[1:] * a,
    "linspace open": lambda a: np.linspace(-1, 3, len(a), endpoint=False),
    "linspace step": lambda a: np.linspace(0, len(a), 50, retstep=True),
    "logspace": lambda a: (np.logspace(0, 1, len(a)), np.geomspace(1, 10, len(a))),
    "arange": lambda a: (np.arange(1.0, len(a)), np.arange(0.5, len(a) / 2, 0.25), np.arange(len(a), 0, -1.5)),
    "arange steps": lambda a: np.arange(0, 1, 1 / len(a)),
    "convolve": lambda a: (np.convolve(a, np.ones(3) / 3), np.convolve(a, np.ones(3), mode="valid")),
    "correlate": lambda a: (np.correlate(a, a, "full"), np.correlate(a, a[:4])),
    "kron": lambda a: np.kron(a, np.array([1.0, 2.0])),
    "isin": lambda a: (np.isin(a, [1, 2.5, 3]), np.isin(a, a[:2])),
    "windows": lambda a: (np.hanning(len(a)), np.hamming(len(a)) * a, np.blackman(len(a)), np.bartlett(len(a))),
    "kaiser": lambda a: np.kaiser(len(a), 5.0),
    "frequencies": lambda a: (np.fft.fftfreq(len(a)), np.fft.fftfreq(len(a), d=0.1), np.fft.rfftfreq(len(a), 0.5)),
    "spectrum": lambda a: np.abs(np.fft.rfft(a * np.hanning(len(a)))) ** 2,
    "filter": lambda a: np.fft.irfft(np.fft.rfft(a), n=len(a)),
    "shift": lambda a: np.fft.fftshift(a),
    "histogram": lambda a: np.histogram(a, bins=len(a)),
    "ediff1d": lambda a: np.ediff1d(a),
    "trapezoid": lambda a: np.trapezoid(a, np.linspace(0, 1, len(a))),
    "resize": lambda a: (np.resize(a, 12), np.resize(a[:3], len(a))),
    "triangle": lambda a: (a[:, None] * a)[np.triu_indices(len(a), 1)],
    "vector of indices": lambda a: a[np.arange(len(a))[::-1]] + a[np.argsort(a)],
    "two vectors": lambda a: (a[:, None] * a)[np.arange(len(a)), np.arange(len(a))],
    "lists": lambda a: ((a[:, None] * a)[[0, 1], [1, 0]], a[[0, 2, -1]]),
    "ix_": lambda a: (a[:, None] * a)[np.ix_([0, 2], [1, 2])],
    "rows": lambda a: (a[:, None] + a)[np.array([2, 0, 1])] + a,
    "columns": lambda a: (a[:, None] + a)[:, np.array([2, 0, 1])],
    "one hot": lambda a: np.eye(4)[a.astype(int) % 4],
    "last and list": lambda a: (a[:, None] + a)[len(a) - 1, [0, 1, 2]],
    "argmax": lambda a: (a[np.argmax(a)], np.argmax(a) + len(a)),
    "assigned": lambda a: updated(a[:, None] * a, (np.arange(len(a)), np.arange(len(a))), 0.0),
    "assigned rows": lambda a: updated(a[:, None] * a, [0, 2], a),
    "shape": lambda a: (np.prod(a.shape), a.sum() / np.prod(a.shape), np.zeros(np.prod(a[:, None].shape)),
                        int(np.prod(a.shape)) + 1, math.prod(a.shape), np.zeros(math.prod((len(a), 2)))),
    "list of sizes": lambda a: (a[[0, len(a) - 1]], np.array([0.0, len(a)]), np.array([len(a), 3]) * 2),
    "diagonal": lambda a: (np.trace(a[:, None] * a), np.diagonal(a[:, None] * a), np.diag(a[:, None] + a, 1)),
    "diagonals": lambda a: np.diagonal((a[:, None] + a)[None] * np.ones((3, 1, 1)), -1, 1, 2).sum(axis=1),
    "split": lambda a: [*np.array_split(a, 3), *np.array_split(a[:, None] * a, 2, axis=1)],
    "split evenly": lambda a: [*np.split(a[: len(a) // 2 * 2], 2), *np.hsplit(a[: len(a) // 3 * 3], 3)],
    "sliding": lambda a: (sliding_window_view(a, 3).mean(axis=-1), sliding_window_view(a, 2)),
    "tridiagonal": lambda a: np.diag(2 * a) - np.diag(np.ones(len(a) - 1), 1) - np.diag(np.ones(len(a) - 1), -1),
    "permuted": lambda a: updated(np.zeros_like(a), np.argsort(a), a),
}


@pytest.mark.parametrize("backend", ["interpret", "loom"])
@pytest.mark.parametrize("name", ONE)
def test_one_version_for_all_sizes(name, backend):
    check_calls(ONE[name], *[(ramp(n),) for n in SIZES], versions=2, raises=True, backend=backend, scale=10)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.filterwarnings("ignore")
def test_the_smallest_sizes(name):
    with np.errstate(all="ignore"):
        calls = [(ramp(n, "f4"),) for n in (9, 20, 0, 1, 2, 3, 4, 5, 33, 1, 2, 3)]
        check_calls(ONE[name], *calls, versions=12, raises=True, backend="interpret", scale=10)


# ---- random programs ---------------------------------------------------------------------------

# v: a vector, m: a matrix, i: indices of rows, j: as many of columns, n: a small size.
VECTORS = ["v", "m[{n} % 2]", "m[:, 1]", "m.sum(axis=0)", "np.pad({v}, {n} % 3)", "np.linspace(0.0, 2.0, len({v}))",
           "{v}[::-1]", "{v}[1:]", "{v}[:{n}]", "{v}[{i}]", "m[{i}, {j}]", "m[{i}, 0]", "m[-1, {j}]",
           "np.arange(0.5, len({v}))", "np.convolve({v}, np.ones(3), 'same')", "np.hanning(len({v}))",
           "np.diagonal(m)", "np.diag(m)", "np.repeat({v}, 2)", "np.roll({v}, 1)", "np.concatenate([{v}, {v}])",
           "np.kron({v}, np.array([1.0, -1.0]))", "np.cumsum({v})", "np.append({v}, {n})", "np.correlate({v}, {v}, 'full')",
           "np.isin({v}, [0.5, 1.5])", "np.interp({v}, np.sort({v}), {v})", "np.zeros(int(len({v}) * 0.5))",
           "np.array_split({v}, 3)[0]", "{v}[[0, -1]]", "np.fft.fftfreq(len({v}))", "np.abs(np.fft.rfft({v}))",
           "{v}[np.argsort({v})]", "np.resize({v}, len({v}) + 2)", "{m}.ravel()", "np.take({v}, {i})",
           "np.full(len({v}), np.prod({m}.shape))", "np.ediff1d({v})", "np.linspace(0, len({v}), {n} + 3)"]
MATRICES = ["m", "m.T", "m[::2]", "m[:, ::-1]", "m[{i}]", "m[:, {j}]", "m[{i}][:, {j}]", "np.outer({v}, {v})",
            "np.pad(m, 1)", "m[{i}, None]", "np.diagflat({v})", "np.tril(m)", "m[np.ix_({i}, {j})]", "m[1:, {j}]",
            "np.stack([{v}, {v}])", "np.kron(m, np.ones((1, 2)))", "m[..., {j}]", "m[{i} * 0, ::-1]"]
INDICES = ["i", "i[::-1]", "np.array([0, 1])", "np.argsort(i)", "-i - 1", "i[:2]", "[0, 1]", "i[:, None]"]
USES = ["out.append({v})", "out.append({m})", "out.append({v}.sum())", "v = {v}", "out.append(len({v}) * {n})",
        "m[{i}, {j}] = {n}", "m[{i}] = 2.0", "v[{i} % len(v)] = 1.5", "out.append({m}.shape)",
        "out.append({v}.mean() if len({v}) > 3 else 0)"]


def fill(rng, text, depth=0):
    rows = {"v": VECTORS, "m": MATRICES, "i": INDICES, "n": ["len(v)", "2", "m.shape[1]", "n", "i.size"]}
    while "{" in text:
        kind = text[text.index("{") + 1]
        if kind == "j":
            new = "j"
        elif depth > 2:
            new = kind
        else:
            new = fill(rng, rng.choice(rows[kind]), depth + 1)
        text = text.replace("{" + kind + "}", new, 1)
    return text


def program(seed):
    rng = random.Random(seed)
    lines = ["def f(v, m, i, j, n):", "    out = []"]
    lines += ["    " + fill(rng, rng.choice(USES)) for _ in range(rng.randint(1, 4))]
    space = {"np": np}
    exec("\n".join([*lines, "    return out, v, m"]), space)
    return space["f"], rng


def matrix(rng, rows, columns):
    whole = ramp(rows * columns).reshape(rows, columns)
    order = rng.choice(["C", "C", "F", "cut"])
    return np.asfortranarray(whole) if order == "F" else np.repeat(whole, 2, axis=1)[:, ::2] if order == "cut" else whole


def random_program(seed, backend="interpret"):
    function, rng = program(seed)
    compiled = frameloom.compile(function, backend=backend, dynamic=rng.choice([None, None, True]))
    orders = rng.random()
    for _ in range(6):
        rows, columns, count = (rng.choice([1, 2, 3, 4, 5, 8, 13, 40]) for _ in range(3))
        same = random.Random(orders)
        args = (ramp(rng.choice([rows, columns, 0, 1, 2, 9, 33])), matrix(same, rows, columns),
                np.arange(count) * 5 % rows, np.arange(count) * 3 % columns, rng.choice([1, 2, 5]))
        with np.errstate(all="ignore"):
            plain, own = copied(args), copied(args)
            want = outcome(function, plain)
            assert_same_call(outcome(compiled, own), want, scale=100)
            assert_same(own, plain)


@pytest.mark.parametrize("block", range(8))
@pytest.mark.filterwarnings("ignore")
def test_random_programs(block):
    for seed in range(block * 8, block * 8 + 8):
        random_program(seed)
