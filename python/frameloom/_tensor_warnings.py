"""Warnings of calls that capture makes on tensors without memory: the user is to see those of the calls that count, where they are."""

import os
import threading
import warnings

import torch


class Caught:
    """Collects the warnings of this thread while it is active. What filters have let pass is not forgotten by it, as it would be by
    `warnings.catch_warnings`: registries of modules stay as they are."""

    ALWAYS = ("always", None, Warning, None, 0)

    def __init__(self):
        self.messages = []

    def __enter__(self):
        self.show, self.thread = warnings._showwarnmsg, threading.get_ident()
        warnings._showwarnmsg = self.take
        warnings.filters.insert(0, self.ALWAYS)
        return self

    def take(self, message):
        if threading.get_ident() == self.thread:
            self.messages.append(message)
        else:
            self.show(message)

    def __exit__(self, *exception):
        warnings._showwarnmsg = self.show
        for i, one in enumerate(warnings.filters):
            if one is self.ALWAYS:
                del warnings.filters[i]
                break


class _Alone(torch.autograd.Function):
    """Torch gives the warnings of its operations where a call from Python into it ends. That of such a function is one."""

    @staticmethod
    def forward(ctx, call):
        return call()


_alone = super(torch.autograd.Function, _Alone).apply  # without what is done for torch.func


def unheard(function, *args, **kwargs):
    """What a call of one of torch's operations with tensors of capture's own gives, and whether it warns. Nobody sees the warnings,
    and those that torch gives once in a process are given by a later call."""
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    made = []
    try:
        with Caught() as caught:
            _alone(lambda: made.append(function(*args, **kwargs)))
    finally:
        torch.set_warn_always(always)
    return made[0], bool(caught.messages)


HERE = os.path.dirname(__file__)


def once(messages, place):
    """Gives warnings that torch gives once in a process: where they come from, or, if that is the call that capture has made, for
    `place`, (file, line)."""
    for message in messages:
        ours = os.path.dirname(message.filename) == HERE
        file, line = place if ours else (message.filename, message.lineno)
        warnings.warn_explicit(message.message, message.category, file or "<unknown>", line)
