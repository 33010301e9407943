"""Classes that look up their attributes themselves, and classes with subscripts."""

import numpy as np

from . import case, given, made


class Own:
    def __init__(self, v):
        object.__setattr__(self, "v", v)
        self.seen = []

    def __getattribute__(self, name):
        if name == "double":
            return object.__getattribute__(self, "v") * 2
        return super().__getattribute__(name)

    def method(self, x):
        return self.double + x


class Fallback(Own):
    def __getattribute__(self, name):
        if name.startswith("no"):
            raise AttributeError(name)
        return super().__getattribute__(name)

    def __getattr__(self, name):
        if name == "nothing" or name.startswith("_"):
            raise AttributeError("nothing at all")
        return "instead of " + name


class Logged(list):
    def __getattribute__(self, name):
        log = object.__getattribute__(self, "__dict__").setdefault("log", [])
        log.append(name)
        return super().__getattribute__(name)


class Boxed:
    def __class_getitem__(cls, key):
        return cls.__name__, key

    def __getitem__(self, i):
        return i


class Of(Boxed):
    def __class_getitem__(cls, key):
        return super().__class_getitem__(key), key


@case
def own_lookup_of_a_new_object(x, y):
    o = Own(x)
    return o.double, o.method(y), o.v, hasattr(o, "w")


@given(lambda: Own(2.0))
def own_lookup_of_a_live_object(x, y, o):
    o.seen.append(len(x))
    return o.double * x, o.method(y), o.__class__ is Own


@given(lambda: Fallback(3.0))
def what_a_fallback_answers(x, y, o):
    return x * o.v, o.nowhere, getattr(o, "nothing", "none"), hasattr(o, "nothing"), o.double


@case
def lookups_are_seen(x, y):
    o = Logged([1, 2])
    o.append(len(x))
    return x + sum(o), list(object.__getattribute__(o, "__dict__")["log"])


@case
def a_lookup_that_raises(x, y):
    try:
        return Fallback(x).nothing
    except AttributeError as e:
        return x + 1, str(e)


@case
def subscripts_of_classes(x, y):
    return x + 1, Boxed[int], Of["a", 2], Boxed()[3], Of[x.shape]


@case
def subscripts_of_arrays(x, y):
    name, key = Boxed[x]
    return name, key is x, key + np.sum(y)


class Bound:
    def __get__(self, instance, owner):
        return instance is None, owner.__name__


class Base:
    found = Bound()

    def whose(self):
        return type(self).__name__


class Derived(Base):
    @classmethod
    def above(cls):
        return super().found, super().whose is Base.whose


@case
def what_super_of_a_class_binds(x, y):
    return x + 1, super(Derived, Derived).found, super(Derived, Derived()).found, Derived.above(), super(Derived, Derived()).whose()


class Slotted(Base):
    __slots__ = ("a",)


@case
def a_slot_and_a_name_in_the_dictionary(x, y):
    o = Slotted()
    o.a = 1
    o.__dict__["a"] = x
    return o.a, o.__dict__, y * 2


@made
def super_when_a_class_between_changes():
    class Top:
        n = 1

    class Middle(Top):
        pass

    class Bottom(Middle):
        pass

    calls = []

    def f(x, y):
        calls.append(1)
        if len(calls) == 3:
            Middle.n = 5
        return x + super(Bottom, Bottom()).n, hasattr(super(Bottom, Bottom()), "m")

    return f, lambda: len(calls)
