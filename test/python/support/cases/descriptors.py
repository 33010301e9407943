"""Descriptors, metaclasses and classes over builtin types."""

import bisect
import dataclasses
import heapq

import numpy as np

from . import case, given, program


@program
def class_body_statements(x, y):
    class Table:
        rows = []
        for k in range(3):
            rows.append(k * 2)
        if len(rows) > 2:
            extra = sum(rows)
        del k
        size: int = 4
        names = [f"n{i}" for i in (1, 2)]

        class Inner:
            depth = 2

    Table.rows.append(5)
    return x * Table.extra + Table.size, Table.rows, Table.names, Table.Inner.depth, hasattr(Table, "k"), Table.__name__


@program
def class_property_with_setter(x, y):
    class Box:
        def __init__(self, a):
            self.a = a

        @property
        def double(self):
            return self.a * 2

        @double.setter
        def double(self, value):
            self.a = value / 2

    box = Box(x)
    box.double = y
    return box.a + box.double


@program
def class_with_slots_inside(x, y):
    class P:
        __slots__ = ("a",)

    p = P()
    p.a = x
    try:
        p.b = y
    except AttributeError:
        return p.a + y


@program
def class_exception_inside(x, y):
    class Stop(Exception):
        pass

    class Special(Stop):
        def __init__(self, value):
            super().__init__("special")
            self.value = value

    total = x
    for k in range(5):
        try:
            total = total + k
            if k == 2:
                raise Special(y)
        except Stop as stop:
            return total + stop.value, str(stop), k


@program
def class_with_array_attribute(x, y):
    class Weights:
        w = x * 2
        b = y

        def apply(self, v):
            return v * self.w + self.b

    class Other(Weights):
        b = y * 3

    return Weights().apply(x), Other().apply(x), Other.w[0], Weights.b is y


@program
def class_with_descriptor_inside(x, y):
    class Twice:
        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            return instance.a * 2 + len(self.name)

    class Box:
        twice = Twice()

        def __init__(self, a):
            self.a = a

    return Box(x).twice + y


@program
def class_comparison_and_sorting(x, y):
    class Item:
        def __init__(self, k):
            self.k = k

        def __lt__(self, other):
            return self.k < other.k

        def __eq__(self, other):
            return self.k == other.k

        def __bool__(self):
            return self.k > 1

        def __contains__(self, k):
            return k == self.k

    items = sorted([Item(3), Item(1), Item(2)])
    return x * items[0].k, [i.k for i in items if i], Item(1) == Item(1), Item(1) != Item(2), 3 in items[2], max(items).k


@program
def class_by_calling_type(x, y):
    made = type("Made", (), {"k": 3})
    return x * made.k + y


@program
def heaps_and_bisection(x, y):
    heap = [5, 3, 8, 1]
    heapq.heapify(heap)
    heapq.heappush(heap, 2)
    first = heapq.heappop(heap)
    items = [1, 3, 5]
    bisect.insort(items, 4)
    return (x * first + y, heap, heapq.heappushpop(heap, 0), heapq.heapreplace(heap, 9), heap, heapq.nlargest(2, [3, 1, 2]),
            bisect.bisect(items, 3), bisect.bisect_left(items, 3), items, heapq.nsmallest(1, [2, 1], key=lambda k: -k))


@program
def containers_over_builtin_types(x, y):
    class Tree(dict):
        def __missing__(self, key):
            self[key] = Tree()
            return self[key]

        def __setitem__(self, key, value):
            super().__setitem__(key, value)

    class Row(list):
        unit = 2

        def __init__(self, *items):
            super().__init__(items)
            self.total = sum(items)

        def __add__(self, other):
            return Row(*super().__add__(other))

    tree = Tree()
    tree["a"]["b"] = x
    row = Row(1, 2) + [3]
    row += [4]
    row[0:1] = [7, 8]
    return (tree["a"]["b"] + y, len(tree), list(tree), row.total, len(row), sorted(row), row == [7, 8, 2, 3, 4], {"k": 1} == Tree(k=1),
            dict(Tree(a=1)), {**Tree(b=2)}, row.index(2), isinstance(row, list), bool(Tree()), row.unit, [*row], max(row), 8 in row)


@program
def class_with_metaclass_inside(x, y):
    class Meta(type):
        def __new__(mcs, name, bases, names):
            return super().__new__(mcs, name, bases, {**names, "k": 5})

    class Made(metaclass=Meta):
        pass

    return x * Made.k


@program
def dataclass_inside(x, y):
    @dataclasses.dataclass
    class Box:
        a: float
        b: float = 2.0

    return Box(x).b * x


class Storing:
    """Has __set__, and no __get__."""

    def __init__(self, name):
        self.name = name

    def __set__(self, holder, item):
        vars(holder)[self.name] = item


class Stored:
    a = Storing("a")


@given(Stored)
def descriptor_that_only_stores(x, y, live):
    own = Stored()
    before = own.a is vars(Stored)["a"], live.a is Stored.a
    own.a, live.a = x, y
    return before, own.a, live.a, vars(live)
