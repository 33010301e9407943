"""Bags of embeddings and histograms: sums over places that data assigns."""

import pytest

from torch_help import compiled, fresh, ft, host_calls, torch  # noqa: F401

F = torch.nn.functional


def bags(function, tensors, *rest, **keywords):
    """The result and the gradients of the floating-point tensors."""
    given = [t.clone().requires_grad_() if t is not None and t.is_floating_point() else t for t in tensors]
    out = function(*given, *rest, **keywords)
    out.square().sum().backward()
    return [out.detach()] + [t.grad for t in given if t is not None and t.is_floating_point()]


@pytest.mark.parametrize("padding", [None, 4])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("mode,weighted", [("sum", False), ("sum", True), ("mean", False)])
@pytest.mark.parametrize("dtype,dynamic", [(torch.float32, True), (torch.float64, False)])
def test_bags_of_embeddings(dtype, mode, weighted, last, padding, dynamic):
    def f(table, indices, offsets, weights):
        return F.embedding_bag(indices, table * 2, offsets, mode=mode, per_sample_weights=weights, include_last_offset=last, padding_idx=padding)

    run = compiled(f, dynamic=dynamic, fullgraph=True)
    for n, offsets in ((7, [0, 3, 3, 5]), (12, [0, 0, 4, 12]), (9, [0, 2, 9])):
        table, indices = torch.randn(6, 5, dtype=dtype), torch.randint(0, 6, (n,))
        offsets = torch.tensor(offsets + [n] * last, dtype=torch.int64)
        weights = torch.randn(n, dtype=dtype) if weighted else None
        for got, expected in zip(bags(run, (table, indices, offsets, weights)), bags(f, (table, indices, offsets, weights)), strict=True):
            torch.testing.assert_close(got, expected, check_stride=True)
    assert not host_calls()


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_bags_without_gradients(kind):
    f = lambda i, w: F.embedding_bag(i, w, mode="mean")  # noqa: E731
    w, i = torch.randn(9, 4), torch.randint(0, 9, (5, 3), dtype=kind)
    with torch.no_grad():
        torch.testing.assert_close(compiled(f)(i, w), f(i, w))
    assert not host_calls()


def test_bags_of_maxima_are_made_by_torch():
    f = lambda i, w: F.embedding_bag(i, w, mode="max")  # noqa: E731
    w, i = torch.randn(9, 4), torch.randint(0, 9, (5, 3))
    for got, expected in zip(bags(lambda w, i: compiled(f)(i, w), (w, i)), bags(lambda w, i: f(i, w), (w, i))):
        torch.testing.assert_close(got, expected)
    assert any("embedding_bag" in name for name in host_calls())


@pytest.mark.parametrize("indices,offsets", [([0, 9], [0, 1]), ([0, -1], [0, 1]), ([0, 1], [1, 1]), ([0, 1], [0, 3])])
def test_wrong_bags_have_the_error_of_torch(indices, offsets):
    f = lambda i, o, w: F.embedding_bag(i, w, o, mode="sum")  # noqa: E731
    given = torch.tensor(indices), torch.tensor(offsets), torch.randn(9, 4)
    with pytest.raises((RuntimeError, IndexError)) as expected:
        f(*given)
    with pytest.raises((RuntimeError, IndexError)) as got:
        compiled(f)(*given)
    assert type(got.value) is type(expected.value) and str(got.value) == str(expected.value)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("bins,low,high", [(100, 0, 0), (7, -1, 1), (10, 0, 9), (3, 2.5, 2.5), (1, -9, 9), (8, 0, 7), (13, 0.1, 0.7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_histograms(dtype, bins, low, high, dynamic):
    run = compiled(lambda x: torch.histc(x, bins, low, high), dynamic=dynamic)
    for shape in ((50,), (7, 6), (3000,)):
        for x in (torch.randn(shape), torch.randint(0, 9, shape), torch.rand(shape), torch.full(shape, 3.0), torch.randint(0, 71, shape) / 70):
            x = x.to(dtype)
            if low != high:
                x.flatten()[:3] = torch.tensor([float("nan"), float("inf"), -float("inf")], dtype=dtype)
            torch.testing.assert_close(run(x), torch.histc(x, bins, low, high), rtol=0, atol=0)
    assert not host_calls()


def test_histograms_that_torch_refuses():
    for x, arguments in ((torch.tensor([1.0, float("inf")]), (4, 0, 0)),
                         (torch.tensor([float("nan"), 1.0]), (4, 0, 0))):
        f = lambda x: torch.histc(x, *arguments)  # noqa: E731
        with pytest.raises(Exception) as expected:
            f(x)
        torch._dynamo.reset()
        with pytest.raises(type(expected.value)) as got:
            compiled(f)(x)
        assert str(got.value) == str(expected.value)
    half = torch.tensor([0.5, 1, 1, 3], dtype=torch.float16)
    assert torch.equal(compiled(lambda x: torch.histc(x, 3, 0, 3))(half), torch.histc(half, 3, 0, 3))
