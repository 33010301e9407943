"""Products, attentions, convolutions and scatters of symbolic sizes, for sim_fuzz.py: those of the other generators, with sizes that follow
from one number."""
import math
import re

SIZES = (0, 1, 5, 17)  # what the number is in runs,
MORE = (130, 700, 9000)  # and where no operation takes long
LONG = re.compile(r"loom\.(dot_general|convolution|attention|scatter)")
MOST = 200000  # elements of a tensor: the simulator takes a millionth of a second for each of its accesses, and products have many


def run_size(text):
    """Which of them a function is run with."""
    maps = re.findall(r"affine_map<\(\)\[s0\] -> \(([^()]*)\)>", text)
    fitting = [n for n in SIZES + (() if LONG.search(text) else MORE) if all(math.prod(eval(f"({sizes},)", {"s0": n})) <= MOST for sizes in maps)]
    return fitting[sum(map(ord, text)) % len(fitting)]


def sized(rng, text, which):
    """The text of a function of known sizes: each size that `which` takes is, in all tensors, a multiple of the symbol and some more. The
    strides of arguments are those of rows in order."""
    text = re.sub(r" \{loom\.strides = array<i64: [^>]*>\}", "", text)
    names = {}

    def tensor(match):
        sizes, dtype = match[1].rstrip("x").split("x"), match[2]
        if not match[1]:
            return match[0]
        for n in sizes:
            if which(int(n)) and n not in names:
                names[n] = rng.choice(["s0", "s0 + {}", "2 * s0 + {}", "s0 * 8", "4 * s0 + {}", n]).format(rng.randrange(1, 9))
        places = [names.get(n, n) for n in sizes]
        if not any("s0" in place for place in places):
            return match[0]
        known = "".join(f"{n if 's0' not in place else '?'}x" for n, place in zip(sizes, places))
        return f"tensor<{known}{dtype}, affine_map<()[s0] -> ({', '.join(places)})>>"

    return re.sub(r"tensor<((?:\d+x)*)(\w+)>", tensor, text)


def likely(number, text):
    """A function as a module whose symbol is likely that number."""
    return f"module attributes {{loom.exprs = array<i64: 1, 0, 0, 0>, loom.symbols = array<i64: 0, 1099511627776, 1, {number}>}} {{\n{text}}}\n"


class Convolution:
    """A convolution whose result has the sizes of its image, or the gradient of its weights. Images, rows and columns may be symbolic."""

    def __init__(self, rng):
        self.rng, self.gradient, self.spatial = rng, rng.random() < 0.4, rng.randint(1, 2)
        self.dtype = rng.choice(["f64" if self.gradient else "f32", "f64", "i32"])  # a gradient's sums are long
        self.groups = rng.choice([1, 1, 2, 4])
        self.sizes = [rng.choice([21, 22]), *rng.sample([23, 25, 29], self.spatial)]
        self.inputs, self.outputs = self.groups * rng.randint(1, 4), self.groups * rng.choice([1, 2, 9])

    def is_symbolic(self, size):
        return size in self.sizes

    def text(self, name):
        window = [self.rng.choice([1, 3, 5]) for _ in range(self.spatial)]
        tensor = lambda shape: f"tensor<{''.join(f'{n}x' for n in shape)}{self.dtype}>"
        image, result = tensor([self.sizes[0], self.inputs, *self.sizes[1:]]), tensor([self.sizes[0], self.outputs, *self.sizes[1:]])
        weights = tensor([self.outputs, self.inputs // self.groups, *window])
        ones, padding = [1] * self.spatial, [n // 2 for n in window for _ in range(2)]
        how = f"strides = {ones} padding = {padding} dilation = {ones}"
        other, made = (result, weights) if self.gradient else (weights, result)
        op = f"convolution_gradient %x, %y {how} window = {window}" if self.gradient else f"convolution %x, %y {how}"
        return (f"func.func @{name}(%x: {image}, %y: {other}) -> {made} {{\n  %0 = loom.{op} groups = {self.groups} : ({image}, {other}) -> {made}\n"
                f"  return %0 : {made}\n}}\n")


class Plane:
    """Elementwise operations on two or three dimensions, and perhaps a sum of what they give. Some sizes are symbolic, others may be 0 or 1."""

    def __init__(self, rng):
        self.rng, self.dtype = rng, rng.choice(["f64", "i32", "i8", "f16"])
        self.shape = [rng.choice([21, 23]), *(rng.choice([0, 1, 3, 25, 29, 70]) for _ in range(rng.randint(1, 2)))]
        rng.shuffle(self.shape)

    def is_symbolic(self, size):
        return 20 < size < 30

    def text(self, name):
        tensor = lambda shape: f"tensor<{''.join(f'{n}x' for n in shape)}{self.dtype}>"
        whole, row = tensor(self.shape), tensor(self.shape[1:])
        lines = [f"  %0 = loom.broadcast %y dims = {list(range(1, len(self.shape)))} : ({row}) -> {whole}", f"  %1 = loom.mul %x, %0 : {whole}"]
        for i in range(2, self.rng.randint(3, 6)):
            op = self.rng.choice(["neg", "abs", "add", "max"])
            lines.append(f"  %{i} = loom.{op} %{i - 1}{', %x' if op in ('add', 'max') else ''} : {whole}")
        last, made = f"%{len(lines) - 1}", whole
        if self.rng.random() < 0.6:
            axes = sorted(self.rng.sample(range(len(self.shape)), self.rng.randint(1, len(self.shape))))
            made = tensor([n for d, n in enumerate(self.shape) if d not in axes])
            lines.append(f'  %r = loom.reduce "sum" {last} axes = {axes} : ({whole}) -> {made}')
            last = "%r"
        body = "\n".join(lines)
        return f"func.func @{name}(%x: {whole}, %y: {row}) -> {made} {{\n{body}\n  return {last} : {made}\n}}\n"


class Kept:
    """Rows or columns of a symbolic length, of which what they are reduced to and what is made with it are both results."""

    def __init__(self, rng):
        self.rng, self.dtype, self.count, self.length = rng, rng.choice(["f32", "f64", "i32"]), rng.choice([1, 4, 8, 9, 12, 15, 40]), 23

    def is_symbolic(self, size):
        return size == self.length

    def text(self, name):
        axis, kind = self.rng.randint(0, 1), self.rng.choice(["sum", "prod", "max", "min"])
        shape = [self.length, self.count] if axis == 0 else [self.count, self.length]
        whole, row = f"tensor<{shape[0]}x{shape[1]}x{self.dtype}>", f"tensor<{self.count}x{self.dtype}>"
        return f"""func.func @{name}(%x: {whole}) -> ({row}, {whole}, {row}) {{
  %0 = loom.reduce "{kind}" %x axes = [{axis}] : ({whole}) -> {row}
  %1 = loom.neg %0 : {row}
  %2 = loom.broadcast %1 dims = [{1 - axis}] : ({row}) -> {whole}
  %3 = loom.add %x, %2 : {whole}
  %4 = loom.reduce "max" %3 axes = [{axis}] : ({whole}) -> {row}
  return %0, %3, %4 : {row}, {whole}, {row}
}}
"""
