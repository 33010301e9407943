"""Results of layer norms that a forward graph need not keep for the backward."""

from __future__ import annotations

import operator

import torch

aten = torch.ops.aten
_VIEWS = {aten.view.default, aten._unsafe_view.default}


def _known(node):
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    return isinstance(value, torch.Tensor) and all(isinstance(size, int) for size in value.shape)


def _norm_under(node):
    """The layer norm over the last dimension whose result, seen as rows, is this value; or None."""
    while node.op == "call_function" and node.target in _VIEWS:
        node = node.args[0]
    if node.op != "call_function" or node.target is not operator.getitem or node.args[1] != 0:
        return None
    norm = node.args[0]
    good = norm.target is aten.native_layer_norm.default and len(norm.args[1]) == 1 and _known(norm.args[0])
    return norm if good and norm.args[0].meta["val"].dtype in (torch.float32, torch.float64) else None


def _part(norm, index):
    """The mean (1) or what the deviation is multiplied by (2), where the forward graph has it."""
    return next((user for user in norm.users if user.target is operator.getitem and user.args[1] == index), None)


def _lies_in_rows(value):
    return value.is_contiguous() or sum(size > 1 for size in value.shape[:-1]) <= 1


def _made_again(graph, rows, x, mean, scale, weight, bias):
    """What the norm gives, in the backward graph: as `rows` lies, its last dimension the one that is normalised."""
    value = rows.meta["val"]
    width = [*value.shape[:-1], 1]

    def make(target, *args):
        node = graph.call_function(target, args)
        values = [arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg for arg in args]
        with value.fake_mode:
            node.meta["val"] = target(*values)
        return node

    made = make(aten.sub.Tensor, make(aten.reshape.default, x, list(value.shape)), make(aten.view.default, mean, width))
    made = make(aten.mul.Tensor, made, make(aten.view.default, scale, width))
    if weight is not None:
        made = make(aten.mul.Tensor, made, weight)
    if bias is not None:
        made = make(aten.add.Tensor, made, bias)
    return made


def _replace(forward, backward, kept, norm, names, visible):
    """Whether `kept`, what the forward graph keeps of a norm's result, could be left out."""
    rows = names[kept.name]
    x, weight, bias = norm.args[0], norm.args[2], norm.args[3]
    parts = [x, _part(norm, 1), _part(norm, 2)]
    output = forward.graph.output_node()
    outputs = list(output.args[0])
    if not _known(kept) or rows.meta["val"].shape[-1] != x.meta["val"].shape[-1]:
        return False
    if any(part is None or part.name not in names for part in parts) or not _lies_in_rows(names[x.name].meta["val"]):
        return False
    missing = [p for p in (weight, bias) if p is not None and p.name not in names]
    if len(missing) > 1 or any(p.op != "placeholder" for p in missing):
        return False
    at = outputs.index(kept, visible)
    if missing:  # a parameter, which is there anyway, is handed over in the result's place
        with backward.graph.inserting_before(rows):
            names[missing[0].name] = backward.graph.placeholder(missing[0].name)
        names[missing[0].name].meta = dict(missing[0].meta)
    outputs[at:at + 1] = missing
    output.args = (tuple(outputs),)
    if isinstance(output.meta.get("desc"), (list, tuple)):
        described = list(output.meta["desc"])
        described[at:at + 1] = [p.meta.get("desc") for p in missing]
        output.meta["desc"] = described
    inputs = [names[part.name] for part in parts] + [None if p is None else names[p.name] for p in (weight, bias)]
    with backward.graph.inserting_before(next(node for node in backward.graph.nodes if node in rows.users)):
        made = _made_again(backward.graph, rows, *inputs)
    rows.replace_all_uses_with(made)
    backward.graph.erase_node(rows)
    del names[kept.name]
    return True


def compute_norms_again(forward, backward, visible):
    """What a forward graph keeps of layer norms' results is made again in the backward graph from what it keeps for their
    gradients: input, mean and deviation. These are a few operations an element, on the way to a product that packs it
    anyway. The first `visible` results are the caller's.
    """
    names = {node.name: node for node in backward.graph.nodes if node.op == "placeholder"}
    outputs = forward.graph.output_node().args[0]
    changed = False
    # The last norm first: what is made again of its input, the result of another, then follows that.
    place = {node: i for i, node in enumerate(forward.graph.nodes)}
    for node in sorted((n for n in outputs[visible:] if isinstance(n, torch.fx.Node)), key=place.get, reverse=True):
        norm = _norm_under(node) if outputs.count(node) == 1 else None
        if norm is not None and node.name in names:
            changed |= _replace(forward, backward, node, norm, names, visible)
    for module in (forward, backward) if changed else ():
        module.graph.eliminate_dead_code()
        module.recompile()
