"""Integer functions whose number of steps depends on the elements, against NumPy's, for every dtype and kind of CPU."""

from cpus import KINDS
import frameloom
import kernel_harness as kh
import numpy as np
import pytest

DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
N = 5003


def pairs(dtype):
    """Numbers of all sizes, zeros and both ends of the range among them, in each place."""
    rng = np.random.default_rng(1)
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, N, dtype=dtype, endpoint=True) for _ in range(2))
    ends = np.array([0, 1, info.min, info.max, info.max - 1, 2, 64], dtype)
    m = ends.size**2
    x[:m], y[:m] = (one.ravel() for one in np.meshgrid(ends, ends))
    x[m:m + 1000], y[m:m + 1000] = rng.integers(0, 100, (2, 1000)).astype(dtype)
    return x, y


@pytest.mark.skipif(not kh.available(), reason="needs loom-opt and LLVM's tools")
@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gcd(tmp_path, dtype, cpu):
    x, y = pairs(dtype)
    body = f"%0 = loom.gcd %a0, %a1 : {kh.tensor(x)}\nyield %0"
    kernel = kh.Kernel(kh.kernel("k", [x, y], body, [x]), str(tmp_path / "k"), cpu=cpu)
    out = np.empty(N, dtype)
    kernel.run([x, y], [out])
    np.testing.assert_array_equal(out, np.gcd(x, y))


@pytest.mark.parametrize("dtype", DTYPES)
def test_lcm_and_powers(dtype):
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(frameloom.compile(lambda x, y: np.lcm(x, y), fullgraph=True)(x, y), np.lcm(x, y))
        small = (np.abs(y.astype("float64")) % 70).astype(dtype)
        np.testing.assert_array_equal(frameloom.compile(lambda x, y: x**y)(x, small), np.power(x, small))
        for exponent in (0, 1, 2, 3, 5, 8, 63, 127):
            got = frameloom.compile(lambda x, n=exponent: x**n, fullgraph=True)(x)
            np.testing.assert_array_equal(got, x**exponent)
            assert got.dtype == (x**exponent).dtype
