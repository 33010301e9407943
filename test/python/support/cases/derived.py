"""Classes over set, deque, defaultdict and OrderedDict, live ones and such as are made in the function."""

import collections

import numpy as np

from . import case, given


class Names(set):
    def add_all(self, *names):
        for name in names:
            self.add(name)
        return self


class Log(collections.deque):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.total = 0

    def append(self, item):
        self.total += 1
        super().append(item)


class Recent(collections.deque):
    @property
    def last(self):
        return self[-1]


class Groups(collections.defaultdict):
    def __init__(self):
        super().__init__(list)

    def put(self, key, item):
        self[key].append(item)


class Squares(collections.defaultdict):
    def __missing__(self, key):
        self[key] = value = key * key
        return value


class Ordered(collections.OrderedDict):
    def first(self):
        return next(iter(self))


class LRU(collections.OrderedDict):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def __getitem__(self, key):
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if len(self) > self.size:
            self.popitem(last=False)


class Bag(collections.Counter):
    def most(self):
        return self.most_common(1)[0][0]


class Frozen(frozenset):
    def doubled(self):
        return sorted(k * 2 for k in self)


def names():
    return Names(["a"])


def log():
    made = Log([1.0], maxlen=3)
    made.name = "log"
    return made


def groups():
    made = Groups()
    made["a"].append(1)
    return made


def lru():
    made = LRU(2)
    made["a"] = 1
    made["b"] = 2
    return made


@given(names)
def set_class_live(x, y, s):
    s.add("b")
    s.discard("z")
    return x * len(s), "a" in s, sorted(s)


@given(names)
def set_class_method(x, y, s):
    return s.add_all("c", "d") is s, x + len(s), s | {"q"}, type(s | {"q"}) is set


@given(names)
def set_class_attribute(x, y, s):
    s.label = x
    s |= {"k"}
    return s.label, len(s)


@case
def set_class_made(x, y):
    s = Names(["a"])
    s.add_all("b", "a")
    s.tag = x
    return s, len(s), x + len(s)


@case
def set_class_kept_inside(x, y):
    s = Names()
    for i in range(3):
        s.add(i % 2)
    return x * len(s)


@case
def frozen_class_made(x, y):
    f = Frozen([1, 2])
    return f.doubled(), x * len(f), 1 in f


@given(lambda: Frozen([3, 1]))
def frozen_class_live(x, y, f):
    return f.doubled(), x * len(f), 1 in f, hash(f) == hash(frozenset([1, 3]))


@given(log)
def deque_class_live(x, y, d):
    d.append(x + 1)
    d.append(y)
    d.append(2)
    return d.total, len(d), d[-1], d.name, d.maxlen


@given(lambda: Recent([1, 2]))
def deque_class_property(x, y, d):
    d.appendleft(x)
    d.rotate(1)
    return d.last, d.popleft(), len(d), x * 2


@given(lambda: Recent([1, 2]))
def deque_class_iterated(x, y, d):
    total = x
    for k in d:
        total = total + k
    return total, list(d), bool(d)


@case
def deque_class_made(x, y):
    d = Log(maxlen=2)
    for i in range(3):
        d.append(x * i)
    return d, d.total


@case
def deque_class_kept_inside(x, y):
    d = Recent([x, y])
    d.append(x + y)
    return d.last * 2


@given(groups)
def defaultdict_class_live(x, y, g):
    g.put("a", x * 2)
    g.put("b", y)
    return len(g["a"]), sorted(g), g["b"][0] + 1


@given(lambda: Squares())
def defaultdict_class_missing(x, y, s):
    return x * s[3], s[4], len(s), 5 in s


@case
def defaultdict_class_made(x, y):
    g = Groups()
    g.put("k", x + 1)
    g.put("k", y)
    return g, len(g["k"])


@case
def defaultdict_class_kept_inside(x, y):
    g = Groups()
    g.put(1, x)
    return sum(g[1]) + y


@given(lru)
def ordered_class_live(x, y, c):
    c["c"] = x
    return list(c), c["c"] + 1


@given(lru)
def ordered_class_moved(x, y, c):
    got = c["a"]
    c["d"] = y * 2
    return got, list(c), x + len(c)


@given(lambda: Ordered(b=1, a=2))
def ordered_class_method(x, y, o):
    o["z"] = x
    o.move_to_end("b")
    return o.first(), list(o.items())[0], x * o["a"]


@case
def ordered_class_made(x, y):
    c = LRU(2)
    c["a"], c["b"] = x, y
    c["a"]
    c["c"] = x + y
    return c, list(c)


@given(lambda: Bag("aab"))
def counter_class_live(x, y, b):
    b["c"] += 5
    b.update("cc")
    return b.most(), x * b["a"], b["missing"]


@case
def counter_class_made(x, y):
    b = Bag("hello")
    b["x"] += 2
    return b.most(), b, x + b["l"]
