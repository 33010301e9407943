"""Training through torch.compile(..., backend="frameloom"): gradients, optimizers, transforms, two processes."""

import copy
import re
import textwrap

import pytest
from paths import ROOT
from processes import run_python

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch_help import close, compiled, fresh, host_calls  # noqa: E402, F401

import frameloom.torch as ft  # noqa: E402


def mlp(width=8):
    return torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.GELU(), torch.nn.Linear(width, 2))


def gradients(model, run, *inputs):
    """The loss and every gradient of one step."""
    model.zero_grad()
    leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    loss = run(*leaves).float().square().mean()
    loss.backward()
    grads = [x.grad for x in leaves if x.requires_grad] + [p.grad for p in model.parameters()]
    return [loss.detach()] + [g.clone() for g in grads]


def same_step(model, *inputs, **tolerance):
    other = copy.deepcopy(model)
    for got, expected in zip(gradients(model, compiled(model), *inputs), gradients(other, other, *inputs), strict=True):
        close(got, expected, **tolerance)
    for got, expected in zip(model.buffers(), other.buffers(), strict=True):
        close(got, expected, **tolerance)


# ---- optimizers ----------------------------------------------------------------------------------

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, foreach=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, foreach=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1, foreach=True),
    "AdamW one by one": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True, foreach=False),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_compiled_optimizer(name):
    models = [mlp()]
    models.append(copy.deepcopy(models[0]))
    optimizers = [OPTIMIZERS[name](m.parameters()) for m in models]
    steps = [compiled(optimizers[0].step), optimizers[1].step]
    x = torch.randn(5, 4)
    for _ in range(4):
        for model, optimizer, step in zip(models, optimizers, steps):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            step()
        for got, expected in zip(models[0].parameters(), models[1].parameters()):
            close(got, expected, rtol=1e-5, atol=1e-6)
    assert ft.compiled_graphs and not host_calls()


def foreach_rows():
    """The overloads of `foreach.def`."""
    path = ROOT / "frontend" / "torch" / "foreach.def"
    return re.findall(r'^FOREACH\("([^"]+)"', path.read_text(), re.M)


def foreach_arguments(schema):
    """An argument of each kind for a `_foreach` op: lists of two tensors, numbers between them."""
    made = []
    for argument in schema.arguments:
        kind = str(argument.type)
        if argument.kwarg_only or argument.name in ("dtype", "non_blocking"):
            break
        if kind == "List[Tensor]":
            made.append([torch.rand(3, 2) * 0.8 + 0.1, torch.rand(4) * 0.8 + 0.1])
        elif kind == "Tensor":
            made.append(torch.tensor(0.7))
        else:
            made.append([0.3, 0.6] if kind.startswith("List") else 2)
    return made


@pytest.mark.parametrize("name", foreach_rows())
def test_ops_over_lists(name):
    packet, overload = name.split(".")
    op = getattr(getattr(torch.ops.aten, "_foreach_" + packet), overload)
    args = foreach_arguments(op._schema)
    if packet in ("copy", "zero"):  # functions of the tracer's own: called through the op that writes

        def f(first, *rest):
            first = [x.clone() for x in first]
            getattr(torch, f"_foreach_{packet}_")(first, *rest)
            return first
    else:

        def f(*args):
            return getattr(torch, "_foreach_" + packet)(*args)

    for got, expected in zip(compiled(f)(*args), f(*args), strict=True):
        close(got, expected)
    assert not [op for op in host_calls() if "_foreach" in op]


def test_step_with_loss_and_optimizer_in_one_function():
    models = [mlp()]
    models.append(copy.deepcopy(models[0]))
    x, y = torch.randn(6, 4), torch.randn(6, 2)

    def trainer(model, wrap):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return wrap(step)

    runs = [trainer(models[0], compiled), trainer(models[1], lambda f: f)]
    for _ in range(4):
        close(runs[0](), runs[1](), rtol=1e-5, atol=1e-6)
    for got, expected in zip(models[0].parameters(), models[1].parameters()):
        close(got, expected, rtol=1e-4, atol=1e-5)


# ---- what a model is made of ----------------------------------------------------------------------


def test_autograd_function():
    class Straight(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x)
            ctx.scale = scale
            return (x * scale).round()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.scale * (x.abs() < 1), None

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(4, 3)

        def forward(self, x):
            return Straight.apply(self.line(x).tanh(), 3.0).cos()

    same_step(Model(), torch.randn(5, 4))


@pytest.mark.parametrize("preserve", [False, True])
def test_checkpoint_of_parts(preserve):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = torch.nn.ModuleList(mlp() for _ in range(2))

        def forward(self, x):
            for part in self.parts:
                y = torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False, preserve_rng_state=preserve)
                x = x + y.repeat(1, 2)
            return x

    same_step(Model(), torch.randn(5, 4), rtol=1e-4, atol=1e-5)


def test_checkpoint_with_dropout_draws_the_same_numbers_again():
    def f(x, w):
        def part(x):
            return F.dropout(x @ w, 0.5)

        return torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False)

    x, w = torch.eye(16, requires_grad=True), torch.ones(16, 16)
    y = compiled(f)(x, w)
    y.sum().backward()
    close(x.grad, y.detach() @ w.t())  # y is 0 or 2 where the gradient is


def test_batch_norm_and_its_buffers():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, bias=False), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
    same_step(model, torch.randn(2, 3, 6, 6), rtol=1e-4, atol=1e-5)
    assert model[1].num_batches_tracked == 1


def test_batch_norm_follows_train_and_eval():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    other, run, x = copy.deepcopy(model), None, torch.randn(5, 4)
    run = compiled(model)
    for mode in (True, False, True):
        model.train(mode), other.train(mode)
        close(run(x), other(x), rtol=1e-4, atol=1e-5)
    close(model[1].running_var, other[1].running_var, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weight_norm(dim, dtype):
    """Its gradient is made of ops that are compiled; over dimensions in the middle torch has it so itself."""
    model = torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(6, 4, 3), dim=dim).to(dtype)
    x = torch.randn(2, 6, 9, dtype=dtype)

    def step(f):
        model.zero_grad()
        f(x).square().sum().backward()
        return [p.grad.clone() for p in model.parameters()]

    close(step(compiled(model)), step(model))
    assert host_calls() == []


@pytest.mark.parametrize("affine", [False, True])
def test_instance_norm(affine):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3), torch.nn.InstanceNorm2d(6, affine=affine))
    x = torch.randn(2, 3, 8, 8)

    def step(f):
        model.zero_grad()
        out = f(x)
        (out * torch.cos(torch.arange(out.numel()).reshape(out.shape))).sum().backward()
        return out.detach(), model[0].weight.grad.clone()

    close(step(compiled(model)), step(model), rtol=1e-4, atol=1e-4)
    assert host_calls() == []


def test_tied_weights():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(11, 6)
            self.head = torch.nn.Linear(6, 11, bias=False)
            self.head.weight = self.table.weight

        def forward(self, i):
            return self.head(self.table(i).tanh())

    same_step(Tied(), torch.randint(0, 11, (3, 5)), rtol=1e-4, atol=1e-5)


def test_a_buffer_that_counts():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x):
            self.count += 1
            self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
            return x * self.mean / self.count

    model = Counter()
    other, run = copy.deepcopy(model), compiled(model)
    for _ in range(3):
        x = torch.randn(4, 3)
        close(run(x), other(x))
    close(model.count, other.count)
    close(model.mean, other.mean)


def test_autocast_to_bfloat16():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.norm, self.down = torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return self.down(F.gelu(self.norm(self.up(x))))

    model, x = Model(), torch.randn(6, 8)
    got = compiled(model)(x)
    assert got.dtype == torch.bfloat16
    same_step(model, x, rtol=0.05, atol=0.02)


def test_autocast_around_the_compiled_model():
    model, x = mlp(), torch.randn(6, 4)
    run = compiled(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got, expected = run(x), model(x)
    assert got.dtype == torch.bfloat16
    close(got, expected, rtol=0.02, atol=0.02)
    close(run(x), model(x), rtol=1e-4, atol=1e-5)  # and back in float32


def test_gradients_accumulate_over_steps():
    model = mlp()
    other, run = copy.deepcopy(model), compiled(model)
    for _ in range(3):
        x = torch.randn(5, 4)
        run(x).sum().backward()
        other(x).sum().backward()
    for got, expected in zip(model.parameters(), other.parameters()):
        close(got.grad, expected.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients_that_are_parts_of_one_are_views(dynamic):
    """As in eager torch; but where two have the same elements, each has memory of its own, since gradients accumulate in place."""
    programs = {
        "rows": lambda a, b: torch.cat([a, b], 0),
        "columns": lambda a, b: torch.cat([a.exp(), b.exp()], 1),
        "whole": lambda a, b: a.view(-1) + b.view(-1),
        "turned": lambda a, b: torch.cat([a.T, b * 2], 1),
    }
    for name, program in programs.items():
        run = torch.compile(program, backend="frameloom", dynamic=dynamic)
        for size in (4, 6):
            leaves = [torch.randn(size, size, requires_grad=True) for _ in range(2)]
            out = run(*leaves)
            grad = torch.randn_like(out)
            got = torch.autograd.grad(out, leaves, grad, retain_graph=True)
            want = torch.autograd.grad(program(*leaves), leaves, grad)
            shared = [g.untyped_storage().data_ptr() == grad.untyped_storage().data_ptr() for g in got]
            for g, w in zip(got, want):
                close(g, w)
                assert dynamic or name == "whole" or g.stride() == w.stride()
            assert shared == {"rows": [True, True], "turned": [True, False]}.get(name, [False, False])
            assert got[0].untyped_storage().data_ptr() != got[1].untyped_storage().data_ptr() or name == "rows"
        torch._dynamo.reset()


def test_retained_graph_and_hooks():
    model, x, seen = mlp(), torch.randn(5, 4), []
    y = compiled(model)(x)
    y.register_hook(lambda g: seen.append(g.clone()) or g * 2)
    y.sum().backward(retain_graph=True)
    first = [p.grad.clone() for p in model.parameters()]
    y.sum().backward()
    for p, g in zip(model.parameters(), first):
        close(p.grad, g * 2)
    assert len(seen) == 2 and torch.equal(seen[0], torch.ones(5, 2))


def test_only_some_gradients_are_asked_for():
    model = mlp()
    model[0].weight.requires_grad_(False)
    other, x = copy.deepcopy(model), torch.randn(5, 4)
    compiled(model)(x).square().sum().backward()
    other(x).square().sum().backward()
    assert model[0].weight.grad is None
    close(model[2].weight.grad, other[2].weight.grad, rtol=1e-4, atol=1e-5)
    got = torch.autograd.grad(compiled(model)(x).sum(), [model[0].bias])
    close(got[0], torch.autograd.grad(other(x).sum(), [other[0].bias])[0], rtol=1e-4, atol=1e-5)


def test_several_outputs_of_which_one_has_no_gradient():
    def f(x):
        return x.sin(), x.detach() * 2, x.argmax(), x.exp()

    x = torch.randn(5, requires_grad=True)
    got, expected = compiled(f)(x), f(x)
    assert [t.requires_grad for t in got] == [t.requires_grad for t in expected]
    close(torch.autograd.grad(got[3].sum(), x)[0], torch.autograd.grad(expected[3].sum(), x)[0])


def test_double_backward_is_refused_as_aot_autograd_does():
    x = torch.randn(3, requires_grad=True)
    y = compiled(lambda x: x.sin() * x)(x)
    (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        grad.sum().backward()


# ---- torch.func ------------------------------------------------------------------------------------


def test_grad_vmap_and_jvp():
    def loss(v):
        return (v.sin() * v).sum()

    x, t = torch.randn(3, 4), torch.randn(3, 4)
    cases = [
        lambda x, t: torch.func.grad(loss)(x),
        lambda x, t: torch.func.vmap(torch.func.grad(loss))(x),
        lambda x, t: torch.func.jvp(lambda v: v.tanh() * v, (x,), (t,)),
        lambda x, t: torch.func.vmap(lambda a, b: a @ b)(x, t),
        lambda x, t: torch.func.vjp(lambda v: v.exp().sum(0), x)[1](t[0]),
        lambda x, t: torch.func.jacrev(lambda v: (v * v).sum(1))(x),
        lambda x, t: torch.func.hessian(loss)(x[0]),
    ]
    for f in cases:
        close(compiled(f)(x, t), f(x, t), rtol=1e-4, atol=1e-5)


def test_functional_call_and_gradients_of_each_sample():
    model = mlp()
    params = {k: v.detach() for k, v in model.named_parameters()}
    x, y = torch.randn(6, 4), torch.randn(6, 2)

    def loss(params, x, y):
        return F.mse_loss(torch.func.functional_call(model, params, (x[None],))[0], y)

    def each(params, x, y):
        return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(params, x, y)

    got, expected = compiled(each)(params, x, y), each(params, x, y)
    assert got.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(got[name], expected[name], rtol=1e-4, atol=1e-5)


# ---- custom ops -------------------------------------------------------------------------------------


def test_custom_op_with_a_gradient():
    @torch.library.custom_op("frameloom_test::cube", mutates_args=())
    def cube(x: torch.Tensor, scale: float) -> torch.Tensor:
        return x**3 * scale

    cube.register_fake(lambda x, scale: torch.empty_like(x))
    cube.register_autograd(
        lambda ctx, grad: (grad * 3 * ctx.saved_tensors[0] ** 2 * ctx.scale, None),
        setup_context=lambda ctx, inputs, output: (
            ctx.save_for_backward(inputs[0]),
            setattr(ctx, "scale", inputs[1]),
        ),
    )
    x = torch.randn(4, requires_grad=True)
    y = compiled(lambda x: cube(x.sin(), 2.0).sum())(x)
    (got,) = torch.autograd.grad(y, x)
    (expected,) = torch.autograd.grad((2 * x.sin() ** 3).sum(), x)
    close(got, expected, rtol=1e-4, atol=1e-5)
    assert any("cube" in op for op in host_calls())


def test_custom_op_that_writes_to_its_argument():
    @torch.library.custom_op("frameloom_test::add_one_", mutates_args=("x",))
    def add_one_(x: torch.Tensor) -> None:
        x.add_(1)

    def f(x):
        y = x * 2
        add_one_(y)
        return y.sin()

    x = torch.randn(4)
    close(compiled(f)(x), f(x))
    assert len(ft.compiled_graphs) == 1


# ---- two processes -----------------------------------------------------------------------------------

DDP = """
    import copy, os, sys, torch
    import torch._dynamo, torch._functorch.aot_autograd, torch._dynamo.backends.distributed
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel as DDP
    import frameloom.torch as ft
    rank = 0 if os.fork() else 1  # what is imported is imported once
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=2)
    torch.manual_seed(0)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(512, 512) for _ in range(4))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).tanh()
            return x

    model = Model()
    other = copy.deepcopy(model)
    x = torch.randn(2, 5, 512)[rank]
    # Buckets so small that the graph is split at their boundaries.
    wrapped = [DDP(m, bucket_cap_mb=1.5) for m in (model, other)]
    run = torch.compile(wrapped[0], backend=ft.backend)
    for step in range(3):
        for m, f in ((model, run), (other, wrapped[1])):
            m.zero_grad()
            f(x).square().sum().backward()
    for p, q in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-4, atol=1e-4)
    assert len(ft.compiled_graphs) >= 4, ft.compiled_graphs  # forward and backward of two parts at least
    dist.destroy_process_group()
    if rank == 0:
        assert os.wait()[1] == 0
        print("both are done")
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")
def test_two_processes_of_ddp(tmp_path):
    """They meet in a file: a port that is free now may be taken by the time that they listen on it."""
    script = tmp_path / "train.py"  # Dynamo leaves code that is in no file alone
    script.write_text(textwrap.dedent(DDP))
    done = run_python(script, tmp_path / "meeting", environment={"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0 and done.stdout == "both are done\n", done.stdout + done.stderr[-3000:]
