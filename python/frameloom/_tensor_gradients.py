"""Gradients of compiled functions of tensors: what autograd records of a run, and how it computes them.

Capture (frontend/tensor/gradient.c) asks autograd for the operations of the backward, once, with tensors without memory.
They are compiled as a graph of their own, which a node of autograd's runs.
"""

import contextlib
import threading

import torch
from torch.autograd import forward_ad

from ._native import write_counts
from ._tensor_autocast import quiet
from . import _tensor_draws, _tensor_sizes
from ._tensor_functions import Noted
from ._tensor_transforms import is_own, leaves_of
from ._tensor_calls import META, Recorder, Unsupported, draws_now, written_by


def gradients(outputs, leaves, ran_backward):
    """The gradients of `outputs` with regard to `leaves`, for tangents that are made here: `(tangents, gradients, operations, ends)`.

    A gradient that is zero is None. Where the function itself `ran_backward`, `ends` has the text of the error in which the
    gradient of an output ends, or None, for each of them; where all do, there are no operations (None). Else `ends` is None.
    Raises Unsupported, or what torch raises.
    """
    ends = tuple(_ends(one, leaves) for one in outputs) if ran_backward else (None,) * len(outputs)
    if all(ends):
        return (), (), None, ends
    tangents = tuple(torch.empty_strided(one.size(), one.stride(), dtype=one.dtype, device=META) for one in outputs)
    given = [(one, tangent) for one, tangent, end in zip(outputs, tangents, ends) if end is None]
    recorder = Recorder()
    with quiet(), torch.autograd.set_detect_anomaly(False), recorder:
        made = torch.autograd.grad([one for one, _ in given], leaves, [tangent for _, tangent in given], allow_unused=True)
    return tangents, made, recorder.calls, ends if any(ends) else None


def depends(tensor, leaves):
    """Has autograd recorded that a tensor comes from one of these?"""
    return any(any(leaf is one for one in leaves) for leaf in leaves_of([tensor]))


def _ends(output, leaves):
    """The text of the error in which the gradient of an output ends; None: it can be computed."""
    try:
        with quiet(), torch.autograd.set_detect_anomaly(False), Recorder():  # which knows symbolic sizes
            torch.autograd.grad(output, leaves, torch.empty_like(output), retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        return str(error)
    return None


OF_TENSOR, OF_ALL = torch.Tensor.backward, torch.autograd.backward
GRADIENT, REQUIRE = torch.autograd.grad, torch.Tensor.requires_grad_
CLONE, DETACH = torch.ops.aten.clone.default, torch.ops.aten.detach.default


def _of_tensor(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    return (self,), (gradient,), retain_graph, create_graph, inputs


def _of_all(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    if grad_variables is not None:
        raise Unsupported("grad_variables")
    tensors = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
    if isinstance(grad_tensors, torch.Tensor):
        grad_tensors = (grad_tensors,)
    return tensors, grad_tensors or (None,) * len(tensors), retain_graph, create_graph, inputs


def backward(function, leaves, args, kwargs, autocast):
    """What a call of `backward()` adds to `grad` of each of the `leaves`: `(gradients, operations, these as they are called)`.
    `autocast`: its state.

    A leaf that gets nothing has None where autograd comes to it, and False where it does not. Raises Unsupported, or what torch
    raises.
    """
    roots, given, retain_graph, create_graph, inputs = (_of_tensor if function is OF_TENSOR else _of_all)(*args, **kwargs)
    if create_graph:
        raise Unsupported("create_graph=True")
    if torch.is_anomaly_enabled():
        raise Unsupported("gradients are computed in anomaly mode")
    known = {id(one) for one in leaves}
    reached = {id(one) for one in leaves_of(roots) if not is_own(one)}
    if not reached <= known:
        raise Unsupported("a gradient of a tensor that the function has made")
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
        if any(id(one) not in known for one in inputs):
            raise Unsupported("inputs that are no leaves")
    wanted = leaves if inputs is None else inputs
    recorder = Recorder()
    with autocast.applied(), recorder:
        made = torch.autograd.grad(roots, wanted, given, retain_graph=retain_graph, allow_unused=True)
    found = {id(one): gradient for one, gradient in zip(wanted, made)}
    return tuple(found.get(id(one)) if id(one) in reached else False for one in leaves), recorder.calls, recorder.called


ORDINARY = (torch.Tensor, torch.nn.Parameter)


def _is_ordinary(one):
    """Is it a strided tensor, of which functions like vmap have no others inside?"""
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(one) or torch._C._functorch.is_legacy_batchedtensor(one)
    return type(one) in ORDINARY and one.layout is torch.strided and not wrapped


class NotCompiled(Exception):
    """The compiled backward does not take these tensors, or could not be compiled."""


class Program:
    """The backward of a captured function: compiled (`backward`), and as a call that autograd differentiates once more.

    `outputs`, `leaves`, `arguments`: the tensors without memory of the results, of what is differentiated for, and of all
    tensors from before the call, with those that stand for numbers of Python or lie over arrays; `calls`: the operations of the function as it calls them; `places`: for each compiled gradient
    the leaf that it is of, and the tangents that it needs (bit i for result i, the last one of 64 for all behind); `ends`: for
    each result the text of the error in which its gradient ends, or None; or None for all of them; `made`: the tensors without
    memory of leaves that the function makes; `symbols`: the numbers of the graph that `backward` is given the values of; `numbers`: these
    and those of all symbolic sizes.
    """

    # No weak references: what a version can refer to weakly it does not own if others have it, too, and backward graphs do.
    __slots__ = ("arguments", "backward", "calls", "crossed", "draws", "ends", "leaves", "lock", "made", "made_ids", "name", "numbers", "outputs",
                 "parts", "places", "ready", "symbols")

    def __init__(self, name, outputs, leaves, arguments, calls, places, ends, made, symbols):
        self.name, self.outputs, self.leaves, self.arguments = name, outputs, leaves, arguments
        self.calls, self.places, self.ends = calls, places, ends
        self.made, self.made_ids = made, {id(one) for one in made}
        self.draws = any(draws_now(func, args, kwargs) for func, args, kwargs, *_ in calls)
        self.crossed = False  # has the function written into a tensor by NumPy?
        self.symbols, self.numbers = symbols, ()
        if symbols:
            inner = [call for of, *_ in calls if isinstance(of, Noted) for call in of.all_calls()]
            sizes = [(args, kwargs) for _, args, kwargs, *_ in (*calls, *inner)] + [(*one.size(), *one.stride()) for one in outputs]
            self.numbers = tuple({*symbols, *_tensor_sizes.numbers(sizes)})
        self.backward, self.parts = None, None
        self.lock, self.ready = threading.Lock(), False

    def __call__(self, *given):
        """What `backward` calls in its place where it cannot run."""
        raise NotCompiled

    def zeros(self, i, sizes):
        one = self.outputs[i]
        return torch.empty_strided(*_tensor_sizes.at((tuple(one.size()), one.stride()), sizes), dtype=one.dtype).zero_()

    def compiled(self, *given):
        """The first call compiles, which other threads wait for."""
        if self.ready:
            return self.backward(*given)
        with self.lock:
            gradients = self.backward(*given)
            self.ready = True
        return gradients

    def run(self, call, tangents, sizes=None, anew=False):
        """A gradient for each leaf of a run, or None. Those of sparse tensors and of subclasses torch computes. `sizes`: the values of
        `numbers` in the run. `anew`: what a backward() of the user's has read has changed."""
        if anew or not all(one is None or _is_ordinary(one) for one in tangents) or forward_ad._current_level >= 0:
            return self.differentiable(call, tangents, sizes, False, anew)
        full = [self.zeros(i, sizes) if one is None else one for i, one in enumerate(tangents)]
        try:
            gradients = self.compiled(*self.saved(call, tangents), *full, *(sizes[one] for one in self.symbols))
        except NotCompiled:
            return self.differentiable(call, tangents, sizes, False)
        found, spoilt = [None] * len(self.leaves), False
        given, lacking = (_bits(i for i, one in enumerate(tangents) if (one is None) is missing) for missing in (False, True))
        for (place, needs), gradient in zip(self.places, gradients):
            if needs & given or not needs:  # one of zeros needs none
                found[place] = gradient
                spoilt = spoilt or bool(needs & lacking) and bool(gradient.isnan().any())
        # Zeros stand for what autograd does not have. Times an infinite derivative they are NaN, where autograd adds nothing.
        return self.differentiable(call, tangents, sizes, False) if spoilt and not self.cannot_repeat(call) else found

    def saved(self, call, tangents):
        """What a run has saved. All results have one node of autograd's, which forgets it when it has run. In eager torch the results have
        nodes of their own: a gradient of others that share none of these is computed from what was kept of the first one."""
        if len(tangents) == 1 or None not in tangents:
            return call.saved_tensors
        if self.parts is None:
            self.parts = _saving_nodes(self.outputs)
        asked = frozenset().union(*(part for part, one in zip(self.parts, tangents) if one is not None))
        others = [part for part, one in zip(self.parts, tangents) if one is None]
        try:
            saved, done = call.saved_tensors, asked
        except RuntimeError:
            kept, versions, done = getattr(call, "kept", None) or ((), (), asked)
            if done & asked:
                raise
            if versions != tuple(one._version for one in kept):
                raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation") from None
            saved, done = kept, done | asked
        left = any(part and not part & done for part in others)
        call.kept = (tuple(one.detach() for one in saved), tuple(one._version for one in saved), done) if left else None
        return saved

    def again(self, arguments, live, sizes, anew):
        """The function's results and leaves, computed by torch, which records how. `live`: the leaves of the call. `anew`: each
        backward() of the user's is to be called."""
        origins = {id(one): of for one, of in zip(self.leaves, live)}
        known = {}
        written = {id(one) for func, args, kwargs, *_ in self.calls if func is not None and not isinstance(func, Noted)
                   for one in written_by(func, args, kwargs)}

        def take(one):
            if isinstance(one, torch.SymInt):
                return _tensor_sizes.at(one, sizes)
            return known[id(one)] if isinstance(one, torch.Tensor) and id(one) in known else one

        with torch.enable_grad():
            for stand_in, given in zip(self.arguments, arguments):
                given = _in_place_of(given, origins[id(stand_in)]) if id(stand_in) in origins else given.detach()
                known[id(stand_in)] = given.clone() if id(stand_in) in written else given
        sources = {}
        for number, call in enumerate(self.calls):
            if _lacks(call, known):
                self.forget(number, known)
                continue
            _replay(call, known, take, written, self.made_ids, sizes, anew)
            _follow_saved(call, known, sources)
        return [known.get(id(one)) for one in self.outputs], [known.get(id(one)) for one in self.leaves]

    def forget(self, number, known):
        """This call reads what the operations of torch do not tell of. What it gives and what it writes is not known either."""
        func, args, kwargs, results, _ = self.calls[number]
        if not isinstance(func, Noted) and draws_now(func, args, kwargs):
            raise RuntimeError(f"{self.name}: random numbers depend on {UNTOLD}, so that the gradient cannot be differentiated")
        for one in torch.utils._pytree.tree_leaves(results):
            known.pop(id(one), None)
        changed = {one.untyped_storage()._cdata for one in ([] if isinstance(func, Noted) else written_by(func, args, kwargs))}
        made = [call[3] for call in self.calls[:number]] if changed else ()
        for one in torch.utils._pytree.tree_leaves((self.arguments, made)):
            if isinstance(one, torch.Tensor) and one.untyped_storage()._cdata in changed:
                known.pop(id(one), None)

    def cannot_repeat(self, call):
        """Why the function cannot be computed once more: the text of an error, or None."""
        if self.draws and call.begun is None:
            return f"{self.name}: the function has drawn random numbers, so that its gradient cannot be differentiated"
        if self.crossed:
            return f"{self.name}: the function has written into a tensor by NumPy, so that its gradient cannot be differentiated"
        if call.writes != write_counts(call.arguments):
            return f"{self.name}: an argument has been modified by an inplace operation, so that the gradient cannot be differentiated"
        return None

    def differentiable(self, call, tangents, sizes=None, create_graph=True, anew=False):
        """`run()` by torch's own operations, so that what it gives has gradients, too."""
        if reason := self.cannot_repeat(call):
            raise RuntimeError(reason)
        allowed = torch._C._functorch.get_single_level_autograd_function_allowed()
        torch._C._functorch.set_single_level_autograd_function_allowed(True)  # inside of vmap, too: `again()` has such functions
        try:
            with _tensor_draws.as_at(call.begun) if self.draws else contextlib.nullcontext():
                outputs, leaves = self.again(call.arguments, call.leaves, sizes, anew)
        finally:
            torch._C._functorch.set_single_level_autograd_function_allowed(allowed)
        given = [(one, tangent) for one, tangent in zip(outputs, tangents) if tangent is not None]
        if any(one is None for one in (*leaves, *(one for one, _ in given))):
            raise RuntimeError(f"{self.name}: the function has computed with {UNTOLD}, so that its gradient cannot be differentiated")
        recorded = [one.requires_grad for one, _ in given]
        if not any(recorded) and create_graph:  # a function of torch's has a backward of its own, which has no derivative
            with torch.no_grad():
                return self.run(call, tangents, sizes, anew)
        if not all(recorded):
            raise RuntimeError(f"{self.name}: a function of torch's has a backward of its own, so that the gradient cannot be differentiated")
        return torch.autograd.grad(
            [one for one, _ in given], leaves, [tangent for _, tangent in given], create_graph=create_graph, allow_unused=True
        )


def _bits(numbers):
    """The numbers as bits of 64, of which the last one stands for all behind."""
    found = sum(1 << number for number in numbers)
    return found | bool(found >> 63) << 63


def _saves(node):
    """Does a node of autograd's keep tensors for its backward?"""
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return True
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                found = getattr(node, name)
            except RuntimeError:  # it has been freed
                return True
            if any(isinstance(one, torch.Tensor) for one in (found if isinstance(found, (tuple, list)) else [found])):
                return True
    return False


def _saving_nodes(outputs):
    """For each of these tensors the numbers of the nodes behind it that keep tensors for their backward."""
    numbers, saving, parts = {}, {}, []  # the nodes stay alive meanwhile, so that each is one object
    for one in outputs:
        found, left = set(), [one.grad_fn]
        while left:
            node = left.pop()
            if node is None or node in found:
                continue
            found.add(node)
            if node not in numbers:
                numbers[node] = len(numbers)
                saving[node] = _saves(node)
            left += [following for following, _ in node.next_functions]
        parts.append(frozenset(numbers[node] for node in found if saving[node]))
    return parts


class Sized:
    """A program for the sizes of one run."""

    def __init__(self, program, sizes):
        self.program, self.sizes, self.ends, self.draws = program, dict(zip(program.numbers, sizes)), program.ends, program.draws

    def run(self, call, tangents, anew=False):
        return self.program.run(call, tangents, self.sizes, anew)

    def differentiable(self, call, tangents, anew=False):
        return self.program.differentiable(call, tangents, self.sizes, anew=anew)


UNTOLD = "a number that changes, or with what NumPy gives"


def _lacks(call, known):
    """Reads a call a tensor that is not known?"""
    func, args, kwargs, _, _ = call
    given = () if func is None else torch.utils._pytree.tree_leaves((args, kwargs))
    return any(isinstance(one, torch.Tensor) and one.device == META and id(one) not in known for one in given)


def _replay(call, known, take, written, leaves, sizes, anew):
    func, args, kwargs, results, records = call
    if func is None:  # a constant
        known[id(kwargs)] = args.clone() if id(kwargs) in written or id(kwargs) in leaves else args
        _become_leaf(kwargs, known, leaves)
        return
    with torch.set_grad_enabled(records), quiet():
        if isinstance(func, Noted):
            made = (func.anew() if anew else func).attach((known, sizes or {}), *torch.utils._pytree.tree_map(take, args))
        elif func is DETACH and results._version != args[0]._version:  # t.data, whose writes are none of t's
            made = take(args[0]).data
        else:
            made = func(*torch.utils._pytree.tree_map(take, args), **torch.utils._pytree.tree_map(take, kwargs))
    for stand_in, one in zip(torch.utils._pytree.tree_leaves(results), torch.utils._pytree.tree_leaves(made)):
        known[id(stand_in)] = one
        _become_leaf(stand_in, known, leaves)


def _follow_saved(call, known, sources):
    """What autograd saves of a result is a detached tensor, which gets the result's history where it is read. A detached tensor of the
    user's that is written gets another one. `sources`: by the id of a detached tensor the tensor that it is of."""
    func, args, _, result, _ = call
    if func is DETACH:
        source = sources[id(result)] = sources.get(id(args[0]), args[0])
        if result.grad_fn is not None and result.grad_fn is source.grad_fn:
            known[id(result)] = known[id(source)]


def _become_leaf(stand_in, known, leaves):
    if id(stand_in) in leaves and not known[id(stand_in)].requires_grad:
        known[id(stand_in)].requires_grad_()


class InPlaceOf(torch.autograd.Function):
    """The elements of one tensor, with the history of another one, which held them at the time of the call."""

    @staticmethod
    def forward(ctx, elements, of):
        ctx.set_materialize_grads(False)
        return elements.detach()

    @staticmethod
    def backward(ctx, gradient):
        return None, gradient


# Without what apply() does for torch.func: a gradient may be asked for inside of vmap.
_in_place_of = super(torch.autograd.Function, InPlaceOf).apply


class Compiled(torch.autograd.Function):
    """A run of a compiled function as autograd's graph has it."""

    @staticmethod
    def forward(ctx, program, outputs, saved, arguments, *leaves):
        ctx.program, ctx.arguments, ctx.leaves = program, arguments, leaves
        ctx.writes = write_counts(arguments)
        ctx.begun = _tensor_draws.begun() if program.draws else None
        ctx.materialize_grads = False
        ctx.to_save = saved
        return outputs

    @staticmethod
    def backward(ctx, *tangents):
        for end, tangent in zip(ctx.program.ends or (), tangents):
            if end is not None and tangent is not None:
                raise RuntimeError(end)
        gradients = ctx.program.differentiable if torch.is_grad_enabled() else ctx.program.run
        return None, None, None, None, *gradients(ctx, tangents)


# torch.autograd.Function.apply() without what it does for torch.func, of which nothing is active where a run is recorded.
record = super(torch.autograd.Function, Compiled).apply


def apply(program, outputs, saved, arguments, *leaves):
    """`outputs` with a history, where gradients are not recorded at the end of the call: as `record()`."""
    with torch.enable_grad():
        return record(program, outputs, saved, arguments, *leaves)
