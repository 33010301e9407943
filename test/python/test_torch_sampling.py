"""grid_sample and its gradients, compiled by the torch backend, against eager torch."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from torch_help import compiled, fresh, host_calls  # noqa: E402, F401


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
    assert not host_calls()


def test_a_spatial_transformer():
    def f(image, theta):
        return F.grid_sample(image, F.affine_grid(theta, (2, 3, 8, 8), align_corners=False), align_corners=False)

    image, theta = torch.randn(2, 3, 12, 10), torch.randn(2, 2, 3)
    pairs = zip(gradients(compiled(f), image, theta), gradients(f, image, theta))
    for got, expected in pairs:
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    assert not host_calls()


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
