"""The language at its edges: metaclasses, descriptors, hooks of classes, odd arguments, sorting, containers with hooks."""

import bisect
import collections
import collections.abc
import contextlib
import copy
import dataclasses
import decimal
import fractions
import functools
import io
import itertools
import math
import operator
import string
import typing

import numpy as np

from . import case, given


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name
        owner.checked = getattr(owner, "checked", ()) + (name,)

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name)

    def __set__(self, instance, value):
        if value <= 0:
            raise ValueError(f"{self.name[1:]} must be positive")
        setattr(instance, self.name, value)

    def __delete__(self, instance):
        delattr(instance, self.name)


class Box:
    width = Positive()
    height = Positive()

    def __init__(self, width, height):
        self.width, self.height = width, height


class Registry(type):
    known = []

    def __new__(mcls, name, bases, space, **options):
        cls = super().__new__(mcls, name, bases, space)
        cls.options = options
        return cls

    def __init__(cls, name, bases, space, **options):
        super().__init__(name, bases, space)

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.tagged = cls.__name__
        return made

    def __getitem__(cls, k):
        return k * 2

    def __len__(cls):
        return 3

    def __contains__(cls, k):
        return k == 1

    def __iter__(cls):
        return iter((1, 2))

    @property
    def title(cls):
        return cls.__name__.lower()


class Registered(metaclass=Registry, scale=2):
    def __init__(self, a):
        self.a = a


class Plugin:
    plugins = []

    def __init_subclass__(cls, /, factor=1, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.factor = factor
        Plugin.plugins.append(cls)

    def __class_getitem__(cls, k):
        return f"{cls.__name__}[{k}]"


class Doubled(Plugin, factor=2):
    pass


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Base:
    scale = 1

    @classmethod
    def make(cls, *args):
        made = cls()
        made.args = args
        return made

    @classmethod
    def named(cls):
        return [cls.__name__]

    @staticmethod
    def plain(a):
        return a + 1

    def __repr__(self):
        return f"<{type(self).__name__}>"


class Left(Base):
    scale = 2

    @classmethod
    def named(cls):
        return ["Left"] + super().named()


class Right(Base):
    @classmethod
    def named(cls):
        return ["Right"] + super().named()

    @classmethod
    def make(cls, *args):
        return super().make(*args, "right")


class Both(Left, Right):
    @classmethod
    def named(cls):
        return ["Both"] + super().named()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name + "?"


class Temperature:
    def __init__(self, celsius):
        self._celsius = celsius
        self.reads = 0

    @property
    def fahrenheit(self):
        self.reads += 1
        return self._celsius * 9 / 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, value):
        self._celsius = (value - 32) * 5 / 9

    @fahrenheit.deleter
    def fahrenheit(self):
        self._celsius = 0.0


class Tracked:
    def __init__(self):
        object.__setattr__(self, "log", [])

    def __setattr__(self, name, value):
        self.log.append(("set", name))
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self.log.append(("del", name))
        super().__delattr__(name)

    def __getattribute__(self, name):
        if name == "secret":
            return 42
        return super().__getattribute__(name)


class Index:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n


class Length:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


class Truth:
    def __init__(self, n):
        self.n = n

    def __bool__(self):
        return self.n > 1


class Defaults(dict):
    def __missing__(self, key):
        return key * 2


class Table(collections.abc.MutableMapping):
    def __init__(self):
        self.rows = {}

    def __getitem__(self, k):
        return self.rows[k]

    def __setitem__(self, k, v):
        self.rows[k] = v

    def __delitem__(self, k):
        del self.rows[k]

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)


class Line(collections.abc.Sequence):
    def __init__(self, *items):
        self.items = items

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


@functools.total_ordering
@dataclasses.dataclass(eq=True, frozen=True)
class Version:
    major: int
    minor: int = 0

    def __lt__(self, other):
        return (self.major, self.minor) < (other.major, other.minor)


@dataclasses.dataclass
class Layer:
    weights: np.ndarray
    bias: float = 0.0
    tags: list = dataclasses.field(default_factory=list)
    size: int = dataclasses.field(init=False)
    hidden: int = dataclasses.field(default=3, repr=False, compare=False)
    shared: typing.ClassVar[int] = 7

    def __post_init__(self):
        self.size = len(self.weights)

    def __call__(self, x):
        return x * self.weights + self.bias


@dataclasses.dataclass(slots=True, kw_only=True)
class Options:
    rate: float = 0.1
    steps: int = 2


@dataclasses.dataclass(order=True)
class Ranked:
    rank: int
    name: str = dataclasses.field(compare=False, default="")


class Initial(Layer):
    pass


@dataclasses.dataclass
class Extended(Ranked):
    extra: dataclasses.InitVar[int] = 1
    total: int = 0

    def __post_init__(self, extra):
        self.total = self.rank + extra


class Point(typing.NamedTuple):
    x: float
    y: float = 2.0

    def norm(self):
        return math.hypot(self.x, self.y)


Pair = collections.namedtuple("Pair", "first second", defaults=[None])


@case
def descriptors_that_check(x, y):
    box = Box(2, 3)
    box.width += 1
    try:
        box.height = -1
    except ValueError as error:
        message = str(error)
    area = box.width * box.height
    del box.width
    return x * area, message, hasattr(box, "width"), Box.checked, vars(box)


@case
def metaclass(x, y):
    made = Registered(x)
    return made.a * Registered.options["scale"], made.tagged, Registered[4], len(Registered), 1 in Registered, list(Registered), Registered.title


@case
def init_subclass(x, y):
    return x * Doubled.factor, Doubled["k"], Plugin[1], isinstance(Doubled(), Plugin), [c.__name__ for c in Plugin.plugins][:1]


@case
def init_subclass_inside(x, y):
    class Local:
        made = []

        def __init_subclass__(cls, **kwargs):
            cls.made.append(cls.__name__)

    class First(Local):
        pass

    class Second(First):
        pass

    return Local.made, x + 1


@case
def slots(x, y):
    s = Slotted(x)
    s.b = y
    try:
        s.c = 1
    except AttributeError as error:
        message = str(error)
    del s.b
    return s.a, hasattr(s, "b"), message, hasattr(s, "__dict__")


@case
def super_in_class_methods(x, y):
    made = Both.make(x, 1)
    return Both.named(), type(made).__name__, made.args, made.plain(y), Both.scale, made.anything, repr(made), getattr(made, "other", 3)


@case
def property_setters(x, y):
    t = Temperature(x)
    t.fahrenheit = t.fahrenheit + 9
    f = t.fahrenheit
    del t.fahrenheit
    return f, t._celsius, t.reads


@case
def attribute_hooks(x, y):
    t = Tracked()
    t.a = x
    t.b = y
    del t.b
    return t.log, t.secret, t.a + 1, hasattr(t, "b")


@case
def truth_of_objects(x, y):
    out = []
    for thing in (Length(0), Length(2), Truth(1), Truth(2), Defaults(), Defaults(a=1), Line(), Line(1)):
        out.append(x if thing else y)
        out.append(not thing)
    return out, bool(Length(1)), Truth(0) and x, Length(0) or y


@case
def index_objects(x, y):
    k = Index(2)
    return x[k], [1, 2, 3][k], x[: Index(3)], list(range(Index(3))), "abc"[k], operator.index(k), np.zeros(Index(2)) + y[0], [0] * Index(2)


@case
def missing_keys(x, y):
    d = Defaults(a=x)
    return d["a"], d["zz"], "zz" in d, d.get("q"), len(d)


@case
def abstract_mapping(x, y):
    t = Table()
    t["a"] = x
    t.update(b=y, c=3)
    t.setdefault("d", 4)
    popped = t.pop("c")
    return t["a"] + t["b"], popped, list(t), "a" in t, t.get("z", 5), len(t), sorted(t.keys()), list(t.values())[2], dict(t.items())["d"]


@case
def abstract_sequence(x, y):
    line = Line(x, y, 3)
    return line[0] + line[1], list(reversed(line))[0], 3 in line[1:] , line.index(3) if False else len(line), list(line)[2]


@case
def total_order(x, y):
    a, b = Version(1), Version(1, 2)
    return a < b, a >= b, max(a, b).minor, sorted([b, a])[0] is a, a == Version(1, 0), hash(a) == hash(Version(1)), x * b.minor


@case
def dataclass_fields(x, y):
    layer = Layer(x)
    layer.tags.append("new")
    other = dataclasses.replace(layer, bias=2.0)
    return (layer(y), other(y), other.tags is layer.tags, layer.size, [f.name for f in dataclasses.fields(layer)], other.hidden,
            Layer(y).tags, dataclasses.is_dataclass(layer), Layer.shared)


@case
def dataclass_slots(x, y):
    o = Options(rate=0.5)
    try:
        Options(0.5)
    except TypeError as error:
        message = str(error)
    o.steps += 1
    return x * o.rate * o.steps, repr(o), o == Options(rate=0.5, steps=3), message


@case
def dataclass_order(x, y):
    rows = [Ranked(2, "b"), Ranked(1, "a"), Ranked(3)]
    return [r.name for r in sorted(rows)], min(rows).rank * x, rows[0] < rows[2], Ranked(1) == Ranked(1, "z"), repr(rows[0])


@case
def dataclass_frozen(x, y):
    v = Version(2)
    try:
        v.major = 3
    except dataclasses.FrozenInstanceError as error:
        return str(error), x * v.major, dataclasses.asdict(v), dataclasses.astuple(v), {v: 1}[Version(2)]


@case
def dataclass_inherited(x, y):
    e = Extended(1, "n", 5)
    return e.total * x, e, Initial(y).size, dataclasses.asdict(e)


@case
def dataclass_with_arrays_as_dict(x, y):
    d = dataclasses.asdict(Layer(x, 1.0, [y]))
    return d["weights"], d["tags"], d["weights"] is x, list(d)


@case
def typed_tuples(x, y):
    p = Point(3.0, 4.0)
    q = p._replace(x=0.0)
    a, b = q
    return x * p.norm(), q, a + b, p._asdict(), Point._fields, Point(1.0).y, Pair(x), Pair(x, y).second + 1, p == (3.0, 4.0), p[0], Point._make([1, 2])


@case
def positional_only_and_keyword_only(x, y):
    def f(a, /, b, *, c=1, **more):
        return a + b * c, more

    first = f(x, y, c=2, a=3)
    try:
        f(a=x, b=y)
    except TypeError as error:
        message = str(error)
    try:
        f(x, y, 3)
    except TypeError as error:
        other = str(error)
    return first, message, other


@case
def star_arguments_everywhere(x, y):
    def f(*args, **kwargs):
        return len(args), sorted(kwargs), args[0] + 1

    d = {"k": 1, **{"j": 2}}
    first, *rest = *[x, y], 3
    return f(*[x], *(y,), **d, z=3), rest, [*range(2), *"ab"], {**d, "k": 5}, (lambda *a, k=2: (a, k))(*rest, k=1)


@case
def walrus_in_comprehensions(x, y):
    rows = [total := 0.0] + [total := total + k for k in range(4)]
    found = any((hit := k) > 2 for k in range(9))
    while (n := len(rows)) > 3:
        rows.pop()
    return rows, total, hit, found, n, [(m, m * x) for k in range(3) if (m := k * 2) > 1]


@case
def deletions(x, y):
    class Open:
        pass

    o, rows, d = Open(), list(range(6)), {"a": x, "b": y}
    o.a = x
    del o.a
    del rows[1], rows[-1], rows[1:3]
    del d["a"]
    z = x + 1
    w = z
    del z
    try:
        z
    except UnboundLocalError as error:
        return hasattr(o, "a"), rows, d, str(error), w


@case
def sorting(x, y):
    rows = [("b", 2), ("a", 2), ("c", 1)]
    by_two = sorted(rows, key=operator.itemgetter(1, 0), reverse=True)
    compared = sorted(rows, key=functools.cmp_to_key(lambda p, q: (p[1] > q[1]) - (p[1] < q[1])))
    arrays = sorted([x, y], key=lambda a: a.size)
    rows.sort(key=lambda r: (-r[1], r[0]))
    return by_two, compared, arrays[0] + 1, rows, min(rows, key=lambda r: r[0]), max(range(5), key=lambda k: (k * 3) % 5), sorted("bca", key=str.upper)


@case
def operator_functions(x, y):
    class Thing:
        def __init__(self):
            self.a = self
            self.v = x

        def scaled(self, k, by=1):
            return self.v * k + by

    t = Thing()
    return (operator.attrgetter("a.a.v")(t), operator.attrgetter("v", "a.v")(t)[1] + 1, operator.methodcaller("scaled", 2, by=3)(t),
            operator.itemgetter(slice(1, 3))(y), operator.countOf([1, 2, 1], 1), operator.indexOf([3, 4], 4), operator.length_hint([1, 2]),
            operator.delitem([1, 2], 0), operator.setitem([1], 0, 2), operator.is_not(x, y), operator.xor(5, 3), operator.concat([1], [2]))


@case
def itertools_all(x, y):
    return (list(itertools.accumulate([1, 2, 3], operator.mul, initial=2)), list(itertools.combinations_with_replacement("ab", 2)),
            list(itertools.zip_longest([1, 2], "a", fillvalue="-")), list(itertools.islice("abcdef", 1, 5, 2)), list(itertools.starmap(np.add, [(x, y)])),
            [list(g) for _, g in itertools.groupby([1, 1, 2], key=lambda k: k > 1)], list(itertools.product("ab", repeat=2)),
            list(itertools.chain.from_iterable(["ab", [1]])), list(itertools.pairwise([x, y]))[0][1] + 1, next(itertools.count(1.5, 0.5)))


@case
def chain_maps(x, y):
    m = collections.ChainMap({"a": x}, {"a": 1, "b": y})
    child = m.new_child({"c": 3})
    child["d"] = 4
    return m["a"] + m["b"], child["c"], sorted(child), len(child), child.maps[0], "b" in child, child.parents["a"] is x, child.get("q", 0)


@case
def context_library(x, y):
    log = []

    class Closer:
        def close(self):
            log.append("closed")

    with contextlib.suppress(KeyError):
        {}["a"]
        log.append("never")
    with contextlib.closing(Closer()) as c, contextlib.nullcontext(x) as same:
        log.append(type(c).__name__)
    with contextlib.ExitStack() as stack:
        stack.callback(log.append, "bye")
        stack.enter_context(contextlib.suppress(ValueError))
        raise ValueError
    return same + 1, log


@case
def output_redirected(x, y):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print("hello", 1, sep="-")
    return out.getvalue(), x + 1


@case
def manager_as_a_decorator(x, y):
    log = []

    @contextlib.contextmanager
    def noted(name):
        log.append("in " + name)
        yield name
        log.append("out " + name)

    @noted("f")
    def f(a):
        return a + 1

    with noted("a") as a, noted("b") as b:
        z = f(x)
    return z, log, a + b


@case
def formats(x, y):
    k, f, s = 42, 3.14159, "abc"
    return (f"{k:>6}|{k:<6}|{k:^6}|{k:06d}|{k:+}|{k:x}|{k:#b}|{k:,}", f"{f:.2f} {f:8.3e} {f!r} {f:%}", f"{s!r:>8} {s:*^9} {s!s} {s!a}",
            "%5d|%-5s|%.3f|%r|%%|%x" % (k, s, f, s, k), "{0} {1!r} {name} {0:>4}".format(k, s, name=f), "{a[k]} {b.real}".format(a={"k": 1}, b=2),
            f"{k=} {f=:.1f}", f"{x.shape} {x.ndim} {len(y)}", f"{'nested ' + f'{k:{k // 8}}'}", string.Template("$a b").substitute(a=1), x + 1)


@case
def string_methods(x, y):
    s = "Hello, World"
    return (s.lower(), s.swapcase(), s.split(", "), s.partition(","), s.find("o"), s.rfind("o"), s.count("l"), s.replace("l", "L", 1), s.center(16, "*"), s.zfill(14),
            s.startswith(("He", "x")), s.translate(str.maketrans("lo", "01")), "-".join(["a", "b"]), s[::-1], s.title(), "a\tb".expandtabs(4), "x".isalpha(),
            "ab\ncd".splitlines(), s.removeprefix("Hello"), s.encode()[:3], s.casefold() == "hello, world", "%s" % (1,), s.index("W"), x * s.count("l"))


@case
def numbers_of_math(x, y):
    return (math.ceil(2.1), math.trunc(-2.7), math.fmod(7, 3), math.modf(2.5), math.frexp(8.0), math.ldexp(0.5, 3), math.dist([0, 0], [3, 4]), math.perm(5, 2),
            math.isqrt(17), math.lcm(4, 6), math.degrees(math.pi), math.erf(0.5), math.gamma(5), math.nan != math.nan, math.remainder(7, 4), math.log(8, 2), math.log1p(0.1),
            math.factorial(5), math.isfinite(1.0), math.nextafter(1.0, 2.0), math.tau, math.atan2(1, 2), x * math.exp(0.5), math.cbrt(27.0), math.sumprod([1], [2]) if hasattr(math, "sumprod") else 2)


@case
def match_patterns(x, y):
    class Click:
        __match_args__ = ("place", "button")

        def __init__(self, place, button):
            self.place, self.button = place, button

    def kind(thing):
        match thing:
            case None | True:
                return "none or true"
            case int(n) if n > 5:
                return f"large {n}"
            case 0 | 1 as small:
                return f"small {small}"
            case -1.5:
                return "negative float"
            case "text":
                return "text"
            case str(s):
                return f"str {s}"
            case []:
                return "empty"
            case [1, *rest]:
                return f"one and {rest}"
            case [_, (a, b)]:
                return f"nested {a} {b}"
            case {"type": "move", "by": k, **more}:
                return f"move {k} {more}"
            case {}:
                return "mapping"
            case Click((a, b), button="left"):
                return f"click {a} {b}"
            case Click(place=p):
                return f"other {p}"
            case Version(major=m):
                return f"version {m}"
            case Point(px, py):
                return f"point {px} {py}"
            case np.ndarray(ndim=1) as a:
                return a * 2
            case _:
                return "rest"

    things = [None, True, 7, 1, -1.5, "text", "s", [], [1, 2, 3], [5, (6, 7)], {"type": "move", "by": 2, "z": 1}, {"a": 1}, Click((1, 2), "left"),
              Click((1, 2), "right"), Version(3), Point(1, 2), x, y, 2.5, (1, 2)]
    return [kind(t) for t in things]


@case
def generic_classes(x, y):
    T = typing.TypeVar("T")

    class Stack(typing.Generic[T]):
        def __init__(self):
            self.items: list[T] = []

        def push(self, item: T):
            self.items.append(item)
            return self

    return Stack[int]().push(x).items[0] + y, list[int] == list[int], typing.cast(int, 3)


@case
def class_variables_changed(x, y):
    class Counter:
        count = 0
        rows = []

        def __init__(self):
            Counter.count += 1
            self.rows.append(Counter.count)

    Counter()
    c = Counter()
    c.count = 9
    return Counter.count, c.count, Counter.rows, x * Counter.count


@case
def callables(x, y):
    class Scale:
        def __init__(self, k):
            self.k = k

        def __call__(self, a, *, by=1):
            return a * self.k + by

    scale = Scale(2)
    bound = scale.__call__
    return scale(x), bound(y, by=3), callable(scale), functools.partial(scale, by=5)(x), Scale.__call__(scale, x), list(map(scale, [x, y]))[1]


@case
def reflected_and_inplace(x, y):
    class Unit:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return NotImplemented if isinstance(o, str) else Unit(self.v + getattr(o, "v", o))

        def __radd__(self, o):
            return Unit(o + self.v)

        def __iadd__(self, o):
            self.v = self.v + o
            return self

        def __matmul__(self, o):
            return self.v @ o.v

        def __rsub__(self, o):
            return Unit(o - self.v)

        def __neg__(self):
            return Unit(-self.v)

        def __abs__(self):
            return abs(self.v)

        def __round__(self, n=None):
            return Unit(np.round(self.v, n or 0))

        def __divmod__(self, o):
            return self.v // o, self.v % o

        def __pow__(self, o, m=None):
            return Unit(self.v**o)

        __array_ufunc__ = None

    u = Unit(x)
    same = u
    u += 1
    try:
        u + "a"
    except TypeError as error:
        message = str(error)
    return (u is same, (u + 2).v, (2 + u).v, (x - u).v, u @ Unit(y), (-u).v, abs(u), round(u, 2).v, divmod(u, 2)[0], (u**2).v, message, sum([u, u]).v)


@case
def comparisons_chained(x, y):
    class Noted:
        def __init__(self, k):
            self.k = k

        def __lt__(self, o):
            log.append(("lt", self.k, o.k))
            return self.k < o.k

        def __eq__(self, o):
            log.append(("eq", self.k))
            return isinstance(o, Noted) and self.k == o.k

        def __hash__(self):
            return hash(self.k)

    log = []
    a, b, c = Noted(1), Noted(2), Noted(3)
    return a < b < c, a < c < b, a == b, a != b, b > a, c in [a, c], [a, b].index(b), {a: 1}[Noted(1)], log, x + 1, sorted([c, a])[0] is a


@case
def sets_of_everything(x, y):
    s, t = {1, 2, 3}, frozenset({2, 3, 4})
    u = s | t
    u ^= {1}
    u -= {4}
    return s & t, s - t, s ^ t, u, s <= {1, 2, 3, 4}, s.isdisjoint({9}), {(1, 2): x}[(1, 2)] + 1, t | {7}, {frozenset({1}): 2}, len(set("hello")), s.pop() in (1, 2, 3)


@case
def dictionaries_of_everything(x, y):
    d = dict(a=1, b=2) | {"c": x}
    d |= [("e", 5)]
    e = dict.fromkeys("ab", 0)
    items = {k: v for k, v in zip("ab", (x, y)) if k != "z"}
    return d["c"] + 1, list(d), e, d.popitem(), d.keys() & {"a"}, d.items() >= {("a", 1)}, items, list(reversed(d)), d.pop("q", None), dict(sorted(e.items(), reverse=True))


@case
def copies(x, y):
    rows = [x, [y, 1], {"k": (x,)}]
    shallow, deep = copy.copy(rows), copy.deepcopy(rows)
    rows[1].append(2)
    return shallow[1] is rows[1], len(deep[1]), deep[0] is x, deep[2]["k"][0] is deep[0], deep[0] + 1, copy.copy(Layer(x)).weights is x


@case
def bisected(x, y):
    keys = [1, 3, 5]
    bisect.insort(keys, 4)
    return keys, bisect.bisect(keys, 3), bisect.bisect_left(keys, 3), x * bisect.bisect([0.5, 1.5], 1.0, key=None), bisect.bisect([(1, "a")], 1, key=lambda r: r[0])


@case
def unbound_methods(x, y):
    return list.append([], 1), str.upper("a"), dict.get({"a": 1}, "a"), np.ndarray.sum(x) + y, int.__add__(1, 2), list.__len__([1]), float.is_integer(2.0), tuple.__getitem__((1, x), 1) * 2


@case
def integers(x, y):
    k = 10**30
    return (k // 7 % 1000, (255).to_bytes(2, "big"), int.from_bytes(b"\x01\x02", "little"), (37).bit_length(), (6).bit_count(), -7 // 2, -7 % 3, divmod(-7, 3), 7 & -8,
            ~5, 1 << 70 >> 68, int("ff", 16), int("0b11", 0), round(2.5), round(-3.14159, 3), pow(3, -1, 7), (0.1).hex(), (2.5).as_integer_ratio(), float("inf"), complex(1, 2).conjugate(), x + k % 7)


@case
def generators_of_all_kinds(x, y):
    def numbers(n):
        got = yield n
        while got:
            got = yield got * 2
        return "end"

    def outer():
        result = yield from numbers(1)
        yield result

    g = outer()
    first = next(g)
    second = g.send(x)
    third = g.send(None)
    squares = (k * k for k in range(5) if k % 2)
    return first, second, third, list(squares), sum(a.sum() for a in (x, y)), dict((k, k * x) for k in "a" if False), next((k for k in range(9) if k > 4), None)


@case
def imports_inside(x, y):
    import math as m
    from functools import reduce as fold
    from operator import add, mul

    return fold(add, [x, y]), fold(mul, [1, 2, 3]), m.floor(2.5)


@case
def assertions_and_else(x, y):
    log = []
    try:
        assert len(x) > 100, f"only {len(x) > 100}"
    except AssertionError as error:
        log.append(str(error))
    else:
        log.append("else")
    for i in range(3):
        if i == 5:
            break
    else:
        log.append("for else")
    while False:
        pass
    else:
        log.append("while else")
    try:
        z = x + 1
    except ValueError:
        pass
    else:
        log.append("try else")
    finally:
        log.append("finally")
    return z, log


class Shown:
    def __format__(self, spec):
        return f"<{spec}>"

    def __str__(self):
        return "text"


class Metres(float):
    unit = "m"

    def __new__(cls, value, note=""):
        made = super().__new__(cls, value)
        made.note = note
        return made


class Label(str):
    def shout(self):
        return self.upper() + "!"


class Plain(int):
    pass


class Odd(int):
    def __add__(self, other):
        return "odd"

    def __eq__(self, other):
        return False

    __hash__ = int.__hash__


@case
def formats_of_objects(x, y):
    s = Shown()
    return f"{s}", f"{s:>3}", f"{s!s}", str(s), x + 1


@case
def keys_that_equal_others(x, y):
    t = {fractions.Fraction(1, 2): x, 2: y, "k": 3}
    return fractions.Fraction(1, 2) in t, decimal.Decimal(2) in t, t.get(decimal.Decimal(2)), Label("k") in t, Odd(2) in t, 0.5 in t


@case
def numbers_of_ones_own(x, y):
    k, s = Label("ab"), Odd(3)
    return k.shout(), k + "c", k[0], len(k), s + 1, 1 + s, s == 3, s * 2, x * s, isinstance(k, str), type(k + k) is str


@case
def number_classes_made(x, y):
    label, odd = Label("z"), Plain(7)
    return label, [odd], type(odd) is Plain, x * odd, {label: 1}["z"]


@given(lambda: Metres(2.5, "far"), lambda: Label("mean"))
def number_classes_live(x, y, m, k):
    m.note += "!"
    return x * m, m * 2, m.note, m.unit, m > 2, round(m), int(m), getattr(x, k)(), k == "mean", m
