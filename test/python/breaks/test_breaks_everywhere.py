"""The programs of cases with a break at every statement, and inside of expressions: still plain Python's results."""

import ast
import inspect
import random
import textwrap

import pytest
from cases import PROGRAMS, inputs
from compare import assert_same_call, naming, outcome

import frameloom


def blocks(node):
    """All lists of statements below a node."""
    found = [b for name in ("body", "orelse", "finalbody") if isinstance(b := getattr(node, name, None), list) and b
             and isinstance(b[0], ast.stmt)]
    found += [inner.body for name in ("handlers", "cases") for inner in getattr(node, name, [])]
    return found + [deeper for b in list(found) for statement in b for deeper in blocks(statement)]


def parsed(function):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list = []
    return tree


def built(tree, function):
    space = dict(function.__globals__)
    exec(compile(ast.fix_missing_locations(tree), function.__code__.co_filename, "exec"), space)
    return space[function.__name__]


def broken_alike(tree, function):
    try:
        plain, compiled = built(tree, function), frameloom.compile(built(tree, function), backend="interpret")
    except SyntaxError:  # a nonlocal that has to come first
        return
    for _ in range(2):
        want = outcome(plain, inputs())
        with naming(ast.unparse(tree)):
            assert_same_call(outcome(compiled, inputs()), want)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_breaks_between_statements(function):
    places = sum(len(b) + 1 for b in blocks(parsed(function).body[0]))
    for place in [None, *range(places)]:
        tree, at = parsed(function), 0
        for block in blocks(tree.body[0]):
            statements = list(block)
            block.clear()
            for statement in [*statements, None]:
                if place in (None, at):
                    block.append(ast.parse("print(end='')").body[0])
                block += [statement] if statement else []
                at += 1
        broken_alike(tree, function)


class Wrap(ast.NodeTransformer):
    """Some expressions e become (print(end='') or e)."""

    def __init__(self, seed, share):
        self.random, self.share = random.Random(seed), share

    def visit(self, node):
        if isinstance(node, (ast.pattern, ast.JoinedStr, ast.Delete, ast.arguments)):
            return node
        node = super().generic_visit(node)
        plain = isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and not isinstance(node, (ast.Starred, ast.Slice))
        if isinstance(node, ast.expr) and plain and self.random.random() < self.share:
            return ast.BoolOp(ast.Or(), [ast.parse("print(end='')", mode="eval").body, node])
        return node


@pytest.mark.parametrize("share", [0.05, 0.3])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_breaks_inside_expressions(function, share):
    for seed in range(3):
        tree = parsed(function)
        wrap = Wrap(seed, share)
        tree.body[0].body = [wrap.visit(statement) for statement in tree.body[0].body]
        broken_alike(tree, function)
