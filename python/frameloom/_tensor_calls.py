"""What a call of torch's consists of: the operations of ATen that it makes, found by making the call on tensors without memory.

Capture (frontend/tensor) hands a function of torch's, with tensors on torch's `meta` device in place of the user's. The call is
made under a dispatch mode that notes each operation with its arguments and results: sizes, strides, dtypes and which memory
is shared are torch's own answers. Writes are noted apart, with the operation that computes what is written.
"""

import contextlib
import functools
import math
import operator
import types

import numpy
import torch
from torch._decomp import decomposition_table
from torch.utils import _pytree
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode

from . import _native, _tensor_autocast, _tensor_batches, _tensor_draws, _tensor_foreign, _tensor_functions, _tensor_imports, _tensor_late, _tensor_made, _tensor_sizes, _tensor_transforms, _tensor_warnings, _torch_checked, _torch_decompositions
from ._tensor_autocast import Unsupported
from ._tensor_trials import (
    CPU, META, are_filled, described, filler, forget_results, laid_out, on_cpu, raised_on_cpu, results_without_memory, runs, untouched)  # fmt: skip

_tensor_imports.keep_away()

Size = torch.Size
Optimizer = torch.optim.Optimizer
Device = torch.device
aten = torch.ops.aten

# Objects of these types never change.
OPERATIONS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)
CONSTANTS = frozenset({torch.dtype, torch.device, torch.layout, torch.memory_format, torch.finfo, torch.iinfo})
# Whether gradients are recorded, and what switches that: followed by capture.
TELLS, SWITCHES = torch.is_grad_enabled, torch._C._set_grad_enabled
# Functions that tell something which capture guards: the modes of the thread.
STATE = frozenset(
    {torch.finfo, torch.iinfo, torch.device, TELLS, torch.get_default_dtype, torch.is_inference_mode_enabled, torch.is_anomaly_enabled,
     torch.is_anomaly_check_nan_enabled}
    | {getattr(torch._C, name) for name in ("_get_tracing_state", "_is_tracing", "_len_torch_dispatch_stack", "_len_torch_function_stack",
                                             "_is_torch_function_enabled", "_is_torch_function_mode_enabled", "_log_api_usage_once", "_get_privateuse1_backend_name",
                                             "_accelerator_getAccelerator") if hasattr(torch._C, name)}
)
# Functions that ask whether an argument's class overrides torch's functions.
OVERRIDES = frozenset({torch._C._has_torch_function, torch._C._has_torch_function_unary, torch._C._has_torch_function_variadic})
# What tells of memory that the tensors here do not have, changes a tensor's memory or what autograd knows of it, or has to do
# with something else than tensors.
EXCLUDED = frozenset(
    "data_ptr storage untyped_storage storage_offset storage_type is_set_to set_ resize_ resize_as_ requires_grad_ backward retain_grad "
    "register_hook register_post_accumulate_grad_hook detach_ share_memory_ pin_memory is_pinned is_shared cpu cuda numpy tolist item "
    "__array__ __array_wrap__ __dlpack__ __dlpack_device__ __reduce_ex__ __reduce__ __setstate__ __deepcopy__ __repr__ __format__ "
    "__hash__ __dir__ __init__ __new__ __getattribute__ __setattr__ __delattr__ __init_subclass__ __subclasshook__ __sizeof__ "
    "rename rename_ align_as align_to refine_names map_ map2_ apply_ is_cuda is_distributed to_sparse "
    "save load seed manual_seed initial_seed get_rng_state set_rng_state set_default_dtype set_default_device set_default_tensor_type "
    "set_num_threads get_num_threads set_num_interop_threads get_num_interop_threads set_grad_enabled set_printoptions compile vmap "
    "cond typename is_storage init_num_threads from_numpy frombuffer from_file from_dlpack asarray use_deterministic_algorithms "
    "set_deterministic_debug_mode set_warn_always set_float32_matmul_precision set_flush_denormal eye_ get_device get_device_module "
    "native_layer_norm native_batch_norm native_group_norm "
    "get_float32_matmul_precision is_warn_always_enabled get_file_path prepare_multiprocessing_environment "
    "is_grad_enabled is_inference_mode_enabled get_default_dtype get_default_device is_inference _is_view __torch_function__ __torch_dispatch__".split()
)


def _is_of_process(function):
    """Does a function that is written in C belong to the module torch._C, and not to tensors? Such functions tell or change the state
    of the process."""
    owner = getattr(function, "__self__", None)
    return owner is torch._C or type(owner).__module__.startswith("pybind11")


def _functions():
    """The functions of torch's that capture calls as a whole, and the methods of tensors."""
    spaces = (torch, torch.nn.functional, torch.linalg, torch.special, torch.fft, torch._C._nn, torch._C._linalg, torch._C._special,
              torch._C._fft, torch._C._VariableFunctions, torch.functional, torch.Tensor)
    kinds = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.FunctionType)
    found = set()
    for space in spaces:
        for name in dir(space):
            one = getattr(space, name, None)
            own = not isinstance(one, types.FunctionType) or str(one.__module__).split(".")[0] == "torch"
            hidden = name.startswith("_") and space is torch or name in EXCLUDED
            if isinstance(one, kinds) and own and not hidden and not _is_of_process(one):
                found.add(one)
    return frozenset(found - STATE - OVERRIDES - _tensor_autocast.FUNCTIONS)


def operation(called, args, names, values):
    """A call of one of torch.ops by the user."""
    return called(*args, **constructs(called, args, dict(zip(names, values))))


FUNCTIONS = {operation} | _functions() | _tensor_transforms.FUNCTIONS | _tensor_made.FUNCTIONS | _tensor_draws.FUNCTIONS | set(_tensor_late.MODELS) | {
    _torch_checked.between, _torch_checked.ctc_loss, _torch_checked.seeded, _tensor_late.packed_layers, _tensor_late.unwindowed,
    _tensor_batches.removed, _tensor_functions.attach, _tensor_functions.needs}  # fmt: skip


def on_meta(value):
    return META if value == "cpu" or value == CPU else value


def _on_cpu(kwargs):
    device = kwargs.get("device")
    return kwargs if device is None else {**kwargs, "device": on_cpu(device)}


SOMEWHERE = 1 << 40  # an address of nothing
MOST_PARTS = 1000  # operations of one call: a recurrent layer has some for each step
MOST_WORK = 10_000  # candidates that are looked at to find out whether two tensors share an element


class _Laid:
    """What lies in memory as a tensor does, for NumPy, with no memory behind it."""

    def __init__(self, one):
        size = one.element_size()
        self.__array_interface__ = {
            "version": 3, "typestr": f"|V{size}", "shape": tuple(one.shape), "strides": tuple(step * size for step in one.stride()),
            "data": (SOMEWHERE + one.storage_offset() * size, True)}


def _lies_partly_in(one, target):
    if one.untyped_storage()._cdata != target.untyped_storage()._cdata:
        return False
    if (one.storage_offset(), one.shape, one.stride()) == (target.storage_offset(), target.shape, target.stride()):
        return False
    if _tensor_sizes.has_sizes([(*tensor.size(), *tensor.stride(), tensor.storage_offset()) for tensor in (one, target)]):
        return True
    try:
        return numpy.shares_memory(numpy.asarray(_Laid(one)), numpy.asarray(_Laid(target)), max_work=MOST_WORK)
    except numpy.exceptions.TooHardError:
        return True


def _is_same_memory(one, target):
    return one.untyped_storage()._cdata == target.untyped_storage()._cdata and one.numel() and target.numel()


def written_by(func, args, kwargs):
    """The tensors into which a call of an operation writes."""
    if not func._schema.is_mutable:
        return []
    if _tensor_foreign.is_foreign(func):
        return _tensor_foreign.written(func, args, kwargs)
    if func in _SEVERAL:
        return [one for one in _pytree.tree_leaves(args[:2]) if isinstance(one, torch.Tensor)]
    target = kwargs["out"] if "out" in kwargs else args[0]
    return [target] if isinstance(target, torch.Tensor) else list(target)


@functools.cache
def draws(func):
    """Does an operation take numbers from torch's generator?"""
    return func is not None and torch.Tag.nondeterministic_seeded in func.tags


def draws_now(func, args, kwargs):
    """Does it take some in this call? A dropout whose share is 0 takes none."""
    if not draws(func):
        return False
    for i, one in enumerate(func._schema.arguments):
        if one.name in ("dropout_p", "dropout"):
            return (args[i] if i < len(args) else kwargs.get(one.name, one.default_value)) != 0
    return True


# The operation that computes what another one writes, where the name of its overload is another one: the numbers that are drawn, too.
_NAMED_OTHERWISE = {
    aten.pow_.Scalar: aten.pow.Tensor_Scalar,
    aten.pow_.Tensor: aten.pow.Tensor_Tensor,
    aten.bernoulli_.float: aten.bernoulli.p,
    aten.bernoulli_.Tensor: aten.bernoulli.Tensor,
    aten.normal_.default: aten.normal_functional.default,
}


def _takes_alike(func, other):
    """Have two operations the same arguments?"""
    return [(one.name, str(one.type)) for one in func._schema.arguments] == [(one.name, str(one.type)) for one in other._schema.arguments]


def _functional(func):
    """The operation that computes what `func` writes into its first argument."""
    if func in _NAMED_OTHERWISE:
        return _NAMED_OTHERWISE[func]
    name = func._schema.name.split("::")[1]
    packet = getattr(getattr(torch.ops, func.namespace), name[:-1], None) if name.endswith("_") else None
    overload = getattr(packet, func._overloadname, None) if packet else None
    if overload is None or overload._schema.is_mutable or len(overload._schema.returns) != 1 or not _takes_alike(func, overload):
        raise Unsupported(f"{func} writes into a tensor")
    return overload


def _given(func, functional, args, kwargs):
    """The positional arguments with those that have a default in `func` alone: torch leaves out what is as its default."""
    args = list(args)
    for i, one in enumerate(functional._schema.arguments):
        if i >= len(args) and one.name not in kwargs and not one.has_default_value() and i < len(func._schema.arguments):
            args.append(func._schema.arguments[i].default_value)
    return args


def _without_out(func):
    """The operation that computes what `func` writes into its argument `out`."""
    wanted = [(one.name, str(one.type)) for one in func._schema.arguments if one.name != "out"]
    for name in func.overloadpacket.overloads():
        overload = getattr(func.overloadpacket, name)
        if not overload._schema.is_mutable and [(one.name, str(one.type)) for one in overload._schema.arguments] == wanted:
            return overload
    raise Unsupported(f"{func} writes into a tensor")


# Functions of tensors by their names, where the number that scales what is added is a tensor: `(function, name of the number)`.
_SCALED = {
    "add": (lambda self, other, by: self.add(other * by), "alpha"),
    "add_": (lambda self, other, by: self.add_(other * by), "alpha"),
    "sub": (lambda self, other, by: self.sub(other * by), "alpha"),
    "sub_": (lambda self, other, by: self.sub_(other * by), "alpha"),
    "addcmul": (lambda self, one, other, by: self.add(one * by * other), "value"),
    "addcmul_": (lambda self, one, other, by: self.add_(one * by * other), "value"),
    "addcdiv": (lambda self, one, other, by: self.add(one * by / other), "value"),
    "addcdiv_": (lambda self, one, other, by: self.add_(one * by / other), "value"),
}


def _scaled(function, kwargs):
    """The function and its keyword arguments without a tensor in place of a number."""
    scaled, name = _SCALED.get(function.__name__, (None, None))
    by = kwargs.get(name)
    if not isinstance(by, torch.Tensor) or by.dim() or len(kwargs) > 1:
        return function, kwargs
    return lambda self, *args: scaled(self, *args, by.to(self.dtype)), {}


# Functions of lists of tensors whose last argument is a list of numbers: the function of one tensor, and the number's name.
_SCALED_EACH = {"_foreach_addcdiv_": (torch.Tensor.addcdiv_, "value"), "_foreach_addcmul_": (torch.Tensor.addcmul_, "value")}


def _scaled_each(function, args):
    """The function without tensors in place of the numbers: for each tensor of the lists the function of one."""
    one, name = _SCALED_EACH.get(function.__name__, (None, None))
    numbers = args[3] if len(args) == 4 and isinstance(args[3], (list, tuple)) else ()
    if one is None or not numbers or not all(isinstance(by, torch.Tensor) and not by.dim() and by.dtype == torch.float64 for by in numbers):
        return function

    def each(*lists):
        for *tensors, by in zip(*lists, strict=True):
            scaled, rest = _scaled(one, {name: by})
            scaled(*tensors, **rest)

    return each


# Functions, by their names without underscores, that compute with a Python float as with a tensor of float64 without axes.
_TAKE_NUMBERS = frozenset(
    "add sub mul div iadd isub imul itruediv truediv radd rsub rmul rtruediv subtract multiply divide true_divide".split()
)


def _with_numbers(function, args, kwargs, numbers):
    """The function and its keyword arguments where `numbers` stand for Python numbers that are not known at capture. A number takes
    the dtype of the tensors where these are floats; a tensor without axes that stands for it may not, so that it is cast."""
    given = [one for one in _pytree.tree_leaves((args, kwargs)) if isinstance(one, (torch.Tensor, _tensor_batches.Batched))]
    others = [one for one in given if not any(one is number for number in numbers)]
    dtypes = {one.dtype for one in others}
    ranks = [one.dim() if isinstance(one, torch.Tensor) else one.rank for one in others]
    floats = any(number.dtype == torch.float64 for number in numbers)
    known = dtypes <= ({torch.float64, torch.float32} if floats else {torch.float64, torch.float32, torch.int64, torch.int32})
    scaled, rest = _scaled(function, kwargs)
    takes = not rest and scaled is not function or not kwargs and function.__name__.strip("_") in _TAKE_NUMBERS
    if not others or not known or not takes:
        raise Unsupported("a number that is not known at capture")
    if all(ranks) or dtypes == {torch.float64}:
        return scaled, rest
    if len(dtypes) > 1 or not all(isinstance(one, torch.Tensor) for one in given):
        raise Unsupported("a number that is not known at capture")
    (dtype,) = dtypes
    cast = lambda one: one.to(dtype) if any(one is number for number in numbers) else one  # noqa: E731
    return lambda *args: scaled(*_pytree.tree_map(cast, args)), rest


_RANGES = frozenset({aten.arange.default, aten.arange.start})


@functools.cache
def _decomposition(func):
    """What computes an operation without a row by others that may have some, as the backend of torch.compile has it; or None."""
    if func.namespace != "aten" or draws(func) or _native.torch_has_row(f"{func._opname}.{func._overloadname}"):
        return None
    core = _torch_decompositions.of_aten().get(func)
    return core and (_torch_checked.DECOMPOSITIONS.get(func) or decomposition_table.get(func) or core)


def _tensors(args, kwargs):
    """Is there a tensor among the arguments?"""
    return any(isinstance(one, torch.Tensor) for one in _pytree.tree_leaves((args, kwargs)))


def _has_other_bias(x, weight, bias, transposed, groups):
    """Without memory torch takes a bias of any length."""
    return weight.dim() < 2 or tuple(bias.shape) != ((weight.size(1) * groups if transposed else weight.size(0)),)


def _has_other_diagonal(x, diagonal, *place):
    """Without memory torch takes one of any size."""
    return diagonal.shape != aten.diagonal.default(x, *place).shape


def _varies(args, kwargs):
    """Is there a tensor or a symbolic size among the arguments? A call without any is torch's own, whose result is a constant."""
    return any(isinstance(one, torch.Tensor) or _tensor_sizes.is_size(one) for one in _pytree.tree_leaves((args, kwargs)))


def _is_like(made, one, known):
    """Is a result of a decomposition what the operation itself gives: of the same layout, in memory of its own?"""
    if not isinstance(one, torch.Tensor):
        return made is one
    if not isinstance(made, torch.Tensor):
        return False
    sizes, strides = map(_tensor_sizes.hints, (made.shape, made.stride()))
    alike = (sizes, strides, made.dtype) == (tuple(one.shape), one.stride(), one.dtype)
    return alike and made.untyped_storage()._cdata not in known and made.storage_offset() == 0


# Operations that others have the rows of: parts of a decomposition, and views that torch does not call so.
_SAME = {
    torch.ops.prims.where.default: aten.where.self,
    aten.unsafe_split.Tensor: aten.split.Tensor,
    aten.unsafe_split_with_sizes.default: aten.split_with_sizes.default,
}


# Operations whose last argument counts from the begin of memory, which a stand-in does not know.
_FROM_STORAGE = frozenset({aten.as_strided_copy.default, aten.as_strided_scatter.default})

# Writes of what does not depend on what was there.
_WHOLE_WRITES = frozenset({aten.copy_.default, aten.fill_.Scalar, aten.fill_.Tensor, aten.zero_.default})

# What gives the tensor after a change of its sizes in place from the tensor before.
_COPIES = {
    aten.transpose_.default: aten.transpose_copy.int,
    aten.t_.default: aten.t_copy.default,
    aten.unsqueeze_.default: aten.unsqueeze_copy.default,
    aten.squeeze_.default: aten.squeeze_copy.default,
    aten.squeeze_.dim: aten.squeeze_copy.dim,
    aten.squeeze_.dims: aten.squeeze_copy.dims,
}


# Operations whose results hold nothing that was asked for.
_EMPTIES = frozenset({aten.empty.memory_format, aten.empty_permuted.default, aten.empty_strided.default, aten.empty_like.default,
                      aten.new_empty.default, aten.new_empty_strided.default})


# Operations that tell something of dtypes and sizes.
_TELL = frozenset({aten.promote_types.default, aten.can_cast.default, aten.is_same_size.default})


# Functions whose second argument is an index of the first one.
_INDEXING = frozenset({operator.getitem, operator.setitem, torch.Tensor.__getitem__, torch.Tensor.__setitem__})


@functools.lru_cache(maxsize=None)
def _axis_of(func):
    """The number of the argument `dim` of an operation, an int; or None."""
    return next((i for i, one in enumerate(func._schema.arguments) if one.name == "dim" and str(one.type) == "int"), None)


def _has_other_axis(func, args, kwargs):
    """Is an operation on a tensor without axes given another axis than 0 or -1? Without memory torch does not always look at it."""
    place = _axis_of(func)
    axis = None if place is None else args[place] if place < len(args) else kwargs.get("dim", 0)
    return isinstance(axis, int) and axis not in (0, -1)


class Raises(Unsupported):
    """An operation raises on the CPU, as its dtypes and sizes tell."""


class Recorder(TorchDispatchMode):
    """Notes the operations that are called while it is active: `(operation, args, kwargs, results)`, for a write
    `(None, written tensor, what is written, None)`, for other sizes of a tensor `(None, tensor, what it was, (name of a view, its arguments))`,
    and `(None, tensor, another name of it, tensor)`. `called`: the operations as
    they are called, writes included, each with whether gradients are recorded."""

    @classmethod
    def _should_skip_dynamo(cls):
        """Without a wrapper around each operation, which imports Dynamo: Dynamo takes no part here."""
        return False

    def __init__(self, most=None):
        super().__init__()
        self.calls, self.called = [], []
        self.most = most  # operations that are noted, or None
        self.depth = 0  # of decompositions
        self.state = None  # of the generator that the function makes, where a call draws from one
        self.records = None  # whether gradients are recorded of operations of other libraries: their own code has switched that off
        self.filling = []  # tensors that torch has made on the CPU, which its own code fills without an operation

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.state is not None and any(isinstance(one, torch.Generator) for one in (*args, *kwargs.values())):
            return self.draw(func, args, kwargs)
        if func in _EMPTIES and kwargs.get("device") == CPU and not isinstance(args[0], torch.Tensor):
            self.filling.append(func(*args, **kwargs))
            return self.filling[-1]
        for one in _pytree.tree_leaves((args, kwargs)) if self.filling else ():
            if any(one is other for other in self.filling):
                self.filled(one)
        with _tensor_autocast.without():
            results = self.take(func, args, kwargs)
        if not self.depth:
            records = self.records if self.records is not None and _tensor_foreign.is_foreign(func) else torch.is_grad_enabled()
            self.called.append((func, args, _on_cpu(kwargs), results, records))
        return results

    def take(self, func, args, kwargs):
        func = _SAME.get(func, func)
        if _tensor_foreign.is_foreign(func):
            return self.call_foreign(func, args, kwargs)
        if torch.Tag.nondeterministic_seeded in func.tags and kwargs.get("device") != META and not _tensors(args, kwargs):
            raise Unsupported(f"{func} would draw numbers as it is captured")
        if func._schema.is_mutable:
            return (self.write_out if isinstance(kwargs.get("out"), torch.Tensor) else self.write)(func, args, kwargs)
        if func is aten.native_batch_norm.default and args[3] is not None:
            return self.normalise(*args)
        decomposition = _decomposition(func) if _varies(args, kwargs) else None
        given = _tensor_sizes.now((args, kwargs)) if decomposition else None
        apart = decomposition and runs(func, *given)
        results = self.decompose(decomposition, func, args, kwargs, given) if apart else None
        if results is None and self.depth:  # below autograd, which takes composite operations apart elsewhere
            with self:
                results = func.decompose(*args, **kwargs)
            results = None if results is NotImplemented else results
        results = self.note(func, *args, **kwargs) if results is None else results
        if func in _EMPTIES and are_filled():
            self.calls.append((None, results, self.note(aten.full_like.default, results, filler(results.dtype)), None))
        return results

    def call_foreign(self, func, args, kwargs):
        """A call of an operation of another library, which writes into arguments of its own in the plan."""
        _tensor_foreign.check(func, args, kwargs)
        targets = _tensor_foreign.written(func, args, kwargs)
        others = [one for one in _pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        for one in targets:
            if sum(bool(_is_same_memory(other, one)) for other in others) > 1:
                raise Unsupported(f"{func} is given memory twice that it writes")
        results = func(*args, **kwargs)
        made = _tensor_foreign.results_of(func, results)
        new = [torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=META) for one in targets]
        self.calls.append((_tensor_foreign.Call(func, made), args, _on_cpu(kwargs), (*made, *new)))
        self.calls += [(None, one, by, None) for one, by in zip(targets, new)]
        return results

    def filled(self, one):
        """Such a tensor is read: what it holds is a constant of the graph."""
        real = one.clone()
        self.filling = [other for other in self.filling if other is not one]
        self.calls += [(aten.lift_fresh.default, (real,), {}, real), (None, real, one, real)]
        self.called.append((None, real, one, real, False))

    def draw(self, func, args, kwargs):
        """A call that draws from a generator which the function makes."""
        if "out" in kwargs or isinstance(args[0] if args else None, (list, tuple)) and args[0] and isinstance(args[0][0], torch.Tensor):
            raise Unsupported(f"{func} draws from a generator that the function makes")
        if func._schema.is_mutable and not args[0].is_contiguous():
            raise Unsupported(f"{func} draws in the order in which the elements lie")
        functional = _functional(func) if func._schema.is_mutable else func
        if functional is not func:
            args = _given(func, functional, args, kwargs)
        call = _tensor_draws.noted(functional, self.state, args, kwargs)
        made, self.state = self.__torch_dispatch__(torch.ops.frameloom.drawn.default, (), call, {})
        return made if functional is func else self.__torch_dispatch__(aten.copy_.default, (), (args[0], made), {})

    def constant(self, numbers):
        """A stand-in for a tensor of whole numbers, which is a constant of the graph."""
        real = numbers if isinstance(numbers, torch.Tensor) else torch.tensor(numbers, dtype=torch.int64)
        known = torch.empty(real.shape, dtype=real.dtype, device=META)
        self.calls += [(aten.lift_fresh.default, (real,), {}, real), (None, real, known, real)]
        self.called.append((None, real, known, real, False))
        return known

    def indices(self, target, key):
        """The index `key` of a tensor with constants in place of its lists of numbers: torch would make tensors without memory of
        them. A list of bools is one of the places that are true. What else a list may be stays as it is, and is not captured."""
        parts = key if isinstance(key, tuple) else (key,)
        made, axis = [], 0  # the axis that a part is an index of; None: not looked for
        for part in parts:
            if isinstance(part, (range, tuple)):
                part = list(part)
            kinds = {type(one) for one in part} if isinstance(part, list) else ()
            if isinstance(part, list) and kinds <= {int} or kinds == {bool} and axis is not None and axis < target.dim() and len(part) == target.size(axis):
                part = self.constant(part if kinds != {bool} else [i for i, taken in enumerate(part) if taken])
            several = part is Ellipsis or isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8)
            axis = None if several or axis is None else axis + (part is not None)
            made.append(part)
        return tuple(made) if isinstance(key, tuple) else made[0]

    def decompose(self, decomposition, func, args, kwargs, given):
        """The results, of operations that are noted; None, where these are not as the operation's own. `given`: the arguments with the
        sizes of this call."""
        noted = len(self.calls)
        self.depth += 1
        try:
            with torch.no_grad(), self:
                results = decomposition(*args, **kwargs)
            wanted = _pytree.tree_leaves(results_without_memory(func, *given))
        except (Unsupported, RuntimeError, TypeError, ValueError, NotImplementedError, IndexError):
            results = wanted = NotImplemented
        self.depth -= 1
        known = {one.untyped_storage()._cdata for one in _pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)}
        made = None if results is NotImplemented else _pytree.tree_leaves(results)
        if made is not None and len(made) == len(wanted) and all(_is_like(one, other, known) for one, other in zip(made, wanted)):
            return results
        del self.calls[noted:]
        return None

    def note(self, func, *args, **kwargs):
        if func in _FROM_STORAGE and (args[-1] if len(args) == len(func._schema.arguments) else kwargs.get("storage_offset")) is not None:
            raise Unsupported(f"{func} counts from the begin of memory")
        if self.most and len(self.calls) >= self.most:
            raise Unsupported(f"torch takes it apart into more than {self.most:,} operations")
        sized = _tensor_sizes.has_sizes((args, kwargs))
        if func is aten._unsafe_view.default and not any(one is args[0] for call in self.calls for one in _pytree.tree_leaves(call[3])):
            func = aten.view.default  # of an argument, whose memory may be written through it
        if func in _RANGES:
            func, args = aten.arange.start_step, (*(0,) * (len(args) == 1), *args, 1)
        given = _tensor_sizes.now((args, kwargs)) if sized else (args, kwargs)
        if isinstance(args[0] if args else None, torch.Tensor) and not args[0].dim() and _has_other_axis(func, args, kwargs):
            raise Raises(f"{func} along an axis that a tensor without axes does not have")
        if func is aten.convolution.default and isinstance(args[2], torch.Tensor) and _has_other_bias(*args[:3], args[6], args[8]):
            raise Raises("a convolution whose bias has not one number for each channel raises")
        if func is aten.diagonal_scatter.default and not sized and _has_other_diagonal(*args):
            raise Raises("a diagonal of another size raises")
        if not func.is_view and not draws(func) and not runs(func, *given):
            raise Raises(f"{func} raises for tensors of these dtypes")
        made = self.calls and self.calls[-1][3] is not None and self.calls[-1][3] is args[0]
        if func is aten.detach.default and made:  # how functions that make tensors end: no view that anybody sees
            self.calls.append((None, args[0], func(args[0]), args[0]))
            return self.calls[-1][2]
        if sized or func.is_view:
            results = _tensor_sizes.results(func, args, kwargs) if sized else described(func, args, kwargs)
            results = results if func.is_view else laid_out(func, *given, results)
        else:
            results = results_without_memory(func, args, kwargs)
        if func in _TELL:
            return results
        for one in () if isinstance(results, torch.Tensor) else _pytree.tree_leaves(results):
            if not isinstance(one, (torch.Tensor, type(None))):
                raise Unsupported(f"{func} gives something else than tensors")
        self.calls.append((func, args, _on_cpu(kwargs), results))
        return results

    def normalise(self, x, weight, bias, mean, variance, training, *rest):
        """native_batch_norm() in training changes the running statistics, though its schema does not say so. Otherwise it gives other
        sizes of the statistics than without memory."""
        if not training:
            made, *saved = self.note(aten._native_batch_norm_legit_no_training.default, x, weight, bias, mean, variance, *rest)
            return made, *(self.note(aten.new_zeros.default, one, [0]) for one in saved)
        *results, new_mean, new_variance = self.note(
            aten._native_batch_norm_legit_functional.default, x, weight, bias, mean, variance, training, *rest
        )
        self.calls += [(None, mean, new_mean, None), (None, variance, new_variance, None)]
        return tuple(results)

    def write_out(self, func, args, kwargs):
        """An operation with `out=`. Which dtypes of it fit, and whether it may be an argument, too, depends on the operation."""
        kwargs = dict(kwargs)
        target = kwargs.pop("out")
        given = [one for one in _pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        place = target.untyped_storage()._cdata
        if torch.Tag.pointwise not in func.tags and any(one.untyped_storage()._cdata == place for one in given):
            raise Unsupported(f"{func} of a tensor that it writes")
        self.replace(func, target, args, kwargs, _without_out(func))
        return target

    def fills(self, out):
        """Have the operations written into each tensor of `out`? Some functions of torch's give another tensor under a dispatch mode."""
        if out is None:
            return True
        written = {call[1].untyped_storage()._cdata for call in self.calls if call[0] is None and isinstance(call[1], torch.Tensor)}
        return all(one.untyped_storage()._cdata in written for one in _pytree.tree_leaves(out) if isinstance(one, torch.Tensor) and one.numel())

    def write_all(self, func, args, kwargs):
        """An operation that writes into each tensor of a list."""
        new = self.note(_functional(func), *args, **kwargs)
        for one, by in zip(args[0], new, strict=True):
            if by.shape != one.shape or not torch.can_cast(by.dtype, one.dtype):
                raise Unsupported(f"{func} of what does not fit into a tensor")
            if by.dtype != one.dtype:
                by = self.note(aten._to_copy.default, by, dtype=one.dtype)
            self.calls.append((None, one, by, None))

    def unscale(self, grads, found, inverse):
        """Multiplies gradients by a number, and makes `found` 1 if one of them is not finite."""
        if any(not one.is_floating_point() for one in grads) or not _are_numbers((found, inverse), torch.float32):
            raise Unsupported("gradients are unscaled otherwise than by torch.amp")
        seen = found
        for one in grads:
            finite = self.note(aten.all.default, self.note(aten.lt.Scalar, self.note(aten.abs.default, one), torch.inf))
            seen = self.note(aten.where.self, finite, seen, self.note(aten.full_like.default, seen, 1.0))
            narrow = one.dtype in (torch.float16, torch.bfloat16)
            new = self.note(aten._to_copy.default, one, dtype=torch.float32) if narrow else one
            new = self.note(aten.mul.Tensor, new, inverse)
            new = self.note(aten._to_copy.default, new, dtype=one.dtype) if narrow else new
            self.calls.append((None, one, new, None))
        self.calls.append((None, found, seen, None))

    def update_scale(self, scale, tracker, found, growth, backoff, interval):
        """The scale is multiplied by `backoff` if something was `found`, otherwise by `growth` at each `interval` of calls."""
        if not _are_numbers((scale, found), torch.float32) or not _are_numbers((tracker,), torch.int32):
            raise Unsupported("a scale is updated otherwise than by torch.amp")
        wide = self.note(aten._to_copy.default, scale, dtype=torch.float64)
        less, more = (self.note(aten._to_copy.default, self.note(aten.mul.Tensor, wide, by), dtype=torch.float32) for by in (backoff, growth))
        failed = self.note(aten.ne.Scalar, found, 0)
        following = self.note(aten.add.Tensor, tracker, 1)
        due = self.note(aten.eq.Scalar, following, interval)
        grows = self.note(aten.logical_and.default, due, self.note(aten.lt.Scalar, self.note(aten.abs.default, more), torch.inf))
        new = self.note(aten.where.self, failed, less, self.note(aten.where.self, grows, more, scale))
        over = self.note(aten.logical_or.default, failed, due)
        count = self.note(aten.where.self, over, self.note(aten.full_like.default, tracker, 0), following)
        self.calls += [(None, scale, new, None), (None, tracker, count, None)]
        return scale

    def reshape(self, func, args, kwargs):
        """An operation that gives a tensor other sizes in place. What it was gets a name of its own. A tensor that an operation here has
        made, as composite operations do, nobody has seen yet; of another one capture knows a value, whose sizes change."""
        target = args[0]
        if func._opname == "squeeze_" and _tensor_sizes.has_sizes((args, kwargs)):  # torch reads sizes as numbers that are none
            _tensor_sizes.know((args, kwargs), f"{func} has no rule for sizes that change")
        makers = [call[0] for call in self.calls if any(one is target for one in _pytree.tree_leaves(call[3]))]
        before, copies = aten.alias.default(target), _COPIES.get(func)
        func(*args, **kwargs)
        lies_alike = copies or before.is_contiguous() and target.is_contiguous()
        if not makers or any(one is None or one.is_view for one in makers) or not lies_alike:
            stays = lies_alike and before.numel() == target.numel() and before.storage_offset() == target.storage_offset()
            name = "view" if stays and not copies else func._opname.rstrip("_")
            self.calls.append((None, target, before, (name, (before, *args[1:]))))
            return target
        swap = lambda one: before if one is target else one  # noqa: E731
        for i, call in enumerate(self.calls):
            if any(one is target for one in _pytree.tree_leaves(call)):
                self.calls[i] = tuple(_pytree.tree_map(swap, part) for part in call)
        made = (copies, (before, *args[1:]), kwargs) if copies else (aten._unsafe_view.default, (before, list(target.shape)), {})
        self.calls.append((*made, target))
        return target

    def write(self, func, args, kwargs):
        if func in _SEVERAL:
            return _SEVERAL[func](self, *args, **kwargs)
        target = args[0]
        if torch.Tag.inplace_view in func.tags:
            return self.reshape(func, args, kwargs)
        if isinstance(target, (list, tuple)):
            return self.write_all(func, args, kwargs)
        if any(a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments[1:]):
            raise Unsupported(f"{func} writes into a tensor that is not its first argument")
        if draws(func) and not any(isinstance(one, torch.Tensor) for one in args[1:]):
            self.check_draw(func, target, *args[1:], **kwargs)
        self.replace(func, target, args, kwargs, None)
        return target

    def check_draw(self, func, target, *args, **kwargs):
        """Raises what torch raises of the parameters; for tensors without elements it does not look at them."""
        with torch.utils._python_dispatch._disable_current_modes():
            func(torch.empty(0, dtype=target.dtype), *args, **{**kwargs, "generator": torch.Generator()})

    def draw_in_order(self, func, computes, target, *args, **kwargs):
        """Numbers that are drawn in the order in which the elements of `target` lie, by an operation that draws them in the order of
        the axes."""
        order = sorted(range(target.dim()), key=lambda axis: (-target.stride(axis), axis))
        target = self.note(aten.permute.default, target, order)
        made = self.note(computes, *_given(func, computes, (target, *args), kwargs), **kwargs)
        return self.note(aten.permute.default, made, sorted(range(len(order)), key=order.__getitem__))

    def replace(self, func, target, args, kwargs, functional):
        """What `func` writes into `target`, which it may read as well; `functional`: the operation that computes it, or None."""
        others = [one for one in _pytree.tree_leaves((args[1:], kwargs)) if isinstance(one, torch.Tensor)]
        if any(_lies_partly_in(one, target) for one in (args[0], *others) if isinstance(one, torch.Tensor)):
            raise Unsupported(f"{func} reads a part of the memory that it writes")
        if torch.Tag.pointwise not in func.tags and func not in _WHOLE_WRITES and any(_is_same_memory(one, target) for one in others):
            raise Unsupported(f"{func} reads the memory that it writes")
        if func is aten.copy_.default:
            new = args[1]
        elif func in (aten.fill_.Scalar, aten.fill_.Tensor):
            if func is aten.fill_.Tensor and args[1].dim():
                raise Unsupported("fill_() by a tensor with dimensions raises")
            new = self.note(aten.full_like.default, target, args[1]) if func is aten.fill_.Scalar else args[1]
        elif func is aten.zero_.default:
            new = self.note(aten.full_like.default, target, 0)
        elif func is aten.abs_.default and target.is_complex():
            raise Raises("abs_() of complex numbers raises")
        else:
            computes = functional or _functional(func)
            if func is aten.bernoulli_.float and not target.is_contiguous():
                new = self.draw_in_order(func, computes, target, *args[1:], **kwargs)
            else:
                new = self.note(computes, *_given(func, computes, args, kwargs), **kwargs)
            if functional and new.dtype != target.dtype:
                raise Unsupported(f"{func} into a tensor of another dtype")
            if new.shape != target.shape or not torch.can_cast(new.dtype, target.dtype):
                raise Raises(f"{func} of what does not fit into the tensor raises")
        if new.dtype != target.dtype:
            new = self.note(aten._to_copy.default, new, dtype=target.dtype)
        if new.shape != target.shape:
            new = self.note(aten.expand.default, new, target.shape)
        self.calls.append((None, target, new, None))


# Operations that write into several tensors, which are among their first two arguments.
_SEVERAL = {
    aten._amp_foreach_non_finite_check_and_unscale_.default: Recorder.unscale,
    aten._amp_update_scale_.default: Recorder.update_scale,
}


def _are_numbers(tensors, dtype):
    return all(one.dim() == 0 and one.dtype == dtype for one in tensors)


def empty(sizes, strides, dtype, extent):
    """A tensor without memory that lies as one of the user's does, on `extent` elements of storage."""
    with torch.inference_mode(False):  # and where gradients are recorded, so that the view may be written
        return torch.empty(extent, dtype=getattr(torch, dtype), device=META).as_strided(sizes, strides)


FLASH = torch.nn.attention.SDPBackend.FLASH_ATTENTION.value


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    """Scaled dot product attention by the operation that torch takes on the CPU. Tensors without memory take another one, so that
    torch is asked with tensors that have memory, which nobody touches."""
    plain = torch._C._nn.scaled_dot_product_attention
    given = (query, key, value) if attn_mask is None else (query, key, value, attn_mask)
    if any(not isinstance(one, torch.Tensor) or one.dim() < 2 for one in given) or attn_mask is not None and is_causal or enable_gqa:
        return plain(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    with torch.utils._python_dispatch._disable_current_modes():
        like = [untouched(one) for one in _tensor_sizes.now(given)]
        chosen = torch._fused_sdp_choice(*like[:3], like[3] if attn_mask is not None else None, dropout_p, is_causal, scale=scale)
    if chosen != FLASH or len({one.dtype for one in given[:3]}) > 1:
        return plain(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        allowed, never = (torch.scalar_tensor(number, dtype=query.dtype, device=META) for number in (0.0, -torch.inf))
        attn_mask = torch.where(attn_mask, allowed, never)
    return aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)[0]


def _one_hot(tensor, num_classes=-1):
    """As for the CPU: what is no class is a place out of bounds. Other devices compare, which gives zeros for it."""
    if not isinstance(tensor, torch.Tensor) or tensor.dtype != torch.int64 or not isinstance(num_classes, int) or num_classes < 1:
        return torch._C._nn.one_hot(tensor, num_classes)
    made = torch.zeros((*tensor.shape, num_classes), dtype=torch.int64, device=META)
    return made.scatter(-1, tensor.unsqueeze(-1), 1)


def _lies_channels_last(x, groups):
    """Is it an image for which torch.group_norm() takes another order of memory on the CPU than on other devices?"""
    if not isinstance(x, torch.Tensor) or x.dim() not in (4, 5) or _tensor_sizes.has_sizes([tuple(x.shape)]) or not isinstance(groups, int) or groups < 1:
        return False
    return not x.is_contiguous() and x.size(1) % groups == 0 and torch._prims_common.suggest_memory_format(x) is not torch.contiguous_format


def _group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    if not _lies_channels_last(input, num_groups):
        return torch.group_norm(input, num_groups, weight, bias, eps, cudnn_enabled)
    batch, channels, *sizes = input.shape
    x = input.contiguous(memory_format=torch._prims_common.suggest_memory_format(input))
    return torch.native_group_norm(x, weight, bias, batch, channels, math.prod(sizes), num_groups, eps)[0]


def _group_norm_of_modules(input, num_groups, weight=None, bias=None, eps=1e-05):
    if not _lies_channels_last(input, num_groups):
        return torch.nn.functional.group_norm(input, num_groups, weight, bias, eps)
    torch.nn.functional._verify_batch_size([input.size(0) * input.size(1) // num_groups, num_groups, *input.shape[2:]])
    return _group_norm(input, num_groups, weight, bias, eps)


# Functions that choose their operations by the device.
_CHOOSE = {torch.group_norm: _group_norm, torch.nn.functional.group_norm: _group_norm_of_modules, torch._C._nn.scaled_dot_product_attention: _attention, torch._C._nn.one_hot: _one_hot}
_tensor_autocast.IN_PLACE[aten.scaled_dot_product_attention.default] = _attention


def record(function, args, kwargs, gradients, numbers, autocast, levels, place):
    """What `_recorded()` gives. A call that warns each time is Unsupported, so that it is made with the user's tensors; a warning that
    torch gives once in a process is given for the user's `place`, (file, line)."""
    with _tensor_warnings.Caught() as caught:
        found = _recorded(function, args, kwargs, gradients, numbers, autocast, levels)
    if not caught.messages:
        return found
    forget_results()
    if function is not torch.autograd.grad and all(operation is not None for operation, *_ in found[1]):
        with _tensor_warnings.Caught() as again:
            found = _recorded(function, args, kwargs, gradients, numbers, autocast, levels)
        forget_results()
        if not again.messages:
            _tensor_warnings.once(caught.messages, place)
            return found
    raise Unsupported(f"torch warns, {str(caught.messages[0].message)[:80]!r}")


_UNSAFE = frozenset(getattr(of, name) for of in (torch, torch.Tensor) for name in ("unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes") if hasattr(of, name))


# Types of tensors on the CPU, torch.FloatTensor and its like, by their names.
_TYPES = {f"torch.{kind.__name__}": kind for kind in torch._tensor_classes if kind.__module__ == "torch"}


def _dtype_of(kind):
    """The dtype of such a type or of its name: tensors of the `meta` device are of other types."""
    found = next((one for name, one in _TYPES.items() if kind is one or isinstance(kind, str) and kind == name), None)
    return kind if found is None else found.dtype


def constructs(function, args, kwargs):
    """The keyword arguments of a call with the device on which tensors have no memory, where it makes some."""
    device = kwargs.get("device")
    if function in (torch.tensor, torch.as_tensor):  # of numbers: a constant
        return {name: given for name, given in kwargs.items() if name != "device" or on_meta(given) != META}
    if device is not None or function in _device_constructors() or (function is torch.normal and not _tensors(args, kwargs)):
        return {**kwargs, "device": META if device is None else on_meta(device)}
    return kwargs


class Refused(Exception):
    """What torch raises of a call, with the user's tensors as with those without memory: its only argument."""


# What these raise depends on more than the sizes and strides of their arguments: on how far memory reaches.
_REACH = frozenset({torch.as_strided, torch.Tensor.as_strided, torch.Tensor.as_strided_, torch.as_strided_, torch.as_strided_scatter,
                    torch.Tensor.as_strided_scatter, torch.as_strided_copy})


def _refused(error, function, args, kwargs, gradients, called):
    """The exception that the call raises with tensors that have memory, if it has raised one of this type without, and has not written
    or drawn anything before; else None."""
    changes = any(isinstance(func, _tensor_functions.Noted) or draws(func) or func._schema.is_mutable for func, *_ in called if func is not None)
    leaves = _pytree.tree_leaves((args, kwargs))
    tensors = [one for one in leaves if isinstance(one, torch.Tensor)]
    sized = any(map(_tensor_sizes.is_size, leaves)) or _tensor_sizes.has_sizes(
        [(*one.size(), *one.stride(), one.storage_offset()) for one in tensors])  # which the words of an error have
    if changes or sized or function in _REACH or not isinstance(error, (Raises, RuntimeError, TypeError, ValueError, IndexError, AttributeError)):
        return None
    real = raised_on_cpu(function, args, kwargs, gradients)
    return real if isinstance(error, Raises) or type(real) is type(error) else None


def _recorded(function, args, kwargs, gradients, numbers, autocast, levels):
    """The result of `function(*args, **kwargs)`, the operations that it consists of, and those as they are called (Recorder).
    `gradients`: are they recorded? `numbers`: those tensors among the arguments that stand for Python numbers. `autocast`: its state.
    `levels`: those of vmap (_tensor_batches.py).

    Raises Unsupported with a reason, Refused with what torch raises of the user's tensors, or what torch raises of those without memory.
    """
    asked = function, args, kwargs
    if "requires_grad" in kwargs:  # capture makes the result a leaf
        if not isinstance(kwargs["requires_grad"], bool):
            raise Unsupported("requires_grad that is no bool")
        kwargs = {name: given for name, given in kwargs.items() if name != "requires_grad"}
    if function in _UNSAFE and gradients:
        raise Unsupported("parts of a tensor of which autograd does not know that they share memory")
    if function is torch.autograd.grad and kwargs.get("is_grads_batched"):
        raise Unsupported("is_grads_batched=True")
    if torch.is_anomaly_enabled() and (function is torch.autograd.grad or function in _tensor_transforms.FUNCTIONS):
        raise Unsupported("gradients are computed in anomaly mode")
    if any(isinstance(one, torch.device) and one == META or isinstance(one, str) and one.partition(":")[0] == "meta" for one in (*args, *kwargs.values())):
        raise Unsupported("a tensor of the `meta` device")
    args = tuple(on_meta(one) if isinstance(one, torch.device) else one for one in args)
    if function is torch.Tensor.type and len(args) == 2:
        args = (args[0], _dtype_of(args[1]))
    if function is torch.Tensor.new_tensor and len(args) == 2:
        function, (args, kwargs) = torch.tensor, _tensor_made.new_tensor(*args, **kwargs)
    kwargs = constructs(function, args, kwargs)
    if not kwargs:
        function = _scaled_each(function, args)
    function, kwargs = _with_numbers(function, args, kwargs, numbers) if numbers else _scaled(function, kwargs)
    function, recorder = function if autocast.enabled or levels else _CHOOSE.get(function, function), Recorder(MOST_PARTS)
    recorder.records = gradients
    if function is _tensor_functions.attach:
        function = functools.partial(function, recorder)
    elif function in _tensor_transforms.FUNCTIONS:
        function, levels = functools.partial(function, levels), ()
    if function in _INDEXING and len(args) > 1 and isinstance(args[0], torch.Tensor):
        args = (args[0], recorder.indices(*args[:2]), *args[2:])
    inferring = torch.inference_mode(False) if torch.is_inference_mode_enabled() else contextlib.nullcontext()
    try:
        with inferring, torch.set_grad_enabled(gradients), autocast.applied(), recorder:
            result = _tensor_batches.call(function, args, kwargs, levels)
    except Exception as error:
        known = (isinstance(error, Raises) or not isinstance(error, Unsupported)) and not (levels or numbers or autocast.enabled or torch.is_inference_mode_enabled())
        real = _refused(error, *asked, gradients, recorder.called) if known else None
        if real is None:
            raise
        raise Refused(real) from None
    if not levels and not recorder.fills(kwargs.get("out")):
        raise Unsupported("torch writes into out= otherwise than by an operation")
    return on_cpu(result), recorder.calls, recorder.called


def warn_of_number(place):
    """Gives for the user's `place`, (file, line), what torch warns of once in a process: a number is made by float() of a tensor
    that requires a gradient."""
    with _tensor_warnings.Caught() as caught, torch.utils._python_dispatch._disable_current_modes():
        float(torch.ones((), requires_grad=True))
    _tensor_warnings.once(caught.messages, place)


class Elements:
    """The elements of tensors that are computed of constants alone, and are few. `called`: a list of operations as they are called
    (Recorder), which may grow."""

    MOST = 65536  # elements of a result

    def __init__(self, called):
        self.called, self.seen, self.real = called, 0, {}

    def of(self, stand_in):
        """The tensor that `stand_in` stands for; None: it is not known."""
        while self.seen < len(self.called):
            self._follow(*self.called[self.seen])
            self.seen += 1
        return self.real.get(id(stand_in))

    def _follow(self, func, args, kwargs, results, _):
        if isinstance(func, _tensor_functions.Noted):
            return
        if func is None:
            self.real[id(kwargs)] = args.clone()
            return
        leaves = _pytree.tree_leaves((args, kwargs))
        tensors = [one for one in leaves if isinstance(one, torch.Tensor)]
        made = [one for one in _pytree.tree_leaves(results) if isinstance(one, torch.Tensor)]
        if _tensor_foreign.is_foreign(func) or draws(func) or any(map(_tensor_sizes.is_size, leaves)) or any(id(one) not in self.real for one in tensors) or any(one.numel() > self.MOST for one in made):
            for one in written_by(func, args, kwargs):
                self._forget(one.untyped_storage()._cdata)
            return
        take = lambda one: self.real[id(one)] if isinstance(one, torch.Tensor) else on_cpu(one)  # noqa: E731
        with torch.no_grad(), _tensor_autocast.quiet():
            given = func(*_pytree.tree_map(take, args), **_pytree.tree_map(take, kwargs))
        leaves = [one for one in _pytree.tree_leaves(given) if isinstance(one, torch.Tensor)]
        self.real.update((id(one), real) for one, real in zip(made, leaves, strict=True))

    def _forget(self, storage):
        for _, args, _, results, _ in self.called[: self.seen]:
            for one in _pytree.tree_leaves((args, results)):
                if isinstance(one, torch.Tensor) and one.untyped_storage()._cdata == storage:
                    self.real.pop(id(one), None)
