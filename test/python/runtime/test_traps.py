"""Whatever a compiled version rests on may change between two calls: the next answer is plain Python's all the same."""

import copy
import warnings

import numpy as np
import pytest
from compare import assert_same, assert_same_call, outcome
from traps import MARK, TRAPS

import frameloom


def duplicate(argument, copies):
    """An equal array on equal terms: its strides, and what it shares with others; other objects are themselves."""
    if type(argument) is not np.ndarray:
        return argument
    base = argument
    while isinstance(base.base, np.ndarray):
        base = base.base
    if id(base) not in copies:
        copies[id(base)] = copy.deepcopy(base) if base.flags.c_contiguous else base.copy("K")
        copies[id(base)].setflags(write=base.flags.writeable)
    if base is argument:
        return copies[id(base)]
    offset = argument.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    view = np.ndarray(argument.shape, argument.dtype, copies[id(base)], offset, argument.strides)
    view.setflags(write=argument.flags.writeable)
    return view


def same_call(function, compiled, arguments):
    """Plain and compiled on equal arguments."""
    ours, copies = arguments(), {}
    theirs = [duplicate(a, copies) for a in ours]
    want = outcome(function, theirs)
    assert_same_call(outcome(compiled, ours), want)
    for a, b in zip(ours, theirs):
        if isinstance(a, np.ndarray):
            assert_same(a, b, ulps=0)


@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("warm", [1, 3])
@pytest.mark.parametrize("make", TRAPS, ids=lambda m: m.__name__)
def test_answers_as_python_after_a_change(make, warm, backend):
    function, arguments, change, *rest = make()
    restore, times = (rest + [None, 1])[0], (rest + [None, 1])[1] if len(rest) > 1 else 1
    held = arguments()[-1]
    MARK[0] = type(held).__mro__[1] if len(type(held).__mro__) > 2 else object
    compiled = frameloom.compile(function, backend=backend)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(warm):
                same_call(function, compiled, arguments)
            for _ in range(times):
                change()
                for _ in range(2):
                    same_call(function, compiled, arguments)
    finally:
        if restore:
            restore()
