"""Values of all kinds under all that can be done with them, alone, in pairs and through their methods, and attributes of random
hierarchies of classes: compiled as plainly."""

import os

import class_programs
import operands
import pytest

COUNT = int(os.environ.get("FRAMELOOM_PROGRAMS", "800"))  # programs, shared by the tests
TOGETHER = 8  # that many things are done in one program: what one does must not disturb the next
SEEDS = range(8)


def compare(made):
    wrong = [w for i in range(0, len(made), TOGETHER) for w in operands.different(made[i:i + TOGETHER])]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("seed", SEEDS)
def test_operands(seed):
    compare(operands.deeds(seed, COUNT // 16 * TOGETHER))


@pytest.mark.parametrize("seed", SEEDS)
def test_methods(seed):
    compare(operands.methods(seed, COUNT // 32 * TOGETHER))


@pytest.mark.parametrize("seed", SEEDS)
def test_classes(seed):
    for i in range(max(COUNT // 32, 1)):
        wrong = class_programs.Program(1000 * seed + i).different()
        assert not wrong, wrong
