"""Operations of other libraries (torch.library.custom_op and what registers its own): what they compute nobody tells here.

Capture asks the operation's own function for tensors without memory (register_fake) which results there are. When the plan runs, torch
calls the operation. It may have effects, so that each call is made once, in the order of the code, and none is tried at capture.
"""

import torch
from torch.utils import _pytree

from . import _tensor_sizes
from ._tensor_autocast import Unsupported

OWN = frozenset({"aten", "prims", "prim", "frameloom"})
has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key


def is_foreign(func):
    """Is it an operation of another library?"""
    return func.namespace not in OWN


class Differs(Exception):
    """Results are not what the operation's function for tensors without memory says: the call is made in eager torch."""


def _places(func):
    """The numbers and names of the arguments that an operation writes into."""
    return [(i, one.name) for i, one in enumerate(func._schema.arguments) if one.alias_info is not None and one.alias_info.is_write]


def written(func, args, kwargs):
    """The tensors into which a call writes."""
    found = [args[i] if i < len(args) else kwargs.get(name) for i, name in _places(func)]
    return [one for one in found if isinstance(one, torch.Tensor)]


class _Schema:
    """The part of a schema that a call in a plan needs."""

    is_mutable = False

    def __init__(self, func):
        self.name, self.arguments = func._schema.name, func._schema.arguments


class Call:
    """A call of such an operation in a plan: it gives the operation's results, and behind them what it leaves in the arguments that it
    writes into. `results`: its results without memory."""

    is_ordered = True  # it is made even if nothing reads its results, and never together with another one
    tags = ()

    def __init__(self, func, results):
        self.func, self._schema, self.places = func, _Schema(func), _places(func)
        self.wanted = [_kind(one) for one in results]
        self.__name__ = func.__name__

    def __str__(self):
        return str(self.func)

    def __call__(self, *args, **kwargs):
        args, kwargs = list(args), dict(kwargs)
        given = {one.untyped_storage()._cdata for one in _pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)}
        copies = []
        for i, name in self.places:
            place, key = (args, i) if i < len(args) else (kwargs, name)
            if isinstance(place[key], torch.Tensor):
                place[key] = place[key].clone()
                copies.append(place[key])
        made = listed(self.func(*args, **kwargs))
        if [_kind(one) for one in made] != self.wanted or any(one.untyped_storage()._cdata in given for one in made):
            raise Differs(f"{self.func} gives something else than its function for tensors without memory")
        return (*made, *copies)


def _kind(one):
    return type(one) is torch.Tensor and (one.dtype, tuple(one.shape), one.stride(), one.is_conj(), one.is_neg())


def listed(results):
    """The results of an operation: a list of tensors."""
    return [] if results is None else list(results) if isinstance(results, (tuple, list)) else [results]


def check(func, args, kwargs):
    """Raises Unsupported for a call that is not captured, with a reason."""
    name, schema = func.name(), func._schema
    if has_kernel(name, "CompositeImplicitAutograd"):
        raise Unsupported(f"{func} is a function of another library that is followed nowhere")
    if not has_kernel(name, "Meta"):  # an implementation for all devices would run at capture, with whatever effects it has
        raise Unsupported(f"{func} has no function for tensors without memory (register_fake)")
    if any(one.alias_info is not None for one in schema.returns):
        raise Unsupported(f"{func} gives views of its arguments")
    if any(one.alias_info is not None and str(one.type) not in ("Tensor", "Optional[Tensor]") for one in schema.arguments):
        raise Unsupported(f"{func} writes into lists of tensors")
    if any(str(one.type) != "Tensor" for one in schema.returns):
        raise Unsupported(f"{func} gives something else than tensors")
    if _tensor_sizes.has_sizes((args, kwargs)):
        _tensor_sizes.know((args, kwargs), f"{func} is an operation of another library")


def results_of(func, results):
    """The results of a call without memory, as a list."""
    made = listed(results)
    for one in made:
        if type(one) is not torch.Tensor or one.device.type != "meta":
            raise Unsupported(f"{func} gives no tensors without memory")
        if not one.numel() or one.storage_offset():
            raise Unsupported(f"{func} gives a tensor without elements, or one that begins elsewhere")
    return made
