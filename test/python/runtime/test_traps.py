"""Whatever a compiled version rests on may change between two calls: the next answer is plain Python's all the same."""

import copy
import warnings

import numpy as np
import pytest
from compare import assert_same, outcome
from traps import MARK, TRAPS

import frameloom


def same(got, want):
    if type(want) is type:
        assert got is want
    elif isinstance(want, np.ma.MaskedArray):
        assert type(got) is type(want) and np.ma.allequal(got, want) and np.array_equal(got.mask, want.mask)
    elif isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want), (got, want)
        for g, w in zip(got, want):
            same(g, w)
    elif isinstance(want, np.ndarray) and want.dtype.kind in "OV":
        assert got.dtype == want.dtype and got.tolist() == want.tolist()
    else:
        assert_same(got, want)


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


def compare(function, compiled, arguments):
    """Plain and compiled on equal arguments."""
    ours, copies = arguments(), {}
    theirs = [duplicate(a, copies) for a in ours]
    want, want_error, want_warned = outcome(function, theirs)
    got, error, warned = outcome(compiled, ours)
    assert type(error) is type(want_error) and str(error) == str(want_error), (error, want_error)
    assert warned == want_warned
    if want_error is None:
        same(got, want)
    for a, b in zip(ours, theirs):
        if isinstance(a, np.ndarray) and a.dtype.kind not in "OV":
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


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
                compare(function, compiled, arguments)
            for _ in range(times):
                change()
                for _ in range(2):
                    compare(function, compiled, arguments)
    finally:
        if restore:
            restore()
