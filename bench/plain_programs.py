"""Functions as they are found, not as a compiler would like them: for never_slower.py.

Each is a row of PROGRAMS: a function, a function that makes its arguments anew, and what kind of code it is. Some are
kernels of linear algebra and of data mining of sizes at which the library is at its best, some break, some compute
next to nothing, some have nothing to do with arrays.
"""

import itertools
import math

import numpy as np

PROGRAMS = {}


def program(kind, *sizes, **named):
    """The function is given what `make` (of these sizes) gives; `make` comes first in the decorated class."""
    def add(given):
        for size in sizes or (None,):
            make = given.make if size is None else (lambda s=size, g=given: g.make(s))
            name = given.__name__ if size is None else f"{given.__name__} {size}"
            PROGRAMS[name] = (given.run, make, kind)
        return given
    return add


def real(*shape):
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape)


# ---- products ------------------------------------------------------------------------------------


@program("product", 32, 200, 1000)
class gemm:
    def make(n):
        return 1.5, 1.2, real(n, n + n // 10), real(n + n // 10, n), real(n, n)

    def run(alpha, beta, a, b, c):
        c[:] = alpha * a @ b + beta * c


@program("product", 100, 800)
class two_products:
    def make(n):
        return 1.5, 1.2, real(n, n), real(n, n + 8), real(n + 8, n), real(n, n)

    def run(alpha, beta, a, b, c, d):
        d[:] = alpha * a @ b @ c + beta * d


@program("product", 60, 1000, 3000)
class atax:
    def make(n):
        return real(n, n + n // 4), real(n + n // 4)

    def run(a, x):
        return (a @ x) @ a


@program("product", 60, 1000, 3000)
class bicg:
    def make(n):
        return real(n + n // 4, n), real(n), real(n + n // 4)

    def run(a, p, r):
        return r @ a, a @ p


@program("product", 1500)
class both_ways:
    def make(n):
        return real(n), real(n), real(n), real(n), real(n, n)

    def run(x1, x2, y1, y2, a):
        x1 += a @ y1
        x2 += y2 @ a


@program("product", 60, 240)
class gramschmidt:
    def make(n):
        return real(n + n // 5, n),

    def run(a):
        q, r = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]))
        for k in range(a.shape[1]):
            length = np.dot(a[:, k], a[:, k])
            r[k, k] = np.sqrt(length)
            q[:, k] = a[:, k] / r[k, k]
            for j in range(k + 1, a.shape[1]):
                r[k, j] = np.dot(q[:, k], a[:, j])
                a[:, j] -= q[:, k] * r[k, j]
        return q, r


@program("product", 60, 600)
class correlation:
    def make(n):
        return real(n - n // 6, n),

    def run(data):
        mean, deviation = np.mean(data, axis=0), np.std(data, axis=0)
        deviation[deviation <= 0.1] = 1.0
        data -= mean
        data /= np.sqrt(float(data.shape[0])) * deviation
        result = np.eye(data.shape[1], dtype=data.dtype)
        for i in range(data.shape[1] - 1):
            result[i + 1:, i] = result[i, i + 1:] = data[:, i] @ data[:, i + 1:]
        return result


@program("product", 60, 600)
class covariance:
    def make(n):
        return real(n + n // 6, n),

    def run(data):
        data -= np.mean(data, axis=0)
        result = np.zeros((data.shape[1], data.shape[1]), dtype=data.dtype)
        for i in range(data.shape[1]):
            result[i:, i] = result[i, i:] = data[:, i] @ data[:, i:] / (float(data.shape[0]) - 1.0)
        return result


@program("product", 60, 600)
class covariance_of_products:
    def make(n):
        return real(n + n // 6, n),

    def run(data):
        data = data - data.mean(axis=0)
        return data.T @ data / (len(data) - 1.0)


@program("product", 50, 300)
class syrk:
    def make(n):
        return 1.5, 1.2, real(n, n), real(n, n + n // 4)

    def run(alpha, beta, c, a):
        for i in range(a.shape[0]):
            c[i, :i + 1] *= beta
            for k in range(a.shape[1]):
                c[i, :i + 1] += alpha * a[i, k] * a[:i + 1, k]


@program("product", 40, 250)
class cholesky:
    def make(n):
        a = real(n, n)
        return a @ a.T + n * np.eye(n),

    def run(a):
        a[0, 0] = np.sqrt(a[0, 0])
        for i in range(1, a.shape[0]):
            for j in range(i):
                a[i, j] -= np.dot(a[i, :j], a[j, :j])
                a[i, j] /= a[j, j]
            a[i, i] -= np.dot(a[i, :i], a[i, :i])
            a[i, i] = np.sqrt(a[i, i])


@program("product", 40, 400)
class triangular_solve:
    def make(n):
        return np.tril(real(n, n)) + n * np.eye(n), real(n), np.zeros(n)

    def run(low, b, x):
        for i in range(low.shape[0]):
            x[i] = (b[i] - low[i, :i] @ x[:i]) / low[i, i]


@program("product", 30)
class small_layers:
    def make(n):
        return real(8, n), [real(n, n) for _ in range(4)]

    def run(x, weights):
        for w in weights:
            x = np.maximum(x @ w, 0)
        return x


@program("library", 12, 200)
class solve:
    def make(n):
        return real(n, n) + n * np.eye(n), real(n)

    def run(a, b):
        x = np.linalg.solve(a, b)
        return x, np.linalg.norm(a @ x - b)


@program("library", 64, 20000)
class spectrum:
    def make(n):
        return real(n),

    def run(x):
        return np.abs(np.fft.rfft(x * np.hanning(len(x)))) ** 2


# ---- masks, bins, sorting ------------------------------------------------------------------------


@program("masks", 2000, 40000)
class azimuth:
    """The mean of what lies in each of a number of rings."""
    def make(n):
        return real(n), np.abs(real(n + 1)[:n]), 64

    def run(data, radius, rings):
        largest, result = radius.max(), np.zeros(rings)
        for i in range(rings):
            inner, outer = largest * i / rings, largest * (i + 1) / rings
            inside = np.logical_and(inner <= radius, radius < outer)
            result[i] = data[inside].mean() if inside.any() else 0.0
        return result


@program("masks", 40000)
class azimuth_always:
    def make(n):
        return real(n), np.random.default_rng(n).random(n), 64

    def run(data, radius, rings):
        largest, result = radius.max(), np.zeros(rings)
        for i in range(rings):
            inner, outer = largest * i / rings, largest * (i + 1) / rings
            result[i] = data[np.logical_and((inner <= radius), (radius < outer))].mean()
        return result


@program("masks", 1000, 100000)
class sieve:
    def make(n):
        return n,

    def run(n):
        prime = np.ones(n + 1, dtype=bool)
        prime[:2] = False
        for i in range(2, int(n ** 0.5) + 1):
            if prime[i]:
                prime[i * i::i] = False
        return np.nonzero(prime)[0]


@program("masks", 100, 10000)
class clean:
    def make(n):
        return real(n),

    def run(x):
        good = x[np.abs(x - x.mean()) < 2 * x.std()]
        return np.median(good), np.percentile(good, 90)


@program("masks", 50, 5000)
class ranks:
    def make(n):
        return real(n),

    def run(x):
        order = np.argsort(x)
        result = np.empty(len(x))
        result[order] = np.arange(len(x))
        return result, np.unique(np.round(x, 1))


@program("masks", 3000)
class histogram:
    def make(n):
        return np.random.default_rng(0).integers(0, 50, n),

    def run(x):
        return np.bincount(x, minlength=60), np.histogram(x, bins=10)[0]


# ---- breaks ---------------------------------------------------------------------------------------


@program("breaks", 40, 4000)
class positives:
    def make(n):
        return real(n),

    def run(x):
        count = 0
        for i in range(len(x)):
            if x[i] > 0:
                count += 1
        return count


@program("breaks", 10, 1000)
class guarded:
    def make(n):
        return real(n), "no number"

    def run(x, text):
        try:
            scale = float(text)
        except ValueError:
            scale = 2.0
        return x * scale + 1.0


@program("breaks", 10, 1000)
class looked_up:
    def make(n):
        return real(n), {}

    def run(x, known):
        try:
            return known["x"] * x
        except KeyError:
            return x * 2.0
        finally:
            known.pop("y", None)


@program("breaks", 200)
class tried_often:
    def make(n):
        return [str(i) if i % 3 else "-" for i in range(n)],

    def run(rows):
        total = np.zeros(4)
        for row in rows:
            try:
                total += float(row)
            except ValueError:
                total -= 1
        return total


@program("breaks")
class printed:
    def make():
        return real(16), []

    def run(x, lines):
        y = x * 2
        lines.append(f"{y.sum():.3f}")
        z = y + 1
        lines.append(repr(z.max()))
        del lines[:]
        return z


@program("breaks", 16, 2000)
class until_small:
    def make(n):
        return np.abs(real(n)) + 1,

    def run(x):
        steps = 0
        while x.max() > 0.01:
            x = x * 0.7
            steps += 1
        return x, steps


@program("breaks")
class bisection:
    def make():
        return 0.0, 3.0

    def run(low, high):
        while high - low > 1e-9:
            middle = (low + high) / 2
            if np.cos(middle) > 0:
                low = middle
            else:
                high = middle
        return low


@program("breaks", 30)
class branches_on_rows:
    def make(n):
        return real(n, 5),

    def run(x):
        out = []
        for row in x:
            if row.sum() > 0:
                out.append(np.tanh(row))
            else:
                out.append(-row)
        return np.array(out)


# ---- plain Python ---------------------------------------------------------------------------------


@program("python", 50, 1600)
class crc16:
    def make(n):
        return np.random.default_rng(n).integers(0, 256, n).astype(np.uint8),

    def run(data):
        crc = 0xFFFF
        for byte in data:
            crc ^= int(byte) & 0xFF
            for _ in range(8):
                crc = (crc >> 1) ^ 0x8408 if crc & 1 else crc >> 1
        crc = ~crc & 0xFFFF
        return (crc << 8 | crc >> 8 & 0xFF) & 0xFFFF


@program("python", 400)
class checksum_of_bytes:
    def make(n):
        return bytes(i % 251 for i in range(n)),

    def run(data):
        low, high = 1, 0
        for byte in data:
            low = (low + byte) % 65521
            high = (high + low) % 65521
        return high << 16 | low


@program("python", 300)
class words:
    def make(n):
        return " ".join(f"w{i * i % 37}" for i in range(n)),

    def run(text):
        counts = {}
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1
        return sorted(counts.items(), key=lambda row: (-row[1], row[0]))[:5]


@program("python", 25)
class collatz:
    def make(n):
        return n,

    def run(n):
        steps = 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            steps += 1
        return steps


@program("python", 12)
class recursion:
    def make(n):
        return n,

    def run(n):
        def fib(k):
            return k if k < 2 else fib(k - 1) + fib(k - 2)
        return fib(n)


@program("python", 60)
class polynomial:
    def make(n):
        return [float(i) for i in range(n)], 0.5

    def run(coefficients, x):
        total = 0.0
        for c in coefficients:
            total = total * x + c
        return math.sqrt(abs(total))


@program("python", 1)
class nothing:
    def make(n):
        return n,

    def run(n):
        return n


@program("python", 5)
class object_methods:
    def make(n):
        class Account:
            def __init__(self, cash):
                self.cash, self.held = cash, 0

            def buy(self, price):
                self.cash -= price
                self.held += 1
        return Account, np.sin(np.arange(60.0) * n)

    def run(account_class, prices):
        account = account_class(1000.0)
        for i in range(1, len(prices)):
            if prices[i - 1] <= 0 and prices[i] > 0:
                account.buy(float(prices[i]))
        return account.cash, account.held


@program("generators", 30)
class generated:
    def make(n):
        return real(n),

    def run(x):
        def above(limit):
            for i in range(len(x)):
                if x[i] > limit:
                    yield i
        return sum(above(0.0)), list(above(1.0))


@program("generators", 30)
class chained:
    def make(n):
        return [real(4) for _ in range(n)],

    def run(rows):
        return [float(r.sum()) for r in itertools.islice((r * 2 for r in rows), 20)]


# ---- small and varying ----------------------------------------------------------------------------


@program("small", 1, 16, 1000)
class affine:
    def make(n):
        return real(n), real(n + 1)[:n]

    def run(x, y):
        return x * 2 + y


@program("small")
class one_scalar:
    def make():
        return 0.3,

    def run(x):
        return np.sin(x) * 2


@program("small")
class rotation:
    def make():
        return 0.3, real(3)

    def run(angle, v):
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ v


@program("small", 8)
class view_only:
    def make(n):
        return real(n, n),

    def run(a):
        return a[1:, ::2].T


@program("small")
class objects:
    def make():
        return real(5), {"rate": 0.5, "names": ["a", "b"]}

    def run(x, options):
        scaled = x * options["rate"]
        return {name: scaled + i for i, name in enumerate(options["names"])}


class Varying:
    """Arguments of another size at each call, in turn."""
    def __init__(self, sizes):
        self.sizes = itertools.cycle(sizes)

    def __call__(self):
        return real(next(self.sizes)),


def normalised(x):
    return (x - x.mean()) / (x.std() + 1e-9)


def chosen(x):
    if len(x) % 2:
        return np.sort(x)[::2]
    return np.cumsum(x) + len(x)


PROGRAMS["normalised, 20 sizes"] = (normalised, Varying(range(10, 30)), "sizes")
PROGRAMS["normalised, 100 sizes"] = (normalised, Varying(range(10, 110)), "sizes")
PROGRAMS["chosen, 30 sizes"] = (chosen, Varying(range(10, 40)), "sizes")


# No arrays at all, and ever new values: what is kept of a call fits hardly another one.
def shouted(word):
    return word.upper() + "!"


def looked_up(table, key):
    return table.get(key)


def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def paired(text, number):
    left, right = text.split("-")
    return {left: number, right: -number}


def counted():
    return itertools.count(1)


PROGRAMS["shouted, new words"] = (shouted, lambda n=counted(): (str(next(n)),), "python")
PROGRAMS["shouted, 50 words"] = (shouted, lambda n=counted(): (str(next(n) % 50),), "python")
PROGRAMS["looked up, new tables"] = (looked_up, lambda n=counted(): ({i: i for i in range(next(n) % 7)}, next(n) % 3), "python")
PROGRAMS["collatz, new numbers"] = (collatz, lambda n=counted(): (next(n) * 7,), "python")
PROGRAMS["paired, new texts"] = (paired, lambda n=counted(): (f"{next(n)}-a", next(n)), "python")
