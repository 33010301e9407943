"""A part of torch's OpInfo database through the backend (docs/torch-ops.md is made from all of it)."""

import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_ops  # noqa: E402

PARTS = {torch.float32: 4, torch.float64: 24, torch.int64: 24, torch.bool: 24, torch.bfloat16: 24}


def part(dtype):
    supported = [
        op for op in torch_ops.op_db if dtype in op.supported_dtypes("cpu")
    ]
    return supported[:: PARTS[dtype]]


CASES = [(dtype, op) for dtype in PARTS for op in part(dtype)]


@pytest.mark.parametrize(
    "dtype,op", CASES, ids=[f"{op.formatted_name}-{str(dtype)[6:]}" for dtype, op in CASES]
)
@pytest.mark.filterwarnings("ignore")
def test_samples(dtype, op):
    grad = torch_ops.needs_grad(op, dtype)
    for i, (_, sample) in enumerate(torch_ops.samples(op, dtype, 3)):
        outcome, detail, _ = torch_ops.check_sample(op, dtype, sample, grad, recorded=i > 0)
        assert outcome not in torch_ops.BAD, f"{outcome}: {detail}"


@pytest.mark.parametrize("op", torch_ops.op_db[::150], ids=lambda op: op.formatted_name)
@pytest.mark.filterwarnings("ignore")
def test_the_whole_of_torch_compile(op):
    grad = torch_ops.needs_grad(op, torch.float32)
    for _, sample in torch_ops.samples(op, torch.float32, 1):
        outcome, detail = torch_ops.check_whole(op, torch.float32, sample, grad)
        assert outcome not in torch_ops.BAD, f"{outcome}: {detail}"


def test_a_recorded_graph_has_forward_and_backward():
    (op,) = [op for op in torch_ops.op_db if op.formatted_name == "sigmoid"]
    ((_, sample),) = torch_ops.samples(op, torch.float32, 1)
    case, report = torch_ops.Case(op, sample, True), torch_ops.Report()
    out, gradients = case.run(case, case.tensors())
    again, recorded = torch_ops._recorded(case, report, case.ramps(out))
    torch.testing.assert_close((again, recorded), (out, gradients))
    assert report.graphs == 1 and report.whole() and len(recorded) == 1


def test_what_depends_on_data_is_not_recorded():
    (op,) = [op for op in torch_ops.op_db if op.formatted_name == "nonzero"]
    ((_, sample),) = torch_ops.samples(op, torch.float32, 1)
    case = torch_ops.Case(op, sample, False)
    with pytest.raises(torch_ops.torch_record.NotRecorded):
        torch_ops._recorded(case, torch_ops.Report(), [])
