"""Every call of numpy_calls.py gives what NumPy gives; how many are captured whole may only grow."""

import warnings

import numpy as np
import pytest
from compare import check
from numpy_calls import calls, function_of, inputs

import frameloom

CAPTURED_AT_LEAST = 150


@pytest.mark.parametrize("text", list(calls()))
def test_call(text):
    function, arguments = function_of(text, inputs())
    check(frameloom.compile(function), function, arguments, ulps=256, scale=1.0)


def captured(text):
    """None when the call is captured whole, else the reason."""
    function, arguments = function_of(text, inputs())
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            frameloom.compile(function, fullgraph=True)(*arguments)
    except frameloom.GraphBreak as broke:
        return str(broke).splitlines()[0]
    return None


def test_number_of_calls_captured():
    whole = [text for text in calls() if captured(text) is None]
    assert len(whole) >= CAPTURED_AT_LEAST
