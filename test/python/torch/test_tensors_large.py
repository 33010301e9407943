"""Calls on tensors of more elements than an operation is tried with are captured whole, as those on small ones are; so are those on
images whose channels are innermost in memory, and on batches of matrices whose eigenvectors are."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402

import frameloom  # noqa: E402

IMAGES, ROWS = (4, 8, 64, 64), (300, 512)
CALLS = {
    "group_norm": (lambda x: F.group_norm(x, 4), IMAGES), "grouped_convolution": (lambda x: F.conv2d(x, x.new_ones(8, 2, 3, 3), groups=4), IMAGES),
    "turned_convolution": (lambda x: F.conv_transpose2d(x, x.new_ones(8, 2, 3, 3), stride=2), IMAGES), "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), IMAGES),
    "unfold": (lambda x: F.unfold(x, (3, 3)), IMAGES), "fold": (lambda x: F.fold(x.reshape(4, 32, 1024), (64, 64), (2, 2), stride=2), IMAGES),
    "max_pool": (lambda x: F.max_pool2d(x, 3), IMAGES), "adaptive_pool": (lambda x: F.adaptive_avg_pool2d(x, 7), IMAGES),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGES), "pad": (lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), IMAGES),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 4), IMAGES), "batch_norm": (lambda x: F.batch_norm(x, x.new_zeros(8), x.new_ones(8)), IMAGES),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x), IMAGES),
    "grid_sample": (lambda x: F.grid_sample(x, x.new_zeros(4, 5, 5, 2), align_corners=False), IMAGES),
    "layer_norm": (lambda x: F.layer_norm(x, (512,)), ROWS), "linear": (lambda x: F.linear(x, x), ROWS), "glu": (F.glu, ROWS),
    "topk": (lambda x: torch.topk(x, 5).values, ROWS), "kthvalue": (lambda x: torch.kthvalue(x, 5).values, ROWS), "sort": (lambda x: x.sort(1).values, ROWS),
    "split": (lambda x: torch.split(x, [100, 200])[1], ROWS), "windows": (lambda x: x.unfold(1, 16, 4).sum(-1), ROWS),
    "slice_scatter": (lambda x: x.slice_scatter(x.new_ones(10, 512), 0, 5, 15), ROWS), "diagonal_scatter": (lambda x: x.diagonal_scatter(x.new_ones(300)), ROWS),
    "index_add": (lambda x: x.index_add(0, torch.arange(7), x.new_ones(7, 512)), ROWS), "quantile": (lambda x: torch.quantile(x, 0.3, dim=1), ROWS),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.zeros(300, dtype=torch.int64)), ROWS), "fft": (lambda x: torch.fft.rfft(x, n=100).abs(), ROWS),
    "stft": (lambda x: torch.stft(x, 64, window=torch.ones(64), return_complex=True).abs(), (4, 20000)),
    "lu_solve": (lambda x: torch.linalg.lu_solve(*torch.linalg.lu_factor(x + 300 * torch.eye(300)), x), (300, 300)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_captured_whole(name):
    call, shape = CALLS[name]
    x = torch.from_numpy(np.random.default_rng(3).random(shape, np.float32))
    torch.testing.assert_close(frameloom.compile(call, fullgraph=True)(x), call(x), rtol=1e-3, atol=1e-4)


IN_CHANNELS = {
    "convolution": lambda x: F.conv2d(x, x.new_ones(16, 8, 3, 3), padding=1), "strided_convolution": lambda x: F.conv2d(x, x.new_ones(4, 8, 5, 5), stride=2),
    "grouped_convolution": lambda x: F.conv2d(x, x.new_ones(8, 1, 3, 3), groups=8),
    "turned_convolution": lambda x: F.conv_transpose2d(x, x.new_ones(8, 2, 3, 3), stride=2), "max_pool": lambda x: F.max_pool2d(x, 3, 2, 1),
    "batch_norm": lambda x: F.batch_norm(x, x.new_zeros(8), x.new_ones(8)), "interpolate": lambda x: F.interpolate(x, scale_factor=2), "sum": lambda x: x.sum(1), "group_norm": lambda x: F.group_norm(x, 4, x.new_ones(8)),
    "pad": lambda x: F.pad(x, (2, 1, 2, 1), mode="reflect"), "replicated": lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), "shuffle": lambda x: F.pixel_shuffle(x, 2),
    "average_pool": lambda x: F.avg_pool2d(x, 2), "adaptive_pool": lambda x: F.adaptive_avg_pool2d(x, 3), "softmax": lambda x: x.softmax(1),
    "gelu": lambda x: F.gelu(x), "mean": lambda x: F.adaptive_avg_pool2d(x, 1), "turned": lambda x: x.permute(0, 2, 3, 1) * 3, "linear": lambda x: F.linear(x.movedim(1, -1), x.new_ones(5, 8)),
    "joined": lambda x: torch.cat([x, x * 2], 1), "part": lambda x: x[:, 1:] * 2, "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "by one": lambda x: F.conv2d(x, x.new_ones(16, 8, 1, 1), x.new_ones(16)), "module": lambda x: torch.group_norm(x, 2),
}  # fmt: skip


@pytest.mark.parametrize("size", [8, 64])
@pytest.mark.parametrize("name", IN_CHANNELS)
def test_channels_that_are_innermost(name, size):
    x = torch.from_numpy(np.random.default_rng(3).random((4, 8, size, size), np.float32)).to(memory_format=torch.channels_last)
    got, want = frameloom.compile(IN_CHANNELS[name], fullgraph=True)(x), IN_CHANNELS[name](x)
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)
    assert got.stride() == want.stride()


@pytest.mark.parametrize("size", [8, 64])
@pytest.mark.parametrize("name", [name for name in IN_CHANNELS if name not in ("sum", "group_norm", "module")])
def test_gradients_of_channels_that_are_innermost(name, size):
    """They lie as eager torch's do, for a tangent that lies as the result does."""
    x = torch.from_numpy(np.random.default_rng(3).random((4, 8, size, size), np.float32)).to(memory_format=torch.channels_last).requires_grad_()
    slopes = []
    for function in (IN_CHANNELS[name], frameloom.compile(lambda x: IN_CHANNELS[name](x), fullgraph=True)):
        made = function(x)
        slopes += torch.autograd.grad(made, x, torch.empty_like(made.detach()).copy_(torch.linspace(-1, 2, made.numel()).view(made.shape)))
    torch.testing.assert_close(slopes[1], slopes[0], rtol=1e-3, atol=1e-3)
    assert slopes[1].stride() == slopes[0].stride()


@pytest.mark.parametrize("lies", [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize("case", [(4, 32, 24, 64, 3, 1), (4, 32, 24, 64, 1, 1), (2, 8, 5, 8, 3, 2), (4, 32, 24, 32, 3, 32)])
def test_gradients_of_a_convolution_lie_as_eager_torchs(case, lies):
    batch, channels, size, results, kernel, groups = case
    made = torch.Generator().manual_seed(1)
    x, w = torch.randn(batch, channels, size, size, generator=made), torch.randn(results, channels // groups, kernel, kernel, generator=made)
    x, w = (one.to(memory_format=torch.channels_last if last else torch.contiguous_format).requires_grad_() for one, last in zip((x, w), lies))

    def convolve(x, w):
        return F.conv2d(x, w, padding=kernel // 2, groups=groups)

    slopes = []
    for function in (convolve, frameloom.compile(convolve, fullgraph=True)):
        result = function(x, w)
        slopes.append(torch.autograd.grad(result, (x, w), torch.ones_like(result.detach())))
    for one, other in zip(*slopes):
        torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-3)
        assert other.stride() == one.stride()


@pytest.mark.parametrize("shape", [(5, 5), (3, 5, 5), (2, 3, 5, 5)])
def test_eigenvectors(shape):
    x = torch.from_numpy(np.random.default_rng(3).random(shape, np.float32))
    for got, want in zip(frameloom.compile(lambda x: torch.linalg.eig(x), fullgraph=True)(x), torch.linalg.eig(x)):
        torch.testing.assert_close(got, want)
        assert got.stride() == want.stride()
