"""Functions that are put into the graph as they are, and functions that are kept out of it."""

import functools

from . import _native


def _name(fn):
    return getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or type(fn).__name__


def _mark(fn, kind, what):
    if isinstance(fn, (list, tuple)):
        return type(fn)(_mark(f, kind, what) for f in fn)
    if not callable(fn):
        raise TypeError(f"frameloom.{what} expects a function, not {type(fn).__name__}")
    if isinstance(fn, _native.Callable):
        raise TypeError(f"frameloom.{what} expects a plain function, not a compiled one")
    _native.set_rule(fn, kind, fn, None, _name(fn))
    return fn


def allow_in_graph(fn):
    """Put calls of a function (or of each in a list or tuple) into the graph without looking into it.

    It runs as plain Python inside of the compiled plan, with read-only arrays; it must be pure, take arrays and plain
    constants, and give arrays or numbers whose shapes and dtypes follow from those of its arguments: to find these out
    it is called once, at capture, on made-up arrays. Where that fails the graph breaks (FL0021).

    Holds for functions compiled from now on. Gives `fn` back, so that it serves as a decorator.
    Raises TypeError for what cannot be called.
    """
    return _mark(fn, "allow", "allow_in_graph")


def nonstrict_trace(fn):
    """The same as `allow_in_graph`, by the name that users of torch.compile know: what the function reads besides its
    arguments is read when it runs, and not guarded."""
    return _mark(fn, "allow", "nonstrict_trace")


def disallow_in_graph(fn):
    """Break the graph (FL0022) where a function (or one of a list or tuple) is called, so that it runs for real.

    Holds for functions compiled from now on. Gives `fn` back. Raises TypeError for what cannot be called.
    """
    return _mark(fn, "disallow", "disallow_in_graph")


class CustomOp:
    """A function of the user's as an operator of the graph. Made by `custom_op`; calling it calls the function."""

    def __init__(self, name, fn):
        functools.update_wrapper(self, fn)
        self.name, self._fn = name, fn
        _native.set_rule(self, "custom", fn, None, name)

    def __call__(self, *args, **kwargs):
        return self._fn(*args, **kwargs)

    def register_fake(self, fn):
        """Register what tells shapes, dtypes and memory order of the results; a decorator.

        `fn` takes the same arguments, with arrays of the right shape and dtype but of no meaning, and returns arrays like
        the results (`np.empty(x.shape[:1], x.dtype)`), none of them an argument. With symbolic sizes it is called twice,
        with different sizes. What it raises is shown where the graph breaks (FL0021).
        """
        if not callable(fn):
            raise TypeError(f"register_fake expects a function, not {type(fn).__name__}")
        _native.set_rule(self, "custom", self._fn, fn, self.name)
        return fn

    def __repr__(self):
        return f"<frameloom.custom_op {self.name}>"


def custom_op(name, fn=None, *, mutates_args=()):
    """Make an operator of a pure function that is opaque to capture: any library, any C code. A decorator.

        @frameloom.custom_op("mine::solve")
        def solve(a, b):
            return scipy.linalg.solve(a, b)

        @solve.register_fake
        def _(a, b):
            return np.empty_like(b)

    Inside of a compiled function it becomes part of the graph: it runs between kernels, with read-only arrays, and its
    results are copied. Without a fake it breaks the graph. When its results are not what the fake said, the compiled
    function runs as plain Python for that call.

    name          "namespace::name", for messages
    mutates_args  must be empty: a custom operator is pure

    Raises TypeError for what is not a function or a name, ValueError for arguments that are changed.
    """
    if not isinstance(name, str) or not name:
        raise TypeError("the name of a custom operator must be a str, such as 'mine::solve'")
    if mutates_args:
        raise ValueError("a custom operator must not change its arguments: mutates_args has to be empty")
    if fn is None:
        return lambda f: custom_op(name, f)
    if not callable(fn):
        raise TypeError(f"frameloom.custom_op expects a function, not {type(fn).__name__}")
    return CustomOp(name, fn)
