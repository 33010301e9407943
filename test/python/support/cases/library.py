"""functools, itertools, operator, math and their like."""

import functools
import itertools
import math
import operator

import numpy as np

from . import program


@functools.lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.singledispatch
def shown(value):
    return "object"


@shown.register
def _(value: int):
    return "int"


@program
def functools_functions(x, y):
    scaled = functools.partial(np.multiply, 2.0)
    shift = functools.partial(lambda a, b, k: a + b * k, k=3)
    total = functools.reduce(operator.add, [x, y, x], 1.0)
    return scaled(x), shift(x, y), total, functools.reduce(lambda a, b: a * b, range(1, 6))


@program
def cached_function(x, y):
    return x + y, fibonacci(20)


@program
def functools_more(x, y):
    def wrapper(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs) + 1

        return inner

    @wrapper
    def add(a, b=2):
        "Adds."
        return a + b

    key = functools.cmp_to_key(lambda a, b: b - a)
    return add(x, b=y), add.__name__, add.__doc__, sorted([3, 1, 2], key=key)


@program
def itertools_functions(x, y):
    pairs = list(itertools.product((1, 2), "ab"))
    chained = list(itertools.chain([x], (y,), [x + y]))
    windows = list(itertools.pairwise(chained))
    counted = list(itertools.islice(itertools.count(3, 2), 3))
    zipped = list(itertools.zip_longest("ab", [1], fillvalue=0))
    groups = {k: list(v) for k, v in itertools.groupby("aabbb")}
    return (pairs, sum(chained), [a - b for a, b in windows], counted, zipped, groups, list(itertools.accumulate([1, 2, 3])),
            list(itertools.combinations(range(4), 2)), list(itertools.permutations("abc", 2))[:3],
            list(itertools.starmap(pow, [(2, 3), (3, 2)])), list(itertools.takewhile(lambda k: k < 3, range(9))),
            list(itertools.dropwhile(lambda k: k < 3, range(5))), list(itertools.compress("abc", [1, 0, 1])),
            list(itertools.repeat(7, 2)), list(itertools.filterfalse(lambda k: k % 2, range(4))))


@program
def itertools_over_arrays(x, y):
    running = list(itertools.accumulate([x, y, x], lambda a, b: a * b))
    again = [a + b for a, b in itertools.product([x, y], [1.0, 2.0])]
    first, second = itertools.tee(iter([x, y]))
    cycle = itertools.cycle([x, y])
    return running, again, sum(first) + sum(second), [next(cycle) for _ in range(3)], list(itertools.chain.from_iterable([[x], [y]]))


@program
def operators(x, y):
    get = operator.itemgetter(1, 0)
    attribute = operator.attrgetter("ndim")
    call = operator.methodcaller("sum", axis=0)
    return (operator.mul(x, y), get((x, y)), attribute(x), call(x), operator.matmul(x, y), operator.neg(x), operator.truth([]),
            operator.contains([1], 1), operator.index(3), operator.getitem(x, 0), operator.iadd([1], [2]))


@program
def math_functions(x, y):
    return (x * math.pi + math.sqrt(2) * y, math.floor(2.7), math.isclose(0.1 + 0.2, 0.3), math.hypot(3, 4), math.comb(5, 2),
            math.prod([1, 2, 3]), math.gcd(12, 18), math.log2(8), math.inf, math.copysign(1, -0.0), math.fsum([0.1] * 3))
