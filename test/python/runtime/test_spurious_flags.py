"""Numbers from which no operation raises a floating-point exception: no call runs again to report one.

Lanes beyond the end of a row or column compute something, too. What they raise would be taken for the program's.
"""

import numpy as np
import pytest

import frameloom

SHAPES = [(300, 401), (301, 7), (17, 1025), (5, 6, 37)]
TAILS = {
    "quotient": lambda a, b: a / b,
    "logarithm": lambda a, b: np.log(a) - np.log2(b),
    "root": lambda a, b: np.sqrt(a) / np.cbrt(b),
    "power": lambda a, b: a ** -0.5 + b ** -1.5,
    "narrowed": lambda a, b: (a / b).astype("f4") * np.float32(2),
    "whole": lambda a, b: (1e6 / a).astype("i8") // (a.astype("i8") + 1),
    "remainder": lambda a, b: np.fmod(a, b) + a % b,
    "angle": lambda a, b: np.arctan2(a, b) + np.arccosh(1 + a),
}
REDUCED = {
    "sums": lambda x, axis: (np.sum(x, axis=axis), np.sum(x * x, axis=axis)),
    "means": lambda x, axis: (np.mean(x, axis=axis), np.var(x, axis=axis) + 1),
    "extremes": lambda x, axis: (np.max(x, axis=axis), np.min(x, axis=axis)),
    "products": lambda x, axis: (np.prod(np.sqrt(np.sqrt(x / x)), axis=axis), np.sum(x, axis=axis)),
    "running": lambda x, axis: (np.cumsum(x, axis=axis), np.maximum.accumulate(x, axis=axis)),
    "sorted": lambda x, axis: (np.sort(x, axis=axis), np.cumsum(x, axis=axis)),
    "shares": lambda x, axis: (x / np.sum(x, axis=axis, keepdims=True), np.max(x, axis=axis, keepdims=True)),
    "soft": lambda x, axis: (np.exp(x - np.max(x, axis=axis, keepdims=True)), np.sum(np.exp(-x), axis=axis, keepdims=True)),
    "products of matrices": lambda x, axis: (x @ np.swapaxes(x, -1, -2), np.swapaxes(x, -1, -2).sum() * np.ones(())),
    "moved": lambda x, axis: (np.flip(np.roll(x, 1, axis=axis), axis=axis), np.pad(x, 1, constant_values=1.0).sum(axis=axis).max()),
    "transposed": lambda x, axis: (x.T.copy() + 1, np.max(x)),
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("reduced", REDUCED)
def test_no_call_runs_again(reduced, dtype):
    again = []
    for shape in SHAPES:
        x = (np.random.default_rng(1).random(shape) + 1).astype(dtype)
        for axis in (0, -1):
            program = frameloom.compile(lambda x: [tail(*REDUCED[reduced](x, axis)) for tail in TAILS.values()])  # noqa: B023
            with np.errstate(all="raise", under="ignore"):
                program(x)
                program(x)
            if "ran again" in str(frameloom.explain(program, x)):
                again.append((shape, axis))
    assert not again
