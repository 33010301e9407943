"""Reductions over no axes: whether a sum starts with 0 and a product with 1 shows in the signs of zeros and in complex infinities."""

import numpy as np
import pytest

import frameloom

SOURCES = ["np.multiply.reduce(x, axis=None, dtype='c8')", "np.prod(x, dtype='c8')", "np.add.reduce(x, axis=None, dtype='c8')", "np.prod(x, axis=())",
           "np.prod(x[None], axis=(), dtype='c16')", "np.multiply.reduce(x[None, None], axis=(), dtype='c8')", "np.prod(x[None], dtype='c8')", "np.prod(x[None], axis=0)",
           "np.sum(x[None], axis=(), dtype='c8')", "np.sum(x)", "np.add.reduce(x[None], axis=())", "np.cumprod(x, dtype='c8')", "x.prod(axis=())", "x.sum(axis=())"]
NUMBERS = [np.inf, -np.inf, np.nan, -0.0, 2.0, complex(np.inf, 1), complex(1, np.inf), complex(-0.0, -0.0), complex(0, -0.0)]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.filterwarnings("ignore")
def test_bits(source):
    program = eval(f"lambda x: {source}", {"np": np})
    for number in NUMBERS:
        for dtype in ("c8",) if isinstance(number, complex) else ("f2", "f4", "f8", "c8"):
            x = np.array(number, dtype)
            want, got = program(x), frameloom.compile(program)(x)
            for w, g in zip(*(np.atleast_1d(v).astype("c16").view("f8").ravel() for v in (want, got))):
                assert np.isnan(w) == np.isnan(g) and (np.isnan(w) or (w, np.signbit(w)) == (g, np.signbit(g))), (number, dtype, want, got)
