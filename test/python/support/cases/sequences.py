"""Lists, tuples, dicts and sets made in the function."""

from . import case, given


@case
def list_methods(x, y):
    a = [3, 1]
    a.append(2)
    a.insert(0, 9)
    a.extend([4])
    a.remove(1)
    b = a.pop(), a.index(2), a.count(9)
    a.sort()
    a.reverse()
    return a, b, a.copy() == a, x


@case
def list_slices(x, y):
    a = list(range(6))
    a[1:3] = ["b"]
    del a[-1]
    a[::2] = [0] * len(a[::2])
    return a, a[::-1], x


@case
def list_failures(x, y):
    found = []
    for f in (lambda: [].pop(), lambda: [1].remove(2), lambda: [1][5], lambda: [1].index(3)):
        try:
            f()
        except (IndexError, ValueError) as error:
            found.append(type(error).__name__)
    return found, x


@case
def list_operators(x, y):
    return [1] + [2], [0] * 3, [1, 2] < [1, 3], 2 in [1, 2], [x] + [y], x


@case
def tuple_operators(x, y):
    return (1,) + (2,), (0,) * 2, (1, "a") == (1, "a"), (1, 2).index(2), (x, y)[1]


@case
def dict_methods(x, y):
    d = {"a": x}
    d.update(b=1)
    return d.get("c", 3), d.pop("b"), d.setdefault("e", y), list(d.items())[0][0], d.keys() & {"a"}, len(d)


@case
def dict_order(x, y):
    d = {"b": 1, "a": 2}
    d["b"] = 3
    del d["a"]
    d["a"] = 4
    return list(d), list(reversed(d)), d.popitem(), x


@case
def dict_failures(x, y):
    try:
        return {}["k"]
    except KeyError as error:
        return error.args, x


@case
def dict_views(x, y):
    d = {1: 2}
    keys, values = d.keys(), d.values()
    d[3] = 4
    return list(keys), list(values), 3 in keys, x


@case
def dict_of_keys(x, y):
    return dict.fromkeys("ab", 1), dict([("a", 1)]), dict(zip("ab", (x, y)))


@case
def dict_operators(x, y):
    return {"a": 1} | {"b": x}, {"a": 1} == {"a": 1}, "a" in {"a": 1}


@case
def equal_keys(x, y):
    d = {1: "int"}
    d[1.0] = "float"
    d[True] = "bool"
    return d, x


@case
def tuple_keys(x, y):
    d = {(1, 2): x, (1, "a"): y}
    return d[(1, 2)], d[1, "a"]


@case
def set_methods(x, y):
    s = {1, 2}
    s.add(3)
    s.discard(9)
    s.remove(1)
    return sorted(s), len(s), s.isdisjoint({9}), s <= {2, 3, 4}, x


@case
def set_operators(x, y):
    a, b = {1, 2}, {2, 3}
    return a | b, a & b, a - b, a ^ b, x


@case
def set_of_a_list(x, y):
    return len(set([1, 1, 2])), sorted(set("hello")), frozenset([1]) == {1}, x


@case
def nested_ones(x, y):
    data = {"a": [1, {"b": (x, y)}]}
    return data["a"][1]["b"][0] + 1, data


@case
def sorted_with_keys(x, y):
    rows = [("b", 2), ("a", 2), ("c", 1)]
    return sorted(rows, key=lambda r: (-r[1], r[0])), max(rows), min(rows, key=lambda r: r[1]), x


@case
def unhashable(x, y):
    try:
        return {[1]: 2}
    except TypeError as error:
        return str(error), x


@case
def list_of_lists_changed(x, y):
    grid = [[0] * 2 for _ in range(2)]
    grid[0][1] = x
    grid[1][0] = grid[0][1] + 1
    return grid


@case
def stack_and_queue(x, y):
    stack, out = [x], []
    while stack:
        v = stack.pop()
        out.append(v)
        if len(out) < 3:
            stack.append(v + 1)
    return out


@case
def built_in_a_loop(x, y):
    table = {}
    for i, name in enumerate("abab"):
        table.setdefault(name, []).append(x * i)
    return table


@given(lambda: [1.0, 2.0])
def of_a_list_argument(x, y, a):
    return a + [3], a * 2, a[::-1], sorted(a, reverse=True), x * a[-1], tuple(a)


@given(lambda: {"a": 1.0})
def of_a_dict_argument(x, y, d):
    return dict(d), {**d, "b": x}, list(d.items()), d.get("z"), x * d["a"]


@given(lambda: {1, 2})
def of_a_set_argument(x, y, s):
    return s | {3}, 1 in s, len(s), x


@given(lambda: ((1, 2), [3]))
def of_a_tuple_argument(x, y, t):
    (a, b), c = t
    return x * a + b, c, t[0] + (1,)


@given(lambda: range(4))
def of_a_range_argument(x, y, r):
    return list(r), len(r), x * r[2]


@case
def operators_that_refuse(x, y):
    """What raises plainly has to raise when it is captured, also where that is caught; and nothing else."""
    d, s, out = {1: 2}, {1}, []
    tries = [lambda: 1j == d.keys(), lambda: d.keys() == [1], lambda: d.values() == d.values(), lambda: (1,) < d.items(), lambda: s | d.values(),
             lambda: d.keys() | [5], lambda: d.keys() - {1}, lambda: d.items() & {(1, 2)}, lambda: s in {frozenset({1}), 2}, lambda: {**d, **[(1, 2)]},
             lambda: {1} | d.keys(), lambda: frozenset(s).add(3), lambda: issubclass(list[int], list), lambda: [1, 2] * x[0], lambda: x[0] * (1, 2),
             lambda: x[0] == "a", lambda: {np.int64(1): 1, "a": 2}["a"], lambda: x[0] == None, lambda: list.__add__(x, 1), lambda: [0] * x.size,
             lambda: "a" in [x[0], "a"], lambda: x == "a", lambda: d.keys() <= {1, 2}, lambda: [x[1]].index("q"),
             lambda: sum("", ""), lambda: "a" * np.int64(2), lambda: np.int64(2) * [1], lambda: np.float64 in [x[0]]]
    for attempt in tries:
        try:
            out.append(attempt())
        except Exception as error:
            out.append(type(error))
    more = dict(d)
    more |= [(3, 4)]
    return out, more, x + 1
