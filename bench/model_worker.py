"""What `bench/models.py` runs in a child process: one model, one phase. Facts go out as they are found, so that what a
child has told before it failed or ran out of time is kept.

Phases: `compile` (one backend, a disk cache that is empty or not), `time` (all backends in alternation, and accuracy),
`memory` (one backend, the peak of a training step), `calls` (the cost of a call beyond its kernels).
"""

from __future__ import annotations

import copy
import ctypes
import gc
import statistics
import sys
import threading
import time

import torch

from torch_models import MODELS

STEPS = ("forward", "training")
M_MMAP_THRESHOLD = -3
DIFFERS = 1e-2  # relative distance from eager beyond which a result is wrong,
LIKE_EAGER = 4  # unless eager's own distance from float64 is that large: times that (gradients through many ReLUs)
MEMORY_ROUNDS = 5
SEEDS = 9  # inputs that accuracy is the median of


# ---- backends ----


class Frameloom:
    name = "frameloom"

    def __init__(self):
        import frameloom.torch as module
        self.module, self.seconds, self.eager_graphs = module, [], 0
        inner = module._compile_graph

        def timed(*arguments, **options):
            start = time.perf_counter()
            try:
                return inner(*arguments, **options)
            except NotImplementedError:
                self.eager_graphs += 1
                raise
            finally:
                self.seconds.append(time.perf_counter() - start)

        module._compile_graph = timed

    def compile(self, module):
        return torch.compile(module, backend=self.module.backend)

    def start(self):
        self.seconds.clear()
        self.module.compiled_graphs.clear()
        self.eager_graphs = 0

    def facts(self):
        reports = [row for graph in self.module.compiled_graphs for row in graph.report()]
        return {"compile": sum(self.seconds), "graphs": len(reports) + self.eager_graphs,
                "graphs_in_torch": self.eager_graphs,
                "kernels": sum(row["kernels"] for row in reports),
                "cached": all(row["cached"] for row in reports),
                "host_calls": [[str(op), why] for row in reports for op, why in row["host_calls"]]}


class Inductor:
    name = "inductor"

    def __init__(self):
        import torch._functorch.config
        import torch._inductor.compile_fx  # noqa: F401  (imports are not compile time)
        # With AOTAutograd's own cache there would be nothing left to time: its hits skip the backend.
        torch._functorch.config.enable_autograd_cache = False

    def times(self):
        return torch._dynamo.utils.compilation_time_metrics.get("compile_fx_inner", [])

    def compile(self, module):
        return torch.compile(module, backend="inductor")

    def start(self):
        self.before = len(self.times())
        torch._dynamo.utils.counters["inductor"].clear()

    def facts(self):
        times, counters = self.times()[self.before:], torch._dynamo.utils.counters["inductor"]
        return {"compile": sum(times), "graphs": len(times), "kernels": None,
                "cached": counters["fxgraph_cache_hit"] == len(times)}


class Eager:
    name = "eager"

    def compile(self, module):
        return module

    def start(self):
        pass

    def facts(self):
        return {}


BACKENDS = {kind.name: kind for kind in (Eager, Frameloom, Inductor)}


def started(name):
    """A backend that has compiled something small: libraries are loaded, lazy imports done, compilers looked for."""
    backend = BACKENDS[name]()
    small = backend.compile(lambda x, w: torch.relu(x @ w + 1).sum())
    small(torch.randn(16, 16), torch.randn(16, 16, requires_grad=True)).backward()
    torch._dynamo.reset()
    return backend


# ---- steps ----


def build(name, step):
    torch.manual_seed(0)
    module, inputs = MODELS[name]()
    return module.train(step == "training"), inputs


def runner(module, function, inputs, step):
    """One forward pass, or one forward and backward pass: a callable that gives the output."""

    def forward():
        with torch.no_grad():
            return function(*inputs)

    def training():
        for parameter in module.parameters():
            parameter.grad = None
        output = function(*inputs)
        output.square().mean().backward()
        return output

    return forward if step == "forward" else training


def results(module, output, step):
    """What a step is judged by: the output, or the gradients of all parameters."""
    if step == "forward":
        return [output.detach()]
    return [p.grad.detach().clone() for p in module.parameters() if p.grad is not None]


def distance(got, want):
    """Of all tensors together, relative, in float64."""
    if len(got) != len(want):
        return float("inf")
    gap = sum(float((g.double() - w.double()).square().sum()) for g, w in zip(got, want))
    size = sum(float(w.double().square().sum()) for w in want)
    return (gap / size) ** 0.5 if size else gap ** 0.5


# ---- phases ----


def phase_compile(name, backend, emit, settings):
    backend = started(backend)
    for step in STEPS:
        module, inputs = build(name, step)
        step_of = runner(module, backend.compile(module), inputs, step)
        backend.start()
        step_of()
        emit(step=step, **backend.facts())
        torch._dynamo.reset()


def phase_time(name, backends, emit, settings):
    """Times come last and the peers after ours, so that a peer's failure costs only its own figures."""
    for step in STEPS:
        module, inputs = build(name, step)
        plain = runner(module, module, inputs, step)
        want = results(module, plain(), step)
        limit = tolerance(module, inputs, step, want)
        torch._dynamo.reset()
        functions = {"eager": module}
        for backend in backends:
            try:
                functions[backend] = checked(module, inputs, step, backend, (want, limit), emit)
            except Exception as error:  # a peer that fails must not end the run
                emit(step=step, backend=backend, note=f"{type(error).__name__}: {error}"[:300])
        functions = {key: function for key, function in functions.items() if function is not None}
        for backend, errors in all_errors(name, module, functions, step).items():
            emit(step=step, backend=backend, error=statistics.median(errors), errors=errors)
        steps = {key: runner(module, function, inputs, step) for key, function in functions.items()}
        best = alternate(steps, settings["seconds"])
        for backend, run in steps.items():
            gap = distance(results(module, run(), step), want)
            emit(step=step, backend=backend, **({"time": best[backend]} if gap < limit else
                                                {"note": f"wrong: differs from eager by {gap:.1e}"}))


def tolerance(module, inputs, step, want):
    """How far from eager's a result may be."""
    exact = copy.deepcopy(module).double()
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    return max(DIFFERS, LIKE_EAGER * distance(want, results(exact, runner(exact, exact, wide, step)(), step)))


def all_errors(name, module, functions, step):
    """Distances from a float64 run of the same weights, for several inputs, by backend."""
    exact = copy.deepcopy(module).double()
    errors = {backend: [] for backend in functions}
    for seed in range(SEEDS):
        torch.manual_seed(1000 + seed)
        inputs = MODELS[name]()[1]
        wide = [x.double() if x.is_floating_point() else x for x in inputs]
        want = results(exact, runner(exact, exact, wide, step)(), step)
        for backend, function in functions.items():
            got = results(module, runner(module, function, inputs, step)(), step)
            errors[backend].append(distance(got, want))
    return errors


def checked(module, inputs, step, backend, expected, emit):
    """The module compiled by a backend, when its result is within the limit of (result, limit); else None."""
    want, limit = expected
    function = BACKENDS[backend]().compile(module)
    got = results(module, runner(module, function, inputs, step)(), step)
    gap = distance(got, want)
    emit(step=step, backend=backend, difference=gap)
    if gap < limit:
        return function
    emit(step=step, backend=backend, note=f"wrong: differs from eager by {gap:.1e}")
    return None


def alternate(steps, seconds):
    """Best time of each, taken in turns; the first call of a turn is not timed (others' threads may still spin)."""
    best = dict.fromkeys(steps, float("inf"))
    end, rounds, clock = time.perf_counter() + seconds, 0, time.perf_counter
    while rounds < 3 or clock() < end:
        for name, step in steps.items():
            step()
            turn = clock() + 0.03
            for _ in range(50):
                start = clock()
                step()
                best[name] = min(best[name], clock() - start)
                if clock() > turn:
                    break
        rounds += 1
    return best


def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024


def phase_memory(name, backend, emit, settings):
    """The highest resident size during steps, above that before them: parameters, inputs and code are there already,
    free memory is given back to the system, our pool of blocks included.

    The steps run in a thread of their own, whose heap is empty at first. In the main thread's heap imports and
    compilation have left holes, megabytes of them; given back, they would be counted again page by page as small
    tensors come to lie in one after the other, and a step of the LSTM would seem to need more from one to the next,
    by as much as was compiled before. The median of several rounds: others' threads start and end meanwhile.
    """
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 17)  # else it grows, and the heap keeps what was freed
    backend = BACKENDS[backend]()
    module, inputs = build(name, "training")
    step = runner(module, backend.compile(module), inputs, "training")
    for _ in range(2):
        step()
    peaks = []

    def measure():
        torch.set_num_threads(settings["threads"])
        for _ in range(2):
            step()
        for _ in range(MEMORY_ROUNDS):
            peaks.append(peak_of(module, step))

    thread = threading.Thread(target=measure)
    thread.start()
    thread.join()
    if len(peaks) < MEMORY_ROUNDS:
        raise RuntimeError("a step failed in a thread of its own")
    emit(step="training", memory=statistics.median(peaks),
         parameters=sum(p.numel() * p.element_size() for p in module.parameters()))


def peak_of(module, step):
    for parameter in module.parameters():
        parameter.grad = None
    trim()
    before = resident("VmRSS:")
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")  # the peak starts again from here
    for _ in range(3):
        step()
    return resident("VmHWM:") - before


def trim():
    gc.collect()
    if "frameloom" in sys.modules:
        sys.modules["frameloom"].reset()  # forgets compiled NumPy functions; gives cached blocks back
    ctypes.CDLL(None).malloc_trim(0)


# ---- the cost of a call ----


def four(a, b, c, d):
    return a * b + c * d


def per_call(run, seconds=1.0):
    clock, best = time.perf_counter, float("inf")
    end = clock() + seconds
    while clock() < end:
        start = clock()
        for _ in range(2000):
            run()
        best = min(best, (clock() - start) / 2000)
    return best * 1e9


def phase_calls(name, backend, emit, settings):
    tensors = [torch.randn(16) for _ in range(4)]
    a, b, c, d = tensors
    with torch.no_grad():
        nothing = per_call(lambda: None)
        facts = {"eager": per_call(lambda: four(a, b, c, d)) - nothing}
        ours = BACKENDS["frameloom"]()
        ours.start()
        compiled = ours.compile(four)
        assert torch.allclose(compiled(*tensors), four(*tensors))
        facts["frameloom"] = per_call(lambda: compiled(a, b, c, d)) - nothing
        graph = ours.module.compiled_graphs[-1]
        empty = per_call(lambda: len([a, b, c, d]))
        facts["inside"] = per_call(lambda: graph([a, b, c, d])) - empty
        dynamo = torch.compile(four, backend="eager")
        dynamo(*tensors)
        facts["dynamo"] = per_call(lambda: dynamo(a, b, c, d)) - nothing
    emit(**facts)


def phase_prepare(name, backend, emit, settings):
    started(backend)


PHASES = {"prepare": phase_prepare, "compile": phase_compile, "time": phase_time, "memory": phase_memory, "calls": phase_calls}
