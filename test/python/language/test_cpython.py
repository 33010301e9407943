"""Some modules of CPython's own tests, each method compiled (test/cpython): the rest is run by `make test-cpython`."""

import importlib.util

import pytest
from paths import CPYTHON
from processes import run_python


def available(module):
    try:
        return importlib.util.find_spec(f"test.{module}") is not None
    except ModuleNotFoundError:
        return False


RUN = CPYTHON / "run.py"
MODULES = [
    "test_generators", "test_yield_from", "test_contextlib", "test_with", "test_raise", "test_exception_variations",
    "test_dictcomps", "test_dictviews", "test_defaultdict", "test_iter", "test_slice", "test_copy", "test_abc", "test_scope",
    "test_grammar", "test_super", "test_property", "test_decorators", "test_isinstance", "test_richcmp", "test_call",
    "test_keywordonlyarg", "test_patma", "test_named_expressions", "test_binop", "test_bool", "test_unary", "test_class",
]


@pytest.mark.parametrize("module", MODULES)
def test_methods_do_what_they_do_plainly(module):
    if not available(module):
        pytest.skip("this CPython came without its own tests")
    done = run_python(RUN, "--verbose", module)
    assert done.returncode == 0, done.stdout + done.stderr
