"""Headers of loom-compile for GPUs: programs of C that load and launch kernels through them, on the drivers of the tests
(test/runtime/nullgpu.h), beside NumPy. No GPU is needed, and none is used."""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from ir_programs import Function
from processes import PATIENCE

BUILD = pathlib.Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve()
COMPILE = BUILD / "bin" / "loom-compile"
STUBS = pathlib.Path(__file__).parents[2] / "targets" / "inputs" / "driver"
if not COMPILE.exists() or not shutil.which("cc"):
    pytest.skip("loom-compile or a C compiler is missing", allow_module_level=True)

TARGETS = {
    "ptx": ("nvptx", "sm_80", "cuda", "cu"),
    "hsaco": ("amdgpu", "gfx90a", "hip", "hip"),
    "cubin": ("nvptx", "sm_90", "cuda", "cu"),
}
needs_ptxas = pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not installed")
FORMS = ["ptx", "hsaco", pytest.param("cubin", marks=needs_ptxas)]
RNG = np.random.default_rng(11)
NAMES = {"i1": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "ui8": "u1", "ui16": "u2", "ui32": "u4", "ui64": "u8"}
NAMES |= {"f16": "f2", "f32": "f4", "f64": "f8", "complex<f32>": "c8", "complex<f64>": "c16"}

# What the drivers call differently: memory, and what comes before and behind.
DRIVERS = {
    "cu": """#include <cuda.h>
#define RESULT CUresult
#define ADDRESS CUdeviceptr
#define STREAM CUstream
#define ALLOCATE cuMemAllocAsync
#define TO_DEVICE cuMemcpyHtoDAsync
#define TO_HOST cuMemcpyDtoHAsync
#define START(s) do { CUdevice d; CUcontext c; must(cuInit(0)); must(cuDeviceGet(&d, 0)); must(cuDevicePrimaryCtxRetain(&c, d)); \\
  must(cuCtxPushCurrent(c)); must(cuStreamCreate(s, CU_STREAM_NON_BLOCKING)); } while (0)
""",
    "hip": """#include <hip/hip_runtime_api.h>
#define RESULT hipError_t
#define ADDRESS hipDeviceptr_t
#define STREAM hipStream_t
#define ALLOCATE hipMallocAsync
#define TO_DEVICE hipMemcpyHtoDAsync
#define TO_HOST hipMemcpyDtoHAsync
#define START(s) do { must(hipInit(0)); must(hipSetDevice(0)); must(hipStreamCreateWithFlags(s, hipStreamNonBlocking)); } while (0)
""",
}

# Two calls, one behind the other, on one stream and with one workspace; then the results of the second.
MAIN = """
#include <stdio.h>
#include <stdlib.h>
static void must(RESULT result) { if (result) { fprintf(stderr, "error %d\\n", (int)result); exit(1); } }
#include "program.h"
static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(2);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = (char *)calloc(1, *size + 1);
  if (fread(bytes, 1, *size, file) != *size) exit(2);
  fclose(file);
  return bytes;
}
static ADDRESS memory(size_t size, STREAM stream) {
  ADDRESS at;
  must(ALLOCATE(&at, size ? size : 1, stream));
  return at;
}
int main(void) {
  STREAM stream;
  program_module module;
  program_arguments a;
  uint32_t status = 7;
  size_t size;
  int64_t chunks[PROGRAM_LAUNCHES + 1];
  START(&stream);
  void *image = read_file("image", &size);
  must(program_load(&module, image));
@INPUTS@
  a.workspace = memory((size_t)@WORKSPACE@, stream);
  program_chunks(@SIZES@chunks);
  for (int i = 0; i < PROGRAM_KERNELS; i++)
    printf("%s %u %u %d\\n", program_kernels[i].name, program_kernels[i].threads, program_kernels[i].shared, program_kernels[i].blocks);
  for (int i = 0; i < 2; i++)
    must(program_launch(&module, &a, stream));
@OUTPUTS@
  must(program_status(&a, stream, &status));
  must(program_unload(&module));
  printf("status %u\\n", status);
  return 0;
}
"""


def main_of(header, prefix, inputs, outputs, sizes):
    """The program for a header: arguments come from files, and results go there."""
    fields = re.findall(r"^  (\w+) ((?:in|out)put\d+); ", header, re.M)
    assert [name for _, name in fields] == [f"input{i}" for i in range(len(inputs))] + [f"output{i}" for i in range(len(outputs))]
    reads, writes = [], []
    for kind, name in fields:
        number = int(name.lstrip("inoutp"))
        if name.startswith("out"):
            size = outputs[number].nbytes
            reads.append(f"  a.{name} = memory({size}, stream);")
            writes.append(
                f'  {{ char *to = (char *)malloc({size + 1}); must(TO_HOST(to, a.{name}, {size}, stream)); FILE *f = fopen("{name}", "wb");'
                f" fwrite(to, 1, {size}, f); fclose(f); free(to); }}"
            )
        elif kind in ("CUdeviceptr", "hipDeviceptr_t"):
            reads.append(f'  {{ void *from = read_file("{name}", &size); a.{name} = memory(size, stream);')
            reads.append(f"    if (size) {{ must(TO_DEVICE(a.{name}, from, size, stream)); }} free(from); }}")
        else:
            reads.append(f'  {{ void *from = read_file("{name}", &size); memcpy(&a.{name}, from, sizeof a.{name}); free(from); }}')
    reads += [f"  a.sizes[{i}] = {n};" for i, n in enumerate(sizes)]
    text = DRIVERS[prefix] + MAIN
    for mark, with_ in (("INPUTS", "\n".join(reads)), ("OUTPUTS", "\n".join(writes)), ("SIZES", "a.sizes, " if sizes else "")):
        text = text.replace(f"@{mark}@", with_)
    return text.replace("@WORKSPACE@", "program_workspace(a.sizes)" if sizes else "PROGRAM_WORKSPACE")


def compile_to(form, source, folder, *options):
    target, cpu, _, _ = TARGETS[form]
    words = [COMPILE, f"--target={target}", f"--mcpu={cpu}", f"--emit={form}", "--name=program", f"--emit-header={folder / 'program.h'}"]
    return subprocess.run([*words, "-o", folder / "image", *options, source], capture_output=True, text=True)


def run_launcher(form, source, folder, inputs, outputs, sizes=(), language="c"):
    """Results of the function in `source`, in arrays like `outputs`; and what the program prints."""
    _, cpu, library, prefix = TARGETS[form]
    done = compile_to(form, source, folder, "--with-simulator")
    assert done.returncode == 0, done.stderr
    (folder / "main.c").write_text(main_of((folder / "program.h").read_text(), prefix, inputs, outputs, sizes))
    for i, value in enumerate(inputs):
        np.asarray(value).tofile(folder / f"input{i}")
    flags = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-D__HIP_PLATFORM_AMD__=1", f"-I{STUBS}"]
    flags += ["-std=c99"] if language == "c" else ["-Wno-missing-field-initializers"]
    driver = BUILD / "lib" / f"libnull{library}.so"
    subprocess.run(["cc", "-x", language, *flags, "main.c", "-x", "none", driver, "-o", "main"], cwd=folder, check=True)
    done = subprocess.run([folder / "main"], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return [np.fromfile(folder / f"output{i}", o.dtype).reshape(o.shape) for i, o in enumerate(outputs)], done.stdout


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def assert_launches(form, folder, text, inputs, wanted, sizes=(), rtol=1e-5, language="c"):
    source = folder / "source.mlir"
    source.write_text(text)
    got, said = run_launcher(form, source, folder, inputs, wanted, sizes, language)
    assert said.endswith("status 0\n")
    for have, want in zip(got, wanted):
        np.testing.assert_allclose(have, want, rtol=rtol, atol=rtol)
    return said


SOFTMAX = """func.func @softmax(%x: tensor<37x1000xf32>) -> (tensor<37x1000xf32>, tensor<37xf32>) {
  %m = loom.reduce "max" %x axes = [1] : (tensor<37x1000xf32>) -> tensor<37xf32>
  %a = loom.broadcast %m dims = [0] : (tensor<37xf32>) -> tensor<37x1000xf32>
  %d = loom.sub %x, %a : tensor<37x1000xf32>
  %e = loom.exp %d : tensor<37x1000xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<37x1000xf32>) -> tensor<37xf32>
  %b = loom.broadcast %s dims = [0] : (tensor<37xf32>) -> tensor<37x1000xf32>
  %r = loom.div %e, %b : tensor<37x1000xf32>
  return %r, %s : tensor<37x1000xf32>, tensor<37xf32>
}
"""


@pytest.mark.parametrize("form", FORMS)
def test_softmax(form, tmp_path):
    x = normal(37, 1000)
    e = np.exp(x - x.max(1, keepdims=True))
    assert_launches(form, tmp_path, SOFTMAX, [x], [e / e.sum(1, keepdims=True), e.sum(1)])


SUMS = """func.func @sums(%x: tensor<300x700xf64>) -> (tensor<f64>, tensor<300x700xi64>) {
  %s = loom.reduce "sum" %x axes = [0, 1] : (tensor<300x700xf64>) -> tensor<f64>
  %o = loom.sort %x axis = 1 {indices = true} : (tensor<300x700xf64>) -> tensor<300x700xi64>
  return %s, %o : tensor<f64>, tensor<300x700xi64>
}
"""


@pytest.mark.parametrize("form", FORMS)
def test_parts_stages_and_the_arena(form, tmp_path):
    """A reduction in parts and a stable sort: several kernels, with results of one in memory for the next."""
    x = np.floor(normal(300, 700, dtype=np.float64) * 4)
    said = assert_launches(form, tmp_path, SUMS, [x], [np.asarray(x.sum()), np.argsort(x, axis=1, kind="stable")], rtol=1e-12)
    assert len(said.splitlines()) > 3


NUMBERS = """func.func @numbers(%x: tensor<50x9xDTYPE>, %s: tensor<DTYPE> {loom.scalar}, %t: tensor<f64> {loom.scalar}) -> tensor<50x9xf64> {
  %a = loom.broadcast %s dims = [] : (tensor<DTYPE>) -> tensor<50x9xDTYPE>
  %b = loom.add %x, %a : tensor<50x9xDTYPE>
  %c = loom.convert %b : (tensor<50x9xDTYPE>) -> tensor<50x9xf64>
  %d = loom.broadcast %t dims = [] : (tensor<f64>) -> tensor<50x9xf64>
  %e = loom.mul %c, %d : tensor<50x9xf64>
  return %e : tensor<50x9xf64>
}
"""


@pytest.mark.parametrize("form", ["ptx", "hsaco"])
@pytest.mark.parametrize("name", ["f32", "f64", "f16", "i8", "ui16", "i64"])
def test_numbers_are_passed_by_value(name, form, tmp_path):
    dtype = np.dtype(NAMES[name])
    x, s, t = RNG.integers(0, 50, (50, 9)).astype(dtype), np.asarray(3, dtype), np.asarray(-2.5)
    assert_launches(form, tmp_path, NUMBERS.replace("DTYPE", name), [x, s, t], [(x + s) * t])


def sized_type(*sizes):
    """The type of a tensor with these sizes, some of which are symbols."""
    symbols = [f"s{i}" for i in range(1 + max(int(n[1:]) for n in sizes if isinstance(n, str)))]
    dims = "x".join("?" if isinstance(n, str) else str(n) for n in sizes)
    return f"tensor<{dims}xf32, affine_map<()[{', '.join(symbols)}] -> ({', '.join(map(str, sizes))})>>"


X, W, XW, COLUMNS = sized_type("s0", "s1"), sized_type("s1", 24), sized_type("s0", 24), sized_type("s1")
SIZED = f"""func.func @sized(%x: {X}, %w: {W}) -> ({XW}, {COLUMNS}) {{
  %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0] : ({X}, {W}) -> {XW}
  %1 = loom.reduce "sum" %x axes = [0] : ({X}) -> {COLUMNS}
  return %0, %1 : {XW}, {COLUMNS}
}}
"""


@pytest.mark.parametrize("form", ["ptx", "hsaco"])
@pytest.mark.parametrize("n, m", [(1, 1), (33, 100), (257, 64), (0, 5), (5, 0)])
def test_symbolic_sizes(n, m, form, tmp_path):
    x, w = normal(n, m), normal(m, 24)
    assert_launches(form, tmp_path, SIZED, [x, w], [x @ w, x.sum(0)], sizes=(n, m), rtol=1e-4)


def test_an_argument_as_result_is_copied(tmp_path):
    """A function without kernels: nothing is loaded, and the launcher copies."""
    x = normal(6, 7)
    assert_launches("ptx", tmp_path, "func.func @same(%x: tensor<6x7xf32>) -> tensor<6x7xf32> {\n  return %x : tensor<6x7xf32>\n}\n", [x], [x])


@pytest.mark.skipif(not shutil.which("c++"), reason="no compiler of C++")
@pytest.mark.parametrize("form", ["ptx", "hsaco"])
def test_the_header_is_cpp(form, tmp_path):
    x = normal(37, 1000)
    e = np.exp(x - x.max(1, keepdims=True))
    assert_launches(form, tmp_path, SOFTMAX, [x], [e / e.sum(1, keepdims=True), e.sum(1)], language="c++")


BAD_INDEX = """func.func @pick(%x: tensor<10xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %r = loom.gather "raise" %x, %i axis = 0 : (tensor<10xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""


@pytest.mark.parametrize("form", ["ptx", "hsaco"])
def test_an_index_out_of_bounds_is_the_status(form, tmp_path):
    source = tmp_path / "source.mlir"
    source.write_text(BAD_INDEX)
    x, outputs = normal(10), [np.zeros(4, np.float32)]
    assert run_launcher(form, source, tmp_path, [x, np.array([0, 3, 10, 1])], outputs)[1].endswith("status 256\n")
    (got,), said = run_launcher(form, source, tmp_path, [x, np.array([0, 3, 9, 1])], outputs)
    assert said.endswith("status 0\n") and (got == x[[0, 3, 9, 1]]).all()


CAPTURED = """
import numpy as np, frameloom
@frameloom.compile
def layer(x, w, b):
    h = np.maximum(x @ w + b, 0)
    return h / np.sqrt((h * h).mean(axis=1, keepdims=True) + 1e-6), h.argmax(axis=1)
rng = np.random.default_rng(3)
layer(*(rng.standard_normal(s).astype(np.float32) for s in [(65, 40), (40, 130), (130,)]))
"""


@pytest.mark.parametrize("form", FORMS)
def test_a_captured_function_of_numpy(form, tmp_path):
    """What FRAMELOOM_TRACE writes of a function of Python is compiled for a GPU (docs/loom-compile.md)."""
    trace = tmp_path / "trace"
    environment = {**os.environ, "FRAMELOOM_TRACE": str(trace), "FRAMELOOM_CACHE": "0"}
    subprocess.run([sys.executable, "-c", CAPTURED], env=environment, check=True)
    source = next(trace.glob("*-layer*/00-import.mlir"))
    rng = np.random.default_rng(3)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in [(65, 40), (40, 130), (130,)])
    h = np.maximum(x @ w + b, 0)
    wanted = [h / np.sqrt((h * h).mean(axis=1, keepdims=True) + 1e-6), h.argmax(axis=1)]
    assert compile_to(form, source, tmp_path).returncode == 0
    order = re.findall(r" input\d+; /\* (\w): ", (tmp_path / "program.h").read_text())  # arguments have the user's names
    assert sorted(order) == ["b", "w", "x"]
    assert_launches(form, tmp_path, source.read_text(), [{"x": x, "w": w, "b": b}[name] for name in order], wanted, rtol=1e-4)


# ---- random functions ----

BOUNDS = {"f2": 4e-3, "f4": 1e-4, "c8": 1e-4, "f8": 1e-10, "c16": 1e-10}


def arrays_like(types, rng):
    """An array for each tensor type in a text; None: NumPy has no such dtype."""
    made = []
    for shape, dtype in re.findall(r"tensor<((?:\d+x)*)(\w+(?:<\w+>)?)>", types):
        if dtype not in NAMES:
            return None
        shape, dtype = [int(n) for n in shape.split("x") if n], np.dtype(NAMES[dtype])
        low, high = {"b": (0, 2), "u": (0, 9)}.get(dtype.kind, (-5, 9))
        values = rng.integers(low, high, shape) if dtype.kind in "biu" else rng.standard_normal(shape)
        made.append(np.asarray(values).astype(dtype))
    return made


def on_the_host(source, folder, inputs, count):
    """Results of loom-run on x86; None where a function needs a library."""
    words = [BUILD / "bin" / "loom-run", source]
    for i, value in enumerate(inputs):
        np.save(folder / f"input{i}.npy", value)
        words.append(f"-i{i}={folder}/input{i}.npy")
    words += [f"--save={i}={folder}/result{i}.npy" for i in range(count)]
    done = subprocess.run(words, capture_output=True, text=True)
    return [np.load(folder / f"result{i}.npy") for i in range(count)] if done.returncode == 0 else None


def test_random_functions(tmp_path):
    """Functions of test/fuzz through a header and a driver of the tests, beside x86. Only those with loops or branches have no header."""
    ran = 0
    for index in range(24):
        rng = random.Random(f"launch {index}")
        text = Function(rng, "f").text() + "\n"
        head = re.sub(r" \{loom.values[^}]*\}", "", next(line for line in text.splitlines() if "func.func @" in line))
        inputs, outputs = (arrays_like(types, np.random.default_rng(index)) for types in head.split("->"))
        folder = tmp_path / str(index)
        folder.mkdir()
        source = folder / "source.mlir"
        source.write_text(text)
        wanted = inputs is not None and outputs is not None and on_the_host(source, folder, inputs, len(outputs))
        if not wanted:
            continue
        form = rng.choice(["ptx", "hsaco"])
        error = compile_to(form, source, folder).stderr
        if error:
            assert "no header for a GPU has loops or branches yet" in error
            continue
        got, said = run_launcher(form, source, folder, inputs, wanted)
        for have, want in zip(got, wanted):
            bound = BOUNDS.get(want.dtype.str[1:], 0)
            np.testing.assert_allclose(have, want, rtol=bound, atol=bound, err_msg=text)
        ran += 1
    assert ran > 8
