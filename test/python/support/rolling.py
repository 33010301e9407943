"""What tests of loops that are captured once share."""

import numpy as np
import pytest

import frameloom


@pytest.fixture(autouse=True)
def short():
    before = frameloom.config.unroll_limit
    frameloom.config.unroll_limit = 3
    yield
    frameloom.config.unroll_limit = before


def operations(compiled, *args):
    return frameloom.explain(compiled, *args).op_count


def same(a, b):
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return type(b) is np.ndarray and a.dtype == b.dtype and a.shape == b.shape and np.allclose(
            a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
    if isinstance(a, (float, np.floating)):
        return type(a) is type(b) and (a == b or bool(np.isclose(a, b, rtol=1e-9)) or (a != a and b != b))
    return type(a) is type(b) and a == b


def copied(args):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]
