"""Marks that tell torch's partitioner what a forward graph keeps for the backward.

torch's partitioner cuts the joint graph of both in two where the fewest bytes are kept. It never recomputes an operand of a
product in the backward, since it assumes that the operand is stored first. Here a product can compute an operand on the way to
its kernel, when that takes a few operations for each element.
"""

from __future__ import annotations

import operator

import torch
from torch._prims_common import is_contiguous_or_false
from torch.utils.checkpoint import CheckpointPolicy

aten = torch.ops.aten


def _result(norm, index):
    return next((user for user in norm.users if user.target is operator.getitem and user.args[1] == index), None)


def _made_of(graph, norm, result, mean, scale):
    """The norm's result as operations of its input, mean and deviation, to be made again in the backward."""
    x, _, weight, bias, _ = norm.args
    steps = ((aten.sub.Tensor, mean), (aten.mul.Tensor, scale), (aten.mul.Tensor, weight), (aten.add.Tensor, bias))
    for target, operand in steps:
        if operand is None:
            continue
        made = graph.call_function(target, (x, operand))
        with mean.meta["val"].fake_mode:
            value = target(x.meta["val"], operand.meta["val"])
        made.meta = result.meta | {"val": value, "recompute": CheckpointPolicy.MUST_RECOMPUTE}
        x = made
    return x


def _may_be_made_again(norm, result):
    """Is it a norm over the last dimension of what is a matrix in memory, whose result is not one of the graph's, too?"""
    if "recompute" in norm.meta:  # a checkpoint of the user's decides
        return False
    value = norm.args[0].meta["val"]
    known = all(isinstance(size, int) for size in value.shape)
    matrix = is_contiguous_or_false(value) or (known and sum(size > 1 for size in value.shape[:-1]) <= 1)
    read = all(user.op != "output" for user in result.users)
    return matrix and read and len(norm.args[1]) == 1 and value.dtype in (torch.float32, torch.float64)


def keep_seeds(joint):
    """A seed that is drawn again would be another one."""
    for seed in joint.graph.find_nodes(op="call_function", target=torch.ops.frameloom.seed.default):
        seed.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def compute_norms_again(joint):
    """Results of layer norms are made of what is kept for their gradients: input, mean and deviation."""
    graph = joint.graph
    graph.eliminate_dead_code()
    for norm in graph.find_nodes(op="call_function", target=aten.native_layer_norm.default):
        result, mean, scale = (_result(norm, i) for i in range(3))
        if result is None or mean is None or scale is None or not _may_be_made_again(norm, result):
            continue  # only a gradient reads the mean and the deviation
        norm.append(mean)
        mean.append(scale)
        scale.append(result)
        with graph.inserting_before(result):
            made = _made_of(graph, norm, result, mean, scale)
        result.replace_all_uses_with(made)
        graph.erase_node(result)
    joint.recompile()
