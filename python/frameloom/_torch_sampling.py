"""grid_sampler_2d and its gradient as ops that are compiled: gathers and sums at the corners of each place.

The forward is torch's own decomposition (torch/_decomp); the gradient follows grid_sampler_2d_backward
(aten/src/ATen/native/GridSampler.h). Bicubic gradients are left to torch.
"""

from __future__ import annotations

import torch
from torch._decomp import get_decompositions

aten = torch.ops.aten
BILINEAR, NEAREST = 0, 1
ZEROS, BORDER, REFLECTION = 0, 1, 2


def _clipped(x, size):
    """x within [0, size - 1], and its derivative, which is 0 from the ends on."""
    inside = (x > 0) & (x < size - 1)
    return x.clamp(0, size - 1), inside.to(x.dtype)


def _reflected(x, twice_low, twice_high):
    """x reflected until it is within the bounds, and the derivative."""
    if twice_low == twice_high:
        return torch.zeros_like(x), torch.zeros_like(x)
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    x = x - low
    sign = torch.where(x < 0, -1.0, 1.0).to(x.dtype)
    x = x.abs()
    extra, flips = torch.fmod(x, span), torch.floor(x / span)
    even = torch.remainder(flips, 2) == 0
    return torch.where(even, extra + low, span - extra + low), torch.where(even, sign, -sign)


def _source(x, size, padding, corners):
    """Positions in the image of grid coordinates, and their derivatives."""
    place, scale = ((x + 1) / 2 * (size - 1), (size - 1) / 2) if corners else (((x + 1) * size - 1) / 2, size / 2)
    if padding == ZEROS:
        return place, torch.full_like(place, scale)
    slope = 1.0
    if padding == REFLECTION:
        place, slope = _reflected(place, *((0, 2 * (size - 1)) if corners else (-1, 2 * size - 1)))
    place, kept = _clipped(place, size)
    return place, kept * slope * scale


def _corner(image, x, y):
    """What the flat image has at (y, x), 0 outside; the flat index and which places are inside."""
    batch, channels, height, width = image.shape
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    index = torch.where(inside, y * width + x, 0).to(torch.int64).reshape(batch, 1, -1)
    index = index.expand(batch, channels, index.shape[2])
    value = image.reshape(batch, channels, height * width).gather(2, index)
    inside = inside.reshape(batch, 1, -1)
    return torch.where(inside, value, 0.0), index, inside


def grid_sampler_2d_backward(grad, image, grid, interpolation, padding, corners, mask):
    """The gradients of the image and of the grid, None where `mask` does not want them."""
    if interpolation not in (BILINEAR, NEAREST) or image.dtype not in (torch.float32, torch.float64) or not grad.numel():
        return NotImplemented
    batch, channels, height, width = image.shape
    x, slope_x = _source(grid[..., 0], width, padding, corners)
    y, slope_y = _source(grid[..., 1], height, padding, corners)
    flat = grad.reshape(batch, channels, -1)
    sums_x, sums_y, parts, places = 0.0, 0.0, [], []
    near = interpolation == NEAREST
    x0, y0 = (x.round(), y.round()) if near else (x.floor(), y.floor())
    for dy, dx in ((0, 0),) if near else ((0, 0), (0, 1), (1, 0), (1, 1)):
        value, index, inside = _corner(image, x0 + dx, y0 + dy)
        # The weight of a corner is 1 - the distance, along both axes.
        weight_x = x - x0 if dx else x0 + 1 - x
        weight_y = y - y0 if dy else y0 + 1 - y
        weight = torch.ones_like(x) if near else weight_x * weight_y
        parts.append(torch.where(inside, flat * weight.reshape(batch, 1, -1), 0.0))
        places.append(index)
        product = (value * flat).sum(1).reshape(x.shape)
        sums_x = sums_x + product * weight_y * (1.0 if dx else -1.0)
        sums_y = sums_y + product * weight_x * (1.0 if dy else -1.0)
    of_image = of_grid = None
    if mask[0]:
        zeros = image.new_zeros(batch, channels, height * width)
        of_image = zeros.scatter_add(2, torch.cat(places, 2), torch.cat(parts, 2)).reshape(image.shape)
    if mask[1]:
        of_grid = torch.zeros_like(grid) if near else torch.stack([sums_x * slope_x, sums_y * slope_y], -1)
    return of_image, of_grid


def decompositions():
    return {
        aten.grid_sampler_2d.default: get_decompositions([aten.grid_sampler_2d])[aten.grid_sampler_2d.default],
        aten.grid_sampler_2d_backward.default: grid_sampler_2d_backward,
    }
