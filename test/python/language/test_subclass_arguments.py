"""Builtins and methods given instances of classes over builtin types, where an exact type is asked for and where any is."""


import pytest
from compare import told

import frameloom

BASES = {"int": "5", "float": "2.5", "complex": "1j", "str": "'ab'", "bytes": "b'ab'", "bytearray": "b'ab'", "list": "[1, 2]", "tuple": "(1, 2)",
         "dict": "{'a': 1}", "set": "{1, 2}", "frozenset": "{1, 2}"}
CALLS = """sum(['a'], o); sum([], o); sum([[1]], o); sum([1, 2], o); sum([1, 2.5], start=o); sum((v for v in [1]), o); sum(o); sum([o, o]); sum([[1], [2]], o); sum([(1,)], o)
len(o); abs(o); bool(o); int(o); int(o, 16); float(o); complex(o); complex(1, o); str(o); str(o, 'ascii'); repr(o); ascii(o); tuple(o); list(o); dict(o); set(o); frozenset(o)
slice(o); [1, 2, 3][o]; [1, 2, 3][:o]; range(o); enumerate([1], o); list(enumerate(o)); list(zip(o, o)); list(map(str, o)); list(filter(None, o)); min(o); max(o, o)
min([o], default=o); sorted(o); sorted([o, o]); list(reversed(o)); any(o); all(o); list(iter(o)); next(iter(o)); divmod(o, 2); divmod(7, o); pow(o, 2); pow(2, o); pow(2, o, 3)
round(o); round(2.5, o); getattr('a', o, 1); hasattr('a', o); callable(o); isinstance(o, int); isinstance(1, o); issubclass(o, int); issubclass(type(o), str); type(o)
ord(o); chr(o); bin(o); hex(o); format(o); format(o, '>4'); format(1, o); bytes(o); bytes(o, 'ascii'); bytearray(o); hash(o); memoryview(o).tolist(); eval(o)
functools.reduce(operator.add, [1], o); functools.reduce(operator.add, o); list(itertools.chain(o, o)); list(itertools.product(o, repeat=2)); list(itertools.permutations(o, 2))
list(itertools.islice(o, 1)); list(itertools.islice([1, 2], o)); list(itertools.repeat(1, o)); list(itertools.repeat(o, 2)); list(itertools.accumulate(o)); list(itertools.accumulate([1], initial=o))
list(itertools.zip_longest(o, [1])); list(itertools.pairwise(o)); list(itertools.combinations(o, o)); list(itertools.compress('ab', o)); [k for k, g in itertools.groupby(o)]
operator.add(o, o); operator.concat(o, o); operator.concat(o, [1]); operator.iadd(o, o); operator.mul(o, 2); operator.mod('%s', o); operator.mod(o, 2); operator.neg(o); operator.inv(o)
operator.index(o); operator.contains(o, 1); operator.contains([1], o); operator.getitem([1, 2, 3, 4, 5, 6], o); operator.getitem(o, 0); operator.eq(o, 5); operator.lt(o, o); operator.length_hint(o)
operator.countOf(o, 1); operator.indexOf(o, 1); operator.itemgetter(0)(o); operator.itemgetter(o)([1, 2]); operator.attrgetter('a')(o); operator.attrgetter(o)
math.sqrt(o); math.prod(o); math.prod([2], start=o); math.floor(o); math.gcd(o, 10); math.hypot(o); math.fsum(o); math.isclose(o, 5); math.factorial(o); math.dist(o, o); math.copysign(1, o)
'a'.join(o); o.join(['x', 'y']); 'abab'.split(o); 'abab'.replace(o, 'x'); 'abab'.replace('a', o); 'abab'.find(o); 'abab'.startswith(o); 'abab'.count(o); 'ab'.zfill(o); 'ab'.center(o); 'ab'.ljust(4, o)
'{}'.format(o); '%s' % o; '%d' % o; '%r' % (o,); f'{o}'; f'{o!r}'; f'{1:{o}}'; 'ab' + o; o + 'ab'; o in 'abc'; 'abab'.partition(o); 'abab'.translate(o); 'abab'.strip(o); 'a'.encode(o); o * 2; 2 * o
b'ab' + o; o + b'ab'; b'abab'.replace(o, b'x'); b'abab'.find(o); b''.join([o, b'a']); b''.join(o); b'%s' % o; bytes.fromhex(o); int.from_bytes(o, 'big'); (5).to_bytes(o, 'big'); float.fromhex(o)
[1] + o; o + [1]; [1, 2].index(o); [o].count(o); [1, 2].pop(o); [1].extend(o); [1].insert(o, 1); (1,) + o; o + (1,); [1] * o; {'a': 1}.get(o); {'a': 1}[o]; {o: 1}; {o}; [*o]; {**o}; (lambda *a: a)(*o)
(lambda **k: k)(**o); {1, 2} | o; o | {1}; {1, 2}.union(o); {1, 2} - o; {1} <= o; {1} == o; {'a': 1} | o; o | {'a': 1}; {'a': 2}.update(o); dict.fromkeys(o); {1}.discard(o); {1}.add(o); [1, 2] == o; o == o
o < o; 5 < o; o == 5; o & 3; o // 2; o ** 2; -o; ~o; o << 1; 7 % o; o @ o; not o; 1 if o else 2; collections.deque(o); collections.deque([1, 2, 3], o); collections.Counter(o); collections.OrderedDict(o)
collections.defaultdict(o); collections.deque([1, 2]).rotate(o); collections.deque([1, 2]) + o; collections.deque([1, 2]) == o; o[0]; o[:1]; o['a']; o[-1:]; list(o[::-1]); str.upper(o); list.copy(o); dict.copy(o)
tuple.count(o, 1); set.copy(o); int.bit_length(o); float.hex(o); bytes.hex(o); str.join(o, ['a', 'b']); list.__len__(o); dict.keys(o); o.copy(); o.__class__.__name__; o.real; o.upper(); o.count(1); o.keys()
type(o)(o); type(o)(); copy.copy(o); copy.deepcopy(o); [o for o in o]; o.__add__(o); o.__eq__(o); o.__hash__(); o.__len__(); o.__str__(); o.__repr__(); o.__format__(''); o.__bool__(); o.__getitem__(0)
{1, 2} & o; {1} ^ o; {1, 2} | o; {1, 2} >= o; {1} < o; {1} != o; frozenset({1}) | o; frozenset({1}) == o; frozenset({1}) <= o; frozenset({1}) - o; {1, 2}.intersection(o); {1, 2}.difference(o); {1}.issubset(o)
{1}.issuperset(o); {1}.isdisjoint(o); {1, 2}.symmetric_difference(o); {1}.update(o); inplace({1}, '|', o); inplace({1}, '&', o); inplace([1], '+', o); inplace([1], '*', o); inplace('ab', '*', o); inplace({'a': 1}, '|', o)
[1] == o; o != [1]; [1] < o; (1, 2) == o; (1,) >= o; (1,) * o; o * (1,); 'ab' * o; b'ab' * o; 'ab' == o; 'ab' < o; o > 'ab'; b'ab' == o; b'ab' < o; 5 == o; 5 + o; o + 5; 5 - o; 2.5 * o; 1j + o; 5 / o; 5 // o; 5 ** o
5 | o; 5 != o; 2.5 == o; o - 1j; {'a': 1} == o; {'a': 1} != o; o == {'a': 1}; collections.deque([1]) * o; collections.Counter('a') == o; collections.OrderedDict(a=1) == o; collections.OrderedDict(a=1) | o; collections.defaultdict(int) | o
collections.deque([1]).extend(o); collections.deque([1]).index(o); collections.deque([1]).insert(o, 1); collections.deque([1])[o]; o in collections.deque([1]); o in [1]; o in {1}; o in (1,); 1 in o; 'a' in o; 5 in o
{1, 2}.intersection_update(o); {1}.difference_update(o); {1}.symmetric_difference_update(o); o.__ior__(o); o.__ne__(frozenset({1})); o.__eq__(FROZEN); o.__le__(FROZEN); 1j > o; 1j == o; 2.5 > o; o > 1j; o.__iadd__(o); o.__or__(o); max(o, True); True + o; True == o; False < o; o.__mod__(9); o.__mod__(2); o.__rmod__(7); bisect.bisect(o, 1, 3, 1); bisect.insort(o, 1, 1, 0); heapq.heappushpop(o, 1); heapq.heapreplace(o, 1); bisect.insort(o, 1); bisect.bisect_left([1, 2], 1, o); bisect.bisect_right([1, 2], 1, 0, o); bisect.insort([o], o); slice(o).indices(5); slice(o, o).start; range(5)[o]; range(1, o)
setattr(N(), o, 1); delattr(N(), o); vars(o); bisect.bisect([1, 2], o); bisect.bisect(o, 1); heapq.heapify(o); heapq.heappush([], o); heapq.nsmallest(1, o); heapq.heappop(o); heapq.nlargest(o, [1])
next(o); iter(o, 1); next(itertools.count(o)); next(itertools.cycle(o)); list(itertools.starmap(pow, [o])); list(itertools.takewhile(bool, o)); collections.ChainMap(o)
list(map(o, [1])); sorted([1], key=o); sorted([2, 1], reverse=o); max([1], key=o); print(end=o, sep=o) ; raise_(o); super(type(o), o).__repr__(); object.__repr__(o)[:2]; object.__eq__(o, o); types.SimpleNamespace(**o)
type(iter(o)).__name__; type(reversed(o)).__name__; datetime.timedelta(1) * o; datetime.timedelta(1) / o; decimal.Decimal(2) + o; decimal.Decimal(2) ** o
"""
OWN = """
class Over(BASE):
    def __len__(self): return 1
    def __iter__(self): return iter("xy")
    def __getitem__(self, key): return "item"
    def __contains__(self, item): return True
    def __eq__(self, other): return "equal"
    def __lt__(self, other): return "less"
    def __le__(self, other): return "no more"
    def __gt__(self, other): return "more"
    def __add__(self, other): return "added"
    def __radd__(self, other): return "added to"
    def __mul__(self, other): return "times"
    def __mod__(self, other): return "left over"
    def __rmod__(self, other): return "filled in"
    def __index__(self): return 2
    def __int__(self): return 3
    def __float__(self): return 4.0
    def __complex__(self): return 5j
    def __bool__(self): return False
    def __str__(self): return "text"
    def __repr__(self): return "what it is"
    def __format__(self, how): return "formatted" + how
    def __hash__(self): return 7
    def __reversed__(self): return iter("yx")
    def __neg__(self): return "negative"
    def __abs__(self): return "absolute"
    def __bytes__(self): return b"bytes"
    def append(self, item): pass
    def pop(self, *at): return "popped"
    def insert(self, at, item): pass
    def keys(self): return ["k"]
    def items(self): return [("k", 1)]
    def get(self, key, default=None): return "got"
    def upper(self): return "up"
    def copy(self): return "copied"
    def count(self, item): return 9
    def join(self, items): return "joined"
    def __or__(self, other): return "or"
    def __ror__(self, other): return "reflected or"
    def __and__(self, other): return "and"
    def __rand__(self, other): return "reflected and"
    def __sub__(self, other): return "less that"
    def __rsub__(self, other): return "less this"
    def __rmul__(self, other): return "times this"
    def __ge__(self, other): return "no less"
    def __ne__(self, other): return "not equal"
    def __missing__(self, key): return "missing"
"""
REFUSING = "class Over(BASE):\n" + "".join(
    f"    def __{name}__(self, *other): return NotImplemented\n" for name in
    "eq ne lt le gt ge add radd mul rmul mod rmod or ror and rand sub rsub xor rxor iadd ior floordiv rfloordiv pow rpow divmod rdivmod lshift".split())
CLASSES = {"exact": "Over = BASE", "a class over": "class Over(BASE): pass", "a class with methods of its own over": OWN, "a class that refuses operators over": REFUSING}
TEXT = {"a class with an iterator of its own over": "class Over(BASE):\n    def __iter__(self): return iter((1, 2))"}
SETUP = """
import bisect, collections, copy, datetime, decimal, functools, heapq, itertools, math, operator, types
class N: pass
FROZEN = frozenset({1, 2})
def raise_(o): raise o
def inplace(a, how, o):
    if how == "|": a |= o
    if how == "&": a &= o
    if how == "+": a += o
    if how == "*": a *= o
    return a
"""


def calls():
    return [call.strip() for line in CALLS.strip().split("\n") for call in line.split(";")]


def functions_of(call, base):
    """Of an object passed in and of one made inside; `given` of an object of the exact type and of a class over it."""
    def one(inside):
        made = f"    o = C({BASES[base]})\n" if inside else ""
        return (f"def function(C, o):\n{made}    try:\n        r = {call}\n    except Exception as error:\n        return 'raised', type(error).__name__\n"
                f"    return 'gave', type(r), r, type(o), o\n")
    for inside in (False, True):
        for kind, text in (CLASSES | TEXT if base in ("str", "bytes") else CLASSES).items():
            space = {"__name__": "builtin_arguments"}
            exec(SETUP + one(inside) + text.replace("BASE", base), space)
            yield inside, kind, space["function"], space["Over"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::BytesWarning")
@pytest.mark.parametrize("base", BASES)
def test_builtins(base):
    different = []
    for call in calls():
        for inside, kind, function, cls in functions_of(call, base):
            frameloom.reset()
            want = told(function, cls, cls(eval(BASES[base])), after=False)
            compiled = frameloom.compile(function, backend="interpret")
            for _ in range(2):
                got = told(compiled, cls, cls(eval(BASES[base])), after=False)
                if got != want:
                    different.append(f"{call} of {kind} {base}, {'made inside' if inside else 'passed'}: {got} instead of {want}")
                    break
    assert not different, "\n".join(different)
