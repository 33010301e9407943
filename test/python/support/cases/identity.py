"""Which object is which: `is`, aliases, copies."""

import copy

import numpy as np

from . import case, given


@case
def arguments(x, y):
    return x is x, x is y, x is not y


@case
def aliases(x, y):
    z = x
    return z is x, (x + 0) is x


@case
def none_and_booleans(x, y):
    return None is None, (len(x) > 1) is True, (not x.ndim) is False


@case
def lists(x, y):
    a = [x]
    b = a
    c = list(a)
    return a is b, a is c, a == b, [a, b, c]


@case
def list_holds_itself(x, y):
    a = [1]
    a.append(a)
    return a[1] is a, len(a), repr(a)


@case
def dict_holds_itself(x, y):
    d = {}
    d["d"] = d
    return d["d"]["d"] is d, repr(d), x


@case
def multiplied_lists(x, y):
    rows = [[0]] * 2
    rows[0].append(1)
    return rows


@case
def tuples(x, y):
    t = (1, 2)
    return t * 1 is t, t[:] is t, tuple(t) is t, t + () is t, x


@case
def frozen_sets(x, y):
    f = frozenset([1, 2])
    return frozenset(f) is f, f.copy() is f, f == {1, 2}, x


@case
def copied(x, y):
    a = [[x], y]
    b = copy.copy(a)
    return b is a, b[0] is a[0], b


@case
def deep_copied(x, y):
    a = [x, x]
    b = copy.deepcopy(a)
    return b[0] is b[1], b[0] is a[0], b


@case
def shared_items(x, y):
    z = x + 1
    return [z, z], {"a": z}, z


@case
def membership(x, y):
    nan = float("nan")
    return nan in [nan], nan == nan, [nan] == [nan], float("nan") in [nan], x


@case
def types_are_objects(x, y):
    return type(x) is np.ndarray, type(1) is int, type(None), x


@case
def methods_bound_anew(x, y):
    return x.sum is x.sum, x.sum == x.sum if False else True


@case
def functions(x, y):
    def f():
        return 1

    g = f
    return g is f, f == g, x * f()


@case
def views(x, y):
    v = x[1:]
    return v.base is x, v is x[1:], v


@case
def same_view_twice(x, y):
    v = x[:2]
    return v, v, x[:2]


@case
def tuple_of_a_list(x, y):
    a = [x, y]
    t = tuple(a)
    a.append(1)
    return t, a, t[0] is a[0]


@case
def swapped(x, y):
    x, y = y, x
    return x, y


@case
def defaults_are_shared(x, y):
    def f(a=[]):
        a.append(1)
        return a

    return f() is f(), f()


@case
def strings(x, y):
    s = "abc"
    return s is s, s[:] is s, str(s) is s, x


@case
def slices_of_lists(x, y):
    a = [1, 2]
    return a[:] is a, a[:] == a, x


@given(lambda: [1])
def argument_list(x, y, a):
    b = a
    return b is a, b


@given(lambda: (lambda z: [z, z, [1]])([1]))
def shared_in_arguments(x, y, a):
    return a[0] is a[1], a[0] is a[2], a[0]


@given(lambda: {"k": [1]})
def held_by_a_dict(x, y, d):
    return d["k"] is d["k"], d["k"]


@case
def constant_tuples(x, y):
    first, second = (1, (2, "a")), (1, (2, "a"))
    return first is second, first[1] is second[1], x + first[0]


def constant():
    return (1, (2, "a"))


@case
def constant_tuple_of_a_function(x, y):
    return constant() is constant(), x


ATOMS = frozenset({int, float, type(None), type, np.ndarray})


@given(lambda: 2, lambda: ATOMS)
def frozenset_of_classes(x, y, k, atoms):
    known = [type(o) in atoms for o in (x, k, None, "a", np.float32, {})]
    return x + len(known), known, int in ATOMS, len in ATOMS, 3 not in ATOMS


@case
def frozenset_of_classes_asked_for_a_list(x, y):
    try:
        return [] in ATOMS
    except TypeError as error:
        return x + 1, str(error)


FROZEN = frozenset(["a", 2])


@given(lambda: frozenset([1, 2]), lambda: [frozenset([3])])
def frozenset_is_its_copy(x, y, f, held):
    return x, f.copy() is f, frozenset(held[0]) is held[0], FROZEN.copy() is FROZEN, frozenset.copy(FROZEN) is FROZEN
