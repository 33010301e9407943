"""What functions of tensors have in the graph, compiled: operations that torch computes by others, views, parts of modules. None of
these runs through torch or breaks the graph, and `explain` names what does."""

import copy
import warnings

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import frameloom
from frameloom import _native

OPERATIONS = """
vdot block_diag cross deg2rad rad2deg frac heaviside aminmax floor_divide ldexp expand_copy alias_copy diagonal_copy
diag diag_embed diagonal diagonal_scatter trace unfold unfold_copy sinc nan_to_num logit renorm dist mvlgamma special.entr special.log_ndtr
nn.functional.hardswish nn.functional.unfold nn.functional.triplet_margin_loss
nn.functional.instance_norm nn.functional.batch_norm
""".split()


def whole(function, *args, **kwargs):
    """Runs it compiled; asserts that all of it is in the graph."""
    given, named = copy.deepcopy((args, kwargs))  # it may change them
    explanation = frameloom.explain(function, *given, **named)
    assert not explanation.break_reasons and not explanation.host_calls, str(explanation)
    return frameloom.compile(function)(*args, **kwargs)


def tensors(tree):
    return [one for one in torch.utils._pytree.tree_leaves(tree) if isinstance(one, torch.Tensor)]


def gradients(results, leaves):
    """By the leaves, of a sum in which each element has a weight of its own."""
    results = [one for one in results if one.requires_grad]
    weights = [torch.cos(torch.arange(one.numel(), dtype=one.dtype)).reshape(one.shape) for one in results]
    return [one for one in torch.autograd.grad(results, leaves, weights, allow_unused=True) if one is not None] if results else []


def same_as_eager(function, *args, **kwargs):
    """Results, their layouts, what is written, and gradients, against eager torch."""
    made = []
    for run in (lambda *a, **k: function(*a, **k), lambda *a, **k: whole(function, *a, **k)):
        given, named = copy.deepcopy((args, kwargs))
        leaves = [one for one in tensors((given, named)) if one.requires_grad]
        results = tensors(run(*given, **named))
        made.append((results, gradients(results, leaves), [one.detach() for one in tensors((given, named))]))
    for ours, theirs in zip(made[1], made[0], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True)
    for one, other in zip(made[1][0], made[0][0]):
        assert one.numel() == 0 or one.stride() == other.stride()


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_that_torch_computes_by_others(name):
    found = next(op for op in op_db if op.name == name)
    samples = list(found.sample_inputs("cpu", torch.float32, requires_grad=found.supports_autograd))
    sample = samples[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same_as_eager(lambda x, *args, **kwargs: found.op(x, *args, **kwargs), sample.input.detach().requires_grad_(sample.input.requires_grad),
              *sample.args, **sample.kwargs)


X = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(1))


def fill_diagonal(x):
    x.diagonal(0, 0, 1).fill_(2.0)
    return x * 1


def change_diagonal(x):
    part = x.diagonal(1, 1, 2)
    part.mul_(3)
    part[0] = 1
    return part


def add_to_turned(x):
    x.mT.diagonal(0, 1, 2).add_(3)
    return x.sum()


def columns(x):
    x[:, 0] = x[:, 1]
    x[..., ::2][..., :2] += x[..., 1::2]
    x.mT[:, 0] = x.mT[:, 2]
    return x * 2


@pytest.mark.parametrize("function", [
    lambda x: x.diagonal(), lambda x: x.diagonal(1, 0, 2).exp(), lambda x: x.diagonal(-1, -1, -2), lambda x: x.mT.diagonal(1, -1, -2) + 1,
    lambda x: x.unfold(2, 2, 1), lambda x: x.unfold(2, 3, 2).sum(-1), lambda x: x.unfold(-2, 2, 2).mean(1), fill_diagonal, change_diagonal,
    add_to_turned, columns, lambda x: torch.nn.functional.pad(x, (2, 2), mode="circular")])
def test_views_and_what_is_written_through_them(function):
    same_as_eager(function, X.clone())
    if function not in (change_diagonal, add_to_turned, columns, fill_diagonal):  # torch refuses writes into leaves
        same_as_eager(function, X.clone().requires_grad_())


def test_writes_that_read_what_they_write_raise_as_in_torch():
    def f(x):
        x[0, 1:] = x[0, :-1]
        return x

    compiled = frameloom.compile(f)
    for run in (f, compiled):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            run(X.clone())
    assert "reads a part of the memory" in compiled._report()["breaks"][0][4]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norms(dtype, training):
    numbers = {"weight": X[0, :, 0].clone(), "bias": X[1, :, 0].clone(), "mean": X[2, :, 0].clone(), "var": X[0, :, 1].abs() + 0.5}
    x = X.to(dtype)

    def norm(x, weight, bias, mean, var):
        return torch.nn.functional.batch_norm(x, mean, var, weight, bias, training), torch.nn.functional.instance_norm(x, None, None, weight, bias)

    if dtype == torch.float32:
        numbers = {name: one.detach().requires_grad_(name in ("weight", "bias")) for name, one in numbers.items()}
        same_as_eager(norm, x.clone().requires_grad_(), **numbers)
    else:
        for one, other in zip(whole(norm, x, **copy.deepcopy(numbers)), norm(x, **copy.deepcopy(numbers))):
            torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("make", [
    lambda: torch.nn.LSTM(5, 4, bidirectional=True), lambda: torch.nn.GRU(5, 3, 2, batch_first=True), lambda: torch.nn.RNN(5, 3, nonlinearity="relu"),
    lambda: torch.nn.Sequential(torch.nn.Conv1d(4, 6, 3), torch.nn.BatchNorm1d(6), torch.nn.Hardswish(), torch.nn.InstanceNorm1d(6, affine=True))])
@pytest.mark.parametrize("training", [True, False])
def test_modules(make, training):
    torch.manual_seed(3)
    model = make().train(training)
    other = copy.deepcopy(model)
    x, y = (X.clone().requires_grad_() for _ in range(2))
    compiled = frameloom.compile(other, fullgraph=True)
    for _ in range(2):
        want, got = tensors(model(x)), tensors(compiled(y))
        for one, by in zip(gradients(got, [y, *other.parameters()]), gradients(want, [x, *model.parameters()]), strict=True):
            torch.testing.assert_close(one, by, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(list(other.buffers()), list(model.buffers()))
    assert not [row for one in _native.callables() for entry in one._report()["entries"] for row in entry["host_calls"]
                if one.__code__.co_name == "_wrapped_call_impl"]


def test_long_recurrent_layers_are_left_to_torch():
    model, x = torch.nn.LSTM(4, 4), torch.randn(300, 1, 4)
    compiled = frameloom.compile(lambda x: model(x * 2)[0] + 1)
    torch.testing.assert_close(compiled(x), model(x * 2)[0] + 1)
    assert "more than 1,000 operations" in compiled._report()["breaks"][0][4]


def test_grouped_products_of_any_dtype():
    ends = torch.tensor([1, 3], dtype=torch.int32)
    a, b = torch.randn(3, 8, requires_grad=True), torch.randn(2, 8, 12, requires_grad=True)
    grouped = lambda a, b: torch.nn.functional.grouped_mm(a, b, offs=ends)  # noqa: E731
    compiled = frameloom.compile(grouped, fullgraph=True)
    torch.testing.assert_close(compiled(a, b), grouped(a, b))
    torch.testing.assert_close(gradients([compiled(a, b)], (a, b)), gradients([grouped(a, b)], (a, b)))


def test_operations_without_a_description():
    """torch does not say what they give without running them."""
    x, target = torch.randn(3, 4, requires_grad=True), torch.tensor([1, 0, 2])
    loss = lambda x: torch.nn.functional.multi_margin_loss(x, target)  # noqa: E731
    compiled = frameloom.compile(loss, fullgraph=True)
    torch.testing.assert_close(torch.autograd.grad(compiled(x), x), torch.autograd.grad(loss(x), x))
    factors = frameloom.compile(lambda x: torch.geqrf(x)[0] * 2, fullgraph=True)
    torch.testing.assert_close(factors(x.detach()), torch.geqrf(x.detach())[0] * 2)


@pytest.mark.parametrize("driver", [None, "gels", "gelsd", "gelss"])
@pytest.mark.parametrize("sizes", [((6, 4), (6, 2)), ((4, 6), (4,)), ((3, 6, 4), (3, 6)), ((3, 6, 4), (1, 6, 2)), ((2, 4, 4), (1, 4, 3))])
def test_least_squares(driver, sizes):
    """Which results there are depends on the driver and the sizes. Gradients are compared to the second order."""
    def solved(a, b):
        made = torch.linalg.lstsq(a, b, driver=driver)
        return made, made.solution.sin() * made.solution

    matrix, right = (torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) for size in sizes)
    compiled, found = frameloom.compile(solved, fullgraph=True), []
    for f in (solved, compiled):
        a, b = (one.clone().requires_grad_() for one in (matrix, right))
        made, y = f(a, b)
        first = torch.autograd.grad(y.sum(), (a, b), create_graph=True)
        second = torch.autograd.grad(sum(one.sin().sum() for one in first), (a, b))
        found.append([*made, y, *first, *second])
    assert [one.stride() for one in found[0][:5]] == [one.stride() for one in found[1][:5]]
    torch.testing.assert_close(found[1], found[0])


def test_least_squares_of_a_matrix_without_full_rank():
    """With this driver there are no residuals then."""
    compiled = frameloom.compile(lambda a, b: torch.linalg.lstsq(a, b, driver="gelsd"), fullgraph=True)
    for a in (torch.eye(6, 4), torch.ones(6, 4), torch.eye(6, 4)):
        torch.testing.assert_close(compiled(a, torch.ones(6, 2)), torch.linalg.lstsq(a, torch.ones(6, 2), driver="gelsd"))


def test_explain_names_what_torch_runs():
    explanation = frameloom.explain(lambda x: torch.linalg.solve(x @ x.mT + 1, x).sum(), torch.randn(4, 4))
    call = explanation.host_calls[0]
    assert (call.op, call.library, call.reason) == ("aten._linalg_solve_ex.default", "torch", "there is no lowering")
    assert call.file.endswith("test_tensors_whole.py") and str(call) in str(explanation) and '"_linalg_solve_ex' not in explanation.json()
