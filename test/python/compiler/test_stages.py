"""What a trace dumps reads back, and computes the same after every stage: random programs are compiled with a trace, and each of
its files is run by `loom-opt --loom-interpret`, the graph by the reference interpreter, the plan on memory that is laid out as
it says, the lowered kernels as machine code.

`python test/python/compiler/test_stages.py FOLDER --count 200` checks that many programs of a trace: of the test-suite, for example,
when FRAMELOOM_TRACE was set while it ran."""

import argparse
import collections
import functools
import math
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import kernel_harness
import pytest
from ir_programs import Function
from paths import FUZZ, ROOT
from processes import PATIENCE, run_python

pytestmark = pytest.mark.skipif(not kernel_harness.available(), reason="needs loom-opt and LLVM's tools")

STAGES = ("00-import", "01-fuse", "02-schedule", "03-plan", "04-lower", "05-llvm")
# Of each stage the passes that follow, as far as machine code.
LLVM = ["convert-scf-to-cf", "convert-to-llvm", "reconcile-unrealized-casts"]
FUSED = ["loom-outline", "loom-keep", "loom-schedule"]
REST = {"00-import": ["loom-cpu"], "01-fuse": [*FUSED, "loom-plan", "loom-lower", *LLVM], "02-schedule": ["loom-plan", "loom-lower", *LLVM],
        "03-plan": ["loom-lower", *LLVM], "04-lower": LLVM, "05-llvm": []}
UNCHECKED = {"FRAMELOOM_CHECK": None}  # kernels that compare their accesses have one stage more
# A function that calls its library, or whose indices are out of bounds for 0, 1, 2, ..., cannot be run by itself.
CANNOT = ("needs its library", "out of bounds")


# Programs with sizes that are symbols, and graphs of torch's, forward and backward.
SYMBOLIC = """
import numpy as np, frameloom
def chain(x, y): return np.tanh(x * 2 + y).sum(axis=0) - x.mean()
def product(a, b): return a @ b.T + a.sum(axis=1)[:, None]
def stencil(u): v = u.copy(); v[1:-1] = (u[2:] + u[:-2]) / 2; return v, np.sort(v)
def steps(x):
    for _ in range(40): x = np.sin(x) + x[::-1]
    return x
def joined(a, b): return np.concatenate([a, b * 2]), np.where(a[:, None] > 0, a[:, None], b[None, :]).max(axis=1)
for f, shapes in (chain, [(0, 1), (0, 1)]), (product, [(0, 1), (2, 1)]), (stencil, [(0,)]), (steps, [(0,)]), (joined, [(0,), (1,)]):
    g = frameloom.compile(f)
    for n in 5, 8, 11:
        sizes = n, n + 1, n + 3
        g(*(np.linspace(0, 1, int(np.prod([sizes[i] for i in shape]))).reshape([sizes[i] for i in shape]) for shape in shapes))
"""
TORCH = """
import torch, frameloom.torch
from torch import nn
class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.p, self.n = nn.Linear(8, 24), nn.LayerNorm(8)
    def forward(self, x):
        q, k, v = self.p(self.n(x)).chunk(3, -1)
        return nn.functional.scaled_dot_product_attention(q, k, v).mean(1)
models = [nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8), nn.Softmax(-1)), Attend(),
          nn.Sequential(nn.Unflatten(-1, (2, 4)), nn.Flatten(1), nn.LazyLinear(5), nn.Tanh())]
for dynamic in False, True:
    for model in models:
        f = torch.compile(model, backend="frameloom", dynamic=dynamic)
        for n in (4,) if not dynamic else (4, 7):
            f(torch.randn(n, 6, 8)).sum().backward()
    torch._dynamo.reset()
"""


@functools.lru_cache(20)  # a program's first and last stage are asked for again
def interpret(path, *passes):
    """The lines that it prints, as (type, elements) by result; or what it says instead."""
    done = subprocess.run([kernel_harness.OPT, str(path), *("--" + p for p in passes), "--loom-interpret", "-o", os.devnull],
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
    done = run_python(FUZZ / "fuzz.py", "--kind", "numpy", "--seed", "11", "--seconds", "120", "--count", "40", "--processes", "1",
                      "--keep", folder / "kept",
                      environment={**UNCHECKED, "FRAMELOOM_TRACE": str(folder / "trace"), "FRAMELOOM_CACHE_DIR": str(folder / "cache")})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return programs(folder / "trace")


def programs(folder):
    return sorted(path for path in folder.iterdir() if path.is_dir())


def check_stages(programs, ran, digits=None):
    """Each stage computes what the graph does, and what the rest of the pipeline makes of it has the bits that the last one has.
    `digits`: how many have to agree before there is code, where passes add up in another order than the graph; None: all."""
    wrong = []
    for program in programs:
        want, last = interpret(program / "00-import.mlir"), interpret(program / "05-llvm.mlir")
        if isinstance(want, str):
            assert any(word in want for word in CANNOT), (program.name, want)
            ran["cannot"] += 1
            continue
        for stage in STAGES:
            path = program / f"{stage}.mlir"
            got, rest = interpret(path), interpret(path, *REST[stage])
            ran[stage] += 1
            if not agrees(got, want, 5 if stage >= "04" else digits) or not agrees(rest, last, None):
                wrong.append((path.name, path.read_text()[:2000], want, got, last, rest))
    assert not wrong, f"{len(wrong)} stages differ: " + "\n".join(map(str, wrong[0]))


def test_every_stage_reads_back_and_computes_the_same(traced):
    ran = collections.Counter()
    check_stages(traced, ran)
    assert min(ran[stage] for stage in STAGES) >= 25 > ran["cannot"], ran


def test_stages_of_code_are_written(traced):
    """LLVM IR that LLVM reads, assembly that is assembled, and what was decided; all with the user's lines and names."""
    program = next(p for p in traced if "k0_s0" in (p / "06-code.s").read_text())
    done = subprocess.run(["cc", "-c", "-x", "assembler", program / "06-code.s", "-o", os.devnull], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for form in "ll", "s":
        text = (program / f"06-code.{form}").read_text()
        assert "k0_s0" in text and (".loc" in text if form == "s" else "!DILocation" in text)
    decided = (program / "02-schedule.txt").read_text()
    assert "kernel @k0 of " in decided and "chunks" in decided and "loom-schedule: " in decided
    assert "plan @main: arena of " in (program / "03-plan.txt").read_text()


def test_the_users_names_and_lines_are_in_all_stages(tmp_path):
    source = tmp_path / "named.py"
    source.write_text("import numpy as np, frameloom\n@frameloom.compile\ndef f(left, right):\n    return np.sqrt(left) + right.sum(axis=0)\n"
                      "f(np.ones(900), np.ones((5, 900)))\n")
    done = run_python(source, environment={**UNCHECKED, "FRAMELOOM_TRACE": str(tmp_path / "trace")})
    assert done.returncode == 0, done.stderr
    (program,) = programs(tmp_path / "trace")
    for path in program.iterdir():
        text = path.read_text()
        if path.suffix != ".txt" or path.stem in ("02-schedule",):
            assert "left" in text and "right" in text, path.name
        assert "named.py" in text or path.stem == "03-plan", path.name


def test_symbolic_sizes_read_back_at_every_stage(tmp_path):
    (tmp_path / "programs.py").write_text(SYMBOLIC)
    done = run_python(tmp_path / "programs.py", environment={**UNCHECKED, "FRAMELOOM_TRACE": str(tmp_path / "trace")})
    assert done.returncode == 0, done.stderr
    found = programs(tmp_path / "trace")
    symbolic = [p for p in found if "loom.symbols" in (p / "00-import.mlir").read_text()]
    ran = collections.Counter()
    check_stages(found, ran)
    assert len(symbolic) >= 4 and ran["05-llvm"] >= 6, (len(symbolic), ran)


def test_torch_graphs_read_back_at_every_stage(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "programs.py").write_text(TORCH)
    done = run_python(tmp_path / "programs.py", environment={**UNCHECKED, "FRAMELOOM_TRACE": str(tmp_path / "trace")})
    assert done.returncode == 0, done.stderr
    ran = collections.Counter()
    check_stages(programs(tmp_path / "trace"), ran)
    assert ran["05-llvm"] >= 10, ran


def test_graphs_print_in_the_form_of_the_dialect(tmp_path):
    """As the logs and explain() show them: loom-opt reads it, and makes the same graph of it."""
    rng = random.Random("printed 3")
    run_test = os.path.join(kernel_harness.BUILD, "bin", "run-test")
    for _ in range(30):
        texts = [Function(rng, "main").text()]
        for command in [run_test, "-p"], [kernel_harness.OPT], [run_test, "-p"]:
            (tmp_path / "graph.mlir").write_text(texts[-1])
            done = subprocess.run([*command, tmp_path / "graph.mlir"], capture_output=True, text=True, timeout=PATIENCE)
            assert done.returncode == 0, (texts[-1], done.stdout, done.stderr)
            texts.append(done.stdout)
        assert texts[1] == texts[3] and '"loom.' not in texts[1], texts


def test_no_pass_changes_a_result_of_random_functions():
    """With special values, extremes and other sizes, which 0, 1, 2, ... are not."""
    rng = random.Random("stages 5")
    text = "".join(Function(rng, f"f{i}").text() for i in range(4))
    done = subprocess.run([kernel_harness.OPT, "--loom-check-stages=trials=4 explain", "-o", os.devnull, "-"], input=text,
                          capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
    assert done.returncode == 0 and "leave the results of 16 calls" in done.stderr, done.stderr


def test_random_functions_have_every_op():
    """All but calls of a library's functions, which loom-opt cannot make; with zero and one extents among them (run-test -s: symbols)."""
    text = "".join(Function(random.Random(f"every {i}"), f"f{i}").text() for i in range(6000))
    made = collections.Counter(re.findall(r"= loom\.(\w+)", text))
    table = (ROOT / "docs" / "dialect.md").read_text()
    missing = {name for name in re.findall(r"^\| \[`(\w+)`\]", table, re.MULTILINE) if not made[name]}
    assert missing == {"host_call"} and made["for"] > 50 and made["attention_gradient"] > 20, (missing, made)
    assert "tensor<0x" in text and "tensor<1x" in text


def test_a_difference_is_found():
    want = {"0": ("float32[2]", ["1", "2.5"])}
    assert agrees({"0": ("float32[2]", ["1", "2.5000001"])}, want, 5)
    assert not agrees({"0": ("float32[2]", ["1", "2.5000001"])}, want, None)
    assert not agrees({"0": ("float32[2]", ["1", "2.6"])}, want, 5)
    assert not agrees({"0": ("float32[2]", ["nan", "2.5"])}, want, 5)
    assert not agrees({"0": ("float64[2]", ["1", "2.5"])}, want, 5)
    assert not agrees("error: something", want, 5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="what FRAMELOOM_TRACE named")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    found, wrong, ran = programs(chosen.folder), 0, collections.Counter()
    for program in random.Random(chosen.seed).sample(found, min(chosen.count, len(found))):
        try:
            check_stages([program], ran, digits=9)
        except AssertionError as error:
            wrong += 1
            print(f"{program}: {error}", flush=True)
    print(f"{wrong} of {min(chosen.count, len(found))} programs differ: {dict(ran)}")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
