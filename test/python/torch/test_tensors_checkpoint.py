"""torch.utils.checkpoint in functions of tensors that frameloom.compile has captured, and hooks of what autograd saves."""

import pytest
import tensor_programs
import torch
from reports import break_codes
from torch.utils.checkpoint import checkpoint

import frameloom

F = torch.nn.functional


def again(function, *arguments, **options):
    return checkpoint(function, *arguments, use_reentrant=False, **options)


def leaves(*shapes):
    made = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=made, dtype=torch.float64).requires_grad_() for shape in shapes]


def layer(x, w, b):
    return F.gelu(F.layer_norm(x, x.shape[1:]) @ w + b).cos() * x


def nested(x, w, b):
    return again(lambda x: again(layer, x, w, b) + x, x)


def both(x, w, b):
    y, z = again(lambda x: (torch.tanh(x @ w), (x + b).exp()), x)
    return again(lambda y: y.sin().t().contiguous(), y) + z.t(), y


def several(x, w, b):
    values, order = again(lambda x: torch.sort(torch.sin(x @ w) + b, dim=-1), x)
    return values.exp() * (order + 1)


def attention(x, w, b):
    def heads(x):
        q = (x @ w).view(1, 2, 3, 4)
        return F.scaled_dot_product_attention(q, q.sin(), q.cos(), is_causal=True).reshape(6, 4)

    return again(heads, x) + b


CASES = [lambda x, w, b: again(layer, x, w, b), lambda x, w, b: again(layer, x, w=w, b=b), nested, both, several, attention,
         lambda x, w, b: again(layer, again(layer, x, w, b), w, b), lambda x, w, b: again(lambda x: x, x) * 2,
         lambda x, w, b: again(lambda x: (x @ w).detach() * x, x), lambda x, w, b: again(layer, x, w, b, preserve_rng_state=False)]


@pytest.mark.parametrize("function", CASES)
def test_gradients_are_those_of_torch(function):
    compiled = frameloom.compile(function)
    for _ in range(2):
        plain = tensor_programs.outcome(function, leaves((6, 4), (4, 4), (4,)))
        assert tensor_programs.difference(plain, tensor_programs.outcome(compiled, leaves((6, 4), (4, 4), (4,)))) is None
    assert not break_codes(compiled, *leaves((6, 4), (4, 4), (4,)))


def saved(function, *arguments):
    """How many numbers autograd keeps for the backward of a call, those of arguments and parameters left out."""
    result = function(*arguments)
    given = {one.data_ptr() for one in arguments}
    kept = {one.data_ptr(): one.numel() for one in result.grad_fn.saved_tensors if one.data_ptr() not in given}
    return sum(kept.values())


def test_what_is_inside_is_not_saved():
    def products(x, w, b):
        for _ in range(4):
            x = torch.sin(x @ w + b)
        return x

    def deep(call):
        def function(x, w, b):
            for _ in range(6):
                x = call(products, x, w, b)
            return x

        return frameloom.compile(function)

    given = leaves((64, 16), (16, 16), (16,))
    with_checkpoints = saved(deep(again), *given)
    assert with_checkpoints <= 6 * 64 * 16
    assert saved(deep(lambda function, *arguments: function(*arguments)), *given) > 3 * with_checkpoints


def test_random_numbers_are_drawn_once():
    def function(x):
        return again(lambda x: F.dropout(x.sin(), 0.5) * x, x).sum()

    results = []
    for call in (function, frameloom.compile(function)):
        (x,) = leaves((100,))
        torch.manual_seed(3)
        call(x).backward()
        results.append((x.grad, torch.rand(1)))
    torch.testing.assert_close(*results)


def test_what_is_written_inside_is_written_twice():
    """Eager torch runs the function again, so that running means move twice: the call is left to torch."""
    results = []
    for compiles in (False, True):
        norm = torch.nn.BatchNorm1d(4).double()
        function = lambda x: again(lambda x: norm(x).sin(), x).sum()  # noqa: E731
        call = frameloom.compile(function) if compiles else function
        (x,) = leaves((8, 4))
        call(x).backward()
        results.append((x.grad, norm.running_mean, norm.num_batches_tracked))
    torch.testing.assert_close(*results)
    assert results[0][2] == 2


@pytest.mark.filterwarnings("ignore:.*use_reentrant")
@pytest.mark.parametrize("options", [{"use_reentrant": True}, {"use_reentrant": False, "debug": True}, {}])
def test_other_checkpoints_are_those_of_torch(options):
    def function(x, w, b):
        return checkpoint(layer, x, w, b, **options).sum()

    found = []
    for call in (function, frameloom.compile(function)):
        given = leaves((6, 4), (4, 4), (4,))
        call(*given).backward()
        found.append([one.grad for one in given])
    torch.testing.assert_close(*found)


def test_compiled_functions_that_torch_checkpoints():
    compiled, model = frameloom.compile(layer), frameloom.compile(torch.nn.Linear(4, 4).double())
    for options in ({"use_reentrant": False}, {"use_reentrant": True}, {"use_reentrant": False, "early_stop": False}):
        found = []
        for call in (layer, compiled, compiled, layer):
            given = leaves((6, 4), (4, 4), (4,))
            checkpoint(lambda *given: model(call(*given)), *given, **options).sum().backward()
            found.append([one.grad for one in given])
        for one in found[1:]:
            torch.testing.assert_close(one, found[0])


def test_hooks_of_what_is_saved_see_what_they_would():
    def packed(call, *given):
        seen = []
        with torch.autograd.graph.saved_tensors_hooks(lambda one: seen.append(one.shape) or one, lambda one: one * 2):
            call(*given).sum().backward()
        return seen, [one.grad for one in given]

    compiled = frameloom.compile(layer)
    compiled(*leaves((6, 4), (4, 4), (4,)))
    for _ in range(2):
        plain, found = (packed(call, *leaves((6, 4), (4, 4), (4,))) for call in (layer, compiled))
        assert plain[0] == found[0]
        torch.testing.assert_close(plain[1], found[1])
    assert not break_codes(compiled, *leaves((6, 4), (4, 4), (4,)))
