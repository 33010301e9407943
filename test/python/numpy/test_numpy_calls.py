"""Every call of numpy_calls.py gives what NumPy gives; how many are captured whole may only grow, and the page of them says so."""

import importlib.util

import pytest
from compare import check
from numpy_calls import calls, captured, function_of, inputs
from paths import ROOT

import frameloom

DOCS = ROOT / "docs"
CAPTURED_AT_LEAST = 396


@pytest.mark.parametrize("text", list(calls()))
def test_call(text):
    function, arguments = function_of(text, inputs())
    check(frameloom.compile(function), function, arguments, ulps=256, scale=1.0)


def test_number_of_calls_captured():
    whole = [text for text in calls() if captured(text) is None]
    assert len(whole) >= CAPTURED_AT_LEAST


def test_page_of_captured_functions():
    """docs/numpy-coverage.md tells of each function whether it is compiled, calls the library, or breaks the graph."""
    spec = importlib.util.spec_from_file_location("numpy_coverage", DOCS / "numpy_coverage.py")
    coverage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(coverage)
    page = (DOCS / "numpy-coverage.md").read_text()
    if f"{coverage.versions()}." not in page:
        pytest.skip(f"the page is not of {coverage.versions()}")
    assert page == coverage.page()[0], "make docs"
