"""Random programs on the simulator of a GPU against x86: `sim_fuzz.py BIN COUNT SEED`; or those of a file: `sim_fuzz.py BIN FILE`.

Half are those of test/fuzz; half are rows: elementwise operations, reductions along the last dimension and their results put back
over the rows, at sizes around those of a vector, a warp and a block. Prints the programs whose results differ, or that one
side refuses for another reason than that its form is not there yet, and how many there were of each sort.
"""
import collections
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "test" / "fuzz"))
from ir_kind import close
from ir_programs import Function

EXTENTS = [1, 3, 4, 31, 32, 33, 64, 68, 127, 128, 130, 256, 511, 1000, 1024, 1025, 1500, 2052, 4099]
UNARY = {"f": ["neg", "abs", "exp", "tanh", "floor", "logistic"], "i": ["neg", "abs"]}
BINARY = {"f": ["add", "sub", "mul", "max", "min"], "i": ["add", "sub", "mul", "max", "min"]}
REDUCE = {"f": ["sum", "max", "min", "argmax", "argmin"], "i": ["sum", "max", "min", "prod", "argmin"]}
NOT_YET = ("no code for this target", "symbolic sizes on a GPU")


class Rows:
    """A function of one domain, rows x extent."""

    def __init__(self, rng):
        self.rng, self.lines, self.count = rng, [], 0
        self.dtype = rng.choice(["f32", "f32", "f32", "f64", "f16", "bf16", "i32", "i64", "i8"])
        self.sort = self.dtype.lstrip("b")[0]
        extent = rng.choice(EXTENTS)
        self.full = rng.choice([(extent,), (rng.randint(1, 5), extent), (rng.randint(1, 40), min(extent, 130)), (2, 3, extent)])
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
                kind, shape = self.rng.choice(REDUCE[self.sort]), self.full[:-1]
                dtype = "i64" if kind.startswith("arg") else self.dtype
                made = self.emit(f'reduce "{kind}" {a} axes = [{len(shape)}] : ({self.type(self.full)}) -> {self.type(shape, dtype)}')
                if dtype != self.dtype or self.rng.random() < 0.4:
                    results.append((made, self.type(shape, dtype)))
                else:
                    self.spread(made, shape, list(range(len(shape))))
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


def run(bin, source, *options):
    done = subprocess.run([bin / "loom-run", "--elements=100000", *options, source], capture_output=True, text=True)
    return done.stdout.splitlines(), done.stderr if done.returncode >= 0 else f"signal {-done.returncode}"


def check(bin, source, seed):
    x86, error = run(bin, source, f"--seed={seed}")
    if error:
        return f"x86: {error}"
    sim, error = run(bin, source, f"--seed={seed}", "--target=sim", f"--order={seed % 5}")
    if any(text in error for text in NOT_YET):
        return "not yet"
    if error or len(sim) != len(x86):
        return f"sim: {error}"
    for want, got in zip(x86, sim):
        if not close(got.partition(": ")[2], want.partition(": ")[2]):
            return f"differs: {got[:300]} instead of {want[:300]}"
    return "same"


def whole(bin, source):
    """The functions of a file, with other elements and in another order of threads each time."""
    for seed in range(5, 8):
        print(f"{source.name}, seed {seed}: {check(bin, source, seed)}")


def main():
    if len(sys.argv) == 3:
        return whole(Path(sys.argv[1]), Path(sys.argv[2]))
    bin, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    found = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.mlir"
        for i in range(count):
            rng = random.Random(f"sim {seed} {i}")
            text = Rows(rng).text("f") if i % 2 else Function(rng, "f").text() + "\n"
            source.write_text(text)
            what = check(bin, source, i + 1)
            found[what.partition(":")[0]] += 1
            if what not in ("same", "not yet"):
                print(f"program {i}: {what}\n{text}")
    print(f"{count} programs: {', '.join(f'{n} {what}' for what, n in sorted(found.items()))}")


if __name__ == "__main__":
    main()
