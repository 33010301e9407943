"""The public functions."""

import functools as _functools
import sys as _sys
import types as _types

from . import _compiled_module, _device, _native
from ._config import config
from ._custom import allow_in_graph, custom_op, disallow_in_graph, nonstrict_trace
from ._report import CompileProfiler

_OPTIONS = {"fastmath": bool, "cpu": str}
_CPUS = ("native", "x86-64-v3", "x86-64-v4")

Graph = _native.Graph
DeviceArray = _device.DeviceArray
device = _device.device
graph_break = _native.graph_break
is_compiling = _native.is_compiling
skip_frame = _native.skip_frame
reset = _native.reset


def compile(fn=None, *, fullgraph=False, dynamic=None, backend=None, options=None, disable=False, device=None):
    """Compile a Python function over NumPy arrays; a decorator with and without arguments.

    fn         a function, a method, a functools.partial, an object with a `__call__` written in Python, or a class
               (its `__call__` is compiled in place, and the class given back). Of a torch.nn.Module a module is made,
               which shares everything with `fn` but has compiled calls
    fullgraph  raise `frameloom.GraphBreak` where the function cannot be captured whole, instead of compiling it
               in parts around what has to run as plain Python (docs/graph-breaks.md)
    dynamic    sizes of arrays, and Python ints and floats: None compiles for the value and, once it changes, for
               all values; True for all values at once (sizes of 0 and 1 apart); False always for the value. See
               also `mark_dynamic` and docs/dynamic.md
    backend    "loom" (the compiler), "interpret" (the reference interpreter), "eager" (captures, checks guards, runs
               plain Python), or a callable: it gets a `frameloom.Graph` and the list of this call's inputs (read-only
               arrays), and gives what is called with the inputs of each call and returns the outputs (an array, or a
               tuple of them). None: `frameloom.config.backend`
    options    a dict: "fastmath" (bool: contraction and reassociation allowed), "cpu" ("native", "x86-64-v3",
               "x86-64-v4")
    disable    give `fn` back as it is
    device     "cuda:0" or a `frameloom.device`: calls run there, on arrays that lie there (docs/gpu.md), and the function
               has to be captured whole. "auto": each call runs on the host or on the first GPU, whichever is faster, and
               gives what it would on the host. "host": never on a device. None: the device of the
               `with frameloom.device(...)` around, else what `config.device` says, else the host

    Returns a callable that stands in for the function: same attributes, binds as a method, pickles by name.
    Raises TypeError for what is not a Python function, ValueError for an unknown backend or option.
    """
    settings = _settings(fullgraph, dynamic, backend, options, disable)
    where = _device.current() if device is None else device
    if where is None and settings["backend"] == "loom" and config.device:
        where = _default()
    if where == "host" or disable:
        where = None
    if where == "auto":
        if settings["backend"] != "loom":
            raise ValueError(f"backend {settings['backend']!r} does not run on a device")
        return _compile_auto(fn, settings) if fn is not None else lambda f: _compile_auto(f, settings)
    if where is not None:
        where = _place(where, settings)
        return _compile_there(fn, where, settings) if fn is not None else lambda f: _compile_there(f, where, settings)
    if fn is None:
        return lambda f: _compile(f, disable, settings)
    return _compile(fn, disable, settings)


def _default():
    """What `config.device` names."""
    if config.device != "auto":
        raise ValueError(f"unknown config.device {config.device!r}: use 'auto', or '' for the host")
    return "auto"


def _compile_auto(fn, settings):
    if isinstance(fn, type) or _compiled_module.is_module(fn):
        return _compile(fn, False, settings)  # no functions of arrays of NumPy
    from ._place import AutoFunction

    _function(fn, "compile")  # or TypeError

    def compile_host(function, backend, dynamic):
        return _compile(function, False, dict(settings, fullgraph=True, backend=backend, dynamic=dynamic))

    return AutoFunction(fn, lambda: _compile(fn, False, settings), compile_host, settings["fastmath"], settings["dynamic"])


def _place(where, settings):
    """The device that `where` names, for what these settings allow there."""
    if settings["backend"] != "loom":
        raise ValueError(f"backend {settings['backend']!r} does not run on a device")
    return where if isinstance(where, _device.device) else _device.device(where)


def _compile_there(fn, where, settings):
    if isinstance(fn, type) or _compiled_module.is_module(fn):
        raise TypeError(f"frameloom.compile expects a Python function for a device, not {type(fn).__name__}")
    _function(fn, "compile")  # or TypeError
    host = dict(settings, fullgraph=True)

    def compile_host(function, backend, dynamic):
        return _compile(function, False, dict(host, backend=backend, dynamic=dynamic))

    return _device.DeviceFunction(fn, where, compile_host, settings["fastmath"], settings["dynamic"])


def _settings(fullgraph, dynamic, backend, options, disable):
    for name, value in (("fullgraph", fullgraph), ("disable", disable)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"dynamic must be None or a bool, not {type(dynamic).__name__}")
    if backend is None:
        backend = config.backend
    if not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a str or a callable, not {type(backend).__name__}")
    if isinstance(backend, str) and backend not in ("loom", "interpret", "eager"):
        raise ValueError(f"unknown backend {backend!r}: use 'loom', 'interpret', 'eager' or a callable")
    settings = {"backend": backend, "fullgraph": fullgraph, "dynamic": dynamic,
                "fastmath": config.fastmath, "cpu": config.cpu}
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"options must be a dict, not {type(options).__name__}")
    for name, value in (options or {}).items():
        if name not in _OPTIONS:
            raise ValueError(f"unknown option {name!r}: known are {', '.join(_OPTIONS)}")
        if not isinstance(value, _OPTIONS[name]):
            raise TypeError(f"option {name!r} must be a {_OPTIONS[name].__name__}, not {type(value).__name__}")
        settings[name] = value
    if settings["cpu"] not in _CPUS:
        raise ValueError(f"unknown cpu {settings['cpu']!r}: use {', '.join(_CPUS)}")
    return settings


def _function(fn, what):
    """The plain function in `fn`, and how to wrap what is made of it."""
    if isinstance(fn, _native.Callable):
        return fn.__wrapped__, lambda made: made
    if isinstance(fn, _types.FunctionType):
        return fn, lambda made: made
    if isinstance(fn, _types.MethodType):
        function, wrap = _function(fn.__func__, what)
        return function, lambda made: _types.MethodType(wrap(made), fn.__self__)
    if isinstance(fn, (staticmethod, classmethod)):
        function, wrap = _function(fn.__func__, what)
        return function, lambda made: type(fn)(wrap(made))
    if isinstance(fn, _functools.partial):
        function, wrap = _function(fn.func, what)
        return function, lambda made: type(fn)(wrap(made), *fn.args, **fn.keywords)
    call = None if isinstance(fn, type) else _call_method(type(fn))
    if call is not None:  # an object with a __call__ of its own: its bound method
        function, wrap = _function(call, what)
        return function, lambda made: wrap(made).__get__(fn, type(fn))
    kind = f"class {fn.__name__}" if isinstance(fn, type) else type(fn).__name__
    raise TypeError(f"frameloom.{what} expects a Python function, not {kind}")


def _call_method(cls):
    """`__call__` of a class where it is written in Python, else None."""
    call = next((vars(c)["__call__"] for c in cls.__mro__ if "__call__" in vars(c)), None)
    return call if isinstance(call, (_types.FunctionType, _native.Callable, staticmethod, classmethod)) else None


def _change_class(cls, names, make, what):
    """Puts what `make` makes of them in place of methods of the class itself. True when there were any."""
    changed = False
    for name in names:
        method = vars(cls).get(name, _call_method(cls) if name == "__call__" else None)
        if isinstance(method, (_types.FunctionType, _native.Callable, staticmethod, classmethod)):
            function, wrap = _function(method, what)
            setattr(cls, name, wrap(make(function)))
            changed = True
    return changed


def _compile(fn, disable, settings):
    if isinstance(fn, type) and _call_method(fn) is not None:
        if not disable:
            _change_class(fn, ["__call__"], lambda f: _native.Callable(f, **settings), "compile")
        return fn
    fn = _compiled_module.original(fn)
    function, wrap = _function(fn, "compile")
    if disable:
        return fn
    made = wrap(_native.Callable(function, **settings))
    if not _compiled_module.is_module(fn):
        return made
    forward = fn.forward
    if isinstance(forward, _types.MethodType) and isinstance(forward.__func__, _types.FunctionType):
        forward = _types.MethodType(_native.Callable(forward.__func__, **settings), fn)
    return _compiled_module.compiled_module(fn, made, forward)


def disable(fn=None, recursive=True, *, reason=None):
    """A function that always runs as plain Python; a decorator with and without arguments.

    fn         a function, a method, or a class (its `__init__` and `__call__`)
    recursive  also everything that it calls; False: only the function itself, while compiled functions that it calls
               run as always
    reason     a str that is shown where a compiled function calls it, which is a graph break (FL0020)

    Raises TypeError for what is not a Python function.
    """
    if reason is not None and not isinstance(reason, str):
        raise TypeError(f"reason must be a str, not {type(reason).__name__}")
    if fn is None:
        return lambda f: disable(f, recursive, reason=reason)
    role = "disable" if recursive else "skip"

    def make(function):
        words = f"{function.__qualname__}(): {reason}" if reason else f"{function.__qualname__}()"
        return _native.Callable(function, role=role, reason=words)

    if isinstance(fn, type):
        if not _change_class(fn, ["__init__", "__call__"], make, "disable"):
            raise TypeError(f"frameloom.disable: class {fn.__name__} has no __init__ or __call__ written in Python")
        return fn
    function, wrap = _function(fn, "disable")
    return wrap(make(function))


def run(fn):
    """A function that calls `fn` and uses what was compiled before, for it and all that it calls, but compiles nothing.

    Calls that no compiled version fits run as plain Python. `fn` is a compiled function, or a plain one that calls
    compiled ones. Raises TypeError for what is not a Python function.
    """
    if isinstance(fn, _types.MethodType):
        return _types.MethodType(run(fn.__func__), fn.__self__)
    function, _ = _function(fn, "run")
    return _native.Callable(function, role="run", target=fn)


class set_stance:
    """Choose what calls of compiled functions do, in the whole process:

    "default"             run a version that fits, or compile one
    "force_eager"         run every function as plain Python
    "eager_on_recompile"  run a version that fits; where there is none, run plain Python and compile nothing
    "fail_on_recompile"   run a version that fits; where there is none, raise `frameloom.RecompileError`

    `set_stance(name)` holds until the next call, `with set_stance(name):` for a block, and as a decorator for each
    call of a function. Raises ValueError for an unknown name.
    """

    def __init__(self, stance="default"):
        self.stance, self._before = stance, _native.get_stance()
        _native.set_stance(stance)

    def __call__(self, fn):
        """As a decorator: the stance holds for calls of the function only."""
        if not callable(fn):
            raise TypeError(f"frameloom.set_stance decorates functions, not {type(fn).__name__}")
        _native.set_stance(self._before)

        @_functools.wraps(fn)
        def call(*args, **kwargs):
            with set_stance(self.stance):
                return fn(*args, **kwargs)

        return call

    def __enter__(self):
        _native.set_stance(self.stance)

    def __exit__(self, *exception):
        _native.set_stance(self._before)

    def __repr__(self):
        return f"frameloom.set_stance({self.stance!r})"


def mark_dynamic(array, axis, *, min=None, max=None):
    """Say that sizes of an array change from call to call, before it is first given to a compiled function.

    array     a NumPy array or a tensor of torch; the mark belongs to this object
    axis      the dimension, or a sequence of them
    min, max  smallest and largest size to compile for (at least 2, and no limit); other sizes are compiled apart

    The first capture then compiles for all these sizes at once, where it would otherwise compile for the size that it
    sees and again when another one comes. Functions compiled with `dynamic=False` take no notice.
    Raises TypeError for what is not an array, ValueError for an axis or a range that it does not have.
    """
    least, largest = 2 if min is None else min, 2**62 if max is None else max
    for name, value in (("min", least), ("max", largest)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if least > largest:
        raise ValueError(f"min {least} is greater than max {largest}")
    for number in _axes(array, axis):
        _native.mark(array, number, (least if least > 2 else 2, largest if largest < 2**62 else 2**62))


def mark_static(array, axis=None):
    """Say that sizes of an array (None: all) do not change: they are compiled as constants, and compiled again if they do."""
    for number in _axes(array, range(getattr(array, "ndim", 0)) if axis is None else axis):
        _native.mark(array, number, None)


def _axes(array, axis):
    import numpy

    torch = _sys.modules.get("torch")
    tensors = () if torch is None else (torch.Tensor, torch.nn.Parameter)
    if type(array) is not numpy.ndarray and type(array) not in tensors:
        raise TypeError(f"array must be a NumPy array or a tensor, not {type(array).__name__}")
    axes = [axis] if isinstance(axis, int) else list(axis)
    for number in axes:
        if not isinstance(number, int) or not -array.ndim <= number < array.ndim:
            raise ValueError(f"axis {number!r} is none of an array of {array.ndim} dimensions")
    return [number % array.ndim for number in axes]


def set_logs(*names, **flags):
    """Choose what is logged to stderr: `set_logs("breaks", "guards")` or `set_logs(breaks=True)`; nothing: no logs.

    graph         each captured graph, as MLIR text       graph_code    the same in the manner of Python
    bytecode      what is captured                        guards        what has to hold, and which line wants it
    recompiles    which guard failed, and what to do      breaks        what is not captured, and why
    dynamic       sizes that become symbols; loops        side_effects  what is changed after a run
    host_calls    functions of the library in a plan      kernels       how many, of what
    schedule      fused groups with their schedule        cache         what came from the disk
    time          of each phase                           all           all of them

    The environment variable FRAMELOOM_LOGS does the same, with commas between names.
    """
    names = list(names) + [name for name, on in flags.items() if on]
    config.logs = ",".join(names)


def compile_times(repr="str", aggregate=False):
    """Milliseconds of each phase (capture, load, import, passes, lower, emit, total) of each compilation in this process.

    repr       "str": a table as text; "csv": (header, rows) as torch's, times joined by commas
    aggregate  sums, not single times

    Raises ValueError for another `repr`.
    """
    from ._report import compile_times

    return compile_times(repr, aggregate)


def explain(fn, /, *args, **kwargs):
    """Run `fn(*args, **kwargs)` once, effects included, and report how it was compiled.

    The generator that a generator function gives is run to its end, or for 1,000 values.

    Gives an object with graphs, breaks with reasons and places, guards with sources, lines and costs, loops, recompiles
    and times; it prints, and `.json()` writes it. The function is compiled anew for it: `fn`'s own versions stay as they
    are; that some were left to Python (FL0024, FL0025) is told. An exception of the function is raised. Raises TypeError for what is not a Python function.
    """
    from ._report import explain_call

    while isinstance(fn, _functools.partial):
        fn, args, kwargs = fn.func, (*fn.args, *args), {**fn.keywords, **kwargs}
    if hasattr(type(fn), "_explain"):  # on a device, or on the faster side
        return fn._explain(args, kwargs)
    if not isinstance(fn, (type, _types.FunctionType, _types.MethodType, _native.Callable, staticmethod, classmethod)):
        fn = getattr(fn, "__call__", fn)  # the bound method of an object
    function, _ = _function(fn, "explain")
    if isinstance(fn, _types.MethodType):
        args = (fn.__self__, *args)
    compiled = fn if isinstance(fn, _native.Callable) else getattr(fn, "__func__", None)
    settings = compiled._options() if isinstance(compiled, _native.Callable) else _settings(False, None, None, None, False)
    settings["fullgraph"] = False
    explanation = explain_call(_native.Callable(function, **settings), args, kwargs)
    if isinstance(compiled, _native.Callable):
        explanation.add_left(compiled._report())
    return explanation
