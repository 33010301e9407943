"""What follows the workers of other libraries' tests and of the zoo from outside (test/suites/process.py)."""

import dataclasses
import importlib.util
import json
import sys
import types

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


def loaded(name, path):
    spec = importlib.util.spec_from_file_location(name, ROOT / "test" / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def process():
    return loaded("suites_process", "suites/process.py")


def test_what_was_known_stays_when_the_rest_crashes(process):
    run = process.Run("a", [sys.executable, "-c", WORKER], 600)
    assert {name: row["outcomes"] for name, row in run.rows.items()} == {"a": ["wrong"], "b": ["crash"], "c": ["torch cannot"]}


def test_each_row_is_heard_once_when_its_test_has_ended(process):
    """So that it can be kept before the others have run; what is known from before is not run again."""
    heard = []
    run = process.Run("a", [sys.executable, "-c", WORKER], 600, known={"b": {"id": "b", "outcomes": ["same"]}}, heard=heard.append)
    assert [(row["id"], row["outcomes"]) for row in heard] == [("a", ["wrong"]), ("c", ["torch cannot"])]
    assert run.rows.keys() == {"a", "c"}


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


def test_the_zoo_keeps_each_step_of_a_model_at_once(tmp_path):
    """A run that is killed between two steps loses none that has ended, and goes on behind it."""
    zoo = loaded("zoo_run", "zoo/run.py")
    zoo.door.kept = tmp_path
    files = []

    class Killed(Exception):
        pass

    def run_of(name, command, limit, environment, known, heard):
        heard({"id": "a/x build", "outcomes": ["built"]})
        heard({"id": "a/x forward", "outcomes": ["same"]})
        files.append((json.loads((tmp_path / "a-x.json").read_text()), sorted(known)))
        raise Killed

    options = types.SimpleNamespace(steps="forward,training", again=False, limit=1)
    zoo.process = types.SimpleNamespace(Run=run_of)
    for _ in range(2):
        with pytest.raises(Killed):
            zoo.run_batch(["a/x"], options)
    assert {step: row["outcomes"] for step, row in files[0][0].items()} == {"build": ["built"], "forward": ["same"]}
    assert [known for _, known in files] == [[], ["a/x build", "a/x forward"]]


@dataclasses.dataclass
class Stage:
    d: int = 4
    c: int = 256
    s: int = 2


@dataclasses.dataclass
class Plan:
    blocks: tuple = (Stage(), Stage(d=1))
    depths: tuple = (2, 0, 9)
    stem_chs: int = 64


@pytest.mark.parametrize("name, value, layers, channels", [
    ("depth", 12, 2, 2),
    ("depths", [3, 0, 9], [1, 0, 1], [1, 0, 1]),
    ("depth", ((1, 4, 0), (1, 4, 0)), ((1, 1, 0), (1, 1, 0)), ((1, 1, 0), (1, 1, 0))),
    ("dims", (40, 96, 768), (40, 96, 768), (40, 48, 384)),
    ("mlp_ratio", 4, 4, 4),
    ("block_args", [["a", "b"], ["c"]], [["a"], ["c"]], [["a"], ["c"]]),
    ("model_cfg", Plan(), Plan((Stage(2), Stage(1)), (1, 0, 1)), Plan((Stage(2, 128), Stage(1, 128)), (1, 0, 1))),
    ("model_cfg", {"stage": {"num_blocks": (4, 4), "channels": 64}}, {"stage": {"num_blocks": (1, 1), "channels": 64}},
     {"stage": {"num_blocks": (1, 1), "channels": 32}}),
])
def test_models_of_the_zoo_are_made_small_by_the_names_of_their_values(name, value, layers, channels):
    small = loaded("zoo_small", "zoo/small.py")
    assert small.smaller(name, value, False) == layers and small.smaller(name, value, True) == channels
