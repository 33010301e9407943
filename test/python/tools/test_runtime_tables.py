"""The runtime's tables: every row of env.def is read somewhere, and nowhere is the environment read around it."""

import re

from paths import ROOT

SOURCES = [p for p in (ROOT / "runtime").glob("*.c")]


def rows():
    text = (ROOT / "runtime" / "env.def").read_text()
    return re.findall(r'^LOOM_ENV\(\w+, (\w+), "(\w+)", "[^"]*",', text, re.MULTILINE)


def test_every_row_is_used():
    code = "".join(p.read_text() for p in SOURCES)
    assert len(rows()) >= 5
    for enum, name in rows():
        assert re.search(rf"\bLOOM_ENV_{enum}\b", code), f"{name} is in env.def but nothing reads it"


def test_the_environment_is_read_through_the_table():
    allowed = {"XDG_CACHE_HOME", "HOME"}  # the system's own, not settings of this project
    for path in SOURCES:
        for name in re.findall(r'\bgetenv\("(\w+)"\)', path.read_text()):
            assert name in allowed, f"{path.name} reads {name}, which has no row in env.def"
