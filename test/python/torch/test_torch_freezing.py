"""Parameters as constants (`freezing=True`): folded, packed once, and looked at in each call."""

import copy
import os

import pytest

torch = pytest.importorskip("torch")

from torch.export import Dim, export  # noqa: E402

import frameloom.torch as ft  # noqa: E402
from compare import at_once  # noqa: E402
from torch_help import Net, close, compiled, fresh, host_calls  # noqa: E402, F401


def test_frozen_parameters_are_constants():
    model, x = Net(), torch.randn(2, 3, 8, 8)
    model(torch.randn(4, 3, 8, 8))
    model.eval()
    run = compiled(model, options={"freezing": True})
    with torch.no_grad():
        for _ in range(2):
            close(run(x), model(x), rtol=1e-4, atol=1e-5)
        (graph,) = ft.compiled_graphs
        weights = model.conv.weight.nbytes + model.line.weight.nbytes
        assert graph.graph().count("loom.const,") == 8 and graph.report()[0]["kept_bytes"] >= weights
        # A changed parameter is seen: the graph that takes parameters as inputs runs.
        model.line.weight.mul_(2)
        close(run(x), model(x), rtol=1e-4, atol=1e-5)
        model.conv.weight.data = torch.randn(8, 3, 3, 3)
        close(run(x), model(x), rtol=1e-4, atol=1e-5)
    assert len(ft.compiled_graphs) == 2


def test_models_of_one_class_do_not_share_frozen_parameters():
    models = [Net().eval() for _ in range(2)]
    run = compiled(lambda model, x: model(x) * 2, options={"freezing": True})
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        for model in (*models, *models):
            close(run(model, x), model(x) * 2, rtol=1e-4, atol=1e-5)


def test_freezing_does_nothing_where_gradients_are_asked_for():
    model, x = Net(), torch.randn(2, 3, 8, 8)
    other = copy.deepcopy(model)
    compiled(model, options={"freezing": True})(x).sum().backward()
    other(x).sum().backward()
    close(model.line.weight.grad, other.line.weight.grad, rtol=1e-4, atol=1e-4)


def test_freezing_leaves_buffers_that_change_alone():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    other, run = copy.deepcopy(model), compiled(model, options={"freezing": True})
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(6, 4)
            close(run(x), other(x), rtol=1e-4, atol=1e-5)
    close(model[1].running_mean, other[1].running_mean)


# ---- packed once --------------------------------------------------------------------------------------


class Product(torch.nn.Module):
    """x @ w in the form that `kind` says."""

    def __init__(self, kind, k, n, dtype, batch=()):
        super().__init__()
        shape = (n, k) if kind in ("transposed", "on the left", "sum") else (k, n)
        self.w = torch.nn.Parameter(torch.randn(*batch, *shape, dtype=torch.float64).to(dtype))
        self.v = torch.nn.Parameter(torch.randn(n, dtype=torch.float64).to(dtype))
        self.kind = kind

    def forward(self, x):
        if self.kind == "on the left":
            return (self.w @ x.mT).relu()
        w = self.w.mT if self.kind in ("transposed", "sum") else self.w
        if self.kind == "computed":
            w = torch.exp(w * 0.1)
        if self.kind == "converted":
            w = w.to(torch.float64).to(x.dtype)
        if self.kind == "sum":
            w = w + w.sum(-1, keepdim=True)
        return (x @ w + self.v.tanh()).relu()


KINDS = ("plain", "transposed", "on the left", "computed", "converted", "sum")
SIZES = ((2, 64, 2048), (7, 300, 257), (33, 100, 48), (1, 40, 50), (5, 1, 3), (200, 900, 130))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_packed_weights(kind, dtype):
    for m, k, n in SIZES:
        model = Product(kind, k, n, dtype)
        x = torch.randn(m, k, dtype=torch.float64).to(dtype)
        run = compiled(model, options={"freezing": True})
        with torch.no_grad():
            first = run(x)
            wide = copy.deepcopy(model).double()(x.double())
            eager = (model(x).double() - wide).abs().max()
            assert (first.double() - wide).abs().max() <= 2 * eager + 1e-5 * wide.abs().max()
            assert torch.equal(run(x), first)
        torch._dynamo.reset()


def test_batches_of_weights():
    for batch, given in (((3,), (3,)), ((3,), ()), ((), (3,)), ((2, 3), (2, 3))):
        model, x = Product("transposed", 70, 130, torch.float32, batch), torch.randn(*given, 40, 70)
        run = compiled(model, options={"freezing": True})
        with torch.no_grad():
            for _ in range(2):
                close(run(x), model(x), rtol=1e-4, atol=1e-4)
        torch._dynamo.reset()


def test_packed_weights_serve_all_sizes():
    model = Product("transposed", 300, 700, torch.float32)
    run = compiled(model, options={"freezing": True}, dynamic=True)
    with torch.no_grad():
        for m in (9, 2, 100, 33):
            x = torch.randn(m, 300)
            close(run(x), model(x), rtol=1e-4, atol=1e-4)
    (graph,) = ft.compiled_graphs
    (version,) = graph.report()
    assert version["sizes"] is None and version["kept_bytes"] >= 300 * 700 * 4


def test_what_is_kept_is_told_and_given_back():
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)])
    x = torch.randn(8, 512)
    with torch.no_grad():
        for options, least, most in (({}, 0, 0), ({"freezing": True}, 4 << 20, 5 << 20)):
            run = compiled(model, options=options)
            run(x)
            assert least <= ft.compiled_graphs[-1].report()[0]["kept_bytes"] <= most
            torch._dynamo.reset()


@pytest.mark.parametrize("norm", [False, True])
def test_weights_with_the_channels_last(norm):
    model = torch.nn.Sequential(torch.nn.Conv2d(6, 10, 3, padding=1), torch.nn.BatchNorm2d(10) if norm else torch.nn.ReLU(),
                                torch.nn.Conv2d(10, 4, 3, stride=2), torch.nn.ConvTranspose2d(4, 5, 2))
    model, x = model.eval().to(memory_format=torch.channels_last), torch.randn(2, 6, 11, 9)
    run = compiled(model, options={"freezing": True})
    with torch.no_grad():
        for form in (torch.channels_last, torch.contiguous_format):
            y = x.to(memory_format=form)
            for _ in range(2):
                close(run(y), model(y), rtol=1e-4, atol=1e-5)


def test_eight_threads_make_the_first_call():
    model = torch.nn.Sequential(torch.nn.Linear(700, 900), torch.nn.ReLU(), torch.nn.Linear(900, 500))
    x = torch.randn(6, 700)
    with torch.no_grad():
        expected = model(x)
        run = ft.compile_exported(export(model, (x,)), freezing=True)
        results = at_once(8, lambda: [run(x) for _ in range(3)])
    for result in results:
        for y in result:
            close(y, expected, rtol=1e-4, atol=1e-5)


def test_a_forked_child_has_packed_weights():
    model, x = torch.nn.Linear(400, 600), torch.randn(5, 400)
    before, after = (compiled(m, options={"freezing": True}) for m in (model, copy.deepcopy(model)))
    with torch.no_grad():
        expected = model(x)
        before(x)
        if (child := os.fork()) == 0:
            good = torch.allclose(before(x), expected, 1e-4, 1e-5) and torch.allclose(after(x), expected, 1e-4, 1e-5)
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0
        close(after(x), expected, rtol=1e-4, atol=1e-5)


def test_a_value_of_constants_alone_is_not_overwritten():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.randn(64, 64))
            self.row = torch.nn.Parameter(torch.randn(64))

        def forward(self, x):
            table = torch.softmax(self.w.to(torch.float64), 1).to(torch.float32)
            changed = table.clone()
            changed[3] = x[0]
            return x @ table, table + x.sum(), changed, torch.cumsum(table, 0), self.row + 0

    model, x = Model(), torch.randn(64, 64)
    run = compiled(model, options={"freezing": True})
    with torch.no_grad():
        for i in range(3):
            got = run(x + i)
            close(got, model(x + i), rtol=1e-4, atol=1e-4)
            for y in got:
                y.zero_()  # results are the caller's


class Turned(torch.nn.Module):
    """Ops without kernels: of a parameter, of what one of them gives, of an input."""

    def __init__(self, value=None):
        super().__init__()
        w = torch.randn(5, 5) if value is None else torch.full((5, 5), value)
        self.w = torch.nn.Parameter(w)

    def forward(self, x):
        q, r = torch.linalg.qr(self.w)
        return x @ q + torch.linalg.qr(r)[1].abs() + torch.linalg.svdvals(self.w) + torch.linalg.qr(x)[1]


def test_ops_of_torchs_own_on_parameters_alone_are_called_once():
    model, x = Turned(), torch.randn(3, 5, 5)
    run = compiled(model, options={"freezing": True})
    with torch.no_grad():
        for _ in range(2):
            close(run(x), model(x), rtol=1e-4, atol=1e-4)
        assert host_calls() == ["aten.linalg_qr.default"]
        model.w.mul_(2)
        close(run(x), model(x), rtol=1e-4, atol=1e-4)


def test_what_an_op_of_parameters_raises_is_raised_by_the_call():
    run = compiled(Turned(float("nan")), options={"freezing": True})
    with torch.no_grad(), pytest.raises(torch.linalg.LinAlgError, match="non-finite"):
        run(torch.randn(3, 5, 5))


# ---- exported programs --------------------------------------------------------------------------------


def test_exported_programs_may_be_frozen():
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(300, 200)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls.add_(1)
            return self.line(x) * self.calls

    model, x = Counting(), torch.randn(4, 300)
    program = export(model, (x,), dynamic_shapes=({0: Dim("rows", min=2, max=50)},))
    run = ft.compile_exported(program, freezing=True)
    for i in range(1, 4):
        y = torch.randn(4 + i, 300)
        close(run(y), model.line(y) * i, rtol=1e-4, atol=1e-4)
    assert float(run.state_dict["calls"]) == 3
    run.state_dict["line.weight"].data.mul_(1)  # the same values: whether it is seen makes no difference
    with torch.no_grad():
        run.state_dict["line.weight"].mul_(2)
    close(run(x), (x @ (run.state_dict["line.weight"].T) + model.line.bias) * 4, rtol=1e-4, atol=1e-3)
