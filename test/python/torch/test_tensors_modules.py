"""Random modules that are called and trained, with state, hooks, breaks and changes between the calls, leave what they leave in eager
torch. `python test/python/support/module_programs.py COUNT SEED` runs more of them."""

import module_programs
import pytest

import frameloom


@pytest.mark.parametrize("first", range(1000, 1060, 10))
def test_random_modules(first):
    for seed in range(first, first + 10):
        source, found = module_programs.compare(seed)
        assert found is None, f"seed {seed}: {found}\n{source}"
    frameloom.reset()
