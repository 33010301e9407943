"""Damaged text and bytecode through loom-opt: no input may crash it or keep it busy.

`python test/fuzz/damaged.py --count 100000 --seed 1 --keep build/fuzz` opens the compiler library once and forks for each input,
which costs milliseconds where a process of its own costs many times as much. Inputs are pieces of the tests' MLIR files.
"""

import argparse
import ctypes
import os
import random
import re
import resource
import signal
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOKEN = re.compile(r'\s+|[%@#!^]?[\w.$-]+|"[^"]*"|.', re.S)
NUMBERS = ["0", "-1", "1", "3", "4096", "2147483648", "9223372036854775807", "-9223372036854775808"]
ELEMENTS = ["f32", "0x4xf32", "4xi1", "?x4xf32", "4xindex", "1000000000x1000000000xf32", "4x8xf16", "4xcomplex<f32>",
            "2x0xi64", "f80", "4xbf16", "4x8xui8"]
SECONDS = 120  # of processor time for one input


def programs():
    for path in sorted((ROOT / "test").glob("*/*.mlir")):
        for piece in path.read_text().split("// -----"):
            text = re.sub(r"//.*", "", piece)
            if text.strip():
                yield text


def passes():
    flags = re.findall(r'LOOM_PASS\(\w+,\s*"([\w-]+)"', (ROOT / "passes" / "passes.def").read_text())
    return [flag + {"loom-check-stages": "=limit=60"}.get(flag, "") for flag in flags]


def damage(choose, text):
    """The text with a few tokens dropped, copied, swapped or replaced, or cut off."""
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


def damage_bytes(choose, data):
    """The bytes with a few of them changed, dropped or doubled, or cut off; the magic number stays."""
    data = bytearray(data)
    for _ in range(choose.choice([1, 1, 2, 4])):
        at, how = choose.randrange(4, len(data)), choose.random()
        if how < 0.7:
            data[at] = choose.choice([choose.randrange(256), data[at] ^ 1 << choose.randrange(8), 0, 255])
        elif how < 0.8:
            del data[at:at + choose.randint(1, 4)]
        elif how < 0.9:
            data[at:at] = data[at:at + choose.randint(1, 8)]
        else:
            del data[max(at, 5):]
        if len(data) < 6:
            break
    return bytes(data)


class Tool:
    """loom-opt in a process of its own for each input, forked off one that has the library."""

    def __init__(self, library):
        self.library = ctypes.CDLL(str(library))
        self.folder = tempfile.TemporaryDirectory()
        self.input, self.output = (Path(self.folder.name) / name for name in ("input", "output"))

    def run(self, data, options):
        """(how it ended, what it said): 0 or 1, or a signal's name."""
        self.input.write_bytes(data)
        child = os.fork()
        if not child:
            try:
                out = os.open(self.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                null = os.open(os.devnull, os.O_RDWR)
                os.dup2(null, 0)
                os.dup2(null, 1)
                os.dup2(out, 2)
                resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                words = [b"loom-opt", str(self.input).encode(), *(o.encode() for o in options)]
                status = self.library.loom_tool_opt(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None))
                os._exit(status if status in (0, 1) else 2)
            finally:
                os._exit(3)
        status = os.waitpid(child, 0)[1]
        said = self.output.read_bytes()[-100000:].decode(errors="replace") if self.output.exists() else ""
        if os.WIFSIGNALED(status):
            return signal.Signals(os.WTERMSIG(status)).name, said
        return os.WEXITSTATUS(status), said

    def bytecode(self, text):
        """A program as bytecode; empty where it is refused."""
        made = Path(self.folder.name) / "bytecode"
        made.unlink(missing_ok=True)
        self.run(text.encode(), ["--emit-bytecode", "-o", str(made)])
        return made.read_bytes() if made.exists() else b""


def options_of(choose, flags):
    upstream = ["--canonicalize", "--cse", "--inline", "--sccp", "--loop-invariant-code-motion", "--control-flow-sink", "--symbol-dce", "--remove-dead-values"]
    chosen = choose.choice([choose.sample(upstream, 2), [choose.choice(["--loom-cpu", "--loom-plans", "--loom-kernels"])],
                            ["--" + f for f in choose.sample(flags, 2)], ["--" + choose.choice(flags), choose.choice(upstream)], []])
    return [*chosen, "--mlir-disable-threading"]


def fuzz(tool, count, seed, keep):
    """Runs `count` inputs; returns how many ended in another way than 0, or 1 with an error."""
    choose, texts, flags, found = random.Random(seed), list(programs()), passes(), {}
    codes = [code for code in map(tool.bytecode, texts) if code]
    for i in range(count):
        if i % 4 == 3:
            data = damage_bytes(choose, choose.choice(codes))
        else:
            data = damage(choose, choose.choice(texts)).encode()
        options = options_of(choose, flags)
        end, said = tool.run(data, options)
        if end == 0 or end == 1 and "error" in said:
            continue
        where = re.findall(r"#\d+ 0x\w+ (.*)", said)
        what = f"{end} {' < '.join(where[3:6]) or said[-100:]}"
        found[what] = found.get(what, 0) + 1
        if found[what] == 1:
            print(f"{seed}-{i}: {what}: {' '.join(options)}", flush=True)
            if keep:
                Path(keep).mkdir(parents=True, exist_ok=True)
                (Path(keep) / f"damaged-{seed}-{i}.mlir").write_bytes(data)
    print(f"{count} inputs, {len(texts)} programs, {len(codes)} of them as bytecode, {sum(found.values())} bad ends", flush=True)
    return sum(found.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="folder for inputs that end badly")
    parser.add_argument("--library", default=ROOT / "python" / "frameloom" / "libloom_compiler.so")
    chosen = parser.parse_args()
    sys.exit(fuzz(Tool(chosen.library), chosen.count, chosen.seed, chosen.keep) != 0)


if __name__ == "__main__":
    main()
