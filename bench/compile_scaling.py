"""How the time that compiling takes grows with the size of a program: graphs of many shapes, each a function of n.

    python bench/compile_scaling.py [--sizes 500,1000,...] [--shapes chain,...] [--limit SECONDS] [--out FILE]

Each size is compiled in a process of its own without the disk cache. What counts is the CPU time of the first call, by
phase; the exponent is that of the last two sizes that were captured whole (past some size a function is left to Python:
FL0011) and should stay near 1. What is computed is compared with NumPy.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys

import numpy as np

SIZES = (500, 1000, 2000, 4000, 8000, 20000)


def lines(n, form):
    return [form.format(i=i, j=i % 7, f=(i % 13 + 1) / 16) for i in range(n)]


def random_graph(n):
    """Ops over random earlier values, near and far, with reductions that broadcast again; some values are outputs."""
    chance = random.Random(n)
    body = ["v0 = a", "v1 = b"]
    for i in range(2, n):
        near = chance.random() < 0.7
        x = f"v{chance.randrange(max(0, i - 8), i) if near else chance.randrange(i)}"
        y = f"v{chance.randrange(i)}"
        body.append(f"v{i} = " + chance.choice([
            f"({x} + {y}) * 0.5", f"np.tanh({x})", f"np.where({x} > {y}, {x}, 0.5)", f"{x} - {y}.mean()",
            f"np.minimum({x}, {y})", f"{x}[::-1] * 0.9", f"np.abs({x} * 0.25)"]))
    return body + ["return " + ", ".join(f"v{i}" for i in range(max(0, n - 3), n))]


# The body of def f(a, b, many): a and b are vectors of 16, `many` is a list of n vectors of 4.
SHAPES = {
    "chain": lambda n: lines(n // 2, "a = a * {f} + b") + ["return a"],
    "chain_of_calls": lambda n: lines(n, "a = np.sin(a)") + ["return a"],
    "functions": lambda n: lines(n // 4, "a, b = np.exp(np.sin(a)), np.log1p(np.tanh(b) ** 2)") + ["return a, b"],
    "wide_sum": lambda n: ["s = b"] + lines(n // 2, "s = s + a * {f}") + ["return s"],
    "outputs": lambda n: ["r = []"] + lines(n // 2, "r.append(a * {f} + {i})") + ["return r"],
    "inputs": lambda n: ["s = many[0]"] + lines(n, "s = s + many[{i}]") + ["return s"],
    "inputs_apart": lambda n: [f"return [x * 2 for x in many[:{n}]]"],
    "tree": lambda n: ["r = list(many)", "while len(r) > 1:",
                       "    r = [r[i] + r[i + 1] if i + 1 < len(r) else r[i] for i in range(0, len(r), 2)]", "return r[0]"],
    "ladder": lambda n: lines(n // 3, "a, b = (a + b) * 0.5, a - b") + ["return a, b"],
    "diamonds": lambda n: lines(n // 3, "a = (a + {f}) * (a - {f}) ") + ["return a"],
    "concatenate_one": lambda n: [f"return np.concatenate([a] * {n})"],
    "concatenate": lambda n: [f"return np.concatenate([a * (i / {n}) for i in range({n // 2})])"],
    "stack": lambda n: [f"return np.stack([a + i for i in range({n // 2})], axis=1)"],
    "stack_of_sums": lambda n: [f"return np.stack([(a * i).sum() for i in range({n // 3})])"],
    "concatenate_used": lambda n: [f"c = np.concatenate([a] * {n})", "return c * 2 + c[::-1]"],
    "nested_concatenate": lambda n: ["c = a"] + lines(n // 2, "c = np.concatenate([c[-16:], b + {i}])") + ["return c"],
    "reductions": lambda n: ["r = []"] + lines(n // 2, "r.append((a + {i}).sum())") + ["return r"],
    "reductions_in_turn": lambda n: lines(n // 3, "a = a - a.mean() * {f}") + ["return a"],
    "maxima_in_turn": lambda n: lines(n // 5, "a = (a * {f} + b) / (1 + np.abs(a).max())") + ["return a"],
    "products": lambda n: ["m = np.outer(b, b)"] + lines(n // 2, "a = (a @ m) * {f}") + ["return a"],
    "products_apart": lambda n: ["m = np.outer(b, b)", "s = a"] + lines(n // 3, "s = s + m @ (a + {i})") + ["return s"],
    "constants": lambda n: lines(n // 2, "a = a + np.arange({j}, {j} + 16)") + ["return a"],
    "arrays_of_numbers": lambda n: lines(n // 2, "a = a + np.array([{i}, {j}])[0]") + ["return a"],
    "views": lambda n: ["s = 0.0"] + lines(n // 3, "s = s + a[{j}:{j} + 8]") + ["return s"],
    "chain_of_views": lambda n: lines(n, "a = a[::-1]") + ["return a * 2"],
    "updates": lambda n: ["c = np.zeros((%d, 16))" % (n // 2)] + lines(n // 2, "c[{i}] = a * {f}") + ["return c"],
    "updates_in_turn": lambda n: ["c = np.zeros((%d, 16))" % (n // 3 + 1)] + lines(n // 3, "c[{i} + 1] = c[{i}] * {f} + a") +
                                 ["return c"],
    "updates_of_numbers": lambda n: ["c = np.zeros(%d)" % (n // 2)] + lines(n // 2, "c[{i}] = a[{j}] * {f}") + ["return c"],
    "updates_read": lambda n: ["c = a.copy()", "s = 0.0"] + lines(n // 4, "c[{j}] = s; s = s + c[{j} + 1]") + ["return c, s"],
    "writes": lambda n: lines(n // 2, "b[{j}] = a[{j}] + {i}") + ["return b * 1"],
    "writes_of_views": lambda n: ["v = b[4:]"] + lines(n // 2, "v[{j}:{j} + 3] += {f}") + ["return b * 1"],
    "in_place": lambda n: ["c = a * 1"] + lines(n // 2, "c += b * {f}") + ["return c"],
    "host_calls": lambda n: lines(n // 8, "a = np.interp(a, b, a) + {f}") + ["return a"],
    "casts": lambda n: lines(n // 3, "a = (a * {f}).astype(np.float32).astype(np.float64)") + ["return a"],
    "masks": lambda n: lines(n // 3, "a = np.where(a > {f}, a, b)") + ["return a"],
    "rows": lambda n: ["m = np.outer(a, b)"] + lines(n // 3, "m = m + m[{j}] * {f}") + ["return m"],
    "transposes": lambda n: ["m = np.outer(a, b)"] + lines(n // 2, "m = m.T * {f}") + ["return m"],
    "scans": lambda n: lines(n // 2, "a = np.cumsum(a) * 0.1") + ["return a"],
    "sorts": lambda n: lines(n // 2, "a = np.sort(a) * {f}") + ["return a"],
    "gathers": lambda n: ["k = np.arange(15, -1, -1)"] + lines(n // 2, "a = a[k] * {f}") + ["return a"],
    "random": random_graph,
}

WORKER = """
import json, resource, sys, time
sys.path.insert(0, {bench!r})
import numpy as np, frameloom, compile_scaling
sys.setrecursionlimit(100000)
frameloom.config.unroll_limit = 1 << 40
plain = compile_scaling.function({shape!r}, {n})
compiled = frameloom.compile(plain)
start = time.process_time()
with np.errstate(all="ignore"):
    got = compiled(*compile_scaling.arguments({n}))
taken = time.process_time() - start
times = {{}}
for _, _, phases in frameloom._native.compile_times():
    for name, ms in phases.items():
        times[name] = times.get(name, 0) + ms
report = compiled._report()
with np.errstate(all="ignore"):
    expected = plain(*compile_scaling.arguments({n}))
def flat(v):
    return np.concatenate([np.ravel(x) for x in v]) if isinstance(v, (list, tuple)) else np.ravel(v)
np.testing.assert_allclose(flat(got), flat(expected), rtol=1e-9, atol=1e-9)
print(json.dumps({{"cpu": taken, "phases": times, "breaks": sorted({{row[0] for row in report["breaks"] or ()}}),
      "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}}))
"""


def function(shape, n):
    names = {"np": np}
    exec("def f(a, b, many):\n" + "\n".join("    " + line for line in SHAPES[shape](n)), names)
    return names["f"]


def arguments(n):
    return np.linspace(0.1, 0.9, 16), np.linspace(-0.2, 0.2, 16), [np.full(4, i % 5 / 8) for i in range(n)]


def measure(shape, n, limit):
    code = WORKER.format(bench=str(__file__).rsplit("/", 1)[0], shape=shape, n=n)
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=limit,
                              env={**os.environ, "FRAMELOOM_CACHE": "0", "OMP_NUM_THREADS": "1"})
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        return {"error": (done.stderr or str(done.returncode)).strip().splitlines()[-1]}
    return json.loads(done.stdout)


def exponent(rows):
    good = [(n, row["cpu"]) for n, row in rows if row and "cpu" in row and not row["breaks"]]
    if len(good) < 2:
        return None
    (n, before), (m, after) = good[-2:]
    return round(math.log(after / before) / math.log(m / n), 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--out")
    options = parser.parse_args()
    results = {}
    for shape in options.shapes.split(","):
        rows = []
        for n in map(int, options.sizes.split(",")):
            row = measure(shape, n, options.limit)
            rows.append((n, row))
            if row is None or "error" in row:
                break
        results[shape] = {"exponent": exponent(rows),
                          "seconds": {n: round(row["cpu"], 3) if row and "cpu" in row else None for n, row in rows}}
        cells = [f"{n}: " + ("over the limit" if r is None else r.get("error") or f"{r['cpu']:.2f}") for n, r in rows]
        last = next((r["phases"] for _, r in reversed(rows) if r and "phases" in r), {})
        breaks = sorted({b for _, r in rows if r for b in r.get("breaks", ())})
        spent = f"breaks {breaks} " * bool(breaks) + " ".join(f"{k[:-3]} {v / 1e3:.1f}" for k, v in last.items() if v > 100)
        print(f"{shape:20} {results[shape]['exponent'] or 0:4.1f}  {'  '.join(cells)}  [{spent}]", flush=True)
    if options.out:
        with open(options.out, "w") as file:
            file.write(json.dumps(results).replace('}, "', '},\n "') + "\n")


if __name__ == "__main__":
    main()
