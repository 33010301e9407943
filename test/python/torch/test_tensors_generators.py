"""Generators of random numbers: those that a function makes by torch.Generator(), what draws from them, and what changes the others."""

import copy
import threading

import pytest
import torch
from reports import break_codes

import frameloom

FUNCTIONS = {
    "rand": lambda g: torch.rand(3, generator=g),
    "randn": lambda g: torch.randn(2, 3, generator=g, dtype=torch.float64),
    "randint": lambda g: torch.randint(2, 9, (4,), generator=g),
    "randperm": lambda g: torch.randperm(5, generator=g),
    "normal": lambda g: torch.normal(torch.zeros(3), torch.ones(3), generator=g),
    "bernoulli": lambda g: torch.bernoulli(torch.full((6,), 0.5), generator=g),
    "multinomial": lambda g: torch.multinomial(torch.arange(1.0, 5.0), 2, generator=g),
    "poisson": lambda g: torch.poisson(torch.full((3,), 4.0), generator=g),
    "normal_": lambda g: torch.zeros(3).normal_(1, 2, generator=g),
    "uniform_": lambda g: torch.zeros(3).uniform_(generator=g),
    "bernoulli_": lambda g: torch.zeros(2, 3).bernoulli_(0.5, generator=g),
    "transposed": lambda g: torch.zeros(2, 3).t().bernoulli_(0.5, generator=g),
    "exponential_": lambda g: torch.zeros(3).exponential_(generator=g),
    "random_": lambda g: torch.zeros(3).random_(0, 100, generator=g),
    "a part": lambda g: torch.zeros(4).index_put((torch.tensor([1]),), torch.rand(1, generator=g)),
    "init": lambda g: torch.nn.init.kaiming_uniform_(torch.zeros(3, 4), generator=g),
}


def drawn(name):
    draw = FUNCTIONS[name]

    def function(x, seed):
        made = torch.Generator().manual_seed(5)
        first = draw(made)
        between = torch.rand(2)
        kept = made.get_state()
        second = draw(made)
        made.set_state(kept)
        other = torch.Generator()
        return x + 1, first, between, second, draw(made), draw(other), draw(other), other.initial_seed(), isinstance(made, torch.Generator)

    return function


@pytest.mark.parametrize("name", FUNCTIONS)
def test_draws_from_a_generator_that_the_function_makes(name):
    function = drawn(name)
    compiled = frameloom.compile(function, fullgraph=name != "transposed")
    for i in range(2):
        torch.manual_seed(i)
        wanted, left = function(torch.ones(2), i), torch.rand(1)
        torch.manual_seed(i)
        got = compiled(torch.ones(2), i)
        assert torch.equal(torch.rand(1), left)
        for one, other in zip(got, wanted, strict=True):
            assert type(one) is type(other)
            assert torch.equal(one, other) and one.stride() == other.stride() if isinstance(other, torch.Tensor) else one == other


class Holder:
    pass


def returned(x, holder):
    made = torch.Generator().manual_seed(3)
    holder.kept = made
    return made, x + torch.rand(2, generator=made)


def over_a_break(x, holder):
    made = torch.Generator().manual_seed(3)
    first = torch.rand(2, generator=made)
    frameloom.graph_break()
    return made, first, torch.rand(2, generator=made) + x


def in_a_loop(x, holder):
    made, total = torch.Generator().manual_seed(3), x
    for _ in range(4):
        total = total + torch.rand(2, generator=made)
    return made, total


def in_branches(x, holder):
    made = torch.Generator().manual_seed(3)
    if x.sum() > 0:
        x = x + torch.rand(2, generator=made)
    return made, x + torch.rand(2, generator=made)


@pytest.mark.parametrize("function", [returned, over_a_break, in_a_loop, in_branches])
def test_a_generator_that_leaves_has_its_state(function):
    compiled = frameloom.compile(function)
    for number in (1.0, -1.0, 2.0):
        here, there = Holder(), Holder()
        (got, *ours), (wanted, *theirs) = compiled(torch.full((2,), number), here), function(torch.full((2,), number), there)
        assert type(got) is torch.Generator and got.initial_seed() == wanted.initial_seed()
        assert all(map(torch.equal, ours, theirs)) and torch.equal(torch.rand(3, generator=got), torch.rand(3, generator=wanted))
        assert getattr(here, "kept", got) is got
    assert "FL0003" not in break_codes(returned, torch.ones(2), Holder())


def test_calls_at_the_same_time_share_nothing():
    def function(x):
        made = torch.Generator().manual_seed(3)
        for _ in range(5):
            x = (x + torch.rand(100, 100, generator=made)).sin()
        return x

    compiled = frameloom.compile(function, fullgraph=True)
    wanted, found = compiled(torch.zeros(100, 100)), []

    def many():
        found.extend(compiled(torch.zeros(100, 100)) for _ in range(20))

    threads = [threading.Thread(target=many) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 80 and all(torch.equal(one, wanted) for one in found)


def test_gradients_of_what_was_drawn():
    def function(w):
        made = torch.Generator().manual_seed(3)
        return (torch.nn.functional.dropout(w, 0.0) * torch.rand(3, generator=made)).sin().sum()

    compiled = frameloom.compile(function, fullgraph=True)
    gradients = []
    for one in (function, compiled):
        w = torch.ones(3, requires_grad=True)
        (first,) = torch.autograd.grad(one(w), w, create_graph=True)
        gradients.append((first.detach(), *torch.autograd.grad(first.sum(), w)))
    for got, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(got, wanted)


def test_what_a_generator_refuses():
    def function(x, what):
        made = torch.Generator()
        try:
            what(made)
        except (RuntimeError, TypeError) as error:
            return x + 1, type(error).__name__
        return x

    for what in (lambda g: g.manual_seed("a"), lambda g: g.set_state(torch.zeros(3)), lambda g: torch.rand(2, generator=3), lambda g: torch.rand(2, 3, g)):
        x, name = function(torch.ones(2), what)
        assert frameloom.compile(function)(torch.ones(2), what)[1] == name
    copied = lambda: (copy.copy, torch.Generator())[1].device  # noqa: E731
    assert frameloom.compile(copied)() == torch.device("cpu")


def reseeded(x, generator):
    generator.manual_seed(4)
    return x + torch.rand(2, generator=generator), generator.manual_seed(6) is generator, torch.rand(2, generator=generator)


def state_put_back(x, generator):
    kept = generator.get_state()
    first = torch.rand(2, generator=generator)
    generator.set_state(kept)
    return x + first, torch.rand(2, generator=generator)


def forked(x, generator):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        inside = torch.rand(2)
    kept = torch.get_rng_state()
    first = torch.rand(2)
    torch.set_rng_state(kept)
    return inside, first, torch.rand(2) + x


def seeds_and_breaks(x, generator):
    generator.manual_seed(4)
    first = torch.rand(2, generator=generator)
    frameloom.graph_break()
    return first, torch.rand(2, generator=generator)


@pytest.mark.parametrize("function", [reseeded, state_put_back, forked, seeds_and_breaks])
def test_generators_from_before_the_call(function):
    compiled = frameloom.compile(function, fullgraph=function is not seeds_and_breaks)
    ours, theirs = ([torch.Generator().manual_seed(i) for i in range(2)] for _ in range(2))
    for i in (0, 1, 0, 0):
        torch.manual_seed(i)
        wanted, left = function(torch.ones(2), theirs[i]), torch.rand(2)
        torch.manual_seed(i)
        got = compiled(torch.ones(2), ours[i])
        assert torch.equal(torch.rand(2), left)
        assert all(torch.equal(one, other) if isinstance(other, torch.Tensor) else one == other for one, other in zip(got, wanted, strict=True))
        assert torch.equal(ours[i].get_state(), theirs[i].get_state())
