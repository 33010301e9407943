"""What the compiler library costs, linked with archives of LLVM and MLIR (as it is built) and with their shared libraries.

usage: library.py [--out FOLDER] [--runs N]

- size: of the stripped file, and deflated, as in a wheel; the shared form needs libLLVM.so and libMLIR.so beside it, whose
  sizes are given, too;
- link: the time that linking takes, once the files are in memory;
- open: `dlopen` in a new process;
- first compile: the first call of a compiled function in a new process with an empty disk cache, opening included.

Both are built from the same objects, those of the dev preset; processes alternate between them. Times are the best of
several.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bench  # noqa: E402

ROOT = HERE.parent
LLVM = Path(os.environ.get("LLVM_ROOT", "/usr/lib/llvm-22")) / "lib"

OPEN = """
import ctypes, os, sys, time
start = time.perf_counter()
ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_LOCAL)
print((time.perf_counter() - start) * 1e3)
"""

COMPILE = """
import time
import numpy as np, frameloom
f = frameloom.compile(lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), fullgraph=True)
x = np.linspace(-3, 3, 1000, dtype=np.float32)
start = time.perf_counter()
f(x)
print((time.perf_counter() - start) * 1e3)
"""


def build(static):
    """The folder of a package with the compiler library in one of the two forms, and the seconds that its link took."""
    import frameloom
    form = "static" if static else "shared"
    folder = ROOT / "build" / f"link-{form}"
    package = folder / "package" / "frameloom"
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DLOOM_PYTHON=OFF", "-DLOOM_WERROR=ON",
                    "-DLOOM_TESTS=OFF", f"-DLOOM_STATIC={'ON' if static else 'OFF'}", f"-DLOOM_PACKAGE_DIR={package}",
                    f"-DPython_EXECUTABLE={sys.executable}"], check=True, stdout=subprocess.DEVNULL)
    library = package / "libloom_compiler.so"
    command = ["cmake", "--build", folder, "--target", "loom_compiler"]
    seconds = []
    for _ in range(3):
        library.unlink(missing_ok=True)
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    subprocess.run(["strip", library], check=True)
    for file in Path(frameloom.__file__).parent.glob("_native*.so"):
        shutil.copy(file, package)
    return package, min(seconds)


def milliseconds(program, *arguments, path=None):
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ, FRAMELOOM_CACHE_DIR=cache, PYTHONPATH=str(path or ""))
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def mib(path):
    return os.path.getsize(os.path.realpath(path)) / 2**20


ROWS = (("size, stripped", "size_mib", "{:.1f} MiB"), ("deflated", "deflated_mib", "{:.1f} MiB"),
        ("libLLVM.so and libMLIR.so beside it", "llvm_mib", "{:.0f} MiB"), ("link", "link_s", "{:.1f} s"),
        ("open, in a new process", "open_ms", "{:.1f} ms"),
        ("first compile in a new process, opening included", "first_compile_ms", "{:.1f} ms"))


def page(facts):
    body = [[title, *(form.format(facts[k][key]) if key in facts[k] else "none" for k in ("static", "shared"))]
            for title, key, form in ROWS]
    return "\n".join([*bench.first_lines("The compiler library", facts),
                      "By `bench/library.py`; LLVM and MLIR in it (static, as it is built) and beside it (shared).", "",
                      *bench.table(["", "static", "shared"], body)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    packages, facts = {}, {}
    for form in ("shared", "static"):
        package, link = build(form == "static")
        library = package / "libloom_compiler.so"
        packages[form] = library
        facts[form] = {"size_mib": mib(library), "deflated_mib": len(zlib.compress(library.read_bytes(), 6)) / 2**20,
                       "link_s": link, "open_ms": float("inf"), "first_compile_ms": float("inf")}
    facts["shared"]["llvm_mib"] = sum(mib(LLVM / name) for name in ("libLLVM.so", "libMLIR.so"))
    for _ in range(options.runs):
        for form, library in packages.items():
            row = facts[form]
            row["open_ms"] = min(row["open_ms"], milliseconds(OPEN, str(library)))
            row["first_compile_ms"] = min(row["first_compile_ms"], milliseconds(COMPILE, path=library.parent.parent))
    bench.write(options.out, "library", facts, page)


if __name__ == "__main__":
    main()
