"""Sizes that change from call to call: torch.compile(..., dynamic=True) and mark_dynamic."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch_help import BACKENDS, Block, close, fresh  # noqa: E402, F401

import frameloom.torch as ft  # noqa: E402


def versions():
    return [v for g in ft.compiled_graphs for v in g.report()]


def all_general(host_calls=()):
    """Every graph has one version, for all sizes, and only these ops run through torch."""
    for g in ft.compiled_graphs:
        (version,) = g.report()
        assert version["sizes"] is None and version["symbols"], version["static_because"]
    found = {str(op) for v in versions() for op, _ in v["host_calls"]}
    assert found == set(host_calls)


def all_sizes_as_eager(f, *calls, backend="frameloom", host_calls=(), graphs=1, backward=False, mark=(0,)):
    """The same results as eager's for every call, from one version of each graph.

    The sizes along `mark` of each tensor are marked as dynamic; where it is None, all sizes are.
    """
    dynamic = True if mark is None else None
    compiled = torch.compile(f, backend=BACKENDS[backend], dynamic=dynamic)
    for args in calls:
        leaves = [
            [a.detach().clone().requires_grad_(a.requires_grad) if torch.is_tensor(a) else a for a in args]
            for _ in range(2)
        ]
        for a in leaves[0]:
            for axis in mark or ():
                if torch.is_tensor(a):
                    torch._dynamo.mark_dynamic(a, axis)
        got, expected = compiled(*leaves[0]), f(*leaves[1])
        close(got, expected)
        if backward:
            for results in (got, expected):
                results = results if isinstance(results, tuple) else (results,)
                sum((t * t).sum() for t in results if torch.is_tensor(t) and t.requires_grad).backward()
            for a, b in zip(*leaves):
                if torch.is_tensor(a) and a.requires_grad:
                    close(a.grad, b.grad, rtol=1e-4, atol=1e-5)
    assert len(ft.compiled_graphs) == graphs * (2 if backward else 1)
    all_general(host_calls)


SIZES = (5, 4, 17, 64, 7)


def matrices(*more):
    return [(torch.randn(n, 8), *more) for n in SIZES]


CASES = {
    "pointwise": lambda x: (x * 2 + 1).relu(),
    "broadcast": lambda x: x[:, None] - x[None],
    "minus one": lambda x: x.reshape(-1) + 1,
    "view": lambda x: x.view(x.shape[0], 2, 4).transpose(1, 2).reshape(x.shape[0] * 4, 2) * 2,
    "flatten": lambda x: x.flatten().unflatten(0, (-1, 4)).sum(1),
    "cat": lambda x: torch.cat([x, x[1:], x.flip(0)]),
    "stack": lambda x: torch.stack([x, x + 1], 1),
    "arange": lambda x: x + torch.arange(x.shape[0])[:, None],
    "arange from": lambda x: torch.arange(x.shape[0], 3 * x.shape[0], 2) * x.shape[0],
    "float arange": lambda x: torch.arange(0, x.shape[0], dtype=torch.float32) / 2,
    "mask": lambda x: x.masked_fill(torch.ones(x.shape[0], 8, dtype=torch.bool).triu(1), -1.0),
    "causal": lambda x: (x @ x.T).masked_fill(
        torch.arange(x.shape[0])[:, None] < torch.arange(x.shape[0]), float("-inf")
    ),
    "where": lambda x: torch.where(torch.arange(x.shape[0])[:, None] > 1, x, -x),
    "half": lambda x: x[: x.shape[0] // 2] + 1,
    "second half": lambda x: x[x.shape[0] // 2 :] * 2,
    "without the last": lambda x: x[:-1] + x[1:],
    "last": lambda x: x[-1] + x[0] + x.select(0, -2),
    "steps": lambda x: x[::2] + 1,
    "odd": lambda x: x[1::2] * 3,
    "expand": lambda x: x[0].expand(x.shape[0], 8) + x,
    "expanded": lambda x: x[:1].expand(x.shape[0], 8),
    "repeat": lambda x: x.repeat(2, 1),
    "repeat by size": lambda x: torch.ones(3).repeat(x.shape[0]),
    "pad": lambda x: F.pad(x, (1, 2, 3, 0), value=2.0),
    "crop": lambda x: F.pad(x, (0, 0, -1, 0)),
    "sizes": lambda x: (x + 1, x.shape[0] * 2 + 1, x.numel() // 3, x.shape[0] % 4),
    "size as number": lambda x: x * x.shape[0] + x.shape[0],
    "size as float": lambda x: x / x.shape[0] ** 0.5,
    "mean": lambda x: (x.mean(0), x.mean(), x.sum(), x.mean(1)),
    "var": lambda x: (x.var(0), x.std(), x.var(0, correction=0)),
    "softmax": lambda x: (x.softmax(0), x.softmax(1), x.log_softmax(0)),
    "normalised": lambda x: F.layer_norm(x, (8,)),
    "normalised long": lambda x: F.layer_norm(x.T, (x.shape[0],)),
    "extremes": lambda x: (x.amax(0), x.max(0).values, x.max(0).indices, x.argmin(), x.argmax(0)),
    "norm": lambda x: (x.norm(), x.norm(dim=0), torch.linalg.vector_norm(x, float("inf"))),
    "cumsum": lambda x: x.cumsum(0),
    "product": lambda x: (x @ x.T, x.T @ x, torch.mv(x, x[0])),
    "batched": lambda x: torch.bmm(x.view(-1, 2, 4), x.view(-1, 4, 2)),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x) * 2,
    "transposed": lambda x: (x.T + 1, (x * 2).t()),
    "split": lambda x: [y + 1 for y in x.split([2, x.shape[0] - 2])],
    "chunks of axis 1": lambda x: [y * 2 for y in x.chunk(2, dim=1)],
    "unbind": lambda x: [y * 2 for y in x.unbind(1)],
    "fills": lambda x: (torch.zeros(x.shape[0], 3), x.new_ones(x.shape[0]), torch.full_like(x, 3)),
    "tensor of sizes": lambda x: torch.tensor(x.shape[0]) + x.sum().long() * 0,
    "select by": lambda x: x.index_select(0, torch.tensor([1, 0])),
    "index": lambda x: x[torch.tensor([[0, 1], [1, 0]])],
    "gathered": lambda x: x.gather(0, (x > 0).long()),
    "taken": lambda x: x[torch.arange(x.shape[0] - 1, -1, -1)],
    "scattered": lambda x: x.scatter(0, (x > 0).long(), x * 2),
    "scattered rows": lambda x: torch.zeros(6, 8).index_add(0, torch.arange(x.shape[0]) % 6, x),
    "scattered number": lambda x: x.scatter(1, (x > 0).long()[:, :1], 3.0),
    "added": lambda x: torch.zeros(3, 8).scatter_add(0, (x > 0).long(), x),
    "put": lambda x: torch.zeros(x.shape[0], 8).index_put((torch.tensor([1, 0]),), x[:2]),
    "min of sizes": lambda x: x[: min(x.shape[0], 4)] + 1,
    "view of result": lambda x: (lambda y: (y, y.view(-1), y[1:]))(x + 1),
    "argument": lambda x: (x, x[1:], x * 2),
}


@pytest.mark.parametrize("case", CASES)
def test_ops(case):
    all_sizes_as_eager(CASES[case], *matrices())


@pytest.mark.parametrize(
    "case", sorted(set(CASES) - {"flatten", "batched", "put", "scattered rows"})[::3]
)
def test_every_size_is_dynamic(case):
    all_sizes_as_eager(CASES[case], *matrices(), mark=None)


def image_op(op, *shapes, **kwargs):
    """`op` with constant weights of these shapes."""
    tensors = [torch.randn(shape, generator=torch.Generator().manual_seed(0)) / 4 for shape in shapes]
    return lambda x: op(x, *tensors, **kwargs)


# Of [n, 4, h, w].
CONVOLUTIONS = {
    "padded": image_op(F.conv2d, (6, 4, 3, 3), (6,), padding=1),
    "strided": image_op(F.conv2d, (20, 4, 3, 5), stride=(2, 3), padding=(1, 2)),
    "dilated": image_op(F.conv2d, (3, 4, 3, 3), dilation=2, padding=2),
    "point": image_op(F.conv2d, (33, 4, 1, 1)),
    "grouped": image_op(F.conv2d, (8, 2, 3, 3), groups=2, padding=1),
    "depthwise": image_op(F.conv2d, (4, 1, 3, 3), groups=4, padding=1),
    "deep": image_op(lambda x, w: F.conv2d(x.repeat(1, 64, 1, 1), w / 16), (5, 256, 3, 3)),
    "line": image_op(lambda x, w: F.conv1d(x[:, :, 0], w, padding=1), (5, 4, 3)),
    "turned": image_op(lambda x, w: F.conv2d(x.transpose(2, 3).relu(), w, padding=1), (5, 4, 3, 3)),
}
POOLS = {
    "largest": lambda x: F.max_pool2d(x, 3, 2, 1),
    "largest, ceil": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "largest and where": lambda x: F.max_pool2d(x, (2, 3), (2, 1), (1, 0), dilation=(1, 2), return_indices=True),
    "mean": lambda x: F.avg_pool2d(x, 2),
    "cut mean": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "mean, ceil": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    "mean of lines": lambda x: F.avg_pool1d(x[:, :, 0], 3, 2),
}
# Sizes of images may not change.
FIXED = {
    "adaptive": lambda x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 2))),
    "adaptive largest": lambda x: F.adaptive_max_pool2d(x, (3, 2)),
    "groups": image_op(lambda x, w, b: F.group_norm(x, 2, w, b), (4,), (4,)),
    "batch": image_op(lambda x, m, v: F.batch_norm(x, m, v.exp()), (4,), (4,)),
}


@pytest.mark.parametrize("case", [*CONVOLUTIONS, *POOLS, *FIXED])
def test_images_of_any_batch(case):
    f = (CONVOLUTIONS | POOLS | FIXED)[case]
    all_sizes_as_eager(f, *[(torch.randn(n, 4, 9, 11),) for n in (5, 2, 13, 3)])  # torch guards on 16


@pytest.mark.parametrize("case", [*CONVOLUTIONS, *POOLS])
def test_images_of_any_size(case):
    sizes = [(3, 11, 13), (2, 6, 7), (5, 40, 9), (2, 8, 37)]
    all_sizes_as_eager((CONVOLUTIONS | POOLS)[case], *[(torch.randn(n, 4, h, w),) for n, h, w in sizes], mark=(0, 2, 3))


TRANSPOSED = {
    "plain": image_op(F.conv_transpose2d, (4, 3, 3, 3), padding=1),
    "strided": image_op(F.conv_transpose2d, (4, 3, 3, 2), stride=(2, 3), padding=(1, 0), output_padding=(1, 2)),
}


@pytest.mark.parametrize("case", TRANSPOSED)
def test_transposed_convolutions_of_any_size(case):
    sizes = [(3, 11, 13), (2, 6, 7), (5, 40, 9), (2, 8, 37)]
    all_sizes_as_eager(TRANSPOSED[case], *[(torch.randn(n, 4, h, w),) for n, h, w in sizes], mark=(0, 2, 3))


# Of [n, 4, h, w] and weights; the last ones are narrower than what is copied at once.
GRADIENTS = {
    "padded": ((6, 4, 3, 3), dict(padding=1)),
    "strided": ((20, 4, 3, 5), dict(stride=(2, 3), padding=(1, 2))),
    "strided point": ((5, 4, 1, 1), dict(stride=2)),
    "far strided": ((5, 4, 2, 3), dict(stride=(3, 4), padding=(1, 1))),
    "dilated": ((3, 4, 3, 3), dict(dilation=2, padding=2)),
    "point": ((33, 4, 1, 1), {}),
    "valid": ((17, 4, 3, 2), {}),
    "grouped": ((8, 2, 3, 3), dict(groups=2, padding=1)),
    "depthwise": ((4, 1, 3, 3), dict(groups=4, padding=1)),
}


@pytest.mark.parametrize("case", GRADIENTS)
def test_gradients_of_images_of_any_size(case):
    shape, options = GRADIENTS[case]

    def f(x, w):
        return F.conv2d(x, w, **options)

    sizes = [(3, 11, 13), (2, 6, 7), (5, 40, 9), (2, 8, 37), (2, 5, 6), (3, 12, 5)]
    compiled = torch.compile(f, backend=ft.backend)
    for n, h, w in sizes:
        pairs = [(torch.randn(n, 4, h, w), torch.randn(shape) / 4)]
        pairs.append(tuple(t.clone() for t in pairs[0]))
        for axis in (0, 2, 3):
            torch._dynamo.mark_dynamic(pairs[0][0], axis)
        for x, weights in pairs:
            x.requires_grad_(), weights.requires_grad_()
        for run, (x, weights) in zip((compiled, f), pairs):
            y = run(x, weights)
            (y * y.detach().cos()).sum().backward()
        for a, b in zip(*pairs):
            close(a.grad, b.grad, rtol=1e-4, atol=1e-4)
    all_general()


@pytest.mark.parametrize("case", POOLS)
def test_gradients_of_pools_of_any_size(case):
    sizes = [(3, 11, 13), (2, 6, 7), (5, 40, 9), (2, 8, 37)]
    calls = [(torch.randn(n, 4, h, w).requires_grad_(),) for n, h, w in sizes]
    all_sizes_as_eager(POOLS[case], *calls, mark=(0, 2, 3), backward=True)


class Images(torch.nn.Module):
    """A small convolutional net with norms, strides, groups and a head."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.SiLU(),
            torch.nn.Conv2d(8, 12, 3, stride=2, padding=1), torch.nn.BatchNorm2d(12), torch.nn.SiLU(),
            torch.nn.Conv2d(12, 12, 3, padding=1, groups=12), torch.nn.Conv2d(12, 16, 1, stride=2),
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 4),
        )

    def forward(self, x):
        return self.layers(x)


def test_training_with_batches_and_images_of_any_size():
    net, other = Images(), Images()
    other.load_state_dict(net.state_dict())
    compiled = torch.compile(net, backend=ft.backend)
    for n, h, w in [(2, 16, 20), (3, 17, 22), (5, 24, 31), (4, 13, 13), (2, 33, 18)]:
        pair = [torch.randn(n, 3, h, w)]
        pair.append(pair[0].clone())
        for axis in (0, 2, 3):
            torch._dynamo.mark_dynamic(pair[0], axis)
        for run, module, x in zip((compiled, other), (net, other), pair):
            module.zero_grad()
            run(x.requires_grad_()).square().mean().backward()
        close(pair[0].grad, pair[1].grad, rtol=1e-4, atol=1e-5)
        for (name, a), b in zip(net.named_parameters(), other.parameters()):
            close(a.grad, b.grad, rtol=1e-3, atol=1e-5, msg=lambda text: f"{name}: {text}")
        for a, b in zip(net.buffers(), other.buffers()):
            close(a, b, rtol=1e-5, atol=1e-6)
    assert len(ft.compiled_graphs) == 2
    all_general()


@pytest.mark.parametrize("case", ["view", "causal", "softmax", "size as float", "product", "pad"])
def test_interpreter(case):
    all_sizes_as_eager(CASES[case], *matrices()[:3], backend="frameloom_interpret")


@pytest.mark.parametrize("case", CASES)
def test_edge_sizes(case):
    """Torch makes graphs of its own where a size computed from others is 0 or 1."""
    f = CASES[case]
    compiled = torch.compile(f, backend=ft.backend, dynamic=True)
    for n in (5, 3, 2, 4):
        x = torch.randn(n, 8)
        close(compiled(x), f(x))


def test_versions_for_each_size_where_an_op_needs_that():
    """The sign of this padding depends on the size: known sizes first, then torch for that op."""

    def f(x):
        return F.pad(x, (0, 0, 0, 64 - x.shape[0])) * 2

    compiled = torch.compile(f, backend=ft.backend)
    for n in range(3, 15):
        x = torch.randn(n, 8)
        torch._dynamo.mark_dynamic(x, 0)
        close(compiled(x), f(x))
    rows = versions()
    assert len(rows) == 9 and all("negative" in v["static_because"] for v in rows[1:])
    assert rows[0]["sizes"] is None and len(rows[0]["host_calls"]) == 1
    assert not any(v["host_calls"] for v in rows[1:])
    assert [n for v in rows[1:] for n in v["sizes"].values()] == list(range(10, 2, -1))


def test_a_divisor_is_guarded():
    def f(x):
        return x.view(x.shape[0] // 4, 4, 8).sum(1)

    all_sizes_as_eager(f, *[(torch.randn(n, 8),) for n in (8, 12, 64)])


class Language(torch.nn.Module):
    """GPT-like without a mask of padding, BERT-like with one."""

    def __init__(self, vocabulary=50, width=32, layers=2, length=64):
        super().__init__()
        self.tokens = torch.nn.Embedding(vocabulary, width)
        self.places = torch.nn.Embedding(length, width)
        self.blocks = torch.nn.ModuleList(Block(width) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids, kept=None, labels=None):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        mask = None
        if kept is not None:
            mask = torch.zeros(kept.shape).masked_fill(~kept, float("-inf"))[:, None, None]
            mask = mask.expand(-1, 4, ids.shape[1], -1)
        for block in self.blocks:
            x = block(x, mask)
        logits = self.head(self.norm(x))
        if labels is None:
            return logits
        flat = logits[:, :-1].reshape(-1, logits.shape[-1])
        return F.cross_entropy(flat, labels[:, 1:].reshape(-1))


BATCHES = ((2, 8), (3, 12), (5, 16), (4, 31), (7, 9), (2, 64))


def language_calls(padded):
    for n, t in BATCHES:
        ids = torch.randint(0, 50, (n, t))
        kept = torch.arange(t) < torch.randint(2, t, (n, 1)) if padded else None
        for a in (ids, kept):
            if a is not None:
                torch._dynamo.mark_dynamic(a, 0)
                torch._dynamo.mark_dynamic(a, 1)
        yield ids, kept


@pytest.mark.parametrize("padded", [False, True])
def test_language_model(padded):
    model = Language().eval()
    compiled = torch.compile(model, backend=ft.backend)
    with torch.no_grad():
        for ids, kept in language_calls(padded):
            close(compiled(ids, kept), model(ids, kept), rtol=1e-4, atol=1e-5)
    assert len(ft.compiled_graphs) == 1
    all_general()


@pytest.mark.parametrize("padded", [False, True])
def test_training_of_a_language_model(padded):
    model = Language()
    compiled = torch.compile(model, backend=ft.backend)
    for ids, kept in language_calls(padded):
        grads = []
        for run in (compiled, model):
            model.zero_grad()
            loss = run(ids, kept, ids)
            loss.backward()
            grads.append([loss] + [p.grad.clone() for p in model.parameters()])
        for got, expected in zip(*grads):
            close(got, expected, rtol=1e-4, atol=1e-5)
    assert len(ft.compiled_graphs) == 2
    all_general()


DIFFERENTIABLE = (
    "pointwise", "broadcast", "view", "cat", "mask", "half", "second half", "without the last",
    "last", "steps", "repeat", "pad", "size as float", "mean", "softmax", "normalised",
    "extremes", "norm", "cumsum", "product", "batched", "select by", "index", "gathered", "added",
)


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_gradients(case):
    calls = [(torch.randn(n, 8, requires_grad=True),) for n in SIZES]
    all_sizes_as_eager(CASES[case], *calls, backward=True)


def test_results_that_are_views_of_others():
    """What a caller writes to a view shows in its base, and nowhere else."""

    def f(x):
        y = x * 2
        q, k = y.view(x.shape[0], 2, 4).unbind(1)
        return y, y[1:], y.T, q, k

    compiled = torch.compile(f, backend=ft.backend, dynamic=True)
    for n in (5, 4, 9):
        x = torch.randn(n, 8)
        got, expected = compiled(x), f(x)
        for results in (got, expected):
            results[1].add_(1)
            results[3].mul_(3)
        close(got, expected)
    all_general()


@ft.config.patch(strict=False)
def test_layouts():
    """A transposed argument, and one with gaps, which is copied to the layout that was traced."""
    f = torch.compile(lambda x: x * 2 + x.sum(0), backend=ft.backend, dynamic=True)
    for n in (5, 6, 9):
        for x in (torch.randn(n, 8), torch.randn(8, n).T, torch.randn(n, 16)[:, ::2]):
            close(f(x), x * 2 + x.sum(0))
    assert all(v["sizes"] is None for v in versions())


def test_automatic():
    """The second size makes torch trace once more, with a symbol; no other size does."""

    def f(x):
        return x.softmax(-1) @ x.T

    compiled = torch.compile(f, backend=ft.backend)
    for n in (4, 5, 6, 7, 20):
        x = torch.randn(n, 8)
        close(compiled(x), f(x))
    assert [v["symbols"] for v in versions()] == [0, 1]


def test_mark_dynamic_with_a_range():
    f = torch.compile(lambda x: (x + 1).cumsum(0), backend=ft.backend)
    for n in (4, 16, 9):
        x = torch.randn(n, 8)
        torch._dynamo.mark_dynamic(x, 0, min=4, max=16)
        close(f(x), (x + 1).cumsum(0))
    all_general()


@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("part", [lambda x: x[:, None], lambda x: (x * 2)[:, None, 1:], lambda x: (x * 2).T[None]])
def test_a_view_behind_a_graph_break(part, gradients):
    """The size of its storage is an expression of symbols that no argument of the second graph tells."""

    def model(x):
        h = part(x)
        torch._dynamo.graph_break()
        return h.sin().relu(), h

    run = torch.compile(model, backend="frameloom", dynamic=True)
    for rows in (3, 5):
        x = torch.randn(rows, 20, requires_grad=gradients)
        got, expected = run(x), model(x)
        torch.testing.assert_close(got, expected)
        if gradients:
            of = lambda out: torch.autograd.grad(out[0].sum(), x)  # noqa: E731
            torch.testing.assert_close(of(got), of(expected))


def changed(x):
    x.mul_(2)
    return (x + 1)[:, 1 : x.shape[1] - 2]


# Of results that are views with gaps, and sizes that are symbols.
GAPS = {
    "alone": lambda x: (x * 2)[:, 1 : x.shape[1] - 2],
    "of a convolution": lambda x: F.conv_transpose1d(x[None], torch.ones(x.shape[0], 2, 3), stride=2)[..., 1 : x.shape[1] - 2],
    "of an argument": lambda x: x[:, 1 : x.shape[1] - 2],
    "beside another": lambda x: ((x * 2)[:, 1 : x.shape[1] - 2], x.sin()),
    "beside one of an argument": lambda x: (x[:, : x.shape[1] - 4], (x * 2)[:, 1 : x.shape[1] - 2]),
    "behind a changed argument": lambda x: changed(x * 1),
    "kept for the backward": lambda x: (h := x.exp()[:, 1 : x.shape[1] - 2], h.sin()),
}


@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("case", GAPS)
def test_results_with_gaps(case, gradients):
    run = torch.compile(GAPS[case], backend="frameloom", dynamic=True)
    for rows, columns in ((3, 20), (5, 23)):
        x = torch.randn(rows, columns, requires_grad=gradients)
        got, expected = run(x), GAPS[case](x)
        torch.testing.assert_close(got, expected)
        if gradients:
            of = lambda out: torch.autograd.grad(sum(t.sum() for t in (out if isinstance(out, tuple) else (out,))), x)  # noqa: E731
            torch.testing.assert_close(of(got), of(expected))


def test_a_result_with_gaps_beside_a_changed_argument():
    run = torch.compile(changed, backend="frameloom", dynamic=True)
    for columns in (20, 23):
        x = torch.randn(4, columns)
        y = x.clone()
        torch.testing.assert_close(run(x), changed(y))
        assert torch.equal(x, y)
