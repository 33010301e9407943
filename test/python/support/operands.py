"""Values of all kinds and what can be done with one or two of them, as small programs that are run plainly and compiled.

A program is a function of live values that does some of these things one after another, each under a handler of its own, and
gives what came of each: the operands, the result or the exception.
"""

import array
import collections
import copy
import dataclasses
import decimal
import fractions
import functools
import io
import itertools
import linecache
import math
import operator
import random
import re
import types
import warnings
from contextlib import redirect_stdout

import numpy as np
from cases.records import Color, Level, Mode
from conformance import PLAIN, Comparison, Seen, compare

import frameloom

# ---- values -----------------------------------------------------------------------------------------------------------------


class Held:
    def __init__(self, v):
        self.v = v

    def method(self):
        return self.v


class Left(Held):
    """Operators that answer, and one that does not."""

    def __add__(self, other):
        return "add", self.v

    def __sub__(self, other):
        return NotImplemented

    def __mul__(self, other):
        return NotImplemented if isinstance(other, (str, list)) else ("mul", other)

    def __eq__(self, other):
        return isinstance(other, Left) and self.v == other.v

    def __hash__(self):
        return 7

    def __lt__(self, other):
        return True

    def __len__(self):
        return 2

    def __getitem__(self, i):
        if i in (0, 1):
            return i + 10
        raise IndexError(i)


class Right(Held):
    """Reflected operators only."""

    def __radd__(self, other):
        return "radd", self.v

    def __rsub__(self, other):
        return "rsub", other

    def __rmul__(self, other):
        return "rmul"

    def __ror__(self, other):
        return "ror"

    def __rmatmul__(self, other):
        return "rmatmul"

    def __rpow__(self, other):
        return "rpow"

    def __rdivmod__(self, other):
        return "rdivmod"

    def __gt__(self, other):
        return "gt"

    def __contains__(self, other):
        return other == 1

    def __iter__(self):
        return iter([1, 2])

    def __bool__(self):
        return False

    def __format__(self, spec):
        return "formatted" + spec


class Under(Left):
    """A class below another: its reflected methods come first."""

    def __radd__(self, other):
        return "under", self.v

    def __rsub__(self, other):
        return "under sub"

    def __gt__(self, other):
        return "under gt"


class Own(Held):
    """In place, as an index, in unary ways."""

    def __iadd__(self, other):
        self.v = (self.v, other)
        return self

    def __ior__(self, other):
        return "ior"

    def __isub__(self, other):
        return NotImplemented

    def __index__(self):
        return 1

    def __neg__(self):
        return "neg"

    def __call__(self, *args):
        return "called", args

    def __eq__(self, other):
        return NotImplemented

    __hash__ = None

    def __ne__(self, other):
        return NotImplemented

    def __le__(self, other):
        return NotImplemented


class Number(Held):
    def __float__(self):
        return 1.5

    def __int__(self):
        return 3

    def __complex__(self):
        return 1j

    def __round__(self, digits=None):
        return "round", digits

    def __abs__(self):
        return "abs"

    def __divmod__(self, other):
        return "divmod"

    def __trunc__(self):
        return 4

    def __floor__(self):
        return 5

    def __pow__(self, other, modulo=None):
        return "pow", modulo

    def __reversed__(self):
        return "reversed"


class Loud:
    """Raises from its operators."""

    def __add__(self, other):
        raise KeyError("add")

    def __eq__(self, other):
        raise ValueError("eq")

    __hash__ = object.__hash__

    def __bool__(self):
        raise ZeroDivisionError("bool")


class Text(str):
    pass


class Whole(int):
    pass


class Real(float):
    def __add__(self, other):
        return "real"


class Rows(list):
    pass


class Names(dict):
    def __missing__(self, key):
        return "missing"


class Pair(tuple):
    pass


class Few(set):
    pass


class Deck(collections.deque):
    pass


class Meta(type):
    def __add__(cls, other):
        return "meta add"

    def __getitem__(cls, key):
        if isinstance(key, int) and key > 2:
            raise IndexError(key)
        return "meta item"

    def __contains__(cls, item):
        return True


class Classy(metaclass=Meta):
    pass


@functools.total_ordering
class Ordered(Held):
    def __eq__(self, other):
        return isinstance(other, Ordered) and self.v == other.v

    def __lt__(self, other):
        return self.v < other.v if isinstance(other, Ordered) else NotImplemented

    def __hash__(self):
        return 3


@dataclasses.dataclass(order=True)
class Record:
    a: int
    b: float = 0.5


@dataclasses.dataclass(frozen=True)
class Key:
    a: int


Named = collections.namedtuple("Named", "a b")


def function(a=1):
    return a


def steps():
    yield 1
    yield 2


SCALARS = ["bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
           "complex64", "complex128"]
NUMBERS = ["0", "1", "-1", "2", "3", "True", "False", "1.5", "-0.0", "float('nan')", "float('inf')", "1j", "2**70"]
NUMPY = [f"np.{s}(2)" for s in SCALARS] + ["np.float64('nan')", "np.int64(-3)", "np.str_('a')", "np.datetime64(1, 'D')",
                                           "np.timedelta64(2, 's')"]
ARRAYS = ["np.arange(3.0)", "np.arange(2)", "np.ones((2, 2), np.float32)", "np.array(2.5)", "np.array([True, False, True])",
          "np.array([])", "np.array(['a', 'b'])", "np.arange(3, dtype=np.uint8)", "np.ones(3, np.complex64)"]
CONTAINERS = ["[1, 2]", "[]", "[1, [2]]", "(1, 2)", "()", "{1: 2}", "{}", "{'a': 1}", "{1, 2}", "set()", "frozenset({1, 2})",
              "'a'", "''", "'ab %s'", "b'a'", "b''", "range(3)", "range(0)", "slice(1, 2)", "slice(None)", "bytearray(b'ab')",
              "memoryview(b'ab')", "array.array('d', [1.0])", "collections.deque([1])", "collections.defaultdict(int, {1: 2})",
              "collections.OrderedDict({1: 2})", "collections.Counter([1])", "types.SimpleNamespace(a=1)", "{1: 2}.keys()",
              "{1: 2}.items()", "{1: 2}.values()", "types.MappingProxyType({1: 2})"]
ITERATORS = ["iter([1, 2])", "steps()", "(k for k in [1])", "zip([1], [2])", "reversed([1])", "enumerate([1])",
             "map(function, [1])"]
INSTANCES = ["Held(1)", "Left(1)", "Right(1)", "Under(1)", "Own(1)", "Number(1)", "Loud()", "Text('a')", "Whole(2)", "Real(1.5)",
             "Rows([1])", "Names({1: 2})", "Pair((1, 2))", "Few({1})", "Deck([1])", "Level.LOW", "Color.RED", "Mode.A",
             "Ordered(1)", "Record(1)", "Key(1)", "Named(1, 2)", "object()", "fractions.Fraction(1, 2)", "decimal.Decimal(1)",
             "ValueError(1)", "functools.partial(function)"]
OTHERS = ["None", "Ellipsis", "NotImplemented", "int", "object", "Held", "Classy", "Color", "Level", "type", "list[int]",
          "function", "len", "math", "Held(1).method", "'ab'.upper", "[1].append", "lambda: 1", "np.add", "np.float64", "np.sum",
          "np.dtype('f8')", "np.dtype('i4')", "np.newaxis"]
VALUES = NUMBERS + NUMPY + ARRAYS + CONTAINERS + ITERATORS + INSTANCES + OTHERS

# ---- what is done with them: statements that bind r -----------------------------------------------------------------------

OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not"]
INFIX = [f"r = a {o} b" for o in OPERATORS + COMPARISONS]
IN_PLACE = [f"a {o}= b; r = a" for o in OPERATORS]
SPECIAL = ([f"r = a.__{o}__(b)" for o in "eq ne lt le gt ge add radd sub rsub mul rmul mod or ror and contains getitem iadd".split()]
           + [f"r = operator.{o}(a, b)" for o in "add sub mul eq lt contains getitem concat iadd pow is_".split()])
TWO = ["r = divmod(a, b)", "r = pow(a, b)", "r = a[b]", "r = a[b:]", "r = a[:b]", "r = a[::b]", "a[b] = 7; r = a",
       "del a[b]; r = a", "r = isinstance(a, b)", "r = issubclass(a, b)", "r = {a: 1}.get(b)", "r = [a].index(b)",
       "r = [a].count(b)", "r = (a,) == (b,)", "r = [a] < [b]", "r = max(a, b)", "r = min(a, b)", "r = sorted([a, b])",
       "r = getattr(a, b)", "r = hasattr(a, b)", "r = getattr(a, 'v', b)", "r = round(a, b)", "r = format(a, b)", "r = int(a, b)",
       "r = sum(a, b)", "r = [*a, *b]", "r = {**a, **b}", "r = (a and b)", "r = (a or b)", "r = {a, b}", "r = a if b else 0",
       "r = str.join(a, b)", "r = list(zip(a, b))", "r = list(map(a, b))", "r = dict(zip(a, b))", "r = a(b)", "r = a(*b)",
       "r = functools.reduce(a, b)", "r = '%s %s' % (a, b)", "r = f'{a!r:>{4}}{b}'", "r = a % (b,)", "r = slice(a, b)",
       "r = range(a, b)", "r = math.hypot(a, b)", "r = math.pow(a, b)", "r = math.isclose(a, b)", "r = complex(a, b)",
       "r = np.add(a, b)", "r = np.maximum(a, b)", "r = list.__add__(a, b)", "r = dict.get(a, b)", "r = int.__add__(a, b)",
       "r = a in (b, 1)", "r = a in {b: 1}", "r = a.v == b", "q, *w = a, b; r = w", "r = a == b == a", "r = not a == b"]
ONE = ["r = -a", "r = +a", "r = ~a", "r = not a", "r = abs(a)", "r = len(a)", "r = bool(a)", "r = int(a)", "r = float(a)",
       "r = complex(a)", "r = str(a)", "r = repr(a)", "r = ascii(a)", "r = list(a)", "r = tuple(a)", "r = set(a)",
       "r = frozenset(a)", "r = dict(a)", "r = bytes(a)", "r = iter(a)", "r = next(a)", "r = hash(a) and 1", "r = sum(a)",
       "r = min(a)", "r = max(a)", "r = any(a)", "r = all(a)", "r = sorted(a)", "r = list(reversed(a))", "r = list(enumerate(a))",
       "r = round(a)", "r = type(a)", "r = callable(a)", "r = copy.copy(a)", "r = copy.deepcopy(a)", "r = a()", "r = a.__class__",
       "r = a.v", "r = a.real", "r = a.a", "r = a.name", "r = a.copy()", "r = a[0]", "r = a[-1]", "r = a[:1]", "r = a['a']",
       "r = a[...]", "r = a[()]", "r = f'{a}'", "r = f'{a:>6}'", "r = f'{a!r}'", "r = '%s' % a", "r = '%d' % a", "r = '%r' % (a,)",
       "r = '{}'.format(a)", "r = vars(a)", "r = hasattr(a, 'v')", "q, w = a; r = w", "q, *w = a; r = w", "r = [*a]", "r = {*a}",
       "r = {**a}", "r = [k for k in a]", "r = a is None", "r = a == a", "r = a is a", "r = a in [a]", "r = {a: 1}[a]",
       "r = isinstance(a, int)", "r = isinstance(a, (str, list, np.ndarray))", "r = isinstance(a, collections.abc.Iterable)",
       "r = isinstance(a, collections.abc.Hashable)", "r = operator.index(a)", "r = math.sqrt(a)", "r = math.floor(a)",
       "r = math.ceil(a)", "r = math.trunc(a)", "r = math.isnan(a)", "r = chr(a)", "r = ord(a)", "r = bin(a)", "r = slice(a)",
       "r = range(a)", "r = a.append(1); r = a", "r = a.pop()", "r = a.items()", "r = a.keys()", "r = a.count(1)",
       "r = a.index(1)", "r = a.sum()", "r = a.shape", "r = a.dtype", "r = a.__name__", "r = a.__len__()", "r = a.__iter__()",
       "r = a.__bool__()", "r = a.__hash__ is None", "r = a.zz", "a.zz = 1; r = a.zz", "del a.v; r = a", "assert a; r = 1",
       "raise a", "r = function(*a)", "r = function(**a)", "r = math.prod(a)", "r = list(itertools.islice(a, 1))",
       "r = np.asarray(a)", "r = np.sqrt(a)", "r = np.isscalar(a)", "r = np.shape(a)", "r = str.upper(a)", "r = int.bit_length(a)",
       "r = list(filter(None, a))", "r = a.__doc__ is None", "r = issubclass(a, int)", "r = ''.join(a)", "r = dict.fromkeys(a)",
       "r = a.__add__(a)", "r = a + a", "r = a * 2", "r = 2 * a", "r = a == None", "r = 1 < a", "r = 'x' + a", "r = a * 1.5",
       "with a as q: r = q", "r = a.__eq__(1)", "r = bool(a) is True", "r = a and 1", "r = 1 if a else 2",
       "r = operator.itemgetter(0)(a)", "r = operator.attrgetter('v')(a)", "r = operator.methodcaller('method')(a)",
       "r = [x for x in a if x]", "r = sum(x for x in a)", "r = {k: v for k, v in a}", "r = a.__dict__", "r = print(a)"]
MATCH = ["match a:", "    case [q, *_]: r = 'sequence', q", "    case {1: q}: r = 'mapping', q",
         "    case int() | str(): r = 'number or text'", "    case Held(v=q): r = q", "    case None: r = 'none'",
         "    case _: r = 'else'"]

# ---- methods of builtin types ----------------------------------------------------------------------------------------------

RECEIVERS = ["'a'", "''", "'aB cD'", "' x\\n'", "'a,b,,c'", "'{} {a}'", "'12'", "Text('ab')", "b'ab'", "b'a b'", "[1, 2]", "[]", "[3, 1, 2]",
             "['b', 'a']", "[[1], [1]]", "Rows([2, 1])", "{1: 2}", "{}", "{'a': 1, 'b': 2}", "{'a': [1]}", "Names(a=1)", "{1, 2}", "set()",
             "{'a'}", "Few({1, 2})", "frozenset({1, 2})", "(1, 2)", "(1, 1, 'a')", "()", "Pair((1, 2))", "Named(1, 2)", "5", "0", "-7",
             "True", "2**70", "Whole(5)", "Level.LOW", "2.5", "-0.0", "float('nan')", "1e300", "Real(2.0)", "1 + 2j", "range(1, 9, 2)",
             "slice(1, 5, 2)", "collections.deque([1, 2, 3])", "collections.deque([1], 2)", "Deck([1, 2])",
             "collections.defaultdict(list, a=[1])", "collections.OrderedDict(a=1, b=2)", "collections.Counter('aab')", "np.float32(2.5)",
             "np.int64(5)", "np.bool_(1)", "np.arange(3.0)", "np.dtype('f4')", "Color.RED", "fractions.Fraction(3, 2)",
             "ValueError('a')", "bytearray(b'ab')", "memoryview(b'ab')", "array.array('d', [1, 2])", "iter([1, 2])", "steps()"]
GIVEN = ["0", "1", "-1", "2", "'a'", "'b'", "','", "''", "'x'", "None", "True", "1.5", "[1, 2]", "['a', 'b']", "(1, 2)", "()", "{1: 2}",
         "{'a': 3}", "{1, 3}", "frozenset({1})", "b'a'", "function", "iter([1, 2])", "range(2)", "str", "[(1, 2)]", "'utf-8'", "'little'",
         "Text('a')", "Whole(1)", "Rows([1])", "np.int64(1)", "np.arange(2)", "Left(1)", "len", "slice(0, 1)"]
LEFT_OUT = {"__class__", "__dir__", "__hash__", "__init_subclass__", "__subclasshook__", "__reduce__", "__reduce_ex__", "__sizeof__",
            "__doc__", "__module__", "__weakref__", "__dict__", "__getstate__", "__setstate__", "__array_finalize__", "__array_wrap__",
            "__array_prepare__", "__array_interface__", "__array_struct__", "__array_priority__", "__dlpack__", "__dlpack_device__",
            "dump", "dumps", "tofile", "ctypes", "data", "newbyteorder", "resize", "setflags", "__traceback__", "with_traceback",
            "__buffer__", "__release_buffer__", "buffer_info", "fromfile", "alloc"}
CALLS = ["r = a.{m}({given})"] * 6 + ["r = type(a).{m}(a{more})", "m = a.{m}; r = m({given})", "r = a.{m}",
                                      "r = operator.methodcaller('{m}'{more})(a)", "r = [f({given}) for f in [a.{m}]]",
                                      "r = getattr(a, '{m}')({given}), hasattr(a, '{m}')", "r = a.{m}(*[{given}])"]


def methods(seed, count):
    """A sample of calls of methods."""
    rng, made = random.Random(seed), []
    names = {r: [n for n in dir(eval(r, NAMES)) if n not in LEFT_OUT] for r in RECEIVERS}
    names = {r: n + 2 * [m for m in n if m[0] != "_"] for r, n in names.items()}
    while len(made) < count:
        receiver = rng.choice(RECEIVERS)
        given = [rng.choice(GIVEN) for _ in range(rng.choice([0, 0, 0, 1, 1, 1, 1, 2, 2, 3]))]
        listed = ", ".join("bcd"[: len(given)])
        text = rng.choice(CALLS).format(m=rng.choice(names[receiver]), given=listed, more=f", {listed}" if listed else "")
        made.append(Deed(text, (receiver, *given), tuple(rng.random() < 0.4 for _ in [receiver, *given])))
    return made


NAMES = {k: v for k, v in globals().items() if not k.startswith("__")}


@dataclasses.dataclass(frozen=True)
class Deed:
    """A statement with one or two values, each live (an argument) or made where it is needed."""

    statement: str  # of a, and b
    values: tuple
    live: tuple  # for each: is it an argument?

    def lines(self, arguments):
        rows = ["try:"]
        for name, text, live in zip("abcd", self.values, self.live):
            if live:
                arguments.append(text)
            rows.append(f"    {name} = " + (f"p{len(arguments) - 1}" if live else f"({text})"))
        rows += ["    " + s for s in (MATCH if self.statement == "MATCH" else self.statement.split("; "))]
        kept = ", ".join("abcd"[: len(self.values)])
        rows += [f"    out.append(({kept}, r))", "except Exception as e:", f"    out.append(({kept}, e))"]
        return rows

    def __str__(self):
        return f"{self.statement}  with  " + "  and  ".join(
            v + (" (live)" if w else "") for v, w in zip(self.values, self.live))


def is_endless(deed):
    """Would take all memory, or says nothing: what it gives depends on the process."""
    text, (first, *rest) = deed.statement, deed.values
    large = "2**70" in deed.values or "**" in text or "<<" in text
    iterated = any(v in ITERATORS or v.startswith(("{1, 2}", "frozenset", "Few")) for v in deed.values)
    return ("**" in text and "{" not in text and large and "2**70" in deed.values) or \
        ("pow" in text and "2**70" in deed.values) or ("<<" in text and "2**70" in deed.values) or \
        ("2**70" in deed.values and any(k in text for k in ("*", "bytes", "range", "chr"))) or \
        (iterated and "hash" in text)


def deeds(seed, count):
    """A sample of all pairs with all that is done with two, and of all values with what is done with one."""
    rng, made = random.Random(seed), []
    two = INFIX * 2 + IN_PLACE + SPECIAL + TWO
    while len(made) < count:
        if rng.random() < 0.35:
            deed = Deed(rng.choice(ONE + ["MATCH"]), (rng.choice(VALUES),), (rng.random() < 0.5,))
        else:
            values = rng.choice(VALUES), rng.choice(VALUES)
            deed = Deed(rng.choice(two), values, (rng.random() < 0.5, rng.random() < 0.5))
        if not is_endless(deed):
            made.append(deed)
    return made


# ---- programs and their comparison -----------------------------------------------------------------------------------------


def program(deeds, name):
    """(a function that makes the program's function, one that makes its arguments)."""
    texts, body = [], []
    for deed in deeds:
        body += deed.lines(texts)
    rows = [f"def f(x{''.join(f', p{i}' for i in range(len(texts)))}):", "    out = []"]
    source = "\n".join(rows + ["    " + r for r in body] + ["    return out, x + 1"]) + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = dict(NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "is" with a literal
        exec(compile(source, name, "exec"), names)
        makers = [eval(f"lambda: {t}", names) for t in texts]
    return names["f"], lambda kind=0: [np.arange(3.0) + kind] + [m() for m in makers]


def without_addresses(text):
    return re.sub("0x[0-9a-f]+", "@", text)


def rest_of(iterator):
    try:
        return list(itertools.islice(iterator, 5))
    except Exception as error:  # is its answer, too
        return [error]


def parts_of(value):
    """What an object of its type is made of, where that is no container or has no order: a function, or None."""
    if isinstance(value, collections.abc.Iterator) and not isinstance(value, io.IOBase):
        return rest_of
    if isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
        return lambda v: [v.__name__, v.__self__]
    if isinstance(value, slice):
        return lambda v: [v.start, v.stop, v.step]
    if isinstance(value, (set, frozenset)):
        return lambda v: sorted(v, key=lambda i: (type(i).__name__, without_addresses(repr(i))))
    if isinstance(value, functools.partial):
        return lambda v: [v.func, v.args, v.keywords]
    if isinstance(value, types.GenericAlias):
        return lambda v: [v.__origin__, v.__args__]
    if isinstance(value, memoryview):
        return lambda v: rest_of(iter(v.tolist, None))
    if isinstance(value, types.MappingProxyType):
        return dict
    if isinstance(value, np.ndarray) and value.dtype == object:
        return lambda v: [v.shape, v.dtype, v.ravel().tolist()]
    return None


class Alike(Comparison):
    """As for conformance, but addresses in texts, and what iterators still have to give."""

    def __init__(self):
        super().__init__()
        self.kept = []  # what is only made to be compared: its identity must not be another object's

    def same(self, got, want, at="result"):
        if type(got) is type(want) is str:
            got, want = without_addresses(got), without_addresses(want)
        super().same(got, want, at)

    def content(self, got, want, at):
        parts = parts_of(want)
        if parts:
            assert type(got) is type(want), f"{type(got)} instead of {type(want)}"
            self.kept += [parts(got), parts(want)]
            self.same(*self.kept[-2:], at)
        elif isinstance(want, (decimal.Decimal, array.array)):
            assert type(got) is type(want) and got == want
        elif isinstance(want, PLAIN) and not isinstance(want, (int, float, complex, str, bytes, np.generic)):
            assert got is want or (type(got) is type(want) and got == want), f"{got!r} instead of {want!r}"
        else:
            super().content(got, want, at)

    def exceptions(self, got, want, at):
        assert without_addresses(str(got)) == without_addresses(str(want)), f"{got!r} instead of {want!r}"
        super().exceptions(got, want, at) if "0x" not in str(want) else None


def run(deeds, name, backend="interpret"):
    """None, or what differs between a plain and a compiled run of a program of these."""
    try:
        function, arguments = program(deeds, name)
    except SyntaxError as error:
        return f"no program: {error}"
    frameloom.reset()
    compiled = frameloom.compile(function, backend=backend)
    for call, kind in enumerate((0, 0, 1)):
        want = Seen(function, arguments(kind), lambda: None)
        got = Seen(compiled, arguments(kind), lambda: None)
        try:
            compare(got, want, Alike())
        except AssertionError as error:
            return f"call {call}: {error}"
    return None


def different(deeds, name="<operands>", backend="interpret"):
    """What differs, by the single deeds where they show it: strings."""
    with redirect_stdout(io.StringIO()):
        why = run(deeds, name, backend)
        if why is None:
            return []
        alone = [(d, run([d], name, backend)) for d in deeds]
    return [f"{d}: {w}" for d, w in alone if w] or ["together: " + why + "\n    " + "\n    ".join(map(str, deeds))]
