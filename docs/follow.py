"""Writes the blocks of docs/follow-a-capture.md: what each stage of one small function is. --check: are they current?"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "follow-a-capture.md"
BLOCK = re.compile(r"<!-- stage: ([\w ]+) -->\n```\w*\n(.*?)```\n", re.S)
BYTECODE_OF = (3, 11)  # the version of CPython whose bytecode the page shows


def program(page):
    """The function on the page, which is the block named `program`."""
    return next(text for name, text in BLOCK.findall(page) if name == "program")


def without_places(text):
    """IR without the places of the user's code, and without what else depends on the process."""
    text = re.sub(r" ?loc\((?:[^()\"]|\"[^\"]*\")*\)", "", text)
    text = re.sub(r"^#loc.*\n", "", text, flags=re.M)
    return re.sub(r" at 0x[0-9a-f]+, file \"[^\"]*\", line \d+", "", text)


def run(source):
    """(log, {stage: IR}) of the program, compiled anew."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "muladd.py"
        file.write_text(source)
        trace = pathlib.Path(folder) / "trace"
        trace.mkdir()
        env = dict(os.environ, FRAMELOOM_LOGS="bytecode,guards,graph", FRAMELOOM_TRACE=str(trace), FRAMELOOM_CACHE="0",
                   FRAMELOOM_CPU="x86-64-v3")
        done = subprocess.run([sys.executable, file], capture_output=True, text=True, env=env, timeout=300)
        assert done.returncode == 0, done.stderr
        log = re.sub(r" \([^()]*:\d+\)$", "", done.stderr.replace(str(file), "muladd.py"), flags=re.M)
        return log, {p.stem[3:]: p.read_text() for p in sorted(trace.rglob("*.mlir"))}


def inner(text, first):
    """The lines of the IR from the first that has the word to the end of its region."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if first in line)
    indent = len(lines[start]) - len(lines[start].lstrip())
    end = next(i for i in range(start + 1, len(lines)) if lines[i].startswith(" " * indent + "}"))
    return "\n".join(line[indent:] for line in lines[start:end + 1]) + "\n"


def stages(source):
    """{name of a block: its text}."""
    log, ir = run(source)
    ir = {stage: without_places(text) for stage, text in ir.items()}
    bytecode = log.split("[frameloom bytecode] muladd\n")[1].split("\n\n[")[0].strip("\n") + "\n"
    graph = without_places(log.split("[frameloom graph] muladd\n")[1].split("\n\n")[0]) + "\n"
    guards = "".join(f"{line}\n" for line in re.findall(r"^\[frameloom guards\] muladd: (.*)$", without_places(log), re.M))
    return {
        "program": source, "bytecode": bytecode, "guards": guards, "graph": graph, "import": inner(ir["import"], "func.func"),
        "fuse": inner(ir["fuse"], "func.func"), "schedule": inner(ir["schedule"], "loom.kernel"),
        "plan": inner(ir["plan"], "loom.plan"), "lower": inner(ir["lower"], "scf.for"),
    }


def main():
    page = PAGE.read_text()
    found = stages(program(page))
    if sys.version_info[:2] != BYTECODE_OF:
        found["bytecode"] = next(text for name, text in BLOCK.findall(page) if name == "bytecode")
    new = BLOCK.sub(lambda m: m.group().replace(m.group(2), found[m.group(1)], 1) if m.group(2)
                    else m.group().replace("\n```\n", "\n" + found[m.group(1)] + "```\n", 1), page)
    if "--check" in sys.argv:
        if new != page:
            sys.exit(f"{PAGE.relative_to(ROOT)} is not current: python docs/follow.py")
        return
    PAGE.write_text(new)


if __name__ == "__main__":
    main()
