"""Where the parts of this repository lie, and what the environment chooses."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "test" / "python"
SUPPORT = TESTS / "support"
FUZZ = ROOT / "test" / "fuzz"
CPYTHON = ROOT / "test" / "cpython"  # CPython's own tests, compiled
BENCH = ROOT / "bench"

OP_TABLE = [ROOT / "dialects" / name for name in ("loom.td", "ops_elementwise.td", "ops_arrays.td", "ops_control.td")]  # in its order


def op_table():
    """The text of the table of ops."""
    return "\n".join(path.read_text() for path in OP_TABLE)


BUILD = Path(os.environ.get("LOOM_BUILD", ROOT / "build" / "dev")).absolute()  # tools of the compiler are in its bin/
FIRST = int(os.environ.get("FRAMELOOM_FIRST_SEED", "0"))  # of random programs
