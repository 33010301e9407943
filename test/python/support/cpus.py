"""The kinds of CPUs that tests make code for."""

from pathlib import Path

HAS_AVX512 = "avx512f" in Path("/proc/cpuinfo").read_text()
# What this machine is, and what a narrower one would be. Where it is the narrower one itself, both would be asked the same.
KINDS = ["native", "x86-64-v3"] if HAS_AVX512 else ["native"]
