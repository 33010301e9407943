"""A ufunc's only operand is a Python number: it has its own dtype then, and is no weak one."""

import warnings

import frameloom
import numpy as np
import pytest

UFUNCS = sorted(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc) and getattr(np, name).nin == 1)
NUMBERS = ["3", "-3", "300", "True", "2.5", "2j", "2**63", "n", "x"]
ASKED = ["dtype='u1'", "dtype='i2'", "dtype='u8'", "dtype='f4'", "dtype='c8'", "dtype='u1', casting='unsafe'", "casting='safe'", ""]


def program(ufunc, number):
    lines = [f"    try:\n        told.append(np.{ufunc}({number}, {asked}))\n    except Exception as error:\n        told.append((type(error).__name__, str(error)))" for asked in ASKED]
    space = {"np": np}
    exec("\n".join(["def program(n, x):", "    told = []", *lines, "    return told"]), space)
    return space["program"]


def shown(results):
    """With the last bits left out."""
    for result in results:
        for part in result if isinstance(result, tuple) else [result]:
            yield type(part), f"{part:.3g}" if isinstance(part, np.inexact) else part


@pytest.mark.parametrize("ufunc", UFUNCS)
def test_an_only_number(ufunc):
    for number in NUMBERS:
        function = program(ufunc, number)
        compiled = frameloom.compile(function, backend="interpret")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for n, x in ((3, 2.5), (4, 0.5)):
                assert list(shown(compiled(n, x))) == list(shown(function(n, x))), number
