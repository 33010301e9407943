"""Classes of torch.autograd.Function for random programs. The derivatives of most are not those of their results."""

import torch
from torch.autograd.function import once_differentiable


class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y.sin()

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return 3 * gradient * y.sin() if ctx.needs_input_grad[0] else None, gradient * x * y.cos()


class Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * -ctx.by, None


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(x, times=2.0):
        y = torch.tanh(x)
        return y, x * times

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output[0])
        ctx.times = inputs[1]

    @staticmethod
    def backward(ctx, first, second):
        (y,) = ctx.saved_tensors
        return first * (1 - y * y) + second.mul(ctx.times), None


class Twofold(torch.autograd.Function):
    """Calls another one, and writes into what it makes."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        made = torch.empty_like(x).copy_(x)
        made.mul_(2)
        return made

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        made = gradient.clone()
        made += Tripled.apply(gradient, x)
        return made


class Ended(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, gradient, gradient * 2)


FUNCTIONS = {one.__name__: one for one in (Tripled, Turned, Pair, Twofold, Ended)}
