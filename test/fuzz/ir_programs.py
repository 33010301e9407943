"""Random functions of `loom` ops over values of every dtype; ops of one or two operands are those of dialects/ops_elementwise.td.

Kernels may compute some ops within a bound, and sums in another order. What comes of them is not exact, and is no operand
of an op where a small difference can become a large one. What may be large, infinite or NaN is not converted to integers.
"""

import collections
import re
from pathlib import Path

DIALECT = Path(__file__).resolve().parent.parent.parent / "dialects"
TABLE = "\n".join((DIALECT / name).read_text() for name in ("loom.td", "ops_elementwise.td", "ops_arrays.td", "ops_control.td"))
INTEGERS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
FLOATS = ("f16", "bf16", "f32", "f64")
COMPLEX = {"f32": "complex<f32>", "f64": "complex<f64>"}
DTYPES = ("i1", *INTEGERS, *FLOATS, *COMPLEX.values())
COMMON = ("f32", "f32", "f64", "i32", "i64", "i8", "f16", "i1")
# Exactly what NumPy gives, or the rounded exact value.
EXACT = {"abs", "neg", "sign", "not", "ceil", "floor", "trunc", "round_even", "sqrt", "popcount", "add", "sub", "mul", "div", "max", "min", "fmax", "fmin",
         "and", "or", "xor", "shl", "shr", "copysign", "gcd", "nextafter"}
TAME = {"abs", "neg", "sign", "not", "ceil", "floor", "trunc", "round_even", "add", "sub", "max", "min", "and", "or", "xor", "copysign"}
STEADY = {"abs", "neg", "tanh", "atan", "erf", "logistic", "add", "sub", "mul", "max", "min"}  # of what is not exact: of large sums, sines are none
PARTIAL = {"pow"}  # of integers not defined for all operands

Value = collections.namedtuple("Value", "name shape dtype exact tame")


def classes(base):
    return dict(re.findall(rf'Loom_{base}<"(\w+)",\s+"[^"]*",\s*"(\w+)"', TABLE))


UNARY, BINARY, PREDICATES = classes("Unary"), classes("Binary"), classes("Predicate")
UNARY = {name: known if name in ("neg", "copy") else known.replace("c", "") for name, known in UNARY.items()}  # of complex numbers they have no code
PREDICATES = {name: known.replace("c", "") for name, known in PREDICATES.items()}
BINARY["pow"] = BINARY["pow"].replace("c", "")


def class_of(dtype):
    return "b" if dtype == "i1" else dtype[0]


class Function:
    def __init__(self, rng, name):
        self.rng, self.name, self.lines, self.values, self.count = rng, name, [], [], 0
        sizes = rng.sample([2, 3, 4, 5, 7, 11, 13, 16, 17, 31], 3)
        if rng.random() < 0.1:
            sizes[0] = rng.choice([0, 64, 65, 130, 259])
        # Results that the caller makes late: dead parts of the arena are given back on the way, if there are whole pages of them.
        self.lent = rng.random() < 0.1
        self.largest = 40000 if self.lent else 6000
        if self.lent:
            sizes = [rng.choice([33, 61, 64]), rng.choice([4, 5, 48]), rng.choice([96, 130])]
        base = rng.choice(COMMON if rng.random() < 0.6 else DTYPES)
        self.arguments = []
        for i in range(rng.randint(1, 3)):
            shape = tuple(rng.choice(sizes + [1]) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3])))
            dtype = base if rng.random() < 0.75 else rng.choice(DTYPES)
            while elements(shape) > self.largest / 2:
                shape = shape[1:]
            self.arguments.append(Value(f"%a{i}", shape, dtype, True, True))
        self.values = list(self.arguments)

    # ---- texts ----

    def type(self, value):
        return f"tensor<{''.join(f'{n}x' for n in value.shape)}{value.dtype}>"

    def emit(self, text, operands, shape, dtype, exact=True, tame=True, inferred=True):
        """`text` without types; these are the operands' and the result's, or the result's alone."""
        made = Value(f"%v{self.count}", tuple(shape), dtype, exact and all(v.exact for v in operands), tame and all(v.tame for v in operands))
        if elements(made.shape) > self.largest:
            return None
        self.count += 1
        types = f"({', '.join(map(self.type, operands))}) -> {self.type(made)}" if inferred else self.type(made)
        self.lines.append(f"  {made.name} = loom.{text} : {types}")
        self.values.append(made)
        return made

    def constant(self, number, shape, dtype):
        text = {"b": "true" if number else "false", "f": f"{float(number)}"}.get(class_of(dtype), str(int(number)))
        if dtype == "bf16":
            text = f"{float(number)}"
        return self.emit(f"constant({text + ('' if dtype == 'i1' else ' : ' + dtype)})", [], shape, dtype, inferred=False)

    def pick(self, fits=lambda v: True):
        found = [v for v in self.values if fits(v)]
        return self.rng.choice(found[-5:] if self.rng.random() < 0.8 else found) if found else None

    # ---- steps: each adds an op, or none where nothing fits ----

    def unary(self):
        name = self.rng.choice(list(UNARY))
        a = self.pick(lambda v: kind(v.dtype) in UNARY[name] and (v.exact or name in STEADY))
        if a:
            self.emit(f"{name} {a.name}", [a], a.shape, a.dtype, name in EXACT or kind(a.dtype) in "biu", name in TAME, False)

    def binary(self):
        name = self.rng.choice(list(BINARY) + ["add", "sub", "mul", "max", "min"] * 3)
        a = self.pick(lambda v: kind(v.dtype) in BINARY[name] and (v.exact or name in STEADY))
        if not a or name in PARTIAL and kind(a.dtype) in "iu":
            return
        b = self.pick(lambda v: (v.shape, v.dtype) == (a.shape, a.dtype) and (v.exact or name in STEADY))
        if name in ("shl", "shr") and self.rng.random() < 0.7:
            b = self.constant(self.rng.randrange(4), a.shape, a.dtype)
        if name in ("floor_div", "rem", "fmod") and kind(a.dtype) in "iu":
            b = self.constant(self.rng.choice([1, 2, 3, 5]), a.shape, a.dtype)
        exact = name in EXACT or kind(a.dtype) in "biu"
        self.emit(f"{name} {a.name}, {b.name}", [a, b], a.shape, a.dtype, exact and not (kind(a.dtype) == "c" and name in ("mul", "div")), name in TAME, False)

    def predicate(self):
        name = self.rng.choice(list(PREDICATES))
        a = self.pick(lambda v: kind(v.dtype) in PREDICATES[name] and v.exact)
        if a:
            self.emit(f"{name} {a.name}", [a], a.shape, "i1")

    def compare(self):
        a = self.pick(lambda v: kind(v.dtype) != "c" and v.exact)
        b = a and self.pick(lambda v: (v.shape, v.dtype) == (a.shape, a.dtype) and v.exact)
        if a:
            self.emit(f'compare "{self.rng.choice("eq ne lt le gt ge".split())}" {a.name}, {b.name}', [a, b], a.shape, "i1")

    def select(self):
        c = self.pick(lambda v: v.dtype == "i1")
        a = c and self.pick(lambda v: v.shape == c.shape)
        if a:
            b = self.pick(lambda v: (v.shape, v.dtype) == (a.shape, a.dtype))
            self.emit(f"select {c.name}, {a.name}, {b.name}", [c, a, b], a.shape, a.dtype)

    def mul_add(self):
        a = self.pick(lambda v: v.dtype in ("f32", "f64"))
        if a:
            b, c = (self.pick(lambda v: (v.shape, v.dtype) == (a.shape, a.dtype)) for _ in range(2))
            self.emit(f"mul_add {a.name}, {b.name}, {c.name}", [a, b, c], a.shape, a.dtype, True, False, False)

    def convert(self):
        a, dtype = self.pick(), self.rng.choice(DTYPES)
        into = kind(dtype)
        if kind(a.dtype) in "fc" and into in "biu" and not (a.exact and a.tame and dtype in ("i1", "i32", "i64")) or kind(a.dtype) == "c" and into != "c" or a.dtype == dtype:
            return
        if kind(a.dtype) == "f" and dtype != "i1" and into != "f" and into != "c" and a.dtype not in ("f32", "f64"):
            return
        self.emit(f"convert {a.name}", [a], a.shape, dtype, tame=dtype not in ("f16", "bf16"))

    def parts(self):
        a = self.pick(lambda v: kind(v.dtype) == "c" or v.dtype in ("f32", "f64"))
        if a and kind(a.dtype) == "c":
            self.emit(f"{self.rng.choice(['real', 'imag'])} {a.name}", [a], a.shape, a.dtype[8:-1])
        elif a:
            b = self.pick(lambda v: (v.shape, v.dtype) == (a.shape, a.dtype))
            self.emit(f"complex {a.name}, {b.name}", [a, b], a.shape, COMPLEX[a.dtype])

    def bitcast(self):
        a = self.pick(lambda v: v.exact and v.dtype in ("i32", "f32", "i64", "f64", "i16", "f16"))
        if a:
            self.emit(f"bitcast {a.name}", [a], a.shape, {"i": "f", "f": "i"}[a.dtype[0]] + a.dtype[1:], tame=False)

    def filled(self):
        like = self.pick()
        if self.rng.random() < 0.5 and like.shape and kind(like.dtype) not in "bc":
            self.emit(f"iota {{axis = {self.rng.randrange(len(like.shape))} : i64}}", [], like.shape, like.dtype, inferred=False)
        elif kind(like.dtype) != "c":
            self.constant(self.rng.choice([0, 1, 2, 3]), like.shape, like.dtype)

    def copy(self):
        a = self.pick()
        self.emit(f"copy {a.name}", [a], a.shape, a.dtype, inferred=False)

    def broadcast(self):
        a = self.pick(lambda v: len(v.shape) < 4)
        if not a:
            return
        larger = [v for v in self.values if len(v.shape) >= len(a.shape) and all(m in (1, n) for m, n in zip(a.shape, v.shape[len(v.shape) - len(a.shape):]))]
        other = self.rng.choice(larger)
        shape = other.shape if self.rng.random() < 0.8 else (self.rng.choice([2, 3]), *a.shape)
        places = list(range(len(shape) - len(a.shape), len(shape)))
        if len(shape) == len(a.shape) + 1 and shape[:-1] == a.shape and self.rng.random() < 0.3:
            places = list(range(len(a.shape)))
        self.emit(f"broadcast {a.name} dims = {places}", [a], shape, a.dtype)

    def transpose(self):
        a = self.pick(lambda v: len(v.shape) > 1)
        if a:
            order = self.rng.sample(range(len(a.shape)), len(a.shape))
            self.emit(f"transpose {a.name} perm = {order}", [a], [a.shape[p] for p in order], a.dtype)

    def region(self, shape):
        """(starts, sizes, steps) of some of the elements of a shape."""
        starts, sizes, steps = [], [], []
        for n in shape:
            step = self.rng.choice([1, 1, 1, 1, 2, 3, -1, -2])
            low, high = sorted((self.rng.randint(0, n), self.rng.randint(0, n))) if self.rng.random() < 0.5 else (0, n)
            size = max(0, -(-(high - low) // abs(step)))
            starts.append((low if step > 0 else low + (size - 1) * -step) if size else 0)
            sizes.append(size)
            steps.append(step if size else 1)
        return starts, sizes, steps

    def slice(self):
        a = self.pick(lambda v: v.shape)
        if a:
            starts, sizes, steps = self.region(a.shape)
            self.emit(f"slice {a.name} starts = {starts} sizes = {sizes} steps = {steps}", [a], sizes, a.dtype)

    def update_slice(self):
        a = self.pick(lambda v: v.shape)
        if not a:
            return
        starts, sizes, steps = self.region(a.shape)
        update = self.pick(lambda v: v.dtype == a.dtype and list(v.shape) == sizes)
        if not update and kind(a.dtype) != "c":
            update = self.constant(1, sizes, a.dtype)
        if update:
            self.emit(f"update_slice {a.name}, {update.name} starts = {starts} steps = {steps}", [a, update], a.shape, a.dtype)

    def concatenate(self):
        a = self.pick(lambda v: v.shape)
        if not a:
            return
        axis = self.rng.randrange(len(a.shape))
        fits = [v for v in self.values if v.dtype == a.dtype and len(v.shape) == len(a.shape) and all(x == y for d, (x, y) in enumerate(zip(v.shape, a.shape)) if d != axis)]
        some = [a] + [self.rng.choice(fits) for _ in range(self.rng.randint(1, 3))]
        shape = [sum(v.shape[axis] for v in some) if d == axis else n for d, n in enumerate(a.shape)]
        self.emit(f"concatenate {', '.join(v.name for v in some)} axis = {axis}", some, shape, a.dtype)

    def pad(self):
        a = self.pick(lambda v: v.shape and kind(v.dtype) != "c")
        if a:
            low, high = ([self.rng.randint(0, 2) for _ in a.shape] for _ in range(2))
            value = self.constant(self.rng.choice([0, 1, 2]), (), a.dtype)
            self.emit(f"pad {a.name}, {value.name} low = {low} high = {high}", [a, value], [n + x + y for n, x, y in zip(a.shape, low, high)], a.dtype)

    def gather(self):
        a = self.pick(lambda v: v.shape and 0 not in v.shape)
        indices = a and self.pick(lambda v: v.dtype in ("i64", "i32", "i8", "ui8") and len(v.shape) < 3)
        if indices:
            axis = self.rng.randrange(len(a.shape))
            shape = [*a.shape[:axis], *indices.shape, *a.shape[axis + 1:]]
            self.emit(f'gather "{self.rng.choice(["wrap", "clip"])}" {a.name}, {indices.name} axis = {axis}', [a, indices], shape, a.dtype)

    def scatter(self):
        a = self.pick(lambda v: v.shape and 0 not in v.shape and v.dtype not in ("i1", "f16", "bf16", *COMPLEX.values()))
        if not a:
            return
        axis = self.rng.randrange(len(a.shape))
        combine = self.rng.choice(["set", "add", "add", "mul", "min", "max"])
        updates = self.pick(lambda v: v.dtype == a.dtype and len(v.shape) == len(a.shape) and v.shape[axis] <= a.shape[axis] and
                            all(x == y for d, (x, y) in enumerate(zip(v.shape, a.shape)) if d != axis))
        count, along = updates.shape[axis], len(a.shape) > 1 and self.rng.random() < 0.5  # an index for each slice, or each element
        shape = updates.shape if along else (count,)
        indices = self.emit(f"iota {{axis = {axis if along else 0} : i64}}", [], shape, "i64", inferred=False)
        if self.rng.random() < 0.6:
            by = self.constant(self.rng.choice([1, 2, 3]), shape, "i64")
            indices = self.emit(f"floor_div {indices.name}, {by.name}", [indices, by], shape, "i64", inferred=False)
        if along and self.rng.random() < 0.6:  # not the same for all
            other = self.emit(f"iota {{axis = {self.rng.randrange(len(shape))} : i64}}", [], shape, "i64", inferred=False)
            many = self.constant(a.shape[axis], shape, "i64")
            indices = self.emit(f"add {indices.name}, {other.name}", [indices, other], shape, "i64", inferred=False)
            indices = self.emit(f"rem {indices.name}, {many.name}", [indices, many], shape, "i64", inferred=False)
        elif self.rng.random() < 0.3:  # counted from the end
            less = self.constant(count, shape, "i64")
            indices = self.emit(f"sub {indices.name}, {less.name}", [indices, less], shape, "i64", inferred=False)
        exact = combine not in ("add", "mul") or kind(a.dtype) in "iu"
        self.emit(f'scatter "{combine}" {a.name}, {indices.name}, {updates.name} axis = {axis}', [a, indices, updates], a.shape, a.dtype, exact)

    def sort(self):
        a = self.pick(lambda v: v.shape and v.exact and kind(v.dtype) != "c")
        if a:
            places = self.rng.random() < 0.4
            self.emit(f"sort {a.name} axis = {self.rng.randrange(len(a.shape))} {{indices = {str(places).lower()}}}", [a], a.shape, "i64" if places else a.dtype)

    def reduce(self):
        a = self.pick(lambda v: v.shape)
        if not a:
            return
        kinds = {"b": ["and", "or", "max", "min"], "c": ["sum"], "f": ["sum", "sum", "prod", "min", "max", "argmin", "argmax"]}
        how = self.rng.choice(kinds.get(kind(a.dtype), ["sum", "prod", "min", "max", "and", "or", "argmin", "argmax"]))
        if how.startswith("arg") and not a.exact or how == "prod" and not a.exact or 0 in a.shape and how in ("min", "max", "argmin", "argmax"):
            return
        axes = sorted(self.rng.sample(range(len(a.shape)), 1 if how.startswith("arg") else self.rng.randint(1, len(a.shape))))
        exact = how not in ("sum", "prod") or kind(a.dtype) not in "fc"
        self.emit(f'reduce "{how}" {a.name} axes = {axes}', [a], [n for d, n in enumerate(a.shape) if d not in axes], "i64" if how.startswith("arg") else a.dtype,
                  exact, how not in ("sum", "prod"))

    def scan(self):
        a = self.pick(lambda v: v.shape and kind(v.dtype) not in "bc")
        if a:
            how = self.rng.choice(["sum", "max", "min", "sum"])
            exact = how != "sum" or kind(a.dtype) not in "fc"
            self.emit(f'scan "{how}" {a.name} axis = {self.rng.randrange(len(a.shape))}', [a], a.shape, a.dtype, exact, how != "sum", False)

    def reshape(self):
        a = self.pick()
        shape = list(a.shape)
        for _ in range(self.rng.randint(1, 2)):
            way = self.rng.choice(["join", "split", "one", "squeeze"])
            if way == "join" and len(shape) > 1:
                at = self.rng.randrange(len(shape) - 1)
                shape[at:at + 2] = [shape[at] * shape[at + 1]]
            elif way == "split" and shape:
                at = self.rng.randrange(len(shape))
                by = next((d for d in (2, 3, 5, 7) if shape[at] % d == 0 and shape[at]), 1)
                shape[at:at + 1] = [by, shape[at] // by]
            elif way == "one":
                shape.insert(self.rng.randint(0, len(shape)), 1)
            else:
                shape = [n for n in shape if n != 1]
        if len(shape) < 6:
            self.emit(f"reshape {a.name}", [a], shape, a.dtype)

    def dot(self):
        a = self.pick(lambda v: len(v.shape) in (1, 2, 3) and kind(v.dtype) != "b" and v.dtype not in ("f16", "bf16"))
        fits = [(v, i, k) for v in self.values if a and v.dtype == a.dtype for i in range(len(a.shape)) for k in range(len(v.shape)) if a.shape[i] == v.shape[k]]
        if not fits:
            return
        b, i, k = self.rng.choice(fits)
        batch = [[], []]
        if len(a.shape) > 1 and len(b.shape) > 1 and i and k and a.shape[0] == b.shape[0] and self.rng.random() < 0.6:
            batch = [[0], [0]]
        shape = [a.shape[d] for d in batch[0]]
        shape += [n for d, n in enumerate(a.shape) if d != i and d not in batch[0]] + [n for d, n in enumerate(b.shape) if d != k and d not in batch[1]]
        if len(shape) < 5:
            self.emit(f"dot_general {a.name}, {b.name} batch = {batch[0]} x {batch[1]} contract = [{i}] x [{k}]", [a, b], shape, a.dtype, kind(a.dtype) in "iu", False)

    def argument(self, shape, dtype):
        made = Value(f"%a{len(self.arguments)}", tuple(shape), dtype, True, True)
        self.arguments.append(made)
        self.values.append(made)
        return made

    def gram(self):
        """The product of a matrix with its own transpose, large enough that a half of it is computed."""
        rows, depth, dtype = self.rng.choice([33, 48, 61, 65, 77]), self.rng.choice([32, 33, 47, 77]), self.rng.choice(["f32", "f32", "f64", "f16", "i32"])
        first = self.rng.random() < 0.5
        a = self.argument((depth, rows) if first else (rows, depth), dtype)
        if self.rng.random() < 0.3:
            a = self.emit(f"slice {a.name} starts = [{rows - 1 if not first else depth - 1}, 0] sizes = {list(a.shape)} steps = [-1, 1]", [a], a.shape, dtype)
        elif self.rng.random() < 0.3:
            a = self.emit(f"neg {a.name}", [a], a.shape, dtype, inferred=False)
        b, depths = a, [0 if first else 1] * 2
        if self.rng.random() < 0.5:
            b = self.emit(f"transpose {a.name} perm = [1, 0]", [a], a.shape[::-1], dtype)
            depths[1] = 1 - depths[0]
        self.emit(f"dot_general {a.name}, {b.name} batch = [] x [] contract = [{depths[0]}] x [{depths[1]}]", [a, b], (rows, rows), dtype, dtype == "i32", False)

    def products(self):
        """A sum of flat products, some of whose operands may lie side by side already."""
        depth, sizes, dtype = self.rng.choice([1, 2]), (self.rng.choice([16, 20]), self.rng.choice([16, 24])), self.rng.choice(["f32", "f64"])
        count = self.rng.randint(4, 6)
        whole = [self.argument((8 * depth, size), dtype) for size in sizes]
        parts = [[self.emit(f"slice {v.name} starts = [{i * depth}, 0] sizes = [{depth}, {v.shape[1]}] steps = [1, 1]", [v], (depth, v.shape[1]), dtype)
                  for i in self.rng.sample(range(8), count)] for v in whole]
        total = None
        for x, y in zip(*parts):
            made = self.emit(f"dot_general {x.name}, {y.name} batch = [] x [] contract = [0] x [0]", [x, y], sizes, dtype, False, False)
            if total:
                both = [total, made] if self.rng.random() < 0.7 else [made, total]
                made = self.emit(f"add {both[0].name}, {both[1].name}", both, sizes, dtype, False, False, False)
            total = made
        some = self.rng.choice(parts)
        some = self.rng.choices(some, k=count) if self.rng.random() < 0.6 else self.rng.sample(some, count)
        self.emit(f"concatenate {', '.join(v.name for v in some)} axis = 0", some, (count * depth, some[0].shape[1]), dtype)
        self.values.remove(total)
        self.values.append(total)

    def convolution(self):
        """With its result, or the gradient of its weights."""
        dtype, groups, rank = self.rng.choice(["f32", "f32", "f64", "i32"]), self.rng.choice([1, 1, 1, 2, 5]), self.rng.choice([1, 2, 2, 3])
        ins, outs = groups * self.rng.choice([1, 1, 3, 4]), groups * self.rng.choice([1, 1, 2, 9, 17])
        window, strides, dilation = ([self.rng.choice(some) for _ in range(rank)] for some in ([1, 2, 3, 3, 5], [1, 1, 2, 3], [1, 1, 1, 2]))
        pads = [self.rng.choice([0, 0, 1, 2]) for _ in range(2 * rank)]
        reach = [(k - 1) * d + 1 for k, d in zip(window, dilation)]
        size = [max(1, r - pads[2 * i] - pads[2 * i + 1]) + self.rng.choice([0, 1, 4, 8] if rank < 3 else [0, 1, 2]) for i, r in enumerate(reach)]
        out = [(n + pads[2 * i] + pads[2 * i + 1] - r) // s + 1 for i, (n, r, s) in enumerate(zip(size, reach, strides))]
        batch = self.rng.choice([1, 2, 3])
        image, weights, result = (batch, ins, *size), (outs, ins // groups, *window), (batch, outs, *out)
        if max(map(elements, (image, weights, result))) > 3000:
            return
        text = f"strides = {strides} padding = {pads} dilation = {dilation}"
        a, exact = self.argument(image, dtype), dtype == "i32"
        if ins == outs == groups and self.rng.random() < 0.5:
            a, b = self.argument(result, dtype), self.argument(weights, dtype)
            self.emit(f"convolution_input {a.name}, {b.name} {text} sizes = {size}", [a, b], image, dtype, exact, False)
        elif self.rng.random() < 0.5:
            b = self.argument(weights, dtype)
            self.emit(f"convolution {a.name}, {b.name} {text} groups = {groups}", [a, b], result, dtype, exact, False)
        else:
            b = self.argument(result, dtype)
            self.emit(f"convolution_gradient {a.name}, {b.name} {text} window = {window} groups = {groups}", [a, b], weights, dtype, exact, False)

    def windows(self):
        a = self.pick(lambda v: len(v.shape) in (1, 2) and kind(v.dtype) != "c" and all(n > 3 for n in v.shape))
        if not a:
            return
        sizes, steps = ([self.rng.choice([1, 2, 3]) for _ in a.shape] for _ in range(2))
        shape = [(n - k) // s + 1 for n, k, s in zip(a.shape, sizes, steps)] + sizes
        made = self.emit(f"windows {a.name} sizes = {sizes} strides = {steps} dilation = {[1] * len(sizes)}", [a], shape, a.dtype)
        if made and kind(a.dtype) not in "bc":
            axes = list(range(len(sizes), 2 * len(sizes)))
            self.emit(f'reduce "max" {made.name} axes = {axes}', [made], shape[:len(sizes)], a.dtype)

    def size(self):
        a = self.pick(lambda v: v.shape)
        if a:
            self.emit(f"size {a.name} axis = {self.rng.randrange(len(a.shape))}", [a], (), "i64")

    def random(self):
        like, how = self.pick(), self.rng.choice(["bits", "uniform", "normal"])
        dtype = self.rng.choice(["ui32", "ui64"] if how == "bits" else ["f32", "f64"])
        seeds = [self.constant(self.rng.randrange(1000), (2,), "ui64") for _ in range(2)]
        self.emit(f'random "{how}" {seeds[0].name}, {seeds[1].name}', seeds, like.shape, dtype, how != "normal")

    def assume_shape(self):
        a = self.pick()
        if self.rng.random() < 0.5:
            self.emit(f"assume_shape {a.name}", [a], a.shape, a.dtype)

    # Control flow: what it computes is exact, so that as many iterations as one likes are.

    def body(self, name, other, dtype, indent):
        """Lines that compute a value of `name` and of the value `other`, of one type; and its name."""
        choices = {"b": ["and", "or", "xor"], "c": ["add"]}.get(kind(dtype), ["add", "sub", "min", "max"])
        lines, last, made = [], name, 0
        for _ in range(self.rng.randint(0, 3)):
            result = f"{name}_{made}"
            operands = [last, self.rng.choice([name, other, last])]
            self.rng.shuffle(operands)
            lines.append(f"{indent}{result} = loom.{self.rng.choice(choices)} {', '.join(operands)} : %T%")
            last, made = result, made + 1
        return lines, last

    def block(self, arguments, lines, results, a):
        """The text of a region."""
        head = f"  ^bb0({', '.join(f'{name}: {text}' for name, text in arguments)}):"
        end = f"    loom.yield {', '.join(name for name, _ in results)} : {', '.join(text for _, text in results)}"
        return "\n".join([head, *(line.replace("%T%", self.type(a)) for line in lines), end]) + "\n  }"

    def steady(self):
        return self.pick(lambda v: v.exact and v.tame and v.dtype not in ("f16", "bf16"))

    def truth(self):
        found = self.pick(lambda v: v.dtype == "i1" and not v.shape)
        return found or self.constant(self.rng.randrange(2), (), "i1")

    def branch(self):
        a = self.steady()
        b = a and self.pick(lambda v: (v.shape, v.dtype, v.exact, v.tame) == (a.shape, a.dtype, True, True))
        if not b:
            return
        condition, kind_of, ways = self.truth(), self.type(a), []
        for way in "xy":
            lines, last = self.body(f"%{way}{self.count}", f"%{way}{self.count}_b", a.dtype, "    ")
            ways.append(self.block([(f"%{way}{self.count}", kind_of), (f"%{way}{self.count}_b", kind_of)], lines, [(last, kind_of)], a))
        self.emit(f"if {condition.name}({a.name}, {b.name}) {{\n{ways[0]} else {{\n{ways[1]}", [condition, a, b], a.shape, a.dtype, True, kind(a.dtype) != "f")

    def loop(self):
        """A `for` of a count that is known or not, with what lies outside."""
        a = self.steady()
        b = a and self.pick(lambda v: (v.shape, v.dtype, v.exact, v.tame) == (a.shape, a.dtype, True, True))
        if not b:
            return
        count, name = self.constant(self.rng.randrange(5), (), "i64"), f"%l{self.count}"
        lines, last = self.body(name, b.name, a.dtype, "    ")
        text = self.block([(f"{name}_i", "tensor<i64>"), (name, self.type(a))], lines, [(last, self.type(a))], a)
        self.emit(f"for {count.name} init({a.name}) {{\n{text}", [count, a], a.shape, a.dtype, True, kind(a.dtype) != "f")

    def until(self):
        """A `while` that counts to a number."""
        a = self.steady()
        if not a:
            return
        first, name, scalar = self.constant(self.rng.randrange(4), (), "i64"), f"%w{self.count}", "tensor<i64>"
        arguments = [(f"{name}_i", scalar), (name, self.type(a))]
        test = [f"    {name}_m = loom.constant({self.rng.randrange(6)} : i64) : {scalar}",
                f'    {name}_c = loom.compare "lt" {name}_i, {name}_m : ({scalar}, {scalar}) -> tensor<i1>']
        lines, last = self.body(name, name, a.dtype, "    ")
        lines += [f"    {name}_o = loom.constant(1 : i64) : {scalar}", f"    {name}_n = loom.add {name}_i, {name}_o : {scalar}"]
        condition = self.block(arguments, test, [(f"{name}_c", "tensor<i1>")], a)
        body = self.block(arguments, lines, [(f"{name}_n", scalar), (last, self.type(a))], a)
        self.emit_several(f"while init({first.name}, {a.name}) {{\n{condition} do {{\n{body}", [first, a], [((), "i64"), (a.shape, a.dtype)], True)

    def emit_several(self, text, operands, results, exact=False):
        """An op of several results, each (shape, dtype)."""
        made = [Value(f"%v{self.count}#{i}", tuple(shape), dtype, exact, exact and kind(dtype) != "f") for i, (shape, dtype) in enumerate(results)]
        if any(elements(v.shape) > self.largest for v in made):
            return None
        self.lines.append(f"  %v{self.count}:{len(made)} = loom.{text} : ({', '.join(map(self.type, operands))}) -> ({', '.join(map(self.type, made))})")
        self.count += 1
        self.values += made
        return made

    def attention(self):
        """With the gradients of its operands, or without."""
        dtype, batch, groups, depth, width = (self.rng.choice(some) for some in (["f32", "f32", "f64"], [1, 2], [1, 2], [4, 8, 17], [4, 8, 16]))
        heads, queries, keys = groups * self.rng.choice([1, 1, 2]), self.rng.choice([1, 3, 16]), self.rng.choice([1, 5, 16, 33])
        q, k, v = (self.argument(shape, dtype) for shape in ((batch, heads, queries, depth), (batch, groups, keys, depth), (batch, groups, keys, width)))
        scale = self.constant(0.125, (), dtype)
        causal = "true" if queries <= keys and self.rng.random() < 0.3 else "false"
        operands = [q, k, v, scale]
        if self.rng.random() < 0.3:
            operands.append(self.argument((batch, self.rng.choice([1, heads]), self.rng.choice([1, queries]), keys), dtype))
        made = self.emit_several(f'attention {", ".join(o.name for o in operands)} causal = {causal} empty = "{self.rng.choice(["nan", "zero"])}"', operands,
                                 [((batch, heads, queries, width), dtype), ((batch, heads, queries), dtype)])
        if made and self.rng.random() < 0.5:
            gradient, sums = self.argument(made[0].shape, dtype), self.argument(made[1].shape, dtype)
            operands = [gradient, q, k, v, made[1], sums, *operands[3:]]
            self.emit_several(f"attention_gradient {', '.join(o.name for o in operands)} causal = {causal}", operands, [(o.shape, dtype) for o in (q, k, v)])

    # ---- the whole ----

    def values_of(self, value):
        """Of an argument, for the interpreter: a number for each element."""
        if elements(value.shape) > 48 or kind(value.dtype) == "c":
            return ""
        def number():
            if value.dtype == "i1":
                return self.rng.choice(["true", "false"])
            if kind(value.dtype) == "f":
                return str(self.rng.randrange(-16, 17) / 4)
            return str(self.rng.randrange(0 if kind(value.dtype) == "u" else -5, 8))

        def nested(shape):
            return number() if not shape else f"[{', '.join(nested(shape[1:]) for _ in range(shape[0]))}]"
        if 0 in value.shape:
            return ""
        return f" {{loom.values = dense<{nested(value.shape)}> : {self.type(value)}}}"

    def text(self):
        steps = [self.unary, self.unary, self.binary, self.binary, self.binary, self.predicate, self.compare, self.select, self.select, self.convert, self.convert, self.parts, self.bitcast,
                 self.mul_add, self.filled, self.copy, self.broadcast, self.broadcast, self.transpose, self.slice, self.slice, self.update_slice, self.concatenate, self.pad, self.gather,
                 self.scatter, self.sort, self.reduce, self.reduce, self.scan, self.reshape, self.dot, self.windows, self.gram, self.products, self.convolution,
                 self.size, self.random, self.assume_shape, self.branch, self.loop, self.until, self.attention]
        wanted = 12 if self.lent else self.rng.choice([2, 3, 4, 5, 6, 8, 12])
        for _ in range(4 * wanted):
            if self.count >= wanted:
                break
            self.rng.choice(steps)()
        made = [v for v in self.values if v not in self.arguments] or self.values[:1]
        results = [made[-1]] + self.rng.sample(made[:-1], min(len(made) - 1, self.rng.randint(0, 2)))
        arguments = ", ".join(f"{v.name}: {self.type(v)}{self.values_of(v)}" for v in self.arguments)
        types = ", ".join(map(self.type, results))
        returned = ", ".join(self.type(v) + (" {loom.lent}" if self.lent and self.rng.random() < 0.8 else "") for v in results)
        body = "\n".join(self.lines)
        return f"func.func @{self.name}({arguments}) -> ({returned}) attributes {{loom.open_sums}} {{\n{body}\n  return {', '.join(v.name for v in results)} : {types}\n}}"


def kind(dtype):
    return "f" if dtype == "bf16" else class_of(dtype)


def elements(shape):
    count = 1
    for n in shape:
        count *= n
    return count
