"""Ints at the edges of what a size, an offset, a step, an axis or an index may be give what NumPy gives: the value with
its strides, or the error with its text. A process of its own with little memory runs a share of the programs, so that a
crash is a failure with the program that caused it."""

import random

import edge_programs
import pytest
from processes import run_code, with_own_path

SHARES, PROGRAMS = 6, 90
RUN = """
import random, sys
import edge_programs
chosen = list(edge_programs.programs())
random.Random(int(sys.argv[1])).shuffle(chosen)
edge_programs.run_all(chosen[:int(sys.argv[2])])
"""


@pytest.mark.parametrize("share", range(SHARES))
def test_edges(share):
    done = run_code(RUN, share, PROGRAMS, environment=with_own_path())
    lines = done.stdout.splitlines()
    ran = [line for line in lines if line.startswith("RUN")]
    programs = {f"RUN {number}": (body, edge) for number, body, edge in edge_programs.programs()}
    assert done.returncode == 0 and lines[-1] == "END", (programs.get(ran[-1]) if ran else None, done.stderr[-1000:])
    assert len(ran) == PROGRAMS
    assert "DIFFERS" not in done.stdout, done.stdout[done.stdout.index("DIFFERS"):][:4000]


def test_edges_are_many():
    programs = list(edge_programs.programs())
    assert len(programs) > 5000 and len({number for number, _, _ in programs}) == len(programs)
    assert random.Random(0).sample(programs, 2) != random.Random(1).sample(programs, 2)


# What ended the process, or gave an array, before every int passed one check.
KNOWN = """
np.eye(-1)
np.eye(3, -1)
np.identity(-1)
np.broadcast_to(v, (-10**6, 6))
np.broadcast_to(v, (-1, 6))
v[::-2**62 - 1]
v.reshape(-2**62 - 1)
np.vander(v, -2**62 - 1)
np.diagonal(m, 2**63 - 1)
np.trace(m, -2**63)
np.trace(m, 2**32)
np.zeros(2**62)
np.empty((2**40, 2**40))
np.ones(10**15)
np.zeros(10**15).sum()
(np.ones((2**33, 2**33)) + 1).sum()
np.ones((2**31, 1)) * np.ones((1, 2**31))
np.tensordot(e, e, axes=0)
np.zeros((2**40, 0))
"""


@pytest.mark.parametrize("text", KNOWN.strip().splitlines())
def test_known(text):
    done = run_code(f"import edge_programs as p; p.run_all([(0, 'return ' + {text!r}, '0')])", environment=with_own_path())
    assert done.returncode == 0 and done.stdout.splitlines() == ["RUN 0", "END"], (done.stdout, done.stderr[-500:])
