"""Autocast of captured functions: which tensors torch would cast, where the tensors have no memory.

torch casts for autocast by the device of a tensor, and has no casts for tensors of the `meta` device. So the dispatch key of a device
that has no casts of its own (`KEY`) gets a kernel for each operation that is cast on the CPU. While capture makes a call under
autocast, this thread includes that key. The casts are operations of ATen, which autograd and capture see like others.
"""

import contextlib
import threading

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import _disable_current_modes

KEY, CPU_KEY = torch._C.DispatchKey.AutocastIPU, torch._C.DispatchKey.AutocastCPU
_WITHOUT, _WITHOUT_BOTH = torch._C.DispatchKeySet(KEY), torch._C.DispatchKeySet(KEY) | torch._C.DispatchKeySet(CPU_KEY)
LOWER, FLOAT, WIDEST = "lower", "float", "widest"
aten = torch.ops.aten

# Functions that tell or change the state of autocast: followed by capture.
FUNCTIONS = frozenset(
    getattr(space, name) for space, names in (
        (torch, "is_autocast_enabled set_autocast_enabled get_autocast_dtype set_autocast_dtype is_autocast_cache_enabled set_autocast_cache_enabled autocast_increment_nesting "
                "autocast_decrement_nesting clear_autocast_cache"),
        (torch._C, "_is_any_autocast_enabled _is_autocast_available")) for name in names.split() if hasattr(space, name)
)  # fmt: skip
_active = threading.local()


class Unsupported(Exception):
    """What capture has no form for; the text says which."""


def quiet():
    """A context in which nothing is cast."""
    return torch._C._ExcludeDispatchKeyGuard(_WITHOUT_BOTH)


def without():
    """A context in which tensors without memory are not cast."""
    return torch._C._ExcludeDispatchKeyGuard(_WITHOUT)


class Autocast:
    """What a capture knows of autocast on the CPU. It begins as the state of this thread, and capture follows what changes it."""

    def __init__(self):
        self.enabled, self.dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        self.cached = torch.is_autocast_cache_enabled()
        torch.autocast_increment_nesting()
        self.nesting = torch.autocast_decrement_nesting()
        self.cache = {}  # leaf -> its cast
        self.before = self.state()

    def state(self):
        return self.enabled, self.dtype, self.cached

    def is_as_before(self):
        return self.state() == self.before

    def keeps(self):
        """Are casts of leaves kept for later calls, so that their gradients are added in the smaller dtype?"""
        return self.enabled and self.cached

    def applied(self):
        """A context: calls with tensors without memory are cast as they would be now."""
        return self._applied() if self.enabled else quiet()

    @contextlib.contextmanager
    def _applied(self):
        _kernels()
        excluded = torch._C._dispatch_tls_is_dispatch_key_excluded(KEY)
        outer, _active.autocast = getattr(_active, "autocast", None), self
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(CPU_KEY)), torch._C._IncludeDispatchKeyGuard(KEY):
            torch._C._dispatch_tls_set_dispatch_key_excluded(KEY, False)
            try:
                yield
            finally:
                torch._C._dispatch_tls_set_dispatch_key_excluded(KEY, excluded)
                _active.autocast = outer

    # ---- the functions of FUNCTIONS

    def call(self, function, *args):
        """What `function(*args)` gives, as if the state were this one. Raises Unsupported with a reason."""
        name = function.__name__
        of_device = name in ("is_autocast_enabled", "get_autocast_dtype", "set_autocast_enabled", "set_autocast_dtype")
        if of_device and (not args or args[0] != "cpu"):
            return self._call_of_other(function, args)
        return getattr(self, "_" + name.strip("_"))(*args[of_device:])

    def _call_of_other(self, function, args):
        if not function.__name__.startswith("set_"):
            return function(*args)
        *device, value = args
        tells = torch.is_autocast_enabled if function is torch.set_autocast_enabled else torch.get_autocast_dtype
        if tells(*device) != value:
            raise Unsupported("autocast of another device than the CPU")
        return None

    def _is_autocast_enabled(self):
        return self.enabled

    def _get_autocast_dtype(self):
        return self.dtype

    def _is_autocast_cache_enabled(self):
        return self.cached

    def _is_any_autocast_enabled(self):
        return self.enabled

    def _is_autocast_available(self, device):
        return torch._C._is_autocast_available(device)

    def _set_autocast_enabled(self, enabled):
        self.enabled = bool(enabled)

    def _set_autocast_dtype(self, dtype):
        self.dtype = dtype

    def _set_autocast_cache_enabled(self, cached):
        self.cached = bool(cached)

    def _autocast_increment_nesting(self):
        self.nesting += 1
        return self.nesting

    def _autocast_decrement_nesting(self):
        self.nesting -= 1
        return self.nesting

    def _clear_autocast_cache(self):
        self.cache.clear()

    # ---- casts

    def cast(self, policy, args, kwargs):
        """The arguments of an operation as torch casts them."""
        dtype = self.dtype if policy == LOWER else torch.float32
        if policy == WIDEST:
            dtype = self.dtype
            for one in _pytree.tree_leaves((args, kwargs)):
                if not _takes_part(one):
                    continue
                if one.dtype not in (torch.float32, self.dtype):
                    raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
                dtype = torch.float32 if one.dtype == torch.float32 else dtype
        take = lambda one: self._cast_one(one, dtype) if _takes_part(one) and one.dtype != dtype else one  # noqa: E731
        made = _pytree.tree_map(take, (args, kwargs))
        dtypes = {one.dtype for one in _pytree.tree_leaves(made) if _takes_part(one)}
        if policy == LOWER and len(dtypes) > 1:  # a cast that is kept may be of another dtype than the region's
            raise Unsupported("casts to different dtypes, of which torch keeps one")
        return made

    def _cast_one(self, one, dtype):
        kept = self.cached and dtype == self.dtype and one.dtype == torch.float32 and one.requires_grad and one.is_leaf
        if not kept or not torch.is_grad_enabled():
            return one.to(dtype)
        known = self.cache.get(id(one))
        if known is None:  # the leaf is kept, too, so that its id stays its own
            known = self.cache[id(one)] = one, one.to(dtype)
        return known[1]


def _takes_part(one):
    return isinstance(one, torch.Tensor) and one.is_floating_point() and one.dtype != torch.float64


# ---- what torch casts


class _Probe(torch.Tensor):
    """A tensor of the CPU without elements, which notes to which dtypes it is cast."""

    @staticmethod
    def __new__(cls, dtype, seen):
        made = torch.Tensor._make_wrapper_subclass(cls, (2, 2), dtype=dtype, device="cpu")
        made.seen = seen
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is not aten._to_copy.default:
            raise NotImplementedError  # the operation itself begins
        args[0].seen.append(kwargs["dtype"])
        return _Probe(kwargs["dtype"], args[0].seen)


def _dummy(kind, dtype, seen):
    """An argument of a type of a schema."""
    if "Tensor" in kind:
        return [_Probe(dtype, seen), _Probe(dtype, seen)] if "List" in kind else _Probe(dtype, seen)
    return [1] if kind.startswith("List") else {"bool": False, "str": "", "float": 1.0}.get(kind, 1)


def _casts_to(op, given, wanted):
    """Does torch cast arguments of the dtype `given` to the dtype `wanted`?"""
    seen = []
    needed = [one for one in op._schema.arguments if "Tensor" in str(one.type) or not one.has_default_value()]
    with contextlib.suppress(NotImplementedError, RuntimeError, TypeError, ValueError), torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        op(**{one.name: _dummy(str(one.type), given, seen) for one in needed})
    return wanted in seen


_policies = {}


def _policy(op):
    """What torch casts the arguments of an operation to: found by a call of it with probes."""
    if op not in _policies:
        with _disable_current_modes(), torch._C._PreserveDispatchKeyGuard():
            torch._C._dispatch_tls_set_dispatch_key_included(KEY, False)
            lower = _casts_to(op, torch.float32, torch.bfloat16)
            _policies[op] = LOWER if lower else FLOAT if _casts_to(op, torch.bfloat16, torch.float32) else WIDEST
    return _policies[op]


# Functions in place of operations that choose by the device: `operation -> function`.
IN_PLACE = {}


def _kernel(name, overload):
    def kernel(*args, **kwargs):
        op = getattr(getattr(aten, name), overload)
        with without():
            args, kwargs = _active.autocast.cast(_policy(op), args, kwargs)
            return IN_PLACE.get(op, op)(*args, **kwargs)

    return kernel


_libraries = []
_lock = threading.Lock()


def _kernels():
    """Registers the kernels, once."""
    with _lock:
        if _libraries:
            return
        others, library = torch.library.Library("_", "IMPL", KEY.name), torch.library.Library("aten", "IMPL", KEY.name)
        others.fallback(torch.library.fallthrough_kernel)
        for name in torch._C._dispatch_get_registrations_for_dispatch_key(CPU_KEY.name):
            space, _, rest = name.partition("::")
            if space == "aten":
                base, _, overload = rest.partition(".")
                library.impl(rest, _kernel(base, overload or "default"))
        _libraries.extend((others, library))
