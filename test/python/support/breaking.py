"""What tests of breaks share: a function is run plainly and compiled, and told in words; graphs and breaks are counted."""

import contextlib
import copy
import io
import traceback

import numpy as np

import frameloom


def outcome(f, args):
    """What a call does, in words."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            result = ("value", f(*args))
        except BaseException as e:
            lines = [(frame.name, frame.lineno) for frame in traceback.extract_tb(e.__traceback__)][1:]
            result = ("raised", type(e), str(e), lines, repr(e.__context__), repr(e.__cause__))
    return repr(result), text.getvalue(), repr(args)


def check(f, *args, graphs=None, breaks=None, calls=3, make=lambda f: frameloom.compile(f, backend="interpret")):
    compiled = make(f)
    for _ in range(calls):
        assert outcome(compiled, copy.deepcopy(args)) == outcome(f, copy.deepcopy(args))
    report = compiled._report()
    if graphs is not None:
        assert sum(bool(e["ops"]) for e in report["entries"]) == graphs, [e["ops"] for e in report["entries"]]
    if breaks is not None:
        assert [row[1] for row in report["breaks"] or []] == breaks
    return report


X = np.arange(1.0, 4.0)


class Manager:
    def __init__(self, *swallows):
        self.swallows = swallows

    def __enter__(self):
        print("enter")
        return self

    def __exit__(self, kind, value, trace):
        print("exit", kind)
        return kind in self.swallows
