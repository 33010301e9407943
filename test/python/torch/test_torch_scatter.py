"""Ops whose index tells a place for each element (scatter, gather and their like), along each axis of arrays that lie in several ways."""

import itertools

import pytest

from torch_help import compiled, fresh, host_calls, torch  # noqa: F401

SHAPES = [(7,), (5, 40), (40, 5), (3, 4, 6), (2, 9, 3, 8), (1, 6), (9, 130)]
LAYOUTS = {
    "whole": lambda x: x,
    "turned": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    "steps": lambda x: x.repeat_interleave(2, -1)[..., ::2],
}
WRITES = {
    "scatter": lambda x, i, s, d: x.scatter(d, i, s),
    "scatter_number": lambda x, i, s, d: x.scatter(d, i, 2) + s.sum() * 0,
    "scatter_add": lambda x, i, s, d: x.scatter_add(d, i, s),
    "scatter_multiply": lambda x, i, s, d: x.scatter(d, i, s, reduce="multiply"),
    "scatter_computed": lambda x, i, s, d: (x * 2).scatter_add(d, (i + 1) % x.size(d), s * s),
    "scatter_amax": lambda x, i, s, d: x.scatter_reduce(d, i, s, "amax"),
    "scatter_mean": lambda x, i, s, d: x.scatter_reduce(d, i, s, "mean", include_self=False),
    "put_along": lambda x, i, s, d: x.scatter(d, i, s).gather(d, i),
}


def arguments(shape, dim, count, dtype, layout, alone):
    """An operand, indices (`alone`: none twice) and what is written."""
    size = list(shape)
    size[dim] = min(count, shape[dim]) if alone else count
    x, source = (LAYOUTS[layout](torch.randint(-9, 9, s).to(dtype)) for s in (shape, tuple(size)))
    if alone:
        index = torch.rand(shape).argsort(dim).narrow(dim, 0, size[dim])
    else:
        index = torch.randint(0, shape[dim], size)
    return x, LAYOUTS[layout](index), source


@pytest.mark.parametrize("name", WRITES)
def test_writes(name):
    """Each shape, axis and count; dtypes and layouts take turns."""
    alone = name in ("scatter", "scatter_computed", "put_along")  # which of two values is written is open
    dtypes = [torch.float32] if name == "scatter_mean" else [torch.float32, torch.int64, torch.bfloat16]
    places = [(shape, dim, count) for shape in SHAPES for dim in range(len(shape)) for count in (1, 11)]
    for (shape, dim, count), dtype, layout in zip(places, itertools.cycle(dtypes), itertools.cycle([*LAYOUTS, "whole"])):
        given = arguments(shape, dim, count, dtype, layout, alone)
        function = WRITES[name]
        got, want = compiled(lambda x, i, s: function(x, i, s, dim))(*given), function(*given, dim)
        torch.testing.assert_close(got, want, check_stride=True)
        torch._dynamo.reset()
    assert not host_calls()


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_a_smaller_index(dim):
    x, index, source = torch.zeros(4, 5, 6), torch.randint(0, 4, (2, 3, 4)), torch.randn(3, 4, 5)
    got = compiled(lambda x, i, s: x.scatter_add(dim, i, s))(x, index, source)
    torch.testing.assert_close(got, x.scatter_add(dim, index, source))


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients(dim, dynamic):
    def f(x, i, s):
        return x.gather(dim, i).square() + x.scatter_add(dim, i, s).sum(), x.scatter(dim, i, s), torch.take_along_dim(x, i, dim)

    run = compiled(f, dynamic=dynamic)
    for shape in ((6, 8), (9, 21)):
        x, _, s = arguments(shape, dim, shape[dim], torch.float64, "whole", True)
        index = torch.rand(shape).argsort(dim)
        rows = []
        for function in (run, f):
            leaves = [t.clone().requires_grad_() for t in (x, s)]
            results = function(leaves[0], index, leaves[1])
            rows.append([*results, *torch.autograd.grad([(r * (k + 2)).sum() for k, r in enumerate(results)], leaves)])
        for got, want in zip(*rows):
            torch.testing.assert_close(got, want)
    assert not host_calls()


@pytest.mark.parametrize("wrong", [-1, 5, 1 << 40, -(1 << 40)])
@pytest.mark.parametrize("dim", [0, 1])
def test_a_wrong_index_raises_as_in_eager_torch(wrong, dim):
    x, index = torch.zeros(5, 5), torch.zeros(5, 5, dtype=torch.int64)
    index[3, 2] = wrong
    for f in (lambda x, i: x.scatter_add(dim, i, x + 1), lambda x, i: x.scatter(dim, i, 3.0), lambda x, i: x.gather(dim, i)):
        torch._dynamo.reset()
        run = compiled(f)
        with pytest.raises((RuntimeError, IndexError), match="out of bounds"):
            run(x, index)
        assert run(x, index.clamp(0, 4)).shape == x.shape


def test_many_axes():
    x, index = torch.randn((2,) * 9), torch.randint(0, 2, (2,) * 9)
    got = compiled(lambda x, i: x.scatter_add(1, i, x))(x, index)
    torch.testing.assert_close(got, x.scatter_add(1, index, x))
    assert not host_calls()


COMPLEX = [
    lambda x, a: x.index_put((a, a), x[a, a]),
    lambda x, a: x.scatter(1, a.reshape(1, 3, 1).expand(4, 3, 6), x[:, :3] * 2),
    lambda x, a: x.scatter_add(0, torch.zeros_like(x.real[:2], dtype=torch.int64), x[:2]),
    lambda x, a: x.index_copy(1, a, x[:, :3]),
    lambda x, a: x.index_add(1, a, x[:, :3]),
    lambda x, a: x.scatter(0, torch.zeros_like(x.real[:1], dtype=torch.int64), 1j),
]


@pytest.mark.parametrize("f", COMPLEX)
def test_complex_numbers(f):
    x, index = torch.randn(4, 5, 6, dtype=torch.complex64), torch.tensor([2, 0, 3])
    assert torch.equal(compiled(f)(x, index), f(x, index))
    assert not host_calls()


def test_what_a_declined_op_has_built_is_gone():
    """A product of complex numbers by index is torch's: no scatter is left in the graph, which could not be compiled."""
    x, index = torch.randn(4, 5, dtype=torch.complex64), torch.tensor([[2], [0], [1], [4]])
    f = lambda x, i: x.scatter(1, i.expand(4, 3), x[:, :3], reduce="multiply") + 1  # noqa: E731
    torch.testing.assert_close(compiled(f)(x, index), f(x, index))
    assert any("scatter" in name for name in host_calls())
