"""Iterators and what makes them."""

import collections
import itertools

from . import case, given


@case
def next_and_default(x, y):
    it = iter([x])
    return next(it), next(it, None), next(it, y)


@case
def exhausted(x, y):
    it = iter([])
    try:
        next(it)
    except StopIteration as stop:
        return stop.value, x


@case
def enumerated(x, y):
    return [(i, v * i) for i, v in enumerate([x, y], start=1)]


@case
def zipped(x, y):
    return list(zip([1, 2, 3], "ab", (x, y)))


@case
def zipped_strictly(x, y):
    try:
        return list(zip([1], [1, 2], strict=True))
    except ValueError:
        return x


@case
def mapped(x, y):
    return list(map(lambda a, b: a * b, [x, y], [2, 3]))


@case
def filtered(x, y):
    return list(filter(None, [0, 1, "", "a"])), list(filter(lambda i: i > 1, range(4))), x


@case
def reversed_ones(x, y):
    return list(reversed([1, 2])), list(reversed(range(3))), [x * i for i in reversed((1, 2))]


@case
def sorted_ones(x, y):
    return sorted([3, 1, 2]), sorted("ba", reverse=True), sorted([(1, "b"), (1, "a")], key=lambda p: p[1]), x


@case
def ranges(x, y):
    return list(range(5, 0, -2)), len(range(0, 10, 3)), 4 in range(5), range(3)[1], x


@case
def sums(x, y):
    return sum([x, y]), sum([1, 2], 10), sum([[1], [2]], [])


@case
def extremes(x, y):
    return min(3, 1), max([1, 5], key=lambda v: -v), min([], default=7), x


@case
def call_with_sentinel(x, y):
    values = [3, 2, 1, 0]
    return list(iter(values.pop, 2)), x


@case
def iterator_of_an_iterator(x, y):
    it = iter([1, 2])
    return iter(it) is it, x


@case
def pairs(x, y):
    it = iter(range(6))
    return list(zip(it, it)), x


@case
def chained(x, y):
    return list(itertools.chain([x], [y])), list(itertools.islice(itertools.count(2, 3), 3))


@case
def accumulated(x, y):
    return list(itertools.accumulate([x, y, x]))


@case
def combined(x, y):
    return list(itertools.product("ab", range(2))), list(itertools.combinations(range(3), 2)), x


@case
def grouped(x, y):
    return [(k, len(list(g))) for k, g in itertools.groupby("aabbb")], x


@case
def zipped_longest(x, y):
    return list(itertools.zip_longest([1, 2], [3], fillvalue=0)), x


@case
def repeated(x, y):
    return list(itertools.repeat(x, 2)), list(itertools.starmap(pow, [(2, 3)]))


@case
def taken_while(x, y):
    return list(itertools.takewhile(lambda i: i < 2, range(5))), list(itertools.dropwhile(lambda i: i < 2, range(4))), x


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


@case
def own_iterator(x, y):
    return [x * i for i in Countdown(3)]


class Letters:
    def __getitem__(self, i):
        return "abc"[i]


@case
def by_index(x, y):
    return list(Letters()), "b" in Letters(), x


@case
def dict_changed_while_iterated(x, y):
    d = {1: 2}
    try:
        for k in d:
            d[k + 1] = 1
    except RuntimeError as error:
        return str(error), x


@case
def list_changed_while_iterated(x, y):
    a = [1, 2, 3]
    for v in a:
        if v == 1:
            a.remove(1)
    return a, x


@given(lambda: iter([1, 2, 3]))
def live_one(x, y, it):
    return next(it) * x, list(it)


@given(lambda: Countdown(3))
def live_object(x, y, c):
    return [x * i for i in c]


@given(lambda: {"a": 1, "b": 2, "c": 3})
def dict_given_other_values_while_iterated(x, y, d):
    own, seen = {"a": 1, "b": 2, "c": 3}, []
    for k, v in d.items():
        d["c"] = v + 10
        own["b"] = x
        seen.append((k, v))
    for v in own.values():
        own["c"] = y
        seen.append(v)
    for k, v in reversed(own.items()):
        own["a"] = "last"
        seen.append((k, v))
    return seen, d, own


class Held:
    def __init__(self, a, b):
        self.a, self.b = a, b


@given(lambda: Held(1, 2))
def attributes_set_while_iterated(x, y, held):
    seen = []
    for name, v in vars(held).items():
        held.b = x
        seen.append((name, v))
    return seen


@case
def dict_keys_exchanged_while_iterated(x, y):
    d, seen = {0: x, 1: y, 2: 5}, []
    for k in d:
        seen.append(k)
        if k == 1:
            del d[2]
            d[3] = 7
    return seen, d


@case
def dict_key_put_back_while_iterated(x, y):
    d = {0: x}
    try:
        for k in d:
            del d[k]
            d[k] = y
    except RuntimeError as error:
        return str(error), x
    return "none", x


@case
def set_exchanged_while_iterated(x, y):
    s, seen = {1, 2, 3}, []
    for k in s:
        seen.append(k)
        if k == 1:
            s.discard(3)
            s.add(7)
    return seen, x


class Clearing:
    """Empties a list when it is compared."""

    def __init__(self, held, answer):
        self.held, self.answer = held, answer

    def __eq__(self, other):
        self.held.clear()
        return self.answer


@case
def list_cleared_by_a_comparison(x, y):
    a, b = [], []
    a.append(Clearing(b, NotImplemented))
    b.append(Clearing(a, NotImplemented))
    return x, a == b, len(a), len(b)


@case
def deque_cleared_while_searched(x, y):
    d = collections.deque(range(6))
    d[3] = Clearing(d, False)
    try:
        return 9 in d, x
    except RuntimeError as error:
        return str(error), x


@case
def dict_cleared_by_a_comparison(x, y):
    d = {}
    d["a"] = Clearing(d, True)
    return d == {"a": 1}, len(d), x
