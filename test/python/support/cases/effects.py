"""Side effects on what existed before: they happen, in order, and up to the line that fails."""

import collections
import types

import numpy as np

from . import case, given, made

WATCHED = ("COUNT", "LIST", "TABLE", "NAME")
COUNT, LIST, TABLE, NAME = 0, [1, 2], {"a": 1}, None


@case
def global_assigned(x, y):
    global NAME
    NAME = len(x)
    return x + 1


@case
def global_counted(x, y):
    global COUNT
    COUNT += 1
    return x * COUNT


@case
def global_array(x, y):
    global NAME
    NAME = x + 1
    return NAME * 2


@case
def global_deleted(x, y):
    global NAME
    del NAME
    return x


@case
def global_list_appended(x, y):
    LIST.append(len(x))
    return x * len(LIST)


@case
def global_table_stored(x, y):
    TABLE["b"] = x * 2
    return TABLE["b"] + 1


@case
def global_before_a_failure(x, y):
    global COUNT
    COUNT = 7
    LIST.append(1)
    raise ValueError("after")


@given(lambda: [1.0])
def list_appended(x, y, items):
    items.append(2.0)
    return x * items[-1], len(items)


@given(lambda: [1.0])
def list_appended_arrays(x, y, items):
    items.append(x + 1)
    items.append(items[-1] * 2)
    return items[1] + y


@given(lambda: [3, 1, 2])
def list_sorted(x, y, items):
    items.sort()
    return x * items[0]


@given(lambda: [3, 1, 2])
def list_item_stored(x, y, items):
    items[1] = x
    return items[1] * 2


@given(lambda: [3, 1, 2])
def list_slice_stored(x, y, items):
    items[1:] = [x, y, x]
    return len(items)


@given(lambda: [3, 1, 2])
def list_item_deleted(x, y, items):
    del items[0]
    return x * items[0]


@given(lambda: [3, 1, 2])
def list_popped(x, y, items):
    return x * items.pop() + items.pop(0)


@given(lambda: [3, 1, 2])
def list_extended(x, y, items):
    items += [4, 5]
    items.extend(range(2))
    items *= 2
    return x, len(items)


@given(lambda: [3, 1, 2])
def list_reversed_and_cleared(x, y, items):
    items.reverse()
    first = items[0]
    items.clear()
    return x * first


@given(lambda: {"a": 1})
def dict_stored(x, y, d):
    d["b"] = x + 1
    d["a"] = 5
    return d["b"] * d["a"]


@given(lambda: {"a": 1, "b": 2})
def dict_deleted(x, y, d):
    del d["a"]
    d.pop("b")
    d.setdefault("c", []).append(x)
    return len(d)


@given(lambda: {"a": 1, "b": 2})
def dict_updated(x, y, d):
    d.update(c=3)
    d |= {"e": x}
    return list(d)


@given(lambda: {1, 2})
def set_changed(x, y, s):
    s.add(3)
    s.discard(1)
    return x * len(s), 3 in s


@given(lambda: collections.deque([1, 2]))
def deque_changed(x, y, d):
    d.append(3)
    d.popleft()
    return x * d[0]


@given(lambda: types.SimpleNamespace(v=1.0))
def attribute_stored(x, y, o):
    o.v = x * 2
    o.w = o.v + 1
    return o.w


@given(lambda: types.SimpleNamespace(v=1.0))
def attribute_counted(x, y, o):
    o.v += 1
    return x * o.v


@given(lambda: types.SimpleNamespace(v=1.0))
def attribute_deleted(x, y, o):
    del o.v
    return hasattr(o, "v"), x


class Account:
    total = 0

    def __init__(self):
        self.entries = []
        self.balance = 0.0

    def put(self, amount):
        self.entries.append(amount)
        self.balance = self.balance + amount
        return self

    @property
    def last(self):
        return self.entries[-1]

    @last.setter
    def last(self, amount):
        self.entries[-1] = amount


@given(Account)
def methods_that_store(x, y, account):
    account.put(x).put(y)
    return account.balance


@given(Account)
def property_stored(x, y, account):
    account.put(x)
    account.last = y * 2
    return account.last


@given(Account)
def several_in_order(x, y, account):
    account.put(x.max())
    x[0] = account.balance
    account.put(x[0])
    y += account.balance
    return len(account.entries)


@given(Account)
def up_to_a_failure(x, y, account):
    account.put(x + 1)
    x[0] = 5
    account.put(y / 0)
    return account.missing


@given(lambda: [0])
def same_object_twice(x, y, items):
    alias = items
    alias.append(x)
    items.append(alias[-1])
    return items[1] is items[2]


@given(lambda: [[], []])
def nested_lists(x, y, pair):
    pair[0].append(x)
    pair[1].append(pair[0])
    return len(pair[1][0])


@given(lambda: (lambda one: [one, one])([]))
def through_an_alias(x, y, pair):
    pair[0].append(x + 1)
    return len(pair[1]), pair[1][0] * 2


@given(lambda: np.zeros(3), lambda: [])
def array_kept_in_a_list(x, y, a, items):
    items.append(a)
    a += 1
    items[0] *= 2
    return a


@given(lambda: [])
def view_kept_in_a_list(x, y, items):
    items.append(x[1:])
    x += 1
    return items[0]


@given(lambda: [5])
def default_mutable(x, y, items, seen=[]):
    seen.append(items[0])
    if len(seen) > 100:
        seen.clear()
    return x * items[0]


@made
def cell_counted():
    n = 0

    def function(x, y):
        nonlocal n
        n += 1
        return x * n

    return function, lambda: n


@made
def cell_array():
    kept = None

    def function(x, y):
        nonlocal kept
        kept = x * 2
        return kept + y

    return function, lambda: kept


@made
def cell_list():
    log = []

    def function(x, y):
        log.append(len(x))
        log.append(x + 1)
        return log[-1] * 2

    return function, lambda: log


@made
def cell_deleted():
    n = 0

    def function(x, y):
        nonlocal n
        del n
        n = len(x)
        return x * n

    return function, lambda: n


@made
def cell_before_a_failure():
    n = 0

    def function(x, y):
        nonlocal n
        n += 1
        z = x + 1
        n += len(z)
        raise IndexError(n)

    return function, lambda: n


@made
def function_attributes():
    def function(x, y):
        function.calls = getattr(function, "calls", 0) + 1
        return x * 2

    return function, lambda: function.calls


@made
def memo():
    known = {}

    def square(n):
        if n not in known:
            known[n] = n * n
        return known[n]

    return (lambda x, y: x * square(3) + square(4)), lambda: known
