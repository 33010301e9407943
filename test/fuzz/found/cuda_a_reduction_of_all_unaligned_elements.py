import torch
from graphs_programs import tensor
aten = torch.ops.aten
DYNAMIC = False
INTERPRET = False


def arguments(size):
    a = tensor(torch.int16, ((6, 5), (4, 2))[size], "offset", 644)
    return a,


def program(a):
    v0 = aten.any.default(a)
    v1 = aten.bitwise_not.default(v0)
    return v1,
