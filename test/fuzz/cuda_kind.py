"""Graphs of ATen ops (graphs_kind.py) whose tensors are on CUDA, through the torch backend and the driver of the tests, beside
eager torch on the CPU. Sizes are known: a plan on a device is for known sizes."""

import random
import resource
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)  # the driver keeps many addresses for its memory

import cuda_tensors  # noqa: E402
from graphs_kind import coarsest, contradicts_itself, described, graph_of, tensor_differences  # noqa: E402
from graphs_programs import Program  # noqa: E402

import frameloom.torch  # noqa: E402

cuda_tensors.install()


def make(seed, index):
    return Program(random.Random(f"cuda {seed} {index}")).make()


def on_cuda(tensor):
    """The same elements, lying in the same way."""
    tensor = tensor.resolve_conj().resolve_neg()
    whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    return whole.cuda().as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def traced(program, fakes, mode):
    """What makes tensors makes them on CUDA."""
    module = graph_of(program, len(fakes))
    for node in module.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is not None and any(argument.name == "device" for argument in schema.arguments):
            node.kwargs = {**node.kwargs, "device": torch.device("cuda:0")}
    described(module, mode, fakes)
    module.recompile()
    return module


def check(text):
    scope = {}
    exec(compile(text, "program.py", "exec"), scope)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_graph(scope["program"], scope["arguments"])


def check_graph(program, arguments):
    mode = FakeTensorMode()
    try:
        module = traced(program, [mode.from_tensor(on_cuda(a)) for a in arguments(0)], mode)
    except Exception:  # what torch itself does not take
        return []
    try:
        graphs = len(module.graph.nodes) % 2 == 1  # the driver's, in every second program
        compiled = frameloom.torch.compile_graph(module, cudagraphs=graphs)
    except NotImplementedError:
        return []
    found = []
    for _ in range(2 + graphs):
        try:
            want, error = program(*arguments(0)), None
        except Exception as raised:
            want, error = None, raised
        given = [on_cuda(a) for a in arguments(0)]
        try:
            got = compiled(list(given))
            frameloom.device("cuda:0").synchronize()  # tells of indices out of bounds
        except Exception as raised:
            if error is None:
                return [f"exception: {raised!r}"]
            continue
        if error is not None:
            continue  # a call whose result nobody reads may have raised it, and torch leaves such calls out
        for i, (g, w) in enumerate(zip(got, want)):
            if g.device.type != "cuda":
                return [f"device: {g.device} of result {i}"]
            found += [f"{row} of result {i}" for row in tensor_differences(g.cpu(), w, strides=False, unit=coarsest(module))]
        found += [f"argument {i}: it was changed" for i, (g, a) in enumerate(zip(given, arguments(0))) if not torch.equal(g.cpu(), a)]
        if found:
            return [] if contradicts_itself(module, given) else found
    return found
