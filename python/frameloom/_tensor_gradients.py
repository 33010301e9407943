"""Gradients of compiled functions of tensors: what autograd records of a run, and how it computes them.

Capture (frontend/tensor/gradient.c) asks autograd for the operations of the backward, once, with tensors without memory.
They are compiled as a graph of their own, which a node of autograd's runs.
"""

import threading

import torch

from ._native import write_counts
from ._tensor_calls import META, Recorder, draws


def gradients(outputs, leaves):
    """The gradients of `outputs` with regard to `leaves`, for tangents that are made here: `(tangents, gradients, operations)`.

    A gradient that is zero is None. Raises Unsupported, or what torch raises.
    """
    tangents = tuple(torch.empty_strided(one.size(), one.stride(), dtype=one.dtype, device=META) for one in outputs)
    recorder = Recorder()
    with recorder:
        made = torch.autograd.grad(outputs, leaves, tangents, allow_unused=True)
    return tangents, made, recorder.calls


class NotCompiled(Exception):
    """The compiled backward does not take these tensors, or could not be compiled."""


class Program:
    """The backward of a captured function: compiled (`backward`), and as a call that autograd differentiates once more.

    `outputs`, `leaves`, `arguments`: the tensors without memory of the results, of what is differentiated for, and of all
    tensors from before the call; `calls`: the operations of the function as it calls them; `places`: for each compiled gradient
    the leaf that it is of, and the tangents that it needs (bit i for result i, the last one of 64 for all behind).
    """

    def __init__(self, name, outputs, leaves, arguments, calls, places):
        self.name, self.outputs, self.leaves, self.arguments = name, outputs, leaves, arguments
        self.calls, self.places = calls, places
        self.draws = any(draws(func) for func, *_ in calls)
        self.backward = None
        self.lock, self.ready = threading.Lock(), False

    def __call__(self, *given):
        """What `backward` calls in its place where it cannot run."""
        raise NotCompiled

    def zeros(self, i):
        one = self.outputs[i]
        return torch.empty_strided(one.size(), one.stride(), dtype=one.dtype).zero_()

    def compiled(self, *given):
        """The first call compiles, which other threads wait for."""
        if self.ready:
            return self.backward(*given)
        with self.lock:
            gradients = self.backward(*given)
            self.ready = True
        return gradients

    def run(self, call, tangents):
        """A gradient for each leaf of a run, or None."""
        full = [self.zeros(i) if one is None else one for i, one in enumerate(tangents)]
        try:
            gradients = self.compiled(*call.saved_tensors, *full)
        except NotCompiled:
            return self.differentiable(call, tangents, False)
        found = [None] * len(self.leaves)
        given = sum(1 << i for i, one in enumerate(tangents) if one is not None)
        given |= bool(given >> 63) << 63
        for (place, needs), gradient in zip(self.places, gradients):
            if needs & given or not needs:  # one of zeros needs none
                found[place] = gradient
        return found

    def again(self, arguments, live):
        """The function's results and leaves, computed by torch, which records how. `live`: the leaves of the call."""
        origins = {id(one): of for one, of in zip(self.leaves, live)}
        known = {}
        written = {id(args[0]) for func, args, _, _ in self.calls if func is not None and func._schema.is_mutable}

        def take(one):
            return known[id(one)] if isinstance(one, torch.Tensor) and id(one) in known else one

        for stand_in, given in zip(self.arguments, arguments):
            given = InPlaceOf.apply(given, origins[id(stand_in)]) if id(stand_in) in origins else given.detach()
            known[id(stand_in)] = given.clone() if id(stand_in) in written else given
        for call in self.calls:
            _replay(call, known, take, written)
        return [known[id(one)] for one in self.outputs], [known[id(one)] for one in self.leaves]

    def differentiable(self, call, tangents, create_graph=True):
        """`run()` by torch's own operations, so that what it gives has gradients, too."""
        if self.draws:
            raise RuntimeError(f"{self.name}: the function has drawn random numbers, so that its gradient cannot be differentiated")
        if call.writes != write_counts(call.arguments):
            raise RuntimeError(f"{self.name}: an argument has been modified by an inplace operation, so that the gradient cannot be differentiated")
        with torch.enable_grad():
            outputs, leaves = self.again(call.arguments, call.leaves)
        given = [(one, tangent) for one, tangent in zip(outputs, tangents) if tangent is not None]
        return torch.autograd.grad(
            [one for one, _ in given], leaves, [tangent for _, tangent in given], create_graph=create_graph, allow_unused=True
        )


def _replay(call, known, take, written):
    func, args, kwargs, results = call
    if func is None:  # a constant
        known[id(kwargs)] = args.clone() if id(kwargs) in written else args
        return
    made = func(*torch.utils._pytree.tree_map(take, args), **torch.utils._pytree.tree_map(take, kwargs))
    for stand_in, one in zip(torch.utils._pytree.tree_leaves(results), torch.utils._pytree.tree_leaves(made)):
        known[id(stand_in)] = one


class InPlaceOf(torch.autograd.Function):
    """The elements of one tensor, with the history of another one, which held them at the time of the call."""

    @staticmethod
    def forward(ctx, elements, of):
        ctx.set_materialize_grads(False)
        return elements.detach()

    @staticmethod
    def backward(ctx, gradient):
        return None, gradient


class Compiled(torch.autograd.Function):
    """A run of a compiled function as autograd's graph has it."""

    @staticmethod
    def forward(ctx, program, outputs, saved, arguments, *leaves):
        ctx.program, ctx.arguments, ctx.leaves = program, arguments, leaves
        ctx.writes = write_counts(arguments)
        ctx.materialize_grads = False
        ctx.to_save = saved
        return outputs

    @staticmethod
    def backward(ctx, *tangents):
        gradients = ctx.program.differentiable if torch.is_grad_enabled() else ctx.program.run
        return None, None, None, None, *gradients(ctx, tangents)


# torch.autograd.Function.apply() without what it does for torch.func, of which nothing is active where a run is recorded.
record = super(torch.autograd.Function, Compiled).apply


def apply(program, outputs, saved, arguments, *leaves):
    """`outputs` with a history, where gradients are not recorded at the end of the call: as `record()`."""
    with torch.enable_grad():
        return record(program, outputs, saved, arguments, *leaves)
