"""What README.md and docs/ say was measured is what the files of results say (docs/figures.py)."""

import importlib.util
import json

import pytest
from processes import printed, run_python

pytest.importorskip("markdown_it")

from paths import ROOT

RESULTS = ROOT / "bench" / "results"


def write_figures(*arguments):
    """Status and lines; in a process of its own, since bench/ has modules of the same names as others here."""
    done = run_python(ROOT / "docs" / "figures.py", *arguments)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def test_pages_say_what_the_results_say():
    status, lines = write_figures("--check")
    assert status == 0, "make figures:\n" + "\n".join(lines)


def link(text, target, name):
    return f'[{text}]({target} "{name}")'


def test_figure_is_written(tmp_path):
    page, overhead = tmp_path / "page.md", RESULTS / "overhead.md"
    new = f"{json.loads((RESULTS / 'overhead.json').read_text())['calls']['one array']['call']:.0f} ns"
    page.write_text(f'A call costs {link("1 ns", overhead, "call, one array")}.\n\n<!-- table: {overhead} "missed" -->\n<!-- end -->\n')
    status, lines = write_figures("--check", page)
    assert status == 1 and len(lines) == 1 and new in lines[0]
    assert link("1 ns", overhead, "call, one array") in page.read_text()
    assert write_figures(page)[0] == 0 and write_figures("--check", page)[0] == 0
    assert link(new, overhead, "call, one array") in page.read_text() and "| missed " in page.read_text()


def test_limit_is_written(tmp_path):
    page, code = tmp_path / "page.md", tmp_path / "code.c"
    page.write_text(f'every {link("50 ms", ROOT / "frontend" / "compile" / "compile_apart.c", "APART_POLL_MS")}')
    assert write_figures("--check", page)[0] == 0
    page.write_text(f'every {link("51 ms", ROOT / "frontend" / "compile" / "compile_apart.c", "APART_POLL_MS")}')
    assert write_figures("--check", page)[0] == 1


@pytest.mark.parametrize("target, name", [(RESULTS / "overhead.md", "call, no array"), (ROOT / "frontend" / "dispatch" / "trial.c", "TRIAL_NONE"),
                                          (ROOT / "docs" / "torch-ops.md", "perfect")])
def test_figure_that_no_file_has(tmp_path, target, name):
    page = tmp_path / "page.md"
    page.write_text(link("1 ns", target, name))
    status, lines = write_figures("--check", page)
    assert status == 1 and name in lines[0]


MEASURED = """
A call takes 73 ns. | It takes 1.5 ms or less. | It is faster by 5 %. | It is 1.4 times as fast as NumPy. | some tens of nanoseconds
It runs three times faster. | twice as fast as eager | It needs 12 MiB. | 394 of NumPy's 441 functions | 3x faster | 40 GB/s
in a twentieth of Inductor's time | [73 ns](overhead.md) by hand | [73 ns](elsewhere.md "by hand") | within two seconds | four fifths of torch's ops | 7 to 9 us
"""
PLAIN = """
two signed ones and four items | NumPy 2.4.6 on CPython 3.11 | 1,000 steps of 16 x 16 | it is run three times | elements of 8 bytes
a third version | `a * 5 % 3` and `sleep 5 s` | the milliseconds that it took | an array of 4096 floats | a half-run generator
"""


def phrases(text):
    return [phrase.strip() for line in text.strip().splitlines() for phrase in line.split(" | ")]


def test_figures_without_a_source(tmp_path):
    page = tmp_path / "page.md"
    measured, plain = phrases(MEASURED), phrases(PLAIN)
    page.write_text("\n\n".join(measured + plain) + "\n\n| a | 7 ms |\n|---|---|\n| b | 8 ms |\n")
    status, lines = write_figures("--check", page)
    found = {int(line.split(":")[1]) for line in lines}
    assert status == 1
    assert [phrase for i, phrase in enumerate(measured) if 2 * i + 1 not in found] == []
    behind = 2 * len(measured)
    assert [phrase for i, phrase in enumerate(plain) if behind + 2 * i + 1 in found] == []
    table = behind + 2 * len(plain) + 1
    assert {table, table + 2} <= found, "cells of tables"


def test_missed_limits_are_marked():
    code = """
import copy, json, sys
sys.path.insert(0, "bench")
import overhead
facts = json.load(open("bench/results/overhead.json"))
for value in 49.9, 50.1, None:
    print([line for line in overhead.page(dict(facts, import_ms=value)).splitlines() if "import" in line][0])
"""
    said = printed(code, cwd=ROOT)
    held, missed, unknown = said.splitlines()
    assert "held" in held and "missed" in missed and "not measured" in unknown


def test_samples_of_torch_are_counted_once():
    """The outcomes of docs/torch-ops.md add up to the samples, dtype by dtype and in all."""
    lines = (ROOT / "docs" / "torch-ops.md").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| dtype | samples |"))
    rows = {}
    for line in lines[start + 2:lines.index("", start)]:
        dtype, *numbers = [cell.split()[0] for cell in line.strip("| ").split("|")]
        rows[dtype] = [int(n) for n in numbers]
        assert rows[dtype][0] == sum(rows[dtype][1:]), dtype
    total = rows.pop("all")
    assert total == [sum(column) for column in zip(*rows.values())]


def test_every_outcome_of_a_sample_is_in_the_denominator():
    spec = importlib.util.spec_from_file_location("page_of_torch_ops", ROOT / "docs" / "torch_ops.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    entry = module.Entry()
    outcomes = ["same"] * 1994 + ["nearer", "shape", "raises", "left out", "wrong", "crashed"]
    for sample, outcome in enumerate(outcomes):
        entry.add({"sample": sample, "outcome": outcome})
    table = module.totals({"float32": {"op": entry}})
    heading = [cell.strip() for cell in table[-4].strip("|").split("|")]
    row = dict(zip(heading, (cell.strip() for cell in table[-2].strip("|").split("|"))))
    assert row == {"dtype": "float32", "samples": "2000", "same": "1994 (99.7 %)", "as near": "1 (0.1 %)", "shape only": "1 (0.1 %)",
                   "raises as well": "1 (0.1 %)", "torch cannot": "0 (0 %)", "left out": "1 (0.1 %)", "different": "2 (0.1 %)"}
    assert module.share(99999, 100000) == "99999 (99.9+ %)" and module.share(1, 100000) == "1 (<0.1 %)"
