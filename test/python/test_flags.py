"""No floating-point flag is lost: not where a result is not selected, not where the operands are known when compiling."""

import numpy as np
import pytest
from compare import outcome

import frameloom


KEPT = [
    "np.minimum(x * y, 100)", "np.clip(x / y, 0, 1)", "np.where(x > y, x * y, 0)", "np.where(x == 0, 0, 1 / (x - x))",
    "np.where(x > y, 1, (x * y).astype(np.int32))", "np.where(x == 0, x, np.sqrt(-x))",
    "np.where(x == 0, x, np.log(y - y))", "np.maximum(np.log(x * 0), -5)", "(x < x) / (x < x)",
    "np.log(np.isfinite(x) & 2)", "np.sqrt(-1.0 - (np.isfinite(x) & 2))",
    "np.fmod(np.isfinite(x) & 2, (x < x).astype(float))", "(x < x).astype(float) // (x < x).astype(float)",
    "np.logical_xor(x, x) // np.logical_xor(x, x)", "1.0 / (np.isfinite(x) & 2)", "(np.isfinite(x) & 2) ** -1.0",
    "np.where(x > 5, (x * y).astype(np.float32), 0)", "np.where(x > 5, 0, (x * y).astype(np.float32))",
    "np.where(False, 0, 1 / (x * 0))", "np.arctanh(np.logical_not(x < x).astype(float))",
    "np.where(x > 1e38, np.arcsin(x), 0)", "np.where(x > 1e38, np.cosh(x), 0)", "np.nan_to_num(x * y)",
    "np.where(x < 0, np.power(-2.0, x + .5), 0)", "np.where(x > 1e305, -(x * y), 0)",
    "np.max(x * y, initial=5, where=x > 1e305)", "np.log1p(-1.0 - (np.isfinite(x) & 2))",
    "np.where(x > 1, (x - x) * np.inf, 5)", "np.where(x > 1e306, np.expm1(x), 2.)",
    "np.where(x > 1e306, np.tan(x * np.inf), 2.)", "np.where(x > 1e306, np.exp2(x), 2.)",
    "np.where(x > 1e306, np.log2(-x), 2.)", "np.where(x > 1e306, np.hypot(x, x), 2.)",
    "np.less(x // (x - x), x // (x - x))", "(x * y == x * y) * 1.0", "np.where(x > 1e306, np.reciprocal(x * 0), 2.)", "np.where(x > 1e306, np.logaddexp(x, x), 2.)",
]


@pytest.mark.parametrize("cpu", ["native", "x86-64-v3"])
@pytest.mark.parametrize("source", KEPT)
def test_kept(source, cpu):
    plain = eval(f"lambda x, y: {source}", {"np": np})
    compiled = frameloom.compile(eval(f"lambda x, y: {source}", {"np": np}), options={"cpu": cpu})
    big = np.array([1e300, 2.0, 3.0, 1e301, 7, 8, 9, 10, 11, 12, 13])
    for x in (big, big[:1], big[3:4].reshape(()), big.clip(None, 3e38).astype(np.float32)):
        want = outcome(plain, (x, x.copy()))
        for _ in range(2):
            assert outcome(compiled, (x, x.copy()))[2] == want[2]


def test_kept_where_it_is_overwritten():
    def program(x):
        y = 1 / x
        y[1:2] = 0
        return y

    compiled = frameloom.compile(program, fullgraph=True)
    x = np.array([1.0, 0.0, 2.0, 3.0])
    assert outcome(compiled, (x,))[2] == outcome(program, (x,))[2] != []
