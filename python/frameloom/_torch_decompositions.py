"""Operations of torch that are compiled as what torch computes them by."""

from __future__ import annotations

import torch
import torch._decomp
from torch._decomp import core_aten_decompositions, get_decompositions

from . import _torch_checked, _torch_gradients, _torch_whole

_known = ([], {})  # the names of all operations when they were asked for, and their table
_below = None  # the table of of_aten()


def core():
    """Core ATen as a dict from operations to functions, without what is compiled as it is (the attention's second result would
    also not be what its gradient expects). Not to be changed."""
    global _known
    names, table = _known
    now = torch._C._dispatch_get_all_op_names()  # others may have been registered; to ask for the table takes far longer
    if names != now:
        table = _ours(core_aten_decompositions())
        _known = now, table
    return table


def of_aten():
    """Those of them that are called below autograd, which takes the others apart itself: a hundredth of the time to ask for."""
    global _below
    if _below is None:
        ask = getattr(torch._decomp, "_core_aten_decompositions_post_autograd", core_aten_decompositions)
        _below = _ours(ask())
    return _below


def _ours(table):
    aten, table = torch.ops.aten, dict(table)
    for op in (
        aten._scaled_dot_product_flash_attention_for_cpu.default, aten.addcmul.default,
        aten.addcdiv.default, aten.lerp.Scalar, aten.lerp.Tensor,
        # In terms of index and index_put these would take other indices, or raise for them what those do.
        aten.index_add.default, aten.index_copy.default, aten.index_fill.int_Scalar, aten.index_fill.int_Tensor,
        aten.take.default,
    ):
        del table[op]
    for packet in (aten.linspace, aten.logspace):  # whole numbers would be those of other ends, and others differ in last digits
        for name in packet.overloads():
            table.pop(getattr(packet, name), None)
    table |= get_decompositions([aten.dist, aten.ldexp, aten._native_batch_norm_legit.no_stats])
    _torch_whole.drop_from(table)
    return table | _torch_gradients.decompositions() | _torch_checked.DECOMPOSITIONS
