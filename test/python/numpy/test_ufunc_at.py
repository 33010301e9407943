"""ufunc.at: what is compiled as a scatter and what is a call of NumPy gives the same: values, errors, warnings."""


import numpy as np
import pytest
from compare import copied, told

import frameloom

DTYPES = ("?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "c8")
KEYS = {
    (7,): [np.array([0, 3, 3, -1]), np.array([[1, 2], [2, 6]]), np.array([0, 7]), np.array([0, -8]), 3, slice(1, 4),
           np.array([], int), np.array([True] * 7), (np.array([1, 1]),), [1, 1, 2], np.array([5, 1, 1, 0])[::-1]],
    (5, 6): [np.array([4, 0, 4]), (np.array([4, 0, 4]), np.array([1, 5, 1])), (np.array([0, 1]), slice(None)),
             np.array([[1], [1]]), (np.array([[1], [2]]), np.array([0, 1])), np.array([2, 2], "u1"),
             (np.array([1, 2]), np.array([1, 6]))],
}
VALUES = [1, 2.5, 0.1, 1e-40, -3, True, 1000, np.float32(1.5), np.int8(3), np.ones(11), "row", "full", "backwards", "large", "double"]


def value(kind, taken, dtype, rng):
    """What is applied where `taken` would be taken."""
    if not isinstance(kind, str):
        return kind
    shape = np.shape(taken)[-1:] if kind == "row" else () if kind == "large" else np.shape(taken)
    made = np.asarray(rng.standard_normal(shape) * 20)
    if kind == "large":
        made = np.array({"f4": 3e38, "f8": 1.7e308}.get(dtype, 100))
    if kind == "double":
        return made
    made = made.astype(dtype)
    return made[..., ::-1] if kind == "backwards" and made.ndim else made


def is_numpys_own(array, key, applied):
    """NumPy reads beyond the values where a row of them is for several rows of indices of a vector."""
    return array.ndim == 1 and np.ndim(key) == 2 and np.ndim(applied) == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "minimum", "maximum", "divide"])
def test_all_keys_and_values(name, dtype):
    ufunc, rng = getattr(np, name), np.random.default_rng(1)

    def program(array, key, applied):
        return ufunc.at(array, key, applied), array

    for shape, keys in KEYS.items():
        for key in keys:
            for kind in VALUES:
                array = (rng.standard_normal(shape) * 50).astype(dtype)
                try:
                    taken = array[key]
                except IndexError:
                    taken = np.zeros(2)
                applied = value(kind, taken, dtype, rng)
                if is_numpys_own(array, key, applied):
                    continue
                compiled = frameloom.compile(program, backend="interpret" if rng.integers(12) else "loom")
                for _ in range(2):
                    assert told(compiled, *copied((array, key, applied))) == told(program, *copied((array, key, applied))), (key, kind)


@pytest.mark.parametrize("dynamic", [False, True])
def test_sums_by_index_are_compiled(dynamic):
    def program(array, key, applied):
        np.add.at(array, key, applied * 2)
        np.subtract.at(array, (key, key % 3), 1.0)
        return array.sum(axis=0)

    compiled = frameloom.compile(program, dynamic=dynamic)
    for size in (5, 9, 700):
        rng = np.random.default_rng(size)
        given = rng.standard_normal((11, 64)), rng.integers(0, 11, size), rng.standard_normal((size, 64))
        assert told(compiled, *copied(given)) == told(program, *copied(given))
    assert "host_call" not in str(frameloom.explain(program, *given))
