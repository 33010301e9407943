"""Operands of another dtype than the result: numbers and tensors are converted to it first, as in eager torch, so that halves are rounded and
integers lose the bits that do not fit. A grid of operations, dtypes and operands on either side."""

import functools

import pytest
import torch

import frameloom

BINARY = {
    "add": torch.add, "sub": torch.sub, "rsub": torch.rsub, "mul": torch.mul, "div": torch.div, "remainder": torch.remainder,
    "fmod": torch.fmod, "maximum": torch.maximum, "fmin": torch.fmin, "atan2": torch.atan2, "hypot": torch.hypot,
    "copysign": torch.copysign, "lt": torch.lt, "ge": torch.ge, "eq": torch.eq, "pow": torch.pow,
    "twice": functools.partial(torch.add, alpha=2), "trunc": functools.partial(torch.div, rounding_mode="trunc"),
    "addcmul": lambda a, b: torch.addcmul(b, a, a) if isinstance(a, torch.Tensor) and a.dim() else torch.addcmul(b, b, a),
}  # fmt: skip
OPERANDS = {
    "int": 2049, "float": 257.0001, "large": 70001.5, "integer": torch.tensor(2049), "single": torch.tensor(257.0001),
    "double": torch.tensor(3.14159, dtype=torch.float64), "out of range": torch.tensor(70001.5), "integers": torch.arange(2040, 2140),
}  # fmt: skip


def halves(dtype):
    x = (torch.rand(100, generator=torch.Generator().manual_seed(3)) * 100 + 1).to(dtype)
    x[:9] = torch.tensor([2048.0, 2050.0, 257.0, 258.0, torch.inf, 1.0, 0.5, 3.140625, 65504.0]).to(dtype)
    return x


def takes(function, *args):
    """Does eager torch take these?"""
    try:
        return isinstance(function(*args), torch.Tensor)
    except (RuntimeError, TypeError, AttributeError):
        return False


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", OPERANDS)
@pytest.mark.parametrize("left", [False, True])
def test_operands_are_rounded_to_halves(name, dtype, left):
    x, operand = halves(dtype), OPERANDS[name]
    order = (lambda function, x, y: function(y, x)) if left else (lambda function, x, y: function(x, y))
    taken = {one: function for one, function in BINARY.items() if takes(order, function, x, operand)}
    assert len(taken) > 7
    given = (x, operand) if isinstance(operand, torch.Tensor) else (x,)
    for one, function in taken.items():
        compiled = frameloom.compile(lambda x, y=operand: order(function, x, y), fullgraph=True)  # noqa: B023
        wanted, got = order(function, x, operand), compiled(*given)
        assert got.dtype == wanted.dtype
        assert torch.equal(got.double().nan_to_num(7), wanted.double().nan_to_num(7)), one


DIVIDE = {
    "//": lambda x, by: x // by, "%": lambda x, by: x % by, "fmod": torch.fmod, "trunc": functools.partial(torch.div, rounding_mode="trunc"),
    "in place": lambda x, by: x.clone().floor_divide_(by), "tensor": lambda x, by: x // torch.tensor(by), "argument": lambda x, by: x // by,
}  # fmt: skip
NUMBERS = [3, 300, 256, 2**15, 2**16 + 5, -(2**16), 2**31 + 3, -(2**31), 2**32, 2**40 + 7, -(2**63), 0]


def quotients(function, *args):
    try:
        return function(*args).tolist()
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("name", DIVIDE)
def test_a_divisor_is_converted_before_it_is_compared_with_zero(name, dtype):
    """What an operation takes of one number is no answer for another one: the numbers come one after the other."""
    function, x = DIVIDE[name], torch.arange(1, 9).to(dtype)
    for number in NUMBERS:
        if name == "argument":
            given, compiled = torch.tensor(number), frameloom.compile(function)
            assert quotients(compiled, x, given) == quotients(function, x, given), number
        else:
            compiled = frameloom.compile(lambda x: function(x, number))  # noqa: B023
            assert quotients(compiled, x) == quotients(function, x, number), number
