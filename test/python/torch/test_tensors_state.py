"""What functions do with the state of modules: state_dict(), load_state_dict(), copies of it, averages."""

import collections
import copy

import pytest
import torch
from reports import break_codes

import frameloom


class Net(torch.nn.Module):
    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.first = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
        self.last = torch.nn.Linear(4, 2)
        self.register_buffer("kept", torch.arange(2.0))
        self.register_buffer("not_kept", torch.ones(1), persistent=False)

    def forward(self, x):
        return self.last(self.first(x)) + self.kept + self.not_kept


class Extra(Net):
    """A module with state of its own and hooks."""

    def __init__(self, seed):
        super().__init__(seed)
        self.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.__setitem__(prefix + "seen", module.kept + 1))
        self.register_load_state_dict_pre_hook(lambda module, state, prefix, *others: state.pop(prefix + "seen", None))

    def get_extra_state(self):
        return {"words": "kept"}

    def set_extra_state(self, state):
        self.words = state["words"]


def state(net, other, x):
    return net.state_dict(), net(x)


def state_with_gradients(net, other, x):
    return net.state_dict(keep_vars=True, prefix="a.")["a.last.weight"] is net.last.weight


def state_into_another(net, other, x):
    kept = collections.OrderedDict()
    net.state_dict(destination=kept)
    return kept, x + 1


def loaded(net, other, x):
    missing, unexpected = net.load_state_dict(other.state_dict())
    return net(x), list(missing), list(unexpected)


def loaded_in_part(net, other, x):
    found = {name: one * 2 for name, one in other.state_dict().items() if isinstance(one, torch.Tensor) and "weight" in name}
    return net.load_state_dict(found, strict=False).missing_keys, net(x)


def loaded_wrongly(net, other, x):
    found = other.state_dict()
    found["more"] = x
    del found["last.bias"]
    try:
        net.load_state_dict(found)
    except RuntimeError as error:
        return x + 1, str(error)
    return x


def loaded_of_other_sizes(net, other, x):
    found = other.state_dict()
    found["last.bias"] = x.new_zeros(7)
    try:
        net.load_state_dict(found)
    except RuntimeError as error:
        return x + 1, str(error)
    return x


def best(net, other, x):
    kept = copy.deepcopy(net.state_dict())
    with torch.no_grad():
        net.last.bias += 1
    return kept, net(x)


def average(net, other, x):
    with torch.no_grad():
        for name, one in net.state_dict().items():
            if isinstance(one, torch.Tensor) and one.is_floating_point() and name in other.state_dict():
                one.mul_(0.9).add_(other.state_dict()[name], alpha=0.1)
    return net(x)


def words(found):
    """What a result says: numbers rounded, since sums differ in their last digits."""
    if isinstance(found, torch.Tensor):
        return type(found), found.dtype, found.requires_grad, [round(one, 4) + 0.0 for one in found.detach().double().flatten().tolist()]
    if isinstance(found, dict):
        return type(found), [(name, words(one)) for name, one in found.items()], words(getattr(found, "__dict__", None))
    return [words(one) for one in found] if isinstance(found, (list, tuple)) else found


@pytest.mark.parametrize("kind", [Net, Extra])
@pytest.mark.parametrize("program", [state, state_with_gradients, state_into_another, loaded, loaded_in_part, loaded_wrongly, loaded_of_other_sizes, best, average])
def test_state(program, kind):
    compiled = frameloom.compile(program)
    here, there = [(kind(1), kind(2)) for _ in range(2)]
    x = torch.randn(5, 3)
    for _ in range(2):
        assert words(compiled(*here, x)) == words(program(*there, x))
        for one, other in zip(here, there, strict=True):
            assert words(one.state_dict()) == words(other.state_dict())
    if kind is Net:
        assert break_codes(program, kind(1), kind(2), x) == []
