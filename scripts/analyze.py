"""Static analysis of the C code: clang's analyzer over all of it, GCC's over the folders that share memory with others.

usage: analyze.py BUILD [--by clang|gcc] [PREFIX...]    (make analyze)

BUILD has compile_commands.json; a PREFIX chooses files ("runtime", "frontend/value"). What is found is compared with
scripts/analyze.txt, a line a finding: checker, file, function, and behind a colon why it is none. What is not on record
is printed with the steps that lead to it; so is a record that no finding has. Both end with status 1.
"""

import argparse
import json
import os
import plistlib
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "scripts" / "analyze.txt"
GROUPS = "core", "unix", "deadcode", "nullability", "security", "optin.core", "optin.portability"
# These ask for functions of C11's Annex K, which no C library here has.
LEFT_OUT = ("security.insecureAPI.DeprecatedOrUnsafeBufferHandling",)
FOLDERS = "graph/", "runtime/", "dialects/", "passes/", "targets/", "frontend/"
GCC_FOLDERS = "graph/", "runtime/"
# `for (int i = rank - 1; i >= 0; i--)`: the analyzer lets rank be the least int.
WRAPPED = "index 2147483647"
# Files that define what analyze.h replaces.
DEFINES = re.compile(r"^(?:bool |void \*)(?:%s)\(" % "|".join(
    re.findall(r"^#define (\w+)\(", (ROOT / "scripts" / "analyze.h").read_text(), re.M)), re.M)


class Finding(NamedTuple):
    by: str
    checker: str
    file: str
    function: str
    line: int
    text: str
    steps: tuple

    @property
    def key(self):
        return self.checker, self.file, self.function


def inside(path, folder):
    """A path as the record has it; None for what is not of the project."""
    path = Path(os.path.normpath(Path(folder) / path))
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None


def arguments(entry):
    """The compiler's arguments without its name, its output and what only it knows."""
    words = shlex.split(entry["command"])[1:]
    at = words.index("-o")
    words = [w for w in words[:at] + words[at + 2:] if w not in ("-c", "-Werror", "-Wall", "-Wextra") and w != entry["file"]]
    known = [] if DEFINES.search(Path(entry["file"]).read_text()) else ["-include", str(ROOT / "scripts" / "analyze.h")]
    return [*words, "-UNDEBUG", "-D_GNU_SOURCE", *known]


def run(command, entry):
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{shlex.join(map(str, command))}\n{done.stderr}")
    return done


def clang(entry):
    checkers = [x for group in GROUPS for x in ("-Xclang", f"-analyzer-checker={group}")]
    checkers += [x for name in LEFT_OUT for x in ("-Xclang", f"-analyzer-disable-checker={name}")]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.plist"
        run(["clang-22", "--analyze", "-Xclang", "-analyzer-output=plist-multi-file", *checkers, "-w",
             "-fgnuc-version=4.8", *arguments(entry), "-o", report, entry["file"]], entry)
        found = plistlib.loads(report.read_bytes())
    for d in found["diagnostics"]:
        name = lambda at: inside(found["files"][at["file"]], entry["directory"])
        steps = tuple(f"{name(e['location'])}:{e['location']['line']}: {e['message']}" for e in d["path"] if e["kind"] == "event")
        if name(d["location"]) and not (steps and WRAPPED in steps[-1]):
            yield Finding("clang", d["check_name"], name(d["location"]), d.get("issue_context", ""), d["location"]["line"],
                          d["description"], steps)


def gcc(entry):
    done = run(["gcc", "-fanalyzer", "-fdiagnostics-format=json", *arguments(entry), "-c",
                "-o", "/dev/null", entry["file"]], entry)
    for d in json.loads(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "[]"):
        at = d["locations"][0]["caret"] if d["locations"] else {}
        if not d.get("option", "").startswith("-Wanalyzer") or "file" not in at:
            continue
        file = inside(at["file"], entry["directory"])
        path = d.get("path", [])
        steps = tuple(f"{inside(e['location']['file'], entry['directory'])}:{e['location']['line']}: {e['description']}"
                      for e in path if "file" in e.get("location", {}))
        if file:
            yield Finding("gcc", d["option"], file, path[-1]["function"] if path else "", at["line"],
                          d["message"], steps)


def records():
    """{key: reason}"""
    result = {}
    for line in RECORD.read_text().splitlines() if RECORD.exists() else ():
        if line and not line.startswith("#"):
            key, colon, reason = line.partition(": ")
            assert colon and len(key.split()) == 3, f"{RECORD}: {line}"
            result[tuple(key.split())] = reason
    return result


def entries(build, prefixes):
    seen = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = inside(entry["file"], entry["directory"])
        if file and file.endswith(".c") and file not in seen:
            seen.add(file)
            if file.startswith(tuple(prefixes) or FOLDERS):
                yield file, entry


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--by", choices=["clang", "gcc"])
    parser.add_argument("prefixes", nargs="*")
    options = parser.parse_intermixed_args()
    record, used, looked, new = records(), set(), set(), 0
    for file, entry in entries(options.build.resolve(), options.prefixes):
        for by, analyze in (("clang", clang), ("gcc", gcc)):
            if options.by not in (None, by) or by == "gcc" and not (options.by or file.startswith(GCC_FOLDERS)):
                continue
            looked.add((by, file))
            for f in analyze(entry):
                if f.key in record:
                    used.add(f.key)
                    continue
                new += 1
                print(f"{f.file}:{f.line}: {f.text} [{f.checker}] in {f.function}", *f.steps, sep="\n    ", flush=True)
    for key in sorted(set(record) - used):
        if (key[0].startswith("-W") and ("gcc", key[1]) in looked) or (not key[0].startswith("-W") and ("clang", key[1]) in looked):
            new += 1
            print(f"{RECORD.name}: nothing is found any more: {' '.join(key)}")
    print(f"{len(looked)} analyses, {new} findings that are not on record")
    sys.exit(new > 0)


if __name__ == "__main__":
    main()
