"""Derivatives of functions that NumPy implements in C. frontend/numpy/gradient.c has capture evaluate the rules here.

RULES: function -> its rule. A rule gets the cotangents of the results (a tuple; None: zero), the results (a tuple of arrays),
and the arguments of the call. It gives the cotangents of the first arguments, as a tuple; None: zero. It is written in
functions that have derivatives, so that derivatives of any order follow.

REPLACED: function -> the same in functions that have derivatives; an option that is not followed is refused.

The cotangent of a linear function is its transpose, never conjugated (graph/gradient.h). Sources: Giles, "Collected matrix
derivative results for forward and reverse mode algorithmic differentiation" (2008); Walter and Lehmann, "Algorithmic
differentiation of linear algebra functions" (2010); Murray, "Differentiation of the Cholesky decomposition" (2016).
"""

import math

import numpy as np

from ._gradient import _cofactors, _refuse


def _t(a):
    return np.swapaxes(a, -1, -2)


def _each(x):
    """One number for each matrix, beside matrices."""
    return np.reshape(x, np.shape(x) + (1, 1))


def _c(a):
    """The conjugate numbers."""
    return np.conj(a) if np.iscomplexobj(a) else a


def _h(a):
    """The conjugate transposes: the rules below give conjugate cotangents, as papers write them, until they end."""
    return _c(_t(a))


def _imag(a):
    """The imaginary parts as complex numbers; 0 for real ones."""
    return 1j * a.imag if np.iscomplexobj(a) else 0 * a


def _like(cotangent, x):
    """Summed over the dimensions along which x was repeated; real where x is."""
    if np.iscomplexobj(cotangent) and not np.iscomplexobj(x):
        cotangent = cotangent.real
    more = np.ndim(cotangent) - np.ndim(x)
    if more:
        cotangent = cotangent.sum(axis=tuple(range(more)))
    ones = tuple([i for i in range(np.ndim(x)) if np.shape(x)[i] == 1 and np.shape(cotangent)[i] != 1])
    return cotangent.sum(axis=ones, keepdims=True) if ones else cotangent


# ---- linear algebra ----


def _inv(cotangents, results, a):
    y = _t(results[0])
    return (-(y @ cotangents[0] @ y),)


def _of_cofactors(cotangents, results, a):
    """Without inverses: they are polynomials, of all but two of the singular values."""
    u, s, vh = np.linalg.svd(a)
    at, one = np.arange(s.shape[-1]), np.eye(s.shape[-1], dtype=s.dtype)
    zero = s == 0
    others = np.prod(np.where(one == 1, 1, s[..., None, :]), axis=-1)
    larger, smaller = np.minimum(at[:, None], at), np.maximum(at[:, None], at)
    rest = np.where(zero.sum(axis=-1) == 2, np.prod(np.where(zero, 1, s), axis=-1), 0)
    pairs = np.where(zero[..., larger], _each(rest), others[..., smaller] / np.where(zero, 1, s)[..., larger]) * (1 - one)
    g = _each(np.linalg.det(u) * np.linalg.det(vh)) * (_h(u) @ cotangents[0] @ _h(vh))
    diagonal = np.sum(pairs * np.sum(g * one, axis=-1)[..., None, :], axis=-1)
    return (_c(u) @ (diagonal[..., None, :] * one - pairs * _t(g)) @ _c(vh),)


def _det(cotangents, results, a):
    return (_each(cotangents[0]) * _cofactors(a),)


def _slogdet(cotangents, results, a):
    turned, g = cotangents
    weight = 0 if g is None else g
    if turned is not None:
        weight = weight + _imag(turned * results[0])
    return (_each(weight) * _t(np.linalg.inv(a)),)


def _solve(cotangents, results, a, b):
    x, g = results[0], cotangents[0]
    of_b = np.linalg.solve(_t(a), g)
    outer = of_b[..., :, None] * x[..., None, :] if np.ndim(b) == 1 else of_b @ _t(x)
    return _like(-outer, a), _like(of_b, b)


def _cholesky(cotangents, results, a, *, upper=False):
    lower, g = (_h(results[0]), _t(cotangents[0])) if upper else (results[0], _c(cotangents[0]))
    inner = np.tril(_h(lower) @ np.tril(g))
    inner = inner - 0.5 * inner * np.eye(inner.shape[-1], dtype=inner.dtype)
    half = np.linalg.inv(lower)
    of_a = _h(half) @ inner @ half
    return (_c(0.5 * (of_a + _h(of_a))),)


def _off_diagonal(w):
    """1 / (w_j - w_i), 0 on the diagonal."""
    one = np.eye(w.shape[-1], dtype=w.dtype)
    return (1 - one) / (w[..., None, :] - w[..., :, None] + one)


def _eigh(cotangents, results, a, UPLO="L"):
    w, v = results if len(results) == 2 else np.linalg.eigh(a, UPLO=UPLO)
    inner = np.zeros_like(a) if cotangents[0] is None else cotangents[0][..., None, :] * np.eye(w.shape[-1], dtype=w.dtype)
    if cotangents[1] is not None:
        inner = inner + _off_diagonal(w) * (_h(v) @ _c(cotangents[1]))
    of_a = v @ inner @ _h(v)
    return (_c(0.5 * (of_a + _h(of_a))),)


def _eigvalsh(cotangents, results, a, UPLO="L"):
    return _eigh((cotangents[0], None), results, a, UPLO)


def _svd(cotangents, results, a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:
        _refuse("numpy.linalg.svd with hermitian=True")
    if not compute_uv:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return (_c((u * cotangents[0][..., None, :]) @ vh),)
    u, s, vh = results
    of_u, of_s, of_vh = cotangents
    if full_matrices and a.shape[-1] != a.shape[-2]:
        if of_u is not None or of_vh is not None:
            _refuse("the vectors of numpy.linalg.svd with full_matrices=True")
        u, s, vh = np.linalg.svd(a, full_matrices=False)
    inner, one = np.zeros(s.shape + s.shape[-1:], dtype=a.dtype), np.eye(s.shape[-1], dtype=s.dtype)
    spread = _off_diagonal(s * s)
    if of_s is not None:
        inner = inner + of_s[..., None, :] * one
    if of_u is not None:
        of_u = _c(of_u)
        skew = _h(u) @ of_u
        # The phases of complex singular vectors: those of u follow the matrix.
        inner = inner + (spread * (skew - _h(skew)) * s[..., None, :] + one * _imag(skew) / s[..., None, :])
    if of_vh is not None:
        of_vh = _c(of_vh)
        skew = vh @ _h(of_vh)
        inner = inner + s[..., :, None] * (spread * (skew - _h(skew)))
    of_a = u @ inner @ vh
    if of_u is not None and a.shape[-2] > a.shape[-1]:
        rest = of_u - u @ (_h(u) @ of_u)
        of_a = of_a + (rest / s[..., None, :]) @ vh
    if of_vh is not None and a.shape[-1] > a.shape[-2]:
        rest = of_vh - (of_vh @ _h(vh)) @ vh
        of_a = of_a + (u / s[..., None, :]) @ rest
    return (_c(of_a),)


def _svdvals(cotangents, results, x):
    return _svd(cotangents, results, x, compute_uv=False)


def _qr(cotangents, results, a, mode="reduced"):
    if a.shape[-2] < a.shape[-1] or mode == "raw" or mode == "complete" and a.shape[-2] != a.shape[-1]:
        _refuse("numpy.linalg.qr of a wide matrix, or in such a mode,")
    (q, r), (of_q, of_r) = (np.linalg.qr(a), (None, cotangents[0])) if mode == "r" else (results, cotangents)
    of_q = np.zeros_like(q) if of_q is None else _c(of_q)
    m = _h(q) @ of_q if of_r is None else _h(q) @ of_q - _c(of_r) @ _h(r)
    inner = np.tril(m - _h(m), -1) - m + np.eye(m.shape[-1], dtype=r.dtype) * _imag(m)
    return (_c(_h(np.linalg.solve(r, _h(of_q + q @ inner)))),)


def _pinv_of(a, p, g):
    """The cotangents of matrices, given those (conjugate, as the result) of their pseudoinverses p."""
    left, right = np.eye(a.shape[-2], dtype=a.dtype) - a @ p, np.eye(a.shape[-1], dtype=a.dtype) - p @ a
    return -(_h(p) @ g @ _h(p)) + left @ _h(g) @ p @ _h(p) + _h(p) @ p @ _h(g) @ right


def _pinv(cotangents, results, a, rcond=None, hermitian=False):
    if hermitian:
        _refuse("numpy.linalg.pinv with hermitian=True")
    return (_c(_pinv_of(a, results[0], _c(cotangents[0]))),)


def _lstsq(cotangents, results, a, b, rcond=None):
    if any([g is not None for g in cotangents[1:]]):
        _refuse("another result of numpy.linalg.lstsq than the first")
    a, b, g = np.asarray(a), np.asarray(b), _c(cotangents[0])
    of_p = g[:, None] * _c(b)[None, :] if b.ndim == 1 else g @ _h(b)
    p = np.linalg.pinv(a)
    return _like(_c(_pinv_of(a, p, of_p)), a), _like(_c(_h(p) @ g), b)


# ---- Fourier transforms ----


def _fitted(g, x, axis):
    """The first elements of g along the axis, or zeros behind them: as many as x has."""
    n, have = np.shape(x)[axis], np.shape(g)[axis]
    if have > n:
        g = np.moveaxis(np.moveaxis(g, axis, 0)[:n], 0, axis)
    elif have < n:
        behind = list(np.shape(g))
        behind[axis] = n - have
        g = np.concatenate([g, np.zeros(behind, g.dtype)], axis=axis)
    return g if np.iscomplexobj(x) else g.real


def _fft(cotangents, results, a, n=None, axis=-1, norm=None):
    return (_fitted(np.fft.fft(cotangents[0], axis=axis, norm=norm), a, axis),)


def _ifft(cotangents, results, a, n=None, axis=-1, norm=None):
    return (_fitted(np.fft.ifft(cotangents[0], axis=axis, norm=norm), a, axis),)


def _rfft(cotangents, results, a, n=None, axis=-1, norm=None):
    n = np.shape(a)[axis] if n is None else n
    g = np.fft.fft(cotangents[0], n=n, axis=axis, norm=norm)
    return (_fitted(g.real, a, axis),)


def _irfft(cotangents, results, a, n=None, axis=-1, norm=None):
    n = 2 * (np.shape(a)[axis] - 1) if n is None else n
    g = np.fft.rfft(cotangents[0], n=n, axis=axis, norm=OPPOSITE[norm])
    k = np.arange(n // 2 + 1)
    weights = np.where((k == 0) | (2 * k == n), 1.0, 2.0)
    shape = [1] * np.ndim(g)
    shape[axis] = n // 2 + 1
    return (_fitted(np.conj(g) * weights.reshape(shape), a, axis),)


def _along(a, s, axes, out, half=False):
    """(sizes, axes) of a transform along several axes; `half`: the last one is given without its mirror image."""
    if out is not None or s is not None and (axes is None or None in s):
        _refuse("a Fourier transform with out=, or with sizes that belong to no axis")
    axes = list(range(-np.ndim(a), 0)) if axes is None else list(axes)
    sizes = [np.shape(a)[axis] if s is None or s[i] == -1 else s[i] for i, axis in enumerate(axes)]
    if half and s is None:
        sizes[-1] = 2 * (sizes[-1] - 1)
    return sizes, axes


def fftn(a, s=None, axes=None, norm=None, out=None):
    sizes, axes = _along(a, s, axes, out)
    for i in range(len(axes) - 1, -1, -1):
        a = np.fft.fft(a, sizes[i], axes[i], norm)
    return a


def ifftn(a, s=None, axes=None, norm=None, out=None):
    sizes, axes = _along(a, s, axes, out)
    for i in range(len(axes) - 1, -1, -1):
        a = np.fft.ifft(a, sizes[i], axes[i], norm)
    return a


def rfftn(a, s=None, axes=None, norm=None, out=None):
    sizes, axes = _along(a, s, axes, out)
    a = np.fft.rfft(a, sizes[-1], axes[-1], norm)
    for i in range(len(axes) - 2, -1, -1):
        a = np.fft.fft(a, sizes[i], axes[i], norm)
    return a


def irfftn(a, s=None, axes=None, norm=None, out=None):
    sizes, axes = _along(a, s, axes, out, half=True)
    for i in range(len(axes) - 1):
        a = np.fft.ifft(a, sizes[i], axes[i], norm)
    return np.fft.irfft(a, sizes[-1], axes[-1], norm)


def fft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return fftn(a, s, axes, norm, out)


def ifft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return ifftn(a, s, axes, norm, out)


def rfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return rfftn(a, s, axes, norm, out)


def irfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    return irfftn(a, s, axes, norm, out)


# ---- functions of complex numbers, which the plan leaves to the library ----


def _pointwise(derivative):
    """The rule of a function of one complex number, given its derivative at x, where the result is y."""

    def rule(cotangents, results, x):
        return (cotangents[0] * derivative(x, results[0]),)

    return rule


def _power(cotangents, results, x1, x2):
    g, y = cotangents[0], results[0]
    # 0 has no logarithm, and no other power than 0 changes there.
    return g * x2 * x1 ** (x2 - 1), g * y * np.log(np.where(x1 == 0, 1, x1))


POINTWISE = {
    np.sin: lambda x, y: np.cos(x), np.cos: lambda x, y: -np.sin(x), np.tan: lambda x, y: 1 + y * y,
    np.sinh: lambda x, y: np.cosh(x), np.cosh: lambda x, y: np.sinh(x), np.tanh: lambda x, y: 1 - y * y,
    np.arcsin: lambda x, y: 1 / np.cos(y), np.arccos: lambda x, y: -1 / np.sin(y), np.arctan: lambda x, y: 1 / (1 + x * x),
    np.arcsinh: lambda x, y: 1 / np.cosh(y), np.arccosh: lambda x, y: 1 / np.sinh(y), np.arctanh: lambda x, y: 1 / (1 - x * x),
    np.exp2: lambda x, y: y * math.log(2), np.expm1: lambda x, y: y + 1, np.log: lambda x, y: 1 / x, np.log1p: lambda x, y: 1 / (1 + x),
    np.log2: lambda x, y: 1 / (x * math.log(2)), np.log10: lambda x, y: 1 / (x * math.log(10)), np.sqrt: lambda x, y: 0.5 / y,
    np.reciprocal: lambda x, y: -y * y,
}


# ---- order ----


def _ordered(cotangent, a, result, axis):
    """What puts elements in order along an axis: element number k of both in ascending order is the same."""
    sorted_g = np.take_along_axis(cotangent, np.argsort(result, axis=axis, kind="stable"), axis=axis)
    back = np.argsort(np.argsort(a, axis=axis, kind="stable"), axis=axis, kind="stable")
    return np.take_along_axis(sorted_g, back, axis=axis)


def _sort(cotangents, results, a, axis=-1, kind=None, order=None):
    g = cotangents[0]
    if axis is None:
        back = np.argsort(np.argsort(a.ravel(), kind="stable"), kind="stable")
        return (g[back].reshape(a.shape),)
    back = np.argsort(np.argsort(a, axis=axis, kind="stable"), axis=axis, kind="stable")
    return (np.take_along_axis(g, back, axis=axis),)


def _partition(cotangents, results, a, kth=None, axis=-1, kind="introselect", order=None):
    if axis is None:
        return (_ordered(cotangents[0], a.ravel(), results[0], 0).reshape(a.shape),)
    return (_ordered(cotangents[0], a, results[0], axis),)


def _frexp(cotangents, results, x):
    return (cotangents[0] * np.exp2(-results[1].astype(x.dtype)),)


def _delete(cotangents, results, arr, obj, axis=None):
    g, n = (cotangents[0], np.size(arr)) if axis is None else (np.moveaxis(cotangents[0], axis, 0), np.shape(arr)[axis])
    found = np.zeros((n,) + g.shape[1:], g.dtype)
    found[np.delete(np.arange(n), obj)] = g
    return (found.reshape(np.shape(arr)) if axis is None else np.moveaxis(found, 0, axis),)


def _bincount(cotangents, results, x, weights=None, minlength=0):
    return None, cotangents[0][np.asarray(x)]


RULES = {
    np.linalg.inv: _inv, np.linalg.det: _det, _cofactors: _of_cofactors, np.linalg.slogdet: _slogdet, np.linalg.solve: _solve,
    np.linalg.cholesky: _cholesky, np.linalg.eigh: _eigh, np.linalg.eigvalsh: _eigvalsh, np.linalg.svd: _svd,
    np.linalg.svdvals: _svdvals, np.linalg.qr: _qr, np.linalg.pinv: _pinv, np.linalg.lstsq: _lstsq,
    np.fft.fft: _fft, np.fft.ifft: _ifft, np.fft.rfft: _rfft, np.fft.irfft: _irfft, np.sort: _sort, np.partition: _partition,
    np.frexp: _frexp, np.power: _power, np.delete: _delete, np.bincount: _bincount,
    **{function: _pointwise(derivative) for function, derivative in POINTWISE.items()},
}


# ---- the same in other words ----


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    return quantile(a, 0.5, axis=axis, out=out, keepdims=keepdims)


def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    return quantile(a, np.true_divide(q, 100), axis=axis, out=out, method=method, keepdims=keepdims, weights=weights)


def _between(x, at, method):
    """The quantile at this place among the elements in order along the last axis."""
    low = int(at)
    high = min(low + 1, x.shape[-1] - 1)
    if method != "linear":
        high = high if at > low else low
        at = {"lower": low, "higher": high, "midpoint": (low + high) / 2}[method]
    return x[..., low] + (x[..., high] - x[..., low]) * (at - low)


def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    if out is not None or weights is not None or method not in ("linear", "lower", "higher", "midpoint"):
        _refuse("a quantile with out=, weights= or such a method=")
    a, q = np.asarray(a), np.asarray(q)
    axes = tuple(range(a.ndim)) if axis is None else tuple([i % a.ndim for i in (axis if isinstance(axis, tuple) else (axis,))])
    rest = [i for i in range(a.ndim) if i not in axes]
    x = np.transpose(a, rest + list(axes))
    x = np.sort(x.reshape(x.shape[: len(rest)] + (-1,)), axis=-1)
    found = [_between(x, p * (x.shape[-1] - 1), method) for p in [float(p) for p in q.ravel()]]
    if keepdims:
        found = [np.expand_dims(each, axes) for each in found]
    return np.stack(found).reshape(q.shape + np.shape(found[0])) if q.ndim else found[0]


def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    return nanquantile(a, 0.5, axis=axis, out=out, keepdims=keepdims)


def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    return nanquantile(a, np.true_divide(q, 100), axis=axis, out=out, method=method, keepdims=keepdims, weights=weights)


def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    if out is not None or weights is not None or method != "linear" or np.ndim(q) or isinstance(axis, tuple):
        _refuse("a quantile without NaN of several axes, with out=, weights= or method=, or several quantiles")
    x = np.sort(np.asarray(a).reshape(-1) if axis is None else np.moveaxis(np.asarray(a), axis, -1), axis=-1)  # NaN come last
    last = np.sum(~np.isnan(x), axis=-1, keepdims=True) - 1
    at = q * last
    low = np.floor(at).astype(int)
    low, high = np.clip(low, 0, None), np.clip(np.minimum(low + 1, last), 0, None)
    x, next = np.take_along_axis(x, low, axis=-1), np.take_along_axis(x, high, axis=-1)
    found = (x + (next - x) * (at - low))[..., 0]
    if not keepdims:
        return found
    return found.reshape([1] * np.ndim(a)) if axis is None else np.expand_dims(found, axis)


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    if dtype is not None or out is not None:
        _refuse("numpy.nanmean with dtype= or out=")
    there = ~np.isnan(a)
    return np.sum(np.where(there, a, 0), axis=axis, keepdims=keepdims) / np.sum(there, axis=axis, keepdims=keepdims)


def matvec(x1, x2):
    return (x1 @ np.asarray(x2)[..., None])[..., 0]


def vecmat(x1, x2):
    return (_c(np.asarray(x1))[..., None, :] @ x2)[..., 0, :]


def cond(x, p=None):
    if p is None or p in (2, -2):
        s = np.linalg.svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, axis=(-2, -1))


def tensorsolve(a, b, axes=None):
    if axes is not None:
        _refuse("numpy.linalg.tensorsolve with axes=")
    return np.linalg.solve(np.reshape(a, (np.size(b), np.size(b))), np.ravel(b)).reshape(np.shape(a)[np.ndim(b):])


OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}  # norm= of the transform back


def hfft(a, n=None, axis=-1, norm=None, out=None):
    if out is not None:
        _refuse("numpy.fft.hfft with out=")
    return np.fft.irfft(np.conj(a), 2 * (np.shape(a)[axis] - 1) if n is None else n, axis, OPPOSITE[norm])


def ihfft(a, n=None, axis=-1, norm=None, out=None):
    if out is not None:
        _refuse("numpy.fft.ihfft with out=")
    return np.conj(np.fft.rfft(a, n, axis, OPPOSITE[norm]))


def ldexp(x1, x2):
    x1 = np.asarray(x1)
    return x1 * np.exp2(np.asarray(x2, dtype=np.result_type(x1)))


def choose(a, choices, out=None, mode="raise"):
    if out is not None or mode != "raise":
        _refuse("numpy.choose with out= or mode=")
    a = np.asarray(a)
    found = choices[0] * 1
    for i in range(1, len(choices)):
        found = np.where(a == i, choices[i], found)
    return found


def sinc(x):
    y = np.pi * np.asarray(x)
    small = abs(y) < 0.25
    # There the quotient has not the derivatives of the function: its series has.
    there, square, series = np.where(small, 1, y), np.where(small, y, 0) ** 2, 1.0
    for k in range(20, 0, -2):
        series = 1 - square / (k * (k + 1)) * series
    return np.where(small, series, np.sin(there) / there)


def interp(x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = np.asarray(x), np.asarray(xp), np.asarray(fp)
    if period is not None:
        x, xp, period = x % period, xp % period, abs(period)
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
        left = right = None
    last = xp.shape[0] - 1
    i = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, last - 1)
    found = fp[i] + (fp[i + 1] - fp[i]) * ((x - xp[i]) / (xp[i + 1] - xp[i]))
    found = np.where(x < xp[0], fp[0] if left is None else left, found)
    return np.where(x > xp[last], fp[last] if right is None else right, found)


def convolve(a, v, mode="full"):
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(a, m - 1), m)
    full = (windows * v[::-1]).sum(axis=1)
    if mode == "full":
        return full
    if mode == "same":
        return full[(m - 1) // 2 : (m - 1) // 2 + n]
    if mode == "valid":
        return full[m - 1 : n]
    _refuse("numpy.convolve with such a mode")


def correlate(a, v, mode="valid"):
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    if v.shape[0] > a.shape[0] and mode == "same":
        _refuse("numpy.correlate of a shorter first argument")
    if v.shape[0] > a.shape[0]:
        return np.conj(convolve(v, np.conj(a[::-1]), mode)[::-1])
    return convolve(a, np.conj(v[::-1]), mode)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    if retstep or dtype is not None or device is not None:
        _refuse("numpy.linspace with retstep=, dtype= or device=")
    if axis != 0:
        return np.moveaxis(linspace(start, stop, num, endpoint), 0, axis)
    start, stop = np.asarray(start) * 1.0, np.asarray(stop) * 1.0
    parts, delta = num - 1 if endpoint else num, stop - start
    at = np.arange(num, dtype=np.result_type(delta)).reshape((-1,) + (1,) * np.ndim(delta))
    if parts <= 0:
        return at * delta + start
    step = delta / parts
    found = np.where((step == 0).any(), at / parts * delta, at * step) + start
    return np.concatenate([found[:-1], np.broadcast_to(stop, found[:1].shape)]) if endpoint else found


REPLACED = {
    np.linspace: linspace, np.median: median, np.percentile: percentile, np.quantile: quantile, np.nanmean: nanmean, np.ldexp: ldexp,
    np.choose: choose, np.interp: interp, np.sinc: sinc,
    np.nanmedian: nanmedian, np.nanpercentile: nanpercentile, np.nanquantile: nanquantile, np.matvec: matvec, np.vecmat: vecmat,
    np.linalg.cond: cond, np.linalg.tensorsolve: tensorsolve, np.fft.hfft: hfft, np.fft.ihfft: ihfft, np.convolve: convolve, np.correlate: correlate,
    np.fft.fftn: fftn, np.fft.ifftn: ifftn, np.fft.rfftn: rfftn, np.fft.irfftn: irfftn, np.fft.fft2: fft2, np.fft.ifft2: ifft2,
    np.fft.rfft2: rfft2, np.fft.irfft2: irfft2,
}
