"""What tests of breaks share."""

import contextlib
import copy
import io
import traceback

import numpy as np
import reports

import frameloom

X = np.arange(1.0, 4.0)


def told_with_lines(f, args):
    """What a call does, in words: the value or the exception with its lines, what is printed, the arguments afterwards."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            result = ("value", f(*args))
        except BaseException as e:
            lines = [(frame.name, frame.lineno) for frame in traceback.extract_tb(e.__traceback__)][1:]
            result = ("raised", type(e), str(e), lines, repr(e.__context__), repr(e.__cause__))
    return repr(result), text.getvalue(), repr(args)


def check_breaks(f, *args, graphs=None, breaks=None, calls=3, make=lambda f: frameloom.compile(f, backend="interpret")):
    """Calls with equal arguments, plain and compiled. So many `graphs` are made, and these are the reasons of `breaks`."""
    compiled = make(f)
    for _ in range(calls):
        got, want = told_with_lines(compiled, copy.deepcopy(args)), told_with_lines(f, copy.deepcopy(args))
        assert got == want, f"{got} instead of {want}"
    report = compiled._report()
    assert graphs is None or reports.graphs(compiled) == graphs, [entry["ops"] for entry in report["entries"]]
    assert breaks is None or [row[1] for row in report["breaks"] or []] == breaks, report["breaks"]
    return report


class Manager:
    def __init__(self, *swallows):
        self.swallows = swallows

    def __enter__(self):
        print("enter")
        return self

    def __exit__(self, kind, value, trace):
        print("exit", kind)
        return kind in self.swallows
