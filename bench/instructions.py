"""What calls and compilations cost in instructions, which callgrind counts: the same on every machine and under any load.

usage: instructions.py [--out FOLDER] [PATH...]

- call: a call of a compiled function with ten globals, two cells and four arrays of 16 floats;
- cached: the first call of a function of ten operations whose plan is in the disk cache;
- capture: of a function of 600 operations, which no compiler sees (backend "interpret");
- cold: the first call of a function of ten operations with an empty disk cache.

Each is counted as the difference of two processes that do it more and less often, since what a process does beside
differs by some million instructions. Kernels are made for AVX2: valgrind knows no AVX-512, and no debug information as
Clang writes it, which a copy of the package is freed of. Run it before and behind a change, with the same build options.
All paths together take some minutes; a run of all of them writes the files of results.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

PATHS = {"call": (1000, 41000), "cached": (20, 120), "capture": (2, 12), "cold": (2, 6)}  # how often
TITLES = {"call": "a call with ten globals, two cells and four arrays", "cached": "a miss that finds its plan in the disk cache, of ten operations",
          "capture": "a capture of 600 operations", "cold": "a cold compile of ten operations"}
KEPT = ("cached",)  # their plans are made before, by a process that is not counted


def straight(count, seed):
    """A function of so many operations, another one for each seed."""
    steps = ["np.sin(x)", "x * 0.5", "x + {}.5", "np.sqrt(np.abs(x))", "x - y", "np.maximum(x, {}.25)", "x * y"]
    lines = [f"    x = {steps[(i * i + i // 7) % len(steps)].format(seed + i)}" for i in range(count)]
    scope = {}
    exec("import numpy as np\ndef f(x, y):\n" + "\n".join(lines) + f"\n    return x + {seed}.125", scope)
    return scope["f"]


def repeat(path, count):
    import numpy as np

    import frameloom
    from overhead import with_cells

    arrays = [np.full(16, i + 1, np.float32) for i in range(4)]
    if path == "call":
        function = frameloom.compile(with_cells())
        for _ in range(count):
            function(*arrays)
        return
    backend = "interpret" if path == "capture" else "loom"
    for seed in range(count):
        function = straight(600 if path == "capture" else 10, seed)
        frameloom.compile(function, backend=backend)(*arrays[:2])


def without_debug_information(folder):
    """A copy of the package that this tree has built: where it is."""
    shutil.copytree(HERE.parent / "python" / "frameloom", folder / "frameloom")
    for library in (folder / "frameloom").glob("*.so"):
        subprocess.run(["strip", "--strip-debug", library], check=True)
    return folder


def counted(path, count, folder):
    environment = {**os.environ, "FRAMELOOM_CPU": "x86-64-v3", "FRAMELOOM_CACHE_DIR": str(folder / "cache"),
                   "PYTHONHASHSEED": "0", "PYTHONPATH": str(folder),
                   "FRAMELOOM_CACHE": "0" if path == "cold" else "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
                   "FRAMELOOM_LEAVE_SLOWER": "0"}
    command = [sys.executable, __file__, "--repeat", str(count), path]
    if path in KEPT:
        subprocess.run(command, env=environment, check=True)
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command], env=environment,
                          capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def rows(facts):
    return [[title, f"{facts['counts'][path]:,}"] for path, title in TITLES.items()]


def page(facts):
    import bench

    return "\n".join([*bench.first_lines("Instructions", facts), f"By `bench/instructions.py`: {facts['versions']}.", "",
                      *bench.table(["path", "instructions"], rows(facts))]) + "\n"


def versions():
    import platform

    import numpy
    return f"callgrind, kernels for AVX2, CPython {platform.python_version()}, NumPy {numpy.__version__}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help=f"of {', '.join(PATHS)}; all by default")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--repeat", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.paths) - set(PATHS)
    if unknown:
        parser.error(f"no such path: {', '.join(sorted(unknown))}")
    if options.repeat:
        repeat(options.paths[0], options.repeat)
        return
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        package = without_debug_information(Path(folder))
        for path in options.paths or PATHS:
            few, many = PATHS[path]
            counts[path] = round((counted(path, many, package) - counted(path, few, package)) / (many - few))
            print(f"{path:8} {counts[path]:15,} instructions", file=sys.stderr, flush=True)
    if set(counts) == set(PATHS):
        import bench

        bench.write(options.out, "instructions", {"counts": counts, "versions": versions()}, page)


if __name__ == "__main__":
    main()
