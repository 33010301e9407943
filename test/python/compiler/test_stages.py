"""What a trace dumps reads back, and computes the same after every stage: random programs are compiled with a trace, and each of
its files is run by `loom-opt --loom-interpret`, the graph by the reference interpreter, the plan on memory that is laid out as
it says, the lowered kernels as machine code."""

import collections
import math
import os
import random
import subprocess

import kernel_harness
import pytest
from ir_programs import Function
from paths import FUZZ
from processes import PATIENCE, run_python

pytestmark = pytest.mark.skipif(not kernel_harness.available(), reason="needs loom-opt and LLVM's tools")

STAGES = ("00-import", "01-fuse", "02-schedule", "03-plan", "04-lower", "05-llvm")
# A function that calls its library, or whose indices are out of bounds for 0, 1, 2, ..., cannot be run by itself.
CANNOT = ("needs its library", "out of bounds")


def interpret(path):
    """The lines that it prints, as (type, elements) by result; or what it says instead."""
    done = subprocess.run([kernel_harness.OPT, str(path), "--loom-interpret", "-o", os.devnull],
                          capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
    if done.returncode:
        return done.stderr
    results = {}
    for line in done.stdout.splitlines():
        head, _, rest = line.partition(": ")
        kind, *elements = rest.split(" ")
        results[head.split(" ")[-1]] = kind, elements
    return results


def near(x, y, bound):
    try:
        x, y = float(x), float(y)
    except ValueError:
        return False
    # What the sign of a NaN is, the hardware decides.
    return math.isnan(x) and math.isnan(y) or math.isclose(x, y, rel_tol=bound, abs_tol=bound)


def agrees(got, want, digits):
    """Element by element; digits: None for equal texts, else how many of floats agree."""
    if got == want or isinstance(got, str) or got.keys() != want.keys():
        return got == want
    for name, (kind, elements) in got.items():
        if kind != want[name][0] or len(elements) != len(want[name][1]):
            return False
        for x, y in zip(elements, want[name][1]):
            if x != y and (digits is None or not near(x, y, 10**-digits)):
                return False
    return True


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traced")
    done = run_python(FUZZ / "fuzz.py", "--kind", "numpy", "--seed", "11", "--seconds", "120", "--count", "60", "--processes", "1",
                      "--keep", folder / "kept",
                      environment={"FRAMELOOM_TRACE": str(folder / "trace"), "FRAMELOOM_CACHE_DIR": str(folder / "cache")})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(path for path in (folder / "trace").iterdir() if path.is_dir())


def test_every_stage_reads_back_and_computes_the_same(traced):
    ran, wrong = collections.Counter(), []
    for program in traced:
        want = interpret(program / "00-import.mlir")
        if isinstance(want, str):
            assert any(word in want for word in CANNOT), (program.name, want)
            ran["cannot"] += 1
            continue
        for stage in STAGES[1:]:
            path = program / f"{stage}.mlir"
            got = interpret(path)
            ran[stage] += 1
            if not agrees(got, want, 5 if stage >= "04" else None):
                wrong.append((path.name, path.read_text()[:2000], want, got))
    assert not wrong, f"{len(wrong)} stages differ: " + "\n".join(map(str, wrong[0]))
    assert min(ran[stage] for stage in STAGES[1:]) >= 40 > ran["cannot"], ran


def test_no_pass_changes_a_result_of_random_functions():
    """With special values, extremes and other sizes, which 0, 1, 2, ... are not."""
    rng = random.Random("stages 5")
    text = "".join(Function(rng, f"f{i}").text() for i in range(4))
    done = subprocess.run([kernel_harness.OPT, "--loom-check-stages=trials=4 explain", "-o", os.devnull, "-"], input=text,
                          capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
    assert done.returncode == 0 and "leave the results of 16 calls" in done.stderr, done.stderr


def test_a_difference_is_found():
    want = {"0": ("float32[2]", ["1", "2.5"])}
    assert agrees({"0": ("float32[2]", ["1", "2.5000001"])}, want, 5)
    assert not agrees({"0": ("float32[2]", ["1", "2.5000001"])}, want, None)
    assert not agrees({"0": ("float32[2]", ["1", "2.6"])}, want, 5)
    assert not agrees({"0": ("float32[2]", ["nan", "2.5"])}, want, 5)
    assert not agrees({"0": ("float64[2]", ["1", "2.5"])}, want, 5)
    assert not agrees("error: something", want, 5)
