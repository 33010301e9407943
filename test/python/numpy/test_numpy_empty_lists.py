"""Lists without elements as operands: they have no dtype of their own, which each function takes in its own way.

What is raised is caught inside of the compiled function, where nothing runs it again.
"""

import numpy as np
import pytest
from compare import described

import frameloom

ARRAYS = [np.zeros((4, 0), "c8"), np.zeros(0, "f4"), np.zeros((0, 4), "i1"), np.zeros(3, "f4"), np.zeros(0, "?"), np.zeros((2, 0), "f2")]
EMPTY = ["[]", "()", "[[]]", "[(), ()]"]
CALLS = """
np.dot(a, e); np.dot(e, a); np.inner(a, e); np.inner(e, a); np.vdot(a, e); np.vdot(e, a); np.matmul(a, e); np.outer(a, e); np.outer(e, a)
np.tensordot(a, e, 0); np.kron(a, e); np.correlate(a, e); np.convolve(a, e); np.concatenate([a.ravel(), e]); np.append(a, e); a.dot(e)
np.hstack([a.ravel(), e]); np.searchsorted(a.ravel(), e); np.searchsorted(e, a); np.isin(a, e); np.isin(e, a); np.union1d(a, e)
np.intersect1d(a, e); np.setdiff1d(a, e); np.take(a, e); a[e]; np.choose(e, [a, a]); np.where(e, a, a); np.where(a, e, a)
np.interp(e, [1, 2], [3, 4]); np.interp(a, e, e); np.digitize(e, [1]); np.add(a, e); a + e; np.cross(a, e); np.einsum('i,j', a.ravel(), e)
np.select([e], [e]); np.insert(a.ravel(), e, 1); np.delete(a, e); np.put(a, e, e); np.array([e]); np.asarray(e); np.stack([e, e])
np.mean(e); np.sum(e); np.prod(e); np.max(e); np.sort(e); np.unique(e); np.histogram(e); np.bincount(e); np.polyval(e, a); np.full(0, e)
np.full_like(a, e); np.pad(e, 0); np.linalg.multi_dot([a, e]); np.linalg.norm(e); np.trapezoid(e); np.diff(e); np.gradient(e); np.cumsum(e)
np.any(e); np.nansum(e); np.average(e); np.median(e); np.percentile(e, 5); np.quantile(a, e); np.percentile(a, e); np.clip(a, e, 1)
np.ldexp(a, e); np.power(a, e); np.maximum(a, e); np.array(e, dtype='f4'); np.r_[a.ravel(), e]; np.c_[a.ravel(), e]; np.vstack([e, e])
np.tile(a, e); np.repeat(a, e); np.broadcast_arrays(a, e); np.linspace(e, e, 3); np.linspace(0, e, 3); np.meshgrid(a, e); np.ix_(e)
np.unravel_index(e, (2, 3)); np.ravel_multi_index((e, e), (2, 3)); np.piecewise(a, e, e); np.apply_along_axis(np.sum, 0, e); np.fft.fft(e)
np.trace(e); np.transpose(a, e); np.reshape(e, (0,)); np.ravel(e); np.atleast_2d(e); np.isclose(a, e); np.allclose(a, e); a == e
np.array_equal(a, e); np.result_type(a, e); np.copyto(a, e); np.compress(e, a); np.extract(e, a); np.place(a, e, e); np.lexsort((e, e))
np.argsort(e); np.partition(e, 0); np.nonzero(e); np.flatnonzero(e); np.count_nonzero(e); np.ediff1d(e); np.vander(e); np.poly(e)
np.roots(e); np.cov(e); np.corrcoef(e); a.astype(e); a.reshape(e); a.sum(axis=e); a.sum(axis=()); np.zeros(e)
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [call.strip() for line in CALLS.strip().split("\n") for call in line.split(";")])
def test_as_numpy(call):
    different = []
    for empty in EMPTY:
        space = {"np": np}
        exec(f"def function(a):\n    try:\n        e = {empty}\n        return {call}\n    except Exception as error:\n        return type(error).__name__\n", space)
        for a in ARRAYS:
            frameloom.reset()
            want, compiled = described(space["function"](a.copy())), frameloom.compile(space["function"], backend="interpret")
            for _ in range(2):
                got = described(compiled(a.copy()))
                if got != want:
                    different.append(f"e = {empty}, a of {a.dtype}{a.shape}: {got} instead of {want}")
    assert not different, "\n".join(different)
