"""What the suites of gradient tests share: a run of somebody else's tests in a process of its own, and the page about it.

A suite is a plugin of pytest, which puts frameloom's derivatives in the place of the other library's. Each test has one of five outcomes:
*passes*; *refused*: frameloom says so, with a reason (a graph break, or an error of the function that was asked); *alone*: the test asks
for what only the other library has; *other convention*: both are right by their own; else it is *wrong*.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REFUSED = re.compile(r"GraphBreak: |frameloom\.\w+: |a derivative needs the compiler|has no derivative|is differentiated|a gradient is that of|"
                     r"what is differentiated by must be|frameloom\.vmap maps over")


@dataclasses.dataclass
class Suite:
    name: str  # the other library
    plugin: str  # the module of the plugin, beside this file
    files: list  # of its tests
    alone: re.Pattern  # in what is raised and the test's name: it asks for what only that library has
    conventions: re.Pattern  # the same: both are right
    text: str  # how the page begins
    options: tuple = ()  # further ones of pytest
    kinds: tuple = dataclasses.field(init=False)

    def __post_init__(self):
        self.kinds = ("passes", "refused", f"of {self.name}", "other convention", "wrong")


def report(test_report):
    """What the plugin does with a report of pytest: a line of the file that run() reads."""
    if test_report.when != "call" and test_report.passed or test_report.skipped:
        return
    words = "" if test_report.passed else str(getattr(test_report.longrepr, "reprcrash", test_report.longrepr))
    with open(os.environ["GRADIENT_REPORT"], "a") as out:
        out.write(json.dumps([test_report.nodeid.split("/")[-1], test_report.passed, words]) + "\n")


def outcome(suite, test, passed, words):
    if passed:
        return "passes"
    if suite.alone.search(f"{words} {test}"):
        return f"of {suite.name}"
    if REFUSED.search(words):
        return "refused"
    return "other convention" if suite.conventions.search(f"{words} {test}") else "wrong"


def reason(words):
    """The first line of what was raised, after the file and its line."""
    text = re.sub(r"^.*?:\d+: ", "", words).split("\n")[0]
    return " ".join(text.replace("frameloom.GraphBreak: ", "").split()).replace("|", "\\|")[:170]


def reports(suite, folder, tests):
    """[(test, does it pass, what it raises)] of the tests in a checkout."""
    with tempfile.TemporaryDirectory() as place:
        lines = pathlib.Path(place) / "report"
        lines.touch()
        paths = [folder, folder / "tests", HERE, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "GRADIENT_REPORT": str(lines)}
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider", "-p", suite.plugin,
                   "--tb=short", *suite.options, *tests]  # its own settings ask for plugins
        done = subprocess.run(command, cwd=folder / "tests", env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = [json.loads(line) for line in lines.read_text().splitlines()]
    if done.returncode not in (0, 1) or not found:
        raise SystemExit(done.stdout)
    return found


def judged(suite, found):
    """[(test, outcome, reason)]; a test with several reports has the last one's."""
    last = {test: (passed, words) for test, passed, words in sorted(found, key=lambda report: not report[1])}
    return [(" ".join(test.split())[:110], outcome(suite, test, passed, words), reason(words)) for test, (passed, words) in last.items()]


def page(suite, rows):
    kinds = suite.kinds
    counts = collections.defaultdict(collections.Counter)
    for test, what, _ in rows:
        counts[test.split("::")[0]][what] += 1
    lines = [suite.text, "| file | tests | " + " | ".join(kinds) + " |", "|---|" + "--:|" * (1 + len(kinds))]
    for name, found in sorted(counts.items()):
        lines.append(f"| `{name}` | {found.total()} | " + " | ".join(str(found[kind]) for kind in kinds) + " |")
    total = sum(counts.values(), collections.Counter())
    lines.append(f"| all | {total.total()} | " + " | ".join(str(total[kind]) for kind in kinds) + " |")
    for kind in kinds[:0:-1]:
        lines += ["", f"## {kind[0].upper() + kind[1:]}", ""]
        lines += [f"- `{test}`: {why}" for test, what, why in rows if what == kind] or ["None."]
    return "\n".join(lines) + "\n"


def main(suite, text):
    parser = argparse.ArgumentParser(description=text.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help=f"a checkout of {suite.name}'s repository")
    parser.add_argument("tests", nargs="*", help="as pytest takes them; all that ask for derivatives of NumPy's functions")
    parser.add_argument("--table", type=pathlib.Path, help="writes the page")
    options = parser.parse_args()
    rows = judged(suite, reports(suite, options.folder.resolve(), options.tests or suite.files))
    for test, what, why in rows:
        if what != "passes":
            print(f"{test}: {what}: {why}")
    if options.table:
        options.table.write_text(page(suite, rows))
    wrong = sum(what == "wrong" for _, what, _ in rows)
    print(f"{len(rows) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0
