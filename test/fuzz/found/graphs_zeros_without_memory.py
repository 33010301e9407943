"""Zeros of torch's that take no memory, as constants of a graph and among its operands."""

import torch
from graphs_programs import tensor

aten = torch.ops.aten
DYNAMIC = False
INTERPRET = True


def arguments(size):
    a = torch._efficientzerotensor(3, 4)
    b = tensor(torch.float32, (3, 4), "C", 1)
    return a, b


def program(a, b):
    v0 = aten.add.Tensor(a, b)
    v1 = aten._efficientzerotensor.default([3, 4])
    v2 = aten.mul.Tensor(v1, b)
    return v0, v1, v2, aten.view.default(a, [12])
