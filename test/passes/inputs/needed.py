"""Is each call of some functions in a lowered module needed? `needed.py LOOM_RUN FILE NAME ...`: the simulator runs the module, which has to end well,
and then once without each of the calls. Prints how many calls of each function there are, and those without which the simulator finds no fault.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def fault(loom_run, text, folder):
    source = Path(folder) / "x.mlir"
    source.write_text(text)
    done = subprocess.run([loom_run, "--target=sim", "--seed=4", source], capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main():
    loom_run, path, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    lines = Path(path).read_text().split("\n")
    with tempfile.TemporaryDirectory() as folder:
        if found := fault(loom_run, "\n".join(lines), folder):
            sys.exit(f"{path}: {found}")
        for name in names:
            calls = [i for i, line in enumerate(lines) if re.search(rf"call @{name}\(", line)]
            idle = [n for n, i in enumerate(calls, 1) if not fault(loom_run, "\n".join(lines[:i] + lines[i + 1 :]), folder)]
            print(f"{name}: {len(calls)} calls, not needed: {idle or 'none'}")


if __name__ == "__main__":
    main()
