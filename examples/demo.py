"""Four NumPy programs as a user would write them, compiled: `make demo`."""

import time

import numpy as np

import frameloom


def black_scholes(spot, strike, years, rate, volatility):
    """Prices of European call and put options (Black and Scholes, 1973)."""
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation

    def cdf(x):  # Abramowitz and Stegun, formula 26.2.17
        k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
        poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        tail = np.exp(-0.5 * x * x) * 0.3989422804014327 * poly
        return np.where(x >= 0, 1.0 - tail, tail)

    discounted = strike * np.exp(-rate * years)
    call = spot * cdf(d1) - discounted * cdf(d2)
    return call, call - spot + discounted


def softmax(x):
    """Softmax of each row."""
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def mlp(x, w1, b1, w2, b2):
    """A two-layer perceptron with the tanh form of GELU."""
    h = x @ w1 + b1
    h = 0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))
    return h @ w2 + b2


def heat(u, steps):
    """Explicit steps of the heat equation on a plate with fixed borders."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def programs():
    """Yields (name, function, arguments)."""
    rng = np.random.default_rng(0)
    f32 = np.float32
    n = 1_000_000
    yield ("Black-Scholes, 1M options", black_scholes,
           (rng.uniform(10, 200, n).astype(f32), rng.uniform(10, 200, n).astype(f32),
            rng.uniform(0.1, 3, n).astype(f32), f32(0.03), f32(0.3)))
    yield "softmax 2048x1024", softmax, (rng.standard_normal((2048, 1024), dtype=f32),)
    yield ("MLP 256x768x3072", mlp,
           (rng.standard_normal((256, 768), dtype=f32), rng.standard_normal((768, 3072), dtype=f32) / 28,
            rng.standard_normal(3072, dtype=f32), rng.standard_normal((3072, 768), dtype=f32) / 55,
            rng.standard_normal(768, dtype=f32)))
    yield "heat, 1000x1000, 10 steps", heat, (rng.standard_normal((1000, 1000), dtype=f32), 10)


def best_ms(function, arguments, seconds=1.0):
    """Shortest of the calls that fit into `seconds`, in ms."""
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        function(*arguments)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def difference(got, want):
    """Largest difference relative to the largest magnitude of the expected result."""
    got, want = (r if isinstance(r, tuple) else (r,) for r in (got, want))
    return max(float(np.max(np.abs(g - w)) / np.max(np.abs(w))) for g, w in zip(got, want))


def main():
    heading = f"{'program':27} {'NumPy':>9} {'frameloom':>10} {'speed-up':>8} {'compile':>9} {'difference':>10}  kernels"
    print(heading)
    print("-" * len(heading))
    for name, function, arguments in programs():
        compiled = frameloom.compile(function)
        start = time.perf_counter()
        got = compiled(*arguments)
        first_ms = (time.perf_counter() - start) * 1e3
        report = frameloom.explain(function, *arguments)
        numpy_ms, ours_ms = best_ms(function, arguments), best_ms(compiled, arguments)
        if report.graph_break_count:
            kernels = "plain Python: " + str(report.break_reasons[0])
        else:
            kernels = f"{report.op_count} ops -> {report.kernel_count} kernel{'s' * (report.kernel_count != 1)}"
        print(f"{name:27} {numpy_ms:6.2f} ms {ours_ms:7.2f} ms {numpy_ms / ours_ms:7.1f}x "
              f"{max(0.0, first_ms - ours_ms):6.1f} ms {difference(got, function(*arguments)):10.1e}  {kernels}")


if __name__ == "__main__":
    main()
