"""What backward() of a torch.autograd.Function has read at capture: is it still there when the gradient is computed?

A place is a variable, an attribute or an item. What stands there is compared by identity, numbers by their value, and of containers,
arrays and tensors the content as well.
"""

import numpy
import torch

from ._native import read_source

NUMBERS = frozenset({int, float, complex, bool, str, bytes})


def _content(one):
    """What tells whether an object has changed, and is not changed with it."""
    kind = type(one)
    if isinstance(one, torch.Tensor):
        return one._version if not one.is_inference() else None
    if isinstance(one, (list, tuple)):
        return tuple(one)
    if isinstance(one, dict):
        return tuple(dict.items(one))
    if isinstance(one, (set, frozenset)):
        return tuple(one)
    return one.copy() if kind is numpy.ndarray else None


def _same(one, other):
    """Would code that reads one of the two do what it does with the other one?"""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) in NUMBERS:
        return repr(one) == repr(other)
    if type(one) is tuple:
        return len(one) == len(other) and all(map(_same, one, other))
    return False


def _same_content(one, other):
    if isinstance(one, numpy.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return _same(one, other)


class Watched:
    """A program that computes gradients (of `_tensor_gradients`), for one run. `ways`: for each place how it is read of its holder."""

    def __init__(self, program, ways, holders):
        self.program, self.ends, self.draws = program, program.ends, program.draws
        self.ways, self.holders = ways, holders
        self.renew()

    def read(self):
        """By place: (), or what stands there and its content."""
        found = [read_source(*way, holder) for way, holder in zip(self.ways, self.holders)]
        return [one and (one[0], _content(one[0])) for one in found]

    def renew(self):
        self.before = self.read()

    def has_changed(self):
        for one, other in zip(self.before, self.read()):
            if bool(one) != bool(other) or one and not (_same(one[0], other[0]) and _same_content(one[1], other[1])):
                return True
        return False

    def run(self, call, tangents):
        return self.program.run(call, tangents, anew=self.has_changed())

    def differentiable(self, call, tangents):
        return self.program.differentiable(call, tangents, anew=self.has_changed())


renew = Watched.renew
