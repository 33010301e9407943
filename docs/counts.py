"""Counts what the tests of the architecture hold to a limit: how far the tree is from each.

    python docs/counts.py

docs/architecture.md has the limits and what was counted before there were any.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "test" / "python" / folder) for folder in ("support", "tools")]
sys.dont_write_bytecode = True

import test_architecture as rules  # noqa: E402


def lines(path):
    return len(path.read_text().splitlines())


def counts():
    """(what is counted, how many)"""
    code = [path for folder in rules.RULES for path in rules.sources(folder, ".c")]
    headers = [path for folder in rules.RULES for path in rules.sources(folder, ".h")]
    asked = list(rules.op_tests())
    pairs = [place for _, place in asked if rules.OP_TESTS.fullmatch(place)]
    yield "lines of the longest file", max(map(lines, code))
    yield "files of more than 600 lines", sum(lines(path) > 600 for path in code)
    yield "lines of the longest header", max(map(lines, headers))
    yield "functions in public headers of the frontend that only their own floor calls", len(rules.functions_of_one_floor())
    yield "places that ask whether an op is a certain one", len(pairs)
    yield "comparisons of an opcode that is at hand", len(asked) - len(pairs)
    yield "places that ask whether a value has a certain type", len(rules.type_tests()[1])


def main():
    for what, count in counts():
        print(f"{count:5} {what}")


if __name__ == "__main__":
    main()
