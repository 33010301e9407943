"""A part of an input that has gradients is handed on by AOTAutograd as the graph made it: it has to be a view."""

import torch

LEVELS = {}


def arguments(size):
    torch.manual_seed(481)
    b = torch.randn(((2, 2), (3, 3))[size], dtype=torch.float32).requires_grad_(True)
    return b,


def program(b):
    v2 = b.chunk(2, -1)[0]
    return v2,
