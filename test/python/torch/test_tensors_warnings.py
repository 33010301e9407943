"""Warnings of torch's functions in captured code: as often as in eager torch, at the same places. Each case is a process of its own, since
torch gives some warnings once."""

import json

import pytest
from processes import printed

CALLS = {
    "each_time": "F.softmax(x), x * 2",
    "of_one_dimension": "x.T.sum() * 2",
    "in_a_library_function": "torch.meshgrid(x[:, 0, 0], x[0, 0])[0] * 2",
    "copies": "torch.tensor(x) * 2",
    "none": "x * 2",
    "of_the_user": "(warnings.warn('mine'), x * 2)[1]",
    "into_a_result": "torch.add(x, 1, out=torch.empty(3))",
    "of_a_size": "F.mse_loss(x, x[:1]) * 2",
    "deprecated": "F.tanh(x), F.upsample(x, scale_factor=2)",
}
PROGRAM = """
import json, warnings, sympy, torch, frameloom  # sympy, which torch imports late, changes filters
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


@pytest.mark.parametrize("name", CALLS)
def test_warnings(name):
    found = {}
    for filter in "always", "default":
        for which in "plain", "frameloom.compile(plain)":
            text = PROGRAM.format(text=CALLS[name], filter=filter, which=which)
            found[filter, which] = json.loads(printed(text))
        assert found[filter, "frameloom.compile(plain)"] == found[filter, "plain"]
