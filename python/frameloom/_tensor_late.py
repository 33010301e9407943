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


def is_known(x):
    """Are the elements of this tensor known at capture? Evaluated by capture."""
    raise NotImplementedError


def lent(copy, x, key):
    """Does `copy` stand for the view x[key] from here on? Evaluated by capture."""
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


def _places(mask):
    """The indices of what a mask chooses, along each axis."""
    if not is_known(mask):
        return torch.where(mask.contiguous())
    chosen = [k for k, one in enumerate(mask.flatten().tolist()) if one]
    places, step = [], mask.numel()
    for size in mask.shape:
        step //= max(size, 1)
        places.append(torch.tensor([k // max(step, 1) % max(size, 1) for k in chosen], dtype=torch.int64))
    return places


PLACES = (torch.int64, torch.int32, torch.int16, torch.int8)


def _is_place(one):
    """Is it a tensor that is one whole number? As an index it is that number."""
    return isinstance(one, torch.Tensor) and not one.dim() and one.dtype in PLACES


def _settled(one):
    """An index with numbers in place of tensors that are known."""
    if isinstance(one, slice):
        return slice(*[_settled(end) for end in (one.start, one.stop, one.step)])
    return int(one) if _is_place(one) and is_known(one) else one


def _is_open(one):
    """A slice to a place that is not known?"""
    return isinstance(one, slice) and any([_is_place(end) for end in (one.start, one.stop, one.step)])


def _parts(x, key):
    """The parts of an index, known places as numbers; and by their number the axes of places that are not known. None: such a part
    is not followed."""
    given = [_settled(one) for one in (key if isinstance(key, tuple) else (key,))]
    axis, axes = 0, {}
    for i, one in enumerate(given):
        if _is_open(one) or isinstance(one, torch.Tensor) and not one.dim() and not _is_place(one):
            return None, axes
        if one is Ellipsis:
            axis = x.dim() - sum([_axes(other) for other in given[i + 1 :]])
        elif _is_place(one):
            axes[i] = axis
            if axis >= x.dim() or not x.size(axis):
                return None, axes
            axis += 1
        else:
            axis += _axes(one)
    return given, axes


def _counted(place, size):
    """A place as an index of one element, counted from the begin."""
    place = place.to(torch.int64).reshape(1)
    return torch.where(place < 0, place + size, place)


def _lent(x, given, axes):
    """x[given] where some parts are places that are not known: elements of x that stand for the view."""
    made, view, rest = x, x, []
    for i in reversed(list(axes)):
        view = view.select(axes[i], 0)
        given[i] = given[i].clone()  # the tensor may be written before the view is
        made = made.index_select(axes[i], _counted(given[i], x.size(axes[i]))).squeeze(axes[i])
    if x.is_complex() or not view.is_contiguous() or not lent(made, x, tuple(given)):
        return NotImplemented
    for i, one in enumerate(given):
        if i not in axes:
            rest.append(one)
    return made[tuple(rest)] if rest else made


def put(x, key, value):
    """x[key] = value, where some parts are places that are tensors."""
    given, axes = _parts(x, key)
    if given is None:
        return NotImplemented
    if not axes:
        x[tuple(given)] = value
        return None
    if any([isinstance(one, (torch.Tensor, list)) and i not in axes for i, one in enumerate(given)]):
        return NotImplemented
    for one in given:
        if one is not None and one is not Ellipsis and type(one) not in (int, slice, torch.Tensor):
            return NotImplemented
    if isinstance(value, torch.Tensor):
        value = value.to(x.dtype)  # as a write into the view does
    view, counted = x, []
    for number, i in enumerate(axes):
        counted.append(_counted(given[i], x.size(axes[i])))
        view = view.movedim(axes[i], number)
    view[tuple([*counted, *[one for i, one in enumerate(given) if i not in axes]])] = value


def index(x, key):
    """x[key], where masks are among the indices: a mask is the indices of what it chooses, along as many axes. Or where a tensor is
    among them that is one number."""
    given, axes = _parts(x, key)
    if given is None:
        return NotImplemented
    if axes:
        return _lent(x, given, axes)
    keys, axis = [], 0
    for i, one in enumerate(given):
        if one is Ellipsis:
            axis = x.dim() - sum([_axes(other) for other in given[i + 1 :]])
        elif isinstance(one, torch.Tensor) and one.dtype is torch.bool:
            if not one.dim() or tuple(one.shape) != tuple(x.shape[axis : axis + one.dim()]):
                return NotImplemented
            keys.extend(_places(one))
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
    """With a `minlength`, which is the number of classes, the result has that size: where it is longer, the call runs in eager torch."""
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
    if minlength > 1:
        refused_unless(input < minlength, "a number beyond minlength")
        made = torch.zeros(minlength, dtype=dtype)
    else:
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


def _with(values, order, begins, return_inverse, return_counts, shape, dim=0):
    """What unique() gives of these values in order, which are along `dim`, where `begins` says which are other than those in front of
    them."""
    made, count = [values[begins].movedim(0, dim) if dim else values[begins]], begins.numel()
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
    return _with(rows[order], order, _begins(columns[order]), return_inverse, return_counts, (len(rows),), dim)


def _unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    if not input.numel() or input.requires_grad or input.is_complex() or not input.dim() and dim is not None:
        return NotImplemented
    if dim is None:
        values = input.flatten()
        return _with(values, None, _begins(values), return_inverse, return_counts, input.shape)
    rows = input.movedim(dim, 0)
    return _with(rows, None, _begins(rows), return_inverse, return_counts, (len(rows),), dim)


def _combinations(input, r=2, with_replacement=False):
    if input.dim() != 1 or r < 1 or math.comb(len(input) + r, r) > 100_000:
        return NotImplemented
    count, rows = len(input), [[]]
    for _ in range(r):
        rows = [[*row, k] for row in rows for k in range(row[-1] + (not with_replacement) if row else 0, count)]
    return input[torch.tensor(rows, dtype=torch.int64).view(len(rows), r)]


# ---- statistics ----


def _cov(input, *, correction=1, fweights=None, aweights=None):
    """torch looks whether there are more observations than `correction`, and warns."""
    if fweights is not None or aweights is not None or input.dim() > 2 or input.dtype is torch.bool:
        return NotImplemented
    rows = input.unsqueeze(0) if input.dim() < 2 else input
    rows = rows.unsqueeze(0) if rows.dim() < 2 else rows
    count = rows.size(1)
    if count - correction <= 0:
        return NotImplemented
    rows = rows - (rows.sum(1) / count).unsqueeze(1)
    return (rows.mm(rows.t().conj()) / (count - correction)).squeeze()


def _corrcoef(input):
    if input.dim() > 2 or input.dtype is torch.bool or (input.size(-1) if input.dim() else 1) < 2:
        return NotImplemented
    made = torch.cov(input)
    if not made.dim():
        return made / made
    scale = torch.sqrt(made.diag().real if made.is_complex() else made.diag())
    made = made / scale.view(-1, 1) / scale.view(1, -1)
    return torch.complex(made.real.clip(-1, 1), made.imag.clip(-1, 1)) if made.is_complex() else made.clip(-1, 1)


# ---- sequences of several lengths ----


def _pack_padded_sequence(input, lengths, batch_first):
    """Each step has the sequences that are long enough, which come first."""
    if not is_known(lengths) or input.dim() < 2 or not lengths.numel():
        return NotImplemented
    sizes = lengths.tolist()
    rows, steps = input.size(0 if batch_first else 1), input.size(1 if batch_first else 0)
    if len(sizes) != rows or sizes != sorted(sizes, reverse=True) or sizes[-1] <= 0 or sizes[0] > steps:
        return NotImplemented
    counts = [len([size for size in sizes if size > step]) for step in range(sizes[0])]
    input = input if batch_first else input.transpose(0, 1)
    places = [row * steps + step for step, count in enumerate(counts) for row in range(count)]
    return input.flatten(0, 1).index_select(0, torch.tensor(places)), torch.tensor(counts)


def _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length):
    if not is_known(batch_sizes) or not batch_sizes.numel():
        return NotImplemented
    counts = batch_sizes.tolist()
    if counts != sorted(counts, reverse=True) or counts[-1] <= 0:
        return NotImplemented
    steps, rows = max(len(counts), total_length), counts[0]
    if total_length > 0 and total_length < len(counts):
        return NotImplemented
    places = [step * rows + row for step, count in enumerate(counts) for row in range(count)]
    made = data.new_full((steps * rows, *data.shape[1:]), padding_value).index_copy(0, torch.tensor(places), data)
    made = made.view(steps, rows, *data.shape[1:])
    lengths = [len([count for count in counts if count > row]) for row in range(rows)]
    return made.transpose(0, 1) if batch_first else made, torch.tensor(lengths)


def packed_layers(name, data, counts, *rest):
    """The recurrent layers of this name, of sequences that are packed. torch reads the counts themselves."""
    with torch.utils._python_dispatch._disable_current_modes():
        sizes = torch.tensor(counts, device="cpu")
    return getattr(torch._VF, name)(data, sizes, *rest)


def _layers_of(name):
    def run(input, second, *rest):
        packed = len(rest) > 1 and isinstance(rest[1], (list, tuple)) and isinstance(second, torch.Tensor) and is_known(second)
        return packed_layers(name, input, second.tolist(), *rest) if packed else NotImplemented

    return run


# ---- spectra ----


def _window(window, width, n_fft, dtype):
    """A window of `n_fft` elements, of which `width` in the middle are given, or None."""
    if width == n_fft:
        return window
    left = (n_fft - width) // 2
    window = torch.ones(width, dtype=dtype) if window is None else window
    return torch.nn.functional.pad(window, (left, n_fft - width - left))


def unwindowed(input):
    """The input. Torch warns once in a process of a transform without a window: here, if it has not yet."""
    with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
        torch.stft(torch.ones(1), 1, hop_length=1, center=False, return_complex=True)
    return input


_TRANSFORMED = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def _stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """Windows of the input, which overlap, times the window, transformed."""
    hop, width, pad = hop_length or n_fft // 4, win_length or n_fft, n_fft // 2 if center else 0
    real = not input.is_complex() and not (window is not None and window.is_complex())
    onesided = real if onesided is None else onesided
    fits = input.dim() in (1, 2) and 0 < n_fft <= input.size(-1) + 2 * pad and hop > 0 and 0 < width <= n_fft and (real or not onesided)
    fits = fits and input.dtype in _TRANSFORMED and (window is None or window.dtype in _TRANSFORMED)
    if not return_complex or align_to_window or not fits or window is not None and tuple(window.shape) != (width,):
        return NotImplemented
    if window is None:
        input = unwindowed(input)
    if center:
        wide = input.view((1,) * (3 - input.dim()) + tuple(input.shape))
        wide = torch.nn.functional.pad(wide, [pad, pad], pad_mode)
        input = wide.view(wide.shape[-input.dim() :])
    window = _window(window, width, n_fft, input.real.dtype if input.is_complex() else input.dtype)
    frames = input.unfold(-1, n_fft, hop)
    frames = frames if window is None else frames * window
    transform = torch.fft.rfft if onesided else torch.fft.fft
    return transform(frames, dim=-1, norm="ortho" if normalized else "backward").transpose(-1, -2)


def _istft(
    input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None, return_complex=False
):
    """The frames transformed back, times the window, added up where they overlap, and divided by the sum of the squared windows."""
    hop, width = hop_length or n_fft // 4, win_length or n_fft
    fits = input.is_complex() and input.dim() in (2, 3) and 0 < hop <= width <= n_fft and input.numel()
    if return_complex or not fits or window is not None and (window.is_complex() or tuple(window.shape) != (width,)):
        return NotImplemented
    kept = n_fft // 2 + 1
    onesided = input.size(-2) != n_fft if onesided is None else onesided
    if input.size(-2) != (kept if onesided else n_fft):
        return NotImplemented
    window = torch.ones(n_fft, dtype=input.real.dtype) if window is None and width == n_fft else _window(window, width, n_fft, input.real.dtype)
    rows = input if input.dim() == 3 else input.unsqueeze(0)
    count, all = rows.size(2), n_fft + hop * (rows.size(2) - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else all - start
    if not start < end <= all:
        return NotImplemented
    frames = torch.fft.irfft(rows.transpose(1, 2)[..., :kept], n_fft, dim=2, norm="ortho" if normalized else "backward") * window
    places = (torch.arange(count).unsqueeze(1) * hop + torch.arange(n_fft)).flatten()
    made = frames.new_zeros(rows.size(0), all).index_add(1, places, frames.flatten(1))
    weights = window.new_zeros(all).index_add(0, places, window.square().expand(count, n_fft).flatten())[start:end]
    refused_unless(weights.detach().abs().min() >= 1e-11, "window overlap add min")
    made = made[:, start:end] / weights
    return made if input.dim() == 3 else made.squeeze(0)


# ---- losses ----


def _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Lengths that are tensors. Torch reads their elements when it is called."""
    lengths = input_lengths, target_lengths
    if not all([isinstance(one, torch.Tensor) and one.dim() == 1 and one.dtype in (torch.int64, torch.int32) for one in lengths]):
        return NotImplemented
    if all([is_known(one) for one in lengths]):
        return torch.nn.functional.ctc_loss(log_probs, targets, tuple(input_lengths.tolist()), tuple(target_lengths.tolist()), blank, reduction, zero_infinity)
    if log_probs.dim() != 3 or log_probs.dtype not in (torch.float32, torch.float64) or targets.dtype not in (torch.int64, torch.int32):
        return NotImplemented
    loss = _torch_checked.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
    if zero_infinity:
        loss = torch.where(loss == math.inf, torch.zeros((), dtype=loss.dtype), loss)
    if reduction == "mean":
        return (loss / target_lengths.to(loss.dtype).clamp_min(1)).mean()
    return loss.sum() if reduction == "sum" else loss


# ---- sizes that are tensors ----


def _sized(original):
    """A constructor with sizes that are elements of tensors, which capture knows."""

    def known(size):
        return int(size) if isinstance(size, torch.Tensor) else size

    def fits(size):
        return not isinstance(size, torch.Tensor) or not size.dim() and _is_discrete(size)

    def run(*sizes, **kwargs):
        for one in sizes:
            for size in one if isinstance(one, (tuple, list)) else (one,):
                if not fits(size):
                    return NotImplemented
        return original(*[type(one)(known(size) for size in one) if isinstance(one, (tuple, list)) else known(one) for one in sizes], **kwargs)

    return run


MODELS = {
    torch.nn.functional.ctc_loss: _ctc_loss,
    torch.stft: _stft,
    torch.Tensor.stft: _stft,
    torch.istft: _istft,
    torch.Tensor.istft: _istft,
    **{one: _sized(one) for one in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn)},
    **{getattr(torch._VF, name): _layers_of(name) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    torch.cov: _cov,
    torch.Tensor.cov: _cov,
    torch.corrcoef: _corrcoef,
    torch.Tensor.corrcoef: _corrcoef,
    torch._VF._pack_padded_sequence: _pack_padded_sequence,
    torch._VF._pad_packed_sequence: _pad_packed_sequence,
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
    torch.Tensor.unique: _unique,
    torch.unique_consecutive: _unique_consecutive,
    torch.Tensor.unique_consecutive: _unique_consecutive,
    torch.combinations: _combinations,
}
