"""value: tensor([[-0.7500, 1.0000, 1.0000, -2.5000, -0.5000, 1.5000], [ 2.2500, 1.2500, 2.5000, 0.2500, -0.5000, -1.0000], [ 1.7500, 2.2500, -1.7500, 2.7500, -2.0000, 1.5000], [ 1.0000, 1.0000, -2.5000, -0.5000, 1.5000, -0.5000], [ 1.2500, 2.5000, 0.2500, -0.5000, -1.0000, -2.0000]], dtype=torch.float"""

import torch
from graphs_programs import tensor
aten = torch.ops.aten
DYNAMIC = False
INTERPRET = True

def arguments(size):
    a = tensor(torch.float64, ((5, 6), (2, 4))[size], 'step', 734)
    return (a,)

def program(a):
    v0 = aten.as_strided_copy.default(a, [5, 6], [1, 3])
    return (v0,)
