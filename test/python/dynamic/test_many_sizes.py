"""Many sizes that change from call to call: sums of them, and what is compiled where they are too many."""

import numpy as np
import pytest

import frameloom


@pytest.mark.parametrize("count", [8, 24, 36, 41])
def test_a_sum_of_many_sizes(count):
    def function(arrays):
        return np.concatenate(arrays)

    compiled = frameloom.compile(function, dynamic=True, fullgraph=True)
    for step in (1, 2, 3):
        arrays = [np.arange(float(step * i + 2)) for i in range(count)]
        assert np.array_equal(compiled(arrays), function(arrays))
    # A sum has up to 40 terms; of more sizes there is a version for each call.
    assert compiled._report()["captures"] == (3 if count > 40 else 1)


@pytest.mark.parametrize("count", [20, 45])
def test_a_part_that_cannot_be_compiled_with_symbolic_sizes(count):
    def function(arrays):
        sorts = [np.sort(np.cumsum(np.sort(x))[::-1].copy()) for x in arrays]
        total = sum(x.sum() for x in sorts)
        frameloom.graph_break()
        return total + 1

    compiled = frameloom.compile(function, dynamic=True)
    for step in (1, 2, 3):
        arrays = [np.arange(float(step * i + 2)) for i in range(count)]
        assert compiled(arrays) == function(arrays)
    assert len(compiled._report()["breaks"]) == 1
