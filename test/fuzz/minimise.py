"""Makes a program smaller as long as the same class of difference is left."""

import ast
import copy
import re
import time

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
    """Texts, each a little simpler than this one; none of what is no Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    function = program_of(tree)
    if function is None:
        return
    for at in range(len(blocks(tree))):
        for i in range(len(blocks(tree)[at])):
            yield changed(tree, lambda t, at=at, i=i: without(t, blocks(t)[at], i))
            if any(isinstance(part, list) for part in inner(blocks(tree)[at][i])):
                yield changed(tree, lambda t, at=at, i=i: unwrapped(blocks(t)[at], i))
    last = function.body[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple):
        for i in range(len(last.value.elts)):
            yield changed(tree, lambda t, i=i: program_of(t).body[-1].value.elts.pop(i))
    yield from simpler_lines(text)
    for name in (a.arg for a in function.args.args):
        if not re.search(rf"\b{name}\b", text.split("def program")[1].split("\n", 1)[1]):
            fewer = unused(tree, name)
            if fewer:
                yield fewer


def simpler_lines(text):
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if " = array(" in line:
            for pattern, simple in SIMPLER:
                new = re.sub(pattern, simple, line)
                if new != line:
                    yield "\n".join([*lines[:i], new, *lines[i + 1:]])
        if line.startswith("FILTERS = ") and "always" not in line:
            yield "\n".join([*lines[:i], "FILTERS = 'always'", *lines[i + 1:]])


def program_of(tree):
    return next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "program"), None)


def inner(statement):
    return [getattr(statement, field, None) for field in ("body", "orelse", "finalbody")]


def blocks(tree):
    """Every list of statements within the functions, but for that which makes the arguments."""
    return [part for top in tree.body if isinstance(top, ast.FunctionDef) and top.name != "arguments"
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
    last = program_of(tree).body[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple):
        last.value.elts = [e for e in last.value.elts if not (isinstance(e, ast.Name) and e.id in gone)]


def changed(tree, change):
    tree = copy.deepcopy(tree)
    change(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


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
    last.value.elts = [e for e in last.value.elts if e.id != name]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def minimise(text, row, differs, seconds=30):
    """The smallest text found in the time for which `differs(text)` still has a row of the same class, and that row."""
    wanted, end = class_of(row), time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in smaller(text):
            rows = [r for r in differs(candidate) if class_of(r) == wanted]
            if rows:
                text, row, progress = candidate, rows[0], True
                break
            if time.monotonic() > end:
                break
    return text, row
