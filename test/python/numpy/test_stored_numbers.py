"""Numbers that are stored, arrays that are joined, objects that are compared: values, dtypes and errors as NumPy's."""

import numpy as np
import pytest
from compare import assert_same_call, naming, outcome, told

import frameloom

# X: what is stored
STORES = """
b = np.zeros(3,bool); np.copyto(b, X); return b
b = np.zeros(3,np.uint8); np.copyto(b, X); return b
b = np.zeros(3,np.int16); np.copyto(b, X); return b
b = np.zeros(3,np.float32); np.copyto(b, X); return b
b = np.zeros(3,np.complex64); np.copyto(b, X); return b
b = np.zeros(3,np.int8); np.copyto(b, X, casting='unsafe'); return b
b = np.zeros(3,np.int8); np.copyto(b, X, casting='safe'); return b
b = np.zeros(3,np.int8); np.copyto(b, X, casting='no'); return b
b = np.zeros(3,np.int8); np.copyto(b, X, where=np.array([True,False,True])); return b
b = np.zeros(3,np.float16); b[:] = X; return b
b = np.zeros(3,np.uint16); b[0] = X; return b
b = np.zeros(3,bool); b[1:] = X; return b
b = np.zeros(3,np.int64); b.fill(X); return b
b = np.zeros(3,np.uint8); b.fill(X); return b
return np.full(3, X)
return np.full(3, X, np.int8)
return np.full(3, X, np.uint64)
return np.full(3, X, bool)
return np.full(3, X, np.float16)
return np.full_like(i, X)
return np.full_like(v, X, dtype=np.uint8)
return np.array(X, np.int8)
return np.array([X, 1])
return np.where(i > 2, X, np.int8(1))
return np.clip(np.int8([1,2]), 0, X)
return np.maximum(np.int8([1,2]), X)
b = np.int8([1,2]); b += X; return b
b = np.int8([1,2]); b[[0]] = X; return b
b = np.int8([1,2]); np.put(b, 0, X); return b
b = np.int8([1,2]); np.putmask(b, b > 1, X); return b
b = np.int8([1,2]); np.place(b, b > 1, X); return b
b = np.eye(3, dtype=np.int8); np.fill_diagonal(b, X); return b
"""
STORED = [
    "7", "300", "-1", "2**70", "-2**70", "2**63", "1.5", "1e300", "np.nan", "np.inf", "True", "1j", "None",
    "'a'", "np.float32(2.5)", "np.int64(300)", "np.uint8(200)", "np.int64([1,2,3])", "np.float64([1,2,3])",
    "[1,2,3]", "[1.5,2,3]", "np.complex128(1j)", "[True,False,True]",
]
# FN: what joins
JOINS = """
return np.FN(x for x in (v, v))
return np.FN(v)
return np.FN(m)
return np.FN((m, m, m))
return np.FN([m, v])
return np.FN(iter([v, v]))
return np.FN(map(np.sin, (v, v)))
return np.FN(range(3))
return np.FN(())
return np.FN([])
return np.FN(([1,2],[3,4]))
return np.FN({'a': v})
return np.FN({1, 2})
return np.FN(zip(v, v))
return np.FN((v, i))
return np.FN((v.astype(np.float32), 1.0))
return np.FN((v.astype(np.float32), [1.0, 2.0]))
return np.FN(([1.0], v.astype(np.float32)))
return np.FN((np.int8([1]), [2]))
return np.FN((np.int8([1]), (True,)))
return np.FN(3)
return np.FN((v, None))
return np.FN((v, 'a'))
return np.FN('abc')
return np.FN((v, 1))
return np.FN(np.float32(1))
"""
JOINED = ["hstack", "vstack", "dstack", "column_stack", "stack", "concatenate", "block", "concat", "atleast_2d",
          "broadcast_arrays"]
IDENTITIES = """
return np.array(v, copy=None) is v
return np.array(v, copy=False) is v
return np.array(v, copy=True) is v
return np.asarray(v) is v
return np.array(v, copy=None, dtype=float) is v
return np.array(v, copy=None, ndmin=2) is v
return np.array(v, copy=None, order='F') is v
return np.array(m, copy=None, order='F') is m
return np.array(m, copy=False, order='F') is m
return np.array(v, copy=False, dtype=int)
return np.asarray(v, copy=True) is v
return np.asarray(v, copy=False) is v
return np.asarray(i, float, copy=False)
return np.asarray([1], copy=False)
return np.array([1], copy=False)
return np.array(v, copy=None)
a = np.array(v, copy=None); a[0] = 9; return v
return v.astype(float, copy=False) is v
return v.astype(int, copy=False) is v
return np.ascontiguousarray(v) is v
return np.require(v) is v
return v.dtype is np.dtype(float)
return v.dtype is np.dtype('float64')
return v.dtype is i.dtype
return (v + 1).dtype is v.dtype
return np.False_ is np.False_
return np.bool_(0) is np.False_
return (v[0] > 1) is np.False_
return np.True_ is (v[1] == 1)
return (v > 1)[0] is np.False_
return np.isnan(v[0]) is np.False_
return v.any() is np.True_
return np.bool_(True) is np.True_
return np.True_ is True
return np.float64(1) is np.float64(1)
return v[0] is v[0]
return np.pi is np.pi
return np.int8 is np.dtype('int8').type
return v.T is v
return v.real is v
return np.atleast_1d(v) is v
return np.squeeze(v) is v
return v[:] is v
return v.base is None
return np.array(v, copy=None).base is None
return np.array(np.float64(3), copy=None)
return np.array(3, copy=None)
return not np.False_ is np.True_
return np.logical_not(np.True_) is np.False_
return np.all(v > -1) is np.True_
"""
DTYPES = ["bool", "np.int8", "np.uint8", "np.int64", "np.float16", "np.float32", "np.float64", "np.complex64"]
# A, B: dtypes
CASTS = """
return np.concatenate((np.ones(2, A), np.zeros(3, B)))
return np.stack((np.ones(2, A), np.zeros(2, B)), dtype=np.float32)
o = np.zeros(5, B); np.concatenate((np.ones(2, A), np.zeros(3, A)), out=o); return o
o = np.zeros(5, B); np.concatenate((np.ones(2, A), np.zeros(3, A)), out=o, casting='unsafe'); return o
return np.choose(np.array([0, 1]), (np.ones(2, A), np.zeros(2, B)))
return np.hstack((np.ones(2, A), np.zeros(2, B)), dtype=B, casting='safe')
return np.concatenate((np.ones(2, A), np.zeros(3, A)), dtype=B, casting='no')
return np.concatenate((np.ones(2, A), np.zeros(3, A)), dtype=B, casting='same_kind')
return np.concatenate((np.ones(2, A), np.zeros(3, A)), dtype=B, casting='unsafe')
"""
# x, a: operands
PROMOTIONS = """
np.concatenate((a, [x]))
np.choose(q, (a, x))
np.choose(q, [x, a])
np.select([q > 0], [a], x)
np.append(a, x)
np.where(q > 0, a, x)
np.array([a[0], x])
a + x
a ** x
x ** a
a[0] * x
a[0] ** x
x ** a[0]
x ** 2
2 ** x
np.True_ ** x
np.True_ + x
np.maximum(a, x)
np.clip(a, 0, x)
np.add.outer(a, x)
np.multiply.outer(x, a)
np.full_like(a, x)
np.dot(a, x)
np.result_type(a, x)
"""
SCALARS = [1, 2.5, True, 1j, -1, 300] + [np.dtype(t).type(1) for t in ("bool", "i1", "u1", "i8", "u8", "f2", "f4", "f8", "c8")]


def lines(text):
    return text.strip().splitlines()


def function(body, names):
    space = {"np": np}
    exec(f"def f({names}):\n    {body}\n", space)
    return space["f"]


def quietly_told(function, *arguments):
    with np.errstate(all="ignore"):
        return told(function, *arguments)


def as_numpy(body, dynamic=None):
    plain, compiled = function(body, "v, i, k, m"), frameloom.compile(function(body, "v, i, k, m"), dynamic=dynamic)
    for _ in range(2):
        operands = [(np.arange(6.0), np.arange(6), np.array([7]), np.arange(12.0).reshape(3, 4)) for _ in range(2)]
        assert quietly_told(compiled, *operands[0]) == quietly_told(plain, *operands[1]), body


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body", lines(STORES))
def test_stored(body):
    for x in STORED:
        as_numpy(body.replace("X", x))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", JOINED)
def test_joined(name):
    for body in lines(JOINS):
        as_numpy(body.replace("FN", name))
        as_numpy(body.replace("FN", name), dynamic=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body", lines(CASTS))
def test_casts(body):
    for a in DTYPES:
        for b in DTYPES:
            as_numpy(body.replace("A", a).replace("B", b))


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("body", lines(IDENTITIES))
def test_identity(body, dynamic):
    as_numpy(body, dynamic)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", lines(PROMOTIONS))
def test_promotion(text):
    for dtype in ("bool", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "c8"):
        a, q = np.array([1, 2]).astype(dtype), np.array([0, 1])
        for x in SCALARS:
            plain, compiled = function(f"return {text}", "a, x, q"), frameloom.compile(function(f"return {text}", "a, x, q"))
            with np.errstate(all="ignore"), naming((text, dtype, x)):
                want = outcome(plain, (a, x, q))
                for _ in range(2):
                    assert_same_call(outcome(compiled, (a, x, q)), want, rtol=1e-12)
