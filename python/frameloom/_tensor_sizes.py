"""Symbolic sizes of tensors without memory: what torch's rules for shapes compute with.

A `torch.SymInt` has a node, which may be any object with these methods. `Node` holds a number of the captured graph
(frontend/tensor/sizes.c), which computes and compares. A comparison is decided when torch asks for its truth: by the ranges of the
sizes, or as in the call that is captured, with a guard.

Operations of ATen that torch describes in C++ for known sizes only have rules here, `RESULTS`. All others are described by torch's
own functions in Python (`_meta`). What torch computes for the sizes of this call is compared with each result (`results()`).
"""

import math

import torch
from torch._decomp import decomposition_table, meta_table
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from . import _native
from ._tensor_autocast import Unsupported

aten = torch.ops.aten
_ask = _native.tensor_size


class Stop(Exception):
    """Capture starts again with a size as a constant, or has broken off."""


class _Expression:
    """What torch's functions that look for sizes that depend on data find: none."""

    free_symbols = frozenset()


class _Base:
    """What the nodes of numbers and of truths have in common."""

    __slots__ = ()
    is_int = is_float = is_bool = lambda self: False
    is_nested_int = is_constant = is_symbolic = lambda self: False
    nested_int = constant_int = constant_bool = maybe_as_int = lambda self: None
    has_hint = lambda self: True  # noqa: E731
    clone = lambda self: self  # noqa: E731
    shape_env, expr = None, _Expression()
    _hint = property(lambda self: self.hint)

    def str(self):
        return "size"

    _graph_repr = str

    def wrap_int(self, number):
        return Node(number)

    def wrap_bool(self, truth):
        return Truth(lambda expected: truth)

    def wrap_float(self, number):
        raise Stop("a float")


def _number(op, swapped=False):
    def method(self, other):
        a, b = (other, self) if swapped else (self, other)
        return Node(_ask(op, a.number, b.number))

    return method


def _compare(op, negated=False, swapped=False):
    def method(self, other):
        a, b = (other.number, self.number) if swapped else (self.number, other.number)
        return Truth(lambda expected: _ask("same" if op == "equal" and expected != negated else op, a, b) != negated)

    return method


class Node(_Base):
    """A number of the graph."""

    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    is_int = is_symbolic = lambda self: True
    add, sub, mul = _number("add"), _number("sub"), _number("mul")
    floordiv = int_floordiv = _number("floordiv")
    mod = _number("mod")
    sym_min, sym_max = _number("min"), _number("max")
    eq, ne = _compare("equal"), _compare("equal", negated=True)
    lt, gt = _compare("less"), _compare("less", swapped=True)
    ge, le = _compare("less", negated=True), _compare("less", negated=True, swapped=True)

    def neg(self):
        return Node(_ask("sub", 0, self.number))

    pos = ceil = floor = trunc = round = sym_int = lambda self: self

    def sym_sum(self, nodes):
        total = Node(0)
        for one in nodes:
            total = total.add(one)
        return total

    def pow_by_natural(self, other):
        made = Node(1)
        for _ in range(other.guard_int("", 0)):
            made = made.mul(self)
        return made

    pow = pow_by_natural

    @property
    def hint(self):
        return _ask("hint", self.number, 0)

    def require_hint(self, fallback=None):
        return self.hint

    def guard_int(self, file, line):
        if -(2**62) < self.number:
            return self.number
        return _ask("know", self.number, 0)

    def int_(self):
        return self.guard_int("", 0)

    def expect_size(self, file, line):
        return self.ge(Node(0)).expect_true(file, line)

    def _float(self, *_):
        return _ask("know", self.number, 0)

    truediv = int_truediv = float_truediv = sym_float = _float

    def is_contiguous(self, sizes, strides):
        return _in_order(sizes, strides, range(len(sizes) - 1, -1, -1))

    def is_channels_last_contiguous_2d(self, sizes, strides):
        return _in_order(sizes, strides, (1, 3, 2, 0)) if len(sizes) == 4 else self.wrap_bool(False)

    def is_channels_last_contiguous_3d(self, sizes, strides):
        return _in_order(sizes, strides, (1, 4, 3, 2, 0)) if len(sizes) == 5 else self.wrap_bool(False)


def _in_order(sizes, strides, order):
    """Do the axes lie without gaps, the innermost of `order` first?"""

    def decide(expected):
        next = Node(1)
        for axis in order:
            if sizes[axis].eq(Node(1)).bool_():
                continue
            if not strides[axis].eq(next).bool_():
                return False
            next = next.mul(sizes[axis])
        return True

    return Truth(decide)


class Truth(_Base):
    """The answer to a comparison. `decide(expected)`: where it is expected to be true, sizes that are equal become one symbol."""

    __slots__ = ("decide",)

    def __init__(self, decide):
        self.decide = decide

    is_bool = is_symbolic = lambda self: True

    def guard_bool(self, file, line):
        return self.decide(None)

    guard_size_oblivious = guard_or_false = guard_or_true = statically_known_true = guard_bool

    def bool_(self):
        return self.decide(None)

    hint = property(bool_)

    def expect_true(self, file, line):
        return self.decide(True)

    def sym_not(self):
        return Truth(lambda expected: not self.decide(None if expected is None else not expected))

    def and_(self, other):
        return Truth(lambda expected: self.decide(expected) and other.decide(expected))

    def or_(self, other):
        return Truth(lambda expected: self.decide(None) or other.decide(expected))

    sym_and, sym_or = and_, or_


def make(number):
    """A size that torch computes with, of a symbolic number of the graph."""
    return torch.SymInt(Node(number))


def make_plain(one):
    """A size that torch takes for symbolic, as an int where it is one."""
    return one.node.number if isinstance(one, torch.SymInt) and one.node.number > -(2**62) else one


def is_size(one):
    return isinstance(one, torch.SymInt)


def has_sizes(tree):
    """Is a size, or one of a tensor, symbolic?"""
    if isinstance(tree, torch.Tensor):
        return tree._has_symbolic_sizes_strides
    if isinstance(tree, (tuple, list)):
        return any(map(has_sizes, tree))
    if isinstance(tree, dict):
        return any(map(has_sizes, tree.values()))
    return isinstance(tree, (torch.SymInt, torch.SymFloat, torch.SymBool))


def hint(size):
    """The value of a size in the call that is captured."""
    return size.node.hint if isinstance(size, torch.SymInt) else size


def hints(sizes):
    return tuple(map(hint, sizes))


def now(tree):
    """With the sizes of the call that is captured."""

    def take(one):
        if isinstance(one, torch.Tensor) and has_sizes(one):
            with _disable_current_modes(), torch.inference_mode(False):
                return torch.empty_strided(hints(one.shape), hints(one.stride()), dtype=one.dtype, device=one.device)
        return hint(one)

    return _pytree.tree_map(take, tree)


def numbers(tree):
    """The numbers of all symbolic sizes in it, once each."""
    return sorted({one.node.number for one in _pytree.tree_leaves(tree) if is_size(one) and is_size(make_plain(one))})


def at(tree, values):
    """With the values that `numbers()` have in a run."""
    return _pytree.tree_map(lambda one: make_plain(one) if not is_size(make_plain(one)) else values[one.node.number], tree) if values else tree


def know(tree, why):
    """Capture starts again with all sizes in it as constants, for a reason that explain() shows."""
    for one in _pytree.tree_leaves(tree):
        numbers = (*one.shape, *one.stride(), one.storage_offset()) if isinstance(one, torch.Tensor) else (one,)
        for number in numbers:
            if isinstance(number, torch.SymInt):
                try:
                    _ask("know", number.node.number, 0, why)
                except Stop:
                    pass
    raise Stop("sizes that have to be known")


# ---- rules for results ----


def _product(sizes):
    made = 1
    for size in sizes:
        made = made * size
    return made


def _ordered(sizes):
    """Strides in C order."""
    strides, next = [0] * len(sizes), 1
    for axis in range(len(sizes) - 1, -1, -1):
        strides[axis] = next
        next = next * (1 if isinstance(sizes[axis], int) and sizes[axis] == 0 else sizes[axis])
    return strides


def _axis(axis, rank):
    return axis + rank if axis < 0 else axis


def _view_strides(x, sizes):
    """Strides of the view, or None: there is none. Sizes are taken from both ends together, as long as their products are alike."""
    if any(isinstance(size, int) and size == 0 for size in (*x.shape, *sizes)):
        return _ordered(sizes) if tuple(sizes) != tuple(x.shape) else list(x.stride())
    strides = [None] * len(sizes)
    at = len(sizes) - 1
    axis = x.dim() - 1
    while axis >= 0:
        base, chunk = x.stride(axis), x.size(axis)
        while axis > 0 and (x.size(axis - 1) == 1 or x.stride(axis - 1) == chunk * base):
            axis -= 1
            chunk = chunk * x.size(axis)
        axis -= 1
        filled = 1
        while at >= 0 and (sizes[at] == 1 or not filled == chunk):
            strides[at] = filled * base
            filled = filled * sizes[at]
            at -= 1
        if not filled == chunk:
            return None
    while at >= 0:
        if not sizes[at] == 1:
            return None
        strides[at] = strides[at + 1] * sizes[at + 1] if at + 1 < len(sizes) else 1
        at -= 1
    return strides


def _exactly(a, b):
    """a / b, where nothing is left."""
    torch._check(hint(b) != 0 and hint(a) % hint(b) == 0)
    number = _ask("divide", _number_of(a), _number_of(b)) if is_size(a) or is_size(b) else a // b
    return make(number) if number < -(2**62) else number


def _inferred(x, sizes):
    sizes = list(sizes)
    if -1 in [size for size in sizes if isinstance(size, int)]:
        at = next(i for i, size in enumerate(sizes) if isinstance(size, int) and size == -1)
        others = sizes[:at] + sizes[at + 1 :]
        rest = x.numel()
        for size in (*filter(is_size, others), _product(size for size in others if not is_size(size))):
            rest = _exactly(rest, size)
        sizes[at] = rest
    return sizes


def _view(x, sizes):
    sizes = _inferred(x, sizes)
    strides = _view_strides(x, sizes)
    if strides is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride")
    return x.as_strided(sizes, strides, x.storage_offset())


def _unsafe_view(x, sizes):
    sizes = _inferred(x, sizes)
    return torch.empty_strided(sizes, _ordered(sizes), dtype=x.dtype, device=x.device)


def _expand(x, sizes, implicit=False):
    sizes, more = list(sizes), len(sizes) - x.dim()
    strides = [0] * len(sizes)
    for axis in range(len(sizes) - 1, -1, -1):
        own, given = (x.size(axis - more) if axis >= more else 1), sizes[axis]
        if isinstance(given, int) and given == -1:
            sizes[axis] = own
        elif not (isinstance(own, int) and own == 1):
            torch._check(own == given)
            sizes[axis] = own
        elif given != 1 or not x.dim():
            continue
        strides[axis] = x.stride(axis - more) if axis >= more else strides[axis + 1] * sizes[axis + 1] if axis + 1 < len(sizes) else 1
    return x.as_strided(sizes, strides, x.storage_offset())


def _slice(x, dim=0, start=None, end=None, step=1):
    dim = _axis(dim, x.dim())
    size = x.size(dim)
    start, end = 0 if start is None else start, size if end is None else end
    if isinstance(end, int) and end >= 2**62:
        end = size
    start, end = (size + one if one < 0 else one for one in (start, end))
    start = 0 if start < 0 else size if start > size else start
    end = start if end < start else size if end > size else end
    sizes, strides = list(x.shape), list(x.stride())
    sizes[dim] = end - start if isinstance(step, int) and step == 1 else (end - start + step - 1) // step
    offset = x.storage_offset() + start * strides[dim]
    strides[dim] = strides[dim] * step
    return x.as_strided(sizes, strides, offset)


def _select(x, dim, index):
    dim = _axis(dim, x.dim())
    torch._check_index(bool(-x.size(dim) <= index) and bool(index < x.size(dim)))
    index = index + x.size(dim) if index < 0 else index
    sizes, strides = list(x.shape), list(x.stride())
    offset = x.storage_offset() + index * strides.pop(dim)
    del sizes[dim]
    return x.as_strided(sizes, strides, offset)


def _permute(x, dims):
    dims = [_axis(dim, x.dim()) for dim in dims]
    return x.as_strided([x.size(dim) for dim in dims], [x.stride(dim) for dim in dims], x.storage_offset())


def _transpose(x, a, b):
    dims = list(range(x.dim()))
    if dims:
        a, b = _axis(a, x.dim()), _axis(b, x.dim())
        dims[a], dims[b] = dims[b], dims[a]
    return _permute(x, dims)


def _t(x):
    return _transpose(x, 0, x.dim() - 1)


def _split(x, size, dim=0):
    dim = _axis(dim, x.dim())
    count = math.ceil(hint(x.size(dim)) / hint(size)) if hint(size) else 1
    torch._check(count == 1 or bool(size * (count - 1) < x.size(dim)))
    torch._check(bool(x.size(dim) <= size * count))
    return [_slice(x, dim, size * i, x.size(dim) if i == count - 1 else size * (i + 1)) for i in range(count)]


def _split_sizes(x, sizes, dim=0):
    made, start = [], 0
    for size in sizes:
        made.append(_slice(x, dim, start, start + size))
        start = start + size
    torch._check(start == x.size(_axis(dim, x.dim())))
    return made


def _unbind(x, dim=0):
    return [_select(x, dim, i) for i in range(x.size(_axis(dim, x.dim())).__index__() if is_size(x.size(dim)) else x.size(dim))]


def _broadcast(shapes):
    """Sizes of tensors together."""
    rank = max(map(len, shapes))
    made = [1] * rank
    for shape in shapes:
        for axis in range(len(shape)):
            size, at = shape[-1 - axis], rank - 1 - axis
            if isinstance(size, int) and size == 1:
                continue
            if isinstance(made[at], int) and made[at] == 1:
                made[at] = size
            elif made[at] is not size:
                torch._check(made[at] == size)
    return made


def _as_wanted(sizes, like, wanted):
    """A tensor of these sizes without gaps, in the order of memory that the result `wanted` has, which was computed for the sizes of
    this call. That order is the same for other sizes where it is C order and all tensors `like` it are in C order, or where the
    only tensor that has these sizes lies in that order itself."""
    strides = _ordered(sizes)
    plain = all(_lies_so(one, _ordered(one.shape)) for one in like)
    shaped = [one for one in like if one.dim() == len(sizes) and hints(one.shape) == hints(sizes)]
    if not plain:
        others = [one for one in like if one.dim() and not any(one is other for other in shaped)]
        if len(others) or not shaped or any(not _alike(one, shaped[0]) for one in shaped):
            raise Unsupported("tensors of different orders of memory")
        if tuple(wanted.stride()) != hints(strides):
            strides = list(shaped[0].stride())
    for axis, size in enumerate(sizes):  # along an axis of one element, a tensor may have any stride
        for one in shaped:
            if isinstance(size, int) and size == 1 and hint(strides[axis]) != wanted.stride(axis) == hint(one.stride(axis)):
                strides[axis] = one.stride(axis)
    return torch.empty_strided(sizes, strides, dtype=wanted.dtype, device=wanted.device)


def _number_of(size):
    return size.node.number if isinstance(size, torch.SymInt) else size


def _lies_so(x, strides):
    return all(_number_of(a) == _number_of(b) for size, a, b in zip(x.shape, x.stride(), strides) if not (isinstance(size, int) and size == 1))


def _alike(x, y):
    return [_number_of(one) for one in x.stride()] == [_number_of(one) for one in y.stride()]


def _tensors(tree):
    return [one for one in _pytree.tree_leaves(tree) if isinstance(one, torch.Tensor)]


def _strides_of_none(sizes, wanted):
    """Strides of a tensor without elements, in the order of those that torch gives for the sizes of this call."""
    strides, next = [0] * len(sizes), 1
    for axis in sorted(range(len(sizes)), key=lambda axis: (wanted.stride(axis), -axis)):
        strides[axis] = next
        next = next * (1 if isinstance(sizes[axis], int) and sizes[axis] == 0 else sizes[axis])
    return strides


def _pointwise(wanted, args, kwargs):
    tensors = _tensors((args, kwargs))
    sizes = _broadcast([one.shape for one in tensors])
    strides = _ordered(sizes)
    if any(isinstance(size, int) and size == 0 for size in sizes):
        strides = _strides_of_none(sizes, wanted)
    elif any(not _lies_so(one, _ordered(one.shape)) for one in tensors) or tuple(wanted.stride()) != hints(strides):
        with _Rules():
            strides = torch._prims_common.compute_elementwise_output_strides(*(_expand(one, sizes) for one in tensors))
    return torch.empty_strided(sizes, strides, dtype=wanted.dtype, device=wanted.device)


_NAMES = {}


def _named(func, args, kwargs):
    """The arguments by name."""
    if func not in _NAMES:
        _NAMES[func] = [(one.name, one.default_value) for one in func._schema.arguments]
    return {name: args[i] if i < len(args) else kwargs.get(name, default) for i, (name, default) in enumerate(_NAMES[func])}


def _reduced(func, wanted, args, kwargs):
    """One element for each line along the axes `dim`, all of them where there is none."""
    named, x = _named(func, args, kwargs), args[0]
    dims, keep = named.get("dim"), named.get("keepdim", False)
    dims = [dims] if isinstance(dims, int) else list(dims or range(x.dim()))
    dims = {_axis(dim, x.dim()) for dim in dims}
    sizes = [1 if axis in dims else size for axis, size in enumerate(x.shape) if keep or axis not in dims]
    if len(sizes) > 1 and not _lies_so(x, _ordered(x.shape)):
        raise Unsupported("lines of a tensor that does not lie in C order")
    return _pytree.tree_map(lambda one: _fresh(sizes, one), wanted)


def _group_norm(wanted, args, kwargs):
    x, group = args[0], args[6]
    return _as_wanted(list(x.shape), [x], wanted[0]), *(_fresh([x.size(0), group], one) for one in wanted[1:])


def _same(wanted, args, kwargs):
    """Of the sizes of the first tensor."""
    return _as_wanted(list(args[0].shape), [args[0]], wanted)


def _addmm(wanted, args, kwargs):
    bias, a, b = args[:3]
    torch._check(a.size(-1) == b.size(-2))
    sizes = [*a.shape[:-1], b.size(-1)]
    _expand(bias, sizes)
    return torch.empty_strided(sizes, _ordered(sizes), dtype=wanted.dtype, device=wanted.device)


def _layer_norm(wanted, args, kwargs):
    x, shape = args[:2]
    rank = x.dim() - len(shape)
    for own, given in zip(x.shape[rank:], shape):
        torch._check(own == given)
    return _as_wanted(list(x.shape), [x], wanted[0]), *(_fresh([*x.shape[:rank], *(1,) * len(shape)], one) for one in wanted[1:])


def _batch_norm(wanted, args, kwargs):
    x = args[0]
    return _as_wanted(list(x.shape), [x], wanted[0]), *(_fresh(list(one.shape), one) for one in wanted[1:])


def _fresh(sizes, like):
    return torch.empty_strided(sizes, _ordered(sizes), dtype=like.dtype, device=like.device)


def _given(wanted, args, kwargs):
    """Of the sizes that are the first argument."""
    return _fresh(list(args[0]), wanted)


def _cat(wanted, args, kwargs):
    tensors, dim = args[0], args[1] if len(args) > 1 else kwargs.get("dim", 0)
    rank = max(one.dim() for one in tensors)
    if any(one.dim() != rank for one in tensors):
        raise Unsupported("tensors without elements are joined with others")
    dim, first = _axis(dim, rank), tensors[0]
    sizes = list(first.shape)
    for one in tensors[1:]:
        for axis in range(rank):
            if axis != dim:
                torch._check(one.size(axis) == sizes[axis])
        sizes[dim] = sizes[dim] + one.size(dim)
    if not all(_lies_so(one, _ordered(one.shape)) for one in tensors):
        raise Unsupported("tensors that do not lie in C order are joined")
    return _fresh(sizes, wanted)


def _reductions():
    names = "sum mean prod any all amax amin max min var std var_mean std_mean argmax argmin norm linalg_vector_norm logsumexp"
    for name in names.split():
        packet = getattr(aten, name)
        for one in (getattr(packet, overload) for overload in packet.overloads()):  # `__getattr__` would make others
            arguments = [argument.name for argument in one._schema.arguments]
            tensors = [argument for argument in one._schema.arguments if "Tensor" in str(argument.type)]
            if len(tensors) == 1 and not one._schema.is_mutable and not ({"names", "out"} & set(arguments)):
                yield one, lambda wanted, args, kwargs, one=one: _reduced(one, wanted, args, kwargs)


# Operations that tell sizes.
PLAIN = {
    aten.size.default: lambda x: list(x.shape),
    aten.size.int: lambda x, dim: x.size(dim),
    aten.sym_size.default: lambda x: list(x.shape),
    aten.sym_size.int: lambda x, dim: x.size(dim),
    aten.stride.default: lambda x: list(x.stride()),
    aten.sym_stride.default: lambda x: list(x.stride()),
    aten.numel.default: lambda x: x.numel(),
    aten.sym_numel.default: lambda x: x.numel(),
}
# Views: functions of the arguments.
VIEWS = {
    aten.view.default: _view,
    aten._reshape_alias.default: lambda x, sizes, strides: _view(x, sizes),
    aten.expand.default: _expand,
    aten.slice.Tensor: _slice,
    aten.select.int: _select,
    aten.permute.default: _permute,
    aten.transpose.int: _transpose,
    aten.t.default: _t,
    aten.split.Tensor: _split,
    aten.split_with_sizes.default: _split_sizes,
    aten.unbind.int: _unbind,
}
# Other results: functions of what torch gives for the sizes of this call, and of the arguments.
RESULTS = {
    aten._unsafe_view.default: lambda wanted, args, kwargs: _unsafe_view(*args),
    aten.addmm.default: _addmm,
    aten.native_layer_norm.default: _layer_norm,
    aten._native_batch_norm_legit_no_training.default: _batch_norm,
    aten.native_batch_norm.default: _batch_norm,
    aten.cat.default: _cat,
    aten.native_group_norm.default: _group_norm,
    aten.eye.default: lambda wanted, args, kwargs: _fresh([args[0], args[0]], wanted),
    aten.eye.m: lambda wanted, args, kwargs: _fresh(list(args[:2]), wanted),
    **dict(_reductions()),
} | dict.fromkeys(
    (
        aten._softmax.default, aten._log_softmax.default, aten.cumsum.default, aten.cumprod.default, aten.tril.default, aten.triu.default,
        aten.flip.default, aten.clone.default, aten._to_copy.default, aten.empty_like.default, aten.zeros_like.default,
        aten.ones_like.default, aten.full_like.default, aten.roll.default, aten.native_dropout.default,
        aten.slice_scatter.default, aten.select_scatter.default, aten.scatter.src, aten.scatter.value, aten.scatter_add.default, aten.index_add.default,
    ), _same
) | dict.fromkeys((aten.full.default, aten.zeros.default, aten.ones.default, aten.empty.memory_format), _given)  # fmt: skip


class _Rules(TorchDispatchMode):
    """Gives torch's functions in Python the results of the operations that they call."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return _meta(func, args, kwargs or {})


def _meta(func, args, kwargs):
    """What torch itself says of a call, for symbolic sizes."""
    if not has_sizes((args, kwargs)):
        return func(*args, **kwargs)
    if func in PLAIN:
        return PLAIN[func](*args, **kwargs)
    if func in VIEWS:
        return VIEWS[func](*args, **kwargs)
    function = meta_table.get(func) or decomposition_table.get(func)
    if function is None:
        return func(*args, **kwargs)
    with _Rules():
        return function(*args, **kwargs)


def _agrees(one, other, start):
    """Is a result what torch gives for the sizes of this call, `start` elements further in its storage?"""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return one is other
    alike = all(hints(a) == hints(b) for a, b in ((one.shape, other.shape), (one.stride(), other.stride())))
    return alike and one.dtype == other.dtype and hint(one.storage_offset()) == start + other.storage_offset()


def _describe(func, wanted, args, kwargs):
    if not func.is_view and func in RESULTS:
        return RESULTS[func](wanted, args, kwargs)
    if not func.is_view and torch.Tag.pointwise in func.tags:
        return _pointwise(wanted, args, kwargs)
    return _meta(func, args, kwargs)


def results(func, args, kwargs):
    """What an operation gives, with symbolic sizes. What no rule describes for other sizes is computed for those of this call alone:
    capture starts again with constants. Raises what torch raises for the sizes of this call."""
    wanted = func(*now(args), **now(kwargs))
    start = hint(args[0].storage_offset()) if func.is_view else 0  # of now() it is 0
    try:
        made = _describe(func, wanted, args, kwargs)
        leaves, others = _pytree.tree_leaves(made), _pytree.tree_leaves(wanted)
        if len(leaves) != len(others) or not all(_agrees(one, other, start) for one, other in zip(leaves, others)):
            raise Unsupported("torch gives something else")
        return made
    except Stop:
        raise
    except (Unsupported, RuntimeError, TypeError, ValueError, NotImplementedError, IndexError, AttributeError, AssertionError) as error:
        return know((args, kwargs), f"{func} has no rule for sizes that change: {error}")
