"""The language's parts inside compiled functions: results and side effects are plain Python's, and most are captured whole."""

import numpy as np
import pytest
from compare import assert_same, outcome
from language_cases import CASES, LEFT

import frameloom


def arguments():
    rng = np.random.default_rng(5)
    return [rng.standard_normal(6), rng.standard_normal(6)]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_like_python(function):
    compiled = frameloom.compile(function)
    for _ in range(2):
        want, want_error, want_warned = outcome(function, arguments())
        got, error, warned = outcome(compiled, arguments())
        assert type(error) is type(want_error) and str(error) == str(want_error), (error, want_error)
        assert warned == want_warned
        assert_same(got, want)


@pytest.mark.parametrize("function", [f for f in CASES if f.__name__ not in LEFT], ids=lambda f: f.__name__)
def test_captured_whole(function):
    frameloom.compile(function, fullgraph=True)(*arguments())


@pytest.mark.parametrize("function", [f for f in CASES if f.__name__ in LEFT], ids=lambda f: f.__name__)
def test_left_to_python(function):
    """A function that is captured whole after all loses its mark."""
    with pytest.raises(frameloom.GraphBreak):
        frameloom.compile(function, fullgraph=True)(*arguments())
