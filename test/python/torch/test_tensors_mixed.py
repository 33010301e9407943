"""Operations given a tensor of another dtype or shape: what eager torch refuses is refused by what is compiled."""

import opinfo_mixed
import pytest
import torch
import torch.nn.functional as F

import frameloom


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", opinfo_mixed.operations(70, 5), ids=lambda op: f"{op.name} {op.variant_test_name}")
def test_samples_with_another_tensor(op):
    assert not list(opinfo_mixed.differences(op, 1))


@pytest.mark.parametrize("function", [
    lambda x: F.linear(x.long(), torch.ones(4, 3), torch.ones(4)), lambda x: torch.addmm(x[:, :1].long(), x, x.T), lambda x: torch.mv(x, x[0].long()),
    lambda x: x.long().std(), lambda x: torch.addmm(x[None], x, x.T), lambda x: x.index_add(0, torch.tensor([0]), x[None]),
    lambda x: F.conv1d(x[None], torch.ones(6, 5, 2), torch.ones(3)), lambda x: F.conv_transpose1d(x[None], torch.ones(5, 2, 2), torch.ones(3))])
def test_what_only_shapes_tell(function):
    def program(x):
        try:
            return function(x).shape
        except RuntimeError as error:
            return str(error)

    x = torch.randn(5, 3)
    assert frameloom.compile(program)(x) == program(x)


def test_a_bias_for_each_channel_is_taken():
    def program(x):
        return F.conv1d(x, torch.ones(4, 1, 2), torch.ones(4), groups=2), F.conv_transpose1d(x, torch.ones(2, 3, 2), torch.ones(6), groups=2)

    x = torch.randn(1, 2, 8)
    compiled = frameloom.compile(program, fullgraph=True)
    for got, want in zip(compiled(x), program(x), strict=True):
        torch.testing.assert_close(got, want)


V, M = torch.randn(400), torch.randn(400, 400)
LARGE = {
    "a target of doubles": (F.soft_margin_loss, M, M.sign().double()), "an outer product": (torch.addr, M.double(), V, V),
    "a whole weight of groups": (lambda a, w: F.group_norm(a, 4, w), M, V.long()), "a layer's bias of doubles": (lambda a, w: F.layer_norm(a, (400,), V, w), M, V.double()),
    "a cross product": (lambda a, b: torch.linalg.cross(a, b, dim=0), M.double().repeat(1, 3)[:3], M.repeat(1, 3)[:3]),
    "a kernel of floats": (F.conv_transpose2d, M.double()[None, None], torch.randn(1, 1, 3, 3)), "a matrix of floats": (torch.mm, M.double(), M),
    "bounds of doubles": (torch.clamp, M, M.double()), "a weight of bools": (torch.lerp, M, M, M > 0), "losses": (F.mse_loss, M, M.double()),
    "an end of doubles": (torch.lerp, M, M.double(), M), "a classes' weight": (lambda a, w: F.nll_loss(a, torch.zeros(400, dtype=torch.int64), w), M, V.double()),
    "a part of doubles": (lambda a, b: a.index_add(0, torch.arange(400), b), M, M.double()), "put": (lambda a, b: a.index_put((torch.arange(400),), b), M, M.double()),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_dtypes_that_are_mixed_in_large_tensors(name):
    """Nothing reads the result, so that no kernel could refuse its operands."""
    function, *args = LARGE[name]

    def program(*args):
        try:
            result = function(*args)
        except (RuntimeError, NotImplementedError) as error:
            return str(error)
        return result.dtype, result.shape

    assert frameloom.compile(program)(*args) == program(*args)
