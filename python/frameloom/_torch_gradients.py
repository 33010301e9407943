"""Gradients that torch computes in ops of their own, as ops that are compiled."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def weight_norm_interface_backward(grad, v, g, norms, dim):
    """Of w = v * (g / |v|), norms over all dimensions but `dim`, with regard to v and g."""
    if grad.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    others = [i for i in range(v.ndim) if i != dim % v.ndim]
    along = (grad * v).sum(others, keepdim=True) / norms
    return g / norms * (grad - v * (along / norms)), along


def decompositions():
    return {aten._weight_norm_interface_backward.default: weight_norm_interface_backward}
