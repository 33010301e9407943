"""Runs the test methods of one module of CPython's own tests, plainly, compiled or recoded (recoded.py), and tells what
became of each.

    python worker.py plain|compiled|recoded test_generators [--skip FILE]

One line of JSON on the descriptor that LOOM_REPORT names when a method begins, and one when it has ended. Every method
runs twice: the second time what was compiled for the first is found again.
"""

import json
import os
import sys
import traceback
import unittest


class Outcome(unittest.TestResult):
    """What became of one run of one method."""

    def __init__(self):
        super().__init__()
        self.words, self.trace = "pass", ""

    def note(self, words, error=None):
        if self.words == "pass":
            self.words = words
            if error:
                self.trace = "".join(traceback.format_exception(*error))[-3000:]

    def addError(self, test, error):
        super().addError(test, error)
        self.note("error", error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note("fail", error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            self.note("fail" if issubclass(error[0], test.failureException) else "error", error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note("skip")

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self.note("expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note("unexpected success")


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def is_method(test):
    """Of a TestCase, so that there is a function to compile; doctests and modules that cannot be loaded have none."""
    name = getattr(test, "_testMethodName", "runTest")
    return name.startswith("test") and type(test).__module__ not in ("unittest.loader", "doctest")


def captured(function):
    """'whole', 'parts' or 'python', and the codes of the breaks."""
    report = function._report()
    breaks = sorted({row[0] for row in report["breaks"] or ()})
    kind = "python" if not report["entries"] else "parts" if breaks else "whole"
    return kind, breaks, [f"FL{row[0]:04d} {row[2]}: {row[4]} ({os.path.basename(row[5] or '?')}:{row[7]})" for row in report["breaks"] or ()]


def run_once(test):
    outcome = Outcome()
    unittest.TestSuite([test])(outcome)  # with the class's own preparations
    return outcome


def main(mode, module, skipped):
    sys.setrecursionlimit(1000)
    report = os.fdopen(int(os.environ["LOOM_REPORT"]), "w", buffering=1)
    if mode == "compiled":
        import frameloom
    counts = recoded.install() if mode == "recoded" else None
    tests = [t for t in flatten(unittest.defaultTestLoader.loadTestsFromName("test." + module)) if is_method(t)]
    for test in tests:
        if test.id() in skipped:
            continue
        name, function = test._testMethodName, None
        plain = getattr(type(test), name)
        if mode == "compiled" and type(plain).__name__ == "function":
            function = frameloom.compile(plain)
            setattr(type(test), name, function)
        row = {"id": test.id(), "begun": True}
        report.write(json.dumps(row) + "\n")
        again = type(test)(name)
        outcomes = [run_once(test), run_once(again)]
        row = {"id": test.id(), "outcomes": [o.words for o in outcomes], "traces": [o.trace for o in outcomes]}
        if function:
            row["captured"], row["codes"], row["breaks"] = captured(function)
            setattr(type(test), name, plain)
            function._reset()
        report.write(json.dumps(row) + "\n")
    report.write(json.dumps({"done": True, "counts": counts}) + "\n")
    report.flush()
    os._exit(0)  # what the module left behind is none of our business


if __name__ == "__main__":
    if sys.argv[1] == "recoded":
        import recoded
    listed = set()
    if len(sys.argv) > 4:
        with open(sys.argv[4]) as stream:
            listed = set(stream.read().split("\n"))
    main(sys.argv[1], sys.argv[2], listed)
