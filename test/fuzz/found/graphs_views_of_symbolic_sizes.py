"""What aliases an argument or a base is made again by torch with the strides and the offset of our result."""

import torch

LEVELS = {}


def arguments(size):
    torch.manual_seed(1)
    a = torch.randn(((4, 3), (6, 5))[size])
    return a,


def program(a):
    v0 = a.chunk(2, -1)[0]
    v1 = torch.tanh(v0)
    v2 = a[2:]
    v3 = a + 1
    return v0, v1, v2, v3[:, 1:], v3[:, :2],
