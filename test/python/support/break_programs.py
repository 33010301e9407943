"""Random functions with breaks at places of every kind, and what a call of one does: for tests and for the fuzzer."""

import contextlib
import random
import sys

import numpy as np
from managers import LOG, Manager, handled  # noqa: F401

import frameloom  # noqa: F401

NAMES = ("program", "callee0", "callee1", "inner", "nested", "deeper", "star", "<listcomp>", "<dictcomp>", "<genexpr>", "<lambda>")


@contextlib.contextmanager
def managed(name):
    LOG.append(("in", name))
    try:
        yield name
    except ValueError as e:
        LOG.append(("caught", str(e)))
    finally:
        LOG.append(("out", name))


def brk(v=None):
    """A break for whoever calls it, and for itself."""
    LOG.append(f"{id(None) == id(None)}")
    return v


def star(a, *rest, w=1):
    return a * rest[1] + rest[0] * w


def nested(x):
    t = x * 2
    brk()

    def deeper(q):
        brk()
        return q + t
    return deeper(t) + 1


class Box:
    def __init__(self):
        self.a = np.zeros(4)


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


EXPRESSIONS = [
    "x * 2 - 1", "x + y", "brk(x) + y", "y * brk(0.5)", "np.where(x > 1, x, brk(y))", "x * 0.5 + k", "[brk(i) * x for i in range(3)][k % 3]",
    "sum([x * i for i in range(3) if brk(i) is not None])", "{i: x + brk(i) for i in range(2)}[k % 2]", "(lambda q: brk(q) * 2)(x)",
    "star(x, *(y, brk(2)), **{'w': k})", "np.maximum(x, y)", "x[::-1] + y", "(w := x * 2) + brk(1)", "y if brk(k) else x",
    "(brk(x) if k > 1 else y) * 3", "box.a + x", "np.roll(x, brk(1))", "max(k, brk(2)) * x", "nested(x)"]
STATEMENTS = [
    (2, "LOG.append(float(x[1]))"), (1.5, "handled()"), (1, "brk()"), (1, "frameloom.graph_break()"), (1, "k = (k + brk(1)) % 5"),
    (1, "box.a = x * 1"), (1, "box.a[1] = brk(k)"), (0.7, "del u"), (1, "u = x + brk(1)"), (0.7, "LOG.append(float(u[0]))"), (0.6, "x[2] = k"),
    (0.6, "a, *b = x * 1, brk(y), k; y = b[0] + a"), (0.5, "cell = cell + brk(1)"), (0.5, "x = x + inner(y)"),
    (0.5, "lst.append(x.sum() + brk(0))"), (0.5, "x = x + len(lst)"), (0.4, "assert k < 4, brk('msg')"), (0.3, "1 // (k - k)"),
    (0.3, "lst[9]"), (0.3, "np.ones(3) + x")]


class Writer:
    """Writes one random program: two functions and one that calls them."""

    def __init__(self, seed):
        self.choose, self.lines, self.names, self.calls = random.Random(seed), [], 0, False

    def put(self, depth, line):
        self.lines.append("    " * depth + line)

    def block(self, depth, size, *where):
        for _ in range(self.choose.randrange(1, size + 1)):
            self.statement(depth, size, *where)

    def simple(self, depth, loop, handler, returns):
        c = self.choose
        kinds = STATEMENTS + [(4, f"x = {c.choice(EXPRESSIONS)}"), (3, f"y = {c.choice(EXPRESSIONS)}"),
                              (0.8, f"raise {c.choice(['ValueError', 'KeyError', 'IndexError'])}({len(self.lines)})")]
        kinds += [(0.6, "continue"), (0.6, "break")] * loop
        kinds += [(0.5, "raise"), (0.5, "raise ValueError('from') from sys.exc_info()[1]"), (0.3, "raise KeyError('none') from None")] * handler
        kinds += [(0.35, f"return {c.choice(EXPRESSIONS)}")] * returns
        weights, lines = zip(*kinds)
        self.put(depth, c.choices(lines, weights)[0])

    def statement(self, depth, size, loop, handler, returns):
        c, smaller = self.choose, size - 1
        kind = c.choice(["try", "try", "finally", "with", "for", "for", "while", "if", "match", "call"])
        if depth > 6 or size < 2 or c.random() < 0.5 or kind == "call" and not self.calls:
            self.simple(depth, loop, handler, returns)
        elif kind == "call":
            self.put(depth, f"x = callee{c.randrange(2)}(x, y, k, box, lst, u, cell)")
        elif kind in ("try", "finally"):
            self.protected(depth, smaller, kind == "finally", loop, handler, returns)
        elif kind == "match":
            self.match(depth, smaller, loop, handler, returns)
        elif kind == "with":
            self.put(depth, c.choice(["with Manager(True):", "with Manager(brk(True)):", "with managed(1), Manager(brk(k) == 1) as m:"]))
            self.block(depth + 1, smaller, loop, handler, returns)
        elif kind == "if":
            self.put(depth, c.choice(["if x.sum() > y.sum():", "if brk(k) > 1:", "if k % 2:", "if len(LOG) % 3:"]))
            self.block(depth + 1, smaller, loop, handler, returns)
            self.put(depth, "else:")
            self.block(depth + 1, smaller, loop, handler, returns)
        else:
            self.loop(depth, smaller, kind, handler, returns)

    def loop(self, depth, smaller, kind, handler, returns):
        c = self.choose
        self.names += 1
        name = f"t{self.names}"
        if kind == "for":
            over = ["range(3)", "brk(range(2))", "[1, brk(2)]", "zip([1, 2], [x, y])", "list(lst)", "(brk(i) for i in range(2))", "enumerate([x, y])"]
            self.put(depth, f"for {name} in {c.choice(over)}:")
        else:
            self.put(depth, f"{name} = 0")
            self.put(depth, f"while {name} < {c.choice(['2', 'brk(3)'])}:")
            self.put(depth + 1, f"{name} += 1")
        self.block(depth + 1, smaller, True, handler, returns)
        if c.random() < 0.3:
            self.put(depth, "else:")
            self.block(depth + 1, smaller, False, handler, returns)

    def protected(self, depth, smaller, ends, loop, handler, returns):
        c = self.choose
        self.put(depth, "try:")
        self.block(depth + 1, smaller, loop, handler, returns)
        if not ends or c.random() < 0.4:
            self.put(depth, c.choice(["except ValueError as e:", "except (KeyError, IndexError):", "except Exception as e:",
                                      "except brk((ValueError, KeyError)):", "except UnboundLocalError:"]))
            self.block(depth + 1, smaller, loop, True, returns)
            if c.random() < 0.2:
                self.put(depth, "else:")
                self.block(depth + 1, smaller, loop, handler, returns)
        if ends:
            self.put(depth, "finally:")
            self.block(depth + 1, smaller, False, handler, False)

    def match(self, depth, smaller, loop, handler, returns):
        c = self.choose
        subjects = ["k:", "brk(k):", "(k, brk(1)):", "Point(k, brk(2)):", "{'a': k, 'b': brk(3)}:"]
        patterns = ["0", "1 | 2", "(a0, 1) if brk(a0) == 2", "Point(0, y=b0)", "Point(a0, b0)", "{'a': 1}", "{'a': a0, **r0}", "[0, *r1]"]
        self.put(depth, "match " + c.choice(subjects))
        for pattern in [*c.sample(patterns, 3), "_"]:
            self.put(depth + 1, f"case {pattern}:")
            self.block(depth + 2, smaller, loop, handler, returns)

    def program(self):
        for i in range(2):
            self.put(0, f"def callee{i}(x, y, k, box, lst, u, cell):")
            self.put(1, "x = x * 1")
            self.put(1, "def inner(q): return q * cell")
            self.block(1, 3, False, False, True)
            self.put(1, "return x + y")
        self.calls = True
        self.put(0, "def program(x, y, k, box, lst):")
        self.put(1, "x, u, cell = x * 1, x + 2, 1")
        self.put(1, "def inner(q):")
        self.put(2, "nonlocal cell")
        self.put(2, "cell = cell + 1")
        self.put(2, "return q * cell")
        self.block(1, 5, False, False, True)
        self.put(1, "return x, y, k, cell")
        return "\n".join(self.lines)


def shown(value):
    if isinstance(value, tuple):
        return tuple(map(shown, value))
    return (value.dtype.str, value.tolist()) if isinstance(value, np.ndarray) else (type(value).__name__, repr(value))


def story(error, depth=0):
    """An exception with the lines of its traceback, its cause and its context."""
    if error is None or depth > 6:
        return None
    lines, at = [], error.__traceback__
    while at:
        if at.tb_frame.f_code.co_name in NAMES:
            lines.append((at.tb_frame.f_code.co_name, at.tb_lineno))
        at = at.tb_next
    return (type(error).__name__, str(error), lines, story(error.__cause__, depth + 1), story(error.__context__, depth + 1),
            error.__suppress_context__)


def seen(function, k):
    LOG.clear()
    box, lst, x, y = Box(), [1.0], np.arange(4.0), np.ones(4)
    try:
        result = shown(function(x, y, k, box, lst))
    except Exception as error:
        result = story(error)
    return result, str(LOG), shown((x, y, box.a)), str(lst), str(sys.exc_info())


def made(source, name):
    """The function `program` of a source text, in a copy of the names that programs use."""
    space = dict(globals())
    exec(compile(source, f"<{name}>", "exec"), space)
    return space["program"]
