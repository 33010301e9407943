"""Runs one `loom.kernel` on NumPy arrays: loom-opt lowers it, loom-compile makes an object of what it is lowered to, ctypes calls its stages.

Used to compare the lowering of kernels with NumPy without the rest of the compiler. Under FRAMELOOM_CHECK=bounds loom-check
comes behind the lowering, and an access outside of the arrays is an error.
"""

import ctypes
import os
import re
import subprocess

import numpy as np
from paths import BUILD

LLVM = os.environ.get("LLVM_ROOT", "/usr/lib/llvm-22")
OPT = os.path.join(BUILD, "bin", "loom-opt")
COMPILE = os.path.join(BUILD, "bin", "loom-compile")
PASSES = "convert-scf-to-cf,convert-to-llvm,reconcile-unrealized-casts"
NAMES = {"bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8",
         "uint16": "ui16", "uint32": "ui32", "uint64": "ui64", "float16": "f16", "float32": "f32", "float64": "f64",
         "complex64": "complex<f32>", "complex128": "complex<f64>"}


CHECKED = os.environ.get("FRAMELOOM_CHECK") == "bounds"


class Bounds(ctypes.Structure):
    _fields_ = [("low", ctypes.c_int64), ("size", ctypes.c_uint64)]


class Frame(ctypes.Structure):
    """loom_check_frame (graph/check.h)"""

    _fields_ = [("taken", ctypes.c_uint64), ("site", ctypes.c_uint64), ("address", ctypes.c_uint64),
                ("ignored", ctypes.c_uint64 * 2), ("spare", ctypes.c_void_p), ("kernel", ctypes.c_void_p), ("params", Bounds), ("scratch", Bounds),
                ("buffers", Bounds * 80)]


def bounds(array):
    """What may be accessed from the address of the first element on."""
    reach = [(n - 1) * step for n, step in zip(array.shape, array.strides)] if array.size else []
    low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
    return Bounds(low, high - low + array.itemsize if array.size else 0)


def available():
    return os.access(OPT, os.X_OK) and os.access(os.path.join(LLVM, "bin", "llc"), os.X_OK)


def tensor(array):
    """The tensor type of an array."""
    return tensor_type(array.shape, array.dtype)


def tensor_type(shape, dtype):
    return "tensor<" + "".join(f"{n}x" for n in shape) + NAMES[np.dtype(dtype).name] + ">"


def strides(array):
    inner = ", ".join(str(s // array.itemsize if n > 1 else 0) for s, n in zip(array.strides, array.shape))
    return f"array<i64: {inner}>" if array.ndim else "array<i64>"


class Kernel:
    """A compiled kernel: call `run(inputs, outputs)`; returns the union of status bits."""

    def __init__(self, text, path, cpu="x86-64-v3", options=""):
        module = f"module attributes {{{options}}} {{\n{text}\n}}\n"
        scheduled = self._tool([OPT, "--loom-schedule", "-"], module)
        found = re.search(r"stages = array<i64: ([-0-9, ]*)>", scheduled)
        self.chunks = [int(n) for n in found.group(1).split(",")]
        number = lambda name: int((re.search(rf"\b{name} = (\d+) : i64", scheduled) or [0, 0])[1])
        self.scratch, self.slots = number("scratch"), number("slots")
        self.name = re.search(r"loom.kernel @(\w+)", scheduled).group(1)
        lower = "loom-lower,loom-check" if CHECKED else "loom-lower"
        self.lowered = self._tool([OPT, f"--pass-pipeline=builtin.module({lower},{PASSES})", "-"], scheduled)
        self._tool([COMPILE, f"--mcpu={cpu}", "--emit=obj", "-o", path + ".o", "-"], self.lowered)
        subprocess.run(["ld", "-shared", "-o", path + ".so", path + ".o"], check=True)
        self.library = ctypes.CDLL(path + ".so")

    @staticmethod
    def _tool(command, text):
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def run(self, inputs, outputs, scalars=(), parts=1, reverse=False):
        buffers = [a.ctypes.data for a in inputs] + [a.ctypes.data for a in outputs]
        slots = np.zeros(self.slots // 8 + 8)
        if self.slots:
            buffers.append(slots.ctypes.data)
        spare, frame = np.zeros(65536, np.uint8), Frame(scratch=Bounds(0, self.scratch))
        frame.spare = spare.ctypes.data
        for i, array in enumerate([*inputs, *outputs]):
            frame.buffers[i] = bounds(array)
        frame.buffers[len(inputs) + len(outputs)] = Bounds(0, self.slots)
        every = (ctypes.c_void_p * 81)(ctypes.addressof(frame), *buffers)
        table = ctypes.addressof(every) + ctypes.sizeof(ctypes.c_void_p)
        params = np.zeros(len(scalars) + 1, np.uint64)
        for i, value in enumerate(scalars):
            params[i:i + 1].view(np.uint8)[:value.itemsize] = np.frombuffer(value.tobytes(), np.uint8)
        frame.params = Bounds(0, params.nbytes - 8)
        status = 0
        for stage, chunks in enumerate(self.chunks):
            entry = getattr(self.library, f"{self.name}_s{stage}")
            entry.restype = ctypes.c_uint32
            edges = [chunks * i // parts for i in range(parts + 1)]
            ranges = [r for r in zip(edges, edges[1:]) if r[0] < r[1]]
            for low, high in reversed(ranges) if reverse else ranges:
                scratch = np.empty(self.scratch // 8 + 8)
                status |= entry(ctypes.c_void_p(table), ctypes.c_void_p(params.ctypes.data), ctypes.c_void_p(scratch.ctypes.data),
                                ctypes.c_int64(low), ctypes.c_int64(high))
                if frame.taken:
                    sites = re.findall(r'"((?:load|store|gather|scatter) of[^"]*)"', self.lowered)
                    near = [(b or 0) - frame.address for b in buffers]
                    raise AssertionError(f"{sites[frame.site]} at {near} before the buffers of {inputs}, {outputs}")
        return status


def kernel(name, inputs, body, outputs, scalars=(), inplace=None):
    """MLIR text of a kernel. Operands are %a0, %a1, ...; `body` is text, or a list of (lines), with a yield of
    `results` names at its end: the last line is 'yield %x, %y'."""
    lines = body.strip().splitlines()
    results = lines.pop().strip().removeprefix("yield ")
    args = ", ".join(f"%a{i}: {tensor(a)}" for i, a in enumerate(inputs))
    types = ", ".join(tensor(a) for a in outputs)
    every = ", ".join(strides(a) for a in list(inputs) + list(outputs))
    marks = ", ".join(map(str, scalars))
    overwritten = ", ".join(map(str, inplace or [-1] * len(outputs)))
    text = "\n".join("    " + line.strip() for line in lines)
    return (f"  loom.kernel @{name} {{\n  ^bb0({args}):\n{text}\n    loom.yield {results} : {types}\n"
            f"  }} {{strides = [{every}], scalars = array<i64{': ' + marks if marks else ''}>, "
            f"inplace = array<i64: {overwritten}>}}\n")


def run_program(tmp_path, body, inputs, outputs, cpu):
    """Compiles a whole program, as loom-compile does, and runs it: fills the outputs, and gives them.

    `body` is text that names the arguments %a0, %a1, ... and ends with its results: 'return %x, %y'.
    """
    args = ", ".join(f"%a{i}: {tensor(a)}" for i, a in enumerate(inputs))
    types = ", ".join(map(tensor, outputs))
    path = os.path.join(tmp_path, "p")
    with open(path + ".mlir", "w") as source:
        source.write(f"func.func @p({args}) -> ({types}) {{\n{body} : {types}\n}}\n")
    subprocess.run([COMPILE, f"--mcpu={cpu}", "--emit=obj", path + ".mlir", "-o", path + ".o", f"--emit-header={path}.h"], check=True)
    subprocess.run(["gcc", "-shared", "-o", path + ".so", path + ".o", "-lm"], check=True)
    with open(path + ".h") as header:
        size = next(int(line.split()[2]) for line in header if "_WORKSPACE " in line)
    space = np.zeros(size + 128, np.uint8)
    start = space.ctypes.data + -space.ctypes.data % 64
    pointers = [(ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays]) for arrays in (inputs, outputs)]
    assert ctypes.CDLL(path + ".so").p(*pointers, ctypes.c_void_p(start)) == 0, "the program failed"
    return outputs
