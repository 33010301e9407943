"""What operations of torch do with tensors that have memory, where they differ from what they do without: which dtypes they take, what they
warn of, and how their results lie. They are tried, with few elements."""

import bisect
import contextlib
import functools
import math
import re

import torch
from torch.utils import _pytree

from . import _tensor_warnings
from ._tensor_autocast import Unsupported

aten = torch.ops.aten
META, CPU = torch.device("meta"), torch.device("cpu")


def on_cpu(value):
    if isinstance(value, str) and value.startswith("torch.meta."):  # what Tensor.type() calls a type
        return value.replace("torch.meta.", "torch.", 1)
    return CPU if isinstance(value, torch.device) and value.type == "meta" else value


_tried = {}
_untold = set()  # of which no trial with one element tells
# How torch says that an operation does not take these dtypes or ranks on the CPU, or not under its switches. Without memory it takes more.
_DTYPES = re.compile(
    r"not implemented for|not support|only support|expected a tensor of floating|desired output type|dtype|scalar type|floating point|[Ee]xpected .*(type|tensors but got)"
    r"|must be 1 dimension|does not have a deterministic implementation|cannot be converted to type .* without overflow"
)


# Operations that may refuse the numbers of a trial where they take the user's: matrices that have to be regular, lengths that have to add up.
_BY_VALUES = ("linalg_", "lu_", "cholesky", "segment_reduce", "repeat_interleave", "histogram")


def _takes_long(func):
    """Takes an operation long for many elements?"""
    name = func._opname.lstrip("_")
    return name.startswith(_BY_VALUES) and name != "linalg_cross" or "conv" in name or "attention" in name or "rnn" in name


@contextlib.contextmanager
def _really():
    """For calls with tensors that have memory, of whose numbers capture takes no notice: those that are drawn are not taken from the
    function's."""
    state = torch.get_rng_state()
    try:
        with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
            yield
    finally:
        torch.set_rng_state(state)


def _with(like, args, kwargs):
    """The arguments of an operation with others in place of its tensors, for the CPU."""
    return _pytree.tree_map(lambda one: like(one) if isinstance(one, torch.Tensor) else on_cpu(one), (args, kwargs))


def _mixes(args, kwargs):
    """Are there tensors of several dtypes among the arguments?"""
    return len({one.dtype for one in _leaves(args, kwargs) if isinstance(one, torch.Tensor)}) > 1


def _gives_others(func, args, kwargs, made):
    """Have the results of a call without memory other dtypes?"""
    with contextlib.suppress(Exception):
        given, named = _pytree.tree_map_only(torch.Tensor, lambda one: one.to(META), (args, kwargs))
        described, _ = _tensor_warnings.unheard(_WITHOUT_MEMORY.get(func, func), *given, **named)
        without, real = ([one.dtype for one in _pytree.tree_leaves(of) if isinstance(one, torch.Tensor)] for of in (described, made))
        return without != real
    return False


def _try(func, args, kwargs, like):
    """Takes the operation such tensors? None: what it raises has nothing to do with dtypes. And does it warn?"""
    with _really():
        try:
            given, named = _with(like, args, kwargs)
            made, warns = _tensor_warnings.unheard(func, *given, **named)
            if _mixes(given, named) and not func._schema.is_mutable and _gives_others(func, given, named, made):
                return False, False
        except (NotImplementedError, TypeError):
            return False, False
        except (RuntimeError, IndexError, ValueError) as error:
            return False if torch.Tag.pointwise in func.tags or _DTYPES.search(str(error)) else None, False
    return True, warns


def _ones(one):
    return torch.ones((1,) * one.dim(), dtype=one.dtype)


@functools.cache
def _takes_pivots(func):
    """Is one of its arguments rows that LAPACK swaps? It believes them: zeros would have it write in front of the memory."""
    return any("pivots" in one.name and not one.is_out for one in func._schema.arguments)


def _safe(func, like):
    """`like()`, with whole numbers that are places which there are. Operations on elements divide by them."""
    if torch.Tag.pointwise in func.tags:
        return like

    def first(one):
        made = like(one)
        if one.dtype.is_floating_point or one.dtype.is_complex or one.dtype == torch.bool or made.device == META:
            return made
        return made.fill_(1) if _takes_pivots(func) else made.zero_()

    return first


def _checks(func, args, kwargs):
    """Is an operation that is given numbers for other sizes safe to call? Those that are no functions of users' may believe them."""
    inner = func._opname.startswith("_") or "backward" in func._opname
    return not inner or not any(isinstance(one, (list, tuple)) and one and not isinstance(one[0], torch.Tensor) for one in (*args, *kwargs.values()))


def _hear(func, args, kwargs, tensors):
    """Lets torch give the warnings that are the operation's for tensors which have memory: of few elements, or, where the operation
    does not take those, of zeros. The caller sees them."""
    few = sum(one.numel() for one in tensors) <= MOST_TRIED
    for like in (*([_small] if _checks(func, args, kwargs) else []), *([_whole] if few else [])):
        with _really(), contextlib.suppress(RuntimeError, IndexError, ValueError):
            given, named = _with(_safe(func, lambda one: like(one, CPU)), args, kwargs)  # noqa: B023
            func(*given, **named)
            return


def _leaves(args, kwargs):
    flat = (*args, *kwargs.values())
    return _pytree.tree_leaves((args, kwargs)) if any(isinstance(one, (list, tuple, dict)) for one in flat) else flat


def _deterministic():
    """What decides whether torch refuses operations whose results may differ from run to run, or warns of them."""
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def are_filled():
    """Does torch fill tensors whose elements nobody has asked for?"""
    return torch.are_deterministic_algorithms_enabled() and torch.utils.deterministic.fill_uninitialized_memory


def filler(dtype):
    """With what."""
    if dtype == torch.bool:
        return True
    return torch.nan if dtype.is_floating_point or dtype.is_complex else torch.iinfo(dtype).max


def _kind(one):
    """What of an argument decides whether an operation takes it, and what it warns of."""
    if isinstance(one, torch.Tensor):
        return one.dtype, one.dim()
    return one if isinstance(one, (torch.dtype, torch.memory_format, bool, str)) else type(one)


# The least and the greatest numbers of dtypes: whether torch converts a number to one of them depends on the bounds that it lies between.
_BOUNDS = sorted({bound for dtype in (torch.float16, torch.float32) for bound in (-torch.finfo(dtype).max, torch.finfo(dtype).max)}.union(
    *({-(2**bits) + 1, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 2**bits - 1} for bits in (8, 16, 32, 64))))


def _place(number):
    """Between which bounds a number lies."""
    if isinstance(number, complex):
        return _place(number.real), _place(number.imag), number.imag == 0
    if not isinstance(number, (int, float)) or number != number:
        return None
    return number < 0, (bisect.bisect_left if number >= 0 else bisect.bisect_right)(_BOUNDS, number)


@functools.cache
def _scalars(func):
    """The arguments of an operation that are numbers, which it converts to a dtype: places and names."""
    numbers = [(i, one.name) for i, one in enumerate(func._schema.arguments) if str(one.type) in ("number", "Optional[number]")]
    return numbers and (tuple(i for i, _ in numbers), tuple(name for _, name in numbers))


def _places(func, args, kwargs):
    if not (scalars := _scalars(func)):
        return ()
    numbers = [args[i] for i in scalars[0] if i < len(args)] + [kwargs[name] for name in scalars[1] if name in kwargs]
    return tuple(map(_place, numbers))


# Variances, which warn where they are of no more numbers than their correction is.
_VARIANCES = frozenset(getattr(aten, name).correction for name in ("var", "std", "var_mean", "std_mean"))


def _hear_variance(func, x, dim=None, *, correction=None, keepdim=False):
    """Lets torch give its warning for this number of elements: of one result."""
    axes = {axis % x.dim() for axis in dim or range(x.dim()) if -x.dim() <= axis < x.dim()}
    sizes = [size if axis in axes else min(size, 1) for axis, size in enumerate(x.shape)]
    if 0 in sizes or math.prod(sizes) <= (1 if correction is None else correction):
        with _really(), contextlib.suppress(RuntimeError, IndexError, ValueError, TypeError):
            func(torch.ones(sizes, dtype=x.dtype), dim, correction=correction, keepdim=keepdim)


def runs(func, args, kwargs):
    """Takes an operation these dtypes and ranks on the CPU? Tried once: on one element, or where that does not fit, on zeros of the
    sizes at hand. An operation that warns then is run again each time, so that its warnings are heard."""
    leaves = _leaves(args, kwargs)
    tensors = [one for one in leaves if isinstance(one, torch.Tensor)]
    lie = all(one.is_contiguous() for one in tensors)
    places = _places(func, args, kwargs)
    key = (func, lie, *_deterministic(), *map(_kind, leaves), *places)
    if key not in _tried:
        if _takes_pivots(func):
            return True
        few = sum(one.numel() for one in tensors) <= (MOST_WHOLE if _mixes(args, kwargs) and not _takes_long(func) else MOST_TRIED)
        if key in _untold and not few:
            return True
        takes, warns = _try(func, args, kwargs, _safe(func, _ones)) if _checks(func, args, kwargs) else (None, False)
        if takes is None and few:
            takes, warns = _try(func, args, kwargs, lambda one: _whole(one, CPU))
        if takes is None and not tensors:
            takes, warns = False, False  # it raises as it does for the user
        if takes is None and few and _checks(func, args, kwargs) and not func._opname.startswith(_BY_VALUES):
            return False  # it raises for the user's sizes, which are no part of the key
        if takes is None:
            _untold.add(key)
            return True  # and is tried again with others
        if takes and any(one != _place(1) for one in places):  # a single element may be converted otherwise
            takes = _try(func, args, kwargs, _safe(func, lambda one: _small(one, CPU)))[0] is not False
        if takes and not lie and _checks(func, args, kwargs):
            warns |= _try(func, args, kwargs, _safe(func, lambda one: _small(one, CPU)))[1]
        _tried[key] = takes, warns
    takes, warns = _tried[key]
    if takes and func in _VARIANCES:
        _hear_variance(func, *args, **kwargs)
    elif warns:
        _hear(func, args, kwargs, tensors)
    return takes


_known_orders = {}
MOST_TRIED = 65536  # elements
MOST_WHOLE = 1 << 24  # elements of tensors of several dtypes, which few operations mix, where each takes little time


def _small(one, device, most=2):
    """A tensor of at most two elements (or `most`) along each axis, which lies as this one does."""
    order = sorted(range(one.dim()), key=lambda axis: (one.stride(axis), -axis))
    strides, step, seen = [0] * one.dim(), 1, {}
    for axis in order:
        if one.size(axis) == 1 and one.stride(axis) in seen:  # torch orders axes of the same stride otherwise
            strides[axis] = seen[one.stride(axis)]
        elif one.stride(axis) or one.size(axis) == 1:
            seen[one.stride(axis)] = strides[axis] = step
            step *= min(one.size(axis), most)
    made = torch.empty_strided([min(size, most) for size in one.shape], strides, dtype=one.dtype, device=device)
    return made if device == META else made.fill_(1)


MOST_LISTED = 5  # elements along an axis of what is tried where numbers are given in lists


def _listed(one, device):
    return _small(one, device, MOST_LISTED)


def untouched(one, device=CPU):
    """A tensor of the same sizes, which lies as this one does, with whatever its memory holds."""
    return torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=device, requires_grad=one.requires_grad)


def _whole(one, device):
    """The same with zeros."""
    made = untouched(one.detach(), device)
    return made if device == META else made.zero_()


def _trial(func, args, kwargs, like, device):
    """The tensors that an operation gives for tensors that lie as these do."""
    made = _safe(func, lambda one: like(one, device))
    take = lambda one: made(one) if isinstance(one, torch.Tensor) else one  # noqa: E731
    function = func if device == CPU else _WITHOUT_MEMORY.get(func, func)
    made, _ = _tensor_warnings.unheard(function, *_pytree.tree_map(take, args), **_pytree.tree_map(take, kwargs))
    return [one for one in _pytree.tree_leaves(made) if isinstance(one, torch.Tensor)]


def _reach(one):
    """How many bytes of its storage a tensor reaches."""
    if not one.numel():
        return 0
    return (one.storage_offset() + sum((size - 1) * step for size, step in zip(one.shape, one.stride())) + 1) * one.element_size()


def _stored(one, storages, number):
    """A tensor with memory that lies as this one does, in the same memory as others that share theirs, each element `number`."""
    made = torch.empty(0, dtype=one.dtype).set_(storages[one.untyped_storage()._cdata], one.storage_offset(), one.size(), one.stride())
    made.fill_(number) if one.numel() and 0 not in one.stride() else None
    if not one.requires_grad:
        return made
    return made.requires_grad_() if one.is_leaf else made.requires_grad_() * 1


def raised_on_cpu(function, args, kwargs, gradients):
    """The exception that a call raises with tensors that have memory, whatever their elements: tried with zeros and with ones. None:
    it raises none, or was not made."""
    tensors = [one for one in _pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
    # Pivots of LAPACK are int32, and believed.
    odd = any(one.layout != torch.strided or one.dtype == torch.int32 or one.is_conj() or one.is_neg() or one.untyped_storage()._cdata == 0 for one in tensors)
    sizes = {} if odd else {one.untyped_storage()._cdata: 0 for one in tensors}
    for one in () if odd else tensors:
        sizes[one.untyped_storage()._cdata] = max(sizes[one.untyped_storage()._cdata], _reach(one))
    if odd or sum(sizes.values()) > 8 * MOST_TRIED:
        return None
    raised = []
    for number in (0, 1):
        with _really(), _tensor_warnings.Caught():
            storages = {one: torch.zeros(size, dtype=torch.uint8).untyped_storage() for one, size in sizes.items()}
            given, named = _with(lambda one: _stored(one, storages, number), args, kwargs)  # noqa: B023
            try:
                with torch.set_grad_enabled(gradients):
                    function(*given, **named)
                return None
            except Exception as error:  # noqa: BLE001
                raised.append(error)
    alike = type(raised[0]) is type(raised[1]) and str(raised[0]) == str(raised[1])
    # Whole numbers may be lengths, say, which are wrong in both trials.
    whole = any(not (one.is_floating_point() or one.is_complex() or one.dtype == torch.bool) for one in tensors)
    return raised[0] if alike and (not whole or _DTYPES.search(str(raised[0]))) else None


AS_DESCRIBED = object()


def _by_stride(one):
    return sorted(range(one.dim()), key=lambda axis: (one.stride(axis), one.size(axis)))


def _strides(sizes, order):
    """Of a tensor of these sizes whose axes have this order in memory, from the innermost one on."""
    strides, step = [0] * len(sizes), 1
    for axis in order:
        strides[axis], step = step, step * sizes[axis]
    return strides


def _order(one):
    """The axes of a tensor from the innermost one on; None: its elements do not fill its memory in any order."""
    order, step = _by_stride(one), 1
    for axis in order:
        if one.size(axis) != 1 and one.stride(axis) != step:
            return None
        step *= one.size(axis)
    return order


def _orders_of(func, args, kwargs, like):
    with _really():
        described, made = (_trial(func, args, kwargs, like, device) for device in (META, CPU))
    kept = [not other.numel() or one.stride() == other.stride() for one, other in zip(described, made, strict=True)]
    return None if all(kept) else [AS_DESCRIBED if keep else _order(one) for keep, one in zip(kept, made)]


def _strides_of(func, args, kwargs, tensors, others):
    """The strides of each result of an operation, for the sizes at hand; None: it raises."""
    key = (func, *map(str, others), *((one.dtype, one.shape, one.stride()) for one in tensors))
    if key not in _known_orders:
        found = None
        with contextlib.suppress(Unsupported, NotImplementedError, RuntimeError, TypeError, IndexError, ValueError), _really():
            found = [_of(one) for one in _trial(func, args, kwargs, _whole, CPU)]
        _known_orders[key] = found
    return _known_orders[key]


def _of(one):
    order = _order(one)
    return AS_DESCRIBED if order is None else (one.stride(), one.shape, order)


def _is_in_order_of_c(one):
    """Has it the strides of a new tensor, those of axes of one element among them? Operations keep these, too."""
    step = 1
    for size, stride in zip(reversed(one.shape), reversed(one.stride())):
        if stride != step:
            return False
        step *= max(size, 1)
    return True


def _orders(func, args, kwargs):
    """The order in memory of each result of an operation, where torch gives results without memory another one than on the CPU; None:
    they have the same. Tried once for each order of the arguments, with few elements, where that goes, else with zeros of the sizes
    at hand; what raises for these is believed."""
    tensors = [one for one in _leaves(args, kwargs) if isinstance(one, torch.Tensor)]
    if all(_is_in_order_of_c(one) for one in tensors):
        return None
    few = sum(one.numel() for one in tensors) <= MOST_TRIED
    others = [one for one in (*args, *kwargs.values()) if not isinstance(one, (torch.Tensor, float))]
    lists = [one for one in others if isinstance(one, (list, tuple))]
    if any(isinstance(one, torch.Tensor) for one in _pytree.tree_leaves(lists)):
        return None
    if few and any(1 in one.shape for one in tensors):  # whose stride along such an axis may be any: as it is
        return _strides_of(func, args, kwargs, tensors, others)
    most = MOST_LISTED if lists else 3
    key = (func, *map(str, others), *((one.dtype, *(min(size, most) for size in one.shape), *_small(one, META).stride()) for one in tensors))
    if key not in _known_orders:
        found = None
        # Sizes among the arguments may fit these tensors alone, and others, as how much is padded, many sizes.
        listed = [_whole] if few else [_listed] if _checks(func, args, kwargs) else []
        for like in listed if lists else [_small, *([_whole] if few else [])]:
            with contextlib.suppress(Unsupported, NotImplementedError, RuntimeError, TypeError, IndexError, ValueError):
                found = _orders_of(func, args, kwargs, like)
                break
        _known_orders[key] = found
    return _known_orders[key]


def laid_out(func, args, kwargs, results):
    """The results of an operation, which torch describes as `results`, as they lie on the CPU. Raises Unsupported where that cannot be
    told. The arguments have the sizes of this call, the results may have symbolic ones."""
    orders = _LAYOUTS[func](*args, **kwargs) if func in _LAYOUTS else _orders(func, args, kwargs)
    if orders is None:
        return results
    made = [one for one in _pytree.tree_leaves(results) if isinstance(one, torch.Tensor)]
    if None in orders or len(orders) != len(made):
        raise Unsupported(f"{func} gives tensors of other strides than without memory")
    given = iter(orders)

    def turn(one):
        order = next(given)
        if order is AS_DESCRIBED:
            return one
        strides, sizes, order = order if isinstance(order, tuple) else (None, None, order)
        strides = strides if sizes == one.size() else _strides(one.size(), order)
        return torch.empty_strided(one.size(), strides, dtype=one.dtype, device=META)

    return _pytree.tree_map_only(torch.Tensor, turn, results)


CONVOLUTION = "input weight bias stride padding dilation transposed output_padding groups".split()


def _convolution(*args, bias_sizes=None, **kwargs):
    """The order of a convolution's result: that of the implementation which torch chooses for tensors that have memory, and nobody touches."""
    given = {**dict(zip(CONVOLUTION, args)), **kwargs}
    with torch.utils._python_dispatch._disable_current_modes():
        like = {name: untouched(one) if isinstance(one, torch.Tensor) else one for name, one in given.items()}
        if like["input"].dim() < 4 or 0 in like["input"].shape or 0 in like["weight"].shape:
            return None
        chosen = torch._C._select_conv_backend(**like)
        layout = torch._C._conv_determine_backend_memory_format(like["input"], like["weight"], chosen)
    rank = like["input"].dim()
    return None if layout in (torch.contiguous_format, torch.preserve_format) else [[1, *reversed(range(2, rank)), 0]]


def _convolution_backward(gradient, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask):
    """The orders of a convolution's gradients: the image's and the weight's are as the result's."""
    orders = _convolution(x, weight, None, stride, padding, dilation, transposed, output_padding, groups)
    if orders is None:
        return None
    return [order for order, wanted in zip((*orders, *orders, AS_DESCRIBED), output_mask) if wanted]


def _eig(x):
    """The order of eigenvalues and eigenvectors: LAPACK writes a vector in one piece."""
    rank = x.dim()
    return None if 0 in x.shape else [AS_DESCRIBED, [rank - 2, rank - 1, *reversed(range(rank - 2))]]


# The order, a list of axes, of the results of operations that choose it by more than the order of the arguments.
_LAYOUTS = {aten.convolution.default: _convolution, aten.convolution_backward.default: _convolution_backward, aten.linalg_eig.default: _eig}


def _grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    if bias is not None or out_dtype not in (None, a.dtype) or a.dtype != b.dtype:
        raise Unsupported("a grouped product with a bias, or of several dtypes")
    rows, columns = a.size(-2), b.size(-1)
    sizes = [rows, columns] if a.dim() != b.dim() else [offs.numel() if a.dim() == 2 else a.size(0), rows, columns]
    if columns * a.element_size() % 16:
        raise Unsupported("a grouped product whose rows do not fill 16 bytes")
    return torch.empty(sizes, dtype=a.dtype, device=META)


def _index(x, indices):
    """Elements by indices. Where an axis has one element, the order in which torch lays the result out on the CPU may be another one
    than without memory: it is that of few elements."""
    made = aten.index.Tensor(x, indices)
    if x.is_contiguous() or 1 not in x.shape:
        return made
    with _really():
        few = aten.index.Tensor(*_pytree.tree_map_only(torch.Tensor, lambda one: _small(one, CPU).zero_(), (x, indices)))
    strides = _strides([max(size, 1) for size in made.shape], _by_stride(few))
    return torch.empty_strided(made.shape, strides, dtype=made.dtype, device=META)


def _lstsq(a, b, rcond=None, *, driver=None):
    """torch does not describe it. Which results it gives depends on its driver, so that it is tried with matrices of full rank."""
    with _really():
        given = torch.eye(*a.shape[-2:], dtype=a.dtype).expand(a.shape), torch.zeros(b.shape, dtype=b.dtype)
        made = aten.linalg_lstsq.default(*given, rcond, driver=driver)
    return tuple(torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=META) for one in made)


# Results of operations that torch describes otherwise than they are on the CPU, or for fewer dtypes.
_WITHOUT_MEMORY = {aten._grouped_mm.default: _grouped_mm, aten.index.Tensor: _index, aten.linalg_lstsq.default: _lstsq}


# Operations on elements that give floats of the dtype of their arguments. Torch's own descriptions of some take a hundred microseconds.
_OF_ELEMENTS = frozenset(
    getattr(aten, name).default
    for name in "relu gelu neg exp log tanh sqrt rsqrt sigmoid silu sin cos abs erf reciprocal square maximum minimum".split()
) | {aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor}


def _of_elements(first, *others, **kwargs):
    """The result of such an operation, or None: torch is to describe it."""
    if not isinstance(first, torch.Tensor) or not first.is_floating_point() or not first.is_contiguous() or not kwargs.keys() <= {"alpha", "approximate"}:
        return None
    for one in others:
        if isinstance(one, torch.Tensor):
            if one.dtype != first.dtype or one.shape != first.shape or not one.is_contiguous():
                return None
        elif type(one) not in (int, float):
            return None
    return torch.empty(first.shape, dtype=first.dtype, device=META)


def described(func, args, kwargs):
    """The results of an operation, without memory. Where torch has no such description, those for zeros tell of sizes, unless these
    depend on elements."""
    if func in _OF_ELEMENTS and (made := _of_elements(*args, **kwargs)) is not None:
        return made
    try:
        return _WITHOUT_MEMORY.get(func, func)(*args, **kwargs)
    except NotImplementedError:
        leaves = [one for one in _pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        depends = {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output} & set(func.tags)
        if depends or sum(one.numel() for one in leaves) > MOST_TRIED:
            raise
    with _really():
        given, named = _with(lambda one: _whole(one, CPU), args, kwargs)
        made, _ = _tensor_warnings.unheard(func, *given, **named)
    return _pytree.tree_map_only(torch.Tensor, lambda one: torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=META), made)


_known_results = {}
MOST_KNOWN = 16384  # descriptions


class _NoKey(Exception):
    """What an operation gives may depend on more of an argument than a key of it tells."""


def _key(one):
    if type(one) is torch.Tensor:
        return one.dtype, one.device, one.shape, one.stride(), one.is_conj(), one.is_neg()
    if isinstance(one, (list, tuple)):
        return (type(one), *map(_key, one))
    if one is None or isinstance(one, (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return type(one), one
    raise _NoKey


def _key_of_call(func, args, kwargs):
    """What decides the results of an operation without memory: of tensors all but their elements, and of torch's switches those that
    descriptions ask for."""
    switches = torch.get_default_dtype(), *_deterministic(), torch._C._get_mkldnn_enabled()
    return (func, *switches, *map(_key, args), *((name, _key(one)) for name, one in sorted(kwargs.items())))


def _as_told(one):
    """The sizes, strides and dtype of a result that has memory of its own; None: it has not, or more is to be told of it."""
    if type(one) is not torch.Tensor or one.device != META or one.is_conj() or one.is_neg():
        return None
    again = torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=META)
    same = one.storage_offset() == 0 and again.untyped_storage().nbytes() == one.untyped_storage().nbytes()
    return (tuple(one.shape), one.stride(), one.dtype) if same else None


def _remember(key, args, kwargs, results):
    several = isinstance(results, tuple)
    made = results if several else (results,)
    told = [one if one is None else _as_told(one) for one in made]
    if type(results) not in (tuple, torch.Tensor) or any(of is None and one is not None for of, one in zip(told, made)):
        return
    storages = [one.untyped_storage()._cdata for one in made if one is not None]
    storages += {one.untyped_storage()._cdata for one in _pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)}
    if len(set(storages)) == len(storages):
        if len(_known_results) >= MOST_KNOWN:
            _known_results.clear()
        _known_results[key] = several, told


def results_without_memory(func, args, kwargs):
    """The results of an operation that is no view, as they lie on the CPU. An operation that was described before for arguments of
    the same kinds is not described again: layers of models are alike, and torch's own descriptions take most of the time of capture."""
    try:
        key = _key_of_call(func, args, kwargs)
    except _NoKey:
        return laid_out(func, args, kwargs, described(func, args, kwargs))
    if key in _known_results:
        several, told = _known_results[key]
        made = [one and torch.empty_strided(one[0], one[1], dtype=one[2], device=META) for one in told]
        return tuple(made) if several else made[0]
    results = laid_out(func, args, kwargs, described(func, args, kwargs))
    _remember(key, args, kwargs, results)
    return results


def forget_results():
    """Lets operations be described again, after a warning: it is to be heard each time that torch gives it."""
    _known_results.clear()
