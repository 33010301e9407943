"""Programs over NumPy on a device, which the driver of the tests runs on the simulator (docs/gpu.md), beside plain runs. Of a call
with arrays of two sizes and of every layout: values, dtypes and shapes of results. What a device refuses by name is no difference."""

import ast
import os
import random
import re
import resource
from pathlib import Path

import arrays
import numpy as np
from numpy_kind import excused, loaded, narrowest, returned
from numpy_programs import Program, function_call, getting, method_call, operator, ufunc, ufunc_method
from seen import ANY_ZERO, EPS, UNIT, Seen, largest, short, values_difference
from words import Words

import frameloom

os.environ["FRAMELOOM_CUDA_DRIVER"] = str(Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve() / "lib" / "libnullcuda.so")
resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)  # the driver keeps many addresses for its memory
MAKERS, WEIGHTS = zip((ufunc, 20), (operator, 16), (ufunc_method, 6), (function_call, 16), (method_call, 8), (getting, 8))
# What is the host's by name: a device refuses it as a whole, and so the program (docs/gpu.md).
HOST = re.compile(r"\bout=|np\.(linalg|polynomial|ma|char|strings|random|fft|lib)\.|unique|argwhere|nonzero|\.at\(|tolist|\bobject|'[MUTS]|>[fi]|"
                  r"array_|savetxt|print|nditer|lexsort|is[a-z]*(dtype|type|scalar|array)")


DIMS = [(2, 4), (3, 5), (5, 3), (1, 6), (6, 2), (31, 33), (64, 32), (65, 130), (257, 16)]
LONG = [(1000, 1025), (2052, 300), (4099, 511)]


class DeviceProgram(Program):
    """Statements that give values, raise nothing and write to nothing; sizes around those of a vector, a warp, a block and a part."""

    def make_arguments(self):
        m, n, k = (self.rng.choice(DIMS[:6] if self.rng.random() < 0.6 else DIMS) for _ in range(3))
        n, k = (n, k) if self.rng.random() < 0.5 else (m, m)
        n = self.rng.choice(LONG) if self.rng.random() < 0.15 else n
        few, one, none = (2, 3), (1, 1), (0, 0)
        shapes = [(m, n), (m, n), (n,), (n,), (one, n), (m, one), (), (n, m), (few, m, n), (none,), (m, none), (one, one), (n, few)]
        base = self.rng.choice(arrays.NUMBERS)
        for name in "abcd"[:self.rng.choice([1, 2, 2, 3, 3, 4])]:
            self.arguments.append((name, self.argument(name, base, shapes)))

    def argument(self, name, base, shapes):
        while re.search(r'"([gG]|[UOS]\d?|[mM]8.*|i4,f8)", ', text := super().argument(name, base, shapes)):
            pass
        return text

    def make(self):
        self.make_arguments()
        self.state = None
        first, second = self.built()
        self.space = dict(first)
        self.growth = max(max(np.size(second[name]), 1) / max(np.size(value), 1) for name, value in first.items())
        for _ in range(self.rng.choice([1, 2, 2, 3, 4, 6, 8])):
            self.add_statement()
        return self.text()

    def add_statement(self):
        for _ in range(12):
            words = Words(self.rng, self.space, wild=0.0)
            made = self.rng.choices(MAKERS, WEIGHTS)[0](self, words)
            if made is None or made[0] != "value" or HOST.search(made[1]):
                continue
            before = self.bytes()
            value, error = self.attempted(*made)
            self.writes = self.bytes() != before
            kind = getattr(getattr(value, "dtype", None), "char", "O")
            if error is None and not self.writes and isinstance(value, (np.ndarray, np.generic)) and kind not in "OgGUSmMV":
                return self.take(*made, value, error)
        return True

    def wrapped(self, statement):
        return statement


def make(seed, index):
    return DeviceProgram(random.Random(f"device {seed} {index}")).make()


def on_host(thing):
    if isinstance(thing, frameloom.DeviceArray):
        return np.asarray(thing)
    return tuple(map(on_host, thing)) if isinstance(thing, tuple) else thing


def leaf_difference(got, want, level, scale):
    """A number of Python's or NumPy's stands for an array without dimensions."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"type: {got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    kind = values_difference(got, want, level, None if level == 0 else scale)
    if kind and not (kind == "sign of zero" and ANY_ZERO[0]):
        return f"{kind}: {short(got)} instead of {short(want)}"
    return None


# The last one: of a call that plain Python would end with an error, or with a warning of its own.
REFUSED = re.compile(r"cannot be compiled when|has to be compiled whole|cannot be run as plain Python|gives arrays and numbers|no form on a GPU|"
                     r"the values of this call lead to")


def check(text, seen=None):
    """Texts of what differs. `seen`: a list that gets what became of each call."""
    frameloom.reset()
    tree = ast.parse(text)
    scope = loaded(tree) | {"text": text, "BODY": text.partition("def program")[2].partition("\n")[2], "FILTERS": "always"}
    UNIT[0] = narrowest(text)
    mixed = len(set(re.findall(r"array\(['\"]([\w?]+)['\"]", text))) > 1
    EPS[0] = UNIT[0] if mixed or re.search(r"dtype=|np\.(float|complex)|astype", text) else 0.0
    ANY_ZERO[0] = bool(re.search(r"max|min|clip|sort|partition|median|percentile|quantile", text))
    levels = [scope["LEVELS"].get(name, 0) for name in returned(tree)]
    gpu = frameloom.device("cuda:0")
    compiled = frameloom.compile(scope["program"], device=gpu)
    plain = [(size, False) for size in (0, 1)]
    for size, there in plain if len(text) % 3 else [*plain, (0, True), (0, True)]:  # the last two calls are alike
        given = [np.array(a, order="C") if there and type(a) is np.ndarray else a for a in scope["arguments"](size)]
        want = Seen(scope["program"], given, "ignore")
        got = Seen(lambda *args, there=there: on_host(compiled(*[gpu.array(a) if there and type(a) is np.ndarray else a for a in args])),
                   given if there else scope["arguments"](size), "ignore")
        if isinstance(got.error, frameloom.GraphBreak) or isinstance(got.error, frameloom.DeviceError) and REFUSED.search(str(got.error)):
            seen is not None and seen.append(f"refused: {str(got.error)[:100]}")
            continue
        if got.error is not None or want.error is not None:
            if type(got.error) is type(want.error):
                continue
            return [f"exception: {short(got.error, 300)} instead of {short(want.error)} (size {size})"]
        seen is not None and seen.append("run")
        scale = largest([*scope["arguments"](size), want.result])
        for i, (g, w, level) in enumerate(zip(got.result, want.result, [*levels, *[0] * len(want.result)])):
            row = leaf_difference(g, w, level, scale)
            alone = scope | {"LEVELS": {"": level}, "WRITTEN": 0}
            if row and not excused(alone, size, [f"{row.partition(':')[0]} of result {i}"], got, want):
                return [f"{row.partition(':')[0]} of result {i}: {row} (size {size})"]
    return []
