"""Random programs on the simulator of a GPU against x86: `sim_fuzz.py BIN COUNT SEED`; or those of a file: `sim_fuzz.py BIN FILE [TIMES] [--size=N]`,
or what FRAMELOOM_TRACE has written of programs: `sim_fuzz.py BIN FOLDER`, where functions that x86 cannot run alone are counted apart.

Half are those of test/fuzz; half are rows or columns: elementwise operations, reductions along the last dimension, along others or
along all, and their results put back over what was reduced, at sizes around those of a vector, a warp, a block and a part. With --products all are matrix products: at sizes around those of
a tile, some with a great depth, in batches, turned, strided and sliced, with elementwise operations before and after them. With --matrix=NAME these, attentions, and those of a file, have other instructions on matrices (mma, mfma, wmma, none), and with --halves all are
products of halves or f64, or attentions of halves; with --ring they are large ones of halves (with --narrow as well, of f32 and int8), whose operands can be copied in boxes. With --skew=N
buffers on the simulator begin N bytes behind a multiple of 64; with --narrow they are of f32 that may be rounded to TF32, and of int8 as int32.
With --ordered all are sorts, scans and scatters of many elements, with --attention attentions and their gradients, with --sized products, convolutions, attentions, scatters, elementwise operations and reductions of symbolic sizes. With --keep=FILE what the simulator
prints of a file's functions is written there, requests of memory included. With --first=NAME all are programs of test/fuzz that begin with that operation (convolution, scatter, ...). Prints the programs whose results differ, or that one
side refuses for another reason than that its form is not there yet, and how many there were of each sort.
"""
import collections
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "test" / "fuzz"))
from ir_kind import close
from ir_programs import Function

from accept import functions
from each import marked
from sim_attention import Attention
from sim_sized import Convolution, Kept, Plane, likely, run_size, sized

EXTENTS = [1, 3, 4, 31, 32, 33, 64, 68, 127, 128, 130, 256, 511, 1000, 1024, 1025, 1500, 2052, 4099]
UNARY = {"f": ["neg", "abs", "exp", "tanh", "floor", "logistic"], "i": ["neg", "abs"]}
BINARY = {"f": ["add", "sub", "mul", "max", "min"], "i": ["add", "sub", "mul", "max", "min"]}
REDUCE = {"f": ["sum", "max", "min", "argmax", "argmin"], "i": ["sum", "max", "min", "prod", "argmin"]}
NOT_YET = ("symbolic sizes on a GPU",)


class Rows:
    """A function of one domain, rows x extent. All of its reductions are along the same dimensions."""

    def __init__(self, rng):
        self.rng, self.lines, self.count = rng, [], 0
        self.dtype = rng.choice(["f32", "f32", "f32", "f64", "f16", "bf16", "i32", "i64", "i8"])
        self.sort = self.dtype.lstrip("b")[0]
        extent = rng.choice(EXTENTS)
        self.full = rng.choice([(extent,), (rng.randint(1, 5), extent), (rng.randint(1, 40), min(extent, 130)), (2, 3, extent)])
        last = len(self.full) - 1
        self.axes = [last]
        if rng.random() < 0.4:
            self.full = rng.choice([(rng.randint(30, 300), rng.choice(EXTENTS[:9])), (3, rng.randint(30, 90), rng.randint(1, 40)), (rng.randint(9000, 20000),)])
            self.axes = rng.choice([[0], [0], [0, len(self.full) - 1], [max(0, len(self.full) - 2)]])
            self.axes = sorted(set(self.axes))
        self.kept = [d for d in range(len(self.full)) if d not in self.axes]
        self.inputs = [("%a0", self.full)] + [(f"%a{i}", self.full[-rng.randint(1, len(self.full)):]) for i in range(1, rng.randint(1, 3))]
        self.values = [v for v in self.inputs if v[1] == self.full]
        for name, shape in self.inputs:
            if shape != self.full:
                self.spread(name, shape, list(range(len(self.full) - len(shape), len(self.full))))

    def type(self, shape, dtype=None):
        return f"tensor<{''.join(f'{n}x' for n in shape)}{dtype or self.dtype}>"

    def emit(self, text):
        self.count += 1
        self.lines.append(f"  %v{self.count} = loom.{text}")
        return f"%v{self.count}"

    def spread(self, name, shape, dims):
        self.values.append((self.emit(f"broadcast {name} dims = {dims} : ({self.type(shape)}) -> {self.type(self.full)}"), self.full))

    def text(self, name):
        results = []
        for _ in range(self.rng.randint(1, 4)):
            a = self.rng.choice(self.values[-3:])[0]
            step = self.rng.random()
            if step < 0.3:
                self.values.append((self.emit(f"{self.rng.choice(UNARY[self.sort])} {a} : {self.type(self.full)}"), self.full))
            elif step < 0.6:
                b = self.rng.choice(self.values)[0]
                self.values.append((self.emit(f"{self.rng.choice(BINARY[self.sort])} {a}, {b} : {self.type(self.full)}"), self.full))
            else:
                kind, shape = self.rng.choice(REDUCE[self.sort]), tuple(self.full[d] for d in self.kept)
                if len(self.axes) > 1 and kind.startswith("arg"):
                    kind = "max"
                dtype = "i64" if kind.startswith("arg") else self.dtype
                made = self.emit(f'reduce "{kind}" {a} axes = {self.axes} : ({self.type(self.full)}) -> {self.type(shape, dtype)}')
                if dtype != self.dtype or self.rng.random() < 0.4:
                    results.append((made, self.type(shape, dtype)))
                else:
                    self.spread(made, shape, self.kept)
                    b = self.rng.choice(self.values[:-1])[0]
                    self.values.append((self.emit(f"{self.rng.choice(['sub', 'max', 'add'])} {b}, {self.values[-1][0]} : {self.type(self.full)}"), self.full))
        if not results or self.rng.random() < 0.7:
            if len(self.values) == len([v for v in self.inputs if v[1] == self.full]):
                self.values.append((self.emit(f"neg %a0 : {self.type(self.full)}"), self.full))
            results.append((self.values[-1][0], self.type(self.full)))
        arguments = ", ".join(f"{n}: {self.type(s)}" for n, s in self.inputs)
        names, types = ", ".join(n for n, _ in results), ", ".join(t for _, t in results)
        body = "\n".join(self.lines)
        return f"func.func @{name}({arguments}) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}\n"


SIDES = [1, 2, 3, 5, 7, 13, 15, 16, 17, 31, 32, 33, 47, 61, 63, 64, 65, 97, 127, 128, 129, 150]
PRODUCT_WORK = 400000  # multiply-adds of one product, at most


class Products:
    """A function of one product, its operands in any order of dimensions in memory."""

    def __init__(self, rng):
        self.rng, self.lines, self.arguments, self.count = rng, [], [], 0
        self.dtype = rng.choice(["f32", "f32", "f32", "f32", "f64", "f16", "bf16", "i32", "i64", "i8", "i1"])
        self.batch = [rng.randint(1, 3)] if rng.random() < 0.35 else []
        deep = rng.random() < 0.12  # the depth is divided among blocks, in f32 with other roundings than x86's
        if deep:
            self.dtype = rng.choice(["f64", "bf16", "i32", "i1"])
            self.rows, self.columns, self.depth = [rng.choice(SIDES[:9])], [rng.choice(SIDES[:9])], [rng.randint(1000, 4100)]
        if "--halves" in sys.argv:
            self.dtype = rng.choice(["bf16", "bf16", "f16", "f64"])
        if "--narrow" in sys.argv:
            self.dtype = rng.choice(["f32", "f32", "i32"])
        self.real = "f" in self.dtype
        while not deep:
            self.rows, self.columns, self.depth = (self.extents(rng.choice(SIDES)) for _ in range(3))
            if math.prod(self.batch + self.rows + self.columns + self.depth) <= PRODUCT_WORK:
                break

    def extents(self, extent):
        """A group of dimensions: one, or rarely two or none."""
        choice = self.rng.random()
        return [] if choice < 0.04 else [self.rng.randint(1, 4), min(extent, 33)] if choice < 0.15 else [extent]

    def type(self, shape):
        return f"tensor<{''.join(f'{n}x' for n in shape)}{self.dtype}>"

    def emit(self, text):
        self.count += 1
        self.lines.append(f"  %v{self.count} = loom.{text}")
        return f"%v{self.count}"

    def argument(self, shape, strided=True):
        name, strides, step = f"%a{len(self.arguments)}", [0] * len(shape), 1
        order = list(range(len(shape)))
        if strided and self.rng.random() < 0.5:
            self.rng.shuffle(order)
        for d in reversed(order):
            strides[d] = step
            step *= shape[d]
        attribute = "" if order == sorted(order) or 0 in shape else f" {{loom.strides = array<i64: {', '.join(map(str, strides))}>}}"
        self.arguments.append(f"{name}: {self.type(shape)}{attribute}")
        return name

    def viewed(self, shape):
        """A value of this shape: an argument, every second element of one backwards, or one that is repeated along a dimension."""
        rng, d = self.rng, self.rng.randrange(len(shape)) if shape else -1
        choice = rng.random() if shape else 1
        if choice < 0.12:
            whole, starts, steps = list(shape), [0] * len(shape), [1] * len(shape)
            whole[d], starts[d], steps[d] = 2 * shape[d] + 1, 2 * shape[d], -2
            return self.emit(f"slice {self.argument(whole)} starts = {starts} sizes = {list(shape)} steps = {steps} : ({self.type(whole)}) -> {self.type(shape)}")
        if choice < 0.2:
            return self.spread(shape, [k for k in range(len(shape)) if k != d])
        return self.argument(shape)

    def spread(self, shape, dims):
        kept = [shape[k] for k in dims]
        return self.emit(f"broadcast {self.argument(kept)} dims = {dims} : ({self.type(kept)}) -> {self.type(shape)}")

    def some(self, shape):
        return self.spread(shape, sorted(self.rng.sample(range(len(shape)), self.rng.randint(0, len(shape)))))

    def after(self, value, shape, most):
        """Elementwise operations on a value."""
        for _ in range(self.rng.randint(0, most) if self.dtype != "i1" else 0):
            names = ["neg", "abs", "tanh", "max", "mul", "add"] if self.real else ["neg", "abs", "max", "add"]
            if "--narrow" in sys.argv and self.real:
                names.remove("tanh")  # it hides sums that are large, by which the error is measured
            op = self.rng.choice(names)
            other = f", {self.some(shape)}" if op in ("max", "mul", "add") else ""
            value = self.emit(f"{op} {value}{other} : {self.type(shape)}")
        return value

    def operand(self, mine):
        """A value whose dimensions are the batch, `mine` and the depth in any order: the value, its shape, where batch and depth are."""
        groups = [("batch", n) for n in self.batch] + [("mine", n) for n in mine] + [("depth", n) for n in self.depth]
        order = list(range(len(groups)))
        self.rng.shuffle(order)
        order.sort(key=lambda k: k if groups[k][0] == "mine" else -1) if self.rng.random() < 0.3 else None
        mine_order = sorted(k for k in order if groups[k][0] == "mine")
        order = [mine_order.pop(0) if groups[k][0] == "mine" else k for k in order]
        shape = [groups[k][1] for k in order]
        wide, self.dtype = self.dtype, "i8" if "--narrow" in sys.argv and self.dtype == "i32" else self.dtype
        value, narrow = self.after(self.viewed(shape), shape, self.rng.choice([0, 0, 1, 2])), self.type(shape)
        if self.dtype != wide:
            self.dtype = wide
            value = self.emit(f"convert {value} : ({narrow}) -> {self.type(shape)}")
        place = {k: at for at, k in enumerate(order)}
        first = len(self.batch) + len(mine)
        return value, shape, [place[k] for k in range(len(self.batch))], [place[first + k] for k in range(len(self.depth))]

    def text(self, name):
        (x, left, bx, cx), (y, right, by, cy) = self.operand(self.rows), self.operand(self.columns)
        shape = self.batch + self.rows + self.columns
        made = self.emit(f"dot_general {x}, {y} batch = {bx} x {by} contract = {cx} x {cy} : ({self.type(left)}, {self.type(right)}) -> {self.type(shape)}")
        made = self.after(made, shape, 3)
        body = "\n".join(self.lines)
        text = f"func.func @{name}({', '.join(self.arguments)}) -> {self.type(shape)} {{\n{body}\n  return {made} : {self.type(shape)}\n}}\n"
        # With few multiprocessors to keep busy, small products have large tiles too, and the depth is not divided.
        tf32 = ", loom.tf32" if "--narrow" in sys.argv and ("--ring" in sys.argv or self.rng.random() < 0.8) else ""
        processors = self.rng.choice([1, 1, 3, 10]) if math.prod(self.depth) < 1000 else 128
        return f"module attributes {{loom.processors = {processors} : i64{tf32}}} {{\n{text}}}\n"


class Rings(Products):
    """A product of halves whose operands can mostly be copied in boxes: lines are a multiple of 16 bytes apart, and tiles are large."""

    def __init__(self, rng):
        super().__init__(rng)
        self.dtype, self.batch, self.real = rng.choice(["bf16", "bf16", "f16"]), [rng.randint(2, 3)] if rng.random() < 0.25 else [], True
        side = lambda: [rng.choice([72, 96, 128, 136, 192, 200, 256, 264, 130])]
        self.rows, self.columns, self.depth = side(), side(), [rng.choice([8, 24, 64, 72, 128, 136, 200, 320, 640])]
        if "--narrow" in sys.argv:
            self.dtype = rng.choice(["f32", "i32"])
            self.depth, self.real = [rng.choice([16, 32, 64, 100, 144, 160, 400, 600])], self.dtype == "f32"

    def viewed(self, shape):
        if len(shape) > 1 and self.rng.random() < 0.2:
            whole, starts = shape[:-1] + [shape[-1] + 16], [0] * (len(shape) - 1) + [self.rng.choice([0, 8, 8, 16])]
            return self.emit(f"slice {self.argument(whole, strided=False)} starts = {starts} sizes = {list(shape)} steps = {[1] * len(shape)} : ({self.type(whole)}) -> {self.type(shape)}")
        return super().viewed(shape) if self.rng.random() < 0.15 else self.argument(shape, strided=False)

    def after(self, value, shape, most):
        return value if most < 3 and self.rng.random() < 0.85 else super().after(value, shape, most)


class Plain(Products):
    """Operands are arguments as they are, and their sizes may be symbolic: then the depth may be greater, for which f32 has other roundings
    than on x86."""

    def __init__(self, rng):
        super().__init__(rng)
        if self.dtype == "f32" and math.prod(self.depth) > 32:
            self.dtype = "f64"

    def viewed(self, shape):
        return self.argument(shape, strided=False)

    def is_symbolic(self, size):
        return size >= 5


def ordered(rng, name):
    """A sort, a scan, or a scatter of slices: lines and indices at sizes around those of a tile, a part and their multiples."""
    count, dtype = rng.choice([65, 100, 255, 300, 1000, 2047, 2048, 2049, 3000, 4100, 9000]), rng.choice(["f32", "f64", "i32", "i8", "f16", "ui16", "i64", "i1"])
    tensor = lambda shape, dtype: f"tensor<{''.join(f'{n}x' for n in shape)}{dtype}>"
    sort = rng.random()
    if sort < 0.6:
        axis, shape = rng.randint(0, 1), [rng.choice([1, 1, 2, 3, 17]), count]
        shape = shape if axis else shape[::-1]
        while math.prod(shape) > 20000:
            shape[1 - axis] = 1
        made, given = tensor(shape, "i64"), tensor(shape, dtype)
        if sort < 0.3:
            given = tensor(shape, dtype if dtype not in ("f16", "i1") else "f32")
            kind = rng.choice(["sum", "max", "min"] + ["prod"] * (dtype[0] in "ui"))
            body = f"  %n = loom.neg %x : {given}\n  %r = loom.scan \"{kind}\" %n axis = {axis} : {given}\n  %m = loom.max %r, %x : {given}\n  return %m : {given}\n"
            return f"func.func @{name}(%x: {given}) -> {given} {{\n{body}}}\n"
        indices = rng.choice(["true", "false"])
        made = made if indices == "true" else given
        body = f"  %r = loom.sort %x axis = {axis} {{indices = {indices}}} : ({given}) -> {made}\n  return %r : {made}\n"
        return f"func.func @{name}(%x: {given}) -> {made} {{\n{body}}}\n"
    return scatter(rng, name, count, dtype)


def scatter(rng, name, count, dtype):
    tensor = lambda shape, dtype: f"tensor<{''.join(f'{n}x' for n in shape)}{dtype}>"
    if dtype in ("f16", "i1"):
        dtype = "f32"
    size, axis, beside = rng.choice([1, 3, 40, 1000, 5000]), rng.randint(0, 2), rng.choice([[1, 1], [1, 3], [2, 2], [5, 1]])
    kind, index = rng.choice(["set", "add", "add", "mul", "min", "max"]), rng.choice(["i64", "i32"])
    kind = "max" if kind == "mul" and dtype[0] == "f" else kind
    to, part = tensor(beside[:axis] + [size] + beside[axis:], dtype), tensor(beside[:axis] + [count] + beside[axis:], dtype)
    indices = tensor([count], index)
    body = (f"  %n = loom.constant({size} : {index}) : {indices}\n  %k = loom.iota {{axis = 0 : i64}} : {indices}\n  %m = loom.constant({rng.choice([1, 7, 104729])} : {index}) : {indices}\n"
            f"  %a = loom.mul %k, %m : {indices}\n  %b = loom.add %a, %i : {indices}\n  %c = loom.rem %b, %n : {indices}\n"
            f"  %r = loom.scatter \"{kind}\" %x, %c, %u axis = {axis} : ({to}, {indices}, {part}) -> {to}\n  return %r : {to}\n")
    return f"func.func @{name}(%x: {to}, %i: {indices}, %u: {part}) -> {to} {{\n{body}}}\n"


def symbolic(rng, i):
    if i % 8 in (4, 7):
        made = Rows(rng)
        chosen = {n for n in made.full if n > 1 and rng.random() < 0.7}
        return likely(rng.choice([1, 40, 1024]), sized(rng, made.text("f"), lambda size: size in chosen))
    if i % 8 == 3:
        count = rng.choice([65, 100, 300])
        return sized(rng, scatter(rng, "f", count, rng.choice(["f32", "f64", "i32", "i8"])), lambda size: size == count)
    made = Plane(rng) if i % 8 == 6 else Kept(rng) if i % 8 == 5 else [Plain, Convolution, lambda rng: Attention(rng, plain=True)][i % 4](rng)
    return sized(rng, made.text("f"), made.is_symbolic)


class First(Function):
    """A function of test/fuzz that begins with some operation."""

    def __init__(self, rng, name, first):
        super().__init__(rng, name)
        for _ in range(20):
            if self.lines:
                break
            getattr(self, first)()


def run(bin, source, *options):
    sizes = [word for word in sys.argv if word.startswith("--size=")]
    if "--target=sim" in options:
        sizes += [word for word in sys.argv if word.startswith("--skew=")]
    if "--sized" in sys.argv:
        sizes = [f"--size={run_size(source.read_text())}"]
    done = subprocess.run([bin / "loom-run", "--elements=1000000", *sizes, *options, source], capture_output=True, text=True)
    return done.stdout.splitlines(), done.stderr if done.returncode >= 0 else f"signal {-done.returncode}"


def check(bin, source, seed):
    x86, error = run(bin, source, f"--seed={seed}")
    if error:
        return f"x86: {error}"
    kept = next((word.partition("=")[2] for word in sys.argv if word.startswith("--keep=")), None)
    sim, error = run(bin, source, f"--seed={seed}", "--target=sim", f"--order={seed % 5}", *(["--requests"] if kept else []))
    if kept:
        with open(kept, "a") as file:
            file.writelines(line + "\n" for line in sim)
        sim = [line for line in sim if " blocks, " not in line]
    if any(text in error for text in NOT_YET):
        return "not yet"
    if error or len(sim) != len(x86):
        return f"sim: {error}"
    text = source.read_text()
    scanned = 'loom.scan "sum"' in text  # a sum near zero has the rounding of the large ones before it
    gradient = "loom.attention_gradient" in text  # with halves, gradients of scores are rounded to halves before they are added up
    unit = 1e-3 if "loom.tf32" in text else None  # operands are rounded, which x86 does not: by the largest sum
    for want, got in zip(x86, sim):
        large = scanned or unit or gradient and "float16[" in want
        if not close(got.partition(": ")[2], want.partition(": ")[2], large, unit):
            return f"differs: {got[:300]} instead of {want[:300]}"
    return "same"


def whole(bin, source, times):
    """The functions of a file, each by itself, with other elements and in another order of threads each time."""
    matrix = next((word.partition("=")[2] for word in sys.argv if word.startswith("--matrix=")), None)
    attributes = {"loom.matrix": f'"{matrix}"'} if matrix else {}
    with tempfile.TemporaryDirectory() as folder:
        one = Path(folder) / "program.mlir"
        for seed in range(5, 5 + times):
            found = []
            for name, module in functions(source):
                one.write_text(marked(module, attributes))
                what = check(bin, one, seed)
                if what != "same":
                    found.append(f"{name} {what}")
            print(f"{source.name}, seed {seed}: {'; '.join(found) or 'same'}")


def traced(bin, folder):
    """The functions of traces, each with elements of its own."""
    found = collections.Counter()
    for i, source in enumerate(sorted(folder.glob("*/00-import.mlir"))):
        what = check(bin, source, i + 1)
        found[what.partition(":")[0]] += 1
        if what.partition(":")[0] in ("sim", "differs"):
            print(f"{source}: {what}")
    print(f"{sum(found.values())} functions: {', '.join(f'{n} {what}' for what, n in sorted(found.items()))}")


def main():
    if Path(sys.argv[2]).is_dir():
        if any(word.startswith("--matrix") for word in sys.argv):
            sys.exit("--matrix is for random programs and for a file, not for a folder of traces")
        return traced(Path(sys.argv[1]), Path(sys.argv[2]))
    if sys.argv[2].endswith(".mlir"):
        return whole(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 3)
    products = "--products" in sys.argv
    matrix = next((word.partition("=")[2] for word in sys.argv if word.startswith("--matrix=")), None)
    first = next((word.partition("=")[2] for word in sys.argv if word.startswith("--first=")), None)
    bin, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    found = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.mlir"
        for i in range(count):
            rng = random.Random(f"sim {seed} {i}")
            if products:
                text = (Rings if "--ring" in sys.argv else Products)(rng).text("f")
            elif "--sized" in sys.argv:
                text = symbolic(rng, i)
            elif "--attention" in sys.argv:
                text = Attention(rng, halves="--halves" in sys.argv).text("f")
            elif "--ordered" in sys.argv:
                text = ordered(rng, "f")
            elif first:
                text = First(rng, "f", first).text() + "\n"
            else:
                text = Rows(rng).text("f") if i % 2 else Function(rng, "f").text() + "\n"
            text = marked(text, {"loom.matrix": f'"{matrix}"'} if matrix else {})
            source.write_text(text)
            what = check(bin, source, i + 1)
            found[what.partition(":")[0]] += 1
            if what not in ("same", "not yet"):
                print(f"program {i}: {what}\n{text}")
    print(f"{count} programs: {', '.join(f'{n} {what}' for what, n in sorted(found.items()))}")


if __name__ == "__main__":
    main()
