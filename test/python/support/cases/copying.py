"""Copies of what existed before the call, shallow and deep, and of records."""

import collections
import copy
import dataclasses
import typing

import numpy as np

from . import given


class Node:
    def __init__(self, name="n"):
        self.name, self.items, self.next = name, [1], None


def ring():
    a, b = Node("a"), Node("b")
    a.next, b.next = b, a
    return a


@given(Node)
def object_copied(x, y, n):
    m = copy.copy(n)
    m.name = "other"
    m.items.append(x + 1)
    return m, m.items is n.items, n.name


@given(Node)
def object_copied_deeply(x, y, n):
    m = copy.deepcopy(n)
    m.items.append(x * 2)
    return m, m.items is n.items, x + 1


@given(ring)
def ring_copied_deeply(x, y, n):
    m = copy.deepcopy(n)
    return m.next.next is m, m.next is n.next, x * 2, m


@given(lambda: [1, [2, 3], {"k": (4,)}])
def list_copied(x, y, items):
    a, b = copy.copy(items), copy.deepcopy(items)
    a[1].append(x)
    b[1].append(5)
    return a, b, b[2]["k"] is items[2]["k"], x + 1


@given(lambda: (lambda one: [one, one])([1]))
def aliases_copied_deeply(x, y, pair):
    both = copy.deepcopy(pair)
    both[0].append(x * 2)
    return both[0] is both[1], both, len(pair[0])


@given(lambda: {"a": np.ones(3), "b": [np.zeros(2)]})
def arrays_copied_deeply(x, y, d):
    e = copy.deepcopy(d)
    e["a"] += 1
    e["b"][0] += x[:2]
    return e, e["a"] is d["a"], d["a"] * 2


class Own:
    def __init__(self, v):
        self.v = v

    def __copy__(self):
        return Own(self.v + 1)

    def __deepcopy__(self, memo):
        return Own(self.v + 100)


@given(lambda: Own(1))
def copied_by_its_own_way(x, y, o):
    return copy.copy(o).v, copy.deepcopy(o), x * copy.copy(o).v


@given(lambda: {1, 2}, lambda: frozenset([3]))
def sets_copied(x, y, s, f):
    t = copy.copy(s)
    t.add(5)
    return t, len(s), copy.deepcopy(f) is f, copy.deepcopy(s), x + len(t)


@given(lambda: collections.deque([1, [2]]))
def deque_copied(x, y, d):
    e = copy.copy(d)
    e.append(x)
    return e, len(d), x + 1


@given(lambda: collections.defaultdict(list, {"a": [1]}))
def defaultdict_copied(x, y, d):
    e = copy.copy(d)
    e["b"].append(x)
    return e, len(d), x * 2


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    tags: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Line:
    start: Point
    end: Point
    names: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    a: int
    b: int = 2


def line():
    return Line(Point(1.0), Point(2.0, 3.0, ["t"]), {"k": Point(5.0)})


@given(line)
def dataclass_as_dict(x, y, one):
    d = dataclasses.asdict(one)
    d["end"]["tags"].append(x + 1)
    return d, len(one.end.tags), x * d["start"]["x"]


@given(line)
def dataclass_as_tuple(x, y, one):
    return dataclasses.astuple(one), x * dataclasses.astuple(one.start)[0]


@given(line)
def dataclass_replaced(x, y, one):
    other = dataclasses.replace(one, start=Point(x + 1))
    other.end.tags.append(2)
    return other, other.end is one.end, other.start.x * 2


@given(line)
def dataclass_fields(x, y, one):
    return [f.name for f in dataclasses.fields(one)], dataclasses.is_dataclass(one), x * len(dataclasses.fields(Point))


@given(line)
def dataclass_changed(x, y, one):
    one.start.x = x * 2
    one.end.tags.append(one.start.x)
    one.names["n"] = one.end
    return one.start.x + one.end.y


@given(lambda: Frozen(1))
def frozen_dataclass(x, y, f):
    try:
        f.a = 5
    except dataclasses.FrozenInstanceError as error:
        said = str(error)
    return dataclasses.replace(f, b=9), f < Frozen(1, 3), hash(f) == hash(Frozen(1)), said, x * f.b


class Pair(typing.NamedTuple):
    left: object
    right: object = 3


@given(lambda: Pair(1))
def namedtuple_replaced(x, y, p):
    q = p._replace(left=x + 1)
    return q, q.left * p.right, p._asdict(), Pair._make([5, 6]), q._fields


@given(lambda: [Pair(1, 2)])
def namedtuple_in_a_list(x, y, items):
    items[0] = items[0]._replace(right=x)
    items.append(Pair(*items[0]))
    return items[1].right * 2, items[0] == items[1]


@given(lambda: np.asfortranarray(np.ones((2, 3))))
def array_copied_keeps_its_order(x, y, a):
    b, c = copy.copy(a), copy.deepcopy(a)
    c += 1
    return b, c, a.copy(), b.flags.f_contiguous, c.flags.f_contiguous


class Slotted:
    __slots__ = ("a", "b", "missing")

    def __init__(self):
        self.a, self.b = 1, [2]


@given(Slotted)
def slots_copied(x, y, o):
    p, q = copy.copy(o), copy.deepcopy(o)
    q.b.append(x)
    return p, q, hasattr(p, "missing"), p.b is o.b, q.a * x


class Words(dict):
    def __init__(self, *args):
        super().__init__(*args)
        self.note = ["n"]


class Steps(list):
    unit = 1


@given(lambda: Words({"k": [1]}), lambda: Steps([1, [2]]))
def classes_over_builtin_types_copied(x, y, words, steps):
    v, w, s = copy.copy(words), copy.deepcopy(words), copy.deepcopy(steps)
    w["k"].append(x)
    w.note.append("m")
    s[1].append(y)
    return v, w, s, v["k"] is words["k"], x + 1


class Guarded:
    def __init__(self):
        self.a = 1

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return 7


@given(Guarded)
def copied_with_getattr(x, y, o):
    return copy.copy(o), copy.deepcopy(o).other * x


class Reduced:
    def __init__(self, v):
        self.v = v

    def __reduce__(self):
        return Reduced, (self.v + 1,)


@given(lambda: Reduced(1))
def copied_by_reduce(x, y, o):
    return copy.copy(o), copy.deepcopy(o).v * x


class Memo:
    def __init__(self):
        self.parts = [1, [2]]

    def __deepcopy__(self, memo):
        made = Memo()
        made.parts = copy.deepcopy(self.parts, memo)
        return made


@given(lambda: (lambda m: [m, m.parts])(Memo()))
def copied_with_a_memo(x, y, pair):
    both = copy.deepcopy(pair)
    both[1].append(x)
    return both, both[0].parts is both[1], len(pair[1])


@given(lambda: collections.OrderedDict(b=[1], a=2), lambda: collections.deque([[1], 2], maxlen=2))
def containers_copied_deeply(x, y, d, q):
    e, r = copy.deepcopy(d), copy.deepcopy(q)
    e["b"].append(x)
    r[0].append(y)
    return e, r, r.maxlen, len(d["b"]), len(q[0])
