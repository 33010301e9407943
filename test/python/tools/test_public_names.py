"""Every public name is documented, typed, and there on a build of Python without the compiler."""

import ast
import inspect
import re

import pytest
from paths import ROOT

import frameloom
from frameloom import _api, _config, _eager, _native

STUB = ast.parse((ROOT / "python" / "frameloom" / "__init__.pyi").read_text())


def stub_names():
    names = {}
    for node in STUB.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = [node]
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname == alias.name:
                    names[alias.name] = [node]
    return names


@pytest.mark.parametrize("name", frameloom.__all__)
def test_documented_and_typed(name):
    item = getattr(frameloom, name)
    assert name == "config" or inspect.getdoc(item)
    page = (ROOT / "docs" / "api.md").read_text()
    assert re.search(rf"`{name}\b", page), "docs/api.md"
    nodes = stub_names()[name]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    if not functions or not isinstance(item, type(stub_names)):
        return
    wanted = list(inspect.signature(item).parameters)
    for node in functions:
        args = node.args
        own = [a.arg for a in args.posonlyargs + args.args]
        own += [args.vararg.arg] if args.vararg else []
        own += [a.arg for a in args.kwonlyargs] + ([args.kwarg.arg] if args.kwarg else [])
        assert own == wanted[: len(own)] if name == "compile_times" else own == wanted


def test_nothing_else_is_public():
    public = {name for name in vars(frameloom) if not name.startswith("_")}
    modules = {name for name in public if inspect.ismodule(getattr(frameloom, name))}
    assert public - modules == set(frameloom.__all__)


def test_settings_are_typed():
    table = {row[0]: row[1] for row in _native.settings() if row[0]}
    stub = {node.target.id: node.annotation.id for node in stub_names()["_Config"][0].body if isinstance(node, ast.AnnAssign)}
    aliases = {"unroll", "cache_size_limit"}
    assert {name: kind for name, kind in stub.items() if name not in aliases} == table
    assert all(stub[name] == "int" for name in aliases)
    assert set(_config.Config.__annotations__) == set(table)
    assert all(re.search(rf"^\s*{name}\b", _config.Config.__doc__, re.M) for name in table)


def test_the_fallback_has_the_same_names():
    for name in frameloom.__all__:
        if hasattr(_api, name):
            ours, theirs = getattr(_api, name), getattr(_eager, name)
            if inspect.isfunction(ours) and name != "custom_op":
                assert str(inspect.signature(ours)) == str(inspect.signature(theirs)), name
    op = _eager.custom_op("test::op")(lambda a: a + 1)
    op.register_fake(lambda a: a)
    assert op(1) == 2 and _eager.run(len) is len


def test_graphs_and_their_parts_are_typed():
    stub = ast.parse((ROOT / "python" / "frameloom" / "_native.pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    for name in ("Graph", "Node", "Value"):
        typed = {node.target.id for node in classes[name].body if isinstance(node, ast.AnnAssign)}
        real = {attr for attr in vars(getattr(_native, name)) if not attr.startswith("_")} - {"print"}
        assert typed == real


def test_a_setting_can_be_patched_by_a_decorator():
    @frameloom.config.patch(recompile_limit=3)
    def limit():
        return frameloom.config.recompile_limit

    assert [limit(), limit(), frameloom.config.recompile_limit] == [3, 3, 8]
