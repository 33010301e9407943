"""Functions and arrays on devices (docs/gpu.md).

A function for a device is captured as one for the host: in place of an array on the device it is called with a NumPy array of
the same dtype, sizes and strides, whose elements nobody reads and which takes no memory (frontend/device/standin.c). Its backend finds the device's memory by the addresses of these
arrays, runs the graph there, and leaves the buffers of results as they are: they only say, again by their addresses, what lies
where in the result. So nothing may run the function as plain Python, and nothing but arrays may come out of it; both are errors.
"""

import _thread
import contextvars as _contextvars
import sys as _sys
import types as _types
import weakref as _weakref

import numpy as np

from . import _native
from ._errors import DeviceError

_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # codes of DLPack
_LEGACY = 1
_current = _contextvars.ContextVar("frameloom.device", default=None)
_open = {}


def _opened(name):
    name = f"{name}:0" if name in ("cuda", "hip") else name
    if name not in _open:
        if not _open:
            import atexit

            atexit.register(_tell_late)
        _open[name] = _native.open_device(name)
    return _open[name]


def watch(name):
    """What kernels on this device have reported by the end of the process is told, if nobody else has told it."""
    try:
        _opened(name)
    except DeviceError:  # who uses it tells so
        pass


def _tell_late():
    for native in _open.values():
        try:
            native.wait()
        except IndexError as error:
            print(f"frameloom: at the end of the process: {error}", file=_sys.stderr)
        except DeviceError:  # as in a forked process
            pass


class device:
    """A GPU, by its name: "cuda" or "cuda:0", "cuda:1", ... (NVIDIA), "hip" or "hip:0", "hip:1", ... (AMD).

    As a context manager it is the device of functions that are compiled in it (`compile` without `device`).
    Raises `DeviceError` where the driver is missing or too old, or there is no such device.
    """

    def __init__(self, name="cuda"):
        if not isinstance(name, str):
            raise TypeError(f"the name of a device must be a str, not {type(name).__name__}")
        self._native = _opened(name)
        self._tokens = []

    @property
    def name(self):
        """"cuda:0"."""
        return self._native.name

    @property
    def architecture(self):
        """"sm_90", "gfx90a"."""
        return self._native.architecture

    def array(self, values):
        """A copy of an array or of what NumPy makes one of, on this device: a `DeviceArray`."""
        host = np.ascontiguousarray(values).reshape(np.shape(values))
        made = _empty(self._native, host.shape, _dtype_of(host.dtype))
        if host.nbytes:
            self._native.upload(made._address, host.reshape(-1).view(np.uint8))
        return made

    def synchronize(self):
        """Waits for all work that was ordered on this device."""
        self._native.wait()

    def __enter__(self):
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *exception):
        _current.reset(self._tokens.pop())

    def __repr__(self):
        return f"frameloom.device({self.name!r})"

    def __eq__(self, other):
        return isinstance(other, device) and other._native is self._native

    def __hash__(self):
        return hash(self.name)


def current():
    """The device of the innermost `with frameloom.device(...)`, or None."""
    return _current.get()


class DeviceArray(_native.DeviceArrayFields):
    """An array on a device: what a function on a device gives, and `device.array` makes.

    It has no operations of its own. Functions that are compiled for its device take it, `numpy.asarray` copies it to the host
    (and waits for its elements), and CuPy, torch and others take it without a copy, by `__cuda_array_interface__` or DLPack.
    """

    __slots__ = ()

    def __init__(self, *unused):
        raise TypeError("frameloom.device(...).array makes arrays on a device")

    @property
    def device(self):
        """"cuda:0"."""
        return self._native.name

    @property
    def ndim(self):
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self):
        """How many elements it has."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self):
        """How many bytes its elements take."""
        return self.size * self.dtype.itemsize

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __repr__(self):
        return f"<frameloom array on {self.device}: {self.dtype}{list(self.shape)}>"

    def to(self, where):
        """The array on another device, a `frameloom.device` or its name, with the same strides: a copy, or this one where it lies there.

        Between devices of one driver the driver copies, and nobody waits; between CUDA's and HIP's it goes by way of the host.
        """
        native = (where if isinstance(where, device) else device(where))._native
        return self if native is self._native else _moved(native, self)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an array on a device cannot be had on the host without a copy")
        low, high = _extent(self.shape, self.strides, self.dtype.itemsize)
        block = np.empty(high - low, np.uint8)
        if block.size:
            self._native.download(self._address + low, block)
        host = np.ndarray(self.shape, self.dtype, block, -low, self.strides)
        return host if dtype is None else host.astype(dtype, copy=False)

    @property
    def __cuda_array_interface__(self):
        _share(self._memory)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self._address if self.size else 0, False),
                "strides": None if _is_contiguous(self) else self.strides, "version": 3, "stream": self._native.stream}

    def __dlpack_device__(self):
        return self._native.dlpack_type, self._native.number

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"an array on {self.device} is given to that device alone")
        if copy:
            raise BufferError("an array on a device is given without a copy")
        stream = _stream_of(self._native, stream)
        _share(self._memory)
        if stream != -1:
            self._native.before(stream)
        strides = tuple(s // self.dtype.itemsize for s in self.strides)
        code, bits = _KINDS[self.dtype.kind], 8 * self.dtype.itemsize
        return self._native.dlpack(self, self._address, self.shape, strides, code, bits)


def _share(memory):
    """Others may order work on it from now on. What is another library's is its owner's to keep."""
    if type(memory) is _native.DeviceMemory:
        memory.share()


def _stream_of(native, stream):
    """The stream of a call of `__dlpack__`, by the number that devices take."""
    if stream is None:
        return _LEGACY
    if native.kind == "hip":  # the array API has 0 there for the default stream, and neither 1 nor 2
        if stream in (1, 2):
            raise ValueError(f"stream {stream} is none of ROCm's: 0 is the default stream")
        return stream or _LEGACY
    if stream == 0:
        raise ValueError("stream 0 is ambiguous: 1 is the legacy default stream, 2 that of the thread")
    return stream


DeviceArray.__module__ = device.__module__ = "frameloom"


_native.set_device_array(DeviceArray)
_new = _native.device_array  # (native, memory, address, shape, strides, dtype)


def _strides(shape, itemsize):
    strides = []
    for length in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(length, 1)
    return tuple(reversed(strides))


def _empty(native, shape, dtype):
    strides = _strides(shape, dtype.itemsize)
    memory = native.alloc(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
    return _new(native, memory, memory.address, shape, strides, dtype)


def _moved(native, array):
    """A copy of an array of another device, with the same strides."""
    low, high = _extent(array.shape, array.strides, array.dtype.itemsize)
    memory = native.alloc(high - low)
    if native.kind == array._native.kind:
        native.copy(memory.address, array._native, array._address + low, high - low)
    elif high > low:
        block = np.empty(high - low, np.uint8)
        array._native.download(array._address + low, block)
        native.upload(memory.address, block)
    return _new(native, memory, memory.address - low, array.shape, array.strides, array.dtype)


def _is_contiguous(array):
    return array.size < 2 or array.strides == _strides(array.shape, array.dtype.itemsize)


def _extent(shape, strides, itemsize):
    """The first byte and the one behind the last, from the first element."""
    if 0 in shape:
        return 0, 0
    reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + itemsize


def _dtype_of(typestr):
    dtype = np.dtype(typestr)
    if dtype.kind not in _KINDS or not dtype.isnative or dtype.itemsize > 16:
        raise TypeError(f"arrays of {dtype} cannot be on a device")
    return dtype


# ---- arrays of others ----


class _Foreign:
    """An array that a call gets, and what its memory's order is: `native` is the device whose stream and the other one wait for each other."""

    __slots__ = ("array", "native", "stream", "waits")

    def __init__(self, array, stream, waits):
        self.array, self.native, self.stream, self.waits = array, array._native, stream, waits  # waits: nobody knows when it is reused


def _from_interface(native, source, face):
    if face.get("mask") is not None:
        raise TypeError("masked arrays cannot be on a device")
    dtype, shape = _dtype_of(face["typestr"]), tuple(face["shape"])
    strides = face.get("strides")
    strides = _strides(shape, dtype.itemsize) if strides is None else tuple(strides)
    named = face.get("version", 0) >= 3
    stream = face.get("stream") if named else _stream_of_torch(source)
    if stream == 0:
        raise ValueError("__cuda_array_interface__: stream 0 is ambiguous")
    waits = stream is None
    if stream is None and not named:
        stream = _LEGACY
    array = _new(native, source, face["data"][0], shape, strides, dtype)
    return _Foreign(array, stream, waits)


def _stream_of_torch(source):
    """torch's current stream of a tensor's device, which its interface does not name. None: it is no tensor of torch's."""
    torch = _sys.modules.get("torch")
    if torch is None or not isinstance(source, torch.Tensor):
        return None
    return torch.cuda.current_stream(source.device).cuda_stream or _LEGACY


def _from_dlpack(native, source):
    """The producer makes our stream of the array's device wait for what it has ordered."""
    native = _opened(f"{native.kind}:{source.__dlpack_device__()[1]}")
    capsule = source.__dlpack__(stream=native.stream)
    owner, _, _, address, shape, strides, code, bits = _native.read_dlpack(capsule)
    kind = next((k for k, c in _KINDS.items() if c == code), None)
    if kind is None:
        raise TypeError(f"DLPack's type {code} of {bits} bits cannot be on a device")
    dtype = _dtype_of(f"{kind}{bits // 8}")
    strides = _strides(shape, dtype.itemsize) if strides is None else tuple(s * dtype.itemsize for s in strides)
    return _Foreign(_new(native, owner, address, shape, strides, dtype), None, True)


def _on_device(native, value):
    """A _Foreign for what lies on a device; None for all else. Its array is on this device: what lies on another is copied."""
    kind = type(value)
    if kind is DeviceArray:
        return _Foreign(value if value._native is native else _moved(native, value), None, False)
    if kind is np.ndarray or kind.__module__ == "builtins":
        return None
    face = getattr(value, "__cuda_array_interface__", None)
    if face is not None:
        made = _from_interface(native, value, face)
    elif hasattr(kind, "__dlpack_device__") and value.__dlpack_device__()[0] == native.dlpack_type:
        made = _from_dlpack(native, value)
    else:
        return None
    if made.array.size:
        number = native.owner(made.array._address)
        if number != native.number:
            there, array = _opened(f"{native.kind}:{number}"), made.array
            made.native, made.array = there, _new(there, array._memory, array._address, array.shape, array.strides, array.dtype)
    if made.stream is not None and made.stream != made.native.stream:
        made.native.after(made.stream)
    if made.native is not native:
        made.array = _moved(native, made.array)
    return made


def library_of(values):
    """CuPy, where one of these is an array of its own: what a call makes of it is CuPy's, too. None: it is a DeviceArray."""
    cupy = _sys.modules.get("cupy")
    own = getattr(cupy, "ndarray", None)
    return cupy if own is not None and any(type(v) is own for v in values) else None


def as_library(library, array):
    """The array as the library's own, in the same memory. The library's current stream waits for its elements."""
    return array if library is None else library.from_dlpack(array)


# ---- functions ----


class _Call(_native.DeviceCall):
    """One call: which addresses of the host stand for which of the device (frontend/device/call.c)."""

    def __init__(self, native):
        self.standins = {}  # id of the argument: (argument, array that stands for it, what a result is that is the argument)
        self.placed = {}  # by the id of a stand-in: what _remember() takes of it
        self.foreign = []
        self.key = []  # what has a version of its own
        self.used = 0  # bytes of the host's memory for stand-ins (frontend/device/standin.c)

    def argument(self, value):
        kind = type(value)
        if kind is DeviceArray and value._native is self.native:
            known = self.standins.get(id(value))
            return known[1] if known else self.stand_in(value, value, value)
        if kind in (tuple, list):
            self.key.append((kind, len(value)))
            return kind([self.argument(v) for v in value])
        if kind is dict:
            self.key.append((kind, len(value)))
            return {k: self.argument(v) for k, v in value.items()}
        if id(value) in self.standins:
            return self.standins[id(value)][1]
        found = _on_device(self.native, value)
        if found is None:
            if kind is np.ndarray:
                self.key.append((value.shape, value.strides, value.dtype))
            else:
                self.key.append((kind, value) if kind in (int, bool) else kind)
            return value
        self.foreign.append(found)
        return self.stand_in(value, found.array, found.array if kind is DeviceArray or found.native is not self.native else value)

    def stand_in(self, value, array, same):
        """A host's array for an argument whose memory is that of `array`; `same`: a result that is the argument."""
        shape, strides, dtype = array.shape, array.strides, array.dtype
        self.key.append((shape, strides, dtype))
        made = _native.stand_in(shape, strides, dtype, self.used)
        if made is None:  # more than it has room for
            low, high = _extent(shape, strides, dtype.itemsize)
            block = np.zeros(high - low, np.uint8)  # no page of it is ever touched
            stand, first = np.ndarray(shape, dtype, block, -low, strides), _native.place_of(block)
            stand.flags.writeable = False
            end = first + block.size
        else:
            stand, low, first, used = made
            end = first + used - self.used
            self.used = used
        self.standins[id(value)] = value, stand, same
        self.add(first, end, array._memory, array._address + low)
        self.placed[id(stand)] = stand, first, end, low
        return stand

    def results(self, value):
        """What the function gives for what it gave of the arrays that stand for arguments."""
        return self.result(value, library_of(given for given, _, _ in self.standins.values()))

    def result(self, value, library):
        kind = type(value)
        if kind is np.ndarray:
            for given, stand, argument in self.standins.values():
                if stand is value:
                    return argument if argument is given else as_library(library, argument)
            found = self.find(value)
            if found is not None:
                return as_library(library, _new(self.native, *found, value.shape, value.strides, value.dtype))
            return value if value.size else as_library(library, _empty(self.native, value.shape, value.dtype))
        if kind in (tuple, list):
            return kind([self.result(v, library) for v in value])
        if kind is dict:
            return {k: self.result(v, library) for k, v in value.items()}
        if value is None or kind in (bool, int, float, complex, str, bytes) or isinstance(value, (np.generic, np.dtype)):
            return value
        raise DeviceError(f"a function on a device gives arrays and numbers, and tuples, lists and dicts of them, not {kind.__name__}")


def _upload(native, host):
    """A host's array on the device, with the same strides: (what keeps it alive, its address)."""
    low, high = _extent(host.shape, host.strides, host.dtype.itemsize)
    memory = native.alloc(high - low)
    if high > low:
        native.upload(memory.address, _wrapped(_native.place_of(host) + low, high - low, True))
    return memory, memory.address - low


def _wrapped(first, size, read_only):
    """Bytes of the host as an array; whose they are has to keep them."""
    face = {"data": (first, read_only), "shape": (size,), "typestr": "|u1", "version": 3}
    return np.asarray(_types.SimpleNamespace(__array_interface__=face))


class _NoForm(DeviceError):
    """There is no code for symbolic sizes."""


class _Backend:
    """The backend of a function on a device (frontend/run/backend.c)."""

    on_device = True

    def __init__(self, function, dynamic=False):
        self.function, self.dynamic = function, dynamic

    def __call__(self, graph, inputs):
        function = self.function
        try:
            plan = function._native.compile(graph, function._fastmath, function.__qualname__)
        except DeviceError as error:
            if self.dynamic:
                raise _NoForm(str(error)) from None
            raise
        function._plans.append(_weakref.ref(plan))
        return _native.DeviceRunner(plan, tuple(value.kind == "scalar" for value in graph.inputs))


def _output(native, host):
    memory = native.alloc(host.nbytes)
    return _new(native, memory, memory.address, host.shape, host.strides, host.dtype)


def _sort(key):
    """What of a _Call's key a version of symbolic sizes depends on."""
    if type(key) is not tuple:
        return key
    if len(key) == 2:
        return int if key[0] is int else key
    shape, strides, dtype = key
    plain = 0 in shape or strides == _strides(shape, dtype.itemsize)
    return (tuple(min(length, 2) for length in shape), dtype) if plain else key


def inner(function):
    """The plain function in a method, a partial, an object with a `__call__`, or something compiled."""
    while not isinstance(function, _types.FunctionType):
        inside = next((getattr(function, name) for name in ("__func__", "func", "__wrapped__") if hasattr(function, name)), None)
        function = type(function).__call__ if inside is None else inside
    return function


def _stand_for(made, function):
    """A function's attributes for what stands in for it."""
    made.__wrapped__ = function
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(made, name, getattr(function, name, None) or getattr(inner(function), name, None))


def _is_simple(argument):
    return type(argument) in (DeviceArray, int, float, bool, str, type(None))


class DeviceFunction(_native.DeviceCaller):
    """What `compile(fn, device=...)` gives: calls run on the device."""

    _backend = _Backend

    def __init__(self, function, where, compile_host, fastmath, dynamic):
        _stand_for(self, function)
        self._device, self._native = where, where._native
        self._fastmath = fastmath
        self._compile_host, self._dynamic = compile_host, dynamic
        self._versions = {}
        self._shared = {}  # of symbolic sizes; None: these have no form
        self._plans = []
        self._calls = _thread._local()
        if self._backend is _Backend:
            self._open_calls(where._native)

    def _version(self, call):
        """A function for each set of layouts, whose kernels know all sizes. With `dynamic=True`, and beyond `config.recompile_limit` of them
        unless `dynamic=False`, one for all sizes of a sort of arguments."""
        key = tuple(call.key)
        version = self._versions.get(key)
        if version is None:
            sort = tuple(map(_sort, key))
            many = len(self._versions) >= _native.get_setting("recompile_limit")
            if self._dynamic or (self._dynamic is None and many and self._shared.get(sort, self) is not None):
                if sort not in self._shared:
                    self._shared[sort] = self._compile_host(self.__wrapped__, self._backend(self, True), True)
                return self._shared[sort]
            version = self._versions[key] = self._compile_host(self.__wrapped__, self._backend(self), self._dynamic and None)
        return version

    def _run(self, call, args, kwargs):
        self._ran = self._version(call)
        try:
            return call.run(self._ran, args, kwargs)
        except _NoForm:
            if self._dynamic:
                raise
            self._shared[tuple(map(_sort, call.key))] = None
            self._ran = self._version(call)
            return call.run(self._ran, args, kwargs)

    def _call(self, *args, **kwargs):
        """A call that is not like one of the last ones (frontend/device/caller.c)."""
        if _native.get_setting("disable") or _native.get_stance() == "force_eager":
            raise DeviceError(f"{self.__qualname__}: a function on a device cannot be run as plain Python")
        return self._called(args, kwargs, None)

    def _called(self, args, kwargs, placing):
        """`placing`: what _place.py has to know of the call."""
        call = _Call(self._native)
        call.placing, given = placing, args
        args = [call.argument(a) for a in args]
        kwargs = {name: call.argument(a) for name, a in kwargs.items()}
        before = getattr(self._calls, "now", None)
        self._calls.now = call
        try:
            result = self._run(call, args, kwargs)
        finally:
            self._calls.now = before
            self._give_back(call)
        if call.runs != 1:
            raise DeviceError(f"{self.__qualname__}: a function on a device has to be compiled whole, and this call ran as plain Python")
        if not (kwargs or call.foreign or placing) and self._versions.get(tuple(call.key)) is self._ran and all(map(_is_simple, given)):
            self._remember(self._ran, given, tuple(call.placed.get(id(a)) for a in args))
        return call.results(result)

    def _explain(self, args, kwargs):
        """One call of a copy of it, and what that and earlier calls ordered on the device."""
        from ._report import DevicePlan, Explanation

        copy = DeviceFunction(self.__wrapped__, self._device, self._compile_host, self._fastmath, self._dynamic)
        copy(*args, **kwargs)
        (version,) = (copy._versions or copy._shared).values()
        explanation = Explanation(self.__qualname__, version._report())
        explanation.device_plans = [DevicePlan(self._device.name, **plan.facts()) for ref in copy._plans + self._plans if (plan := ref())]
        return explanation

    def _give_back(self, call):
        """What others have lent may be used again when the work on it is done."""
        for found in call.foreign:
            if found.stream is not None and not found.waits:
                found.native.before(found.stream)
        for native in {found.native for found in call.foreign if found.waits}:
            native.wait()

    def __reduce__(self):
        return self.__qualname__  # by name, as a function; a copy is the function itself

    def __get__(self, instance, owner=None):
        return self if instance is None else _types.MethodType(self, instance)

    def __repr__(self):
        return f"<frameloom function {self.__qualname__} on {self._device.name}>"
