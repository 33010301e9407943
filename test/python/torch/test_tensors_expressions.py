"""Single expressions and statements of tensors, refused ones among them: test/python/support/tensor_expressions.py has them all."""

import pytest
import tensor_expressions


@pytest.mark.parametrize("text", tensor_expressions.programs()[::40])
def test_a_program_is_as_in_eager_torch(text):
    assert not tensor_expressions.differences(text)


@pytest.mark.parametrize("text", [
    "r = i.fill_(float('nan'))", "r = torch.full_like(h, 1e30)", "r = u.masked_fill(u > 1, -2.7)", "i[0, 0] = float('inf'); r = i",
    "r = x.fill_(x)", "r = torch.fill(x, x)", "r = torch.normal(0.0, 1.0, (2,))", "r = torch.nn.functional.pad(i, (1, 1), value=1e30)"])
def test_what_is_refused_or_drawn(text):
    assert not tensor_expressions.differences(text)
