"""Views by strides: parts of rows of what the function makes, read, written and differentiated as in eager torch. A seed and a count on the
command line: more views than the test takes."""

import random
import sys

import pytest
import torch
from reports import break_codes
from torch.nn import functional as F

import frameloom

COUNT, SEED = 40, 7


def places(chance):
    """Sizes, strides and begin of a view whose axes lie within each other or beside each other, and how many elements it reaches."""
    sizes, strides, step = [], [], chance.choice((1, 1, 1, 2))
    for _ in range(chance.randint(1, 3)):
        size = chance.choice((1, 2, 3, 5))
        sizes.append(size)
        strides.append(step if size > 1 else chance.randint(0, 9))
        step *= size + chance.choice((0, 0, 1))
    order = list(range(len(sizes)))
    chance.shuffle(order)
    begin = chance.choice((0, 0, 1, 4))
    reach = begin + 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    return [sizes[axis] for axis in order], [strides[axis] for axis in order], begin, reach


def functions(chance):
    """Functions of one view each, with the base that it is of: `(function, base)`."""
    sizes, strides, begin, reach = places(chance)
    last = 1 if chance.random() < 0.5 else chance.choice((1, 2, 3))
    base = torch.linspace(-1, 2, (reach + chance.choice((0, 3, 11)) + last - 1) // last * last).view(-1, last)

    def read(x):
        return torch.as_strided(x * 2, sizes, strides, begin)

    def written(x):
        y = x * 2
        part = y.as_strided(sizes, strides, begin)
        part.mul_(3)
        y[0] += 1
        return y, part + 1

    def turned(x):
        y = (x * 2).as_strided_(sizes, strides, 0)
        return y + 1

    return [(read, base), (written, base), (turned, base)]


def results_of(function, base):
    """What a function gives, and the gradient of it."""
    x = base.clone().requires_grad_()
    given = function(x)
    given = given if isinstance(given, tuple) else (given,)
    weighed = sum((one * torch.arange(1, one.numel() + 1).view(one.shape)).sum() for one in given)
    return [one.detach() for one in given], torch.autograd.grad(weighed, x)[0]


def compare(function, base):
    compiled = frameloom.compile(function)
    for of in (function, compiled):
        with torch.no_grad():
            given = of(base.clone())
        given = given if isinstance(given, tuple) else (given,)
        yield [*((one.clone(), one.stride()) for one in given)], results_of(of, base)


def compare_all(count, seed):
    chance = random.Random(seed)
    for number in range(count):
        for function, base in functions(chance):
            (plain, (wanted, slope)), (made, (got, found)) = compare(function, base)
            where = f"view {number} of seed {seed}, {function.__name__}"
            for (one, strides), (other, others) in zip(plain, made, strict=True):
                assert strides == others, where
                torch.testing.assert_close(other, one, msg=where)
            torch.testing.assert_close(got, wanted, msg=where)
            torch.testing.assert_close(found, slope, msg=where)


def test_views_by_strides():
    compare_all(COUNT, SEED)


VIEWS = {
    "rows": lambda x: x.as_strided((3, 4), (5, 1)),
    "columns": lambda x: x.as_strided((4, 3), (1, 5)),
    "parts of rows": lambda x: x.as_strided((3, 2, 2), (8, 4, 1), 1),
    "across rows": lambda x: x.as_strided((2, 3), (10, 3), 5),
}


@pytest.mark.parametrize("name", VIEWS)
def test_nested_views_are_captured(name):
    function = VIEWS[name]
    assert break_codes(lambda x: function(x * 2), torch.arange(24.0)) == []
    assert break_codes(lambda x: function(x * 2), torch.arange(24.0, requires_grad=True)) == []


@pytest.mark.parametrize("shape", [(8, 64, 7, 7), (2, 16, 1, 7), (1, 3, 2, 2), (4, 1, 5, 5), (16, 512, 7, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_mean_of_a_channels_last_image(shape, dtype):
    """torch sets the strides of its axes of one element."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype).to(memory_format=torch.channels_last).requires_grad_()
    compiled = frameloom.compile(lambda x: F.adaptive_avg_pool2d(x, 1), fullgraph=True)
    wanted, got = F.adaptive_avg_pool2d(x, 1), compiled(x)
    torch.testing.assert_close(got, wanted)
    assert got.stride() == wanted.stride()
    tangent = torch.randn_like(wanted)
    (slope,), (found,) = torch.autograd.grad(wanted, x, tangent), torch.autograd.grad(got, x, tangent)
    torch.testing.assert_close(found, slope)
    assert found.stride() == slope.stride()


if __name__ == "__main__":
    compare_all(int(sys.argv[2]), int(sys.argv[1]))
