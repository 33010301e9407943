"""The sections of bench/gpu.py about more than a kernel: launches, graphs of the driver, compile times, and models."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpu_machine import Row, as_list, compilers, distances, host_times, random, wall_times, widened

HERE = Path(__file__).resolve().parent
STEPS = 100  # kernels of the chain


# ---- launches ----


def chain_of(machine):
    """A function of 100 small kernels, fewer on the driver of the tests."""
    count = 10 if machine.tiny else STEPS

    def chain(x, w):
        for _ in range(count):
            x = (x @ w).relu()
        return x

    return chain


def raw_launch(calls=500):
    """Seconds that cuLaunchKernelEx itself takes on the host: what a call by ctypes takes, less one that does nothing."""
    cuda = ctypes.CDLL(os.environ.get("FRAMELOOM_CUDA_DRIVER", "libcuda.so.1"))

    class Config(ctypes.Structure):
        _fields_ = [(n, ctypes.c_uint) for n in ("gx", "gy", "gz", "bx", "by", "bz", "shared")] + [
            ("stream", ctypes.c_void_p),
            ("attributes", ctypes.c_void_p),
            ("count", ctypes.c_uint),
        ]

    text = b".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n\0"
    device, context, module, function = ctypes.c_int(), *(ctypes.c_void_p() for _ in range(3))
    for call, *operands in (
        ("cuDeviceGet", ctypes.byref(device), 0),
        ("cuDevicePrimaryCtxRetain", ctypes.byref(context), device),
        ("cuCtxPushCurrent_v2", context),
        ("cuModuleLoadData", ctypes.byref(module), text),
        ("cuModuleGetFunction", ctypes.byref(function), module, b"nothing"),
    ):
        if status := getattr(cuda, call)(*operands):
            raise RuntimeError(f"{call}: the driver's status is {status}")
    config = Config(1, 1, 1, 32, 1, 1, 0, None, None, 0)
    best, called = {}, {"launch": cuda.cuLaunchKernelEx, "nothing": ctypes.CDLL(None).labs}
    for one in called.values():
        one.argtypes = (ctypes.POINTER(Config), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    for name, call in list(called.items()) * 10:
        cuda.cuStreamSynchronize(None)  # fewer calls than the driver holds back
        start = time.perf_counter()
        for _ in range(calls):
            call(config, function, None, None)
        best[name] = min(best.get(name, math.inf), (time.perf_counter() - start) / calls)
    cuda.cuStreamSynchronize(None)
    cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
    return best["launch"] - best["nothing"]


def launch_row(machine, name):
    """What a launch costs the host: a call of 101 kernels less a call of one, over 100."""
    import frameloom.torch as ft
    import torch

    row, chain = Row(machine, "launch", name), chain_of(machine)
    x, w = random(machine, (32, 32)), random(machine, (32, 32), scale=0.2)
    many, one = (torch.compile(f, backend=ft.backend) for f in (chain, lambda x, w: (x @ w).relu()))
    with torch.no_grad():
        good = row.judge(
            {"frameloom": lambda: many(x, w), "eager": lambda: chain(x, w)},
            lambda: chain(*widened((x, w), torch.float64)),
            2.0**-20,
        )
        one(x, w)
        if "frameloom" not in good:
            return row.facts | {"failed": row.facts.get("failed", "wrong")}
        times = host_times(machine, {"many": lambda: many(x, w), "one": lambda: one(x, w)}, 1.0, group=8)
    row.facts["kernels"] = sum(v["device_plan"]["launches"] for v in ft.compiled_graphs[0].report())
    row.facts["times"]["frameloom"] = max((times["many"] - times["one"]) / max(row.facts["kernels"] - 1, 1), 0)
    row.facts["call"] = times["one"]
    if "raw launch" in machine.missing:
        row.note(f"cuLaunchKernelEx: {machine.missing['raw launch']}")
    else:
        row.facts["times"]["cuLaunchKernelEx"] = raw_launch()
    return row.facts


def replay_row(machine, name, moving):
    """A graph of 100 small kernels, replayed: beside torch's own graph of the same function."""
    import frameloom.torch as ft
    import torch

    row, chain = Row(machine, "replay", name), chain_of(machine)
    w = random(machine, (32, 32), scale=0.2)
    inputs = [random(machine, (32, 32)) for _ in range(4 if moving else 1)]
    compiled = torch.compile(chain, backend=ft.backend, mode="reduce-overhead")
    turn = iter(range(1 << 62))
    with torch.no_grad():
        for x in inputs * 2:
            good = row.judge(
                {"frameloom": lambda: compiled(x, w), "eager": lambda: chain(x, w)},
                lambda: chain(*widened((x, w), torch.float64)),
                2.0**-20,
            )
            if "frameloom" not in good:
                return row.facts | {"failed": row.facts.get("failed", "wrong")}
        calls, kept = {
            "frameloom": lambda: compiled(inputs[next(turn) % len(inputs)], w),
            "eager": lambda: chain(inputs[0], w),
        }, []
        if moving:  # results stay alive as well, so that these lie elsewhere each time
            ordered = calls["frameloom"]

            def calls_kept():
                kept.append(ordered())
                del kept[:-3]

            calls["frameloom"] = calls_kept
        if "graphs" in machine.missing:
            row.note(f"torch's graph: {machine.missing['graphs']}")
        else:
            calls["torch's graph"] = machine.replayed(lambda: chain(inputs[0], w))
        row.facts["times"] = wall_times(machine, calls, 1.0)
    row.facts["plan"] = ft.compiled_graphs[0].report()[0]["device_plan"]
    return row.facts


def launches(machine):
    """What launches cost, and replays of graphs."""
    yield "launch", "a launch", lambda: launch_row(machine, "a launch")
    yield "replay", "100 small kernels, the same pointers", lambda: replay_row(
        machine, "100 small kernels, the same pointers", False
    )
    yield "replay", "100 small kernels, changed pointers", lambda: replay_row(
        machine, "100 small kernels, changed pointers", True
    )


# ---- compile times ----


def one_kernel_functions(machine):
    """Functions of one kernel each, or nearly."""
    side = 64 if machine.tiny else 1024
    yield "elementwise", lambda a, b: (a * b + 1).relu(), (side, side), "float32"
    yield "softmax", lambda a, b: a.softmax(-1), (side, side), "float32"
    yield "sum of columns", lambda a, b: (a * b).sum(0), (side, side), "float32"
    yield "product of float32", lambda a, b: a @ b, (side, side), "float32"
    yield "product of bfloat16", lambda a, b: a @ b, (side, side), "bfloat16"
    if not machine.tiny:
        yield "normalisation", lambda a, b: a / (a * a).mean(-1, keepdim=True).sqrt() + b, (side, side), "float32"


@contextlib.contextmanager
def compile_seconds():
    """The seconds of each graph's compilation, loading on the device included, that come in the block."""
    import frameloom.torch as ft

    inner, seconds = ft._compile_graph, []

    def timed(*arguments, **options):
        start = time.perf_counter()
        try:
            return inner(*arguments, **options)
        finally:
            seconds.append(time.perf_counter() - start)

    ft._compile_graph = timed
    ft.compiled_graphs.clear()
    try:
        yield seconds
    finally:
        ft._compile_graph = inner


def compile_row(machine, name, function, shape, dtype):
    """PTX: the compiler's phases; machine code: what loading on the device adds. Nothing comes from a cache."""
    import frameloom
    import frameloom.torch as ft
    import torch

    row = Row(machine, "compile", name)
    small = torch.compile(lambda x: x + 1, backend=ft.backend)  # the library is loaded, and modules imported
    small(random(machine, (8,))).cpu()
    torch._dynamo.reset()
    a, b = random(machine, shape, dtype), random(machine, shape, dtype)
    with torch.no_grad(), frameloom.config.patch(cache=False), compile_seconds() as seconds:
        compiled = torch.compile(function, backend=ft.backend)
        compiled(a, b)
        machine.synchronize()
    phases = compile_phases(frameloom, function)
    kernels = max(1, sum(v["kernels"] for graph in ft.compiled_graphs for v in graph.report()))
    ptx = sum(phases[phase] for phase in ("import", "passes", "lower", "emit")) / 1e3
    row.facts.update(
        kernels=kernels, phases=phases, times={"ptx": ptx / kernels, "cubin": max(sum(seconds) - ptx, 0) / kernels}
    )
    return row.facts


def compile_phases(frameloom, function):
    """Milliseconds of each phase of the last compilation of a function of that name."""
    names, times = frameloom.compile_times("csv")
    start = f"{function.__name__}, inference: "
    return {name.removeprefix(start): float(of.split(",")[-1]) for name, of in zip(names, times) if name.startswith(start)}


def gpt(width, heads, depth, vocabulary, length):
    """GPT-2 as its paper describes it, without dropout."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in self.qkv(self.norms[0](x)).chunk(3, -1))
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            return x + self.down(F.gelu(self.up(self.norms[1](x)), approximate="tanh"))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.layers, self.norm = nn.ModuleList(Layer() for _ in range(depth)), nn.LayerNorm(width)

        def forward(self, i):
            x = self.tokens(i) + self.places.weight[: i.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return self.norm(x) @ self.tokens.weight.t()

    torch.manual_seed(0)
    return Model()


def gpt2(machine, depth=12):
    import torch

    model = gpt(32, 2, 2, 64, 16) if machine.tiny else gpt(768, 12, depth, 50257, 1024)
    tokens = torch.arange(16 if machine.tiny else 1024).mul(7919).remainder(64 if machine.tiny else 50257).view(2, -1)
    return model.to(device="cuda").to(torch.float32 if machine.tiny else torch.bfloat16).eval(), tokens.cuda()


def first_call(machine):
    """In a process of its own, with a cache folder that is empty or not: compiling GPT-2, forward."""
    import frameloom.torch as ft
    import torch

    small = torch.compile(lambda x: x + 1, backend=ft.backend)
    small(random(machine, (8,))).cpu()
    torch._dynamo.reset()
    model, tokens = gpt2(machine)
    with torch.no_grad(), compile_seconds() as seconds:
        start = time.perf_counter()
        got = torch.compile(model, backend=ft.backend)(tokens)
        machine.synchronize()
        whole = time.perf_counter() - start
        error = distances([got], [model(tokens)])[1]
    reports = [version for graph in ft.compiled_graphs for version in graph.report()]
    return {
        "compile": sum(seconds),
        "first call": whole,
        "error": error,
        "kernels": sum(v["kernels"] for v in reports),
        "cached": all(v["cached"] for v in reports) and bool(reports),
    }


def gpt2_row(machine, worker):
    """Cold, then from the cache, in two processes."""
    row = Row(machine, "GPT-2", "GPT-2, 12 blocks, forward")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cold", "cached"):
            facts = worker("first call", {"FRAMELOOM_CACHE_DIR": folder, "FRAMELOOM_CACHE": "1"})
            row.facts["times"][name] = facts["compile"]
            row.facts[name] = facts
            if not facts["error"] <= 0.05:
                row.facts["wrong"] = facts["error"]
    if not row.facts["cached"]["cached"]:
        row.note("the second process has not found the first one's code")
    return row.facts


def compiling(machine, worker):
    """Compile times of a kernel, and of GPT-2."""
    for name, *rest in one_kernel_functions(machine):
        yield "compile", name, lambda name=name, rest=rest: compile_row(machine, name, *rest)
    yield "GPT-2", "GPT-2, 12 blocks, forward", lambda: gpt2_row(machine, worker)


# ---- models ----


def models_of(machine):
    """Name: a callable that gives (module, inputs) on the CPU."""
    import torch_models

    if machine.tiny:
        import torch

        return {"GPT": lambda: (gpt(32, 2, 1, 64, 16), (torch.arange(16).view(2, 8),))}
    return {"GPT-2, 12 blocks": lambda: gpt2_on_host(), **torch_models.MODELS}


def gpt2_on_host():
    import torch

    return gpt(768, 12, 12, 50257, 1024), (torch.arange(1024).mul(7919).remainder(50257).view(2, -1),)


def model_row(machine, name, build, training):
    """A forward pass, or forward and backward: wall time a step, and the highest use of memory above the parameters."""
    import torch
    import model_worker

    step = "training" if training else "forward"
    row = Row(machine, f"models {step}", f"{name}, {step}")
    torch.manual_seed(0)
    module, inputs = build()
    module = module.to("cuda").train(training)
    inputs = [x.cuda() for x in inputs]

    def runner(function):
        def forward():
            with torch.no_grad():
                return function(*inputs)

        def step():
            for parameter in module.parameters():
                parameter.grad = None
            function(*inputs).square().mean().backward()
            return [p.grad.clone() for p in module.parameters() if p.grad is not None]

        return step if training else forward

    exact = copy.deepcopy(module).double()
    wide = [x.double() if x.is_floating_point() else x for x in inputs]

    def truth():
        if not training:
            with torch.no_grad():
                return exact(*wide)
        exact(*wide).square().mean().backward()
        return [p.grad for p in exact.parameters() if p.grad is not None]

    functions = {n: runner(f) for n, f in compilers(module).items()}
    # Gradients jump where rounding decides about a ReLU, and some are nothing but rounding: all together are judged.
    good = row.judge(functions, truth, 2.5e-3, lambda got, want: (model_worker.distance(as_list(got), as_list(want)),) * 2)
    del exact
    row.time(good, 1.5, clock=lambda calls, seconds: wall_times(machine, calls, seconds))
    row.facts["memory"] = {}
    for backend, run in good.items():
        for parameter in module.parameters():
            parameter.grad = None
        machine.synchronize()
        before = machine.reset_peak()
        run()
        machine.synchronize()
        row.facts["memory"][backend] = machine.peak() - before
    return row.facts


def models(machine):
    """The models of bench/models.py."""
    for name, build in models_of(machine).items():
        for training in (False, True):
            step = "training" if training else "forward"
            yield f"models {step}", f"{name}, {step}", lambda name=name, build=build, training=training: model_row(
                machine, name, build, training
            )


# ---- the vendor's checker ----


def checker():
    """Where compute-sanitizer is, or None."""
    from shutil import which

    return which("compute-sanitizer") or next((str(p) for p in Path("/usr/local").glob("cuda*/bin/compute-sanitizer")), None)


def sanitizer(machine):
    """Some of the kernels of each form under compute-sanitizer's memcheck and racecheck."""
    kinds = {
        "memcheck": [
            "sum of rows",
            "softmax, a block a row",
            "scan of long rows",
            "product of arrays, float32",
            "a scatter",
            "product turned, bfloat16",
            "causal attention of 64 columns, gradients",
            "sort of long lines",
            "convolution, gradients",
        ],
        "racecheck": [
            "softmax, a block a row",
            "scan of long rows",
            "product of arrays, float32",
            "product turned, bfloat16",
            "causal attention of 64 columns, gradients",
        ],
    }
    for tool, names in kinds.items():

        def run(tool=tool, names=names):
            row = Row(machine, "sanitizer", tool, forms=names)
            found = None if machine.tiny else checker()
            if not found:
                row.facts["failed"] = "no GPU" if machine.tiny else "compute-sanitizer is not found"
                return row.facts
            command = [
                found,
                "--tool",
                tool,
                "--error-exitcode",
                "9",
                "--target-processes",
                "all",
                sys.executable,
                str(HERE / "gpu.py"),
                "--worker",
                "forms",
                "--rows",
                "|".join(names),
            ]
            try:
                done = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    timeout=90,
                    env=os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
                )
            except subprocess.TimeoutExpired:
                row.facts["failed"] = "more than 90 s"
                return row.facts
            said = [line for line in done.stdout.splitlines() if line.startswith("=========")]
            row.facts["said"] = said[-6:]
            if done.returncode:
                row.facts["failed"] = f"status {done.returncode}: {' '.join(said[:1])[:200]}"
            return row.facts

        yield "sanitizer", tool, run
