"""value: tensor([[[[ 1, 2, -3, -1], [-1, 2, -3, -2]], [[-5, 1, -4, 2], [-1, -3, -3, -5]], [[ 2, -1, -4, -1], [-3, 1, -4, -5]]], [[[ 2, -1, -4, 0], [-3, -5, 0, 2]], [[-1, -3, 2, -3], [ 2, -3, -2, 0]], [[-2, 1, 2, -3], [-5, -4, -1, -3]]]], dtype=torch.int16) instead of tensor([[[[ 1, 2, 1, 0], [-1, 0, 2"""

import torch
from graphs_programs import tensor
aten = torch.ops.aten
DYNAMIC = False
INTERPRET = True


def arguments(size):
    a = tensor(torch.int16, ((2, 3, 2, 4), (2, 3, 3, 6))[size], "C", 70)
    return a,


def program(a):
    v0 = aten.as_strided_scatter.default(a, a, [2, 3, 2, 4], [1, 3, 1, 2])
    return v0,
