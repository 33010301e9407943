"""Assignment to several names, stars, deletion."""

from . import case, given


@case
def pairs(x, y):
    a, b = x, y
    return b, a


@case
def nested(x, y):
    (a, b), [c, (d,)] = (x, 1), [2, (y,)]
    return a * b + c * d


@case
def starred(x, y):
    a, *b = [x, y, 1]
    *c, d = (1, 2, 3)
    e, *f, g = range(5)
    return a, b, c, d, e, f, g


@case
def starred_empty(x, y):
    a, *b = [x]
    return a, b


@case
def of_strings(x, y):
    a, b = "ab"
    return a + b, x


@case
def of_dicts(x, y):
    a, b = {"k": 1, "z": 2}
    return a, b, x


@case
def of_arrays(x, y):
    a, b, *rest = x
    return a, b, len(rest)


@case
def of_rows(x, y):
    a, b = (x + 1, y - 1)
    (c, d), = [(a, b)]
    return c * d


@case
def of_generators(x, y):
    a, b = (x * i for i in range(2))
    return a, b


@case
def to_items(x, y):
    d, a = {}, [0, 0]
    d["k"], a[1] = x, y
    return d, a


@case
def to_attributes(x, y):
    class C:
        pass

    c = C()
    c.a, c.b = x, y
    return c.a + c.b


@case
def to_slices(x, y):
    a = [0, 1, 2, 3]
    a[1:3], b = [9], 5
    return a, b, x


@case
def chained(x, y):
    a = b = [x]
    b.append(y)
    return a, a is b


@case
def chained_of_arrays(x, y):
    a = b = x + 1
    b += 1
    return a


@case
def in_loops(x, y):
    total = 0
    for i, (a, b) in enumerate([(x, 1), (y, 2)]):
        total = total + i * a * b
    return total


@case
def too_many(x, y):
    try:
        a, b = [1, 2, 3]
    except ValueError as error:
        return str(error), x


@case
def too_few(x, y):
    try:
        a, b, *c = [1]
    except ValueError as error:
        return str(error), x


@case
def not_iterable(x, y):
    try:
        a, b = 3
    except TypeError as error:
        return str(error), x


@case
def in_displays(x, y):
    return [*"ab", *(1, 2)], (*[x], y), {*[1], 2}, {**{"a": 1}, "b": 2}


@case
def in_calls(x, y):
    def f(*args, **kw):
        return args, kw

    return f(*[1, 2], 3, *(4,), **{"a": x}, b=y)


@case
def of_order(x, y):
    log = []

    def note(v):
        log.append(v)
        return v

    d = {}
    d[note(1)] = note(2)
    (note(3), note(4))
    return log, d, x


@case
def deleted(x, y):
    a = [1, 2, 3]
    d = {"k": 1}
    del a[0], d["k"]
    return a, d, x


@case
def augmented_items(x, y):
    a = [x, 1]
    a[1] += 2
    a[0] = a[0] * 2
    d = {"k": 1}
    d["k"] *= 5
    return a, d


@case
def augmented_tuple_item(x, y):
    t = ([1],)
    try:
        t[0] += [2]
    except TypeError as error:
        return str(error), t, x


@given(lambda: [1, [2, 3]])
def of_an_argument(x, y, a):
    b, (c, d) = a
    return x * b + c * d


@given(lambda: {"a": 1, "b": 2})
def of_items(x, y, d):
    return [(k, v * x) for k, v in d.items()]
