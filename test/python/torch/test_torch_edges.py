"""Padding with what an array holds, and roll, with their gradients, against eager torch."""

import pytest
from torch_help import compiled, fresh, host_calls, torch  # noqa: F401

F = torch.nn.functional
SHAPES = {1: (2, 3, 9), 2: (2, 3, 7, 10), 3: (1, 2, 5, 6, 7)}
PADDINGS = [(1, 2), (4, 0), (0, 3), (-1, 2), (2, -3), (-2, -1), (4, 4), (0, 0)]


def with_gradients_as_eager(*pairs):
    """Results and gradients of functions of a tensor each, in one graph, bit for bit but where several gradients are added up."""
    functions, tensors = zip(*pairs)

    def each(*given):
        return [f(x) for f, x in zip(functions, given)]

    rows = []
    for function in (compiled(each), each):
        leaves = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in tensors]
        results = function(*leaves)
        wanted = [result for result in results if result.is_floating_point()]
        if wanted:
            torch.autograd.backward(wanted, [torch.arange(one.numel(), dtype=one.dtype).reshape(one.shape).remainder(7) - 3 for one in wanted])
        rows.append(zip(results, leaves))
    for (result, leaf), (expected, other) in zip(*rows, strict=True):
        assert torch.equal(result, expected)
        assert result.stride() == expected.stride()
        assert (leaf.grad is None) == (other.grad is None)
        if other.grad is not None:
            torch.testing.assert_close(leaf.grad, other.grad, check_stride=True)
    torch._dynamo.reset()


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding(mode, axes):
    pairs = []
    for k in range(len(PADDINGS)):
        amounts = [n for d in range(axes) for n in PADDINGS[(k + d * 3) % len(PADDINGS)]]
        dtype = (torch.float32, torch.float64, torch.bfloat16)[(k + axes) % 3]
        pairs.append((lambda x, amounts=amounts: F.pad(x, amounts, mode=mode), torch.randn(SHAPES[axes], dtype=dtype)))
    with_gradients_as_eager(*pairs)
    assert not host_calls()


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_in_other_layouts(mode):
    f = lambda x: F.pad(x * 2, (2, 1, 3, 2), mode=mode)  # noqa: E731
    with_gradients_as_eager(
        (f, torch.randn(2, 4, 6, 5).to(memory_format=torch.channels_last)),
        (f, torch.randn(2, 6, 5, 4).permute(0, 3, 1, 2)),
        (lambda x: F.pad(x, (2, 1), mode=mode), torch.randn(3, 8)),
        (lambda x: F.pad(F.pad(x, (2, 1, 1, 1), mode=mode), (3, 3, 0, 1), mode=mode), torch.randn(2, 3, 40, 50)),
    )
    assert not host_calls()


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("dynamic", [True, None])
def test_padding_of_sizes_that_change(mode, dynamic):
    f = lambda x: F.pad(x, (2, 1, 0, 3), mode=mode)  # noqa: E731
    run = compiled(f, dynamic=dynamic)
    for shape in ((2, 3, 7, 8), (2, 3, 9, 4), (1, 3, 12, 30)):
        x = torch.randn(shape)
        assert torch.equal(run(x), f(x))


def test_padding_that_is_too_large_raises_as_in_eager_torch():
    for mode in ("reflect", "circular"):
        with pytest.raises(RuntimeError, match="[Pp]adding"):
            compiled(lambda x: F.pad(x, (9, 0), mode=mode))(torch.randn(1, 2, 5))
        torch._dynamo.reset()


@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.bool])
def test_roll(dtype):
    x = torch.randint(0, 2, (4, 5, 33)).to(dtype)
    pairs = [(lambda x: x.roll(3), x), (lambda x: x.roll(1, 0), x[:0])]
    for shifts, dims in ((1, 0), (-2, -1), ((3, 70), (1, 2)), ((0, 5), (0, 1)), ((1, 1), (1, 1)), (10**9, 2)):
        pairs.append((lambda x, shifts=shifts, dims=dims: x.roll(shifts, dims), x))
    with_gradients_as_eager(*pairs)
    assert not host_calls()
