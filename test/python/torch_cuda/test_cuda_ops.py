"""A part of torch's OpInfo database on CUDA: samples are recorded as graphs of ATen ops (torch_record.py), which run on the
driver of the tests, forward and backward."""

import warnings

import pytest

torch = pytest.importorskip("torch")
cuda_tensors = pytest.importorskip("cuda_tensors")
pytest.importorskip("expecttest")

from torch_help import fresh  # noqa: E402, F401

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_ops

cuda_tensors.install()
PARTS = {torch.float32: 8, torch.float64: 40, torch.int64: 40, torch.bool: 40, torch.bfloat16: 40}
# The stand-in for CUDA has no kernels for these (sparse tensors), or torch asks for CUDA's own compiler.
LEFT_OUT = ("sparse", "jiterator", "ctc_loss", "ldl_factor")


def part(dtype):
    supported = [op for op in torch_ops.op_db if dtype in op.supported_dtypes("cpu") and not any(word in op.formatted_name for word in LEFT_OUT)]
    return supported[3 :: PARTS[dtype]]


CASES = [(dtype, op) for dtype in PARTS for op in part(dtype)]


def on_cpu(tree):
    return torch.utils._pytree.tree_map(lambda t: t.cpu() if isinstance(t, torch.Tensor) else t, tree)


@pytest.mark.parametrize("dtype,op", CASES, ids=[f"{op.formatted_name}-{str(dtype)[6:]}" for dtype, op in CASES])
@pytest.mark.filterwarnings("ignore")
def test_samples(dtype, op):
    grad = torch_ops.needs_grad(op, dtype)
    torch.manual_seed(0)
    for sample in list(op.sample_inputs("cuda", dtype, requires_grad=grad))[:2]:
        case, report = torch_ops.Case(op, sample, grad), torch_ops.Report()
        expected = case.run(case, case.tensors())
        try:
            got = torch_ops._recorded(case, report, case.ramps(expected[0]))
        except (torch_ops.torch_record.NotRecorded, NotImplementedError):
            continue  # needs AOTAutograd; or is left to eager torch with a reason
        outcome, detail, _ = torch_ops._judge(case, report, on_cpu(got), on_cpu(expected), dtype)
        assert outcome not in torch_ops.BAD, f"{outcome}: {detail}"
