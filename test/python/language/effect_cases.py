"""Worlds with objects that a function changes, for test_effects.py.

Each case is a function of no arguments that makes one: a function, its arguments, and what to look at afterwards. CASES are
captured whole, BROKEN are not.
"""

import collections

import numpy as np

X = np.arange(1.0, 4.0)
CASES, BROKEN = [], []


def case(make):
    CASES.append(make)
    return make


def broken(make):
    BROKEN.append(make)
    return make


class Sim:
    count = 0

    def __init__(self):
        self.u = np.ones(4)
        self.steps = 0
        self.log = []
        self.table = {"a": 1, "b": 2, "c": 3}
        self.seen = {1, 2}

    def step(self, dt):
        self.u = self.u + dt * np.roll(self.u, 1)
        self.steps += 1
        self.log.append(self.steps)

    @property
    def scale(self):
        return self._scale

    @scale.setter
    def scale(self, value):
        self._scale = value * 2


class Slotted:
    __slots__ = ("u", "v")

    def __init__(self):
        self.u = np.ones(3)


class Checked:
    def __init__(self):
        self.__dict__["x"] = 1

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)


# ---- attributes ----


@case
def attributes():
    s = Sim()

    def f(x):
        s.u = s.u[:3] * 2 + x
        s.steps += 1
        s.new = s.steps
        return s.u.sum()

    return f, (X,), lambda: list(vars(s).items())


@case
def attributes_deleted_and_set_again():
    s = Sim()

    def f(x):
        s.t = x + 1
        y = s.t
        del s.t
        s.z = y
        del s.steps
        s.steps = 5
        return hasattr(s, "t"), y

    return f, (X,), lambda: list(vars(s).items())


@case
def slots():
    s = Slotted()

    def f(x):
        s.u = s.u + x
        s.v = hasattr(s, "v")
        return s.u

    return f, (X,), lambda: (s.u, s.v)


@case
def setattr_and_properties():
    s = Sim()

    def f(x):
        setattr(s, "a" + "b", x * 3)
        s.scale = 4
        delattr(s, "table")
        return s.ab * s.scale

    return f, (X,), lambda: [(k, v) for k, v in vars(s).items()]


@case
def own_setattr():
    s = Checked()

    def f(x):
        s.x = 5
        s.y = x
        return s.x + s.y

    return f, (X,), lambda: list(vars(s).items())


@case
def methods_in_a_loop():
    s = Sim()

    def f(n):
        for _ in range(n):
            s.step(0.125)
        return s.u.sum()

    return f, (4,), lambda: list(vars(s).items())


@case
def several_objects_of_one_class():
    a, b = Sim(), Sim()

    def f(p, q):
        p.u, q.u = q.u, p.u
        p.steps, q.steps = 7, p.steps
        return p.u + q.u

    return f, (a, b), lambda: (list(vars(a).items()), list(vars(b).items()))


@case
def identity_of_what_is_stored():
    s = Sim()
    s.twin = None

    def f(x):
        s.twin = s.u
        s.u = y = x + 1
        return y

    return f, (X,), lambda: (s.twin, s.u, s.u is s.twin)


@case
def an_array_is_written_and_replaced():
    s = Sim()
    first = s.u

    def f(x):
        s.u[1:] += x
        old = s.u
        s.u = s.u * 2
        old[0] = 9
        return s.u

    return f, (X,), lambda: (first, s.u)


# ---- lists ----


@case
def appends_only():
    log = []

    def f(x):
        log.append(x * 2)
        log.append("done")
        return x.sum()

    return f, (X,), lambda: list(log)


@case
def appends_through_attributes_and_aliases():
    s = Sim()
    s.other = s.log

    def f(x):
        s.log.append(x.sum())
        s.other.append(len(s.log))
        return x

    return f, (X,), lambda: (s.log, s.other is s.log)


@case
def all_that_lists_do():
    items = [1, 2, 3, 4, 5, 6]
    kept = items

    def f(x):
        items[0] = x + 1
        items.insert(1, 5)
        items.pop()
        del items[2]
        items.reverse()
        kept.extend((8,))
        items[1:2] = ["a", "b", "c"]
        while len(items) > 5:
            items.pop(0)
        return items[0], len(kept)

    return f, (X,), lambda: (list(items), kept is items)


@case
def sorts():
    items = [3, 1, 2]

    def f(x):
        items.sort(key=lambda v: -v)
        items.append(max(items) + 1)
        return x * items[0]

    return f, (X,), lambda: list(items)


@case
def untouched_elements_stay():
    marks = [object(), object(), object()]
    items = list(marks)

    def f(x):
        items[1] = x
        items[0], items[2] = items[2], items[0]
        return x

    return f, (X,), lambda: (marks.index(items[0]), marks.index(items[2]), items[1])


@case
def nested_containers():
    state = {"log": [], "best": {"loss": 9.0}}

    def f(x):
        loss = 1.0
        state["log"].append(x)
        if loss < state["best"]["loss"]:
            state["best"]["loss"] = loss
        return x + loss

    return f, (X,), lambda: repr(state)


@case
def one_list_under_two_names():
    items = [1]

    def f(p, q, x):
        p.append(x)
        q.append(len(p))
        return x + len(q)

    return f, (items, items, X), lambda: list(items)


@case
def a_list_made_inside_is_shared():
    log, table = [], {}

    def f(x):
        fresh = [x]
        log.append(fresh)
        table["k"] = fresh
        fresh.append(2)
        return fresh

    return f, (X,), lambda: (repr(log), log[-1] is table["k"])


# ---- dictionaries and sets ----


@case
def dictionaries():
    table = {"a": 1, "b": 2, "c": 3}

    def f(x):
        table["b"] = x * 2
        table["n"] = x
        table["a"] = table.pop("a")
        table.setdefault("q", []).append(1)
        table.update(z=3)
        del table["c"]
        table["c"] = 4
        return x

    return f, (X,), lambda: list(table.items())


@case
def caches():
    cache = {}

    def f(x, k):
        if k not in cache:
            cache[k] = x * k
        return cache[k]

    return f, (X, 3), lambda: repr(cache)


@case
def dictionary_cleared_and_popitem():
    table = {"a": 1, "b": 2}
    other = {"c": 3}

    def f(x):
        other.update(table)
        last = table.popitem()
        table.clear()
        table[last[0]] = x
        return len(other)

    return f, (X,), lambda: (list(table.items()), list(other.items()))


@case
def sets():
    seen = {100, 200, 300}

    def f(x):
        seen.add(10)
        seen.discard(200)
        seen.add(200)
        seen.update([9, 8, 77])
        seen.remove(100)
        seen.add(100)
        return x + len(seen)

    return f, (X,), lambda: list(seen)


@case
def sets_that_only_grow():
    seen = set()

    def f(x, k):
        seen.add(k)
        seen.add("n")
        return x

    return f, (X, 5), lambda: set(seen)


@case
def deques():
    recent = collections.deque([1, 2, 3], maxlen=4)
    other = collections.deque()
    kept = recent

    def f(x, q):
        recent.append(x)
        recent.append(len(recent))
        first = recent.popleft()
        q.appendleft(first)
        kept.rotate(1)
        recent[0] = "r"
        return first, [v for v in recent if isinstance(v, int)], recent.maxlen, 3 in recent

    return f, (X, other), lambda: (recent, other)


@case
def deques_that_only_grow():
    log = collections.deque(maxlen=3)

    def f(x):
        log.append(x.sum())
        return x + 1

    return f, (X,), lambda: log


@case
def queues():
    queue = collections.deque([(0, 1), (1, 2)])
    seen = set()

    def f(x):
        total = x
        while queue:
            node, cost = queue.popleft()
            seen.add(node)
            total = total + cost
            if cost < 3:
                queue.append((node + 2, cost + 1))
        queue.extend([(0, 1), (1, 2)])
        return total

    return f, (X,), lambda: (queue, seen)


# ---- variables ----


@case
def nonlocal_variables():
    n, total = 0, None

    def f(x):
        nonlocal n, total
        n += 1
        total = x * n if total is None else total + x
        return total

    return f, (X,), lambda: (n, total)


@case
def cells_shared_by_two_functions():
    def make():
        n = 0

        def up():
            nonlocal n
            n += 2

        def get():
            return n

        return up, get

    up, get = make()

    def f(x, first, second):
        first()
        first()
        return x * second()

    return f, (X, up, get), get


# ---- exceptions ----


@broken
def an_exception_leaves():
    s, log = Sim(), []

    def f(x):
        log.append(x + 1)
        s.steps = 4
        if s.steps == 4:
            raise ValueError("half way")
        log.append(2)

    return f, (X,), lambda: (log, list(vars(s).items()))


@broken
def an_exception_deep_inside():
    s, log = Sim(), []

    def inner(k):
        s.table["new"] = k
        return s.table["missing"]

    def f(x):
        log.append(x + 1)
        return inner(1)

    return f, (X,), lambda: (log, list(s.table.items()))


@case
def an_exception_is_caught():
    s, log = Sim(), []

    def f(x):
        try:
            log.append(x + 1)
            s.steps = 4
            s.table["missing"]
            log.append("not reached")
        except KeyError:
            log.append("caught")
        finally:
            s.done = True
        return x * 2

    return f, (X,), lambda: (log, s.steps, s.done)


@broken
def a_break_sees_all_before():
    s = Sim()

    def f(x):
        s.u = x + 1
        s.log.append(s.u)
        look(s)
        s.steps = 3
        s.log.append(s.u)
        return s.u

    def look(s):
        s.__dict__["saw"] = (s.steps, len(s.log), s.log[-1] is s.u)

    return f, (X,), lambda: repr(vars(s))
