"""bench/gpu.py without a GPU: its sections on the driver of the tests, and what becomes of rows that crash, hang or are
wrong."""

import importlib
import json
import math
import types

import gpu
import gpu_machine
import gpu_table
import pytest
from paths import BENCH, ROOT
from processes import printed, run_python

pytest.importorskip("torch")
pytest.importorskip("cuda_tensors")

# Rows of each section: the first ones, which are of each kind that the section has.
SECTIONS = """
import itertools, json, sys
sys.path.insert(0, "bench")
import gpu
import gpu_table
options = gpu.arguments(["--driver", "tests", "--worker", "compile"])
machine = gpu.machine_of("tests")
facts = {"machine": machine.facts(), "sections": {}}
for section, (_, _, _, environment) in gpu.SECTIONS.items():
    if environment.get("FRAMELOOM_WGMMA"):
        continue
    options.worker = section
    made = list(gpu.rows_of(options, machine))
    step = {"forms": 21, "memory": 7, "rows": 7, "epilogues": 3, "attention": 3}.get(section, 1)
    rows = []
    for group, name, run in made[::step]:
        machine.begin()
        rows.append(run() | {"asked": [group, name]})
        machine.synchronize()
    facts["sections"][section] = {"rows": rows, "all": [name for _, name, _ in made]}
print(json.dumps([facts, gpu_table.page(facts), len(gpu_table.TARGETS)]))
"""


@pytest.fixture(scope="module")
def sections(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    facts, page, targets = json.loads(
        printed(SECTIONS, cwd=ROOT, environment={"FRAMELOOM_CACHE_DIR": str(folder)}).splitlines()[-1]
    )
    return facts["sections"], page, targets


def test_rows_of_every_section_are_right(sections):
    rows = [row for name, section in sections[0].items() for row in section["rows"] if name != "sanitizer"]
    assert len(rows) > 25
    assert [row for row in rows if "failed" in row or "wrong" in row or [row["group"], row["name"]] != row["asked"]] == []


def test_what_is_timed_is_compared(sections):
    """Each row that has times has Frameloom's and a peer's, and the distance of both from the exact result."""
    for name in ("memory", "rows", "products", "other products", "epilogues", "attention", "models"):
        for row in sections[0][name]["rows"]:
            assert {"frameloom", "eager"} <= set(row["times"]) and {"frameloom", "eager"} <= set(row["errors"]), row
            assert all(0 < t < math.inf for t in row["times"].values())
            assert row["kernels"] > 0


def test_peers_that_need_a_gpu_are_left_out_with_the_reason(sections):
    notes = [note for row in sections[0]["attention"]["rows"] for note in row["notes"]]
    assert {"flash: no GPU", "cudnn: no GPU"} <= set(notes)
    assert "inductor: no GPU" in sections[0]["rows"]["rows"][0]["notes"]
    checked = sections[0]["sanitizer"]["rows"]
    assert [row["failed"] for row in checked] == ["no GPU"] * 2
    assert {name for row in checked for name in row["forms"]} <= set(sections[0]["forms"]["all"])


def test_compile_times(sections):
    *kernels, whole = sections[0]["compile"]["rows"]
    assert all(row["times"]["ptx"] > 0 and row["times"]["cubin"] > 0 for row in kernels)
    assert whole["cached"]["cached"] and not whole["cold"]["cached"]


def test_the_page_has_every_target_and_says_that_nothing_was_measured(sections):
    _, page, targets = sections
    start = page.index("## Targets")
    table = [line for line in page[start : page.index("## Forms")] if line.startswith("|")][2:]
    assert len(table) == targets + 1 and all("not run on hardware" in line for line in table)
    assert "No GPU was used" in "\n".join(page)


class Large:
    """A machine on which nothing runs: its rows are only listed."""

    tiny, missing = False, {}

    def facts(self):
        return {"cupy": "14"}


def test_rows_of_a_gpu_are_those_that_targets_ask_for(monkeypatch):
    import torch

    monkeypatch.setattr("gpu_forms.random", lambda machine, shape, *more: torch.zeros(shape))
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: self)
    groups = set()
    for section, (module, function, _, _) in gpu.SECTIONS.items():
        make = getattr(importlib.import_module(module), function)
        rows = list(make(Large(), None) if section == "compile" else make(Large()))
        names = [name for _, name, _ in rows]
        assert len(set(names)) == len(names) and not any("|" in name for name in names), section
        groups |= {group for group, _, _ in rows}
    assert groups == {group for target in gpu_table.TARGETS for group in target[1]} | {"sanitizer"}


# ---- crashes ----

SPOILED = """
import os, time

def row(name, act):
    def run():
        act()
        return {"group": "forms", "name": name, "times": {}, "errors": {}, "notes": []}
    return "forms", name, run

def breaks():
    import gpu_machine
    def fail(self):
        raise RuntimeError("an illegal address")
    gpu_machine.Nothing.synchronize = fail

def rows(machine):
    yield row("first", lambda: None)
    yield row("raises", lambda: 1 // 0)
    yield row("dies", lambda: os.kill(os.getpid(), 11))
    yield row("after death", lambda: None)
    yield row("hangs", lambda: time.sleep(1000))
    yield row("ends", lambda: os._exit(5))
    yield row("breaks", breaks)
    yield row("last", lambda: None)

def nothing(machine):
    raise RuntimeError("no section")
"""


def measured(folder, *arguments):
    (folder / "spoiled.py").write_text(SPOILED)
    done = run_python(
        BENCH / "gpu.py", "--driver", "none", "--out", folder, *arguments, environment={"PYTHONPATH": str(folder)}
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "gpu-nothing.json").read_text())["sections"], (folder / "gpu-nothing.md").read_text()


def test_a_row_that_breaks_does_not_take_others_with_it(tmp_path):
    found, page = measured(tmp_path, "--only", "spoiled:rows; spoiled:nothing", "--row-limit", "2")
    rows = {row["name"]: row.get("failed") for row in found["spoiled:rows"]["rows"]}
    assert rows == {
        "first": None,
        "raises": "ZeroDivisionError: integer division or modulo by zero",
        "dies": "ended by signal 11",
        "after death": None,
        "hangs": "more than 2 s",
        "ends": "exit status 5",
        "breaks": "the context is broken: an illegal address",
        "last": None,
    }
    assert found["spoiled:nothing"] == found["spoiled:nothing"] | {"rows": [], "note": "outside of any row: exit status 1"}
    assert " 3 of 8 " in page and "**ended by signal 11**" in page


def test_other_rows_are_kept(tmp_path):
    measured(tmp_path, "--only", "spoiled:rows", "--rows", "first")
    found, _ = measured(tmp_path, "--only", "spoiled:rows", "--missing", "--rows", "first|last")
    assert [row["name"] for row in found["spoiled:rows"]["rows"]] == ["first", "last"]
    found, _ = measured(tmp_path, "--only", "spoiled:rows", "--rows", "last|raises")
    rows = [(row["name"], "failed" in row) for row in found["spoiled:rows"]["rows"]]
    assert rows == [("first", False), ("raises", True), ("last", False)]


def test_without_a_gpu_it_ends_with_the_reason(tmp_path):
    done = run_python(BENCH / "gpu.py", "--out", tmp_path)
    assert done.returncode and "finds no GPU" in done.stderr and not list(tmp_path.iterdir())
    done = run_python(BENCH / "gpu.py", "--driver", "none")
    assert done.returncode and "--out is needed" in done.stderr


# ---- verdicts ----


def pointwise(**more):
    return {
        "group": "pointwise",
        "name": "a",
        "times": {"frameloom": 1.0, "copy": 0.95, "inductor": 1.02},
        "errors": {},
        "notes": [],
    } | more


@pytest.mark.parametrize(
    "row, wanted",
    [
        (pointwise(), "held"),
        (pointwise(times={"frameloom": 1.0, "copy": 0.9}), "**missed**"),
        (pointwise(times={}), "not measured"),
        (pointwise(wrong=0.5, times={}), "not measured"),
        (pointwise(**{"no time": True, "failed": "no time was left", "times": {}}), "not measured"),
    ],
)
def test_verdict(row, wanted):
    facts = {"machine": {"hardware": True}, "sections": {"memory": {"rows": [row]}}}
    found = {what: verdict for what, _, _, verdict in gpu_table.reached(facts)}
    assert found["pointwise, broadcast: of a copy's rate"] == wanted
    assert found["products of f64: of cuBLAS"] == "not measured"


def test_a_wrong_row_is_missed_beside_good_ones():
    facts = {
        "machine": {"hardware": True},
        "sections": {"memory": {"rows": [pointwise(), pointwise(name="b", wrong=0.5, times={})]}},
    }
    found = {what: (text, verdict) for what, _, text, verdict in gpu_table.reached(facts)}
    assert found["pointwise, broadcast: of a copy's rate"] == ("95 %; 1 wrong or failed", "**missed**")


class OnHost:
    """A machine whose results are on the CPU."""

    tiny, missing = True, {}

    def synchronize(self):
        pass

    def times(self, calls, seconds):
        return {name: 1.0 for name in calls}


@pytest.mark.parametrize(
    "spoil",
    [lambda t: t, lambda t: t.index_fill(0, t.new_zeros(1, dtype=int), 2), lambda t: t * float("nan"), lambda t: t[:-1]],
)
def test_a_wrong_result_has_no_time(spoil, monkeypatch):
    """One wrong element of many, a NaN, another shape."""
    import torch

    x = torch.randn(10000)
    row = gpu_machine.Row(OnHost(), "pointwise", "x")
    monkeypatch.setattr(row, "left_to_torch", lambda: None)
    good = row.judge({"frameloom": lambda: spoil(x * 0.1), "eager": lambda: x * 0.1}, lambda: x.double() * 0.1, 1e-7)
    facts = row.time(good)
    right = spoil(x) is x
    assert ("frameloom" in facts["times"]) == right == ("wrong" not in facts) and ("failed" not in facts) == right


def test_what_torch_runs_is_no_result():
    import torch

    row = gpu_machine.Row(OnHost(), "pointwise", "x")
    x = torch.randn(10)
    import frameloom.torch as ft

    ft.compiled_graphs.clear()
    row.judge({"frameloom": lambda: x * 2}, lambda: x.double() * 2, 1e-7)
    assert row.facts["failed"] == "RuntimeError: all of it was left to torch"


def test_device_times():
    """Calls are ordered while the device sleeps; the shortest of many counts."""
    said, clock = [], iter(range(10**6))

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            self.at = next(clock) ** 2
            said.append("record")

        def synchronize(self):
            said.append("wait")

        def elapsed_time(self, other):
            return float(other.at - self.at)

    gpu = gpu_machine.Gpu.__new__(gpu_machine.Gpu)
    gpu.torch = types.SimpleNamespace(cuda=types.SimpleNamespace(Event=Event, _sleep=lambda cycles: said.append("sleep")))
    best = gpu.times({"one": lambda: said.append("call")}, 0)
    turn = ["call", "sleep", "record", *["call", "record"] * gpu_machine.CALLS, "wait"]
    assert said == turn * 3 and best == {"one": 1e-3}
