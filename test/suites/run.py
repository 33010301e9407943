"""Test suites of libraries, each test run by frameloom.compile: nothing may fail, warn or crash that does not do so plainly.

    python test/suites/run.py SUITE [--short] [--table FILE] [--limit SECONDS] [--processes N] [--verbose] [file ...]

Every file runs in a process of its own, first plainly, then compiled (worker.py); a test that crashes or hangs is noted and
the file goes on behind it. Ends with 1 when a test differs from the plain run for a reason that is not on record in
known/SUITE.txt. `files/SUITE.txt` lists the files; those with a + in front are long ones, which `--short` leaves out.
SUITE is the name of the package: one of SUITES, or any other whose files are named. `--own` has the package's functions compiled wherever they are called from;
`--sample N` takes a few tests of each file, with `--seed S` others.
`--table` writes what became of each file to a page of the documentation, anew behind each file; with `--add` the page keeps
its rows of other files. `--kept FOLDER` keeps what
became of each file there and does not run it again: a run of hours goes on where it was stopped.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import sys
import textwrap
import types
import typing

import process

HERE = pathlib.Path(__file__).resolve().parent


class Suite(typing.NamedTuple):
    """A package, and what the pages of the documentation call it and the files that are run."""

    title: str
    files: str
    own: bool = False  # plain Python: all its functions are compiled, as with --own
    torch_compile: bool = False  # tests that call torch.compile themselves, for which frameloom.compile stands (torch_compile.py)

    def page_says(self, short):
        """What runs, and what a test in the column "as plainly" does."""
        if self.torch_compile:
            return (f"the {self.files}, each test once with `torch.compile` that leaves functions as they are, and once with "
                    "`frameloom.compile` in place of it; how many graphs there are, and how they look, is not asked, and tests that fail "
                    "plainly (most look into Dynamo) are not compared. A test is *as plainly* when it has the same outcome and the same "
                    "warnings (category, text, file and line). ")
        return (f"the {'short ' if short else ''}{self.files}, each test run three times plainly and three times by `frameloom.compile` "
                "(twice the same compiled function, once with `dynamic=True`), with a fresh state for each test. A test is *as plainly* "
                "when all three runs have the same outcome, the same warnings (category, text, file and line) and leave the same "
                "floating-point error state. ")


SUITES = {
    "numpy": Suite("NumPy", "test files that it installs"),
    "scipy": Suite("SciPy", "test files listed below"),
    "sklearn": Suite("scikit-learn", "test files listed below"),
    "pandas": Suite("pandas", "test files listed below"),
    "networkx": Suite("NetworkX", "test files listed below", own=True),
    "mpmath": Suite("mpmath", "test files listed below", own=True),
    "toolz": Suite("toolz", "test files listed below", own=True),
    "statsmodels": Suite("statsmodels", "test files listed below", own=True),
    "xarray": Suite("xarray", "test files listed below", own=True),
    "pywt": Suite("PyWavelets", "test files that it installs", own=True),
    "dask": Suite("Dask", "test files of its arrays", own=True),
    "astropy": Suite("Astropy", "test files listed below", own=True),
    "quantities": Suite("quantities", "test files that it installs", own=True),
    "dynamo": Suite("TorchDynamo", "test files listed below", torch_compile=True),
}


def suite_of(name):
    return SUITES.get(name) or Suite(name, "test files listed below", own=True)


class Run(process.Run):
    """One file in one mode."""

    def __init__(self, file, mode, options):
        command = [sys.executable, str(HERE / "worker.py"), mode, file]
        if options.tests:
            command += ["--tests", options.tests]
        if options.sample:
            command += ["--sample", str(options.sample)]
        if options.seed is not None:
            command += ["--seed", str(options.seed)]
        if options.own:
            command.append("--own")
        if suite_of(options.suite).torch_compile:
            command.append("--torch-compile")
        places = [str(options.folder)] if options.folder else []
        places += [os.path.abspath(place) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
        super().__init__(file, command, options.limit, {"PYTHONPATH": os.pathsep.join(places)})


def both_modes(file, options):
    """The plain and the compiled run of a file: those that are kept, if there are."""
    kept = options.kept and options.kept / (file.replace("/", "-") + ".json")
    if kept and kept.exists():
        return [types.SimpleNamespace(**row) for row in json.loads(kept.read_text())]
    runs = [Run(file, mode, options) for mode in ("plain", "compiled")]
    rows = runs[0].rows.values()
    if rows and all("crash" in row["outcomes"] for row in rows):
        raise SystemExit(f"{file}: no test runs plainly:\n{next(iter(rows))['traces'][0]}")
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps([{"rows": run.rows, "seconds": run.seconds} for run in runs]))
    return runs


def listed(suite, short):
    lines = (HERE / "files" / f"{suite}.txt").read_text().splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    return [line.lstrip("+ ") for line in lines if not (short and line.startswith("+"))]


class Known(dict):
    """Reasons by the id of a test, or by that of a test function for all its parameters."""

    def reason(self, name):
        return self.get(name, self.get(name.split("[")[0]))


def known(suite):
    """Tests that differ for a reason on record."""
    path = HERE / "known" / f"{suite}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return Known(line.split(" | ", 1) for line in lines if line and not line.startswith("#"))


def compared(want, got):
    """What differs between the rows of one test: words, or None. What varies plainly from run to run is not compared."""
    if {"crash", "hang", "does not load"} & set(got["outcomes"]):
        return "/".join(got["outcomes"])
    if "warnings" not in want:
        return None if want["outcomes"] == got["outcomes"] else "/".join(got["outcomes"])
    runs = ("first run", "second run", "dynamic sizes")[: len(want["outcomes"])]
    for i, run in enumerate(runs):
        if want["outcomes"][i] == want["outcomes"][0] and got["outcomes"][i] != want["outcomes"][i]:
            return f"{run}: {got['outcomes'][i]} instead of {want['outcomes'][i]}"
    if len(set(want["state"])) == 1 and set(got["state"]) != set(want["state"]):
        return "leaves another error state behind"
    for i, run in enumerate(runs):
        if want["warnings"][i] == want["warnings"][0] and got["warnings"][i] != want["warnings"][i]:
            missing = [w for w in want["warnings"][i] if w not in got["warnings"][i]]
            extra = [w for w in got["warnings"][i] if w not in want["warnings"][i]]
            return f"{run}: warnings missing {missing[:2]}, extra {extra[:2]}" if missing or extra else f"{run}: warnings in another order or number"
    return f"not compiled: {got['failures'][0]}" if got["failures"] else None


def differences(suite, plain, compiled):
    """Tests that are not as they are plainly: (id, what differs, traceback)."""
    fallen = {"crash", "hang"}
    for name, row in compiled.rows.items():
        want = plain.rows.get(name, {"outcomes": ["not run"]})
        if suite_of(suite).torch_compile and want["outcomes"][0] == "fail" and not fallen & set(row["outcomes"]):
            continue  # it asks for what only Dynamo has
        words = compared(want, row)
        if words and not fallen & set(want["outcomes"]):
            yield name, words, next((t for t in row["traces"] if t), "")
    for name in plain.rows.keys() - compiled.rows.keys():
        yield name, "not run: too many crashes before it", ""


def is_counted(suite, plain):
    """Is a test compared, by its plain row?"""
    return plain["outcomes"][0] != "skip" and not (suite_of(suite).torch_compile and plain["outcomes"][0] == "fail")


def share(suite, plain, compiled, kind):
    return sum(row.get("captured") == kind and is_counted(suite, plain.rows.get(name, row)) for name, row in compiled.rows.items())


ROW = re.compile(r"\| `(.+?)`([*]?) \| " + " \\| ".join([r"(\d+)"] * 6) + r" \|")


def read_table(path, results):
    """The rows of a page and what it says of tests that differ, but those of the files at hand."""
    rows, reasons = {}, []
    for line in path.read_text().splitlines() if path.exists() else []:
        if (row := ROW.fullmatch(line)) and row[1] not in results:
            rows[row[1]] = (row[2], [int(n) for n in row.groups()[2:]])
        if line.startswith("- `") and line[3:].partition("::")[0] not in results:
            reasons.append(line)
    return rows, reasons


def version(options):
    if not suite_of(options.suite).torch_compile:
        return __import__(options.suite).__version__
    return f"of PyTorch {(options.folder.parent / 'version.txt').read_text().strip()}, with torch {__import__('torch').__version__.partition('+')[0]}"


def write_table(path, options, results, excused):
    suite, short = options.suite, options.short
    title, own = suite_of(suite).title, suite_of(suite).own
    command = f"scripts/test-suite.sh {suite} --short --table" if short else f"make test-{suite}"
    rows, reasons = read_table(path, results) if options.add else ({}, [])
    for file, (plain, compiled) in results.items():
        different = {name: words for name, words, _ in differences(suite, plain, compiled)}
        counted = sum(is_counted(suite, row) for row in plain.rows.values())
        rows[file] = "*" if options.sample else "", [
            counted, counted - len(different), share(suite, plain, compiled, "whole"), share(suite, plain, compiled, "parts"),
            round(plain.seconds), round(compiled.seconds)]
        reasons += [f"- `{name}`: {excused.reason(name) or words}" for name, words in different.items()]
    few = "Of files with a star a few tests ran, spread over the file (`--sample`). " if any(star for star, _ in rows.values()) else ""
    text = (
        f"Written by `{command}`: {title} {version(options)}, {suite_of(suite).page_says(short)}{few}"
        f"{'The functions of the package are compiled as well, wherever they are called. ' if own else ''}*Whole*: captured without a graph break; "
        "*in parts*: with breaks; tests in neither column ran as plain Python. Tests that are skipped plainly are not counted.")
    lines = [
        f"# {title}'s own tests",
        "",
        *textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False),
        "",
        "| file | tests | as plainly | whole | in parts | plain s | compiled s |",
        "|---|---|---|---|---|---|---|",
    ]
    for file, (star, row) in sorted(rows.items()) if options.add else rows.items():
        lines.append("| `{}`{} | {} | {} | {} | {} | {} | {} |".format(file, star, *row))
    lines.append("| **all** | {} | {} | {} | {} | {} | {} |".format(*map(sum, zip(*(row for _, row in rows.values())))))
    lines += ["", "These differ:" if reasons else "No test differs.", ""] + reasons
    path.write_text("\n".join(lines).rstrip() + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", help=f"one of {', '.join(SUITES)}, or another package, whose files are named")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--short", action="store_true", help="without the long files")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--add", action="store_true", help="the page that --table names keeps its rows of other files")
    parser.add_argument("--limit", type=float, default=180, help="seconds for the three runs of one test")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--tests", default="", help="only tests with this in their names")
    parser.add_argument("--sample", type=int, default=0, help="at most so many tests of each file, spread over it")
    parser.add_argument("--seed", type=int, help="the tests of a sample are taken at random, others with each seed")
    parser.add_argument("--own", action="store_true", help="the package counts as the user's own code: all its functions are "
                        "compiled, with breaks, and not only those that a test can be captured with as a whole")
    parser.add_argument("--rows", type=pathlib.Path, help="writes what differs, with tracebacks, as JSON")
    parser.add_argument("--kept", type=pathlib.Path, help="a folder of what became of files: those in it are not run again")
    parser.add_argument("--folder", type=pathlib.Path, help="where the package is that is not installed: the folder test of torch's "
                        "own repository for dynamo")
    parser.add_argument("--verbose", action="store_true", help="with tracebacks")
    options = parser.parse_intermixed_args()
    if options.suite not in SUITES and not options.files:
        parser.error(f"{options.suite} is no suite with a list of files")
    if suite_of(options.suite).torch_compile and not (options.folder and (options.folder / "dynamo").is_dir()):
        parser.error("--folder has to name the folder test of PyTorch's repository")
    options.own |= suite_of(options.suite).own
    excused = known(options.suite)
    files = options.files or listed(options.suite, options.short)
    results, wrong, all_rows = {}, 0, []
    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        both = {file: pool.submit(both_modes, file, options) for file in files}
        for file in files:
            plain, compiled = results[file] = both[file].result()
            found = list(differences(options.suite, plain, compiled))
            print(f"{file}: {len(compiled.rows)} tests, {share(options.suite, plain, compiled, 'whole')} whole, "
                  f"{share(options.suite, plain, compiled, 'parts')} in parts, {len(found)} differ, {plain.seconds:.1f} s and "
                  f"{compiled.seconds:.1f} s", flush=True)
            for name, words, trace in found:
                wrong += not excused.reason(name)
                all_rows.append({"id": name, "file": file, "words": words, "trace": trace})
                print(f"  {name}: {words}" + (": known" if excused.reason(name) else ""))
                if options.verbose:
                    print("    " + trace.strip().replace("\n", "\n    "))
            if options.rows:
                options.rows.write_text(json.dumps(all_rows, indent=1))
            if options.table:
                write_table(options.table, options, results, excused)
    print(f"{len(all_rows)} tests differ, {wrong} without a reason on record" if all_rows else "no test differs")
    tests = [row for _, compiled in results.values() for row in compiled.rows.values()]
    print(f"{len(tests) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
