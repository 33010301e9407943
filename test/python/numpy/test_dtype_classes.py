"""Classes of dtypes (numpy.dtypes.Float64DType) as dtype arguments: functions take them as dtypes, numpy.dtype() as objects."""

import numpy as np
import pytest
from compare import check

import frameloom

CLASSES = sorted(name for name in dir(np.dtypes) if name.endswith("DType"))
CALLS = ["np.zeros(3, dtype=D)", "np.full(2, 1, dtype=D)", "np.arange(3, dtype=D)", "x.astype(D)", "x.sum(dtype=D)", "np.subtract(x, x, dtype=D)",
         "np.array(x, dtype=D)", "np.asarray([1, 2], dtype=D)", "np.empty_like(x, dtype=D).dtype", "np.add.reduce(x, dtype=D)", "np.cumsum(x, dtype=D)",
         "np.ones((2, 1), D)", "np.concatenate([x, x], dtype=D)", "np.dtype(D)", "np.linspace(0, 1, 3, dtype=D)"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*CLASSES, "a class that is no dtype's"])
def test_calls(name):
    D = getattr(np.dtypes, name, int)
    for call in CALLS:
        plain = eval(f"lambda x: {call}", {"np": np, "D": D})
        check(frameloom.compile(plain), plain, (np.array([3.0, 1.0, 2.0]),))


def test_compiled_whole():
    f = frameloom.compile(lambda x: np.subtract(x, 1, dtype=type(x.dtype)).astype(np.float32), fullgraph=True)
    assert f(np.arange(3.0)).dtype == np.float32
