"""The programs that are measured, as a user would write them in NumPy.

Each row says what the program must at least do: `flops`, floating-point operations (a transcendental function counts
as one), and `bytes`, every input read once and every result written once. From these comes the bound that a program
is measured against.
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np


def tiny(a, b):
    return np.maximum(a * b + 1, 0)


def chain(a, b):
    t = a * b + 1
    t = t * a - b
    t = t * t + 0.5
    return np.sqrt(t) * a


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def cdf(x):
    """Of the normal distribution: Abramowitz and Stegun, formula 26.2.17."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x * x) * 0.3989422804014327 * poly
    return np.where(x >= 0, 1.0 - tail, tail)


def black_scholes(spot, strike, years):
    """Prices of European call and put options (Black and Scholes, 1973)."""
    rate, volatility = 0.03, 0.3
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    discounted = strike * np.exp(-rate * years)
    call = spot * cdf(d1) - discounted * cdf(d1 - deviation)
    return call, call - spot + discounted


def arc_distance(theta1, phi1, theta2, phi2):
    """Angle between two points of a sphere."""
    t = np.sin((theta2 - theta1) / 2) ** 2 + np.cos(theta1) * np.cos(theta2) * np.sin((phi2 - phi1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(t), np.sqrt(1 - t))


def sum_rows(x):
    return x.sum(axis=1)


def sum_columns(x):
    return x.sum(axis=0)


def mean_rows(x):
    return x.mean(axis=1)


def mean_columns(x):
    return x.mean(axis=0)


def var_rows(x):
    return x.var(axis=1)


def var_columns(x):
    return x.var(axis=0)


def argmax_rows(x):
    return x.argmax(axis=1)


def argmax_columns(x):
    return x.argmax(axis=0)


def transpose_add(a, b):
    return a.T + b


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(x, gain, bias):
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def pairwise(x, y):
    d = x[:, None, :] - y[None, :, :]
    return np.sqrt((d * d).sum(axis=-1))


def gemm(a, b):
    return a @ b


def mlp(x, w1, b1, w2, b2):
    h = x @ w1 + b1
    h = 0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))
    return h @ w2 + b2


def heat(u):
    """100 explicit steps of the heat equation on a plate with fixed borders."""
    u = u.copy()
    for _ in range(100):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


@dataclass(frozen=True)
class Program:
    name: str
    title: str
    function: Callable
    make: Callable  # of a random generator: the arguments
    flops: float
    bytes: float
    dtype: str = "float32"
    tolerance: float = 1e-5  # largest difference from NumPy's result, relative to its largest magnitude

    @property
    def key(self):
        """The function's name: what peers' variants are found by."""
        return self.function.__name__


def normal(*shapes, dtype=np.float32):
    """Arguments of these shapes with standard normal elements."""
    return lambda rng: tuple(rng.standard_normal(shape, dtype=dtype) for shape in shapes)


def options(rng):
    n, f32 = 1_000_000, np.float32
    return tuple(rng.uniform(low, high, n).astype(f32) for low, high in ((10, 200), (10, 200), (0.1, 3)))


def points(rng):
    return tuple(rng.uniform(0, 3, 1_000_000) for _ in range(4))


def weights(rng):
    f32 = np.float32
    return (rng.standard_normal((256, 768), dtype=f32), rng.standard_normal((768, 3072), dtype=f32) / f32(28),
            rng.standard_normal(3072, dtype=f32), rng.standard_normal((3072, 768), dtype=f32) / f32(55),
            rng.standard_normal(768, dtype=f32))


K, M = 1 << 10, 1 << 20
SQUARE = normal((4096, 4096))

PROGRAMS = [
    Program("tiny", "a*b+1, relu, n=16", tiny, normal(16, 16), 48, 192),
    Program("chain-64k", "8-op chain, 64k", chain, normal(64 * K, 64 * K), 8 * 64 * K, 12 * 64 * K),
    Program("chain-16m", "8-op chain, 16M", chain, normal(16 * M, 16 * M), 8 * 16 * M, 12 * 16 * M),
    Program("gelu", "GELU, 1M", gelu, normal(M), 8 * M, 8 * M),
    Program("black-scholes", "Black-Scholes, 1M", black_scholes, options, 50e6, 20e6, tolerance=1e-4),
    Program("arc-distance", "arc distance, 1M float64", arc_distance, points, 20e6, 40e6, "float64", 1e-12),
    *(Program(f.__name__.replace("_", "-"), f"{kind} over {axis}, 4096^2", f, SQUARE, flops * 16 * M, 64 * M)
      for kind, flops, pair in (("sum", 1, (sum_rows, sum_columns)), ("mean", 1, (mean_rows, mean_columns)),
                                ("var", 4, (var_rows, var_columns)), ("argmax", 1, (argmax_rows, argmax_columns)))
      for axis, f in zip(("rows", "columns"), pair)),
    Program("transpose-add", "a.T + b, 2048^2", transpose_add, normal((2048, 2048), (2048, 2048)), 4 * M, 48 * M),
    Program("softmax", "softmax, 2048x1024", softmax, normal((2048, 1024)), 5 * 2 * M, 16 * M),
    Program("layernorm", "layernorm, 2048x1024", layernorm, normal((2048, 1024), 1024, 1024), 8 * 2 * M, 16 * M),
    Program("pairwise", "pairwise distances, 1000x1000x16", pairwise, normal((1000, 16), (1000, 16)), 48e6, 4.1e6),
    *(Program(f"gemm-{n}", f"GEMM {n}", gemm, normal((n, n), (n, n)), 2 * n**3, 12 * n**2) for n in (128, 512, 1024)),
    Program("mlp", "MLP 256x768x3072", mlp, weights, 4 * 256 * 768 * 3072, 4 * (2 * 768 * 3072 + 2 * 256 * 768)),
    Program("heat", "heat stencil, 1000^2, 100 steps", heat, normal((1000, 1000)), 700e6, 8e6),
]
