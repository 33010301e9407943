"""Stands in for the compiler where there is none: on builds of Python without a GIL and on versions of CPython that it
is not written for. Everything runs as plain Python, with one warning."""

import contextlib as _contextlib
import functools as _functools
import sys as _sys

VERSIONS = ((3, 11), (3, 12), (3, 13))

_warned = False


def reason():
    """Why nothing is compiled here; None where functions are."""
    if not getattr(_sys, "_is_gil_enabled", lambda: True)():
        return "a free-threaded Python"
    version = tuple(_sys.version_info[:2])
    if version not in VERSIONS:
        return f"Python {version[0]}.{version[1]}"
    return None if _frames_agree() else f"Python {_sys.version.split()[0]}, whose frames are not those of {version[0]}.{version[1]}"


@_functools.cache
def _frames_agree():
    """Are the interpreter's frames, which no header describes, as in the releases that are known?"""
    from . import _native

    def probe(local):
        other = frame_probe(local)
        return other

    frame_probe = _native.frame_probe
    return _native.frames_agree(probe)


def _warn():
    global _warned
    if _warned:
        return
    _warned = True
    import warnings

    warnings.warn(f"frameloom does not compile on {reason()}: functions run as they are", RuntimeWarning, stacklevel=3)


class Graph:
    """No graph is ever made."""


class CompileProfiler:
    """Is given no graph."""

    frame_count = op_count = 0

    def report(self):
        """Nothing."""
        return ""


def compile_times(repr="str", aggregate=False):
    """Nothing."""
    return "" if repr == "str" else ([], [])


class DeviceArray:
    """No array is ever on a device."""


class device:
    """There is none: what would run there is not compiled."""

    def __init__(self, name="cuda"):
        from ._errors import DeviceError

        raise DeviceError(f"frameloom does not compile on {reason()}, and nothing runs on devices")


def compile(fn=None, *, fullgraph=False, dynamic=None, backend=None, options=None, disable=False, device=None):
    """Give the function back as it is."""
    _warn()
    if device not in (None, "auto", "host") and not disable:
        globals()["device"](device)
    return fn if fn is not None else lambda f: f


def disable(fn=None, recursive=True, *, reason=None):
    """Give the function back as it is."""
    return fn if fn is not None else lambda f: f


def allow_in_graph(fn):
    """Give the function back as it is."""
    return fn


disallow_in_graph = nonstrict_trace = allow_in_graph


class _CustomOp:
    def __init__(self, fn):
        self._fn = fn

    def __call__(self, *args, **kwargs):
        return self._fn(*args, **kwargs)

    def register_fake(self, fn):
        """Give the function back as it is."""
        return fn


def custom_op(name, fn=None, *, mutates_args=()):
    """What calls the function as it is."""
    return _CustomOp(fn) if fn is not None else _CustomOp


def run(fn):
    """Give the function back as it is."""
    return fn


class set_stance(_contextlib.ContextDecorator):
    """Does nothing."""

    def __init__(self, stance="default"):
        self.stance = stance

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        pass


def explain(fn, /, *args, **kwargs):
    """Not available: nothing is compiled."""
    raise RuntimeError(f"frameloom.explain: nothing is compiled on {reason()}")


def graph_break(msg=""):
    """Does nothing."""


def skip_frame(msg=""):
    """Does nothing."""


def is_compiling():
    """False."""
    return False


def mark_dynamic(array, axis, *, min=None, max=None):
    """Does nothing."""


def mark_static(array, axis=None):
    """Does nothing."""


def reset():
    """Does nothing."""


def set_logs(*names, **flags):
    """Does nothing: there is nothing to log."""


class _Config:
    @_contextlib.contextmanager
    def patch(self, **settings):
        """Remember settings for the length of a `with` block; nothing reads them."""
        before = dict(self.__dict__)
        self.__dict__.update(settings)
        try:
            yield self
        finally:
            self.__dict__.clear()
            self.__dict__.update(before)


config = _Config()
