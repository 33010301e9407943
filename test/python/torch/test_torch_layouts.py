"""Images in other orders of memory than C through pooling, resampling and what is around them, against eager torch: values, gradients,
strides of results.

    python test_torch_layouts.py SEED COUNT

for more programs than the test runs.
"""

import random
import sys
import warnings

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402

import frameloom  # noqa: E402, F401

COUNT = 20
FLOATS = [torch.float32, torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16]


def image(draw, dims, channels):
    sizes = [draw.randint(5, 12) for _ in range(dims)]
    shape = (draw.choice([1, 2, 2, 3]), channels, *sizes)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(draw.randrange(1 << 30)))
    if draw.random() < 0.2:
        x = x.round()  # equal elements: the first largest one counts
    order = draw.choice(["last", "last", "last", "plain", "turned"])
    if order == "plain":
        return x
    to = (0, *range(2, x.dim()), 1) if order == "last" else tuple(reversed(range(x.dim())))
    return x.permute(to).contiguous().permute(sorted(range(x.dim()), key=to.__getitem__))


def pooled_window(draw, dims, largest=3):
    kernel = [draw.randint(1, largest) for _ in range(dims)]
    return {
        "kernel_size": kernel,
        "stride": [draw.choice([1, 1, 2, 3]) for _ in kernel],
        "padding": [draw.randint(0, k // 2) for k in kernel],
        "ceil_mode": draw.random() < 0.3,
    }


def step_max(draw, dims):
    kind = pooled_window(draw, dims)
    kind["dilation"] = draw.choice([1, 1, 1, 2])
    return lambda x: getattr(F, f"max_pool{dims}d")(x, **kind)


def step_average(draw, dims):
    kind = pooled_window(draw, dims)
    kind["count_include_pad"] = draw.random() < 0.5
    return lambda x: getattr(F, f"avg_pool{dims}d")(x, **kind)


def step_adaptive(draw, dims):
    sizes = [draw.randint(1, 5) for _ in range(dims)]
    name = draw.choice(["avg", "max"])
    return lambda x: getattr(F, f"adaptive_{name}_pool{dims}d")(x, sizes)


def step_resample(draw, dims):
    modes = ["nearest", "nearest-exact", *(["bilinear", "bicubic"] if dims == 2 else ["trilinear"])]
    kind = {"mode": draw.choice(modes), "scale_factor": draw.choice([2.0, 2.0, 3.0, 1.5])}
    if kind["mode"] not in ("nearest", "nearest-exact"):
        kind["align_corners"] = draw.random() < 0.5
    return lambda x: F.interpolate(x, **kind)


def step_pointwise(draw, dims):
    return draw.choice([F.relu, torch.sin, lambda x: x * 2 + 1, lambda x: x / (1 + x.abs())])


def step_normalise(draw, dims):
    axes = draw.choice([tuple(range(2, dims + 2)), (1,), (0, *range(2, dims + 2))])
    return lambda x: x - x.mean(axes, keepdim=True)


def step_joined(draw, dims):
    return draw.choice([lambda x: torch.cat([x, x.sin()], 1), lambda x: torch.cat([x, x.cos()], -1), lambda x: x.flip(-1)])


def step_moved(draw, dims):
    return draw.choice([lambda x: F.pad(x, (1, 2, 0, 1), value=0.5), lambda x: x[:, :, 1:, ::2], lambda x: x.transpose(-1, -2)])


def step_shaped(draw, dims):
    return draw.choice([lambda x: x.flatten(1).view(x.shape), lambda x: x.reshape(x.shape[0], x.shape[1], -1).softmax(-1).reshape(x.shape),
                        lambda x: x.cumsum(1), lambda x: x.contiguous() + x])


STEPS = [step_max, step_max, step_average, step_adaptive, step_resample, step_resample, step_pointwise, step_normalise, step_joined,
         step_moved, step_shaped]


def image_program(draw):
    dims, channels = draw.choice([2, 2, 2, 3]), draw.choice([1, 3, 8, 16, 19])
    chosen = [draw.choice(STEPS) for _ in range(draw.randint(1, 4))]
    steps = [make(draw, dims) for make in chosen]

    def function(x):
        for step in steps:
            x = step(x)
        return x

    x = image(draw, dims, channels).to(draw.choice(FLOATS))
    # An element that was rounded otherwise is another maximum: of half floats, which are often equal, gradients tell nothing.
    rounded = x.dtype.itemsize == 2 and bool({step_max, step_adaptive} & set(chosen[1:]))
    return function, x, rounded


def pooled_outcome(function, x):
    x = x.clone().requires_grad_()
    y = function(x)
    weights = torch.linspace(0.5, 1.5, y.numel() or 1)[: y.numel()].reshape(y.shape).to(y.dtype)
    (gradient,) = torch.autograd.grad(y, x, torch.empty_like(y).copy_(weights))
    return y.detach(), gradient


def strides_of_image(x):
    return [step for step, size in zip(x.stride(), x.shape) if size > 1]


def compare_images(seed, dynamic=False):
    function, x, rounded = image_program(random.Random(seed))
    try:
        expected = pooled_outcome(function, x)
    except (RuntimeError, NotImplementedError):
        return False  # a window that is larger than what is left of the image; no kernel for the dtype
    torch._dynamo.reset()
    got = pooled_outcome(torch.compile(function, backend="frameloom", dynamic=dynamic), x)
    near = {torch.float64: 1e-9, torch.float32: 2e-5}.get(x.dtype, 4e-2)
    for ours, theirs in list(zip(got, expected))[: 1 if rounded else 2]:
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        largest = max([1.0, *theirs[theirs.isfinite()].abs().flatten().tolist()])
        torch.testing.assert_close(ours, theirs, rtol=near, atol=near * largest, equal_nan=True)
    if expected[0].numel() and expected[0].untyped_storage().nbytes() == expected[0].nbytes:  # no view of something larger
        assert strides_of_image(got[0]) == strides_of_image(expected[0])
    return True


@pytest.mark.parametrize("seed", range(COUNT))
def test_programs_of_images(seed):
    compare_images(seed)


@pytest.mark.parametrize("seed", range(1000, 1004))
def test_programs_of_images_of_symbolic_sizes(seed):
    compare_images(seed, dynamic=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    first, count, done = int(sys.argv[1]), int(sys.argv[2]), 0
    for seed in range(first, first + count):
        try:
            done += compare_images(seed, dynamic=seed % 5 == 4)
        except Exception as error:  # noqa: BLE001
            print(seed, type(error).__name__, str(error)[:300].replace("\n", " "), flush=True)
    print(f"{done} of {count} compared")
