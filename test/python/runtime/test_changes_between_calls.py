"""Everything that a function reads of live objects is changed between its calls, at random: each call is plain Python's."""

import os
import random

import numpy as np
import pytest

import frameloom

COUNT = min(int(os.environ.get("FRAMELOOM_PROGRAMS", "60")), 2000)
WORLD = """
import collections, collections.abc, copy, dataclasses, enum, functools, operator, types, typing
class Base:
    rate = 2.0
    def __init__(self, n):
        self.n, self.items, self.table = n, [n, 2.5, "s"], {"a": n, "b": [1.0]}
    def step(self, x): return x * self.rate + self.n
    @property
    def size(self): return len(self.items)
    @classmethod
    def make(cls, n): return cls(n)
    @staticmethod
    def pure(v): return [v]
    def __len__(self): return 3
    def __getitem__(self, k): return self.table[k]
class Child(Base):
    extra = (1, 2)
    def step(self, x): return super().step(x) - 1
class Slots:
    __slots__ = ("u", "w")
    def __init__(self, u): self.u = u
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
@dataclasses.dataclass
class Record:
    a: float = 1.0
    b: list = dataclasses.field(default_factory=lambda: [1, 2])
Pair = collections.namedtuple("Pair", "l r")
def helper(v, by=2, *more, scale=1.0): return v * by * scale
def closed(k):
    def inner(v): return v + k
    def put(v):
        nonlocal k
        k = v
    return inner, put
inner, put = closed(3)
part = functools.partial(helper, by=3, scale=0.5)
o, c, s, rec = Base(1), Child(2.0), Slots(4), Record()
space = types.SimpleNamespace(f=helper, o=o, deep=types.SimpleNamespace(k=1))
queue, counts, ordered = collections.deque([1, 2.0], 3), collections.Counter("aab"), collections.OrderedDict(p=1, q=2)
groups, names, frozen = collections.defaultdict(list, a=[1]), {"x", "y"}, frozenset([1, 2])
pair, bound, level, flag, text, number = Pair(1, [2.0]), o.step, Level.LOW, True, "abc", 7
array, scalar, getter = [1.0, 2.0], np.float64(1.5), operator.attrgetter("n")
"""
READS = [
    "o.step(x)", "c.step(x)", "o.n", "c.n", "o.rate", "Base.rate", "c.extra", "o.size", "o.items", "o.items[0]", "o.table['a']", "o.table.get('b')", "o['a']",
    "len(o)", "bool(o)", "Child.make(2).n", "type(c.make(1)).__name__", "o.pure(1)", "s.u", "getattr(s, 'w', 'none')", "level.name", "level + 1", "level is Level.LOW",
    "rec", "rec == Record()", "rec.b[0]", "repr(rec)", "pair.l", "pair.r[0]", "pair", "helper(x)", "helper(2)", "inner(x)", "part(x)", "part.keywords", "space.f(x)",
    "space.o.n", "space.deep.k", "vars(space.deep)", "list(queue)", "queue[0]", "len(queue)", "counts['a']", "counts.most_common(1)", "list(ordered.items())", "dict(groups)",
    "groups.get('a')", "sorted(names)", "'x' in names", "frozen", "bound(x)", "bound.__self__ is o", "flag", "text.upper()", "number * 2", "x * number", "sum(array)", "x + array[0]",
    "scalar", "x * scalar", "getter(o)", "isinstance(c, Base)", "isinstance(o, Child)", "hasattr(o, 'late')", "getattr(o, 'late', None)", "list(vars(o))", "o.table", "[*o.items]",
    "max(o.table, key=str)", "helper.__defaults__", "helper.__kwdefaults__", "inner.__closure__[0].cell_contents", "Base.__name__", "o is space.o", "o.items is c.items",
    "{**o.table}", "[i * 2 for i in array]", "callable(o)", "str(level)", "type(number).__name__", "type(flag)(1)", "operator.eq(o.n, c.n)", "o.n == c.n", "o.n < 5",
    "x if o.n else -x", "x if o.items else -x", "any(o.items)", "f'{o.n}-{text:>5}-{number}'", "Base.step(o, x)", "super(Child, c).step(x)", "issubclass(Child, Base)",
    "{o: 1}[o]", "len({c, o, o})", "o in [c, o]", "o in (1, c)", "list(o)[:2]", "next(o, None)", "o + 1", "1 + o", "-o", "[7, 8, 9][o]", "float(o)", "int(c)", "str(o)", "f'{c}'", "x * o",
    "sorted([c, o]) is None", "o(3)", "4 in o", "o < c", "o != c", "abs(o)", "divmod(o, 2)", "range(9)[o]", "isinstance(o, collections.abc.Sized)", "isinstance(o, collections.abc.Iterable)",
    "isinstance(o, collections.abc.Hashable)", "hasattr(o, '__iter__')", "hasattr(Base, '__call__')", "round(o)", "reversed(o) is None", "dict(o) is None", "''.join(o) is None",
    "np.add(x, o)", "max(o, c) is o", "sum([o, 1])", "o is not None and not c", "copy.copy(o).n"]
SPECIAL = ["hash", "iter", "next", "add", "radd", "neg", "index", "float", "int", "str", "format", "rmul", "lt", "gt", "contains", "abs", "divmod", "array_ufunc", "array_priority", "round",
           "reversed", "ne", "getattribute", "copy"]
VALUES = ["1", "2", "0", "5.5", "True", "None", "'z'", "[]", "[4, 5]", "(7,)", "np.float32(2)", "np.arange(2.0)", "{'a': 9}", "o", "c", "helper", "lambda *a, **k: 'fn'", "-1", "2.0", "10**20",
          "float('nan')", "-0.0", "0.0", "np.int64(3)", "Level.HIGH", "'abc'", "Slots(8)"]
TARGETS = ["o.n", "c.n", "o.rate", "Base.rate", "c.extra", "Child.extra", "o.items", "o.items[0]", "o.table['a']", "o.table['z']", "o.table", "s.u", "s.w", "level", "rec.a", "rec.b", "rec.b[0]", "pair",
           "pair.r[0]", "helper.__defaults__", "helper.__kwdefaults__", "part", "part.keywords['by']", "space.f", "space.o", "space.deep.k", "space.deep", "queue[0]", "counts['a']", "ordered['p']",
           "groups['a']", "frozen", "bound", "flag", "text", "number", "array", "array[0]", "scalar", "o.late", "Base.late", "o", "c", "c.items", "o.__class__", "o.step", "Base.step", "Child.step", "Base.size",
           "Base.make", "Base.pure", "Base.__len__", "Base.__bool__", "Base.__getattr__", "Base.__call__", "helper", "inner", "getter", "Base.__getitem__", "Child.__name__", "Base.__eq__", *(f"Base.__{n}__" for n in SPECIAL), "Base.keys"]
MADE = {"Base.step": ["lambda self, v: v - self.n", "lambda self, v: (v, self.rate)"], "Child.step": ["lambda self, v: v * 3", "Base.step"], "o.step": ["lambda v: v * 5"],
        "Base.size": ["property(lambda self: -len(self.items))", "4"], "Base.make": ["classmethod(lambda cls, n: cls(n + 1))"], "Base.pure": ["staticmethod(lambda v: (v, v))"],
        "Base.__len__": ["lambda self: 0", "lambda self: 4"], "Base.__bool__": ["lambda self: False", "lambda self: True"], "Base.__getattr__": ["lambda self, name: len(name)"],
        "Base.__call__": ["lambda self: 1"], "helper": ["lambda v, *a, **k: v", "functools.partial(max, 3, key=str)"], "inner": ["closed(4)[0]", "lambda v: v"], "o.__class__": ["Child", "Base"],
        "getter": ["operator.attrgetter('rate')", "operator.itemgetter('a')"], "Base.__getitem__": ["lambda self, k: [4, 5][k]"], "Child.__name__": ["'Kid'"], "Base.__eq__": ["lambda self, other: 'eq'", "lambda self, other: self is other"],
        "Base.__hash__": ["lambda self: 4", "None", "object.__hash__"], "Base.__iter__": ["lambda self: iter([1, 2])", "lambda self: self", "None"], "Base.__next__": ["lambda self: next(iter(()))"],
        "Base.__add__": ["lambda self, other: 'add'", "lambda self, other: NotImplemented"], "Base.__radd__": ["lambda self, other: 'radd'"], "Base.__neg__": ["lambda self: 'neg'"],
        "Base.__index__": ["lambda self: 1", "lambda self: 2"], "Base.__float__": ["lambda self: 2.5"], "Base.__int__": ["lambda self: 3"], "Base.__str__": ["lambda self: 'str'"],
        "Base.__format__": ["lambda self, spec: 'fmt'"], "Base.__rmul__": ["lambda self, other: 'rmul'"], "Base.__lt__": ["lambda self, other: True"], "Base.__gt__": ["lambda self, other: True"],
        "Base.__contains__": ["lambda self, v: v == 4"], "Base.__abs__": ["lambda self: 'abs'"], "Base.__divmod__": ["lambda self, v: (1, 2)"], "Base.__array_ufunc__": ["None"],
        "Base.__array_priority__": ["100"], "Base.__round__": ["lambda self: 1"], "Base.__reversed__": ["lambda self: [1]"], "Base.__ne__": ["lambda self, other: 'ne'"],
        "Base.__getattribute__": ["lambda self, name: object.__getattribute__(self, name)"], "Base.__copy__": ["lambda self: Base(77)"], "Base.keys": ["lambda self: ['a']"],
        "o": ["Child(6)", "Base(3)"], "c": ["Child(1)", "Base(0)"], "helper.__defaults__": ["(4,)", "None", "(np.ones(2),)"], "helper.__kwdefaults__": ["{'scale': 3}", "None"], "bound": ["c.step", "o.pure"],
        "level": ["Level.HIGH", "2", "Level(1)"], "pair": ["Pair(3, [1])", "(3, [1])"], "part": ["functools.partial(helper, scale=2)"], "queue[0]": VALUES}
FURTHER = ["put(5)", "put(2.5)", "put(None)", "o.items.append(1)", "o.items.clear()", "o.table.clear()", "o.table.pop('a', 0)", "queue.append(9)", "queue.clear()", "names.add('q')", "names.discard('x')", "counts.update('zz')",
           "ordered.move_to_end('p')", "groups['n'].append(1)", "del o.n", "del o.rate", "vars(space).pop('o', 0)", "Child.__bases__ = (Base,)", "o.items.reverse()", "array.append(3)", "del Base.late",
           "o.items.append(o.items[0])", "vars(o).update(late=4)", "c.items = o.items", "o.table['b'] = o.items", "globals().update(sum=max)", "globals().pop('sum', 0)", "del Base.__bool__", "del Base.__getattr__", *(f"del Base.__{n}__" for n in SPECIAL)]


def text_of(value, depth=0):
    """What can be seen of a value, cut off where it repeats itself."""
    if depth > 5:
        return "..."
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tolist()
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [text_of(v, depth + 1) for v in value]
        return type(value).__name__, items if isinstance(value, (list, tuple)) else sorted(map(str, items))
    if isinstance(value, dict):
        return type(value).__name__, [(text_of(k, depth + 1), text_of(v, depth + 1)) for k, v in value.items()]
    if isinstance(value, (int, float, str, bool, type(None), np.generic)):
        return type(value).__name__, repr(value)
    return type(value).__name__, [(k, text_of(v, depth + 1)) for k, v in sorted(getattr(value, "__dict__", {}).items())] if depth < 2 else "..."


def seen(function):
    try:
        result = function(np.arange(1.0, 3.0))
    except Exception as error:
        return type(error).__name__, str(error).split(" at 0x")[0]
    return [text_of(v) for v in result]


def change(choose):
    if choose.random() < 0.3:
        return choose.choice(FURTHER)
    target = choose.choice(TARGETS)
    return f"{target} = {choose.choice(MADE.get(target, VALUES))}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(COUNT))
def test_random_changes(seed):
    choose = random.Random(seed)
    names = {"np": np, "__name__": "world"}
    exec(compile(WORLD, "<world>", "exec"), names)
    reads = choose.sample(READS, choose.randrange(1, 6))
    source = f"def function(x):\n    return [x + 1, {', '.join(reads)}]\n"
    exec(compile(source, "<changes>", "exec"), names)
    function = names["function"]
    compiled = frameloom.compile(function, backend="interpret", dynamic=choose.choice([None, None, False, True]))
    assert seen(compiled) == seen(function), source
    done = []
    for _ in range(8):
        line = change(choose)
        try:
            exec(line, names)
        except Exception:
            continue
        done.append(line)
        for _ in range(2):
            assert seen(compiled) == seen(function), "\n".join([source, *done])
