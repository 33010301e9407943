"""Padding with what an array holds, and roll, with their gradients, against eager torch."""

import pytest
from torch_help import compiled, fresh, host_calls, torch  # noqa: F401

F = torch.nn.functional
SHAPES = {1: (2, 3, 9), 2: (2, 3, 7, 10), 3: (1, 2, 5, 6, 7)}
PADDINGS = [(1, 2), (4, 0), (0, 3), (-1, 2), (2, -3), (-2, -1), (4, 4), (0, 0)]


def with_gradients_as_eager(f, x):
    """Results and gradients, bit for bit but where several gradients are added up."""
    rows = []
    for function in (compiled(f), f):
        leaf = x.detach().clone().requires_grad_(x.is_floating_point())
        result = function(leaf)
        if x.is_floating_point():
            result.backward(torch.arange(result.numel(), dtype=x.dtype).reshape(result.shape).remainder(7) - 3)
        rows.append((result.detach(), leaf.grad))
    assert torch.equal(rows[0][0], rows[1][0])
    assert rows[0][0].stride() == rows[1][0].stride()
    if x.is_floating_point():
        torch.testing.assert_close(rows[0][1], rows[1][1], check_stride=True)
    torch._dynamo.reset()


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding(mode, axes):
    for k in range(len(PADDINGS)):
        amounts = [n for d in range(axes) for n in PADDINGS[(k + d * 3) % len(PADDINGS)]]
        dtype = (torch.float32, torch.float64, torch.bfloat16)[(k + axes) % 3]
        with_gradients_as_eager(lambda x: F.pad(x, amounts, mode=mode), torch.randn(SHAPES[axes], dtype=dtype))
    assert not host_calls()


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_in_other_layouts(mode):
    f = lambda x: F.pad(x * 2, (2, 1, 3, 2), mode=mode)  # noqa: E731
    with_gradients_as_eager(f, torch.randn(2, 4, 6, 5).to(memory_format=torch.channels_last))
    with_gradients_as_eager(f, torch.randn(2, 6, 5, 4).permute(0, 3, 1, 2))
    with_gradients_as_eager(lambda x: F.pad(x, (2, 1), mode=mode), torch.randn(3, 8))
    with_gradients_as_eager(lambda x: F.pad(F.pad(x, (2, 1, 1, 1), mode=mode), (3, 3, 0, 1), mode=mode), torch.randn(2, 3, 40, 50))
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
    for shifts, dims in ((3, None), (1, 0), (-2, -1), ((3, 70), (1, 2)), ((0, 5), (0, 1)), ((1, 1), (1, 1)), (10**9, 2)):
        with_gradients_as_eager(lambda x: x.roll(shifts, dims) if dims is not None else x.roll(shifts), x)
    with_gradients_as_eager(lambda x: x.roll(1, 0), x[:0])
    assert not host_calls()
