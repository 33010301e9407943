"""Operations of other libraries: torch calls them inside of the plan, once each and in the order of the code, with gradients as in eager torch."""

import numpy as np
import pytest
import torch
from reports import break_codes

import frameloom

seen = []


@torch.library.custom_op("frameloom_tests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    seen.append(("twice", round(float(x[0, 0]) if x.dim() > 1 else float(x[0]), 2)))
    return torch.from_numpy(np.ascontiguousarray(x.detach().numpy() * 2))


@twice.register_fake
def _(x):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


twice.register_autograd(lambda ctx, gradient: gradient * 2)


@torch.library.custom_op("frameloom_tests::cubed", mutates_args=())
def cubed(x: torch.Tensor, scale: float = 1.0, *, shift: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    seen.append(("cubed", scale, shift))
    return x**3 * scale + shift, 3 * x**2 * scale


@cubed.register_fake
def _(x, scale=1.0, *, shift=0):
    return torch.empty_like(x), torch.empty_like(x)


def _keep(ctx, inputs, keyword_only_inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]


def _cubed_backward(ctx, gradient, other):
    (x,) = ctx.saved_tensors
    return (3 * x**2 * gradient + 6 * x * other) * ctx.scale, None


cubed.register_autograd(_cubed_backward, setup_context=_keep)


@torch.library.custom_op("frameloom_tests::put", mutates_args=("target",))
def put(target: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    seen.append("put")
    target.add_(by)
    return target.sum()


@put.register_fake
def _(target, by):
    return target.new_empty(())


@torch.library.custom_op("frameloom_tests::fill", mutates_args=("target",))
def fill(target: torch.Tensor, number: float) -> None:
    seen.append("fill")
    target.fill_(number)


@torch.library.custom_op("frameloom_tests::joined", mutates_args=())
def joined(parts: list[torch.Tensor], axis: int) -> torch.Tensor:
    return torch.cat(parts, axis)


@joined.register_fake
def _(parts, axis):
    return torch.cat(parts, axis)


@torch.library.custom_op("frameloom_tests::unknown", mutates_args=())
def unknown(x: torch.Tensor) -> torch.Tensor:
    seen.append("unknown")
    return x + 1


@torch.library.custom_op("frameloom_tests::wrong", mutates_args=())
def wrong(x: torch.Tensor) -> torch.Tensor:
    return (x.double() + 1).T.contiguous().T


@wrong.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("frameloom_tests::refusing", mutates_args=())
def refusing(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        raise ValueError("a positive sum")
    return x.clone()


@refusing.register_fake
def _(x):
    return torch.empty_like(x)


def written(x):
    y = x * 2
    total = put(y[0], x[1])
    fill(y[:, 1], 7.0)
    return y, total, y.sum()


def in_order(x):
    a = twice(x)
    twice(x)
    b = twice(x + 1)
    return a, b, cubed(a, shift=2)[0]


PROGRAMS = {
    "one": lambda x: twice(x * 2) + 1, "by its name": lambda x: torch.ops.frameloom_tests.twice(x) * 3,
    "an overload": lambda x: torch.ops.frameloom_tests.twice.default(x.T).T, "several results": lambda x: cubed(x, 0.5, shift=1),
    "one of several": lambda x: cubed(x, shift=3)[1] * x, "in order": in_order, "written": written, "lists": lambda x: joined([x, x * 2], 1) + 1,
    "wrong": lambda x: wrong(x * 2), "unknown": lambda x: unknown(x * 2) * 2, "nested": lambda x: twice(twice(twice(x))).tanh(),
    "an argument": lambda x: (fill(x, 3.0), x * 2)[1], "a part of one": lambda x: (put(x[1], x[0] * 2), x * 2),
    "turned": lambda x: twice((x + 1).T[1:]), "of NumPy": lambda x: twice(torch.from_numpy(np.ones((3, 3), np.float32)) * x[0, 0]),
}  # fmt: skip
CAPTURED = set(PROGRAMS) - {"unknown", "wrong"}


def outcome_and_effects(function, x):
    seen.clear()
    x = x.clone()
    result = function(x)
    leaves = [one.clone() for one in torch.utils._pytree.tree_leaves(result) if isinstance(one, torch.Tensor)]
    return [(one, one.stride()) for one in leaves], x, x._version, list(seen)


@pytest.mark.parametrize("size", [(3, 4), (300, 200)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_effects(name, size):
    function, x = PROGRAMS[name], torch.randn(size, generator=torch.Generator().manual_seed(1))
    compiled = frameloom.compile(function, fullgraph=name in CAPTURED)
    for scale in (1, 2, 3):
        wanted, got = outcome_and_effects(function, x * scale), outcome_and_effects(compiled, x * scale)
        for (one, strides), (other, others) in zip(wanted[0], got[0], strict=True):
            torch.testing.assert_close(other, one)
            assert (others, other.dtype) == (strides, one.dtype)
        torch.testing.assert_close(got[1], wanted[1])
        assert got[2] > 0 or not wanted[2]
        if name in CAPTURED:
            assert got[3] == wanted[3]


@pytest.mark.parametrize("name", ["one", "by its name", "an overload", "several results", "one of several", "nested"])
def test_gradients(name):
    function = PROGRAMS[name]
    compiled = frameloom.compile(function, fullgraph=True)
    for number in range(2):
        x = torch.randn(5, 4, generator=torch.Generator().manual_seed(number), requires_grad=True)
        slopes = []
        for of in (function, compiled):
            given = of(x)
            given = given if isinstance(given, tuple) else (given,)
            loss = sum((one * one).sum() for one in given)
            (slope,) = torch.autograd.grad(loss, x, create_graph=True)
            slopes.append((slope, torch.autograd.grad(slope.sum(), x)[0]))
        for one, other in zip(*slopes, strict=True):
            torch.testing.assert_close(other, one)


def test_a_training_step():
    def trained(compile):
        torch.manual_seed(3)
        model = torch.nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

        def step(x):
            optimizer.zero_grad()
            loss = cubed(model(x), 0.5)[0].square().mean() + twice(model.weight).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = compile(step)
        return [step(torch.ones(2, 4) * number) for number in range(4)], list(model.parameters())

    torch.testing.assert_close(trained(lambda f: frameloom.compile(f, fullgraph=True)), trained(lambda f: f))


def test_what_it_raises_is_raised():
    compiled = frameloom.compile(lambda x: refusing(x * 2) + 1)
    torch.testing.assert_close(compiled(-torch.ones(3)), -torch.ones(3))
    with pytest.raises(ValueError, match="a positive sum"):
        compiled(torch.ones(3))


def test_nothing_is_tried_at_capture():
    seen.clear()
    compiled = frameloom.compile(lambda x: twice(x) + 1)
    for _ in range(3):
        compiled(torch.ones(2))
    assert seen == [("twice", 1.0)] * 3


def test_one_without_a_function_for_tensors_without_memory_breaks():
    assert break_codes(PROGRAMS["unknown"], torch.ones(2, 2)) == ["FL0030"]
