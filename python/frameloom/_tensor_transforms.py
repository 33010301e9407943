"""Derivatives that a function asks for by torch.func: grad, value_and_grad, vjp, jvp, jacrev, jacfwd, hessian.

Capture follows models of torch's functions. An argument to differentiate by becomes a variable: another name of the same elements,
of which autograd computes gradients on the tensors without memory. Inside of vmap (_tensor_batches.py) a variable has the axes of
all levels, also where the argument is the same for all places, so that each place has a gradient of its own.
A derivative along a direction is the gradient of a pullback with regard to the cotangents that it is given.
"""

import contextlib

import torch
from torch._C import _functorch
from torch._functorch import eager_transforms as _transforms
from torch._functorch import vmap as _vmap

from ._tensor_autocast import Unsupported
from ._tensor_batches import Batched, depth_now
from ._tensor_modelling import apart, enter_transform, is_followed, leave_transform, leaves, like, refuse

# ---- what autograd knows of tensors without memory ----


def leaves_of(roots):
    """The tensors at the ends of what autograd has recorded."""
    nodes, seen = [one.grad_fn for one in roots if one.grad_fn is not None], set()
    yield from (one for one in roots if one.grad_fn is None)
    while nodes:
        node = nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        nodes += [of for of, _ in node.next_functions if of is not None]


def is_own(tensor):
    """Is it a variable that depends on no other?"""
    return tensor.is_leaf and hasattr(tensor, "is_variable")


def _variable(tensor, ended=False):
    tensor.requires_grad_().is_variable = not ended  # that there is such an attribute capture asks, too
    return tensor


# ---- tensors with the axes of all levels of vmap in front ----


def _whole(one, levels):
    taken = {}
    dims = []
    while isinstance(one, Batched):
        dims.append((one.depth, one.dim))
        one = one.inner
    rest = list(range(one.dim()))
    for depth, dim in reversed(dims):
        taken[depth] = rest.pop(dim)
    order = [taken[depth] for depth in sorted(taken)] + rest
    if order != sorted(order):
        one = one.permute(order)
    for depth, (size, _) in enumerate(levels):
        if depth not in taken:
            one = one.unsqueeze(depth)
            one = one.expand([size if axis == depth else -1 for axis in range(one.dim())])
    if any(depth >= len(levels) for depth in taken):
        raise Unsupported("an element of a level of vmap that has ended")
    return one


def _parted(whole, count):
    """An element of `count` levels."""
    for depth in range(count):
        whole = Batched(whole, 0, depth)
    return whole


def _innermost(one):
    while isinstance(one, Batched):
        one = one.inner
    return one


def _with_innermost(one, tensor):
    return Batched(_with_innermost(one.inner, tensor), one.dim, one.depth) if isinstance(one, Batched) else tensor


# ---- functions that capture calls with tensors without memory ----


def variables(levels, tensors, keeps):
    """Variables for these tensors. `keeps`: what is computed may depend on them as others are differentiated."""
    made = []
    for one in tensors:
        tensor = _innermost(one)
        if keeps and tensor.requires_grad:
            tensor = tensor.view_as(tensor)
        else:
            tensor = tensor.detach()
        made.append(_variable(_whole(_with_innermost(one, tensor), levels)))
    return tuple(_parted(whole, len(levels)) for whole in made)


def _stripped(tensor, own, keeps):
    """Without what autograd has recorded of it, where that comes from variables of calls that have ended alone, as `own` are."""
    if not tensor.requires_grad or tensor.is_leaf and not is_own(tensor):
        return tensor
    if keeps and any(getattr(leaf, "is_variable", True) for leaf in leaves_of([tensor])):
        return tensor
    places = {one.untyped_storage()._cdata for one in own}
    return tensor.detach() if tensor.untyped_storage()._cdata in places else tensor.detach().clone()


def left(levels, tensors, inputs, keeps):
    """Results of a function of the variables `inputs`, as they are outside of it."""
    own, made = [_innermost(one) for one in inputs], {}
    for one in own:
        one.is_variable = False
    for one in tensors:
        tensor = _innermost(one)
        result = _stripped(tensor, own, keeps)
        made.setdefault(id(tensor), result.view_as(result) if any(result is one for one in own) else result)
    return tuple(_with_innermost(one, made[id(_innermost(one))]) for one in tensors)


def _grad(outputs, inputs, tangents, create_graph):
    """autograd.grad() as torch.func has it: zeros where nothing depends on an input."""
    given = [(one, tangent) for one, tangent in zip(outputs, tangents, strict=True) if one.requires_grad]
    made = [None] * len(inputs)
    if given:
        made = torch.autograd.grad([one for one, _ in given], inputs, [tangent for _, tangent in given], retain_graph=True,
                                   create_graph=create_graph, allow_unused=True)
    return [torch.zeros_like(one) if gradient is None else gradient for one, gradient in zip(inputs, made)]


def _mapped(levels, depth, tangents, compute):
    """compute(tangents) inside of those levels that have begun since there were `depth` ones; results with all axes in front."""
    tangents = [_whole(one, levels) for one in tangents]
    with contextlib.ExitStack() as stack:
        numbers = []
        for size, randomness in levels[depth:]:
            numbers.append(_functorch._vmap_increment_nesting(size, randomness))
            stack.callback(_functorch._vmap_decrement_nesting)
            tangents = [_functorch._add_batch_dim(one, depth, numbers[-1]) for one in tangents]
        made = compute(tangents)
        for number, (size, _) in zip(reversed(numbers), reversed(levels[depth:])):
            made = [_functorch._remove_batch_dim(one, number, size, depth) for one in made]
    return made


def gradients(levels, depth, outputs, inputs, tangents, keeps):
    """The cotangents of the variables `inputs`, given those of `outputs`, which were computed inside of `depth` levels. `tangents`:
    None for ones."""
    with torch.enable_grad():
        outs = [_whole(one, levels[:depth]) for one in outputs]
    own = [_innermost(one) for one in inputs]
    if tangents is None:
        tangents = [_parted(torch.ones_like(one), depth) for one in outs]
    made = _mapped(levels, depth, tangents, lambda given: _grad(outs, own, given, keeps))
    return tuple(_parted(_stripped(one, own, keeps), len(levels)) for one in made)


def directional(levels, depth, outputs, inputs, tangents, keeps):
    """The derivatives of `outputs`, given those of the variables `inputs`."""
    own = [_innermost(one) for one in inputs]
    with torch.enable_grad():
        outs = [_whole(one, levels[:depth]) for one in outputs]
        cotangents = [_variable(torch.zeros_like(one.detach()), ended=True) for one in outs]
        pulled = _grad(outs, own, cotangents, True)
    made = _mapped(levels, depth, tangents, lambda given: _grad(pulled, cotangents, given, keeps))
    return tuple(_parted(_stripped(one, own, keeps), len(levels)) for one in made)


FUNCTIONS = frozenset({variables, left, gradients, directional})


# ---- what capture follows in place of torch's functions ----


def _is_differentiable(one):
    return isinstance(one, torch.Tensor) and (one.is_floating_point() or one.is_complex())


class _Evaluated:
    """A call of a function by variables. `outputs`: its result, as it is outside; `inner`: the leaves of it that depend on the
    variables `own`; `chosen`: the arguments that these stand for."""

    def __init__(self, func, args, kwargs, argnums, has_aux):
        if torch.is_inference_mode_enabled():
            refuse("torch.func in inference mode")
        self.depth, self.keeps = depth_now(), torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        enter_transform()
        try:
            self.chosen = _chosen(args, argnums)
            by = leaves(self.chosen)
            if not by or not all([_is_differentiable(one) for one in by]):
                refuse("a derivative by something else than tensors of floats")
            self.own = variables(by, self.keeps)
            result = func(*_replaced(args, argnums, like(self.chosen, iter(self.own))), **kwargs)
            self.aux = None
            if has_aux:
                if not isinstance(result, tuple) or len(result) != 2:
                    refuse("has_aux=True of a function that gives no pair")
                result, self.aux = result
            self.inner = leaves(result)
            if not self.inner or not all([_is_differentiable(one) for one in self.inner]):
                refuse("a derivative of something else than tensors of floats")
            self.outputs = self.outside(result)
            if has_aux:
                if not all([isinstance(one, torch.Tensor) for one in leaves(self.aux)]):
                    refuse("has_aux=True of a function that gives something else than tensors")
                self.aux = self.outside(self.aux)
        finally:
            leave_transform()
            torch.set_grad_enabled(self.keeps)

    def outside(self, tree):
        return like(tree, iter(left(leaves(tree), self.own, self.keeps)))

    def pull(self, cotangents, keeps):
        """The cotangents of `chosen`, a tree."""
        if cotangents is not None:
            given = leaves(cotangents)
            if len(given) != len(self.inner) or any([not _fits(one, out) for one, out in zip(given, self.inner)]):
                refuse("cotangents that do not fit")
            cotangents = given
        return like(self.chosen, iter(gradients(self.depth, self.inner, self.own, cotangents, keeps)))

    def push(self, tangents, keeps):
        """The derivatives of `outputs`, a tree."""
        given = leaves(tangents)
        if len(given) != len(self.own) or any([not _fits(one, of) for one, of in zip(given, self.own)]):
            refuse("tangents that do not fit")
        return like(self.outputs, iter(directional(self.depth, self.inner, self.own, given, keeps)))


def _fits(one, of):
    return isinstance(one, torch.Tensor) and one.shape == of.shape and one.dtype == of.dtype


def _places(argnums, count):
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    if not places or not all([isinstance(one, int) and -count <= one < count for one in places]):
        refuse("a derivative by such arguments")
    places = [one % count for one in places]
    if len(set(places)) != len(places):
        refuse("a derivative by the same argument twice")
    return places


def _chosen(args, argnums):
    if argnums is None:
        return args
    chosen = tuple([args[i] for i in _places(argnums, len(args))])
    return chosen if isinstance(argnums, tuple) else chosen[0]


def _replaced(args, argnums, chosen):
    if argnums is None:
        return chosen
    args = list(args)
    for i, one in zip(_places(argnums, len(args)), chosen if isinstance(argnums, tuple) else (chosen,)):
        args[i] = one
    return args


def _of_gradient(original):
    """The model of grad_and_value_impl(), of which torch.func.grad and value_and_grad consist."""

    def run(func, argnums, has_aux, args, kwargs):
        of = _Evaluated(func, args, kwargs, argnums, has_aux)
        if not isinstance(of.outputs, torch.Tensor) or of.outputs.dim() or of.outputs.is_complex():
            refuse("the gradient of something else than a real tensor without axes")
        gradient = of.pull(None, of.keeps)
        return gradient, (of.outputs, of.aux) if has_aux else of.outputs

    return run


def _of_vjp(original):
    def run(func, *primals, argnums=None, has_aux=False):
        of = _Evaluated(func, primals, {}, argnums, has_aux)

        def pull(cotangents, retain_graph=True, create_graph=None):
            return of.pull(cotangents, torch.is_grad_enabled() if create_graph is None else create_graph)

        return (of.outputs, pull, of.aux) if has_aux else (of.outputs, pull)

    return run


def _of_jvp(original):
    def run(func, primals, tangents, argnums, *, strict=False, has_aux):
        if strict or not isinstance(primals, tuple):
            refuse("such a call of jvp()")
        of = _Evaluated(func, primals, {}, argnums, has_aux)
        pushed = of.push(tangents, of.keeps)
        return (of.outputs, pushed, of.aux) if has_aux else (of.outputs, pushed)

    return run


def _of_jacfwd(original):
    """jacfwd() evaluates the function once: each direction only goes through what is linear in it."""
    other = apart(original)

    def run(func, argnums=0, has_aux=False, *, randomness="error"):
        if randomness != "error":
            return other(func, argnums, has_aux, randomness=randomness)

        def jacobian(*args):
            if not is_followed():
                return other(func, argnums, has_aux, randomness=randomness)(*args)
            of = _Evaluated(func, args, {}, argnums, has_aux)
            by, outputs = leaves(of.chosen), leaves(of.outputs)
            if any([one.is_complex() for one in [*by, *outputs]]):
                refuse("a Jacobian of complex numbers")
            counts = [one.numel() for one in by]
            basis = like(of.chosen, iter(_transforms._construct_standard_basis_for(by, counts)))
            columns = leaves(torch.vmap(lambda tangents: of.push(tangents, of.keeps))(basis))
            made = []
            for column in columns:
                parts = torch.split(column.movedim(0, -1), counts, dim=-1)
                made.append(like(of.chosen, iter([part.reshape(part.shape[:-1] + one.shape) for part, one in zip(parts, by)])))
            made = like(of.outputs, iter(made))
            return (made, of.aux) if has_aux else made

        return jacobian

    return run


def _plain(decorated):
    return decorated.__wrapped__


# By the code of torch's functions.
MODELS = {
    _transforms._vjp_with_argnums.__code__: _plain,  # as of all functions that refuse hooks of saved tensors
    _transforms._vjp_with_argnums.__wrapped__.__code__: _of_vjp,
    _transforms.grad_and_value_impl.__wrapped__.__code__: _of_gradient,
    _transforms._jvp_with_argnums.__code__: _of_jvp,
    _transforms.jacfwd.__code__: _of_jacfwd,
}
