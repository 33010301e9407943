"""Bytecode of the CPython that runs the tests is read and written again as it was, and does what it did; other versions run
everything as it is. FRAMELOOM_STDLIB=1 takes the whole standard library instead of some of its modules."""

import dis
import importlib.util
import os
import pathlib
import re
import types

import pytest
from paths import CPYTHON
from processes import PATIENCE, printed, run_python

from frameloom import _native

LIBRARY = pathlib.Path(os.__file__).parent
SOME = ["argparse", "ast", "asyncio/tasks", "collections/__init__", "contextlib", "dataclasses", "decimal", "enum",
        "functools", "inspect", "logging/__init__", "optparse", "tarfile", "traceback", "typing", "unittest/mock"]
FILES = sorted(p for p in LIBRARY.rglob("*.py") if not {"site-packages", "test", "tests", "lib2to3"} & set(p.parts))
if not os.environ.get("FRAMELOOM_STDLIB"):
    FILES = [LIBRARY / f"{name}.py" for name in SOME if (LIBRARY / f"{name}.py").exists()]

# Instructions that no handler of the evaluator has: asynchronous code, except*, interactive printing, type parameters.
LEFT = {"ASYNC_GEN_WRAP", "BEFORE_ASYNC_WITH", "CALL_INTRINSIC_1", "CALL_INTRINSIC_2", "CHECK_EG_MATCH", "CLEANUP_THROW",
        "END_ASYNC_FOR", "GET_AITER", "GET_ANEXT", "GET_AWAITABLE", "IMPORT_STAR", "PREP_RERAISE_STAR", "PRINT_EXPR"}


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def check_decoded(code, instructions, handlers):
    units = {i.offset // 2: i.opname for i in dis.get_instructions(code)}
    places, before = list(code.co_positions()), -1
    for name, unit, _, target, line, column in instructions:
        assert (line, column) == (places[unit][0] or code.co_firstlineno, (places[unit][2] if places[unit][2] is not None else -1) + 1)
        assert unit >= before, "out of order"
        before = unit
        assert -1 <= target < len(instructions)
        if name == "UNSUPPORTED":
            assert units[unit] in LEFT
    for begin, end, target, depth, _ in handlers:
        assert 0 <= begin <= end <= len(instructions) and target < len(instructions) and depth <= code.co_stacksize


def check_encoded(code, made):
    shift = len(made.co_code) - len(code.co_code)
    assert made.co_code[shift:] == code.co_code
    assert list(made.co_positions())[shift // 2:] == list(code.co_positions())
    rows = [(e.start + shift, e.end + shift, e.target + shift, e.depth, e.lasti) for e in dis._parse_exception_table(code)]
    assert [(e.start, e.end, e.target, e.depth, e.lasti) for e in dis._parse_exception_table(made)][-len(rows):] == rows[:]
    assert made.co_consts[:len(code.co_consts)] == code.co_consts
    assert list(dis.get_instructions(made))[0].opname in ("RESUME", "COPY_FREE_VARS", "JUMP_FORWARD")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(LIBRARY)))
def test_the_standard_library_is_read_and_written_as_it_is(path):
    seen = 0
    try:
        compiled = compile(path.read_bytes(), str(path), "exec")
    except SyntaxError:
        pytest.skip("no module of this version")
    for code in codes(compiled):
        instructions, handlers, made = _native._recode(code)
        check_decoded(code, instructions, handlers)
        if made is not None:
            check_encoded(code, made)
            seen += 1
    assert seen or not any(codes(compiled))


RERUN = ["test_contextlib", "test_generators", "test_scope", "test_with"]
if os.environ.get("FRAMELOOM_STDLIB"):
    RERUN += ["test_argparse", "test_ast", "test_asyncgen", "test_bisect", "test_calendar", "test_collections", "test_configparser",
              "test_coroutines", "test_csv", "test_dataclasses", "test_datetime", "test_difflib", "test_email", "test_enum",
              "test_exceptions", "test_fractions", "test_functools", "test_heapq", "test_html", "test_itertools", "test_json",
              "test_optparse", "test_patma", "test_pathlib", "test_pprint", "test_random", "test_re", "test_shlex", "test_statistics",
              "test_string", "test_textwrap", "test_tokenize", "test_typing", "test_uuid", "test_weakref", "test_yield_from"]


@pytest.mark.parametrize("module", RERUN)
def test_the_standard_library_runs_as_it_is_written_again(module):
    """Every code object of the library and of its tests is decoded and encoded, and led over each place where compiled parts
    could stand: the tests end as they do plainly."""
    if importlib.util.find_spec("test") is None or importlib.util.find_spec(f"test.{module}") is None:
        pytest.skip("this CPython came without its own tests")
    done = run_python(CPYTHON / "run.py", "--recoded", "--verbose", module, timeout=2 * PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    again, of = map(int, re.search(r"(\d+) code objects of (\d+)", done.stdout).groups())
    assert again > 1000 and of - again < of // 100


def test_copies_of_code_that_is_written_again_run():
    """types.coroutine() makes one, with another flag."""
    def steps(x):
        try:
            y = yield x + 1
            yield [x, y]
        finally:
            ended.append(x)

    ended = []
    steps.__code__ = _native._rewrite(steps.__code__, 1)
    running = types.coroutine(steps)  # gives `steps` itself another code
    assert running.__code__.co_flags & 0x100
    step = running(1)
    assert step.send(None) == 2 and step.send("y") == [1, "y"] and not ended
    with pytest.raises(KeyError):
        step.throw(KeyError("gone"))
    assert ended == [1]


def test_a_version_that_is_not_known_runs_everything_as_it_is():
    program = """
import sys, warnings
major, minor = 3, 99
sys.version_info = (major, minor, 0, "final", 0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import frameloom
    def f(x): return x + 1
    compiled = [frameloom.compile(f), frameloom.compile()(f), frameloom.compile(fullgraph=True)(f)]
assert all(g is f for g in compiled) and compiled[0](2) == 3
assert [str(w.message) for w in caught] == ["frameloom does not compile on Python 3.99: functions run as they are"], caught
assert "frameloom._native" not in sys.modules
with frameloom.config.patch(disable=True): frameloom.reset(); frameloom.graph_break()
print("plain")
"""
    assert printed(program) == "plain\n"


def test_frames_that_are_elsewhere_run_everything_as_it_is():
    program = """
import sys, types, warnings
native = sys.modules["frameloom._native"] = types.ModuleType("frameloom._native")
native.frames_agree, native.frame_probe = lambda function: False, None
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import frameloom
    def f(x): return x + 1
    assert frameloom.compile(f) is f
assert len(caught) == 1 and "whose frames are not those of" in str(caught[0].message), caught
print("plain")
"""
    assert printed(program) == "plain\n"


def test_the_frames_are_looked_at():
    def probe(local):
        other = _native.frame_probe(local)
        return other

    def wrong(local, other=1):
        return _native.frame_probe(local)

    def unlike(local):
        other = _native.frame_probe(None)
        return other

    assert _native.frames_agree(probe) is True
    assert _native.frames_agree(wrong) is _native.frames_agree(unlike) is False
