"""Results lie in memory as NumPy's do, element by element: strides and flags of all sizes, 0 and 1 included, for operands with any strides."""


import numpy as np
import pytest
from compare import outcome

import frameloom

# Of a: an operand of one of the layouts
FUNCTIONS = """
a.copy()
a.astype(np.float32)
a.astype(np.float64, order='A')
np.copy(a)
np.array(a)
np.zeros_like(a)
np.ones_like(a, dtype=int)
np.full_like(a, 3)
np.empty_like(a, order='K').shape
np.ascontiguousarray(a)
np.asfortranarray(a)
a.T
a.ravel()
a.ravel('K')
a.flatten()
a.flatten('F')
a.reshape(-1)
a.sum(axis=0)
a.sum(axis=-1)
a.sum(axis=-1, keepdims=True)
a.sum(axis=0, keepdims=True)
a.mean(axis=0)
a.max(axis=0, initial=0.)
np.bool_(True) < a
np.float32(2) * a
a.dot(np.float32(2))
np.dot(2j, a)
np.inner(np.float16(2), a)
np.complex64(2) * a
a - np.array(True)
a.dot(a.T)
a.cumsum(axis=0)
np.cumprod(a, axis=-1)
a.std(axis=0)
np.argmax(a, axis=-1)
np.sort(a, axis=0)
np.sort(a)
np.argsort(a, axis=0)
np.concatenate((a, a), axis=0)
np.concatenate((a, a), axis=-1)
np.stack((a, a))
np.stack((a, a), axis=-1)
np.flip(a)
np.roll(a, 1, axis=0)
np.roll(a, 1)
np.repeat(a, 2, axis=0)
np.repeat(a, 2)
np.tile(a, 2)
np.insert(a, 0, 1., axis=-1)
np.append(a, a, axis=0)
np.pad(a, 1)
np.pad(a, 1, mode='edge')
np.pad(a, ((0, 1),) * a.ndim, mode='reflect')
np.where(a > 1, a, 0.)
np.where(a > 1, a, a)
np.clip(a, 1, 2)
a.clip(1, 2)
a.round(1)
np.round(a)
np.take(a, [0], axis=-1)
np.take(a, [0, 0], axis=0)
a[..., None]
a[None]
a[..., [0]]
a[a > 1]
a[..., 0]
a * 2
a + a
a + a.T[:1].T if a.ndim else a
a + 1j
a == a
-a
a ** 2
np.diff(a, axis=0)
np.diff(a)
np.gradient(a, axis=0)
np.fft.fft(a)
np.fft.fft(a, axis=0)
np.squeeze(a)
np.expand_dims(a, 0)
np.swapaxes(a, 0, -1)
np.moveaxis(a, 0, -1)
np.rollaxis(a, a.ndim - 1)
np.atleast_2d(a)
np.atleast_3d(a)
np.rot90(a)
np.tril(a)
np.triu(a)
np.diagonal(a)
np.trace(a)
np.frexp(a)
np.modf(a)
np.divmod(a, 2.)
np.spacing(a)
np.ldexp(a, 2)
np.ldexp(a, np.arange(a.shape[-1]) if a.ndim else 1)
np.nan_to_num(a)
np.real(a)
np.imag(a)
np.angle(a)
np.unwrap(a)
np.ediff1d(a)
np.interp(a, [0., 1.], [1., 2.])
np.digitize(a, [1., 2.])
np.searchsorted([1., 2.], a)
np.heaviside(a, 0.)
np.median(a, axis=0)
np.percentile(a, 50, axis=0)
np.nanmean(a, axis=0)
np.nanmax(a, axis=0)
np.partition(a, 0, axis=0)
np.unique(a)
np.einsum('i...->...', a)
np.matmul(a, a.swapaxes(-1, -2))
np.dot(a, a.T)
np.tensordot(a, a, 0)
np.outer(a, a)
np.kron(a, a)
np.vander(a.ravel(), 2)
np.split(a, 1)
np.broadcast_to(a, (2,) + a.shape)
np.meshgrid(a.ravel()[:2], a.ravel()[:3])
np.indices(a.shape)
np.argwhere(a)
np.count_nonzero(a, axis=0)
np.apply_along_axis(np.sum, 0, a)
np.lib.stride_tricks.sliding_window_view(a, 1, axis=0)
np.resize(a, (2, 3))
np.fliplr(a)
np.hstack((a, a))
np.vstack((a, a))
np.dstack((a, a))
np.column_stack((a, a))
np.choose(np.zeros(a.shape, int), [a, a])
np.select([a > 1], [a])
np.average(a, axis=0)
np.ptp(a, axis=0)
np.logaddexp.reduce(a, axis=0)
np.add.accumulate(a, axis=0)
np.add.outer(a, a)
np.linalg.norm(a, axis=0)
np.cov(a)
np.trapezoid(a, axis=0)
np.i0(a)
np.sinc(a)
np.fmax(a, a.T) if a.shape == a.T.shape else a
np.cross(a[..., :3], a[..., :3])
np.isin(a, [1.])
np.isclose(a, a)
np.array([a, a])
np.float32(a)
np.take_along_axis(a, np.zeros_like(a, dtype=int), -1)
np.copysign(a, -1.)
"""
PAIRS = ["add", "maximum", "arctan2", "float_power", "nextafter", "logaddexp", "hypot", "fmod", "equal", "heaviside",
         "logical_and", "copysign"]
SKIPPED = {"bitwise_count", "invert", "bitwise_invert", "bitwise_not", "isnat"}  # take no floats


def layouts():
    b = np.arange(24.0).reshape(2, 3, 4) / 7 + 0.5
    yield from (b, np.asfortranarray(b), b.transpose(1, 2, 0), np.ascontiguousarray(b.transpose(2, 0, 1)).transpose(1, 2, 0))
    yield from (b[::-1, :, ::-1], b[:, ::2, ::3], b[:0], b[:, :0].T, b[:1], b[:, :1].T, np.asfortranarray(b)[:, 1:2])
    yield from (np.broadcast_to(b[:1], (3, 3, 4)), np.broadcast_to(b[:, :1], (2, 5, 4)), np.broadcast_to(b[:, :, :1], (2, 3, 6)))
    yield from (np.broadcast_to(b[0], (3, 3, 4)).T, np.broadcast_to(np.float64(2.0), (3, 4)), b[0].T, b[0, 0, ::-1], np.array(2.5))


def texts():
    ufuncs = [n for n in dir(np) if isinstance(getattr(np, n), np.ufunc) and getattr(np, n).nin == 1]
    yield from (f"np.{n}(a)" for n in ufuncs if n not in SKIPPED)
    yield from (f"np.{n}(a, 2.)" for n in PAIRS)
    yield from (f"np.{n}(a, b)" for n in PAIRS)
    yield from FUNCTIONS.strip().splitlines()


def function(text):
    space = {"np": np}
    exec(f"def f(a, b):\n    return {text}\n", space)
    return space["f"]


def layout(x):
    if isinstance(x, (tuple, list)):
        return [layout(y) for y in x]
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, x.strides, x.flags.c_contiguous, x.flags.f_contiguous, x.flags.owndata
    return type(x)


def arrays(x):
    if isinstance(x, (tuple, list)):
        return [one for y in x for one in arrays(y)]
    return [x] if isinstance(x, np.ndarray) and x.dtype.kind in "biufc" else []


def layout_of_call(function, *arguments):
    """How the results lie, or the exception; and the results."""
    result, error, _ = outcome(function, arguments)
    return layout(result) if error is None else (type(error), str(error)), result


@pytest.mark.parametrize("text", list(texts()))
def test_layout(text):
    for a in layouts():
        plain, compiled = function(text), frameloom.compile(function(text))
        b = np.asarray(a).T.copy().T * 1.5
        want, right = layout_of_call(plain, a, b)
        for _ in range(2):
            got, result = layout_of_call(compiled, a, b)
            assert got == want, (a.shape, a.strides)
            for one, other in zip(arrays(result), arrays(right)):  # in which order elements are taken, not how they round
                np.testing.assert_allclose(one, other, rtol=1e-5, err_msg=str((a.shape, a.strides)))
