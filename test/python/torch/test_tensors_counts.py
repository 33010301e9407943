"""What a write counts: each tensor has a version, which autograd compares with that of what it has saved. t.data is a tensor
in the same memory with a version of its own, and arrays have none."""

import numpy as np
import pytest
import torch

import frameloom

# Ways of writing into k: through tensors and arrays in its memory.
WAYS = {
    "itself": lambda k, v: k.mul_(v),
    "detached": lambda k, v: k.detach().add_(v),
    "data": lambda k, v: k.data.__setitem__(0, v),
    "data, whole": lambda k, v: k.data.add_(v),
    "view of data": lambda k, v: k.data[1:].mul_(3),
    "data of a view": lambda k, v: k[1:].data.mul_(3),
    "data of data": lambda k, v: k.data.data.mul_(3),
    "data of detached": lambda k, v: k.detach().data.add_(v),
    "detached of data": lambda k, v: k.data.detach().add_(v),
    "array": lambda k, v: k.detach().numpy().__setitem__(0, 5),
    "array of data": lambda k, v: k.data.numpy().__setitem__(0, 5),
    "tensor over an array": lambda k, v: torch.from_numpy(k.data.numpy()).mul_(2),
    "both": lambda k, v: (k.data.add_(v), k.detach().mul_(2)),
}


class Sneaking(torch.autograd.Function):
    """Writes past autograd, as solvers of differential equations do."""

    @staticmethod
    def forward(ctx, k, v, place):
        ctx.place = place
        k.data[place] = v
        return k

    @staticmethod
    def backward(ctx, gradient):
        return gradient, gradient[ctx.place], None


def argument(write, k, v):
    write(k, v)
    return (k * k,)


def saved_before(write, k, v):
    y = k * k
    write(k, v)
    return (y,)


def made(write, k, v):
    k = k * 1
    y = k * k
    write(k, v)
    return y, k


def made_before_a_break(write, k, v):
    k = k * 1
    y = k * k
    print(end="")
    write(k, v)
    z = k * 3
    print(end="")
    return (y + z,)


def data_is_a_result(write, k, v):
    data = k.data
    write(k, v)
    return data, k * 2


def data_over_a_break(write, k, v):
    data, y = k.data, k * k
    print(end="")
    data.add_(v)
    write(k, v)
    return (y,)


def sneaking(write, k, v):
    made = torch.empty(3)
    made = Sneaking.apply(made, k[0], 0)
    a = made[:1] * made[:1]
    print(end="")
    made = Sneaking.apply(made, k[1] * 2, 1)
    b = made[:2] * made[:2]
    write(k, v)
    return a.sum() + b.sum(), Sneaking.apply(made, k[2], 2).square()


def two_calls(function, write, elements, requires):
    """Of two calls: versions, results, what a write into the first result counts, and gradients."""
    rows = []
    for _ in range(2):
        x = (torch.arange(elements) % 7 + 1.0).requires_grad_(requires)
        k = x * 1
        try:
            results = function(write, k, torch.tensor(2.0))
            row = [k._version, k.tolist(), *((one.tolist(), one.requires_grad) for one in results)]
            before = k._version
            if requires:
                sum(one.sum() for one in results if one.requires_grad).backward()
                row.append(x.grad.tolist())
            if not results[0].requires_grad:
                results[0].add_(1)
            rows.append((*row, k._version - before, k.tolist()))
        except RuntimeError as error:
            rows.append(str(error)[:60])
    return rows


@pytest.mark.parametrize("requires", [False, True])
@pytest.mark.parametrize("elements", [3, 40000])
@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("function", [argument, saved_before, made, made_before_a_break, data_is_a_result, data_over_a_break, sneaking])
def test_writes_count_as_in_torch(function, write, elements, requires):
    plain = two_calls(function, write, elements, requires)
    assert two_calls(frameloom.compile(function), write, elements, requires) == plain


def test_a_large_tensor_is_written_in_its_place():
    """What data is written through is memory of the tensor: nothing is copied, nothing counted."""
    weight = torch.ones(1 << 20, requires_grad=True)
    place, step = weight.data_ptr(), frameloom.compile(lambda w, by: w.data.sub_(by))
    for _ in range(3):
        step(weight, torch.ones(1 << 20))
    assert weight.data_ptr() == place and weight._version == 0 and np.all(weight.detach().numpy() == -2)


def cubed(x):
    k = x * 1
    y = k * k * k
    k.data.mul_(2)
    return y, (x - x).sqrt()


@pytest.mark.parametrize("again", [False, True])
def test_a_gradient_that_torch_computes_reads_what_was_written(again):
    """A second derivative, and a gradient that a root of 0 in another result would make NaN."""
    found = []
    for function in (cubed, frameloom.compile(cubed)):
        x = torch.linspace(1, 2, 3, requires_grad=True)
        (gradient,) = torch.autograd.grad(function(x)[0].sum(), x, create_graph=again)
        found.append(torch.autograd.grad(gradient.sum(), x)[0] if again else gradient)
    torch.testing.assert_close(found[1], found[0])


def less_a_product(x):
    """What is written through t.data, or through a detached tensor, gets a history."""
    y = x * x.sin()
    x.data.sub_(y)
    return y


def a_part_less_a_product(x):
    k = x.exp()
    d = k.data
    d[0].mul_(x[0])
    return k * x + d


def a_detached_one_less_a_product(x):
    y = x * 2
    x.detach().sub_(y)
    return y


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("function", [less_a_product, a_part_less_a_product, a_detached_one_less_a_product])
def test_what_is_written_through_a_detached_tensor_gets_a_history_of_its_own(function, again):
    found = []
    for one in (function, frameloom.compile(function)):
        x = torch.linspace(1, 2, 3, requires_grad=True)
        found.append(torch.autograd.grad((one(x) * torch.arange(3)).sum(), x, create_graph=again)[0])
    torch.testing.assert_close(found[1], found[0])
