"""Objects of classes of the user's: live ones and new ones."""

import abc
import functools

from . import case, given


class Point:
    dimension = 2

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __add__(self, other):
        return Point(self.a + other.a, self.b + other.b)

    def __eq__(self, other):
        return isinstance(other, Point) and self.a is other.a

    def __hash__(self):
        return 7

    def __repr__(self):
        return f"Point({len(self.a)})"

    def norm(self):
        return self.a * self.a + self.b * self.b

    @property
    def total(self):
        return self.a + self.b

    @staticmethod
    def zero(n):
        return [0] * n

    @classmethod
    def square(cls, a):
        return cls(a, a)


class Named(Point):
    def __init__(self, a, b, name="p"):
        super().__init__(a, b)
        self.name = name

    def norm(self):
        return super().norm() + 1


class Slotted:
    __slots__ = ("v", "w")

    def __init__(self, v):
        self.v = v


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


class Square(Shape):
    def __init__(self, a):
        self.a = a

    def area(self):
        return self.a * self.a


class Lazy:
    def __init__(self, v):
        self.v = v
        self.calls = 0

    @functools.cached_property
    def twice(self):
        return self.v * 2


class Dynamic:
    def __getattr__(self, name):
        if name.startswith("k"):
            return len(name)
        raise AttributeError(name)


@case
def made(x, y):
    return Point(x, y).norm()


@case
def returned(x, y):
    return Point(x + 1, y)


@case
def added(x, y):
    p = Point(x, y) + Point(y, x)
    return p.a, p.b


@case
def inherited(x, y):
    p = Named(x, y)
    return p.norm(), p.name, isinstance(p, Point), p.dimension


@case
def class_and_static_methods(x, y):
    return Point.square(x).norm(), Point.zero(2), Point(x, y).square(y).a


@case
def properties(x, y):
    return Point(x, y).total


@case
def property_refuses(x, y):
    p = Point(x, y)
    try:
        p.total = 3
    except AttributeError as error:
        return type(error).__name__, x


@case
def slots(x, y):
    s = Slotted(x)
    s.w = y
    return s, hasattr(s, "w")


@case
def slots_refuse(x, y):
    try:
        Slotted(x).z = 1
    except AttributeError:
        return y


@case
def abstract(x, y):
    return Square(x).area(), isinstance(Square(x), Shape)


@case
def abstract_refuses(x, y):
    try:
        return Shape()
    except TypeError:
        return x


@case
def cached(x, y):
    lazy = Lazy(x)
    return lazy.twice, lazy.twice is lazy.twice


@case
def missing_attributes(x, y):
    d = Dynamic()
    try:
        return d.kind, d.other
    except AttributeError as error:
        return str(error), x


@case
def attribute_functions(x, y):
    p = Point(x, y)
    setattr(p, "c", 3)
    had = hasattr(p, "c"), getattr(p, "d", None)
    delattr(p, "c")
    return had, hasattr(p, "c"), vars(p)


@case
def in_containers(x, y):
    points = [Point(x, y), Point(y, x)]
    return sum(p.norm() for p in points), {p.dimension for p in points}


@case
def compared(x, y):
    return Point(x, y) == Point(x, x), Point(x, y) != Point(y, y), Point(x, y) == 3


@case
def as_text(x, y):
    return repr(Point(x, y)), str(Point(x, y)), f"{Point(x, y)}"


@case
def bound_method_kept(x, y):
    f = Point(x, y).norm
    return f(), f()


@case
def method_of_the_class(x, y):
    return Point.norm(Point(x, y))


@case
def class_attribute_hidden(x, y):
    p = Point(x, y)
    p.dimension = 3
    return p.dimension, Point.dimension, x


@case
def types(x, y):
    p = Named(x, y)
    return type(p) is Named, type(p).__mro__[1] is Point, type(p).__name__, issubclass(Named, Point)


@case
def class_made_by_type(x, y):
    C = type("C", (), {"k": 3})
    return C.k * x


class Matrix:
    def __init__(self, v):
        self.v = v

    def __getitem__(self, i):
        return self.v[i]

    def __setitem__(self, i, w):
        self.v[i] = w

    def __len__(self):
        return len(self.v)

    def __iter__(self):
        return iter(self.v[:2])

    def __contains__(self, w):
        return w == 3

    def __call__(self, k):
        return self.v * k

    def __bool__(self):
        return False

    def __matmul__(self, other):
        return self.v @ other.v

    def __neg__(self):
        return Matrix(-self.v)

    def __enter__(self):
        return self.v

    def __exit__(self, *error):
        return True


@case
def special_methods(x, y):
    m = Matrix(x.copy())
    m[0] = 5
    return m[0], len(m), [v for v in m], 3 in m, m(2), bool(m), m @ m, (-m).v


@case
def suppresses(x, y):
    with Matrix(x) as v:
        raise ValueError("gone")
    return v


@given(lambda: Point(1.0, 2.0))
def live(x, y, p):
    return x * p.a + p.b, p.norm(), p.total


@given(lambda: Named(1.0, 2.0))
def live_inherited(x, y, p):
    return x * p.norm(), p.name


@given(lambda: Slotted(3.0))
def live_slots(x, y, s):
    return x * s.v


@given(lambda: Lazy(2.0))
def live_cached(x, y, lazy):
    return x * lazy.twice, lazy.twice


@given(Dynamic)
def live_dynamic(x, y, d):
    return x * d.kkk, hasattr(d, "z")


@given(lambda: Square(2.0))
def live_abstract(x, y, s):
    return x * s.area()


@given(lambda: Point)
def class_argument(x, y, cls):
    return cls(x, y).norm()
