"""Makes a program smaller as long as the same class of difference is left."""

import ast
import copy
import functools
import itertools
import re
import time

import ir_kind

SIMPLER = [  # (pattern in a line of arguments, what is simpler)
    (r'"(F|negative|step|broadcast|overlap|misaligned|swapped|permuted|readonly|inner|one negative)"', '"C"'),
    (r'"(normal|special|few special|equal|positive|small)"', '"tame"'),
    (r"\(\((\d+(?:, \d+)*,?)\), \(\d+(?:, \d+)*,?\)\)\[size\]", r"(\1)"),
    (r'array\("[^"]*", ', 'array("f8", '),
    (r", \d+\)$", ", 0)"),
]


def class_of(row):
    """What a difference is counted by: its words up to the place."""
    return re.split(r" of |: ", row)[0]


def smaller(text):
    """Makers of texts, each a little simpler than this one; none of what is no Python."""
    if "func.func @" in text:
        yield from ir_kind.smaller(text)
        return
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    function = program_of(tree)
    if function is None:
        return
    for at, statements in enumerate(blocks(tree)):
        for half in (slice(0, len(statements) // 2), slice(len(statements) // 2, len(statements) - 1)) if len(statements) > 3 else ():
            yield functools.partial(changed, tree, lambda t, at=at, half=half: blocks(t)[at].__delitem__(half))
        for i in reversed(range(len(statements))):
            yield functools.partial(changed, tree, lambda t, at=at, i=i: without(t, blocks(t)[at], i))
            if any(isinstance(part, list) for part in inner(statements[i])) and not isinstance(statements[i], (ast.FunctionDef, ast.ClassDef)):
                yield functools.partial(changed, tree, lambda t, at=at, i=i: unwrapped(blocks(t)[at], i))
    last = function.body[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple):
        for i in range(len(last.value.elts)):
            yield functools.partial(changed, tree, lambda t, i=i: program_of(t).body[-1].value.elts.pop(i))
    yield from simpler_lines(text)
    for name in (a.arg for a in function.args.args if "def arguments" in text):
        if not re.search(rf"\b{name}\b", text.split("def program")[1].split("\n", 1)[1]):
            fewer = unused(tree, name)
            if fewer:
                yield lambda: fewer
    if "def arguments" not in text:
        yield from simpler_expressions(tree)


def expressions(tree):
    """(node, field, place in a list or None) of every expression within the functions and classes."""
    for top in tree.body:
        if isinstance(top, (ast.FunctionDef, ast.ClassDef)):
            for node in ast.walk(top):
                for field, value in ast.iter_fields(node):
                    for i, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                        if isinstance(part, ast.expr) and not isinstance(part, (ast.Name, ast.Constant)) and isinstance(getattr(part, "ctx", ast.Load()), ast.Load):
                            yield node, field, i, part


def replaced(tree, number, child):
    node, field, i, part = list(expressions(tree))[number]
    made = ast.Constant(1) if child is None else [c for c in ast.iter_child_nodes(part) if isinstance(c, ast.expr)][child]
    if i is None:
        setattr(node, field, made)
    else:
        getattr(node, field)[i] = made


def simpler_expressions(tree):
    """An expression becomes a part of its own, or 1."""
    for number, (_, _, _, part) in enumerate(list(expressions(tree))):
        children = [c for c in ast.iter_child_nodes(part) if isinstance(c, ast.expr)]
        for child in [None, *range(len(children))]:
            yield functools.partial(changed, tree, lambda t, number=number, child=child: replaced(t, number, child))


def simpler_lines(text):
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if " = array(" in line:
            for pattern, simple in SIMPLER:
                new = re.sub(pattern, simple, line)
                if new != line:
                    yield functools.partial("\n".join, [*lines[:i], new, *lines[i + 1:]])
        if line.startswith("FILTERS = ") and "always" not in line:
            yield functools.partial("\n".join, [*lines[:i], "FILTERS = 'always'", *lines[i + 1:]])


def program_of(tree):
    return next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "program"), None)


def inner(statement):
    parts = [getattr(statement, field, None) for field in ("body", "orelse", "finalbody")]
    return parts + [part.body for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ()))]


def blocks(tree):
    """Every list of statements within the functions and classes, but for that which makes the arguments."""
    own = [] if any(isinstance(top, ast.FunctionDef) and top.name == "arguments" for top in tree.body) else [tree.body]
    return own + [part for top in tree.body if isinstance(top, (ast.FunctionDef, ast.ClassDef)) and top.name != "arguments"
            for node in ast.walk(top) for part in inner(node) if isinstance(part, list) and part and isinstance(part[0], ast.stmt)]


def unwrapped(statements, i):
    statements[i:i + 1] = [s for part in inner(statements[i]) if isinstance(part, list) for s in part]


def without(tree, statements, i):
    """Leaves a statement out, and its name out of what is returned."""
    gone = {n.id for n in ast.walk(statements[i]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if len(statements) > 1:
        del statements[i]
    else:
        statements[i] = ast.Pass()
    last = program_of(tree) and program_of(tree).body[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple):
        last.value.elts = [e for e in last.value.elts if not (isinstance(e, ast.Name) and e.id in gone)]


def changed(tree, change):
    tree = copy.deepcopy(tree)
    change(tree)
    if program_of(tree) is None:
        return None
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        compile(text, "", "exec")
        return text
    except (ValueError, SyntaxError):  # what would be no Python
        return None


def unused(tree, name):
    """Without an argument that the program does not use, or None where another one is made of it."""
    tree = copy.deepcopy(tree)
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    make, program = functions["arguments"], functions["program"]
    uses = [n for n in ast.walk(make) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    if len(uses) > 1:
        return None
    program.args.args = [a for a in program.args.args if a.arg != name]
    make.body = [s for s in make.body if not (isinstance(s, ast.Assign) and s.targets[0].id == name)]
    last = make.body[-1]
    last.value.elts = [e for e in last.value.elts if not (isinstance(e, ast.Name) and e.id == name)]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def minimise(text, row, differs, seconds=30):
    """The smallest text found in the time for which `differs(text)` still has a row of the same class, and that row.

    Behind a change that is kept the next ones are tried, and the first ones again at the end."""
    wanted, end, at, failed = class_of(row), time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        for make in itertools.islice(smaller(text), at, None):
            candidate = make()
            rows = [r for r in differs(candidate) if class_of(r) == wanted] if candidate and candidate != text else []
            if rows:
                text, row, failed = candidate, rows[0], 0
                break
            at, failed = at + 1, failed + 1
            if time.monotonic() > end:
                break
        else:
            if failed >= at or at == 0:
                break
            at = 0
    return text, row
