"""Programs over the whole language (python_programs.py), and those of test/python/support/break_programs.py: results, side effects and exceptions.

What differs is told by what it is of: the result (types and who is whom included), what was said and printed, the
arguments, the globals, warnings, and the exception with its lines, its cause and its context.
"""

import contextlib
import functools
import gc
import io
import random
import re
import signal
import sys
import time
import types
import warnings

import break_programs as handlers
import numpy as np
import python_space
from python_programs import Writer

import frameloom

CALLS = (0, 1, 1, 2, 3)
PATIENCE = 5  # seconds of the processor for one call of a plain program
LONG = 1  # seconds that one may take to be called again
FILE = "program.py"


def make(seed, index):
    rng = random.Random(f"python {seed} {index}")
    backend = rng.choice(["loom"] + ["interpret"] * 14)
    if rng.random() < 0.15:
        return f"BACKEND, SPACE = {backend!r}, 'handlers'\n{handlers.Writer(seed * 1000003 + index).program()}\n"
    return readable(lambda: f"BACKEND = {backend!r}\n{Writer(rng).program()}")


def readable(write):
    """The first of nine texts that Python can read."""
    for _ in range(9):
        text = write()
        with contextlib.suppress(SyntaxError):
            read(text)
            return text
    raise ValueError("no program can be read")


@functools.lru_cache(2)  # what is made is checked next
def read(text):
    return compile(text, FILE, "exec")


def check(text):
    frameloom.reset()
    code = read(text)
    if "'handlers'" in text.split("\n", 1)[0]:
        return check_handlers(code)
    spaces, compiled = two_of(code)
    for i, k in enumerate(CALLS):
        found, ended = compare(spaces, compiled, [python_space.arguments(k) for _ in spaces], i)
        if found:
            return found
        if ended:
            break
    return refused(compiled)


def two_of(code, **more):
    """The globals of two copies of a program, and the second one's `program` compiled."""
    spaces = [python_space.space() | more for _ in range(2)]
    for space in spaces:
        exec(code, space)
        space["first"] = set(space)
    return spaces, frameloom.compile(spaces[1]["program"], backend=spaces[1].get("BACKEND", "loom"))


def compare(spaces, compiled, given, i, filters="always"):
    """What differs in one call, and whether the plain program came to no end, or to a late one: then it is not called again."""
    want = Call(spaces[0]["program"], spaces[0], given[0], filters)
    if want.stopped:
        return [], True
    got = Call(compiled, spaces[1], given[1], filters)
    return differences(got, want, i), want.endless or want.seconds > LONG


def differences(got, want, i):
    found = []
    for name in Call.PARTS:
        w, g = getattr(want, name), getattr(got, name)
        if w != g:
            found.append(f"{aspect(g, w) if name == 'exception' else name} of call {i}: {difference(g, w)}")
    return found


def check_handlers(code):
    spaces = [dict(vars(handlers)) for _ in range(2)]
    for space in spaces:
        exec(code, space)
    plain, found = spaces[0]["program"], []
    compiled = frameloom.compile(spaces[1]["program"], backend=spaces[1]["BACKEND"])
    for i, k in enumerate(CALLS):
        want, got = handlers.seen(plain, k), handlers.seen(compiled, k)
        names = ("result", "what was done", "arguments", "list", "exception of the thread")
        found += [f"{name} of call {i}: {difference(g, w)}" for name, g, w in zip(names, got, want) if g != w]
        if found:
            return found
    return found


def refused(compiled):
    return [f"compiler: {row}" for row in compiled._report()["breaks"] or () if "COMPILER" in row]


class Stopped(BaseException):
    """Raised in a plain program that takes no end."""


def stop(number, frame):
    raise Stopped


@contextlib.contextmanager
def time_limit(function):
    """For plain functions: what a compiled one hangs in is a finding."""
    if not isinstance(function, types.FunctionType):
        yield
        return
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class Call:
    """What one call does, and what is said when the cycles that it has left are collected: both forms leave the same."""

    PARTS = ("exception", "result", "effects", "printed", "arguments", "globals", "warnings", "state", "left")

    def __init__(self, function, space, given, filters="always"):
        gc.disable()
        python_space.LOG.clear()
        printed = io.StringIO()
        self.endless, self.stopped, result, error = False, False, None, None
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            if filters:
                warnings.simplefilter(filters)
            try:
                began = time.process_time()
                with time_limit(function):
                    result = function(*given)
            except Stopped:
                self.stopped = True
                gc.enable()
                return
            except RecursionError:
                self.endless = True
            except Exception as raised:
                error = raised
        self.seconds = time.process_time() - began
        shown = Shown()
        self.result, self.arguments = shown.of(result), shown.of(given)
        self.globals = {} if self.endless else {name: shown.of(space[name]) for name in ("G0", "G1", "G2", "C0", "C1") if name in space}
        self.effects = [] if self.endless else [plain(row) for row in python_space.LOG]
        self.exception = story(error)
        self.printed = plain(printed.getvalue())
        self.warnings = [(w.category.__name__, plain(w.message), w.filename, w.lineno) for w in caught]
        shown = result = error = None  # whose traceback has this frame: else what it holds would be let go at any time
        # Without what Python notes of warnings: nothing is run again for those that a filter drops.
        made = sorted(set(space) - space["first"] - {"__warningregistry__"})
        self.state = f"{sys.exc_info()} {np.geterr()} {made}"
        python_space.LOG.clear()
        gc.enable()
        gc.collect()
        self.left = [] if self.endless else [plain(row) for row in python_space.LOG]


ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def plain(thing):
    """Without addresses."""
    text = str(thing)
    return ADDRESS.sub("0x", text) if "0x" in text else text


def story(error, depth=0):
    """An exception with the program's own frames, its cause and its context."""
    if error is None or depth > 5:
        return None
    lines, at = [], error.__traceback__
    while at:
        if at.tb_frame.f_code.co_filename == FILE:
            lines.append((at.tb_frame.f_code.co_name, at.tb_lineno))
        at = at.tb_next
    if lines and isinstance(error, UnboundLocalError):  # CPython names the line before, once two instructions have become one
        lines[-1] = lines[-1][:1]
    return (type(error).__name__, plain(error), lines, story(error.__cause__, depth + 1), story(error.__context__, depth + 1), error.__suppress_context__)


class Shown:
    """Objects as tuples that compare: mutable ones are numbered, so that it shows who is whom."""

    def __init__(self):
        self.known, self.kept = {}, []

    def of(self, thing):
        kind = type(thing)
        if kind in (int, str, bytes, bool, type(None)):
            return kind.__name__, plain(thing) if kind is str else thing
        if kind in (float, complex):
            return kind.__name__, f"{thing:.13g}"
        if isinstance(thing, np.generic):
            return kind.__name__, f"{thing.item():.13g}" if isinstance(thing, np.inexact) else repr(thing)
        if kind in (set, frozenset):
            return kind.__name__, sorted(map(plain, thing))
        if kind is types.FunctionType:
            return "function", thing.__name__, self.of(thing.__defaults__), self.of(thing.__kwdefaults__), self.of([self.cell(c) for c in thing.__closure__ or ()])
        if isinstance(thing, tuple):
            return kind.__name__, [self.of(t) for t in thing]
        if id(thing) in self.known:
            return kind.__name__, self.known[id(thing)]
        self.known[id(thing)] = len(self.known)
        self.kept.append(thing)
        return kind.__name__, self.known[id(thing)], self.inside(thing)

    def cell(self, cell):
        try:
            return cell.cell_contents
        except ValueError:
            return "empty"

    def inside(self, thing):
        if isinstance(thing, np.ndarray):
            values = [f"{v:.13g}" for v in thing.ravel().tolist()] if thing.dtype.kind in "fc" else thing.ravel().tolist()
            return thing.dtype.str, thing.shape, thing.strides, values
        if isinstance(thing, dict):
            return [(self.of(k), self.of(v)) for k, v in dict.items(thing)]
        if isinstance(thing, (list, tuple)) or type(thing).__name__ == "deque":
            return [self.of(t) for t in thing], getattr(thing, "maxlen", None)
        if isinstance(thing, type):
            return [(k, self.of(v)) for k, v in vars(thing).items() if not k.startswith("__") and not callable(v) and type(v).__module__ == "builtins"]
        if type(thing).__module__ in ("program", "python_space"):
            return [(k, self.of(v)) for k, v in object.__getattribute__(thing, "__dict__").items()]
        return plain(object.__repr__(thing))


def aspect(got, want):
    """In what two stories of exceptions differ."""
    if got is None or want is None:
        return "exception"
    at = next(i for i, (g, w) in enumerate(zip(got, want)) if g != w)
    return "exception " + ("type", "text", "line", "cause", "context", "suppression")[at]


def difference(got, want):
    """The innermost place where two tuples or lists differ."""
    at = []
    while type(got) is type(want) and isinstance(want, (tuple, list)) and len(got) == len(want):
        i = next((i for i, (g, w) in enumerate(zip(got, want)) if g != w), None)
        if i is None:
            break
        at.append(i)
        got, want = got[i], want[i]
    if isinstance(got, dict) and isinstance(want, dict):
        got, want = ({k: v for k, v in side.items() if other.get(k) != v} for side, other in ((got, want), (want, got)))
    return f"{str(got)[:300]} instead of {str(want)[:300]}" + (f" at {at}" if at else "")
