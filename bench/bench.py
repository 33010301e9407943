"""Frameloom against NumPy, numexpr, Numba, JAX and torch.compile, in one process, on the same number of threads.

usage: bench.py [--only PATTERN] [--threads N] [--seconds S] [--no-peers] [--quick] [--bounds] [--out FOLDER]

Every result is compared with NumPy's before it is timed; a wrong one is shown as such and takes no part. A time is the
best of many calls within `--seconds` for each program and implementation. There are two for each: in one the result of
a call is dropped before the next, so that its memory can be used again; in the other results are kept, so that each lies
in memory that the system has just given, whose pages are mapped when they are first written. An implementation that
keeps freed memory (what each does is in a table of its own, with the page faults of its calls) gains in the first
case alone. Columns:

- one time for each implementation;
- `ratio`: the best other implementation's time over Frameloom's, so that above 1 is faster;
- `of bound`: the time that the least work the program can do would need at the machine's limits, which are measured
  before and after the programs (bench/peak.c), over Frameloom's time; left out where a call takes less than 2 us. The
  limits are the FMA units' and, for the bytes, the highest rate of reading, writing, copying or a triad in what is at most
  as large as the program's arrays, so that the bound holds for what the caches keep between calls as well;
- `cold`, `cached`: the first call in a new process, less a later one whose result lies in memory as new as the first
  one's: with an empty disk cache and the compiler library already loaded (its loading is shown once, apart), and from
  the disk cache;
- `memory`: how much one process's memory rises above what it held before, at most, Frameloom's and NumPy's.
"""

import argparse
import atexit
import fnmatch
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
                    "NUMEXPR_MAX_THREADS", "NUMEXPR_NUM_THREADS")


def limit_threads(count):
    """Before any library is imported: all of them then see `count` CPUs."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    os.environ.update({name: str(count) for name in THREAD_VARIABLES})
    if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:  # a worker has its parent's
        folder = os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="bench-inductor-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


# ---- measuring ----


def best_time(function, arguments, seconds):
    """Shortest call in seconds; calls that take less than 20 us are timed in groups."""
    clock = time.perf_counter
    start = clock()
    function(*arguments)
    once = max(clock() - start, 1e-9)
    group = max(1, int(2e-5 / once)) if once < 2e-5 else 1
    if group > 1:
        group *= 10
    best, end, rounds = float("inf"), clock() + seconds, 0
    while rounds < 3 or clock() < end:
        start = clock()
        for _ in range(group):
            function(*arguments)
        best = min(best, (clock() - start) / group)
        rounds += 1
        if once > seconds and rounds >= 2:
            break
    return best


def difference(got, want):
    """Largest difference relative to the largest magnitude of NumPy's result; 1 where shapes differ."""
    import numpy as np
    got, want = (r if isinstance(r, (tuple, list)) else (r,) for r in (got, want))
    if len(got) != len(want):
        return 1.0
    worst = 0.0
    for g, w in zip(got, want):
        g, w = np.asarray(g), np.asarray(w)
        if g.shape != w.shape:
            return 1.0
        scale = float(np.max(np.abs(w))) or 1.0
        gap = float(np.max(np.abs(g.astype(np.float64) - w.astype(np.float64)))) / scale
        worst = max(worst, gap if gap == gap else 1.0)
    return worst


def nbytes(result):
    import numpy as np
    return sum(np.asarray(r).nbytes for r in (result if isinstance(result, (tuple, list)) else (result,)))


def results_time(function, arguments, size, keep):
    """(seconds, page faults) of a call whose result is dropped before the next call, or kept as all of them are; the
    first ones, which may find memory that was freed before, do not count."""
    kept, calls = [], []
    for _ in range(3 + max(4, min(12, (1 << 30) // size))):
        faults, start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.perf_counter()
        result = function(*arguments)
        calls.append((time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults))
        if keep:
            kept.append(result)
        del result
    seconds, faults = zip(*calls[3:])
    return min(seconds), sorted(faults)[len(faults) // 2]


# ---- bounds ----


def measure_peak(threads, quick=False):
    """The machine's limits, by bench/peak.c."""
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "peak")
        subprocess.run([os.environ.get("CC", "cc"), "-O3", "-march=native", "-ffp-contract=fast", "-pthread",
                        str(HERE / "peak.c"), "-o", binary], check=True)
        command = [binary, str(threads), *(["1"] if quick else [])]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def highest(one, other):
    """Of two measurements of the same limits: a machine that others use is slower at times, and never faster than it is."""
    if isinstance(other, dict):
        return {key: highest(one[key], value) if key in one else value for key, value in other.items()}
    return max(one, other)


def bound(row, peak):
    """Seconds that the least work of a program takes at the machine's limits. What is larger than the arrays of a
    measurement cannot be read or written faster than these, nor slower than what is larger still."""
    best = {int(size): max(rates.values()) for size, rates in peak["rates"].items()}
    fits = max([size for size in best if size <= row["bytes"]], default=min(best))
    rate = max(rate for size, rate in best.items() if size >= fits)
    return max(row["bytes"] / rate, row["flops"] / peak[row["dtype"]])


def of_bound(row, peak):
    """The bound over Frameloom's time, or None where there is none."""
    time = row["results"].get("frameloom", {}).get("time")
    if time is None or time < 2e-6 or "rates" not in peak or "bytes" not in row:
        return None
    return bound(row, peak) / time


def measure_bounds(facts, quick):
    """Again, as long as a program is faster than its bound, which says that the machine was slower when it was measured."""
    for _ in range(1 if quick else 4):
        facts["peak"] = highest(facts["peak"], measure_peak(facts["threads"], quick))
        if all((of_bound(row, facts["peak"]) or 0) <= 1 for row in facts["rows"]):
            break


# ---- one program in a process of its own ----


def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024


def worker(name, which, load_compiler):
    """Prints the first call's time and the memory that the calls need, as JSON."""
    import numpy as np
    from programs import PROGRAMS
    program = next(p for p in PROGRAMS if p.name == name)
    arguments, function, load_ms = program.make(np.random.default_rng(0)), program.function, None
    if which == "frameloom":
        import frameloom
        if load_compiler:
            load_ms = load_library(frameloom)
        function = frameloom.compile(function)
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")  # the peak starts again from here
    before, start = resident("VmRSS:"), time.perf_counter()
    function(*arguments)
    first = time.perf_counter() - start
    best_time(function, arguments, 0.2)
    memory = resident("VmHWM:") - before
    with open("/proc/self/maps") as maps:
        loaded = "libloom_compiler" in maps.read()
    print(json.dumps({"first": first, "fresh": fresh_time(function, arguments), "memory": memory, "load_ms": load_ms,
                      "compiler_loaded": loaded}))


def fresh_time(function, arguments):
    """A call whose result lies in memory that the system has just given, as the first call's does: its page faults may
    take longer than the kernel. Results are kept, so that no call gets the memory of another."""
    kept, times = [function(*arguments) for _ in range(2)], []
    for _ in range(3):
        start = time.perf_counter()
        kept.append(function(*arguments))
        times.append(time.perf_counter() - start)
    return min(times)


def load_library(frameloom):
    """Opens the compiler library, as the first miss of the cache does; ms, or None where it lies elsewhere."""
    import ctypes
    paths = list(Path(frameloom.__file__).parent.glob("libloom_compiler*.so"))
    if not paths:
        return None
    start = time.perf_counter()
    ctypes.CDLL(str(paths[0]), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    return (time.perf_counter() - start) * 1e3


def run_worker(name, which, folder, load_compiler=False):
    command = [sys.executable, str(HERE / "bench.py"), "--worker", name, which]
    environment = dict(os.environ, FRAMELOOM_CACHE_DIR=folder, FRAMELOOM_CACHE="1")
    command += ["--load-compiler"] * load_compiler
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        return None
    return json.loads(done.stdout.splitlines()[-1])


def added_time(runs):
    return max(0.0, min(r["first"] for r in runs) - min(r["fresh"] for r in runs))


def first_calls(program, runs=5):
    """Cold and cached first calls and memory, each in new processes; the best of several for times."""
    row = {}
    with tempfile.TemporaryDirectory() as root:
        cold, cached = [], []
        for i in range(runs):
            folder = os.path.join(root, str(i))
            os.mkdir(folder, 0o700)
            cold.append(run_worker(program.name, "frameloom", folder, load_compiler=True))
            cached.append(run_worker(program.name, "frameloom", folder))
        plain = run_worker(program.name, "numpy", root)
    if all(cold):
        row["cold"] = added_time(cold)
        loads = [r["load_ms"] for r in cold if r["load_ms"]]
        row["load_ms"] = min(loads) if loads else None
    if all(cached):
        row["cached"] = added_time(cached)
        row["compiler_loaded_from_cache"] = any(r["compiler_loaded"] for r in cached)
        row["memory"] = min(r["memory"] for r in cached)
    if plain:
        row["memory_numpy"] = plain["memory"]
    return row


# ---- all implementations of one program ----

LARGE_RESULT = 64 << 10  # bytes; smaller ones are hardly ever in new memory


class NumPy:
    name = "NumPy"
    results = "malloc for each call; what is large, the C library maps anew each time, from 4 MiB on in large pages"

    def __init__(self, threads):
        import numpy
        self.version = numpy.__version__

    def arrays(self, arguments):
        return arguments

    def build(self, program):
        return program.function


class Frameloom(NumPy):
    name = "frameloom"
    results = ("NumPy arrays over blocks that are kept when they are freed, up to FRAMELOOM_BLOCKS_LIMIT: below 2 MiB the C "
               "library's, from there on in large pages")

    def __init__(self, threads):
        import frameloom
        self.module, self.version = frameloom, getattr(frameloom, "__version__", "")

    def build(self, program):
        return self.module.compile(program.function)

    def why_not(self, program, arguments):
        """Why the program runs as plain Python, or None."""
        report = self.module.explain(program.function, *arguments)
        return str(report.break_reasons[0]).splitlines()[0] if report.graph_break_count else None


def measure(implementation, program, arguments, want, seconds):
    """{time, first, difference}, or {note} where there is nothing to time."""
    try:
        function = implementation.build(program)
        if function is None:
            return {"note": "-"}
        mine = implementation.arrays(arguments)
        start = time.perf_counter()
        got = function(*mine)
        first = time.perf_counter() - start
        gap = difference(got, want)
        if gap > program.tolerance:
            return {"note": "wrong", "difference": gap}
        size = nbytes(got)
        del got
        row = {"time": best_time(function, mine, seconds), "first": first, "difference": gap, "result_bytes": size}
        if size >= LARGE_RESULT:
            _, row["faults"] = results_time(function, mine, size, keep=False)
            row["new"], row["new_faults"] = results_time(function, mine, size, keep=True)
        time.sleep(0.1)  # its threads stop spinning
        return row
    except Exception as error:  # a peer that fails must not end the run; its message is kept
        return {"note": "failed", "error": f"{type(error).__name__}: {error}"[:500]}


def best_other(row, key):
    """(name of the fastest implementation but Frameloom, its time over Frameloom's), or (None, None)."""
    times = {name: result[key] for name, result in row["results"].items() if key in result}
    ours = times.pop("frameloom", None)
    best = min(times, key=times.get, default=None)
    return (best, times[best] / ours) if best and ours else (None, None)


def run_program(program, implementations, seconds, quick):
    import numpy as np
    arguments = program.make(np.random.default_rng(0))
    want = program.function(*arguments)
    row = {"name": program.name, "title": program.title, "flops": program.flops, "bytes": program.bytes,
           "dtype": program.dtype, "results": {}}
    for implementation in implementations:
        row["results"][implementation.name] = measure(implementation, program, arguments, want, seconds)
    if "time" in row["results"].get("frameloom", {}):
        frameloom = next(i for i in implementations if i.name == "frameloom")
        row["plain_python"] = frameloom.why_not(program, arguments)
        row["best_peer"], row["ratio"] = best_other(row, "time")
        if not row["plain_python"]:
            row.update(first_calls(program, 1 if quick else 5))
    return row


# ---- output ----


def show_time(seconds):
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}" if seconds * scale < 1000 else f"{seconds * scale:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def show_bytes(count):
    return "-" if count is None else f"{count / (1 << 20):.1f}M"


def show_share(share):
    """Of a bound: above 1 there is none, for the machine was slower when it was measured."""
    return "-" if share is None or share > 1 else f"{100 * share:.0f}%"


def time_cells(row, names, key="time"):
    for name in names:
        result = row["results"].get(name, {"note": "absent"})
        yield show_time(result[key]) if key in result else result.get("note", "-")


def cells(row, names, peak):
    yield from time_cells(row, names)
    yield f"{row['ratio']:.2f}" if row.get("ratio") else "-"
    if "rates" in peak:
        yield show_share(of_bound(row, peak))
    yield show_time(row.get("cold"))
    yield show_time(row.get("cached"))
    yield f"{show_bytes(row.get('memory'))} / {show_bytes(row.get('memory_numpy'))}" if "memory" in row else "-"
    yield "plain Python" if row.get("plain_python") else ""


def compile_cells(row, names):
    for name in names:
        result = row["results"].get(name, {})
        yield show_time(max(0.0, result["first"] - result["time"])) if "time" in result else "-"
    yield show_time(row.get("cold"))
    yield show_time(row.get("cached"))


def time_table(rows, names, peak):
    heading = ["program", *names, "ratio", *(["of bound"] if "rates" in peak else []), "cold", "cached", "memory", ""]
    return table(heading, [[row["title"], *cells(row, names, peak)] for row in rows])


def new_memory_table(rows, names):
    """Programs with large results: each in memory that the system has just given."""
    heading = ["result in new memory", *names, "ratio"]
    body = []
    for row in rows:
        if any("new" in result for result in row["results"].values()):
            ratio = best_other(row, "new")[1]
            body.append([row["title"], *time_cells(row, names, "new"), f"{ratio:.2f}" if ratio else "-"])
    return table(heading, body)


def faults_of(rows, name, key):
    """Page faults for each MiB of results, over all programs; None where none has a large result."""
    results = [row["results"].get(name, {}) for row in rows]
    size = sum(result["result_bytes"] for result in results if key in result)
    return sum(result[key] for result in results if key in result) * (1 << 20) / size if size else None


def results_table(facts):
    """What each implementation does about the memory of results (and, NumPy, of what is between them): a fault for each
    page that is written first, of which 1 MiB has 256, or half of one where the system gives large pages."""
    heading = ["memory of results", "what it does", "page faults per MiB of results: dropped", "kept"]
    faults = {name: [faults_of(facts["rows"], name, key) for key in ("faults", "new_faults")] for name in facts["versions"]}
    return table(heading, [[name, facts["of_results"][name], *("-" if f is None else f"{f:.3g}" for f in pair)]
                           for name, pair in faults.items() if name in facts["of_results"]])


def compile_table(rows, names):
    """First calls less the best: the others' in the run's own process, all their caches empty."""
    names = [name for name in names if name not in ("NumPy", "numexpr", "frameloom")]
    heading = ["first call", *names, "frameloom, cold", "frameloom, cached"]
    return table(heading, [[row["title"], *compile_cells(row, names)] for row in rows])


def table(heading, body):
    widths = [max(len(line[i]) for line in [heading, *body]) for i in range(len(heading))]
    for line in [heading, ["-" * width for width in widths], *body]:
        yield "| " + " | ".join(text.ljust(width) if i == 0 else text.rjust(width)
                                for i, (text, width) in enumerate(zip(line, widths))) + " |"


def show_rates(peak):
    if "rates" not in peak:
        return "the rates of caches were not measured in this run, so no share of a bound is shown"
    best = {int(size): max(rates.items(), key=lambda item: item[1]) for size, rates in peak["rates"].items()}
    return "memory at most " + ", ".join(f"{rate / 1e9:.0f} GB/s in {show_bytes(size)} ({name})"
                                         for size, (name, rate) in list(best.items())[::2])


def describe(facts):
    peak = facts["peak"]
    yield f"{facts['cpu']}, {facts['threads']} threads, Python {facts['python']}; " + ", ".join(
        f"{name} {version}" for name, version in facts["versions"].items())
    yield f"Peaks: {peak['float32'] / 1e9:.0f} GFLOP/s float32, {peak['float64'] / 1e9:.0f} GFLOP/s float64; {show_rates(peak)}."
    loads = [row["load_ms"] for row in facts["rows"] if row.get("load_ms")]
    if loads:
        yield f"Loading the compiler library: {min(loads):.0f} ms, once in a process, only on a miss of the disk cache."
    for row in facts["rows"]:
        if (of_bound(row, peak) or 0) > 1:
            yield f"{row['title']}: faster than the bound, so the machine was slower when that was measured: none is shown."
        if row.get("plain_python"):
            yield f"{row['title']}: runs as plain Python: {row['plain_python']}"
        for name, result in row["results"].items():
            if result.get("note") in ("wrong", "failed"):
                why = result.get("error") or f"differs from NumPy's result by {result['difference']:.1e}"
                yield f"{row['title']}: {name}: {why.splitlines()[0]}"


def cpu_name():
    with open("/proc/cpuinfo") as info:
        return next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")),
                    platform.machine())


def start_implementations(threads, with_peers):
    from peers import PEERS
    started, versions = [], {}
    for kind in [NumPy, *(PEERS if with_peers else []), Frameloom]:
        try:
            implementation = kind(threads)
        except ImportError as error:
            print(f"{kind.name} is not installed: {error}", file=sys.stderr)
            versions[kind.name] = "not installed"
            continue
        started.append(implementation)
        versions[kind.name] = implementation.version
    return started, versions


def page(facts):
    names, rows = list(facts["versions"]), facts["rows"]
    lines = [*first_lines("Measured by `make bench`", facts), *(f"- {line}" for line in describe(facts)), "",
             *time_table(rows, names, facts["peak"]), "",
             "Here a result is dropped before the next call, so that its memory can be used again.", ""]
    if "of_results" in facts:
        lines += ["Below results are kept, so that each lies in memory that the system has just given.", "",
                  *new_memory_table(rows, names), "", *results_table(facts), ""]
    else:
        lines += ["Results in new memory were not measured in this run.", ""]
    return "\n".join([*lines, *compile_table(rows, names)]) + "\n"


def first_lines(title, facts):
    """Of a page; the day is known of what was measured since it is kept."""
    return [f"# {title}", "", *([f"Measured on {facts['date']}.", ""] if "date" in facts else [])]


def write(folder, name, facts, page):
    """The facts, and the page that a function makes of them (and can make again: docs/figures.py)."""
    facts["date"] = time.strftime("%Y-%m-%d")
    text = page(facts)
    print(text, end="")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
    (folder / f"{name}.md").write_text(text)


def prepare_torch():
    """Readies torch for what is compiled anew and runs in one thread; the version that is compared."""
    os.environ.update(FRAMELOOM_CACHE="0", TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")
    import torch

    torch.set_num_threads(1)
    return f"torch {torch.__version__.split('+')[0]}"


def main_of_functions(module, name, functions, prepare, told, apart):
    """A command that measures functions by name with its `measure(name, seconds)` and writes the files of results `name`.
    `prepare()` comes first and says which versions are compared, `told(row)` is the line shown for a function. The status
    is 1 where results are further apart than that."""
    parser = argparse.ArgumentParser(description=module.__doc__.split("\n\n")[0])
    parser.add_argument("functions", nargs="*", metavar="NAME", help=f"of {', '.join(functions)}; all by default")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    versions, rows = prepare(), []
    for function in options.functions or functions:
        rows.append(module.measure(function, options.seconds))
        print(told(rows[-1]), file=sys.stderr, flush=True)
    write(options.out, name, {"rows": rows, "versions": versions, "cpu": cpu_name()}, module.page)
    return 0 if all(row["apart"] < apart for row in rows) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="names of programs, with wildcards, separated by commas")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=0.4, help="for each program and implementation")
    parser.add_argument("--no-peers", action="store_true", help="NumPy and frameloom only")
    parser.add_argument("--quick", action="store_true", help="each thing once: to see that it runs")
    parser.add_argument("--bounds", action="store_true", help="measure the machine's limits alone, for the results there are")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--load-compiler", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    limit_threads(options.threads)
    sys.path.insert(0, str(HERE))
    if options.worker:
        return worker(*options.worker, options.load_compiler)
    from programs import PROGRAMS
    if options.bounds:
        facts = json.loads((options.out / "bench.json").read_text())
        for row in facts["rows"]:
            program = next(p for p in PROGRAMS if p.name == row["name"])
            row.update(flops=program.flops, bytes=program.bytes, dtype=program.dtype)
        measure_bounds(facts, options.quick)
        return write(options.out, "bench", facts, page)
    implementations, versions = start_implementations(options.threads, not options.no_peers)
    patterns = options.only.split(",")
    facts = {"cpu": cpu_name(), "threads": options.threads, "python": platform.python_version(), "versions": versions,
             "of_results": {i.name: i.results for i in implementations},
             "peak": measure_peak(options.threads, options.quick), "rows": []}
    for program in PROGRAMS:
        if any(fnmatch.fnmatch(program.name, pattern) for pattern in patterns):
            print(f"{program.title} ...", file=sys.stderr, flush=True)
            facts["rows"].append(run_program(program, implementations, options.seconds, options.quick))
    measure_bounds(facts, options.quick)
    return write(options.out, "bench", facts, page)


if __name__ == "__main__":
    main()
