"""What follows the workers of other libraries' tests and of the zoo from outside (test/suites/process.py)."""

import importlib.util
import sys

import pytest
from paths import ROOT

WORKER = """
import json, os, sys, time
report = os.fdopen(int(os.environ["LOOM_REPORT"]), "w", buffering=1)
skipped = open(sys.argv[sys.argv.index("--skip") + 1]).read().split("\\n")
for name, known in (("a", True), ("b", False), ("c", True)):
    if name in skipped:
        continue
    report.write(json.dumps({"id": name, "begun": True}) + "\\n")
    if known:
        report.write(json.dumps({"id": name, "begun": True, "outcomes": ["wrong"]}) + "\\n")
    if name != "c":
        os._exit(3)
    report.write(json.dumps({"id": name, "outcomes": ["torch cannot"]}) + "\\n")
report.write(json.dumps({"done": True}) + "\\n")
"""


@pytest.fixture(scope="module")
def process():
    spec = importlib.util.spec_from_file_location("suites_process", ROOT / "test" / "suites" / "process.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_was_known_stays_when_the_rest_crashes(process):
    run = process.Run("a", [sys.executable, "-c", WORKER], 600)
    assert {name: row["outcomes"] for name, row in run.rows.items()} == {"a": ["wrong"], "b": ["crash"], "c": ["torch cannot"]}


@pytest.mark.parametrize("share, over_at", [(1.0, 10), (0.5, 20), (0.25, 40), (0.0, 10)])
def test_a_test_hangs_by_its_own_time(process, share, over_at):
    """On a machine that gives it a share of the time it may take so much longer, but not where it takes none."""
    limit, spent = 100.0, [5.0]
    patience = process.Patience(lambda: spent[0], limit)
    looks = 0
    while not patience.is_over():
        looks += 1
        spent[0] += share * limit / process.LOOKS
    assert looks + 1 == over_at + (share > 0)
    patience.begin()
    assert not patience.is_over()


def test_the_time_of_a_process_is_seen(process):
    assert process.cpu_seconds(1 << 30) == 0
