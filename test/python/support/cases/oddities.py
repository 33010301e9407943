"""What Python answers where one would not look: operators called by name, subclasses that stay or are lost, equal items of
different types, attributes beside descriptors."""

import collections
import operator

import numpy as np

from . import case, given, made


class Text(str):
    pass


class Rows(list):
    pass


class Few(set):
    pass


class Reflected:
    def __ror__(self, other):
        return "ror"


class Caught(int):
    def __getattribute__(self, name):
        return "caught" if name == "c" else super().__getattribute__(name)


class Guarded:
    @property
    def n(self):
        return self._n

    @n.setter
    def n(self, value):
        self._n = value, 3


@case
def defaults_keep_their_class(x, y):
    return x + 1, getattr((1, 2), "v", Text("a")), getattr(Text("b"), Text("upper"))()


@given(lambda: np.int64(-3))
def scalars_give_way_to_others(x, y, s):
    return x + 1, np.int8(2).__rsub__(s), np.uint16(2).__le__(np.float32(2)), np.int8(2).__add__(np.int8(1)), s.__lt__(s)


@given(lambda: np.int64(-3))
def scalars_divided_by_lists(x, y, s):
    return x + 1, divmod(s, [0, 1]), divmod(s, range(1, 3))


@case
def concatenation_is_of_sequences(x, y):
    try:
        operator.concat(2, 3)
    except TypeError as e:
        return x * 2, str(e), operator.concat([1], [2])


@case
def numbers_equal_no_dicts(x, y):
    return x + 1, np.int32(2) == {}, np.float64(1) != np.dtype("f8"), np.bool_(True) == ..., np.int64(1) == slice(1)


@case
def what_containers_do_not_know(x, y):
    return x + 1, Rows([1]).__eq__((1,)), Rows([1]).__ne__(np.arange(1)), Few([1]).__or__(Reflected()), Few([1]) | Reflected()


@case
def functions_have_no_order(x, y):
    tried = []
    for other in (operator, len, {}):
        try:
            tried.append(np.sum < other)
        except TypeError as e:
            tried.append(str(e))
    return x + 1, tried


@case
def dtypes_and_dicts(x, y):
    try:
        return np.dtype("f8") < {1: 2}
    except TypeError as e:
        return x + 1, str(e), np.dtype("f8") == "f8"


@given(lambda: frozenset({1, 2}))
def frozen_sets_are_their_copies(x, y, s):
    t = s.copy()
    try:
        return list(reversed(s))
    except TypeError as e:
        return x + 1, s, t, t is s, str(e)


@given(lambda: {1, 2})
def the_greater_of_two_sets(x, y, s):
    t = frozenset({1, 2})
    return x + 1, s, t, np.maximum(t, s) is t


@case
def common_items_are_the_right_ones(x, y):
    a = {1, 2}
    a.intersection_update(np.array([1.0, 2.0]))
    return x + 1, sorted(map(str, {1, 2, 3} & {True, 2.0})), sorted(map(str, {True} & {1, 2})), sorted(map(str, a))


@given(lambda: Text("ab"))
def text_without_gaps(x, y, s):
    return x + 1, type(s.format(1)), s % () is s, s.format_map(1) is s, type(s.strip()), type(s + ""), type(Text("%s") % 1)


@given(lambda: np.float32(2.5))
def scalars_squeezed(x, y, s):
    return x + 1, s.squeeze(()), s.squeeze()


@case
def sums_of_bytes(x, y):
    try:
        return sum(set(), bytearray(b"a"))
    except TypeError as e:
        return x + 1, str(e)


@case
def attributes_by_their_dictionary(x, y):
    o = Few()
    o.a = x
    d = vars(o)
    d["b"] = y
    return o, d, d is o.__dict__, x + o.b


@case
def a_dictionary_beside_a_property(x, y):
    o = Guarded()
    o.__dict__["n"] = 8
    return o, hasattr(o, "n"), x + 1


@given(lambda: Caught(3))
def lookup_of_a_number_of_a_class(x, y, o):
    return x + 1, o.c, o.__class__ is Caught, o.real, Caught(4).__class__


@made
def a_class_that_changes_between_calls():
    class Plain:
        pass

    calls = []

    def f(x, y):
        o = Plain()
        calls.append(1)
        try:
            o.a = 5
            return x + 1, o
        except AttributeError as e:
            return x, str(e)
        finally:
            if len(calls) == 3:
                Plain.a = property(lambda self: 7)

    return f, lambda: len(calls)


class Index:
    def __index__(self):
        return 1


@case
def what_only_the_real_type_has(x, y):
    d = collections.defaultdict(list, a=[1])
    return x + 1, hasattr(d, "fromkeys"), hasattr(d, "nothing"), type(d.fromkeys([1]))


@case
def deques_by_index(x, y):
    d, tried = collections.deque([1, 2, 3]), []
    d.rotate(Index())
    tried.append(d[Index()])
    for wrong in (lambda: d.rotate(1.5), lambda: d["a"], lambda: collections.deque([1]).rotate(x)):
        try:
            tried.append(wrong())
        except TypeError as e:
            tried.append(str(e))
    return x * 2, d, tried, d[np.int64(1)]
