"""Which device a graph of torch's is compiled for: the one on which its tensors lie."""

from __future__ import annotations

import torch


def _tensors(node):
    value = node.meta.get("val")
    return [part for part in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(part, torch.Tensor)]


def _number(module):
    """The number of the one device that torch calls "cuda" in a graph; None: all is on the CPU."""
    numbers = set()
    for node in module.graph.nodes:
        for part in _tensors(node) if node.op != "output" else ():
            if part.device.type not in ("cpu", "cuda"):
                raise NotImplementedError(f"a tensor on the device {part.device.type}")
            if part.device.type == "cuda":
                numbers.add(part.device.index or 0)
    if len(numbers) > 1:
        raise NotImplementedError("tensors on several devices: " + ", ".join(f"cuda:{n}" for n in sorted(numbers)))
    return numbers.pop() if numbers else None


def _is_token(part):
    """Does it stand for the order of effects? It has no elements."""
    return tuple(part.shape) == (0,)


def _is_moved(node):
    """Does a graph only copy this argument to the device?"""
    return all(user.target in _COPIES and all(part.device.type == "cuda" for part in _tensors(user)) for user in node.users)


_COPIES = (torch.ops.aten._to_copy.default, torch.ops.prims.device_put.default)


def _refuse_hosts(module):
    """In a graph of a device a tensor on the CPU may be an argument without axes, one that is only copied to the device, or made of
    such ones and of constants. All is computed on the device, and results on the CPU are copied from there."""
    for node in module.graph.find_nodes(op="placeholder"):
        for part in _tensors(node):
            if part.device.type == "cpu" and part.ndim and not _is_token(part) and not _is_moved(node):
                raise NotImplementedError(f"an input on the CPU among others on a device: {node.name}")


def name_of(module):
    """The device's name for the runtime, "cuda:0" or "hip:0"; "": the CPU. NotImplementedError says why there is none."""
    number = _number(module)
    if number is None:
        return ""
    _refuse_hosts(module)
    return f"{'hip' if torch.version.hip else 'cuda'}:{number}"


def allows_tf32():
    """torch's own switch for products of float32 on CUDA: `allow_tf32`, `set_float32_matmul_precision`, `fp32_precision`."""
    switch = torch.backends.cuda.matmul
    precision = getattr(switch, "fp32_precision", None)
    return precision == "tf32" if precision is not None else switch.allow_tf32


# ---- operations that are called in torch ----


def _reads_state(op, *places):
    """The op, whose arguments at these places, the state that dropout began with, are read by the host: torch's forward pass leaves it
    there, and a compiled graph on the device. In a stream that is captured the device reads it."""

    def called(*args, **kwargs):
        if not torch.cuda.is_current_stream_capturing():
            args = [value.cpu() if place in places and isinstance(value, torch.Tensor) else value for place, value in enumerate(args)]
        return op(*args, **kwargs)

    return called


# Called in the place of an op, by graphs on a device (frontend/torch/host_run.c).
INSTEAD = {
    op: _reads_state(op, *places)
    for op, places in (
        (torch.ops.aten._scaled_dot_product_efficient_attention_backward.default, (7, 8)),
        (torch.ops.aten._efficient_attention_backward.default, (12, 13)),
    )
}
