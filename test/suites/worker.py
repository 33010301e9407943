"""Runs the tests of one file of a library's own test suite under pytest, plainly or compiled, and tells what became of
each.

    python worker.py plain|compiled FILE [--skip LIST] [--select EXPRESSION]

FILE begins with the name of the package: numpy/lib/tests/test_io.py.
One line of JSON on the descriptor that LOOM_REPORT names when a test begins, and one when it has ended. Every test runs
three times, each time with fixtures of its own: twice as the same compiled function, so that the second run finds what
the first one compiled, and once compiled with `dynamic=True`. Plainly it runs three times, too: what differs from run to
run plainly is not compared.
"""

import argparse
import gc
import importlib.util
import json
import os
import random
import re
import sys
import types
import warnings

import numpy
import pytest
from _pytest.runner import runtestprotocol

RUNS = ("first", "second", "dynamic")


def place(message):
    """A warning as it is compared: category, text without addresses and names of temporary folders, file and line."""
    text = re.sub(r"0x[0-9a-f]+", "0x", str(message.message))
    text = re.sub(r"/pytest-[^/]+/pytest-\d+/[^/ ]+", "/pytest", text)  # a folder of the test's own
    return f"{message.category.__name__}: {text} ({os.path.basename(message.filename)}:{message.lineno})"


def is_of_many_kinds(message):
    """Our own word that a function is called with more kinds of arguments than versions are made for, as hypothesis calls it."""
    return str(message.message).startswith("frameloom: ") and "frameloom.config.recompile_limit" in str(message.message)


def without_deadlines():
    """hypothesis fails an example that takes long, as one that is compiled does."""
    if importlib.util.find_spec("hypothesis"):
        import hypothesis

        hypothesis.settings.register_profile("suites", deadline=None)
        hypothesis.settings.load_profile("suites")


class Compiled:
    """Puts compiled functions in place of tests' own, and what they were back."""

    def __init__(self):
        import frameloom
        from frameloom import _native

        self.compile, self.reset, self.callables = frameloom.compile, frameloom.reset, _native.callables
        self.functions = {}

    def function(self, plain, dynamic):
        if (plain, dynamic) not in self.functions:
            self.functions[plain, dynamic] = self.compile(plain, dynamic=True if dynamic else None)
        return self.functions[plain, dynamic]

    def replace(self, item, dynamic):
        """The item's test compiled; what undoes it."""
        bound = item.obj
        plain = getattr(bound, "__func__", bound)
        if hasattr(plain, "hypothesis"):  # a function that calls the test with generated arguments
            holder, inner = plain.hypothesis, plain.hypothesis.inner_test
            holder.inner_test = self.function(inner, dynamic)
            return lambda: setattr(holder, "inner_test", inner)
        if not isinstance(plain, types.FunctionType):
            return lambda: None
        made = self.function(plain, dynamic)
        item.obj = types.MethodType(made, bound.__self__) if bound is not plain else made
        return lambda: setattr(item, "obj", bound)

    def told(self):
        """'whole', 'parts' or 'python' of the test itself, and failures of the compiler anywhere."""
        kind, failures = None, []
        for function in self.callables():
            report = function._report()
            rows = report["breaks"] or ()
            failures += [f"FL0016 {function.__qualname__}: {row[4]} ({os.path.basename(row[5] or '?')}:{row[7]})" for row in rows if row[0] == 16]
            if kind is None and function in self.functions.values():
                kind = "python" if not report["entries"] else "parts" if rows else "whole"
        return {"captured": kind or "python", "failures": sorted(set(failures))}

    def forget(self):
        self.functions.clear()
        self.reset()


class Plugin:
    def __init__(self, compiled, runs, skipped, report, sample, seed):
        self.compiled, self.runs, self.sample, self.seed = compiled, runs, sample, seed
        self.skipped, self.report, self.current, self.ended = skipped, report, None, 0

    def write(self, **row):
        self.report.write(json.dumps(row) + "\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        seen = {}
        for item in items:  # some parameters have the same words
            name = re.sub(r"0x[0-9a-f]+", "0x", item.nodeid)
            seen[name] = seen.get(name, 0) + 1
            item.loom_id = name if seen[name] == 1 else f"{name}#{seen[name]}"
        if self.sample and len(items) > self.sample:  # spread over the file, or at random
            at = [i * len(items) // self.sample for i in range(self.sample)]
            if self.seed is not None:
                at = sorted(random.Random(self.seed).sample(range(len(items)), self.sample))
            items[:] = [items[i] for i in at]
        items[:] = [item for item in items if item.loom_id not in self.skipped]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self.write(id=item.loom_id, begun=True)
        row = {"id": item.loom_id, "outcomes": [], "traces": [], "warnings": [], "state": []}
        for run in self.runs:
            self.current = run
            self.run_once(item, nextitem, row)
        if self.compiled:
            row.update(self.compiled.told())
            self.compiled.forget()
            self.ended += 1
            if self.ended % 50 == 0:
                gc.collect()
        self.write(**row)
        return True

    def run_once(self, item, nextitem, row):
        random.seed(1)
        numpy.random.seed(1)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(1)
        if hasattr(item, "_initrequest"):
            item._initrequest()
        self.caught = []
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        words, trace = "pass", ""
        for report in reports:
            if words == "pass" and report.outcome != "passed":
                words = "xfail" if hasattr(report, "wasxfail") else "skip" if report.skipped else "fail"
                trace = report.longreprtext[-4000:] if words == "fail" else ""
        row["outcomes"].append(words)
        row["traces"].append(trace)
        row["warnings"].append(self.caught)
        row["state"].append(repr((numpy.geterr(), sorted(numpy.get_printoptions().items(), key=str))))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        undo = self.compiled.replace(item, self.current == "dynamic") if self.compiled else lambda: None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                return (yield)
            finally:
                undo()
                generated = hasattr(getattr(item.obj, "__func__", item.obj), "hypothesis")
                self.caught = [place(message) for message in caught if not (generated and is_of_many_kinds(message))]


def folder_of(package, own):
    """The folder that the package lies in. With `own` it is another name of it: functions of what is installed are not
    compiled when what runs for real calls them, and by that name the package is the user's own code."""
    real = importlib.util.find_spec(package).submodule_search_locations[0]
    if not own:
        return os.path.dirname(real)
    top = os.path.join(os.getcwd(), "own")
    os.mkdir(top)
    os.symlink(real, os.path.join(top, package))
    sys.path.insert(0, top)
    return top


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("plain", "compiled"))
    parser.add_argument("file")
    parser.add_argument("--skip", default=os.devnull)
    parser.add_argument("--select", default="not slow")
    parser.add_argument("--tests", default="", help="only tests with this in their names")
    parser.add_argument("--sample", type=int, default=0, help="at most so many tests, spread over the file")
    parser.add_argument("--seed", type=int, help="takes the tests of a sample at random")
    parser.add_argument("--torch-compile", action="store_true", help="the tests call torch.compile, which is replaced")
    parser.add_argument("--own", action="store_true", help="the package counts as the user's own code")
    options = parser.parse_args()
    with open(options.skip) as stream:
        skipped = set(stream.read().split("\n"))
    without_deadlines()
    report = os.fdopen(int(os.environ["LOOM_REPORT"]), "w", buffering=1)
    if options.torch_compile:  # the tests compile what they test
        import torch_compile

        made = torch_compile.Compiled() if options.mode == "compiled" else torch_compile.Plain()
    else:
        made = Compiled() if options.mode == "compiled" else None
    runs = RUNS[:1] if options.torch_compile else RUNS
    plugin = Plugin(made if options.mode == "compiled" else None, runs, skipped, report, options.sample, options.seed)
    top = folder_of(options.file.split("/")[0], options.own)
    file = os.path.join(top, options.file)
    # Asserts stay as they are: what pytest writes in their place is far from what users write.
    arguments = [file, "-c", os.devnull, "--rootdir", top, "--confcutdir", top, "--assert=plain", "-q", "-m", options.select]
    for name in ("cacheprovider", "warnings", "unraisableexception", "threadexception", "faulthandler", "timeout"):
        arguments += ["-p", "no:" + name]
    if options.tests:
        arguments += ["-k", options.tests]
    status = pytest.main(arguments, plugins=[plugin])
    if status in (0, 1, 5):
        plugin.write(done=True)
    report.flush()
    sys.stdout.flush()
    os._exit(0)  # what the tests left behind is none of our business


if __name__ == "__main__":
    main()
