"""Functions of torch's whose results have sizes that depend on elements, or that decide on elements, by operations that capture has.

Capture follows what `MODELS` names in place of a function. A model gives NotImplemented where torch's own function is to be called
as a whole.
"""

import math

import torch

from . import _torch_checked


def late_range(end):
    """The whole numbers from 0 on below `end`, a tensor of one int64. Evaluated by capture."""
    raise NotImplementedError


def refused_unless(good, words):
    """Where an element of this tensor is False, the call runs again in eager torch."""
    _torch_checked.between(good.all().to(torch.float32), 1.0, 1.0, words)


def _is_all_true(input):
    """Asked by what raises an exception otherwise: torch.distributions."""
    refused_unless(input.detach(), "what torch checks is false")
    return True


# ---- masks ----


def _axes(one):
    """So many axes does an index take."""
    if one is None or one is Ellipsis or isinstance(one, bool):
        return 0
    return one.dim() if isinstance(one, torch.Tensor) and one.dtype is torch.bool else 1


def index(x, key):
    """x[key], where masks are among the indices: a mask is the indices of what it chooses, along as many axes."""
    keys, axis, given = [], 0, key if isinstance(key, tuple) else (key,)
    for i, one in enumerate(given):
        if one is Ellipsis:
            axis = x.dim() - sum([_axes(other) for other in given[i + 1 :]])
        elif isinstance(one, torch.Tensor) and one.dtype is torch.bool:
            if not one.dim() or tuple(one.shape) != tuple(x.shape[axis : axis + one.dim()]):
                return NotImplemented
            keys.extend(torch.where(one.contiguous()))
            axis += one.dim()
            continue
        else:
            axis += _axes(one)
        keys.append(one)
    return x[tuple(keys)]


def _masked_select(input, mask):
    if not isinstance(mask, torch.Tensor) or mask.dtype is not torch.bool:
        return NotImplemented
    input, mask = torch.broadcast_tensors(input, mask)
    if not input.dim():
        input, mask = input.unsqueeze(0), mask.unsqueeze(0)
    return input[torch.where(mask.contiguous())]


def _nonzero(input, *, as_tuple=False):
    if not input.dim():
        return NotImplemented
    if as_tuple:
        return torch.where(input.detach())
    return torch.nonzero(input.detach()) if input.requires_grad else NotImplemented


def _argwhere(input):
    return torch.argwhere(input.detach()) if input.dim() and input.requires_grad else NotImplemented


# ---- sets and counts ----


def _is_discrete(x):
    return x.dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def _bincount(input, weights=None, minlength=0):
    if input.dim() != 1 or not _is_discrete(input) or minlength < 0 or not input.numel() or weights is not None and weights.requires_grad:
        return NotImplemented
    refused_unless(input >= 0, "bincount only supports non-negative numbers")
    input = input.long()
    count = torch.clamp(input.max() + 1, min=minlength)
    if weights is None:
        weights, dtype = torch.ones_like(input), torch.int64
    else:
        if weights.shape != input.shape:
            return NotImplemented
        dtype = weights.dtype if weights.dtype is torch.float32 else torch.float64
    made = late_range(count.view(1)).to(dtype) * 0
    return made.index_add(0, input, weights.to(dtype))


def _one_hot(tensor, num_classes=-1):
    if num_classes != -1 or tensor.dtype is not torch.int64 or not tensor.numel():
        return NotImplemented
    refused_unless(tensor >= 0, "Class values must be non-negative.")
    classes = late_range((tensor.max() + 1).view(1))
    return (tensor.unsqueeze(-1) == classes).long()


def _repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    if repeats is None:
        repeats, input, dim = input, torch.arange(len(input)), 0
    if not isinstance(repeats, torch.Tensor) or repeats.dim() > 1 or repeats.dtype not in (torch.int64, torch.int32):
        return NotImplemented
    if dim is None:
        input, dim = input.flatten(), 0
    elif not input.dim():
        return NotImplemented
    size = input.size(dim)
    if not size:
        return NotImplemented
    if repeats.dim() == 0 or repeats.numel() == 1:
        repeats = repeats.reshape(1).expand(size)
    if repeats.numel() != size:
        return NotImplemented
    refused_unless(repeats >= 0, "repeats can not be negative")
    ends = repeats.long().cumsum(0)
    if output_size is None:
        places = late_range(ends[-1:])
    else:
        refused_unless(ends[-1:] == output_size, "allocated size does not match required size")
        places = torch.arange(output_size)
    return input.index_select(dim, torch.searchsorted(ends, places, right=True))


def _with(values, order, begins, return_inverse, return_counts, shape):
    """What unique() gives of these values in order, where `begins` says which are other than those in front of them."""
    made, count = [values[begins]], begins.numel()
    if return_inverse:
        numbers = begins.cumsum(0) - 1
        made.append((numbers if order is None else torch.zeros_like(numbers).scatter(0, order, numbers)).view(shape))
    if return_counts:
        places = torch.where(begins)[0]
        made.append(torch.cat([places, places.new_full((1,), count)]).diff())
    return made[0] if len(made) == 1 else tuple(made)


def _begins(values):
    """Which rows are other than those in front of them?"""
    other = values[1:] != values[:-1]
    other = other.flatten(1).any(1) if other.dim() > 1 else other
    return torch.cat([other.new_ones(1), other])


MOST_COLUMNS = 32


def _unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    if not input.numel() or input.requires_grad or input.is_complex() or not input.dim() and dim is not None:
        return NotImplemented
    if dim is None:
        values, order = input.flatten().sort(stable=True)
        return _with(values, order, _begins(values), return_inverse, return_counts, input.shape)
    rows = input.movedim(dim, 0)
    columns = rows.reshape(len(rows), -1)
    if columns.size(1) > MOST_COLUMNS or input.is_floating_point():
        return NotImplemented
    order = torch.arange(len(rows))
    for k in reversed(range(columns.size(1))):
        order = order[columns[:, k][order].sort(stable=True).indices]
    made = _with(rows[order], order, _begins(columns[order]), return_inverse, return_counts, (len(rows),))
    return (made[0].movedim(0, dim), *made[1:]) if isinstance(made, tuple) else made.movedim(0, dim)


def _method_unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    return _unique(self, sorted, return_inverse, return_counts, dim)


def _unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    if not input.numel() or input.requires_grad or input.is_complex() or not input.dim() and dim is not None:
        return NotImplemented
    if dim is None:
        values = input.flatten()
        return _with(values, None, _begins(values), return_inverse, return_counts, input.shape)
    rows = input.movedim(dim, 0)
    made = _with(rows, None, _begins(rows), return_inverse, return_counts, (len(rows),))
    return (made[0].movedim(0, dim), *made[1:]) if isinstance(made, tuple) else made.movedim(0, dim)


def _combinations(input, r=2, with_replacement=False):
    if input.dim() != 1 or r < 1 or math.comb(len(input) + r, r) > 100_000:
        return NotImplemented
    count, rows = len(input), [[]]
    for _ in range(r):
        rows = [[*row, k] for row in rows for k in range(row[-1] + (not with_replacement) if row else 0, count)]
    return input[torch.tensor(rows, dtype=torch.int64).view(len(rows), r)]


MODELS = {
    torch._is_all_true: _is_all_true,
    torch.masked_select: _masked_select,
    torch.Tensor.masked_select: _masked_select,
    torch.nonzero: _nonzero,
    torch.Tensor.nonzero: _nonzero,
    torch.argwhere: _argwhere,
    torch.Tensor.argwhere: _argwhere,
    torch.bincount: _bincount,
    torch.Tensor.bincount: _bincount,
    torch.nn.functional.one_hot: _one_hot,
    torch.repeat_interleave: _repeat_interleave,
    torch.Tensor.repeat_interleave: _repeat_interleave,
    torch.unique: _unique,
    torch.Tensor.unique: _method_unique,
    torch.unique_consecutive: _unique_consecutive,
    torch.Tensor.unique_consecutive: _unique_consecutive,
    torch.combinations: _combinations,
}
