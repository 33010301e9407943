"""Sums in backward graphs that need no memory of their own."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def _is_zeros(node):
    return isinstance(node, torch.fx.Node) and node.target is aten.full.default and node.args[1] == 0


def _is_scatter_sum(node):
    """Rows added to zeros: what the gradient of an embedding is."""
    return (isinstance(node, torch.fx.Node) and node.target is aten.index_put.default and len(node.args) == 4
            and node.args[3] is True and _is_zeros(node.args[0]) and len(node.users) == 1)


def _can_be_added_to(node, like):
    if not isinstance(node, torch.fx.Node) or node.op != "call_function" or len(node.users) != 1:
        return False
    value, other = node.meta.get("val"), like.meta.get("val")
    return (isinstance(value, torch.Tensor) and value.dtype in (torch.float32, torch.float64)
            and value.dtype == other.dtype and value.shape == other.shape)


def add_rows_in_place(module):
    """`a + zeros.index_put(rows, values, accumulate)` becomes `a.index_put(rows, values, accumulate)`.

    A weight that is read in several places (an embedding that is also the last layer) has a gradient that is
    such a sum: so it is written once and no second one of its size is made. Only the order of additions differs,
    which is open in a sum of gradients.
    """
    changed = False
    for node in list(module.graph.nodes):
        if node.target is not aten.add.Tensor or node.kwargs or len(node.args) != 2:
            continue
        base, rows = node.args
        if not _is_scatter_sum(rows):
            base, rows = rows, base
        if base is rows or not _is_scatter_sum(rows) or not _can_be_added_to(base, rows):
            continue
        with module.graph.inserting_before(node):
            put = module.graph.call_function(aten.index_put.default, (base, *rows.args[1:]))
        put.meta = dict(node.meta)
        node.replace_all_uses_with(put)
        module.graph.erase_node(node)
        module.graph.erase_node(rows)
        changed = True
    if changed:
        module.recompile()
