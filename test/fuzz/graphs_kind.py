"""Graphs of ATen ops against eager torch, in three ways by the head of a program's text.

DYNAMIC: a graph of random ATen ops (graphs_programs.py), compiled as it is. JOINT: a function of torch operations with its
gradients (graphs_functions.py), traced to one graph of ATen ops. LEVELS: the same through torch.compile, which takes a
hundred times as long.
"""

import contextlib
import logging
import random
import warnings

import graphs_functions
import torch
from graphs_programs import UNIT, Program
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.utils import _pytree as pytree

import frameloom.torch
from frameloom import _torch_whole

logging.disable(logging.ERROR)  # what torch itself does not take is no finding
torch._dynamo.config.fake_tensor_cache_enabled = False  # what is traced once is not looked up again


def make(seed, index):
    rng = random.Random(f"graphs {seed} {index}")
    way = rng.random()
    if way < 0.92:
        return Program(rng).make()
    if way < 0.996:
        return graphs_functions.make(rng, f"JOINT, INTERPRET = {rng.choice(['fake'] * 5 + ['symbolic'])!r}, {rng.random() < 0.9}")
    return graphs_functions.make(rng, "LEVELS = {}")


def check(text):
    scope = {}
    exec(compile(text, "program.py", "exec"), scope)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "DYNAMIC" in scope:
            return check_graph(scope)
        return check_joint(scope) if "JOINT" in scope else check_compiled(scope)


# ---- graphs as they are ----


def fakes_of(arguments, dynamic):
    """Fake tensors for these arguments, with symbols for sizes."""
    mode = FakeTensorMode(shape_env=ShapeEnv() if dynamic else None)
    if not dynamic:
        return mode, [mode.from_tensor(a) for a in arguments]
    return mode, [mode.from_tensor(a, symbolic_context=StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * a.dim()), source=ConstantSource(f"a{i}"))
                  for i, a in enumerate(arguments)]


def graph_of(program, count):
    """The graph module of a program that does nothing but call ops: torch's own tracer takes five times as long."""
    graph = torch.fx.Graph()
    tracer = torch.fx.proxy.GraphAppendingTracer(graph)
    results = program(*[torch.fx.Proxy(graph.placeholder(f"a{i}"), tracer) for i in range(count)])
    graph.output(tuple(result.node for result in results))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def described(module, mode, given):
    """Runs a graph, which leaves with each node the value that tells of its type."""
    values, given = {}, iter(given)
    with mode:
        for node in module.graph.nodes:
            if node.op == "output":
                continue
            values[node] = next(given) if node.op == "placeholder" else node.target(*torch.fx.node.map_arg(node.args, values.get), **torch.fx.node.map_arg(node.kwargs, values.get))
            node.meta["val"] = values[node]


def traced(scope):
    """A graph module of the program's ops, and whether it holds for other arguments. Where all sizes are known the interpreter's
    types are told by tensors, which takes a third of the time that fake ones do."""
    given = scope["arguments"](0)
    module = graph_of(scope["program"], len(given))
    if not scope["DYNAMIC"] and scope["INTERPRET"]:
        described(module, contextlib.nullcontext(), given)
        return module, lambda others: True
    mode, fakes = fakes_of(given, scope["DYNAMIC"])
    described(module, mode, fakes)
    return module, lambda others: not scope["DYNAMIC"] or mode.shape_env.evaluate_guards_for_args(fakes, others)


def check_graph(scope):
    program, arguments = scope["program"], scope["arguments"]
    try:
        module, holds = traced(scope)
    except Exception:  # what torch itself does not take with symbols
        return []
    try:
        compiled = frameloom.torch.compile_graph(module, interpret=scope["INTERPRET"])
    except NotImplementedError:
        return []
    found = []
    for size in (0, 1, 0) if scope["DYNAMIC"] else (0, 0):
        if size and not holds(arguments(size)):
            continue
        given, kept = arguments(size), arguments(size)
        try:
            want, error = program(*arguments(size)), None
        except Exception as raised:
            want, error = None, raised
        try:
            got = compiled(list(given))
        except Exception as raised:
            if error is None:
                return [f"exception: {raised!r} (sizes {size})"]
            continue
        if error is not None and raises_for_results(module, arguments(size)):
            return [f"exception: none instead of {error!r} (sizes {size})"]
        for i, (g, w) in enumerate(zip(got, want or ())):
            found += [f"{row} of result {i} (sizes {size})" for row in tensor_differences(g, w, strides=False, unit=coarsest(module))]
        found += [f"argument {i}: it was changed (sizes {size})" for i, (g, k) in enumerate(zip(given, kept)) if not torch.equal(g, k)]
        if found:
            return [] if contradicts_itself(module, arguments(size)) else found
    return found


def coarsest(module):
    """The unit of the coarsest type of a value on the way: what rounds to it is computed in a wider one where nobody reads it."""
    dtypes = {v.dtype for node in module.graph.nodes for v in pytree.tree_leaves(node.meta.get("val")) if isinstance(v, torch.Tensor)}
    return max([UNIT.get(dtype, 0) for dtype in dtypes], default=0)


def raises_for_results(module, given):
    """Does the graph raise without the calls whose results nobody reads? torch itself leaves those out of its graphs."""
    needed = torch.fx.GraphModule(module, torch.fx.Graph())
    needed.graph.output(needed.graph.graph_copy(module.graph, {}))
    needed.graph.eliminate_dead_code()
    needed.recompile()
    try:
        needed(*given)
    except Exception:
        return True
    return False


def contradicts_itself(module, given):
    """Are the types that torch declares for its results others than those that it gives?"""
    declared = [node.meta["val"] for node in module.graph.nodes if node.op != "output"]
    described(module, contextlib.nullcontext(), given)
    given = [node.meta["val"] for node in module.graph.nodes if node.op != "output"]
    return any(d.dtype != g.dtype for d, g in zip(declared, given) if isinstance(d, torch.Tensor) and isinstance(g, torch.Tensor))


# ---- functions and their gradients in one graph ----


def check_joint(scope):
    program, arguments = scope["program"], scope["arguments"]
    wanted = [i for i, a in enumerate(arguments(0)) if a.requires_grad]

    def both(*given):
        given = [g.detach().requires_grad_(i in wanted) for i, g in enumerate(given)]
        results = program(*given)
        total = total_of(results)
        gradients = torch.autograd.grad(total, [given[i] for i in wanted], allow_unused=True) if isinstance(total, torch.Tensor) and wanted else ()
        return [r.detach() for r in results], list(gradients)

    try:
        first = [a.detach() for a in arguments(0)]
        with _torch_whole.kept_whole():
            module = make_fx(both, decomposition_table=frameloom.torch.decompositions(), tracing_mode=scope["JOINT"], _allow_non_fake_inputs=True)(*first)
        module.graph.eliminate_dead_code()
        module.recompile()
    except Exception:
        return []
    try:
        compiled = frameloom.torch.compile_graph(flat(module), interpret=scope["INTERPRET"])
    except NotImplementedError:
        return []
    found = []
    for size in (0, 0):
        want = [r for part in both(*[a.detach() for a in arguments(size)]) for r in part]
        got = compiled([a.detach() for a in arguments(size)])
        for i, (g, w) in enumerate(zip(got, want)):
            found += [f"{row} of result or gradient {i}" for row in tensor_differences(g, w, strides=False)]
        if found:
            return found
    return found


def flat(module):
    """With one tuple of results."""
    output = next(node for node in module.graph.nodes if node.op == "output")
    output.args = (tuple(r for part in output.args[0] for r in (part if isinstance(part, (list, tuple)) else [part])),)
    module.recompile()
    return module


def total_of(results):
    """A number that depends on every element of the results in a way of its own."""
    return sum((r.double() * torch.cos(torch.arange(r.numel(), dtype=torch.float64).reshape(r.shape))).sum() for r in results if r.requires_grad)


# ---- through torch.compile ----


def outcome(function, arguments):
    """Results, gradients, where results lie; or what it raises."""
    try:
        results = function(*arguments)
        total = total_of(results)
        if isinstance(total, torch.Tensor):
            total.backward()
        return [r.detach() for r in results], [a.grad for a in arguments], places([*arguments, *results]), None
    except Exception as error:
        return [], [], [], error


def places(tensors):
    """For each tensor the first one whose storage it shares, and how many bytes it begins behind that one."""
    found, storages = [], [t.untyped_storage().data_ptr() for t in tensors]
    for tensor, storage in zip(tensors, storages):
        first = storages.index(storage)
        found.append((first, tensor.data_ptr() - tensors[first].data_ptr()))
    return found


def traced_places(scope, size, dynamic):
    """What the results share once torch has traced the program: of two equal calls its own pass keeps one."""
    torch._dynamo.reset()
    return outcome(torch.compile(scope["program"], backend="aot_eager", dynamic=dynamic), scope["arguments"](size))[2]


def check_compiled(scope):
    found = []
    for dynamic, sizes in ((False, (0, 0)), (True, (0, 1, 0))):  # for other sizes a static one would only be compiled again
        torch._dynamo.reset()
        compiled = torch.compile(scope["program"], backend="frameloom", dynamic=dynamic)
        for size in sizes:
            want, got = outcome(scope["program"], scope["arguments"](size)), outcome(compiled, scope["arguments"](size))
            where = f"(dynamic={dynamic}, sizes {size})"
            if (want[3] is None) != (got[3] is None):
                return [f"exception: {got[3]!r} instead of {want[3]!r} {where}"]
            if got[2] != want[2] and got[2] != traced_places(scope, size, dynamic):
                return [f"memory: {got[2]} instead of {want[2]} {where}"]
            for kind, gs, ws in (("result", got[0], want[0]), ("gradient", got[1], want[1])):
                for i, (g, w) in enumerate(zip(gs, ws)):
                    found += [f"{row} of {kind} {i} {where}" for row in tensor_differences(g, w)]
            if found:
                return found
    return found


def tensor_differences(got, want, strides=True, unit=0):
    if got is None or want is None:
        return [] if got is want else [f"presence: {got} instead of {want}"]
    if got.dtype != want.dtype:
        return [f"dtype: {got.dtype} instead of {want.dtype}"]
    if got.shape != want.shape:
        return [f"shape: {tuple(got.shape)} instead of {tuple(want.shape)}"]
    if strides and [s for s, n in zip(got.stride(), got.shape) if n > 1] != [s for s, n in zip(want.stride(), want.shape) if n > 1]:
        return [f"strides: {got.stride()} instead of {want.stride()} for {tuple(want.shape)}"]
    unit = max(unit, UNIT.get(want.dtype, 1e-4), 2e-3 if want.dtype == torch.float32 and strides else 0)
    if not want.dtype.is_floating_point and not want.dtype.is_complex:
        return [] if torch.equal(got, want) else [f"value: {got} instead of {want}".replace("\n", "")[:600]]
    most = float(want.abs().nan_to_num(0, 0, 0).max()) if want.numel() else 1
    if not torch.allclose(got, want, rtol=unit, atol=unit * max(1, most), equal_nan=True):
        return [f"value: {got} instead of {want}".replace("\n", "")[:600]]
    return []
