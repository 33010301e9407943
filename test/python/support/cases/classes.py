"""Classes made inside of the compiled function."""

import abc
import functools

import numpy as np

from . import program


@program
def class_inside(x, y):
    class Point:
        scale = 2

        def __init__(self, a, b):
            self.a = a
            self.b = b

        def norm(self):
            return np.sqrt(self.a * self.a + self.b * self.b) * self.scale

    return Point(x, y).norm()


@program
def class_inside_with_base_and_super(x, y):
    class Base:
        def __init__(self, a):
            self.a = a

        def apply(self, b):
            return self.a + b

    class Twice(Base):
        def __init__(self, a):
            super().__init__(a * 2)

        def apply(self, b):
            return super().apply(b) * 3

    return Twice(x).apply(y)


@program
def class_inside_with_property(x, y):
    class Box:
        def __init__(self, a):
            self._a = a

        @property
        def doubled(self):
            return self._a * 2

        @staticmethod
        def add(a, b):
            return a + b

        @classmethod
        def of(cls, a):
            return cls(a + 1)

    return Box.add(Box.of(x).doubled, y)


@program
def class_inside_with_operators(x, y):
    class Dual:
        def __init__(self, value, slope):
            self.value, self.slope = value, slope

        def __add__(self, other):
            return Dual(self.value + other.value, self.slope + other.slope)

        def __mul__(self, other):
            return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

        def __neg__(self):
            return Dual(-self.value, -self.slope)

        def __getitem__(self, i):
            return self.value[i]

        def __len__(self):
            return 2

        def __call__(self, k):
            return self.value * k

        def __iter__(self):
            yield self.value
            yield self.slope

    d = Dual(x, 1.0) * Dual(y, 0.5) + -Dual(x, 2.0)
    a, b = d
    return a, b, d[0], len(d), d(3)


@program
def class_attributes_and_closure(x, y):
    k = 3

    class Config:
        factor = k * 2
        table = {"a": factor, "b": [factor] * 2}

    return x * Config.factor + sum(Config.table["b"]) + y


class Vector:
    count = 0
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def __add__(self, other):
        return Vector(self.a + other.a, self.b + other.b)

    def __rmul__(self, k):
        return Vector(k * self.a, k * self.b)

    def __eq__(self, other):
        return isinstance(other, Vector) and other.b == self.b

    def total(self):
        return self.a.sum() + self.b


@program
def slots_and_reflected_operators(x, y):
    v = Vector(x, 1) + Vector(y, 2)
    w = 2.0 * v
    return w.total(), v == Vector(x, 3), v != 3


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

    @property
    def name(self):
        return type(self).__name__

    def __repr__(self):
        return f"<{self.name}>"


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


@program
def abstract_classes(x, y):
    shape = Square(x)
    return shape.area() + y, shape.name, repr(shape), isinstance(shape, Shape), issubclass(Square, Shape)


class Field:
    """A descriptor that is written in Python."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name) * 2

    def __set__(self, instance, value):
        setattr(instance, self.name, value + 1)


class Record:
    field = Field()


@program
def descriptors(x, y):
    record = Record()
    record.field = x
    return record.field + y


class Lazy:
    def __init__(self, a):
        self.a = a

    @functools.cached_property
    def square(self):
        return self.a * self.a

    def __getattr__(self, name):
        if name.startswith("plus"):
            return self.a + int(name[4:])
        raise AttributeError(name)


@program
def cached_property_and_getattr(x, y):
    lazy = Lazy(x)
    return lazy.square + lazy.square * y + lazy.plus7, hasattr(lazy, "minus"), getattr(lazy, "minus", 5)


class Diamond:
    def who(self):
        return ["diamond"]


class LeftSide(Diamond):
    def who(self):
        return ["left"] + super().who()


class RightSide(Diamond):
    def who(self):
        return ["right"] + super().who()


class Bottom(LeftSide, RightSide):
    def who(self):
        return ["bottom"] + super().who()


@program
def method_resolution_order(x, y):
    return Bottom().who(), [c.__name__ for c in Bottom.__mro__], x + y
