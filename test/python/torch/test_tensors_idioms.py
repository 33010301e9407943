"""What users write with torch (torch_idioms.py) gives what it gives in eager torch, and is captured whole but for what is on record."""

import dataclasses

import numpy as np
import pytest
import torch
from reports import break_codes
from torch.utils import _pytree
from torch_idioms import BREAKS, IDIOMS, function, x

import frameloom

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def distributions_check_their_arguments(monkeypatch):
    """As they do by default: torch's Dynamo switches the checks off for the whole process."""
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)


def leaves(result):
    return _pytree.tree_leaves(dataclasses.astuple(result) if dataclasses.is_dataclass(result) else result)


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom(name):
    plain = function(name)
    compiled = frameloom.compile(plain, fullgraph=name not in BREAKS)
    for _ in range(2):
        torch.manual_seed(1)
        wanted = leaves(plain(x.clone()))
        torch.manual_seed(1)
        got = leaves(compiled(x.clone()))
        assert list(map(type, got)) == list(map(type, wanted))
        for one, other in zip(got, wanted, strict=True):
            if isinstance(other, torch.Tensor):
                torch.testing.assert_close(one, other, equal_nan=True)
            elif isinstance(other, float | np.generic | np.ndarray):
                np.testing.assert_allclose(one, other, rtol=1e-5)
            else:
                assert one == other


@pytest.mark.parametrize("name", BREAKS)
def test_an_idiom_that_breaks_says_why(name):
    assert BREAKS[name] in break_codes(function(name), x.clone())
