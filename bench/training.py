"""Whole training steps (zero_grad, forward, backward, clipping of gradients, the optimizer's step) in one compiled function.

usage: training.py [--seconds S] [--out FOLDER] [function ...]

Beside eager torch, beside the forward and the optimizer's step compiled apart, and beside torch.compile of the step with both
backends, which breaks it at backward(). For each: the time of a step (rows of steps alternate, the best counts) and what the steps before
it took to compile, with nothing in the disk cache. One thread. What was to be reached: 1.1 times as fast as the parts apart.
"""

import copy
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bench  # noqa: E402

if __name__ == "__main__":
    bench.limit_threads(1)

APART = 1.1  # times as fast as the parts that are compiled apart
WARM = 4  # steps: without gradients and state, with them, and with numbers that have changed
ROW = 5  # steps one behind the other, as training makes them: what is in the caches is the step's own
FUNCTIONS = {}
WAYS = ("eager", "whole", "parts apart", 'backend="frameloom"', "inductor")


def function(make):
    """A factory of (model, optimizer of its parameters, arguments of the model and the target)."""
    FUNCTIONS[make.__name__] = make
    return make


def perceptron_of(torch, width, batch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10))
    return model, torch.randn(batch, width), torch.randint(0, 10, (batch,))


@function
def small_perceptron_sgd(torch):
    model, *arguments = perceptron_of(torch, 32, 16)
    return model, lambda of: torch.optim.SGD(of, lr=0.01, momentum=0.9), arguments


@function
def perceptron_adamw(torch):
    model, *arguments = perceptron_of(torch, 256, 64)
    return model, lambda of: torch.optim.AdamW(of, lr=1e-3), arguments


@function
def convolutions_sgd(torch):
    nn = torch.nn
    layers = [nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
              nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)]  # fmt: skip
    return nn.Sequential(*layers), lambda of: torch.optim.SGD(of, lr=0.01, momentum=0.9), [torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))]


@function
def transformer_adamw(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width=128, heads=4):
            super().__init__()
            self.heads = heads
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, length, width = x.shape
            parts = self.qkv(self.first(x)).split(width, -1)
            q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
            attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(nn.functional.gelu(self.up(self.second(x))))

    model = nn.Sequential(nn.Embedding(100, 128), Block(), Block(), nn.Flatten(1), nn.Linear(32 * 128, 100))
    return model, lambda of: torch.optim.AdamW(of, lr=1e-3), [torch.randint(0, 100, (4, 32)), torch.randint(0, 100, (4,))]


def steps(torch, model, make_optimizer):
    """A step, and one whose forward and whose optimizer's step are compiled apart, of models of their own."""
    import frameloom

    def made(compile_forward, compile_step):
        own = copy.deepcopy(model)
        optimizer = make_optimizer(own.parameters())
        forward = compile_forward(lambda x, y: torch.nn.functional.cross_entropy(own(x), y))
        update = compile_step(lambda: optimizer.step())

        def step(x, y):
            optimizer.zero_grad()
            loss = forward(x, y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(own.parameters(), 1.0)
            update()
            return loss.detach()

        return step

    plain = lambda function: function  # noqa: E731
    whole = [made(plain, plain) for _ in range(4)]
    return [whole[0], frameloom.compile(whole[1]), made(frameloom.compile, frameloom.compile),
            torch.compile(whole[2], backend="frameloom"), torch.compile(whole[3])]  # fmt: skip


def measure(name, seconds):
    """Seconds of a step and of those that compile by each way, and how far the losses are from eager torch's."""
    import frameloom.torch  # noqa: F401
    import torch

    torch.manual_seed(7)
    model, make_optimizer, arguments = FUNCTIONS[name](torch)
    ways = steps(torch, model, make_optimizer)
    first, losses = [], []
    for way in ways:
        begun = time.perf_counter()
        losses.append([float(way(*arguments)) for _ in range(WARM)])
        first.append(time.perf_counter() - begun)
    apart = max(abs(loss - eager) for each in losses[1:] for loss, eager in zip(each, losses[0]))
    best, end = [float("inf")] * len(ways), time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, way in enumerate(ways):
            begun = time.perf_counter()
            for _ in range(ROW):
                way(*arguments)
            best[i] = min(best[i], (time.perf_counter() - begun) / ROW)
    return {"name": name, "best": best, "first": first, "apart": apart}


def page(facts):
    rows = []
    for row in facts["rows"]:
        eager, whole, parts, _, inductor = row["best"]
        held = "held" if parts / whole >= APART else "**missed**"
        rows.append([row["name"], *(bench.show_time(t) for t in row["best"]), f"{eager / whole:.2f}", f"{inductor / whole:.2f}",
                     f"{parts / whole:.2f}: {held}", *(bench.show_time(t) for t in (row["first"][1], *row["first"][3:]))])
    heading = ["step", *WAYS, "eager : whole", "inductor : whole", f"parts : whole, at least {APART}",
               f"first {WARM} steps, whole", f"first {WARM} steps, {WAYS[3]}", f"first {WARM} steps, inductor"]
    return "\n".join([
        *bench.first_lines("Training steps", facts),
        f"By `bench/training.py` with {facts['versions']}: {facts['cpu']}. float32, one thread, the best of alternating rows of {ROW} steps, no disk cache.",
        "", *bench.table(heading, rows)]) + "\n"


def told(row):
    times = "  ".join(f"{way} {t * 1e6:.0f} us" for way, t in zip(WAYS, row["best"]))
    return f"{row['name']:22} {times}  apart {row['apart']:.0e}"


if __name__ == "__main__":
    raise SystemExit(bench.main_of_functions(sys.modules[__name__], "training", FUNCTIONS, bench.prepare_torch, told, 1e-3))
