"""torch.vmap and frameloom.vmap of functions of tensors: captured, against eager torch; gradients, levels, what breaks."""

import pytest
import tensor_programs
import torch
from reports import break_codes
from torch.func import vmap
from torch.utils import _pytree

import frameloom

MADE = torch.Generator().manual_seed(0)
A, B, W, E = (torch.randn(*sizes, generator=MADE) for sizes in ((5, 4), (5, 4), (4, 3), (2, 3, 4)))
LAYER = torch.nn.Linear(4, 2)


def dot(x, y):
    return (x * y).sum()


def product(x, w):
    return torch.tanh(x @ w)


def tree(x):
    return x.softmax(-1), {"a": x[1:], "b": [x.sum(), x[0] * 2]}


def chosen(x):
    return torch.where(x > 0, x, -x).cumsum(0)


def written(x):
    z = x.clone()
    z[0] = 7
    z.add_(1)
    z *= 2
    return z


def made(x):
    return torch.zeros(3) + x[0], torch.arange(4)


def looped(x):
    total = 0
    for one in x:
        total = total + one * one
    return total, len(x) * x, x.shape[0] + x.dim() * x


def shaped(x):
    return x.reshape(2, 2).T.flatten(), x.unsqueeze(0).expand(3, 4), torch.stack([x, x * 2]), torch.cat([x, x])


def indexed(x):
    return x[torch.tensor([0, 2])], x.gather(0, torch.argsort(x, stable=True))


def normalised(x):
    return vmap(lambda row: row.exp() / row.exp().sum())(x)


def noted(x):
    noted.calls.append(len(noted.calls))
    return x * 2


noted.calls = []

CALLS = {
    "two tensors": lambda: vmap(dot)(A, B),
    "last axes": lambda: vmap(dot, in_dims=-1)(A, B),
    "different axes": lambda: vmap(dot, in_dims=(0, 1))(A, B.T.clone()),
    "one for all": lambda: vmap(dot, in_dims=(0, None))(A, B[0]),
    "vectors and a matrix": lambda: vmap(product, in_dims=(0, None))(A, W),
    "matrices and matrices": lambda: vmap(torch.mm)(E, E.transpose(1, 2)),
    "tree of results": lambda: vmap(tree)(A),
    "tree of arguments": lambda: vmap(lambda p, q: p["x"] * q[0] + q[1], in_dims=({"x": 0}, (1, None)))({"x": A}, (B.T, W[0, 0])),
    "tree of axes": lambda: vmap(tree, out_dims=(1, {"a": 0, "b": [0, 0]}))(A),
    "other axis of the result": lambda: vmap(product, in_dims=(0, None), out_dims=1)(A, W),
    "result that is the same": lambda: vmap(lambda x: (x, W * 2), out_dims=(0, None))(A),
    "choice": lambda: vmap(chosen)(A),
    "writes": lambda: vmap(written)(A),
    "tensors made": lambda: vmap(made)(A),
    "loops": lambda: vmap(looped)(A),
    "shapes": lambda: vmap(shaped)(A),
    "indices": lambda: vmap(indexed)(A),
    "closure": lambda: vmap(lambda x: torch.nn.functional.linear(x, W.T) + x.mean())(A),
    "module": lambda: vmap(lambda x: LAYER(x).relu())(A),
    "module itself": lambda: vmap(LAYER)(A),
    "nested": lambda: vmap(normalised)(E),
    "outer product": lambda: vmap(vmap(lambda p, q: p * q, in_dims=(None, 0)), in_dims=(0, None))(A[0], B[1]),
    "keyword": lambda: vmap(lambda x, scale=2.0: x * scale)(A, scale=B),
    "no element": lambda: vmap(lambda x: x * 2)(A[:0]),
    "function of torch": lambda: torch.vmap(torch.sin)(A),
    "side effect": lambda: (vmap(noted)(A), len(noted.calls)),
    "numbers that differ": lambda: vmap(lambda x: x + torch.rand(4), randomness="different")(A),
    "the same numbers": lambda: vmap(lambda x: x + torch.rand(4), randomness="same")(A),
    "without vmap behind": lambda: (vmap(dot)(A, B).sum() * A, A @ W[:, 0], A[0] @ W),
}


def seeded(call):
    noted.calls.clear()
    torch.manual_seed(3)
    return call()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_captured(name):
    compiled = frameloom.compile(CALLS[name], fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(seeded(compiled), seeded(CALLS[name]))


@pytest.mark.parametrize("name", CALLS)
def test_a_call_has_gradients(name, monkeypatch):
    leaves = [one.clone().requires_grad_() for one in (A, B, W, E)]
    for its, leaf in zip("ABWE", leaves, strict=True):
        monkeypatch.setitem(globals(), its, leaf)
    told = []
    for call in (CALLS[name], frameloom.compile(CALLS[name], fullgraph=True)):
        results = [one for one in _pytree.tree_leaves(seeded(call)) if isinstance(one, torch.Tensor)]
        recorded = [one for one in results if one.requires_grad]
        gradients = torch.autograd.grad([one.square().sum() for one in recorded], leaves, allow_unused=True) if recorded else ()
        told.append((results, [one.requires_grad for one in results], [one for one in gradients if one is not None], len(gradients)))
    torch.testing.assert_close(told[1], told[0])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64, torch.complex64], ids=str)
def test_dtypes(dtype):
    x, y = (A * 3).to(dtype), (B * 3).to(dtype)
    compiled = frameloom.compile(vmap(lambda x, y: (x * y + 2, (x + y).sum(), x[1:] - y[:-1])), fullgraph=True)
    torch.testing.assert_close(compiled(x, y), vmap(lambda x, y: (x * y + 2, (x + y).sum(), x[1:] - y[:-1]))(x, y))


def test_a_mapped_function_is_compiled():
    compiled = frameloom.compile(vmap(dot), fullgraph=True)
    for rows in (5, 3, 1):
        torch.testing.assert_close(compiled(A[:rows], B[:rows]), dot(A[:rows].T, B[:rows].T) if rows == 0 else (A * B)[:rows].sum(1))


def test_writes_reach_the_callers_tensor():
    def function(x):
        return vmap(lambda row: row.mul_(2))(x), x

    plain, other = A.clone(), A.clone()
    torch.testing.assert_close(frameloom.compile(function, fullgraph=True)(other), function(plain))
    torch.testing.assert_close(other, plain)


def test_gradients():
    def loss(x, w):
        return vmap(lambda row: torch.tanh(row @ w).pow(2).sum())(x).mean()

    results = []
    for call in (loss, frameloom.compile(loss, fullgraph=True)):
        x, w = A.clone().requires_grad_(), torch.nn.Parameter(W.clone())
        value = call(x, w)
        first = torch.autograd.grad(value, (x, w), create_graph=True)
        results.append((value, first, torch.autograd.grad(first[0].square().sum(), (x, w))))
    torch.testing.assert_close(results[1], results[0])


def test_a_training_step():
    results = []
    for compiles in (False, True):
        layer = torch.nn.Linear(4, 3)
        layer.load_state_dict({"weight": W.T, "bias": W[0]})
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()  # noqa: B023
            loss = vmap(lambda row: layer(row).square().sum())(x).mean()  # noqa: B023
            loss.backward()
            optimizer.step()  # noqa: B023
            return loss.detach()

        call = frameloom.compile(step) if compiles else step
        results.append(([call(A) for _ in range(4)], layer.state_dict()))
    torch.testing.assert_close(results[1], results[0])
    assert not call._report()["breaks"]


SCALE = 2.0


def test_what_the_function_reads_is_guarded(monkeypatch):
    compiled = frameloom.compile(lambda x: vmap(lambda row: row * SCALE)(x), fullgraph=True)
    for number in (2.0, 3.0, 4.5):
        monkeypatch.setitem(globals(), "SCALE", number)
        torch.testing.assert_close(compiled(A), A * number)


def test_autocast():
    def function(x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return vmap(lambda row: row @ w)(x)

    torch.testing.assert_close(frameloom.compile(function, fullgraph=True)(A, W), function(A, W))


def branches(x):
    return vmap(lambda row: row if row.sum() > 0 else -row)(x)


def takes_an_element(x):
    return vmap(lambda row: row * row[0].item())(x)


def differentiates(x):
    return vmap(lambda row: torch.autograd.grad((row**3).sum(), row)[0])(x)


def of_other_sizes(x):
    return vmap(dot)(x, x[:2])


def in_chunks(x):
    return vmap(lambda row: row * 2, chunk_size=2)(x)


def draws(x):
    return vmap(lambda row: row + torch.rand(4))(x)


def no_tensor(x):
    return vmap(lambda row: 1)(x)


def differs(x):
    return vmap(lambda row: row, out_dims=None)(x)


def keeps(x):
    kept = []
    return vmap(lambda row: (kept.append(row), row * 2)[1])(x), len(kept), kept[0].shape


def number_for_a_tensor(x):
    return vmap(lambda row, by: row * by)(x, 2.0)


REFUSED = [branches, takes_an_element, differentiates, of_other_sizes, in_chunks, draws, no_tensor, differs, number_for_a_tensor]


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_breaks_is_torchs(function):
    def told(call):
        try:
            return call(A)
        except Exception as error:  # noqa: BLE001
            return type(error), str(error)

    compiled = frameloom.compile(function)
    for _ in range(2):
        torch.testing.assert_close(told(compiled), told(function)) if isinstance(told(function), torch.Tensor) else None
        assert isinstance(told(function), torch.Tensor) or told(compiled) == told(function)
    try:
        codes = set(break_codes(function, A))
    except Exception:  # noqa: BLE001
        return
    assert codes


def test_an_exception_is_caught_inside():
    def function(x):
        try:
            return vmap(lambda row: row @ torch.zeros(7))(x)
        except RuntimeError:
            return x + 1

    compiled = frameloom.compile(function)
    torch.testing.assert_close(compiled(A), A + 1)

    def with_a_key(x):
        try:
            return vmap(lambda row: {}["key"])(x)
        except KeyError:
            return x + 2

    torch.testing.assert_close(frameloom.compile(with_a_key, fullgraph=True)(A), A + 2)


def test_a_kept_element_stays_inside():
    compiled = frameloom.compile(keeps)
    result = compiled(A)
    torch.testing.assert_close(result[0], A * 2)
    assert result[1:] == (1, (4,))
    outside = []
    leaks = frameloom.compile(lambda x: vmap(lambda row: (outside.append(row), row * 2)[1])(x))
    torch.testing.assert_close(leaks(A), A * 2)
    assert len(outside) == 1
    assert set(code for code in [one[0] for one in leaks._report()["breaks"]]) == {30}


def test_frameloom_vmap_takes_tensors():
    mapped = frameloom.vmap(product, in_axes=(0, None))
    torch.testing.assert_close(mapped(A, W), torch.tanh(A @ W))
    torch.testing.assert_close(frameloom.vmap(lambda x, *, y: x * y)(A, y=B), A * B)
    torch.testing.assert_close(frameloom.vmap(lambda x: x * 2, out_axes=1)(A), A.T * 2)
    torch.testing.assert_close(frameloom.vmap(dot, [1, 1])(A, B), (A * B).sum(0))
    torch.testing.assert_close(frameloom.vmap(frameloom.vmap(dot))(E, E), (E * E).sum(-1))
    inside = frameloom.compile(lambda x: frameloom.vmap(lambda row: row.sum())(x), fullgraph=True)
    torch.testing.assert_close(inside(A), A.sum(1))
    w = torch.nn.Parameter(W)
    mapped(A, w).sum().backward()
    torch.testing.assert_close(w.grad, A.T @ (1 - torch.tanh(A @ W) ** 2))


def test_frameloom_vmap_refuses():
    with pytest.raises(ValueError, match="of 5 and of 2 elements"):
        frameloom.vmap(dot)(A, B[:2])
    with pytest.raises(TypeError, match="not of float"):
        frameloom.vmap(lambda x, y: x * y)(A, 2.0)
    with pytest.raises(ValueError, match="for 1 arguments"):
        frameloom.vmap(dot, (0,))(A, B)
    with pytest.raises(frameloom.GraphBreak, match="FL0002"):
        frameloom.vmap(lambda row: row if row.sum() > 0 else -row)(A)


@pytest.mark.filterwarnings("ignore")
def test_random_programs():
    for seed in range(9000, 9040):
        source, found = tensor_programs.compare(seed, "batches")
        assert not found, f"{found}\n{source}"
