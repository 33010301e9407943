"""No element of a result depends on its neighbours: kernels compute vectors of lanes, and may take another way for a vector
in which some lane is odd (zero, negative, NaN, infinite, denormal, huge). The other lanes give the same bits all the same."""

import random

import numpy as np
import pytest
from cpus import KINDS

import frameloom

ODD = [0.0, -0.0, -1.5, np.nan, np.inf, -np.inf, 1e-310, 3e38, 1e300, -1e300, 1e-45, 1e5]
UFUNCS = sorted(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc) and not getattr(np, name).signature
                and ("d->d" in getattr(np, name).types or "dd->d" in getattr(np, name).types))


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UFUNCS)
@frameloom.config.patch(leave_slower=False)  # bits are those of compiled code
def test_odd_lanes_leave_the_others_alone(name, dtype, cpu):
    ufunc, chance = getattr(np, name), random.Random(name)
    compiled = frameloom.compile(eval(f"lambda *x: np.{name}(*x)", {"np": np}), options={"cpu": cpu})
    operands = [np.linspace(low, 2.9, 90, dtype=dtype) for low in (0.1, 0.7)[:ufunc.nin]]
    with np.errstate(all="ignore"):
        want = compiled(*operands)
        for value in ODD:
            places = np.array([chance.random() < .2 for _ in range(90)])
            odd = [x.copy() for x in operands]
            odd[chance.randrange(len(odd))][places] = np.array(value).astype(dtype)
            got = compiled(*odd)
            assert want[~places].tobytes() == got[~places].tobytes(), value
