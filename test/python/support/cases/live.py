"""Containers of the standard library, and of classes over them, that existed before the call: what is done to them is captured."""

import array
import bisect
import collections
import enum
import heapq
import itertools
import types

import numpy as np

from . import given


# ---- dictionaries that know more ------------------------------------------------------------------------------------


def lists():
    return collections.defaultdict(list, {"a": [1]})


@given(lists)
def defaultdict_grows(x, y, d):
    d["a"].append(x + 1)
    d["b"].append(y * 2)
    d["b"].append(len(d))
    return d["b"][0] + 1


@given(lists)
def defaultdict_keeps_what_get_asks(x, y, d):
    return d.get("b"), "b" in d, len(d), x * 2


@given(lambda: collections.defaultdict(int, {1: 2}))
def defaultdict_counts(x, y, d):
    for i in range(3):
        d[i] += len(x)
    return x * d[2]


@given(lambda: collections.defaultdict(None, {1: 2}))
def defaultdict_without_factory(x, y, d):
    try:
        d[5]
    except KeyError as error:
        d[3] = error.args[0]
    return x * d[3]


@given(lists)
def defaultdict_read_whole(x, y, d):
    d["z"] = [x.sum()]
    return [(k, len(v)) for k, v in d.items()], list(d), x + len(d)


@given(lists)
def defaultdict_popped(x, y, d):
    got = d.pop("a")
    d.setdefault("c", []).append(y)
    d.update(e=[x])
    del d["e"]
    return got, x + len(d)


@given(lists)
def defaultdict_copied(x, y, d):
    other = d.copy()
    other["n"].append(x)
    return other, d is other, x + 1


@given(lists)
def defaultdict_fails_half_way(x, y, d):
    d["b"].append(x * 3)
    d["c"] = y
    return d["a"][7]


@given(lambda: collections.Counter("abca"))
def counter_updated(x, y, c):
    c["a"] += 2
    c.update(["b", "z"])
    return c.most_common(1), x * c["a"], c["nothing"]


@given(lambda: collections.Counter("abca"))
def counter_subtracted(x, y, c):
    c.subtract({"a": 1, "b": 3})
    return x * c["b"], len(c), c.total()


@given(lambda: collections.Counter("ab"), lambda: collections.Counter("bc"))
def counters_added(x, y, c, d):
    both = c + d
    c["q"] = 4
    return both, x * both["b"]


@given(lambda: collections.OrderedDict([("a", 1), ("b", 2), ("c", 3)]))
def ordered_moved(x, y, d):
    d.move_to_end("a")
    d["e"] = x + 1
    return list(d), d["e"] * 2


@given(lambda: collections.OrderedDict([("a", 1), ("b", 2), ("c", 3)]))
def ordered_moved_to_front(x, y, d):
    d.move_to_end("c", last=False)
    return d, x * 2


@given(lambda: collections.OrderedDict([("a", 1), ("b", 2), ("c", 3)]))
def ordered_popped(x, y, d):
    first, last = d.popitem(last=False), d.popitem()
    d["a"] = x
    return first, last, list(d.items()), x + len(d)


@given(lambda: collections.OrderedDict([("a", 1), ("b", 2)]))
def ordered_as_a_cache(x, y, d):
    for key in ("a", "q", "b", "r"):
        if key in d:
            d.move_to_end(key)
        else:
            d[key] = x * len(d)
            if len(d) > 3:
                d.popitem(last=False)
    return list(d), x + 1


class Table(dict):
    name = "t"

    def __missing__(self, key):
        self[key] = value = len(self) * 10
        return value

    def twice(self, key):
        return self[key] * 2


@given(lambda: Table(a=1))
def dict_class_missing(x, y, d):
    return x * d["z"], d.twice("a"), d["y"], len(d)


@given(lambda: Table(a=1))
def dict_class_stored(x, y, d):
    d["k"] = x + 1
    d.note = "seen"
    del d["a"]
    return d.get("k") * 2, d.name, list(d)


class Upper(dict):
    def __setitem__(self, key, item):
        super().__setitem__(key.upper(), item)

    def __getitem__(self, key):
        return super().__getitem__(key.upper())


@given(lambda: Upper(A=1))
def dict_class_of_its_own_ways(x, y, d):
    d["k"] = x + d["a"]
    return d["k"] * 2, "k" in d, "K" in d


class Stack(list):
    depth = 3

    def push(self, item):
        self.append(item)
        if len(self) > self.depth:
            del self[0]
        return self


@given(lambda: Stack([1, 2]))
def list_class_pushed(x, y, s):
    s.push(x + 1).push(y)
    return s[-1] * 2, len(s)


@given(lambda: Stack([1, 2]))
def list_class_changed(x, y, s):
    s.extend([5, 6])
    s[0] = x
    s += [y]
    s.label = "s"
    return sum(len(i) for i in s if isinstance(i, np.ndarray)), s.pop(1), x + 1


@given(lambda: Stack([3, 1, 2]))
def list_class_sorted(x, y, s):
    s.sort()
    s.reverse()
    return x * s[0], s.index(1), [i for i in s]


class Bag(set):
    def put(self, item):
        self.add(item)
        return self


@given(lambda: Bag([1]))
def set_class_put(x, y, s):
    s.put(2).put(1)
    return x * len(s)


@given(lambda: collections.UserDict(a=1))
def user_dict(x, y, d):
    d["b"] = x * 2
    return d["b"] + d["a"], len(d), list(d)


@given(lambda: collections.ChainMap({"a": 1}, {"b": 2}))
def chain_map(x, y, d):
    d["c"] = x
    return d["b"] * d["c"], "a" in d, len(d.maps[0])


# ---- deques, iterators and other lists --------------------------------------------------------------------------------


@given(lambda: collections.deque([1, 2, 3], maxlen=3))
def deque_of_a_length(x, y, d):
    d.append(x + 1)
    d.appendleft(9)
    d.rotate(1)
    return d.maxlen, len(d), x * 2


@given(lambda: collections.deque(maxlen=2))
def deque_history(x, y, d):
    for i in range(4):
        d.append(x * i)
    return d[0] + d[1]


@given(lambda: iter([1, 2, 3]))
def list_iterator_advanced(x, y, it):
    return x * next(it), next(it)


@given(lambda: iter([1, 2, 3]))
def list_iterator_exhausted(x, y, it):
    total = x * 0
    for i in it:
        total = total + i
    return total, next(it, None)


@given(lambda: iter((4, 5)))
def tuple_iterator_advanced(x, y, it):
    return x * next(it), it


@given(lambda: iter(range(3, 9)))
def range_iterator_advanced(x, y, it):
    return x * next(it) + next(it)


@given(lambda: iter("abc"))
def str_iterator_advanced(x, y, it):
    return next(it), x + 1


@given(lambda: itertools.count(5, 2))
def count_advanced(x, y, it):
    return x * next(it), next(it)


@given(lambda: itertools.cycle([1, 2]))
def cycle_advanced(x, y, it):
    return x * next(it), next(it), next(it)


@given(lambda: enumerate(["a", "b"]))
def enumerate_advanced(x, y, it):
    i, name = next(it)
    return x + i, name


@given(lambda: zip([1, 2, 3], "abc"))
def zip_advanced(x, y, it):
    i, name = next(it)
    return x + i, name


@given(lambda: map(abs, [-1, -2]))
def map_advanced(x, y, it):
    return x * next(it)


def numbers(state):
    for i in range(4):
        state.append(i)
        yield i * 2


@given(lambda: numbers([]))
def generator_advanced(x, y, it):
    return x * next(it), next(it)


@given(lambda: [5, 8, 6])
def heap_pushed(x, y, heap):
    heapq.heapify(heap)
    heapq.heappush(heap, 1)
    return x * heapq.heappop(heap), heapq.heappushpop(heap, 7), heapq.nsmallest(2, heap)


@given(lambda: [(3, "c"), (5, "a")])
def heap_of_pairs(x, y, heap):
    heapq.heappush(heap, (4, "b"))
    return x * heapq.heapreplace(heap, (9, "z"))[0], len(heap)


@given(lambda: [1, 3, 5])
def bisected(x, y, items):
    bisect.insort(items, 4)
    bisect.insort_left(items, 3)
    return x * bisect.bisect(items, 3), bisect.bisect_left(items, 9)


@given(lambda: array.array("d", [1.0, 2.0]))
def array_changed(x, y, a):
    a.append(3.0)
    a[0] = 7.0
    return x * a[0], len(a)


@given(lambda: bytearray(b"ab"))
def bytearray_changed(x, y, b):
    b.append(99)
    b[0] = 65
    return x * b[0], bytes(b)


@given(lambda: {"a": 1, "b": 2})
def dict_views(x, y, d):
    keys, items = d.keys(), d.items()
    d["c"] = x
    return len(keys), list(keys), [k for k, _ in items], x * 2


@given(lambda: {"a": 1, "b": 2})
def dict_view_compared(x, y, d):
    same = d.keys() == {"a", "b"}
    return same, d.keys() & {"a", "z"}, "a" in d.keys(), 2 in d.values(), x + 1


@given(lambda: {"a": 1, "b": 2})
def dict_view_returned(x, y, d):
    d["q"] = 1
    return d.keys(), d.values(), x


@given(lambda: {"a": 1, "b": 2})
def dict_changed_while_read(x, y, d):
    for key in d:
        d[key + "n"] = x
    return d


# ---- namespaces, enums, attributes ----------------------------------------------------------------------------------


@given(lambda: types.SimpleNamespace(v=1.0, w=2))
def namespace_changed(x, y, o):
    o.v = x * o.w
    o.n = o.v + 1
    del o.w
    return o.n


@given(lambda: types.SimpleNamespace(v=1.0))
def namespace_copied(x, y, o):
    other = types.SimpleNamespace(**vars(o), k=2)
    return other, x * other.v, o == other


class Plain:
    def __init__(self):
        self.a, self.b = 1, 2


@given(Plain)
def vars_read(x, y, o):
    return sorted(vars(o)), x * vars(o)["a"], o.__dict__.get("z", 5)


@given(Plain)
def vars_stored(x, y, o):
    vars(o)["a"] = x + 1
    o.__dict__["c"] = 3
    return o.a * o.c


@given(Plain)
def vars_updated(x, y, o):
    o.__dict__.update(a=x, z=y)
    o.b = 7
    return o.z + o.b, len(vars(o))


@given(Plain)
def vars_after_attributes(x, y, o):
    o.n = x * 2
    del o.a
    return list(o.__dict__), vars(o)["n"] + 1


@given(Plain)
def vars_iterated(x, y, o):
    total = x * 0
    for name, item in vars(o).items():
        total = total + item * len(name)
    return total


@given(Plain)
def attributes_by_name(x, y, o):
    for i, name in enumerate(("a", "q")):
        setattr(o, name, x * (i + 1))
    delattr(o, "b")
    try:
        delattr(o, "b")
    except AttributeError as error:
        message = str(error)
    return getattr(o, "q"), hasattr(o, "b"), message


@given(Plain)
def attributes_by_object(x, y, o):
    object.__setattr__(o, "a", x)
    object.__delattr__(o, "b")
    return object.__getattribute__(o, "a") + 1, hasattr(o, "b")


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Bits(enum.IntFlag):
    A = 1
    B = 2


@given(lambda: Colour.RED)
def enum_member(x, y, c):
    return x * c.value, c.name, c is Colour.RED, Colour("b"), Colour["BLUE"], [m.name for m in Colour]


@given(lambda: {Colour.RED: 1})
def enum_keys(x, y, d):
    d[Colour.BLUE] = x
    return d[Colour.RED], len(d), d.get(Colour.BLUE) * 2


@given(lambda: Bits.A)
def enum_flags(x, y, b):
    return x * int(b | Bits.B), b in (b | Bits.B), bool(b & Bits.B), b == 1


@given(lambda: itertools.islice([1, 2, 3, 4], 1, None))
def islice_advanced(x, y, it):
    return x * next(it), list(it)


@given(lambda: itertools.chain([1], [2, 3]))
def chain_advanced(x, y, it):
    return x * next(it), next(it)


@given(lambda: reversed([1, 2, 3]))
def reversed_advanced(x, y, it):
    return x * next(it), next(it)


@given(lambda: iter({"a": 1, "b": 2}))
def dict_iterator_advanced(x, y, it):
    return next(it), x


# ---- iterators as arguments --------------------------------------------------------------------------------------------


@given(lambda: iter([1, 2, 3]), lambda: zip([4, 5], (6, 7)), lambda: reversed([8, 9]))
def iterators_exhausted(x, y, a, b, c):
    return list(a), dict(b), [*c], next(a, None), next(b, "end"), next(c, 0), x * 2


@given(lambda: map(lambda v: v * 2, iter([1, 2, 3])), lambda: filter(None, iter([0, 5, 6])))
def mapped_and_filtered(x, y, m, f):
    return x * next(m), next(f), list(m)


@given(lambda: (lambda xs: [xs, iter(xs)])([1, 2, 3]))
def list_read_while_iterated(x, y, both):
    xs, it = both
    first = next(it)
    return x * first, xs[first], list(xs)


@given(lambda: (lambda xs: [xs, iter(xs)])([1, 2, 3]))
def list_changed_while_iterated(x, y, both):
    xs, it = both
    first = next(it)
    xs.append(first)
    xs.pop(0)
    return x * first, list(it)


@given(lambda: (lambda it: [it, enumerate(it)])(iter([5, 6, 7])))
def iterator_by_two_ways(x, y, both):
    it, numbered = both
    a = next(it)
    return x * a, next(numbered), next(it)


@given(lambda: zip(*[iter([1, 2, 3, 4])] * 2))
def one_iterator_twice(x, y, pairs):
    return [a * b for a, b in pairs], x + 1


@given(lambda: zip([1, 2], [3, 4, 5], strict=True))
def zip_strict(x, y, pairs):
    x[0] = next(pairs)[0]
    for _ in pairs:
        x += 1
    return x


@given(lambda: itertools.count(2**70), lambda: itertools.count(0.5, 0.25))
def count_large(x, y, big, halves):
    return next(big), next(big), x * next(halves) + next(halves), big


@given(lambda: iter([]), lambda: iter(range(0)), lambda: enumerate([]), lambda: iter(""))
def nothing_to_iterate(x, y, a, b, c, d):
    return list(a), list(b), list(c), [*d], x + 1


@given(lambda: iter([1, 2]))
def iterator_fails_half_way(x, y, it):
    x[0] = next(it)
    next(it)
    return next(it)


class Field:
    """Keeps its value in the instance's dictionary, under its own name."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        return self if instance is None else instance.__dict__.get(self.name, 0)

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value

    def __delete__(self, instance):
        del instance.__dict__[self.name]


class Fielded:
    a = Field()

    def __init__(self):
        self.b = 1


@given(Fielded)
def descriptor_over_the_dictionary(x, y, o):
    first = o.a
    o.a = x + o.b
    o.a = o.a * 2
    return first, o.a, list(vars(o)), vars(o)["a"] + 1


@given(Fielded)
def descriptor_deletes_from_the_dictionary(x, y, o):
    o.a = x
    del o.a
    try:
        del o.a
    except KeyError as error:
        missing = error.args
    o.b = y
    return o.a, missing, list(o.__dict__)


@given(lambda: [Colour.RED, Colour.BLUE], lambda: {(1, Colour.RED): 5})
def enum_in_tuple_keys(x, y, members, d):
    d[2, members[1]] = x
    return d[1, members[0]] + d[2, Colour.BLUE], (1, Colour.BLUE) in d, len(d)


class Agreeable(dict):
    def __eq__(self, other):
        return True

    __hash__ = None


@given(lambda: Agreeable(a=1))
def class_over_dict_equals_everything(x, y, d):
    return d == {}, d != {}, d != {"a": 1}, x + 1


NAN = float("nan")


@given(lambda: {NAN: 1, 2.0: 2})
def dict_keys_that_equal_nothing(x, y, d):
    key = list(d)[0]
    d[key] = 5
    d[float("nan")] = 6
    return len(d), d[key], float("nan") in d, d[2] * x


@given(lambda: {"a": 1, "b": 2, "c": 3})
def dict_deleted_and_stored_again(x, y, d):
    kept = d.pop("a")
    d["a"] = kept
    del d["b"]
    d["b"] = x
    d.setdefault("c", 9)
    return list(d), d.popitem(), len(d)


class Own:
    def __hash__(self):
        raise RuntimeError("asked for a hash")


def of_own_keys():
    d = collections.OrderedDict(a=1)
    key = Own()
    Own.__hash__ = lambda self: 5
    d[key] = 2
    return d


@given(of_own_keys)
def ordered_with_keys_of_their_own(x, y, d):
    return len(list(d)), d["a"] * x, list(d.values())


@given(lambda: collections.OrderedDict(a=1, b=2), lambda: collections.defaultdict(list, {"a": 3}))
def ordered_joined(x, y, d, e):
    out = [d | {"c": x}, {"z": 1} | d, type({"z": 1} | d).__name__, e | {"q": 1}, {"a": 0, "y": 1} | e]
    try:
        d | ()
    except TypeError:
        out.append("no")
    return out, x + 1


@given(lambda: collections.OrderedDict(a=1, b=2, c=3))
def ordered_moved_while_read(x, y, d):
    seen = []
    try:
        for key in d:
            seen.append(key)
            d.move_to_end(key)
    except RuntimeError:
        seen.append("moved")
    return seen, list(d), x + 1


@given()
def views_of_what_was_made(x, y):
    d, e = collections.OrderedDict(a=1, b=2), collections.defaultdict(int, {"a": 1})
    d.move_to_end("a")
    return d.keys(), e.values(), type(d.items()).__name__, {"k": x}.keys()


@given(lambda: collections.OrderedDict(a=1, b=2))
def view_of_an_ordered_one(x, y, d):
    d.move_to_end("a")
    return d.keys(), list(d.values()), x + 1
