"""Images at other places than their own: interpolation, which is compiled with its gradients, and grid_sample, which runs through
torch, against eager torch."""

import itertools

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from frameloom import _torch_whole as whole  # noqa: E402
from torch_help import compiled, fresh, host_calls  # noqa: E402, F401

SHAPES = {1: (2, 3, 9), 2: (2, 3, 7, 10), 3: (1, 2, 4, 5, 6)}
MODES = [
    (mode, axes, corners)
    for mode, dims in (("nearest", (1, 2, 3)), ("nearest-exact", (1, 2, 3)), ("linear", (1,)), ("bilinear", (2,)), ("bicubic", (2,)), ("trilinear", (3,)))
    for axes in dims
    for corners in ((None,) if mode.startswith("nearest") else (False, True))
]


def sizes(axes):
    """Ways to say how large a result is: factors of blocks, down, up and between, sizes of several kinds."""
    yield from ({"scale_factor": factor} for factor in (2, 3, 0.6, 2.7, 0.25))
    yield {"scale_factor": 2.7, "recompute_scale_factor": True}
    yield from ({"size": size} for size in ((13, 4, 7)[:axes], (1,) * axes, SHAPES[axes][2:], tuple(4 * n for n in SHAPES[axes][2:])))


def as_near(got, eager, exact):
    """As near to a float64 run as eager is, but for a few roundings."""
    if not got.numel():
        return
    count = 32 if eager.dtype == torch.float64 else 4
    roundings = count * torch.finfo(eager.dtype).eps * exact.abs().max() if eager.is_floating_point() else 0
    assert (got.double() - exact).abs().max() <= 1.5 * (eager.double() - exact).abs().max() + roundings


def compare_interpolation(image, dynamic=None, **keywords):
    """Results and gradients, and how they lie."""

    def f(image):
        return F.interpolate(image, **keywords)

    torch._dynamo.reset()
    run, rows = compiled(f, dynamic=dynamic), []
    for function, dtype in ((run, image.dtype), (f, image.dtype), (f, torch.float64)):
        given = image.detach().to(dtype, copy=True).requires_grad_(image.is_floating_point())
        result = function(given)
        if image.is_floating_point():
            result.backward(torch.linspace(-1, 2, result.numel()).reshape(result.shape).to(image.dtype).to(dtype))
        rows.append((result.detach(), given.grad))
    for got, eager, exact in zip(*rows):
        if got is not None:
            assert got.stride() == eager.stride()
            as_near(got, eager, exact)


@pytest.mark.parametrize("mode,axes,corners", MODES)
def test_interpolation(mode, axes, corners):
    """Each size; dtypes take turns."""
    dtypes = itertools.cycle([torch.float32, torch.float64, torch.bfloat16, torch.float32, torch.float16])
    for size, dtype in zip(sizes(axes), dtypes):
        compare_interpolation(torch.randn(SHAPES[axes], dtype=dtype), mode=mode, align_corners=corners, **size)
    assert not host_calls()


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_interpolation_of_other_images(mode):
    compare_interpolation(torch.randn(2, 3, 1, 1), mode=mode, size=(8, 9))
    compare_interpolation(torch.randn(2, 3, 1, 5), mode=mode, size=(3, 9))
    compare_interpolation(torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last), mode=mode, scale_factor=2)
    compare_interpolation(torch.randn(3, 2, 6, 5).transpose(0, 1), mode=mode, size=(11, 4))
    assert not host_calls()
    compare_interpolation(torch.randn(1, 2, 2, 2), mode=mode, size=(300, 301))  # too far apart for a compiled gradient
    compare_interpolation(torch.randn(1, 2, 7, 10), mode=mode, scale_factor=1.1)  # 7 of 7, but by a factor
    compare_interpolation(torch.randn(1, 2, 2, 3), mode=mode, scale_factor=1.3)
    compare_interpolation(torch.randn(2, 3, 20, 5), mode=mode, scale_factor=2.05)  # 5 become twice as many
    if mode != "bicubic":
        compare_interpolation(torch.randn(0, 3, 5, 5), mode=mode, size=(3, 4))
    if mode.startswith("nearest"):
        compare_interpolation(torch.randint(0, 255, (2, 3, 6, 6), dtype=torch.uint8), mode=mode, scale_factor=2)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_interpolation_of_symbolic_sizes(mode):
    def f(image):
        return F.interpolate(image, scale_factor=2.5, mode=mode)

    run = compiled(f, dynamic=True)
    for shape in ((2, 3, 6, 8), (2, 3, 9, 5), (4, 3, 30, 31)):
        image = torch.randn(shape)
        rows = []
        for function, dtype in ((run, torch.float32), (f, torch.float32), (f, torch.float64)):
            given = image.to(dtype, copy=True).requires_grad_()
            result = function(given)
            result.square().sum().backward()
            rows.append((result.detach(), given.grad))
        for got, eager, exact in zip(*rows):
            as_near(got, eager, exact)
    compare_interpolation(torch.randn(2, 3, 6, 6), mode=mode, size=(9, 14), dynamic=True)


def test_torch_has_its_own_functions_again():
    """What is kept whole is so while graphs are traced alone, also where tracing fails, nests, or ends in another order than it began."""
    tables = lambda: [(op, dict(op.py_kernels)) for op, _ in whole._replaced]  # noqa: E731
    before, first, second = tables(), whole.kept_whole(), whole.kept_whole()
    compiled(lambda x: F.interpolate(x, scale_factor=2))(torch.randn(1, 1, 3, 3))
    assert tables() == before
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert tables() != before
    second.__exit__(None, None, None)
    assert tables() == before
    with pytest.raises(KeyError), whole.kept_whole():
        raise KeyError
    assert tables() == before


def test_no_gradient_of_an_infinity_spreads():
    def f(image):
        return F.interpolate(image, scale_factor=2, mode="bicubic")

    given = torch.zeros(1, 1, 24, 24)
    given[0, 0, 3, 3] = float("inf")
    for run in (f, compiled(f)):
        image = torch.ones(1, 1, 12, 12, requires_grad=True)
        run(image).backward(given)
        assert image.grad[0, 0, 6:, 6:].eq(0).all()


def gradients(f, image, grid):
    leaves = [t.detach().clone().requires_grad_() for t in (image, grid)]
    y = f(*leaves)
    weights = torch.linspace(-1, 2, y.numel(), dtype=y.dtype).reshape(y.shape)
    return [y, *torch.autograd.grad((y * weights).sum(), leaves, allow_unused=True)]


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample(mode, padding, corners):
    def f(image, grid):
        return F.grid_sample(image, grid, mode, padding, corners)

    run = compiled(f)
    for height, width in ((6, 9), (1, 4)):
        image = torch.randn(2, 3, height, width, dtype=torch.float64)
        grid = torch.randn(2, 5, 7, 2, dtype=torch.float64) * 1.7  # many places outside
        torch.testing.assert_close(gradients(run, image, grid), gradients(f, image, grid))


def test_a_spatial_transformer():
    def f(image, theta):
        return F.grid_sample(image, F.affine_grid(theta, (2, 3, 8, 8), align_corners=False), align_corners=False)

    image, theta = torch.randn(2, 3, 12, 10), torch.randn(2, 2, 3)
    pairs = zip(gradients(compiled(f), image, theta), gradients(f, image, theta))
    for got, expected in pairs:
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def test_places_that_are_no_numbers_touch_no_image():
    def f(image, grid):
        return F.grid_sample(image, grid, align_corners=False)

    image, grid = torch.randn(1, 2, 5, 5), torch.rand(1, 3, 3, 2)
    grid[0, 0, 0, 0], grid[0, 1, 1, 1], grid[0, 2, 0, 0] = float("nan"), float("inf"), 1e30
    got, expected = gradients(compiled(f), image, grid), gradients(f, image, grid)
    assert expected[1].isfinite().all()
    torch.testing.assert_close(got[1], expected[1], rtol=1e-5, atol=1e-6)
    finite = expected[0].isfinite()
    torch.testing.assert_close(got[0][finite], expected[0][finite], rtol=1e-5, atol=1e-6)
