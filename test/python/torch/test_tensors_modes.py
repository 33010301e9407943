"""Functions of tensors under autocast or in inference mode, and with parts under autocast, as eager torch has them."""

import contextlib
import copy
import functools

import pytest
import tensor_programs
import torch
from reports import break_codes

import frameloom

F = torch.nn.functional
bfloat16 = functools.partial(torch.autocast, "cpu", dtype=torch.bfloat16)
float16 = functools.partial(torch.autocast, "cpu", dtype=torch.float16)
pytestmark = pytest.mark.filterwarnings("ignore:.*lite::")


def flat(one):
    if isinstance(one, (tuple, list)):
        return [each for item in one for each in flat(item)]
    return [one] if isinstance(one, torch.Tensor) else []


def looks(one):
    if isinstance(one, (tuple, list)):
        return [looks(each) for each in one]
    return (one.dtype, one.shape, one.requires_grad, one.grad_fn is not None) if isinstance(one, torch.Tensor) else one


def seen_and_held(function, arguments):
    """How results look, and all numbers: results, gradients of results, and what is in `grad`."""
    result = function(*arguments)
    leaves = [one for item in arguments for one in (item.parameters() if isinstance(item, torch.nn.Module) else [item])]
    wanted = [one for one in leaves if one.requires_grad]
    roots = [one.float().sum() for one in flat(result) if one.requires_grad]
    gradients = torch.autograd.grad(sum(roots), wanted, allow_unused=True) if roots and wanted else ()
    return looks(result), [one for one in (*flat(result), *gradients, *(one.grad for one in leaves)) if one is not None]


def compare_modes(function, make, outer=None, fullgraph=True):
    compiled = frameloom.compile(function, fullgraph=fullgraph)
    for seed in (1, 1, 2):
        found = []
        for each in (function, compiled):
            torch.manual_seed(seed)
            arguments = make()
            with outer() if outer else contextlib.nullcontext():
                found.append(seen_and_held(each, arguments))
        (expected, numbers), (got, given) = found
        assert got == expected
        assert [one.dtype for one in given] == [one.dtype for one in numbers]
        for one, other in zip(given, numbers, strict=True):
            torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)
    return compiled


def squares(count=2):
    return [torch.randn(4, 4, requires_grad=True) for _ in range(count)]


def layer():
    return [torch.nn.Linear(8, 4), torch.randn(3, 8)]


def images():
    return [torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()), torch.randn(2, 3, 8, 8)]


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norm = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.nn.LayerNorm(8)
        self.up = torch.nn.Linear(8, 8)

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + F.gelu(self.up(self.norm(x)))


@pytest.mark.parametrize("make", [layer, images, lambda: [Block(), torch.randn(2, 5, 8)]])
@pytest.mark.parametrize("outer", [None, bfloat16, float16, functools.partial(bfloat16, cache_enabled=False)])
def test_a_call_of_a_model_under_autocast(make, outer):
    compare_modes(lambda model, x: model(x), make, outer)


def of_all_lists(a, b):
    x = a @ b
    double = a.double()
    return (
        x, torch.cat([x, a]), torch.stack([x, x]), torch.addcmul(a, x, x), x.softmax(-1), F.layer_norm(a, (4,)), F.mse_loss(x, x * 2), x.prod(),
        F.cross_entropy(x, torch.arange(4)), torch.linalg.inv(x + 9 * torch.eye(4, dtype=x.dtype)), torch.einsum("ij,kj->ik", a, b), F.prelu(a, b[0, :1]),
        double @ double, torch.cat([double, x]), torch.bmm(a[None], b[None]), F.scaled_dot_product_attention(a[None, None], a[None, None], b[None, None]),
        F.avg_pool3d(x[None, None, None], (1, 2, 2)), a.int() + x, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"),
    )  # fmt: skip


@pytest.mark.parametrize("outer", [None, bfloat16, float16])
def test_what_is_cast(outer):
    compare_modes(of_all_lists, squares, outer)
    compare_modes(of_all_lists, lambda: [one.detach() for one in squares()], outer)


def a_part(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = a @ b
    return x, x.float() @ b


def nested(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = a @ b
        with torch.autocast("cpu", enabled=False):
            y = a @ b
            with torch.autocast("cpu", dtype=torch.float16):
                z = a @ b
        return x, y, z, a @ b


@torch.autocast("cpu", dtype=torch.bfloat16)
def decorated(a, b):
    return a @ b


def calls_a_decorated_one(a, b):
    return decorated(a, b), a @ b


def left_by_an_exception(a, b):
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = a @ b
            raise ValueError
    except ValueError:
        pass
    return x, a @ b, torch.is_autocast_enabled("cpu")


manager = torch.autocast("cpu", dtype=torch.bfloat16)


def by_a_manager_from_before(a, b):
    with manager:
        return a @ b


def without_gradients_first(a, b):
    with torch.autocast("cpu"):
        with torch.no_grad():
            x = a @ b
        return x, a @ b


@pytest.mark.parametrize(
    "function", [a_part, nested, decorated, calls_a_decorated_one, left_by_an_exception, by_a_manager_from_before, without_gradients_first]
)
@pytest.mark.parametrize("outer", [None, bfloat16])
def test_parts_under_autocast(function, outer):
    compare_modes(function, squares, outer)


def broken(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = a @ b
        if x.sum() > -1e9:
            x = x @ b
        return x, torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("outer", [None, bfloat16])
def test_a_break_inside_goes_on_under_autocast(outer):
    codes = break_codes(broken, *squares())
    assert codes[0] == "FL0002" and "FL0030" in codes  # the second for the end of the part, where autocast is left
    compare_modes(broken, squares, outer, fullgraph=False)


def step(model, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.mse_loss(model(x) + model(x * 2), torch.zeros(3, 4))
    loss.backward()
    return loss.detach()


def step_with_backward_inside(model, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), torch.arange(3))
        loss.backward()
    return loss.detach()


@pytest.mark.parametrize("function", [step, step_with_backward_inside])
def test_training_steps(function):
    compare_modes(function, layer)
    compare_modes(function, layer, bfloat16)


def test_training_with_an_optimizer():
    torch.manual_seed(1)
    plain, x = layer()
    other = copy.deepcopy(plain)

    def make(model):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

        def train(x):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return train

    eager, compiled = make(plain), frameloom.compile(make(other), fullgraph=True)
    for _ in range(5):
        torch.testing.assert_close(compiled(x), eager(x), rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(list(other.parameters()), list(plain.parameters()), rtol=2e-2, atol=2e-2)


def test_a_version_for_each_state():
    compiled = frameloom.compile(lambda a, b: a @ b, fullgraph=True)
    a, b = squares()
    seen = []
    for _ in range(2):
        for dtype in (None, torch.bfloat16, torch.float16):
            with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
                seen.append(compiled(a, b).dtype)
    assert seen == 2 * [torch.float32, torch.bfloat16, torch.float16]


def test_double_gradients_under_autocast():
    def function(a, b):
        return (a @ b).float().square().sum()

    compiled, found = frameloom.compile(function), []
    for each in (function, compiled):
        torch.manual_seed(1)
        a, b = squares()
        with bfloat16():
            loss = each(a, b)
        (gradient,) = torch.autograd.grad(loss, a, create_graph=True)
        found.append((gradient, *torch.autograd.grad(gradient.square().sum(), [a, b])))
    torch.testing.assert_close(found[1], found[0], rtol=5e-2, atol=0.5)


def test_autocast_that_stays_on_breaks():
    def function(a, b):
        torch.set_autocast_enabled("cpu", True)
        return a @ b

    a, b = squares()
    try:
        assert "FL0030" in break_codes(function, a, b)
        torch.set_autocast_enabled("cpu", False)
        assert frameloom.compile(function)(a, b).dtype == torch.bfloat16
    finally:
        torch.set_autocast_enabled("cpu", False)


def quiet_things(x, y, model):
    z = x @ y
    z[1:].add_(1)
    x.mul_(2)
    made = torch.zeros(3)
    made[0] = 1
    return (
        z, z[1:], x[1:], y, made, model(x), F.scaled_dot_product_attention(x[None], x[None], y[None]), torch.tensor([1.0, 2.0]), y.t(), x.softmax(-1),
        model.weight, model.weight.t(), torch.linalg.inv(x + 9 * torch.eye(3)), torch.is_inference_mode_enabled(), torch.is_grad_enabled(),
    )  # fmt: skip


def traits(one):
    return (*tensor_programs.told(one), one.is_inference()) if isinstance(one, torch.Tensor) else one


@pytest.mark.parametrize("inside", [False, True], ids=["ordinary", "of inference mode"])
def test_inference_mode_around_a_call(inside):
    model = torch.nn.Linear(3, 3)
    compiled = frameloom.compile(quiet_things, fullgraph=True)
    for _ in range(2):
        found = []
        for each in (quiet_things, compiled):
            with torch.inference_mode(inside):
                arguments = [torch.arange(9.0).reshape(3, 3) + i for i in range(2)]
            with torch.inference_mode():
                found.append((*each(*arguments, model), *arguments))
            assert inside or arguments[0]._version == 1
        assert [traits(one) for one in found[1]] == [traits(one) for one in found[0]]
        torch.testing.assert_close(found[1], found[0])
    assert not compiled(torch.ones(3, 3), torch.ones(3, 3), model)[0].is_inference()


def test_tensors_of_inference_mode_outside_of_it():
    with torch.inference_mode():
        x = torch.ones(3)
    assert break_codes(lambda x: x * 2, x) == ["FL0030"]
    assert frameloom.compile(lambda x: x * 2)(x).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        frameloom.compile(lambda x: x.add_(1))(x)


@torch.inference_mode()
def decorated_for_inference(x):
    return x * 2 + x.sum()


def inference_inside(x):
    with torch.inference_mode():
        y = x * 2
    return y, x * 3


def test_inference_mode_inside_breaks():
    x = torch.ones(3, requires_grad=True)
    assert break_codes(inference_inside, x)[0] == "FL0003"
    for function in (inference_inside, decorated_for_inference):
        compiled = frameloom.compile(function)
        for _ in range(2):
            expected, got = function(x), compiled(x)
            assert [traits(one) for one in flat([got])] == [traits(one) for one in flat([expected])]


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_programs(first):
    for seed in range(first, first + 20):
        source, found = tensor_programs.compare(seed, "modes")
        assert found is None, f"seed {seed}: {found}\n{source}"
