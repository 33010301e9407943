"""What a call costs beyond its kernel, and what starting costs.

usage: overhead.py [--quick] [--out FOLDER]

- call: the time of a compiled call on arrays of 16 floats, results allocated, less an empty Python call of as many
  arguments (a kernel of 16 elements takes a few ns, which are not subtracted), beside NumPy's own time;
- capture: of straight code of 600 and 6,000 array operations, for each of them, from the report of the version;
- memory: what a hundred versions of one function keep of the C heap, for each: all but its code, which is mapped, and
  a few small objects of Python's;
- import: `import frameloom` in a new process after NumPy's import;
- cold: the first call with an empty disk cache, the compiler library's loading apart;
- cached: the first call in a new process from the disk cache, and whether the compiler library was loaded.

Each figure is the best of several, with what was to be reached beside.
"""

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bench  # noqa: E402


def one(a):
    return a + 1


def four(a, b, c, d):
    return a * b + c * d


G0 = G1 = G2 = G3 = G4 = G5 = G6 = G7 = G8 = G9 = 1.5


def with_cells():
    scale, shift = 2.0, 3.0

    def guarded(a, b, c, d):
        return (a * G0 + b * G1 + c * G2 + d * G3 + G4 + G5 + G6 + G7 + G8 + G9) * scale + shift

    return guarded


def nothing_of_one(a):
    return a


def nothing_of_four(a, b, c, d):
    return a


def per_call(function, arguments, seconds):
    """Best time of one call in ns, called as user code calls it; the loop's own cost is in it."""
    namespace = {"function": function, "arguments": arguments, "clock": time.perf_counter}
    names = ", ".join(f"a{i}" for i in range(len(arguments)))
    exec(f"""def loop(count):
    {names}, = arguments
    start = clock()
    for _ in range(count):
        function({names})
    return (clock() - start) / count
""", namespace)
    loop = namespace["loop"]
    loop(100)
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        best = min(best, loop(5000))
    return best * 1e9


def measure_calls(seconds):
    import frameloom
    import numpy as np
    arrays = [np.full(16, i + 1, np.float32) for i in range(4)]
    rows = {}
    cases = (("one array", one, nothing_of_one, 1), ("four arrays", four, nothing_of_four, 4),
             ("ten globals, two cells, four arrays", with_cells(), nothing_of_four, 4))
    for name, function, empty, count in cases:
        compiled, arguments = frameloom.compile(function), arrays[:count]
        assert np.array_equal(compiled(*arguments), function(*arguments))
        report = frameloom.explain(function, *arguments)
        rows[name] = {"call": per_call(compiled, arguments, seconds) - per_call(empty, arguments, seconds),
                      "numpy": per_call(function, arguments, seconds) - per_call(empty, arguments, seconds),
                      "plain_python": bool(report.graph_break_count)}
    return rows


def straight(count):
    """A function of `count` array operations, one after the other."""
    lines = "\n".join(f"    x = x * {1 + i % 7}e-3 + y" for i in range(count // 2))
    namespace = {}
    exec(f"def function(x, y):\n{lines}\n    return x", namespace)
    return namespace["function"]


def measure_capture(count):
    """Microseconds for each operation: the best of five."""
    import frameloom
    import numpy as np
    function, best, x = straight(count), float("inf"), np.ones(16)
    for _ in range(5):
        compiled = frameloom.compile(function, backend="interpret", fullgraph=True)
        compiled(x, x)
        best = min(best, compiled._report()["entries"][0]["times"]["capture_ms"])
    return best * 1e3 / count


class HeapInfo(ctypes.Structure):
    """mallinfo2() of the GNU C library."""
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
                                                     "fsmblks", "uordblks", "fordblks", "keepcost")]


def measure_memory(versions=100):
    """KiB that are kept of each version."""
    import frameloom
    import numpy as np
    libc = ctypes.CDLL("libc.so.6")
    libc.mallinfo2.restype = HeapInfo

    def heap():
        gc.collect()
        info = libc.mallinfo2()
        return info.uordblks + info.hblkhd

    compiled = frameloom.compile(with_cells(), dynamic=False)
    with frameloom.config.patch(recompile_limit=versions * 2):
        for n in range(2, 2 * versions + 2):
            if n == versions + 2:
                before = heap()
            compiled(*[np.ones(n, np.float32)] * 4)
        return (heap() - before) / versions / 1024


def in_new_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure_import():
    code = ("import time, json; import numpy; s = time.perf_counter(); import frameloom; "
            "print(json.dumps(time.perf_counter() - s))")
    return min(in_new_process(code) for _ in range(7)) * 1e3


def measure_first_calls(names, runs):
    from programs import PROGRAMS
    return {p.title: bench.first_calls(p, runs) for p in PROGRAMS if p.name in names}


def measured(facts):
    """What the page says: (what, figure or None, unit, what was to be reached at most or None, note)."""
    for (name, row), limit in zip(facts["calls"].items(), (150, 250, 400)):
        yield f"call, {name}", row["call"], "ns", limit, "runs as plain Python" if row["plain_python"] else ""
        yield f"call, {name}: NumPy", row["numpy"], "ns", None, ""
    for count, us in facts["capture_us"].items():
        yield f"capture of {int(count):,} operations, for each", us, "us", 20, ""
    yield "memory of a version beside its code", facts["memory_kib"], "KiB", 64, ""
    yield "import, beyond NumPy's", facts["import_ms"], "ms", 50, ""
    loads = [row["load_ms"] for row in facts["first"].values() if row.get("load_ms")]
    yield "loading the compiler library", min(loads) if loads else None, "ms", 60, ""
    for title, limit in (("GELU, 1M", 15), ("softmax, 2048x1024", 20), ("MLP 256x768x3072", 40)):
        row = facts["first"].get(title, {})
        cold, cached = row.get("cold"), row.get("cached")
        yield f"cold compile, {title}", cold and cold * 1e3, "ms", limit, ""
        note = "the compiler library was loaded" if row.get("compiler_loaded_from_cache") else ""
        yield f"from the disk cache, {title}", cached and cached * 1e3, "ms", 3, note


def show(value, unit):
    return "-" if value is None else f"{value:.0f} {unit}" if value >= 50 else f"{value:.1f} {unit}"


MISSED = "**missed**"


def verdict(value, limit):
    if limit is None:
        return ""
    return "not measured" if value is None else "held" if value <= limit else MISSED


def page(facts):
    body = [[what, show(value, unit), f"at most {limit:g} {unit}" if limit else "",
             ", ".join(filter(None, (verdict(value, limit), note)))] for what, value, unit, limit, note in measured(facts)]
    return "\n".join([*bench.first_lines("Costs of calls and starts", facts), "By `bench/overhead.py`, which says how each is measured.", "",
                      *bench.table(["", "measured", "to reach", ""], body)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="each thing once: to see that it runs")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    quick = options.quick
    facts = {"calls": measure_calls(0.01 if quick else 0.5), "import_ms": measure_import(),
             "capture_us": {count: measure_capture(count) for count in (600, 6000)}, "memory_kib": measure_memory(),
             "first": measure_first_calls(("gelu",) if quick else ("gelu", "softmax", "mlp"), 1 if quick else 5)}
    bench.write(options.out, "overhead", facts, page)


if __name__ == "__main__":
    main()
