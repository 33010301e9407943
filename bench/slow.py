"""The random NumPy programs that gain least: of the corpus that `make test` runs, the ten whose calls are slowest beside NumPy's.

usage: slow.py [--seed S] [--count N] [--seconds S] [--out FOLDER]

The corpus is programs 0 to N of a seed (`scripts/fuzz.sh`, kind numpy; arrays of a few elements). Each is called 50 times, in
which what does not pay may be left to Python; then plain and compiled calls alternate, each with arguments made anew, which
are not timed, and the best of each counts. The ten with the lowest ratio are measured again, as long as `--seconds` says for each.
A program that raises is timed until it has raised. What was to be reached: at most 1.1 times NumPy's time.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "test" / "fuzz")]

import bench  # noqa: E402

WARM_UP = 50
SHOWN = 10
LIMIT = 1.1


def timed(function, arguments):
    start = time.perf_counter()
    try:
        function(*arguments)
    except Exception:  # as plain NumPy does, which the fuzzer has compared
        pass
    return time.perf_counter() - start


def measure(text, seconds):
    """{numpy, compiled, first}: seconds of a call; {breaks}: how many."""
    import frameloom
    import numpy_kind

    frameloom.reset()
    scope = numpy_kind.loaded(text)
    plain, make = scope["program"], scope["arguments"]
    compiled = frameloom.compile(plain, backend="loom")  # whatever the fuzzer runs it with
    first = timed(compiled, make(0))
    for _ in range(WARM_UP):
        timed(compiled, make(0))
    best, end, rounds = [float("inf")] * 2, time.perf_counter() + seconds, 0
    while rounds < 10 or time.perf_counter() < end:
        best = [min(b, timed(f, make(0))) for b, f in zip(best, (plain, compiled))]
        rounds += 1
    return {"numpy": best[0], "compiled": best[1], "first": first, "breaks": len(compiled._report()["breaks"] or ())}


def page(facts):
    rows = [[f"numpy {facts['seed']} {row['index']}", bench.show_time(row["numpy"]), bench.show_time(row["compiled"]),
             f"{row['numpy'] / row['compiled']:.2f}", bench.show_time(row["first"]), str(row["breaks"]),
             "held" if row["compiled"] <= LIMIT * row["numpy"] else "**missed**"] for row in facts["rows"]]
    heading = ["program", "NumPy", "compiled", "ratio", "first call", "graph breaks", f"at most {LIMIT} times NumPy's time"]
    ratios = sorted(facts["ratios"])
    return "\n".join([
        *bench.first_lines("The random programs that gain least", facts),
        f"By `bench/slow.py`: the {len(rows)} slowest beside NumPy of {len(ratios)} programs over arrays of a few elements, after",
        f"{WARM_UP} calls. The median of all runs {ratios[len(ratios) // 2]:.2f} times as fast as with NumPy;",
        f"{sum(r < 1 / LIMIT for r in ratios)} take more than {LIMIT} times NumPy's time.", "", *bench.table(heading, rows)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each of the slowest; a tenth for the others")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    os.environ["FRAMELOOM_CACHE"] = "0"
    import numpy_kind

    warnings.simplefilter("ignore")
    found = []
    for index in range(options.count):
        text = numpy_kind.make(options.seed, index)
        row = measure(text, options.seconds / 10)
        found.append((row["numpy"] / row["compiled"], index, text))
    slowest = sorted(found)[:SHOWN]
    rows = [{"index": index, "text": text} | measure(text, options.seconds) for _, index, text in slowest]
    rows.sort(key=lambda row: row["numpy"] / row["compiled"])
    facts = {"seed": options.seed, "ratios": [ratio for ratio, _, _ in found], "rows": rows}
    bench.write(options.out, "slow", facts, page)


if __name__ == "__main__":
    main()
