"""loom-vmap on random functions of every op."""

import pytest
import vmap_functions


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_is_its_examples(seed):
    assert vmap_functions.differences(25, seed) == []
