"""The commands of docs/laboratory.md print what the page shows."""

import os
import re
import subprocess

import kernel_harness
import pytest
from paths import ROOT
from processes import PATIENCE

PAGE = ROOT / "docs" / "laboratory.md"
BIN = os.path.dirname(kernel_harness.OPT)

pytestmark = pytest.mark.skipif(not os.path.exists(os.path.join(BIN, "test-opt")), reason="needs the programs of the tests")


def steps():
    """(command, the lines that the page shows right behind it), in the order of the page."""
    found, shown = [], None
    for line in PAGE.read_text().splitlines():
        if line.startswith("    $ "):
            shown = []
            found.append((line[6:], shown))
        elif not line.startswith("    "):
            shown = None
        elif shown is not None:
            shown.append(line[4:])
    return found


def shows(printed, lines):
    """Are the lines in what was printed, in this order?"""
    at = 0
    for line in lines:
        if line == "...":
            continue
        pattern = re.compile("^" + ".*".join(re.escape(part) for part in line.split("...")) + "$", re.M)
        match = pattern.search(printed, at)
        if not match:
            return line
        at = match.end()
    return None


def test_commands_print_what_the_page_shows(tmp_path):
    (tmp_path / "test").symlink_to(ROOT / "test")
    environment = dict(os.environ, PATH=os.pathsep.join([BIN, os.environ["PATH"]]))
    found = steps()
    assert len(found) >= 25
    for command, lines in found:
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        fails = any("error:" in line for line in lines)
        missing = shows(done.stderr + done.stdout, lines)
        assert missing is None, f"{command}\ndoes not print\n{missing}\nbut\n{done.stderr}{done.stdout}"
        assert (done.returncode != 0) == fails, (command, done.returncode, done.stderr)


def test_the_op_of_the_page_is_that_of_the_table():
    record = re.search(r"^ {4}(def \w+ : Loom_Binary.*?^ {4}\})\n {4}(case .*?;)$", PAGE.read_text(), re.M | re.S)
    table, lowering = ((ROOT / path).read_text() for path in ("dialects/ops_elementwise.td", "passes/lower_scalar.c"))
    assert re.sub(r"^ {4}", "", record.group(1), flags=re.M) in table
    assert record.group(2) in lowering


def test_what_is_not_shown_is_found():
    assert shows("a 1\nb 2\n", ["a ...", "b 2"]) is None
    assert shows("a 1\nb 2\n", ["b 2", "a 1"]) == "a 1"
    assert shows("a 1\nb 2\n", ["...", "b 3"]) == "b 3"
