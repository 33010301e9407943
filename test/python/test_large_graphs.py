"""Programs with many nodes of one shape: they compile whole, compute what NumPy does, and twice the program is about twice
the work."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import frameloom

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import compile_scaling  # noqa: E402


def same(function, *args):
    compiled = frameloom.compile(function)
    with np.errstate(all="ignore"), frameloom.config.patch(unroll_limit=1 << 40):
        got, expected = compiled(*args), function(*args)
    assert not compiled._report()["breaks"]
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("count", [31, 32, 33, 48, 49, 65, 300])
@pytest.mark.parametrize("axis", [0, 1])
def test_concatenations_of_many(count, axis):
    a, b = np.random.default_rng(0).random((2, 3, 5))

    def one(a, b):
        return np.concatenate([a] * count, axis=axis), np.stack([a] * count, axis=axis) + 1

    def several(a, b):
        return (np.concatenate([a * i if i % 3 else b for i in range(count)], axis=axis),
                np.stack([(a + i).sum(axis=axis) for i in range(count)], axis=axis))

    def sizes(a, b):
        return (np.concatenate([a[: i % 4] if axis == 0 else a[:, : i % 4] for i in range(count)], axis=axis),)

    same(one, a, b)
    same(several, a, b)
    same(sizes, a, b)


@pytest.mark.parametrize("axes", [None, 0, 1, (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("count", [9, 17, 40])
def test_reductions_in_turn_and_side_by_side(axes, count):
    t = np.random.default_rng(1).random((3, 4, 5))

    def in_turn(t):
        for i in range(count):
            t = t - t.mean(axis=axes, keepdims=True) * (0.1 * i)
        return t, t.max(axis=axes)

    def side_by_side(t):
        return [(t * i).sum(axis=axes) for i in range(count)]

    def both(t):
        r = []
        for i in range(count):
            r.append((t + i).max(axis=axes))
            t = t * 0.5 + r[-1 - i % 3 if i > 3 else -1].max()
        return r + [t]

    same(in_turn, t)
    same(side_by_side, t)
    same(both, t)


@pytest.mark.parametrize("shape", compile_scaling.SHAPES)
def test_every_shape_compiles_whole(shape):
    n = 160
    function = compile_scaling.function(shape, n)
    expected = function(*compile_scaling.arguments(n))
    compiled = frameloom.compile(function)
    with np.errstate(all="ignore"), frameloom.config.patch(unroll_limit=1 << 40):
        got = compiled(*compile_scaling.arguments(n))
    assert not compiled._report()["breaks"]
    several = isinstance(expected, (list, tuple))
    for one, other in zip(*(v if several else [v] for v in (got, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("count", [40, 100])
def test_wide_concatenations_of_any_size(count):
    def apart(a, b):
        return np.concatenate([a * i if i % 2 else b[: len(b) // 2] for i in range(count)]) * 2

    def stacked(a, b):
        return np.stack([a + b[i % 3] for i in range(count)], axis=1)

    for function in (apart, stacked):
        compiled = frameloom.compile(function, dynamic=True)
        for size in (30, 31, 50):
            a, b = np.random.default_rng(size).random((2, size))
            np.testing.assert_allclose(compiled(a, b), function(a, b), rtol=1e-12)
        report = compiled._report()
        assert not report["breaks"] and len(report["entries"]) == 1


def passes_cost(shape, n, folder):
    """Instructions that all passes up to the lowered kernels take for the graph of a shape."""
    compiled = frameloom.compile(compile_scaling.function(shape, n))
    with np.errstate(all="ignore"), frameloom.config.patch(unroll_limit=1 << 40, trace=str(folder)):
        compiled(*compile_scaling.arguments(n))
    (graph,) = folder.glob("*/00-import.mlir")
    tool = Path(os.environ.get("LOOM_BUILD", ROOT / "build" / "dev")) / "bin" / "loom-opt"
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", tool, graph, "--loom-lowered",
                           "-o", folder / "lowered"], capture_output=True, text=True, check=True, timeout=600)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
@pytest.mark.parametrize("shape", ["stack", "reductions_in_turn"])
def test_twice_the_program_is_twice_the_work(shape, tmp_path):
    counted = []
    for n in (150, 300, 600):
        folder = tmp_path / str(n)
        folder.mkdir()
        counted.append(passes_cost(shape, n, folder))
    # 2 where the work is in proportion to the program, 4 where it is to the program's square.
    assert (counted[2] - counted[1]) / (counted[1] - counted[0]) < 2.7
