"""Python's and NumPy's numbers, lists and 0-d arrays where a function takes an array: as arguments and as constants."""

import re
import warnings

import numpy as np
import pytest

import frameloom

VALUES = [True, 3, 2.5, 1j, [1, 2], [[1.5, 2]], (1, 2), np.float32(3), np.bool_(True), np.array(4),
          2**63, -2**63 - 1, 2**70]

CALLS = """
transpose(x)
matrix_transpose(x)
squeeze(x)
ravel(x)
swapaxes(x,0,0)
moveaxis(x,0,0)
reshape(x,-1)
reshape(x,())
copy(x)
array(x)
asarray(x)
atleast_1d(x)
broadcast_to(x,(2,))
flip(x)
real(x)
imag(x)
conj(x)
round(x)
around(x)
clip(x,0,1)
take(x,0)
take([x],0)
sort(x)
diagonal(x)
diag(x)
trace(x)
cumsum(x)
nonzero(x)
where(x,1,2)
where(x)
sum(x)
max(x)
mean(x)
std(x)
argmax(x)
any(x)
ptp(x)
repeat(x,2)
tile(x,2)
roll(x,1)
expand_dims(x,0)
zeros_like(x)
ones_like(x)
full_like(x,2)
permute_dims(x)
ascontiguousarray(x)
asfortranarray(x)
negative(x)
positive(x)
fix(x)
nan_to_num(x)
isreal(x)
angle(x)
dot(x,x)
matmul(x,x)
inner(x,x)
outer(x,x)
vdot(x,x)
kron(x,x)
cross(x,x)
searchsorted([1,2],x)
digitize(x,[1,2])
interp(x,[0,1],[0,1])
median(x)
percentile(x,50)
unique(x)
delete(x,0)
insert(x,0,1)
append(x,1)
concatenate([x])
stack([x,x])
hstack([x,x])
vstack([x,x])
split(x,1)
rot90(x)
tril(x)
broadcast_arrays(x,x)
result_type(x)
min_scalar_type(x)
shape(x)
ndim(x)
size(x)
iscomplexobj(x)
array_equal(x,x)
allclose(x,x)
isin(x,[1,2])
count_nonzero(x)
gradient(x)
diff(x)
ediff1d(x)
trapezoid(x)
convolve(x,x)
unravel_index(x,(9,9))
""".split()


def shown(value):
    if isinstance(value, (tuple, list)):
        return type(value), [shown(item) for item in value]
    return type(value), getattr(value, "dtype", None), getattr(value, "shape", None), repr(value)


def outcome(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shown(function(*arguments))
        except Exception as e:  # noqa: BLE001
            return type(e), str(e)


@pytest.mark.parametrize("call", CALLS)
def test_call(call):
    wrong = []
    for value in VALUES:
        text = f"np.{repr(value)}" if isinstance(value, np.ndarray) else repr(value)
        for parameters, body, arguments in (("x", call, (value,)), ("", re.sub(r"\bx\b", lambda _: text, call), ())):
            function = eval(f"lambda {parameters}: np.{body}", {"np": np})
            frameloom.reset()
            want, got = outcome(function, *arguments), outcome(frameloom.compile(function, backend="interpret"), *arguments)
            if want != got:
                wrong.append(f"np.{body} of {value!r}: {got} instead of {want}")
    assert not wrong, "\n".join(wrong)
