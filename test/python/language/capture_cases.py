"""Functions of plain Python for test_capture.py: CASES holds (function, arguments).

A module of its own, because pytest rewrites the assertions of test modules into calls that are not
captured.
"""

import abc
import collections
import collections.abc
import contextlib
import dataclasses
import enum
import fractions
import functools
import itertools
import math
import numbers
import operator
import os
import sys
import typing

SCALE = 3
TABLE = {"a": 1, "b": (2, 3), "c": [4, 5]}
BIG = {i: i * i for i in range(200)}


CASES = []


def case(*args):
    def add(function):
        CASES.append((function, args))
        return function

    return add


@case(3, 4)
@case(2.5, -3)
@case(True, 7)
@case(-7, 3)
def arithmetic(a, b):
    return a + b, a - b, a * b, a / b, a // b, a % b, a**2, -a, +b, abs(a), divmod(a, b)


@case(12, 5)
def bits(a, b):
    return a & b, a | b, a ^ b, a << b, a >> 2, ~a


@case(1, 2)
@case(2.0, 2)
@case("a", "b")
def compare(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b, a is b, a is not b


@case(1, 5, 9)
def chained(a, b, c):
    return a < b < c, a < b > c, a == b != c


@case(0, "")
@case(3, "x")
def boolean(a, b):
    return a and b, a or b, not a, bool(b), a if b else None


@case(3)
def defaults(a, b=2, *rest, c=5, **more):
    return a, b, rest, c, more


@case(1, 2, 3, 4)
def variadic(a, *rest, k=1):
    return a, rest, k, defaults(*rest, c=a, z=k)


@case([1, 2, 3], (4, 5), {"x": 1, "y": [2]})
def containers(a, b, c):
    first, *middle, last = [*a, *b]
    return (first, middle, last, {**c, "z": 3}, {*b, 4}, a[0], b[-1], c["y"][0], a[1:], a[::-1],
            b[:1])


@case()
def list_methods():
    a = [3, 1, 2]
    a.append(5)
    a.extend((7, 8))
    a.insert(1, 9)
    b = a.copy()
    x = a.pop()
    y = a.pop(0)
    a.remove(9)
    a.reverse()
    b.sort()
    b[1:3] = [10, 11, 12]
    del b[0]
    c = sorted(b, key=lambda v: -v)
    c.sort(key=lambda v: v % 3, reverse=True)
    a += [1]
    a += "xy"
    a += {5: 6}
    a += (z for z in b)
    a *= 2
    return a, b, c, x, y, a.index(5), a.count(1), 5 in a, len(a), a == b, a < b, [0] * 3 + [1]


@case()
def dict_methods():
    d = {"a": 1, "b": 2}
    d["c"] = 3
    d.update(e=5)
    d.update({"f": 6}, g=7)
    d.update([("h", 8)])
    x = d.pop("a")
    y = d.setdefault("z", [])
    y.append(1)
    del d["b"]
    e = d | {"c": 4}
    f = dict(a=1, **{"q": 2})
    g = dict([(1, 2), (3, 4)])
    return (d, x, e, f, g, d.get("no"), d.get("no", 1), list(d.keys()), list(d.values()),
            list(d.items()), "c" in d, len(d), d == e, d.popitem(), dict.fromkeys("ab", 0),
            {k: v for k, v in d.items() if k != "z"}, sorted(d.keys() & {"c", "e"}))


@case()
def set_methods():
    a = {1, 2, 3}
    a.add(4)
    a.discard(9)
    a.remove(1)
    b = set([2, 7])
    b.update({5}, (6,))
    return (a, b, a | b, a & b, a - b, a ^ b, a.union([9]), a.intersection(b), 2 in a, len(a),
            a <= b, {2} <= a, a.isdisjoint({0}), sorted(a), frozenset(a), {x % 2 for x in a},
            sum(a), min(a), list({1, 5, 3}))


@case(10)
def loops(n):
    total, i, seen = 0, 0, []
    for k in range(n):
        if k == 2:
            continue
        if k == 8:
            break
        total += k
    else:
        seen.append("no break")
    while i < 3:
        i += 1
        seen.append(i)
    else:
        seen.append("end")
    for k in []:
        pass
    else:
        seen.append("empty")
    return total, seen, k


@case(4)
def comprehensions(n):
    return ([x * y for x in range(n) for y in range(x) if x != y], {x: x * x for x in range(n)},
            {x % 2 for x in range(n)}, tuple(x for x in range(n)), sum(x for x in range(n)),
            [[j for j in range(i)] for i in range(n)])


def helper(a, b=2, *, c=3):
    return a * b + c


@case(5)
def calls(x):
    double = lambda v: v * 2

    def closure(y):
        return x + y

    return (helper(x), helper(x, c=1), helper(*[1, 2]), helper(**{"a": 1, "b": 4}), double(x),
            closure(1))


@case(6)
def recursion(n):
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n), factorial(n)


def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)


@case()
def nonlocals():
    count = 0

    def bump(by=1):
        nonlocal count
        count += by
        return count

    return bump(), bump(2), count


@case(2)
def module_globals(x):
    return (x * SCALE, TABLE["a"], TABLE["b"][1], len(TABLE), math.pi, math.sqrt(x),
            math.floor(2.5), os.sep)


@case(7)
def big_table(x):
    return BIG[x], x in BIG, 1000 in BIG, BIG.get(5), BIG.get(-1, "none")


@case(3, 2.5, "s")
def strings(a, b, c):
    return (f"{a}-{b:.2f}-{c!r:>5}", "%d %s %.1f" % (a, c, b), "{} {x}".format(a, x=b), c.upper(),
            "a,b".split(","), "-".join(str(i) for i in range(a)), c + "t", c * 3, c[0], len(c),
            "x" in "xyz",
            "abc"[::-1], str(b), repr(c), "abc".startswith("a"), f"{a=}", "%s" % (a,),
            [ch for ch in "abc"])


@case(5, [3, 1, 2], "text")
def builtins(a, b, c):
    return (len(b), list(range(a)), list(enumerate(b, 1)), list(zip(b, c)), list(map(str, b)),
            list(filter(None, [0, 1, 2])), min(b), max(b, key=lambda v: -v), sum(b, 10), sorted(b,
            reverse=True),
            list(reversed(b)), any(b), all([]), isinstance(a, int), isinstance(c, (int, str)),
            issubclass(bool, int),
            type(a) is int, type(c).__name__, callable(len), callable(a), hasattr(c, "upper"),
            getattr(a, "no", 4),
            int("12"), float("1.5"), bool([]), str(a), tuple(b), round(2.567, 1), pow(2, 5),
            pow(2, 5, 7),
            divmod(7, 2), ord("a"), chr(98), next(iter(b)), next(iter([]), None), int(3.9),
            slice(1, 2), hex(255),
            list(zip(*[(1, 2), (3, 4)])), min(3, 1, 2), max([], default=0), sum([0.1] * 3),
            (1).bit_length(),
            float("nan") != float("nan"), a.__class__, list(map(operator.add, b, b)), complex(1,
            2).imag)


@case(3, 4)
def operators(a, b):
    return (operator.add(a, b), operator.lt(a, b), operator.neg(a), operator.index(a),
            operator.contains([a], b),
            operator.getitem([1, 2], 0), operator.not_(a), operator.is_(a, a), operator.iadd([1],
            [2]))


@case(2)
def functional(x):
    add = functools.partial(helper, x, c=1)
    return (add(3), functools.reduce(lambda a, b: a * b, [1, 2, 3, 4]),
            functools.reduce(operator.add, [1], 5))


@case()
def iterators():
    return (list(itertools.chain([1], (2, 3))), list(itertools.product([1, 2], "ab")),
            list(itertools.permutations([1, 2, 3], 2)), list(itertools.combinations("abc", 2)),
            list(itertools.zip_longest([1], [2, 3], fillvalue=0)),
            list(itertools.islice(range(10), 2, 8, 3)),
            list(itertools.accumulate([1, 2, 3])), list(itertools.repeat(1, 2)),
            list(itertools.chain.from_iterable([[1], [2]])), list(itertools.starmap(pow, [(2, 3)])),
            list(itertools.product([0, 1], repeat=2)), list(itertools.pairwise([1, 2, 3])))


@case(4)
def generators(n):
    def count(k):
        i = 0
        while i < k:
            sent = yield i
            i += sent or 1
        return "done"

    def outer(k):
        result = yield from count(k)
        yield result
        yield from [7, 8]

    g = count(n)
    first = next(g)
    second = g.send(2)
    return list(count(n)), list(outer(2)), first, second, list(g), sum(count(3)), [*count(2)]


@case(0)
@case(2)
@case("x")
@case(None)
def exceptions(x):
    log = []
    try:
        try:
            log.append(1 / x)
        except ZeroDivisionError as e:
            log.append(str(e))
            raise ValueError("again", x) from e
        except (TypeError, AttributeError):
            log.append("type")
        else:
            log.append("else")
        finally:
            log.append("finally")
    except ValueError as e:
        log.append(e.args)
    try:
        {}["missing"]
    except KeyError as e:
        log.append((str(e), e.args))
    try:
        [][0]
    except IndexError:
        log.append("index")
    try:
        next(iter([]))
    except StopIteration:
        log.append("stop")
    try:
        assert x, "message"
    except AssertionError as e:
        log.append(str(e))
    try:
        undefined_name
    except NameError:
        log.append("name")
    try:
        (1).missing
    except AttributeError:
        log.append("attribute")
    return log


class Mine(Exception):
    pass


class Coded(ValueError):
    def __init__(self, code):
        super().__init__("code %d" % code)
        self.code = code


@case()
def own_exceptions():
    log = []
    for kind in (Mine("a", 1), Coded(4)):
        try:
            raise kind
        except Mine as e:
            log.append(e.args)
        except ValueError as e:
            log.append((str(e), e.code, type(e).__name__, isinstance(e, Coded)))
    try:
        try:
            raise Mine
        finally:
            log.append("finally")
    except Exception as e:
        log.append(type(e).__name__)

    def early():
        for i in range(5):
            try:
                if i == 2:
                    return i
            finally:
                log.append(i)

    return log, early()


class Manager:
    def __init__(self, log, swallow):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append(kind.__name__ if kind else None)
        return self.swallow


@case()
def managers():
    log = []
    with Manager(log, True) as m:
        m.log.append("body")
        raise KeyError(1)
    with Manager(log, False), Manager(log, False):
        log.append("two")
    try:
        with Manager(log, False):
            raise TypeError
    except TypeError:
        log.append("out")
    return log


class Base:
    factor = 2
    shared = [1, 2]

    def __init__(self, x):
        self.x = x

    @property
    def twice(self):
        return self.x * self.factor

    @twice.setter
    def twice(self, value):
        self.x = value / self.factor

    @staticmethod
    def static(v):
        return v + 1

    @classmethod
    def make(cls, v):
        return cls(v * 10)

    def method(self, y=1):
        return self.x + y

    def __call__(self, z):
        return self.x * z

    def __add__(self, other):
        return type(self)(self.x + getattr(other, "x", other))

    __radd__ = __add__

    def __eq__(self, other):
        return isinstance(other, Base) and self.x == other.x

    def __lt__(self, other):
        return self.x < other.x

    def __len__(self):
        return 3

    def __getitem__(self, i):
        if i >= 3:
            raise IndexError(i)
        return self.x + i

    def __contains__(self, v):
        return v == self.x

    def __repr__(self):
        return f"Base({self.x})"


class Derived(Base):
    factor = 5

    def __init__(self, x, y):
        super().__init__(x)
        self.y = y

    def method(self, y=1):
        return super().method(y) * 100

    def __getattr__(self, name):
        if name.startswith("magic"):
            return name
        raise AttributeError(name)


LIVE = Derived(3, 4)


@case()
def made_objects():
    b, d = Base(2), Derived(3, 4)
    b.extra = 9
    d.twice = 50
    return (b.x, b.twice, b.method(), b.method(y=4), b(6), Base.static(1), Base.make(2).x,
            d.method(), d.y, d.x,
            (b + 1).x, (1 + b).x, b == Base(2), b == 3, b != Base(2), b < d, len(b), b[1],
            list(b), 2 in b, repr(b),
            b.extra, d.magic_word, hasattr(d, "nothing"), isinstance(d, Base), type(d).__name__,
            d.__class__ is Derived,
            sorted([d, b])[0] is b, bool(b), f"{b}", Base.factor, d.shared)


@case()
def live_objects():
    return LIVE.x, LIVE.y, LIVE.twice, LIVE.method(2), LIVE(3), LIVE.magic, LIVE[2], LIVE.shared


@case(LIVE)
def live_argument(o):
    return o.x, o.method(), o is o, o is LIVE, isinstance(o, Derived), [o.y for _ in range(2)]


class Pool:
    cache = {int: 5, "k": 6}
    made = {}

    def __new__(cls, key, extra=0):
        found = cls.cache.get(key)
        if found is not None:
            return found
        self = object.__new__(cls)
        self.key = key
        return self

    def __init__(self, key, extra=0):
        self.extra = extra


@case()
def own_new():
    return Pool(int), Pool("k"), Pool("new").key, Pool("new", extra=3).extra


Point = collections.namedtuple("Point", "x y", defaults=[5])


class Pair(typing.NamedTuple):
    a: int
    b: int = 2

    def total(self):
        return self.a + self.b


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Data:
    a: int
    b: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.c = self.a + 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int = 3


HERE = Point(1, [2])


@case(Point(3, 4), Color.RED)
def named(p, color):
    q = Point(1)
    x, y = p
    return (p.x, p[1], x + y, q, q.y, Pair(4).total(), p._replace(x=9), p == (3, 4), tuple(q),
            q + (1,), len(p),
            isinstance(p, tuple), type(q) is Point, q._asdict(), HERE.y, color is Color.RED,
            Color.BLUE, p[:], color.value, Color.BLUE.name,
            sys.version_info >= (3, 8), sys.version_info.major)


@case()
def data_classes():
    d = Data(1)
    d.b.append(2)
    return d.a, d.b, d.c, Data(1, [3]) == Data(1, [3]), Frozen().a, Frozen(4) == Frozen(4)


@case()
def decorated_inside():
    log = []

    @contextlib.contextmanager
    def manager(x):
        """Text."""
        log.append(x)
        try:
            yield x * 2
        finally:
            log.append("end")

    @decorated(3)
    def inner(x):
        return x + 1

    with manager(4) as y:
        log.append(y)
    inner.mark = 5
    return (log, inner(1), inner.__name__, inner.mark, manager.__doc__, inner.__module__,
            helper.__name__, helper.__doc__)


@case()
def rational():
    a = fractions.Fraction(1, 3) + fractions.Fraction(2, 5) * 3
    return a.numerator, a.denominator, a > 1, str(a), float(a), round(a, 2).numerator


@case()
def returned_objects():
    d = Data(5, [Base(2)])
    return Base(1), Derived(2, [3]), d, Frozen(7), {"k": Pair(1)}, d.b[0] is d.b[-1]


@case([], 1.5)
def abstract(x, y):
    return (isinstance(x, collections.abc.Sequence), isinstance(y, numbers.Real), isinstance(x,
            numbers.Number),
            isinstance(x, Abstract), issubclass(Concrete, Abstract), Concrete().f())


class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self):
        pass


class Concrete(Abstract):
    def f(self):
        return 1


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@case(Slots(5))
def slots(s):
    t = Slots(s.a + 1)
    t.b = 2
    return s.a, t.a, t.b, hasattr(s, "b")


@case()
def changed_while_iterated():
    d, log = {1: 2}, []
    try:
        for k in d:
            d[k + 1] = 1
            log.append(k)
    except RuntimeError:
        log.append("changed")
    for k in d:
        d[k] = 7
    for k in list(d):
        del d[k]
    items = [1, 2, 3]
    for i in items:
        if i < 3:
            items.append(i + 5)
    return log, d, items


@case({3, 1, "a"}, set())
def live_sets(a, b):
    return sorted(x for x in [1, 2, 3] if x in a), len(a), bool(b), a | {9}, list(b), a, a == {1,
            3, "a"}, b.union([1])


@case([1, [2, 3]])
def identity(x):
    a = []
    b = a
    return x, x[1], (a, b), a is b, a is not [], x is x, x[1] is x[1], None is None


@case()
def deletion():
    a = 1
    del a
    b = [1, 2, 3, 4]
    del b[::2]
    d = {1: 2}
    del d[1]
    try:
        a
    except UnboundLocalError:
        return b, d
    return None


@case(5)
def walrus(n):
    return [y for x in range(n) if (y := x * 2) > 2], y


@case((1, 2))
@case({"k": 3, "r": 1})
@case([1, 2, 3])
@case("text")
@case(7)
def matching(v):
    match v:
        case (a, b):
            return "pair", a, b
        case [a, *rest]:
            return "list", a, rest
        case {"k": k, **rest}:
            return "map", k, rest
        case "text":
            return "text"
        case 7 | 8:
            return "number"
    return None


@case(3)
def imports(n):
    import math as m
    from operator import add
    from os import path

    return m.factorial(n), add(n, 1), path is os.path


def decorated(scale):
    def wrap(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs) * scale

        return inner

    return wrap


@decorated(10)
def with_decorator(a, b=1):
    return a + b


@case(2)
def decorators(x):
    return with_decorator(x), with_decorator(x, b=3)


@case(1, 2)
def shadowed(a, b):
    a, b = b, a
    (c, d), e = (a, b), [a]
    x = y = a
    return a, b, c, d, e, x, y


@case([3, 1, 2])
def unpack_star(v):
    return [*v, *v], (*v,), {**{"a": 1}}, max(*v), print.__name__


@case(10)
def nested_breaks(n):
    found = []
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            if (i + j) % 3:
                continue
            found.append((i, j))
        if i > 3:
            break
    return found


@case(4, 0.5)
def numeric(n, x):
    total = 0.0
    for k in range(n):
        total += x**k / math.factorial(k)
    return (total, math.exp(x), round(total, 3), int(total), 7 // 2, -7 // 2, -7 % 3, 2**100,
            1e308 * 10, -0.0)
