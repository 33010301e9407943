"""np.choose, which is compiled where the arrays to choose from have one dtype."""

import numpy as np
import pytest
from compare import assert_same

import frameloom

RNG = np.random.default_rng(4)
INDEX = RNG.integers(0, 3, (4, 5))
ARRAYS = [RNG.normal(size=(4, 5)) for _ in range(3)]

CASES = {
    "list": (lambda i, a: np.choose(i, a), INDEX, ARRAYS),
    "tuple": (lambda i, a: i.choose((a[0], a[1], a[2])), INDEX, ARRAYS),
    "Fortran order": (lambda i, a: np.choose(i, a), np.asfortranarray(INDEX), [np.asfortranarray(a) for a in ARRAYS]),
    "reversed": (lambda i, a: np.choose(i[::-1], a), INDEX, [a[:, ::-1] for a in ARRAYS]),
    "broadcast": (lambda i, a: np.choose(i[0], a), INDEX, [a[:, :1] for a in ARRAYS]),
    "0-d arrays": (lambda i, a: np.choose(i, a), INDEX, [np.array(1.5), np.array(-0.0), np.array(np.nan)]),
    "clip": (lambda i, a: np.choose(i * 3 - 2, a, mode="clip"), INDEX, ARRAYS),
    "wrap": (lambda i, a: np.choose(i * 3 - 2, a, mode="wrap"), INDEX, ARRAYS),
    "out": (lambda i, a: np.choose(i, a, out=np.zeros((4, 5))), INDEX, ARRAYS),
    "numbers": (lambda i, a: np.choose(i, [a[0], 2.0, -1]), INDEX, ARRAYS),
    "other dtypes": (lambda i, a: np.choose(i, a), INDEX, [ARRAYS[0], INDEX, ARRAYS[1].astype("f4")]),
    "one array": (lambda i, a: np.choose(i, a[0][:3]), INDEX, ARRAYS),
    "uint8 and bool": (lambda i, a: np.choose(i, a), INDEX.astype("u1"), [a > 0 for a in ARRAYS]),
    "complex": (lambda i, a: np.choose(i, a), INDEX.astype("i2"), [a * 1j for a in ARRAYS]),
    "bools as an index": (lambda i, a: np.choose(i > 1, a), INDEX, ARRAYS),
}


@pytest.mark.parametrize("name", CASES)
def test_choose(name):
    function, *arguments = CASES[name]
    compiled = frameloom.compile(function)
    for _ in range(3):
        assert_same(compiled(*arguments), function(*arguments), ulps=0)


def test_it_is_compiled():
    assert "host_call" not in str(frameloom.explain(frameloom.compile(CASES["list"][0]), INDEX, ARRAYS))


@pytest.mark.parametrize("bad", [3, -1])
def test_an_index_that_there_is_not(bad):
    choose = frameloom.compile(lambda i, a: np.choose(i, a))
    choose(INDEX, ARRAYS)
    index = INDEX.copy()
    index[2, 2] = bad
    for call in (np.choose, choose, choose):
        with pytest.raises(ValueError, match="invalid entry in choice array"):
            call(index, ARRAYS)
    assert_same(choose(INDEX, ARRAYS), np.choose(INDEX, ARRAYS), ulps=0)
