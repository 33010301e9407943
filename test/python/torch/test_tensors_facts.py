"""What a captured function is told of tensors beside their numbers: sizes with their class, types by name, strides, flags."""

import itertools

import pytest
import tensor_programs
import torch

import frameloom
from frameloom import _tensor_trials


def function_of_fact(text):
    space = {"torch": torch}
    exec(f"def fact(x, y):\n    x = x * 2\n    return {text}, x\n", space)
    return space["fact"]


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
@pytest.mark.parametrize("text", tensor_programs.FACTS)
def test_a_fact(text):
    plain = function_of_fact(text)
    compiled = frameloom.compile(plain)
    for x, y in ((torch.ones(2, 3), torch.ones(3)), (torch.tensor(1.5, dtype=torch.float64), torch.ones(2, dtype=torch.int32)),
                 (torch.ones(4, 6, 1).transpose(0, 1), torch.ones(0, 2))):
        for _ in range(2):
            try:
                want = plain(x, y)[0]
            except (RuntimeError, TypeError) as error:
                with pytest.raises(type(error)):
                    compiled(x, y)
                continue
            got = compiled(x, y)[0]
            assert type(got) is type(want)
            assert repr(got) == repr(want)


def of_sizes(x):
    one = x.shape
    return [one + one, one + (1,), (1,) + one, one * 2, 2 * one, one[:1], one[::-1], one + (), () + one, torch.Size([]) + torch.Size([]), (*one, 1), *one]


def of_bools_in_sizes(x):
    return x.shape + (True,), torch.Size([1]) + x.shape


def of_strings_in_sizes(x):
    return x.shape + ("a",)


@pytest.mark.parametrize("plain", [of_sizes, of_bools_in_sizes, of_strings_in_sizes])
@pytest.mark.parametrize("dynamic", [None, True])
def test_operators_of_sizes(plain, dynamic):
    compiled = frameloom.compile(plain, dynamic=dynamic)
    for x in torch.ones(2, 3), torch.ones(5, 3), torch.ones(()):
        try:
            want = [(type(one), repr(one)) for one in plain(x)]
        except TypeError as error:
            with pytest.raises(TypeError, match=str(error).partition("(")[0]):
                compiled(x)
        else:
            assert [(type(one), repr(one)) for one in compiled(x)] == want


@pytest.mark.parametrize("func", sorted(_tensor_trials._OF_ELEMENTS, key=str), ids=str)
def test_descriptions_of_our_own_are_torchs(func):
    """Of operations on elements, for some layouts and dtypes. Most of them have our description, so that each operation has some."""
    layouts = [lambda x: x, lambda x: x.mT if x.dim() > 1 else x, lambda x: x[..., ::2] if x.dim() else x, lambda x: x[:, None] if x.dim() else x]
    shapes, dtypes, own = [(), (0,), (3,), (1, 1), (4, 6), (2, 0, 3), (2, 3, 4)], [torch.float32, torch.float64, torch.bfloat16, torch.int64], 0
    others = [None] if len(func._schema.arguments) == 1 or "Tensor" not in str(func._schema.arguments[1].type) else ["same", 2, 2.5]
    for shape, dtype, layout, other in itertools.product(shapes, dtypes, layouts, others):
        x = layout(torch.empty(shape, dtype=dtype, device="meta"))
        args = (x,) if other is None else (x, x if other == "same" else other)
        if isinstance(other, (int, float)) and func._overloadname != "Tensor":
            continue
        made = _tensor_trials._of_elements(*args)
        if made is not None:
            own += 1
            wanted = func(*args)
            assert (made.shape, made.stride(), made.dtype, made.device) == (wanted.shape, wanted.stride(), wanted.dtype, wanted.device)
    assert own > 20 and _tensor_trials._of_elements(2, torch.empty(3, device="meta")) is None
