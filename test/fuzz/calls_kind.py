"""Calls of builtins and of methods of builtin types, with arguments that they take and such that they do not.

What is raised is caught where it is raised, so that compiled code has to raise the same: what leaves a function is raised by
running it plainly. Compared are the type of each exception, each result, and the object that was worked on.
"""

import bisect
import builtins
import collections
import functools
import heapq
import itertools
import math
import operator
import random
import signal

import python_kind

import frameloom


class MyInt(int):
    """Over a builtin type."""


class MyStr(str):
    """Over a builtin type."""


class MyList(list):
    """Over a builtin type."""


class OwnInt(int):
    """Whose own methods C code passes over."""

    def __index__(self):
        return 2

    def __eq__(self, other):
        return NotImplemented

    def __rmul__(self, other):
        return "times"

    def __lt__(self, other):
        return "less"

    __hash__ = int.__hash__


class OwnList(list):
    """Likewise."""

    def __len__(self):
        return 1

    def __iter__(self):
        return iter("xy")

    def __getitem__(self, key):
        return "item"

    def append(self, item):
        pass


class OwnDict(dict):
    """Likewise."""

    def __iter__(self):
        return iter("k")

    def keys(self):
        return ["k"]

    def __getitem__(self, key):
        return "item"


class OwnSet(set):
    """Likewise."""

    def __iter__(self):
        return iter("xy")

    def __eq__(self, other):
        return NotImplemented

    __hash__ = None


class Index:
    """An int where one is asked for by __index__."""

    def __index__(self):
        return 1


class Raising:
    """No int, and no key."""

    __hash__ = None

    def __index__(self):
        raise ValueError("no index")


SPACE = {module.__name__: module for module in (bisect, collections, functools, heapq, itertools, math, operator)}
SPACE |= {kind.__name__: kind for kind in (MyInt, MyStr, MyList, OwnInt, OwnList, OwnDict, OwnSet, Index, Raising)}
OBJECTS = """'aXb c'; b'ab c'; [3, 1, 2]; (3, 1, 2); {'a': 1, 'b': 2}; {1, 2}; frozenset({1, 2}); 5; 2.5; (1 + 2j); True; None; range(5)
    bytearray(b'abc'); collections.deque([1, 2, 3], 5); collections.deque([1, 2]); collections.defaultdict(list, a=[1]); slice(1, 5)
    collections.OrderedDict(a=1, b=2); collections.Counter('aab'); MyList([1, 2]); MyStr('ab'); MyInt(5); memoryview(b'abc'); iter([1, 2])
    collections.ChainMap({'a': 1}, {'b': 2}); [[1, 2], [3]]; [('a', 1), ('b', 2)]; ['b', 'a']; enumerate('ab'); functools.partial(max, 1)
    OwnInt(5); OwnList([3, 1]); OwnDict(a=1); OwnSet({1, 2}); reversed([1, 2]); zip('ab', [1, 2]); map(str, [1, 2]); (x for x in [1, 2])"""
VALUES = """0; 1; -1; 2; 3; 10**20; -10**20; 1.5; float('nan'); float('inf'); 'a'; ''; 'ab'; b'a'; None; True; [1]; []; (1, 2); ('a', 'b'); {'a': 1}; {1}
    Index(); Raising(); MyInt(2); MyStr('a'); range(2); slice(0, 2); iter([1, 2]); len; str; 1j; object; '{}'; '%s'; [('a', 1)]; [[1, 2], [3]]; ...
    OwnInt(3); OwnList([1]); OwnDict(b=2); OwnSet({1}); lambda *a: 1; lambda x: x; abs; {}; bytearray(b'b'); frozenset({1})"""
LEFT_OUT = {
    # the outside world, the frames and the process
    "exit", "quit", "input", "breakpoint", "open", "exec", "eval", "compile", "globals", "locals", "vars", "dir", "help", "copyright", "credits",
    "license", "print", "id", "super", "hash", "object", "__reduce__", "__reduce_ex__", "__getstate__", "__sizeof__", "__dir__", "__class__",
    "__new__", "__init_subclass__", "__subclasshook__", "__doc__", "__hash__", "__init__", "__setstate__", "__dict__", "__weakref__", "__module__",
    "__class_getitem__", "__release_buffer__", "__buffer__", "__copy__", "__del__", "release",
    # what may take all memory
    "factorial", "comb", "perm", "pow", "lshift", "ipow", "ilshift", "mul", "imul", "__pow__", "__rpow__", "__lshift__", "__rlshift__", "__mul__",
    "__imul__", "__rmul__", "ljust", "rjust", "center", "zfill", "expandtabs",
}  # fmt: skip
OPERATORS = "+ - / // % & | ^ < > == != <= >= in is".split()
NAMED = ["key=len", "default=0", "reverse=True", "start=1", "strict=True", "maxsplit=1", "sep=None", "repeat=2", "initial=1", "base=2", "r=2", "func=max"]


def listed(texts):
    return [text.strip() for line in texts.split("\n") for text in line.split(";")]


OBJECTS, VALUES = listed(OBJECTS), listed(VALUES)


def public(module, prefix=""):
    return [prefix + name for name in sorted(dir(module)) if name[0].islower() and name not in LEFT_OUT]


FUNCTIONS = {"builtins": public(builtins), "math": public(math, "math."), "operator": public(operator, "operator."), "functools": ["functools.reduce"],
             "heapq": [name for name in public(heapq, "heapq.") if name != "heapq.merge"], "bisect": public(bisect, "bisect."),
             "itertools": [name for name in public(itertools, "itertools.") if "tee" not in name]}


def make(seed, index):
    rng = random.Random(f"calls {seed} {index}")
    return python_kind.readable(lambda: program_text(rng))


def program_text(rng):
    kind, names = rng.choice(OBJECTS), [f"p{i}" for i in range(rng.choice([1, 2, 2, 3]))]
    given = [[rng.choice(VALUES) for _ in names] for _ in range(2)]
    inside = rng.random() < 0.4
    lines = ["import bisect, collections, functools, heapq, itertools, math, operator", "from calls_kind import *", "", "", "def arguments(size):",
             f"    return {kind}, " + " ".join(f"({a}, {b})[size]," for a, b in zip(*given)), "", "", f"def program(r, {', '.join(names)}):"]
    if inside:
        lines.append(f"    r = {kind}")
    results = []
    for number in range(rng.choice([1, 1, 2, 4])):
        results.append(f"x{number}")
        lines += ["    try:", f"        x{number} = {called(rng, kind, names)}", "    except Exception as error:", f"        x{number} = type(error).__name__"]
    return "\n".join([*lines, f"    return {', '.join(results)}, r", ""])


def called(rng, kind, names):
    """The text of one call."""
    given = [rng.choice(names) if rng.random() < 0.6 else rng.choice(VALUES) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3]))]
    if given and rng.random() < 0.5 and rng.random() < 0.5:
        given[rng.randrange(len(given))] = "r"
    if rng.random() < 0.08:
        given.append(rng.choice(NAMED))
    all_given, chance = ", ".join(given), rng.random()
    if chance < 0.45:
        members = [name for name in dir(eval(kind, dict(SPACE))) if name not in LEFT_OUT and (name[0] != "_" or rng.random() < 0.3)]
        return f"r.{rng.choice(members)}({all_given})" if members else f"str({all_given})"
    if chance < 0.65:
        key, other = rng.choice([*names, *VALUES]), rng.choice([*names, *VALUES])
        return rng.choice([f"r[{key}]", f"r[{key}:{other}]", f"r {rng.choice(OPERATORS)} {key}", f"{key} {rng.choice(OPERATORS)} r", f"operator.setitem(r, {key}, {other})",
                           f"operator.delitem(r, {key})", f"[*r, *{key}]", f"{{**r, **{key}}}", f"f'{{r!r:{{{key}}}}}'", f"r if {key} else {other}", f"(-r, not {key})", f"max(*r, {key})"])
    names = FUNCTIONS[rng.choices(list(FUNCTIONS), [6, 2, 4, 0.5, 1, 1, 3])[0]]
    name = rng.choice(names)
    call = f"{name}({all_given})"
    return f"list(itertools.islice({call}, 9))" if name.startswith("itertools") or rng.random() < 0.1 else call


class TooLong(BaseException):
    """Of a plain call that takes no end: a second of the processor."""


def alarm(*_):
    raise TooLong


def check(text):
    frameloom.reset()
    space = {"__name__": "program"}
    exec(compile(text, "program.py", "exec"), space)
    program = space["program"]
    compiled = frameloom.compile(program, backend="interpret")
    for i, size in enumerate((0, 0, 1, 0)):
        try:
            given, own = space["arguments"](size), space["arguments"](size)
            signal.signal(signal.SIGPROF, alarm)
            signal.setitimer(signal.ITIMER_PROF, 1)
            want = shown((program(*given), given))
            signal.setitimer(signal.ITIMER_PROF, 0)
        except (TooLong, MemoryError, RecursionError):
            return []
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        got = shown((compiled(*own), own))
        if got != want:
            return [f"result of call {i}: {difference(got, want)}"]
    return []


def difference(got, want):
    """The innermost place where two shown things differ."""
    while isinstance(want, (tuple, list)) and type(got) is type(want) and len(got) == len(want):
        got, want = next((g, w) for g, w in zip(got, want) if g != w)
    return f"{str(got)[:200]} instead of {str(want)[:200]}"


def shown(thing, depth=0):
    """Types and values, without addresses."""
    kind = type(thing).__name__
    if depth > 5:
        return kind
    if isinstance(thing, (list, tuple, collections.deque)):
        return kind, [shown(item, depth + 1) for item in thing]
    if isinstance(thing, dict):
        return kind, [(shown(key, depth + 1), shown(item, depth + 1)) for key, item in thing.items()]
    if isinstance(thing, (set, frozenset)):
        return kind, sorted(str(shown(item)) for item in thing)
    text = repr(thing)
    return kind if " at 0x" in text else (kind, text)
