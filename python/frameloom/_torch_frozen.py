"""Parameters as constants of an inference graph (`options={"freezing": True}`).

The plan computes once what depends on constants alone (loom-fuse, loom-keep). The frozen graph is used while the parameters
are where they were and unchanged; else the graph with parameters as inputs is, which is compiled when it is needed first.
"""

import torch
from torch.utils._python_dispatch import _disable_current_modes


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


def _version(tensor):
    return 0 if tensor.is_inference() else tensor._version


class Frozen:
    """The frozen graph in front of the one that takes parameters as inputs; `compile` makes either of what is constant."""

    _boxed_call = True

    def __init__(self, constants, compile):
        with _disable_current_modes():
            kept = {i: t.detach() for i, t in constants.items()}  # their memory is given to nobody else
        self.rows = [(i, t.data_ptr(), _version(t)) for i, t in constants.items()]
        self.graph, self.compile, self.general = compile(kept), compile, None

    def __call__(self, inputs):
        for i, address, version in self.rows:
            if inputs[i].data_ptr() != address or _version(inputs[i]) != version:
                self.general = self.general or self.compile({})
                return self.general(inputs)
        return self.graph(inputs)
