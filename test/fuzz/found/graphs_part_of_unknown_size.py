"""memory: [(0, 0), (1, 0)] instead of [(0, 0), (0, 0)] (dynamic=True, sizes 1)"""

import torch
LEVELS = {}

def arguments(size):
    torch.manual_seed(168)
    a = torch.randn(((2,), (3,))[size], dtype=torch.float64).requires_grad_(True)
    return (a,)

def program(a):
    v0 = a.chunk(2, -1)[0]
    return (v0,)
