"""NPBench's programs, compiled as they are, beside NumPy: results and time.

usage: npbench.py FOLDER [--sizes S,M] [--out FOLDER] [--calls 50] [--seconds 3] [--limit 120] [NAME ...]

FOLDER is a checkout of NPBench, which this project does not hold: its `bench_info/*.json` name each program's function, its
arguments and its sizes. Each program runs in a process of its own, on one thread. The compiled function is called some times, on
arguments that are made anew; then plain and compiled calls take turns, and the best CPU time of each counts. What a call returns
and leaves in its arguments is compared with what the plain function does; where that differs, but one rounding of the arguments
moves the plain function's own results as far, this is noted. Programs that are named are measured alone, and nothing
is written.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ENOUGH = 0.95  # plain time / compiled time: what is below is marked
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def programs(folder):
    """What NPBench says of its programs, by the names of their files."""
    return {path.stem: json.loads(path.read_text())["benchmark"] for path in sorted((folder / "bench_info").glob("*.json"))}


def module_of(info, suffix):
    return importlib.import_module(f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}.{info['module_name']}{suffix}")


def arguments_maker(info, size):
    """A function that makes a program's arguments."""
    sizes = info["parameters"][size]
    if not info.get("init"):
        return lambda: [sizes[name] for name in info["input_args"]]
    initialize = getattr(module_of(info, ""), info["init"]["func_name"])
    names = info["init"]["output_args"]

    def make():
        np.random.seed(1)  # some arguments come from this generator
        made = initialize(*(sizes[name] for name in info["init"]["input_args"]))
        values = sizes | dict(zip(names, made if len(names) > 1 else [made], strict=True))
        return [values[name] for name in info["input_args"]]

    return make


def difference(got, want):
    """What is different, or ''."""
    if isinstance(want, (tuple, list)):
        return next((text for g, w in zip(got, want, strict=True) if (text := difference(g, w))), "")
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if want.dtype.kind not in "fc":
        return "" if np.array_equal(got, want) else "values"
    bound = max(1e-6, 1e4 * np.finfo(want.dtype).eps)
    scale = np.abs(want[np.isfinite(want)]).max(initial=0)
    return "" if np.allclose(got, want, rtol=bound, atol=bound * scale, equal_nan=True) else "values"


def far(got, want):
    """How far floats are from others, beside the largest of these."""
    pairs = [(np.asarray(g), np.asarray(w)) for g, w in zip(flat(got), flat(want), strict=True)]
    return [float(np.abs(g - w).max(initial=0) / (np.abs(w).max(initial=0) or 1)) if w.dtype.kind in "fc" else 0.0 for g, w in pairs]


def flat(values):
    return [v for value in values for v in (flat(value) if isinstance(value, (tuple, list)) else [value])]


def amplifies(plain, make, got, want):
    """Does one rounding of the arguments move NumPy's own results about as far? Then nothing is to be compared."""

    def moved():
        return [a * (1 + np.finfo(a.dtype).eps) if isinstance(a, np.ndarray) and a.dtype.kind in "fc" else a for a in make()]

    own = far(call(plain, moved)[1], want)
    return all(ours <= 8 * theirs + 1e-6 for ours, theirs in zip(far(got, want), own, strict=True))


def call(function, make):
    """The CPU seconds of a call, and what it has returned and left."""
    given = make()
    began = time.process_time()
    result = function(*given)
    return time.process_time() - began, [*given, *([] if result is None else [result])]


def measure(folder, name, size, options):
    """One program: a row of the table."""
    import frameloom

    sys.path.insert(0, str(folder))
    info = programs(folder)[name]
    plain, make = getattr(module_of(info, "_numpy"), info["func_name"]), arguments_maker(info, size)
    forms = {"plain": plain, "compiled": frameloom.compile(plain)}
    first, got = call(forms["compiled"], make)
    row = {"name": name, "size": size, "first": first, "wrong": difference(got, call(plain, make)[1])}
    end = time.monotonic() + options.limit / 2
    for _ in range(options.calls):
        call(forms["compiled"], make)
        if time.monotonic() > end:
            break
    times, end = {form: [] for form in forms}, time.monotonic() + options.seconds
    while len(times["plain"]) < 3 or time.monotonic() < end:
        left = {}
        for form, function in forms.items():
            took, left[form] = call(function, make)
            times[form].append(took)
    row["wrong"] = row["wrong"] or difference(left["compiled"], left["plain"])
    if row["wrong"] == "values" and amplifies(plain, make, left["compiled"], left["plain"]):
        row |= {"wrong": "", "note": "one rounding of an argument moves NumPy's results as far"}
    report = forms["compiled"]._report()
    row["breaks"] = sorted({row[1] for row in report["breaks"] or ()})
    return row | {form: min(took) for form, took in times.items()}


def table(rows):
    yield "| program | size | NumPy | compiled | NumPy : compiled | |"
    yield "|---|---|--:|--:|--:|---|"
    for row in rows:
        if "plain" not in row:
            yield f"| {row['name']} | {row['size']} | | | | {row['wrong']} |"
            continue
        ratio = row["plain"] / row["compiled"]
        note = " ".join(filter(None, [row["wrong"] and f"**{row['wrong']}**", ratio < ENOUGH and "BELOW", row.get("note")]))
        yield f"| {row['name']} | {row['size']} | {row['plain'] * 1e3:.3g} ms | {row['compiled'] * 1e3:.3g} ms | {ratio:.2f} | {note} |"


def run(folder, name, size, options):
    """The row of a program that is measured in a process of its own."""
    command = [sys.executable, __file__, str(folder), name, "--one", "--sizes", size]
    command += [f"--{key}={getattr(options, key)}" for key in ("calls", "seconds", "limit")]
    try:
        done = subprocess.run(command, env=os.environ | dict.fromkeys(THREADS, "1"), capture_output=True, text=True, timeout=3 * options.limit)
    except subprocess.TimeoutExpired:
        return {"name": name, "size": size, "wrong": f"not measured: it takes more than {3 * options.limit:g} s"}
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    why = (done.stderr.strip().splitlines() or [f"it ends with {done.returncode}"])[-1]
    return {"name": name, "size": size, "wrong": f"not measured: {why[:200]}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sizes", default="S")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--limit", type=float, default=120, help="seconds that one program may take, about")
    parser.add_argument("--one", action="store_true", help="measures NAME in this process")
    options = parser.parse_intermixed_args()
    if options.one:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(options.folder, options.names[0], options.sizes, options)))
        return 0
    rows = []
    for size in options.sizes.split(","):
        for name in options.names or programs(options.folder):
            rows.append(run(options.folder, name, size, options))
            print(list(table(rows[-1:]))[-1], flush=True)
    below = [f"{row['name']} {row['size']}" for row in rows if "plain" in row and row["plain"] < ENOUGH * row["compiled"]]
    wrong = [f"{row['name']} {row['size']}" for row in rows if "plain" in row and row["wrong"]]
    if not options.names:
        text = (f"By `bench/npbench.py`: NPBench's programs compiled as they are, beside NumPy; one thread, CPU time, the best of turns behind "
                f"{options.calls} calls. {len(rows)} programs, {sum('plain' in row for row in rows)} measured; wrong: {', '.join(wrong) or 'none'}; "
                f"below {ENOUGH:g}: {', '.join(below) or 'none'}.")
        (options.out / "npbench.md").write_text("\n".join(["# NPBench's programs", "", text, "", *table(rows)]) + "\n")
        (options.out / "npbench.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if below or wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
