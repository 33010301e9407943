"""The torch.compile backend: ``torch.compile(model, backend="frameloom")``.

torch's own Dynamo captures the model and AOTAutograd makes forward and backward graphs of core ATen
ops from it; each graph is compiled by frameloom. An op without a lowering runs through torch inside
the compiled graph.
"""

from __future__ import annotations

import copy
import dataclasses
import logging
import re
import threading
import weakref

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.exc import RestartAnalysis, SkipFrame
from functorch.compile import min_cut_rematerialization_partition

from torch.utils._python_dispatch import _disable_current_modes

from frameloom import _device, _native
from frameloom._config import Patchable

with _disable_current_modes():  # the probe needs real tensors
    _native.torch_init()

from frameloom import _torch_decompositions, _torch_devices, _torch_partition, _torch_random, _torch_whole  # noqa: E402

_log = logging.getLogger("frameloom.torch")
MODES = ("default", "max-autotune", "max-autotune-no-cudagraphs", "reduce-overhead")


@dataclasses.dataclass(slots=True)
class Options:
    """What `torch.compile(..., options={...})` may hold.

    cpu              "" (frameloom.config.cpu), "native", "x86-64-v3" or "x86-64-v4"
    fastmath         allow contraction and reassociation
    fallback_random  random ops run through torch and give eager torch's numbers; else they are Philox
                     of ours, seeded from torch's generator
    freezing         without gradients, parameters and buffers become constants: what depends on them
                     alone is computed once, weights are packed once. They are looked at in each call; one that was changed
                     (but through `.data`) makes the graph with parameters as inputs run
    cudagraphs       on devices, order the launches of a call as graphs of the driver, as `mode="reduce-overhead"` and
                     `mode="max-autotune"` do, and `frameloom.config.cudagraphs` unless the mode is "max-autotune-no-cudagraphs".
                     Arguments are read where they lie, and results are new tensors in each call
    strict           raise what goes wrong while a graph is prepared or compiled; else eager torch runs that graph, and a
                     warning says why
    """

    cpu: str = ""
    fastmath: bool = False
    fallback_random: bool = False
    freezing: bool = False
    cudagraphs: bool = False
    strict: bool = False


class Config(Options, Patchable):
    """Defaults of the options: `frameloom.torch.config.fallback_random = True`."""

    __slots__ = ()


config = Config()


class CompiledGraphs:
    """The compiled graphs that are still alive, in the order in which they were made."""

    def __init__(self):
        self._references = []

    def _alive(self):
        self._references = [r for r in self._references if r() is not None]
        return [graph for r in self._references if (graph := r()) is not None]

    def append(self, graph):
        """Remember a graph for as long as somebody else does."""
        self._references.append(weakref.ref(graph))

    def clear(self):
        """Forget all; they stay compiled."""
        self._references.clear()

    def __len__(self):
        return len(self._alive())

    def __iter__(self):
        return iter(self._alive())

    def __getitem__(self, index):
        return self._alive()[index]

    def __repr__(self):
        return f"<frameloom.torch.compiled_graphs: {len(self)}>"


compiled_graphs = CompiledGraphs()


def _options(mode, options):
    if mode is not None and mode not in MODES:
        raise ValueError(f"frameloom: unknown mode {mode!r}; known are {', '.join(MODES)}")
    known = {field.name: type(field.default) for field in dataclasses.fields(Options)}
    unknown = set(options or {}) - set(known)
    if unknown:
        raise ValueError(
            f"frameloom: unknown options {', '.join(sorted(unknown))}; known are {', '.join(known)}"
        )
    made = Options(**{name: getattr(config, name) for name in known} | dict(options or {}))
    for name, kind in known.items():
        if not isinstance(getattr(made, name), kind):
            raise TypeError(f"frameloom: the option {name} is a {kind.__name__}, not {getattr(made, name)!r}")
    if mode in ("max-autotune", "reduce-overhead"):
        made.cudagraphs = True
    elif mode != "max-autotune-no-cudagraphs":
        made.cudagraphs |= bool(_native.get_setting("cudagraphs"))
    if made.cpu not in ("", "native", "x86-64-v3", "x86-64-v4"):
        raise ValueError(f"frameloom: unknown cpu {made.cpu!r}; known are native, x86-64-v3, x86-64-v4")
    return made


def compile_graph(module, *, interpret=False, visible=1 << 62, **options):
    """A callable for one FX graph of ATen ops (a ``GraphModule`` with fake tensors in its metadata).

    The first `visible` results may be written to by whoever gets them, so that views among them stay
    views. It takes one list of inputs (tensors and ints) and gives a tuple of results. Raises
    ``NotImplementedError`` with the reason when the graph cannot be compiled.
    """
    return _compile_graph(module, _options(None, options), interpret, visible)


def _refuse(module):
    """Graphs with inputs that are not dense are not compiled."""
    for node in module.graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
            raise NotImplementedError(f"an input of the layout {value.layout}")
        if isinstance(value, torch.SymInt) and value.node.is_nested_int():
            raise NotImplementedError("a nested tensor")


def _compile_graph(module, options, interpret, visible, gradients=False, constants=None):
    """`constants` are tensors that inputs of these numbers are taken to be, whatever is passed for them."""
    _refuse(module)
    device = _torch_devices.name_of(module)
    if device:
        _device.watch(device)
    if device and interpret:
        raise NotImplementedError("the interpreter runs on the CPU")
    with _disable_current_modes():  # constants of the module are real tensors
        cpu = options.cpu or _native.get_setting("cpu")
        fastmath = options.fastmath or _native.get_setting("fastmath")
        tf32 = bool(device) and _torch_devices.allows_tf32()
        graph = _native.torch_compile(module, cpu, interpret, fastmath, visible, gradients, constants or {}, device, options.cudagraphs, tf32)
    compiled_graphs.append(graph)
    return graph


def boxed(module):
    """The graph module itself as a callable with one list of inputs: runs in eager torch."""

    def run(inputs):
        return module(*inputs)

    run._boxed_call = True
    return run


def decompositions(fallback_random=True):
    """Core ATen, without what is compiled as it is."""
    table = _torch_decompositions.core()
    return dict(table) if fallback_random else table | _torch_random.decompositions()


def _traced():
    """The context of what is being traced and what AOTAutograd knows of its forward graph, or None."""
    context = torch._guards.TracingContext.try_get()
    return context, context.fw_metadata if context else None


def _forward_results():
    """How many results of a forward graph are the user's, behind those that say in which order effects come; the others are
    kept for the backward."""
    _, metadata = _traced()
    return len(metadata.tokens) + metadata.num_forward if metadata else 1 << 62


def _effects():
    """How many results of a forward graph stand for effects: AOTAutograd takes them away before it counts."""
    _, metadata = _traced()
    return len(metadata.tokens) if metadata else 0


_HANDED_ON = ("non_alias", "unsafe_view_alias", "custom_function_view")


def _own_results():
    """Numbers of the forward graph's results that AOTAutograd hands on as they are; what aliases an argument or another result
    it makes again, of strides and offset that it reads from ours."""
    _, metadata = _traced()
    if not metadata:
        return frozenset()
    kinds = [info.output_type.name for info in metadata.output_info]
    first = metadata.num_forward_returns - metadata.num_intermediate_bases - len(kinds) + _effects()
    return frozenset(first + i for i, kind in enumerate(kinds) if kind in _HANDED_ON)


def _tell_strides(graph):
    """Tells AOTAutograd how the tensors lie that a forward graph keeps for the backward: those that torch would keep as
    views with gaps have none here."""
    context, _ = _traced()
    told = context.output_strides if context else None
    if told == [] and hasattr(graph, "result_strides"):
        visible = _forward_results()
        strides = [s if i >= visible else None for i, s in enumerate(graph.result_strides())]
        told.extend(strides[_effects():])


def _take_strides(module, inputs):
    """The backward graph's saved tensors as they are handed over (`_tell_strides`): else they would be copied."""
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node, given in zip(placeholders, inputs):
        traced = node.meta.get("val")
        both = isinstance(traced, torch.Tensor) and isinstance(given, torch.Tensor)
        if not both or given is traced or any(user.target in _READ_STORAGE for user in node.users):
            continue
        if given.stride() != traced.stride():
            with traced.fake_mode:
                node.meta["val"] = torch.empty_strided(traced.size(), given.stride(), dtype=traced.dtype)


_READ_STORAGE = {torch.ops.aten.as_strided.default, torch.ops.aten.as_strided_scatter.default}


def _graph_name(module, kind):
    """For logs: "forward, inference", "step from line 12, backward": the user's function in which the graph begins."""
    for node in module.graph.nodes:
        frame = re.search(r'File "[^"]*", line \d+, in (\S+)', node.meta.get("stack_trace") or "")
        if frame:
            part = re.fullmatch(r"torch_dynamo_resume_in_(.+)_at_(\d+)", frame[1])
            place = f"{part[1]} from line {part[2]}" if part else frame[1]
            return f"{place}, {kind}"
    return f"torch graph, {kind}"


def _why(error):
    """The reason of a failure, for users: what is refused for a reason says it all, else the kind of exception does."""
    text = str(error).strip().partition("\n")[0]
    return text if isinstance(error, NotImplementedError) else f"{type(error).__name__}: {text}"


def _try(options, what, function, *args):
    """(what the function gives, None); or, where it fails, (None, why), with a warning of what follows from that. Under
    `strict` it raises."""
    try:
        return function(*args), None
    except (RestartAnalysis, SkipFrame):  # no failures: Dynamo begins again knowing more, or leaves the function alone
        raise
    except Exception as error:
        if options.strict:
            raise
        reason = _why(error)
        _log.warning("%s: %s", what, reason)
        return None, reason


def _rewrite(module, options, step):
    """Changes a graph. Where that fails, the graph stays as it was."""
    before = copy.deepcopy(module.graph)
    what = f"a graph is compiled as it is: {step.__name__} of {module._get_name()} failed"
    _, reason = _try(options, what, step, module)
    if reason is not None:
        module.graph = before


def _backend(module, example_inputs, mode, options, interpret):
    options = _options(mode, options)
    made, reason = _try(options, "a function runs in eager torch", _compiled, module, example_inputs, options, interpret)
    return made if reason is None else module.forward


def _compiled(module, example_inputs, options, interpret):
    def compiler(graph_module, kind, visible, constants=None):
        graph_module._frameloom_name = _graph_name(module, kind)
        graph_module._frameloom_own = _own_results() if kind != "backward" else frozenset()
        made, reason = _try(
            options, "a graph runs in eager torch", _compile_graph, graph_module, options, interpret, visible,
            kind == "backward", constants
        )
        if reason is not None:
            made = boxed(graph_module)
        for heard in getattr(_listeners, "all", ()):
            heard(kind, made, graph_module, reason)
        return made

    def inference(graph_module, inputs):
        def compile(constants):
            return compiler(graph_module, "inference", 1 << 62, constants)

        count = sum(node.op == "placeholder" for node in graph_module.graph.nodes)
        if not options.freezing or torch.is_grad_enabled() or count != len(example_inputs):
            return compile({})
        from ._torch_frozen import Frozen, frozen_inputs

        constants = frozen_inputs(example_inputs)
        return Frozen(constants, compile) if constants else compile({})

    def partition(joint, *args, **keywords):
        _torch_partition.keep_seeds(joint)
        _rewrite(joint, options, _torch_partition.compute_norms_again)
        return min_cut_rematerialization_partition(joint, *args, **keywords)

    def forward(graph_module, inputs):
        made = compiler(graph_module, "forward", _forward_results())
        _tell_strides(made)
        return made

    def backward(graph_module, inputs):
        _try(options, "inputs of a backward graph are copied", _take_strides, graph_module, inputs)
        return compiler(graph_module, "backward", 0)  # gradients are accumulated in place

    aot = aot_autograd(
        fw_compiler=forward,
        bw_compiler=backward,
        inference_compiler=inference,
        decompositions=decompositions(options.fallback_random),
        partition_fn=partition,
    )
    with _torch_whole.kept_whole():
        return aot(module, example_inputs)


def backend(module, example_inputs, *, mode=None, options=None):
    """Compiles an FX graph that Dynamo has captured."""
    return _backend(module, example_inputs, mode, options, False)


def backend_interpret(module, example_inputs, *, mode=None, options=None):
    """The same with the reference interpreter in place of kernels: to find a wrong answer."""
    return _backend(module, example_inputs, mode, options, True)


def compile_exported(program, **options):
    """A callable for a program of `torch.export.export`, with the model's own calling convention.

    It holds the program's parameters and buffers, writes the buffers and inputs that the model changes,
    takes the sizes that the program was exported for, and computes no gradients. Raises RuntimeError
    or TypeError for other inputs, NotImplementedError when the program cannot be compiled.
    """
    from ._torch_export import CompiledExport

    return CompiledExport(program, options)


_listeners = threading.local()  # of this thread's compilations


def explain(model, *args, **kwargs):
    """Call the model once, compiled, and tell how it was: a `TorchExplanation`.

    Where the results have gradients with regard to inputs and parameters, these are computed (and
    dropped), so that the backward is reported too. The model's own compiled versions are left alone.
    """
    from ._torch_report import explain_call

    return explain_call(model, args, kwargs)
