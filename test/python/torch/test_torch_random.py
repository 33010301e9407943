"""Random ops of torch.compile(..., backend="frameloom"): Philox, seeded from torch's generator."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import frameloom.torch as ft  # noqa: E402
from torch_help import compiled, fresh, host_calls  # noqa: E402, F401

N = 20000
# What is drawn, with the mean and the standard deviation of the numbers.
DRAWS = {
    "rand": (lambda: torch.rand(N), 0.5, 12**-0.5),
    "rand_like": (lambda: torch.rand_like(torch.empty(N // 4, 4, dtype=torch.float64)), 0.5, 12**-0.5),
    "randn": (lambda: torch.randn(N), 0, 1),
    "randn_like": (lambda: torch.randn_like(torch.empty(4, N // 4)), 0, 1),
    "randint": (lambda: torch.randint(-3, 5, (N,)), 0.5, (63 / 12) ** 0.5),
    "randint of int32": (lambda: torch.randint(10, (N,), dtype=torch.int32), 4.5, (99 / 12) ** 0.5),
    "bernoulli": (lambda: torch.bernoulli(torch.full((N,), 0.3)), 0.3, 0.21**0.5),
    "bernoulli_": (lambda: torch.empty(N).bernoulli_(0.75), 0.75, 0.1875**0.5),
    "dropout": (lambda: F.dropout(torch.ones(N), 0.25), 1, (1 / 0.75 - 1) ** 0.5),
    "feature dropout": (lambda: F.dropout2d(torch.ones(N, 1, 1, 1), 0.5), 1, 1),
    "uniform_": (lambda: torch.empty(N).uniform_(-1, 3), 1, 4 / 12**0.5),
    "normal_": (lambda: torch.empty(N).normal_(2, 3), 2, 3),
    "normal": (lambda: torch.normal(torch.full((N,), 2.0), 3.0), 2, 3),
    "exponential_": (lambda: torch.empty(N).exponential_(2), 0.5, 0.5),
    "bfloat16": (lambda: torch.rand(N, dtype=torch.bfloat16), 0.498, 12**-0.5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_distributions(name):
    f, mean, deviation = DRAWS[name]
    run, expected = compiled(f), f()
    got = run()
    assert got.dtype == expected.dtype and got.shape == expected.shape and got.stride() == expected.stride()
    assert set(host_calls()) == {"frameloom.seed.default"}
    assert got.double().mean().item() == pytest.approx(mean, abs=5 * deviation / N**0.5)
    assert got.double().std().item() == pytest.approx(deviation, rel=0.05)
    # Neighbours, and draws of two calls, have nothing to do with each other.
    a, b, c = got.double().flatten()[:-1], got.double().flatten()[1:], run().double().flatten()[1:]
    for other in (b, c):
        assert abs(torch.corrcoef(torch.stack([a, other]))[0, 1]) < 5 / N**0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_uniform_numbers_stay_below_one(dtype):
    got = compiled(lambda: torch.rand(100_000, dtype=dtype))()
    assert got.dtype == dtype and 0 <= got.min() < 0.01 and 0.98 < got.max() < 1


@pytest.mark.parametrize("backend", ["backend", "backend_interpret"])
def test_a_seed_makes_runs_reproducible(backend):
    f = torch.compile(lambda: (torch.rand(50), torch.randn(50), torch.randint(9, (50,))), backend=getattr(ft, backend))
    f()
    torch.manual_seed(5)
    first, second = f(), f()
    torch.manual_seed(5)
    for a, b, c in zip(first, f(), second):
        assert torch.equal(a, b) and not torch.equal(a, c)
    assert not torch.equal(first[0], torch.rand(50))


def test_kernels_and_interpreter_draw_the_same_numbers():
    def f(x):
        return F.dropout(x, 0.4) + torch.rand_like(x), torch.randn(7, 5), torch.randint(-5, 99, (7,))

    results = []
    for backend in (ft.backend, ft.backend_interpret):
        torch._dynamo.reset()
        torch.manual_seed(1)
        results.append(torch.compile(f, backend=backend)(torch.ones(33)))
    for a, b in zip(*results):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_draws_of_one_graph_differ():
    a, b, c, d = compiled(lambda: (torch.rand(64), torch.rand(64), torch.randn(64), torch.randn(64)))()
    assert not torch.equal(a, b) and not torch.equal(c, d)


def test_forward_and_backward_agree_on_dropout():
    model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.GELU(), torch.nn.Dropout(0.3))
    x = torch.full((4000,), 2.0, requires_grad=True)
    y = compiled(model)(x)
    y.sum().backward()
    slope = torch.autograd.functional.jacobian(lambda v: F.gelu(v), torch.tensor(4.0)).item()
    assert 0.25 < (y == 0).double().mean() < 0.9
    expected = torch.where(y == 0, 0.0, 2 * slope / 0.7)
    torch.testing.assert_close(x.grad, expected, rtol=1e-5, atol=1e-5)


def test_a_checkpoint_draws_the_same_numbers_again():
    w = torch.eye(32)

    def f(x):
        return torch.utils.checkpoint.checkpoint(lambda v: F.dropout((v @ w).sin(), 0.5), x, use_reentrant=False)

    x = torch.rand(20, 32, requires_grad=True)
    y = compiled(f)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.where(y == 0, 0.0, 2 * x.detach().cos()))
    assert len(ft.compiled_graphs) == 2


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_vmap(randomness):
    def f(x):
        return torch.func.vmap(lambda v: v + torch.rand(8), randomness=randomness)(x)

    rows = compiled(f)(torch.zeros(3, 8))
    assert torch.equal(rows[0], rows[1]) == (randomness == "same")


LIKE = {
    "rand_like": torch.rand_like,
    "contiguous rand_like": lambda x: torch.rand_like(x, memory_format=torch.contiguous_format),
    "randint_like": lambda x: torch.randint_like(x, 5, 900),
    "uniform_": lambda x: x.clone().uniform_(),
    "normal_": lambda x: x.clone().normal_(),
    "bernoulli": torch.bernoulli,
    "bernoulli of one probability": lambda x: torch.bernoulli(x, 0.5),
    "dropout": lambda x: F.dropout(x, 0.5),
}


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("dynamic", [False, True])
def test_draws_lie_like_what_they_are_like(name, dynamic):
    run = compiled(LIKE[name], dynamic=dynamic)
    for x in (torch.rand(4, 5, 6, 7).to(memory_format=torch.channels_last), torch.rand(8, 9).T, torch.rand(6, 40, 50)[:, :, ::2]):
        got, expected = run(x), LIKE[name](x)
        assert got.shape == expected.shape and got.stride() == expected.stride() and got.dtype == expected.dtype
        rows = got.double().reshape(got.shape[0], -1)
        assert not torch.equal(rows[0], rows[1])


@ft.config.patch(strict=False)
def test_branches_draw():
    def f(x):
        return torch.cond(x.sum() > 0, lambda v: v * 0 + torch.rand(30), lambda v: v - torch.rand(30), (x,)) + torch.rand(30)

    run = compiled(f)
    torch.manual_seed(2)
    first = run(torch.ones(30))
    second = run(torch.ones(30))
    torch.manual_seed(2)
    assert torch.equal(first, run(torch.ones(30))) and not torch.equal(first, second)
    assert 0 <= first.min() and first.max() < 2 and first.std() > 0.2


def test_an_exported_program_draws():
    class Model(torch.nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5, training=True) + torch.rand_like(x), torch.randn(4)

    program = torch.export.export(Model(), (torch.ones(50),))
    run = ft.compile_exported(program)
    torch.manual_seed(4)
    first, second = run(torch.ones(50)), run(torch.ones(50))
    torch.manual_seed(4)
    for a, b, c in zip(first, second, run(torch.ones(50))):
        assert torch.equal(a, c) and not torch.equal(a, b)


def test_the_seed_of_a_checkpoint_is_kept():
    """The first draw is within the checkpoint: what is made again takes the same seed."""
    def f(x):
        return torch.utils.checkpoint.checkpoint(lambda v: (torch.rand_like(v) * v.exp()).sin(), x, use_reentrant=False)

    x = torch.rand(64, requires_grad=True)
    y = compiled(f)(x)
    y.sum().backward()
    h = y.detach().double().asin()  # within (0, e), where sin has two places for a result
    slopes = torch.stack([h * h.cos(), (torch.pi - h) * -h.cos()])
    assert ((slopes - x.grad).abs().amin(0) < 1e-4).all()


def test_sizes_that_vary():
    def f(x):
        return torch.rand_like(x), torch.randn(x.shape[0]), torch.randint(0, 3, (x.shape[0], 2))

    run = compiled(f, dynamic=True)
    for n in (5, 9, 12):
        got = run(torch.zeros(n, 3))
        assert [tuple(t.shape) for t in got] == [(n, 3), (n,), (n, 2)]
        assert len(set(got[0].flatten().tolist())) > 2 * n


@ft.config.patch(strict=False)
def test_a_graph_that_runs_in_eager_torch_draws_too(monkeypatch, caplog):
    f = compiled(lambda x: F.dropout(x, 0.5))
    torch.manual_seed(3)
    expected = f(torch.ones(40))
    torch._dynamo.reset()

    real = ft._compile_graph

    def refuse(module, options, interpret, visible, *more):
        if visible == 1 << 62 and any(n.target is torch.ops.frameloom.seed.default for n in module.graph.nodes):
            raise NotImplementedError("not today")
        return real(module, options, interpret, visible, *more)

    monkeypatch.setattr(ft, "_compile_graph", refuse)
    torch.manual_seed(3)
    assert torch.equal(compiled(lambda x: F.dropout(x, 0.5))(torch.ones(40)), expected)
    assert "not today" in caplog.text


def test_a_generator_of_the_users_is_left_to_torch():
    generator = torch.Generator()
    generator.manual_seed(4)
    expected = torch.rand(5, generator=torch.Generator().manual_seed(4))

    def f():
        return torch.rand(5, generator=generator) * 1

    assert torch.equal(compiled(f)(), expected)


def test_the_configuration_asks_for_the_numbers_of_eager_torch():
    def f():
        return torch.rand(9) + torch.randn(9)

    with ft.config.patch(fallback_random=True):
        run = compiled(f)
        torch.manual_seed(8)
        got = run()
    torch.manual_seed(8)
    torch.testing.assert_close(got, f())
    assert ft.config.fallback_random is False
    with pytest.raises(AttributeError):
        ft.config.fallback_rand = True
