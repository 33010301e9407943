"""One or more calls of every public function of `numpy` that takes arrays, over small inputs."""

import warnings

import numpy as np

import frameloom


def inputs():
    """The names that the calls use."""
    rng = np.random.default_rng(7)
    return {
        "a": rng.standard_normal((4, 6)),
        "b": rng.standard_normal((4, 6)),
        "f": rng.standard_normal((4, 6)).astype(np.float32),
        "p": rng.uniform(0.5, 2.0, (4, 6)),
        "v": rng.standard_normal(8),
        "w": rng.standard_normal(8),
        "m": rng.standard_normal((5, 5)) + 5 * np.eye(5),
        "c": rng.standard_normal((2, 3, 4)),
        "i": rng.integers(-5, 9, (4, 6)),
        "j": rng.integers(0, 6, 8),
        "k": rng.integers(1, 5, 8),
        "u": rng.integers(0, 200, 8).astype(np.uint8),
        "t": rng.integers(0, 2, (4, 6)).astype(bool),
        "s": np.sort(rng.standard_normal(8)),
    }


CALLS = """
np.abs(a) | np.absolute(i) | np.acos(t * 0.5) | np.acosh(p + 1) | np.add(a, b) | np.all(t, axis=0) | np.allclose(a, a)
np.amax(a) | np.amin(a, axis=1) | np.angle(a) | np.any(t) | np.append(v, w) | np.apply_along_axis(np.sum, 0, a)
np.apply_over_axes(np.sum, c, [0, 2]) | np.arange(8) | np.arange(0.0, 4.0, 0.5) | np.arccos(p / 3) | np.arccosh(p + 1)
np.arcsin(p / 3) | np.arcsinh(a) | np.arctan(a) | np.arctan2(a, b) | np.arctanh(p / 3) | np.argmax(a, axis=1)
np.argmin(a) | np.argpartition(v, 3) | np.argsort(v) | np.argwhere(t) | np.around(a, 2) | np.array([v, w])
np.array_equal(a, a) | np.array_equiv(a, a) | np.array_split(v, 3) | np.asarray(a) | np.asarray_chkfinite(a)
np.ascontiguousarray(a.T) | np.asfortranarray(a) | np.asin(p / 3) | np.asinh(a) | np.astype(a, np.float32) | np.atan(a)
np.atan2(a, b) | np.atanh(p / 3) | np.atleast_1d(a) | np.atleast_2d(v) | np.atleast_3d(a) | np.average(a, axis=0)
np.average(v, weights=s + 3) | np.bartlett(8) | np.bincount(j) | np.bitwise_and(i, 3) | np.bitwise_count(u)
np.bitwise_invert(i) | np.bitwise_left_shift(i, 2) | np.bitwise_not(i) | np.bitwise_or(i, 4) | np.bitwise_right_shift(i, 1)
np.bitwise_xor(i, 5) | np.blackman(8) | np.block([[a, b], [b, a]]) | np.broadcast_arrays(a, v[:6]) | np.broadcast_shapes((2, 1), (1, 3))
np.broadcast_to(v[:6], (4, 6)) | np.cbrt(a) | np.ceil(a) | np.choose(j % 2, [v, w]) | np.clip(a, -1, 1) | np.column_stack([v, w])
np.compress([True, False, True, True], a, axis=0) | np.concat([a, b]) | np.concatenate([a, b], axis=1) | np.conj(a) | np.conjugate(a)
np.convolve(v, w) | np.copy(a) | np.copysign(a, b) | np.corrcoef(a) | np.correlate(v, w) | np.cos(a) | np.cosh(a)
np.count_nonzero(t) | np.cov(a) | np.cross(a[:, :3], b[:, :3]) | np.cumprod(v) | np.cumsum(a, axis=1) | np.cumulative_prod(v)
np.cumulative_sum(v) | np.deg2rad(a) | np.degrees(a) | np.delete(v, 2) | np.diag(v) | np.diag(m) | np.diag_indices(3)
np.diagflat(v) | np.diagonal(m) | np.diff(a) | np.diff(v, n=2) | np.digitize(v, s) | np.divide(a, p) | np.divmod(i, 3)
np.dot(a, b.T) | np.dot(v, w) | np.dsplit(c, 2) | np.dstack([a, b]) | np.ediff1d(v) | np.einsum('ij,kj->ik', a, b) | np.empty_like(a).shape
np.equal(a, b) | np.exp(a) | np.exp2(a) | np.expand_dims(a, 1) | np.expm1(a) | np.extract(t, a) | np.eye(4) | np.eye(3, 5, 1)
np.fabs(a) | np.fix(a) | np.flatnonzero(t) | np.flip(a) | np.flip(a, 0) | np.fliplr(a) | np.flipud(a) | np.float_power(p, 2) | np.floor(a)
np.floor_divide(i, 3) | np.fmax(a, b) | np.fmin(a, b) | np.fmod(a, p) | np.frexp(a) | np.full((2, 3), 1.5) | np.full_like(a, 2)
np.gcd(i, 6) | np.geomspace(1, 100, 5) | np.gradient(v) | np.greater(a, b) | np.greater_equal(a, b) | np.hamming(8) | np.hanning(8)
np.heaviside(a, 0.5) | np.histogram(v, bins=4) | np.histogram2d(v, w, bins=3) | np.histogram_bin_edges(v, bins=4) | np.hsplit(a, 2)
np.hstack([a, b]) | np.hypot(a, b) | np.i0(v) | np.identity(4) | np.imag(a) | np.indices((2, 3)) | np.inner(a, b) | np.insert(v, 2, 9.0)
np.interp(v, s, w) | np.intersect1d(j, k) | np.invert(i) | np.isclose(a, b) | np.isfinite(a) | np.isin(j, k) | np.isinf(a) | np.isnan(a)
np.isneginf(a) | np.isposinf(a) | np.isreal(a) | np.isrealobj(a) | np.iscomplexobj(a) | np.kaiser(8, 14.0) | np.kron(a[:2, :2], m)
np.lcm(i, 4) | np.ldexp(v, j) | np.left_shift(i, 1) | np.less(a, b) | np.less_equal(a, b) | np.lexsort((v, w)) | np.linspace(0, 1, 7)
np.log(p) | np.log10(p) | np.log1p(p) | np.log2(p) | np.logaddexp(a, b) | np.logaddexp2(a, b) | np.logical_and(t, a) | np.logical_not(t)
np.logical_or(t, a) | np.logical_xor(t, a) | np.logspace(0, 2, 5) | np.matmul(a, b.T) | np.matrix_transpose(a) | np.matvec(m, v[:5])
np.max(a, axis=0) | np.maximum(a, b) | np.mean(a) | np.mean(i, axis=1) | np.median(a) | np.meshgrid(v, w) | np.min(a) | np.minimum(a, b)
np.mod(a, p) | np.modf(a) | np.moveaxis(c, 0, 2) | np.multiply(a, b) | np.nan_to_num(a) | np.nanargmax(a) | np.nanargmin(a)
np.nancumprod(v) | np.nancumsum(v) | np.nanmax(a) | np.nanmean(a, axis=0) | np.nanmedian(a) | np.nanmin(a) | np.nanpercentile(v, 30)
np.nanprod(v) | np.nanquantile(v, 0.3) | np.nanstd(a) | np.nansum(a) | np.nanvar(a) | np.negative(a) | np.nextafter(a, b) | np.nonzero(t)
np.not_equal(a, b) | np.ones(3) | np.ones_like(a) | np.outer(v, w) | np.pad(a, 2) | np.pad(a, ((1, 2), (0, 3)), mode='edge')
np.pad(v, 3, mode='reflect') | np.pad(v, 2, mode='wrap') | np.partition(v, 3) | np.percentile(v, 30) | np.permute_dims(c, (2, 0, 1))
np.piecewise(v, [v < 0, v >= 0], [-1, 1]) | np.poly(v[:3]) | np.polyadd(v, w) | np.polyder(v) | np.polydiv(v, w[:3]) | np.polyfit(s, w, 2)
np.polyint(v) | np.polymul(v, w) | np.polysub(v, w) | np.polyval(v, w) | np.positive(a) | np.pow(p, 2.5) | np.power(a, 2) | np.power(i, 3)
np.prod(a, axis=1) | np.ptp(a) | np.quantile(v, 0.3) | np.rad2deg(a) | np.radians(a) | np.ravel(a.T) | np.real(a) | np.real_if_close(a)
np.reciprocal(p) | np.remainder(i, 4) | np.repeat(v, 3) | np.repeat(a, 2, axis=1) | np.reshape(a, (6, 4)) | np.resize(v, (3, 5))
np.right_shift(i, 1) | np.rint(a) | np.roll(a, 2) | np.roll(a, (1, 2), axis=(0, 1)) | np.rollaxis(c, 2) | np.roots(v[:4]) | np.rot90(a)
np.round(a, 1) | np.searchsorted(s, v) | np.select([a > 0, a < -1], [a, b], 7) | np.setdiff1d(j, k) | np.setxor1d(j, k) | np.sign(a)
np.signbit(a) | np.sin(a) | np.sinc(a) | np.sinh(a) | np.sort(a, axis=0) | np.spacing(a) | np.split(v, 4) | np.sqrt(p) | np.square(a)
np.squeeze(a[None]) | np.stack([a, b], axis=1) | np.std(a, axis=0) | np.subtract(a, b) | np.sum(a) | np.sum(a, axis=1, keepdims=True)
np.sum(a, where=t) | np.swapaxes(c, 0, 2) | np.take(v, j) | np.take(a, j % 4, axis=0) | np.take_along_axis(a, np.argsort(a), 1)
np.tan(a) | np.tanh(a) | np.tensordot(a, b, axes=([1], [1])) | np.tile(v, 3) | np.tile(a, (2, 2)) | np.trace(m) | np.transpose(c)
np.trapezoid(v) | np.tri(4) | np.tril(m) | np.tril_indices(3) | np.trim_zeros(v) | np.triu(m, 1) | np.triu_indices(3)
np.true_divide(a, p) | np.trunc(a) | np.union1d(j, k) | np.unique(j) | np.unravel_index(j, (2, 3)) | np.unstack(a) | np.unwrap(v)
np.vander(v[:4]) | np.var(a, axis=1) | np.vdot(v, w) | np.vecdot(a, b) | np.vecmat(v[:5], m) | np.vsplit(a, 2) | np.vstack([a, b])
np.where(t, a, b) | np.where(t) | np.zeros((2, 3)) | np.zeros_like(a) | np.fft.fft(v) | np.fft.rfft(v) | np.linalg.det(m)
np.linalg.inv(m) | np.linalg.norm(a) | np.linalg.norm(a, axis=1) | np.linalg.solve(m, m) | np.linalg.qr(m) | np.linalg.svd(m)
np.linalg.eigvalsh(m + m.T) | np.linalg.cholesky(m @ m.T) | np.linalg.matrix_power(m, 3) | np.linalg.multi_dot([a, b.T, a])
np.linalg.pinv(m) | np.linalg.matrix_rank(m) | np.linalg.slogdet(m) | np.linalg.lstsq(m, v[:5]) | np.linalg.outer(v, w)
np.ix_([0, 1], [2, 3]) | np.may_share_memory(a, b) | np.ndim(a) | np.shape(a) | np.size(a) | np.result_type(a, f) | np.iterable(a)
np.fill_diagonal(m.copy(), 0) | np.put(v.copy(), [1, 2], 5.0) | np.copyto(v.copy(), w) | np.place(v.copy(), v > 0, [1.0])
np.putmask(v.copy(), v > 0, 1.0) | np.put_along_axis(a.copy(), np.argsort(a), 0.0, 1) | np.mask_indices(3, np.triu)
np.ravel_multi_index((j % 2, k % 2), (2, 2)) | np.packbits(t) | np.unpackbits(u) | np.diag_indices_from(m) | np.tril_indices_from(m)
np.triu_indices_from(m) | np.unique_values(j) | np.unique_counts(j) | np.isscalar(3.0) | np.iscomplex(a) | np.sort_complex(v)
np.min_scalar_type(3) | np.promote_types('f4', 'f8') | np.can_cast('f4', 'f8') | np.common_type(a, f) | np.histogramdd(a[:, :2], bins=2)
np.require(a) | np.ascontiguousarray(f) | np.frompyfunc(abs, 1, 1)(v) | np.nan_to_num(f) | np.emath.sqrt(p) | np.shares_memory(a, b)
np.unique_all(j) | np.unique_inverse(j) | np.linalg.eigh(m + m.T) | np.linalg.eigvals(m) | np.linalg.eig(m) | np.linalg.cond(m)
np.linalg.tensorsolve(m, v[:5]) | np.linalg.tensorinv(m[None, :, :].reshape(5, 5), ind=1) | np.linalg.trace(m) | np.linalg.diagonal(m)
np.linalg.cross(a[:, :3], b[:, :3]) | np.linalg.vecdot(a, b) | np.linalg.vector_norm(a) | np.linalg.matrix_norm(a) | np.linalg.svdvals(m)
np.asanyarray(a) | np.base_repr(5, 3) | np.binary_repr(5, 8) | np.empty((2, 3)).shape | np.fromfunction(lambda x, y: x + y, (3, 4))
np.getbufsize() | np.geterr() | np.isdtype(a.dtype, 'real floating') | np.isfortran(a) | np.issubdtype(a.dtype, np.floating)
np.mintypecode('fd') | np.typename('d') | np.format_float_positional(0.5) | np.format_float_scientific(0.5) | np.fromiter([1, 2], float)
np.frombuffer(b'abcd', np.uint8) | np.linalg.matmul(a, b.T) | np.linalg.matrix_transpose(a) | np.linalg.tensordot(a, b.T, axes=1)
np.array_repr(v[:0]) | np.array_str(v[:0]) | np.array2string(v[:0]) | np.fromstring('1 2', sep=' ') | np.isnat(np.array(['2020'], 'M8[Y]'))
np.fft.fftn(a) | np.fft.hfft(v) | np.fft.ifft2(a) | np.fft.ifftn(a) | np.fft.ifftshift(v) | np.fft.ihfft(v) | np.fft.irfft2(a)
np.fft.irfftn(a) | np.fft.rfft2(a) | np.fft.rfftfreq(8) | np.fft.rfftn(a) | np.asmatrix(a).shape | np.bmat([[a, a]]).shape
np.fft.ifft(v) | np.fft.irfft(v) | np.fft.fft2(a) | np.fft.fftshift(v) | np.fft.fftfreq(8) | np.einsum_path('ij,jk->ik', a, b.T)
"""


def calls():
    """Yields each call's text."""
    for line in CALLS.strip().splitlines():
        for text in line.split(" | "):
            yield text.strip()


def function_of(text, names):
    """A function of the inputs that the call uses, and their values."""
    code = compile(text, "<call>", "eval")
    used = [n for n in names if n in code.co_names]
    scope = {"np": np}
    exec(f"def call({', '.join(used)}):\n    return {text}\n", scope)
    return scope["call"], [names[n] for n in used]


def traced(text):
    """(the reason why the call is not captured whole, or None; its graph as text)."""
    function, arguments = function_of(text, inputs())
    compiled = frameloom.compile(function, fullgraph=True)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            compiled(*arguments)
    except frameloom.GraphBreak as broke:
        return str(broke).splitlines()[0], ""
    return None, "".join(entry["graph"] for entry in compiled._report()["entries"])


def captured(text):
    """None when the call is captured whole, else the reason."""
    return traced(text)[0]
