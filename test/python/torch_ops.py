"""Samples of torch's own OpInfo database through the backend, compared with eager torch.

A sample is compiled by AOTAutograd alone (no Dynamo: the ops are what is tested here), forward and,
where it is differentiable, backward.
"""

from __future__ import annotations

import warnings
from collections import Counter

import torch
from functorch.compile import aot_function, min_cut_rematerialization_partition
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import frameloom.torch

DECOMPOSITIONS = frameloom.torch.decompositions()


def _clone(tree, grad):
    def one(t):
        if not isinstance(t, torch.Tensor):
            return t
        copy = t.detach().clone(memory_format=torch.preserve_format)
        return copy.requires_grad_(grad and t.requires_grad)

    return pytree.tree_map(one, tree)


def _tensors(tree):
    return [t for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def _run(fn, tensors, grad):
    """Results and gradients; the gradients of the sum of all float results times ramps."""
    out = fn(*tensors)
    grads = []
    if grad:
        leaves = [t for t in tensors if t.requires_grad]
        loss = 0
        for t in _tensors(out):
            if t.requires_grad:
                weight = torch.linspace(0.5, 1.5, max(t.numel(), 1), dtype=torch.float64)
                loss = loss + (t * weight[: t.numel()].reshape(t.shape).to(t.dtype)).sum()
        if isinstance(loss, torch.Tensor) and leaves:
            grads = torch.autograd.grad(loss, leaves, allow_unused=True)
    return out, grads


class Report:
    """What the graphs of one sample became."""

    def __init__(self):
        self.host_calls = Counter()
        self.graphs = []
        self.refused = []


def compiled(fn, report, interpret=False):
    def compile_graph(module, example_inputs):
        try:
            graph = frameloom.torch.compile_graph(module, interpret=interpret)
        except NotImplementedError as e:
            report.refused.append(str(e))
            return frameloom.torch.boxed(module)
        report.graphs.append(graph)
        for version in graph.report():
            for op, reason in version["host_calls"]:
                report.host_calls[f"{op}: {reason}"] += 1
        return graph

    return aot_function(
        fn,
        fw_compiler=compile_graph,
        bw_compiler=compile_graph,
        inference_compiler=compile_graph,
        decompositions=DECOMPOSITIONS,
        partition_fn=min_cut_rematerialization_partition,
    )


def tolerance(op, dtype):
    """OpInfo's own overrides where there are some, else assert_close's."""
    inexact = dtype.is_floating_point or dtype.is_complex  # functions of integers give float32
    rtol, atol = torch.testing._comparison.default_tolerances(dtype if inexact else torch.float32)
    for info in getattr(op, "decorators", None) or ():
        for override in getattr(info, "decorators", None) or (info,):
            for d, t in (getattr(override, "d", None) or {}).items():
                if d == dtype:
                    rtol = max(rtol, getattr(t, "rtol", 0))
                    atol = max(atol, getattr(t, "atol", t if isinstance(t, float) else 0))
    return {"rtol": rtol, "atol": atol}


def check_sample(op, dtype, sample, grad, interpret=False):
    """('same' | 'wrong' | 'skipped' | 'failed', detail, Report)."""
    report = Report()
    tree = ((sample.input, *sample.args), sample.kwargs)
    leaves, spec = pytree.tree_flatten(tree)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def fn(*tensors):
        filled = list(leaves)
        for place, tensor in zip(places, tensors):
            filled[place] = tensor
        args, kwargs = pytree.tree_unflatten(filled, spec)
        return op.op(*args, **kwargs)

    tensors = [leaves[i] for i in places]
    torch.manual_seed(0)
    try:
        expected = _run(fn, _clone(tensors, grad), grad)
    except Exception as e:  # eager refuses: nothing to compare
        return "skipped", f"eager: {type(e).__name__}", report
    torch.manual_seed(42)  # OpInfo's wrappers seed with this when eager torch runs
    try:
        got = _run(compiled(fn, report, interpret), _clone(tensors, grad), grad)
    except Exception as e:
        return "failed", f"{type(e).__name__}: {(str(e).splitlines() or [''])[0][:160]}", report
    try:
        torch.testing.assert_close(
            got, expected, equal_nan=True, check_stride=False, **tolerance(op, dtype)
        )
    except AssertionError as e:
        return "wrong", " ".join(str(e).split())[:300], report
    return "same", "", report


def samples(op, dtype, limit):
    grad = dtype.is_floating_point and op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        for i, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=grad)):
            if i >= limit:
                break
            yield sample, grad
