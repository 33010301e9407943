"""loom-run for each function of a file by itself: `each.py BIN FILE [--single] [--set=NAME=VALUE ...] OPTIONS`. That is faster than all in one module.

--set gives the module an attribute; a file without a module gets one. With --single the conditions that ask whether a buffer begins at a multiple of what is read at once are turned
round: the code for single elements runs.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from accept import functions


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr}")
    return done.stdout


HEAD = re.compile(r"^(module(?:[ \t]+@[\w.$-]+)?)([ \t]+attributes[ \t]*\{[ \t]*)?", re.MULTILINE)
OUTSIDE = re.compile(r"\A(?:[ \t]*(?://|#|!)[^\n]*\n|[ \t]*\n)*")  # comments and aliases, which stand in front of a module


def marked(text, attributes):
    """The module with these attributes in front of its own. What is no module becomes one."""
    if not attributes:
        return text
    for name in attributes:
        text = re.sub(rf"(?<![\w.]){re.escape(name)} = [^,}}]*(, )?", "", text)
    own = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    found = HEAD.search(text)
    if not found:
        before = OUTSIDE.match(text).end()
        return f"{text[:before]}module attributes {{{own}}} {{\n{text[before:]}\n}}\n"
    rest = text[found.end():].lstrip(" ,")
    if not found[2]:
        return f"{text[:found.end()]} attributes {{{own}}} {rest}"
    return f"{text[:found.start()]}{found[1]} attributes {{{own}{'' if rest.startswith('}') else ', '}{rest}".replace(", }", "}", 1)


def single(bin, source):
    text = run(bin / "loom-opt", "--loom-lowered", source)
    turned, count = re.subn(r"arith\.cmpi eq, (%\d+, %c0_i64\w* : i64)", r"arith.cmpi ne, \1", text)
    if not count:
        sys.exit(f"{source}: no condition to turn round")
    source.write_text(turned)


def main():
    bin, path, words = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    attributes = dict(word[6:].split("=", 1) for word in words if word.startswith("--set="))
    options = [word for word in words if word != "--single" and not word.startswith("--set=")]
    if "--single" in words:
        attributes |= {"loom.check": "unit", "loom.target": '"sim"'}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "x.mlir"
        for _, module in functions(path):
            source.write_text(marked(module, attributes))
            if "--single" in words:
                single(bin, source)
            print(run(bin / "loom-run", *options, source), end="")


if __name__ == "__main__":
    main()
