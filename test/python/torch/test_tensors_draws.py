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
