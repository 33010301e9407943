"""Functions of tensors are captured without an import of Dynamo, whose later import finds torch as it was."""

import pytest
from processes import printed_each

CAPTURED = """
import sys
import torch
import frameloom

model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4), torch.nn.Softmax(-1))
compiled = frameloom.compile(lambda x: (model(x) * 2 + x.sum() ** 2).log_softmax(-1).cos().mean())
compiled(torch.randn(3, 8)).backward()
with torch.no_grad():
    compiled(torch.randn(3, 8))
assert not frameloom.explain(compiled, torch.randn(3, 8)).graph_break_count
"""

LATER = """
from frameloom import _tensor_imports
functions = list(_tensor_imports._kept_out())
assert len(functions) > 100 and any(hasattr(one, _tensor_imports.ASKED) for one in functions)

import torch._dynamo
assert not any(getattr(one, _tensor_imports.ASKED, None) is one for one in functions)
x = torch.randn(5)
traced = torch.compile(lambda x: torch._refs.sin(x) + torch.mul(x, x), backend="eager")
torch.testing.assert_close(traced(x), x.sin() + x * x)
torch.testing.assert_close(compiled(torch.ones(3, 8)), compiled(torch.ones(3, 8)))
"""

EARLIER = "import torch._dynamo\n" + CAPTURED + """
from frameloom import _tensor_imports
print([one for one in _tensor_imports._kept_out() if getattr(one, _tensor_imports.ASKED, None) is one])
"""

STEPS = """
import torch
import frameloom

model = torch.nn.Linear(4, 4)
NAMES = ["SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam", "RMSprop", "Rprop"]
torch.compile(lambda x: x.sin(), backend="eager")(torch.ones(3))
for name in NAMES:
    optimizer = getattr(torch.optim, name)(model.parameters())

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step(torch.ones(2, 4))
    compiled = frameloom.compile(step, fullgraph=True)
    for _ in range(2):
        compiled(torch.ones(2, 4))
    print(name)

@torch.compiler.disable
def apart(x):
    return x.cos()

whole = frameloom.compile(lambda x: apart(x.sin()) + 1)
torch.testing.assert_close(whole(torch.ones(3)), torch.ones(3).sin().cos() + 1)
print(frameloom.explain(whole, torch.ones(3)).graph_break_count > 0)
"""

OVERLOADS = """
import torch
from torch._decomp import decomposition_table
before = [(packet, name, getattr(packet, name)) for packet in (getattr(torch.ops.aten, one) for one in dir(torch.ops.aten))
          if isinstance(packet, torch._ops.OpOverloadPacket) for name in packet.overloads()]
before += [(None, str(one), one) for one in decomposition_table]

import frameloom.torch
import numpy
torch.compile(lambda x: x.std(), backend="frameloom")(torch.ones(3))
frameloom.compile(lambda x: x.sum())(numpy.ones(3))
frameloom.compile(lambda x: x.sum())(torch.ones(3))
found = {str(one): one for one in decomposition_table}
print(len(before) > 2000, [str(one) for packet, name, one in before
                           if (getattr(packet, name) if packet else found[name]) is not one])
"""

PROGRAMS = {
    "kept out": CAPTURED + "print('torch._dynamo' in sys.modules, 'torch._functorch.aot_autograd' in sys.modules)",
    "later": CAPTURED + LATER + "print('as it was')", "earlier": EARLIER, "steps": STEPS, "overloads": OVERLOADS,
}


@pytest.fixture(scope="module")
def said():
    """What each program prints. They share the import of torch, which is what each begins with."""
    return dict(zip(PROGRAMS, printed_each("import torch", PROGRAMS.values()), strict=True))


def test_dynamo_is_not_imported(said):
    assert said["kept out"].split() == ["False", "False"]


def test_a_later_import_of_dynamo(said):
    assert said["later"].strip() == "as it was"


def test_an_earlier_import_of_dynamo(said):
    assert said["earlier"].strip() == "[]"


def test_optimizers_that_torch_compile_has_changed(said):
    """The first torch.compile() of a process keeps Dynamo out of functions of torch.optim, but users' own functions stay apart."""
    assert said["steps"].split()[-2:] == ["Rprop", "True"]


def test_torchs_operations_stay_the_objects_that_they_were(said):
    """An overload that is asked for again may not be another one: torch's own tables have the first as their key."""
    assert said["overloads"].strip() == "True []"
