"""Every reason for a graph break has a page, whose example provokes it and whose remedy does not."""

import os
import re

import numpy as np
import pytest
from processes import printed, run_command

import frameloom
from frameloom import _native
from frameloom.__main__ import page

CODES = [f"FL{row[0]:04d}" for row in _native.reasons()]
EXAMPLES = {code: re.findall(r"```python\n(.*?)```", page(code), re.S) for code in CODES}
COMPILER = "FL0016"  # provoked below
NO_PROGRAM = (COMPILER, "FL0027")  # of a folder: test_compile_errors.py


def codes_of(source, code, capfd):
    """Codes that are logged while the code of a page runs."""
    names = {"np": np, "frameloom": frameloom, "x": np.ones(4)}
    capfd.readouterr()
    with frameloom.config.patch(logs="breaks", backend="loom"):
        exec(compile(source, f"<page {code[2:]}>", "exec"), names)  # the log names it
    logged = set(re.findall(r"FL\d{4}", capfd.readouterr().err))
    reported = {f"FL{row[0]:04d}" for row in names["f"]._report()["breaks"] or []}
    return logged | reported


def test_pages_and_codes_are_the_same():
    text = (frameloom.__path__[0] + "/breaks.md")
    with open(text, encoding="utf-8") as file:
        assert re.findall(r"^## (\S+)$", file.read(), re.M) == CODES


@pytest.mark.parametrize("code", CODES)
def test_page_has_its_parts(code):
    text = page(code)
    assert all(f"**{part}.**" in text for part in ("Cause", "Example", "Remedy"))
    assert len(EXAMPLES[code]) == (0 if code in NO_PROGRAM else 2)


@pytest.mark.parametrize("code", [code for code in CODES if code not in NO_PROGRAM])
def test_example_and_remedy(code, capfd):
    example, remedy = EXAMPLES[code]
    assert code in codes_of(example, code, capfd)
    assert code not in codes_of(remedy, code, capfd)


def test_a_compiler_that_cannot_be_loaded(tmp_path):
    package = tmp_path / "frameloom"
    package.mkdir()
    for name in os.listdir(frameloom.__path__[0]):
        if not name.startswith(("libloom_compiler", "__pycache__")):
            (package / name).symlink_to(os.path.join(frameloom.__path__[0], name))
    # The extension finds the library beside itself, so it must be there in person.
    native = os.path.basename(_native.__file__)
    (package / native).unlink()
    (package / native).write_bytes(open(_native.__file__, "rb").read())
    code = ("import numpy as np, frameloom\n"
            "f = frameloom.compile(lambda x: np.tanh(x) * 3 + 1)\n"
            "print(f(np.zeros(3)), [row[0] for row in f._report()['breaks']])\n")
    shown = printed(code, environment={"PYTHONPATH": str(tmp_path), "FRAMELOOM_CACHE": "0"})
    assert shown.split("\n")[0] == "[1. 1. 1.] [16]"


def test_command():
    shown = run_command("explain", "FL0002")
    assert shown.returncode == 0 and shown.stdout.startswith("FL0002: a Python decision") and "np.where" in shown.stdout
    assert run_command("explain", "2").stdout == run_command("explain", "fl0002").stdout == shown.stdout
    unknown = run_command("explain", "FL9999")
    assert unknown.returncode == 1 and "FL9999" in unknown.stderr
    assert run_command("explain").returncode == run_command("reasons", "FL0001").returncode == 2
