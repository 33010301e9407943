"""Comprehensions of every kind, and the names in them."""

from . import case, given


@case
def of_lists(x, y):
    return [x * i for i in range(3)]


@case
def of_sets(x, y):
    return {i * 2 for i in range(4)}, x


@case
def of_dicts(x, y):
    return {i: x + i for i in range(3)}


@case
def of_generators(x, y):
    return sum(x * i for i in range(4))


@case
def with_conditions(x, y):
    return [i * x for i in range(6) if i % 2 if i > 1]


@case
def nested(x, y):
    return [[x * i + j for j in range(2)] for i in range(2)]


@case
def two_loops(x, y):
    return [(i, j) for i in range(3) for j in range(i)], x


@case
def with_unpacking(x, y):
    return [a * b for a, b in [(x, 1), (y, 2)]]


@case
def of_another(x, y):
    return sum([v for v in [w * 2 for w in (x, y)]])


@case
def with_a_closure(x, y):
    k = 3
    return [f(x) for f in [lambda v, i=i: v * i + k for i in range(3)]]


@case
def late_binding(x, y):
    fs = [lambda: i for i in range(3)]
    return [f() for f in fs], x


@case
def walrus_in_one(x, y):
    last = [z := x * i for i in range(3)]
    return last, z


@case
def names_stay_inside(x, y):
    i = 10
    z = [i for i in range(3)]
    return x * i, z


@case
def conditional_items(x, y):
    return [x if i else y for i in range(2)]


@case
def starred(x, y):
    return [*(v + 1 for v in (x, y)), *[x]]


@case
def dict_merged(x, y):
    return {**{"a": x}, **{k: y for k in "bc"}}


@case
def any_and_all(x, y):
    return any(i > 2 for i in range(5)), all(i for i in range(5)), x


@case
def min_and_max(x, y):
    return max((len(v), i) for i, v in enumerate((x, y, x[:2]))), min(i for i in (3, 1))


@case
def joined(x, y):
    return ",".join(str(i) for i in range(4)), x


@case
def generator_kept(x, y):
    g = (x * i for i in range(3))
    return next(g), list(g)


@case
def generator_of_a_generator(x, y):
    g = (i * 2 for i in (j + 1 for j in range(3)))
    return [x * v for v in g]


@case
def index_by_enumerate(x, y):
    return {name: x * i for i, name in enumerate("abc", 1)}


@case
def over_zip(x, y):
    return [a + b for a, b in zip([x, y], [1, 2])]


@case
def over_a_dict(x, y):
    d = {"a": x, "b": y}
    return [k for k in d], [v * 2 for v in d.values()], {k: v + 1 for k, v in d.items()}


@given(lambda: [1, 2, 3])
def over_an_argument(x, y, items):
    return [x * i for i in items], {i for i in items}


@given(lambda: {"a": 1.0, "b": 2.0})
def over_a_dict_argument(x, y, d):
    return {k: x * v for k, v in d.items() if v > 1}
