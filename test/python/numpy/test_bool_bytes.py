"""Bools whose bytes are neither 0 nor 1, as a view of bytes has them: what moves elements keeps their bytes, what computes makes
0 or 1, as NumPy does."""

import numpy as np
import pytest

import frameloom

CALLS = """
b.copy()
np.array(b)
b[::2].copy()
b[::-1].copy()
m.T.copy()
np.concatenate([b,b2])
np.stack([b,b2])
np.stack([b,b2],1)
np.where(c,b,b2)
np.where(b,b2,c)
np.where(b,b,b2)
b[[1,2,3,4]]
np.take(b,[2,3,4])
b[c]
b[b2]
np.roll(b,3)
np.repeat(b,2)
np.tile(b,2)
np.flip(b)
np.pad(b,1)
np.sort(b)
np.argsort(b,kind='stable')
np.unique(b)
b&b
b|b
b^b
b&b2
b|b2
b^b2
~b
~~b
~(~(~b))
abs(b)
b*b2
b+b2
b+b
b*b
b*True
b&True
b|False
b+False
b^False
b^True
np.maximum(b,b)
np.maximum(b,b2)
np.minimum(b,b2)
np.minimum(b,b)
np.maximum(b,False)
np.minimum(b,True)
np.logical_and(b,b2)
np.logical_or(b,b2)
np.logical_not(b)
np.logical_not(np.logical_not(b))
np.logical_xor(b,b2)
b==b2
b!=b2
b<b2
b==True
b!=False
b==False
b.astype(np.uint8)
b.astype(np.int64)
b.astype(np.float32)
b.astype(bool)
b.astype(bool,copy=False)
b.sum()
m.sum(0)
m.any(0)
m.all(1)
m.max(0)
m.min(1)
np.maximum.accumulate(b)
np.logical_or.accumulate(b)
np.bitwise_or.reduce(m,0)
np.bitwise_and.reduce(m,0)
np.bitwise_xor.reduce(m,0)
np.add.reduce(m,0,dtype=bool)
np.multiply.reduce(m,0,dtype=bool)
np.count_nonzero(b)
np.nonzero(b)[0]
np.cumsum(b)
np.dot(m,m.T)
m@m.T
np.outer(b,b2)
np.clip(b,False,True)
np.isnan(b)
np.sign(b.astype(int))
np.floor(b)
np.ceil(b)
np.trunc(b)
np.rint(b)
np.positive(b.astype('i1'))
np.choose(c.astype(int),[b,b2])
np.select([c,~c],[b,b2])
np.broadcast_to(b,(2,12)).copy()
np.fmax(b,b2)
np.fmin(b,b)
b.reshape(3,4).copy()
b.reshape(3,4).T.ravel()
b[2]
b[2:5].tolist()
np.diagonal(m).copy()
np.tril(m)
np.triu(m)
np.where(c,b,False)
np.where(c,True,b)
np.putmask(d:=b.copy(),c,b2) or d
np.copyto(d:=b.copy(),b2) or d
np.copyto(d:=b.copy(),b2,where=c) or d
np.copyto(d:=b.copy(),b2,where=b) or d
b.repeat(2)
np.append(b,b2)
np.insert(b,1,b2[0])
np.delete(b,1)
np.bincount(b)
np.searchsorted(np.sort(b),b2)
np.packbits(b)
b.view('u1')+1
np.where(b,1.5,2.5)
b*1.5
b/b2
np.add.outer(b,b2)
np.equal.outer(b,b2)
b.argmax()
b.argmin()
m.argmax(1)
np.diff(b)
np.lexsort((b,b2))
np.partition(b,3)
np.meshgrid(b,b2)[0].copy()
np.rot90(m).copy()
np.compress(c,b)
np.extract(c,b)
np.resize(b,20)
np.ldexp(b,2)
np.bitwise_count(b.view('u1'))
np.any(b)
np.all(b)
np.array_equal(b,b2)
np.isin(b,b2)
np.triu_indices_from(m)[0]
b.nonzero()[0]
m.flatten('F')
np.fromiter(b,bool)
bool(b[2])
int(b[2])
b[2].view('u1')
b[c].copy()
np.concatenate([b,c])[3:15]
np.where(c,~b,b)
(b&b2)|b
np.where(c,b&b2,b)
(~b)[::-1].copy()
np.logical_and(b,True)
np.logical_or(b,False)
np.hstack([b,~b])
np.full(3,b[2])
np.full_like(b,b[3])
np.array([b[2],b[3]])
np.tile(b,40).repeat(2)
np.tile(b,40).repeat(3)
np.stack([np.tile(b,40)]*4,-1)
[b[i] for i in range(4)][2].view('u1')
np.block([[m],[m]])
np.clip(b,b2,c)
np.clip(b,b2,b[::-1])
np.clip(c,b,b2)
b.clip(b2,c)
b.clip(b2,b[::-1])
np.clip(b,b2,None)
np.clip(b,None,b2)
np.clip(b,b2,True)
np.clip(b,False,b2)
np.clip(b,b[2],b[4])
np.clip(b,b[2:3],b[4:5])
np.clip(b,b2,3)
np.clip(~b,b2,b)
np.clip(b,b2,b2[::-1])|b
np.clip(b,b2,b2[::-1]).astype('i4')
np.where(c,np.clip(b,b2,b2[::-1]),b)
np.clip(m,m[0],m[1])
np.clip(m.T,m[:,:1].T,m[:,1])
np.clip(np.tile(b,40),np.tile(b2,40),np.roll(np.tile(b,40),3))
np.clip(b,b2,b[::-1],out=c) is c and c
np.clip(b[2],b[3],b[4])
""".strip().splitlines()


def bytes_of(result):
    if isinstance(result, (np.ndarray, np.generic)):
        return result.dtype, result.shape, np.ascontiguousarray(result).tobytes()
    return repr(result)


def arguments():
    raw = np.array([0, 1, 2, 3, 255, 128, 0, 1, 7, 0, 0, 1], np.uint8)
    return raw.copy().view(bool), raw[::-1].copy().view(bool), raw.reshape(3, 4).copy().view(bool), np.array([1, 0] * 6, bool)


@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("call", CALLS)
def test_bytes_of_bools(call, backend):
    plain = eval(f"lambda b, b2, m, c: {call}", {"np": np})
    function = frameloom.compile(plain, backend=backend)
    want = bytes_of(plain(*arguments()))
    assert [bytes_of(function(*arguments())) for _ in range(2)] == [want, want]


def test_clip_of_any_bytes():
    """Each of three bytes with each of the others."""
    values = np.array([0, 1, 2, 3, 127, 128, 200, 255], np.uint8)
    x, low, high = (np.ascontiguousarray(v.ravel()).view(bool) for v in np.meshgrid(values, values, values))
    compiled = frameloom.compile(np_clip := lambda x, low, high: (np.clip(x, low, high), np.clip(x[::3], low[::-3], high[1]), np.clip(x & low, low, high)))
    for _ in range(2):
        assert [bytes_of(got) for got in compiled(x, low, high)] == [bytes_of(want) for want in np_clip(x, low, high)]


def test_elements_one_by_one():
    def turned(b):
        x = np.zeros_like(b)
        for i in range(len(b)):
            x[i] = b[len(b) - 1 - i]
        x[:2] = b[3]
        return x

    assert [bytes_of(frameloom.compile(turned)(arguments()[0])) for _ in range(2)] == [bytes_of(turned(arguments()[0]))] * 2


def test_many_choices_between_bools_compile_soon():
    """Each choice is of two of which each is one again: what is looked through is bounded."""

    def chosen(a, b, c):
        x = y = z = a
        for _ in range(40):
            x, y, z = np.where(c, np.where(a, x, y), np.where(b, x, z)), np.where(b, z, x), np.where(a, x, y)
        return x

    a, b, c = np.random.default_rng(0).random((3, 50)) < 0.5
    assert (frameloom.compile(chosen)(a, b, c) == chosen(a, b, c)).all()


def test_indices_of_what_is_not_zero_are_views():
    """As NumPy's are: of an array with a row for each element."""

    def indices(a):
        return np.flatnonzero(a), *np.nonzero(a.reshape(2, -1)), a.nonzero()[0]

    a = np.array([0, 2, 0, 3, 1, 0])
    for got, want in zip(frameloom.compile(indices)(a), indices(a), strict=True):
        assert (got.base.shape, got.strides, got.tolist()) == (want.base.shape, want.strides, want.tolist())
