"""Random functions of `loom` ops, by the writer of test/targets: passes and the compiled plan against the reference interpreter."""

import importlib.util
import os
import random
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("LOOM_BUILD", ROOT / "build" / "dev")).resolve() / "bin"
PASSES = (["--loom-simplify"], ["--loom-regions", "--loom-simplify"], ["--loom-complex", "--loom-simplify", "--loom-thin", "--loom-simplify"],
          ["--loom-attend", "--loom-simplify"], ["--loom-forward", "--loom-simplify", "--canonicalize", "--cse"])


def writer():
    spec = importlib.util.spec_from_file_location("loom_functions", ROOT / "test" / "targets" / "inputs" / "fuzz.py")
    module = importlib.util.module_from_spec(spec)
    text = (ROOT / "test" / "targets" / "inputs" / "fuzz.py").read_text().removesuffix("main()\n")
    exec(compile(text, "fuzz.py", "exec"), module.__dict__)
    return module


def make(seed, index):
    return writer().Function(random.Random(f"ir {seed} {index}"), "f").text() + "\n"


def run(command, text):
    return subprocess.run([str(BUILD / command[0]), *command[1:]], input=text, capture_output=True, text=True, timeout=60)


def interpreted(passes, text):
    done = run(["loom-opt", *passes, "--loom-interpret", "-o", os.devnull, "-"], text)
    return done.returncode, done.stdout, done.stderr if done.returncode else ""


def check(text):
    found, want = [], interpreted([], text)
    if want[0] != 0:
        return [f"interpreter: {want[2][:400]}"]
    for passes in PASSES:
        got = interpreted(passes, text)
        if got[0] != 0 or not close(got[1], want[1]):
            found.append(f"value of {' '.join(passes)}: {got[1:]} instead of {want[1]}"[:1200])
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"fuzz-{os.getpid()}.mlir"
    path.write_text(text)
    for options in ([], ["-s"], ["-mx86-64-v3"], ["-s", "-mx86-64-v3"]):
        done = run(["run-test", *options, str(path)], "")
        if done.returncode or "differs" in done.stdout + done.stderr or "error" in done.stdout + done.stderr:
            found.append(f"plan of run-test {' '.join(options)}: status {done.returncode} {(done.stdout + done.stderr)[:600]}")
    path.unlink()
    return found


def close(got, want):
    """Numbers in printed rows; integers are the same, floats within what another order of operations gives."""
    g, w = got.split(), want.split()
    if len(g) != len(w):
        return False
    row = ""
    for a, b in zip(g, w):
        row = b if "[" in b else row
        if a == b:
            continue
        try:
            x, y = float(a), float(b)
        except ValueError:
            return False
        narrow = "float32" in row or "float16" in row
        if not row.startswith("float") or abs(x - y) > (1e-4 if narrow else 1e-10) * max(1, abs(y)):
            return False
    return True
