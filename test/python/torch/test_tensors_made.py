"""Tensors and bools that Python makes of tensors inside of compiled functions: parameters, copies, new_tensor(), indices, comparisons, texts."""

import copy

import pytest
import tensor_programs
import torch
from reports import break_codes
from torch import nn
from torch.utils import _pytree

import frameloom

MADE = torch.Generator().manual_seed(0)
X = torch.randn(4, 6, generator=MADE)
LAYOUTS = {"dense": X, "transposed": torch.randn(6, 4, generator=MADE).T}


def trained(x):
    parameter = nn.Parameter(x.clone())
    (parameter * parameter).sum().backward()
    nn.utils.clip_grad_norm_([parameter], 1.0)
    return parameter.grad


def classes_of(x):
    parameter = nn.Parameter(x * 2)
    return (isinstance(parameter, nn.Parameter), type(parameter).__name__, parameter.requires_grad, isinstance(parameter, torch.Tensor), parameter.is_leaf,
            x.is_leaf, parameter.shape, (parameter * 3).detach())  # fmt: skip


def without_gradients(x):
    with torch.no_grad():
        first = nn.Parameter(data=x * 2)
    second = nn.Parameter(x, requires_grad=False)
    return first.requires_grad, second.requires_grad, type(second) is nn.Parameter, second * 3, torch.autograd.grad((first**2).sum(), first)


def in_a_layer(x):
    weight = nn.Parameter(x[:2])
    loss = nn.functional.linear(x, weight).square().sum()
    loss.backward()
    return weight.grad, loss.detach()[None], loss.detach()


def optimised(x, kind):
    parameter = nn.Parameter(x.clone())
    optimizer = kind([parameter], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (parameter * parameter).sum().backward()
        optimizer.step()
    return parameter.detach()


def keys(x):
    first, second = x * 2, x + 1
    numbers = {first: 1, second: 2}
    numbers[first] = 5
    sums = [one.sum() for one in numbers]
    return numbers[first], numbers[second], len(numbers), first in numbers, x in numbers, first[0] in numbers, numbers.get(first.contiguous()), sums, len({x, first, first})


def leaf_of_numbers(x):
    leaf = x.new_tensor([1.0, 2.0], requires_grad=True)
    return torch.autograd.grad((leaf * x[0, :2]).sum(), leaf)


def detached_twice(x):
    y = (x * 2).detach().requires_grad_() * 2
    return y.detach(), y.detach()[0]


def shares(x):
    y = copy.copy(x)
    y.add_(1)
    return x, y


def stands_apart(x):
    y = copy.deepcopy(x)
    y.add_(1)
    return x * 1, y


def in_a_tree(x):
    made = copy.deepcopy({"a": x, "b": [x, x * 2]})
    return made, made["a"] is made["b"][0], copy.copy([x])[0] is x


CALLS = {
    "a training step": trained,
    "what a parameter is": classes_of,
    "parameters without gradients": without_gradients,
    "a parameter of a layer": in_a_layer,
    "detached results of a leaf": detached_twice,
    "SGD of a parameter": lambda x: optimised(x, torch.optim.SGD),
    "Adam of a parameter": lambda x: optimised(x, torch.optim.Adam),
    "tensors as keys": keys,
    "copy()": shares,
    "a copy as a result": lambda x: copy.copy(x),
    "deepcopy()": stands_apart,
    "deepcopy() of a tree": in_a_tree,
    "new_tensor()": lambda x: (x.new_tensor([1.0, 2, 3]), x.new_tensor([[1, 2]], dtype=torch.int32) + 1, x.new_tensor(3) * x, x.double().new_tensor(True)),
    "a leaf of new_tensor()": leaf_of_numbers,
    "ranges as indices": lambda x: (x[:, range(3)], x[range(0, 4, 2)], x[range(2), range(2)], x[:, range(0)], x[None, :, [1, 3]], x[None, [3, 1]]),
    "tuples as indices": lambda x: (x[:, (0, 1)], x[(0, 1)], x[(0, 1), (2, 3)]),
    "equal()": lambda x: (torch.equal(x, x * 1), x.equal(x + 1), torch.equal(x, x[:2]), torch.equal(x, x), torch.equal(x / 0 * 0, x / 0 * 0)),
    "equal(), known": lambda x: x * 2 if torch.equal(torch.arange(3), torch.arange(3)) else x,
    "allclose()": lambda x: (torch.allclose(x, x * 1.0000001, atol=1e-3), x.allclose(x + 1), torch.allclose(x, x + 0.01, rtol=0, atol=0.1)),
    "texts of sizes": lambda x: (f"{x.shape}", str(x.shape), repr(x[0].shape), "%s %r" % (x.shape, x[0].size())),  # noqa: UP031
    "is_leaf": lambda x: (x.is_leaf, (x * 2).is_leaf, x.detach().is_leaf, x[0].is_leaf),
}


def facts_of(one):
    return tensor_programs.told(one) if isinstance(one, torch.Tensor) else one


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_captured(name, layout):
    results = []
    for call in (CALLS[name], frameloom.compile(CALLS[name], fullgraph=True)):
        x = LAYOUTS[layout].clone()
        made = [x, *_pytree.tree_leaves(call(x))]
        tensors = [one for one in made if isinstance(one, torch.Tensor)]
        places = [one.untyped_storage().data_ptr() for one in tensors]
        results.append((tensors, [facts_of(one) for one in made], [places.index(place) for place in places]))
    assert results[1][1:] == results[0][1:]
    torch.testing.assert_close(results[1][0], results[0][0], equal_nan=True)


def test_bools_follow_the_elements():
    compiled = frameloom.compile(lambda x, y: torch.equal(x, y), fullgraph=True)
    for other, expected in ((X.clone(), True), (X + 1, False), (X * 1, True)):
        assert compiled(X, other) is expected


def test_a_text_follows_the_sizes():
    compiled = frameloom.compile(lambda x: (x * 2, f"{x.shape}"), fullgraph=True)
    for rows in (4, 3, 2, 1):
        assert compiled(X[:rows])[1] == f"torch.Size([{rows}, 6])"


def test_a_leaf_and_no_leaf():
    compiled = frameloom.compile(lambda x: (x * 2, x.is_leaf))
    for one in (X, X.clone().requires_grad_(), X.clone().requires_grad_() * 2):
        assert compiled(one)[1] == one.is_leaf


def test_gradients_of_leaves_and_of_arguments():
    def function(x, w):
        leaf = nn.Parameter(x * 2)
        loss = (leaf * w).sum()
        return loss.detach(), loss

    w = torch.randn(4, 6, generator=MADE, requires_grad=True)
    results = []
    for call in (function, frameloom.compile(function, fullgraph=True)):
        first, second = call(X, w)
        results.append((first, second, torch.autograd.grad(second, w), first.data_ptr() == second.data_ptr(), first.requires_grad))
    torch.testing.assert_close(results[1], results[0])


# ---- what breaks ----


def returned(x):
    return nn.Parameter(x * 2)


def returned_without_gradients(x):
    return nn.Parameter(x * 2, requires_grad=False)


def copies_a_leaf(x):
    return copy.copy(x.clone().requires_grad_()), copy.deepcopy(x.clone().requires_grad_())


def copies_a_part(x):
    return copy.deepcopy(x[:, ::2])


def of_other_dtypes(x):
    return torch.equal(x, x.double())


def decides(x):
    return x * 2 if torch.equal(x, x * 1) else x


@pytest.mark.parametrize(
    "function",
    [returned, returned_without_gradients, copies_a_leaf, copies_a_part, of_other_dtypes, decides],
    ids=lambda one: one.__name__,
)
def test_what_breaks_is_torchs(function):
    def result(call):
        try:
            made = _pytree.tree_leaves(call(X))
        except Exception as error:  # noqa: BLE001
            return type(error), str(error)
        return [(type(one), facts_of(one), one.tolist()) if isinstance(one, torch.Tensor) else one for one in made]

    assert result(frameloom.compile(function)) == result(function)
    assert break_codes(function, X)


SPACES = [(make, dtype, ends) for make in (torch.linspace, torch.logspace) for ends in ((0.5, 3.7), (-3.2, 4.9), (0, 10), (1, 2.9), (4.5, 0.25))
          for dtype in (torch.int8, torch.int16, torch.int64, torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.complex64)
          if make is torch.linspace or 0 <= ends[0] < 2.2 and (ends[1] < 2.2 or dtype in (torch.float32, torch.float64))]  # fmt: skip


@pytest.mark.parametrize(("make", "dtype", "ends"), SPACES)
def test_numbers_between_two_ends_are_torchs(make, dtype, ends):
    def between(end):
        return [make(*ends, count, dtype=dtype) for count in (1, 2, 5, 17, 137)] + [make(ends[0], end, 9)]

    end = torch.tensor(ends[1])
    for got, wanted in zip(frameloom.compile(between, fullgraph=True)(end), between(end), strict=True):
        assert got.dtype == wanted.dtype and torch.equal(got, wanted)


@pytest.mark.parametrize("dtype", [torch.int16, torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("make", [torch.hann_window, torch.hamming_window, torch.bartlett_window, torch.blackman_window, torch.kaiser_window])
def test_windows_are_torchs(make, dtype):
    def windows():
        return [make(count, periodic, dtype=dtype) for count in (0, 1, 7) for periodic in (True, False)]

    if not dtype.is_floating_point:
        for function in (windows, frameloom.compile(windows)):
            with pytest.raises(RuntimeError):
                function()
        return
    for got, wanted in zip(frameloom.compile(windows, fullgraph=True)(), windows(), strict=True):
        assert got.dtype == wanted.dtype and torch.equal(got, wanted)
