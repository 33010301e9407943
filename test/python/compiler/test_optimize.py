"""`config.optimize = False`: kernels whose code LLVM has not optimized, with the same results."""

import numpy as np
import pytest
from cpus import KINDS
from processes import run_python

import frameloom

PROGRAM = """
import frameloom, numpy as np

@frameloom.compile(fullgraph=True)
def f(a, b):
    return np.tanh(a @ b).sum(axis=0) + np.sort(b, axis=1)[:, 0]

a = np.linspace(-2, 2, 21 * 21).reshape(21, 21)
print(f(a, a.T).tobytes().hex())
"""


BODIES = [
    lambda a, b, i: a * b + a,
    lambda a, b, i: np.tanh(a) * np.exp(b) / (1 + np.abs(a)),
    lambda a, b, i: (a @ b.T).max(axis=1),
    lambda a, b, i: np.cumsum(a, axis=0) - a.mean(axis=1, keepdims=True),
    lambda a, b, i: np.where(a > b, a, b)[::-1, 1::2],
    lambda a, b, i: np.sort(a, axis=1),
    lambda a, b, i: a[i],
    lambda a, b, i: np.arctan2(a, b) % 1,
    lambda a, b, i: np.floor(a * 100).astype("int64") // 7,
    lambda a, b, i: (a * 1e30) * (b * 1e30),
]


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_are_the_same_bits(cpu, dtype):
    random = np.random.default_rng(5)
    a, b, i = random.normal(size=(19, 23)).astype(dtype), random.normal(size=(19, 23)).astype(dtype), random.integers(-19, 19, 40)
    for n, body in enumerate(BODIES):
        results = []
        for optimize in (True, False):
            with frameloom.config.patch(optimize=optimize), np.errstate(all="ignore"):
                results.append(frameloom.compile(body, fullgraph=True, options={"cpu": cpu})(a, b, i))
        assert results[0].dtype == results[1].dtype and results[0].tobytes() == results[1].tobytes(), n


@pytest.mark.parametrize("optimize", [True, False])
def test_flags_are_the_users_own(optimize):
    """What a vector's spare lanes compute raises nothing, and what the user's elements raise is told."""
    with frameloom.config.patch(optimize=optimize):
        inverse = frameloom.compile(lambda a: np.sqrt(1 / a) * (a > 2), fullgraph=True)
        for size in (1, 3, 7, 19, 65):
            ones = np.arange(1.0, size + 1)
            with np.errstate(all="raise"):
                np.testing.assert_array_equal(inverse(ones), np.sqrt(1 / ones) * (ones > 2))
            for wrong in (0.0, -1.0):
                ones[-1] = wrong
                with np.errstate(all="raise"), pytest.raises(FloatingPointError):
                    inverse(ones)


def result_and_entries(tmp_path, optimize):
    environment = {"FRAMELOOM_OPTIMIZE": optimize, "FRAMELOOM_CHECK": None, "FRAMELOOM_CACHE_DIR": str(tmp_path / "cache")}
    done = run_python("-c", PROGRAM, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, len([p for p in (tmp_path / "cache").rglob("*") if p.is_file()])


def test_the_disk_cache_keeps_them_apart(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o700)
    first, one = result_and_entries(tmp_path, "1")
    second, two = result_and_entries(tmp_path, "0")
    assert first == second and two > one > 0
    assert result_and_entries(tmp_path, "0") == result_and_entries(tmp_path, "1") == (first, two)


def test_the_code_is_not_optimized(tmp_path):
    lines = []
    for optimize in "01":
        environment = {"FRAMELOOM_OPTIMIZE": optimize, "FRAMELOOM_CHECK": None, "FRAMELOOM_TRACE": str(tmp_path / optimize)}
        done = run_python("-c", PROGRAM, environment=environment)
        assert done.returncode == 0, done.stderr
        (code,) = (tmp_path / optimize).glob("*/06-code.s")
        lines.append(sum("rsp" in line for line in code.read_text().splitlines()))
    assert lines[0] > 2 * lines[1], lines  # values live on the stack
