"""Functions over a batch of examples: `vmap`, whose name and meaning are JAX's.

The functions here are plain Python, which is captured together with the mapped function. Those whose names begin with an
underscore and that say so are evaluated by capture itself (frontend/numpy/batch.c).
"""

from ._gradient import _close, _compiled, _leaves, _like, _map, _open, _plain


def _vectorises():
    """Is this captured? Evaluated by capture."""
    return False


def _example(batch):
    """One of the elements along the first axis of an array: which one is nobody's concern. Evaluated by capture."""
    return batch[0]


def _whole(x):
    """What _example() gave, before anything was written into it. Evaluated by capture."""
    return x


def _batch(results, examples, batches):
    """For each of the numbers and arrays `results` the array of what it is for all elements of `batches`, along a first axis;
    None for one that depends on no example. Evaluated by capture."""
    raise NotImplementedError


# ---- axes ----


def _axes(spec, tree, what):
    """For each leaf of a tree its axis or None, given an axis for all of it, or a tree of axes whose leaves stand for subtrees."""
    if spec is None or isinstance(spec, int) and not isinstance(spec, bool):
        return [spec] * len(_leaves(tree))
    if tree is None:
        return []
    if isinstance(spec, dict) and isinstance(tree, dict) and spec.keys() == tree.keys():
        return [axis for key in tree for axis in _axes(spec[key], tree[key], what)]
    if isinstance(spec, (list, tuple)) and isinstance(tree, (list, tuple)) and len(spec) == len(tree):
        return [axis for one, part in zip(spec, tree) for axis in _axes(one, part, what)]
    raise ValueError(f"frameloom.vmap: {what} must be an int, None or a tree like {'the arguments' if what == 'in_axes' else 'the result'}, not {spec!r}")


def _axis_of(axis, rank, what):
    if not -rank <= axis < rank:
        raise ValueError(f"frameloom.vmap: {what} has {rank} dimensions, and no axis {axis} to map over")
    return axis + rank if axis < 0 else axis


def _checked(x, axis):
    """An argument with the mapped axis in front."""
    import numpy as np

    if not isinstance(x, np.ndarray):
        raise TypeError(f"frameloom.vmap maps over axes of arrays, not of {type(x).__name__}; its axis in in_axes must be None")
    axis = _axis_of(axis, x.ndim, "an argument")
    if axis:
        x = np.moveaxis(x, axis, 0)
    if not x.shape[0]:
        raise ValueError("frameloom.vmap: an argument has no element along the mapped axis")
    return x


def _size_of(sizes):
    """The size that all mapped axes have."""
    if not sizes:
        raise ValueError("frameloom.vmap: no argument has an axis to map over")
    for size in sizes:
        if size != sizes[0]:
            raise ValueError(f"frameloom.vmap: the mapped axes are of {sizes[0]} and of {size} elements")
    return sizes[0]


def _mapped_arguments(args, kwargs, in_axes):
    """The arguments' leaves, each with its mapped axis in front, and whether there is one."""
    if isinstance(in_axes, (list, tuple)) and len(in_axes) != len(args):
        raise ValueError(f"frameloom.vmap: in_axes is for {len(in_axes)} arguments, and there are {len(args)}")
    axes = _axes(tuple(in_axes) if isinstance(in_axes, list) else in_axes, tuple(args), "in_axes")
    axes = axes + [0] * len(_leaves(kwargs))
    leaves = [leaf if axis is None else _checked(leaf, axis) for leaf, axis in zip(_leaves((args, kwargs)), axes)]
    size = _size_of([leaf.shape[0] for leaf, axis in zip(leaves, axes) if axis is not None])
    return leaves, [axis is not None for axis in axes], size


def _differs():
    raise ValueError("frameloom.vmap: a result differs between elements, and its axis in out_axes is None")


def _number(y):
    """A result as an array."""
    import numpy as np

    if not isinstance(y, (bool, int, float, complex, np.generic, np.ndarray)):
        raise TypeError(f"frameloom.vmap: a result is of type {type(y).__name__}, not an array or a number")
    return np.asarray(y)


def _placed(y, batch, axis, size):
    """A result for all elements, with their axis where it is wanted."""
    import numpy as np

    if axis is None:
        if batch is not None:
            _differs()
        return y
    if batch is None:
        y = _number(y)
        batch = np.broadcast_to(y, (size,) + y.shape).copy()
    axis = _axis_of(axis, batch.ndim, "a result")
    return np.moveaxis(batch, 0, axis) if axis else batch


def _shared(row):
    """The result that is the same for all elements."""
    import numpy as np

    for y in row[1:]:
        if y is not row[0] and not np.array_equal(y, row[0]):
            _differs()
    return row[0]


def _one_by_one(fun, leaves, mapped, args, kwargs, out_axes, size):
    """The same in plain Python."""
    import numpy as np

    made = []
    for i in range(size):
        given, named = _like((args, kwargs), iter([leaf[i] if is_mapped else leaf for leaf, is_mapped in zip(leaves, mapped)]))
        made.append(fun(*given, **named))
    axes, results = _axes(out_axes, made[0], "out_axes"), []
    for axis, *row in zip(axes, *[_leaves(value) for value in made], strict=True):
        results.append(_shared(row) if axis is None else _placed(None, np.stack([_number(y) for y in row]), axis, size))
    return _like(made[0], iter(results))


def _has_tensor(args, kwargs):
    """Is there a tensor of torch among the arguments?"""
    for leaf in _leaves((args, kwargs)):
        for kind in type(leaf).__mro__:
            if kind.__name__ == "Tensor" and kind.__module__ == "torch":
                return True
    return False


def _of_tensors(fun, args, kwargs, in_axes, out_axes):
    """The same for tensors, by torch's own function."""
    import torch

    if isinstance(in_axes, (list, tuple)) and len(in_axes) != len(args):
        raise ValueError(f"frameloom.vmap: in_axes is for {len(in_axes)} arguments, and there are {len(args)}")
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    leaves, axes = _leaves((args, kwargs)), _axes(in_axes, tuple(args), "in_axes") + [0] * len(_leaves(kwargs))
    for leaf, axis in zip(leaves, axes):
        if axis is not None and not isinstance(leaf, torch.Tensor):
            raise TypeError(f"frameloom.vmap maps over axes of arrays, not of {type(leaf).__name__}; its axis in in_axes must be None")
    _size_of([leaf.shape[_axis_of(axis, leaf.dim(), "an argument")] for leaf, axis in zip(leaves, axes) if axis is not None])
    out_axes = tuple(out_axes) if isinstance(out_axes, list) else out_axes
    return torch.func.vmap(lambda args, kwargs: fun(*args, **kwargs), (in_axes, 0), out_axes)(args, kwargs)


def vmap(fun, in_axes=0, out_axes=0):
    """A function that does for all elements along an axis of its arguments what `fun` does for one: JAX's `vmap`.

    fun       a Python function over NumPy arrays, numbers and any other objects; its result is an array, a number or a tree
              of these (tuples, lists, dicts, named tuples, dataclasses)
    in_axes   the axis of the arguments that is mapped over: an int, None for arguments that are the same for all elements,
              or a tuple with an entry for each positional argument, in which a tree stands for a tree. Keyword arguments are
              mapped over their first axis
    out_axes  the axis of the results along which the elements' results follow one another; None for a result that is the
              same for all

    `fun` sees an element as indexing gives it: of an array of one dimension a NumPy scalar. It runs once, for all elements
    together: the axis is added to what it computes. A branch on an element's data computes both sides, a loop that elements end at
    different times runs until the last one has ended. What `fun` changes outside of itself changes once.

    The function is captured whole, as with `fullgraph=True`: raises `frameloom.GraphBreak` with the line where it cannot be, or where an
    operation cannot be vectorised or a value of one element leaves the function otherwise than as its result (FL0033). Raises
    ValueError for axes that arguments do not have or whose sizes differ, TypeError for a mapped argument that is no array.
    Where an argument is a tensor of torch, this is `torch.func.vmap`, and results are tensors.
    No floating-point warning is shown. Where nothing is compiled `fun` is called for each element.
    """
    fun = _plain(fun, "vmap")
    for axes, what in ((in_axes, "in_axes"), (out_axes, "out_axes")):
        if isinstance(axes, (bool, float, str)):
            raise TypeError(f"frameloom.vmap: {what} must be an int, None or a tree of these, not {axes!r}")

    def mapped(*args, **kwargs):
        if _has_tensor(args, kwargs):
            return _of_tensors(fun, args, kwargs, in_axes, out_axes)
        leaves, are_mapped, size = _mapped_arguments(args, kwargs, in_axes)
        if not _vectorises():
            return _one_by_one(fun, leaves, are_mapped, args, kwargs, out_axes, size)
        examples, batches, given = [], [], []
        _open()
        try:
            for leaf, is_mapped in zip(leaves, are_mapped):
                if is_mapped:
                    batches.append(leaf)
                    leaf = _example(leaf)
                    examples.append(_whole(leaf))
                given.append(leaf)
            positional, named = _like((args, kwargs), iter(given))
            value = fun(*positional, **named)
            axes, results = _axes(out_axes, value, "out_axes"), _leaves(value)
            made = _batch(tuple(results), tuple(examples), tuple(batches))
        finally:
            _close()
        return _like(value, iter([_placed(y, batch, axis, size) for y, batch, axis in zip(results, made, axes)]))

    return _compiled(mapped, fun, "vmap")
