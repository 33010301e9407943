"""What the compiler cannot compile runs in the library, with one warning, or raises: nothing runs plainly in silence."""

import os
import shutil
import textwrap

import pytest
from processes import run_code

import frameloom

HEAD = """
import sys, warnings
import numpy as np, frameloom

def program(a):
    return np.sqrt(a) + 1

a = np.arange(5.0)
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A folder with the package, but for the compiler library."""
    folder = tmp_path_factory.mktemp("package")
    source = os.path.dirname(frameloom.__file__)
    shutil.copytree(source, folder / "frameloom", ignore=shutil.ignore_patterns("libloom_compiler.so", "__pycache__"))
    return folder


def with_package(text, path, **environment):
    return run_code(HEAD + textwrap.dedent(text), environment={"PYTHONPATH": str(path), "FRAMELOOM_CACHE": "0", **environment})


def test_without_the_library_functions_run_plainly_with_one_warning(broken):
    made = with_package("""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for function in (program, lambda a: a * 3):
                got = frameloom.compile(function)
                for _ in range(2):
                    assert (got(a) == function(a)).all()
        print([str(w.message) for w in caught])
        print(frameloom.explain(program, a))
    """, broken)
    assert made.returncode == 0, made.stderr
    warned, report = made.stdout.split("\n", 1)
    assert warned.count("frameloom: FL0016: the compiler library is not installed") == 1 and warned.count("FL0") == 1
    assert "FL0016" in report


def test_errors_that_are_not_suppressed_raise(broken):
    made = with_package("""
        warnings.simplefilter("ignore")
        for backend in ("loom", "interpret"):
            try:
                print(frameloom.compile(program, backend=backend)(a)[0])
            except frameloom.CompileError as error:
                print(error.code, isinstance(error, frameloom.GraphBreak), "library" in error.detail)
        with frameloom.config.patch(suppress_errors=True):
            print(frameloom.compile(program)(a)[0])
    """, broken, FRAMELOOM_SUPPRESS_ERRORS="0")
    assert made.stdout.split("\n")[:3] == ["FL0016 True True", "1.0", "1.0"], made.stderr


def test_a_profiler_is_told_of_once():
    made = with_package("""
        events = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = frameloom.compile(program)
            sys.setprofile(lambda frame, event, argument: events.append(frame.f_code.co_name))
            got(a)
            got(a)
            sys.setprofile(None)
        print([str(w.message) for w in caught])
        print([e for e in events if e != "<module>"])
    """, os.path.dirname(os.path.dirname(frameloom.__file__)))
    warned, events, _ = made.stdout.split("\n")
    assert warned.count("frameloom: FL0015: a debugger, profiler, tracer or coverage tool is active") == 1, made.stderr
    assert set(eval(events)) == {"program"}  # none of the code that warns


@pytest.mark.parametrize("folder", ["open to all", "a file", "read only"])
def test_a_folder_that_cannot_be_used_is_told_of_once(tmp_path, folder):
    place = tmp_path / "cache"
    if folder == "a file":
        place.write_text("")
    else:
        place.mkdir()
        place.chmod(0o777 if folder == "open to all" else 0o500)
        if folder == "read only" and os.geteuid() == 0:
            pytest.skip("root writes everywhere")
    made = with_package("""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for function in (program, lambda a: a * 3):
                assert (frameloom.compile(function)(a) == function(a)).all()
        print([str(w.message) for w in caught])
        print(frameloom.explain(program, a))
    """, os.path.dirname(os.path.dirname(frameloom.__file__)), FRAMELOOM_CACHE="1", FRAMELOOM_CACHE_DIR=str(place))
    assert made.returncode == 0, made.stderr
    warned, report = made.stdout.split("\n", 1)
    assert warned.count("frameloom: FL0027: ") == 1 and warned.count("FL0") == 1
    assert "in this process:\n  FL0027: " in report


def test_calls_that_run_again_are_told_of_once():
    made = with_package("""
        frameloom.config.leave_slower = False  # else such a function is left to Python after some calls
        zero = np.zeros(3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for function in (lambda a: 1 / a, lambda a: np.log(a)):
                got = frameloom.compile(function)
                for _ in range(100):
                    got(zero)
        own = [str(w.message) for w in caught if "frameloom" in str(w.message)]
        assert len(caught) == 200 + len(own)
        print(own)
        warnings.simplefilter("ignore", category=DeprecationWarning)
        print(frameloom.explain(lambda a: 1 / a, zero))
    """, os.path.dirname(os.path.dirname(frameloom.__file__)))
    assert made.returncode == 0, made.stderr
    warned, report = made.stdout.split("\n", 1)
    assert warned.count("frameloom: FL0026: 64 calls of <lambda> have run a second time") == 1 and warned.count("FL0") == 1
    assert "FL0026: 1 call ran again" in report and "in this process:\n  FL0026: 64 calls" in report


def test_stages_of_processes_lie_apart(tmp_path):
    for _ in range(2):
        made = with_package("print(frameloom.compile(program)(a))", os.path.dirname(os.path.dirname(frameloom.__file__)), FRAMELOOM_TRACE=str(tmp_path))
        assert made.returncode == 0, made.stderr
    folders = sorted(path.name.split("-", 1) for path in tmp_path.iterdir())
    assert [name for _, name in folders] == ["000-program"] * 2 and folders[0][0] != folders[1][0]
