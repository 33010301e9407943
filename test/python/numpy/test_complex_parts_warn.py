"""Warnings of complex arithmetic of which one part alone is read: the other is computed all the same."""


import numpy as np
import pytest
from compare import assert_same_call, outcome

import frameloom

PARTS = """
(x * 1j).astype(np.complex64).imag; (x*1j).imag; (x*1j).real; (z*z).imag; (z*z).real; (z/z).real; (z/(z+1)).imag; np.exp(z).imag; np.exp(z).real; (z+z).imag; (z-z).real; (-z*z).conj().real; z.sum().imag; (z*z).sum().real; (z*z).astype('c8').real
(z*z)[::2].imag; (z*z).real+1; (z*z.conj()).real; np.sqrt((z*z.conj()).real); (z**2).imag; np.where((z*z).real>0, 1., 2.); (z*1e300).imag; abs(z*z); (z@z).real; np.outer(z,z).imag; (z*z).real*(z*z).imag; np.cumsum(z).imag; np.diff(z).real; (z*2).imag.sum(); (z.real*1j*z).imag; np.vdot(z,z).real; np.mean(z).imag; (z*z).copy().imag; np.stack([z*z,z]).imag; (z*z).reshape(-1,1).real; (z*x).real; (x/z).imag
"""
NUMBERS = [np.array([np.inf, 1.0]), np.array([1.0, 2.0]), np.array([1e300, 1.0]), np.array([0.0, 1.0]), np.array([np.nan, 1.0])]


@pytest.mark.parametrize("text", [text.strip() for line in PARTS.strip().split("\n") for text in line.split(";")])
def test_parts(text):
    space = {"np": np}
    exec(f"def function(x, z):\n    return {text}\n", space)
    for x in NUMBERS:
        for direction in (1j, 1, 1 + 1j, complex(0, np.inf)):
            with np.errstate(all="ignore"):
                z = x * direction
            want = outcome(space["function"], (x, z))
            compiled = frameloom.compile(space["function"])
            for _ in range(2):
                assert_same_call(outcome(compiled, (x, z)), want, rtol=1e-7)
