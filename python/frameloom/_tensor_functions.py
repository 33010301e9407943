"""Calls of torch.autograd.Function: operations whose derivative a class of the user's computes.

Capture follows the model of `Function.apply()`: the class's forward() and then, if autograd records, its backward() with stand-ins
for the gradients of the results. The operations of backward() are kept apart in a Noted. A node of autograd's on the
tensors without memory calls them again wherever gradients are computed. What they were followed with nothing reads.
"""

import functools

import torch
from torch.autograd import function as _function
from torch.utils import _pytree
from torch.utils._python_dispatch import _get_current_dispatch_mode

from . import _tensor_sizes
from ._tensor_autocast import Unsupported
from ._tensor_modelling import is_transformed, refuse

Function = torch.autograd.Function
ZEROS_LIKE, LIFT = torch.zeros_like, torch.ops.aten.lift_fresh.default


class _Saved:
    """In a Noted's operations: one of the tensors that the function has saved for its backward."""

    def __init__(self, number):
        self.number = number


class Noted:
    """The operations of a call of backward(). Among the operations of a capture it stands for the call of the function.

    `tangents`: the stand-ins for the gradients of the results; `gradients`: for each input a tensor that these operations have made
    or found, or None; `once`: gradients have no derivative.
    """

    tags = ()

    def __init__(self, calls, once):
        self.calls, self.once = calls, once

    def complete(self, cls, saved, tangents, gradients, materializes, needed, places, knows_all):
        self.name, self.tangents, self.materializes = cls.__name__, tangents, materializes
        self.called = cls, needed, places, knows_all
        self._refuse_effects()
        known = {id(one): _Saved(i) for i, one in enumerate(saved) if one is not None}
        self.calls = _replaced(known, self.calls)
        self.gradients = _replaced(known, gradients)

    def _refuse_effects(self):
        """What a backward does happens when it runs, and not where the function is called."""
        from ._tensor_calls import draws_now, written_by

        own = {one.untyped_storage()._cdata for one in self.tangents if one is not None}
        for func, args, kwargs, results, _ in self.calls:
            if func is None or isinstance(func, Noted):
                continue
            if draws_now(func, args, kwargs):
                raise Unsupported(f"backward() of {self.name} draws random numbers")
            if any(one.untyped_storage()._cdata not in own for one in written_by(func, args, kwargs)):
                raise Unsupported(f"backward() of {self.name} writes into a tensor that it has not made")
            given = {one.untyped_storage()._cdata for one in _tensors((args, kwargs))}
            own |= {one.untyped_storage()._cdata for one in _tensors(results)} - (given - own)

    def run(self, known, saved, tangents):
        """The gradients of the inputs, given those of the results. `known`: by the id of a tensor that the operations were noted with
        the one in its place, and the values of sizes; None: the operations are noted once more."""
        known, sizes = dict(known[0]), known[1]
        for like, one in zip(self.tangents, tangents, strict=True):
            if like is None:
                continue
            if one is None:
                raise Unsupported(f"backward() of {self.name} without the gradient of some result")
            known[id(like)] = one.contiguous() if like.is_contiguous() else one

        def take(one):
            if isinstance(one, _Saved):
                return saved[one.number]
            if sizes is not None and isinstance(one, torch.SymInt):
                return _tensor_sizes.at(one, sizes)
            return known.get(id(one), one) if isinstance(one, torch.Tensor) else one

        enabled, recorder = torch.is_grad_enabled(), _get_current_dispatch_mode()
        for func, args, kwargs, results, records in self.calls:
            if func is None and sizes is not None:
                known[id(kwargs)] = args
            elif func is None and recorder:  # a constant, which stands for itself
                recorder.called.append((func, args, kwargs, results, records))
            if func is None or func is LIFT and sizes is None:
                continue
            with torch.set_grad_enabled(enabled and records):
                if isinstance(func, Noted) and sizes is None:
                    made = func.following(known).call(recorder, *_pytree.tree_map(take, args))
                elif isinstance(func, Noted):
                    made = func.attach((known, sizes), *_pytree.tree_map(take, args))
                else:
                    made = func(*_pytree.tree_map(take, args), **_pytree.tree_map(take, kwargs))
            for stand_in, one in zip(_pytree.tree_leaves(results), _pytree.tree_leaves(made), strict=True):
                known[id(stand_in)] = one
        return tuple(take(one) for one in self.gradients)

    def all_calls(self):
        """The operations, and those of functions that are called among them."""
        for call in self.calls:
            yield call
            if isinstance(call[0], Noted):
                yield from call[0].all_calls()

    def following(self, known):
        """The same with others in place of these tensors."""
        made = Noted(_replaced(known, self.calls), self.once)
        made.name, made.tangents, made.gradients = self.name, self.tangents, _replaced(known, self.gradients)
        made.materializes, made.called = self.materializes, self.called
        return made

    def call(self, recorder, inputs, outputs, saved, plain, attributes):
        """attach() as one of the operations that are noted. `recorder`: what notes them, or None."""
        results = self.attach(({}, None), inputs, outputs, saved, plain, attributes)
        if recorder:
            recorder.called.append((self, (inputs, outputs, saved, plain, attributes), {}, results, True))
        return results

    def attach(self, known, inputs, outputs, saved, plain, attributes):
        """`outputs` as results of a node of autograd's that depends on `inputs`. `known`: as for run(); `attributes`: of `ctx`."""
        return _apply(self, outputs, saved, plain, known, *inputs)

    def anew(self):
        return Anew(self)


class Anew:
    """The same function, whose backward() is not what was noted of it, but is called where gradients are computed."""

    def __init__(self, noted):
        self.noted, self.once, self.materializes = noted, False, noted.materializes

    def attach(self, known, inputs, outputs, saved, plain, attributes):
        self.attributes = attributes
        return _apply(self, outputs, saved, plain, known, *inputs)

    def run(self, known, saved, tangents):
        cls, needed, places, knows_all = self.noted.called
        if not knows_all:
            raise RuntimeError(f"frameloom: backward() of {self.noted.name} reads something that has changed since the call, and ctx has an object, "
                               "so that the gradient cannot be computed: leave the call out of the compiled function")
        ctx = Context()
        ctx.__dict__.update(zip(*self.attributes))
        ctx.to_save, ctx.needs_input_grad = saved, needed
        gradients = (cls.backward if cls.vjp is Function.vjp else cls.vjp)(ctx, *tangents)
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        return tuple(gradients[i] if needed[i] else None for i in places)


def _tensors(tree):
    return [one for one in _pytree.tree_leaves(tree) if isinstance(one, torch.Tensor)]


def _replaced(known, tree):
    return _pytree.tree_map(lambda one: known.get(id(one), one) if isinstance(one, torch.Tensor) else one, tree)


class Node(Function):
    """A call of a function as autograd's graph has it."""

    @staticmethod
    def forward(ctx, noted, outputs, saved, plain, known, *inputs):
        ctx.noted, ctx.known = noted, known
        ctx.set_materialize_grads(noted is None or noted.materializes)
        ctx.mark_non_differentiable(*plain)
        ctx.save_for_backward(*saved)
        return outputs

    @staticmethod
    def backward(ctx, *tangents):
        noted = ctx.noted
        run = functools.partial(noted.run, ctx.known, ctx.saved_tensors)
        return None, None, None, None, None, *(_once(run) if noted.once else run)(tangents)


def _once(run):
    """A call whose results cannot be differentiated."""
    differentiable = _function.once_differentiable(lambda ctx, *tangents: run(tangents))

    def ended(tangents):
        made = differentiable(None, *tangents)
        return made if isinstance(made, tuple) else (made,)

    return ended


# Function.apply() without what it does for torch.func.
_apply = super(Function, Node).apply


def attach(recorder, noted, inputs, outputs, saved, plain, attributes=(), cls=None, *rest):
    """The results of a function from `outputs` of its forward(). `noted`: its backward(); None: autograd records nothing. `attributes`:
    of `ctx`, their names and what they are; `rest`: what Noted.complete() takes."""
    if noted is None:
        return _apply(None, outputs, (), (), ({}, None), *inputs)
    noted.complete(cls, saved, *rest)
    return noted.call(recorder, inputs, outputs, saved, plain, attributes)


def needs(*inputs):
    """Which of these tensors require a gradient?"""
    return tuple(one.requires_grad for one in inputs)


# ---- what capture follows in place of torch's functions ----


def begin_backward(*outputs):
    """Stand-ins for the gradients of these results, and begins to note operations apart. Evaluated by capture, as end_backward()."""
    raise NotImplementedError


def end_backward():
    """A Noted of the operations since begin_backward()."""
    raise NotImplementedError


def only_once():
    """The gradients of the backward() that is being followed have no derivative. Evaluated by capture."""
    raise NotImplementedError


def begin_watch():
    """Begins to watch what the code changes. Evaluated by capture, as end_watch()."""
    raise NotImplementedError


def end_watch():
    """Has it changed, printed or written into something that was there at the last begin_watch(), or drawn random numbers?"""
    raise NotImplementedError


def have_drawn(calls):
    """Do operations among these, as they are noted, draw random numbers?"""
    from ._tensor_calls import draws_now

    return any(isinstance(func, Noted) and have_drawn(func.calls) or not isinstance(func, Noted) and draws_now(func, args, kwargs) for func, args, kwargs, *_ in calls)


def is_known(one):
    """Is it no number that only the run knows? Evaluated by capture."""
    raise NotImplementedError


class Context:
    """What forward() and backward() are given as `ctx`."""

    needs_input_grad = ()
    to_save = None
    non_differentiable = ()
    materialize_grads = True

    def save_for_backward(self, *tensors):
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors):
        refuse("mark_dirty()")

    def mark_non_differentiable(self, *tensors):
        self.non_differentiable = tensors

    def set_materialize_grads(self, value):
        self.materialize_grads = value

    @property
    def saved_tensors(self):
        return self.to_save if self.to_save is not None else ()


OWN = ("needs_input_grad", "to_save", "non_differentiable", "materialize_grads")


def _bound(function, args, kwargs):
    """The positional arguments of a call, those with defaults included."""
    code, defaults = function.__code__, function.__defaults__ or ()
    if code.co_kwonlyargcount or code.co_flags & 12:
        refuse("a forward() with keyword-only or starred arguments")
    names = code.co_varnames[: code.co_argcount]
    bound = list(args)
    for i in range(len(args), len(names)):
        if names[i] in kwargs:
            bound.append(kwargs[names[i]])
        elif i >= len(names) - len(defaults):
            bound.append(defaults[i - len(names)])
        else:
            refuse("a missing argument")
    if len(bound) > len(names) or any([name not in names[len(args) :] for name in kwargs]):
        refuse("arguments that forward() does not take")
    return tuple(bound)


def _differentiated(cls, ctx, outputs, count):
    """Follows backward(): what Noted.complete() takes, without the name and what was saved, and the Noted in front."""
    tangents = begin_backward(*outputs)
    if cls.vjp is not Function.vjp and cls.backward is not Function.backward:
        refuse("a torch.autograd.Function with both backward() and vjp()")
    pull = cls.backward if cls.vjp is Function.vjp else cls.vjp
    try:
        gradients = pull(ctx, *tangents)
    except Exception:
        refuse("backward() of a torch.autograd.Function raises")
    noted = end_backward()
    if not isinstance(gradients, tuple):
        gradients = (gradients,)
    if len(gradients) < count or any([one is not None for one in gradients[count:]]):
        refuse("backward() of a torch.autograd.Function gives another number of gradients")
    return noted, tangents, gradients[:count]


def _tensors_or_none(all):
    for one in all:
        if one is not None and not isinstance(one, torch.Tensor):
            refuse("a torch.autograd.Function that saves or gives something else than tensors")


def _is_plain(one):
    """Can it be handed over as an attribute of `ctx`?"""
    if isinstance(one, (tuple, list)):
        return all([_is_plain(item) for item in one])
    return one is None or is_known(one) and isinstance(one, (torch.Tensor, bool, int, float, str, torch.dtype, torch.device))


def _attributes(ctx):
    """The attributes that the user's code has given `ctx`: their names, what they are, and are these all?"""
    given = [(name, one) for name, one in ctx.__dict__.items() if name not in OWN]
    known = [(name, one) for name, one in given if _is_plain(one)]
    return tuple([name for name, _ in known]), tuple([one for _, one in known]), len(known) == len(given)


def _without_history(output, inputs, needed):
    """A result where autograd records nothing."""
    for one, requires in zip(inputs, needed):
        if output is one and requires:
            return output.detach()
    return output


def _set_up(cls, args, result, needed):
    """The `ctx` that setup_context() fills. It is new, so what is stored in it changes nothing that was there before."""
    begin_watch()
    ctx = Context()
    ctx.needs_input_grad = needed
    try:
        cls.setup_context(ctx, args, result)
    finally:
        changes = end_watch()
    if changes and is_transformed():
        refuse("setup_context() with side effects or random numbers, which torch.func calls for each level,")
    return ctx


def of_apply(original):
    """The model of Function.apply()."""

    def run(cls, *args, **kwargs):
        apart = _function._is_setup_context_defined(cls.setup_context)
        if getattr(cls, "boxed_grads_call", False) or not apart and (kwargs or is_transformed()):
            refuse("such a call of a torch.autograd.Function")
        if apart:
            args = _bound(cls.forward, args, kwargs)
        before = torch.is_grad_enabled()
        places = [i for i, one in enumerate(args) if isinstance(one, torch.Tensor)]
        inputs = tuple([args[i] for i in places])
        needed = needs(*inputs) if before else [one.requires_grad for one in inputs]
        needs_input_grad = tuple([i in places and needed[places.index(i)] for i in range(len(args))])
        torch.set_grad_enabled(False)
        try:
            if apart:
                result = cls.forward(*args)
                ctx = _set_up(cls, args, result, needs_input_grad)
            else:
                ctx = Context()
                ctx.needs_input_grad = needs_input_grad
                result = cls.forward(ctx, *args)
        finally:
            torch.set_grad_enabled(before)
        outputs = result if isinstance(result, tuple) else (result,)
        _tensors_or_none(outputs)
        if not before or not any(ctx.needs_input_grad):
            made = attach(None, inputs, tuple([_without_history(one, inputs, needed) for one in outputs]), (), ())
        else:
            if torch.is_autocast_enabled("cpu"):
                refuse("a torch.autograd.Function under autocast")
            saved = ctx.saved_tensors
            _tensors_or_none(saved)
            if not ctx.materialize_grads and len([one for one in outputs if one is not None]) - len(ctx.non_differentiable) > 1:
                refuse("set_materialize_grads(False) of a torch.autograd.Function with several results")
            noted, tangents, gradients = _differentiated(cls, ctx, outputs, len(args))
            _tensors_or_none(gradients)
            gradients = tuple([gradients[i] if ctx.needs_input_grad[i] else None for i in places])
            names, attributes, all_known = _attributes(ctx)
            made = attach(noted, inputs, outputs, saved, ctx.non_differentiable, (names, attributes), cls, tangents, gradients,
                          bool(ctx.materialize_grads), ctx.needs_input_grad, tuple(places), all_known)
        return made if isinstance(result, tuple) else made[0]

    return run


def of_once(original):
    """The model of what torch.autograd.function.once_differentiable() makes of a backward()."""
    backward = original.__wrapped__

    def run(ctx, *args, **kwargs):
        only_once()
        with torch.no_grad():
            return backward(ctx, *args, **kwargs)

    return run


CODE, CODE_OF_ONCE = Function.apply.__func__.__code__, _function.once_differentiable(of_once).__code__
