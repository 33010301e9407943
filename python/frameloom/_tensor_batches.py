"""Functions of torch over a batch, `torch.vmap`, as capture makes their calls.

A tensor of which capture knows an element along a mapped axis is a `Batched` among the arguments of a call. The call is made
inside of levels of torch's own vmap, whose rules give the operations on the whole tensors.
"""

import contextlib
import threading
import types

import torch
from torch._C import _functorch
from torch._functorch import apis
from torch._functorch import vmap as _vmap
from torch.utils import _pytree

from ._tensor_modelling import apart, leaves, like, refuse


class Batched:
    """An element of each place along the axis `dim` of `inner`: a tensor, or a Batched of a level further out."""

    def __init__(self, inner, dim, depth):
        self.inner, self.dim, self.depth = inner, dim, depth

    @property
    def dtype(self):
        return self.inner.dtype

    @property
    def rank(self):
        return (self.inner.rank if isinstance(self.inner, Batched) else self.inner.dim()) - 1


class _Levels(threading.local):
    numbers = ()  # of torch's levels, inside of call()


_inside = _Levels()


def _wrapped(one):
    if isinstance(one, Batched):
        return _functorch._add_batch_dim(_wrapped(one.inner), one.dim, _inside.numbers[one.depth])
    return one


def _unwrapped(one):
    for depth in reversed(range(len(_inside.numbers))):
        if isinstance(one, torch.Tensor) and _functorch.is_batchedtensor(one) and _functorch.maybe_get_level(one) == _inside.numbers[depth]:
            return Batched(_unwrapped(_functorch.get_unwrapped(one)), _functorch.maybe_get_bdim(one), depth)
    return one


def call(function, args, kwargs, levels):
    """function(*args, **kwargs) inside of `levels`, each `(size, randomness)`."""
    if not levels:
        return function(*args, **kwargs)
    with contextlib.ExitStack() as stack:
        _inside.numbers = ()
        for size, randomness in levels:
            _inside.numbers += (_functorch._vmap_increment_nesting(size, randomness),)
            stack.callback(_functorch._vmap_decrement_nesting)
        args, kwargs = _pytree.tree_map(_wrapped, (args, kwargs))
        return _pytree.tree_map(_unwrapped, function(*args, **kwargs))


def removed(one, size, axis):
    """For the innermost level: the elements along an axis of a tensor."""
    return _functorch._remove_batch_dim(one, _inside.numbers[-1], size, axis)


# ---- what capture follows in place of torch's functions ----


def begin_batch(size, randomness):
    """Begins a level. Evaluated by capture, as the others that raise."""
    raise NotImplementedError


def end_batch():
    raise NotImplementedError


def element(tensor, axis):
    raise NotImplementedError


def is_element(value):
    """Does a value depend on the place along the axis of the innermost level?"""
    raise NotImplementedError


def depth_now():
    """How many levels there are."""
    raise NotImplementedError


def _axes(axes, tree):
    """A list: for each leaf of a tree its axis or None."""
    if axes is None or isinstance(axes, int):
        kind = type(tree)
        if kind is tuple or kind is list:
            return [axis for part in tree for axis in _axes(axes, part)]
        if kind is dict:
            return [axis for part in tree.values() for axis in _axes(axes, part)]
        return [axes]
    if type(axes) is not type(tree) or type(axes) not in (tuple, list, dict) or len(axes) != len(tree):
        refuse("vmap of such arguments or results")
    found = []
    for key in range(len(tree)) if type(tree) is not dict else tree:
        found += _axes(axes[key], tree[key])
    return found


def _given(leaf, axis):
    if axis is None:
        return leaf
    if not isinstance(leaf, torch.Tensor) or not isinstance(axis, int) or not -leaf.dim() <= axis < leaf.dim():
        refuse("vmap of such arguments or results")
    return element(leaf, axis % leaf.dim())


def _placed(leaf, size, axis):
    if axis is None and not is_element(leaf):
        return leaf
    if axis is None or not isinstance(leaf, torch.Tensor):
        refuse("vmap of such arguments or results")
    return removed(leaf, size, axis)


def of_vmap(original):
    """The model of torch._functorch.vmap.vmap_impl()."""

    def run(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs):
        if chunk_size is not None:
            refuse("vmap of such arguments or results")
        all, axes = leaves(args), _axes(in_dims, args)
        sizes = [leaf.shape[axis] for leaf, axis in zip(all, axes, strict=True) if axis is not None and isinstance(leaf, torch.Tensor)]
        if not sizes or any(size != sizes[0] for size in sizes):
            refuse("vmap of such arguments or results")
        begin_batch(sizes[0], randomness)
        try:
            result = func(*like(args, iter([_given(leaf, axis) for leaf, axis in zip(all, axes)])), **kwargs)
            if isinstance(result, torch.Tensor) and type(out_dims) is tuple and len(out_dims) == 1:
                out_dims = out_dims[0]
            placed = [_placed(leaf, sizes[0], axis) for leaf, axis in zip(leaves(result), _axes(out_dims, result))]
            return like(result, iter(placed))
        finally:
            end_batch()

    return run


def of_wrapping(original):
    """The model of the decorator that gives a mapped function the name and the like of the user's: those of functions written in C
    capture does not know."""
    other = apart(original)

    def run(func):
        return (lambda wrapper: wrapper) if isinstance(func, types.BuiltinFunctionType) else other(func)

    return run


CODE, CODE_OF_WRAPPING = _vmap.vmap_impl.__code__, apis._wraps_without_dynamo_attrs.__code__
