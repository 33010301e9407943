"""Functions of torch tensors captured by frameloom.compile, beside eager torch and torch.compile with both backends.

usage: tensors.py [--seconds S] [--out FOLDER] [function ...]

For each: the time of a call (calls alternate, the best counts) and of the first call, with nothing in the disk cache. One thread.
Gradients are recorded in those that say so: "recorded" is a call, "trained" a call and its backward. torch.compile's first call is
Dynamo's and AOTAutograd's work as well as the compiler's. What was to be reached: a call of four small tensors in 0.7
microseconds, in 1.5 with gradients.
"""

import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bench  # noqa: E402

if __name__ == "__main__":
    bench.limit_threads(1)

CALLS = {"four_small_tensors": 0.7e-6, "four_small_tensors, recorded": 1.5e-6}  # seconds that a call was to take at most
FUNCTIONS = {}
WAYS = ("eager", "frameloom.compile", 'backend="frameloom"', "inductor")


def function(make):
    """A factory of (callable, arguments)."""
    FUNCTIONS[make.__name__] = make
    return make


@function
def four_small_tensors(torch):
    return (lambda a, b, c, d: a + b * c - d), [torch.randn(8) for _ in range(4)]


@function
def softmax_by_hand(torch):
    def softmax(x):
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    return softmax, [torch.randn(512, 1024)]


@function
def perceptron(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64), nn.LayerNorm(64)).eval()
    return (lambda x: model(x)), [torch.randn(32, 64)]


@function
def updates_in_place(torch):
    def update(p, g, m, v):
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.99).addcmul_(g, g, value=0.01)
        p.sub_(0.001 * m / (v.sqrt() + 1e-8))

    return update, [torch.rand(100_000) for _ in range(4)]


@function
def transformer_block(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(256), nn.LayerNorm(256)
            self.qkv, self.out = nn.Linear(256, 768), nn.Linear(256, 256)
            self.up, self.down = nn.Linear(256, 1024), nn.Linear(1024, 256)

        def forward(self, x):
            q, k, v = (part.view(2, 64, 4, 64).transpose(1, 2) for part in self.qkv(self.first(x)).split(256, -1))
            a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(a.transpose(1, 2).reshape(2, 64, 256))
            return x + self.down(nn.functional.gelu(self.up(self.second(x))))

    model = Block().eval()
    return (lambda x: model(x)), [torch.randn(2, 64, 256)]


FUNCTIONS["four_small_tensors, recorded"] = FUNCTIONS["four_small_tensors"]
for name in ("softmax_by_hand", "perceptron", "transformer_block"):
    FUNCTIONS[f"{name}, trained"] = FUNCTIONS[name]


def trained(function):
    """A call and its backward: the gradient of the first argument."""

    def step(first, *rest):
        first.grad = None
        function(first, *rest).square().mean().backward()
        return first.grad

    return step


def once(f, arguments):
    begun = time.perf_counter()
    result = f(*arguments)
    return time.perf_counter() - begun, result


def measure(name, seconds):
    """Seconds of a call and of the first one by each way, and how far results are from eager torch's."""
    import frameloom.torch  # noqa: F401
    import torch

    torch.manual_seed(7)
    plain, arguments = FUNCTIONS[name](torch)
    ways = [plain, frameloom.compile(plain), torch.compile(plain, backend="frameloom"), torch.compile(plain)]
    recorded = ", " in name
    torch.set_grad_enabled(recorded)
    ways = [trained(way) for way in ways] if name.endswith("trained") else ways
    given = [[a.clone().requires_grad_(recorded) for a in arguments] for _ in ways]
    first, results = zip(*(once(f, a) for f, a in zip(ways, given)))
    pairs = [(r if r is not None else a[0]) for r, a in zip(results, given)]
    apart = max(float((pair - pairs[0]).abs().max()) for pair in pairs[1:])
    repeat = max(1, int(1e-4 / min(once(f, a)[0] for f, a in zip(ways, given) for _ in range(3))))
    best, end = [float("inf")] * len(ways), time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, (f, a) in enumerate(zip(ways, given)):
            begun = time.perf_counter()
            for _ in range(repeat):
                f(*a)
            best[i] = min(best[i], (time.perf_counter() - begun) / repeat)
    return {"name": name, "best": best, "first": list(first), "apart": apart}


def page(facts):
    rows = []
    for row in facts["rows"]:
        eager, ours, backend, inductor = row["best"]
        limit = CALLS.get(row["name"])
        held = "" if limit is None else f"{limit * 1e6:g} us: {'held' if ours <= limit else '**missed**'}"
        rows.append([row["name"], *(bench.show_time(t) for t in row["best"]), f"{eager / ours:.2f}", f"{inductor / ours:.2f}",
                     *(bench.show_time(t) for t in row["first"][1:]), held])
    heading = ["function", *WAYS, "eager : ours", "inductor : ours", "first call, ours", f"first call, {WAYS[2]}", "first call, inductor", "at most"]
    return "\n".join([
        *bench.first_lines("Functions of torch tensors", facts),
        f"By `bench/tensors.py` with {facts['versions']}: {facts['cpu']}. float32, one thread, the best of alternating calls, no disk cache.",
        "", *bench.table(heading, rows)]) + "\n"


def told(row):
    times = "  ".join(f"{way} {t * 1e6:.2f} us" for way, t in zip(WAYS, row["best"]))
    return f"{row['name']:28} {times}  apart {row['apart']:.0e}"


if __name__ == "__main__":
    raise SystemExit(bench.main_of_functions(sys.modules[__name__], "tensors", FUNCTIONS, bench.prepare_torch, told, 1e-3))
