"""What eager torch refuses, by torch's own samples of illegal arguments, is refused by a captured call as well.

    python opinfo_refusals.py [OP ...]

Of each operation of OpInfo: its samples of errors, and samples of dtypes that it does not take. The exception is caught inside of the
compiled function. Prints what differs (the class of the exception and its words, or that there is none) and ends with 1 if anything does.
"""

import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

import frameloom

DTYPES = (torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64)
# Takes another way where no gradient is recorded, which refuses more.
LEFT_OUT = ("nn.functional.max_pool1d",)


def operations():
    """Operations with samples, by name; variants of one name apart."""
    return [op for op in op_db if op.name not in LEFT_OUT]


def how(function, given):
    try:
        return None, function(*given)
    except Exception as error:
        return type(error), error


def differences_of(op, given, calls=2):
    """Words for each of some calls that eager torch refuses and the captured one does not, or otherwise."""

    def plain(x, args, kwargs):
        try:
            op(x, *args, **kwargs)
        except Exception as error:
            return type(error).__name__, str(error)
        return None

    wanted = plain(*given)
    if wanted is None:
        return
    compiled = frameloom.compile(plain)
    for _ in range(calls):
        got = compiled(*given)
        if got != wanted:
            yield f"{op.name} {op.variant_test_name}: {wanted!r:.200}, but {got!r:.200}"


def of_errors(op):
    """Torch's own samples of errors."""
    for one in op.error_inputs("cpu") if op.error_inputs_func else ():
        sample = one.sample_input
        yield from differences_of(op, (sample.input, sample.args, sample.kwargs))


def cast(given, dtype):
    if isinstance(given, torch.Tensor):
        return given.detach().to(dtype) if given.is_floating_point() or given.is_complex() else given
    if isinstance(given, (list, tuple)):
        return type(given)(cast(one, dtype) for one in given)
    return {name: cast(one, dtype) for name, one in given.items()} if isinstance(given, dict) else given


def of_dtypes(op, count=2):
    """A few samples of a dtype that the operation takes, cast to those that it does not."""
    if not op.dtypes:
        return
    taken = torch.float32 if torch.float32 in op.dtypes else min(op.dtypes, key=str)
    samples = [sample for _, sample in zip(range(count), op.sample_inputs("cpu", taken))]
    for dtype in DTYPES:
        for sample in samples if dtype not in op.dtypes else ():
            yield from differences_of(op, cast((sample.input, sample.args, sample.kwargs), dtype), 1)


def main():
    warnings.simplefilter("ignore")
    bad = 0
    for op in operations():
        if sys.argv[1:] and op.name not in sys.argv[1:]:
            continue
        for words in (*of_errors(op), *of_dtypes(op)):
            bad += 1
            print(words, flush=True)
        frameloom.reset()
    print(f"{bad} differ")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
