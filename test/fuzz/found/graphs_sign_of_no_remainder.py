"""value: tensor([[False, False, False, False, False, False, True, True, False, False, True, True, False, False, True, True, False, False, False, False], [False, False, False, False, False, False, False, False, False, False, False, False, False, False, False, False, False, False, False, False], [False,"""

import torch
from graphs_programs import tensor
aten = torch.ops.aten
DYNAMIC = False
INTERPRET = False

def arguments(size):
    c = tensor(torch.float32, ((4, 5), (6, 2))[size], 'C', 692)
    return (c,)

def program(c):
    v2 = aten.remainder.Scalar(c, 0.5)
    v3 = aten.view.dtype(v2, torch.bool)
    return (v3,)
