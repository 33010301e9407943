"""The same programs for numexpr, Numba, JAX and torch.compile, each as one of its users would write them.

A peer is a class with `name`, `version`, `build(program)` and `arrays(arguments)`; `build` returns a callable that
returns when its result is there, or None where the peer has no way to say the program in one piece.
"""

import re
import types

import numpy as np

try:
    from numba import prange
except ImportError:
    prange = range

# ---- numexpr: expressions; it computes a float32 with a literal in float64, so literals become variables ----

CDF_K = "(1.0 / (1.0 + 0.2316419 * abs(x)))"
CDF_POLY = "k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))"
ARC_T = "(sin((c - a) / 2.0) ** 2 + cos(a) * cos(c) * sin((d - b) / 2.0) ** 2)"
NUMEXPR = {
    "tiny": ("where(a * b + 1.0 > 0.0, a * b + 1.0, 0.0)", "a b"),
    "chain": ("sqrt(((a * b + 1.0) * a - b) ** 2 + 0.5) * a", "a b"),
    "gelu": ("0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))", "x"),
    "arc_distance": (f"2.0 * arctan2(sqrt({ARC_T}), sqrt(1.0 - {ARC_T}))", "a b c d"),
    "transpose_add": ("a + b", "a b"),
    "sum_rows": ("sum(x, 1)", "x"),
    "sum_columns": ("sum(x, 0)", "x"),
}


class Numexpr:
    name = "numexpr"
    results = "NumPy's arrays"

    def __init__(self, threads):
        import numexpr
        self.module, self.version = numexpr, numexpr.__version__
        numexpr.set_num_threads(threads)

    def arrays(self, arguments):
        return arguments

    def expression(self, text, dtype):
        """A callable of named arrays."""
        literals = sorted(set(re.findall(r"\d+\.\d+", text)), key=len, reverse=True)
        constants = {f"constant{i}": np.dtype(dtype).type(literal) for i, literal in enumerate(literals)}
        names = {literal: name for literal, name in zip(literals, constants)}
        text = re.sub(r"\d+\.\d+", lambda match: names[match[0]], text)
        evaluate = self.module.evaluate
        return lambda **arrays: evaluate(text, local_dict=arrays | constants)

    def build(self, program):
        if program.key == "black_scholes":
            return self.black_scholes(program.dtype)
        if program.key not in NUMEXPR:
            return None
        text, names = NUMEXPR[program.key]
        run, names = self.expression(text, program.dtype), names.split()
        if program.key == "transpose_add":
            return lambda a, b: run(a=a.T, b=b)
        return lambda *arguments: run(**dict(zip(names, arguments)))

    def black_scholes(self, dtype):
        """In steps, each an expression: numexpr has neither functions nor two results."""
        steps = [("deviation", "0.3 * sqrt(years)"), ("d1", "(log(spot / strike) + 0.075 * years) / deviation"),
                 ("d2", "d1 - deviation"), ("k", CDF_K.replace("x", "d1")), ("n1", CDF_POLY),
                 ("n1", "exp(-0.5 * d1 * d1) * 0.3989422804014327 * n1"), ("n1", "where(d1 >= 0.0, 1.0 - n1, n1)"),
                 ("k", CDF_K.replace("x", "d2")), ("n2", CDF_POLY),
                 ("n2", "exp(-0.5 * d2 * d2) * 0.3989422804014327 * n2"), ("n2", "where(d2 >= 0.0, 1.0 - n2, n2)"),
                 ("discounted", "strike * exp(-0.03 * years)"), ("call", "spot * n1 - discounted * n2"),
                 ("put", "call - spot + discounted")]
        steps = [(name, self.expression(text, dtype)) for name, text in steps]

        def run(spot, strike, years):
            values = {"spot": spot, "strike": strike, "years": years}
            for name, step in steps:
                values[name] = step(**values)
            return values["call"], values["put"]

        return run


# ---- Numba: loops, parallel over the outer one ----


def numba_tiny(a, b):
    out = np.empty_like(a)
    for i in range(a.size):
        out[i] = max(a[i] * b[i] + np.float32(1), np.float32(0))
    return out


def numba_chain(a, b):
    out = np.empty_like(a)
    for i in prange(a.size):
        t = a[i] * b[i] + np.float32(1)
        t = t * a[i] - b[i]
        t = t * t + np.float32(0.5)
        out[i] = np.sqrt(t) * a[i]
    return out


def numba_gelu(x):
    out = np.empty_like(x)
    for i in prange(x.size):
        v = x[i]
        inner = np.float32(0.7978845608) * (v + np.float32(0.044715) * v * v * v)
        out[i] = np.float32(0.5) * v * (np.float32(1) + np.tanh(inner))
    return out


def numba_black_scholes(spot, strike, years):
    f = np.float32
    call, put = np.empty_like(spot), np.empty_like(spot)
    for i in prange(spot.size):
        deviation = f(0.3) * np.sqrt(years[i])
        d1 = (np.log(spot[i] / strike[i]) + f(0.075) * years[i]) / deviation
        d2 = d1 - deviation
        k = f(1) / (f(1) + f(0.2316419) * abs(d1))
        poly = k * (f(0.319381530) + k * (f(-0.356563782) + k * (f(1.781477937) + k * (f(-1.821255978)
                                                                                       + k * f(1.330274429)))))
        n1 = np.exp(f(-0.5) * d1 * d1) * f(0.3989422804014327) * poly
        if d1 >= 0:
            n1 = f(1) - n1
        k = f(1) / (f(1) + f(0.2316419) * abs(d2))
        poly = k * (f(0.319381530) + k * (f(-0.356563782) + k * (f(1.781477937) + k * (f(-1.821255978)
                                                                                       + k * f(1.330274429)))))
        n2 = np.exp(f(-0.5) * d2 * d2) * f(0.3989422804014327) * poly
        if d2 >= 0:
            n2 = f(1) - n2
        discounted = strike[i] * np.exp(f(-0.03) * years[i])
        call[i] = spot[i] * n1 - discounted * n2
        put[i] = call[i] - spot[i] + discounted
    return call, put


def numba_arc_distance(theta1, phi1, theta2, phi2):
    out = np.empty_like(theta1)
    for i in prange(theta1.size):
        s, u = np.sin((theta2[i] - theta1[i]) / 2), np.sin((phi2[i] - phi1[i]) / 2)
        t = s * s + np.cos(theta1[i]) * np.cos(theta2[i]) * u * u
        out[i] = 2 * np.arctan2(np.sqrt(t), np.sqrt(1 - t))
    return out


def numba_sum_rows(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        out[i] = x[i].sum()
    return out


def numba_mean_rows(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        out[i] = x[i].sum() / np.float32(x.shape[1])
    return out


def numba_var_rows(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        out[i] = x[i].var()
    return out


def numba_argmax_rows(x):
    out = np.empty(x.shape[0], np.int64)
    for i in prange(x.shape[0]):
        out[i] = x[i].argmax()
    return out


def numba_sum_columns(x):
    blocks = 16
    part = np.zeros((blocks, x.shape[1]), x.dtype)
    for b in prange(blocks):
        for i in range(x.shape[0] * b // blocks, x.shape[0] * (b + 1) // blocks):
            for j in range(x.shape[1]):
                part[b, j] += x[i, j]
    return part.sum(axis=0)


def numba_mean_columns(x):
    blocks = 16
    part = np.zeros((blocks, x.shape[1]), x.dtype)
    for b in prange(blocks):
        for i in range(x.shape[0] * b // blocks, x.shape[0] * (b + 1) // blocks):
            for j in range(x.shape[1]):
                part[b, j] += x[i, j]
    return part.sum(axis=0) / np.float32(x.shape[0])


def numba_var_columns(x):
    blocks = 16
    part = np.zeros((blocks, x.shape[1]), x.dtype)
    for b in prange(blocks):
        for i in range(x.shape[0] * b // blocks, x.shape[0] * (b + 1) // blocks):
            for j in range(x.shape[1]):
                part[b, j] += x[i, j]
    mean = part.sum(axis=0) / np.float32(x.shape[0])
    part[:] = 0
    for b in prange(blocks):
        for i in range(x.shape[0] * b // blocks, x.shape[0] * (b + 1) // blocks):
            for j in range(x.shape[1]):
                d = x[i, j] - mean[j]
                part[b, j] += d * d
    return part.sum(axis=0) / np.float32(x.shape[0])


def numba_argmax_columns(x):
    out = np.zeros(x.shape[1], np.int64)
    width = 256
    for b in prange((x.shape[1] + width - 1) // width):
        first, last = b * width, min((b + 1) * width, x.shape[1])
        best = x[0, first:last].copy()
        for i in range(1, x.shape[0]):
            for j in range(first, last):
                if x[i, j] > best[j - first]:
                    best[j - first] = x[i, j]
                    out[j] = i
    return out


def numba_transpose_add(a, b):
    out = np.empty_like(b)
    n, m, tile = b.shape[0], b.shape[1], 32
    for block in prange((n + tile - 1) // tile):
        for start in range(0, m, tile):
            for i in range(block * tile, min((block + 1) * tile, n)):
                for j in range(start, min(start + tile, m)):
                    out[i, j] = a[j, i] + b[i, j]
    return out


def numba_softmax(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


def numba_layernorm(x, gain, bias):
    out = np.empty_like(x)
    n = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        mean = x[i].sum() / n
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += (x[i, j] - mean) * (x[i, j] - mean)
        scale = np.float32(1) / np.sqrt(total / n + np.float32(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * scale * gain[j] + bias[j]
    return out


def numba_pairwise(x, y):
    out = np.empty((x.shape[0], y.shape[0]), x.dtype)
    for i in prange(x.shape[0]):
        for j in range(y.shape[0]):
            total = np.float32(0)
            for k in range(x.shape[1]):
                d = x[i, k] - y[j, k]
                total += d * d
            out[i, j] = np.sqrt(total)
    return out


def numba_heat(u):
    a, b = u.copy(), u.copy()
    for _ in range(100):
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                total = a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1] - np.float32(4) * a[i, j]
                b[i, j] = a[i, j] + np.float32(0.1) * total
        a, b = b, a
    return a


class Numba:
    name = "Numba"
    results = "malloc for each call, by its own runtime"

    def __init__(self, threads):
        import numba
        self.module, self.version = numba, numba.__version__
        numba.set_num_threads(threads)

    def arrays(self, arguments):
        return arguments

    def build(self, program):
        function = globals().get("numba_" + program.key)
        if function is None:
            return None
        return self.module.njit(parallel=program.key != "tiny", error_model="numpy")(function)


# ---- JAX: the NumPy source itself with jax.numpy in NumPy's place; heat needs a functional update ----


def jax_heat(u):
    import jax

    def step(_, u):
        inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].add(0.1 * inner)

    return jax.lax.fori_loop(0, 100, step, u)


class Jax:
    name = "JAX"
    results = "XLA's arrays: aligned malloc for each call"

    def __init__(self, threads):
        import jax
        self.module, self.version = jax, jax.__version__
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)

    def arrays(self, arguments):
        return tuple(self.module.numpy.asarray(a) for a in arguments)

    def build(self, program):
        function = globals().get("jax_" + program.key) or self.rebind(program.function)
        compiled, wait = self.module.jit(function), self.module.block_until_ready
        return lambda *arguments: wait(compiled(*arguments))

    def rebind(self, function):
        """The function, and those of its module that it calls, over jax.numpy."""
        names = dict(function.__globals__, np=self.module.numpy)
        for name in function.__code__.co_names:
            if isinstance(names.get(name), types.FunctionType):
                names[name] = self.rebind(names[name])
        return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)


# ---- torch.compile ----


def torch_tiny(torch, a, b):
    return torch.relu(a * b + 1)


def torch_chain(torch, a, b):
    t = a * b + 1
    t = t * a - b
    t = t * t + 0.5
    return torch.sqrt(t) * a


def torch_gelu(torch, x):
    return torch.nn.functional.gelu(x, approximate="tanh")


def torch_black_scholes(torch, spot, strike, years):
    def cdf(x):
        k = 1.0 / (1.0 + 0.2316419 * torch.abs(x))
        poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        tail = torch.exp(-0.5 * x * x) * 0.3989422804014327 * poly
        return torch.where(x >= 0, 1.0 - tail, tail)

    deviation = 0.3 * torch.sqrt(years)
    d1 = (torch.log(spot / strike) + 0.075 * years) / deviation
    discounted = strike * torch.exp(-0.03 * years)
    call = spot * cdf(d1) - discounted * cdf(d1 - deviation)
    return call, call - spot + discounted


def torch_arc_distance(torch, theta1, phi1, theta2, phi2):
    t = (torch.sin((theta2 - theta1) / 2) ** 2
         + torch.cos(theta1) * torch.cos(theta2) * torch.sin((phi2 - phi1) / 2) ** 2)
    return 2 * torch.atan2(torch.sqrt(t), torch.sqrt(1 - t))


def torch_sum_rows(torch, x):
    return x.sum(dim=1)


def torch_sum_columns(torch, x):
    return x.sum(dim=0)


def torch_mean_rows(torch, x):
    return x.mean(dim=1)


def torch_mean_columns(torch, x):
    return x.mean(dim=0)


def torch_var_rows(torch, x):
    return x.var(dim=1, correction=0)


def torch_var_columns(torch, x):
    return x.var(dim=0, correction=0)


def torch_argmax_rows(torch, x):
    return x.argmax(dim=1)


def torch_argmax_columns(torch, x):
    return x.argmax(dim=0)


def torch_transpose_add(torch, a, b):
    return a.T + b


def torch_softmax(torch, x):
    return torch.softmax(x, dim=1)


def torch_layernorm(torch, x, gain, bias):
    return torch.nn.functional.layer_norm(x, (x.shape[1],), gain, bias, 1e-5)


def torch_pairwise(torch, x, y):
    d = x[:, None, :] - y[None, :, :]
    return torch.sqrt((d * d).sum(dim=-1))


def torch_gemm(torch, a, b):
    return a @ b


def torch_mlp(torch, x, w1, b1, w2, b2):
    return torch.nn.functional.gelu(x @ w1 + b1, approximate="tanh") @ w2 + b2


class Torch:
    name = "torch.compile"
    results = "torch's tensors: aligned malloc for each call"

    def __init__(self, threads):
        import torch
        self.module, self.version = torch, torch.__version__
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def arrays(self, arguments):
        return tuple(self.module.from_numpy(np.ascontiguousarray(a)) for a in arguments)

    def build(self, program):
        if program.key == "heat":  # Inductor takes minutes for 100 unrolled steps: one step is compiled
            return self.heat()
        torch, function = self.module, globals()["torch_" + program.key]
        torch._dynamo.reset()  # all programs come through the lambda below, whose variants are limited
        return torch.compile(lambda *arguments: function(torch, *arguments), dynamic=False, fullgraph=True)

    def heat(self):
        def step(u):
            inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
            v = u.clone()
            v[1:-1, 1:-1] += 0.1 * inner
            return v

        compiled = self.module.compile(step, dynamic=False, fullgraph=True)

        def run(u):
            for _ in range(100):
                u = compiled(u)
            return u

        return run


PEERS = [Numexpr, Numba, Jax, Torch]
