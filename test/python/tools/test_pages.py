"""The pages for who comes next: what they name is there, what they show is current, and other pages lead to them."""

import re
import subprocess
import sys
from functools import cache

import pytest
from paths import ROOT

DOCS = ROOT / "docs"
PAGES = ["add-an-op", "add-a-pass", "add-a-numpy-function", "add-a-torch-op", "add-a-target", "follow-a-call", "follow-a-capture",
         "glossary"]
# What a reader makes when following a page, and programs of the reader's own.
MADE = {"hit.py", "model.py", "muladd.py", "call.out", "build/dev/bin/loom-compile"}
FOLDERS = ("frontend", "graph", "runtime", "dialects", "passes", "targets", "python", "docs", "test", "bench", "examples", "scripts")


def text_of(page):
    return (DOCS / f"{page}.md").read_text()


def code_of(page):
    """What is in code format within sentences and tables, without the blocks of code."""
    prose = re.sub(r"^```.*?^```|^ {4,}[^\n]*$", "", text_of(page), flags=re.S | re.M)
    return re.findall(r"`([^`\n]+)`", prose)


@cache
def definitions():
    """The text of all C files, in which a function is defined at the start of a line, or made by a table."""
    files = [p for folder in FOLDERS[:6] for ending in ("*.c", "*.h") for p in (ROOT / folder).rglob(ending)]
    return "\n".join(p.read_text() for p in files) + "\n" + "\n".join(
        p.read_text() for folder in ("test", "docs", "python") for p in (ROOT / folder).rglob("*.py"))


def is_function(name):
    return re.search(rf"^(?!\s*(?:return|else|if)\b)[\w*][\w* ]*[ *]\(?{name}\)?\(", definitions(), re.M) is not None


@pytest.mark.parametrize("page", PAGES)
def test_paths_and_functions_are_there(page):
    """`path/to/file.c`, `folder/*.c` and `function()`; words in capitals stand for a name of the reader's choice."""
    codes = code_of(page)
    paths = [c for c in codes if re.fullmatch(r"[\w.*/-]+/[\w.*/-]+", c) and c.split("/")[0] in FOLDERS and not re.search(r"\b(STEM|NAME)\b", c)]
    functions = [c[:-2] for c in codes if re.fullmatch(r"\w+\(\)", c)]
    assert len(paths) > 3
    for path in paths:
        assert path in MADE or list(ROOT.glob(path)), f"docs/{page}.md names {path}"
    for name in functions:
        assert is_function(name), f"docs/{page}.md names {name}()"


@pytest.mark.parametrize("page", PAGES)
def test_commands_name_what_is_there(page):
    blocks = re.findall(r"^ {4,}(.*)$", text_of(page), re.M)
    for word in " ".join(blocks).split():
        if word.split("/")[0] in FOLDERS and not re.search(r"NAME|STEM", word):
            assert word in MADE or (ROOT / word).exists(), f"docs/{page}.md runs {word}"


def test_steps_of_a_call_are_in_their_files():
    rows = re.findall(r"^\| \d+ \| (`.*`) \| `([\w/.]+)` \| \d+ \|$", text_of("follow-a-call"), re.M)
    assert len(rows) >= 8
    for functions, file in rows:
        text = (ROOT / file).read_text()
        for name in re.findall(r"`(\w+)\(\)`", functions):
            assert re.search(rf"^[\w*].*\b{name}\(|^{name}\(", text, re.M), f"{file} does not define {name}()"


def test_lines_of_code_are_those_of_the_tree():
    """The examples of docs/add-an-op.md are rows and lines that are there."""
    lines = [line.strip() for line in re.findall(r"^ {4,}(.*)$", text_of("add-an-op"), re.M)]
    code = [line for line in lines if re.match(r"def \w+ :|case |LOOM_UFUNC|ATEN|let ", line)]
    assert len(code) >= 6
    files = ("dialects/ops_elementwise.td", "passes/lower_scalar.c", "frontend/numpy/ufuncs.def", "frontend/torch/aten.def")
    text = "".join((ROOT / file).read_text() for file in files)
    assert not [line for line in code if line not in text]


# Terms of the field for which the code has its own word.
SAID_OTHERWISE = {"induction variable", "legalisation", "escape"}


def glossary():
    """(words, where they live) of each row; an entry that leads to another one is left out."""
    rows = re.findall(r"^\| ([\w\- ,]+) \| (.*) \| ([^|]+) \|$", text_of("glossary"), re.M)
    return [(words, where) for words, what, where in rows if where != "where" and not what.startswith("See ")]


@pytest.mark.parametrize("words,where", glossary())
def test_words_live_where_the_glossary_says(words, where):
    """One of the files has the word, in some form of it: a word that is given up leaves the glossary, too."""
    files = re.findall(r"`([\w/.-]+\.\w+)`", where)
    assert files, f"{words} has no file"
    text = "".join((ROOT / f).read_text().lower() + f for f in files)
    stems = [w.lower()[:-3] if len(w) > 5 else w.lower() for w in re.findall(r"\w+", words)]
    assert words in SAID_OTHERWISE or any(re.search(rf"(?<![a-z]){stem}", text) for stem in stems), files


def test_the_stages_of_a_capture_are_current():
    done = subprocess.run([sys.executable, DOCS / "follow.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_other_pages_lead_here(page):
    assert any(f"docs/{page}.md" in (ROOT / p).read_text() or f"({page}.md)" in (ROOT / p).read_text()
               for p in ("CONTRIBUTING.md", "README.md", "docs/architecture.md")), f"nothing leads to docs/{page}.md"


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_short(page):
    prose = re.sub(r"^```.*?^```", "", text_of(page), flags=re.S | re.M)
    assert len(prose.splitlines()) <= (100 if page != "glossary" else 130)
