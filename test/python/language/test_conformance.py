"""Every small function of cases/ does compiled what it does plainly, with as many graphs and breaks as are on record."""

import conformance
import pytest
from cases import CASES


@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_like_python(case, backend):
    numbers = conformance.run(case, backend)
    if backend == "interpret":
        assert numbers == conformance.expected().get(case.name), "`python test/python/support/conformance.py --update` and read the diff"


def test_there_are_enough_cases():
    assert len(CASES) >= 400 and len({c.name for c in CASES}) == len(CASES)
    assert set(conformance.expected()) == {c.name for c in CASES}
