"""Warnings of torch's functions in captured code: as often as in eager torch, at the same places. Each case is a process of its own, since
torch gives some warnings once."""

import itertools
import json
import warnings

import pytest
import torch
from processes import printed_each

import frameloom

CALLS = {
    "each_time": "F.softmax(x), x * 2",
    "of_one_dimension": "x.T.sum() * 2",
    "in_a_library_function": "torch.meshgrid(x[:, 0, 0], x[0, 0])[0] * 2",
    "copies": "torch.tensor(x) * 2",
    "none": "x * 2",
    "of_the_user": "(warnings.warn('mine'), x * 2)[1]",
    "into_a_result": "torch.add(x, 1, out=torch.empty(3))",
    "of_a_size": "F.mse_loss(x, x[:1]) * 2",
    "of_a_number": "x * float((x.detach().clone().requires_grad_() * 2).sum())",
    "of_a_cast": "(x * 1j).float() * 2",
    "of_the_cpu_each_time": "torch.cholesky(torch.eye(3) * x.sum()) * 2",
    "of_the_cpu_once": "torch.zeros(4).index_reduce(0, torch.arange(3), x[0, :, 0], 'amax') * 2",
    "of_a_model": "torch.stft(x.flatten(), 8, return_complex=True).abs() * 2",
    "none_but_for_few": "x.var(1).sum() * x.std()",
    "deprecated": "F.tanh(x), F.upsample(x, scale_factor=2)",
}
LOADED = "import sympy, torch, frameloom"  # sympy, which torch imports late, changes filters
PROGRAM = """
import json, warnings, torch, frameloom
F = torch.nn.functional
def plain(x):
    return {text}
def seen(function, calls):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter({filter!r})
        for _ in range(calls):
            function(torch.ones(2, 3, 4))
    return [[one.category.__name__, str(one.message), one.filename, one.lineno] for one in caught]
print(json.dumps(seen({which}, 3) + seen({which}, 1)))
"""


@pytest.fixture(scope="module")
def seen():
    """What is warned of, by case, filter, and whether the function is compiled."""
    asked = list(itertools.product(CALLS, ("always", "default"), ("plain", "frameloom.compile(plain)")))
    told = printed_each(LOADED, [PROGRAM.format(text=CALLS[name], filter=filter, which=which) for name, filter, which in asked])
    return dict(zip(asked, map(json.loads, told), strict=True))


@pytest.mark.parametrize("filter", ["always", "default"])
@pytest.mark.parametrize("name", CALLS)
def test_warnings(seen, name, filter):
    assert seen[name, filter, "frameloom.compile(plain)"] == seen[name, filter, "plain"]
    assert name.startswith("none") or seen[name, filter, "plain"]


VARIANCES = {
    "std": lambda x: x.std(), "no correction": lambda x: x.std(False), "two": lambda x: x.var(correction=2), "many": lambda x: x.std(correction=5),
    "along the last axis": lambda x: x.var(-1, False), "along the first axis": lambda x: x.var(0, keepdim=True),
    "with a mean": lambda x: torch.var_mean(x, unbiased=False)[0], "covariance": lambda x: torch.cov(x),
}  # fmt: skip
SIZES = [(5,), (1,), (0,), (2,), (3, 4), (0, 4), (4, 0), (3, 1), (1, 3), (6, 6), (0, 0), (300, 300)]


def warned(function, x):
    """What a call gives and warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(x)
    return result, [str(one.message) for one in caught]


@pytest.mark.parametrize("name", VARIANCES)
def test_a_variance_warns_of_few_numbers_whatever_sizes_came_before(name):
    for size in SIZES:
        (wanted, words), (got, others) = (warned(one, torch.ones(size)) for one in (VARIANCES[name], frameloom.compile(VARIANCES[name])))
        assert (size, others) == (size, words)
        torch.testing.assert_close(got, wanted, equal_nan=True)
