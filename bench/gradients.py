"""Ten NumPy programs differentiated by frameloom.value_and_grad, beside JAX's.

usage: gradients.py [--seconds S] [--out FOLDER] [program ...]

For each: the time of a call of the plain program with NumPy, of the value and gradient with Frameloom and with JAX
(`jax.jit(jax.value_and_grad(...))` of the same program over jax.numpy, float64, results waited for), the time of the first call of
each, and whether the gradients agree. Calls alternate, and the best counts. One thread each. JAX's loops are Python's, so that
it unrolls them: loops of many steps have a version with `lax.fori_loop` or `lax.scan` beside them, which is what is timed for JAX.
What was to be reached: at most 1.2 times JAX's time, and a tenth of its time to compile.
"""

import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bench  # noqa: E402

if __name__ == "__main__":
    bench.limit_threads(1)

import numpy as np  # noqa: E402

TIMES, COMPILING = 1.2, 10
PROGRAMS, OTHERS = {}, {}
rng = np.random.default_rng(7)


def program(*arguments):
    """A function of (module, *arguments): by all arguments that are float arrays."""
    def add(function):
        PROGRAMS[function.__name__] = (function, [np.asarray(a) for a in arguments])
        return function
    return add


def for_jax(function):
    """The same program as JAX's users write its loop."""
    OTHERS[function.__name__.removesuffix("_jax")] = function
    return function


@program(rng.normal(size=30), rng.normal(size=1), rng.normal(size=(5000, 30)), np.sign(rng.normal(size=5000)))
def regression(xp, w, b, x, y):
    return xp.mean(xp.log(1 + xp.exp(-y * (x @ w + b)))) + 0.1 * xp.sum(w * w)


@program(rng.normal(size=(64, 256)) * 0.1, np.zeros(256), rng.normal(size=(256, 10)) * 0.1, np.zeros(10), rng.normal(size=(256, 64)),
         np.eye(10)[rng.integers(0, 10, 256)])
def perceptron(xp, w1, b1, w2, b2, x, y):
    out = xp.maximum(x @ w1 + b1, 0) @ w2 + b2
    out = out - xp.max(out, axis=1)[:, None]
    return -xp.mean(xp.sum(y * (out - xp.log(xp.sum(xp.exp(out), axis=1))[:, None]), axis=1))


def pendulum(xp, y, k):
    return xp.stack([y[1], -k[0] * xp.sin(y[0]) - k[1] * y[1]])


def runge_kutta_step(xp, y, k):
    h = 0.01
    k1 = pendulum(xp, y, k)
    k2 = pendulum(xp, y + h / 2 * k1, k)
    k3 = pendulum(xp, y + h / 2 * k2, k)
    k4 = pendulum(xp, y + h * k3, k)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@program(np.array([1.0, 0.0]), np.array([2.0, 0.1]))
def runge_kutta(xp, y, k):
    for _ in range(500):
        y = runge_kutta_step(xp, y, k)
    return xp.sum(y * y)


@for_jax
def runge_kutta_jax(xp, y, k):
    import jax

    y, _ = jax.lax.scan(lambda y, _: (runge_kutta_step(xp, y, k), None), y, None, length=500)
    return xp.sum(y * y)


def kalman_step(xp, state, a, q, seen):
    x, p, loss = state
    x, p = a @ x, a @ p @ a.T + q
    gain = xp.linalg.solve(p + q, p).T
    error = seen - x
    return x + gain @ error, p - gain @ p, loss + xp.sum(error * xp.linalg.solve(p + q, error))


definite = rng.normal(size=(4, 4))


@program(rng.normal(size=(4, 4)) * 0.3, definite @ definite.T + np.eye(4), rng.normal(size=(20, 4)))
def kalman(xp, a, q, seen):
    state = (seen[0] * 0, q * 1.0, 0.0)
    for i in range(20):
        state = kalman_step(xp, state, a, q, seen[i])
    return state[2]


@program(rng.uniform(80, 120, 100_000), rng.uniform(80, 120, 100_000), rng.uniform(0.1, 0.4, 100_000))
def black_scholes(xp, s, k, sigma):
    def cdf(x):
        return 0.5 * (1 + xp.tanh(0.79788456 * (x + 0.044715 * x**3)))

    d1 = (xp.log(s / k) + (0.01 + sigma * sigma / 2)) / sigma
    return xp.sum(s * cdf(d1) - k * 0.99 * cdf(d1 - sigma))


@program(np.sort(rng.normal(size=120)), rng.normal(size=120), 0.9, 0.7)
def gaussian_process(xp, x, y, scale, noise):
    d = x[:, None] - x[None, :]
    k = xp.exp(-d * d / (2 * scale * scale)) + noise * noise * np.eye(120)
    return 0.5 * xp.sum(y * xp.linalg.solve(k, y)) + 0.5 * xp.linalg.slogdet(k)[1]


@program(rng.normal(size=(16, 8)), rng.normal(size=(5000, 8)))
def k_means(xp, centers, points):
    d = xp.sum((points[:, None, :] - centers[None]) ** 2, axis=2)
    return xp.sum(xp.min(d, axis=1))


def heat_step(xp, u, source):
    inner = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return xp.concatenate([u[:1], inner, u[-1:]]) + 0.01 * source


@program(rng.normal(size=1000), rng.normal(size=1000))
def heat_fit(xp, source, seen):
    u = source * 0
    for _ in range(200):
        u = heat_step(xp, u, source)
    return xp.sum((u - seen) ** 2)


@for_jax
def heat_fit_jax(xp, source, seen):
    import jax

    u, _ = jax.lax.scan(lambda u, _: (heat_step(xp, u, source), None), source * 0, None, length=200)
    return xp.sum((u - seen) ** 2)


def lstm_step(xp, h, c, x, w, u, b):
    def logistic(v):
        return 1 / (1 + xp.exp(-v))

    gates = x @ w + h @ u + b
    c = logistic(gates[:, 32:64]) * c + logistic(gates[:, :32]) * xp.tanh(gates[:, 64:96])
    return logistic(gates[:, 96:]) * xp.tanh(c), c


@program(rng.normal(size=(16, 128)) * 0.3, rng.normal(size=(32, 128)) * 0.3, np.zeros(128), rng.normal(size=(40, 8, 16)))
def lstm(xp, w, u, b, x):
    h = c = xp.zeros((8, 32))
    for i in range(40):
        h, c = lstm_step(xp, h, c, x[i], w, u, b)
    return xp.sum(h * h)


@for_jax
def lstm_jax(xp, w, u, b, x):
    import jax

    zeros = xp.zeros((8, 32))
    (h, _), _ = jax.lax.scan(lambda s, x: (lstm_step(xp, *s, x, w, u, b), None), (zeros, zeros), x)
    return xp.sum(h * h)


@program(rng.normal(size=(256, 64)), *[rng.normal(size=(64, 64)) * 0.2 for _ in range(3)])
def attention(xp, x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = q @ k.T / 8
    scores = xp.exp(scores - xp.max(scores, axis=1)[:, None])
    return xp.sum(((scores / xp.sum(scores, axis=1)[:, None]) @ v) ** 2)


def once(function, arguments):
    start = time.perf_counter()
    found = function(*arguments)
    return time.perf_counter() - start, found


def measure(name, seconds):
    """Seconds of a call and of the first call of each; the largest relative difference of the gradients."""
    import frameloom
    import jax
    import jax.numpy as jnp

    function, arguments = PROGRAMS[name]
    numbers = tuple(range(len(arguments)))
    plain = lambda *a: function(np, *a)  # noqa: E731
    ours = frameloom.value_and_grad(plain, numbers)
    of_jax = OTHERS.get(name, function)
    jitted = jax.jit(jax.value_and_grad(lambda *a: of_jax(jnp, *a), numbers))
    theirs = lambda *a: jax.block_until_ready(jitted(*a))  # noqa: E731
    for_theirs = [jnp.asarray(a) for a in arguments]
    first_ours, (value, found) = once(ours, arguments)
    first_theirs, (other, expected) = once(theirs, for_theirs)
    apart = max([abs(value - float(other)) / max(1, abs(float(other)))]
                + [float(np.abs(a - np.asarray(b)).max()) / max(1.0, float(np.abs(np.asarray(b)).max())) for a, b in zip(found, expected)])
    best, end, rounds = [float("inf")] * 3, time.perf_counter() + seconds, 0
    while rounds < 5 or time.perf_counter() < end:
        for i, (f, a) in enumerate(((plain, arguments), (ours, arguments), (theirs, for_theirs))):
            best[i] = min(best[i], once(f, a)[0])
        rounds += 1
    return {"name": name, "numpy": best[0], "ours": best[1], "jax": best[2], "first": first_ours, "jax first": first_theirs, "apart": apart}


def page(facts):
    rows = []
    for row in facts["rows"]:
        ratio, compiling = row["ours"] / row["jax"], (row["jax first"] - row["jax"]) / max(row["first"] - row["ours"], 1e-9)
        rows.append([row["name"], bench.show_time(row["numpy"]), bench.show_time(row["ours"]), bench.show_time(row["jax"]), f"{ratio:.2f}",
                     "held" if ratio <= TIMES else "**missed**", bench.show_time(row["first"]), bench.show_time(row["jax first"]), f"{compiling:.1f}",
                     "held" if compiling >= COMPILING else "**missed**", f"{row['apart']:.0e}"])
    heading = ["program", "NumPy, the value alone", "value and gradient", "JAX's", "ours : JAX's", f"at most {TIMES}", "first call", "JAX's first call",
               "compiling, JAX's : ours", f"at least {COMPILING}", "gradients apart"]
    return "\n".join([
        *bench.first_lines("Gradients of NumPy programs", facts),
        f"By `bench/gradients.py` with {facts['versions']}: {facts['cpu']}. float64, one thread each, the best of alternating calls, no disk cache.",
        "JAX runs loops of equal steps by `lax.scan`, where the NumPy programs have Python's `for`.",
        "", *bench.table(heading, rows)]) + "\n"


def prepare():
    os.environ.update(FRAMELOOM_CACHE="0", JAX_PLATFORMS="cpu",
                      XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    import jax

    jax.config.update("jax_enable_x64", True)
    return f"NumPy {np.__version__}, JAX {jax.__version__}"


def told(row):
    return (f"{row['name']:18} NumPy {row['numpy'] * 1e3:8.3f}  ours {row['ours'] * 1e3:8.3f}  JAX {row['jax'] * 1e3:8.3f} ms  "
            f"ratio {row['ours'] / row['jax']:.2f}  first {row['first'] * 1e3:.0f} and {row['jax first'] * 1e3:.0f} ms, apart {row['apart']:.0e}")


if __name__ == "__main__":
    raise SystemExit(bench.main_of_functions(sys.modules[__name__], "gradients", PROGRAMS, prepare, told, 1e-8))
