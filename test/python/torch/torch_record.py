"""A graph of ATen ops from one run of a function on real tensors: a few milliseconds, where
AOTAutograd needs a hundred.

The function runs under torch's C++ functionalisation and a dispatch mode that decomposes ops by the
backend's table and writes down the others. So the graph has the ops that AOTAutograd would hand to the
backend: functional, decomposed, forward and backward (what the function does with
`torch.autograd.grad` is recorded like all else), but in one graph that no partitioner has cut. Each
node's meta is the real tensor that torch computed.
"""

from __future__ import annotations

import operator

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
SAME_TENSOR = frozenset([aten.detach.default, aten.alias.default, aten.lift_fresh.default, aten.lift.default])
MASKS = (torch.bool, torch.uint8)
TAGS = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)


class NotRecorded(Exception):
    """The function needs AOTAutograd or Dynamo: results depend on data, inputs are written or sparse."""


class Recorded:
    """What `frameloom.torch.compile_graph` reads of a GraphModule; made into a real one when it is called."""

    def __init__(self, graph):
        self.graph = graph

    def __call__(self, *inputs):
        root = {name: value for name, value in vars(self).items() if name.startswith("_constant")}
        module = torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())
        for name, value in root.items():
            setattr(module, name, value)
        return torch.fx.Interpreter(module, graph=self.graph).run(*inputs)


class Recorder(TorchDispatchMode):
    """Writes ops down while they run. What it knows of an op (how it is decomposed, whether it is
    refused) is kept in `known`, which lives as long as the table of decompositions."""

    def __init__(self, decompositions, known):
        super().__init__()
        self.decompositions, self.known = decompositions, known
        self.module = Recorded(torch.fx.Graph())
        self.nodes, self.alive, self.constants = {}, [], 0

    def add_input(self, tensor):
        node = self.module.graph.placeholder(f"primals_{len(self.nodes)}")
        self._define(node, tensor)

    def _define(self, node, tensor):
        node.meta["val"] = tensor
        self.nodes[id(tensor)] = node
        self.alive.append(tensor)  # so that no other tensor gets its id

    def node_of(self, tensor):
        node = self.nodes.get(id(tensor))
        if node is None:
            name = f"_constant{self.constants}"
            self.constants += 1
            setattr(self.module, name, tensor)
            node = self.module.graph.create_node("get_attr", name)
            self._define(node, tensor)
        return node

    def _argument(self, value):
        if isinstance(value, torch.Tensor):
            return self.node_of(value)
        if isinstance(value, (list, tuple)):
            return [self._argument(item) for item in value]
        return value

    def _way(self, op):
        """A function that stands for the op, None when it is written down, False when it is refused."""
        if op in self.decompositions:
            return self.decompositions[op]
        if op._schema.is_mutable or any(tag in op.tags for tag in TAGS) and op is not aten.index.Tensor:
            return False
        composite = torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")
        return op.decompose if composite else None

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if op not in self.known:
            self.known[op] = self._way(op)
        way = self.known[op]
        if way is False:
            raise NotRecorded(str(op))
        if way is not None:
            with self:
                result = way(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return self._write_down(op, args, kwargs)

    def _write_down(self, op, args, kwargs):
        if op is aten.index.Tensor and any(i is not None and i.dtype in MASKS for i in args[1]):
            raise NotRecorded("a mask")
        result = op(*args, **kwargs)
        if op in SAME_TENSOR:
            node = self.node_of(args[0])
            self.nodes[id(result)] = node
            self.alive.append(result)
            return result
        if op is aten._linalg_check_errors.default:  # it has raised, or does nothing
            return result
        given = [self._argument(a) for a in args]
        node = self.module.graph.create_node(
            "call_function", op, tuple(given), {k: self._argument(v) for k, v in kwargs.items()}
        )
        node.meta["val"] = result
        if isinstance(result, torch.Tensor):
            self._result(node, result)
        elif isinstance(result, (tuple, list)):
            for i, item in enumerate(result):
                if isinstance(item, torch.Tensor):
                    self._result(self.module.graph.call_function(operator.getitem, (node, i)), item)
        else:
            raise NotRecorded(f"{op} gives no tensor")
        return result

    def _result(self, node, tensor):
        if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
            raise NotRecorded(f"a result of the layout {tensor.layout}")
        self._define(node, tensor)

    def finish(self, results):
        """The module; `results` are tensors or other objects."""
        graph = self.module.graph
        graph.output(tuple(self._argument(r) for r in results))
        for node in reversed(graph.nodes):
            if node.op not in ("placeholder", "output") and not node.users and not _draws(node.target):
                graph.erase_node(node)
        return self.module


def _draws(target):
    return isinstance(target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def _wrapped(recorder, tensor):
    if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided or tensor.device.type not in ("cpu", "cuda"):
        raise NotRecorded("an input that is no plain tensor")
    inner = tensor.detach()
    recorder.add_input(inner)
    return torch._to_functional_tensor(inner).requires_grad_(tensor.requires_grad)


def _unwrapped(recorder, value):
    if not isinstance(value, torch.Tensor):
        return value
    if not torch._is_functional_tensor(value):
        return value.detach()
    torch._sync(value)
    return torch._from_functional_tensor(value).detach()


def record(fn, tensors, decompositions, known):
    """(module, distinct tensors it takes, spec): `fn(*tensors)` as a graph; what the graph returns,
    unflattened by the spec, is what the function returns. Raises NotRecorded, or what `fn` raises."""
    recorder = Recorder(decompositions, known)
    inputs = list({id(t): t for t in tensors}.values())
    torch._enable_functionalization(reapply_views=True)
    try:
        wrapped = {id(t): _wrapped(recorder, t) for t in inputs}
        with recorder:
            leaves, spec = pytree.tree_flatten(fn(*(wrapped[id(t)] for t in tensors)))
            for t in wrapped.values():
                torch._sync(t)
            results = [_unwrapped(recorder, leaf) for leaf in leaves]
        if any(torch._functionalize_has_data_mutation(t) for t in wrapped.values()):
            raise NotRecorded("a written input")
    finally:
        torch._disable_functionalization()
    return recorder.finish(results), inputs, spec
