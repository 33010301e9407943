"""Gradients of functions of tensors that frameloom.compile has captured."""

import concurrent.futures
import copy
import warnings

import numpy as np
import opinfo_tensors
import pytest
import tensor_programs
import torch
from reports import break_codes
from torch.testing._internal.common_methods_invocations import op_db

import frameloom
from frameloom import _tensor_gradients

F = torch.nn.functional


def leaves(*shapes):
    made = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=made, dtype=torch.float64).requires_grad_() for shape in shapes]


def whole(compiled, *arguments):
    assert not break_codes(compiled, *arguments)


def attention(x, w):
    q, k, v = (x @ w).view(2, 8, 3, 2, 4).permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).sum(-1)


def written(x):
    y = x * 2
    y.add_(x.sin())
    y[0] = x[1] * 3
    return y


CASES = [
    (lambda x, y: x * y, (3,), (3,)),
    (lambda x, w, b: F.gelu(F.linear(x, w, b)), (5, 4), (6, 4), (6,)),
    (lambda x: (x.sin(), x.exp().sum(0)), (3, 4)),
    (lambda x: (x.tanh()[0], x.detach() * x), (3, 4)),
    (lambda x, y: F.cross_entropy(x.softmax(-1) @ y, torch.tensor([0, 1, 0])), (3, 4), (4, 5)),
    (written, (3, 4)),
    (lambda x, w, b: F.layer_norm(x, (4,), w, b), (3, 4), (4,), (4,)),
    (lambda x, w: F.conv2d(x, w, padding=1).relu(), (2, 3, 8, 8), (4, 3, 3, 3)),
    (attention, (2, 8, 8), (8, 24)),
    (lambda x, y: x.cos(), (3,), (3,)),
    (lambda w: F.embedding(torch.tensor([1, 2, 1]), w), (4, 3)),
    (lambda x: F.batch_norm(x, None, None, training=True), (6, 3)),
]


@pytest.mark.parametrize("case", CASES)
def test_first_and_second_order(case):
    function, *shapes = case
    compiled = frameloom.compile(function)
    for _ in range(2):
        plain = tensor_programs.outcome(function, leaves(*shapes))
        assert tensor_programs.difference(plain, tensor_programs.outcome(compiled, leaves(*shapes))) is None
    whole(compiled, *leaves(*shapes))


MASKS = {
    "none": lambda: None,
    "causal": lambda: "causal",
    "bool": lambda: torch.arange(9 * 7).view(9, 7) % 3 > 0,
    "a row of nothing": lambda: torch.arange(9).view(9, 1).expand(9, 7) > 0,
    "float": lambda: torch.linspace(-1, 1, 2 * 9 * 7).view(2, 1, 9, 7),
    "with a gradient": lambda: torch.linspace(-1, 1, 9 * 7).view(9, 7).requires_grad_(),
}


@pytest.mark.parametrize("name", MASKS)
def test_attention_is_the_operation_that_torch_chooses(name):
    """One operation, forward and backward, where torch has a kernel for it; products and a softmax where it has not."""
    mask = MASKS[name]()
    causal, mask = isinstance(mask, str), None if isinstance(mask, str) else mask
    q, k, v = (one.float().detach().requires_grad_() for one in leaves((2, 3, 9, 4), (2, 3, 7, 4), (2, 3, 7, 4)))
    wanted = [one for one in (q, k, v, mask) if one is not None and one.requires_grad]

    def run(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)

    compiled = frameloom.compile(run, fullgraph=True)
    for _ in range(2):
        results = [function(q, k, v, mask) for function in (run, compiled)]
        assert results[0].stride() == results[1].stride()
        gradients = [torch.autograd.grad(one.sin().sum(), wanted) for one in results]
        for one, other in zip((results[0], *gradients[0]), (results[1], *gradients[1])):
            torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)
    fused = torch._fused_sdp_choice(q, k, v, mask, is_causal=causal) == torch.nn.attention.SDPBackend.FLASH_ATTENTION.value
    assert ("loom.attention " in str(frameloom.explain(run, q, k, v, mask))) == fused
    assert fused == (name != "with a gradient")


def test_gradients_of_any_order():
    compiled, (x,) = frameloom.compile(lambda x: x.sin() * x), leaves((3,))
    y, z = compiled(x), x.sin() * x
    for _ in range(4):
        (y,), (z,) = (torch.autograd.grad(one.sum(), x, create_graph=True) for one in (y, z))
        assert torch.allclose(y, z)


def test_gradients_are_accumulated_and_graphs_kept():
    compiled, (x,) = frameloom.compile(lambda x: x.exp()), leaves((3,))
    y = compiled(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert torch.allclose(x.grad, 2 * x.exp())
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_what_is_saved_must_not_change():
    (x,) = leaves((3,))
    given = x * 1
    y = frameloom.compile(lambda x: x * x)(given)
    given.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_gradients_of_some_results_and_some_arguments():
    compiled, (x, y) = frameloom.compile(lambda x, y: (x * y, y.exp(), x.detach())), leaves((3,), (3,))
    first, second, third = compiled(x, y)
    assert not third.requires_grad
    assert torch.allclose(torch.autograd.grad(first.sum(), y, retain_graph=True)[0], x)
    assert torch.allclose(torch.autograd.grad(second.sum(), y)[0], y.exp())
    quiet = x.detach()
    assert torch.allclose(torch.autograd.grad(compiled(quiet, y)[0].sum(), y)[0], quiet)


def test_the_state_of_the_thread_is_heard():
    compiled, (x,) = frameloom.compile(lambda x: x.sin()), leaves((3,))
    with torch.no_grad():
        assert not compiled(x).requires_grad
    assert compiled(x).requires_grad
    assert not compiled(x.detach()).requires_grad

    @frameloom.compile
    def partly(x):
        with torch.no_grad():
            weight = x.softmax(0)
        return (x * weight).sum()

    assert torch.allclose(torch.autograd.grad(partly(x), x)[0], x.softmax(0))


def test_through_a_break():
    @frameloom.compile
    def broken(x):
        y = x.sin()
        print(end="")
        return y.exp() * x

    (x,) = leaves((3,))
    assert torch.allclose(torch.autograd.grad(broken(x).sum(), x)[0], torch.autograd.grad((x.sin().exp() * x).sum(), x)[0])


def test_a_second_derivative_behind_a_write_by_numpy_is_refused():
    def function(x):
        y = x * x
        y.detach().numpy()[:1] = 2
        return (y * x).sum()

    compiled = frameloom.compile(function, fullgraph=True)
    x = torch.randn(3, requires_grad=True)
    torch.testing.assert_close(torch.autograd.grad(compiled(x), x), torch.autograd.grad(function(x), x))
    with pytest.raises(RuntimeError, match="by NumPy"):
        torch.autograd.grad(compiled(x), x, create_graph=True)


def test_hooks_and_anomaly_mode():
    compiled, (x,) = frameloom.compile(lambda x: x.exp()), leaves((3,))
    seen = []
    y = compiled(x)
    y.register_hook(lambda gradient: seen.append(gradient.sum()) or gradient * 2)
    with warnings.catch_warnings(), torch.autograd.detect_anomaly(check_nan=False):
        warnings.simplefilter("ignore")
        y.sum().backward()
    assert len(seen) == 1
    assert torch.allclose(x.grad, 2 * x.exp())


def test_a_written_argument_with_a_history_is_left_to_torch():
    compiled = frameloom.compile(lambda x, out: out.mul_(x) + 1)
    (x,) = leaves((3,))
    out = torch.ones(3, dtype=torch.float64)
    compiled(x, out).sum().backward()
    assert torch.equal(x.grad, torch.ones(3, dtype=torch.float64))
    assert out.requires_grad
    assert "FL0031" in break_codes(compiled, x, torch.ones(3, dtype=torch.float64))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                                            torch.nn.MaxPool2d(2), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.features(x)).logsumexp(1).mean()


def test_a_model_is_trained():
    torch.manual_seed(0)
    plain = Net()
    trained = copy.deepcopy(plain)
    step = frameloom.compile(lambda x: trained(x))
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.1, momentum=0.9) for one in (plain, trained)]
    for _ in range(4):
        x = torch.randn(4, 3, 8, 8)
        for optimizer, loss in zip(optimizers, (plain(x), step(x))):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    for one, other in zip(plain.state_dict().values(), trained.state_dict().values()):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-6)
    whole(step, torch.randn(4, 3, 8, 8))


@pytest.mark.parametrize("first", range(9000, 9240, 60))
def test_random_programs(first):
    for seed in range(first, first + 60):
        source, found = tensor_programs.compare(seed, "gradients")
        assert found is None, f"seed {seed}: {found}\n{source}"


PARTS = 24
# Torch's own values are less exact; a refusal: the second derivative with regard to a number that changes.
ELSEWHERE = {"special.bessel_j0", "special.bessel_y1", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate"}


@pytest.mark.parametrize("how", ["gradients", "turned", "other form"])
@pytest.mark.parametrize("part", range(PARTS))
def test_samples_of_torch(part, how):
    """One of each operation, with its gradients, and of those the gradients; one of every second operation whose first tensor has
    another order in memory, and one of each of the others that is called in one of the other forms."""
    step, first = (1, 0) if how == "gradients" else (2, how == "turned")
    forms = list(opinfo_tensors.FORMS)
    dtype, form, found = torch.float32 if how == "turned" else torch.float64, forms[1 + part % 3] if how == "other form" else forms[0], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in op_db[part::PARTS][first::step]:
            if dtype in op.dtypes and op.name not in opinfo_tensors.UNKNOWN | ELSEWHERE:
                found += [(op.formatted_name, *one) for one in opinfo_tensors.compare(op, dtype, 1, how != "turned", how == "turned", form)]
    assert not found


def noisy(x):
    y = F.dropout(x * 2, 0.4) + torch.rand(3, 4, dtype=torch.float64)
    torch.randn(2)  # takes numbers, too
    z = torch.randn_like(y) * F.dropout(y, 0.1) + torch.randint(5, (3, 4))
    z.mul_(torch.empty_like(z).uniform_().add_(torch.empty_like(z).normal_(1, 2)))
    return z[torch.randperm(3)], torch.bernoulli(torch.full((4,), 0.5)), F.alpha_dropout(x, 0.3, True)


def test_random_numbers_are_torchs():
    compiled = frameloom.compile(noisy, fullgraph=True)
    for seed in range(4):
        found = []
        for function in (noisy, compiled):
            torch.manual_seed(seed)
            (x,) = leaves((3, 4))
            results = function(x)
            (first,) = torch.autograd.grad(results[0].square().sum() + results[2].pow(3).sum(), x, create_graph=True)
            found.append([*results, first, *torch.autograd.grad(first.sin().sum(), x), torch.rand(2)])
        for one, other in zip(*found):
            assert torch.allclose(one, other)


def test_what_torch_does_not_save_may_be_written():
    def function(x):
        h = x.relu()
        return h, (h * 3).tanh()

    compiled, found = frameloom.compile(function), []
    for one in (function, compiled):
        (leaf,) = leaves((64, 64))
        x = leaf * 1
        first, second = one(x)
        x.add_(1)
        found.append(torch.autograd.grad(second.sum(), leaf)[0])
    assert torch.allclose(*found)


def test_what_nothing_asks_of_has_no_gradient():
    def function(*arguments):
        return tuple(one.sin() for one in arguments)

    given = leaves(*[(3,)] * 70)
    results = frameloom.compile(function)(*given)
    (results[2].sum() + results[68].sum()).backward()
    assert [i for i, one in enumerate(given) if one.grad is not None] in ([2, 68], [2, *range(63, 70)])
    assert given[5].grad is None
    frameloom.compile(function)(*given)[5].sum().backward()
    assert given[4].grad is None and torch.allclose(given[5].grad, given[5].cos())


def test_threads_wait_for_the_backward():
    compiled, (x,) = frameloom.compile(lambda x: F.dropout(x.sin(), 0.5).cumsum(0).exp()), leaves((64, 64))
    torch.manual_seed(0)
    results = [compiled(x) for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(lambda y: torch.autograd.grad(y.sum(), x)[0], results))) == 8


def test_a_backward_that_is_not_compiled_runs_in_torch(monkeypatch):
    compiled, (x,) = frameloom.compile(lambda x: (x.sin(), x.exp())), leaves((3,))
    first, second = compiled(x)
    monkeypatch.setattr(_tensor_gradients.Program, "compiled", lambda self, *given: self(*given))
    assert torch.allclose(torch.autograd.grad(first.sum() + second.sum(), x)[0], x.cos() + x.exp())


def test_a_version_lives_on_when_its_results_have_died():
    """The backward of a version is its own, though the graphs of its results hold it, too."""
    weight, bias = torch.randn(4, 3, requires_grad=True), torch.randn(4, requires_grad=True)
    compiled = frameloom.compile(lambda x: torch.nn.functional.gelu(x @ weight.t() + bias), dynamic=False)
    for size in (4, 5, 6) * 4:
        compiled(torch.randn(size, 3)).sum().backward()
    report = compiled._report()
    assert len(report["entries"]) == 3 and len(report["recompiles"]) == 2, report["recompiles"]


def beside_the_result(x):
    y = x.sigmoid() * 2
    other = torch.from_numpy(np.tanh(y.detach().numpy()))
    other.mul_(y)
    return y, other.sum().detach()


def a_part_of_the_result(x):
    y = x.sigmoid() * 2
    return y * torch.from_numpy(np.tanh(y.detach().numpy())), y.sum()


@pytest.mark.parametrize("program", [beside_the_result, a_part_of_the_result])
def test_second_derivatives_beside_what_numpy_gives(program):
    found = []
    for call in program, frameloom.compile(program, fullgraph=True):
        x = torch.arange(3.0).requires_grad_()
        result, _ = call(x)
        (first,) = torch.autograd.grad(result.sum(), x, create_graph=True)
        found.append((first.detach(), *torch.autograd.grad(first.sum(), x)))
    torch.testing.assert_close(*found)
