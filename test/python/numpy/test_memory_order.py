"""Strides of every kind, zero, negative and of axes of one element or none among them: orders of elements, and layouts of results."""

import random

import numpy as np
import pytest
from seen import compared

import frameloom

CALLS = [
    "np.ravel(a, 'K')", "a.ravel('A')", "a.ravel('F')", "a.flatten('K')", "a.flatten('F')", "a.copy('K')", "np.copy(a, 'A')", "np.array(a, order='K')",
    "np.array(a, order='A', ndmin=3)", "np.array(a, 'f4', order='A')", "a.astype('f4')", "a.astype('f8', order='A')", "np.zeros_like(a)", "np.ones_like(a, order='A', dtype='i2')", "a + a",
    "a * 2.5", "np.add(a, a.T if a.T.shape == a.shape else a)", "np.sort(a, axis=0) if a.size else a", "a.reshape(-1, order='A')", "a.reshape(a.size)",
    "a.T.ravel('K')", "np.ascontiguousarray(a)", "np.asfortranarray(a)", "a.nonzero()", "-a[..., ::-1]", "a.sum(axis=0)", "np.cumsum(a)", "a.take([0], 0) if a.size else a",
    "np.where(a > 3, a, -a)", "np.stack([a, a])", "np.concatenate([a, a])", "a.swapaxes(0, -1).copy('K')", "np.full_like(a, 2, order='K')", "np.clip(a, 1, 9)",
    "a.tolist()", "np.require(a, requirements='C')", "np.broadcast_to(a, (2, *a.shape)).ravel('K')", "np.roll(a, 1)", "a.byteswap()", "np.modf(a)", "a.conj()",
]  # fmt: skip
# Ufuncs of one result and of two, of one operand and of two, whose layouts differ and whose types do.
OPERANDS = ["negative(a", "modf(a", "add(a, a", "divmod(a, 3", "add(a, a[..., :1]", "divmod(a[:1], a", "add(a, a.astype('f4')", "frexp(a.astype('f4', order='C')"]
CALLS += [f"np.{call}, order='{order}')" for call in OPERANDS for order in "CFAK"]
COUNT = 25  # arrays for each


def arrays(seed):
    chance = random.Random(seed)
    for _ in range(COUNT):
        rank = chance.randint(1, 4)
        shape = [chance.choice([0, 1, 2, 3, 3]) for _ in range(rank)]
        strides = [8 * chance.choice([0, 0, 1, 2, 3, 6, 12, -1, -2, 5, 24]) for _ in range(rank)]
        if chance.random() < 0.5:  # dense but for axes of one element, whose strides mean nothing
            dense = np.empty(shape, order=chance.choice("CF")).strides
            strides = [s if size == 1 and chance.random() < 0.5 else d for size, s, d in zip(shape, strides, dense)]
        yield shape, strides


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_memory_order(call):
    function = eval(f"lambda a: {call}", {"np": np})
    for number, (shape, strides) in enumerate(arrays(call)):
        compiled = frameloom.compile(function, backend="interpret", dynamic=True if number % 3 == 0 else None)
        for _ in range(2):
            rows, _, _ = compared(function, compiled, lambda: [np.lib.stride_tricks.as_strided(np.arange(2000)[1000:], shape, strides)])
            assert not rows, (shape, strides, rows)
