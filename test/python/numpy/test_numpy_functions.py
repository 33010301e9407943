"""Expressions over one matrix `a` that are captured whole; each must agree with NumPy in everything that can be seen:
type, dtype, sizes, strides, whether it is a view, and values."""

import numpy as np
import pytest

import frameloom
from compare import assert_same, outcome

EXPRESSIONS = """
a+1
1-a
a*2.5
a**2
a**3
a/3
a//2
a%3
-a
abs(a)
a<2
a==1
a+np.float32(2)
a+np.float64(2)
a+np.int8(3)| a+True
[a,(a,1.5),{'x':a+1}]
a@a.T
a.T@a
a.dot(a.T)
a.T+1
a[0]
a[:,1]
a[1,2]
a[-1]
a[...,0]
a[None]
a[:,None,:]
a[::2,::-1]
a[1:,1:]+1
a[::-1]
a[5:]
a[0,...]
a[0][1]
a[:, ::2].T
a[()]
a[...]
a.T[1:]
a[1:2,1:2]
a[0:0]
a.sum()
a.sum(0)
a.sum(1)
a.sum(axis=(0,1))
a.sum(axis=-1,keepdims=True)
a.sum(keepdims=True)
a.sum(axis=0,keepdims=True)
a.mean()
a.mean(0)
a.mean(1,keepdims=True)
a.var()
a.var(0)
a.var(axis=1,ddof=1,keepdims=True)
a.std()
a.std(axis=1)
a.max()
a.min(0)
a.max(axis=1,keepdims=True)
a.argmax()
a.argmin(0)
a.argmax(axis=1)
a.argmax(axis=1,keepdims=True)
a.any()
a.all(0)
a.prod()
a.prod(axis=0,dtype='f8')
a.cumsum()
a.cumsum(0)
a.cumprod(1)
np.ptp(a)
np.ptp(a,axis=0)
np.sum(a,axis=0,initial=3)
np.max(a,axis=0,initial=100)
np.sum(a,where=a>0)
np.max(a,where=a>0,initial=-5,axis=1)
a.sum(dtype='f4')
np.add.reduce(a)
np.add.reduce(a,axis=1)
np.maximum.reduce(a,axis=None)
np.add.accumulate(a,axis=1)
np.multiply.outer(a,a[0])
np.count_nonzero(a)
np.count_nonzero(a,axis=0)
np.average(a)
np.average(a,axis=0)
np.nansum(a)
a.sum(axis=())
np.mean(a,dtype='f4')
(a-a.mean())/a.std()
a.sum()+1
np.amax(a,1)
a.reshape(-1)
a.reshape(2,-1)
a.reshape((a.size,))
a.T.reshape(-1)
a.reshape(-1,order='F')
a.ravel()
a.T.ravel()
a.flatten()
a.ravel(order='F')
np.ravel(a)
a.transpose()
np.transpose(a,(1,0))
a.swapaxes(0,1)
np.moveaxis(a,0,1)
np.rollaxis(a,1)
a.squeeze()
np.expand_dims(a,1)
np.expand_dims(a,(0,2))
np.broadcast_to(a,(2,)+a.shape)
np.concatenate([a,a])
np.concatenate([a,a],axis=1)
np.concatenate((a,a),axis=None)
np.stack([a,a])
np.stack([a,a+1],axis=-1)
np.hstack([a,a])
np.vstack([a,a])
np.dstack([a,a])
np.column_stack([a,a])
np.tile(a,2)
np.tile(a,(2,1))
np.repeat(a,2)
np.repeat(a,2,axis=0)
a.repeat(3,1)
np.roll(a,1)
np.roll(a,1,axis=0)
np.roll(a,(1,2),axis=(0,1))
np.flip(a)
np.flip(a,0)
np.fliplr(a)
np.flipud(a)
np.rot90(a)
np.diff(a)
np.diff(a,axis=0)
np.diff(a,n=2)
np.diag(a)
np.diag(a,1)
np.diag(a[0])
np.diag(a[0],-1)
np.diagonal(a)
np.trace(a)
np.tril(a)
np.triu(a,1)
np.take(a,[0,1])
np.take(a,[1,0],axis=1)
a.take(np.array([0,2,2]),axis=0)
np.split(a,[1],axis=0)
np.array_split(a,2,axis=1)
np.hsplit(a,2)
np.vsplit(a,a.shape[0])
np.atleast_1d(a)
np.atleast_2d(a)
np.atleast_3d(a)
np.append(a,a)
np.append(a,a,axis=0)
np.resize(a,(2,2))
np.block([[a,a],[a,a]])
np.outer(a,a)
np.inner(a,a)
np.vdot(a,a)
np.tensordot(a,a,axes=((1,),(1,)))
np.tensordot(a,a.T,1)
np.tensordot(a[:0],2,axes=0)
np.tensordot(2,a[:0],axes=0)
np.tensordot(2,a[:1,:0],axes=0)
np.tensordot(a[:0,:1],2,axes=0)
np.einsum('ij,kj->ik',a,a)
np.einsum('ij->ji',a)
np.einsum('ij->',a)
np.einsum('ij->j',a)
np.einsum('ij,ij->i',a,a)
np.einsum('ij,j',a,a[0])
np.einsum('i...->...',a)
np.einsum('ij,kl->ijkl',a,a)
np.linalg.norm(a)
np.linalg.norm(a,axis=1)
np.cov(a)
np.corrcoef(a)
np.gradient(a)
np.gradient(a,axis=0)
np.trapezoid(a)
np.cumulative_sum(a,axis=1)
np.where(a>0,a,0)
np.where(a>0,a,-a)
np.where(a>0,1.5,a.T.T)
np.clip(a,0,2)
a.clip(0)
np.clip(a,None,1)
a.clip(a[0],3)
np.clip(a,0,2.5)
np.select([a<0,a>2],[a,a*2],default=7)
np.piecewise(a,[a<0],[1,2])
a.astype('f4')
a.astype(np.int32)
a.astype(bool)
a.astype(a.dtype)
a.astype(a.dtype,copy=False)
a.copy()
np.copy(a)
a.copy(order='F')
np.array(a)
np.asarray(a)
np.asarray(a,dtype='f4')
np.array(a,dtype='i8')
np.ascontiguousarray(a)
np.zeros_like(a)
np.ones_like(a,dtype=int)
np.full_like(a,3)
np.empty_like(a).shape
np.zeros((2,3))
np.ones(3,dtype='i4')
np.full((2,2),7)
np.full((2,2),7.5,dtype='f4')
np.arange(5)
np.arange(1,10,3)
np.arange(0.,1.,.25)
np.arange(5,dtype='f4')
np.linspace(0,1,5)
np.eye(3)
np.eye(2,3,1)
np.identity(3)
np.array([1,2,3])
np.array([[1.,2],[3,4]])
a[:a.shape[0]]+np.arange(a.shape[1])
np.round(a)
np.round(a,2)
a.round()
np.fix(a)
np.nan_to_num(a)
np.isclose(a,a)
np.sinc(a)
np.angle(a)
np.real(a)
a.real
np.isreal(a)
np.unwrap(a)
np.heaviside(a,0.5)
np.maximum(a,0)
np.divmod(a,3)
np.modf(a)
np.square(a)
np.logical_and(a>0,a<2)
(a>0)&(a<2)
(a>0)^~(a<2)
np.bitwise_xor(a>0,a<1)
np.polyval([1,2,3],a)
np.vander(a[0])
np.tri(3)
np.indices((2,3))
np.fromfunction(lambda i,j:i+j,(2,3))
np.mgrid[0:2,0:3]
np.dtype(a.dtype).name
a.dtype==np.float64
a.shape
a.size
a.ndim
len(a)
a.nbytes
[r.sum() for r in a]
[x for x in a[0]]
sum(a[0])
max(len(a),2)
tuple(a)
float(3)
a[[0,1]]
np.matmul(a,a.T)
np.vecdot(a,a)
np.linalg.multi_dot([a,a.T,a])
np.fmin(a,1)
np.logaddexp(a,1)
np.float32(1)+a
a.mean().astype('f4')
a.max()-a.min()
a.flat[0]
np.add(a,1,dtype='f8')
np.add(a,a,order='F')
np.ix_([0,1],[1,2])
np.swapaxes(a,0,-1)
a[0].reshape(2,2)
a.T.copy()
(a.T+a.T).T
np.ravel(a.sum())
np.reshape(a.max(), (1, 1))
np.atleast_1d(a.mean())
np.expand_dims(a.max(), 0)
a.max()[None]
a.max()[...]
a.max()[()]
a.imag
np.pad(a, 1)
np.pad(a, ((1, 0), (0, 2)), constant_values=7)
np.pad(a, 1, mode='reflect')
np.cross(a[:, :3], a[:, :3])
np.kron(a, a)
np.roll(a, (1, 2), axis=(0, 1))
(np.stack([a, a]) @ np.stack([a.T, a.T])).sum(axis=0)
np.swapaxes(np.stack([np.stack([a, a])] * 3), 0, 1) @ np.swapaxes(np.stack([np.stack([a.T, a.T])] * 3), 0, 1)
a[:, [2, 0, 1]]
a[[0, 2]]
a[..., [[0, 1], [1, 0]]]
np.isclose(a, a)
(a > 0) ** 2
divmod(a, 2)
float(np.abs(a).max())
(str(a.dtype), repr(a.dtype), f"{a.dtype} {a.shape}")
np.stack([row * i for i, row in enumerate(a)])
np.array([a[0].sum(), a[1].sum()])
np.hypot(*a[:2])
np.linalg.norm(a - a.mean(axis=0), axis=1)
np.add.outer(a[0], a[1])
""".strip().split("\n")


def matrices():
    rng = np.random.default_rng(7)
    a = rng.standard_normal((3, 4)) * 2
    yield a
    yield np.asfortranarray(a)
    yield rng.integers(-6, 7, (3, 4)).astype(np.int32)
    yield (rng.standard_normal((6, 8)) * 2)[::2, ::-2]


def assert_identical(got, want):
    """As assert_same, and equal strides in every dimension, and a base where NumPy gives one."""
    assert_same(got, want)
    if isinstance(want, (tuple, list)):
        for g, w in zip(got, want):
            assert_identical(g, w)
    elif isinstance(want, np.ndarray):
        assert got.strides == want.strides
        assert (got.base is None) == (want.base is None)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    function = eval(f"lambda a: ({expression})", {"np": np})
    compiled = frameloom.compile(function, fullgraph=True, backend="interpret")
    for a in matrices():
        with np.errstate(all="ignore"):
            want, want_error, warned = outcome(function, [a])
            got, error, _ = outcome(compiled, [a])
        if want_error is not None or any(category is DeprecationWarning for category, _ in warned):
            assert isinstance(error, frameloom.GraphBreak), error
            continue
        assert error is None, error
        assert_identical(got, want)
