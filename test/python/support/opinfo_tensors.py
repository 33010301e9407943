"""torch's own samples of its operations (OpInfo), compiled as functions of tensors and against eager torch.

    python opinfo_tensors.py DTYPE SAMPLES [gradients] [--turned] [--form FORM] [--from N] [--every N]

SAMPLES of each operation: results, strides, dtypes, warnings and what becomes of arguments; with `gradients`, arguments require gradients
where the operation has them, and gradients and those of the gradients are compared; `turned`: the first tensor has another order in
memory; FORM: how the operation is called, of FORMS. Prints what differs, and ends with 1 if anything does.
"""

import argparse
import collections
import itertools
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree

import frameloom

# Results that are memory nobody has written, or that are drawn.
UNKNOWN = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}


def tensors(tree):
    return [one for one in _pytree.tree_leaves(tree) if isinstance(one, torch.Tensor) and one.layout == torch.strided]


def turned(one):
    """The same elements in another order in memory: channels last, or the axes the other way round."""
    order = (0, *range(2, one.dim()), 1) if one.dim() > 3 else tuple(reversed(range(one.dim())))
    back = sorted(range(one.dim()), key=order.__getitem__)
    return one.permute(order).contiguous().permute(back)


def copied(tree, other=False):
    def copy(one):
        plain = isinstance(one, torch.Tensor) and one.layout == torch.strided and not one.is_conj()
        if plain and other and one.dim() > 1 and one.is_contiguous():
            return turned(one.detach()).clone().requires_grad_(one.requires_grad)
        return one.detach().clone().requires_grad_(one.requires_grad) if plain else one

    return _pytree.tree_map(copy, tree)


def differs(plain, compiled):
    """Words for what differs of two trees of results, or None."""
    (ours, one), (theirs, other) = _pytree.tree_flatten(compiled), _pytree.tree_flatten(plain)
    if one != other:
        return "another structure"
    for x, y in zip(theirs, ours):
        if isinstance(x, set) and x != y:
            return f"warnings of {y - x} more and {x - y} less"
        if isinstance(x, torch.Tensor) and x.layout == torch.strided:
            found = tensor_differs(x.detach(), y.detach())
            if found:
                return found
        elif not isinstance(x, torch.Tensor) and x != y and x == x:
            return f"{y}, not {x}"
    return None


def tensor_differs(x, y):
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return f"{y.dtype} {tuple(y.shape)}, not {x.dtype} {tuple(x.shape)}"
    if x.numel() and any(a != b for a, b, size in zip(x.stride(), y.stride(), x.shape) if size > 1):
        return f"strides {y.stride()}, not {x.stride()}"
    x, y = x.resolve_conj().resolve_neg(), y.resolve_conj().resolve_neg()
    if not (x.is_floating_point() or x.is_complex()):
        return None if torch.equal(x, y) else "other numbers"
    exact = torch.finfo(x.dtype).eps < 1e-10
    largest = max([1.0, *(one.double().abs().max().item() for one in [x.abs()[x.abs().isfinite()]] if one.numel())])
    near = torch.allclose(x, y, rtol=1e-7 if exact else 1e-3, atol=largest * (1e-8 if exact else 1e-4), equal_nan=True)
    return None if near else f"numbers that differ by {(x - y).abs().nan_to_num().max()}"


def derived(results, arguments, twice):
    """Gradients of the results with regard to the arguments, and where `twice`, those of the gradients; no strides are promised."""
    wanted = [one for one in tensors(arguments) if one.requires_grad]
    recorded = [one for one in tensors(results) if one.requires_grad]
    if not wanted or not recorded:
        return []
    weights = [torch.linspace(0.5, 1.5, one.numel() or 1)[: one.numel()].reshape(one.shape).to(one.dtype) for one in recorded]
    first = torch.autograd.grad(recorded, wanted, weights, create_graph=twice, allow_unused=True)
    curved = [one for one in first if one is not None and one.requires_grad]
    seconds = torch.autograd.grad(curved, wanted, [one.detach().cos() for one in curved], allow_unused=True) if curved else ()
    return [None if one is None else one.detach().contiguous() for one in (*first, *seconds)]


def warned(function, arguments):
    """What a call gives, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = function(*arguments)
    return results, {(one.category.__name__, str(one.message)[:80]) for one in caught}


def outcome(function, arguments, twice):
    torch.manual_seed(5)
    arguments = copied(arguments)
    try:
        results, told = warned(function, arguments)
    except Exception as error:  # noqa: BLE001
        return "raises", type(error).__name__
    try:
        found = derived(results, arguments, twice)
    except Exception as error:  # noqa: BLE001
        found = type(error).__name__
    return "gives", (results, arguments, found, told)


def plain_call(op, sample):
    return lambda first, args, kwargs: op.op(first, *args, **kwargs)


def in_place(op, sample):
    """The operation in place on a copy of its first argument."""
    if op.inplace_variant is None or sample.broadcasts_input or not isinstance(sample.input, torch.Tensor):
        return None
    return lambda first, args, kwargs: op.inplace_variant(first.clone(), *args, **kwargs)


def with_out(op, sample):
    """The operation with `out=`, and what is there behind it."""
    made = op.op(sample.input, *sample.args, **sample.kwargs) if op.supports_out and isinstance(sample.input, torch.Tensor) else None
    if not isinstance(made, torch.Tensor):
        return None

    def call(first, args, kwargs):
        out = torch.zeros(made.shape, dtype=made.dtype)
        return op.op(first, *args, **kwargs, out=out), out * 1

    return call


def then_in_place(op, sample):
    """The operation, and its results in place times two."""

    def call(first, args, kwargs):
        made = op.op(first, *args, **kwargs)
        return [one.mul_(2) if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in (made if isinstance(made, (tuple, list)) else [made])]

    return call


FORMS = {"call": plain_call, "in_place": in_place, "with_out": with_out, "then_in_place": then_in_place}


def compare(op, dtype, limit, gradients, other=False, form="call"):
    """What differs of some samples: pairs of a sample's options and words. Torch gives its warnings each time."""
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        yield from compared(op, dtype, limit, gradients, other, FORMS[form])
    finally:
        torch.set_warn_always(always)


def compared(op, dtype, limit, gradients, other, form):
    recorded = gradients and op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=recorded), 200))
    for sample in samples[:: max(1, len(samples) // limit)][:limit]:
        call = form(op, sample)
        if call is None:
            continue
        compiled = frameloom.compile(call)
        arguments = (copied(sample.input, other), tuple(sample.args), dict(sample.kwargs))
        twice = recorded and op.supports_gradgrad
        with torch.set_grad_enabled(gradients):
            plain = outcome(call, arguments, twice)
            if form is then_in_place and plain[0] == "gives" and plain[1][2] == "RuntimeError":
                continue  # torch's backward needs what has been changed, and the compiled one may not
            for _ in range(2):
                found = outcome(compiled, arguments, twice)
                words = f"{found[0]}, not {plain[0]}" if found[0] != plain[0] else differs(plain[1], found[1])
                if words:
                    yield sample.kwargs, words
                    break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dtype")
    parser.add_argument("samples", type=int)
    parser.add_argument("gradients", nargs="?")
    parser.add_argument("--turned", action="store_true")
    parser.add_argument("--form", choices=FORMS, default="call")
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    dtype, counts = getattr(torch, given.dtype), collections.Counter()
    for number, op in enumerate(op_db):
        if number < given.first or number % given.every or dtype not in op.dtypes or op.name in UNKNOWN:
            continue
        try:
            found = list(compare(op, dtype, given.samples, bool(given.gradients), given.turned, given.form))
        except Exception as error:  # noqa: BLE001  of making samples
            print(number, op.name, "cannot be asked:", type(error).__name__, str(error)[:100], flush=True)
            continue
        counts["differ" if found else "same"] += 1
        for kwargs, words in found:
            print(number, op.name, op.variant_test_name, str(kwargs)[:80], words, flush=True)
        if number % 20 == 0:
            frameloom.reset()
    print(dict(counts))
    return counts["differ"] != 0


if __name__ == "__main__":
    sys.exit(main())
