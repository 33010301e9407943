"""What programs of every day put together: registries, dispatch, records, managers, caches and half-used iterators around arrays."""

import abc
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import io
import itertools
import operator
import typing
import warnings

import numpy as np

from . import case, given, made

WATCHED = ["journal", "totals", "queue", "settings"]
journal, totals, queue, settings = [], collections.Counter(), collections.deque([1, 2, 3], maxlen=4), {"eps": 1e-3}


@functools.singledispatch
def describe(value):
    return "other"


@describe.register
def _(value: int):
    return "int"


@describe.register(list)
@describe.register(tuple)
def _(value):
    return [describe(v) for v in value]


@describe.register
def _(value: np.ndarray):
    return value.shape


@functools.total_ordering
class Version:
    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, Version) and self.parts == other.parts

    def __lt__(self, other):
        if not isinstance(other, Version):
            return NotImplemented
        return self.parts < other.parts

    def __hash__(self):
        return hash(self.parts)


class Plugin:
    registry = {}

    def __init_subclass__(cls, /, name=None, **rest):
        super().__init_subclass__(**rest)
        cls.registry[name or cls.__name__.lower()] = cls

    def run(self, x):
        raise NotImplementedError


class Twice(Plugin, name="two"):
    def run(self, x):
        return x * 2


class Shift(Plugin):
    def run(self, x):
        return x + 1


class Typed:
    def __init__(self, kind):
        self.kind = kind

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name, None)

    def __set__(self, instance, value):
        if not isinstance(value, self.kind):
            raise TypeError(f"{self.name[1:]} must be {self.kind.__name__}, not {type(value).__name__}")
        setattr(instance, self.name, value)


class Body:
    mass = Typed(float)
    place = Typed(np.ndarray)

    def __init__(self, mass, place):
        self.mass, self.place = mass, place


class Lazy(dict):
    def __missing__(self, key):
        journal.append(key)
        self[key] = value = len(key)
        return value


class Proxy:
    def __init__(self, target):
        object.__setattr__(self, "target", target)

    def __getattr__(self, name):
        journal.append(("get", name))
        return getattr(self.target, name)

    def __setattr__(self, name, value):
        journal.append(("set", name))
        setattr(self.target, name, value)

    def __delattr__(self, name):
        delattr(self.target, name)


T = typing.TypeVar("T")


class Stack(typing.Generic[T]):
    def __init__(self, items=()):
        self.items = list(items)

    def push(self, item: T) -> "Stack[T]":
        self.items.append(item)
        return self

    def pop(self) -> T:
        return self.items.pop()


class Slotted:
    __slots__ = ("a", "b", "__dict__")

    def __init__(self, a):
        self.a = a


class Shape(abc.ABC):
    @property
    @abc.abstractmethod
    def area(self): ...

    def __repr__(self):
        return f"<{type(self).__name__} {self.area:.2f}>"


class Square(Shape):
    def __init__(self, side):
        self.side = side

    @property
    def area(self):
        return float(self.side) ** 2


@dataclasses.dataclass(order=True)
class Job:
    rank: int
    name: str = dataclasses.field(compare=False, default="job")
    data: list = dataclasses.field(default_factory=list, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Key:
    a: int
    b: str = "k"


@dataclasses.dataclass(eq=True, unsafe_hash=True)
class Hashed:
    a: int
    b: float = 0.0


@dataclasses.dataclass(kw_only=True, slots=True)
class Options:
    rate: float = 0.1
    names: tuple = ()
    extra: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        self.rate *= 2


@dataclasses.dataclass
class Own:
    a: int

    def __hash__(self):
        return 7

    def __eq__(self, other):
        return True

    def __repr__(self):
        return "own"


class Colour(enum.Enum):
    RED = enum.auto()
    GREEN = enum.auto()

    @property
    def weight(self):
        return self.value / 10

    @classmethod
    def default(cls):
        return cls.GREEN

    def __str__(self):
        return self.name.title()


class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    BOTH = READ | WRITE


class Row(typing.NamedTuple):
    n: int
    v: typing.Any = 0

    @property
    def twice(self):
        return self.n * 2


@case
def dispatched(x, y):
    return x + 1, describe(1), describe([1, "a", (2.0,)]), describe(x), describe(True), describe.dispatch(int) is describe.dispatch(bool)


@case
def versions_ordered(x, y):
    a, b = Version(1, 2), Version(1, 3)
    return x + (a < b), a >= b, a <= a, sorted([b, a])[0] is a, max(a, b) is b, a != b, {a: 1}[Version(1, 2)]


@case
def versions_refuse(x, y):
    try:
        return Version(1) <= 3
    except TypeError as e:
        return x * 2, str(e)


@case
def plugins(x, y):
    for name, cls in sorted(Plugin.registry.items()):
        x = cls().run(x)
        journal.append(name)
    return x


@made
def plugin_made_inside():
    seen = []

    def f(x, y):
        class Local(Plugin, name="local"):
            def run(self, q):
                return q - 3

        out = Plugin.registry["local"]().run(x)
        seen.append(sorted(Plugin.registry))
        del Plugin.registry["local"]
        return out

    return f, lambda: list(seen)


@case
def typed_attributes(x, y):
    b = Body(2.0, x)
    b.mass = 3.0
    try:
        b.place = [1]
    except TypeError as e:
        journal.append(str(e))
    return b.place * b.mass, Body.mass.name, vars(b)


@case
def typed_attributes_refuse(x, y):
    return Body(1, x * 2)


@case
def missing_keys_kept(x, y):
    d = Lazy(a=2)
    return x * d["a"] + d["bcd"], d["bcd"], dict(d), d.get("zz"), "bcd" in d


@case
def proxied(x, y):
    p = Proxy(Slotted(x))
    p.c = p.a * 2
    p.b = 4
    del p.c
    return p.b + p.a, hasattr(p, "c"), p.target


@case
def generics_subscripted(x, y):
    s = Stack[int]([1]).push(2)
    t: Stack[np.ndarray] = Stack[np.ndarray]()
    t.push(x).push(y * 2)
    return t.pop() + s.pop(), s.items, t, Stack[int] is Stack[int], repr(Stack[int])


@case
def slots_and_dictionary(x, y):
    s = Slotted(x + 1)
    s.c = y
    s.b = 1
    del s.b
    return s, s.__dict__, vars(s), hasattr(s, "b"), s.__slots__


@case
def shapes_abstract(x, y):
    shapes = [Square(2), Square(x[0])]
    try:
        Shape()
    except TypeError as e:
        journal.append(str(e)[:20])
    return x * shapes[0].area, shapes[1].area, repr(shapes[0])


@case
def jobs_by_rank(x, y):
    jobs = [Job(3, "c"), Job(1), Job(2, data=[x])]
    jobs.sort()
    jobs[0].data.append(y + 1)
    return [j.name for j in jobs], jobs, jobs[0] < jobs[1], jobs[1] == Job(2, "other"), repr(jobs), Job(1).data is Job(1).data


@case
def job_compared_with_another(x, y):
    try:
        return Job(1) < Key(1)
    except TypeError as e:
        return x + 1, str(e), Job(1) == Key(1), Job(1).__eq__(Key(1)), Job(1).__lt__(Key(1))


@case
def frozen_keys(x, y):
    cache = {Key(1): x * 2, Key(2, "z"): y}
    k = Key(1)
    try:
        k.a = 3
    except dataclasses.FrozenInstanceError as e:
        journal.append((type(e).__name__, str(e)))
    return cache[k], Key(2, "z") in cache, hash(k) == hash((1, "k")), repr(k), dataclasses.replace(k, b="q")


@case
def frozen_key_deleted(x, y):
    k = Key(1)
    x = x * 2
    del k.a
    return x


@case
def hashes_of_records(x, y):
    return x + 1, hash(Hashed(1)) == hash((1, 0.0)), len({Hashed(1), Hashed(1, 0.0), Hashed(2)}), hash(Own(3)), Own(1) == 5, repr(Own(2))


@case
def unhashable_record(x, y):
    try:
        hash(Job(1))
    except TypeError as e:
        return x * 2, str(e), Job.__hash__


@case
def options_by_keyword(x, y):
    o = Options(rate=0.5, names=("a",))
    try:
        o.other = 3
    except AttributeError as e:
        journal.append(str(e))
    try:
        Options(0.5)
    except TypeError as e:
        journal.append(str(e))
    return x * o.rate, repr(o), o == Options(rate=0.5, names=("a",)), dataclasses.asdict(o), Options.__slots__


@case
def records_of_arrays_compared(x, y):
    a, b = Job(1, data=[x]), Job(1, data=[y])
    return a == b, a is b, dataclasses.astuple(Key(3)), [f.name for f in dataclasses.fields(Job)], x + a.rank


@case
def colours(x, y):
    c = Colour.default()
    total = sum(m.weight for m in Colour)
    return x * c.weight, total, str(c), f"{c}", f"{c!r:>20}", Colour(1).name, Colour["RED"] is Colour.RED, list(Colour), len(Colour), c in Colour


@case
def accesses(x, y):
    a = Access.READ
    b = a | Access.WRITE
    return x + b.value, b is Access.BOTH, a in b, bool(a & Access.WRITE), ~a, b ^ a, [m.name for m in Access], repr(b), Access(0)


@case
def member_missing(x, y):
    try:
        Colour("blue")
    except ValueError as e:
        journal.append(str(e))
    try:
        Colour["BLUE"]
    except KeyError as e:
        journal.append(str(e))
    Colour.RED.value += 1


@case
def rows_of_names(x, y):
    r = Row(2, x)
    s = r._replace(v=y * r.n)
    t = Row._make([5, 6])
    return s, t._asdict(), Row._fields, t.twice, r[1] + 1, r.index(2), t == (5, 6), t + (1,), repr(t), Row._field_defaults, r.v is x


@case
def row_refuses(x, y):
    try:
        Row(1)._replace(q=2)
    except (TypeError, ValueError) as e:
        journal.append(str(e))
    try:
        Row._make([1, 2, 3])
    except TypeError as e:
        journal.append(str(e))
    Row(1).n = x * 2


@case
def managers_of_the_library(x, y):
    out = io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.callback(journal.append, "last")
        stack.enter_context(contextlib.suppress(KeyError))
        with contextlib.redirect_stdout(out), contextlib.nullcontext(x * 2) as z:
            print("in", z.shape)
        x = z + 1
        {}["k"]
        x = x * 100
    return x, out.getvalue(), journal


@case
def stack_popped(x, y):
    with contextlib.ExitStack() as stack:
        stack.callback(journal.append, 1)
        stack.push(lambda kind, error, trace: journal.append(kind))
        keep = stack.pop_all()
    x = x * 2
    keep.close()
    return x, list(journal)


@case
def closing(x, y):
    class Thing:
        def close(self):
            journal.append("closed")

    with contextlib.closing(Thing()) as t:
        x = x + 1
    return x, t


@case
def suppressed_then_done(x, y):
    with contextlib.suppress(ZeroDivisionError, IndexError):
        x = x * 2
        journal.append(1 // 0)
    with contextlib.suppress(ValueError):
        x = x + [1][3]
    return x


@given(lambda: iter([1.0, 2.0, 3.0]))
def half_run_by_the_caller(x, y, it):
    first = next(it)
    for w in it:
        x = x * w
    return x + first, next(it, "end")


def begun(make, steps=1):
    def maker():
        it = make()
        for _ in range(steps):
            next(it)
        return it

    return maker


@given(begun(lambda: iter([1.0, 2.0, 3.0])), begun(lambda: iter((1, 2, 3))), begun(lambda: iter(range(5))), begun(lambda: iter("abc")))
def begun_sequences(x, y, a, b, c, d):
    x = x + next(a) * next(b) + next(c)
    return x, next(d), list(a), list(c)


@given(begun(lambda: zip([1.0, 2.0], "ab")), begun(lambda: enumerate("abc")), begun(lambda: map(abs, [-1, -2, -3])), begun(lambda: reversed([1, 2, 3])))
def begun_compounds(x, y, a, b, c, d):
    n, letter = next(a)
    i, other = next(b)
    return x * n + i, letter, other, next(c) + next(d), list(c), list(b), list(d), next(a, None)


@given(begun(lambda: iter({"a": 1, "b": 2})), begun(lambda: iter({"a": 1, "b": 2}.values())), begun(lambda: iter({"a": 1, "b": 2, "c": 3}.items())))
def begun_dictionaries(x, y, a, b, c):
    return x + next(b), next(a), next(c), list(c), list(a)


@given(begun(lambda: filter(None, [0, 1, 2, 0, 3])), begun(lambda: itertools.chain([1, 2], [3])), begun(lambda: itertools.islice(range(9), 2, 6)))
def begun_further(x, y, a, b, c):
    return x + next(a), list(b), next(c), list(a), list(c)


def steps():
    journal.append("begin")
    value = 1
    while True:
        got = yield value
        value = value * 2 if got is None else got


@given(begun(steps, 2), steps)
def generators_of_the_caller(x, y, begun, fresh):
    x = x + next(begun)
    begun.send(10)
    return x * next(begun), next(fresh), next(fresh)


@given(lambda: [1.0, 2.0, 3.0, 4.0])
def iterator_shared_by_two_loops(x, y, numbers):
    it = iter(numbers)
    for n in it:
        x = x + n
        if n > 1:
            break
    rest = [n * 2 for n in it]
    return x, rest, list(it)


@case
def pairs_from_one_iterator(x, y):
    it = iter(x)
    return [a * b for a, b in zip(it, it)], list(it)


@case
def unbound_container_methods(x, y):
    d = collections.deque([1], maxlen=3)
    collections.deque.append(d, x)
    collections.deque.appendleft(d, 2)
    collections.deque.extend(d, [3, 4])
    o = collections.OrderedDict(a=1)
    collections.OrderedDict.__setitem__(o, "b", y)
    dict.__setitem__(o, "c", 3)
    collections.OrderedDict.move_to_end(o, "a")
    f = collections.defaultdict(list)
    collections.defaultdict.__missing__(f, "k").append(x + 1)
    dict.setdefault(f, "j", 5)
    n = []
    list.append(n, 1)
    list.__iadd__(n, [2])
    list.__setitem__(n, 0, 9)
    return list(d), list(o.items()), f, n, collections.deque.__len__(d), list.__getitem__(n, -1), set.__or__({1}, {2}), str.join("-", "ab")


@case
def unbound_methods_of_live_ones(x, y):
    collections.deque.append(queue, 9)
    collections.deque.rotate(queue, 1)
    dict.__setitem__(settings, "new", 1)
    dict.__delitem__(settings, "eps")
    list.append(journal, "j")
    list.__iadd__(journal, ["k"])
    collections.Counter.update(totals, "aab")
    return x + len(queue), dict.__contains__(settings, "new"), collections.deque.__getitem__(queue, 0), dict.get(totals, "a")


@functools.lru_cache(maxsize=2)
def weights(n):
    journal.append(n)
    return np.linspace(0.0, 1.0, n)


@case
def cached_weights(x, y):
    weights.cache_clear()
    a = weights(len(x))
    b = weights(len(x))
    weights(2)
    weights(3)
    info = weights.cache_info()
    return x * a, a is b, tuple(info), weights(len(x)) is a, weights.__wrapped__(2)


@functools.cache
def factorial(n):
    return n * factorial(n - 1) if n else 1


@case
def cached_recursion(x, y):
    factorial.cache_clear()
    return x * factorial(5), factorial.cache_info().misses, factorial(3), factorial.cache_info().hits


@functools.lru_cache(maxsize=None)
def failing(n):
    journal.append("called")
    raise ValueError(n)


@case
def cached_failure(x, y):
    failing.cache_clear()
    for _ in range(2):
        try:
            failing(1)
        except ValueError as e:
            x = x + e.args[0]
    return x, failing.cache_info().currsize


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y, **rest):
        self.x, self.y = x, y
        self.__dict__.update(rest)


@case
def commands_matched(x, y):
    out = []
    commands = [("move", 1, 2), ["scale", 3.0], {"op": "add", "by": 2, "more": 1}, Point(0, x), Point(1, 2, z=5), Key(1), 5, "text", None, Colour.RED, (), x]
    for command in commands:
        match command:
            case ("move", a, b):
                x = x + a * b
            case ["scale", float(by)] if by > 1:
                x = x * by
            case {"op": str(op), "by": by, **rest}:
                out.append((op, rest))
                x = x - by
            case Point(0, value):
                out.append(value.shape)
            case Point(x=1, z=z) | Point(x=2, y=z):
                out.append(z)
            case Key(a=1 | 2 as which):
                out.append(which)
            case Colour.RED:
                out.append("red")
            case int() | str():
                out.append(command)
            case None:
                out.append("none")
            case []:
                out.append("empty")
            case np.ndarray(shape=(n,)):
                out.append(n)
    return x, out


@case
def formats_of_scalars(x, y):
    s, n = x[1], np.int64(42)
    width = 12
    return f"{s:.3f} {s!r} {n:05d} {n:x} {s:>{width}.2e} {float(s):g} {x[0]:+.1f} {n!s:^6} {s=:.1f} {x.shape} {n:,}", "%.2f|%5d|%s" % (s, n, x[:1].shape)


@case
def formats_of_arrays(x, y):
    z = np.round(x * 2, 2)
    return f"{z}", str(z), repr(z[:2]), "{!r}".format(np.float32(0.5)), f"{np.bool_(True)} {np.array(3)}"


@case
def copies_of_objects(x, y):
    b = Point(x, [y], tag={"k": x})
    c, d = copy.copy(b), copy.deepcopy(b)
    c.y.append(1)
    d.x[0] = 5
    return b, c, d, d.tag["k"] is d.x, c.x is b.x


class Copied:
    def __init__(self, data):
        self.data, self.copies = data, 0

    def __copy__(self):
        made = type(self)(self.data)
        made.copies = self.copies + 1
        return made

    def __deepcopy__(self, memo):
        made = type(self)(copy.deepcopy(self.data, memo) * 2)
        memo[id(self)] = made
        return made


@case
def copies_by_their_own_ways(x, y):
    a = Copied(x)
    b = copy.copy(a)
    c = copy.deepcopy([a, a, b])
    return b.copies, c[0] is c[1], c[2].data, b.data is x, a


@case
def warned_from_a_helper(x, y):
    def helper(level):
        warnings.warn(f"level {level}", UserWarning, stacklevel=level)

    helper(1)
    x = x * 2
    helper(2)
    return x


@case
def half_done_then_raised(x, y):
    journal.append("a")
    x += 1
    totals.update("ab")
    settings["eps"] = y * 2
    queue.append(x)
    for i, key in enumerate(["eps", "none", "never"]):
        journal.append((i, key))
        y[i] = settings[key][0]
    return x


@case
def unwound_through_managers(x, y):
    @contextlib.contextmanager
    def logged(name):
        journal.append(("in", name))
        try:
            yield name
        except ZeroDivisionError as e:
            journal.append((name, str(e)))
            raise ValueError(name) from e
        finally:
            journal.append(("out", name))

    try:
        with logged("a"), logged("b") as b:
            x[0] = 7
            journal.append(b)
            1 // 0
    finally:
        settings["eps"] = x.sum()
    return x


@case
def partial_methods(x, y):
    class Cell:
        def __init__(self):
            self.alive = False

        def set_state(self, state):
            self.alive = state
            return self

        set_alive = functools.partialmethod(set_state, True)

    return x * Cell().set_alive().alive, functools.reduce(operator.add, [x, y, 1]), operator.attrgetter("alive")(Cell())


@case
def methods_by_name(x, y):
    call = operator.methodcaller("clip", -0.5, 0.5)
    items = operator.itemgetter(0, -1)
    return call(x), items(y), sorted({"b": 1, "a": 2}.items(), key=operator.itemgetter(1)), list(map(operator.mul, [1, 2], [3, 4]))


class Vector:
    def __init__(self, data):
        self.data = np.asarray(data)

    def __matmul__(self, other):
        return round(float(self.data @ other.data), 4)

    def __iadd__(self, other):
        self.data += getattr(other, "data", other)
        return self

    def __rmul__(self, other):
        return Vector(self.data * other)

    def __getitem__(self, key):
        return Vector(self.data[key]) if isinstance(key, slice) else self.data[key]

    def __setitem__(self, key, value):
        self.data[key] = value

    def __iter__(self):
        return iter(self.data)

    def __len__(self):
        return len(self.data)

    def __contains__(self, value):
        return bool((self.data == value).any())

    def __neg__(self):
        return Vector(-self.data)

    def __format__(self, spec):
        return f"V({len(self)}){spec}"

    def __bool__(self):
        return len(self) > 0

    __array_priority__ = 10


@case
def vectors(x, y):
    v, w = Vector(x * 1), Vector(y)
    same = v
    v += w
    v[0] = 3
    u = 2 * v[1:]
    n = -u
    return v @ w, same is v, u, list(n), 3 in v, f"{v:!}", [a for a in u][:1], bool(Vector([])), len(u), max(v)


@case
def vectors_from_the_left(x, y):
    return np.float64(2) * Vector(x), 3 * Vector(y), sum(Vector(x[:3]))


@case
def loops_with_else_and_cleanup(x, y):
    found = None
    for i in range(4):
        try:
            if i == 2:
                continue
            if x.shape[0] == i:
                found = i
                break
        finally:
            journal.append(i)
    else:
        found = -1
    while found < 3:
        found += 2
        if found > 100:
            break
    else:
        x = x + found
    return x


@case
def deleted_and_bound_again(x, y):
    a = x * 2
    del x
    try:
        x
    except UnboundLocalError as e:
        journal.append(str(e))
    x = a + 1
    for i in range(2):
        if i:
            del i
            break
    try:
        return x + i
    except NameError as e:
        return x, str(e)


@case
def star_everything(x, y):
    def f(a, /, b, *args, c=3, **kw):
        return a * b + c, args, kw

    first, *rest = [*range(3), *(4, 5)]
    merged = {**{"c": 1, "d": 2}, "e": 3}
    return f(x, 2, *rest, **merged), f(y, b=1), [*"ab", *{"k": 1}], (lambda *a, k=1, **b: (a, k, b))(*rest, k=2, z=0)


@made
def counter_closed_over():
    count, seen = 0, {}

    def f(x, y):
        nonlocal count

        def bump(by=1):
            nonlocal count
            count += by
            seen[count] = x.shape
            return count

        x = x * bump()
        bump(by=2)
        (lambda: seen.setdefault("l", bump(3)))()
        return x + count

    return f, lambda: (count, dict(seen))


@case
def sentinel_reader(x, y):
    it = iter([3, 2, 1, 0, 5])
    return x + sum(iter(lambda: next(it), 0)), next(it)


@case
def grouped_and_windowed(x, y):
    words = ["apple", "avocado", "bean", "cherry", "corn"]
    by = {k: list(g) for k, g in itertools.groupby(words, key=lambda w: w[0])}
    tee_a, tee_b = itertools.tee(range(4))
    next(tee_b)
    return x + len(by), by, list(zip(tee_a, tee_b)), list(itertools.pairwise("abc")), list(itertools.accumulate([x, y, 1], operator.add))
