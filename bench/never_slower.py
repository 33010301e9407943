"""Is a compiled function ever slower than the plain one? Every program of plain_programs.py, after fifty calls.

usage: never_slower.py [--out FOLDER] [--calls 50] [--seconds 0.4] [--limit 1.1] [NAME ...]

The compiled function is called fifty times. Then plain and compiled runs take turns; a run is as many calls as take a
millisecond, with arguments made beforehand. Reported are the best and the median of the runs' wall time, the best of
their CPU time (of the whole process: threads count), and what the compiled function is by then (versions, breaks, FL0024:
left to Python). A program is slower when both its best wall time and its best time (the wall's or the CPUs', what is
less in each run: on a busy machine the wall's clock tells of other processes) are above the limit, and by more than what
a call of a function that does nothing takes; and that in each of three measurements. Results are compared with the
plain function's to 1e-6. Programs that are named are measured alone, and nothing is written.
"""

import argparse
import json
import os
import statistics
import time
from pathlib import Path

import numpy as np

from plain_programs import PROGRAMS

HERE = Path(__file__).resolve().parent
LEAST, MOST, RUN = 7, 40, 1e-3  # runs of a program, and seconds that one takes
NOTHING_US = 0.05
TIMES = 3  # that what seems slower is measured


def close(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, (np.ndarray, float, np.floating)):
        return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
    return a == b


def right(function, compiled, make):
    """Do both give the same, and leave the same in their arguments?"""
    given = make()
    other = [a.copy() if isinstance(a, (np.ndarray, list, dict)) else a for a in given]
    return close(function(*given), compiled(*other)) and all(map(close, given, other))


def one_run(call, make, count):
    given = [make() for _ in range(count)]
    wall, busy = time.perf_counter(), time.process_time()
    for arguments in given:
        call(*arguments)
    return (time.perf_counter() - wall) / count, (time.process_time() - busy) / count


def state(compiled):
    report = compiled._report()
    codes = sorted({f"FL{row[0]:04d}" for row in report["breaks"] or []})
    return len(report["entries"]), codes


def measure(name, calls, seconds):
    import frameloom

    function, make, kind = PROGRAMS[name]
    compiled = frameloom.compile(function)
    row = {"program": name, "kind": kind, "right": right(function, compiled, make)}
    for _ in range(calls - 1):
        compiled(*make())
    count = max(1, min(2000, int(RUN / max(one_run(function, make, 3)[0], 1e-7))))
    times = {"plain": [], "compiled": []}
    end = time.perf_counter() + seconds
    while len(times["plain"]) < LEAST or time.perf_counter() < end and len(times["plain"]) < MOST:
        for which, call in (("plain", function), ("compiled", compiled))[::1 - 2 * (len(times["plain"]) % 2)]:
            times[which].append(one_run(call, make, count))
    for which, runs in times.items():
        wall, busy = zip(*runs)
        row[which] = {"best_us": min(wall) * 1e6, "median_us": statistics.median(wall) * 1e6, "cpu_us": min(busy) * 1e6,
                      "least_us": min(map(min, runs)) * 1e6}
    row |= {key: row["compiled"][at] / row["plain"][at]
            for key, at in (("best", "best_us"), ("least", "least_us"), ("median", "median_us"), ("cpu", "cpu_us"))}
    row["versions"], row["codes"] = state(compiled)
    row["right"] &= right(function, compiled, make)
    return row


def show(us):
    return f"{us:.2f} us" if us < 1e3 else f"{us / 1e3:.2f} ms"


def slower(row, limit):
    more = min(row["compiled"][key] - row["plain"][key] for key in ("best_us", "least_us"))
    return min(row["best"], row["least"]) > limit and more > NOTHING_US


def table(rows, limit):
    yield "| program | kind | plain | compiled | compiled : plain, best | less of wall and CPU | median | CPU | versions | breaks | |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for r in rows:
        note = "SLOWER" if slower(r, limit) else ""
        yield (f"| {r['program']} | {r['kind']} | {show(r['plain']['best_us'])} | {show(r['compiled']['best_us'])} | "
               f"{r['best']:.2f} | {r['least']:.2f} | {r['median']:.2f} | {r['cpu']:.2f} | {r['versions']} | {' '.join(r['codes'])} | "
               f"{note if r['right'] else note + ' WRONG'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--limit", type=float, default=1.1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.environ["FRAMELOOM_CACHE"] = "0"
    rows = []
    for name in PROGRAMS:
        if options.names and not any(name.startswith(n) for n in options.names):
            continue
        for _ in range(TIMES):
            row = measure(name, options.calls, options.seconds)
            if not slower(row, options.limit):
                break
        rows.append(row)
        print(list(table(rows[-1:], options.limit))[-1], flush=True)
    bad = [r["program"] for r in rows if slower(r, options.limit) or not r["right"]]
    lines = ["# Never slower", "",
             f"By `bench/never_slower.py`: compiled after {options.calls} calls, beside the plain function in the same process, in "
             f"turns (slower: {options.limit:g} times and {NOTHING_US:g} us more, in each of {TIMES} measurements). {len(rows)} programs, "
             f"{len(bad)} slower{': ' + ', '.join(bad) if bad else ''}.", "", *table(rows, options.limit)]
    if not options.names:
        (options.out / "never_slower.md").write_text("\n".join(lines) + "\n")
        (options.out / "never_slower.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
