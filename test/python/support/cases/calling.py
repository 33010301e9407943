"""Calls, arguments and names."""

import numpy as np

from . import program


@program
def star_args(x, y):
    def f(a, /, b, *rest, c=1, **others):
        return a + b + sum(rest) * c, sorted(others)

    args, kwargs = (x, y), {"c": 2, "d": 3}
    return f(*args, *[1.0, 2.0], **kwargs, e=4), f(x, *(y,)), f(b=y, *(x,))


@program
def closures_and_nonlocal(x, y):
    total = 0

    def add(v):
        nonlocal total
        total = total + v
        return total

    add(x)
    add(y)
    fs = [lambda a, k=k: a * k for k in range(3)]
    late = [lambda a: a * k for k in range(3)]
    return total, [f(x)[0] for f in fs], [f(1) for f in late]


@program
def unpacking_and_walrus(x, y):
    (a, *middle), b = (x, 1, 2, 3), y
    if (n := len(middle)) > 2:
        a = a * n
    first, *_, last = x
    return a + b, middle, first, last, [*middle, *"ab"], {**{"k": 1}, "l": 2}


@program
def strings(x, y):
    text = f"{len(x):>5}|{3.14159:.2f}|{'a'!r}|{x.shape}"
    return x + y, text, "-".join(str(k) for k in range(3)), "%s %d" % ("a", 3), "{} {k}".format(1, k=2), "abc".upper()[::-1].split("B")


@program
def deletion_and_slices(x, y):
    items = [x, y, 1, 2, 3]
    del items[2:4]
    items[1:2] = [y, y]
    d = {"a": 1, "b": 2}
    del d["a"]
    z = x
    del z
    s = slice(1, None)
    return len(items), items[0] + items[2], d, x[s], [1, 2, 3, 4][::-2]


@program
def sorting_and_aggregates(x, y):
    rows = sorted([(3, "c"), (1, "a"), (2, "b")], key=lambda r: r[0], reverse=True)
    return x + y, rows, min(rows, key=lambda r: r[1]), max([1, 5, 2]), any(k > 2 for k in (1, 3)), all([]), sum([[1], [2]], []), list(reversed("abc"))


@program
def default_mutables(x, y):
    def f(a, seen=[]):
        seen.append(a.sum())
        return len(seen)

    return f(x), f(y), x + y


@program
def types_and_attributes(x, y):
    class Bag:
        pass

    bag = Bag()
    bag.a = x
    setattr(bag, "b", y)
    delattr(bag, "a")
    return hasattr(bag, "a"), vars(bag)["b"] + 3, type(bag).__name__, callable(len), isinstance(x, np.ndarray)


@program
def decorators_with_arguments(x, y):
    def scale(k):
        def wrap(f):
            return lambda *a: f(*a) * k

        return wrap

    @scale(2)
    @scale(3)
    def add(a, b):
        return a + b

    return add(x, y)


@program
def while_loops_and_else(x, y):
    k, log = 0, []
    while k < 5:
        k += 1
        if k == 4:
            break
        log.append(x * k)
    else:
        log = []
    for i in range(2):
        pass
    else:
        log.append(y)
    return sum(log)


@program
def recursion_and_trees(x, y):
    def tree(v, depth):
        return {"v": v, "kids": [tree(v * 2, depth - 1) for _ in range(2)] if depth else []}

    def total(node):
        return node["v"] + sum(total(k) for k in node["kids"])

    return total(tree(x, 2)) + y


@program
def identity_and_aliases(x, y):
    a = [x]
    b = a
    b.append(y)
    c = a[:]
    return a is b, c is a, a[0] is x, len(a), x is y, (x,)[0] is x


@program
def integer_arithmetic(x, y):
    n = x.shape[0]
    return x[: n // 2] * (n % 3) + (n << 2) ** 2, n & 1, -n // 2, divmod(n, 3), int("12") + n, round(2.567, 2), bin(n), 2**100 % 7
