"""Random numbers are drawn once by a call, also where a run of the compiled version ends in the plain function: then what it has drawn is
drawn again."""

import pytest
import torch

import frameloom

GENERATOR = torch.Generator()
FULL, NONE, ONE = torch.ones(6), torch.zeros(6), torch.tensor([1.0, 0, 0, 0, 0, 0])


def sizes(x):
    noise = torch.rand(6)
    return x[x > 0] / 2, noise


def index(x):
    noise = torch.rand(6)
    return torch.ones(3, 6)[x.long() * 5].sum() + noise


def bernoulli(x):
    kept = torch.nn.functional.dropout(x + 1, 0.5)
    return torch.bernoulli(x * 2) + kept


def own_generator(x):
    noise = torch.randn(6, generator=GENERATOR)
    return x[x > 0] * 2, noise


def seeded(x):
    torch.manual_seed(int(x.shape[0]))
    noise = torch.rand(6)
    return torch.unique(x[x > 0]), noise


def shape(x):
    return x + torch.rand(6), x.shape


def lists(x):
    noise = torch.randperm(6)
    return [x[noise], x.size(), torch.Size((2, 3))], {"at": x.nonzero()}


FUNCTIONS = (sizes, index, bernoulli, own_generator, seeded, shape, lists)


def left_by(function, x):
    """What a call gives or raises, and the numbers that are drawn behind it."""
    torch.manual_seed(3)
    GENERATOR.manual_seed(4)
    try:
        result = function(x)
    except (IndexError, RuntimeError) as error:
        result = type(error).__name__
    return result, torch.rand(2), torch.rand(2, generator=GENERATOR)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("order", [(FULL, NONE, ONE), (NONE, FULL, NONE), (ONE, ONE, NONE, FULL)], ids=["full first", "none first", "one first"])
def test_numbers_are_drawn_once(function, order):
    compiled = frameloom.compile(function)
    for x in order:
        wanted, got = left_by(function, x), left_by(compiled, x)
        assert str(got) == str(wanted)


def penalty(x, w):
    return torch.nn.functional.dropout((x * w).tanh(), 0.5).square().sum()


def noisy(x, w):
    noise = torch.randn(6)
    return ((x + noise) ** 3 * w * torch.rand(6, generator=GENERATOR)).sum(), noise


def seeding(x, w):
    first = torch.rand(6)
    torch.manual_seed(5)
    return (x**3 * first * w.sin()).sum() + (x**4 * torch.randn(6)).sum()


def filled(x, w):
    drawn = torch.empty(6).uniform_(1, 2)
    return (torch.bernoulli(torch.full((6,), 0.5)) * x**3 * w**drawn).sum()


def attention(x, w):
    rows = x.view(1, 2, 3) * w.view(1, 2, 3)
    return torch.nn.functional.scaled_dot_product_attention(rows, rows, rows, dropout_p=0.4).square().sum()


@pytest.mark.parametrize("function", [penalty, noisy, seeding, filled, attention], ids=lambda one: one.__name__)
def test_gradients_of_gradients_see_the_numbers_of_the_call(function):
    told = []
    for one in (function, frameloom.compile(function)):
        made = torch.Generator().manual_seed(1)
        for _ in range(2):
            x, w = (torch.rand(6, generator=made, requires_grad=True) for _ in range(2))
            torch.manual_seed(3)
            GENERATOR.manual_seed(4)
            result = one(x, w)
            loss = result[0] if isinstance(result, tuple) else result
            torch.rand(3), torch.rand(3, generator=GENERATOR)  # of others, in between
            first = torch.autograd.grad(loss, (x, w), create_graph=True)
            between = torch.rand(2), torch.rand(2, generator=GENERATOR)
            second = torch.autograd.grad(sum(part.sin().sum() for part in first), (x, w))
            told.append((loss, first, second, between, torch.rand(2), torch.rand(2, generator=GENERATOR)))
    for got, wanted in zip(told[2:], told[:2], strict=True):
        torch.testing.assert_close(got, wanted)
