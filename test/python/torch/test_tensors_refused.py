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


REFUSED = {
    "sizes of a sum": lambda x: x + torch.ones(7),
    "sizes of a product": lambda x: x @ torch.ones(5),
    "sizes of a layer": lambda x: LAYER(x),
    "sizes of a join": lambda x: torch.cat([x, torch.ones(2, 2)]),
    "a view": lambda x: x.view(5, 5),
    "an index": lambda x: x[10],
    "an attribute": lambda x: x[0].mT,
    "a type": lambda x: torch.add(x, "a"),
    "a dtype": lambda x: x.long().mul_(0.5),
    "a dtype of a sum": lambda x: x.long().std(),
    "a rank": lambda x: torch.bmm(x, x),
    "a write": lambda x: x.clone().add_(torch.ones(9)),
    "an axis": lambda x: x.sum().squeeze(4),
}
LAYER = torch.nn.Linear(9, 2)


@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_raises_is_caught_where_it_is_raised(name):
    call = REFUSED[name]

    def caught(x):
        made, done = x * 2, []
        try:
            try:
                call(made)
            except KeyError:
                return 0
            finally:
                done.append(1)
        except (RuntimeError, IndexError, TypeError) as error:
            done.append(2)
            return made + 1, done, type(error).__name__, str(error)
        return x

    compiled = frameloom.compile(caught, fullgraph=True)
    x = torch.arange(9.0).reshape(3, 3)
    for _ in range(2):
        assert str(compiled(x)) == str(caught(x))
    compiled = frameloom.compile(caught)
    for size in (3, 4, 5, 6):  # sizes that change
        x = torch.arange(size * 3.0).reshape(size, 3)
        assert str(compiled(x)) == str(caught(x))


def test_what_torch_raises_of_elements_is_caught():
    def caught(x, i):
        try:
            return x[i]
        except IndexError as error:
            return x + 1, str(error)

    compiled = frameloom.compile(caught)
    for i in (torch.tensor([1]), torch.tensor([7]), torch.tensor([2])):
        assert str(compiled(torch.ones(3), i)) == str(caught(torch.ones(3), i))


def test_what_is_raised_behind_a_write_is_raised_by_torch():
    """A function of torch's that writes before it raises."""

    def caught(x):
        out = x.clone()
        try:
            torch.nn.init._no_grad_fill_(out, 2.0).view(17)
        except RuntimeError:
            out += 1
        return out

    compiled = frameloom.compile(caught)
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(3)), caught(torch.ones(3)))


def test_numbers_that_torch_fills_without_an_operation():
    """The lengths of ctc_loss() become a tensor that no operation fills."""
    scores, targets = torch.randn(6, 2, 4).log_softmax(-1), torch.tensor([[1, 2, 3], [2, 1, 1]])
    for lengths in ((6, 5), (3, 2)), (torch.tensor([6, 5]), torch.tensor([3, 2])):
        for reduction in "mean", "sum", "none":
            loss = lambda x: torch.nn.functional.ctc_loss(x, targets, *lengths, reduction=reduction)  # noqa: B023
            torch.testing.assert_close(frameloom.compile(loss, fullgraph=True)(scores), loss(scores))


def test_lengths_of_sequences_that_are_tensors():
    targets = torch.tensor([[1, 2, 3], [2, 2, 2]])

    def loss(x, lengths, target_lengths):
        return torch.nn.functional.ctc_loss(x.log_softmax(-1), targets, lengths, target_lengths, zero_infinity=True)

    compiled = frameloom.compile(loss, fullgraph=True)
    for lengths, target_lengths in ([6, 5], [3, 2]), ([6, 3], [3, 3]), ([4, 6], [1, 3]):
        found = []
        for function in compiled, loss:
            x = torch.randn(6, 2, 4, generator=torch.Generator().manual_seed(1)).requires_grad_()
            made = function(x, torch.tensor(lengths), torch.tensor(target_lengths))
            made.backward()
            found.append((made.detach(), x.grad))
        torch.testing.assert_close(*found)
    refused = lambda x: compiled(x, torch.tensor([60, 5]), torch.tensor([3, 2]))  # noqa: E731
    with pytest.raises(RuntimeError, match="at most 6, but got value 60"):
        refused(torch.zeros(6, 2, 4))


def test_sizes_that_are_refused_say_nothing_of_others():
    def shuffled(x):
        return torch.nn.functional.pixel_shuffle(x, 2)

    with pytest.raises(RuntimeError):
        frameloom.compile(shuffled)(torch.ones(1, 3, 4, 4))
    x = torch.arange(64.0).reshape(1, 4, 4, 4)
    assert torch.equal(frameloom.compile(shuffled, fullgraph=True)(x), shuffled(x))
