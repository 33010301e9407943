"""Random graphs in the loom dialect: what the compiler makes of them gives what the reference interpreter gives.

The graphs favour what fusion and lowering find hard: views of computed values, values read by several groups,
reductions along different axes, moves, products with something before and after them, strided inputs and outputs.
"""

import random
import subprocess

import pytest
from paths import BUILD, FIRST
from processes import PATIENCE

RUN_TEST = BUILD / "bin" / "run-test"
FLOAT_UNARY = ["neg", "abs", "floor", "sign", "trunc"]
BINARY = ["add", "sub", "mul", "max", "min"]


class Graph:
    """One function under construction: values as (name, dtype, sizes)."""

    def __init__(self, rng):
        self.rng = rng
        self.lines, self.values, self.arguments, self.count = [], [], [], 0

    def type(self, dtype, sizes):
        return f"tensor<{''.join(f'{n}x' for n in sizes)}{dtype}>"

    def emit(self, dtype, sizes, text):
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text}")
        self.values.append((name, dtype, tuple(sizes)))
        return self.values[-1]

    def argument(self, dtype, sizes):
        strides, step = [0] * len(sizes), 1
        for d in self.rng.sample(range(len(sizes)), len(sizes)):
            strides[d] = step if self.rng.random() < 0.9 else -step
            step *= max(sizes[d], 1)
        if self.rng.random() < 0.5:
            strides = [int(s) for s in contiguous(sizes)]
        name = f"%a{len(self.arguments)}"
        listed = ": " + ", ".join(map(str, strides)) if strides else ""
        attrs = f"{{loom.strides = array<i64{listed}>}}"
        if not sizes and self.rng.random() < 0.5:
            attrs = "{loom.scalar}"
        self.arguments.append(f"{name}: {self.type(dtype, sizes)} {attrs}")
        self.values.append((name, dtype, tuple(sizes)))

    def pick(self, condition=lambda v: True):
        found = [v for v in self.values[-8:] + self.rng.sample(self.values, 1) if condition(v)]
        return self.rng.choice(found) if found else None

    def reshaped_to(self, value, sizes):
        """`value` broadcast, where that is possible, to `sizes`; else a constant of these sizes."""
        name, dtype, from_sizes = value
        dims, at = [], len(sizes)
        for n in reversed(from_sizes):
            at -= 1
            while at >= 0 and not (sizes[at] == n or n == 1):
                at -= 1
            if at < 0:
                number = self.rng.choice([1, 2, 3])
                literal = f"{number}.0 : {dtype}" if dtype[0] == "f" else f"{number} : {dtype}"
                return self.emit(dtype, sizes, f"loom.constant({literal}) : {self.type(dtype, sizes)}")
            dims.insert(0, at)
        if tuple(from_sizes) == tuple(sizes):
            return value
        return self.emit(dtype, sizes, f"loom.broadcast {name} dims = {dims} : "
                         f"({self.type(dtype, from_sizes)}) -> {self.type(dtype, sizes)}")

    # ---- one random op each ----

    def unary(self):
        name, dtype, sizes = self.pick()
        ops = FLOAT_UNARY if dtype[0] == "f" else ["neg", "abs"]
        self.emit(dtype, sizes, f"loom.{self.rng.choice(ops)} {name} : {self.type(dtype, sizes)}")

    def binary(self):
        a, b = self.pick(), self.pick()
        if a[1] != b[1]:
            return
        if len(b[2]) > len(a[2]):
            a, b = b, a
        b = self.reshaped_to(b, a[2])
        self.emit(a[1], a[2], f"loom.{self.rng.choice(BINARY)} {a[0]}, {b[0]} : {self.type(a[1], a[2])}")

    def select(self):
        a = self.pick()
        b = self.reshaped_to(a, a[2])
        t = self.type(a[1], a[2])
        m = self.type("i1", a[2])
        zero = self.emit(a[1], a[2], f"loom.constant({'1.0' if a[1][0] == 'f' else '1'} : {a[1]}) : {t}")
        mask = self.emit("i1", a[2], f'loom.compare "lt" {a[0]}, {zero[0]} : ({t}, {t}) -> {m}')
        self.values.pop()
        self.emit(a[1], a[2], f"loom.select {mask[0]}, {b[0]}, {zero[0]} : ({m}, {t}, {t}) -> {t}")

    def transpose(self):
        name, dtype, sizes = self.pick()
        perm = self.rng.sample(range(len(sizes)), len(sizes))
        self.view(dtype, name, sizes, [sizes[p] for p in perm], f"loom.transpose {name} perm = {perm}")

    def view(self, dtype, name, sizes, out, text):
        self.emit(dtype, out, f"{text} : ({self.type(dtype, sizes)}) -> {self.type(dtype, out)}")

    def slice(self):
        name, dtype, sizes = self.pick()
        starts, lengths, steps = [], [], []
        for n in sizes:
            step = self.rng.choice([1, 1, 1, 2, -1])
            length = self.rng.randint(1, max(1, n // abs(step))) if n > 3 and self.rng.random() < 0.5 else n
            if length == n:
                step = self.rng.choice([1, 1, -1])
            span = (length - 1) * abs(step)
            first = self.rng.randint(0, n - 1 - span)
            starts.append(first if step > 0 else first + span)
            lengths.append(length)
            steps.append(step)
        self.view(dtype, name, sizes, lengths,
                  f"loom.slice {name} starts = {starts} sizes = {lengths} steps = {steps}")

    def reshape(self):
        name, dtype, sizes = self.pick()
        out = list(sizes)
        if self.rng.random() < 0.5:
            out.insert(self.rng.randint(0, len(out)), 1)
        elif len(out) > 1:
            i = self.rng.randint(0, len(out) - 2)
            out[i : i + 2] = [out[i] * out[i + 1]]
        elif out and out[0] % 2 == 0:
            out = [2, out[0] // 2]
        if len(out) <= 4:
            self.view(dtype, name, sizes, out, f"loom.reshape {name}")

    def reduce(self):
        value = self.pick(lambda v: len(v[2]) > 0)
        if not value:
            return
        name, dtype, sizes = value
        axes = sorted(self.rng.sample(range(len(sizes)), self.rng.randint(1, len(sizes))))
        kind = self.rng.choice(["sum", "max", "min"])
        out = [n for i, n in enumerate(sizes) if i not in axes]
        if len(axes) == 1 and self.rng.random() < 0.2:
            self.emit("i64", out, f'loom.reduce "arg{self.rng.choice(["max", "min"])}" {name} axes = {axes} : '
                      f"({self.type(dtype, sizes)}) -> {self.type('i64', out)}")
            return
        self.view(dtype, name, sizes, out, f'loom.reduce "{kind}" {name} axes = {axes}')
        if self.rng.random() < 0.5:
            reduced = self.values[-1]
            kept = [i for i in range(len(sizes)) if i not in axes]
            back = self.emit(dtype, sizes, f"loom.broadcast {reduced[0]} dims = {kept} : "
                             f"({self.type(dtype, out)}) -> {self.type(dtype, sizes)}")
            self.emit(dtype, sizes, f"loom.sub {name}, {back[0]} : {self.type(dtype, sizes)}")

    def concatenate(self):
        a = self.pick(lambda v: len(v[2]) > 0)
        b = a and self.pick(lambda v: v[1] == a[1] and len(v[2]) == len(a[2]) and v[2][1:] == a[2][1:])
        if not b:
            return
        out = [a[2][0] + b[2][0], *a[2][1:]]
        self.emit(a[1], out, f"loom.concatenate {a[0]}, {b[0]} axis = 0 : "
                  f"({self.type(a[1], a[2])}, {self.type(b[1], b[2])}) -> {self.type(a[1], out)}")

    def update(self):
        a = self.pick(lambda v: len(v[2]) > 0 and all(n > 0 for n in v[2]))
        if not a:
            return
        sizes = [self.rng.randint(1, n) for n in a[2]]
        starts = [self.rng.randint(0, n - m) for n, m in zip(a[2], sizes)]
        b = self.reshaped_to(self.pick(lambda v: v[1] == a[1]) or a, sizes)
        self.emit(a[1], a[2], f"loom.update_slice {a[0]}, {b[0]} starts = {starts} steps = {[1] * len(sizes)} : "
                  f"({self.type(a[1], a[2])}, {self.type(a[1], sizes)}) -> {self.type(a[1], a[2])}")

    def write_through(self):
        """a[A][B] = u, as a functional update of a view and then of the array."""
        a = self.pick(lambda v: len(v[2]) > 0 and all(n > 1 for n in v[2]))
        if not a:
            return
        steps = [self.rng.choice([1, 1, 2]) for _ in a[2]]
        sizes = [self.rng.randint(1, (n - 1) // s + 1) for n, s in zip(a[2], steps)]
        starts = [self.rng.randint(0, n - 1 - (m - 1) * s) for n, m, s in zip(a[2], sizes, steps)]
        self.view(a[1], a[0], a[2], sizes, f"loom.slice {a[0]} starts = {starts} sizes = {sizes} steps = {steps}")
        view = self.values[-1]
        inner = [self.rng.randint(1, n) for n in sizes]
        first = [self.rng.randint(0, n - m) for n, m in zip(sizes, inner)]
        b = self.reshaped_to(self.pick(lambda v: v[1] == a[1]) or a, inner)
        new = self.emit(a[1], sizes, f"loom.update_slice {view[0]}, {b[0]} starts = {first} steps = {[1] * len(inner)}"
                        f" : ({self.type(a[1], sizes)}, {self.type(a[1], inner)}) -> {self.type(a[1], sizes)}")
        self.emit(a[1], a[2], f"loom.update_slice {a[0]}, {new[0]} starts = {starts} steps = {steps} : "
                  f"({self.type(a[1], a[2])}, {self.type(a[1], sizes)}) -> {self.type(a[1], a[2])}")

    def scan(self):
        a = self.pick(lambda v: len(v[2]) > 0)
        if a:
            self.emit(a[1], a[2], f'loom.scan "sum" {a[0]} axis = {self.rng.randrange(len(a[2]))} : '
                      f"{self.type(a[1], a[2])}")

    def pad(self):
        a = self.pick(lambda v: 0 < len(v[2]))
        if not a:
            return
        low = [self.rng.randint(0, 2) for _ in a[2]]
        high = [self.rng.randint(0, 2) for _ in a[2]]
        zero = self.reshaped_to((None, a[1], (7, 7, 7, 7, 7)), ())
        out = [n + x + y for n, x, y in zip(a[2], low, high)]
        self.emit(a[1], out, f"loom.pad {a[0]}, {zero[0]} low = {low} high = {high} : "
                  f"({self.type(a[1], a[2])}, {self.type(a[1], ())}) -> {self.type(a[1], out)}")

    def dot(self):
        a = self.pick(lambda v: len(v[2]) == 2)
        b = a and self.pick(lambda v: len(v[2]) == 2 and v[1] == a[1] and v[2][1] == a[2][1])
        if not b or elements(a[2]) * b[2][0] > 1 << 20:
            return
        out = [a[2][0], b[2][0]]
        self.emit(a[1], out, f"loom.dot_general {a[0]}, {b[0]} batch = [] x [] contract = [1] x [1] : "
                  f"({self.type(a[1], a[2])}, {self.type(b[1], b[2])}) -> {self.type(a[1], out)}")

    def region(self, arguments, wanted, depth):
        """A region that takes `arguments`, reads what is around it, and yields values of the types of `wanted`."""
        lines, values = self.lines, self.values
        self.lines, self.values = [], values + arguments
        steps = [self.unary, self.binary, self.binary, self.select, self.transpose, self.slice, self.reduce,
                 self.update, self.write_through]
        for _ in range(self.rng.randint(1, 5)):
            self.rng.choice(steps)()
        if depth < 2 and self.rng.random() < 0.3:
            self.control(depth + 1)
        yields = []
        for _, dtype, sizes in wanted:
            like = [v for v in self.values if v[1:] == (dtype, tuple(sizes))]
            yields.append(self.rng.choice(like[-3:] + like[:1])[0])
        body = self.lines
        self.lines, self.values = lines, values
        types = ", ".join(self.type(dtype, sizes) for _, dtype, sizes in wanted)
        head = ", ".join(f"{name}: {self.type(dtype, sizes)}" for name, dtype, sizes in arguments)
        return ["  {", f"  ^bb0({head}):", *body, f"    loom.yield {', '.join(yields)} : {types}", "  }"]

    def names(self, like):
        made = [(f"%r{self.count + i}", dtype, sizes) for i, (_, dtype, sizes) in enumerate(like)]
        self.count += len(like)
        return made

    def control(self, depth=0):
        """A loop that counts, or a branch."""
        like = self.rng.sample(self.values[-8:], min(len(self.values), self.rng.randint(1, 4)))
        like = [v for v in like if elements(v[2]) < 5000]
        if not like:
            return
        arguments, result = self.names(like), f"%{self.count}"
        self.count += 1
        inputs = ", ".join(v[0] for v in like)
        types = ", ".join(self.type(v[1], v[2]) for v in like)
        if self.rng.random() < 0.6:
            index = (f"%i{self.count}", "i64", ())
            first, kind = f"%n{self.count}", "i64"
            made = [f"  {first} = loom.constant({self.rng.randint(0, 6)} : i64) : tensor<i64>"]
            body = self.region([index] + arguments, like, depth)
            lines = [f"  {result}:{len(like)} = loom.for {first} init({inputs})"] + body
        else:
            first, kind = f"%n{self.count}", "i1"
            made = [f"  {first} = loom.constant({self.rng.choice(['true', 'false'])}) : tensor<i1>"]
            then, other = (self.region(self.names(like), like, depth) for _ in range(2))
            # The arguments have other names in each branch; both read the same inputs.
            lines = [f"  {result}:{len(like)} = loom.if {first} ({inputs})"] + then + ["  else"] + other
        self.lines += made + lines
        self.lines.append(f"  : (tensor<{kind}>, {types}) -> ({types})")
        for i, (_, dtype, sizes) in enumerate(like):
            self.values.append((f"{result}#{i}", dtype, sizes))

    def function(self, name, control=False):
        rng = self.rng
        dtype = rng.choice(["f64", "f64", "i32", "i64"])
        n, m = rng.choice([1, 3, 8, 17, 40]), rng.choice([1, 4, 9, 32, 70])
        if rng.random() < 0.1:
            n, m = rng.choice([(3000, 40), (7, 20000), (300, 300)])
        for sizes in [(n, m), (n, m), (m,), (n, 1), ()]:
            self.argument(dtype, sizes)
        steps = [self.unary, self.binary, self.binary, self.binary, self.select, self.transpose, self.slice,
                 self.reshape, self.reduce, self.reduce, self.concatenate, self.update, self.pad, self.dot, self.write_through, self.scan]
        if control:
            steps += 6 * [self.control]
        for _ in range(rng.randint(3, 16)):
            rng.choice(steps)()
        count = min(len(self.values), rng.randint(1, 3))
        outputs = [v for v in rng.sample(self.values[-6:], count) if elements(v[2]) < 300000] or self.values[:1]
        results = []
        for _, kind, sizes in outputs:
            attrs = ""
            if len(sizes) == 2 and rng.random() < 0.3:
                attrs = f" {{loom.strides = array<i64: 1, {max(sizes[0], 1)}>}}"
            results.append(self.type(kind, sizes) + attrs)
        body = "\n".join(self.lines)
        types = ", ".join(self.type(kind, sizes) for _, kind, sizes in outputs)
        return (f"func.func @{name}({', '.join(self.arguments)}) -> ({', '.join(results)}) {{\n{body}\n"
                f"  return {', '.join(v[0] for v in outputs)} : {types}\n}}\n")


def contiguous(sizes):
    strides, step = [], 1
    for n in reversed(sizes):
        strides.insert(0, step)
        step *= max(n, 1)
    return strides


def elements(sizes):
    total = 1
    for n in sizes:
        total *= n
    return total


@pytest.mark.skipif(not RUN_TEST.exists(), reason="the compiler's tools are not built")
@pytest.mark.parametrize("control", [False, True], ids=["straight", "control"])
@pytest.mark.parametrize("seed", range(FIRST, FIRST + 10))
def test_graphs(seed, control, tmp_path):
    text = "".join(Graph(random.Random(seed * 1000 + i)).function(f"g{seed}_{i}", control) for i in range(12))
    path = tmp_path / "graphs.mlir"
    path.write_text(text)
    done = subprocess.run([RUN_TEST, path], capture_output=True, text=True, timeout=PATIENCE)
    wrong = [line for line in done.stdout.splitlines() if not line.endswith("right")]
    assert done.returncode == 0 and not wrong, "\n".join(wrong) + done.stderr[-2000:] + "\n" + text
