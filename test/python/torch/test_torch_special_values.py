"""Ops that compute element by element, on every pair of special numbers: values, infinities, NaN and the signs of zeros as eager torch gives them."""

import itertools
import operator
import warnings

import pytest
import torch
from graphs_programs import OPS

import frameloom.torch

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, float("inf"), -float("inf"), float("nan"), 1e-40, -1e-40, 3e38, -3e38, 1.5, -1.5, 3.0, -3.0]
NUMBERS = [0.5, -2.0, 0.0, -0.0, 2, -1, float("inf")]
# What eager torch decides otherwise from one element to the next, by the instructions that it takes for whole vectors.
OTHERWISE = {
    "gelu": "NaN for infinities in vectors",
    "lerp": "an overflow on the way, which a fused multiply-add does not have",
    "fmax": "of two zeros any", "fmin": "of two zeros any",
    "remainder": "NaN for quotients that no float holds", "fmod": "NaN for quotients that no float holds",
}  # fmt: skip


def calls(dtype):
    """An op and its arguments, tensors of all pairs of special numbers among them."""
    x, y = (torch.tensor(column, dtype=dtype) for column in zip(*itertools.product(SPECIAL, SPECIAL)))
    for name, op in OPS.items():
        needed = [str(a.type) for a in op._schema.arguments if not a.has_default_value()]
        if not needed or len(needed) > 3 or set(needed) - {"Tensor", "number"} or name.startswith(("rand", "bernoulli")):
            continue
        for arguments in itertools.product(*[[(x, y, x.flip(0))[i]] if kind == "Tensor" else NUMBERS for i, kind in enumerate(needed)]):
            yield name, op, arguments


def graph_of(op, arguments, result):
    graph, given = torch.fx.Graph(), []
    for i, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor):
            argument, value = graph.placeholder(f"a{i}"), argument
            argument.meta["val"] = value
        given.append(argument)
    node = graph.call_function(op, tuple(given))
    node.meta["val"] = result
    outputs = [node]
    if isinstance(result, (tuple, list)):
        outputs = [graph.call_function(operator.getitem, (node, i)) for i in range(len(result))]
        for output, value in zip(outputs, result):
            output.meta["val"] = value
    graph.output(tuple(outputs))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def differ(got, want, open_zeros):
    """Where two tensors do."""
    if want.is_complex():
        got, want = torch.view_as_real(got), torch.view_as_real(want)
    if not want.is_floating_point():
        return got != want
    bad = torch.isnan(got) != torch.isnan(want)
    bad |= ~torch.isclose(got, want, rtol=1e-4, atol=1e-37, equal_nan=True)
    return bad if open_zeros else bad | ((got == 0) & (want == 0) & (torch.signbit(got) != torch.signbit(want)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_special_values(dtype):
    asked, wrong = 0, {}
    for name, op, arguments in calls(dtype):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = op(*arguments)
                compiled = frameloom.torch.compile_graph(graph_of(op, arguments, result))
            except (RuntimeError, TypeError, NotImplementedError, IndexError):  # no such call, or torch's alone
                continue
            got = compiled([a for a in arguments if isinstance(a, torch.Tensor)])
        asked += 1
        for g, w in zip(got, result if isinstance(result, (tuple, list)) else [result]):
            bad = differ(g, w, name.startswith("lerp"))
            if bad.any() and name.split(".")[0] not in OTHERWISE:
                wrong[name] = [[a.flatten()[i].item() if isinstance(a, torch.Tensor) and a.numel() == bad.numel() else str(a)[:20] for a in (*arguments, g, w)]
                               for i in bad.flatten().nonzero().flatten()[:3].tolist()]
    assert not wrong and asked > 200, (asked, wrong)
