"""Random numbers of compiled graphs: Philox in the place of torch's random ops.

A graph draws one seed from torch's generator each time it runs, that of the device on which its tensors lie, so that `torch.manual_seed` makes runs
reproducible; each random op of the graph takes its numbers from a Philox sequence of its own under that
seed. torch's ops are decomposed into these while forward and backward are traced as one graph: a draw is
a function of the seed, so that both parts see the same numbers, kept or made again.
"""

import functools

import torch
from torch._decomp import decomposition_table
from torch._decomp.decompositions_for_rng import extra_random_decomps
from torch._prims_common import compute_elementwise_output_logical_to_physical_perm, is_contiguous_or_false
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from . import _torch_checked

aten = torch.ops.aten
_library = torch.library.Library("frameloom", "DEF")
_library.define("seed(*, Device? device=None) -> Tensor", tags=(torch.Tag.nondeterministic_seeded,))
_library.define("random(SymInt[] size, Tensor seed, int number, str kind, int low, int high, *, ScalarType dtype) -> Tensor",
                tags=(torch.Tag.pt2_compliant_tag,))


def _seed(device=None):
    return torch.randint(-(2**63), 2**63 - 1, (2,), dtype=torch.int64, device=device)


@functools.lru_cache(maxsize=64)
def _single(size, number, kind, low, high, dtype, device):
    """A compiled graph of one draw."""
    from torch._subclasses import FakeTensorMode

    from .torch import compile_graph

    graph = torch.fx.Graph()
    seed = graph.placeholder("seed")
    draw = graph.call_function(torch.ops.frameloom.random.default, (list(size), seed, number, kind, low, high), {"dtype": dtype})
    with FakeTensorMode():
        seed.meta["val"] = torch.empty(2, dtype=torch.int64, device=device)
        draw.meta["val"] = torch.empty(size, dtype=dtype, device=device)
    graph.output((draw,))
    return compile_graph(torch.fx.GraphModule({}, graph))


def _random(size, seed, number, kind, low, high, *, dtype):
    """The same numbers outside of a compiled graph: a graph that has to run in eager torch draws them too."""
    with torch.utils._python_dispatch._disable_current_modes():
        return _single(tuple(map(int, size)), number, kind, low, high, dtype, seed.device)([seed])[0]


_library.impl("seed", _seed, "CompositeExplicitAutograd")
_library.impl("random", _random, "CPU")
_library.impl("random", _random, "CUDA")
torch.library.register_fake("frameloom::seed", lambda device=None: torch.empty(2, dtype=torch.int64, device=device), lib=_library)
torch.library.register_fake(
    "frameloom::random",
    lambda size, seed, number, kind, low, high, *, dtype: torch.empty(size, dtype=dtype, device=seed.device),
    lib=_library,
)


# ---- torch's ops in terms of these ----------------------------------------------------------------------


def _next_draw(device):
    """The seed of the graph that is being traced, made with its first draw on a device, and the number of the next draw."""
    tracer = get_proxy_mode().tracer
    if not hasattr(tracer, "frameloom_seeds"):
        tracer.frameloom_seeds, tracer.frameloom_draws = {}, 0
    if device not in tracer.frameloom_seeds:
        where = {} if device.type == "cpu" else {"device": device}
        tracer.frameloom_seeds[device] = torch.ops.frameloom.seed(**where)
    tracer.frameloom_draws += 1
    return tracer.frameloom_seeds[device], tracer.frameloom_draws - 1


def _device(given):
    """The device that a call's numbers are for."""
    like, device = given.get("self"), given.get("device")
    return torch.device(device if device is not None else "cpu" if like is None else like.device)


def _draw(given, kind, dtype, low=0, high=0):
    """A draw of the sizes that a call's arguments ask for; one like a tensor lies as that does."""
    like, layout = given.get("self"), given.get("memory_format")
    if like is None:
        size = given["shape"] if "shape" in given else given["size"]
        return torch.ops.frameloom.random(size, *_next_draw(_device(given)), kind, low, high, dtype=dtype)
    if layout not in (None, torch.preserve_format) or is_contiguous_or_false(like):
        made = _draw({"size": like.shape, "device": _device(given)}, kind, dtype, low, high)
        return made if layout in (None, torch.preserve_format) else made.contiguous(memory_format=layout)
    order, _ = compute_elementwise_output_logical_to_physical_perm(like)
    made = _draw({"size": [like.shape[axis] for axis in order], "device": _device(given)}, kind, dtype, low, high)
    return made.permute(sorted(range(like.ndim), key=order.__getitem__))


# Op -> what it draws, and the names of its two parameters or None.
_DRAWS = {
    aten.rand.default: ("uniform", None, None),
    aten.rand_like.default: ("uniform", None, None),
    aten.uniform.default: ("between", "from", "to"),
    aten.randn.default: ("normal", None, None),
    aten.randn_like.default: ("normal", None, None),
    aten.normal_functional.default: ("spread", "mean", "std"),
    torch.ops.prims.normal.default: ("spread", "mean", "std"),
    aten.randint.default: ("integers", None, "high"),
    aten.randint.low: ("integers", "low", "high"),
    aten.randint_like.default: ("integers", None, "high"),
    aten.randint_like.low_dtype: ("integers", "low", "high"),
    aten.bernoulli.default: ("hits", None, "self"),
    aten.bernoulli.p: ("hits", None, "p"),
}


def _dtype(kind, given):
    like = given.get("self")
    usual = torch.int64 if kind == "integers" else torch.get_default_dtype()
    return given.get("dtype") or (usual if like is None else like.dtype)


def _is_drawn(kind, dtype, given, parameters):
    """Are the parameters known, is the generator torch's own, and are there kernels for the result?"""
    like = given.get("self")
    layout = given.get("layout") or (torch.strided if like is None else like.layout)
    if _device(given).type not in ("cpu", "cuda") or layout is not torch.strided or given.get("generator") or dtype.is_complex:
        return False
    if kind == "integers":
        return all(type(number) is int for number in parameters) and dtype != torch.bool
    if kind in ("between", "spread") and not all(isinstance(number, (int, float)) for number in parameters):
        return False
    if kind == "hits" and not isinstance(parameters[1], torch.Tensor) and not 0 <= parameters[1] <= 1:
        return False  # which torch refuses
    return kind == "hits" or dtype.is_floating_point


def _decomposition(op, kind, *places):
    arguments = op._schema.arguments
    defaults = {a.name: a.default_value for a in arguments if a.has_default_value() and a.name != "dtype"}

    def decomposed(*args, **kwargs):
        given = defaults | {a.name: value for a, value in zip(arguments, args)} | kwargs
        dtype = _dtype(kind, given)
        first, second = (given[place] if place else 0 for place in places)
        if not _is_drawn(kind, dtype, given, (first, second)):
            return NotImplemented
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        if kind == "integers":
            return _draw(given, kind, dtype, first, second)
        if kind == "between":
            return (_draw(given, "uniform", wide) * (second - first) + first).to(dtype)
        if kind == "spread":
            return (_draw(given, "normal", wide) * second + first).to(dtype)
        if kind == "hits" and isinstance(second, torch.Tensor):
            second = _torch_checked.between(second, 0.0, 1.0, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
        if kind == "hits":  # an element is 1 with the probability that the parameter tells; torch's lie in C order
            return (_draw(given | {"memory_format": torch.contiguous_format}, "uniform", wide) < second).to(dtype)
        return _draw(given, kind, dtype)

    return decomposed


def _spread_as_told(op):
    """Normal numbers whose standard deviations are elements of a tensor."""
    plain = decomposition_table.get(op)

    def decomposed(mean, std, **kwargs):
        return plain(mean, _torch_checked.between(std, 0.0, torch.inf, "normal expects all elements of std >= 0.0"), **kwargs)

    return {op: decomposed} if plain else {}


def decompositions():
    """Random ops by Philox; by torch, other distributions in terms of uniform and normal numbers."""
    told = _spread_as_told(aten.normal.float_Tensor) | _spread_as_told(aten.normal.Tensor_Tensor)
    return dict(extra_random_decomps) | {op: _decomposition(op, *row) for op, row in _DRAWS.items()} | told
