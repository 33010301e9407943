"""Gradients of every Fourier transform against differences: sizes cut and filled, axes in any order, each norm."""

import numpy as np
import pytest

import frameloom

OF_ONE_AXIS = ("fft", "ifft", "rfft", "irfft")
OF_SEVERAL = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
KEYWORDS = {
    OF_ONE_AXIS: [{}, {"norm": "ortho"}, {"norm": "forward"}, {"axis": 0}, {"n": 3}, {"n": 9, "axis": 0}],
    OF_SEVERAL: [{}, {"norm": "ortho"}, {"norm": "forward"}, {"axes": (0, 1)}, {"s": (3, 4), "axes": (-1, -2)}, {"s": (7, -1), "axes": (0, 1)}],
}


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 6), (2, 2)], ids=str)
@pytest.mark.parametrize("name, keywords", [(name, k) for names, several in KEYWORDS.items() for name in names for k in several], ids=str)
def test_transforms(name, keywords, shape):
    rng, transform = np.random.default_rng(0), getattr(np.fft, name)
    x, along = rng.normal(size=(2, *shape))
    if "ir" in name:
        x, along = x + 1j * rng.normal(size=shape), along + 1j * rng.normal(size=shape)
    result = transform(x, **keywords)
    weights = rng.normal(size=result.shape) + 1j * rng.normal(size=result.shape)

    def f(x):
        return np.sum(np.real(transform(x, **keywords) * weights))

    value, gradient = frameloom.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-11, atol=1e-12)
    by_differences = (f(x + 1e-6 * along) - f(x - 1e-6 * along)) / 2e-6
    np.testing.assert_allclose(np.sum(np.real(gradient * along)), by_differences, rtol=1e-6, atol=1e-7)


def test_what_is_refused():
    for keywords in ({"s": (3, 4)}, {"s": (None, 3), "axes": (0, 1)}, {"out": np.zeros((2, 2), complex)}):
        with pytest.raises((NotImplementedError, frameloom.GraphBreak), match="a Fourier transform with"):
            frameloom.grad(lambda x: np.sum(np.real(np.fft.fftn(x, **keywords))))(np.ones((2, 2)))
