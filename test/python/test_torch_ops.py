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
    for _, sample in torch_ops.samples(op, dtype, 1):
        outcome, detail, _ = torch_ops.check_sample(op, dtype, sample, grad)
        assert outcome not in torch_ops.BAD, f"{outcome}: {detail}"
