"""Convolutions and pooling with their gradients, compiled by the torch backend, against eager torch."""

import copy
import random

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from cpus import KINDS  # noqa: E402
from torch_help import fresh, host_calls  # noqa: E402, F401

import frameloom  # noqa: E402
import frameloom.torch as ft  # noqa: E402


def with_gradients_as_eager(function, tensors, cpu="native", **tolerance):
    """Results and gradients of a weighted sum, compiled and not."""
    runs = []
    for f in (torch.compile(function, backend=ft.backend, options={"cpu": cpu}), function):
        leaves = [t.detach().clone(memory_format=torch.preserve_format).requires_grad_(t.requires_grad) for t in tensors]
        y = f(*leaves)
        torch.manual_seed(1)
        (y * torch.randn(y.shape, dtype=y.dtype)).sum().backward()
        runs.append([y] + [t.grad for t in leaves if t.requires_grad])
    torch.testing.assert_close(*runs, **({"check_stride": True} | tolerance))


def configuration(rng, spatial):
    """(function, tensors) of a random convolution that torch accepts."""
    groups = rng.choice([1, 1, 2, 3])
    ins, outs = groups * rng.choice([1, 2, 5, 70]), groups * rng.choice([1, 2, 4, 19, 40])
    window = [rng.randint(1, 4) for _ in range(spatial)]
    stride = [rng.choice([1, 1, 2, 3]) for _ in range(spatial)]
    dilation = [rng.choice([1, 1, 2]) for _ in range(spatial)]
    padding = [rng.randint(0, 3) for _ in range(spatial)]
    extra = rng.choice([0, 1, 4, 11, 29])
    size = [max(1, d * (k - 1) + 1 - 2 * p) + extra + rng.randint(0, 2) for k, d, p in zip(window, dilation, padding)]
    transposed = rng.random() < 0.3
    options = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
    if transposed:
        options["padding"] = [min(p, d * (k - 1) // 2) for p, d, k in zip(padding, dilation, window)]
        options["output_padding"] = [rng.randint(0, s - 1) for s in stride]
    weight = torch.randn(*((ins, outs // groups) if transposed else (outs, ins // groups)), *window, dtype=torch.float64)
    x = torch.randn(rng.randint(1, 3), ins, *size, dtype=torch.float64)
    formats = {2: torch.channels_last, 3: torch.channels_last_3d}
    if spatial in formats and rng.random() < 0.4:
        x = x.to(memory_format=formats[spatial])
        if rng.random() < 0.6:
            weight = weight.to(memory_format=formats[spatial])
    bias = torch.randn(outs, dtype=torch.float64) if rng.random() < 0.5 else None
    kind = getattr(F, f"conv_transpose{spatial}d" if transposed else f"conv{spatial}d")
    tensors = [x, weight] + ([bias] if bias is not None else [])
    wanted = [rng.random() < 0.8 for _ in tensors]
    if not any(wanted):
        wanted[0] = True
    for t, w in zip(tensors, wanted):
        t.requires_grad_(w)
    return (lambda x, w, b=None: kind(x, w, b, **options)), tensors


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_random_convolutions(spatial, cpu):
    rng = random.Random(spatial)
    for _ in range(10):
        torch._dynamo.reset()
        with_gradients_as_eager(*configuration(rng, spatial), cpu=cpu, rtol=1e-10, atol=1e-10)
    assert not host_calls()


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize(
    "n, i, size, o, window, stride, padding, groups",
    [
        (2, 16, 20, 24, 3, 1, 1, 1),
        (2, 16, 21, 24, 3, 2, 1, 1),
        (1, 3, 33, 40, 7, 2, 3, 1),
        (2, 32, 9, 80, 1, 1, 0, 1),
        (2, 32, 10, 64, 1, 2, 0, 1),
        (2, 64, 5, 96, 3, 1, 1, 1),
        (2, 24, 12, 24, 3, 1, 1, 24),
        (2, 24, 13, 24, 3, 2, 1, 24),
        (2, 24, 12, 48, 3, 1, 1, 4),
        (2, 8, 12, 24, 2, 2, 0, 1),  # windows side by side
        (2, 3, 39, 40, 16, 16, 0, 1),  # and a rest that none reaches
    ],
)
@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last], ids=["plain", "channels"])
def test_shapes_of_models(n, i, size, o, window, stride, padding, groups, order, cpu):
    x = torch.randn(n, i, size, size).to(memory_format=order).requires_grad_()
    w = torch.randn(o, i // groups, window, window).to(memory_format=order).requires_grad_()
    with_gradients_as_eager(lambda x, w: F.conv2d(x, w, None, stride, padding, 1, groups), [x, w], cpu, rtol=1e-4, atol=2e-4)
    assert not host_calls()


def planes(rng):
    """(function, tensors) of a random convolution of each channel by itself, between other operations."""
    channels, outs = rng.choice([1, 2, 7, 33]), rng.choice([1, 1, 2, 3])
    window, dilation = [rng.choice([1, 2, 3, 5, 7, 9, 17]) for _ in range(2)], [rng.choice([1, 1, 2, 3]) for _ in range(2)]
    stride = [rng.choice([1, 1, 2, 3, 5]) for _ in range(2)]
    padding = [rng.randint(0, k * d) for k, d in zip(window, dilation)]
    size = [max(1, d * (k - 1) + 1 - 2 * p) + rng.choice([0, 1, 6, 7, 13, 31, 130]) for k, d, p in zip(window, dilation, padding)]
    x = torch.randn(rng.randint(1, 3), channels, *size, dtype=torch.float64)
    w = torch.randn(channels * outs, 1, *window, dtype=torch.float64)
    return lambda x, w: torch.cos(F.conv2d(torch.sin(x), w, None, stride, padding, dilation, channels)), [x, w]


@pytest.mark.parametrize("cpu", KINDS)
def test_random_planes(cpu):
    rng = random.Random(4)
    for _ in range(12):
        torch._dynamo.reset()
        function, tensors = planes(rng)
        compiled = torch.compile(function, backend=ft.backend, options={"cpu": cpu})
        torch.testing.assert_close(compiled(*tensors), function(*tensors), rtol=1e-10, atol=1e-10)
    assert not host_calls()


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("layout", ["plain", "channels last", "turned"])
def test_weights_of_depthwise_convolutions(layout, cpu):
    """Fewer, as many and more channels than a vector has lanes; lines shorter and longer than it."""
    rng = random.Random(3)
    for channels, size in ((2, 9), (12, 7), (16, 20), (17, 3), (33, 14)):
        torch._dynamo.reset()
        stride, dilation, window = rng.choice([1, 2]), rng.choice([1, 2]), rng.choice([1, 3, 5])
        x = torch.randn(2, channels, size, size + 2, dtype=torch.float64)
        if layout == "channels last":
            x = x.to(memory_format=torch.channels_last)
        if layout == "turned":
            x = x.transpose(2, 3)
        w = torch.randn(channels, 1, window, window - (window > 1), dtype=torch.float64, requires_grad=True)
        padding = dilation * (window - 1) // 2
        # torch's fake tensors and its kernels give dimensions of size 1 different strides
        options = {"rtol": 1e-10, "atol": 1e-10, "check_stride": layout == "plain"}
        with_gradients_as_eager(lambda x, w: F.conv2d(x, w, None, stride, padding, dilation, channels), [x, w], cpu, **options)
    assert not host_calls()


@pytest.mark.parametrize("cpu", KINDS)
def test_random_planes_of_neighbouring_channels(cpu):
    """With gradients, in tensors whose channels are neighbours in memory."""
    rng = random.Random(8)
    for _ in range(10):
        torch._dynamo.reset()
        function, (x, w) = planes(rng)
        tensors = [x.to(memory_format=torch.channels_last).requires_grad_(), w.requires_grad_()]
        with_gradients_as_eager(function, tensors, cpu, rtol=1e-10, atol=1e-9, check_stride=False)
    assert not host_calls()


@pytest.mark.parametrize("cpu", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_strided_gradients_of_neighbouring_channels(dtype, cpu):
    """The gradient of the result has its channels side by side: one kernel makes the gradient of the input, without joining phases.
    Halves are widened where they are read."""
    rng = random.Random(5)
    for channels in (4, 20, 33):
        torch._dynamo.reset()
        window, stride = [rng.choice([1, 3, 4, 7]) for _ in range(2)], [rng.choice([1, 2, 2, 3, 4]), 2]
        padding = [rng.randint(0, k) for k in window]
        tensors = [torch.randn(2, channels, rng.choice([7, 16, 28]), 28), torch.randn(channels, 1, *window)]
        x, w = (t.to(dtype).to(memory_format=torch.channels_last) for t in tensors)
        x.requires_grad_()
        function = lambda x, w: F.conv2d(x, w, None, stride, padding, 1, channels)
        compiled = torch.compile(function, backend=ft.backend, options={"cpu": cpu})
        y, exact = compiled(x, w), [t.detach().double().requires_grad_() for t in (x, w)]
        g = torch.randn(y.shape).to(dtype).to(memory_format=torch.channels_last)
        expected = function(*exact)
        made, = torch.autograd.grad(expected, exact[:1], g.double())
        tolerance = {"rtol": 4 * torch.finfo(dtype).eps, "atol": 1e-5 if dtype == torch.float32 else 2e-2}
        torch.testing.assert_close(y.double(), expected, **tolerance)
        torch.testing.assert_close(torch.autograd.grad(y, [x], g)[0].double(), made, **tolerance)
        assert [version["kernels"] for version in list(ft.compiled_graphs)[-1].report()] <= [2]
    assert not host_calls()


class Inverted(torch.nn.Module):
    """A block of MobileNetV2: an expansion, a convolution of each channel by itself, a projection."""

    def __init__(self, ins, outs, stride, window, act):
        super().__init__()
        wide = 3 * ins
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(ins, wide, 1, bias=False), torch.nn.BatchNorm2d(wide), act(),
            torch.nn.Conv2d(wide, wide, window, stride, window // 2, groups=wide, bias=False), torch.nn.BatchNorm2d(wide), act(),
            torch.nn.Conv2d(wide, outs, 1, bias=False), torch.nn.BatchNorm2d(outs))
        self.adds = ins == outs and stride == 1

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.adds else y


@pytest.mark.parametrize("door", ["backend", "decorator"])
@pytest.mark.parametrize("train", [False, True])
def test_blocks_of_neighbouring_channels(door, train):
    """Batches of two sizes, of which the second may be compiled with a symbol."""
    torch.manual_seed(2)
    blocks = [Inverted(16, 16, 1, 3, torch.nn.ReLU6), Inverted(16, 24, 2, 5, torch.nn.Hardswish), Inverted(24, 24, 1, 3, torch.nn.SiLU)]
    model = torch.nn.Sequential(*blocks).to(memory_format=torch.channels_last).train(train)
    eager = copy.deepcopy(model)
    compiled = torch.compile(model, backend=ft.backend) if door == "backend" else frameloom.compile(model)
    for batch in (1, 3, 2):
        x = torch.randn(batch, 16, 15, 14).to(memory_format=torch.channels_last)
        with torch.set_grad_enabled(train):
            got, want = compiled(x), eager(x)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4, check_stride=True)
        if train:
            for y in (got, want):
                (y * y).mean().backward()
    for ours, theirs in zip(model.parameters(), eager.parameters()):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("door", ["backend", "decorator"])
def test_layers_of_neighbouring_channels(door):
    """Few and many output channels, strides, groups, dilation and points, with other layers between them."""
    torch.manual_seed(4)
    nn = torch.nn
    model = nn.Sequential(
        *(nn.Conv2d(3, 20, 7, 2, 3), nn.BatchNorm2d(20), nn.ReLU(), nn.MaxPool2d(3, 2, 1)),
        *(nn.Conv2d(20, 33, 3, 1, 1, bias=False), nn.SiLU(), nn.Conv2d(33, 32, 1), nn.Conv2d(32, 48, 3, 2, 1, groups=4), nn.ReLU()),
        *(nn.Conv2d(48, 40, 3, 1, 2, dilation=2), nn.ConvTranspose2d(40, 16, 3, 2), nn.Tanh(), nn.Conv2d(16, 4, 3)),
    ).to(memory_format=torch.channels_last)
    eager = copy.deepcopy(model)
    compiled = torch.compile(model, backend=ft.backend) if door == "backend" else frameloom.compile(model)
    for batch in (1, 3, 2):
        x = torch.randn(batch, 3, 45, 38).to(memory_format=torch.channels_last)
        got, want = compiled(x), eager(x)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
        for y in (got, want):
            (y * y).mean().backward()
    for ours, theirs in zip(model.parameters(), eager.parameters()):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-3, atol=1e-4)


def test_gradients_are_as_close_to_float64_as_those_of_eager_torch():
    for i, size, o, window in ((64, 12, 64, 3), (256, 6, 64, 3), (512, 8, 128, 1)):
        leaves = [torch.randn(2, i, size, size), torch.randn(o, i, window, window) / (i * window)]
        runs = []
        f = lambda x, w: F.conv2d(x, w, None, 1, window // 2)
        torch._dynamo.reset()
        for run, dtype in ((torch.compile(f, backend=ft.backend), None), (f, None), (f, torch.float64)):
            x, w = (t.to(dtype or t.dtype).clone().requires_grad_() for t in leaves)
            y = run(x, w)
            torch.manual_seed(1)
            (y * torch.randn(y.shape)).sum().backward()
            runs.append([y.double(), x.grad.double(), w.grad.double()])
        for ours, eager, exact in zip(*runs):
            assert (ours - exact).norm() <= 1.5 * (eager - exact).norm()


@pytest.mark.parametrize("cpu", KINDS)
def test_random_averages_of_windows(cpu):
    """Windows beside and over each other, beyond the end (ceil_mode), padding counted or not, a divisor."""
    rng = random.Random(5)
    for _ in range(10):
        torch._dynamo.reset()
        kernel = [rng.randint(1, 4) for _ in range(2)]
        options = {
            "stride": rng.choice([None, [rng.randint(1, 4) for _ in range(2)]]),
            "padding": [rng.randint(0, k // 2) for k in kernel],
            "ceil_mode": rng.random() < 0.5,
            "count_include_pad": rng.random() < 0.5,
            "divisor_override": rng.choice([None, None, 3]),
        }
        x = torch.randn(2, 3, rng.randint(6, 13), rng.randint(6, 13), dtype=torch.float64, requires_grad=True)
        with_gradients_as_eager(lambda x: F.avg_pool2d(x, kernel, **options), [x], cpu)
    assert not host_calls()
