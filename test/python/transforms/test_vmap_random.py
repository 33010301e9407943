"""frameloom.vmap of random programs, against the program called for each element (support/batch_programs.py)."""

import collections

import batch_programs
import pytest


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_a_batch_is_its_elements(first):
    refused = collections.Counter()
    found = [text for number in range(first, first + 30) if (text := batch_programs.batch_difference(number, refused))]
    assert not found, "\n\n".join(found)
    assert sum(refused.values()) <= 5, refused
