"""Classes made inside the function over live ones, which change between its calls: random bases, uses and changes."""

import os
import random

import numpy as np
import pytest
from compare import told

import frameloom

COUNT = min(int(os.environ.get("FRAMELOOM_PROGRAMS", "60")), 2000)
BODIES = ["def f(self): return super().f() + ['own']", "def g(self): return self.f(), self.k", "k = 'own'", "def __len__(self): return 2",
          "@property\n        def p(self): return 'own', self.k", "def __init__(self): self.made = 1", "h = 3"]
USES = ["i.f()", "i.g()", "i.k", "Inside.k", "i.p", "hasattr(i, 'h')", "getattr(i, 'h', None)", "i.s()", "i.c()", "Inside.c()", "len(i)", "bool(i)",
        "i + 1", "2 * i", "i == 5", "i < 3", "i(7)", "i[3]", "isinstance(i, B)", "issubclass(Inside, D)", "super(Inside, i).f()", "vars(i)", "i.nothing",
        "f'{i:>3}'", "3 in i", "str(i).split(' at ')[0]", "-i", "type(i).__name__", "Inside.s()", "[v for v in i]", "setattr(i, 'z', 4)", "i.z", "x * i.k"]
VALUES = [
    ("f", "lambda self: ['f{n}']"), ("f", "lambda self: [self.k, {n}]"), ("k", "{n}"), ("k", "{n}.5"), ("k", "'k{n}'"), ("g", "lambda self: ('g', {n})"),
    ("p", "property(lambda self: ('p', {n}))"), ("p", "{n}"), ("h", "{n}"), ("s", "staticmethod(lambda: {n})"), ("c", "classmethod(lambda cls: (cls.__name__, {n}))"),
    ("__len__", "lambda self: {n}"), ("__bool__", "lambda self: {n} > 4"), ("__add__", "lambda self, o: ('add', o, {n})"), ("__rmul__", "lambda self, o: ('rmul', {n})"),
    ("__eq__", "lambda self, o: ('eq', {n})"), ("__lt__", "lambda self, o: ('lt', {n})"), ("__call__", "lambda self, o: ('call', {n})"),
    ("__getitem__", "lambda self, o: [{n}][o % 1] if o < 4 else [][0]"), ("__getattr__", "lambda self, name: (name, {n})"), ("__contains__", "lambda self, o: o == {n}"),
    ("__str__", "lambda self: 's{n}'"), ("__neg__", "lambda self: {n}"), ("__init__", "lambda self: vars(self).update(q={n})"), ("__iter__", "lambda self: iter([{n}])"),
    ("__setattr__", "lambda self, name, v: vars(self).update([(name, (v, {n}))])"), ("__format__", "lambda self, spec: spec + '{n}'"), ("q", "{n}")]
HIERARCHIES = [[("A", ""), ("B", "A"), ("C", "A"), ("D", "B, C")], [("A", ""), ("B", "A"), ("C", ""), ("D", "B")], [("A", ""), ("B", ""), ("C", "B"), ("D", "A")]]


def program(choose):
    """The live classes and the function, as source; how they change, line by line."""
    lines = [f"class {name}({bases}):\n    k = '{name}'\n    def f(self): return ['{name}']" for name, bases in choose.choice(HIERARCHIES)]
    bases = choose.choice(["A", "B", "C", "D", "B, C", "C, A", "D, C", "A, C"])
    body = "\n        ".join(choose.sample(BODIES, choose.randrange(4)) or ["pass"])
    nested = choose.random() < 0.3
    uses = "".join(f"    try:\n        out.append({use})\n    except (AttributeError, TypeError, IndexError, ValueError) as e:\n        out.append(type(e).__name__)\n"
                   for use in choose.sample(USES, choose.randrange(2, 8)))
    between = "    class Under(Under):\n        pass\n" if nested else ""
    function = (f"def function(x):\n    out = []\n    class Inside({bases}):\n        {body}\n"
                + (between.replace("Under(Under)", "Further(Inside)") + "    i = Further()\n" if nested else "    i = Inside()\n")
                + uses + "    return x + 1, out\n")
    changes = []
    for n in range(3, 11):
        cls, (name, value) = choose.choice("ABCD"), choose.choice(VALUES)
        gone = choose.random() < 0.25
        changes.append(f"if '{name}' in vars({cls}): del {cls}.{name}" if gone else f"{cls}.{name} = {value.format(n=n)}")
    if choose.random() < 0.2:
        changes.insert(choose.randrange(len(changes)), "D.__bases__ = (B,)")
    return "\n".join(lines) + "\n" + function, changes


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_classes(seed):
    choose = random.Random(seed)
    source, changes = program(choose)
    names = {"np": np}
    try:
        exec(compile(source, f"<made {seed}>", "exec"), names)
    except TypeError:  # no order of the live bases
        return
    function = names["function"]
    compiled = frameloom.compile(function, backend="interpret")
    assert told(compiled, np.arange(2.0)) == told(function, np.arange(2.0)), source
    for change in changes:
        try:
            exec(change, names)
        except (TypeError, AttributeError):
            continue
        for _ in range(2):
            assert told(compiled, np.arange(2.0)) == told(function, np.arange(2.0)), f"{change}\n{source}"
