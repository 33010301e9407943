"""CPython's own tests of the language, each test method run by frameloom.compile: nothing may fail that passes plainly.

    python test/cpython/run.py [--recoded] [--all] [--table FILE] [--limit SECONDS] [--verbose] [--breaks] [module ...]

Every module runs in a process of its own, first plainly, then compiled; a method that crashes or hangs is noted and the
module goes on behind it. Ends with 1 when a method fails, crashes or hangs that does not do so plainly. `--table` writes
the share of the methods that were captured to docs/cpython-tests.md. `--recoded` compiles nothing: every code object of
the standard library, and of its tests, is decoded, encoded again and run in place of what it was.
"""

import argparse
import importlib.util
import pathlib
import platform
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "suites"))
import process  # noqa: E402

LISTED = [line for line in (HERE / "modules.txt").read_text().splitlines() if not line.startswith("#")]
MODULES = [line for line in LISTED if not line.startswith("+")]
VERSION = "{}.{}".format(*sys.version_info)


class Run(process.Run):
    """One module in one mode."""

    def __init__(self, module, mode, limit):
        self.mode = mode
        super().__init__(f"test.{module}", [sys.executable, str(HERE / "worker.py"), mode, module], limit)


def known(mode):
    """Tests that differ for a reason on record: by id. A row may begin with @ and where it holds: modes, versions."""
    found = {}
    for line in (HERE / "known.txt").read_text().splitlines():
        places, _, row = line[1:].partition(" ") if line.startswith("@") else ("compiled", "", line)
        modes = {place for place in places.split(",") if not place[0].isdigit()} or {"compiled"}
        versions = {place for place in places.split(",") if place[0].isdigit()} or {VERSION}
        if row and not row.startswith("#") and mode in modes and VERSION in versions:
            found.update([row.split(" ", 1)])
    return found


def differences(plain, compiled):
    """Tests that are not as they are plainly: (id, outcomes plainly, outcomes compiled, traceback)."""
    for name, row in compiled.rows.items():
        want = plain.rows.get(name, {"outcomes": ["not run"], "traces": [""]})
        if row["outcomes"] == want["outcomes"]:
            continue
        if row["outcomes"] == ["does not load"]:
            yield name, want["outcomes"], row["outcomes"], row["traces"][0]
            continue
        # The second run of a method that cannot be run twice may fail in more than one way.
        if "pass" not in want["outcomes"] and "crash" not in row["outcomes"] and "hang" not in row["outcomes"]:
            continue
        if all(g == w or w not in ("pass", "skip") for g, w in zip(row["outcomes"], want["outcomes"])) and len(
                row["outcomes"]) == len(want["outcomes"]):
            continue
        yield name, want["outcomes"], row["outcomes"], next((t for t in row["traces"] if t), "")


def share(rows, *kinds):
    counted = [r for r in rows if "captured" in r and r["outcomes"][0] != "skip"]
    return sum(r["captured"] in kinds for r in counted), len(counted)


INTRODUCTION = """# CPython's own tests

Written by `make test-cpython`: the test methods of these modules of CPython's own test suite, each run twice plainly and
twice by `frameloom.compile`, a section for each version. A method is *as plainly* when it does the same in compiled as
in plain runs. *Whole*: captured without a graph break; *in parts*: with breaks; methods in neither column ran as plain
Python (most of these raise an exception, or are coroutines). Methods that are skipped plainly are not counted.
"""


def section(results):
    """Of one version."""
    lines = [
        f"## CPython {platform.python_version()}",
        "",
        "| module | methods | as plainly | whole | in parts |",
        "|---|---|---|---|---|",
    ]
    totals = [0, 0, 0, 0]
    for module, (plain, compiled) in results.items():
        whole, counted = share(compiled.rows.values(), "whole")
        parts, _ = share(compiled.rows.values(), "parts")
        different = list(differences(plain, compiled))
        good = counted - sum("captured" in compiled.rows[name] for name, *_ in different)
        counted += sum("captured" not in compiled.rows[name] for name, *_ in different)
        percent = f"{100 * whole / counted:.0f} %" if counted else ""
        lines.append(f"| `{module}` | {counted} | {good} | {whole} ({percent}) | {parts} |")
        totals = [a + b for a, b in zip(totals, (counted, good, whole, parts))]
    lines.append(f"| **all** | {totals[0]} | {totals[1]} | {totals[2]} ({100 * totals[2] / max(totals[0], 1):.0f} %) | {totals[3]} |")
    lines += ["", "These differ:", ""] + [f"- `{name}`: {why}" for name, why in known("compiled").items()]
    return "\n".join(lines) + "\n"


def write_table(path, results):
    """In place of what this version's section was."""
    before = path.read_text().split("\n## ")[1:] if path.exists() else []
    sections = {part.split()[1].rpartition(".")[0]: "## " + part.rstrip() + "\n" for part in before}
    sections[VERSION] = section(results)
    path.write_text("\n".join([INTRODUCTION] + [sections[key] for key in sorted(sections)]))


def available(module):
    """Not every version has every module."""
    try:
        return importlib.util.find_spec(f"test.{module}") is not None
    except ModuleNotFoundError:
        return False


def told(run):
    """What there is to say of a run that is not plain."""
    if run.mode == "recoded":
        passed = sum(row["outcomes"][0] == "pass" for row in run.rows.values())
        return f"{len(run.rows)} methods, {passed} pass, {run.counts[0]} code objects of {sum(run.counts)}"
    whole, counted = share(run.rows.values(), "whole")
    parts, _ = share(run.rows.values(), "parts")
    return f"{counted} methods, {whole} whole, {parts} in parts"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--recoded", action="store_true", help="decode, encode and run all code instead")
    parser.add_argument("--all", action="store_true", help="the long ones, too")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=120, help="seconds for one method")
    parser.add_argument("--verbose", action="store_true", help="with tracebacks")
    parser.add_argument("--breaks", action="store_true", help="the breaks of every method")
    options = parser.parse_args()
    mode = "recoded" if options.recoded else "compiled"
    excused = known(mode)
    results, wrong = {}, 0
    if not available("test_grammar"):
        sys.exit("this CPython came without its own tests (Debian: libpython3-testsuite)")
    for module in filter(available, options.modules or ([m.strip("+ ") for m in LISTED] if options.all else MODULES)):
        plain, other = Run(module, "plain", options.limit), Run(module, mode, options.limit)
        results[module] = plain, other
        print(f"{module}: {told(other)}, {plain.seconds:.1f} s and {other.seconds:.1f} s", flush=True)
        for name, want, got, trace in differences(plain, other):
            wrong += name not in excused
            print(f"  {name}: {'/'.join(got)} instead of {'/'.join(want)}" + (": known" if name in excused else ""))
            if options.verbose:
                print("    " + trace.strip().replace("\n", "\n    "))
        for name, row in other.rows.items() if options.breaks else ():
            for words in row.get("breaks", ()):
                print(f"  {name}: {words}")
    if options.table:
        write_table(options.table, results)
    print(f"{wrong} methods differ" if wrong else "no method differs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
