"""The built-in `max` and `min` of NumPy scalars: which one it is, the compiled code decides."""

import numpy as np
import pytest

import frameloom
from compare import assert_same

RNG = np.random.default_rng(0)


def extremes(x):
    return max(x[0], x[1]), min(x[0], x[1]), max(x), min([x[2], x[0], x[3]])


def by_key(x):
    return max(x[:4], key=abs), min((x[1], x[2], x[0]), key=lambda v: (v - 1) ** 2)


def python_floats(x):
    return max(float(x[0]), float(x[1])), min(float(x[2]), float(x[0]) + 1.0), max(0.0, float(x[3])), min(float(x[1]), 2.5, float(x[0]))


def aligned(a, b):
    score = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    score[:, 0] = -np.arange(len(a) + 1)
    score[0, :] = -np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = 1 if a[i - 1] == b[j - 1] else -1
            score[i, j] = max(score[i - 1, j - 1] + same, score[i - 1, j] - 1, score[i, j - 1] - 1)
    return score


def samples(dtype):
    low = 0 if np.dtype(dtype).kind == "u" else -9
    yield from (RNG.integers(low, 9, 5).astype(dtype) for _ in range(12))
    if np.dtype(dtype).kind == "f":
        for special in ([np.nan, 1, 2, np.nan, 0], [1, np.nan, np.nan, 2, 0], [-0.0, 0.0, -0.0, 0, 0], [0.0, -0.0, 0, 0, 0]):
            yield np.array(special, dtype)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint16, np.bool_])
@pytest.mark.parametrize("function", [extremes, by_key])
def test_scalars_of_one_dtype_are_chosen_by_the_compiled_code(function, dtype):
    if dtype == np.bool_ and function is by_key:
        pytest.skip("NumPy does not subtract bools")
    compiled = frameloom.compile(function, fullgraph=True)
    for x in samples(dtype):
        assert_same(function(x), compiled(x))


def test_python_floats_are_chosen_too():
    compiled = frameloom.compile(python_floats, fullgraph=True)
    for x in samples(np.float64):
        assert_same(python_floats(x), compiled(x))


def test_a_table_filled_by_max_is_one_graph():
    report = frameloom.explain(aligned, "ACGTT", "AGTTA")
    assert report.graph_count == 1 and report.graph_break_count == 0
    assert_same(aligned("ACGTT", "AGTTA"), frameloom.compile(aligned)("ACGTT", "AGTTA"))


def asks_which(x):
    a, b = x[0], x[1]
    c = max(a, b)
    return c is a, c is b


def is_it(a, b):
    return a is b


def asks_through_another(x):
    a, b = x[0], x[1]
    return is_it(max(a, b), a)


@pytest.mark.parametrize("function", [asks_which, asks_through_another])
def test_identity_stays(function):
    compiled = frameloom.compile(function)
    for x in ([3.0, 2.0], [2.0, 3.0], [1.0, 1.0]):
        assert compiled(np.array(x)) == function(np.array(x))


def test_scalars_of_two_types_break():
    def mixed(x):
        return max(x[0], 0)

    compiled = frameloom.compile(mixed)
    for v in (-3, 5):
        x = np.array([v])
        assert_same(mixed(x), compiled(x))
    assert frameloom.explain(mixed, np.array([1])).break_reasons[0].name == "DATA_DEPENDENT"
