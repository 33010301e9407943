"""Tensors on "cuda" for a torch without CUDA, over the driver of the tests (test/runtime/nullcuda.c, nulltorch.c).

They are what torch has for CUDA: their device, dispatch keys, views, autograd and versions are torch's own. Only the kernels
are not: an operation reads its operands' memory on the stream that is torch's current one, is computed by torch on the CPU,
and is written back. That memory faults where the host touches it, and work on another stream runs as late as it may.
"""

import ctypes
import functools
import os
import pathlib
import threading
import types

import torch
from torch._C import DispatchKey, DispatchKeySet

FOLDER = pathlib.Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve() / "lib"
if not (FOLDER / "libnulltorch.so").exists() or torch.version.cuda or not torch.__version__.startswith("2.13."):
    raise ModuleNotFoundError("cuda_tensors needs libnulltorch.so and torch 2.13 without CUDA")
os.environ["FRAMELOOM_CUDA_DRIVER"] = str(FOLDER / "libnullcuda.so")
driver = ctypes.CDLL(str(FOLDER / "libnullcuda.so"))
for _name in ("loom_nullgpu_live", "loom_nullgpu_calls", "loom_nullgpu_pending", "loom_nullgpu_peak"):
    getattr(driver, _name).restype = ctypes.c_long
_null = ctypes.CDLL(str(FOLDER / "libnulltorch.so"), mode=ctypes.RTLD_GLOBAL)
_null.loom_nulltorch_new.restype = ctypes.c_void_p
_null.loom_nulltorch_live.restype = ctypes.c_long
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
aten = torch.ops.aten
_CPU = DispatchKeySet(DispatchKey.CPU)
# DLPack's codes of dtypes, by what torch says of them.
_OTHERS = {torch.bool: (6, 8), torch.bfloat16: (4, 16)}
_VIEWS = {
    aten.as_strided.default, aten.view.default, aten._reshape_alias.default, aten.unfold.default, aten.view_as_real.default,
    aten.view_as_complex.default, aten.set_.source_Storage_storage_offset, aten.alias.default,
}
# Kernels for all devices that ask for one of the device's.
_ASKING = {aten.copy_.default, aten.convolution.default, aten.convolution_backward.default}
eager_calls = []  # the names of operations that torch has run on the device


def _code(dtype):
    if dtype in _OTHERS:
        return _OTHERS[dtype]
    bits = 8 * dtype.itemsize
    return (5 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype.is_signed else 1), bits


def _good(status):
    if status:
        raise RuntimeError(f"the driver of the tests has failed: {status}")


def _index(device):
    return 0 if device.index is None else device.index


def _empty(sizes, strides, dtype, device):
    """A tensor of new memory, which is NaNs."""
    reach = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides))
    numbers = [(ctypes.c_int64 * max(len(n), 1))(*n) for n in (sizes, strides)]
    made = _null.loom_nulltorch_new(_index(device), *_code(dtype), len(sizes), *numbers, ctypes.c_size_t(reach * dtype.itemsize))
    if not made:
        raise RuntimeError("the driver of the tests has no memory")
    with torch._C._DisableTorchDispatch(), torch._C._AutoDispatchBelowAutograd():
        return torch._C._from_dlpack(_capsule(made, b"dltensor", None))


def _bytes_of(t):
    return ctypes.c_size_t(t.untyped_storage().nbytes())


def _address(t):
    return ctypes.c_uint64(t.untyped_storage().data_ptr())


class _Call:
    """The operands of one operation on the CPU. Those of one storage share one there, too."""

    def __init__(self):
        self.storages, self.made, self.device = {}, [], None

    def to_cpu(self, t):
        if t.device.type != "cuda":
            return t
        self.device = t.device
        key = t.untyped_storage().data_ptr() if t.numel() else id(t)
        kept = self.storages.get(key)
        if kept is None:
            size = t.untyped_storage().nbytes()
            block = torch.empty(size, dtype=torch.uint8)
            if size:
                _good(_null.loom_nulltorch_read(_index(t.device), ctypes.c_void_p(block.data_ptr()), _address(t), ctypes.c_size_t(size)))
            kept = self.storages[key] = (t, block)
        out = torch.empty(0, dtype=t.dtype).set_(kept[1].untyped_storage(), t.storage_offset(), t.size(), t.stride())
        out = out.conj() if t.is_conj() else out
        out = torch._neg_view(out) if t.is_neg() else out
        self.made.append((t, out))
        return out

    def write_back(self, t):
        if t.device.type != "cuda":
            return
        out = next(out for given, out in self.made if given is t)
        if out.shape != t.shape:
            made = _to_cuda(out, t.device)
            aten.set_.source_Storage_storage_offset.redispatch(_CPU, t, made.untyped_storage(), 0, made.shape, made.stride())
        elif not t.numel():
            return
        kept = self.storages.get(t.untyped_storage().data_ptr())
        if kept and kept[1].numel():
            block = kept[1]
            _good(_null.loom_nulltorch_write(_index(t.device), _address(t), ctypes.c_void_p(block.data_ptr()), _bytes_of(t)))


def _to_cuda(t, device):
    out = _empty(tuple(t.shape), t.stride(), t.dtype, device)
    if t.numel():
        block = torch.empty(out.untyped_storage().nbytes(), dtype=torch.uint8)
        torch.empty(0, dtype=t.dtype).set_(block.untyped_storage(), 0, t.size(), t.stride()).copy_(t)
        _good(_null.loom_nulltorch_write(_index(device), _address(out), ctypes.c_void_p(block.data_ptr()), _bytes_of(out)))
    return out


def _map(value, leaf):
    if isinstance(value, torch.Tensor):
        return leaf(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_map(v, leaf) for v in value)
    return value


def _written(op, args, kwargs):
    """The operands that an operation writes, by its schema."""
    found = []
    for i, argument in enumerate(op._schema.arguments):
        value = args[i] if i < len(args) else kwargs.get(argument.name)
        if argument.alias_info is not None and argument.alias_info.is_write and value is not None:
            found += value if isinstance(value, (list, tuple)) else [value]
    return found


def _kernel(op, *args, **kwargs):
    """Every operation that torch has a kernel of CUDA's for, and not one for all devices."""
    if op in _VIEWS:
        return op.redispatch(_CPU, *args, **kwargs)
    call = _Call()
    eager_calls.append(str(op))
    wanted = kwargs.get("device")
    inside = {k: _map(v, call.to_cpu) for k, v in kwargs.items()}
    if wanted is not None:
        inside["device"] = torch.device("cpu")
        wanted = torch.device(wanted)
    # Numbers come as they are where torch has made tensors of them.
    told = [torch.tensor(v) if isinstance(v, (int, float)) and str(a.type) == "Tensor" else v for a, v in zip(op._schema.arguments, args)]
    operands = _map(told, call.to_cpu)
    with torch._C._ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.AutocastCPU)):
        results = op(*operands, **inside)
    written = _written(op, args, kwargs)
    for t in written:
        call.write_back(t)
    device = wanted or call.device
    returns = op._schema.returns
    many = isinstance(results, (tuple, list))
    outs = list(results) if many and len(returns) > 1 else [results]
    own = iter(written)
    given = [
        next(own) if r.alias_info is not None and r.alias_info.is_write else _map(out, lambda t: _to_cuda(t, device) if device.type == "cuda" else t)
        for r, out in zip(returns, outs)
    ]
    return None if not returns else tuple(given) if len(returns) > 1 else given[0]


def _empty_strided(size, stride, dtype=None, layout=None, device=None, pin_memory=None):
    return _empty(tuple(size), tuple(stride), dtype or torch.get_default_dtype(), torch.device(device))


def _empty_format(size, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    layout = torch.contiguous_format if memory_format in (None, torch.preserve_format) else memory_format
    like = torch.empty(size, device="meta", memory_format=layout)
    return _empty(tuple(like.shape), like.stride(), dtype or torch.get_default_dtype(), torch.device(device))


_libraries = [torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")]
_lock = threading.Lock()
_installed = _capturing = False


def install():
    """Makes "cuda" a device of this process's torch."""
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
    core = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / "libc10.so"))
    _good(_null.loom_nulltorch_open(str(FOLDER / "libnullcuda.so").encode()))
    for device in range(2):
        _good(_null.loom_nulltorch_stream(device))
    _null.loom_nulltorch_guard(ctypes.byref(ctypes.c_char.in_dll(core, "_ZN3c104impl26device_guard_impl_registryE")))
    torch_cpu = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    hooks = torch_cpu._ZN2at6detail12getCUDAHooksEv
    hooks.restype = ctypes.c_void_p
    _good(_null.loom_nulltorch_hooks(ctypes.c_void_p(hooks()), ctypes.c_size_t(48)))
    torch.cuda._lazy_init = lambda *unused: None
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda *unused: True
    torch.cuda.is_initialized = lambda: True
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 2
    torch.cuda.is_current_stream_capturing = lambda: _capturing
    torch.cuda.current_stream = lambda device=None: types.SimpleNamespace(cuda_stream=_current(_index(torch.device(device or 0))).value or 0)
    aten_library, others = _libraries
    aten_library.impl("empty_strided", _empty_strided, "CUDA")
    aten_library.impl("empty.memory_format", _empty_format, "CUDA")
    for op in _ASKING:
        aten_library.impl(op._schema.name.removeprefix("aten::") + "." * bool(op._schema.overload_name) + op._schema.overload_name, functools.partial(_kernel, op), "CUDA")
    others.fallback(_kernel, "CUDA")


def new_stream(device=0):
    """Another stream becomes torch's current one on a device."""
    _good(_null.loom_nulltorch_stream(device))


def set_stream(handle, device=0):
    """The stream of this handle becomes torch's current one on a device; 0: the default stream."""
    _null.loom_nulltorch_set_stream(device, ctypes.c_void_p(handle))


def capture(on, device=0):
    """torch's current stream is captured into a graph: what it gets to do is kept and not run."""
    global _capturing
    _capturing = on
    driver.loom_nullgpu_capture(_current(device) if on else None)


def replay(device=0):
    """torch's current stream gets to do what was captured."""
    driver.loom_nullgpu_replay(_current(device))


def _current(device):
    stream = ctypes.c_void_p()
    _good(_null.aoti_torch_get_current_cuda_stream(device, ctypes.byref(stream)))
    return stream


def live():
    """How many tensors' memories there are."""
    return _null.loom_nulltorch_live()
