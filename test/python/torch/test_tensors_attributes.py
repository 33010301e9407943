"""Attributes that users give tensors, operations called by their names in torch.ops, and functions that tell of dtypes."""

import copy

import pytest
import torch
from reports import break_codes, captures

import frameloom


def read(x):
    return x * x.scale if hasattr(x, "scale") else x


def changed(x):
    x.scale = getattr(x, "scale", 1) + 1
    x.other = x * 2
    return x.other * x.scale


def deleted(x):
    if hasattr(x, "scale"):
        del x.scale
    else:
        x.scale = 5
    return x + 1


def missing(x):
    seen = 0
    for look in (lambda: x.nothing, lambda: delattr(x, "nothing")):
        try:
            look()
        except AttributeError:
            seen += 1
    return x + seen


def counted_up(x):
    for i in range(6):
        x.count = getattr(x, "count", 0) + i
    return x * x.count


def of_a_parameter(x):
    WEIGHT.count = getattr(WEIGHT, "count", 0) + 1
    return x * WEIGHT, WEIGHT.count


def of_an_attribute(x):
    if hasattr(x, "part"):
        return x.part.sum() + x.part.numel()
    x.part = x + 1
    return x.part


def of_one_made(x):
    y = x * 2
    y.tag = x
    return y, y.tag is x, hasattr(x * 2, "tag")


def over_a_break(x):
    x.scale = 3
    frameloom.graph_break()
    x.scale = x.scale + 1
    return x * x.scale


def copied_with_them(x):
    x.scale = 3
    return copy.deepcopy(x), copy.deepcopy(x).scale


def copied_as_it_is(x):
    return copy.deepcopy(x) + 1


def in_front_of_a_method(x):
    x.sum = 5
    return x * x.sum


WEIGHT = torch.nn.Parameter(torch.ones(3))
WHOLE = (read, changed, deleted, missing, counted_up, of_a_parameter)


def words_of(one):
    if isinstance(one, torch.Tensor):
        return type(one), one.tolist(), one.requires_grad, words_of(vars(one))
    if isinstance(one, dict):
        return {name: words_of(item) for name, item in one.items()}
    return [words_of(item) for item in one] if isinstance(one, (tuple, list)) else one


@pytest.mark.parametrize("program", [*WHOLE, of_an_attribute, of_one_made, over_a_break, copied_with_them, copied_as_it_is, in_front_of_a_method])
def test_attributes_of_tensors(program):
    found = []
    for call in program, frameloom.compile(program, fullgraph=program in WHOLE):
        vars(WEIGHT).clear()
        kept, rows = torch.ones(3), []
        for x in (torch.ones(3), kept, kept, torch.ones(3), kept):
            if len(rows) == 3:
                x.scale = 7
            result = call(x)
            rows.append((words_of(result), words_of({name: item for name, item in vars(x).items() if item is not x})))
        found.append(rows)
    assert found[1] == found[0]


def test_a_tensor_without_attributes_is_one_version():
    compiled = frameloom.compile(read)
    for _ in range(3):
        compiled(torch.ones(3))
    assert captures(compiled) == 1


OPERATIONS = {
    "packet": lambda x: torch.ops.aten.sin(x),
    "overload": lambda x: torch.ops.aten.add.Tensor(x, x, alpha=2),
    "out of names": lambda x: torch.ops.aten.sub(self=x, other=x + 1),
    "in place": lambda x: torch.ops.aten.mul_.Tensor(x.clone(), 3),
    "several": lambda x: torch.ops.aten.split.Tensor(x, 2),
    "made": lambda x: torch.ops.aten.full.default([2], 3.0, device="cpu") + x[:2],
    "view": lambda x: torch.ops.aten.view.default(x, [3, 1]),
    "promote_types": lambda x: x.to(torch.promote_types(torch.int32, torch.float64)),
    "can_cast": lambda x: x + 1 if torch.can_cast(torch.int32, torch.float32) else x,
    "result_type": lambda x: x.to(torch.result_type(x, 1.0)),
    "is_same_size": lambda x: x * 2 if torch.is_same_size(x, x[:2]) else x * 3,
    "wraps": lambda x: torch.Tensor.add.__name__ + torch.Tensor.sum.__qualname__ and x,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_by_name(name):
    call = OPERATIONS[name]
    compiled = frameloom.compile(call, fullgraph=True)
    for size in (3, 3, 4, 5) if name != "view" else (3, 3):
        for requires in (False, True):
            x, y = (torch.arange(float(size)).requires_grad_(requires) for _ in range(2))
            got, wanted = compiled(x), call(y)
            torch.testing.assert_close(got, wanted)
            for result in (got, wanted) if requires else ():
                sum(one.sum() for one in (result if isinstance(result, (tuple, list)) else [result])).backward()
            if requires and y.grad is not None:
                torch.testing.assert_close(x.grad, y.grad)


def test_an_operation_of_the_users_own_runs_in_torch():
    library = torch.library.Library("frameloom_test", "FRAGMENT")
    seen = []
    library.define("noted(Tensor x) -> Tensor")
    library.impl("noted", lambda x: (seen.append(x.device.type), x * 2)[1], "CompositeExplicitAutograd")

    def function(x):
        torch.ops.frameloom_test.noted(x)
        return torch.ops.frameloom_test.noted(x + 1)

    compiled = frameloom.compile(function)
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 4.0))
    assert seen == ["cpu"] * 4
    assert "FL0030" in break_codes(function, torch.ones(2))
