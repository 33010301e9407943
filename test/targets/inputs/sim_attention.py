"""Random functions of one attention, half of them with its gradients, for sim_fuzz.py."""
import math

ROWS = [1, 2, 5, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 80, 100, 129, 200]
FAR = [256, 300, 700, 1030]  # so many keys have parts
COLUMNS = [1, 3, 4, 8, 15, 16, 17, 24, 32, 40, 63, 64, 80, 96, 112, 128, 130, 160, 256, 300, 512]
WORK = 4_000_000  # multiply-adds of one attention, at most


class Attention:
    """Sizes around those of a tile, operands in any order of dimensions in memory or slices, masks, causal, heads that share keys."""

    def __init__(self, rng, plain=False, halves=False):
        self.rng, self.lines, self.arguments, self.count, self.plain = rng, [], [], 0, plain
        self.dtype = rng.choice(["f16", "bf16", "bf16"] if halves else ["f32", "f32", "f32", "f64", "f16", "bf16"])
        rows, columns = (ROWS + FAR, [n for n in COLUMNS if n <= 256]) if halves else (ROWS, COLUMNS)
        self.work = self.dtype if self.dtype == "f64" else "f32"
        self.groups, self.batch = rng.randint(1, 3), rng.randint(1, 2)
        self.heads = self.groups * rng.choice([1, 1, 2, 3])
        while True:
            self.queries, self.keys = rng.choice(rows), rng.choice(rows)
            self.depth, self.width = rng.choice(columns), rng.choice(columns)
            if rng.random() < 0.5:
                self.width = self.depth
            if self.batch * self.heads * self.queries * self.keys * (self.depth + self.width) <= WORK:
                break
        self.causal = "true" if rng.random() < 0.4 else "false"
        if self.causal == "true" and self.queries > self.keys:
            self.keys = self.queries

    def type(self, shape, dtype=None):
        return f"tensor<{''.join(f'{n}x' for n in shape)}{dtype or self.dtype}>"

    def emit(self, text, results=1):
        self.count += 1
        self.lines.append(f"  %v{self.count}{f':{results}' if results > 1 else ''} = loom.{text}")
        return f"%v{self.count}"

    def argument(self, shape, dtype=None):
        rng, name, strides, step = self.rng, f"%a{len(self.arguments)}", [0] * len(shape), 1
        order = list(range(len(shape)))
        if rng.random() < 0.5:
            order = rng.choice([[0, 2, 1, 3], [2, 0, 1, 3], [0, 1, 3, 2], [3, 2, 1, 0]]) if len(shape) == 4 else order[::-1]
        for d in reversed(order):
            strides[d] = step
            step *= shape[d]
        attribute = "" if order == sorted(order) else f" {{loom.strides = array<i64: {', '.join(map(str, strides))}>}}"
        self.arguments.append(f"{name}: {self.type(shape, dtype)}{attribute}")
        return name

    def operand(self, shape):
        """An argument, or rarely every second element of one along a dimension, or one of several in a row."""
        choice = self.rng.random()
        if choice > 0.2 or self.plain:
            return self.argument(shape)
        d, whole, starts, steps = self.rng.randrange(4), list(shape), [0] * 4, [1] * 4
        if choice < 0.1:
            whole[d], starts[d], steps[d] = 2 * shape[d] + 1, 1, 2
        else:
            whole[d], starts[d] = 3 * shape[d], shape[d]
        return self.emit(f"slice {self.argument(whole)} starts = {starts} sizes = {list(shape)} steps = {steps} : ({self.type(whole)}) -> {self.type(shape)}")

    def mask(self):
        rng = self.rng
        shape = [rng.choice([1, n]) for n in (self.batch, self.heads, self.queries)] + [rng.choice([1, self.keys, self.keys])]
        dtype = rng.choice(["i1", self.dtype, self.work])
        return self.argument(shape, dtype), self.type(shape, dtype)

    def is_symbolic(self, size):
        """Rows may be symbolic, heads and columns not."""
        return size in (self.queries, self.keys) and size not in (self.batch, self.heads, self.groups, self.depth, self.width, 1)

    def text(self, name):
        rng, work = self.rng, self.work
        q_shape, k_shape = [self.batch, self.heads, self.queries, self.depth], [self.batch, self.groups, self.keys, self.depth]
        v_shape, o_shape = [self.batch, self.groups, self.keys, self.width], [self.batch, self.heads, self.queries, self.width]
        q, k, v = self.operand(q_shape), self.operand(k_shape), self.operand(v_shape)
        scale = self.emit(f"constant({1 / math.sqrt(self.depth):.6f} : {work}) : tensor<{work}>")
        operands = [(q, self.type(q_shape)), (k, self.type(k_shape)), (v, self.type(v_shape)), (scale, f"tensor<{work}>")]
        if masked := rng.random() < 0.4:
            operands.append(self.mask())
        line = self.type(o_shape[:3], work)
        empty = rng.choice(["zero", "zero", "nan"])
        both = lambda some: (", ".join(n for n, _ in some), ", ".join(t for _, t in some))
        names, types = both(operands)
        made = self.emit(f'attention {names} causal = {self.causal} empty = "{empty}" : ({types}) -> ({self.type(o_shape)}, {line})', 2)
        results = [(f"{made}#0", self.type(o_shape)), (f"{made}#1", line)]
        if rng.random() < 0.3:
            results.pop(rng.randrange(2))
        if rng.random() < 0.5 and not (masked and empty == "nan"):
            g, dot = self.operand(o_shape), self.argument(o_shape[:3], work)
            names, types = both([(g, self.type(o_shape)), *operands[:3], (f"{made}#1", line), (dot, line), *operands[3:]])
            shapes = [self.type(s) for s in (q_shape, k_shape, v_shape)]
            made = self.emit(f"attention_gradient {names} causal = {self.causal} : ({types}) -> ({', '.join(shapes)})", 3)
            results += [(f"{made}#{i}", shapes[i]) for i in sorted(rng.sample(range(3), rng.randint(1, 3)))]
        names, types = both(results)
        body = "\n".join(self.lines)
        return f"func.func @{name}({', '.join(self.arguments)}) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}\n"
