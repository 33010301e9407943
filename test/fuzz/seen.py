"""What a call of a function does, and how that differs between a function and its compiled form.

`exact` values are compared bit by bit (any NaN is like any other); others within `ULPS` of the largest magnitude that took
part. A difference is a text that begins with its class, which is what findings are counted by.
"""

import re
import warnings

import numpy as np
from arrays import blocks

import frameloom

ULPS = {0: 0, 1: 64, 2: 4096}
MANY = 200  # arrays of which each pair is compared
FILE = "program.py"
EPS = [0.0]  # what results are rounded to on the way where a program names types for them
UNIT = [0.0]  # of the narrowest type at hand
ANY_ZERO = [False]  # the program takes the lesser of two zeros: whichever the library's vectors leave


class Seen:
    """One call: result or exception, warnings, and the arguments afterwards."""

    def __init__(self, function, arguments, filters="always"):
        self.arguments, self.result, self.error, self.line = arguments, None, None, None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(filters)
            try:
                self.result = function(*arguments)
            except Exception as error:
                self.error, self.line = error, line_of(error)
        self.warned = [(w.category.__name__, text(w.message), w.filename.rpartition("/")[2], w.lineno) for w in caught]


def text(thing):
    """Without addresses."""
    return re.sub(r"0x[0-9a-f]+", "0x", str(thing))


def line_of(error):
    """Of the program's own frame."""
    step, line = error.__traceback__, None
    while step:
        if step.tb_frame.f_code.co_filename == FILE:
            line = step.tb_lineno
        step = step.tb_next
    return line


def bits(values):
    return values.view(f"u{values.itemsize}")


def parts(values):
    """The real arrays that make up an array of numbers, in the machine's byte order and one after another."""
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    if values.dtype.kind != "c":
        return [values]
    return [np.ascontiguousarray(values.real), np.ascontiguousarray(values.imag)]


def largest(things):
    """The largest finite magnitude among numbers, at least 1."""
    most = 1.0
    for thing in things:
        if isinstance(thing, (tuple, list)):
            most = max(most, largest(thing))
            continue
        if isinstance(thing, (np.ndarray, np.generic)) and thing.dtype.kind in "iufc" and thing.size:
            with np.errstate(all="ignore"):
                size = np.abs(np.asarray(thing).astype(np.clongdouble))  # what a mask hides counts as well
            size = size[np.isfinite(size)]
            most = max([most, *size.ravel().tolist()])
        elif isinstance(thing, (int, float)) and thing == thing and abs(thing) < 1e300:
            most = max(most, abs(thing))
    return float(min(most, 1e300))


def real_difference(got, want, level, scale):
    """Of arrays of one real floating type."""
    with np.errstate(all="ignore"):
        if not np.array_equal(np.isnan(got), np.isnan(want)):
            return "NaN"
        known = ~np.isnan(want)
        got, want = got[known], want[known]
        if level == 0:
            if not (got == want).all():
                return "value"
            return None if np.array_equal(np.signbit(got), np.signbit(want)) else "sign of zero"
        finite = np.isfinite(want)
        if not np.array_equal(finite, np.isfinite(got)) or not (got[~finite] == want[~finite]).all():
            return "infinity"
        got, want = got[finite], want[finite]
        zero = (want == 0) & (got == 0)
        if level == 1 and scale is None and not np.array_equal(np.signbit(got[zero]), np.signbit(want[zero])):
            return "sign of zero"
        info = np.finfo(want.dtype)
        size = np.maximum(np.abs(want).astype(np.longdouble), scale or 0)
        limit = ULPS[level] * np.longdouble(max(info.eps, EPS[0])) * size + np.longdouble(info.tiny) * 4
        return None if (np.abs(got.astype(np.longdouble) - want) <= limit).all() else "value"


def values_difference(got, want, level, scale):
    if type(want) is np.ndarray and want.dtype.kind != "O" and got.tobytes() == want.tobytes():
        return None
    if want.dtype.kind in "fc":
        most = scale
        if scale is not None and level:
            most = max(scale, largest([want]))
        for g, w in zip(parts(got), parts(want)):
            found = real_difference(g, w, level, most)
            if found:
                return found
        return None
    if want.dtype.kind == "O":
        return None if level or text(repr(got.tolist())) == text(repr(want.tolist())) else "value"
    return None if got.tobytes() == want.tobytes() else "value"


def short(thing, limit=160):
    try:
        made = repr(thing).replace("\n", "")
    except ValueError:  # an int of too many digits
        made = f"a {type(thing).__name__} that cannot be shown"
    return made if len(made) <= limit else made[:limit] + "..."


class Comparison:
    """Two results, walked through at once."""

    def __init__(self, got, want):
        self.got, self.want, self.found, self.arrays = got, want, [], []

    def note(self, kind, at, more):
        self.found.append(f"{kind} of {at}: {more}")

    def same(self, got, want, at, level=0, scale=None):
        if type(got) is not type(want):
            return self.note("type", at, f"{type(got)} instead of {type(want)}: {short(got)} instead of {short(want)}")
        if isinstance(want, np.ma.MaskedArray):
            self.array(np.ma.getmaskarray(got), np.ma.getmaskarray(want), f"the mask of {at}", 0, None)
            return self.array(got.data, want.data, at, level, scale)
        if isinstance(want, np.ndarray):
            return self.array(got, want, at, level, scale)
        if isinstance(want, np.generic):
            return self.scalar(got, want, at, level, scale)
        if isinstance(want, (tuple, list)):
            if len(got) != len(want):
                return self.note("length", at, f"{len(got)} instead of {len(want)}")
            for i, (g, w) in enumerate(zip(got, want)):
                self.same(g, w, f"{at}[{i}]", level, scale)
            return None
        if isinstance(want, dict):
            return self.same(list(got.items()), list(want.items()), at, level, scale)
        if isinstance(want, (float, complex)):
            before, EPS[0] = EPS[0], UNIT[0]  # the number may come from a narrower type
            self.scalar(np.asarray(got)[()], np.asarray(want)[()], at, level, scale)
            EPS[0] = before
            return None
        if level and isinstance(want, (str, bytes)):
            return None  # of numbers within a bound
        if text(repr(got)) != text(repr(want)):
            self.note("value", at, f"{short(got)} instead of {short(want)}")
        return None

    def scalar(self, got, want, at, level, scale):
        if got.dtype != want.dtype:
            return self.note("dtype", at, f"{got.dtype} instead of {want.dtype}")
        kind = values_difference(np.asarray(got), np.asarray(want), level, scale)
        if kind and not (kind == "sign of zero" and ANY_ZERO[0]):
            self.note(kind, at, f"{short(got)} instead of {short(want)}")
        return None

    def array(self, got, want, at, level, scale):
        self.arrays.append((at, got, want))
        if got.dtype != want.dtype:
            return self.note("dtype", at, f"{got.dtype} instead of {want.dtype}")
        if got.shape != want.shape:
            return self.note("shape", at, f"{got.shape} instead of {want.shape}")
        kind = values_difference(got, want, level, scale)
        if kind and not (kind == "sign of zero" and ANY_ZERO[0]):
            self.note(kind, at, f"{short(got)} instead of {short(want)}")
        if got.strides != want.strides:
            return self.note("strides", at, f"{got.strides} instead of {want.strides} of shape {want.shape}")
        for flag in ("writeable", "aligned", "c_contiguous", "f_contiguous", "owndata"):
            if flag == "owndata" and got.flags.owndata:
                continue  # of a copy of its own where the library gives a view of an array that nobody else has
            if getattr(got.flags, flag) != getattr(want.flags, flag):
                self.note(flag, at, f"{getattr(got.flags, flag)} instead of {getattr(want.flags, flag)}")
        return None

    def memory(self, got_arguments, want_arguments):
        """Who is whom, and whose memory lies where."""
        sides = self.arrays[:MANY]
        known = [(f"argument {i}", g, w) for i, (g, w) in enumerate(zip(got_arguments, want_arguments))
                 if isinstance(w, np.ndarray)]
        for i, (at, g, w) in enumerate(sides):
            for other, h, v in known + sides[:i]:
                if (g is h) != (w is v):
                    self.note("identity", at, f"{'is' if g is h else 'is not'} {other}")
                elif not (g.size and h.size and w.size and v.size):
                    continue
                elif np.may_share_memory(g, h) != np.may_share_memory(w, v):
                    self.note("memory", at, f"{'shares' if np.may_share_memory(g, h) else 'does not share'} {other}'s")
                elif np.may_share_memory(g, h) and g.ctypes.data - h.ctypes.data != w.ctypes.data - v.ctypes.data:
                    self.note("offset", at, f"{g.ctypes.data - h.ctypes.data} from {other} instead of "
                                            f"{w.ctypes.data - v.ctypes.data}")


def differences(got, want, levels=(), written=0, scale=None):
    """Texts. `levels`: how inexact each result is; `written`: how inexact what is written to arguments is."""
    if (got.error is None) != (want.error is None):
        return [f"exception: {short(got.error)} instead of {short(want.error)} line {want.line}"]
    look = Comparison(got, want)
    if want.error is not None:
        if type(got.error) is not type(want.error):
            look.note("exception type", "call", f"{short(got.error)} instead of {short(want.error)}")
        elif text(got.error) != text(want.error) and not isinstance(want.error, SystemError):  # the library forgot to say what
            look.note("exception text", "call", f"{short(got.error)} instead of {short(want.error)}")
        elif got.line != want.line:
            look.note("exception line", "call", f"{got.line} instead of {want.line}")
    elif isinstance(want.result, tuple) and isinstance(got.result, tuple) and len(want.result) == len(levels) == len(got.result):
        for i, (g, w, level) in enumerate(zip(got.result, want.result, levels)):
            look.same(g, w, f"result {i}", level, None if level == 0 else scale)
    else:
        look.same(got.result, want.result, "result", max(levels, default=0), scale)
    for i, (g, w) in enumerate(zip(got.arguments, want.arguments)):
        if isinstance(w, np.ndarray):
            look.array(g, w, f"argument {i} afterwards", written, scale)
    look.arrays = [a for a in look.arrays if not a[0].startswith("argument")]
    look.memory(got.arguments, want.arguments)
    for g, w in zip(blocks(got.arguments), blocks(want.arguments)):
        kind = values_difference(g, w, written, scale)
        if kind and not (kind == "sign of zero" and ANY_ZERO[0]):
            look.note("block", "arguments", "memory beside an argument changed")
    if got.warned != want.warned:
        kind = "missing warning" if len(got.warned) < len(want.warned) else "extra warning" \
            if len(got.warned) > len(want.warned) else "warning"
        look.note(kind, "call", f"{got.warned} instead of {want.warned}")
    return look.found


def compared(plain, compiled, arguments, scale=None):
    """One call of each with arguments of their own: what differs, and both calls. `scale`: of results within a bound; None: exact ones."""
    want, got = (Seen(call, arguments()) for call in (plain, compiled))
    rows = differences(got, want)
    if rows and scale is not None:
        rows = differences(got, want, (1,), 1, scale)
    failed = any("COMPILER" in row for row in compiled._report()["breaks"] or ())
    return rows + ["the compiler failed"] * failed, got, want


def calls_compared(text, scope, arguments, scale=None, **options):
    """Two calls of the `program` that a text defines, plain and compiled with these options: of each what `compared` gives."""
    exec(text, scope)
    compiled = frameloom.compile(scope["program"], **options)
    for _ in range(2):
        yield compared(scope["program"], compiled, arguments, scale)
