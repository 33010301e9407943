"""Functions that choose between the host and a device themselves: `compile(fn, device="auto")` (docs/gpu.md).

What a call gives depends on its arguments alone, never on where it ran. Where no argument lies on a device the results are what NumPy
gives, in memory of the host: the graph's results are copied into the arrays that the call would have made anyway. Where an argument lies
on a device the results do, too, wherever the graph ran.

For each set of layouts of arguments, and of where they lie, a `_Placing` says what runs the graph. The first call is captured for the
device. From the graph follows how much work it is (graph/work.c), and from the call what would have to be copied. `decide` compares the
time of both sides. Where the device is not clearly slower, some calls then run on both sides in turn, and what was measured decides.

Whatever the device refuses or cannot do runs on the host, in the same call. So do calls whose floating-point warnings somebody would see:
the device runs a second graph, the witness, which tells whether an operation may have raised a flag (frontend/run/flags.c).
"""

import _thread
import functools as _functools
import sys as _sys
import time as _time
import types as _types
import weakref as _weakref

import numpy as np

from . import _native
from ._costs import costs_of, decide
from ._device import (
    DeviceArray, DeviceFunction, _Call, _extent, _new, _on_device, _opened, _output, _stand_for, _upload, _wrapped, as_library, device, inner,
    library_of,
)
from ._errors import DeviceError, GraphBreak
from ._report import DevicePlan, Explanation, Placement

_FAILURES = 3  # of the device, after which it is not asked again
_TURNS = ("device", "host", "device", "host", "device", "host")  # runs of a trial; the first one of each compiles
_CLEAR = 8.0  # times as fast by the estimate: no trial
_MOST = 1024  # sets of layouts that a function remembers
_lock = _thread.allocate_lock()  # of trials
clock = _time.perf_counter  # tests have one of their own
_hosted = _weakref.WeakKeyDictionary()  # DeviceArray: its elements on the host, as long as nobody can change them


class _Stay(Exception):
    """The graph is not run on the device. `lasting`: nor in calls to come."""

    def __init__(self, why, lasting=False):
        super().__init__(why)
        self.why, self.lasting = why, lasting


_KINDS = ("cuda", "hip")


def find_device():
    """(The first device that there is, why there is none)."""
    reasons = []
    for name in _KINDS:
        try:
            return _opened(name), None
        except DeviceError as error:
            reasons.append(str(error))
    return None, "; ".join(reasons)


# ---- one set of layouts ----


class _Placing:
    """What runs calls with arguments of these layouts, and why."""

    def __init__(self, device, kept):
        self.device, self.kept = device, kept  # kept: bytes of arguments that lie there
        self.where = None  # "host", "device"; None: no call has told
        self.why = ""
        self.estimate = None  # of decide()
        self.witness = False
        self.turn = None  # which turn of _TURNS is next; None: there is no trial
        self.times = {"host": [], "device": []}
        self.failures = 0  # in a row

    def weigh(self, work, up, down, parts, left, witness):
        """The first call; see decide(). `witness`: the work counts a second graph, which looks for floating-point flags."""
        costs = costs_of(self.device)
        self.estimate = decide(work, up, down, parts, self.kept, left, costs)
        self.witness = witness
        there, here = self.estimate.device_s, self.estimate.host_s
        self.where = "device" if there < here else "host"
        self.why = f"estimated ({costs.source})"
        if _native.get_setting("leave_slower") and there < _CLEAR * here:
            self.turn = 0

    def next(self):
        """Where this call runs."""
        turn = self.turn
        return _TURNS[turn] if turn is not None else self.where or "device"

    def took(self, side, seconds):
        with _lock:
            turn = self.turn
            if turn is None or side != _TURNS[turn]:
                return
            if turn > 1:  # the first one of each side has compiled
                self.times[side].append(seconds)
            if turn + 1 < len(_TURNS):
                self.turn = turn + 1
                return
            self.where = min(("host", "device"), key=lambda s: min(self.times[s]))
            self.why, self.turn = "measured", None

    def stay(self, why, lasting):
        """A call was not run on the device."""
        self.failures += 1
        if lasting or self.failures >= _FAILURES:
            self.settle(why)
        elif self.where != "host":
            self.why = f"{why} (in the last call)"

    def settle(self, why):
        self.where, self.why, self.turn = "host", why, None

    def placement(self):
        measured = [min(self.times[side], default=None) for side in ("host", "device")]
        trial = self.turn is not None and self.where is not None
        return Placement(self.device.name, self.where or "host", self.why + (", a trial is under way" if trial else ""), *(self.estimate or (None,) * 8), self.witness, *measured)


# ---- the graph on the device ----


class _Runner:
    """A captured graph, which becomes a plan on the device when it is first run there."""

    def __init__(self, function, graph, fills):
        self.function, self.graph, self.fills = function, graph, fills
        self.kinds = [value.kind for value in graph.inputs]
        self.plan = None
        self.witnesses = {}

    def compile(self, graph):
        function = self.function
        return function._native.compile(graph, function._fastmath, function.__qualname__, True)

    def seen(self):
        """The plan that tells whether an operation has raised a flag of which somebody would see a warning; None: nobody would."""
        flags = _native.graph_flags(self.graph, self.function._globals)
        if not flags:
            return None
        if flags < 0:
            raise _Stay("floating-point errors are NumPy's to handle (np.errstate)")
        if flags not in self.witnesses:
            graph = _native.graph_witness(self.graph, flags)
            self.witnesses[flags] = None if graph is None else self.compile(graph)
        if self.witnesses[flags] is None:
            raise _Stay("NumPy may give a floating-point warning that the device cannot tell")
        return self.witnesses[flags]

    def weigh(self, placing, call, inputs, outputs, symbols):
        work = _native.graph_work(self.graph, symbols)
        flags = _native.graph_flags(self.graph, self.function._globals)
        witness = _native.graph_witness(self.graph, flags) if flags > 0 else None
        if witness is not None:
            more = _native.graph_work(witness, symbols)
            work = (*(a + b for a, b in zip(work[:3], more[:3], strict=True)), work[3])
        moved = [host for kind, host in zip(self.kinds, inputs, strict=True) if kind != "scalar" and call.find(host) is None]
        back = [host for host in outputs if self.fills or not host.ndim]
        left = sum(host.nbytes for host in outputs if not self.fills and host.ndim)
        parts = len(moved) + len(back) + (witness is not None)
        placing.weigh(work, sum(map(_bytes, moved)), sum(host.nbytes for host in back), parts, left, witness is not None)

    def __call__(self, inputs, outputs, symbols):
        function = self.function
        call = function._calls.now
        placing = call.placing
        call.runs += 1
        if placing.where is None:
            self.weigh(placing, call, inputs, outputs, symbols)
            if placing.next() == "host":
                raise _Stay("")
        witness = self.seen()
        if self.plan is None:
            self.plan = self.compile(self.graph)
            function._plans.append(_weakref.ref(self.plan))
        native, kept, addresses, scalars = call.native, [], [], []
        for kind, host in zip(self.kinds, inputs, strict=True):
            found = (None, 0) if kind == "scalar" else call.find(host)
            if kind == "scalar":
                scalars.append(int.from_bytes(host.tobytes(), "little"))
            elif found is None:
                found = _upload(native, host)
                kept.append(found[0])
            addresses.append(found[1])
        made = [_output(native, host) for host in outputs]
        self.plan.run(tuple(addresses), tuple(scalars), tuple(array._address for array in made), symbols)
        if witness is not None:
            self.ask(native, witness, addresses, scalars, symbols)
        if self.fills:
            for host, array in zip(outputs, made, strict=True):
                if host.nbytes:
                    native.download(array._address, _memory(host))
            return [None] * len(outputs)
        for host, array in zip(outputs, made, strict=True):
            if host.ndim:
                first = _native.place_of(host)
                call.add(first, first + host.nbytes, array._memory, array._address)
        return [None if host.ndim else np.asarray(array) for host, array in zip(outputs, made, strict=True)]

    def ask(self, native, witness, addresses, scalars, symbols):
        memory, answer = native.alloc(1), np.ones(1, np.uint8)
        witness.run(tuple(addresses), tuple(scalars), (memory.address,), symbols)
        native.download(memory.address, answer)
        if answer[0]:
            raise _Stay("NumPy gives a floating-point warning")


def _bytes(host):
    low, high = _extent(host.shape, host.strides, host.dtype.itemsize)
    return high - low


def _memory(host):
    """The bytes of an array that a graph makes, whose elements follow each other in some order."""
    return _wrapped(_native.place_of(host), host.nbytes, False)


class _Backend:
    """The backend of one side: `on_device` where results stay there (frontend/run/backend.c)."""

    def __init__(self, function, dynamic=False, on_device=True):
        self.function, self.on_device, self.fills_outputs = function, on_device, not on_device

    def __call__(self, graph, inputs):
        return _Runner(self.function, graph, self.fills_outputs)


class _Staying(DeviceFunction):
    """Calls with arguments that lie on the device: results stay there."""

    _backend = _Backend


# ---- arguments and results ----

_TENSOR = "a tensor of torch"


def _nbytes(array):
    if type(array) is DeviceArray:
        return array.nbytes
    face = array.__cuda_array_interface__
    return int(np.prod(face["shape"], dtype=np.int64)) * np.dtype(face["typestr"]).itemsize


def _is_foreign(value, native):
    """Does another library's array lie on the device, or on another one of its driver?"""
    kind = type(value)
    if kind.__module__ == "builtins":
        return False
    if getattr(value, "__cuda_array_interface__", None) is not None:
        return True
    return hasattr(kind, "__dlpack_device__") and value.__dlpack_device__()[0] == native.dlpack_type


def _look(value, key, arrays, native):
    """What of an argument the choice depends on goes to `key`, and what lies on a device to `arrays`."""
    kind = type(value)
    if kind is np.ndarray:
        key.append((value.shape, value.strides, value.dtype))
    elif kind is DeviceArray:
        key.append((value._native.name, value.shape, value.strides, value.dtype))
        arrays.append(value)
    elif kind in (tuple, list):
        key.append((kind, len(value)))
        for item in value:
            _look(item, key, arrays, native)
    elif kind is dict:
        key.append((kind, *value))
        for item in value.values():
            _look(item, key, arrays, native)
    elif str(kind.__module__).partition(".")[0] == "torch":
        key.append(_TENSOR)
    else:
        key.append(kind)
        if _is_foreign(value, native):
            key.append(tuple(value.shape))
            arrays.append(value)


def _host_arrays(value, out):
    if type(value) is np.ndarray:
        out.append(value)
    elif type(value) in (tuple, list, dict):
        for item in value.values() if type(value) is dict else value:
            _host_arrays(item, out)
    return out


def _on_host(native, value, known):
    """An argument as the host takes it. `known`: by the id of what lies on a device it and its copy, which nobody may write to."""
    kind = type(value)
    if kind in (tuple, list):
        return kind([_on_host(native, v, known) for v in value])
    if kind is dict:
        return {k: _on_host(native, v, known) for k, v in value.items()}
    if kind is np.ndarray or (kind is not DeviceArray and not _is_foreign(value, native)):
        return value
    if id(value) not in known:
        known[id(value)] = value, _copied(native, value)
    return known[id(value)][1]


def _copied(native, value):
    """A copy that is kept as long as the array, where the array's elements cannot change."""
    host = _hosted.get(value) if type(value) is DeviceArray and _is_unshared(value) else None
    if host is None:
        array = value if type(value) is DeviceArray else _on_device(native, value).array
        host = np.asarray(array)
        host.flags.writeable = False
        if type(value) is DeviceArray and _is_unshared(value):
            _hosted[value] = host
    return host


def _is_unshared(array):
    return getattr(array._memory, "shared", True) is False


def _back(native, value, known, hosts, library):
    """A result of the host as a call with arguments on the device gives it: views of `hosts`, arguments on the host, stay what they are."""
    kind = type(value)
    if kind in (tuple, list):
        return kind([_back(native, v, known, hosts, library) for v in value])
    if kind is dict:
        return {k: _back(native, v, known, hosts, library) for k, v in value.items()}
    if kind is not np.ndarray:
        return value
    for argument, host in known.values():
        if host is value:
            return argument
    if any(np.may_share_memory(value, host) for host in hosts):
        return value
    memory, address = _upload(native, value)
    return as_library(library, _new(native, memory, address, value.shape, value.strides, value.dtype))


# ---- functions ----


class _Filling:
    """Calls whose arguments all lie on the host: results do, too."""

    def __init__(self, function):
        self._native, self._fastmath, self._globals = function._native, function._fastmath, function._globals
        self.__qualname__ = function.__qualname__
        self._plans, self._calls = [], _thread._local()
        self.compiled = function._compile_host(function.__wrapped__, _Backend(self, on_device=False), function._dynamic)

    def __call__(self, placing, args, kwargs):
        call = _Call(self._native)
        call.placing = placing
        before = getattr(self._calls, "now", None)
        self._calls.now = call
        try:
            result = call.run(self.compiled, list(args), kwargs)
        finally:
            self._calls.now = before
        if not call.runs:
            placing.settle("there is nothing for a device to compute")
        return result


def _is_plain(argument):
    return type(argument) in (np.ndarray, int, float, bool, str, type(None))


def _line(error):
    return str(error).partition("\n")[0][:200]


class AutoFunction:
    """What `compile(fn, device="auto")` gives: each call runs on the host or on the device, whichever is faster."""

    def __init__(self, function, compile_plain, compile_host, fastmath, dynamic):
        _stand_for(self, function)
        self._compile_plain, self._compile_host, self._fastmath, self._dynamic = compile_plain, compile_host, fastmath, dynamic
        self._host = compile_plain()
        self._globals = inner(function).__globals__
        self._native = self._missing = None  # the device; why there is none
        self._placings = {}
        self._known = _native.DeviceCaller()  # calls that the host runs (frontend/device/caller.c)
        self._ran = self._host  # what has run the last call
        self._filling = self._staying = None

    def __call__(self, *args, **kwargs):
        if _native.is_compiling() or self._missing is not None:
            return self._host(*args, **kwargs)
        if not kwargs:
            result = self._known.on_host(args)
            if result is not NotImplemented:
                return result
        return self._called(args, kwargs)

    def _called(self, args, kwargs):
        if self._native is None:
            self._native, self._missing = find_device()
        plain = _native.get_setting("disable") or _native.get_stance() == "force_eager" or _sys.gettrace() or _sys.getprofile()
        if self._native is None:
            return self._host(*args, **kwargs)
        key, arrays, native = [], [], self._native
        for value in args:
            _look(value, key, arrays, native)
        for name, value in kwargs.items():
            key.append(name)
            _look(value, key, arrays, native)
        if plain:
            return self._here(arrays, args, kwargs)
        placing = self._placing(tuple(key), arrays)
        if placing.next() == "device":
            try:
                result = self._timed(placing, "device", self._there, placing, arrays, args, kwargs)
                placing.failures = 0
                return result
            except _Stay as stay:
                if stay.why:
                    placing.stay(stay.why, stay.lasting)
            except GraphBreak as error:
                placing.settle(f"refused: {_line(error)}")
            except DeviceError as error:
                placing.stay(f"the device failed: {_line(error)}", False)
        if placing.where == "host" and placing.turn is None and not (arrays or kwargs) and all(map(_is_plain, args)):
            self._known.remember_host(self._host, args)
        return self._timed(placing, "host", self._here, arrays, args, kwargs)

    def _placing(self, key, arrays):
        placing = self._placings.get(key)
        if placing is None:
            if len(self._placings) >= _MOST:
                self._placings.clear()
            kept = sum(_nbytes(a) for a in arrays if type(a) is DeviceArray or hasattr(a, "__cuda_array_interface__"))
            placing = _Placing(self._native, kept)
            if _TENSOR in key:
                placing.settle("tensors of torch are not placed")
            limit = _native.get_setting("recompile_limit")
            if self._dynamic is False and len(self._placings) >= limit:
                placing.settle(f"there are more than {limit} sets of layouts (config.recompile_limit)")
            self._placings[key] = placing
        return placing

    def _timed(self, placing, side, run, *args):
        if placing.turn is None and placing.where is not None:
            return run(*args)
        start = clock()
        result = run(*args)
        if side == "device":
            self._native.wait()
        placing.took(side, clock() - start)
        return result

    def _here(self, arrays, args, kwargs):
        self._ran = self._host
        if not arrays:
            return self._host(*args, **kwargs)
        native, known = self._native, {}
        hosts = _host_arrays([*args, *kwargs.values()], [])
        args = [_on_host(native, a, known) for a in args]
        kwargs = {name: _on_host(native, a, known) for name, a in kwargs.items()}
        return _back(native, self._host(*args, **kwargs), known, hosts, library_of(arrays))

    def _there(self, placing, arrays, args, kwargs):
        if not arrays:
            if self._filling is None:
                self._filling = _Filling(self)
            self._ran = self._filling.compiled
            return self._filling(placing, args, kwargs)
        if self._staying is None:
            where = device(self._native.name)
            self._staying = _Staying(self.__wrapped__, where, self._compile_host, self._fastmath, self._dynamic)
            self._staying._globals = self._globals
        result = self._staying._called(args, kwargs, placing)
        self._ran = self._staying._ran
        return result

    def _report(self):
        """Of what ran the last call."""
        return _report_of(self._ran)

    def _explain(self, args, kwargs):
        """One call of a copy of it, which says how it was placed, and then how earlier calls were."""
        copy = AutoFunction(self.__wrapped__, self._compile_plain, self._compile_host, self._fastmath, self._dynamic)
        before = _native.measure_guards(True)
        try:
            copy(*args, **kwargs)
        finally:
            _native.measure_guards(before)
        explanation = Explanation(self.__qualname__, _report_of(copy._ran))
        sides = [side for function in (copy, self) for side in (function._filling, function._staying) if side is not None]
        explanation.device_plans = [DevicePlan(side._native.name, **plan.facts()) for side in sides for ref in side._plans if (plan := ref())]
        explanation.placements = [placing.placement() for function in (copy, self) for placing in function._placings.values()]
        if copy._missing is not None:
            explanation.placements = [Placement.nowhere(f"there is no device: {copy._missing}")]
        return explanation

    def __reduce__(self):
        return self.__qualname__  # by name, as a function; a copy is the function itself

    def __get__(self, instance, owner=None):
        return self if instance is None else _types.MethodType(self, instance)

    def __repr__(self):
        return f"<frameloom function {self.__qualname__} on the host or a device>"


def _report_of(compiled):
    """What a compiled function knows of itself, whatever it is bound to."""
    while isinstance(compiled, _functools.partial):
        compiled = compiled.func
    return compiled._report()

