"""Every row of the frontend's tables is used."""

import re

import pytest
from paths import ROOT
from processes import run_command

SOURCES = "\n".join(p.read_text() for p in (ROOT / "frontend").rglob("*.[ch]"))


def rows(name, macro):
    text = (ROOT / "frontend" / name).read_text()
    return re.findall(rf"^{macro}\((.*?)\)$", text, re.M)


@pytest.mark.parametrize("row", rows("base/breaks.def", "LOOM_BREAK"))
def test_reasons(row):
    name = row.split(",")[1].strip()
    assert f"BREAK_{name}" in SOURCES.replace("LOOM_BREAK_", "")


def test_reasons_have_numbers_of_their_own():
    numbers = [int(row.split(",")[0]) for row in rows("base/breaks.def", "LOOM_BREAK")]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("row", rows("base/config.def", "LOOM_SETTING"))
def test_settings(row):
    name = row.split(",")[1].strip()
    assert f"loom_config.{name}" in SOURCES or name in ("backend", "fastmath", "cpu", "device", "device_costs")  # which Python reads
    assert name in (ROOT / "python/frameloom/_config.py").read_text()
    assert name in (ROOT / "python/frameloom/__init__.pyi").read_text()


def test_the_page_of_settings_is_current():
    done = run_command("markdown")
    assert done.stdout == (ROOT / "docs" / "settings.md").read_text(), "python -m frameloom markdown > docs/settings.md"
