"""Warnings of torch's functions in captured code: as often as in eager torch, at the same places. Each case is a process of its own, since
torch gives some warnings once."""

import itertools
import json

import pytest
from processes import printed_each

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
