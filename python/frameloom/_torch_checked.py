"""Checks of elements that eager torch makes inside of an operation, for graphs whose operations are described without elements.

An operation that is taken apart while it is traced loses them: `frameloom.checked` in its parts keeps them. A compiled call in
which a check fails runs again in eager torch, which raises its own exception.
"""

import torch
from torch._decomp import decomposition_table

aten = torch.ops.aten
_library = torch.library.Library("frameloom", "FRAGMENT")
# Described by kernels for tensors without memory: torch.library.register_fake() looks for the source of its caller, which takes longer
# than all else here.
_library.define("checked(Tensor x, float low, float high, str words) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))


def _checked(x, low, high, words):
    if not bool(((x >= low) & (x <= high)).all()):
        raise RuntimeError(words)
    return x.clone()


_library.impl("checked", _checked, "CompositeExplicitAutograd")
_library.impl("checked", lambda x, low, high, words: torch.empty_like(x), "Meta")


_library.define("seeded(Tensor x, int seed, Generator? generator=None) -> Tensor", tags=(torch.Tag.pt2_compliant_tag, torch.Tag.nondeterministic_seeded))


def _seeded(x, seed, generator=None):
    torch.manual_seed(seed) if generator is None else generator.manual_seed(seed)
    return x.clone()


_library.impl("seeded", _seeded, "CPU")
_library.impl("seeded", lambda x, seed, generator=None: torch.empty_like(x), "Meta")


def seeded(seed):
    """torch.manual_seed() in the order of the numbers that are drawn. Called on tensors without memory."""
    torch.ops.frameloom.seeded(torch.zeros(1, device="meta"), seed)


def between(x, low, high, words):
    """`x`, which is refused with these words if an element is not in [low, high]."""
    return torch.ops.frameloom.checked(x, low, high, words)


def _binary_cross_entropy(x, target, weight=None, reduction=1):
    x, target = (between(one, 0.0, 1.0, f"all elements of {name} should be between 0 and 1") for one, name in ((x, "input"), (target, "target")))
    return decomposition_table[aten.binary_cross_entropy.default](x, target, weight, reduction)


DECOMPOSITIONS = {aten.binary_cross_entropy.default: _binary_cross_entropy}

# ---- the loss of connectionist temporal classification, whose lengths are elements of tensors ----

_library.define("ctc_loss(Tensor x, Tensor targets, Tensor lengths, Tensor target_lengths, int blank, bool zero_infinity) -> Tensor")
_library.define("ctc_loss_backward(Tensor gradient, Tensor x, Tensor targets, Tensor lengths, Tensor target_lengths, int blank, bool zero_infinity) -> Tensor")


def _ctc_loss(x, targets, lengths, target_lengths, blank, zero_infinity):
    return torch._ctc_loss(x, targets, lengths.tolist(), target_lengths.tolist(), blank, zero_infinity)[0].clone()


def _ctc_loss_backward(gradient, x, targets, lengths, target_lengths, blank, zero_infinity):
    lengths, target_lengths = lengths.tolist(), target_lengths.tolist()
    kept = torch._ctc_loss(x, targets, lengths, target_lengths, blank, zero_infinity)
    return aten._ctc_loss_backward(gradient, x, targets, lengths, target_lengths, *kept, blank, zero_infinity)


class _Ctc(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *given):
        ctx.save_for_backward(*given[:4])
        ctx.rest = given[4:]
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.frameloom.ctc_loss(*given)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        return torch.ops.frameloom.ctc_loss_backward(gradient, *ctx.saved_tensors, *ctx.rest), None, None, None, None, None


_library.impl("ctc_loss", _ctc_loss, "CPU")
_library.impl("ctc_loss", lambda x, *others: x.new_empty(x.size(1)), "Meta")
_library.impl("ctc_loss", super(torch.autograd.Function, _Ctc).apply, "Autograd")
_library.impl("ctc_loss_backward", _ctc_loss_backward, "CPU")
_library.impl("ctc_loss_backward", lambda gradient, x, *others: x.new_empty(x.shape), "Meta")


def ctc_loss(x, targets, lengths, target_lengths, blank, zero_infinity):
    """The loss of each sequence of a batch, before it is reduced."""
    return torch.ops.frameloom.ctc_loss(x, targets, lengths, target_lengths, blank, zero_infinity)
