"""Every call of numpy_calls.py gives what NumPy gives; how many are captured whole may only grow."""

import pytest
from compare import check
from numpy_calls import calls, captured, function_of, inputs

import frameloom

CAPTURED_AT_LEAST = 396


@pytest.mark.parametrize("text", list(calls()))
def test_call(text):
    function, arguments = function_of(text, inputs())
    check(frameloom.compile(function), function, arguments, ulps=256, scale=1.0)


def test_number_of_calls_captured():
    whole = [text for text in calls() if captured(text) is None]
    assert len(whole) >= CAPTURED_AT_LEAST
