"""The torch.compile backend: ``torch.compile(model, backend="frameloom")``.

torch's own Dynamo captures the model and AOTAutograd makes forward and backward graphs of core ATen
ops from it; each graph is compiled by frameloom. An op without a lowering runs through torch inside
the compiled graph.
"""

from __future__ import annotations

import logging

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._decomp import core_aten_decompositions, get_decompositions
from functorch.compile import min_cut_rematerialization_partition

from torch.utils._python_dispatch import _disable_current_modes

from frameloom import _native

with _disable_current_modes():  # the probe needs real tensors
    _native.torch_init()

_log = logging.getLogger("frameloom.torch")
OPTIONS = {"cpu": "", "fastmath": False}
MODES = ("default", "max-autotune", "max-autotune-no-cudagraphs", "reduce-overhead")

compiled_graphs: list = []


def _options(mode, options):
    if mode is not None and mode not in MODES:
        raise ValueError(f"frameloom: unknown mode {mode!r}; known are {', '.join(MODES)}")
    unknown = set(options or {}) - set(OPTIONS)
    if unknown:
        raise ValueError(
            f"frameloom: unknown options {', '.join(sorted(unknown))}; known are {', '.join(OPTIONS)}"
        )
    return OPTIONS | dict(options or {})


def compile_graph(module, *, interpret=False, visible=1 << 62, **options):
    """A callable for one FX graph of ATen ops (a ``GraphModule`` with fake tensors in its metadata).

    The first `visible` results may be written to by whoever gets them, so that views among them stay
    views. It takes one list of inputs (tensors and ints) and gives a tuple of results. Raises
    ``NotImplementedError`` with the reason when the graph cannot be compiled.
    """
    known = _options(None, options)
    with _disable_current_modes():  # constants of the module are real tensors
        graph = _native.torch_compile(module, known["cpu"], interpret, known["fastmath"], visible)
    compiled_graphs.append(graph)
    return graph


def boxed(module):
    """The graph module itself as a callable with one list of inputs: runs in eager torch."""

    def run(inputs):
        return module(*inputs)

    run._boxed_call = True
    return run


def decompositions():
    """Core ATen, without what is compiled as it is (the attention's second result would also not be
    what its gradient expects)."""
    aten, table = torch.ops.aten, dict(core_aten_decompositions())
    for op in (
        aten._scaled_dot_product_flash_attention_for_cpu.default, aten.addcmul.default,
        aten.addcdiv.default, aten.lerp.Scalar, aten.lerp.Tensor,
    ):
        del table[op]
    return table | get_decompositions([aten.dist, aten.ldexp])


def _forward_results():
    """How many results of a forward graph are the user's; the others are kept for the backward."""
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    return metadata.num_forward if metadata else 1 << 62


def _backend(module, example_inputs, mode, options, interpret):
    options = _options(mode, options)

    def compiler(graph_module, visible):
        try:
            return compile_graph(graph_module, interpret=interpret, visible=visible, **options)
        except NotImplementedError as e:
            _log.warning("a graph runs in eager torch: %s", e)
            return boxed(graph_module)

    aot = aot_autograd(
        fw_compiler=lambda graph, inputs: compiler(graph, _forward_results()),
        bw_compiler=lambda graph, inputs: compiler(graph, 0),  # gradients are accumulated in place
        inference_compiler=lambda graph, inputs: compiler(graph, 1 << 62),
        decompositions=decompositions(),
        partition_fn=min_cut_rematerialization_partition,
    )
    return aot(module, example_inputs)


def backend(module, example_inputs, *, mode=None, options=None):
    """Compiles an FX graph that Dynamo has captured."""
    return _backend(module, example_inputs, mode, options, False)


def backend_interpret(module, example_inputs, *, mode=None, options=None):
    """The same with the reference interpreter in place of kernels: to find a wrong answer."""
    return _backend(module, example_inputs, mode, options, True)
