"""Calls of NumPy's that take an int as a size, an offset, a step, an axis or an index, and the ints at the edges of
what such a number may be. Run as a script it compares a share of all of them with plain NumPy, with little memory:

    python edge_programs.py PART PARTS

It prints a line for each difference, and the number of the program that it is about to run, so that who started it
knows which program ended the process."""

import resource
import sys
import warnings

MEMORY = 3 << 30  # bytes of address space: what is larger cannot be allocated, here as on any machine

EDGES = ["-2**70", "-2**63 - 1", "-2**63", "-2**62 - 1", "-2**62", "-2**40", "-2**31", "-2", "-1", "0", "1", "3", "2**31",
         "2**32", "2**40", "2**61", "2**62", "2**63 - 1", "2**63", "2**64", "2**70", "True", "np.int8(-1)", "np.uint8(2)",
         "np.int64(-2**63)", "np.uint64(2**64 - 1)", "1.5", "None"]
# What NumPy itself does not survive, or not soon, when it negates the least int of C.
UNSAFE = ["diag", "trace", "round"]

# m: (3, 4) of float64, v: 6 of float64, i: 6 of int64, u: 6 of uint8, e: (0, 2), n: the edge.
CALLS = """
np.zeros(n)
np.zeros((n,))
np.zeros((2, n))
np.zeros((n, 0))
np.zeros((n, n))
np.zeros((n, 2), np.uint8, order='F')
np.ones(n, np.int8)
np.empty((n, 3)).shape
np.full(n, 1.5)
np.full((1, n), 7)
np.zeros(n).sum()
(np.ones((n, 2)) + 1).sum(axis=0)
np.zeros_like(m, shape=(n, 2))
np.full_like(v, 3, shape=n)
np.eye(n)
np.eye(3, n)
np.eye(3, 4, n)
np.eye(3, k=n)
np.identity(n)
np.tri(n)
np.tri(3, n)
np.tri(3, 3, n)
np.arange(n)
np.arange(n, 5)
np.arange(n, n)
np.arange(0, n, 2**60)
np.arange(3, 9, n)
np.arange(9, 3, n)
np.arange(3., 9., n)
np.arange(0, 5, n, np.float32)
np.linspace(0., 1., n)
np.linspace(0., n, 3)
np.broadcast_to(v, (n, 6))
np.broadcast_to(v, n)
np.broadcast_to(v, (2, n))
np.broadcast_to(1., n)
np.broadcast_to(v[:1], (n, 1))
np.broadcast_to(v[:1], n).shape
np.broadcast_to(e, (n, 0, 2))
v.reshape(n)
v.reshape(n, 3)
v.reshape(2, n)
v.reshape((n, n))
v.reshape(1, n, 2)
v.reshape(-1, n)
np.reshape(m, n)
np.reshape(m, (n, -1), order='F')
e.reshape(n)
e.reshape(n, 2)
e.reshape(-1, n)
e.reshape(3, n)
v[n]
v[n:]
v[:n]
v[::n]
v[n::-1]
v[:n:2]
v[1:5:n]
v[5:1:n]
v[n:n]
m[n]
m[:, n]
m[n, n]
m[1:, ::n]
m[..., n]
m[None, n]
e[n]
e[n:]
e[::n]
v[[n]]
v[[0, n]]
v[np.array([0, 1]) + 2, None][:, n]
m[[1, 2], 0 if n is None else n]
m[0 if n is None else n, [1, 2]]
v.take(n)
np.take(v, [n, 0])
np.take(v, n, mode='clip')
np.take(v, n if -99 < n < 99 else 0, mode='wrap')
np.take(m, 0, axis=n)
np.take(e, n, axis=0)
np.repeat(v, n)
np.repeat(m, n, axis=0)
np.repeat(m, 2, axis=n)
np.repeat(m, [1, n, 1], axis=0)
v.repeat(n)
e.repeat(n)
e.repeat(n, axis=1)
np.tile(v, n)
np.tile(m, (n, 2))
np.tile(e, n)
np.roll(v, n)
np.roll(m, n, axis=1)
np.roll(m, 1, axis=n)
np.roll(m, (n, 1), axis=(0, 1))
np.rot90(m, n)
np.diagonal(m, n)
np.diagonal(m, 0, n, 1)
np.diagonal(m, n, 1, 0)
m.diagonal(n)
np.diag(v, n)
np.diag(m, n)
np.diagflat(v, n)
np.trace(m, n)
m.trace(n)
m.trace(0, n)
np.tril(m, n)
np.triu(m, n)
np.vander(v, n)
np.vander(v, n, increasing=True)
np.sum(m, axis=n)
np.sum(m, axis=(0, n))
m.mean(n)
m.max(axis=n)
m.argmax(n)
m.cumsum(n)
np.cumprod(m, n)
np.prod(e, axis=n)
np.var(v, ddof=n)
m.std(axis=0, ddof=n)
np.median(m, axis=n)
np.sort(m, axis=n)
np.argsort(m, n)
np.swapaxes(m, n, 0)
np.moveaxis(m, n, 0)
np.moveaxis(m, 0, n)
np.rollaxis(m, n)
np.transpose(m, (n, 0))
m.transpose(1, n)
np.expand_dims(m, n)
np.squeeze(m[:1], n)
np.flip(m, n)
np.concatenate((m, m), axis=n)
np.stack((m, m), axis=n)
np.stack((v, v), n)
np.split(v, n)
np.split(m, 1, axis=n)
np.array_split(v, n)
np.array_split(m, 2, n)
np.split(v, [2, n])
np.hsplit(m, n)
np.delete(v, n)
np.delete(m, 0, n)
np.insert(v, n, 3.)
np.insert(m, 1, 2., axis=n)
np.pad(v, n)
np.pad(v, (1, n))
np.pad(m, ((n, 0), (0, 1)))
np.pad(v, n, 'edge')
np.resize(v, n)
np.resize(m, (2, n))
np.partition(v, n)
np.argpartition(v, n)
np.diff(v, n if n < 9 else 1)
np.diff(m, axis=n)
np.round(v, n)
v.round(n)
np.round(i, n)
np.tensordot(m, m, n)
np.tensordot(m, m.T, axes=n)
np.tensordot(e, e, n)
np.tensordot(m, m, axes=([n], [0]))
np.tensordot(m, m, axes=([0], [n]))
np.tensordot(m, m, axes=([0, n], [0, 1]))
np.tensordot(m, m, axes=([1, 1], [0, n]))
np.cross(m[:, :3], m[:, 1:], axis=n)
np.kron(m, np.ones((1, n)))
np.outer(v, np.zeros(n))
np.lib.stride_tricks.sliding_window_view(v, n)
np.lib.stride_tricks.sliding_window_view(m, n, axis=1)
np.lib.stride_tricks.sliding_window_view(m, 2, axis=n)
np.lib.stride_tricks.sliding_window_view(m, (2, n))
np.bincount(i, minlength=n)
np.unravel_index(n, (3, 4))
np.unravel_index(3, (n, 4))
np.ravel_multi_index((n, 1), (3, 4))
np.indices((n, 2))
np.indices((2,), dtype=int)[:, n]
np.fft.fft(v, n)
np.fft.fft(m, axis=n)
np.fft.rfft(v, n=n)
np.fft.fftshift(m, n)
np.hanning(n)
np.triu_indices(n)
np.diag_indices(n)
np.apply_along_axis(np.sum, n, m)
np.take_along_axis(m, np.zeros((1, 4), int), n)
np.atleast_3d(m)[n]
np.geomspace(1., 9., n)
np.logspace(0., 1., n)
np.meshgrid(v, np.arange(n))
np.ndarray((n,))
np.unpackbits(u, count=n if n is None or n < 99 else 9)
np.unpackbits(u, axis=n)
np.packbits(u, axis=n)
np.convolve(v, np.ones(n))
np.interp(n, v, v)
np.clip(i, n, None)
np.clip(u, 0, n)
np.where(i > 2, n, i)
np.where(v > 2, n, u)
i + n
u + n
v + n
i * n
u == n
i < n
i >> n
i << n
i ** n
i // n
i % n
u // n
u & n
np.maximum(i, n)
np.maximum(u, n)
np.array([n, 1])
np.array([n, 1.])
np.array(n)
np.asarray(n, np.int32)
np.array([n], np.uint8)
np.int32(n)
np.uint8(n)
np.float32(n)
np.int64(n) + 1
i.item(n)
m.item(n)
m.item(1, n)
m.flat[n]
m.flat[n:]
m.flat[::n]
memoryview(v)[n]
len(v[n:])
v[:n].sum()
v[slice(n)]
v[slice(None, None, n)]
m.sum(axis=0)[n]
range(n)[0]
list(range(3))[n]
(1, 2, 3)[n:]
(1, 2, 3)[::n]
'abc'[n:]
[0] * n if n == 2 else [1]
np.einsum('ij->j', m)[n]
np.logical_and.reduce(m, axis=n)
np.add.reduce(m, axis=n)
np.add.reduceat(v, [0, n])
np.add.accumulate(m, axis=n)
np.maximum.reduce(m, axis=(n, 0))
np.linalg.norm(m, axis=n)
np.count_nonzero(m, axis=n)
np.nonzero(v)[0][n]
np.argwhere(v)[n]
np.unique(m, axis=n)
np.average(m, axis=n)
np.percentile(v, n)
np.ptp(m, axis=n)
np.all(m, axis=n)
np.nansum(m, axis=n)
np.trapezoid(m, axis=n)
np.gradient(v, n)
np.gradient(m, axis=n)
np.array_equal(v[:n], v)
np.block([[v[:n]], [v[:n]]])
np.append(m, m, axis=n)
np.column_stack((v, v))[n]
np.put_along_axis(m.copy(), np.zeros((1, 4), int), 1., n)
np.choose(n, [v, v + 1])
np.select([v > 2], [v], n)
np.searchsorted(v, n)
np.digitize(n, v)
np.isin(i, n)
np.ldexp(v, n)
np.copysign(v, n)
np.left_shift(n, i)
np.bitwise_count(n)
np.gcd(i, n)
np.ix_([0, n], [1])
m[np.ix_([0, n], [1])]
np.triu(np.ones((3, 3)), n)
"""

# What writes: statements, and what they leave.
STATEMENTS = """
y = v.copy(); y[n] = 1.; return y
y = v.copy(); y[n:] = 1.; return y
y = v.copy(); y[::n] = 2.; return y
y = v.copy(); y[:n] = v[:n]; return y
y = v.copy(); y[[n]] = 1.; return y
y = v.copy(); y[np.array([n])] = 1.
y = m.copy(); y[n, 0] = 1.; return y
y = m.copy(); y[:, n] = 1.; return y
y = m.copy(); y[n:, ::n] = 1.; return y
y = m.copy(); y[n]
y = m.copy(); y.flat[n] = 1.; return y
y = i.copy(); y[0] = n; return y
y = u.copy(); y[0] = n; return y
y = u.copy(); y[:] = n; return y
y = u.copy(); y[1:3] = [n, 1]; return y
y = u.copy(); y.fill(n); return y
y = i.copy(); y += n; return y
y = u.copy(); y += n; return y
y = v.copy(); np.put(y, n, 1.); return y
y = v.copy(); np.put(y, n, 1., mode='clip'); return y
y = v.copy(); y.put([0, n], 1.); return y
y = v.copy(); np.copyto(y, n); return y
y = u.copy(); np.copyto(y, n); return y
y = v.copy(); np.add.at(y, [n], 1.); return y
y = v.copy(); np.add.at(y, n, 1.); return y
y = m.copy(); np.fill_diagonal(y, n); return y
y = v.copy(); y.sort(n); return y
y = m.copy(); y.sort(n); return y
y = v.copy(); y.partition(n); return y
y = v.copy(); y.resize(n); return y
y = m.copy(); y.shape = n; return y
y = m.copy(); y.shape = (2, n); return y
y = np.zeros((2, 3)); y[n:] += 1; return y
x = v
for k in range(3): x = x[n:]
return x
x = 0.
for k in range(4): x += v[k * n]
return x
"""


def statement_programs():
    lines, body = STATEMENTS.strip().splitlines(), []
    for line in lines:
        body.append(line)
        if line.startswith("return") or not (line == "x = v" or line == "x = 0." or line.startswith("for")):
            yield "\n".join(body)
            body = []


def programs():
    """(number, source of a function of m, v, i, u, e, n; the edge's text)"""
    bodies = ["return " + line for line in CALLS.strip().splitlines()] + list(statement_programs())
    for number, body in enumerate(bodies):
        for k, edge in enumerate(EDGES):
            if edge != "-2**31" or not any(name in body for name in UNSAFE):
                yield number * len(EDGES) + k, body, edge


def function(body, edge):
    import numpy as np

    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"def f(m, v, i, u, e, n):\n{lines}" if edge is None else f"def f(m, v, i, u, e, _):\n    n = {edge}\n{lines}"
    space = {"np": np}
    exec(text, space)
    return space["f"]


def operands():
    import numpy as np

    m = np.arange(12.0).reshape(3, 4)
    return m, np.arange(6.0) / 2 + 1, np.arange(6), np.arange(6, dtype=np.uint8), np.zeros((0, 2))


def describe(value, depth=0):
    """What is compared: floats as text of 12 digits, since sums may be taken in any order."""
    import numpy as np

    if isinstance(value, np.ndarray):
        small = value.size <= 1000 and max(value.shape, default=0) <= 1000
        items = [describe(x, 3)[1] for x in value.ravel().tolist()] if small else None
        return type(value), value.dtype, value.shape, value.strides, value.flags.writeable, items
    if isinstance(value, (tuple, list)) and depth < 3:
        return type(value), len(value), [describe(x, depth + 1) for x in value[:10]]
    if isinstance(value, (float, np.floating)):
        return type(value), f"{value:.12g}"
    if isinstance(value, (np.generic, int, str, bool, complex)) or value is None:
        return type(value), repr(value)
    return (type(value),)


def described_outcome(f, n):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            got = describe(f(*operands(), n))
        except Exception as e:
            got = (type(e), str(e))
        return got, [(w.category, str(w.message)) for w in caught]


def variants(body, edge):
    """(name, compiled function, values of n in turn): the edge as a constant, as an argument, and where sizes are
    symbols, from the first call and after it has changed."""
    import frameloom

    value = eval(edge, {"np": __import__("numpy")})
    yield "constant", frameloom.compile(function(body, edge)), [None, None]
    yield "argument", frameloom.compile(function(body, None)), [value, value]
    yield "dynamic", frameloom.compile(function(body, None), dynamic=True), [value, 3, value]
    yield "changed", frameloom.compile(function(body, None)), [3, 2, 4, value]


def differences(body, edge):
    for name, compiled, values in variants(body, edge):
        plain = function(body, edge if name == "constant" else None)
        for turn, n in enumerate(values):
            want, got = described_outcome(plain, n), described_outcome(compiled, n)
            if want != got:
                yield f"{name} {turn}", want, got


def run_all(chosen):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number, body, edge in chosen:
        print("RUN", number, flush=True)
        for where, want, got in differences(body, edge):
            print(f"DIFFERS {number} {where} n={edge}: {body!r}\n  want {want}\n  got  {got}", flush=True)
    print("END", flush=True)


if __name__ == "__main__":
    part, parts = int(sys.argv[1]), int(sys.argv[2])
    run_all([program for program in programs() if program[0] % parts == part])
