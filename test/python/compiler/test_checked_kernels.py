"""Checked kernels: `config.check = "bounds"` compares every access of compiled code with the bounds of its array.

That every form of kernel is compared everywhere is test/targets/check.test; here is what Python sees of it.
"""

import ctypes
import os
import re
import subprocess
from pathlib import Path

import kernel_harness
import numpy as np
import pytest
from kernel_harness import Bounds, Frame
from paths import BUILD
from processes import run_python

import frameloom


@pytest.fixture
def checked():
    with frameloom.config.patch(check="bounds"):
        yield


def test_setting():
    assert frameloom.config.check in ("", "bounds")
    with pytest.raises(ValueError, match="unknown check 'all'"):
        frameloom.config.check = "all"
    assert issubclass(frameloom.BoundsError, RuntimeError)


SUITE = {
    "pointwise": lambda a, b: np.exp(a) * b + a.T.sum(0),
    "strided": lambda a, b: a[::2, ::-3] + b[::-2, ::3],
    "product": lambda a, b: a @ b + b.T @ a,
    "sums": lambda a, b: (a.sum(), b.mean(0), a.max(1), np.cumsum(b, 1)),
    "gathers": lambda a, b: (a[np.array([3, -1, 0])], np.where(a > b, a, 0)),
    "sorts": lambda a, b: (np.sort(a, 0), np.argsort(b, 1)),
    "moves": lambda a, b: (np.concatenate([a, b[:5]]), np.pad(a, 3), np.roll(b, 2)),
    "halves": lambda a, b: (a.astype("f2") + b.astype("f2")).sum(1),
    "complex": lambda a, b: np.abs(a + 1j * b) * (a - 1j * b)[::-1].real,
    "calls": lambda a, b: sum((np.sin(a[:, 0] + b[-1] * i) + np.log(abs(b) + i + 1) for i in range(9)), np.cos(a.T)),
    "integers": lambda a, b: (a * 100).astype("i1").astype("i8") // 3 % 7,
}


@pytest.mark.parametrize("name", SUITE)
@pytest.mark.parametrize("size", [1, 7, 32, 37, 130])
def test_results_are_the_same(checked, name, size):
    plain = SUITE[name]
    if size == 1 and name in ("gathers", "moves"):
        pytest.skip("indices need more")
    function = frameloom.compile(plain)
    rng = np.random.default_rng(size)
    a, b = rng.standard_normal((2, size, size)).astype("f4")
    for x, y in ((a, b), (a.T, b[::-1]), (a.astype("f8"), b.astype("f8"))):
        got, want = function(x, y), plain(x, y)
        for g, w in zip(got, want) if isinstance(want, tuple) else ((got, want),):
            np.testing.assert_allclose(g, w, rtol=2e-3 if name == "halves" else 2e-4, atol=1e-3)


@pytest.mark.parametrize("shapes", [((3, 0), (0, 4)), ((0, 4), (4, 3)), ((0, 5), (5, 0))], ids=str)
def test_empty_arrays(checked, shapes):
    """What varies with no loop is made before all loops, also what would come from an array without elements."""
    def plain(x, y):
        return x @ y, (x > 0).sum(), x.sum(0) + 1, np.concatenate([x.ravel(), y.ravel()]), x[::-1] * 2

    x, y = (np.ones(shape, "f4") for shape in shapes)
    for got, want in zip(frameloom.compile(plain)(x, y), plain(x, y)):
        np.testing.assert_array_equal(got, want)


def test_in_place_and_loops(checked):
    @frameloom.compile
    def heat(field, steps):
        for _ in range(steps):
            field[1:-1] = (field[:-2] + field[2:]) / 2
        return field.sum()

    field, twin = np.arange(50.0) ** 2, np.arange(50.0) ** 2
    assert heat(field, 40) == pytest.approx(heat.__wrapped__(twin, 40))
    np.testing.assert_allclose(field, twin)


BEYOND = """
func.func @beyond(%b: !llvm.ptr, %p: !llvm.ptr, %s: !llvm.ptr, %begin: i64, %end: i64) -> i32 {
  %one = arith.constant 1 : i64
  %ok = arith.constant 0 : i32
  %x = llvm.load %b : !llvm.ptr -> !llvm.ptr
  %at = llvm.getelementptr %b[%one] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %y = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %mask = arith.constant dense<[true, true, false, true]> : vector<4xi1>
  scf.for %i = %begin to %end step %one : i64 {
    %from = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %from {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
    %to = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.intr.masked.store %v, %to, %mask {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  }
  func.return %ok : i32
}
"""


@pytest.fixture(scope="module")
def beyond(tmp_path_factory):
    if not kernel_harness.available():
        pytest.skip("no LLVM tools")
    path = str(tmp_path_factory.mktemp("beyond") / "beyond")
    tool = kernel_harness.Kernel._tool
    text = tool([kernel_harness.OPT, "--loom-check", "-"], BEYOND)
    text = tool([kernel_harness.OPT, f"--pass-pipeline=builtin.module({kernel_harness.PASSES})", "-"], text)
    llvm = Path(kernel_harness.LLVM) / "bin"
    Path(path + ".ll").write_text(tool([llvm / "mlir-translate", "--mlir-to-llvmir"], text))
    subprocess.run([llvm / "llc", "-mcpu=x86-64-v3", "-relocation-model=pic", "-filetype=obj", "-o", path + ".o", path + ".ll"],
                   check=True)
    subprocess.run(["gcc", "-shared", "-o", path + ".so", path + ".o"], check=True)
    return ctypes.CDLL(path + ".so").beyond


@pytest.mark.parametrize("low, high, first, site, at",
                         [(0, 97, None, None, None),  # 97 windows of four
                          (0, 98, "x", 0, 97),
                          (-1, 5, "x", 0, -1),
                          (-3, 5, "x", 0, -3),
                          (0, 1 << 20, "x", 0, 97)])
def test_a_kernel_that_goes_too_far(beyond, low, high, first, site, at):
    """Written by hand: reads and writes windows of four numbers, one of which is masked."""
    x, y = np.arange(120, dtype="f4"), np.full(120, -1, "f4")
    spare = np.zeros(65536, "u1")
    frame = Frame(spare=spare.ctypes.data)
    for i in range(2):
        frame.buffers[i] = Bounds(0, 400)
    table = (ctypes.c_void_p * 81)(ctypes.addressof(frame), x.ctypes.data + 40, y.ctypes.data + 40)
    beyond.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
    assert beyond(ctypes.addressof(table) + 8, None, None, low, high) == 0
    assert (frame.taken != 0) == (first is not None)
    if first:
        assert (frame.site, frame.address) == (site, x.ctypes.data + 40 + 4 * at)
    assert (y[:10] == -1).all() and (y[110:] == -1).all() and (y[10:] != -1).sum() >= 5


def test_bounds_of_a_view(beyond):
    """A pointer in the middle, as with negative strides; and lanes of a masked store of which some are outside."""
    x, y = np.arange(20, dtype="f4"), np.full(20, -1, "f4")
    spare = np.zeros(65536, "u1")
    frame = Frame(spare=spare.ctypes.data)
    frame.buffers[0], frame.buffers[1] = Bounds(-40, 80), Bounds(-8, 12)
    table = (ctypes.c_void_p * 81)(ctypes.addressof(frame), x.ctypes.data + 40, y.ctypes.data + 40)
    beyond.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
    beyond(ctypes.addressof(table) + 8, None, None, -2, -1)
    assert (frame.taken, frame.site, frame.address) == (1, 1, y.ctypes.data + 44)  # lane 3: lane 2 is masked
    np.testing.assert_array_equal(np.flatnonzero(y != -1), [8, 9])


WRONG = """
import sys, numpy as np, frameloom
frameloom.config.check = sys.argv[1]

@frameloom.compile
def wide(a, b):
    return np.exp(a) + b

@frameloom.compile(dynamic=False)
def rows(a):
    return a - a.sum(1)[:, None]

for function, args in ((wide, (np.ones(100), np.ones(100))), (rows, (np.ones((9, 17), "f4"),))):
    try:
        function(*args)
    except frameloom.BoundsError as error:
        print(error)
    else:
        print("right")
"""


def wrong(folder, check):
    environment = {"FRAMELOOM_CACHE_DIR": str(folder), "FRAMELOOM_CACHE": "1", "FRAMELOOM_CHECK": ""}
    script = folder / "wrong.py"
    script.write_text(WRONG)
    done = run_python(script, check, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_wrong_kernel_raises(tmp_path):
    """The bounds in the plans of a cache get too narrow, which is as good as kernels that go too far."""
    tool = BUILD / "bin" / "shrink-cache"
    if not os.access(tool, os.X_OK):
        pytest.skip("no test tools in this build")
    tmp_path.chmod(0o700)
    assert wrong(tmp_path, "bounds") == ["right", "right"]
    assert wrong(tmp_path, "") == ["right", "right"]  # plans of their own
    done = subprocess.run([tool, tmp_path], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 2
    first, second = wrong(tmp_path, "bounds")
    assert wrong(tmp_path, "") == ["right", "right"]
    script = tmp_path / "wrong.py"
    assert re.search(r"of (64|32|8) bytes in kernel k0_s0, loom\.", first), first  # a vector of the CPU's, or an element
    assert f"{script}:7:" in first and "is outside of buffer" in first and "799 bytes" in first
    assert f"{script}:11:" in second and "is outside of buffer" in second


def test_an_error_leaves_what_is_around(checked):
    """Functions that were compiled without checks go on as they are; others beside them are checked."""
    with frameloom.config.patch(check=""):
        before = frameloom.compile(lambda a: a * 2)
        before(np.ones(3))
    after = frameloom.compile(lambda a: a * 2)
    np.testing.assert_array_equal(before(np.ones(3)), after(np.ones(3)))
