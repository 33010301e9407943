"""What may raise is not dead: code whose result nobody reads keeps its errors and its warnings."""

import frameloom
import numpy as np
import pytest
from cpus import KINDS
from compare import outcome

BODIES = """
y = v.copy(); y[np.array([7])] = 1.

y = v.copy(); y[k] = 1.

y = v.copy(); y[k] = 1.; return v + 1

y = v.copy(); y[k]; return v + 1

y = v.copy(); y[[7]]; return v + 1

y = v[k]

y = np.take(v, k)

y = np.take(v, 7)

y = v.take([1,9]); return v+1

v[k] + 1

return (v - v) / (v - v) * np.nan

y = np.sqrt(-v) + np.nan

return np.maximum((v - v) / (v - v), np.nan)

return (v - v) / (v - v) > np.nan

return np.hypot(np.log(v - v), np.float64(np.nan))

np.log(v)

np.log(v); return v + 1

y = np.log(v) + 1; z = y * 2; return v

1/v

i // i

i % 0; return 3

np.sqrt(-v); return v

v[k].sum()

y = v.copy(); y[7:] = np.log(v[:0]); return v

np.add.at(v.copy(), k, 1.)

y = v.copy(); np.add.at(y, k, 1.)

np.put(v.copy(), k, 1.)

np.linalg.inv(np.zeros((2,2)))

np.linalg.inv(np.zeros((2,2))); return v

np.linalg.cholesky(-np.eye(2)); return v

np.array([1e300])*1e300; return v

(v*1e308).astype(np.float32); return v

(v*1e308).sum(); return v

np.float32(1e38)*np.float32(1e3)

x = np.float32(1e38)*v[0]; return 1

m[k, 0]

m[[0, 7]]; return v

m[:, k]; return v

y = m.copy(); y[k, 0] = 2.

y = m.copy(); y[:, k] = 2.; return m

y = np.choose(k, [v, v]); return v

np.take_along_axis(m, np.array([[9,9,9,9]]), 0); return v

np.bincount(-i); return v

np.searchsorted(v, v, sorter=k); return v

np.ravel_multi_index((k, k), (3,4)); return v

np.unravel_index(k + 20, (3,4)); return v

np.repeat(v, -1); return v

i ** -1

(i ** (k - 9)); return v

np.power(i, k - 9); return v

np.arccos(v + 3); return v

np.exp(v * 1e3); return v

v.astype(int); return v

(v / 0).astype(int); return v

np.nanmin(np.full(3, np.nan)); return v

np.mean(v[:0]); return v

np.max(v[:0]); return v

with np.errstate(all='raise'): np.log(v)

with np.errstate(all='raise'): 1 / v; return v

with np.errstate(divide='raise'): y = np.log(v) * 0

np.log(v) if v[0] > 3 else np.log(v)

for q in range(3): np.log(v)

for q in range(50): y = np.log(v - q)

for q in range(50): y = v[k - q]

x = v
for q in range(5): x = np.sqrt(v - q)
return v

y = np.zeros(3); y[:] = np.log(v[:3]); y[:] = 0; return y

y = np.log(v); y[:] = 1; return y

y = 1 / v; y = v; return y

a, b = np.divmod(v, 0); return a

a, b = np.frexp(v / 0); return v

np.log(v).sum() > 0; return v

t = (np.log(v), 1); return t[1]

{'a': np.log(v)}; return v

np.where(v > 0, np.log(v), 0.); return v

np.where(v > 0, np.log(v), 0.)[1:]

np.log(v)[1:]

np.log(v)[3]

(1 / v)[2:]; return 2

v[0] / v[0]; return 1

v[0] // 0; return 1

int(v[0]) // 1; return 1

np.log(v).shape

np.log(v).dtype; return v

len(np.log(v))

np.log(v).size + 1

(v[k]).shape

v[k].dtype

np.broadcast_to(np.log(v), (3, 6)).shape

i.copy() << 3; return np.int8(100) + np.int8(100)

np.int8(100) * np.int8(100); return 1

np.int64(5) // np.int64(0); return 1

np.clip(np.log(v), 0, 1)*0; return 1

np.minimum(np.log(v), np.inf); return v
"""
OPERANDS = np.arange(6.0), np.arange(6), np.array([7]), np.arange(12.0).reshape(3, 4)


def function(body):
    space = {"np": np}
    exec("def f(v, i, k, m):\n" + "".join(f"    {line}\n" for line in body.splitlines()), space)
    return space["f"]


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("body", BODIES.strip().split("\n\n"))
def test_unread(body, dynamic, cpu):
    """Ends of loops are masked vectors on some CPUs and scalars on others."""
    plain, compiled = function(body), frameloom.compile(function(body), dynamic=dynamic)
    for _ in range(3):
        want, error, warned = outcome(plain, OPERANDS)
        with frameloom.config.patch(cpu=cpu):
            got, own_error, own_warned = outcome(compiled, OPERANDS)
        assert (type(own_error), str(own_error)) == (type(error), str(error))
        assert own_warned == warned
        assert repr(got) == repr(want)
