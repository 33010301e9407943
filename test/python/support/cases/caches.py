"""What remembers: dictionaries that grow by a key, functools' caches, attributes made when first asked for."""

import functools

import numpy as np

from . import case, given, made

WATCHED = ("CACHE", "CALLS")
CACHE, CALLS = {}, []


@case
def cache_of_a_module(x, y):
    key = len(x)
    if key not in CACHE:
        CACHE[key] = np.arange(key) * 0.5
    return x * CACHE[key]


@given(dict, lambda: {"n": 0})
def cache_hits_and_misses(x, y, cache, seen):
    for key in (len(x), 3, len(x)):
        if key in cache:
            seen["n"] += 1
        else:
            cache[key] = x + key
    return cache[3] * 2, seen["n"]


@given(lambda: {7: 1})
def cache_by_get(x, y, cache):
    found = cache.get(len(x))
    if found is None:
        found = cache[len(x)] = x * 2
    return found + 1


@given(lambda: {7: 1})
def cache_by_exception(x, y, cache):
    try:
        return cache[len(x)] * x
    except KeyError:
        cache[len(x)] = 3
        return cache[len(x)] * x


@given(lambda: {7: 1})
def cache_by_setdefault(x, y, cache):
    return x * cache.setdefault(len(x), 4), cache.setdefault(7, 9)


@given(lambda: {7: 1, 8: 2})
def cache_that_forgets(x, y, cache):
    cache.pop(7, None)
    if 8 in cache:
        del cache[8]
    cache[len(x)] = x + 1
    return cache[len(x)] * 2, 7 in cache


@given(lambda: {1: 1})
def cache_then_read_whole(x, y, cache):
    cache["k"] = x + 1
    return len(cache), list(cache), cache["k"] * 2


@given(lambda: {(1, "a"): 1})
def cache_of_pairs(x, y, cache):
    key = (len(x), "a")
    if key not in cache:
        cache[key] = x * 3
    return cache[key] + cache[1, "a"]


@given(lambda: {1: {}})
def cache_of_caches(x, y, cache):
    inner = cache.setdefault(len(x), {})
    inner["v"] = inner.get("v", x) + 1
    cache[1]["w"] = inner
    return cache[1]["w"]["v"] * 2


@given(lambda: {"a": 1})
def cache_fails_half_way(x, y, cache):
    cache["b"] = x + 1
    cache["a"] = cache["b"].sum()
    return cache["c"]


@functools.lru_cache(maxsize=None)
def table(n):
    CALLS.append(n)
    return tuple(i * i for i in range(n))


@made
def lru_cached_function():
    calls = []

    @functools.lru_cache(maxsize=4)
    def squares(n):
        calls.append(n)
        return n * n

    def function(x, y):
        return x * squares(len(x)), squares(3), squares(len(x))

    return function, lambda: (calls, tuple(squares.cache_info()))


@made
def cached_function_cleared():
    @functools.cache
    def half(n):
        return n / 2

    def function(x, y):
        out = x * half(4)
        half.cache_clear()
        return out, half(len(x)), half.cache_info().misses

    return function, lambda: tuple(half.cache_info())


class Lazy:
    made = 0

    def __init__(self, n):
        self.n = n

    @functools.cached_property
    def table(self):
        type(self).made += 1
        return np.arange(self.n) * 2.0

    @functools.cached_property
    def size(self):
        return self.n * 10

    @functools.lru_cache
    def power(self, k):
        return self.n**k


@given(lambda: Lazy(1))
def cached_property_of_an_object(x, y, o):
    return x * o.size, o.size, "size" in vars(o)


@given(lambda: Lazy(1))
def cached_property_of_arrays(x, y, o):
    first = o.table
    return x + first, o.table is first


@given(lambda: Lazy(3))
def cached_method(x, y, o):
    return x * o.power(2), o.power(2)


@given(lambda: Lazy(3))
def cached_property_deleted(x, y, o):
    first = o.size
    del o.size
    o.n = 5
    return x * o.size, first


class Kept:
    def __init__(self):
        self._value = None

    @property
    def value(self):
        if self._value is None:
            self._value = np.ones(1) * 4
        return self._value


@given(Kept)
def made_when_asked_for(x, y, o):
    return x * o.value, o.value is o._value


@made
def attribute_of_a_function():
    def function(x, y):
        function.calls = getattr(function, "calls", 0) + 1
        return x * function.calls

    return function, lambda: None
