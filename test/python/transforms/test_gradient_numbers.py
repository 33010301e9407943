"""Derivatives by numbers of Python: what their type has, and has not, is known while the number is not."""

import numpy as np
import pytest

import frameloom

NAMES = sorted({*dir(float), *dir(int), *dir(np.float64), *dir(np.ndarray), "surely_not"})


@pytest.mark.parametrize("name", NAMES)
def test_whether_it_has_an_attribute(name):
    def at(x):
        return x * (3.0 if hasattr(x, name) else 2.0)

    assert frameloom.grad(at)(1.5) == (3.0 if hasattr(1.5, name) else 2.0)


@pytest.mark.parametrize("name", NAMES)
def test_whether_a_number_of_numpy_has_an_attribute(name):
    def at(x):
        return x.sum() * (3.0 if hasattr(x.sum(), name) else 2.0)

    try:
        found = frameloom.grad(at)(np.ones(2))
    except frameloom.GraphBreak:  # not all that looks into memory is known
        assert hasattr(np.float64(1), name)
    else:
        assert (found == (3.0 if hasattr(np.float64(1), name) else 2.0)).all()


FUNCTIONS = {
    "x.real * 3": 3.0, "x * 2 + x.imag": 2.0, "np.conj(x) * 2": 2.0, "np.real(x) * x": 3.0, "x * np.ndim(x) + x": 1.0,
    "x * len(np.shape(x)) + x * 4": 4.0, "np.sum(np.real(x))": 1.0, "abs(x) * np.size(x)": 1.0, "np.imag(x) + 2 * x": 2.0,
    "x * np.isrealobj(x)": 1.0, "getattr(x, 'surely_not', 7.0) * x": 7.0,
}


@pytest.mark.parametrize("source", FUNCTIONS)
def test_by_a_float(source):
    f = eval(f"lambda x: {source}", {"np": np})
    assert frameloom.grad(f)(1.5) == FUNCTIONS[source]
    value, tangent = frameloom.jvp(f, (1.5,), (2.0,))
    assert value == f(1.5) and tangent == 2 * FUNCTIONS[source]
    value, found = frameloom.vjp(f, 1.5, cotangent=2.0)
    assert value == f(1.5) and found == (2 * FUNCTIONS[source],)


def test_what_a_number_lacks_raises_as_in_python():
    for compile in (lambda f: f, frameloom.grad):
        with pytest.raises(AttributeError, match="'float' object has no attribute 'shape'"):
            compile(lambda x: (x * 2).shape)(1.5)


@pytest.mark.parametrize("derivative", [
    lambda f, x: frameloom.grad(f)(x), lambda f, x: frameloom.vjp(f, x, cotangent=x), lambda f, x: frameloom.jvp(f, (x,), (x,)),
    lambda f, x: frameloom.jacobian(f)(x),
])
@pytest.mark.parametrize("x", [3, True, "text", [1, 2.0], np.arange(3), object()])
def test_what_is_no_float_is_refused_with_its_type(derivative, x):
    with pytest.raises(TypeError, match="must be a float or an array of floats"):
        derivative(lambda x: 1.5, x)
