"""Leaves that a captured function makes itself, and torch.autograd.grad() inside of one."""

import pytest
import tensor_programs
import torch
from reports import break_codes

import frameloom

F = torch.nn.functional


def of_zeros(x):
    leaf = torch.zeros(3, requires_grad=True)
    (leaf * x + leaf.exp()).sum().backward()
    return leaf.grad


def of_a_copy(x):
    leaf = x.clone().requires_grad_()
    leaf.sin().sum().backward()
    (leaf * 2).sum().backward()
    return leaf.grad, leaf.requires_grad, leaf.detach()


def of_a_detached_one(x):
    leaf = x.detach().requires_grad_()
    y = (leaf * leaf * x).sum()
    y.backward(retain_graph=True)
    return leaf.grad, y


def of_a_constant(x):
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    before = leaf.grad
    (leaf * x).sum().backward()
    return leaf.grad, before is None


def by_the_attribute(x):
    leaf = torch.ones(3)
    leaf.requires_grad = True
    (leaf * x).sum().backward()
    with torch.no_grad():
        leaf -= 0.1 * leaf.grad
    leaf.grad = None
    (leaf * leaf).sum().backward()
    return leaf.grad * 1


def descent(x):
    """Steps of a gradient descent, as an attack on a model has them."""
    delta = torch.zeros_like(x, requires_grad=True)
    for _ in range(3):
        loss = F.mse_loss((x + delta).tanh(), torch.ones(3))
        loss.backward()
        with torch.no_grad():
            delta += 0.1 * delta.grad.sign()
            delta.grad.zero_()
    return x + delta.detach()


def gradients_of_leaves(x):
    leaf = torch.ones(3, requires_grad=True)
    y = leaf * x
    first, second = torch.autograd.grad(y.exp().sum(), [leaf, y])
    return first, second


def gradient_of_an_argument(x):
    if not x.requires_grad:
        return x
    (gradient,) = torch.autograd.grad((x * x).sum(), x)
    return gradient, x * 3


def penalty(x):
    """A gradient that is differentiated: by backward() inside, or by that of the result."""
    leaf = x.detach().clone().requires_grad_()
    weight = x * 2
    (gradient,) = torch.autograd.grad((leaf * leaf * weight).sum(), leaf, create_graph=True)
    return gradient.square().sum()


def with_grad_outputs(x):
    leaf = x.clone().detach().requires_grad_(True)
    y = leaf.sin()
    return torch.autograd.grad(y, leaf, grad_outputs=torch.ones_like(y), retain_graph=True), torch.autograd.grad(y, leaf, x.detach(), allow_unused=True)


FUNCTIONS = [
    of_zeros, of_a_copy, of_a_detached_one, of_a_constant, by_the_attribute, descent, gradients_of_leaves, gradient_of_an_argument, penalty,
    with_grad_outputs,
]  # fmt: skip


def flat(one):
    if isinstance(one, (tuple, list)):
        return [each for item in one for each in flat(item)]
    return [one]


def look(one):
    return (*tensor_programs.told(one), one.grad_fn is not None) if isinstance(one, torch.Tensor) else one


def compare_leaves(function, compiled, requires):
    found = []
    for each in (function, compiled):
        x = torch.tensor([0.5, -1.0, 2.0], requires_grad=requires)
        results = flat(each(x))
        roots = [one.sum() for one in results if isinstance(one, torch.Tensor) and one.requires_grad]
        given = torch.autograd.grad(sum(roots), x, allow_unused=True) if roots and requires else ()
        found.append(([look(one) for one in results], [one for one in (*results, *given, x.grad) if isinstance(one, torch.Tensor)]))
    assert found[1][0] == found[0][0]
    torch.testing.assert_close(found[1][1], found[0][1])


@pytest.mark.parametrize("requires", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_leaves(function, requires):
    whole = requires or function not in (of_a_copy, of_a_detached_one, penalty)
    compiled = frameloom.compile(function, fullgraph=whole and not (requires and function is of_a_copy))
    for _ in range(2):
        compare_leaves(function, compiled, requires)


def returned(x):
    leaf = torch.ones(3, requires_grad=True)
    return leaf, leaf * x


def a_view_of_it(x):
    leaf = torch.ones(3, requires_grad=True)
    return leaf[1:]


def only_of_it(x):
    leaf = torch.ones(3, requires_grad=True)
    return leaf * 2


def one_from_before(x):
    return (x.requires_grad_() * 2).sum()


@pytest.mark.parametrize("function", [returned, a_view_of_it, only_of_it, one_from_before])
def test_what_breaks(function):
    x = torch.tensor([0.5, -1.0, 2.0])
    assert "FL0030" in break_codes(function, x.clone())
    compare_leaves(function, frameloom.compile(function), False)
    got = flat(frameloom.compile(returned)(x))
    got[1].sum().backward()
    assert torch.equal(got[0].grad, x)


def test_gradients_of_what_is_not_used_raise():
    def unused(x):
        leaf = torch.ones(3, requires_grad=True)
        return torch.autograd.grad((leaf * 2).sum(), [leaf, torch.ones(3, requires_grad=True)])

    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        frameloom.compile(unused)(torch.ones(3))
