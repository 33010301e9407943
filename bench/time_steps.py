"""Ten programs that step through time, as one writes them with NumPy: small arrays, many steps.

usage: time_steps.py [--out FOLDER]

For each: the time of a step with NumPy and compiled, the ratio, and what compiling cost (the first call less a later one,
no disk cache) for 1,000 and for 100,000 steps. Results are compared with NumPy's after 1,000 steps. One thread is enough
for arrays of this size, so the number of threads hardly matters.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bench  # noqa: E402

PROGRAMS = {}


def program(*arguments):
    def add(function):
        PROGRAMS[function.__name__] = (function, arguments)
        return function
    return add


R = np.random.default_rng(0)


@program(R.random((24, 24)), R.random((24, 24)))
def jacobi(u, f, steps):
    for _ in range(steps):
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1])
        u = v
    return u


@program(R.random(100))
def heat(u, steps):
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@program(R.random(100), R.random(100))
def wave(u, v, steps):
    for _ in range(steps):
        w = 2 * u - v
        w[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
        v, u = u, w
    return u


@program(np.zeros((16, 16)), np.zeros((16, 16)), np.zeros((16, 16)))
def cavity(u, v, p, steps):
    """Flow in a box whose lid moves: velocity by upwind differences, pressure by 20 Jacobi sweeps a step."""
    d, dt, rho, nu = 1 / 15, 0.001, 1.0, 0.1
    for _ in range(steps):
        un, vn, b = u.copy(), v.copy(), np.zeros_like(u)
        b[1:-1, 1:-1] = rho / dt * ((un[1:-1, 2:] - un[1:-1, :-2]) + (vn[2:, 1:-1] - vn[:-2, 1:-1])) / (2 * d)
        for _ in range(20):
            pn = p.copy()
            p[1:-1, 1:-1] = (pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1] - d**2 * b[1:-1, 1:-1]) / 4
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        u[1:-1, 1:-1] = (un[1:-1, 1:-1] - un[1:-1, 1:-1] * dt / d * (un[1:-1, 1:-1] - un[1:-1, :-2])
                         - dt / (2 * rho * d) * (p[1:-1, 2:] - p[1:-1, :-2])
                         + nu * dt / d**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2]))
        v[1:-1, 1:-1] = (vn[1:-1, 1:-1] - dt / (2 * rho * d) * (p[2:, 1:-1] - p[:-2, 1:-1])
                         + nu * dt / d**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1]))
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return u, v, p


@program(R.random((8, 3)), R.random((8, 3)), R.random(8))
def n_body(x, v, m, steps):
    for _ in range(steps):
        d = x[None, :, :] - x[:, None, :]
        r = (d * d).sum(-1) + 0.01
        v = v + 0.001 * (d * (m / (r * np.sqrt(r)))[:, :, None]).sum(1)
        x = x + 0.001 * v
    return x, v


@program((R.random((24, 24)) > 0.5).astype(np.int64))
def life(grid, steps):
    for _ in range(steps):
        around = sum(np.roll(np.roll(grid, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        grid = ((around == 3) | ((grid == 1) & (around == 2))).astype(grid.dtype)
    return grid


@program(np.float64(10.0), np.float64(5.0))
def lotka_volterra(x, y, steps):
    for _ in range(steps):
        x, y = x + 0.001 * (1.1 * x - 0.4 * x * y), y + 0.001 * (0.1 * x * y - 0.4 * y)
    return x, y


@program(R.random((16, 16)))
def power_iteration(a, steps):
    x = np.ones(a.shape[0])
    for _ in range(steps):
        y = a @ x
        x = y / np.linalg.norm(y)
    return x, x @ a @ x


@program(R.random((32, 6)), R.random(32))
def gradient_descent(x, y, steps):
    w = np.zeros(x.shape[1])
    for _ in range(steps):
        w = w - 0.01 * (x.T @ (x @ w - y)) / len(y)
    return w


@program((R.random(128) > 0.5).astype(np.uint8))
def automaton(cells, steps):
    """Wolfram's rule 30."""
    for _ in range(steps):
        cells = np.roll(cells, 1) ^ (cells | np.roll(cells, -1))
    return cells


def arguments(name):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in PROGRAMS[name][1]]


def flat(result):
    return np.concatenate([np.ravel(a) for a in (result if isinstance(result, tuple) else (result,))])


def timed(call, name, steps, repeat):
    best, result = float("inf"), None
    for _ in range(repeat):
        given = arguments(name)
        start = time.perf_counter()
        result = call(*given, steps)
        best = min(best, time.perf_counter() - start)
    return best, result


def measure(name):
    import frameloom

    function = PROGRAMS[name][0]
    row = {"program": name}
    plain, want = timed(function, name, 1000, 3)
    row["numpy_us"] = plain / 1000 * 1e6
    for steps in (1000, 100_000):
        frameloom.reset()
        compiled = frameloom.compile(function)
        first, _ = timed(compiled, name, steps, 1)
        best, got = timed(compiled, name, steps, 5 if steps == 1000 else 2)
        row[f"compile_{steps}_ms"] = (first - best) * 1e3
        row[f"step_{steps}_us"] = best / steps * 1e6
        if steps == 1000:
            row["right"] = bool(np.allclose(flat(got), flat(want), rtol=1e-6, equal_nan=True))
    row["ratio"] = row["numpy_us"] / row["step_1000_us"]
    return row


def page(facts):
    body = [[r["program"], f"{r['numpy_us']:.1f} us", bench.show_time(r["step_1000_us"] / 1e6), f"{r['ratio']:.0f}",
             bench.show_time(r["step_100000_us"] / 1e6), f"{r['compile_1000_ms']:.0f} ms", f"{r['compile_100000_ms']:.0f} ms",
             "yes" if r["right"] else "**NO**"] for r in facts["rows"]]
    heading = ["program", "NumPy, a step", "compiled, a step", "ratio", "a step of 100,000", "compiling for 1,000 steps",
               "for 100,000", "right"]
    return "\n".join([*bench.first_lines("Programs that step through time", facts),
                      "By `bench/time_steps.py`: NumPy's time of a step over ours, 1,000 steps; results compared with NumPy's.",
                      "", *bench.table(heading, body)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PROGRAMS), help="names of programs, separated by commas")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    os.environ["FRAMELOOM_CACHE"] = "0"
    rows = [measure(name) for name in options.only.split(",")]
    bench.write(options.out, "time_steps", {"rows": rows}, page)
    return 0 if all(r["right"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
