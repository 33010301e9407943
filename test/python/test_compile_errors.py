"""What the compiler cannot compile runs in the library, with one warning, or raises: nothing runs plainly in silence."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

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


def run(text, path, **environment):
    environment = {**os.environ, "PYTHONPATH": str(path), "FRAMELOOM_CACHE": "0", **environment}
    return subprocess.run([sys.executable, "-c", HEAD + textwrap.dedent(text)], env=environment, capture_output=True, text=True)


def test_without_the_library_functions_run_plainly_with_one_warning(broken):
    made = run("""
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
    made = run("""
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
    made = run("""
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
