"""Random numbers of compiled graphs: Philox in the place of torch's random ops.

A graph draws one seed from torch's generator each time it runs, so that `torch.manual_seed` makes runs
reproducible; each random op of the graph takes its numbers from a Philox sequence of its own under that
seed. The ops are replaced in the joint graph of forward and backward, before it is cut in two: both
parts see the same numbers.
"""

import functools

import torch
from torch._decomp.decompositions_for_rng import extra_random_decomps
from torch.utils.checkpoint import CheckpointPolicy

aten = torch.ops.aten
_library = torch.library.Library("frameloom", "DEF")
_library.define("seed() -> Tensor", tags=(torch.Tag.nondeterministic_seeded,))
_library.define("random(SymInt[] size, Tensor seed, int number, str kind, int low, int high, *, ScalarType dtype) -> Tensor",
                tags=(torch.Tag.pt2_compliant_tag,))


def _seed():
    return torch.randint(-(2**63), 2**63 - 1, (2,), dtype=torch.int64)


@functools.lru_cache(maxsize=64)
def _single(size, number, kind, low, high, dtype):
    """A compiled graph of one draw."""
    from torch._subclasses import FakeTensorMode

    from .torch import compile_graph

    graph = torch.fx.Graph()
    seed = graph.placeholder("seed")
    draw = graph.call_function(torch.ops.frameloom.random.default, (list(size), seed, number, kind, low, high), {"dtype": dtype})
    with FakeTensorMode():
        seed.meta["val"] = torch.empty(2, dtype=torch.int64)
        draw.meta["val"] = torch.empty(size, dtype=dtype)
    graph.output((draw,))
    return compile_graph(torch.fx.GraphModule({}, graph))


def _random(size, seed, number, kind, low, high, *, dtype):
    """The same numbers outside of a compiled graph: a graph that has to run in eager torch draws them too."""
    with torch.utils._python_dispatch._disable_current_modes():
        return _single(tuple(map(int, size)), number, kind, low, high, dtype)([seed])[0]


_library.impl("seed", _seed, "CompositeExplicitAutograd")
_library.impl("random", _random, "CPU")
torch.library.register_fake("frameloom::seed", lambda: torch.empty(2, dtype=torch.int64), lib=_library)
torch.library.register_fake(
    "frameloom::random",
    lambda size, seed, number, kind, low, high, *, dtype: torch.empty(size, dtype=dtype),
    lib=_library,
)


def decompositions():
    """Other distributions in terms of uniform and normal numbers, by torch."""
    return dict(extra_random_decomps)


# Op -> what it draws, and the places of its two parameters or None.
_DRAWS = {
    aten.rand.default: ("uniform", None, None),
    aten.rand_like.default: ("uniform", None, None),
    aten.uniform.default: ("between", 1, 2),
    aten.randn.default: ("normal", None, None),
    aten.randn_like.default: ("normal", None, None),
    aten.normal_functional.default: ("spread", 1, 2),
    torch.ops.prims.normal.default: ("spread", "mean", "std"),
    aten.randint.default: ("integers", None, 0),
    aten.randint.low: ("integers", 0, 1),
    aten.randint_like.default: ("integers", None, 1),
    aten.randint_like.low_dtype: ("integers", 1, 2),
    aten.bernoulli.default: ("hits", None, 0),
    aten.bernoulli.p: ("hits", None, 1),
}


def _size(graph, node):
    """The sizes of a node's result as arguments for another node."""
    sizes = list(node.meta["val"].shape)
    if all(isinstance(size, int) for size in sizes):
        return sizes
    known = [a for a in node.args if isinstance(a, (list, tuple))]
    if known:
        return list(known[0])
    like = node.args[0]
    for axis, size in enumerate(sizes):
        if not isinstance(size, int):
            sizes[axis] = graph.call_function(aten.sym_size.int, (like, axis))
            sizes[axis].meta["val"] = size
    return sizes


def _call(graph, like, target, args, value, **kwargs):
    """A new node where `like` is, with its place in the source, its stage and this result."""
    node = graph.call_function(target, args, kwargs)
    node.meta = {k: v for k, v in like.meta.items() if k != "tensor_meta"} | {"val": value}
    return node


def _parameter(node, place, missing):
    if isinstance(place, str):
        return node.kwargs.get(place, missing)
    return missing if place is None or place >= len(node.args) else node.args[place]


def _replacement(graph, node, seed, number):
    kind, first, second = _DRAWS[node.target]
    value = node.meta["val"]
    wide = torch.float64 if value.dtype == torch.float64 else torch.float32

    def draw(kind, dtype, low=0, high=0):
        args = (_size(graph, node), seed, number, kind, low, high)
        return _call(graph, node, torch.ops.frameloom.random.default, args, value.to(dtype), dtype=dtype)

    def scaled(v, by, plus):
        v = _call(graph, node, aten.mul.Tensor, (v, by), value.to(wide))
        v = _call(graph, node, aten.add.Tensor, (v, plus), value.to(wide))
        return _call(graph, node, torch.ops.prims.convert_element_type.default, (v, value.dtype), value)

    if kind == "integers":
        return draw(kind, value.dtype, _parameter(node, first, 0), _parameter(node, second, 0))
    if kind == "between":
        low, high = _parameter(node, first, 0.0), _parameter(node, second, 1.0)
        return scaled(draw("uniform", wide), high - low, low)
    if kind == "spread":
        return scaled(draw("normal", wide), _parameter(node, second, 1.0), _parameter(node, first, 0.0))
    if kind == "hits":  # an element is 1 with the probability that the parameter tells
        chance = _parameter(node, second, 0.5)
        less = aten.lt.Tensor if isinstance(chance, torch.fx.Node) else aten.lt.Scalar
        hit = _call(graph, node, less, (draw("uniform", wide), chance), value.to(torch.bool))
        return _call(graph, node, torch.ops.prims.convert_element_type.default, (hit, value.dtype), value)
    return draw(kind, value.dtype)


def _replaceable(node):
    """Is it a random op whose parameters are known and whose generator is torch's own?"""
    if node.op != "call_function" or node.target not in _DRAWS:
        return False
    value, (kind, *places) = node.meta["val"], _DRAWS[node.target]
    if value.device.type != "cpu" or node.kwargs.get("generator") is not None or value.dtype.is_complex:
        return False
    if kind == "integers":
        return all(isinstance(_parameter(node, place, 0), int) for place in places) and value.dtype != torch.bool
    if kind in ("between", "spread"):
        known = all(isinstance(_parameter(node, place, 0), (int, float)) for place in places)
        return known and value.dtype.is_floating_point
    return kind == "hits" or value.dtype.is_floating_point


def replace(module):
    """Put Philox in the place of the random ops of a graph; changes the module."""
    graph = module.graph
    nodes = [node for node in graph.nodes if _replaceable(node)]
    if not nodes:
        return
    with nodes[0].meta["val"].fake_mode:
        first = next(node for node in graph.nodes if node.op != "placeholder")
        with graph.inserting_before(first):
            seed = _call(graph, nodes[0], torch.ops.frameloom.seed.default, (), torch.empty(2, dtype=torch.int64))
        # Recomputing a seed would draw another one.
        seed.meta["recompute"] = CheckpointPolicy.MUST_SAVE
        for number, node in enumerate(nodes):
            with graph.inserting_before(node):
                made = _replacement(graph, node, seed, number)
            node.replace_all_uses_with(made)
            graph.erase_node(node)
    graph.lint()
    module.recompile()
