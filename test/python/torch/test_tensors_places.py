"""Indices that are tensors of one whole number: views whose place depends on elements, against eager torch: values, what is written, and
which results share memory."""

import copy

import pytest
import torch
from reports import break_codes

import frameloom

NUMBERS = torch.tensor([2, 0, 3, 1] * 30)
PLACE, KEPT = NUMBERS[0], []


def written_in_a_loop(x):
    y = x.clone()
    for k in range(100):
        y[NUMBERS[k]] += k
    return y


def read_and_written_in_a_loop(x):
    y, total = x.clone(), 0
    for k in range(100):
        row = y[NUMBERS[k]]
        total = total + row.sum()
        y[NUMBERS[k]] = row * 0.5
    return y, total


def carried_through_a_loop(x):
    y = x.clone()
    row = y[PLACE]
    for _ in range(60):
        row += 1
    return y


def moved_in_a_loop(x):
    place, y = x[:, 0].argmax(), x.clone()
    for k in range(60):
        y[place] = y[place - 1] + k
        place = (place + 1) % 4
    return y


def place_changes(x):
    place = x[0].argmax() - 4
    row = x[place]
    place -= 1
    row.add_(1)
    return x, place


def written_through_views(x):
    row = x[PLACE]
    part = row[2:]
    part.zero_()
    row[0] = 9
    return x


def base_changes(x):
    row = x[PLACE]
    x[1] = 5
    return row + 1


def two_of_one(x):
    one, other = x[PLACE], x[PLACE]
    one.add_(1)
    other.add_(1)
    return x


def array_of_it(x):
    array = x[PLACE].numpy()
    array += 1
    return x * 1


def behind_a_break(x):
    y = x * 1
    row = y[PLACE]
    row += 1
    print(end="")
    row += 1
    return y


def kept(x):
    KEPT.append(x[PLACE])
    x.add_(1)
    return KEPT.pop()


def columns(x):
    y = x.clone()
    y[:, PLACE] = 0
    y[..., PLACE + 1] = torch.arange(4)
    y[PLACE, ..., PLACE] = torch.tensor(3.0)
    y[PLACE, None] += 1
    return y


GRADIENT = torch.func.grad(lambda a: (a[PLACE] ** 2).sum())
FUNCTIONS = {
    one.__name__: one
    for one in (written_in_a_loop, read_and_written_in_a_loop, carried_through_a_loop, moved_in_a_loop, place_changes, written_through_views,
                base_changes, two_of_one, array_of_it, behind_a_break, kept, columns)
} | {
    "result": lambda x: x[PLACE],
    "result of its own": lambda x: (x * 2)[PLACE],
    "view as a result": lambda x: [x[PLACE][1:], x],
    "columns that are read": lambda x: x[:, PLACE] + x.t()[PLACE],
    "mask beside it": lambda x: x[PLACE][x[PLACE] > 1],
    "slices beside it": lambda x: x[PLACE, 1:3] * 2 + x[None, PLACE, :2],
    "slice to it": lambda x: x[PLACE:] * 2,
    "known": lambda x: x[torch.tensor(1) :, torch.tensor(2)],
    "exchange": lambda x: x.__setitem__(PLACE, x[PLACE - 1] * 1),
    "copy": lambda x: x[PLACE].copy_(x[PLACE - 1]),
    "data": lambda x: x[PLACE].data.zero_(),
    "detached": lambda x: (x.detach()[PLACE].mul_(2), x * 1)[1],
    "facts": lambda x: (x[PLACE].is_contiguous(), x[PLACE].stride(), x[PLACE].shape, x[PLACE]._is_view()),
    "derivative": lambda x: GRADIENT(x),
    "mapped": lambda x: torch.vmap(lambda row: row[row.argmax()])(x),
    "out of bounds": lambda x: x[PLACE + 9] * 2,
    "below": lambda x: x[PLACE - 9] * 2,
    "byte": lambda x: x[PLACE.byte()] * 2,
    "short": lambda x: x[PLACE.short()] * 2,
    "bool": lambda x: x[PLACE > 0] * 2,
    "complex": lambda x: torch.complex(x, x)[PLACE].abs(),
    "no axes": lambda x: x[0, 0][PLACE],
}  # fmt: skip


def left(function, x):
    """What a call gives or raises, what it leaves in the argument, and which tensors share memory with it."""
    try:
        made = function(x)
    except IndexError as error:
        return str(error)
    leaves = torch.utils._pytree.tree_leaves(made)
    tensors = [one for one in leaves if isinstance(one, torch.Tensor)]
    shared = [one.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() for one in tensors]
    return [str(one) for one in leaves], [(one.stride(), one.storage_offset()) for one in tensors], shared, str(x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_place_that_depends_on_elements(name):
    x, compiled = torch.arange(24.0).reshape(4, 6) / 7, frameloom.compile(FUNCTIONS[name])
    for _ in range(2):
        assert left(compiled, copy.deepcopy(x)) == left(FUNCTIONS[name], copy.deepcopy(x))


@pytest.mark.parametrize("name", ["carried_through_a_loop", "moved_in_a_loop", "place_changes", "written_through_views", "columns", "slices beside it",
                                  "mask beside it", "derivative", "known", "short"])  # fmt: skip
def test_it_is_one_graph(name):
    assert not set(break_codes(FUNCTIONS[name], torch.arange(24.0).reshape(4, 6) / 7)) - {"FL0025"}


def test_gradients_of_gradients_behind_a_write_of_another_dtype():
    def function(x, place):
        y = x * x
        y[place] = torch.tensor(2)
        y[place - 1] += x[place] ** 3
        return y * x

    told = []
    for one in (function, frameloom.compile(function, fullgraph=True)):
        x = torch.arange(12.0).reshape(4, 3).requires_grad_()
        (first,) = torch.autograd.grad(one(x, torch.tensor(2)).sum(), x, create_graph=True)
        told.append((first, *torch.autograd.grad(first.sin().sum(), x)))
    torch.testing.assert_close(told[1], told[0])


def test_one_version_for_all_sizes():
    compiled = frameloom.compile(lambda x, i: x[i] * 2 + x[i - 1].sum(), dynamic=True, fullgraph=True)
    for rows in (4, 7, 2, 9):
        x, i = torch.randn(rows, 5), torch.tensor(rows - 1)
        torch.testing.assert_close(compiled(x, i), x[i] * 2 + x[i - 1].sum())
    assert len(compiled._report()["entries"]) == 1
