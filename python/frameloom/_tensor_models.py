"""Models of functions that torch has in Python, whose originals also do things that do not concern tensors.

Capture follows the function that `model_of` gives in place of the original. The model does not switch Dynamo off, since Dynamo takes
no part, and does not inform a profiler.
"""

import weakref

import torch
from torch.autograd.profiler import record_function
from torch.optim import _adafactor as _adafactor_steps
from torch.distributions.utils import lazy_property
from torch.optim import asgd, optimizer, radam
from torch.utils import _foreach_utils, checkpoint

from . import _tensor_batches, _tensor_calls, _tensor_functions, _tensor_transforms, _torch_checked
from ._tensor_modelling import apart


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


def _larger(number, least):
    """max(least, number) of Python: a NaN is not larger."""
    return torch.where(number > least, number, least)


def _radam(original):
    """Steps of RAdam, where the count of steps decides: both results are computed, and one is chosen. The function for lists has
    formulas of its own, which differ where a square has become 0."""
    other, lists = apart(original), original.__name__.startswith("_multi")

    def run(params, grads, means, squares, counts, *, beta1, beta2, lr, weight_decay, eps, decoupled_weight_decay, differentiable,
            maximize, capturable, has_complex):
        if differentiable or capturable or has_complex:
            return other(params, grads, means, squares, counts, beta1=beta1, beta2=beta2, lr=lr, weight_decay=weight_decay, eps=eps,
                         decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable, maximize=maximize,
                         capturable=capturable, has_complex=has_complex)
        lr = optimizer._to_scalar(lr)
        for param, grad, mean, square, count in zip(params, grads, means, squares, counts, strict=True):
            grad = -grad if maximize else grad
            count += 1
            step = _value(count)
            if weight_decay != 0 and decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            elif weight_decay != 0:
                grad = grad.add(param, alpha=weight_decay)
            mean.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            first, second, most = 1 - beta1**step, 1 - beta2**step, 2 / (1 - beta2) - 1
            length = most - 2 * step * beta2**step / second
            rectified = ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5
            root = square.sqrt().add_(eps)
            if lists:
                chosen = torch.where(length > 5, rectified, 0.0)
                root.div_(second**0.5 * (chosen * lr / first) * -1).reciprocal_()
                param.addcmul_(mean, root.add_((1.0 - (chosen > 0).to(torch.float64)) * lr / first * -1))
            else:
                update = mean / first * lr
                param.add_(torch.where(length > 5, update * (second**0.5 / root) * rectified, update), alpha=-1.0)

    return run


def _asgd(original):
    """Steps of ASGD. The functions for single tensors and for lists differ in their roundings, and in how they average."""
    other, lists = apart(original), original.__name__.startswith("_multi")

    def run(params, grads, averages, weights, rates, counts, *, lambd, lr, t0, alpha, weight_decay, maximize, differentiable,
            capturable, has_complex):
        if differentiable or capturable or has_complex:
            return other(params, grads, averages, weights, rates, counts, lambd=lambd, lr=lr, t0=t0, alpha=alpha,
                         weight_decay=weight_decay, maximize=maximize, differentiable=differentiable, capturable=capturable,
                         has_complex=has_complex)
        lr = optimizer._to_scalar(lr)
        for param, grad, average, weight, rate, count in zip(params, grads, averages, weights, rates, counts, strict=True):
            grad = -grad if maximize else grad
            count += 1
            if weight_decay != 0:
                grad = grad.add(param, alpha=weight_decay)
            if lists:
                param.addcmul_(grad.add(param, alpha=lambd), rate, value=-1)
                average.addcmul_(param - average, weight)
            else:
                param.mul_(1 - lambd * _value(rate)).sub_(grad * _value(rate))
                average.copy_(torch.where(weight != 1, average + (param - average) * weight, param))
            step = _value(count)
            rate.copy_(lr / (1 + lambd * lr * step) ** alpha)
            weight.copy_(1 / _larger(step - t0, 1))

    return run


def _moved(tensor, end, weight):
    """tensor.lerp_(end, weight) for a weight that is a tensor of float64 in place of a Python float."""
    if tensor.dtype in (torch.float16, torch.bfloat16):
        tensor.copy_(torch.lerp(tensor.float(), end.float(), weight.float()))
    else:
        tensor.lerp_(end, weight.to(tensor.dtype))


def _adafactor(original):
    """Steps of Adafactor. Those of lists compute the same as those of single tensors."""
    other = apart(original)

    def run(params, grads, rows, columns, variances, counts, grad_scale, found_inf, *, d, lr, beta2_decay, weight_decay, eps1, eps2,
            maximize, has_complex):
        if grad_scale is not None or found_inf is not None or has_complex or isinstance(lr, torch.Tensor):
            return other(params, grads, rows, columns, variances, counts, grad_scale, found_inf, d=d, lr=lr, beta2_decay=beta2_decay,
                         weight_decay=weight_decay, eps1=eps1, eps2=eps2, maximize=maximize, has_complex=has_complex)
        for param, grad, row, column, variance, count in zip(params, grads, rows, columns, variances, counts, strict=True):
            grad = -grad if maximize else grad
            if eps1 is None:
                eps1 = torch.finfo(param.dtype).eps
            count += 1
            step = _value(count)
            weight, slower, limit = step**beta2_decay, 1 / step**0.5, step * 0.0 + lr
            alpha = _larger(_value(param.norm(2)) / param.numel() ** 0.5, eps2) * torch.where(slower < limit, slower, limit)
            if weight_decay != 0:
                param.mul_(1 - lr * weight_decay)
            if grad.dim() > 1:
                _moved(row, torch.norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
                _moved(column, torch.norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
                estimate = row @ column
                estimate.div_(row.mean(dim=-2, keepdim=True).clamp_(min=eps1))
            else:
                _moved(variance, grad * grad, weight)
                estimate = variance.clone()
            update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
            param.sub_(update * (alpha / _larger(_value(update.norm(2)) / (update.numel() ** 0.5 * d), 1.0)))

    return run


def _lazily(original):
    """An attribute of a distribution that is computed when it is asked for. Asked for of the class, it is the descriptor, of which
    torch's own code asks for the class alone."""
    other = apart(original)

    def run(self, instance, obj_type=None):
        return self if instance is None else other(self, instance, obj_type)

    return run


def _seeds(original):
    """torch.manual_seed()"""
    generator = torch.default_generator

    def run(seed):
        _torch_checked.seeded(int(seed))
        return generator

    return run


def begin_checkpoint():
    """Capture notes where a checkpointed call begins, and whether it is inside of another one."""
    raise NotImplementedError


def end_checkpoint(begun):
    raise NotImplementedError


def _checkpointed(original):
    """A call whose values the backward computes again. Capture follows what else torch's own function does in other cases."""
    other = apart(original)
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


def _operation(original):
    """A call of one of torch.ops."""

    def run(self, /, *args, **kwargs):
        return _tensor_calls.operation(self, args, tuple(kwargs), tuple(kwargs.values()))

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
    _tensor_batches.CODE: _tensor_batches.of_vmap,
    _tensor_batches.CODE_OF_WRAPPING: _tensor_batches.of_wrapping,
    _tensor_functions.CODE: _tensor_functions.of_apply,
    _tensor_functions.CODE_OF_ONCE: _tensor_functions.of_once,
    **_tensor_transforms.MODELS,
    torch.random.manual_seed.__code__: _seeds,
    lazy_property.__get__.__code__: _lazily,
    radam._single_tensor_radam.__code__: _radam,
    radam._multi_tensor_radam.__code__: _radam,
    asgd._single_tensor_asgd.__code__: _asgd,
    asgd._multi_tensor_asgd.__code__: _asgd,
    _adafactor_steps._single_tensor_adafactor.__code__: _adafactor,
    _adafactor_steps._multi_tensor_adafactor.__code__: _adafactor,
    optimizer._get_value.__code__: lambda original: _value,
    torch._ops.OpOverload.__call__.__code__: _operation,
    torch._ops.OpOverloadPacket.__call__.__code__: _operation,
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
    if original.__module__ == "torch._dynamo.mutation_guard":
        return original.__closure__[original.__code__.co_freevars.index(original.__code__.co_name.removeprefix("patched_"))].cell_contents
    if original.__code__ not in CODES:
        kept_out = getattr(original, "_torchdynamo_orig_callable", original)
        return kept_out if getattr(kept_out, "__module__", "").startswith("torch.optim.") and kept_out is not original else None
    if original.__qualname__.startswith("record_function.") and torch.autograd._profiler_enabled():
        return None
    if original not in _made:
        _made[original] = _MODELS[original.__code__](original)
    return _made[original]
