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
