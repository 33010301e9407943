"""Random hierarchies of classes, and what is done with their attributes: programs that are run plainly and compiled."""

import functools
import linecache
import random
import types

import numpy as np
from conformance import Seen, compare
from operands import Alike

import frameloom

HEADER = """
import abc, dataclasses, enum, functools, types, typing
import numpy as np

class Data:
    def __init__(self, start):
        self.start = start
    def __set_name__(self, owner, name):
        self.name = name
    def __get__(self, instance, owner=None):
        if instance is None:
            return "of the class", owner.__name__
        return instance.__dict__.get("_" + self.name, self.start)
    def __set__(self, instance, value):
        if value == "no":
            raise ValueError("refused " + self.name)
        instance.__dict__["_" + self.name] = value
    def __delete__(self, instance):
        del instance.__dict__["_" + self.name]

class Reader:
    def __init__(self, what):
        self.what = what
    def __get__(self, instance, owner=None):
        return self.what, instance is None

class Silent:
    def __set__(self, instance, value):
        raise AttributeError("read only")

class Meta(type):
    def shown(cls):
        return "shown " + cls.__name__
    @property
    def size(cls):
        return len(cls.__mro__)
    def __getattr__(cls, name):
        if name == "z":
            return "z of the metaclass"
        raise AttributeError(name)
    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        return made
    def __contains__(cls, item):
        return item == 1
    def __iter__(cls):
        return iter([cls.__name__])
    def __len__(cls):
        return 3

LOG = []
"""



def of_program(cls):
    return vars(cls).get("__module__") == "classes"


class Twins(Alike):
    """Plain and compiled have classes of their own, from the same text. What they define is never run."""

    def content(self, got, want, at):
        if isinstance(want, type):
            assert got is want or (of_program(want) and of_program(got) and got.__qualname__ == want.__qualname__)
        elif type(want) is types.FunctionType:
            assert (got.__qualname__, got.__code__.co_firstlineno) == (want.__qualname__, want.__code__.co_firstlineno)
        elif type(want) in (property, functools.cached_property, functools.partialmethod, classmethod, staticmethod):
            assert type(got) is type(want)
        elif type(want) in (types.MappingProxyType, types.GetSetDescriptorType, types.MemberDescriptorType):
            assert type(got) is type(want)
        elif of_program(type(want)):
            assert of_program(type(got)) and type(got).__qualname__ == type(want).__qualname__, f"{type(got)}"
            self.kept += [inside(got), inside(want)]
            self.same(*self.kept[-2:], at)
        else:
            super().content(got, want, at)

    def attributes(self, got, want, at):
        if not of_program(type(want)):
            super().attributes(got, want, at)


def inside(value):
    """All that an object holds."""
    parts = {}
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    parts[name] = member.__get__(value)
                except AttributeError:
                    pass
    for base in (int, dict):
        if isinstance(value, base):
            parts["held"] = base.__index__(value) if base is int else list(dict.items(value))
    try:
        parts["attributes"] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        pass
    return parts


NAMES = "abcmn"
MEMBERS = [
    "{n} = {k}", "{n} = np.float64({k})", "{n} = [{k}]",
    "@property\ndef {n}(self):\n    return ('{n}', getattr(self, 'v', None))",
    "@property\ndef {n}(self):\n    return self._{n}\n@{n}.setter\ndef {n}(self, value):\n    self._{n} = value, {k}",
    "@property\ndef {n}(self):\n    raise AttributeError('inner {n}')",
    "{n} = Data({k})", "{n} = Reader({k})", "{n} = Silent()",
    "def {n}(self, x=0):\n    return '{n}', {k}, x",
    "def {n}(self, x=0):\n    return super().{n}(x)", "def {n}(self, x=0):\n    return ['{c}', super({c}, self).{n}]",
    "@property\ndef {n}(self):\n    return super().{n}", "@classmethod\ndef {n}(cls, x=0):\n    return cls.__name__, {k}, x",
    "@classmethod\ndef {n}(cls, x=0):\n    return super().{n}", "@staticmethod\ndef {n}(x=0):\n    return x, {k}",
    "@functools.cached_property\ndef {n}(self):\n    LOG.append('{n}')\n    return [{k}]",
    "def _{n}(self, x, y=1):\n    return x, y\n{n} = functools.partialmethod(_{n}, {k})", "{n} = functools.partial(print)",
    "{n} = np.add", "{n} = len", "{n} = lambda self: self", "{n} = Data",
    "def {n}(self, x=0):\n    return __class__.__name__, type(self).__name__",
]
HOOKS = [
    "def __getattr__(self, name):\n    if name == 'v':\n        raise AttributeError(name)\n    return 'missing ' + name",
    "def __getattribute__(self, name):\n    if name == 'c':\n        return 'caught'\n    return super().__getattribute__(name)",
    "def __getattribute__(self, name):\n    if name == 'b':\n        return 'caught'\n    return object.__getattribute__(self, name)",
    "def __getattribute__(self, name):\n    LOG.append('get ' + name)\n    return super().__getattribute__(name)",
    "def __getattribute__(self, name):\n    if name == 'm':\n        raise AttributeError('no m')\n    return object.__getattribute__(self, name)",
    "def __setattr__(self, name, value):\n    LOG.append(name)\n    super().__setattr__(name, value)",
    "def __setattr__(self, name, value):\n    object.__setattr__(self, name, (value,))",
    "def __delattr__(self, name):\n    LOG.append('del ' + name)\n    super().__delattr__(name)",
    "def __init__(self, v=1):\n    super().__init__()\n    self.v = v", "def __init__(self, v=2):\n    self.v = v\n    self.a = 'own a'",
    "def __new__(cls, *args):\n    made = super().__new__(cls)\n    made.n = 'new'\n    return made",
    "def __init_subclass__(cls, **kwargs):\n    super().__init_subclass__(**kwargs)\n    cls.b = 'set below'",
    "def __class_getitem__(cls, key):\n    return cls.__name__, key", "def __call__(self, *args):\n    return 'called', args",
    "def __dir__(self):\n    return ['a', 'b']", "def __repr__(self):\n    return '{c}()'",
    "def __eq__(self, other):\n    return type(self) is type(other)\ndef __hash__(self):\n    return 1",
    "__slots__ = ('v', 'a')", "__slots__ = ()", "__match_args__ = ('v',)", "def __len__(self):\n    return 2",
]
DEEDS = [
    "r = o.{n}", "r = o.{n}", "r = o.{n}", "o.{n} = {k}; r = o.{n}", "o.{n} = 'no'; r = o.{n}", "del o.{n}; r = 1",
    "r = o.{n}(5)", "r = o.{n}()", "r = C.{n}", "r = C.{n}(o)", "r = C.{n}(o, 3)", "r = type(o).{n}", "r = getattr(o, '{n}', 'none')",
    "r = hasattr(o, '{n}')", "setattr(o, '{n}', {k}); r = o.{n}", "delattr(o, '{n}'); r = 1", "r = vars(o)", "r = o.__dict__",
    "r = '{n}' in o.__dict__", "o.__dict__['{n}'] = {k}; r = o.{n}", "r = super(C, o).{n}", "r = super(C, o).{n}(2)",
    "r = super(C, C).{n}", "r = isinstance(o, C), issubclass(type(o), C)", "r = C.__mro__[1].__name__", "r = C.__name__, C.__qualname__",
    "r = [c.__name__ for c in type(o).__mro__]", "r = o.__class__ is C", "r = object.__getattribute__(o, '{n}')",
    "object.__setattr__(o, '{n}', {k}); r = o.{n}", "C.{n} = {k}; r = o.{n}", "C.{n} = property(lambda s: 'new'); r = o.{n}",
    "del C.{n}; r = 1", "r = type.__getattribute__(C, '{n}')", "r = C.shown()", "r = C.size", "r = o.size", "r = C.z", "r = len(C), 1 in C, list(C)",
    "f = o.{n}; r = f", "f = o.{n}; r = f(1)", "r = o.zz", "r = C[int]", "r = o(1)", "r = len(o), bool(o)", "r = o == C()",
    "q = C(); q.{n} = x; r = q", "q = C(3); r = q, q.v", "r = C(1, 2)", "r = [q.{n} for q in (o, C())]", "r = {{o: 1}}[o]",
    "r = C.__dict__['{n}']", "r = callable(o), callable(o.{n})", "r = o.{n} is o.{n}", "r = o.{n}, o.{n}", "o.{n} += 1; r = o.{n}",
    "match o:\n    case C(v=q): r = q\n    case _: r = 'no'", "r = dir(o)", "r = repr(type(o.{n}))", "o.x = x; r = o.x + 1; o.x = r",
    "class E(C): a = 7\nr = E().a, E.b", "class E(C):\n    def m(self, x=0): return super().{n}\nr = E().m()",
    "r = o.{n}.__name__", "r = o.{n}.__self__ is o", "r = o.{n}.__func__ is C.{n}", "r = np.sum(x) + len(o.{n})", "r = x * o.{n}",
]


def a_class(rng, name, before):
    bases = rng.sample(before, min(len(before), rng.choice([0, 1, 1, 1, 2])))
    bases.sort(key=lambda c: -int(c[1:]))
    options = rng.choice([[], [], [], [], ["metaclass=Meta"], ["abc.ABC"], ["typing.Generic[T]"], ["dict"], ["int"]])
    listed = ", ".join(bases + options)
    lines = [f"class {name}({listed}):" if listed else f"class {name}:"]
    body = [rng.choice(MEMBERS) for _ in range(rng.randrange(5))] + rng.sample(HOOKS, rng.choice([0, 0, 1, 1, 2, 3]))
    for member in body or ["pass"]:
        filled = member.replace("{n}", rng.choice(NAMES)).replace("{k}", str(rng.randrange(9))).replace("{c}", name)
        lines += ["    " + row for row in filled.split("\n")]
    return "\n".join(lines) + "\n"


class Program:
    """Of one seed: its source, and how to make it."""

    def __init__(self, seed):
        rng, known = random.Random(seed), {}
        exec(HEADER + "T = typing.TypeVar('T')\n", known)
        texts, names = [], []
        while len(names) < rng.choice([2, 3, 4]):
            text = a_class(rng, f"C{len(names)}", names)
            try:
                exec(text, known)
            except (TypeError, ValueError):  # no order of the bases, another layout
                continue
            texts.append(text)
            names.append(f"C{len(names)}")
        self.classes, self.header = names, HEADER + "T = typing.TypeVar('T')\n" + "".join(texts)
        self.deeds = [self.deed(rng) for _ in range(5)]
        self.name = f"<classes {seed}>"

    def deed(self, rng):
        text = rng.choice(DEEDS).replace("{{", "{").replace("}}", "}")
        for mark, value in (("{n}", rng.choice(NAMES)), ("{k}", str(rng.randrange(9)))):
            text = text.replace(mark, value)
        return text, rng.choice(self.classes), rng.random() < 0.5

    def source(self, deeds):
        rows, live = [], 0
        for text, cls, given in deeds:
            rows += ["try:", f"    C = {cls}", f"    o = given[{live}] if {given} else C()"]
            rows += ["    " + r for r in (text.split("\n") if "\n" in text else text.split("; "))]
            rows += ["    out.append((o, r))", "except Exception as e:", "    out.append(e)"]
            live += given
        body = "".join(f"    {r}\n" for r in rows)
        maker = ", ".join(f"made({c})" for _, c, g in deeds if g)
        return (self.header + f"def f(x, given):\n    out = []\n{body}    return out, x + 1, list(LOG)\n"
                + "def made(c):\n    try:\n        return c()\n    except Exception:\n        return None\n"
                + "def arguments(kind=0):\n    LOG.clear()  # what comparing the last results has called\n"
                + f"    given = [{maker}]\n    LOG.clear()\n    return [np.arange(3.0) + kind, given]\n")

    def make(self, deeds):
        source, known = self.source(deeds), {"__name__": "classes"}
        linecache.cache[self.name] = (len(source), None, source.splitlines(True), self.name)
        exec(compile(source, self.name, "exec"), known)
        return known["f"], known["arguments"]

    def run(self, deeds, backend="interpret"):
        """None, or what differs."""
        plain, arguments = self.make(deeds)
        function, own_arguments = self.make(deeds)
        frameloom.reset()
        compiled = frameloom.compile(function, backend=backend)
        with np.errstate(all="ignore"):
            for call, kind in enumerate((0, 0, 1)):
                want = Seen(plain, arguments(kind), lambda: None)
                got = Seen(compiled, own_arguments(kind), lambda: None)
                try:
                    compare(got, want, Twins())
                except AssertionError as error:
                    return f"call {call}: {error}"
        return None

    def different(self, backend="interpret"):
        """What differs, with the source: of one of the things done, when that alone shows it."""
        why = self.run(self.deeds, backend)
        if why is None:
            return None
        for deed in self.deeds:
            alone = self.run([deed], backend)
            if alone:
                return alone + "\n" + self.source([deed])[len(HEADER):]
        return why + "\n" + self.source(self.deeds)[len(HEADER):]
