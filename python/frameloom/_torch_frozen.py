"""Parameters as constants of an inference graph (`options={"freezing": True}`).

What depends on parameters alone is computed once, and a convolution takes a following batch norm into
its weights. Views and conversions of parameters stay in the graph: what the plan makes of these it
makes once as well, in its first run, in the form in which its kernels read it, so that they need no
memory of their own. The frozen graph is used while the parameters are where they were and unchanged; else the
graph with parameters as inputs is, which is compiled when it is needed first.
"""

import operator

import torch
from torch.utils._python_dispatch import _disable_current_modes

aten = torch.ops.aten


def frozen_inputs(inputs):
    """Parameters and buffers among the inputs of the graph that is being compiled: number -> tensor."""
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    if metadata is None:
        return {}
    changed = {i for i, info in enumerate(metadata.input_info) if info.mutates_data or info.mutates_metadata}
    return {
        i: inputs[i]
        for i in metadata.static_input_indices
        if i < len(inputs) and i not in changed and type(inputs[i]) in (torch.Tensor, torch.nn.Parameter)
    }


def _foldable(node, known):
    if node.op != "call_function" or not node.all_input_nodes or not all(n in known for n in node.all_input_nodes):
        return False
    if node.target is operator.getitem:
        return True
    if not isinstance(node.target, torch._ops.OpOverload) or node.target._schema.is_mutable:
        return False
    if torch.Tag.nondeterministic_seeded in node.target.tags:
        return False
    values = node.meta.get("val")
    values = [v for v in (values if isinstance(values, (tuple, list)) else [values]) if v is not None]
    if not values or any(not isinstance(v, torch.Tensor) or not all(type(s) is int for s in v.shape) for v in values):
        return False
    given = sum(n.numel() for k in node.all_input_nodes for n in torch.utils._pytree.tree_leaves(known[k]))
    return sum(v.numel() for v in values) <= given  # what only repeats is better left to the kernels


_CONVERSIONS = {aten._to_copy.default, aten.clone.default, torch.ops.prims.convert_element_type.default}


def _left_to_plan(node):
    """Is it a view or a conversion? The plan makes of its operand at once what a kernel reads."""
    return node.op == "call_function" and (
        node.target in _CONVERSIONS or (isinstance(node.target, torch._ops.OpOverload) and node.target.is_view)
    )


def _wanted(graph, known):
    """What is to be a constant: known, and read by a node that stays."""
    staying = {n for n in graph.nodes if n not in known}
    for node in reversed(graph.nodes):
        if node in known and _left_to_plan(node) and any(user in staying for user in node.users):
            staying.add(node)
    wanted = [n for n in known if n not in staying and any(user in staying for user in n.users)]
    return wanted, staying


def _fold(graph, known):
    for node in graph.nodes:
        if _foldable(node, known):
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: known[n])
            known[node] = node.target(*args, **kwargs)


def _fold_batch_norm(graph, known):
    """conv -> batch norm with known statistics: a convolution with other weights."""
    for norm in graph.nodes:
        if norm.target is not aten._native_batch_norm_legit_no_training.default:
            continue
        conv, gamma, beta, mean, var, _, eps = norm.args
        if conv.target is not aten.convolution.default or len(conv.users) != 1 or conv.args[6]:
            continue
        weight, bias = conv.args[1:3]
        if any(n is not None and n not in known for n in (weight, bias, gamma, beta, mean, var)):
            continue
        if any(user.args[1] != 0 for user in norm.users if user.target is operator.getitem):
            continue
        one = known[mean].double()
        scale = (known[gamma].double() if gamma is not None else 1) / (known[var].double() + eps).sqrt()
        shift = (known[bias].double() if bias is not None else 0) - one
        shift = shift * scale + (known[beta].double() if beta is not None else 0)
        wide = known[weight].double() * scale.reshape(-1, *[1] * (known[weight].dim() - 1))
        dtype = known[weight].dtype
        with graph.inserting_before(norm):
            new_weight, new_bias = (graph.call_function(operator.getitem, (weight, i)) for i in range(2))
            made = graph.call_function(aten.convolution.default, (conv.args[0], new_weight, new_bias, *conv.args[3:]))
        new_weight.meta, new_bias.meta, made.meta = dict(weight.meta), dict(mean.meta), dict(conv.meta)
        known[new_weight], known[new_bias] = wide.to(dtype), shift.to(dtype)
        with conv.meta["val"].fake_mode:
            new_bias.meta["val"] = torch.empty(shift.shape, dtype=dtype)
        for user in list(norm.users):
            user.replace_all_uses_with(made)
            graph.erase_node(user)
        graph.erase_node(norm)


def freeze(module, constants):
    """A module like this one whose inputs of these numbers are constants; the rest stay inputs."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    made = torch.fx.GraphModule(module, graph)
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    with _disable_current_modes(), torch.no_grad():
        known = {placeholders[i]: t.detach() for i, t in constants.items()}
        _fold(graph, known)
        _fold_batch_norm(graph, known)
    wanted, staying = _wanted(graph, known)
    for number, node in enumerate(wanted):
        if not isinstance(known[node], torch.Tensor):
            continue
        made.register_buffer(f"_frozen_{number}", known[node], persistent=False)
        with graph.inserting_before(node):
            constant = graph.get_attr(f"_frozen_{number}")
        constant.meta = dict(node.meta)
        node.replace_all_uses_with(constant, delete_user_cb=lambda user: user in staying)
    graph.eliminate_dead_code()
    for i in constants:
        if not placeholders[i].users:
            graph.erase_node(placeholders[i])
    made.recompile()
    return made


def _version(tensor):
    return 0 if tensor.is_inference() else tensor._version


class Frozen:
    """The frozen graph in front of the one that takes parameters as inputs."""

    _boxed_call = True

    def __init__(self, constants, count, graph, make_general):
        with _disable_current_modes():
            self.kept = [t.detach() for t in constants.values()]  # their memory is given to nobody else
        self.rows = [(i, t.data_ptr(), _version(t)) for i, t in constants.items()]
        self.others = [i for i in range(count) if i not in constants]
        self.graph, self.make_general, self.general = graph, make_general, None

    def __call__(self, inputs):
        for i, address, version in self.rows:
            if inputs[i].data_ptr() != address or _version(inputs[i]) != version:
                self.general = self.general or self.make_general()
                return self.general(inputs)
        return self.graph([inputs[i] for i in self.others])
