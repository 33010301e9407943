"""np.linalg.solve and np.linalg.inv of small matrices, for which LAPACK is called directly: NumPy's bits and errors."""

import numpy as np
import pytest
from compare import assert_same

import frameloom

RNG = np.random.default_rng(3)
SIZES = [1, 2, 3, 4, 7, 8, 31, 32, 33, 60]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.parametrize("n", SIZES)
def test_solve_and_inv(n, dtype):
    a = (RNG.normal(size=(n, n)) * 10).astype(dtype) + n * np.eye(n, dtype=dtype)
    inv = frameloom.compile(lambda a: np.linalg.inv(a) + 0)
    for shape in ((n,), (n, 1), (n, 3), (n, 2 * n), (n, 0)):
        b = (RNG.normal(size=shape) * 10).astype(dtype)
        solve = frameloom.compile(lambda a, b: np.linalg.solve(a, b))
        for left, right in ((a, b), (a.T, b), (a[::-1], b[::-1]), (np.asfortranarray(a), np.asfortranarray(b))):
            for _ in range(2):
                assert_same(solve(left, right), np.linalg.solve(left, right), ulps=0)
    for left in (a, a.T, a[::-1]):
        for _ in range(2):
            assert_same(inv(left), np.linalg.inv(left) + 0, ulps=0)


def test_special_values():
    solve = frameloom.compile(lambda a, b: np.linalg.solve(a, b))
    a = RNG.normal(size=(4, 4))
    for spoiled in (np.nan, np.inf, 1e308, 5e-324, -0.0):
        one = a.copy()
        one[1, 2] = spoiled
        for b in (np.ones(4), np.array([np.nan, np.inf, 0.0, -0.0])):
            with np.errstate(all="ignore"):
                assert_same(solve(one, b), np.linalg.solve(one, b), ulps=0)


def test_singular_matrices():
    solve, inv = frameloom.compile(lambda a, b: np.linalg.solve(a, b)), frameloom.compile(lambda a: np.linalg.inv(a))
    good, b = np.eye(3), np.ones(3)
    for bad in (np.zeros((3, 3)), np.ones((3, 3)), np.arange(9.0).reshape(3, 3) // 3):
        for call in (lambda: solve(bad, b), lambda: inv(bad)):  # noqa: B023
            with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
                call()
        assert_same(solve(good, b), b, ulps=0)
        assert_same(inv(good), good, ulps=0)
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        solve(np.ones((2, 3)), np.ones(2))
    with pytest.raises(ValueError, match="mismatch"):
        solve(good, np.ones(2))


def test_stacks_and_changing_sizes():
    solve = frameloom.compile(lambda a, b: np.linalg.solve(a + 0, b * 1), dynamic=True)
    for n in (2, 5, 3, 40, 4):
        a, b = RNG.normal(size=(n, n)), RNG.normal(size=n)
        assert_same(solve(a, b), np.linalg.solve(a, b), ulps=0)
    stack = RNG.normal(size=(5, 3, 3))
    assert_same(frameloom.compile(lambda a: np.linalg.inv(a))(stack), np.linalg.inv(stack), ulps=0)


def test_it_is_called_directly(monkeypatch):
    """NumPy's own Python code does not run, but for matrices that are left to it."""
    asked, check = [], np.linalg._linalg._assert_stacked_square
    solve = frameloom.compile(lambda a, b: np.linalg.solve(a, b))
    calls = [(np.eye(n) + 0.1, np.ones(n)) for n in (4, 40)]
    for a, b in calls:
        solve(a, b)
    monkeypatch.setattr(np.linalg._linalg, "_assert_stacked_square", lambda *arrays: asked.append(1) or check(*arrays))
    for (a, b), times in zip(calls, (0, 1)):
        del asked[:]
        solve(a, b)
        assert len(asked) == times
