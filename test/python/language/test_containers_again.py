"""Containers that exist, exact ones and instances of classes over them: __init__() called again, and instances given to one another's methods.

`python test_containers_again.py SEED COUNT` tries more of what the first test takes a sample of; `all` in place of both tries each.
"""

import collections
import itertools
import random
import sys

import numpy as np
import pytest

import frameloom

KINDS = {
    "deque": ["deque([1, 2])", "deque([1, 2], 3)", "deque([1, 2], maxlen=2)", "deque()", "deque([], 0)"],
    "list": ["list([1, 2])", "list()"], "dict": ["dict({'a': 1, 'b': 2})", "dict()"], "set": ["set([1, 2])", "set()"],
    "defaultdict": ["defaultdict(list, {'a': [1]})", "defaultdict(None, {'a': 1})"], "OrderedDict": ["OrderedDict(a=1, b=2)"], "Counter": ["Counter('aab')"],
    "frozenset": ["frozenset([1, 2])"], "P": ["P(1)"],
}  # fmt: skip
ARGUMENTS = [
    "", "[5, 6, 7]", "()", "'abcd'", "iter([7, 8])", "o", "c", "{'a': 9, 'z': 3}", "[('p', 1), ('q', 2)]", "None", "5", "int", "list, {'q': [2]}", "None, [('k', 4)]",
    "[5, 6, 7], 2", "[5, 6, 7], None", "[5], -1", "[5], 'x'", "[5], True", "[5], 1 << 70", "iterable=[5, 6, 7]", "maxlen=1", "iterable=[5, 6, 7], maxlen=2",
    "[5, 6], maxlen=None", "[5], maxlen=2.0", "[5, 6], maxlen=5", "maxlen=-3", "bad=1", "[1], [2], [3]", "[5], bad=3", "a=4, c=5", "{'x': 1}, a=6", "*[[3, 4]]",
    "**{'maxlen': 2}", "fails(3)", "[[]]", "[o]", "x", "reading", "[reading]",
]  # fmt: skip
CLASSES = {
    "exact": "Over = BASE",
    "over": "class Over(BASE):\n    pass\n",
    "with an __init__ over": "class Over(BASE):\n    def __init__(self, *args, **named):\n        self.calls = getattr(self, 'calls', 0) + 1\n        super().__init__(*args, **named)\n",
    "with a slot over": "class Over(BASE):\n    __slots__ = ('y',)\n",
    "with methods over": "class Over(BASE):\n    def append(self, item): pass\n    def extend(self, items): pass\n    def clear(self): pass\n    def update(self, *a, **k): pass\n"
    "    def __setitem__(self, k, v): pass\n    def popleft(self): pass\n    def add(self, i): pass\n    def __iter__(self): return iter('xy')\n    def keys(self): return ['k']\n",
}
AFTER = ["", "o.append(8); o.append(9)", "o['n'] = 1", "o.add(8)"]
SETUP = """
from collections import Counter, OrderedDict, defaultdict, deque
def fails(n):
    yield from range(n)
    raise ZeroDivisionError
class P:
    def __init__(self, a=0, *, b=2):
        self.a = a
        self.b = b
"""
READING = """
class Reads(BASE):
    def __iter__(self): return iter("xy")
    def keys(self): return "k"
    def __getitem__(self, key): return "item"
"""
CAUGHT = "TypeError, ValueError, OverflowError, KeyError, IndexError, AttributeError, ZeroDivisionError, RuntimeError"


def seen(v, around=()):
    if any(v is other for other in around):
        return "itself"
    around = (*around, v)
    kind, own = type(v).__name__, [(name, seen(item, around)) for name, item in getattr(v, "__dict__", {}).items()] if not isinstance(v, type) else []
    if isinstance(v, np.ndarray):
        return kind, v.tolist()
    if isinstance(v, dict):
        return kind, [(seen(k), seen(dict.__getitem__(v, k), around)) for k in dict.__iter__(v)], getattr(v, "default_factory", 0), own
    if isinstance(v, (set, frozenset)):
        return kind, sorted(map(repr, set().union(v) if isinstance(v, set) else v)), own
    if isinstance(v, (list, tuple, collections.deque)):
        base = next(cls for cls in (list, tuple, collections.deque) if isinstance(v, cls))
        return kind, [seen(item, around) for item in base.__iter__(v)], getattr(v, "maxlen", 0), own
    return kind, own if own or hasattr(v, "__next__") or type(v).__repr__ is object.__repr__ else repr(v)


def results(function, names, text):
    """What it gives and what it has done to what it was given, with which objects are one."""
    own, reading = eval(text, names), names["reading"]()
    try:
        result = function(np.ones(2), own, reading)
    except Exception as error:
        return repr(error), seen(own), seen(reading)
    return seen(result), seen(own), seen(reading), result[3] is own, [any(item is other for other in (own, reading)) for item in result[-1]]


def differs(names, text, source):
    exec(source, names)
    want = results(names["f"], names, text)
    compiled = frameloom.compile(names["f"], backend="interpret")
    for _ in range(2):
        got = results(compiled, names, text)
        if got != want:
            return f"{source} of {text}: {got} instead of {want}"
    return None


def names_of(kind, how):
    names = {"np": np}
    exec(SETUP + CLASSES[how].replace("BASE", kind) + READING.replace("BASE", "object" if kind == "P" else kind), names)
    names["reading"] = lambda: eval(KINDS[kind][0].replace(kind, "Reads", 1) if kind != "P" else "Reads()", names)
    return names


# ---- __init__() again ------------------------------------------------------------------------------------------------


def again():
    for (kind, texts), how in itertools.product(KINDS.items(), CLASSES):
        for text, call, rest, live, after in itertools.product(texts, ("o", kind, "Over", "dict"), ARGUMENTS, (True, False), AFTER):
            if kind == "frozenset" and "__init__" in how:
                continue  # object's takes no arguments
            if call != "dict" or kind in ("defaultdict", "OrderedDict", "Counter"):
                yield kind, how, text.replace(kind, "Over", 1), call, rest, live, after


def check_again(kind, how, text, call, rest, live, after):
    called = f"o.__init__({rest})" if call == "o" else f"{call}.__init__(o, {rest})"
    return differs(names_of(kind, how), text, f"""
def f(x, c, reading):
    o = {"c" if live else text}
    alias, result, error, second = [o], None, None, None
    try:
        result = {called}
    except ({CAUGHT}) as e:
        error = type(e)
    try:
        {after or "pass"}
    except ({CAUGHT}) as e:
        second = type(e)
    return x + 1, result, (error, second), o, alias[0] is o, getattr(o, "maxlen", 0), getattr(o, "default_factory", 0), []
""")  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_initialised_again(seed):
    assert not [text for text in itertools.starmap(check_again, random.Random(seed).sample(list(again()), 400)) if text]


@pytest.mark.parametrize("kind", ["collections.deque([1, 2], 3)", "collections.defaultdict(int, a=1)"])
def test_a_class_whose_own_init_is_compiled(kind):
    """Here the instance exists already, as type.__call__() has made it."""
    name, _, rest = kind.partition("(")

    class Over(eval(name)):
        def __init__(self, *args, **named):
            super().__init__(*args, **named)
            self.count = np.ones(2) + len(self)

    Over.__init__ = frameloom.compile(Over.__init__, backend="interpret")
    for _ in range(2):
        made = eval(f"Over({rest}", {"Over": Over, "collections": collections})
        assert repr(made) == repr(eval(kind)).replace(name.partition(".")[2], "Over") and made.count.tolist() == [1 + len(made)] * 2


def test_iterators_find_that_a_deque_was_initialised_again():
    for items, rest in itertools.product(([], [1], [1, 2, 3]), ([], [5], [1, 2, 3])):
        def f(x, d, maxlen):
            collections.deque.__init__(d, rest, maxlen)  # noqa: B023
            return x + 1

        compiled = frameloom.compile(f, backend="interpret")
        for maxlen in (None, 2):
            told = []
            for function in (f, compiled, compiled):
                d = collections.deque(items)
                walk = iter(d)
                function(np.ones(2), d, maxlen)
                try:
                    told.append(list(walk))
                except RuntimeError as error:
                    told.append(str(error))
            assert told[0] == told[1] == told[2], (items, rest, maxlen)


# ---- instances given to one another's methods ------------------------------------------------------------------------

METHODS = [
    "append", "appendleft", "extend", "extendleft", "insert(0, {0})", "count", "index", "remove", "__contains__", "__setitem__(0, {0})", "__setitem__('a', {0})", "setdefault('b', {0})",
    "setdefault('a', {0})", "get('b', {0})", "__eq__({0}) or deque('xy') == {0} or {0} == deque('xy') or deque('xy').__eq__({0})", "pop('b', {0})", "update", "__iadd__", "__add__", "__eq__", "__ne__", "__ior__", "__or__", "union", "issubset", "difference", "fromkeys('ab', {0})",
]  # fmt: skip


def instances():
    kinds = [kind for kind in KINDS if kind not in ("P", "frozenset")]
    for kind, how, method, other in itertools.product(kinds, ("exact", "over", "with an __init__ over"), METHODS, ("o", "c", "reading", "Over()", "[c]", "iter(list(c))")):
        if hasattr(eval(kind, {**vars(collections), **vars(__builtins__ if not isinstance(__builtins__, dict) else sys.modules["builtins"])}), method.partition("(")[0]):
            yield kind, how, method.format(other) if "(" in method else f"{method}({other})"


def check_instances(kind, how, call):
    text = KINDS[kind][0].replace(kind, "Over", 1)
    return [difference for live in (True, False) if (difference := differs(names_of(kind, how), text, f"""
def f(x, c, reading):
    o, result, error = {"c" if live else text}, None, None
    try:
        result = o.{call}
    except ({CAUGHT}) as e:
        error = type(e)
    held = list({kind}.values(o)) if hasattr({kind}, "values") else list({kind}.__iter__(o))
    return x + 1, result, error, o, result is o, [result, *held]
"""))]  # fmt: skip


@pytest.mark.filterwarnings("ignore:NotImplemented should not be used")
@pytest.mark.parametrize("seed", range(4))
def test_instances_given_to_one_another(seed):
    rows = list(instances())
    assert not [text for row in random.Random(seed).sample(rows, min(250, len(rows))) for text in check_instances(*row)]


if __name__ == "__main__":
    rows = list(again())
    for row in rows if sys.argv[1] == "all" else random.Random(sys.argv[1]).sample(rows, int(sys.argv[2])):
        if difference := check_again(*row):
            print(row, difference, flush=True)
    for row in instances():
        for difference in check_instances(*row):
            print(row, difference, flush=True)
