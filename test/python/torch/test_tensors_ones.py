"""Axes of one element, whose strides mean nothing: results have those that eager torch gives them."""

import itertools

import pytest
import torch
from torch.nn import functional as F

import frameloom

BASE = torch.linspace(-1, 2, 40).view(1, 5, 4, 2).permute(3, 2, 1, 0)
PARTS = {
    "a column": lambda: BASE[0, :, 1:2, 0],
    "a row": lambda: BASE[0, 1:2, :, 0],
    "a new axis": lambda: BASE[0, None, 3, :, 0],
    "new axes": lambda: BASE[0, :, None, 1, None, 0],
    "one element": lambda: BASE[:1, :1, 1:2, 0],
    "many axes": lambda: BASE[1:, 1:3].transpose(0, 3),
    "chosen": lambda: torch.ones(40).as_strided((1, 5, 1, 2), (3, 2, 7, 1)),
    "small steps": lambda: torch.ones(2).as_strided((1, 1, 1, 2), (1, 1, 1, 1)),
}
FUNCTIONS = {
    "number": lambda x: x * 0.5,
    "sum": lambda x: x + x,
    "exp": torch.exp,
    "two orders": lambda x: x + torch.ones(x.shape),
    "copy": torch.clone,
    "zeros": torch.zeros_like,
    "float64": lambda x: x.to(torch.float64),
    "softmax": lambda x: x.softmax(-1),
    "sums": lambda x: x.sum(0, keepdim=True),
    "chosen": lambda x: torch.where(x > 0, x, 0.0),
    "sorted": lambda x: x.sort(-1)[0],
    "turned": lambda x: x.flip(0),
    "gelu": F.gelu,
    "several": lambda x: (x.neg() * 2).tanh(),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_strides(function):
    f = FUNCTIONS[function]
    for name, part in PARTS.items():
        compiled = frameloom.compile(lambda x: f(x))
        for x in itertools.repeat(part(), 2):
            wanted, got = f(x), compiled(x)
            assert (name, got.stride()) == (name, wanted.stride())
            torch.testing.assert_close(got, wanted)
