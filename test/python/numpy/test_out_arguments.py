"""`out=` of every function and method that has one: arrays of every dtype, of the result's sizes and others, in several layouts."""


import numpy as np
import pytest
from compare import told

import frameloom

# Of a and b, two square matrices, h, another of int16, i, indices into them, and c, a condition; `o` is the array that is given as out=.
CALLS = """
np.add(a, b, out=o)
np.add(a, 2, o)
np.less(a, b, out=o)
np.sqrt(a, out=o)
np.left_shift(i, i, out=o)
np.logical_not(a, out=o)
np.isnan(a, out=o)
np.maximum.reduce(a, out=o)
np.add.reduce(a, axis=1, out=o)
np.add.accumulate(a, out=o)
np.multiply.outer(a[0], b[0], out=o)
np.matmul(a, b, out=o)
np.dot(a, b, out=o)
np.dot(a[0], b[0], out=o)
np.dot(a, b[0], o)
a.dot(b, o)
np.outer(a[0], b[0], out=o)
np.einsum('ij,jk->ik', a, b, out=o)
np.sum(a, out=o)
np.sum(a, axis=0, out=o)
np.sum(i, axis=0, out=o)
np.sum(a, axis=0, keepdims=True, out=o)
np.sum(a, 0, None, o)
np.prod(i, axis=1, out=o)
np.max(a, axis=0, out=o)
np.min(i, axis=0, out=o)
np.all(a, axis=0, out=o)
np.any(c, axis=0, out=o)
np.mean(a, axis=0, out=o)
np.mean(i, axis=0, out=o)
np.mean(a, out=o)
np.var(a, axis=0, out=o)
np.std(i, axis=0, out=o)
np.ptp(a, axis=0, out=o)
np.ptp(i, out=o)
np.argmax(a, axis=0, out=o)
np.argmin(i, out=o)
np.cumsum(a, axis=0, out=o)
np.cumsum(i, axis=0, out=o)
np.cumsum(a, out=o)
np.cumprod(i, axis=1, out=o)
np.nansum(a, axis=0, out=o)
np.nanmax(a, axis=0, out=o)
np.median(a, axis=0, out=o)
np.percentile(a, 30, axis=0, out=o)
np.quantile(a, 0.3, axis=0, out=o)
np.trace(a, out=o)
np.trace(i, dtype=np.int8, out=o)
np.round(a, 1, out=o)
np.round(i, -1, out=o)
np.clip(a, 0, 1, out=o)
np.clip(i, a_min=0, a_max=2, out=o)
np.take(a, i, axis=0, out=o)
np.take(a, i[0], axis=0, out=o, mode='clip')
np.take(a, [0, 1, 2], out=o, mode='wrap')
np.choose(i % 2, (a, b), out=o)
np.compress([True, False, True], a, axis=0, out=o)
np.concatenate((a, b), out=o)
np.concatenate((a[:1], i[1:]), out=o)
np.stack((a[0], b[0], a[1]), out=o)
np.fix(a, out=o)
np.nan_to_num(a).round(1, out=o)
np.frexp(a, out=(o, None))[0]
np.divmod(i, 2, out=(None, o))
a.sum(axis=0, out=o)
h.sum(axis=0, out=o)
h.max(axis=0, out=o)
np.add.accumulate(h, out=o)
h.mean(axis=0, out=o)
c.sum(out=o)
np.prod(c, axis=0, out=o)
a.mean(0, None, o)
a.std(axis=1, out=o)
a.argmax(axis=1, out=o)
a.cumsum(axis=1, out=o)
a.clip(0, out=o)
a.round(out=o)
a.take(i[0], axis=1, out=o)
a.max(axis=1, out=o)
a.all(axis=0, out=o)
a.trace(0, 0, 1, None, o)
(i % 2).choose((a, b), out=o)
c.compress(a, axis=1, out=o)
""".strip().splitlines()

OUTS = [(t, "(3, 3)") for t in ("?", "i1", "i8", "u8", "f2", "f4", "f8", "c8")]
OUTS += [(t, "(3,)") for t in ("?", "i1", "i8", "u4", "f4", "f8", "c16")]
OUTS += [("f8", shape) for shape in ("()", "(1,)", "(1, 3)", "(2,)", "(3, 1)", "(1, 3, 3)", "(6, 3)", "(0,)", "(9,)")]
OUTS += [("i8", shape) for shape in ("()", "(1, 3)")]


def programs(call):
    """Texts of the arrays that a call gets as out=."""
    made = []
    for dtype, shape in OUTS:
        if call == "np.cumsum(a, out=o)" and shape == "()":
            continue  # NumPy itself crashes
        array = f"np.full({shape}, 7, '{dtype}')"
        made.append(array)
        if dtype in ("f8", "i8") and shape == "(3, 3)":
            made.append(f"{array}.T")
        if dtype == "f8" and shape in ("(3,)", "(3, 3)"):
            made.append(f"{array}[::-1]")
    return made + ["'x'", "3.0", "np.float64(1)", "[]", "{}", "(np.zeros(3),)", "...", "np.broadcast_to(7.0, (3,))", "np.broadcast_to(7.0, (3, 3))",
                   "np.matrix([[1.0]])"]


def arguments(out):
    a = np.array([[1.5, -2.25, 3.0], [0.0, 0.75, -0.5], [2.0, 4.0, 1.25]])
    b = np.array([[0.5, 2.0, -1.0], [1.0, 1.0, 3.5], [-2.0, 0.25, 8.0]])
    i = np.array([[0, 2, 1], [1, 1, 0], [2, 0, 2]])
    c = np.array([True, False, True])
    h = np.array([[300, -20, 7], [32767, 1, 2], [5, 32000, -3]], np.int16)
    return a, b, h, i, c, eval(out, {"np": np})


def told_with_out(function, out):
    """What a call does, and whether it gives the array that it is given for the result."""
    given, results = arguments(out), []
    call = told(lambda *all: results.append(function(*all)) or results[0], *given)
    return call, results and results[0] is given[-1]


@pytest.mark.parametrize("call", CALLS)
def test_out(call):
    scope = {"np": np}
    exec(f"def program(a, b, h, i, c, o):\n    return {call}", scope)
    differ = []
    for out in programs(call):
        frameloom.reset()
        compiled = frameloom.compile(scope["program"], backend="interpret")
        want, got = told_with_out(scope["program"], out), told_with_out(compiled, out)
        if want != got:
            differ.append(f"{out}: {got} instead of {want}")
    assert not differ, "\n".join(differ)
