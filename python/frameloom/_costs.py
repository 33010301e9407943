"""What work costs on the host and on a device, for `compile(fn, device="auto")` (_place.py).

Times are sums, with no overlap of memory, arithmetic and copies. So with rates of the device that are no lower than the host's, more work
of the same kernels never speaks for the host.
"""

import os as _os
import time as _time
from typing import NamedTuple

import numpy as np

from . import _native

clock = _time.perf_counter


class Costs(NamedTuple):
    """Bytes and operations a second, and seconds. An operation is that of one element: a multiply-add of float32 is one."""

    host: float = 2e10  # memory of the host
    host_operations: float = 1e11  # of each thread
    host_launch: float = 3e-7  # a kernel
    up: float = 1e10  # from the host to the device
    down: float = 1e10
    memory: float = 5e11  # of the device
    operations: float = 5e12
    launch: float = 5e-6  # a kernel on the device
    wait: float = 1e-5  # for results, and for each array that is copied
    source: str = "stated"


class Estimate(NamedTuple):
    """Seconds of both sides, and what they are made of."""

    host_s: float
    device_s: float
    up: int  # bytes to the device
    down: int  # bytes from it
    kept: int  # bytes of arguments that lie there
    bytes: float  # that kernels read and write
    operations: float
    kernels: float


def decide(work, up, down, parts, kept, left, costs):
    """The estimate for `work` (bytes, operations, kernels, whether it is guessed).

    up, down  bytes to and from the device, in `parts` arrays, if it runs there
    kept      bytes of arguments that lie there, and have to come to the host if it runs there
    left      bytes of results that are to lie on the device
    """
    size, operations, kernels = work[:3]
    here = kernels * costs.host_launch + size / costs.host + operations / costs.host_operations
    if kept or left:
        here += costs.wait + kept / costs.down + left / costs.up
    there = kernels * costs.launch + size / costs.memory + operations / costs.operations
    there += costs.wait + parts * costs.wait + up / costs.up + down / costs.down
    return Estimate(here, there, int(up), int(down), int(kept), size, operations, kernels)


# ---- what they are ----

_known = {}  # (name of a device, the setting): Costs


def stated(text):
    """Costs by a setting like "up=2.5e10 memory=3e12": those that it names in place of the defaults."""
    values = {}
    for word in text.replace(",", " ").split():
        name, _, number = word.partition("=")
        if name not in Costs._fields or name == "source":
            raise ValueError(f"device_costs: unknown cost {name!r}: known are {', '.join(Costs._fields[:-1])}")
        try:
            values[name] = float(number)
        except ValueError:
            raise ValueError(f"device_costs: {word!r} has no number") from None
        if not 0 < values[name] < float("inf"):
            raise ValueError(f"device_costs: {word!r} is not positive")
    return values


def _least(action):
    times = []
    for _ in range(3):
        start = clock()
        action()
        times.append(clock() - start)
    return max(min(times), 1e-9)


_INNER = 1 << 25  # bytes that are copied on the device
_PER_BYTE = 10  # operations in the time of a byte of memory: GPUs of several makers have some more


def _measured(native):
    """What can be seen from here without a kernel: copies, also on the device, waits, and the host's memory."""
    block, small = np.zeros(1 << 22, np.uint8), np.zeros(8, np.uint8)
    other = np.empty_like(block)
    memory = native.alloc(block.size)

    def upload():
        native.upload(memory.address, block)
        native.wait()

    def reach():
        native.download(memory.address, small)

    wait = _least(reach)
    up, down = _least(upload), _least(lambda: native.download(memory.address, other))
    host = _least(lambda: np.copyto(other, block))
    one, two = native.alloc(_INNER), native.alloc(_INNER)

    def move():
        native.copy(one.address, native, two.address, _INNER)
        native.wait()

    inner = _least(move)
    own = 2 * _INNER / max(inner - wait, inner / 4)
    return {"up": block.size / up, "down": block.size / down, "wait": wait, "host": 2 * block.size / host, "memory": own,
            "operations": _PER_BYTE * own, "source": "measured"}


def _threads():
    try:
        return max(len(_os.sched_getaffinity(0)), 1)
    except AttributeError:
        return _os.cpu_count() or 1


def costs_of(native):
    """The costs with this device: stated by `config.device_costs`; else copies are measured once, and the rest follows."""
    text = _native.get_setting("device_costs")
    if (native.name, text) not in _known:
        base = {"host_operations": Costs().host_operations * _threads()}
        values = stated(text)
        values = base | (values if values else _measured(native))
        _known[native.name, text] = Costs(**values)
    return _known[native.name, text]
