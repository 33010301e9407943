"""Stands in for the compiler on builds of Python without a GIL: everything runs as plain Python, with one warning."""

import contextlib as _contextlib

_warned = False


def _warn():
    global _warned
    if _warned:
        return
    _warned = True
    import warnings

    warnings.warn("frameloom does not compile on a free-threaded Python: functions run as they are", RuntimeWarning,
                  stacklevel=3)


def compile(fn=None, *, fullgraph=False, dynamic=None, backend=None, options=None, disable=False):
    """Give the function back as it is."""
    _warn()
    return fn if fn is not None else lambda f: f


def disable(fn):
    """Give the function back as it is."""
    return fn


def explain(fn, /, *args, **kwargs):
    """Not available: nothing is compiled."""
    raise RuntimeError("frameloom.explain: nothing is compiled on a free-threaded Python")


def graph_break():
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
