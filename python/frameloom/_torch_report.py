"""Text of reports on a compiled torch model. Imported when it is first needed."""

import collections
import json
from typing import NamedTuple

import torch

from . import torch as frontend
from ._report import DevicePlan, _count


class HostCall(NamedTuple):
    """An op that runs through torch inside a compiled graph."""

    op: str
    reason: str
    place: str  # "model.py:12", the line of the model, or ""
    count: int

    def __str__(self):
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.op}{times}: {self.reason}" + (f", {self.place}" if self.place else "")


class TorchGraph(NamedTuple):
    """One compiled graph.

    kind        "inference", "forward" or "backward"
    ops         ATen ops in it
    kernels     kernels of the plan
    host_calls  `HostCall`s
    compile_ms  milliseconds, from the disk cache or anew
    cached      from the disk cache?
    text        the captured graph, as MLIR text
    eager       why the whole graph runs in eager torch, or None
    device      where its kernels run: "cpu", "cuda:0", "hip:0"
    device_plans
                for each compiled version on a device a `DevicePlan`: what its calls order there
    """

    kind: str
    ops: int
    kernels: int
    host_calls: list
    compile_ms: float
    cached: bool
    text: str
    eager: str | None
    device: str = "cpu"
    device_plans: tuple = ()


class TorchExplanation:
    """How a model was compiled.

    graphs           `TorchGraph`s in the order in which they were compiled
    break_reasons    why Dynamo has split the model, as text; `graph_break_count` of them
    """

    def __init__(self, name, graphs, break_reasons):
        self.name, self.graphs, self.break_reasons = name, graphs, break_reasons

    graph_count = property(lambda self: len(self.graphs))
    graph_break_count = property(lambda self: len(self.break_reasons))
    op_count = property(lambda self: sum(g.ops for g in self.graphs))
    kernel_count = property(lambda self: sum(g.kernels for g in self.graphs))
    compile_ms = property(lambda self: sum(g.compile_ms for g in self.graphs))

    @property
    def host_calls(self):
        """Those of all graphs."""
        return [call for g in self.graphs for call in g.host_calls]

    def json(self):
        """All fields as JSON text."""
        names = ("name", "graph_count", "graph_break_count", "op_count", "kernel_count", "compile_ms", "break_reasons")
        fields = {name: getattr(self, name) for name in names}
        rows = ("host_calls", "device_plans")
        graphs = [g._asdict() | {name: [row._asdict() for row in getattr(g, name)] for name in rows} for g in self.graphs]
        return json.dumps(fields | {"graphs": graphs}, indent=2)

    def __str__(self):
        calls = sum(c.count for c in self.host_calls)
        lines = [
            f"{self.name}: {_count(self.graph_count, 'graph')}, {_count(self.op_count, 'op')}, "
            f"{_count(self.kernel_count, 'kernel')}, {_count(calls, 'host call')}, "
            f"{_count(self.graph_break_count, 'break')}, {self.compile_ms:.1f} ms"
        ]
        for i, g in enumerate(self.graphs):
            if g.eager is not None:
                lines.append(f"graph {i} ({g.kind}): runs in eager torch: {g.eager}")
                continue
            cached = " from the disk cache" if g.cached else ""
            where = "" if g.device == "cpu" else f" on {g.device}"
            lines.append(
                f"graph {i} ({g.kind}){where}: {_count(g.ops, 'op')}, {_count(g.kernels, 'kernel')}{cached}, {g.compile_ms:.1f} ms"
            )
            lines += [f"  on the device: {plan}" for plan in g.device_plans]
            lines += [f"  through torch: {call}" for call in g.host_calls]
        return "\n".join(lines + [f"break: {reason}" for reason in self.break_reasons])

    def __repr__(self):
        return f"<frameloom.torch.TorchExplanation of {str(self).splitlines()[0]}>"


def _host_calls(version):
    counts = collections.Counter(
        (str(op), reason, place) for (op, reason), place in zip(version["host_calls"], version["host_places"])
    )
    return [HostCall(*key, count) for key, count in counts.items()]


def _describe(kind, made, module, reason):
    if reason is not None:
        ops = sum(node.op == "call_function" for node in module.graph.nodes)
        return TorchGraph(kind, ops, 0, [], 0.0, False, "", reason)
    versions = made.report()
    return TorchGraph(
        kind,
        max((v["ops"] for v in versions), default=0),
        max((v["kernels"] for v in versions), default=0),
        [call for v in versions[:1] for call in _host_calls(v)],
        sum(v["compile_ms"] for v in versions),
        bool(versions) and all(v["cached"] for v in versions),
        made.graph() or "",
        None,
        next((v["device"] for v in versions), "cpu"),
        tuple(DevicePlan(v["device"], **v["device_plan"]) for v in versions if v["device_plan"]),
    )


def _backward(model, inputs, results):
    """Gradients of the results, for their compilation."""
    tensors = [t for t in torch.utils._pytree.tree_leaves(inputs) if isinstance(t, torch.Tensor)]
    tensors += list(model.parameters()) if isinstance(model, torch.nn.Module) else []
    wanted = [t for t in tensors if t.requires_grad]
    results = [t for t in torch.utils._pytree.tree_leaves(results) if isinstance(t, torch.Tensor) and t.requires_grad]
    if wanted and results:
        torch.autograd.grad(results, wanted, [torch.ones_like(t) for t in results], allow_unused=True)


def explain_call(model, args, kwargs):
    """Run a fresh compiled version once and report on it."""
    plain = getattr(model, "_orig_mod", None) or getattr(model, "_torchdynamo_orig_callable", model)
    name = getattr(plain, "__qualname__", None) or type(plain).__qualname__
    made = []

    def backend(module, inputs):
        return frontend.backend(module, inputs)

    breaks = torch._dynamo.utils.counters["graph_break"]
    before = breaks.copy()
    before_listeners = getattr(frontend._listeners, "all", ())
    frontend._listeners.all = (*before_listeners, lambda *row: made.append(row))
    try:
        results = torch.compile(plain, backend=backend)(*args, **kwargs)
        _backward(plain, (args, kwargs), results)
    finally:
        frontend._listeners.all = before_listeners
    reasons = [line for reason, count in (breaks - before).items() for line in [reason.splitlines()[0]] * count]
    return TorchExplanation(name, [_describe(*row) for row in made], reasons)
