"""Ops that torch would decompose while it traces, kept whole, since their compiled code is better than that of the decomposition.

Interpolation: torch's decompositions gather at every corner of every place, and their gradients scatter. Padding by reflection or
with the ends, and roll: they gather, where rows can be copied. Circular padding: torch writes piece after piece into one array.
"""

from __future__ import annotations

import contextlib
import threading

import torch
from torch import _prims_common as utils
from torch._C import DispatchKey
from torch._decomp import meta_table
from torch._decomp.decompositions import upsample_compute_output_size

aten = torch.ops.aten
_NEAREST = tuple(f"{name}{axes}d" for name in ("upsample_nearest", "_upsample_nearest_exact") for axes in (1, 2, 3))
_SMOOTH = ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d")
_KEYS = (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd)


def _with_sizes(op, decomposed):
    """The overload that is called, with sizes or factors, in terms of the one with both; of an image without elements, torch's
    own function."""

    def interpolate(image, output_size, *rest):
        *corners, factors = rest  # nearest: none
        if any(isinstance(n, int) and n == 0 for n in image.size()):
            return decomposed(image, output_size, *rest)
        sizes = upsample_compute_output_size(image.size(), output_size, factors)
        return op(image, sizes, *corners, *(factors or ()))

    return interpolate


def _gradient_meta(gradient, output_size, input_size, *rest):
    """What a gradient is like; torch's own function takes no symbolic sizes."""
    return torch.empty(input_size, dtype=gradient.dtype, device=gradient.device, memory_format=utils.suggest_memory_format(gradient))


def _pad_circular(image, padding):
    """As pieces one after the other, the last axis first; what is cut off is so before anything is repeated."""
    padded = image
    for axis, (low, high) in enumerate(zip(padding[::2], padding[1::2]), 1):
        size, cut = image.size(-axis), max(-low, 0)
        kept = size - cut - max(-high, 0)
        if low > kept or high > kept:  # torch raises, or repeats what it has just written
            return aten._pad_circular.default._op_dk(DispatchKey.CompositeImplicitAutograd, image, padding)
        whole = padded.narrow(-axis, cut, kept)
        before = [whole.narrow(-axis, kept - low, low)] if low > 0 else []
        behind = [whole.narrow(-axis, 0, high)] if high > 0 else []
        padded = torch.cat([*before, whole, *behind], -axis)
    return padded.contiguous()


def _tables():
    """(overload, what takes the place of torch's own functions by dispatch key) of each op."""
    for name in ("reflection_pad", "replication_pad"):
        for axes in (1, 2, 3):
            yield getattr(aten, f"{name}{axes}d").default, {}
            yield getattr(aten, f"{name}{axes}d_backward").default, {}
    yield aten.roll.default, {}
    yield aten._pad_circular.default, dict.fromkeys(_KEYS, _pad_circular)
    for name in _NEAREST + _SMOOTH:
        packet, gradient = getattr(aten, name), getattr(aten, name + "_backward").default
        yield packet.default, {}
        yield packet.vec, dict.fromkeys(_KEYS, _with_sizes(packet.default, packet.vec.py_kernels[DispatchKey.Autograd]))
        yield gradient, {} if gradient in meta_table else {DispatchKey.Meta: _gradient_meta}


_replaced = tuple(_tables())


def drop_from(table):
    """Takes the decompositions of these ops out of a table."""
    for op, _ in _replaced:
        table.pop(op, None)


_lock = threading.Lock()
_saved = []  # torch's own functions by overload, while somebody traces
_tracing = 0


def _replace():
    for op, functions in _replaced:
        _saved.append((op, dict(op.py_kernels)))
        for key in _KEYS:
            op.py_kernels.pop(key, None)
        op.py_kernels.update(functions)
        op._dispatch_cache.clear()


def _restore():
    for op, functions in _saved:
        op.py_kernels.clear()
        op.py_kernels.update(functions)
        op._dispatch_cache.clear()
    _saved.clear()


@contextlib.contextmanager
def kept_whole():
    """While something is traced under it, on however many threads. Only tracing asks for these tables: eager calls do not."""
    global _tracing
    with _lock:
        if not _tracing:
            _replace()
        _tracing += 1
    try:
        yield
    finally:
        with _lock:
            _tracing -= 1
            if not _tracing:
                _restore()
