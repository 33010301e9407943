"""Random programs: their gradients against differences."""

import pytest
from gradient_programs import checkpoint_difference, difference, rule_difference


@pytest.mark.parametrize("seed", range(60))
def test_random_program(seed):
    found = difference(seed)
    assert found is None, found


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_random_rule(seed):
    """A function whose derivative is given as its own has the gradients of the function."""
    found = rule_difference(seed)
    assert found is None, found


@pytest.mark.parametrize("seed", range(9000, 9012))
def test_checkpoints_change_no_derivative(seed):
    found = checkpoint_difference(seed)
    assert found is None, found
