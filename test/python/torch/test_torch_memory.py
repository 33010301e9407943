"""How much memory a training step needs at its highest point: read from the plans, which say it, not measured."""

from __future__ import annotations

import copy
import functools
import re

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

import frameloom  # noqa: E402
import frameloom.torch as backend  # noqa: E402

MB = 1 << 20


class Plans:
    """The backward's plan of a model, and gradients that are those of eager torch."""

    def __init__(self, module, inputs, folder, monkeypatch):
        self.texts = []
        inner = backend._compile_graph

        def traced(*arguments):
            place = folder / str(len(self.texts))
            place.mkdir()
            monkeypatch.setattr(frameloom.config, "trace", str(place))
            try:
                return inner(*arguments)
            finally:
                self.texts.append(next(place.rglob("03-plan.mlir")).read_text())

        monkeypatch.setattr(backend, "_compile_graph", traced)
        monkeypatch.setattr(frameloom.config, "cache", False)
        torch._dynamo.reset()
        compiled = torch.compile(module, backend=backend.backend)
        want = self.gradients(module, module, inputs)
        for _ in range(3):  # later calls find what the first has left in the arena
            got = self.gradients(module, compiled, inputs)
            for g, w in zip(got, want, strict=True):
                torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-4)
        self.backward = self.texts[-1]

    @staticmethod
    def gradients(module, function, inputs):
        module.zero_grad(set_to_none=True)
        function(*inputs).square().mean().backward()
        return [p.grad for p in module.parameters()]

    def peak(self):
        return int(re.search(r"loom\.peak = (\d+)", self.backward)[1])

    def launches(self):
        return [line for line in self.backward.splitlines() if "loom.launch" in line and "stage = 0" in line]


def parameter_bytes(module):
    return sum(p.numel() * 4 for p in module.parameters())


def test_short_calls_keep_what_they_have_touched(tmp_path, monkeypatch):
    """Page faults would take longer than their kernels."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 128))
    assert "loom.trim_arena" not in Plans(module, (torch.randn(128, 128),), tmp_path, monkeypatch).backward


def test_large_gradients_come_after_the_activations_have_gone(tmp_path, monkeypatch):
    """The last layers have large weights and small activations, the first ones the other way round."""
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.Tanh(), nn.Conv2d(32, 32, 3, padding=1), nn.Tanh(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 2048), nn.Tanh(), nn.Linear(2048, 2048))
    plans = Plans(module, (torch.randn(2, 3, 128, 128),), tmp_path, monkeypatch)
    activations = 4 * 2 * 32 * 128 * 128 * 4
    assert parameter_bytes(module) > 20 * MB and activations > 15 * MB
    # Both at once is what the order of the program needs.
    assert plans.peak() < parameter_bytes(module) + activations * 3 // 4


def test_dead_parts_of_the_arena_are_given_back(tmp_path, monkeypatch):
    """The gradient of a wide activation is gone when the gradients of the weights are all there, in a call that is large enough."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(1024, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU(), nn.Linear(2048, 1024))
    plans = Plans(module, (torch.randn(1024, 1024),), tmp_path, monkeypatch)
    arena = int(re.search(r"arena = (\d+)", plans.backward)[1])
    assert "loom.trim_arena" in plans.backward
    kept = 4 * 1024 * 2048 * 4  # what the forward hands on, and the gradient that comes in
    assert plans.peak() < parameter_bytes(module) + arena + kept // 4


class Loop(nn.Module):
    """One weight, read in each of eight steps."""

    def __init__(self, width=512):
        super().__init__()
        self.h = nn.Linear(width, width, bias=False)

    def forward(self, x):
        for _ in range(8):
            x = torch.tanh(self.h(x))
        return x


def weights_in_the_arena(plans, width=512):
    return [line for line in plans.backward.splitlines() if "= loom.buffer" in line and f"memref<{width}x{width}xf32>" in line]


def test_products_of_a_sum_are_added_as_they_come(tmp_path, monkeypatch):
    """The gradient of a weight that is used in each step of a loop: no more than two of its size at once."""
    torch.manual_seed(0)
    module = Loop(1024)
    plans = Plans(module, (torch.randn(600, 1024),), tmp_path, monkeypatch)
    given = 8 * 600 * 1024 * 4
    assert weights_in_the_arena(plans, 1024)  # the operands of all products together are larger than the weight
    assert plans.peak() < 3.5 * parameter_bytes(module) + given


@pytest.mark.parametrize("rows", [1, 16])
def test_flat_products_of_a_sum_are_one(rows, tmp_path, monkeypatch):
    """Of few rows: one product of all steps' operands, written where the gradient is wanted."""
    torch.manual_seed(0)
    module = Loop()
    plans = Plans(module, (torch.randn(rows, 512),), tmp_path, monkeypatch)
    assert not weights_in_the_arena(plans)
    assert plans.peak() < 2.5 * parameter_bytes(module)


def test_products_that_share_their_operands_with_another_reader_are_one(tmp_path, monkeypatch):
    """A recurrence whose inputs are multiplied for all steps at once: gradients of the steps lie together already, in
    the other order."""

    class Recurrence(nn.Module):
        def __init__(self):
            super().__init__()
            self.x, self.h = nn.Linear(32, 128), nn.Linear(128, 128, bias=False)

        def forward(self, x):
            h, out = x.new_zeros(x.shape[1], 128), []
            for step in self.x(x).unbind(0):
                h = torch.tanh(step + self.h(h))
                out.append(h)
            return torch.stack(out)

    torch.manual_seed(0)
    plans = Plans(Recurrence(), (torch.randn(6, 4, 32),), tmp_path, monkeypatch)
    weights = [line for line in plans.backward.splitlines() if "= loom.buffer" in line and "memref<128x128xf32>" in line]
    assert not weights


def inputs_taken(monkeypatch):
    """A list that gets, of each graph compiled from now on, its inputs as fake tensors."""
    taken = []
    inner = backend._compile_graph

    def traced(graph_module, *arguments):
        taken.append([n.meta["val"] for n in graph_module.graph.nodes if n.op == "placeholder"])
        return inner(graph_module, *arguments)

    monkeypatch.setattr(backend, "_compile_graph", traced)
    return taken


def test_results_of_norms_are_made_again(tmp_path, monkeypatch):
    """Of a layer norm its input is kept, and not what it gives, too: with a bias, without, without parameters."""
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Linear(48, 64), nn.LayerNorm(64), nn.Linear(64, 80), nn.LayerNorm(80, bias=False), nn.Linear(80, 96),
        nn.LayerNorm(96, elementwise_affine=False), nn.Linear(96, 48))
    taken = inputs_taken(monkeypatch)
    Plans(module, (torch.randn(2, 30, 48),), tmp_path, monkeypatch)
    for width in (64, 80, 96):
        assert sum(t.numel() == 60 * width for t in taken[1]) == 1


def test_results_of_norms_are_made_again_for_all_sizes(monkeypatch):
    module = nn.Sequential(nn.Linear(24, 40), nn.LayerNorm(40), nn.LayerNorm(40), nn.Linear(40, 8))
    other, taken = copy.deepcopy(module), inputs_taken(monkeypatch)
    run = torch.compile(module, backend="frameloom", dynamic=True)
    for rows in (6, 11):
        x = torch.randn(rows, 5, 24)
        run(x).square().sum().backward()
        other(x).square().sum().backward()
    for got, want in zip(module.parameters(), other.parameters()):
        torch.testing.assert_close(got.grad, want.grad, rtol=1e-4, atol=1e-5)
    assert len(taken) == 2 and sum(isinstance(t, torch.Tensor) and t.ndim > 1 and t.shape[-1] == 40 for t in taken[1]) == 2


@pytest.mark.parametrize("keep", [False, True])
def test_a_checkpoint_decides_what_is_made_again(keep, monkeypatch):
    """A policy of the user's may keep the results of norms."""
    from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

    def policy(_, op, *__, **___):
        norm = op is torch.ops.aten.native_layer_norm.default
        return CheckpointPolicy.MUST_SAVE if norm else CheckpointPolicy.PREFER_RECOMPUTE

    kwargs = {"context_fn": functools.partial(create_selective_checkpoint_contexts, policy)} if keep else {}
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.LayerNorm(16)) for _ in range(2))
    last = nn.Linear(16, 3)

    def f(x):
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False, **kwargs)
        return last(x)

    x = torch.randn(9, 16)
    f(x).square().sum().backward()
    wanted = [p.grad.clone() for p in (*blocks.parameters(), *last.parameters())]
    for p in (*blocks.parameters(), *last.parameters()):
        p.grad = None
    taken = inputs_taken(monkeypatch)
    torch.compile(f, backend="frameloom")(x).square().sum().backward()
    for p, want in zip((*blocks.parameters(), *last.parameters()), wanted):
        torch.testing.assert_close(p.grad, want, rtol=1e-4, atol=1e-5)
    assert sum(tuple(t.shape) == (9, 16) for t in taken[1]) == (3 if keep else 1)


def test_gradients_of_a_tied_embedding_share_one_buffer(tmp_path, monkeypatch):
    """Rows of two lookups and a product are added up in the result: no second array of the weight's size."""

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(4000, 128)

        def forward(self, i, j):
            return (torch.tanh(self.embed(i)) + self.embed(j).sin()) @ self.embed.weight.T

    torch.manual_seed(0)
    module = Tied()
    tokens = torch.randint(0, 4000, (2, 2, 16))
    plans = Plans(module, (tokens[0], tokens[1]), tmp_path, monkeypatch)
    weight = parameter_bytes(module)
    assert sum(line.count("memref<4000x128xf32>") for line in plans.backward.splitlines() if "= loom.buffer" in line) <= 1
    assert plans.peak() < 3 * weight


def test_saved_views_are_not_copied(tmp_path, monkeypatch):
    """Views with gaps that the forward keeps have none in memory, and the backward graph is compiled for that."""

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(64, 256)

        def forward(self, x):
            gate, value = self.up(x).chunk(2, -1)
            return torch.tanh(gate) * torch.sin(value)

    torch.manual_seed(0)
    module, x = Gated(), torch.randn(300, 64)
    taken = inputs_taken(monkeypatch)
    Plans(module, (x,), tmp_path, monkeypatch)
    saved = [t for t in taken[1] if tuple(t.shape) == (300, 128)]
    assert len(saved) >= 2 and all(t.is_contiguous() for t in saved)
