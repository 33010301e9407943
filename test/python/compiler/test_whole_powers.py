"""Powers whose exponent is a constant and whole: products with the error of a correctly rounded result, all cases and flags of C's pow."""

from cpus import KINDS
import frameloom
import kernel_harness as kh
import numpy as np
import pytest
from test_math import ulps, values

pytestmark = pytest.mark.skipif(not kh.available(), reason="needs loom-opt and LLVM's tools")

EXPONENTS = [3, 4, 5, 6, 7, 8, -3, -4, -5, -6, -7, -8]
N = 10_000


def power_kernel(exponent, dtype, n, folder, cpu):
    x = np.zeros(n, dtype)
    body = f"%e = loom.constant({exponent:.1f} : {kh.tensor(x).split('x')[-1].rstrip('>')}) : {kh.tensor(x)}\n%0 = loom.pow %a0, %e : {kh.tensor(x)}\nyield %0"
    compiled = kh.Kernel(kh.kernel("k", [x], body, [x]), str(folder / f"k{exponent}"), cpu=cpu)

    def call(given):
        out = np.empty(n, dtype)
        compiled.run([given], [out])
        return out

    return call


def bases(dtype, n):
    """Bases of all sizes and signs, those at the ends of each exponent's range among them."""
    x = values(dtype, n)
    rng = np.random.default_rng(11)
    bits = np.finfo(dtype)
    with np.errstate(all="ignore"):
        for i, exponent in enumerate(EXPONENTS):
            ends = np.array([bits.max, bits.smallest_normal, bits.smallest_subnormal], "longdouble") ** (np.longdouble(1) / abs(exponent))
            near = rng.choice(np.concatenate([ends, 1 / ends]), 200) * rng.uniform(0.9, 1.1, 200)
            x[1000 + 200 * i:1200 + 200 * i] = near * rng.choice([-1, 1], 200)
    return x


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_whole_powers_are_rounded_once(tmp_path, dtype, cpu):
    x = bases(dtype, N)
    for exponent in EXPONENTS:
        got = power_kernel(exponent, dtype, N, tmp_path, cpu)(x)
        with np.errstate(all="ignore"):
            wide = x.astype("f8" if dtype == "float32" else np.longdouble)
            exact = np.power(wide, wide.dtype.type(exponent)).astype(np.longdouble)
            products = np.abs(np.log2(np.abs(wide))) < (126 if dtype == "float32" else 900) // abs(exponent)
        gap = ulps(got, exact, dtype)
        worst = int(np.nanargmax(np.where(products, gap, 0)))
        assert gap[worst] <= 0.51, (exponent, x[worst], gap[worst])
        assert np.nanmax(gap) <= 2  # all others: the bound of the function that takes them


@pytest.mark.parametrize("exponent", [3, 8, -3, -8])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_whole_powers_raise_the_flags_of_numpy(dtype, exponent):
    small, large = np.finfo(dtype).smallest_normal, np.finfo(dtype).max
    by = np.dtype(dtype).type(exponent)
    compiled = frameloom.compile(lambda x: x**by, fullgraph=True)
    for base in (1.5, -2.0, 0.0, -0.0, np.inf, -np.inf, np.nan, large, -large, small, -small):
        x = np.full(64, 1.25, dtype)
        x[37] = base
        told, results = [], []
        for function in (lambda x: x**by, compiled):
            seen = []
            with np.errstate(all="call", call=lambda kind, flag: seen.append(kind)):  # noqa: B023
                results.append(function(x))
            told.append(set(seen))
        assert told[0] == told[1], (base, told)
        np.testing.assert_array_max_ulp(*results, maxulp=1)
