"""Models of functions that torch has in Python, whose originals also do things that do not concern tensors.

Capture follows the function that `model_of` gives in place of the original. The model does not switch Dynamo off, since Dynamo takes
no part, and does not inform a profiler.
"""

import types
import weakref

import torch
from torch.autograd.profiler import record_function
from torch.optim import optimizer
from torch.utils import _foreach_utils, checkpoint


def _plain(disabled):
    """A function that Dynamo is kept out of."""
    return disabled.__wrapped__


def _use_grad(decorated):
    """A step of an optimizer, which records gradients where the optimizer is differentiable."""
    step = decorated.__wrapped__

    def run(*args, **kwargs):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(args[0].defaults["differentiable"])
        try:
            return step(*args, **kwargs)
        finally:
            torch.set_grad_enabled(before)

    return run


def _named(self, name, args=None):
    self.name, self.args = name, args
    self.run_callbacks_on_exit = True
    self.record = None


def _entered(self):
    return self


def _left(self, kind, error, trace):
    return None


def _grouped(tensorlistlist, with_indices=False):
    """Lists of tensors by the device and dtype of those in the first list."""
    groups = {}
    for i, one in enumerate(tensorlistlist[0]):
        key = one.device, one.dtype
        if key not in groups:
            groups[key] = [[] for _ in tensorlistlist], []
        lists, indices = groups[key]
        for group, tensors in zip(lists, tensorlistlist):
            if tensors:
                group.append(tensors[i])
        if with_indices:
            indices.append(i)
    return groups


def _value(number):
    """A number that an optimizer keeps as a tensor, and computes with as with a Python float."""
    return number.to(torch.float64) if isinstance(number, torch.Tensor) else number


def begin_checkpoint():
    """Capture notes where a checkpointed call begins, and whether it is inside of another one."""
    raise NotImplementedError


def end_checkpoint(begun):
    raise NotImplementedError


def _checkpointed(original):
    """A call whose values the backward computes again. Capture follows what else torch's own function does in other cases."""
    code, defaults = original.__code__.replace(), original.__defaults__
    other = types.FunctionType(code, original.__globals__, original.__name__, defaults, original.__closure__)
    other.__kwdefaults__ = original.__kwdefaults__
    no_context = checkpoint.noop_context_fn

    def run(function, *args, use_reentrant=None, context_fn=no_context, determinism_check="default", debug=False, early_stop=True,
            preserve_rng_state=True, **kwargs):
        if use_reentrant is not False or context_fn is not no_context or debug or checkpoint._checkpoint_debug_enabled:
            return other(function, *args, use_reentrant=use_reentrant, context_fn=context_fn, determinism_check=determinism_check,
                         debug=debug, early_stop=early_stop, preserve_rng_state=preserve_rng_state, **kwargs)
        begun = begin_checkpoint()
        try:
            return function(*args, **kwargs)
        finally:
            end_checkpoint(begun)

    return run


def _inner(function, *args):
    """The code of the functions that a decorator of torch's makes."""
    return function(*args).__code__


# By the code of the original, what makes its model of it.
_MODELS = {
    _inner(torch._disable_dynamo, _left): _plain,
    _inner(optimizer._use_grad_for_differentiable, _left): _use_grad,
    _foreach_utils._group_tensors_by_device_and_dtype.__wrapped__.__code__: lambda original: _grouped,
    checkpoint.checkpoint.__wrapped__.__code__: _checkpointed,
    optimizer._get_value.__code__: lambda original: _value,
    record_function.__init__.__code__: lambda original: _named,
    record_function.__enter__.__code__: lambda original: _entered,
    record_function.__exit__.__code__: lambda original: _left,
}
CODES = tuple(_MODELS)
_made = weakref.WeakKeyDictionary()


def model_of(original):
    """The function that is followed in place of one whose code is among CODES, or that Dynamo is kept out of; None: the original,
    as while a profiler listens.

    The first torch.compile() of a process makes functions of torch.optim such that Dynamo is kept out of them.
    """
    if original.__code__ not in CODES:
        kept_out = getattr(original, "_torchdynamo_orig_callable", original)
        return kept_out if getattr(kept_out, "__module__", "").startswith("torch.optim.") and kept_out is not original else None
    if original.__qualname__.startswith("record_function.") and torch.autograd._profiler_enabled():
        return None
    if original not in _made:
        _made[original] = _MODELS[original.__code__](original)
    return _made[original]
