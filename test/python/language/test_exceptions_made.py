"""Exceptions of classes with methods of their own, made and caught inside: attributes, truth, operators, what BaseException keeps."""

import gc

import numpy as np
import pytest

import frameloom

LOG = []

CLASSES = """
class Descriptor:
    def __get__(self, instance, owner=None):
        return "got", instance is None
    def __set__(self, instance, value):
        instance.__dict__["kept"] = value

class Plain(BASE):
    shared = 3

class Truth(BASE):
    def __bool__(self):
        return False

class Length(BASE):
    def __len__(self):
        return 0

class Getattr(BASE):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return "given " + name

class Getattribute(BASE):
    def __getattribute__(self, name):
        return {"args": ("own",), "n": 5}.get(name) or super().__getattribute__(name)

class Setattr(BASE):
    def __setattr__(self, name, value):
        super().__setattr__(name, (value, "set"))
    def __delattr__(self, name):
        super().__setattr__("deleted", name)

class Properties(BASE):
    data = Descriptor()
    n = property(lambda self: len(self.args), lambda self, value: setattr(self, "w", value))

class Equal(BASE):
    def __eq__(self, other):
        return True
    def __hash__(self):
        return 3
    def __lt__(self, other):
        return "less"

class Operators(BASE):
    def __add__(self, other):
        return "sum"
    def __getitem__(self, at):
        return at
    def __iter__(self):
        return iter([1, 2])
    def __contains__(self, item):
        return item == 4
    def __call__(self, x):
        return x + 1
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return True
    def __int__(self):
        return 7
    def __index__(self):
        return 1
    def __format__(self, form):
        return "form" + form
    def __repr__(self):
        return "repr"
    def __str__(self):
        return "str"

class Init(BASE):
    def __init__(self, a=0, b=2, *, c=3):
        super().__init__(a)
        self.b = b
        self.n = c

class New(BASE):
    def __new__(cls, *args):
        made = super().__new__(cls, *args)
        made.n = 1
        return made

class Slots(BASE):
    __slots__ = ("n",)

class Notes(BASE):
    def with_traceback(self, traceback):
        self.n = 1
        return self
    def add_note(self, note):
        self.n = note

class Finalizer(BASE):
    def __del__(self):
        LOG.append("del")

class Arguments(BASE):
    args = (9,)

class Metaclass(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.n = 1
        return made
    def __instancecheck__(cls, other):
        return False

class Instance(BASE, metaclass=Metaclass):
    pass
"""

EXPRESSIONS = """e.args; e.n; e.absent; e.shared; e.data; hasattr(e, "n"); getattr(e, "k", 3); bool(e); 1 if e else 2; not e; e and 3
e == e; e == C(1); e != C(1); e < C(1); hash(e) == hash(C(1)); e in [C(1)]; len({e, C(1)}); {e: 1}.get(C(1)); e + 1; e[3]; list(e); 4 in e; e(3)
int(e); [1, 2, 3][e]; f"{e:5}"; f"{e!r}{e!s}"; "%s %r" % (e, e); len(e); str(e); repr(e); isinstance(e, C); e.__class__.__name__; type(e).__name__
e.__cause__; e.__context__; e.__suppress_context__; e.__traceback__; e.with_traceback(None) is e; e.add_note("x"); C(1, 2).args; str(C(1, 2)); repr(C("a"))
C().args; C(1, b=3).b; C(a=3).args; sorted(vars(e)); e.__dict__; callable(e); e is e; [*e]; e.value; e.__reduce__()[1:]; dict(a=e)["a"].args"""
STATEMENTS = """e.n = 4; r = e.n
e.n = 4; del e.n; r = hasattr(e, "n"), e.__dict__
e.args = (7, 8); r = e.args, str(e)
e.shared = 9; r = e.shared
e.data = 6; r = e.data, sorted(e.__dict__)
setattr(e, "m", 4); r = e.m
e.__cause__ = C(2); r = e.__suppress_context__, e.__cause__.args
e.__suppress_context__ = True; r = e.__cause__, e.__suppress_context__
e.add_note("n"); r = e.n, e.__notes__
with e as r: raise ValueError
raise e
raise e from C(2)
raise C from e
raise ValueError("v") from e"""
NESTED = """
def caught(x, C):
    try:
        try:
            raise C(1)
        except Exception as first:
            raise ValueError("v") from None
    except ValueError as second:
        return x + 1, second.__cause__, type(second.__context__).__name__, second.__suppress_context__

def replaced(x, C):
    try:
        try:
            raise KeyError(3)
        finally:
            raise C(2)
    except Exception as error:
        return x + 1, error.args, type(error.__context__).__name__

def thrown(x, C):
    seen = []
    def steps():
        try:
            yield 1
        except C as error:
            seen.append(error.args)
            yield 2
        finally:
            seen.append("end")
    begun, fresh = steps(), steps()
    seen.append(next(begun))
    seen.append(begun.throw(C(4)))
    for there in (begun, fresh, fresh):
        try:
            there.throw(C(5))
        except Exception as error:
            seen.append((type(error).__name__, type(error.__cause__).__name__))
    return x + 1, seen
"""


def programs():
    texts = [f"r = {text.strip()}" for text in EXPRESSIONS.replace("\n", ";").split(";")] + STATEMENTS.split("\n")
    lines = [f"""
def program_{i}(x, C):
    e = C(1)
    try:
        {text}
    except Exception as error:
        r = type(error).__name__, error is e, type(error.__cause__).__name__, error.args if error is e else 0
    return x + 1, r if type(r) is not C else "the same"
""" for i, text in enumerate(texts)]
    space = {"np": np}
    exec("".join(lines) + NESTED, space)
    return {name: value for name, value in space.items() if callable(value)}


PROGRAMS = programs()


def outcomes(program, name, base, compiled):
    space = {"BASE": base, "LOG": LOG, "__name__": "classes"}
    exec(CLASSES, space)
    LOG.clear()
    seen = []
    for x in (np.arange(2.0), np.arange(2.0) + 1):
        try:
            seen.append(repr(compiled(x, space[name])))
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
    gc.collect(0)  # tracebacks refer to frames
    return seen, list(LOG)


NAMES = [line.split()[1].partition("(")[0] for line in CLASSES.split("\n") if line.endswith("(BASE):")] + ["Instance"]


@pytest.mark.parametrize("name, base", [(name, Exception) for name in NAMES] + [("Plain", StopIteration), ("Init", KeyError), ("Slots", OSError)])
def test_exceptions_are_as_plain_ones(name, base):
    differ = []
    for title, program in PROGRAMS.items():
        got = outcomes(program, name, base, frameloom.compile(program))
        want = outcomes(program, name, base, program)
        if got != want:
            differ.append(f"{title}:\n   {got}\n   not\n   {want}")
    assert not differ, "\n".join(differ)
