"""Damaged input never crashes loom-opt nor hangs it: exit code 0 or 1, and a diagnostic with 1."""

import random
import re
import subprocess

import pytest
from paths import ROOT
from test_interpreter import LOOM_OPT

pytestmark = pytest.mark.skipif(LOOM_OPT is None, reason="loom-opt is not built")
TOKEN = re.compile(r'\s+|[%@#!^]?[\w.$-]+|"[^"]*"|.', re.S)
NUMBERS = ["0", "-1", "1", "3", "4096", "2147483648", "9223372036854775807", "-9223372036854775808"]
ELEMENTS = ["f32", "0x4xf32", "4xi1", "?x4xf32", "4xindex", "1000000000x1000000000xf32", "4x8xf16", "4xcomplex<f32>",
            "2x0xi64", "f80", "4xbf16", "4x8xui8"]


def programs():
    for path in sorted((ROOT / "test").glob("*/*.mlir")):
        for piece in path.read_text().split("// -----"):
            text = re.sub(r"//.*", "", piece)
            if text.strip():
                yield text


def passes():
    return re.findall(r'LOOM_PASS\(\w+,\s*"([\w-]+)"', (ROOT / "passes" / "passes.def").read_text())


def damage(choose, text):
    tokens = TOKEN.findall(text)
    for _ in range(choose.choice([1, 1, 2, 4])):
        at, other, how = choose.randrange(len(tokens)), choose.randrange(len(tokens)), choose.random()
        if how < 0.2:
            tokens[at] = ""
        elif how < 0.35:
            tokens[at] = tokens[other]
        elif how < 0.6:
            numbers = [i for i, t in enumerate(tokens) if re.fullmatch(r"-?\d+", t)]
            if numbers:
                tokens[choose.choice(numbers)] = choose.choice(NUMBERS)
        elif how < 0.75:
            types = [i for i, t in enumerate(tokens) if re.fullmatch(r"(\d+x)*(f32|f64|i1|i32|i64|ui8)", t)]
            if types:
                tokens[choose.choice(types)] = choose.choice(ELEMENTS)
        elif how < 0.85:
            tokens[at:] = [""]
        else:
            tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


@pytest.mark.parametrize("seed", range(6))
def test_damaged_text(seed):
    choose = random.Random(seed)
    texts, flags = list(programs()), passes()
    for _ in range(10):
        text = damage(choose, choose.choice(texts))
        options = choose.choice([["--canonicalize", "--cse"], ["--inline", "--sccp"], ["--loom-cpu"],
                                 ["--" + f for f in choose.sample(flags, 2)]])
        done = subprocess.run([LOOM_OPT, "-", *options], input=text, capture_output=True, text=True, timeout=60)
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
        done = subprocess.run([LOOM_OPT, str(path), "--canonicalize"], capture_output=True, timeout=60)
        assert done.returncode in (0, 1), done.stderr[-500:]
