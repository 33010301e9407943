"""Programs over the language's parts, each with arrays, for test_language.py: CASES holds functions of two arrays.

A module of its own, because pytest rewrites the assertions of test modules into calls that are not captured.
"""

import abc
import bisect
import collections
import contextlib
import dataclasses
import enum
import functools
import heapq
import itertools
import math
import operator
import typing

import numpy as np

CASES = []
LEFT = set()  # names of those that are not captured whole: they run as plain Python


def case(function):
    CASES.append(function)
    return function


def left(function):
    LEFT.add(function.__name__)
    return case(function)


# ---- classes made inside --------------------------------------------------------------------------------------------


@case
def class_inside(x, y):
    class Point:
        scale = 2

        def __init__(self, a, b):
            self.a = a
            self.b = b

        def norm(self):
            return np.sqrt(self.a * self.a + self.b * self.b) * self.scale

    return Point(x, y).norm()


@case
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


@case
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


@case
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


@case
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


@case
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


@case
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


@case
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


@case
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


@case
def method_resolution_order(x, y):
    return Bottom().who(), [c.__name__ for c in Bottom.__mro__], x + y


# ---- dataclasses, named tuples, enums -------------------------------------------------------------------------------


@dataclasses.dataclass
class State:
    position: np.ndarray
    velocity: np.ndarray
    step: float = 0.5
    tags: list = dataclasses.field(default_factory=list)

    def advance(self):
        return dataclasses.replace(self, position=self.position + self.step * self.velocity)


@dataclasses.dataclass(frozen=True)
class Parameters:
    alpha: float = 1.5
    beta: float = 2.5

    def __post_init__(self):
        if self.alpha < 0:
            raise ValueError("alpha")


class Pair(typing.NamedTuple):
    first: object
    second: object = 7

    def both(self):
        return self.first + self.second


Old = collections.namedtuple("Old", "a b c", defaults=(3,))


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Mode(enum.Flag):
    A = 1
    B = 2


@case
def dataclass_made_inside(x, y):
    s = State(x, y).advance().advance()
    s.tags.append("moved")
    return s.position, s.step, s.tags


@case
def frozen_dataclass(x, y):
    p = Parameters(beta=4.0)
    try:
        p.alpha = 3
    except dataclasses.FrozenInstanceError as error:
        name = type(error).__name__
    return x * p.alpha + y * p.beta, name


@case
def named_tuples(x, y):
    p = Pair(x)
    o = Old(x, y)
    q = p._replace(second=y)
    a, b, c = o
    return p.both(), q.both(), q._fields, o._asdict()["c"], a + b * c, o[1]


@case
def enums(x, y):
    color = Color.RED if Color(2) is Color.GREEN else Color.GREEN
    return x * color.value + y, color.name, [c.name for c in Color], Color["RED"].value


@left
def enums_that_are_ints(x, y):
    return x * Level.HIGH + y, Level.LOW < Level.HIGH, Mode.A | Mode.B


# ---- collections ----------------------------------------------------------------------------------------------------


@case
def deques(x, y):
    d = collections.deque([x], maxlen=3)
    d.append(y)
    d.appendleft(x + y)
    d.append(x * 2)
    d.rotate(1)
    first = d.popleft()
    d.extend([1.0])
    return first, sum(d), len(d), d[0], list(d)[1], d.maxlen


@case
def default_dicts(x, y):
    groups = collections.defaultdict(list)
    for k, v in zip("abab", (x, y, x * 2, y * 2)):
        groups[k].append(v)
    totals = collections.defaultdict(float)
    for k, vs in groups.items():
        totals[k] += sum(vs)
    return totals["a"], totals["b"], totals["c"], sorted(totals), len(groups)


@case
def ordered_dicts(x, y):
    d = collections.OrderedDict(a=x)
    d["b"] = y
    d["c"] = x + y
    d.move_to_end("a")
    last = d.popitem()
    return list(d), last[0], last[1] + d["b"]


@case
def counters(x, y):
    c = collections.Counter("abracadabra")
    c.update("aaa")
    return x * c["a"] + y * c["z"], c.most_common(2), sum(c.values())


@case
def chain_maps(x, y):
    d = collections.ChainMap({"a": x}, {"a": y, "b": y})
    return d["a"] + d["b"], "b" in d


class Registry(dict):
    def __missing__(self, key):
        return key * 2

    def add(self, name, value):
        self[name] = value
        return self


@case
def dict_subclass(x, y):
    r = Registry(a=x).add("b", y)
    return r["a"] + r["b"] + r[3], len(r), "a" in r


class Stack(list):
    def push(self, item):
        self.append(item)
        return self

    @property
    def top(self):
        return self[-1]


@case
def list_subclass(x, y):
    s = Stack().push(x).push(y)
    return s.top + s[0], len(s)


# ---- generators -----------------------------------------------------------------------------------------------------


@case
def generators(x, y):
    def powers(a, n):
        p = a
        for _ in range(n):
            yield p
            p = p * a

    return sum(powers(x, 4)), list(powers(y, 2)), max(len(p) for p in powers(x, 2))


@case
def generator_delegation(x, y):
    def inner():
        got = yield x
        yield got
        return y * 10

    def outer():
        result = yield from inner()
        yield result

    g = outer()
    a = next(g)
    b = g.send(x + y)
    c = next(g)
    return a, b, c, next(g, "done")


@case
def generator_with_finally(x, y):
    log = []

    def work():
        try:
            yield x
            yield y
        finally:
            log.append("closed")

    g = work()
    first = next(g)
    g.close()
    return first, log


@left
def generator_throw(x, y):
    def work():
        total = x
        while True:
            try:
                total = total + (yield total)
            except ValueError:
                total = -total

    g = work()
    next(g)
    g.send(y)
    return g.throw(ValueError)


@case
def generator_expressions(x, y):
    rows = (a * b for a in x for b in (1, 2) if b > 1)
    return sum(rows), {i: v + 1 for i, v in enumerate(y[:2])}, {len(s) for s in ("a", "bb", "cc")}


# ---- match ----------------------------------------------------------------------------------------------------------


@case
def match_values(x, y):
    out = []
    for command in (("add", 1), ("scale", 2, 3), ["many", 1, 2, 3], {"op": "neg", "k": 4}, 5, "text", Pair(1, 2), None, (0.5,)):
        match command:
            case ("add", k):
                out.append(x + k)
            case ("scale", a, b) if a > 1:
                out.append(x * a + b)
            case ["many", *rest]:
                out.append(y * sum(rest))
            case {"op": "neg", **others}:
                out.append(-y * others["k"])
            case int(n) | float(n):
                out.append(x - n)
            case Pair(first=f, second=s):
                out.append(f + s)
            case str() as s:
                out.append(s.upper())
            case None:
                out.append("none")
            case _:
                out.append("other")
    return out


@case
def match_class_with_args(x, y):
    class P:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    match P(x, 3):
        case P(a, 3):
            return a + y
        case _:
            return y


# ---- exceptions -----------------------------------------------------------------------------------------------------


class Failure(Exception):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code


@case
def exceptions_raised_and_caught(x, y):
    log = []

    def work(k):
        if k == 0:
            raise Failure(3)
        if k == 1:
            raise KeyError("missing")
        return x * k

    for k in range(3):
        try:
            result = work(k)
        except Failure as error:
            log.append((error.code, str(error)))
        except (KeyError, IndexError) as error:
            log.append(error.args)
        else:
            log.append("fine")
        finally:
            log.append(k)
    return result + y, log


@case
def exceptions_chained(x, y):
    try:
        try:
            {}["a"]
        except KeyError as error:
            raise ValueError("bad") from error
    except ValueError as error:
        return x + y, type(error.__cause__).__name__, str(error), error.__suppress_context__


@case
def finally_returns_and_continues(x, y):
    def f(a):
        try:
            return a * 2
        finally:
            a += 1

    total = 0
    for k in range(4):
        try:
            if k == 2:
                continue
            total += k
        finally:
            total += 10
    return f(x), total + y


@left
def exceptions_of_the_library_caught(x, y):
    try:
        x + np.ones(7)
    except ValueError:
        z = y
    try:
        x[100]
    except IndexError as error:
        text = str(error)
    return z, text


@case
def reraised(x, y):
    def risky():
        try:
            raise LookupError("first")
        except LookupError:
            raise

    try:
        risky()
    except LookupError as error:
        return x - y, error.args


# ---- with -----------------------------------------------------------------------------------------------------------


class Scope:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(kind.__name__ if kind else "out")
        return self.swallow


@case
def context_managers(x, y):
    log = []
    with Scope(log) as a, Scope(log, True):
        z = x + y
        raise ValueError("swallowed")
    with contextlib.suppress(KeyError):
        {}["a"]
    with contextlib.nullcontext(3) as k:
        z = z * k
    return z, log, a.swallow


@contextlib.contextmanager
def shifted(a):
    yield a + 1


@case
def context_manager_of_a_generator(x, y):
    with shifted(x) as z:
        z = z * y
    return z


@case
def exit_stacks(x, y):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(Scope(log))
        stack.callback(log.append, "called")
        z = x + y
    return z, log


# ---- functools, itertools, operator, math ---------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.singledispatch
def shown(value):
    return "object"


@shown.register
def _(value: int):
    return "int"


@case
def functools_functions(x, y):
    scaled = functools.partial(np.multiply, 2.0)
    shift = functools.partial(lambda a, b, k: a + b * k, k=3)
    total = functools.reduce(operator.add, [x, y, x], 1.0)
    return scaled(x), shift(x, y), total, functools.reduce(lambda a, b: a * b, range(1, 6))


@left
def cached_function(x, y):
    return x + y, fibonacci(20)


@case
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


@case
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


@case
def itertools_over_arrays(x, y):
    running = list(itertools.accumulate([x, y, x], lambda a, b: a * b))
    again = [a + b for a, b in itertools.product([x, y], [1.0, 2.0])]
    first, second = itertools.tee(iter([x, y]))
    cycle = itertools.cycle([x, y])
    return running, again, sum(first) + sum(second), [next(cycle) for _ in range(3)], list(itertools.chain.from_iterable([[x], [y]]))


@case
def operators(x, y):
    get = operator.itemgetter(1, 0)
    attribute = operator.attrgetter("ndim")
    call = operator.methodcaller("sum", axis=0)
    return (operator.mul(x, y), get((x, y)), attribute(x), call(x), operator.matmul(x, y), operator.neg(x), operator.truth([]),
            operator.contains([1], 1), operator.index(3), operator.getitem(x, 0), operator.iadd([1], [2]))


@case
def math_functions(x, y):
    return (x * math.pi + math.sqrt(2) * y, math.floor(2.7), math.isclose(0.1 + 0.2, 0.3), math.hypot(3, 4), math.comb(5, 2),
            math.prod([1, 2, 3]), math.gcd(12, 18), math.log2(8), math.inf, math.copysign(1, -0.0), math.fsum([0.1] * 3))


# ---- calls and names ------------------------------------------------------------------------------------------------


@case
def star_args(x, y):
    def f(a, /, b, *rest, c=1, **others):
        return a + b + sum(rest) * c, sorted(others)

    args, kwargs = (x, y), {"c": 2, "d": 3}
    return f(*args, *[1.0, 2.0], **kwargs, e=4), f(x, *(y,)), f(b=y, *(x,))


@case
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


@case
def unpacking_and_walrus(x, y):
    (a, *middle), b = (x, 1, 2, 3), y
    if (n := len(middle)) > 2:
        a = a * n
    first, *_, last = x
    return a + b, middle, first, last, [*middle, *"ab"], {**{"k": 1}, "l": 2}


@case
def strings(x, y):
    text = f"{len(x):>5}|{3.14159:.2f}|{'a'!r}|{x.shape}"
    return x + y, text, "-".join(str(k) for k in range(3)), "%s %d" % ("a", 3), "{} {k}".format(1, k=2), "abc".upper()[::-1].split("B")


@case
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


@case
def sorting_and_aggregates(x, y):
    rows = sorted([(3, "c"), (1, "a"), (2, "b")], key=lambda r: r[0], reverse=True)
    return x + y, rows, min(rows, key=lambda r: r[1]), max([1, 5, 2]), any(k > 2 for k in (1, 3)), all([]), sum([[1], [2]], []), list(reversed("abc"))


@case
def default_mutables(x, y):
    def f(a, seen=[]):
        seen.append(a.sum())
        return len(seen)

    return f(x), f(y), x + y


@case
def types_and_attributes(x, y):
    class Bag:
        pass

    bag = Bag()
    bag.a = x
    setattr(bag, "b", y)
    delattr(bag, "a")
    return hasattr(bag, "a"), vars(bag)["b"] + 3, type(bag).__name__, callable(len), isinstance(x, np.ndarray)


@case
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


@case
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


@case
def recursion_and_trees(x, y):
    def tree(v, depth):
        return {"v": v, "kids": [tree(v * 2, depth - 1) for _ in range(2)] if depth else []}

    def total(node):
        return node["v"] + sum(total(k) for k in node["kids"])

    return total(tree(x, 2)) + y


@case
def identity_and_aliases(x, y):
    a = [x]
    b = a
    b.append(y)
    c = a[:]
    return a is b, c is a, a[0] is x, len(a), x is y, (x,)[0] is x


@case
def integer_arithmetic(x, y):
    n = x.shape[0]
    return x[: n // 2] * (n % 3) + (n << 2) ** 2, n & 1, -n // 2, divmod(n, 3), int("12") + n, round(2.567, 2), bin(n), 2**100 % 7


# ---- more of classes made inside ------------------------------------------------------------------------------------


@case
def class_body_statements(x, y):
    class Table:
        rows = []
        for k in range(3):
            rows.append(k * 2)
        if len(rows) > 2:
            extra = sum(rows)
        del k
        size: int = 4
        names = [f"n{i}" for i in (1, 2)]

        class Inner:
            depth = 2

    Table.rows.append(5)
    return x * Table.extra + Table.size, Table.rows, Table.names, Table.Inner.depth, hasattr(Table, "k"), Table.__name__


@case
def class_property_with_setter(x, y):
    class Box:
        def __init__(self, a):
            self.a = a

        @property
        def double(self):
            return self.a * 2

        @double.setter
        def double(self, value):
            self.a = value / 2

    box = Box(x)
    box.double = y
    return box.a + box.double


@case
def class_with_slots_inside(x, y):
    class P:
        __slots__ = ("a",)

    p = P()
    p.a = x
    try:
        p.b = y
    except AttributeError:
        return p.a + y


@case
def class_exception_inside(x, y):
    class Stop(Exception):
        pass

    class Special(Stop):
        def __init__(self, value):
            super().__init__("special")
            self.value = value

    total = x
    for k in range(5):
        try:
            total = total + k
            if k == 2:
                raise Special(y)
        except Stop as stop:
            return total + stop.value, str(stop), k


@case
def class_with_array_attribute(x, y):
    class Weights:
        w = x * 2
        b = y

        def apply(self, v):
            return v * self.w + self.b

    class Other(Weights):
        b = y * 3

    return Weights().apply(x), Other().apply(x), Other.w[0], Weights.b is y


@case
def class_with_descriptor_inside(x, y):
    class Twice:
        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            return instance.a * 2 + len(self.name)

    class Box:
        twice = Twice()

        def __init__(self, a):
            self.a = a

    return Box(x).twice + y


@case
def class_comparison_and_sorting(x, y):
    class Item:
        def __init__(self, k):
            self.k = k

        def __lt__(self, other):
            return self.k < other.k

        def __eq__(self, other):
            return self.k == other.k

        def __bool__(self):
            return self.k > 1

        def __contains__(self, k):
            return k == self.k

    items = sorted([Item(3), Item(1), Item(2)])
    return x * items[0].k, [i.k for i in items if i], Item(1) == Item(1), Item(1) != Item(2), 3 in items[2], max(items).k


@left
def class_by_calling_type(x, y):
    made = type("Made", (), {"k": 3})
    return x * made.k + y


@case
def heaps_and_bisection(x, y):
    heap = [5, 3, 8, 1]
    heapq.heapify(heap)
    heapq.heappush(heap, 2)
    first = heapq.heappop(heap)
    items = [1, 3, 5]
    bisect.insort(items, 4)
    return (x * first + y, heap, heapq.heappushpop(heap, 0), heapq.heapreplace(heap, 9), heap, heapq.nlargest(2, [3, 1, 2]),
            bisect.bisect(items, 3), bisect.bisect_left(items, 3), items, heapq.nsmallest(1, [2, 1], key=lambda k: -k))


@case
def containers_over_builtin_types(x, y):
    class Tree(dict):
        def __missing__(self, key):
            self[key] = Tree()
            return self[key]

        def __setitem__(self, key, value):
            super().__setitem__(key, value)

    class Row(list):
        unit = 2

        def __init__(self, *items):
            super().__init__(items)
            self.total = sum(items)

        def __add__(self, other):
            return Row(*super().__add__(other))

    tree = Tree()
    tree["a"]["b"] = x
    row = Row(1, 2) + [3]
    row += [4]
    row[0:1] = [7, 8]
    return (tree["a"]["b"] + y, len(tree), list(tree), row.total, len(row), sorted(row), row == [7, 8, 2, 3, 4], {"k": 1} == Tree(k=1),
            dict(Tree(a=1)), {**Tree(b=2)}, row.index(2), isinstance(row, list), bool(Tree()), row.unit, [*row], max(row), 8 in row)


@left
def class_with_metaclass_inside(x, y):
    class Meta(type):
        def __new__(mcs, name, bases, names):
            return super().__new__(mcs, name, bases, {**names, "k": 5})

    class Made(metaclass=Meta):
        pass

    return x * Made.k


@left
def dataclass_inside(x, y):
    @dataclasses.dataclass
    class Box:
        a: float
        b: float = 2.0

    return Box(x).b * x
