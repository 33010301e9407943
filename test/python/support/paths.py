"""Where the parts of this repository lie."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "test" / "python"
SUPPORT = TESTS / "support"
FUZZ = ROOT / "test" / "fuzz"
CPYTHON = ROOT / "test" / "cpython"  # CPython's own tests, compiled
BENCH = ROOT / "bench"
