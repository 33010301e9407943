"""CPython's own tests of generators, with every generator function in them compiled: the outcomes are those of a plain run."""

import importlib.util
import json

import pytest
from processes import printed, with_own_path

PROGRAM = """
import ast, importlib.util, json, sys, types, unittest
name, compiled = sys.argv[1], sys.argv[2] == "compiled"
origin = importlib.util.find_spec("test." + name).origin
with open(origin) as stream:
    tree = ast.parse(stream.read())
made = 0

def yields(node):
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    todo = list(node.body)
    while todo:
        one = todo.pop()
        if isinstance(one, (ast.Yield, ast.YieldFrom)):
            return True
        todo.extend(() if isinstance(one, inner) else ast.iter_child_nodes(one))
    return False

if compiled:
    import frameloom
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and yields(node):
            decorator = ast.parse("__import__('frameloom').compile", mode="eval").body
            for part in ast.walk(decorator):
                ast.copy_location(part, node)
            node.decorator_list.append(decorator)
            made += 1
module = sys.modules["test." + name] = types.ModuleType("test." + name)
module.__file__, module.__package__ = origin, "test"
exec(compile(tree, origin, "exec"), module.__dict__)
result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
print(json.dumps([made, result.testsRun, sorted(t.id() for t, _ in result.failures + result.errors),
                  [words for _, words in result.failures + result.errors]]))
"""


def outcomes(name, mode, folder):
    done = printed(PROGRAM, name, mode, options=["-X", "faulthandler"], cwd=folder, environment=with_own_path())
    return json.loads(done.splitlines()[-1])


@pytest.mark.parametrize("name", ["test_generators", "test_yield_from", "test_generator_stop", "test_contextlib"])
def test_outcomes_are_those_of_a_plain_run(name, tmp_path):
    if importlib.util.find_spec("test." + name) is None:
        pytest.skip("CPython's tests are not installed")
    _, plainly, failed, _ = outcomes(name, "plain", tmp_path)
    made, run, ours, words = outcomes(name, "compiled", tmp_path)
    assert run == plainly and made > 0
    assert set(ours) <= set(failed), words
