"""Tensors that get other sizes in place: the tensor stays the same one, and views that were made of it before stay what they were."""

import pytest
import tensor_programs
import torch
from reports import break_codes

import frameloom


def views(x):
    y = x * 2
    row, turned = y[0], y.T
    y.unsqueeze_(1)
    y.mul_(2)
    row.add_(1)
    y.squeeze_(1).t_()
    turned[0] = 5
    return y, row, turned, y is not row


def of_views(x):
    y = x * 2
    row = y[1]
    part = row[1:]
    row.unsqueeze_(0).t_()
    row[1] = 7
    part.unsqueeze_(-1)
    return y, row, part + 1


def in_loops(x):
    y = x * 2
    for i in range(12):
        y.t_()
        y = y + i
        y.transpose_(0, 1)
    for i in range(5):
        y.unsqueeze_(0)
        y[..., 0] += i
    return y


def in_lists(x):
    parts = [x * i for i in range(3)]
    names = {"a": parts[0]}
    for one in parts:
        one.unsqueeze_(0)
    return torch.cat(parts), names["a"], names["a"] is parts[0]


def at_a_branch(x):
    y = x * 2
    y.swapaxes_(0, 1)
    if x.dim() == 2:
        y.squeeze_().unsqueeze_(-1)
    return y.shape, y.sum(0), len(y)


CAPTURED = {
    "unsqueeze": lambda x: (x * 2).unsqueeze_(0) + 1, "squeeze": lambda x: (x[None, :, None] * 2).squeeze_().sum(0), "t": lambda x: (x * 2).t_(),
    "transpose": lambda x: (x * 2).transpose_(0, -1), "swapdims": lambda x: (x + 1).swapdims_(1, 0) * 2, "one axis": lambda x: (x[None] * 2).squeeze_(0),
    "none": lambda x: (x * 2).squeeze_(0), "strides": lambda x: (x[:, :1] * 2).as_strided_((x.size(0), 1), (1, 3)), "views": views, "of views": of_views, "in loops": in_loops,
    "in lists": in_lists, "at a branch": at_a_branch, "with a module": lambda x: torch.nn.functional.relu(x).unsqueeze_(1).expand(-1, 3, -1),
}  # fmt: skip
BROKEN = {"an argument": lambda x: x.unsqueeze_(0) * 2, "a view of one": lambda x: (x[0].unsqueeze_(0).add_(1), x)[1], "sizes": lambda x: (x * 2).as_strided_((2, 2), (1, 1))}


def left_by(function, x):
    x = x.clone()
    result = function(x)
    leaves = torch.utils._pytree.tree_leaves(result)
    return [(one.detach().clone(), one.stride(), one._is_view()) if isinstance(one, torch.Tensor) else one for one in leaves], x, x.stride()


@pytest.mark.parametrize("size", [(3, 4), (300, 400), (2, 2)])
@pytest.mark.parametrize("name", [*CAPTURED, *BROKEN])
def test_sizes_in_place(name, size):
    function, x = (CAPTURED | BROKEN)[name], torch.randn(size, generator=torch.Generator().manual_seed(1))
    compiled = frameloom.compile(function)
    with torch.no_grad():
        for scale in (1, 2):
            torch.testing.assert_close(left_by(compiled, x * scale), left_by(function, x * scale), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CAPTURED)
def test_they_are_captured(name):
    assert break_codes(CAPTURED[name], torch.ones(3, 4)) == []


@pytest.mark.parametrize("name", [name for name in CAPTURED if name not in ("at a branch", "with a module")])
def test_gradients(name):
    slopes = []
    for function in (CAPTURED[name], frameloom.compile(CAPTURED[name])):
        x = torch.randn(3, 4, generator=torch.Generator().manual_seed(2), requires_grad=True)
        leaves = [one for one in torch.utils._pytree.tree_leaves(function(x)) if isinstance(one, torch.Tensor)]
        loss = sum((one * torch.arange(one.numel()).view(one.shape)).square().sum() for one in leaves)
        (slope,) = torch.autograd.grad(loss, x, create_graph=True)
        slopes.append((slope, torch.autograd.grad(slope.sum(), x)[0]))
    torch.testing.assert_close(slopes[1], slopes[0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40, 60))
def test_random_programs(seed):
    source, found = tensor_programs.compare(seed, "reshaped")
    assert not found, source


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", [*CAPTURED, *BROKEN])
def test_sizes_that_change(name, dynamic):
    function = (CAPTURED | BROKEN)[name]
    compiled = frameloom.compile(function, dynamic=dynamic)
    for size in [(3, 4), (5, 4), (6, 7), (2, 2), (30, 40)]:
        x = torch.randn(size, generator=torch.Generator().manual_seed(1))
        torch.testing.assert_close(left_by(compiled, x), left_by(function, x), rtol=1e-4, atol=1e-4)
