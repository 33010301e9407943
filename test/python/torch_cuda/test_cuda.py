"""torch.compile(..., backend="frameloom") of tensors on CUDA. torch's tensors lie in memory of the tests' driver, which faults
where the host touches it; work on another stream than torch's runs as late as it may (cuda_tensors.py). No GPU is used."""

import copy

import pytest

torch = pytest.importorskip("torch")
cuda_tensors = pytest.importorskip("cuda_tensors")

import torch.nn.functional as F  # noqa: E402
from torch_help import Block, Net, close, compiled, fresh, host_calls  # noqa: E402, F401

import frameloom  # noqa: E402
import frameloom.torch as ft  # noqa: E402

cuda_tensors.install()


def on_cuda(value):
    return torch.utils._pytree.tree_map(lambda t: t.cuda() if isinstance(t, torch.Tensor) else t, value)


def on_cpu(value):
    """The same on the CPU, with the same strides."""

    def moved(t):
        if not isinstance(t, torch.Tensor):
            return t
        assert t.device.type == "cuda"
        return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype).copy_(t)

    return torch.utils._pytree.tree_map(moved, value)


def eager_ops(run):
    """What it gives, and the names of the operations that torch has run on the device, copies left out."""
    cuda_tensors.eager_calls.clear()
    made = run()
    return made, [name for name in cuda_tensors.eager_calls if "copy_" not in name]


# ---- forward ----


def several(x, y):
    return x @ y.t(), {"sum": (x * y).sum(), "rows": [x.softmax(-1), y.mean(0)]}, x > y


def views(x, y):
    z = x * 2
    return z, z.t()[1:], y[:, ::2], x.view(-1)


def constants(x, y):
    return x * torch.tensor([1.0, 2, 3, 4, 5, 6], device=x.device) + torch.arange(6, device=x.device), y + torch.tensor(2.5)


def sorts(x, y):
    return x.sort(-1), y.sort(dim=0, stable=True).indices, x.cumsum(1), x.flip(0)


def picks(x, y):
    order = y.sort(dim=1, stable=True).indices
    return x.gather(1, order), torch.zeros_like(x).scatter_add(1, order, y), x[order[:, 0]], x.index_select(0, order[0] % 4)


def mixed(x, y):
    """Constants of the CPU go to the device."""
    steps = (torch.ones(6) * 2 + torch.arange(6)).to(x.device)
    return x * steps, y + torch.tensor([1.0, 2, 3, 4, 5, 6]).to(x.device), x[torch.arange(5, -1, -1).to(x.device)]


FUNCTIONS = [several, views, constants, mixed, sorts, picks]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gives_what_the_cpu_gives(function):
    x, y = torch.randn(6, 6), torch.randn(6, 6)
    given = on_cuda([x, y])
    made = compiled(function)
    got, ops = eager_ops(lambda: made(*given))
    close(on_cpu(got), function(x, y), rtol=1e-5, atol=1e-5)
    assert not host_calls() and set(ops) <= {"aten.arange.start_out", "aten._local_scalar_dense.default"}
    assert all(version["device"] == "cuda:0" for graph in ft.compiled_graphs for version in graph.report())


def test_views_of_arguments_and_of_results_share_their_memory():
    x = torch.randn(6, 4).cuda()
    first, turned, part, flat = compiled(views)(x, x)
    assert turned.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
    assert part.untyped_storage().data_ptr() == flat.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    first.zero_()
    assert not turned.cpu().any()


def test_an_argument_is_changed_in_place():
    def change(x, y):
        x.add_(y)
        x[1:3] *= 2
        return x.sum()

    x, y = torch.randn(5, 3), torch.randn(5, 3)
    given = on_cuda(x.clone())
    version = given._version
    close(on_cpu(compiled(change)(given, y.cuda())), change(x, y))
    close(on_cpu(given), x)
    assert given._version > version


def test_other_layouts_are_copied():
    f = compiled(lambda x: x.softmax(1) + 1)
    x = torch.randn(4, 6, 5)
    for layout in (x, x.transpose(0, 2), x[:, ::2], x[1:], x.expand(4, 6, 5), x[0, 0, 0].expand(4, 6, 5)):
        close(on_cpu(f(layout.cuda())), layout.softmax(1) + 1)
        close(on_cpu(f(x.cuda().as_strided(layout.shape, layout.stride(), layout.storage_offset()))), layout.softmax(1) + 1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.bool, torch.complex64], ids=str)
def test_dtypes(dtype):
    def f(x, y):
        return torch.where(x == y, x, y), (x * y).sum(0), (x * 1).abs().to(torch.float32)

    x, y = ((torch.randn(40, 3) * 3).to(dtype) for _ in range(2))
    close(on_cpu(compiled(f)(x.cuda(), y.cuda())), f(x, y))


@pytest.mark.parametrize("switch", ["allow_tf32", "set_float32_matmul_precision"])
def test_products_follow_torchs_switch_for_tf32(switch):
    """TF32 does not know 1 + 2**-12, which f32 does. The graph is compiled again when the switch is turned."""

    def turn(on):
        if switch == "allow_tf32":
            torch.backends.cuda.matmul.allow_tf32 = on
        else:
            torch.set_float32_matmul_precision("high" if on else "highest")

    x, y = on_cuda([torch.full((64, 64), 1 + 2.0**-12), torch.eye(64)])
    ours = compiled(torch.matmul)
    try:
        got = []
        for on in (False, True, False):
            turn(on)
            got.append(on_cpu(ours(x, y))[3, 5].item())
    finally:
        turn(False)
    assert got == [1 + 2.0**-12, 1, 1 + 2.0**-12]


def test_products_of_int8():
    x, y = (torch.randint(-128, 128, size, dtype=torch.int8) for size in ((32, 64), (48, 64)))
    ours = compiled(lambda x, y: torch._int_mm(x, y.t()) + 1)
    made, called = eager_ops(lambda: on_cpu(ours(*on_cuda([x, y]))))
    assert made.dtype == torch.int32 and torch.equal(made, torch._int_mm(x, y.t()) + 1)
    assert not called


def test_empty_tensors():
    f = compiled(lambda x: (x * 2, x.sum(0), x.t() @ x))
    for rows in (0, 3):
        x = torch.randn(rows, 4)
        close(on_cpu(f(x.cuda())), (x * 2, x.sum(0), x.t() @ x))


def test_sizes_that_change():
    """First a version for each size; when these are many, one for all."""

    def f(x):
        y = torch.cat([x.softmax(0), x[1:] @ x.t() @ x])
        return y.cumsum(0), y.sum() * x.shape[0], x.flip(0) + torch.linalg.qr(x.t() @ x + torch.eye(5, device=x.device))[1].abs().sum()

    run = compiled(f, dynamic=True)
    for rows in range(3, 15):
        x = torch.randn(rows, 5)
        close(on_cpu(run(x.cuda())), f(x), rtol=1e-4, atol=1e-4)
    sizes = [version["sizes"] for graph in ft.compiled_graphs for version in graph.report()]
    assert sizes[0] is None and len(sizes) == 9


# ---- which device, which stream ----


def test_the_second_device():
    f = compiled(lambda x, y: x @ y)
    x, y = torch.randn(4, 4), torch.randn(4, 4)
    for device in ("cuda:1", "cuda:0"):
        got = f(x.to(device), y.to(device))
        assert got.device == torch.device(device)
        close(on_cpu(got), x @ y)
    assert [v["device"] for g in ft.compiled_graphs for v in g.report()] == ["cuda:1", "cuda:0"]


@pytest.mark.parametrize("stream", [cuda_tensors.new_stream, lambda: cuda_tensors.set_stream(0)], ids=["another one", "the default one"])
def test_work_is_ordered_on_the_current_stream_of_torch(stream):
    f = compiled(lambda x: (x @ x.t()).relu())
    x = torch.randn(5, 4)
    for _ in range(2):
        close(on_cpu(f(x.cuda())), (x @ x.t()).relu())
    stream()
    try:
        pending = cuda_tensors.driver.loom_nullgpu_pending()
        given = x.cuda()
        got = f(given)
        del given
        assert cuda_tensors.driver.loom_nullgpu_pending() > pending, "nobody has waited"
        close(on_cpu(got), (x @ x.t()).relu())
    finally:
        cuda_tensors.new_stream()


def test_memory_is_given_back():
    f = compiled(lambda x: ((x * 2).softmax(1), x.t() @ x))
    x = torch.randn(40, 30).cuda()
    f(x)
    x.cpu()  # waits
    before = cuda_tensors.driver.loom_nullgpu_live(b"memory"), cuda_tensors.live()
    for _ in range(5):
        f(x)
    x.cpu()
    assert (cuda_tensors.driver.loom_nullgpu_live(b"memory"), cuda_tensors.live()) == before


# ---- what has no kernel ----


def test_an_operation_without_a_kernel_runs_through_torch_inside_the_plan():
    def f(x):
        y = x @ x.t() + torch.eye(6, device=x.device)
        return torch.linalg.qr(y)[1].abs() * 2, y.topk(2).values + 1

    x = torch.randn(6, 6)
    given, made = x.cuda(), compiled(f)
    made(given)
    got, ops = eager_ops(lambda: made(given))
    close(on_cpu(got), f(x), rtol=1e-4, atol=1e-4)
    assert ops == ["aten.linalg_qr.out", "aten.topk.values"] and host_calls() == ["aten.linalg_qr.default", "aten.topk.default"]


def test_what_torch_raises_inside_of_a_plan_is_raised():
    f = compiled(lambda x: torch.linalg.cholesky(x) + 1)
    with pytest.raises(torch.linalg.LinAlgError):
        f(-torch.eye(3).cuda())
    close(f(4 * torch.eye(3).cuda()).cpu().contiguous(), 2 * torch.eye(3) + 1)


def refusal(f, *inputs):
    """Why a graph is left to eager torch, which gives the same."""
    explained = ft.explain(f, *inputs)
    (graph,) = explained.graphs
    return graph.eager


def test_graphs_of_several_devices_are_left_to_eager_torch(caplog):
    x = torch.randn(3)
    ft.config.strict = False
    try:
        assert refusal(lambda a, b: (a + 1, b.to("cuda:0")), x.cuda(), x.to("cuda:1")) == "tensors on several devices: cuda:0, cuda:1"
        assert refusal(lambda a, b: a + (b * 2).cuda(), x.cuda(), x).startswith("an input on the CPU among others on a device")
        close(on_cpu(compiled(lambda a, b: a + (b * 2).cuda())(x.cuda(), x)), x * 3)
    finally:
        ft.config.strict = True
    assert "an input on the CPU among others on a device" in caplog.text
    with pytest.raises(Exception, match="an input on the CPU among others on a device"):
        compiled(lambda a, b: a * (b * 2).cuda())(x.cuda(), x)


def test_results_on_the_cpu_are_copied_there():
    def f(x):
        y = (x @ x.t()).cpu()
        return y * 2, y[1:], x + 1, y.sum(), x.sum().cpu()

    x = torch.randn(4, 6)
    got = compiled(f)(x.cuda())
    assert [t.device.type for t in got] == ["cpu", "cpu", "cuda", "cpu", "cpu"]
    for mine, theirs in zip(got, f(x), strict=True):
        close(mine.cpu(), theirs, rtol=1e-5, atol=1e-5)
    assert ft.compiled_graphs[0].report()[0]["device"] == "cuda:0"


def test_a_number_on_the_cpu_is_counted():
    def f(x, step):
        step += 1
        return x / step

    x, step, other = torch.randn(4), torch.tensor(1.0), torch.tensor(1.0)
    run = compiled(f)
    for _ in range(3):
        close(on_cpu(run(x.cuda(), step)), f(x, other))
        close(step, other)


def test_arguments_that_are_copied_to_the_device():
    line = torch.nn.Linear(6, 3).cuda()

    def f(x, i, scale):
        return line(x.to("cuda") * scale.cuda()), i.to("cuda", torch.float32) + 1

    for layout in (torch.randn(4, 6), torch.randn(6, 4).t(), torch.randn(4, 12)[:, ::2], torch.randn(6).expand(4, 6)):
        i, scale = torch.arange(5), torch.tensor([2.0])
        torch._dynamo.reset()
        got, whole = compiled(f)(layout, i, scale)
        close(on_cpu(got.detach()), F.linear(layout * 2, line.weight.cpu(), line.bias.cpu()).detach(), rtol=1e-5, atol=1e-5)
        close(on_cpu(whole), i + 1.0)
        assert not host_calls() and [graph.report()[0]["device"] for graph in ft.compiled_graphs][-1] == "cuda:0"


def test_numbers_of_the_cpu_are_arguments():
    f = compiled(lambda a, b, c: (a * b + c, b))
    x, c = torch.randn(3, 4), torch.tensor(3)
    for scale in (2.0, -1.5):
        b = torch.tensor(scale)
        got, same = f(x.cuda(), b, c)
        assert same is b or same.data_ptr() == b.data_ptr()
        close(on_cpu(got), x * b + c)


def test_a_driver_that_is_missing_is_a_reason(monkeypatch):
    def absent(module):
        return "hip:0"

    monkeypatch.setattr(ft._torch_devices, "name_of", absent)
    monkeypatch.setenv("FRAMELOOM_HIP_DRIVER", "/nowhere/libamdhip64.so")
    x = torch.randn(3)
    ft.config.strict = False
    try:
        reason = refusal(lambda a: a + 1, x.cuda())
        assert "libamdhip64" in reason
        close(on_cpu(compiled(lambda a: a + 1)(x.cuda())), x + 1)
    finally:
        ft.config.strict = True


def test_the_interpreter_does_not_run_on_a_device():
    with pytest.raises(Exception, match="the interpreter runs on the CPU"):
        torch.compile(lambda a: a + 1, backend=ft.backend_interpret)(torch.randn(3).cuda())


# ---- training ----


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.block = torch.nn.Embedding(50, 32), Block()

    def forward(self, i):
        return self.block(self.words(i))


MODELS = {
    "mlp": (lambda: torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 8)), lambda: torch.randn(20, 16)),
    "convolutions": (Net, lambda: torch.randn(4, 3, 10, 10)),
    "attention": (Words, lambda: torch.randint(0, 50, (2, 9))),
    "encoder": (lambda: torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), lambda: torch.randn(2, 7, 32)),
}


def test_training_steps_of_sizes_that_change():
    model = Block()
    other = copy.deepcopy(model).cuda()
    run = compiled(other, dynamic=True)
    for length in range(3, 14):
        x = torch.randn(2, length, 32)
        for m, f, given in ((model, model, x), (other, run, x.cuda())):
            m.zero_grad()
            f(given).square().mean().backward()
        for mine, theirs in zip(other.parameters(), model.parameters(), strict=True):
            close(on_cpu(mine.grad), theirs.grad, rtol=1e-3, atol=1e-4)
    assert [graph.report()[0]["sizes"] for graph in ft.compiled_graphs] == [None, None] and not host_calls()


@pytest.mark.parametrize("name", MODELS)
def test_a_training_step(name):
    make, data = MODELS[name]
    torch.manual_seed(1)
    model, x = make(), data()
    other = copy.deepcopy(model).cuda()
    run, given = compiled(other), x.cuda()
    want = model(x)
    weights = torch.randn(want.shape)
    (want * weights).sum().backward()
    got = run(given)
    close(on_cpu(got), want, rtol=1e-4, atol=1e-4)
    (got * weights.cuda()).sum().backward()
    for mine, theirs in zip(other.parameters(), model.parameters(), strict=True):
        close(on_cpu(mine.grad), theirs.grad, rtol=1e-3, atol=1e-4)
    for mine, theirs in zip(other.buffers(), model.buffers(), strict=True):
        close(on_cpu(mine), theirs, rtol=1e-4, atol=1e-5)
    assert len(ft.compiled_graphs) == 2 and not host_calls()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast(dtype):
    model, x = MODELS["mlp"][0](), torch.randn(20, 16)
    other = copy.deepcopy(model).cuda()
    run = compiled(other)
    with torch.autocast("cpu", dtype=dtype):
        want = model(x)
    with torch.autocast("cuda", dtype=dtype):
        got = run(x.cuda())
    close(on_cpu(got), want, rtol=2e-2, atol=2e-2)
    want.float().square().sum().backward()
    got.float().square().sum().backward()
    for mine, theirs in zip(other.parameters(), model.parameters(), strict=True):
        close(on_cpu(mine.grad), theirs.grad, rtol=5e-2, atol=0.3)
    assert not host_calls()


@pytest.mark.filterwarnings("ignore")
def test_scaled_gradients():
    """torch's GradScaler: a step whose gradients overflow is left out, and the scale is halved."""
    models = [MODELS["mlp"][0]().cuda()]
    models.append(copy.deepcopy(models[0]))
    runs = models[0], compiled(models[1])
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in models]
    scalers = [torch.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=2) for _ in models]
    assert all(s.is_enabled() for s in scalers)
    for large in (1, 60000, 1, 1):
        x, before, found = torch.randn(20, 16).cuda(), [on_cpu(p.detach()) for p in models[1].parameters()], []
        for run, optimizer, scaler in zip(runs, optimizers, scalers, strict=True):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = (run(x) * large).float().square().mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            found.append(scaler.get_scale())
        assert found[0] == found[1]
        same = all(torch.equal(on_cpu(p.detach()), b) for p, b in zip(models[1].parameters(), before, strict=True))
        assert same == (large > 1)
        for mine, theirs in zip(models[1].parameters(), models[0].parameters(), strict=True):
            close(on_cpu(mine.detach()), on_cpu(theirs.detach()), rtol=2e-2, atol=2e-2)
    assert found == [1024.0] * 2 and not host_calls()


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, foreach=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, foreach=True),
    "AdamW one by one": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True, foreach=False),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.filterwarnings("ignore")
def test_an_optimizer(name):
    models = [MODELS["mlp"][0]()]
    models.append(copy.deepcopy(models[0]).cuda())
    optimizers = [OPTIMIZERS[name](m.parameters()) for m in models]
    steps = optimizers[0].step, compiled(optimizers[1].step)
    for _ in range(4):
        x = torch.randn(5, 16)
        for model, step, given in zip(models, steps, (x, x.cuda()), strict=True):
            model.zero_grad()
            model(given).square().mean().backward()
            step()
    for theirs, mine in zip(*(m.parameters() for m in models), strict=True):
        close(on_cpu(mine.detach()), theirs.detach(), rtol=1e-4, atol=1e-5)
    assert len(ft.compiled_graphs) and not host_calls()


# ---- random numbers ----


def draws(x):
    return F.dropout(x, 0.3), torch.rand(4, device=x.device), torch.randn_like(x), torch.randint(0, 9, (3,), device=x.device), torch.bernoulli(x.sigmoid())


def test_random_numbers_are_those_of_the_cpu():
    """The stand-in for CUDA draws the seed from the CPU's generator, so that all bits have to be the same."""
    x = torch.randn(50, 60)
    f = compiled(draws)
    torch.manual_seed(3)
    got, later = on_cpu(f(x.cuda())), on_cpu(f(x.cuda()))
    assert set(host_calls()) == {"frameloom.seed.default"}
    torch.manual_seed(3)
    close(got, compiled(draws)(x), rtol=0, atol=0)
    assert not any(torch.equal(a, b) for a, b in zip(got, later, strict=True))


def test_forward_and_backward_of_a_dropout_agree():
    line = torch.nn.Linear(60, 30).cuda()
    x = torch.randn(50, 60).cuda()
    got = compiled(lambda x: F.dropout(line(x), 0.5))(x)
    got.sum().backward()
    kept = (got != 0).cpu().float() * 2
    assert 0.4 < kept.mean() / 2 < 0.6
    close(on_cpu(line.weight.grad), kept.t() @ x.cpu(), rtol=1e-4, atol=1e-4)


def test_random_numbers_of_torch():
    x = torch.randn(50, 60).cuda()
    f = torch.compile(lambda x: torch.rand_like(x) + 1, backend=ft.backend, options={"fallback_random": True})
    torch.manual_seed(3)
    got = f(x)
    torch.manual_seed(3)
    close(on_cpu(got), on_cpu(torch.rand_like(x) + 1), rtol=0, atol=0)


def test_a_checkpoint_draws_the_same_numbers_again():
    line = torch.nn.Linear(60, 30).cuda()
    x = torch.randn(50, 60).cuda()

    def part(x):
        return F.dropout(line(x).relu(), 0.5)

    got = compiled(lambda x: torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False))(x)
    got.sum().backward()
    close(on_cpu(line.weight.grad), ((got != 0).cpu().float() * 2).t() @ x.cpu(), rtol=1e-4, atol=1e-4)


# ---- other ways in, and reports ----


def test_frozen_parameters():
    model, x = MODELS["mlp"][0]().eval(), torch.randn(20, 16)
    other = copy.deepcopy(model).cuda()
    run = torch.compile(other, backend=ft.backend, options={"freezing": True})
    with torch.no_grad():
        for _ in range(2):
            close(on_cpu(run(x.cuda())), model(x), rtol=1e-5, atol=1e-5)
        for m in (model, other):
            m[0].weight.mul_(2)
        close(on_cpu(run(x.cuda())), model(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("freezing", [False, True], ids=["parameters", "frozen"])
def test_an_exported_program(freezing):
    model = MODELS["mlp"][0]().eval()
    other = copy.deepcopy(model).cuda()
    program = torch.export.export(other, (torch.randn(20, 16).cuda(),), dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=100)},))
    run = ft.compile_exported(program, freezing=freezing)
    for rows in (2, 20, 33):
        x = torch.randn(rows, 16)
        close(on_cpu(run(x.cuda())), model(x).detach(), rtol=1e-5, atol=1e-5)


def test_explain_tells_the_device():
    told = ft.explain(lambda x: torch.linalg.qr(x)[1] * 2, torch.randn(4, 4).cuda())
    assert told.graphs[0].device == "cuda:0" and "graph 0 (inference) on cuda:0: 2 ops, 1 kernel" in str(told)
    assert "through torch: aten.linalg_qr.default: there is no lowering" in str(told)
    told = ft.explain(lambda x: x * 2, torch.randn(4, 4))
    assert told.graphs[0].device == "cpu" and " on " not in str(told)


def test_an_error_of_the_driver_is_told():
    f = compiled(lambda x: x.softmax(0))
    x = torch.randn(6, 6).cuda()
    f(x)
    for symbol in (b"cuLaunchKernelEx", b"cuStreamIsCapturing"):
        x.cpu()
        cuda_tensors.driver.loom_nullgpu_fail(symbol, 0, 1)
        with pytest.raises(frameloom.DeviceError, match="(on|of) cuda:0"):
            f(x)
    close(on_cpu(f(x)), x.cpu().softmax(0))
