"""Random programs over one element of a batch, for vmap: `python batch_programs.py COUNT [SEED]` tries so many and prints those that
differ from the program called for each element, and how many cannot be vectorised, by their reasons.

They are the programs of gradient_programs.py with further steps: branches and loops on data, indices that differ between elements, writes,
integers, calls of the library."""

import collections
import random
import sys
import traceback

import numpy as np
from gradient_programs import program

STEPS = [
    "if s > 0.2:\n        w = w + x.sum()\n    else:\n        w = w * 0.5",
    "if w.sum() > s:\n        w = np.tanh(w)\n        s = s - 1.0",
    "while s > 0.5:\n        s = s * 0.6\n        w = w + s",
    "n = 0\n    while w.max() > 2.0 and n < 20:\n        w = w * 0.7\n        n += 1",
    "for i in range(5):\n        w = w * 0.9 + np.cos(s + i)",
    "for i in range(w.shape[0]):\n        w[i] = w[i] * s + i",
    "k = int(np.argmax(x))\n    w = w + x.ravel()[k]",
    "w = w + x.ravel()[np.argsort(x.ravel())][::-1].reshape(x.shape).sum()",
    "w = w[np.argsort(w[:, 0])]",
    "w = w[:, np.argmin(w.sum(axis=0)) * np.ones(2, int)]",
    "w = np.take_along_axis(w, np.argsort(w, axis=0), axis=0)",
    "z = np.zeros(7)\n    z[(np.abs(w.ravel()) * 3).astype(int) % 7] = 1.5\n    w = w + z.sum()",
    "z = np.zeros(5)\n    np.add.at(z, (np.abs(w.ravel()) * 3).astype(int) % 5, w.ravel())\n    w = w + z[2] - z[0]",
    "w = np.where(w > 0.7 * w.mean() + 0.01, w, s)",
    "w = np.pad(w, 1, constant_values=s)",
    "w = np.clip(w, -np.abs(s), np.abs(s))",
    "w = np.concatenate([w, x[:1, :1] * np.ones((2, w.shape[1]))])",
    "w = (w * 4).astype(np.int64) % 5 - 2.0",
    "w = w @ w.T",
    "w = np.einsum('ij,kj->ik', w, w * s)",
    "w = np.linalg.solve(w @ w.T + 3 * np.eye(w.shape[0]), w)",
    "w = np.linalg.eigvalsh(w @ w.T)[:, None]",
    "w = np.linalg.svd(w, full_matrices=False)[1][None]",
    "w = np.fft.rfft(w, axis=1).real",
    "w = np.median(w, axis=0, keepdims=True)",
    "w = np.cumsum(w, axis=1) + np.maximum.accumulate(w, axis=0)",
    "w = np.stack([w, w * s]).mean(axis=0)",
    "w = np.broadcast_to(w.sum(axis=0), (3, w.shape[1])).copy()",
    "w[w > 1.0] = s",
    "w = w + np.array([s, 2.0, float(w.sum())]).sum()",
    "w = np.repeat(w, 2, axis=0)[1:]",
    "w = w.reshape(1, -1)",
    "w = np.interp(w, [-1.0, 0.0, 1.0], [s, 0.0, 1.0])",
    "w = np.histogram(w, bins=3, range=(-1, 1))[0][:, None] + s",
    "w = np.searchsorted(np.sort(np.round(w.ravel(), 6)), np.round(w, 6)) * 1.0",
    "w = np.sort(w, axis=None)[:1] * np.ones((1, 2))",
]
RESULTS = ["w", "w.sum()", "(w, s)", "{'a': w, 'b': [x[0], 3]}", "float(w.sum())", "w > s", "(w.argmax(), np.float32(s))", "np.round(w, 3) + 0j", "w.T"]
# Reasons for which a program may be refused.
REFUSED = ("may raise, in a branch or loop", "a loop of unknown length", "a Python decision depends on array data")


def batch_program(seed):
    """(source of f(x, s), xs, ss)"""
    r = random.Random(f"batch {seed}")
    source, x, _ = program(seed)
    lines = source.rstrip().split("\n")[1:-1]
    last = [line.split()[0] for line in lines if line.startswith("    v") and " = " in line and "[" not in line.split()[0]]
    lines.append(f"    w = {last[-1] if last else 'x'} + 0.0")
    lines += ["    " + step for step in r.sample(STEPS, r.randint(1, 3))]
    lines.append(f"    return {r.choice(RESULTS)}")
    generator = np.random.default_rng(seed)
    count = r.choice([1, 2, 3, 5])
    return "def f(x, s):\n" + "\n".join(lines) + "\n", generator.normal(size=(count, *x.shape)), generator.normal(size=count)


def leaves_of(value):
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves_of(item)]
    return [leaf for item in value for leaf in leaves_of(item)] if isinstance(value, (tuple, list)) else [value]


def batch_difference(seed, refused=None):
    """What differs, as text; None: nothing."""
    import frameloom

    source, xs, ss = batch_program(seed)
    space = {"np": np}
    exec(source, space)
    f, axes = space["f"], random.Random(seed).choice([(0, 0), (0, 0), (0, None), (None, 0)])
    rows = [(x if axes[0] == 0 else xs[0], s if axes[1] == 0 else ss[0]) for x, s in zip(xs, ss)]
    with np.errstate(all="ignore"):
        try:
            want = [leaves_of(f(x.copy(), s)) for x, s in rows]
        except Exception:  # no program
            return None
        try:
            got = leaves_of(frameloom.vmap(f, in_axes=axes)(xs if axes[0] == 0 else xs[0], ss if axes[1] == 0 else ss[0]))
        except frameloom.GraphBreak as told:
            text = str(told).split("\n")[0]
            if refused is not None:
                refused[text] += 1
            return None if any(word in text for word in REFUSED) else f"{source}{told}"
        except Exception:
            return f"{source}{traceback.format_exc()}"
    for i, y in enumerate(got):
        stacked = np.stack([np.asarray(row[i]) for row in want])
        if y.shape != stacked.shape or y.dtype != stacked.dtype:
            return f"{source}result {i}: {y.dtype}{y.shape} instead of {stacked.dtype}{stacked.shape}, in_axes={axes}"
        if not np.allclose(y, stacked, rtol=1e-7, atol=1e-9, equal_nan=True):
            return f"{source}result {i}: {y} instead of {stacked}, in_axes={axes}"
    return None


if __name__ == "__main__":
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    why, found = collections.Counter(), 0
    for number in range(first, first + count):
        text = batch_difference(number, why)
        found += text is not None
        if text and found <= 8:
            print(f"-- {number}\n{text}")
    print(why, f"{found} of {count} differ", sep="\n")
    sys.exit(found > 0)
