"""Iterators that stand in the middle when they are passed in, or are kept in attributes."""

import itertools

import numpy as np

from . import case, given


def begun(iterator, count=1):
    for _ in range(count):
        next(iterator)
    return iterator


class Source:
    def __init__(self, iterator):
        self.iterator = iterator
        self.taken = 0

    def take(self):
        self.taken += 1
        return next(self.iterator)


def numbers(n=6):
    for i in range(n):
        yield i * 1.5


@given(lambda: begun(iter([1.0, 2.0, 3.0, 4.0])))
def list_iterator(x, y, i):
    return x * next(i), y + next(i), next(i), next(i, "none")


@given(lambda: begun(iter((1.0, 2.0, 3.0, 4.0))))
def tuple_iterator_loop(x, y, i):
    for k in i:
        x = x * k
    return x, next(i, None)


@given(lambda: begun(iter(range(2, 9)), 3))
def range_iterator(x, y, i):
    a = x * next(i)
    for k in i:
        a = a + k
        if k == 7:
            break
    return a, list(i)


@given(lambda: begun(enumerate([1.0, 2.0, 3.0])))
def enumerate_iterator(x, y, e):
    for i, k in e:
        x = x * k + i
    return x


@given(lambda: begun(zip([1, 2, 3], "abc")))
def zip_iterator(x, y, z):
    k, c = next(z)
    return x * k, c, list(z)


@given(lambda: begun(reversed([1.0, 2.0, 3.0])))
def reversed_iterator(x, y, r):
    return x * next(r), list(r)


@given(lambda: begun(map(abs, [-1, -2, -3])))
def map_iterator(x, y, m):
    return x * next(m), sum(m)


@given(lambda: begun(filter(None, [1, 0, 2, 3])))
def filter_iterator(x, y, m):
    return x * next(m), list(m)


@given(lambda: begun(iter("abcd"), 2))
def string_iterator(x, y, s):
    return next(s), list(s), x + 1


@given(lambda: begun(iter({"a": 1.0, "b": 2.0})))
def dict_iterator(x, y, d):
    return next(d), x * 2, list(d)


@given(lambda: begun(iter({"a": 1.0, "b": 2.0}.items())))
def dict_items_iterator(x, y, d):
    for k, v in d:
        x = x * v
    return x


@given(lambda: begun(itertools.count(3)))
def counter(x, y, c):
    return x * next(c), next(c)


@given(lambda: begun(itertools.cycle([1.0, 2.0, 3.0])))
def cycle(x, y, c):
    return x * next(c), y * next(c), next(c)


@given(lambda: begun(itertools.chain([1.0, 2.0], [3.0])))
def chain(x, y, c):
    return x * next(c), list(c)


@given(lambda: begun(itertools.islice(iter([1.0, 2.0, 3.0, 4.0]), 3)))
def islice(x, y, c):
    return x * next(c), list(c)


@given(lambda: begun(itertools.product([1, 2], [3, 4])))
def product(x, y, p):
    for a, b in p:
        x = x + a * b
    return x


@given(lambda: begun(itertools.repeat(2.0, 4)))
def repeat(x, y, r):
    return x * next(r), list(r)


@given(numbers)
def generator_fresh(x, y, g):
    return x * next(g), y + next(g), next(g)


@given(lambda: begun(numbers(), 2))
def generator_begun(x, y, g):
    for k in g:
        x = x + k
    return x, next(g, "done")


@given(numbers)
def generator_whole(x, y, g):
    return x * sum(g), list(g)


@given(lambda: Source(begun(iter([1.0, 2.0, 3.0, 4.0]))))
def in_an_attribute(x, y, s):
    return x * s.take() + s.take(), s.taken


@given(lambda: Source(numbers()))
def generator_in_an_attribute(x, y, s):
    return x * s.take() + s.take(), s.taken


@given(lambda: Source(itertools.count(1)))
def count_in_an_attribute(x, y, s):
    return x * s.take() + s.take(), s.taken


@given(lambda: {"i": begun(iter([1.0, 2.0, 3.0]))})
def in_a_dict(x, y, d):
    return x * next(d["i"]), d


@given(lambda: begun(iter([1.0, 2.0, 3.0, 4.0])))
def in_pairs(x, y, i):
    return [x * a + b for a, b in zip(i, i)], list(i)


@given(lambda: begun(iter([1.0, 2.0, 3.0, 4.0])))
def passed_on(x, y, i):
    def first(j):
        return next(j)

    return x * first(i) + first(i), i


@given(lambda: begun(iter([1.0, 2.0])))
def exhausted(x, y, i):
    a = next(i)
    try:
        next(i)
    except StopIteration:
        return x * a
    return y
