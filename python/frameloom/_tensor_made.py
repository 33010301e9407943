"""What capture makes of tensors in place of functions of Python's and torch's that need their memory or their elements."""

import torch
from torch._prims_common import is_non_overlapping_and_dense_or_false
from torch.utils import _pytree

from ._tensor_autocast import Unsupported


def shared(tensor):
    """Another tensor in the same memory, without a history."""
    return tensor.detach()


def copied(tensor):
    """A copy of a tensor that lies in memory as this one."""
    if not is_non_overlapping_and_dense_or_false(tensor):
        raise Unsupported("a deep copy of a tensor that does not fill its memory")
    return tensor.clone()


def new_tensor(like, data, **kwargs):
    """The positional and keyword arguments of torch.tensor() in place of those of new_tensor()."""
    if any(isinstance(one, torch.Tensor) for one in _pytree.tree_leaves(data)):
        raise Unsupported("new_tensor() of a tensor")
    return (data,), {**kwargs, "dtype": kwargs.get("dtype") or like.dtype}


def _lie_alike(one, other):
    places = [(x.untyped_storage()._cdata, x.storage_offset(), x.stride()) for x in (one, other)]
    return places[0] == places[1]


def equal(one, other):
    if one.shape != other.shape:
        return False
    if one.dtype != other.dtype:
        raise Unsupported("torch.equal() of tensors of different dtypes")
    return True if _lie_alike(one, other) else (one == other).all()


def allclose(one, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    return torch.isclose(one, other, rtol, atol, equal_nan).all()


FUNCTIONS = frozenset({shared, copied, equal, allclose})
# Functions whose result is a bool that their elements decide: what gives it as a tensor, or as a bool that is known.
DECISIONS = {torch.equal: equal, torch.Tensor.equal: equal, torch.allclose: allclose, torch.Tensor.allclose: allclose}
