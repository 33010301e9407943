"""Damaged input never crashes loom-opt nor hangs it: exit code 0 or 1, and a diagnostic with 1."""

import random
import subprocess

import pytest
from damaged import damage, passes, programs
from paths import ROOT
from processes import PATIENCE
from test_interpreter import LOOM_OPT

pytestmark = pytest.mark.skipif(LOOM_OPT is None, reason="loom-opt is not built")


@pytest.mark.parametrize("seed", range(6))
def test_damaged_text(seed):
    choose = random.Random(seed)
    texts, flags = list(programs()), passes()
    for _ in range(10):
        text = damage(choose, choose.choice(texts))
        options = choose.choice([["--canonicalize", "--cse"], ["--inline", "--sccp"], ["--loom-cpu"],
                                 ["--" + f for f in choose.sample(flags, 2)]])
        done = subprocess.run([LOOM_OPT, "-", *options], input=text, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode in (0, 1), (options, text, done.stderr[-500:])
        assert done.returncode == 0 or "error" in done.stderr, (options, text)


def test_damaged_bytecode(tmp_path):
    source = ROOT / "test" / "dialects" / "ops.mlir"
    made = subprocess.run([LOOM_OPT, "--emit-bytecode", str(source)], capture_output=True)
    assert made.returncode == 0
    choose = random.Random(7)
    for i in range(20):
        data = bytearray(made.stdout)
        for _ in range(choose.choice([1, 1, 3])):
            data[choose.randrange(6, len(data))] = choose.randrange(256)
        path = tmp_path / f"{i}.mlirbc"
        path.write_bytes(data[: choose.randrange(len(data))] if i % 4 == 0 else data)
        done = subprocess.run([LOOM_OPT, str(path), "--canonicalize"], capture_output=True, timeout=PATIENCE)
        assert done.returncode in (0, 1), done.stderr[-500:]
