"""What surrounds the compiled graphs of torch: reports, logs, export, odd inputs, life and death."""

import copy
import gc
import json
import pickle
import resource
import threading
import weakref

import pytest
from cpus import KINDS
from processes import printed

torch = pytest.importorskip("torch")

from torch.export import Dim, export  # noqa: E402
from torch_help import Net, close, compiled, fresh, host_calls  # noqa: E402, F401

import frameloom  # noqa: E402
import frameloom.torch as ft  # noqa: E402

# ---- options, reports and logs ----------------------------------------------------------------------


def through_torch(x):
    y = torch.linalg.qr(x * 2)[0]
    return y + 1


def test_explain():
    x = torch.randn(4, 4)
    e = ft.explain(through_torch, x)
    assert e.graph_count == 1 and e.graph_break_count == 0 and e.kernel_count >= 1 and e.compile_ms > 0
    (call,) = e.host_calls
    assert call.op == "aten.linalg_qr.default" and call.reason and call.count == 1
    line = through_torch.__code__.co_firstlineno + 1
    assert call.place == f"{__file__}:{line}"
    assert "1 host call" in str(e) and "aten.linalg_qr.default" in str(e) and "through torch" in str(e)
    assert json.loads(e.json())["graphs"][0]["host_calls"][0]["op"] == call.op
    assert f"{__file__.split('/')[-1]}\":{line}" in e.graphs[0].text
    assert e.graphs[0].kind == "inference" and "TorchExplanation" in repr(e)


def test_explain_of_a_model_with_gradients_and_of_breaks():
    model = Net()
    run = compiled(model)
    x = torch.randn(2, 3, 8, 8)
    run(x)
    e = ft.explain(run, x)
    assert e.name == "Net" and [g.kind for g in e.graphs] == ["forward", "backward"]
    assert all(p.grad is None for p in model.parameters())

    def broken(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    e = ft.explain(broken, torch.ones(3))
    assert e.graph_count == 2 and e.graph_break_count >= 1 and "break: " in str(e)


def test_logs(capfd):
    categories = ["host_calls", "graph", "kernels", "time", "cache"]
    with frameloom.config.patch(logs=",".join(categories)):
        compiled(through_torch)(torch.randn(5, 5))
    err = capfd.readouterr().err
    for category in categories:
        assert f"[frameloom {category}]" in err
    line = next(text for text in err.splitlines() if "[frameloom host_calls]" in text)
    assert "aten.linalg_qr.default" in line and __file__ in line
    with pytest.raises(ValueError, match="host_calls"):
        frameloom.config.logs = "nonsense"


def test_host_calls_of_numpy_functions_are_logged(capfd):
    import numpy as np

    @frameloom.compile
    def f(a):
        return np.linalg.inv(a) + 1

    with frameloom.config.patch(logs="host_calls"):
        f(np.eye(3))
    err = capfd.readouterr().err
    assert "[frameloom host_calls]" in err and "inv runs in numpy" in err


@pytest.mark.parametrize(
    "options,words",
    [
        ({"freeze": True}, "unknown options freeze; known are cpu, fastmath, fallback_random, freezing"),
        ({"freezing": 1}, "the option freezing is a bool"),
        ({"cpu": "z80"}, "unknown cpu"),
    ],
)
def test_options_that_are_refused(options, words):
    with pytest.raises(Exception, match=words):
        compiled(lambda x: x + 1, options=options)(torch.ones(3))


@pytest.mark.parametrize("cpu", KINDS)
def test_options_that_are_taken(cpu):
    x = torch.randn(100)
    close(compiled(lambda x: x.exp(), options={"cpu": cpu, "fastmath": True})(x), x.exp())


# ---- export -------------------------------------------------------------------------------------------


def test_an_exported_program_keeps_its_calling_convention():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(4, 3)
            self.register_buffer("count", torch.zeros(()))
            self.offset = torch.arange(3.0)

        def forward(self, x, pair, *, scale):
            self.count.add_(1)
            pair[1].mul_(2)
            return {"y": self.line(x) * scale + self.offset, "rest": [self.count * pair[0], None]}

    model = Model()
    args, kwargs = (torch.randn(5, 4), [torch.randn(2), torch.randn(2)]), {"scale": torch.tensor(2.0)}
    run = ft.compile_exported(export(model, args, kwargs))
    model = copy.deepcopy(model)
    for step in range(1, 3):
        x, pair = torch.randn(5, 4), [torch.randn(2), torch.randn(2)]
        mine, theirs = [t.clone() for t in pair], [t.clone() for t in pair]
        got, expected = run(x, mine, **kwargs), model(x, theirs, **kwargs)
        close(got["y"], expected["y"].detach())
        close(got["rest"][0], expected["rest"][0])
        assert got["rest"][1] is None and list(got) == list(expected)
        close(mine, theirs)
        assert run.state_dict["count"] == step
    assert not got["y"].requires_grad


def test_an_exported_program_with_sizes_that_vary():
    def f(x, y):
        return (x @ y.t()).softmax(-1), x.shape[0] + 1, torch.cat([x, x])

    class Model(torch.nn.Module):
        forward = staticmethod(f)

    n = Dim("n", min=2, max=50)
    program = export(Model(), (torch.randn(5, 4), torch.randn(7, 4)), dynamic_shapes=({0: n}, {0: Dim("m")}))
    run = ft.compile_exported(program)
    for a, b in ((5, 7), (9, 3), (2, 8)):
        x, y = torch.randn(a, 4), torch.randn(b, 4)
        got, expected = run(x, y), f(x, y)
        close((got[0], got[2]), (expected[0], expected[2]))
        assert got[1] == expected[1]
    for x, words in ((torch.randn(51, 4), "2 to 50"), (torch.randn(5, 3), "exported for"), (torch.randn(5, 4).double(), "float64")):
        with pytest.raises(RuntimeError, match=words):
            run(x, torch.randn(7, 4))
    with pytest.raises(TypeError, match="the program takes"):
        run(torch.randn(5, 4))
    with pytest.raises(TypeError, match="not a tensor"):
        run(torch.randn(5, 4), 3)


# ---- tensors of other kinds --------------------------------------------------------------------------


class Tagged(torch.Tensor):
    pass


ODD = {
    "complex": lambda: (lambda x: x * 2 + 1j, torch.randn(4, dtype=torch.complex64)),
    "conjugate view": lambda: (lambda x: x * 2, torch.randn(4, dtype=torch.complex64).conj()),
    "a subclass": lambda: (lambda x: x.sin() + 1, torch.randn(4).as_subclass(Tagged)),
    "sparse": lambda: (lambda x: torch.sparse.mm(x, torch.ones(3, 2)), torch.eye(3).to_sparse()),
    "sparse rows": lambda: (lambda x: x @ torch.ones(3), torch.eye(3).to_sparse_csr()),
    "meta": lambda: (lambda x: x + 1, torch.empty(3, device="meta")),
    "quantised": lambda: (
        lambda x: x.dequantize() + 1, torch.quantize_per_tensor(torch.randn(4), 0.1, 0, torch.qint8),
    ),
    "float8": lambda: (lambda x: x.float() + 1, torch.randn(4).to(torch.float8_e4m3fn)),
    "nested": lambda: (lambda x: x * 2, torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)),
    "uint16": lambda: (lambda x: x.int() + 1, torch.arange(4).to(torch.uint16)),
    "rank 9": lambda: (lambda x: (x * 2).sum(), torch.ones([2] * 9)),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("ignore")
@ft.config.patch(strict=False)
def test_tensors_that_are_left_to_torch(name):
    f, x = ODD[name]()
    try:
        expected = f(x)
    except (RuntimeError, NotImplementedError) as e:
        pytest.skip(f"eager torch: {e}")
    got = compiled(f)(x)
    assert type(got) is type(expected) and got.layout == expected.layout and got.device == expected.device
    if got.device.type == "meta":
        assert got.shape == expected.shape
    elif got.is_nested:
        close(got.values(), expected.values())
    elif got.layout is torch.strided:
        close(torch.Tensor(got) if isinstance(got, Tagged) else got, torch.Tensor(expected) if isinstance(got, Tagged) else expected)
    else:
        close(got.to_dense(), expected.to_dense())


@pytest.mark.skipif(torch.cuda.is_available(), reason="CUDA is here")
def test_cuda_without_a_driver_raises_what_eager_raises():
    with pytest.raises((AssertionError, RuntimeError), match="(?i)cuda|nvidia"):
        compiled(lambda x: x.to("cuda") + 1)(torch.ones(3))


def test_channels_last_is_kept():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 2, 1))
    model = model.to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last)
    got, expected = compiled(model)(x), model(x)
    close(got, expected, rtol=1e-4, atol=1e-5)
    assert got.is_contiguous(memory_format=torch.channels_last)


# ---- aliases and writes ---------------------------------------------------------------------------------


def test_a_result_that_aliases_an_input():
    x = torch.randn(4, 3)
    got = compiled(lambda x: (x[1:], x.view(12), x.t().add_(1)))(x)
    assert [t.data_ptr() for t in got] == [x[1:].data_ptr(), x.data_ptr(), x.data_ptr()]
    got[1].zero_()
    assert x.abs().sum() == 0


@pytest.mark.parametrize("dynamic", [False, True])
def test_parts_of_an_input_with_gradients_stay_views(dynamic):
    """AOTAutograd hands the parts of one split on as the graph made them; it makes other views again itself."""
    x = torch.randn(4, 6, requires_grad=True)
    for given in (x, torch.randn(6, 8, requires_grad=True)[1:, 2:], torch.randn(5, 3, dtype=torch.complex64, requires_grad=True)):
        run = torch.compile(lambda x: (x.chunk(2, -1)[0], x.unbind(0)[1], x * 2), backend="frameloom", dynamic=dynamic)
        got, expected = run(given), (given.chunk(2, -1)[0], given.unbind(0)[1])
        for g, e in zip(got, expected):
            close(g, e)
            assert (g.data_ptr(), g.stride(), g.requires_grad) == (e.data_ptr(), e.stride(), True)
        with torch.no_grad():
            given.zero_()
        assert not got[0].any() and not got[1].any()
    run(x)[0].real.sum().backward()
    close(x.grad, torch.cat([torch.ones(4, 3), torch.zeros(4, 3)], 1))


def test_results_belong_to_the_caller():
    run, x = compiled(lambda x: (x * 2, x.sum(0))), torch.randn(3, 4)
    a, b = run(x)
    view = a[1:]
    a.add_(1)
    a.resize_(50)
    del a
    gc.collect()
    close(run(x)[0], x * 2)
    close(view, (x * 2 + 1)[1:])
    close(b, x.sum(0))


def test_writes_in_a_graph():
    def f(x, i):
        y = x.clone()
        y[1] = 0
        y[:, 2] += 1
        y.view(-1)[::2].neg_()
        z = y[i]
        z.zero_()
        y.index_put_((i,), torch.ones(2, 4), accumulate=True)
        return y, z

    x, i = torch.randn(3, 4), torch.tensor([0, 2])
    for got, expected in zip(compiled(f)(x, i), f(x, i)):
        close(got, expected)


# ---- life and death -----------------------------------------------------------------------------------


def test_reset_frees_what_was_compiled():
    class Local(torch.nn.Module):
        def forward(self, x):
            return x * 3

    compiled(Local())(torch.ones(3))
    graph = weakref.ref(ft.compiled_graphs[0])
    assert len(ft.compiled_graphs) == 1
    torch._dynamo.reset()
    gc.collect()
    assert graph() is None and len(ft.compiled_graphs) == 0


def test_many_calls_leak_nothing():
    weight = torch.randn(8, 8, requires_grad=True)
    f = compiled(lambda x: torch.linalg.qr(x)[0] + 1)
    g = compiled(lambda x: (x @ weight).tanh().sum())
    x = torch.randn(8, 8)

    def work(n):
        for _ in range(n):
            f(x)
            g(x).backward()
        gc.collect()

    work(200)
    objects, memory = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(1000)
    assert len(gc.get_objects()) - objects < 200
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 8192  # KiB


def test_threads_compile_and_call():
    errors, run = [], compiled(lambda x: (x * 2).softmax(0) + torch.linalg.qr(x)[0])
    x = torch.randn(6, 6)
    expected = (x * 2).softmax(0) + torch.linalg.qr(x)[0]

    def work():
        try:
            for _ in range(30):
                close(run(x), expected)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_interrupts_and_exceptions_come_out_of_host_calls():
    raised = [KeyboardInterrupt]

    @torch.library.custom_op("frameloom_test::interrupted", mutates_args=())
    def interrupted(x: torch.Tensor) -> torch.Tensor:
        if raised:
            raise raised[0]("by hand")
        return x.clone()

    interrupted.register_fake(lambda x: torch.empty_like(x))
    run, x = compiled(lambda x: interrupted(x + 1) * 2), torch.ones(3)
    with pytest.raises(KeyboardInterrupt):
        run(x)
    raised[0] = ZeroDivisionError
    with pytest.raises(ZeroDivisionError, match="by hand"):
        run(x)
    raised.clear()
    close(run(x), (x + 1) * 2)


def test_copies_of_a_compiled_module():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())
    x = torch.randn(2, 4)
    run = torch.compile(model, backend="frameloom") if "frameloom" in torch._dynamo.list_backends() else compiled(model)
    expected = run(x)
    other = copy.deepcopy(run)
    with torch.no_grad():
        run._orig_mod[0].weight.zero_()
    close(other(x), expected)
    restored = pickle.loads(pickle.dumps(other._orig_mod))
    close(compiled(restored)(x), expected)
    assert list(run.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]


def test_importing_torch_alone_is_enough():
    from importlib.metadata import entry_points

    if not any(e.name == "frameloom" for e in entry_points(group="torch_dynamo_backends")):
        pytest.skip("frameloom is not installed")
    code = (
        "import sys, torch\n"
        "assert 'frameloom' in torch._dynamo.list_backends() and 'frameloom.torch' not in sys.modules\n"
        "m = torch.nn.Linear(3, 2)\n"
        "f = torch.compile(m, backend='frameloom_interpret', options={'fallback_random': True})\n"
        "torch.testing.assert_close(f(torch.ones(4, 3)), m(torch.ones(4, 3)))\n"
    )
    printed(code)


def test_logs_name_functions_and_parts(capfd):
    def step(x):
        y = x.tanh() + 1
        print(end="")
        return y * 2

    with frameloom.config.patch(logs="cache"):
        torch.compile(step, backend=ft.backend)(torch.ones(3))
    line = step.__code__.co_firstlineno + 2
    text = capfd.readouterr().err
    assert "[frameloom cache] step, inference: " in text
    assert f"[frameloom cache] step from line {line}, inference: " in text
    assert "step, inference: total" in frameloom.compile_times()


ONLY_TORCHS = """
import gc
import numpy as np, frameloom

def called(a):
    frameloom.graph_break()
    return a + 1

@frameloom.compile
def breaks(a):
    return called(a) * 2

breaks(np.ones(3))
import torch
namespace = {}
exec("def f(x): return x * 2", namespace)
torch.compile(namespace["f"], backend="eager")(torch.ones(2))
torch._dynamo.reset()
del namespace
gc.collect()
print("done")
"""


def test_code_with_which_only_torch_keeps_something():
    """The interpreter asks everybody who ever kept something with code objects to free it when one dies."""
    assert printed(ONLY_TORCHS) == "done\n"


@ft.config.patch(strict=False)
def test_tensors_on_another_device_stay_there():
    def to_meta(x):
        return x.to("meta") + 1, torch.ones(3, device="meta") * 2, x * 2

    shapes, made, doubled = compiled(to_meta)(torch.ones(3))
    assert shapes.device.type == made.device.type == "meta" and shapes.shape == (3,)
    assert torch.equal(doubled, torch.full((3,), 2.0))


def test_trace_folder(tmp_path):
    """A folder for each graph, made where there is none, and the disk cache is not asked."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, w: torch.relu(x @ w).sum(), backend="frameloom")
    x, w = torch.randn(4, 5), torch.randn(5, 3, requires_grad=True)
    with frameloom.config.patch(trace=str(tmp_path / "trace"), check=""):
        compiled(x, w).backward()
    folders = sorted((tmp_path / "trace").iterdir())
    assert len(folders) == 2 and all(" " not in folder.name for folder in folders)
    for folder in folders:
        assert "loom." in (folder / "00-import.mlir").read_text() and (folder / "05-llvm.mlir").exists()
