"""Where tests lie, what they share, and what names them."""

import ast
import functools
import itertools
import re
from collections import Counter

import pytest
from paths import FUZZ, ROOT, SUPPORT, TESTS

FILES = sorted(path for path in TESTS.rglob("*.py") if SUPPORT not in path.parents)
TEST_FILES = [path for path in FILES if path.name.startswith("test_")]
SHARED = ("compare", "processes", "reports", "breaking", "alarms")  # modules of helpers that any test may need
CLOCKS = {f"{name}{unit}" for name in ("perf_counter", "process_time", "thread_time", "monotonic") for unit in ("", "_ns")}
TIMERS = {"setitimer", "Timer"}
WAITS = {"wait", "join", "communicate"}


def folders():
    """{folder: what it is about}, as CONTRIBUTING.md has them."""
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where a test lies")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.M))


@functools.cache
def parsed(path):
    return ast.parse(path.read_text())


def functions(path):
    return {node.name for node in parsed(path).body if isinstance(node, ast.FunctionDef)}


def identifier(path):
    return str(path.relative_to(TESTS))


def test_every_file_lies_in_a_folder_of_the_guide():
    assert {path.parent.name for path in TEST_FILES} | {"support"} == set(folders())
    for path in FILES:
        assert path.parent.parent == TESTS, path


def test_support_has_no_tests():
    for path in SUPPORT.rglob("*.py"):
        assert not path.name.startswith("test_") and not [name for name in functions(path) if name.startswith("test_")], path


def test_test_python_is_no_place_of_modules():
    """It would hide libraries: on a path with test/python, `import torch` without torch would find a folder of tests."""
    assert not list(TESTS.glob("*.py")) and not [path for path in FILES if path.name in ("conftest.py", "__init__.py")]
    paths = re.search(r"^pythonpath = (\[.*\])$", (ROOT / "pyproject.toml").read_text(), re.M)
    assert "test/python" not in ast.literal_eval(paths[1])


def test_modules_have_names_of_their_own():
    """Modules of all folders are imported by their names alone; a test's name in a report tells its file."""
    places = [TESTS, FUZZ, ROOT / "test" / "zoo", ROOT / "bench"]
    files = [path for place in places for path in place.rglob("*.py") if path.parent.name not in ("cases", "found")]
    run_by_path = {"run", "worker"}
    several = [name for name, count in Counter(path.stem for path in files).items() if count > 1 and name not in run_by_path]
    assert not several


@pytest.mark.parametrize("path", FILES, ids=identifier)
def test_helpers_are_defined_once(path):
    """One that a single file needs stays there, under a name that says what it does."""
    shared = set().union(*(functions(SUPPORT / f"{module}.py") for module in SHARED))
    assert not functions(path) & (shared | {"check", "run", "same"})


@pytest.mark.parametrize("path", FILES, ids=identifier)
def test_nothing_is_timed(path):
    """How long something takes is a matter of the machine and of what else runs there: tests wait for events, and count; signals come at events (alarms.py)."""
    names = {node.attr for node in ast.walk(parsed(path)) if isinstance(node, ast.Attribute)}
    assert not names & (CLOCKS | TIMERS)


@pytest.mark.parametrize("path", FILES, ids=identifier)
def test_only_what_hangs_runs_out_of_time(path):
    """What ends in seconds here takes minutes where much else runs: processes.py says how long that is."""
    nodes = list(ast.walk(parsed(path)))
    limits = [node.value for node in nodes if isinstance(node, ast.keyword) and node.arg == "timeout"]
    limits += [node.args[0] for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "attr", None) in WAITS and node.args]
    assert not [limit.value for limit in limits if isinstance(limit, ast.Constant) and isinstance(limit.value, (int, float))]


@pytest.mark.parametrize("path", FILES, ids=identifier)
def test_no_port_is_given_back_before_it_is_used(path):
    """Another process may have it by then: processes meet in files and pipes."""
    assert not [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Import) and "socket" in {a.name for a in node.names}]


def named_paths(text):
    """Paths of Python tests in a text, braces expanded as a shell does."""
    for path in re.findall(r"test/(?:python|fuzz)/[\w/{},.]*\.py", text):
        parts = re.split(r"\{([\w,]+)\}", path)
        yield from map("".join, itertools.product(*(part.split(",") for part in parts)))


def test_paths_that_are_named_are_there():
    named = [ROOT / name for name in ("CONTRIBUTING.md", "README.md", "Makefile", "pyproject.toml", ".ci/run")]
    named += [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.py"), *(ROOT / "scripts").iterdir(), *FILES]
    found = [(path, named) for path in named if path.is_file() for named in named_paths(path.read_text())]
    assert len(found) > 20
    for path, name in found:
        assert (ROOT / name).exists(), f"{path.relative_to(ROOT)} names {name}"


def test_test_files_that_are_named_are_there():
    known = {path.name for path in TEST_FILES}
    for path in [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md", *FILES, *SUPPORT.rglob("*.py")]:
        for name in re.findall(r"(?<![/\w{])test_\w+\.py\b", path.read_text()):
            assert name in known or "/tests/" in path.read_text(), f"{path.relative_to(ROOT)} names {name}"


@pytest.mark.parametrize("script", ["test-debug.sh", "test-sanitized.sh", "test-other-versions.sh"])
def test_lists_of_scripts_are_files(script):
    text = (ROOT / "scripts" / script).read_text()
    names = re.search(r"^files=\(([\w\s]+)\)|^for name in ([\w ]+); do tests", text, re.M)
    names = (names[1] or names[2]).split()
    assert len(names) > 4
    for name in names:
        assert len(list(TESTS.glob(f"*/test_{name}.py"))) == 1, name
