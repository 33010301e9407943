"""What eager torch refuses of tensors without axes, of writes into memory that is read, of devices and of sizes, compiled functions refuse, too."""

import copy
import warnings

import pytest
import torch

import frameloom

pytestmark = pytest.mark.filterwarnings("ignore")


def _takes_an_axis():
    """The names of methods of a tensor that take an axis, and else nothing that has no default."""
    names = set()
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        given = schema.arguments
        axes = [one for one in given if one.name == "dim" and str(one.type) == "int"]
        method = space == "aten" and given and given[0].name == "self" and str(given[0].type) == "Tensor" and hasattr(torch.Tensor, name)
        if method and axes and not name.endswith("_") and not name.startswith("_") and all(one is axes[0] or one.has_default_value() for one in given[1:]):
            names.add(name)
    return sorted(names)


NAMES = _takes_an_axis()


def results_or_error(function, *given):
    """The results with types and strides, what the arguments hold afterwards, or the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = function(*given)
        except Exception as error:  # noqa: BLE001
            return f"{type(error).__name__} {error}"
    leaves = torch.utils._pytree.tree_leaves(made)
    return [(str(one), one.stride()) if isinstance(one, torch.Tensor) else str(one) for one in leaves], [str(one) for one in given]


def agree(function, *given):
    compiled = frameloom.compile(function)
    wanted = results_or_error(function, *copy.deepcopy(given))
    for _ in range(2):
        assert results_or_error(compiled, *copy.deepcopy(given)) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_an_axis_of_a_tensor_without_axes(name):
    for axis in (0, -1, 1, -2, 7):
        for dtype in (torch.float32, torch.int64):
            agree(lambda x: getattr(x, name)(dim=axis), torch.tensor(3, dtype=dtype))  # noqa: B023
            agree(lambda x: getattr(x.sum(), name)(dim=axis), torch.ones(2, dtype=dtype))  # noqa: B023


WRITES = {
    "index_fill_": lambda i: i.index_fill_(0, i, 0),
    "index_add_": lambda i: i.index_add_(0, i, i),
    "index_add_ of others": lambda i: i.index_add_(0, i.clone(), i),
    "index_copy_": lambda i: i.index_copy_(0, i, i.clone()),
    "scatter_": lambda i: i.scatter_(0, i, i),
    "scatter_add_": lambda i: i.scatter_add_(0, i.clone(), i),
    "scatter_reduce_": lambda i: i.scatter_reduce_(0, i, i.clone(), "sum"),
    "index_put_": lambda i: i.index_put_((i,), i.clone()),
    "put_": lambda i: i.put_(i, i),
    "masked_scatter_": lambda i: i.masked_scatter_(i > 1, i),
    "setitem": lambda i: i.__setitem__(i, i),
    "setitem of a part": lambda i: i.__setitem__(i[:2], 1),
    "elements": lambda i: i.add_(i).mul_(i).copy_(i).sub_(i, alpha=2),
    "sums": lambda i: i.cumsum_(0),
    "where": lambda i: torch.where(i > 0, i, i, out=i),
    "a function": lambda i: torch.cumsum(i, 0, out=i),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_into_what_is_read(name):
    agree(WRITES[name], torch.tensor([2, 1, 0]))


DEVICES = (
    lambda x: torch.ones(3, device="meta").device,
    lambda x: x.to("meta").is_meta,
    lambda x: torch.empty_like(x, device=torch.device("meta")).device,
    lambda x: x.new_zeros(2, device="meta").device,
    lambda x: torch.tensor([1.0], device="meta").device,
    lambda x: x.to(device="meta", dtype=torch.float64).device,
    lambda x: torch.randn(2, device="meta").shape,
)
SIZES = (
    lambda x: torch.ones((torch.tensor(3.0), torch.tensor(4))),
    lambda x: torch.zeros(torch.tensor(2.5)),
    lambda x: torch.zeros(torch.tensor(True)),
    lambda x: torch.zeros(torch.tensor([2])),
    lambda x: torch.zeros(torch.tensor([2, 3])),
    lambda x: torch.zeros((torch.tensor(2), 3), dtype=torch.int64),
    lambda x: torch.ones(torch.tensor(2), torch.tensor(1, dtype=torch.int16)),
)


@pytest.mark.parametrize("function", DEVICES + SIZES)
def test_devices_and_sizes(function):
    agree(function, torch.ones(2))
