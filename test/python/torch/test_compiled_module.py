"""frameloom.compile of a torch.nn.Module is a module: training loops, checkpoints and containers take it as the one that it was made of."""

import copy
import gc
import io
import pickle
import weakref

import pytest
import torch
from reports import break_codes
from torch import nn

import frameloom


class Net(nn.Module):
    """Two layers, with an attribute and methods of its own."""

    limits: tuple = (0, 1)

    def __init__(self, wide=8):
        super().__init__()
        self.first, self.drop, self.last = nn.Linear(4, wide), nn.Dropout(0.5), nn.Linear(wide, 2)
        self.register_buffer("steps", torch.zeros(()))
        self.seen = 0

    def forward(self, x, *, scale=1.0):
        self.seen += 1
        return self.last(self.drop(torch.relu(self.first(x)))) * scale

    def wide(self):
        return self.first.out_features

    def __len__(self):
        return 0


def made():
    torch.manual_seed(0)
    return Net()


def test_it_is_a_module_with_the_same_names():
    plain = made()
    compiled = frameloom.compile(plain)
    assert isinstance(compiled, Net) and isinstance(compiled, nn.Module) and compiled is not plain
    assert list(compiled.state_dict()) == list(plain.state_dict())
    assert [name for name, _ in compiled.named_modules()] == [name for name, _ in plain.named_modules()]
    assert all(one is other for one, other in zip(compiled.parameters(), plain.parameters(), strict=True))
    assert compiled.wide() == 8 and compiled.limits == (0, 1) and type(compiled).__name__ == "Net" and repr(compiled) == repr(plain)
    assert set(dir(compiled)) >= set(dir(plain)) and not compiled and len(compiled) == 0
    assert compiled._orig_mod is plain and vars(compiled) is vars(plain)


def test_calls_are_compiled_and_count():
    plain, x = made().eval(), torch.randn(3, 4)
    compiled = frameloom.compile(plain)
    for _ in range(3):
        assert torch.allclose(compiled(x), plain(x))
        assert torch.allclose(compiled(x, scale=2.0), plain(x, scale=2.0))
    assert plain.seen == compiled.seen == 12
    assert break_codes(compiled, x) == []
    assert torch.allclose(compiled.forward(x), plain.forward(x))
    assert len(frameloom.explain(compiled, x).graphs) == 1


def test_modes_and_attributes_are_shared():
    compiled = frameloom.compile(made())
    plain, x = compiled._orig_mod, torch.randn(3, 4)
    compiled.eval()
    assert not plain.training and torch.equal(compiled(x), compiled(x))
    compiled.train()
    assert plain.training and plain.first.training and not torch.equal(compiled(x), compiled(x))
    compiled.extra = 3
    assert plain.extra == 3
    del compiled.extra
    assert not hasattr(plain, "extra")
    compiled.last = nn.Identity()
    compiled.eval()
    assert compiled(x).shape == (3, 8)
    compiled.double()
    assert plain.first.weight.dtype == torch.float64 and compiled(x.double()).dtype == torch.float64


def test_a_forward_that_is_put_in_its_place():
    compiled, x = frameloom.compile(made()), torch.ones(4)
    assert compiled(x).shape == (2,)
    compiled.forward = lambda x: x * 3
    assert torch.equal(compiled.forward(x), x * 3)
    assert torch.equal(compiled(x), x * 3)
    del compiled.forward
    assert compiled(x).shape == (2,)


def test_hooks():
    compiled, x, seen = frameloom.compile(made().eval()), torch.randn(3, 4), []
    before = compiled(x)
    handle = compiled.register_forward_hook(lambda module, given, result: seen.append(type(module)) or result + 1)
    assert torch.allclose(compiled(x), before + 1) and seen == [Net]
    handle.remove()
    assert torch.allclose(compiled(x), before)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_training_and_checkpoints(optimizer):
    results = []
    for wrap in lambda module: module, frameloom.compile:
        model = wrap(made().eval())
        steps, x = optimizer(model.parameters(), lr=0.1), torch.linspace(-1, 1, 12).reshape(3, 4)
        for _ in range(3):
            steps.zero_grad()
            model(x).square().sum().backward()
            steps.step()
        held = io.BytesIO()
        torch.save(model.state_dict(), held)
        held.seek(0)
        other = wrap(Net())
        other.load_state_dict(torch.load(held))
        results.append(other.eval()(x))
    assert torch.allclose(*results, atol=1e-6)


def test_copies_and_pickles():
    compiled, x = frameloom.compile(made().eval()), torch.randn(3, 4)
    for other in copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled)):
        assert isinstance(other, Net) and other.first.weight is not compiled.first.weight
        assert torch.allclose(other(x), compiled(x)) and other._orig_mod is not compiled._orig_mod


def test_inside_of_containers_and_other_modules():
    plain, x = [made().eval(), nn.Tanh()], torch.randn(3, 4)
    both = nn.Sequential(frameloom.compile(plain[0]), frameloom.compile(plain[1]))
    assert torch.allclose(both(x), nn.Sequential(*plain)(x)) and [*both.state_dict()][0] == "0.steps"
    assert torch.allclose(frameloom.compile(both)(x), nn.Sequential(*plain)(x))
    assert break_codes(frameloom.compile(both), x) == []
    lists = nn.ModuleList([frameloom.compile(one) for one in plain])
    assert len(list(lists.parameters())) == 4


def test_compiling_again_and_not_at_all():
    plain = made()
    once = frameloom.compile(plain)
    assert frameloom.compile(once)._orig_mod is plain
    assert frameloom.compile(plain, disable=True) is plain


def test_a_module_and_its_class_die():
    class Local(Net):
        """A class that dies, too."""

    plain = Local()
    compiled = frameloom.compile(plain)
    compiled(torch.randn(3, 4)).sum().backward()
    seen = weakref.ref(plain), weakref.ref(compiled), weakref.ref(Local)
    del plain, compiled, Local
    gc.collect()
    assert [one() for one in seen] == [None, None, None]


def test_classes_that_ask_for_more_when_derived_from():
    class Asks(nn.Linear):
        def __init_subclass__(cls, *, name, **kwargs):
            super().__init_subclass__(**kwargs)

    assert frameloom.compile(Asks(2, 3))(torch.ones(2)).shape == (3,)


def test_script_modules_stay_callables():
    with pytest.warns(DeprecationWarning):
        scripted = torch.jit.script(nn.Tanh())
    called = frameloom.compile(scripted)
    assert torch.allclose(called(torch.ones(2)), torch.ones(2).tanh())
