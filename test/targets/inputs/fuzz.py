"""Writes random functions of loom ops: `fuzz.py COUNT SEED`. Sizes are drawn from few primes, so that
arrays fit together and a size says which of them it is."""
import random
import sys

UNARY = ["neg", "abs", "floor", "tanh", "exp", "logistic"]
BINARY = ["add", "sub", "mul", "max", "min"]
REDUCE = ["sum", "max", "min"]


class Function:
    def __init__(self, rng, name):
        self.rng, self.name, self.lines, self.next = rng, name, [], 0
        self.values = []
        self.dtype = rng.choice(["f32", "f32", "f64", "i32", "i64", "i8"])
        sizes = rng.sample([3, 5, 7, 11, 13, 17, 19, 23, 29, 31], 3)
        self.inputs = []
        for i in range(rng.randint(1, 3)):
            shape = tuple(rng.choice(sizes + [1]) for _ in range(rng.choice([1, 2, 2, 3])))
            self.inputs.append((f"%a{i}", shape))
        self.values = list(self.inputs)

    def type(self, shape, dtype=None):
        return "tensor<" + "".join(f"{n}x" for n in shape) + (dtype or self.dtype) + ">"

    def emit(self, text, shape):
        name = f"%v{self.next}"
        self.next += 1
        self.lines.append(f"  {name} = {text}")
        self.values.append((name, shape))

    def pick(self, rank=0):
        """A value of at least this rank, rather a late one."""
        found = [v for v in self.values if len(v[1]) >= rank]
        return self.rng.choice(found[-4:]) if found else None

    def unary(self):
        a, shape = self.pick()
        ops = UNARY if self.dtype[0] == "f" else UNARY[:2]
        self.emit(f"loom.{self.rng.choice(ops)} {a} : {self.type(shape)}", shape)

    def binary(self):
        a, shape = self.pick()
        b = self.rng.choice([v for v in self.values if v[1] == shape])[0]
        self.emit(f"loom.{self.rng.choice(BINARY)} {a}, {b} : {self.type(shape)}", shape)

    def broadcast(self):
        """Two values of different shapes to one, as NumPy would; else one more dimension."""
        a, small = self.pick()
        for b, large in reversed(self.values):
            tail = large[len(large) - len(small):]
            if len(large) > len(small) and all(m in (1, n) for m, n in zip(small, tail)):
                dims = list(range(len(large) - len(small), len(large)))
                self.emit(f"loom.broadcast {a} dims = {dims} : ({self.type(small)}) -> {self.type(large)}", large)
                c = self.values[-1][0]
                self.emit(f"loom.{self.rng.choice(BINARY)} {b}, {c} : {self.type(large)}", large)
                return
        if len(small) < 3:
            large = (self.rng.choice(self.inputs)[1][0],) + small
            dims = list(range(1, len(large)))
            self.emit(f"loom.broadcast {a} dims = {dims} : ({self.type(small)}) -> {self.type(large)}", large)

    def transpose(self):
        a, shape = self.pick(2)
        perm = self.rng.sample(range(len(shape)), len(shape))
        to = tuple(shape[p] for p in perm)
        self.emit(f"loom.transpose {a} perm = {perm} : ({self.type(shape)}) -> {self.type(to)}", to)

    def slice(self):
        a, shape = self.pick()
        low = [self.rng.randint(0, min(2, n - 1)) for n in shape]
        to = tuple(n - s - self.rng.randint(0, min(1, n - 1 - s)) for n, s in zip(shape, low))
        ones = [1] * len(shape)
        self.emit(f"loom.slice {a} starts = {low} sizes = {list(to)} steps = {ones} : "
                  f"({self.type(shape)}) -> {self.type(to)}", to)

    def concatenate(self):
        a, shape = self.pick()
        axis = self.rng.randrange(len(shape))
        fits = [v for v in self.values if len(v[1]) == len(shape) and
                all(x == y for d, (x, y) in enumerate(zip(v[1], shape)) if d != axis)]
        b, other = self.rng.choice(fits)
        to = tuple(n + other[d] if d == axis else n for d, n in enumerate(shape))
        self.emit(f"loom.concatenate {a}, {b} axis = {axis} : ({self.type(shape)}, {self.type(other)}) -> "
                  f"{self.type(to)}", to)

    def pad(self):
        a, shape = self.pick()
        low, high = ([self.rng.randint(0, 2) for _ in shape] for _ in range(2))
        value = "2.0" if self.dtype[0] == "f" else "2"
        self.emit(f"loom.constant({value} : {self.dtype}) : {self.type(())}", ())
        z = self.values.pop()[0]
        to = tuple(n + x + y for n, x, y in zip(shape, low, high))
        self.emit(f"loom.pad {a}, {z} low = {low} high = {high} : ({self.type(shape)}, {self.type(())}) -> "
                  f"{self.type(to)}", to)

    def reduce(self):
        a, shape = self.pick(2)
        axes = sorted(self.rng.sample(range(len(shape)), self.rng.randint(1, len(shape) - 1)))
        to = tuple(n for d, n in enumerate(shape) if d not in axes)
        self.emit(f'loom.reduce "{self.rng.choice(REDUCE)}" {a} axes = {axes} : ({self.type(shape)}) -> '
                  f"{self.type(to)}", to)

    def scan(self):
        a, shape = self.pick()
        axis = self.rng.randrange(len(shape))
        self.emit(f'loom.scan "{self.rng.choice(["sum", "max"])}" {a} axis = {axis} : {self.type(shape)}', shape)

    def reshape(self):
        a, shape = self.pick(2)
        if 1 in shape:
            to = tuple(n for n in shape if n != 1)
        else:
            to = (shape[0] * shape[1],) + shape[2:]
        if to:
            self.emit(f"loom.reshape {a} : ({self.type(shape)}) -> {self.type(to)}", to)

    def dot(self):
        a, left = self.pick(2)
        for b, right in self.rng.sample(self.values, len(self.values)):
            if len(left) == 2 and len(right) == 2 and left[1] in right:
                k = right.index(left[1])
                to = (left[0], right[1 - k])
                self.emit(f"loom.dot_general {a}, {b} batch = [] x [] contract = [1] x [{k}] : "
                          f"({self.type(left)}, {self.type(right)}) -> {self.type(to)}", to)
                return

    def text(self):
        steps = [self.unary, self.binary, self.binary, self.broadcast, self.broadcast, self.transpose, self.slice,
                 self.concatenate, self.pad, self.reduce, self.scan, self.reshape, self.dot]
        while self.next < self.rng.randint(2, 9):
            step = self.rng.choice(steps)
            if step in (self.transpose, self.reduce, self.reshape, self.dot) and not self.pick(2):
                continue
            size = max(n for _, shape in self.values[-3:] for n in [1, *shape])
            if size < 2000:
                step()
        made = self.values[len(self.inputs):]
        results = [made[-1]] + self.rng.sample(made[:-1], min(len(made) - 1, self.rng.randint(0, 2)))
        arguments = ", ".join(f"{n}: {self.type(s)}" for n, s in self.inputs)
        types = ", ".join(self.type(s) for _, s in results)
        names = ", ".join(n for n, _ in results)
        body = "\n".join(self.lines)
        return f"func.func @{self.name}({arguments}) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}"


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    for i in range(count):
        print(Function(random.Random(seed * 1000 + i), f"f{i}").text())


main()
