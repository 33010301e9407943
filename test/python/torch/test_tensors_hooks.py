"""Gradients of tensors that a function makes itself, asked for by hooks or behind a break: results of a compiled part have no edges
between them, which must not change a gradient."""

import pytest
import torch
from torch import nn

import frameloom


def hooked_between(x):
    y = x * 2
    z = y + 1
    y.register_hook(lambda g: g * 2)
    return (z + y * 3).sum()


def hooked_behind_a_break(x):
    y = x * 2
    z = y.sin()
    print(end="")
    y.register_hook(lambda g: g * 2)
    return (z + y * 3).sum()


def kept(x):
    y = x * 2
    z = y.sin()
    y.retain_grad()
    (z + y * 3).sum().backward()
    return y.grad


def of_a_part(x):
    y = x * 2
    z = (y + 1).sin()
    print(end="")
    (g,) = torch.autograd.grad((z + y * 5).sum(), y, retain_graph=True)
    return g


def of_an_argument(x):
    seen = []
    x.register_hook(lambda g: seen.append(g * 2))
    (x * 2).sum().backward()
    return seen[0]


def taken_off(x):
    y = x * 2
    y.register_hook(lambda g: g * 5).remove()
    return (y + y.sin()).sum()


class Inner(nn.Module):
    """Hooks what it is given."""

    def forward(self, y):
        y.register_hook(lambda g: g * 2)
        return y * 3


class Outer(nn.Module):
    """Uses, too, what it gives to the inner one."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        y = x * 2
        return (y + 1 + self.inner(y)).sum()


@pytest.mark.parametrize("plain", [hooked_between, hooked_behind_a_break, kept, of_a_part, of_an_argument, taken_off, Outer()])
def test_gradients_of_what_a_function_makes(plain):
    compiled = frameloom.compile(plain)
    for call in range(3):
        found = []
        for function in plain, compiled:
            x = torch.linspace(0.1, 1.0, 3 + call // 2, requires_grad=True)
            result = function(x)
            if result.requires_grad:
                result.backward()
            found.append((result.detach(), x.grad if x.grad is not None else torch.zeros(0)))
        assert all(torch.allclose(one, other) for one, other in zip(*found, strict=True))


def of_the_earlier(x, y, z):
    return torch.autograd.grad((z + 5 * y).sum(), y, retain_graph=True)


def of_both(x, y, z):
    return torch.autograd.grad((z * 5 * y).sum(), [y, z], retain_graph=True)


def of_the_leaf(x, y, z):
    return torch.autograd.grad(inputs=x, outputs=(y * 5 * x).sum(), retain_graph=True)


def of_one_alone(x, y, z):
    return torch.autograd.grad((y * y).sum(), y, retain_graph=True)


def of_a_made_leaf(x, y, z):
    made = torch.ones_like(x).requires_grad_()
    return torch.autograd.grad((z * made.square() * y).sum(), made)


@pytest.mark.parametrize("plain", [of_the_earlier, of_both, of_the_leaf, of_one_alone, of_a_made_leaf])
def test_gradients_through_what_was_recorded_before(plain):
    compiled = frameloom.compile(plain)
    for made in (lambda x: x * 2, lambda y: y.sin()), (lambda x: x.detach().requires_grad_(),) * 2:
        for _ in range(2):
            x = torch.tensor([0.3, 0.7], requires_grad=True)
            y = made[0](x)
            z = made[1](y)
            if plain is of_the_leaf and y.is_leaf:
                y = x * 3
            try:
                want = plain(x, y, z)
            except RuntimeError as error:
                with pytest.raises(RuntimeError, match=str(error)[:40]):
                    compiled(x, y, z)
                continue
            assert all(torch.allclose(one, other) for one, other in zip(want, compiled(x, y, z), strict=True))


class Overrides:
    """An object that torch's functions ask."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return 7


class Subclass(torch.Tensor):
    """A tensor with a class of its own."""


@pytest.mark.parametrize("given", [Overrides(), Subclass(), torch.ones(2), nn.Parameter(torch.ones(2)), 4, None, "text", Overrides])
def test_classes_that_override_functions(given):
    def plain(x):
        return torch.overrides.has_torch_function_unary(x), torch.overrides.has_torch_function_variadic(x, 2), torch.overrides.has_torch_function((x, 1))

    compiled = frameloom.compile(plain)
    assert [compiled(given), compiled(given), compiled(4)] == [plain(given), plain(given), (False,) * 3]


@pytest.mark.parametrize("kind", [torch.FloatTensor, torch.HalfTensor, torch.LongTensor, torch.Tensor, nn.Parameter, (int, torch.FloatTensor)])
def test_checks_against_classes_of_tensors(kind):
    def plain(x):
        y = x * 2
        return isinstance(x, kind), isinstance(y, kind), y

    compiled = frameloom.compile(plain)
    for x in torch.ones(2), torch.ones(2, dtype=torch.int64), nn.Parameter(torch.ones(2)):
        assert compiled(x)[:2] == compiled(x)[:2] == plain(x)[:2]


class Named(torch.Tensor):
    """What torch computes with it is of its class."""


def conjugated(x):
    return torch.complex(x, x + 1).conj().imag


@pytest.mark.parametrize("tangent", [torch.ones_like, lambda x: torch.ones(1).expand(x.shape), lambda x: x.detach().to_sparse(), nn.Parameter,
                                     lambda x: torch.ones_like(x).as_subclass(Named), conjugated, lambda x: torch.ones(5)[1:].view(2, 2)])
def test_kinds_of_tangents(tangent):
    def plain(x):
        return x * x * 2

    found = []
    for function in plain, frameloom.compile(plain):
        x = torch.arange(4.0).reshape(2, 2).requires_grad_()
        function(x).backward(tangent(x.detach()))
        found.append(x.grad)
    assert type(found[0]) is type(found[1]) and found[0].layout is found[1].layout
    assert torch.equal(found[0].to_dense(), found[1].to_dense())


@pytest.mark.parametrize("function", [torch.nn.functional.logsigmoid, torch.nn.functional.hardshrink, torch.nn.functional.mish, torch.logit,
                                      torch.nn.functional.softplus, torch.xlogy, torch.tril, torch.nan_to_num])
@pytest.mark.parametrize("turn", [lambda x: x.mT, lambda x: x[:, ::2], lambda x: x.permute(2, 0, 1), lambda x: x[:1].expand(3, 3, 4)])
def test_results_lie_as_in_eager_torch(function, turn):
    def plain(x):
        return function(x, x) if function is torch.xlogy else function(x)

    x = turn(torch.rand(2, 3, 4) * 0.8 + 0.1)
    want, got = plain(x), frameloom.compile(plain)(x)
    assert want.stride() == got.stride() and torch.allclose(want, got)
