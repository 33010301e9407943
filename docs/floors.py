"""Draws the floors of the frontend in docs/architecture.md, from frontend/floors.txt.

    python docs/floors.py [--check]

`--check` writes nothing and ends with 1 when the page differs. The drawing shows an arrow from a floor to each floor that it
may include, but for those that another arrow leads to as well; the table has all.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- floors -->\n", "<!-- end of floors -->\n"


def floors():
    """(floor, what is in it, the floors it may include), lowest first."""
    for line in (ROOT / "frontend" / "floors.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, words, allowed = (part.strip() for part in line.split("|"))
            yield name, words, allowed.split()


def reached(allowed, floor):
    """All floors that arrows lead to from one, itself left out."""
    found = set()
    for below in allowed[floor]:
        found |= {below} | reached(allowed, below)
    return found


def drawing():
    rows = list(floors())
    allowed = {name: below for name, _, below in rows}
    lines = ["```mermaid", "flowchart TD"]
    for name, _, below in reversed(rows):
        behind = set().union(*(reached(allowed, other) for other in below)) if below else set()
        lines += [f"  {name} --> {other}" for other in reversed(below) if other not in behind]
    lines += ["```", "", "| floor | what is in it | may include |", "|---|---|---|"]
    for name, words, below in reversed(rows):
        lines.append(f"| `{name}/` | {words} | {', '.join(below) or '-'} |")
    return "\n".join(lines) + "\n"


def main():
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    drawn = before + BEGIN + drawing() + END + after
    if "--check" in sys.argv:
        if drawn != text:
            sys.exit("docs/architecture.md: the floors differ from frontend/floors.txt: python docs/floors.py")
    else:
        PAGE.write_text(drawn)


if __name__ == "__main__":
    main()
