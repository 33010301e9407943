"""Derivatives of NumPy's functions against differences, of first and second order."""

import frameloom
import numpy as np
import pytest
from differences import assert_near, by_differences, weighted

rng = np.random.default_rng(0)
MATRIX = rng.uniform(0.2, 0.9, (3, 4))
VECTOR = rng.uniform(0.2, 0.9, 5)
OTHER = rng.uniform(0.2, 0.9, (4, 3))
DEFINITE = OTHER[:3] @ OTHER[:3].T + np.eye(3)
LONG = rng.normal(size=100)
INDEX = np.array([0, 2, 2])


def slice_stored(x):
    y = np.zeros(5)
    y[1:3] = x[1:3] ** 2
    return y


def stored_at_indices(x):
    """Index 2 is written twice: what was written first is lost."""
    y = np.ones(5)
    y[INDEX] = x[:3] ** 2
    return y * x


def added_at_indices(x):
    y = np.ones(5)
    np.add.at(y, INDEX, x[:3])
    return y * x


def subtracted_at_indices_of_a_list(x):
    y = np.ones(5)
    np.subtract.at(y, [0, 2, 2], x[:3] ** 2)
    return y * x


def stored_by_mask(x):
    y = x * 2
    y[y > 0.9] = 0
    return y


def overwritten_later(x):
    y = x * 2
    z = y[1:] * y[:-1]
    y[:] = 3.0
    return z * y[0]


def written_through_a_view(x):
    y = np.zeros((2, 5))
    y.T[:, 0] = x
    y[1] = y[0] * x
    y *= y
    return y


# name: (function of an array of floats, the array)
FUNCTIONS = {
    "sort": (lambda x: np.sort(x), VECTOR),
    "sort2": (lambda x: np.sort(x,axis=0), MATRIX),
    "max": (lambda x: x.max(axis=1), MATRIX),
    "min": (lambda x: x.min(), MATRIX),
    "prod": (lambda x: x.prod(axis=0), MATRIX),
    "prodall": (lambda x: np.prod(x), MATRIX),
    "cumsum": (lambda x: np.cumsum(x,axis=1), MATRIX),
    "cumprod": (lambda x: np.cumprod(x), VECTOR),
    "take": (lambda x: x[INDEX], VECTOR),
    "take2": (lambda x: x[:,np.array([1,1,3])], MATRIX),
    "fancy2": (lambda x: x[np.array([0,1]),np.array([2,2])], MATRIX),
    "npmax": (lambda x: np.maximum(x,.5), MATRIX),
    "clip": (lambda x: np.clip(x,.3,.6), MATRIX),
    "where": (lambda x: np.where(x>.5,x*x,np.sin(x)), MATRIX),
    "mean": (lambda x: np.mean(x,axis=0), MATRIX),
    "var": (lambda x: np.var(x,axis=1), MATRIX),
    "std": (lambda x: np.std(x), MATRIX),
    "mm": (lambda x: x@OTHER, MATRIX),
    "mm2": (lambda x: OTHER@x, MATRIX),
    "mv": (lambda x: x@VECTOR[:4], MATRIX),
    "dot": (lambda x: np.dot(x,x), VECTOR),
    "outer": (lambda x: np.outer(x,x), VECTOR),
    "einsum": (lambda x: np.einsum('ij,jk->ki',x,OTHER), MATRIX),
    "einsum2": (lambda x: np.einsum('ij,ij->i',x,x), MATRIX),
    "tensordot": (lambda x: np.tensordot(x,OTHER,axes=1), MATRIX),
    "T": (lambda x: x.T*2, MATRIX),
    "reshape": (lambda x: x.reshape(2,6)**2, MATRIX),
    "ravel": (lambda x: x.ravel()[::-1]*np.arange(12), MATRIX),
    "slice": (lambda x: x[1:,::2]**2, MATRIX),
    "neg": (lambda x: x[::-1,1]**2, MATRIX),
    "concat": (lambda x: np.concatenate([x,x*x],axis=1), MATRIX),
    "stack": (lambda x: np.stack([x,x*x],axis=1), MATRIX),
    "pad": (lambda x: np.pad(x,1)**2, MATRIX),
    "padedge": (lambda x: np.pad(x,1,mode='edge')**2, MATRIX),
    "roll": (lambda x: np.roll(x,1)*np.arange(5), VECTOR),
    "diff": (lambda x: np.diff(x)**2, VECTOR),
    "repeat": (lambda x: np.repeat(x,2)*np.arange(10), VECTOR),
    "tile": (lambda x: np.tile(x,2)*np.arange(10), VECTOR),
    "flip": (lambda x: np.flip(x)*np.arange(5), VECTOR),
    "diag": (lambda x: np.diag(x)@np.ones(5), VECTOR),
    "trace": (lambda x: np.trace(x@OTHER), MATRIX),
    "diagonal": (lambda x: np.diagonal(x)**2, MATRIX),
    "tril": (lambda x: np.tril(x)**2, MATRIX),
    "power": (lambda x: x**2.5, MATRIX),
    "pow2": (lambda x: 2**x, MATRIX),
    "powxx": (lambda x: x**x, MATRIX),
    "logaddexp": (lambda x: np.logaddexp(x,.3), MATRIX),
    "arctan2": (lambda x: np.arctan2(x,.3), MATRIX),
    "hypot": (lambda x: np.hypot(x,.3), MATRIX),
    "fmod": (lambda x: np.fmod(x,.3), MATRIX),
    "mod": (lambda x: .8%x, MATRIX),
    "sinc": (lambda x: np.sinc(x), MATRIX),
    "norm": (lambda x: np.linalg.norm(x), MATRIX),
    "norm1": (lambda x: np.linalg.norm(x,axis=1), MATRIX),
    "inv": (lambda x: np.linalg.inv(x), DEFINITE),
    "det": (lambda x: np.linalg.det(x), DEFINITE),
    "solve": (lambda x: np.linalg.solve(x,np.ones(3)), DEFINITE),
    "cholesky": (lambda x: np.linalg.cholesky(x), DEFINITE),
    "slogdet": (lambda x: np.linalg.slogdet(x)[1], DEFINITE),
    "eigh": (lambda x: np.linalg.eigvalsh(x), DEFINITE),
    "svd": (lambda x: np.linalg.svd(x,compute_uv=False), DEFINITE),
    "convolve": (lambda x: np.convolve(x,np.array([1.,2,3])), VECTOR),
    "convolve2": (lambda x: np.convolve(LONG,x,mode='valid'), VECTOR),
    "correlate": (lambda x: np.correlate(x,np.array([1.,2,3])), VECTOR),
    "linspace": (lambda x: np.linspace(x[0], x[1:3], 4) * np.linspace(x[:2], 3, 4, endpoint=False), VECTOR),
    "linspace of nothing": (lambda x: np.linspace(x[0], x[1:3], 1).sum() + np.linspace(x, 3, 0).sum() + np.linspace(x[0], x[0] * 1.0, 3), VECTOR),
    "interp": (lambda x: np.interp(x,np.array([0,.5,1]),np.array([0,1.,4])), VECTOR),
    "median": (lambda x: np.median(x), VECTOR),
    "percentile": (lambda x: np.percentile(x,30), VECTOR),
    "quantile": (lambda x: np.quantile(x,.4,axis=1), MATRIX),
    "ptp": (lambda x: np.ptp(x), VECTOR),
    "cross": (lambda x: np.cross(x,np.array([1.,2,3])), MATRIX[:,:3]),
    "kron": (lambda x: np.kron(x,OTHER), MATRIX),
    "meshgrid": (lambda x: np.meshgrid(x,x)[0]**2, VECTOR),
    "trapz": (lambda x: np.trapezoid(x), VECTOR),
    "gradient": (lambda x: np.gradient(x), VECTOR),
    "nansum": (lambda x: np.nansum(x), VECTOR),
    "average": (lambda x: np.average(x,weights=np.arange(5.)), VECTOR),
    "setitem": (slice_stored, VECTOR),
    "setidx": (stored_at_indices, VECTOR),
    "addat": (added_at_indices, VECTOR),
    "subtractat": (subtracted_at_indices_of_a_list, VECTOR),
    "bool": (stored_by_mask, VECTOR),
    "tanh": (lambda x: np.tanh(x), MATRIX),
    "arcsin": (lambda x: np.arcsin(x), MATRIX),
    "exp2": (lambda x: np.exp2(x), MATRIX),
    "cbrt": (lambda x: np.cbrt(x), MATRIX),
    "abs": (lambda x: np.abs(x-.5), MATRIX),
    "sign": (lambda x: np.sign(x)*x, MATRIX),
    "fft": (lambda x: np.abs(np.fft.fft(x))**2, VECTOR),
    "irfft": (lambda x: np.fft.irfft(np.fft.rfft(x)*np.arange(3)), VECTOR),
    "take_along": (lambda x: np.take_along_axis(x,np.array([[0],[1],[2]]),axis=1), MATRIX),
    "cummax": (lambda x: np.maximum.accumulate(x), VECTOR),
    "searchsorted": (lambda x: x*np.searchsorted(np.array([.3,.6]),x), VECTOR),
    "polyval": (lambda x: np.polyval(x,2.), VECTOR),
    "vander": (lambda x: np.vander(x,3), VECTOR),
    "windows": (lambda x: np.lib.stride_tricks.sliding_window_view(x,3).sum(axis=1)**2, VECTOR),
    "matmulb": (lambda x: np.matmul(np.stack([x,x*2]),OTHER), MATRIX),
    "expand": (lambda x: x[:,None]*x[None], VECTOR),
    "squeeze": (lambda x: x[None].squeeze()**2, VECTOR),
    "split": (lambda x: np.split(x,2,axis=1)[0]**2, MATRIX),
    "complex": (lambda x: np.abs(np.exp(1j*x)+x), VECTOR),
    "real": (lambda x: (np.exp((1+2j)*x)).real, VECTOR),
    "heaviside": (lambda x: np.heaviside(x-.5,.5)*x, VECTOR),
    "softmax": (lambda x: np.exp(x-x.max())/np.exp(x-x.max()).sum(), VECTOR),
    "logsumexp": (lambda x: np.log(np.sum(np.exp(x),axis=1)), MATRIX),
    "ufreduce": (lambda x: np.add.reduce(x,axis=0)+np.multiply.reduce(x,axis=0), MATRIX),
    "vdot": (lambda x: np.vdot(x,x), VECTOR),
    "inner": (lambda x: np.inner(x,x), MATRIX),
    "apply": (lambda x: sum(float(i)*t for i,t in enumerate(x)), VECTOR),
    "item": (lambda x: x[0].item()*x[1], VECTOR),
    "float": (lambda x: float(x[0])*2.0, VECTOR),
    "argsort": (lambda x: x[np.argsort(x)]*np.arange(5), VECTOR),
    "nanmean": (lambda x: np.nanmean(x), VECTOR),
    "block": (lambda x: np.block([[x],[x]]), MATRIX),
    "unwrap": (lambda x: np.unwrap(x), VECTOR),
    "deg": (lambda x: np.deg2rad(x), VECTOR),
    "choose": (lambda x: np.choose(np.array([0,1,0,1,0]),[x,x*x]), VECTOR),
    "select": (lambda x: np.select([x>.5,x>.3],[x,x*x],0.), VECTOR),
    "modf": (lambda x: np.modf(x*3)[0], VECTOR),
    "lexsum": (lambda x: np.sum(x,axis=(0,1),keepdims=True), MATRIX),
    "swap": (lambda x: np.swapaxes(np.stack([x,x]),0,2)**2, MATRIX),
    "rot90": (lambda x: np.rot90(x)**2, MATRIX),
    "matrix_power": (lambda x: np.linalg.matrix_power(x,3), DEFINITE),
    "multidot": (lambda x: np.linalg.multi_dot([x,OTHER,x]), MATRIX),
    "lstsq": (lambda x: np.linalg.lstsq(OTHER,x,rcond=None)[0], OTHER[:,0]),
    "pinv": (lambda x: np.linalg.pinv(x), DEFINITE),
    "qr": (lambda x: np.linalg.qr(x)[1], DEFINITE),
    "eig": (lambda x: np.linalg.eigh(x)[1]**2, DEFINITE),
    "overwritten_later": (overwritten_later, VECTOR),
    "through_a_view": (written_through_a_view, VECTOR),
}
MATRICES = {"cholesky", "eigh", "eig"}  # functions of a symmetric matrix: the gradient is symmetric


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient(name):
    function, x = FUNCTIONS[name]
    loss = weighted(function, function(x))
    expected = by_differences(loss, x)
    if name in MATRICES:
        expected = (expected + expected.T) / 2
    value, found = frameloom.value_and_grad(loss)(x)
    assert found.dtype == x.dtype and found.shape == x.shape
    assert_near(found, expected)
    assert_near(value, loss(x))


# Where the second derivative is by differences of a first one, which is compared above.
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in MATRICES])
def test_second_derivative(name):
    function, x = FUNCTIONS[name]
    first = frameloom.grad(weighted(function, function(x)))
    again = weighted(lambda y: first(y), x)
    assert_near(frameloom.grad(again)(x), by_differences(again, x), 1e-5)
