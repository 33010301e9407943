"""Random functions with breaks at places of every kind: what they give, do and raise is plain Python's, tracebacks too."""

import os

import numpy as np
import pytest
from break_programs import Writer, brk, made, seen

import frameloom

COUNT = min(int(os.environ.get("FRAMELOOM_PROGRAMS", "48")), 1000)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_like_python(part):
    for seed in range(part, COUNT, 4):
        source = Writer(seed).program()
        plain = made(source, f"program {seed}")
        compiled = frameloom.compile(plain, backend="interpret")
        for k in (0, 1, 1, 2, 3):
            assert seen(compiled, k) == seen(plain, k), f"seed {seed}\n{source}"
            try:  # the same while the caller handles an exception
                raise OSError("of the caller")
            except OSError:
                assert seen(compiled, k) == seen(plain, k), f"seed {seed}\n{source}"


def test_the_programs_differ():
    ends = [seen_of(seed) for seed in range(40)]
    assert len({end[0][0] for end in ends if isinstance(end[0][0], str)}) > 3 and len({end[1] for end in ends}) > 25


def seen_of(seed):
    return seen(made(Writer(seed).program(), f"program {seed}"), 1)


def test_a_callee_that_breaks_has_graphs_of_its_own():
    """Its operations are not joined with those of its caller: two graphs each (docs/graph-breaks.md)."""
    def callee(x):
        z = x + 3
        brk()
        return z * 5 - 1

    def function(a):
        x = a * 2
        y = callee(x)
        return y + 1

    report = frameloom.explain(function, np.arange(4.0))
    assert (report.graph_count, report.graph_break_count) == (4, 1)
