"""Results of a compiled part that nothing of the gradient comes from: where their derivative is infinite, autograd does not add
0 times it."""

import itertools

import pytest
import torch

import frameloom

# What has an infinite derivative, or none, where the elements of z are 0.
INFINITE = {
    "sqrt": lambda z: z.sqrt(),
    "root of a mean of squares": lambda z: z.square().mean().sqrt(),
    "log": lambda z: z.log(),
    "reciprocal": lambda z: 1 / z,
    "quotient": lambda z: z / z.sum(),
    "power": lambda z: z**0.25,
    "acos": lambda z: (z + 1).acos(),
    "atanh": lambda z: (1 - z).atanh(),
    "logit": lambda z: z.logit(),
    "xlogy": lambda z: torch.xlogy(z + 1, z),
    "normalised": lambda z: z / z.square().sum().sqrt(),
}


def largest(x, other):
    return max(x.sum(), -other.sum().abs())


def branch(x, other):
    if x.sum() > -1:
        return x.sum() * 3
    return other.sum()


def behind_a_break(x, other):
    y = x * 2
    print(end="")
    return y.sum()


def loop(x, other):
    y = x.sum()
    while y < 20:
        y = y * 2
        if y < 0:
            y = other.sum()
    return y


def some_of_many(x, other):
    many = [x * i for i in range(70)]
    print(end="")
    return many[3].sum() + many[69].sum()


def dropped(x, other):
    y = torch.nn.functional.dropout(x, 0.5)
    print(end="")
    return (y * y).sum()


@pytest.mark.parametrize("name", INFINITE)
@pytest.mark.parametrize("function", [largest, branch, behind_a_break, loop, some_of_many, dropped])
def test_a_part_whose_results_are_not_all_used(function, name):
    def whole(x, w):
        return function(x * w, INFINITE[name](x - x.detach()))

    def two(x, w):
        return function(x * w, w), INFINITE[name](x - x.detach())

    compiled = {plain: frameloom.compile(plain) for plain in (whole, two)}
    for plain, _ in itertools.product((whole, two), range(3)):
        found = []
        for one in (plain, compiled[plain]):
            torch.manual_seed(1)
            x, w = torch.linspace(1, 2, 5, requires_grad=True), torch.ones(5, requires_grad=True)
            y = one(x, w)
            found.append(torch.autograd.grad(y[0] if plain is two else y, (x, w)))
        for want, got in zip(*found, strict=True):
            assert torch.allclose(want, got, rtol=1e-5), (want, got)
        assert all(one.isfinite().all() for one in found[1])


def test_what_is_not_a_number_stays_so():
    """Also where the function cannot be computed once more: its argument has been written."""
    compiled, k = frameloom.compile(lambda x, k: ((x - x).sqrt() + k, x + k)), torch.ones(3)
    for written in (False, True):
        x = torch.ones(3, requires_grad=True)
        root, _ = compiled(x, k)
        if written:
            k.add_(1)
        assert torch.autograd.grad(root.sum(), x)[0].isnan().all()
