"""What collections has."""

import collections

import numpy as np

from . import program


@program
def deques(x, y):
    d = collections.deque([x], maxlen=3)
    d.append(y)
    d.appendleft(x + y)
    d.append(x * 2)
    d.rotate(1)
    first = d.popleft()
    d.extend([1.0])
    return first, sum(d), len(d), d[0], list(d)[1], d.maxlen


@program
def default_dicts(x, y):
    groups = collections.defaultdict(list)
    for k, v in zip("abab", (x, y, x * 2, y * 2)):
        groups[k].append(v)
    totals = collections.defaultdict(float)
    for k, vs in groups.items():
        totals[k] += sum(vs)
    return totals["a"], totals["b"], totals["c"], sorted(totals), len(groups)


@program
def ordered_dicts(x, y):
    d = collections.OrderedDict(a=x)
    d["b"] = y
    d["c"] = x + y
    d.move_to_end("a")
    last = d.popitem()
    return list(d), last[0], last[1] + d["b"]


@program
def counters(x, y):
    c = collections.Counter("abracadabra")
    c.update("aaa")
    return x * c["a"] + y * c["z"], c.most_common(2), sum(c.values())


@program
def chain_maps(x, y):
    d = collections.ChainMap({"a": x}, {"a": y, "b": y})
    return d["a"] + d["b"], "b" in d


class Registry(dict):
    def __missing__(self, key):
        return key * 2

    def add(self, name, value):
        self[name] = value
        return self


@program
def dict_subclass(x, y):
    r = Registry(a=x).add("b", y)
    return r["a"] + r["b"] + r[3], len(r), "a" in r


class Stack(list):
    def push(self, item):
        self.append(item)
        return self

    @property
    def top(self):
        return self[-1]


@program
def list_subclass(x, y):
    s = Stack().push(x).push(y)
    return s.top + s[0], len(s)
