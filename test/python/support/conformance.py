"""Runs the functions of cases/ plainly and compiled, and compares everything that can be seen.

    python test/python/support/conformance.py [--update] [name ...]

prints what differs, and the numbers of graphs and breaks that are not those of cases/expected.txt; `--update` writes them
there, for the difference to be read before it is committed.
"""

import contextlib
import gc
import io
import pathlib
import sys
import types
import warnings

import numpy as np
from cases import CASES, Case
from compare import assert_same

import frameloom

EXPECTED = pathlib.Path(__file__).resolve().parent / "cases" / "expected.txt"
VERSION = "{}.{}".format(*sys.version_info)
KINDS = (0, 0, 1, 0, 2)  # of arguments, call by call
PLAIN = (int, float, complex, bool, str, bytes, type(None), type, range, slice, np.generic, np.dtype, types.BuiltinFunctionType,
         types.ModuleType, type(Ellipsis), type(NotImplemented), np.ufunc, type(np.sum))


class Seen:
    """What one call did."""

    def __init__(self, function, arguments, probe):
        out = io.StringIO()
        self.arguments = arguments
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out):
            warnings.simplefilter("always")
            try:
                self.result, self.error = function(*arguments), None
            except Exception as error:  # whatever it is, it has to come out of both
                self.result, self.error = None, error
        self.probed = probe()
        self.printed = out.getvalue()
        self.warned = [(w.category, str(w.message), pathlib.Path(w.filename).name, w.lineno) for w in caught]


def traceback_of(error):
    """(function, line) of the frames below the harness."""
    rows, step = [], error.__traceback__
    while step:
        name = step.tb_frame.f_code.co_filename
        if name != __file__:
            rows.append((step.tb_frame.f_code.co_name, step.tb_lineno, pathlib.Path(name).name))
        step = step.tb_next
    return rows


class Comparison:
    """Walks through two results at once: the same structure, identities and memory, and equal leaves."""

    def __init__(self):
        self.twins, self.back, self.arrays = {}, {}, []

    def same(self, got, want, at="result"):
        shared = isinstance(want, PLAIN) or (isinstance(want, (tuple, frozenset)) and not want)
        if not shared:
            known = id(want) in self.twins
            assert known == (id(got) in self.back), f"{at}: an object of its own in one and a known one in the other"
            if known:
                assert self.twins[id(want)] is got, f"{at}: another object than plainly"
                return
            self.twins[id(want)], self.back[id(got)] = got, want
        try:
            self.content(got, want, at)
        except AssertionError as error:
            raise AssertionError(f"{at}: {error}") from None

    def content(self, got, want, at):
        assert type(got).__qualname__ == type(want).__qualname__, f"{type(got)} instead of {type(want)}"
        if isinstance(want, np.ndarray):
            self.arrays.append((got, want))
            assert_same(got, want)
        elif isinstance(want, type):
            assert got is want or (got.__qualname__ == want.__qualname__ and "<locals>" in want.__qualname__)
        elif isinstance(want, PLAIN):
            assert_same(got, want)
        elif isinstance(want, BaseException):
            self.exceptions(got, want, at)
        elif isinstance(want, (set, frozenset)):
            assert got == want
        elif isinstance(want, dict):
            assert len(got) == len(want), f"{list(got)} instead of {list(want)}"
            for i, (g, w) in enumerate(zip(got.items(), want.items())):
                self.same(g[0], w[0], f"key {i} of {at}")
                self.same(g[1], w[1], f"{at}[{w[0]!r}]")
        elif isinstance(want, types.FunctionType):
            assert got.__code__ is want.__code__ and got.__name__ == want.__name__
            self.same([c.cell_contents for c in got.__closure__ or ()], [c.cell_contents for c in want.__closure__ or ()],
                      at + ".__closure__")
        elif isinstance(want, types.MethodType):
            self.same(got.__self__, want.__self__, at + ".__self__")
        elif hasattr(want, "__len__") and hasattr(want, "__iter__"):
            g, w = list(got), list(want)
            assert len(g) == len(w), f"{len(g)} items instead of {len(w)}"
            for i, (a, b) in enumerate(zip(g, w)):
                self.same(a, b, f"{at}[{i}]")
        self.attributes(got, want, at)

    def attributes(self, got, want, at):
        if isinstance(want, (PLAIN, np.ndarray, types.FunctionType, types.MethodType, BaseException)):
            return
        names = list(getattr(want, "__dict__", ()))
        assert names == list(getattr(got, "__dict__", ())), f"attributes {list(getattr(got, '__dict__', ()))} instead of {names}"
        for name in names:
            self.same(got.__dict__[name], want.__dict__[name], f"{at}.{name}")
        names = [n for c in type(want).__mro__ for n in getattr(c, "__slots__", ()) if isinstance(n, str) and n != "__weakref__" and hasattr(want, n)]  # who else refers to it weakly is nothing of its own
        for name in names:
            self.same(getattr(got, name), getattr(want, name), f"{at}.{name}")

    def exceptions(self, got, want, at):
        assert str(got) == str(want), f"{got!r} instead of {want!r}"
        self.same(got.args, want.args, at + ".args")
        assert traceback_of(got) == traceback_of(want), f"{traceback_of(got)} instead of {traceback_of(want)}"
        assert got.__suppress_context__ == want.__suppress_context__
        assert getattr(got, "__notes__", None) == getattr(want, "__notes__", None)
        for name in ("__cause__", "__context__"):
            g, w = getattr(got, name), getattr(want, name)
            assert (g is None) == (w is None), f"{name}: {g!r} instead of {w!r}"
            if w is not None:
                self.same(g, w, f"{at}.{name}")

    def memory(self):
        for i, (g, w) in enumerate(self.arrays):
            assert g.flags.owndata == w.flags.owndata or (g.base is None) == (w.base is None), "a view or none"
            for h, v in self.arrays[:i]:
                assert np.shares_memory(g, h) == np.shares_memory(w, v), "arrays share memory in one and not in the other"


def compare(got, want, look=None):
    look = look or Comparison()
    look.same(got.arguments, want.arguments, "arguments")
    look.same(got.result, want.result, "result")
    look.same(got.probed, want.probed, "state")
    assert (got.error is None) == (want.error is None), f"raised {got.error!r} instead of {want.error!r}"
    if want.error is not None:
        look.same(got.error, want.error, "exception")
    look.memory()
    look.same(got.printed, want.printed, "what is printed")
    assert got.warned == want.warned, f"warned {got.warned} instead of {want.warned}"


def run(case: Case, backend="loom"):
    """Compares five calls; "graphs breaks" after the first two."""
    frameloom.reset()  # what other cases have made compiled counts for nothing here
    plain, arguments, probe = case.make()
    function, own_arguments, own_probe = case.make()
    compiled, numbers = frameloom.compile(function, backend=backend), None
    gc.disable()  # versions die with the classes that a call made, at whatever call that would be noticed
    for i, kind in enumerate(KINDS):
        want = Seen(plain, arguments(kind), probe)
        got = Seen(compiled, own_arguments(kind), own_probe)
        try:
            compare(got, want)
        except AssertionError as error:
            gc.enable()
            raise AssertionError(f"call {i}: {error}") from None
        if i == 1:
            numbers = counted(compiled)
            gc.enable()
    return numbers


def counted(compiled):
    """Of the function's own graphs: what is compiled of functions that it calls may have been there before."""
    report = compiled._report()
    graphs = sum(1 for e in report["entries"] if e["ops"] and e["name"] == compiled.__qualname__)
    return f"{graphs} {len(report['breaks'] or ())}"


def rows_on_record():
    """By case: {version: "graphs breaks"}. What a row says first is 3.11's, and other versions' too unless it has a part for
    them: "case 1 0, 3.13: 1 1"."""
    rows = {}
    for row in EXPECTED.read_text().splitlines() if EXPECTED.exists() else []:
        if row and row[0] != "#":
            name, _, rest = row.partition(" ")
            first, *others = rest.split(", ")
            rows[name] = {"3.11": first} | dict(part.split(": ") for part in others)
    return rows


def expected():
    """On this version."""
    return {name: row.get(VERSION, row["3.11"]) for name, row in rows_on_record().items()}


def write_expected(table):
    """What this version gave takes the place of what was on record for it."""
    rows, lines = rows_on_record(), []
    for name in sorted({case.name for case in CASES} & set(table)):
        row = rows.get(name, {}) | {VERSION: table[name]}
        first = row.pop("3.11", table[name])
        lines.append(", ".join([f"{name} {first}"] + [f"{v}: {row[v]}" for v in sorted(row) if row[v] != first]) + "\n")
    head = "# case, graphs, breaks, and those of other versions than 3.11 where they differ: written by conformance.py --update\n"
    EXPECTED.write_text(head + "".join(lines))


def main(names):
    update = "--update" in names
    names = [n for n in names if n != "--update"]
    table, wrong = expected(), 0
    for case in CASES:
        if names and not any(n in case.name for n in names):
            continue
        try:
            numbers = run(case, "interpret")
        except AssertionError as error:
            wrong += 1
            print(f"{case.name}: {error}")
            continue
        if numbers != table.get(case.name):
            print(f"{case.name}: {numbers}, not {table.get(case.name)} graphs and breaks")
            table[case.name] = numbers
    if update:
        write_expected(table)
    print(f"{len(CASES)} cases, {wrong} differ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
