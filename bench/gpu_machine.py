"""Where bench/gpu.py measures: a GPU, or the driver of the tests, which runs kernels in a simulator and has none of CUDA's
peers.

A row compares one function among several: Frameloom's result and each peer's with one in wider numbers, before anything is
timed.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SLEEP = 4_000_000  # cycles that the device sleeps while calls are ordered: two milliseconds
CALLS = 8  # calls between two sleeps
LIKE_TORCH = 4  # a result is wrong whose distance from the exact one is beyond that many times torch's own,
ROUNDINGS = 4  # and beyond that many roundings of the dtype


class Gpu:
    """A GPU and torch's CUDA."""

    tiny = False
    missing = {}  # what cannot be compared here: the reason

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError(f"torch {torch.__version__} finds no GPU")
        self.torch = torch
        self.missing = {}
        try:
            import triton

            self.triton = triton.__version__
        except ImportError:
            self.triton = None
            self.missing["inductor"] = "no Triton"
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False

    def facts(self):
        torch = self.torch
        device = torch.cuda.get_device_properties(0)
        import frameloom

        try:
            import cupy

            found = cupy.__version__
        except ImportError:
            found = None
        return {
            "name": device.name,
            "architecture": f"sm_{device.major}{device.minor}",
            "memory": device.total_memory,
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "triton": self.triton,
            "cupy": found,
            "frameloom": frameloom.__version__,
            "python": sys.version.split()[0],
            "hardware": True,
        }

    def synchronize(self):
        self.torch.cuda.synchronize()

    def begin(self):
        """Before each row: nothing that an earlier one has compiled is in the way."""
        import frameloom.torch as ft

        self.torch._dynamo.reset()
        ft.compiled_graphs.clear()
        self.torch.manual_seed(1)

    def times(self, calls, seconds):
        """The best time of each on the device, by turns. The device sleeps while calls are ordered, so that the host is not
        in it."""
        event = self.torch.cuda.Event
        best = dict.fromkeys(calls, math.inf)
        end, rounds = time.perf_counter() + seconds, 0
        while rounds < 3 or time.perf_counter() < end:
            for name, call in calls.items():
                call()
                events = [event(enable_timing=True) for _ in range(CALLS + 1)]
                self.torch.cuda._sleep(SLEEP)
                events[0].record()
                for after in events[1:]:
                    call()
                    after.record()
                events[-1].synchronize()
                best[name] = min(best[name], *(a.elapsed_time(b) / 1e3 for a, b in zip(events, events[1:])))
            rounds += 1
        return best

    def reset_peak(self):
        self.torch.cuda.reset_peak_memory_stats()
        return self.torch.cuda.memory_allocated()

    def peak(self):
        return self.torch.cuda.max_memory_allocated()

    def replayed(self, function):
        """A graph of torch's own of what the function does."""
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                function()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            function()
        return graph.replay

    def copy(self, size):
        """A copy that reads and writes `size` bytes in all."""
        source, target = (self.torch.empty(max(1, size // 8), device="cuda", dtype=self.torch.float32) for _ in range(2))
        source.fill_(1)
        return lambda: target.copy_(source)


class Simulated(Gpu):
    """The driver of the tests, and a torch without CUDA whose tensors are in its memory. Times are a clock's, and say
    nothing."""

    tiny = True

    def __init__(self):
        sys.path.insert(0, str(ROOT / "test/python/support"))
        import cuda_tensors
        import torch

        cuda_tensors.install()
        self.torch, self.driver, self.triton = torch, cuda_tensors.driver, None
        self.missing = dict.fromkeys(("inductor", "flash", "efficient", "cudnn", "graphs", "raw launch"), "no GPU")

    def facts(self):
        import frameloom

        return {
            "name": "the driver of the tests",
            "architecture": "simulated",
            "memory": None,
            "torch": self.torch.__version__,
            "cuda": None,
            "triton": None,
            "cupy": None,
            "frameloom": frameloom.__version__,
            "python": sys.version.split()[0],
            "hardware": False,
        }

    def synchronize(self):
        import frameloom

        self.torch.empty(1, device="cuda").fill_(0).cpu()
        frameloom.device("cuda:0").synchronize()

    def times(self, calls, seconds):
        best = {}
        for name, call in calls.items():
            self.synchronize()
            start = time.perf_counter()
            call()
            self.synchronize()
            best[name] = time.perf_counter() - start
        return best

    def reset_peak(self):
        self.driver.loom_nullgpu_peak()
        return 0

    def peak(self):
        return self.driver.loom_nullgpu_peak()


class Nothing:
    """No device at all, for the tests of bench/gpu.py itself."""

    tiny = True
    missing = {}

    def facts(self):
        return {"name": "nothing", "hardware": False}

    def begin(self):
        pass

    def synchronize(self):
        pass


def wall_times(machine, calls, seconds, group=1):
    """The best time of each as the host sees it, the device's included, by turns; of `group` calls at once."""
    best, clock = dict.fromkeys(calls, math.inf), time.perf_counter
    end, rounds = clock() + seconds, 0
    while rounds < (1 if machine.tiny else 3) or (clock() < end and not machine.tiny):
        for name, call in calls.items():
            for _ in range(1 if machine.tiny else 5):
                machine.synchronize()
                start = clock()
                for _ in range(group):
                    call()
                machine.synchronize()
                best[name] = min(best[name], (clock() - start) / group)
        rounds += 1
    return best


def host_times(machine, calls, seconds, group=64):
    """The best time that the host needs to order a call, without waiting for the device; by turns."""
    best, clock = dict.fromkeys(calls, math.inf), time.perf_counter
    group = 2 if machine.tiny else group
    end, rounds = clock() + seconds, 0
    while not rounds or (clock() < end and not machine.tiny):
        for name, call in calls.items():
            machine.synchronize()
            start = clock()
            for _ in range(group):
                call()
            best[name] = min(best[name], (clock() - start) / group)
        rounds += 1
    machine.synchronize()
    return best


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def distances(got, want):
    """(largest, of all together) of results, relative to the largest magnitude of each and to its size."""
    import torch

    got, want = as_list(got), as_list(want)
    if len(got) != len(want):
        return math.inf, math.inf
    largest = together = 0.0
    for g, w in zip(got, want):
        if tuple(g.shape) != tuple(w.shape):
            return math.inf, math.inf
        if not g.numel():
            continue
        if not w.is_floating_point():
            apart = float((g != w).sum())
            largest = together = max(largest, math.inf if apart else 0.0)
            continue
        g, w = g.detach().to(torch.float64), w.detach().to(torch.float64)
        gap, scale = (g - w).abs(), max(float(w.abs().max()), 1e-30)
        one, all_of_it = float(gap.max()) / scale, float(gap.square().mean().sqrt()) / scale
        if one != one:
            return math.inf, math.inf
        largest, together = max(largest, one), max(together, all_of_it)
    return largest, together


def widened(value, dtype):
    if isinstance(value, (list, tuple)):
        return type(value)(widened(v, dtype) for v in value)
    if getattr(value, "is_floating_point", lambda: False)():
        return value.detach().to(dtype).requires_grad_(value.requires_grad)
    return value


def reason_of(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


class Row:
    """The facts of one comparison: what is right, and then how long it takes."""

    def __init__(self, machine, group, name, **facts):
        self.machine = machine
        self.facts = {"group": group, "name": name, "times": {}, "errors": {}, "notes": [], **facts}

    def note(self, text):
        self.facts["notes"].append(text)

    def judge(self, functions, exact, epsilon, measure=distances):
        """The functions whose results are right, each of them a callable that gives results. "eager" is torch's own."""
        want, results = as_list(exact()), {}
        for name, function in functions.items():
            if name in self.machine.missing:
                self.note(f"{name}: {self.machine.missing[name]}")
                continue
            try:
                results[name] = measure(function(), want)
                self.machine.synchronize()
                if name == "frameloom":
                    self.left_to_torch()
            except Exception as error:
                if name == "frameloom":
                    self.facts["failed"] = reason_of(error)
                self.note(f"{name}: {reason_of(error)}")
        limit = max(ROUNDINGS * epsilon, LIKE_TORCH * results.get("eager", (0, 0))[0])
        for name, (largest, together) in results.items():
            self.facts["errors"][name] = together if math.isfinite(together) else None
            if not largest <= limit:
                self.note(f"{name}: wrong by {largest:.1e}, where {limit:.1e} is allowed")
                if name == "frameloom":
                    self.facts["wrong"] = largest if math.isfinite(largest) else None
        return {name: functions[name] for name, (largest, _) in results.items() if largest <= limit}

    def left_to_torch(self):
        """What of a function torch has run in Frameloom's place is told, and is no result of Frameloom's."""
        import frameloom.torch as ft

        reports = [version for graph in ft.compiled_graphs for version in graph.report()]
        left = sorted({f"{op}" for version in reports for op, _ in version["host_calls"]})
        if not reports:
            raise RuntimeError("all of it was left to torch")
        if left:
            self.note("frameloom: left to torch: " + ", ".join(left)[:200])
            self.facts["left"] = left
        self.facts["kernels"] = sum(version["kernels"] for version in reports)

    def time(self, good, seconds=0.4, copy=True, clock=None):
        """Nothing is timed where Frameloom's result is wrong."""
        if "frameloom" not in good:
            self.facts.setdefault("failed", "wrong" if "wrong" in self.facts else "no result")
            return self.facts
        calls = dict(good)
        if copy and self.facts.get("bytes"):
            calls["copy"] = self.machine.copy(self.facts["bytes"])
        clock = clock or (lambda calls, seconds: self.machine.times(calls, seconds))
        self.facts["times"] = clock(calls, seconds)
        return self.facts


def compilers(function, inductor=True, **options):
    """The function by Frameloom, by torch itself and by Inductor."""
    import frameloom.torch as ft
    import torch

    found = {"frameloom": torch.compile(function, backend=ft.backend), "eager": function}
    if inductor:
        found["inductor"] = torch.compile(function, backend="inductor", **options)
    return found


def epsilon_of(dtype):
    import torch

    return torch.finfo(dtype).eps if dtype.is_floating_point else 0.0


def forward_row(
    machine,
    group,
    name,
    function,
    arguments,
    epsilon=None,
    seconds=0.4,
    wide=None,
    more=None,
    inductor=True,
    options=None,
    **facts,
):
    """A row of a function without gradients."""
    import torch

    row = Row(machine, group, name, **facts)
    functions = compilers(function, inductor, **(options or {})) | (more or {})
    epsilon = epsilon_of(arguments[0].dtype) if epsilon is None else epsilon
    wider = widened(tuple(arguments), wide or torch.float64)
    with torch.no_grad():
        good = row.judge({n: (lambda f=f: f(*arguments)) for n, f in functions.items()}, lambda: function(*wider), epsilon)
        del wider
        return row.time(good, seconds)


def backward_row(
    machine, group, name, function, arguments, epsilon=None, seconds=0.4, wide=None, more=None, inductor=True, **facts
):
    """A row of the gradients alone: the forward pass is made once, its graph is kept."""
    import torch
    import torch._functorch.config

    torch._functorch.config.donated_buffer = False
    row = Row(machine, group, name, **facts)
    epsilon = epsilon_of(arguments[0].dtype) if epsilon is None else epsilon
    output = function(*arguments)
    gradient = torch.randn(tuple(output.shape), device="cpu" if machine.tiny else "cuda").to(device="cuda", dtype=output.dtype)
    del output

    def backward(f, operands, seed):
        wanted = [a for a in operands if a.requires_grad]
        made = f(*operands)
        return lambda: torch.autograd.grad(made, wanted, seed, retain_graph=True)

    def lazily(f):
        kept = []

        def call():
            if not kept:
                kept.append(backward(f, arguments, gradient))
            return kept[0]()

        return call

    wider = widened(tuple(arguments), wide or torch.float64)
    functions = {n: lazily(f) for n, f in (compilers(function, inductor) | (more or {})).items()}
    good = row.judge(functions, backward(function, wider, widened(gradient, wide or torch.float64)), epsilon)
    del wider
    return row.time(good, seconds)


def random(machine, shape, dtype="float32", grad=False, scale=1.0):
    """Numbers of a normal distribution on the device."""
    import torch

    made = torch.randn(shape, device="cpu" if machine.tiny else "cuda", dtype=torch.float32) * scale
    return made.to(device="cuda", dtype=getattr(torch, dtype)).requires_grad_(grad)
