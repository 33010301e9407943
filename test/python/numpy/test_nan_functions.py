"""Functions that leave NaN out, and code that warns where data are not as they should be."""

import warnings

import numpy as np
import pytest
from compare import assert_same
from reports import break_codes

import frameloom

RNG = np.random.default_rng(6)
FULL = RNG.normal(size=(30, 41))
HOLES = np.where(RNG.random(FULL.shape) < 0.2, np.nan, FULL)
LOST = HOLES.copy()
LOST[:, 3] = LOST[7] = np.nan
FUNCTIONS = ["nanmean", "nanvar", "nanstd", "nanmin", "nanmax"]
OPTIONS = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}]


def noted(function, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments)
    return result, [(w.category, str(w.message), w.filename, w.lineno) for w in caught if "frameloom" not in str(w.message)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_warnings(name, options):
    function = getattr(np, name)
    compiled = frameloom.compile(lambda a: function(a, **options))
    plain = lambda a: function(a, **options)  # noqa: E731
    for a in (HOLES, FULL, LOST, HOLES.T, HOLES.astype("f4"), LOST.astype("f4"), HOLES[::2, ::-3], (FULL * 10).astype("i4"), HOLES[:1], HOLES, LOST):
        for _ in range(2):
            (found, told), (want, expected) = noted(compiled, a), noted(plain, a)
            assert_same(found, want, rtol=1e-4 if a.dtype == "f4" else 1e-11)
            assert [w[:2] for w in told] == [w[:2] for w in expected]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_compiled(name):
    function = getattr(np, name)
    compiled = frameloom.compile(lambda a: function(a, axis=0))
    compiled(HOLES)
    shown = str(frameloom.explain(compiled, HOLES))
    assert "host_call" not in shown and not break_codes(compiled, HOLES)


@pytest.mark.parametrize("name", ["fmin", "fmax"])
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": None}, {"keepdims": True}], ids=str)
def test_reductions_of_numbers(name, options):
    reduce = getattr(np, name).reduce
    compiled = frameloom.compile(lambda a: reduce(a, **options))
    for a in (HOLES, LOST, HOLES.T, HOLES.astype("f2"), (FULL * 10).astype("i8"), np.full((3, 4), np.nan), np.array([[np.inf, np.nan], [-np.inf, -0.0]])):
        assert_same(compiled(a), reduce(a, **options), ulps=0)


def checked(x):
    if np.isnan(x).any():
        warnings.warn("NaN among the elements", stacklevel=2)
    return np.sin(x) * 2


def test_code_that_only_warns_is_captured_whole():
    compiled = frameloom.compile(checked)
    for x in (FULL, HOLES, FULL, HOLES):
        (found, told), (want, expected) = noted(compiled, x), noted(checked, x)
        assert_same(found, want)
        assert [w[:2] for w in told] == [w[:2] for w in expected]
    assert not break_codes(frameloom.compile(checked), FULL)
