"""torch's own samples of its operations (OpInfo) with one tensor of another dtype, or with one axis more or less: what eager torch refuses
is refused when it is compiled, and what it takes has the dtypes and shapes that it has there. Programs give these alone, so that no kernel
is compiled.

    python opinfo_mixed.py SAMPLES [EVERY [FIRST]]

Takes SAMPLES of each EVERY-th operation from the FIRST on. Prints what differs, and ends with 1 if anything does.
"""

import sys
import warnings

import torch
from opinfo_tensors import UNKNOWN, tensors
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree

import frameloom

CHANGES = {
    "of integers": lambda one: one.to(torch.int64), "of bools": lambda one: one > 0, "of doubles": lambda one: one.to(torch.float64),
    "of complex numbers": lambda one: one.to(torch.complex64), "with an axis more": lambda one: one[None],
    "with an axis less": lambda one: one[0] if one.dim() and one.size(0) else one, "twice as long": lambda one: torch.cat([one, one]) if one.dim() else one}


def program(op):
    def refused(args, kwargs):
        try:
            results = op(*args, **kwargs)
        except Exception as error:
            return type(error).__name__
        return [(one.dtype, one.shape) for one in _pytree.tree_leaves(results) if isinstance(one, torch.Tensor)]

    return refused


def given(sample, number, change):
    """The arguments with a tensor replaced; None: the change leaves it as it is."""
    leaves, tree = _pytree.tree_flatten(((sample.input, *sample.args), dict(sample.kwargs)))
    places = [i for i, one in enumerate(leaves) if isinstance(one, torch.Tensor) and one.layout == torch.strided]
    leaves = [one.detach().clone() if i in places else one for i, one in enumerate(leaves)]
    before = leaves[places[number]]
    leaves[places[number]] = after = change(before)
    if after is before or (after.dtype, after.shape) == (before.dtype, before.shape):
        return None
    return _pytree.tree_unflatten(leaves, tree)


def differences(op, samples):
    """Lines of what differs."""
    plain = program(op.op)
    for number, sample in zip(range(samples), op.sample_inputs("cpu", torch.float32)):
        for place in range(min(len(tensors((sample.input, sample.args, sample.kwargs))), 3)):
            for name, change in CHANGES.items():
                try:
                    once, again = given(sample, place, change), given(sample, place, change)
                except (RuntimeError, TypeError, IndexError):
                    continue
                if once is None:
                    continue
                want, got = plain(*once), frameloom.compile(plain)(*again)
                if want != got:
                    yield f"{op.name} {op.variant_test_name}, sample {number}, tensor {place} {name}: {got}, not {want}"


def operations(every=1, first=0):
    return [op for op in op_db if torch.float32 in op.supported_dtypes("cpu") and op.name not in UNKNOWN][first::every]


def main():
    samples, every, first = map(int, [*sys.argv[1:], *["1", "1", "0"][len(sys.argv) - 1 :]])
    warnings.simplefilter("ignore")
    wrong = 0
    for op in operations(every, first):
        for line in differences(op, samples):
            wrong += 1
            print(line, flush=True)
        frameloom.reset()
    print(f"{wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
