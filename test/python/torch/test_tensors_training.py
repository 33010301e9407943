"""Training steps that frameloom.compile has captured: backward() inside of the function, gradients of leaves, optimizers."""

import copy

import pytest
import tensor_programs
import torch
from reports import break_codes

import frameloom

F = torch.nn.functional


def leaves(filled=False):
    """Two parameters, one of them in another order than C, and a tensor; the former perhaps with a gradient."""
    made = torch.Generator().manual_seed(1)
    one, other, x = (torch.randn(3, 3, generator=made) for _ in range(3))
    parameters = torch.nn.Parameter(one), torch.nn.Parameter(other.T)
    for parameter in parameters if filled else ():
        parameter.grad = torch.randn(3, 3, generator=made)
    return *parameters, x


def looks(one):
    if isinstance(one, (tuple, list)):
        return [looks(each) for each in one]
    return tensor_programs.told(one) if isinstance(one, torch.Tensor) else one


def numbers(one):
    if isinstance(one, (tuple, list)):
        return [number for each in one for number in numbers(each)]
    return [one.detach().clone()] if isinstance(one, torch.Tensor) else []


def behind(function, arguments):
    """What a call gives, what the parameters are and have behind it, and what the gradients of its results are."""
    result = function(*arguments)
    state = [result, [one.grad for one in arguments[:2]], list(arguments)]
    seen, held = [looks(state), [one._version for one in arguments]], numbers(state)
    outputs = [one for one in (result if isinstance(result, tuple) else (result,)) if isinstance(one, torch.Tensor) and one.requires_grad]
    for one in outputs:
        try:
            held += numbers([each for each in torch.autograd.grad(one.sum(), arguments[:2], allow_unused=True) if each is not None])
        except RuntimeError as error:
            seen.append(str(error))
    return seen, held


def compare_steps(function, compiled, filled, calls=2):
    plain, other = leaves(filled), leaves(filled)
    for _ in range(calls):
        seen, held = behind(function, plain)
        got, given = behind(compiled, other)
        assert got == seen
        torch.testing.assert_close(given, held)


def once(w, v, x):
    (w * x).sum().backward()
    return w.grad


def twice(w, v, x):
    (w * x).sum().backward()
    (w * w * v).sum().backward()


def read_and_dropped(w, v, x):
    loss = (w * x).sum()
    loss.backward()
    gradient, w.grad = w.grad * 2, None
    return gradient, loss


def given_gradient(w, v, x):
    y = w * x.exp()
    y.backward(x)
    return y


def retained(w, v, x):
    y = (w * w * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return y


def still_retained(w, v, x):
    y = (w * w * x).sum()
    y.backward(retain_graph=True)
    return y


def of_one_of_them(w, v, x):
    (w * v * x).sum().backward(inputs=[v])


def of_several(w, v, x):
    torch.autograd.backward([(w * x).sum(), (v * x).exp()], [None, x])


def steps_by_hand(w, v, x):
    (w * v * x).sum().backward()
    with torch.no_grad():
        for parameter in (w, v):
            parameter -= 0.1 * parameter.grad
            parameter.grad.zero_()


def clipped(w, v, x):
    (w * v * x).sum().backward()
    return torch.nn.utils.clip_grad_norm_([w, v], 1.0)


def spread(w, v, x):
    w.sum().backward()
    (v.t() @ x).sum().backward()


def replaced(w, v, x):
    w.grad = x * 2
    v.grad = None
    return w.grad


def one_ended(w, v, x):
    y = (w * w * x).sum()
    y.backward()
    return y, (v * v * x).sum()


def on_the_way(w, v, x):
    h = w * x
    (h * h).sum().backward()
    return h


WHOLE = [once, twice, read_and_dropped, given_gradient, retained, still_retained, of_one_of_them, of_several, steps_by_hand, clipped, spread,
         replaced, one_ended, on_the_way]  # fmt: skip


@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize("function", WHOLE, ids=lambda function: function.__name__)
@pytest.mark.filterwarnings("ignore:grad and param do not obey")
def test_backward_inside_is_part_of_the_graph(function, filled):
    compiled = frameloom.compile(function)
    for _ in range(3):
        compare_steps(function, compiled, filled)
    assert not break_codes(function, *leaves(filled))


def makes_a_leaf(w, v, x):
    z = torch.zeros(3, requires_grad=True)
    (z.sum() * w.sum()).backward()
    return z.grad, z


def goes_twice(w, v, x):
    y = (w * w * x).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        return type(error).__name__


def of_many_elements(w, v, x):
    try:
        (w * x).backward()
    except RuntimeError as error:
        return str(error)


def of_none(w, v, x):
    try:
        x.sum().backward()
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("function", [makes_a_leaf, goes_twice, of_many_elements, of_none])
def test_what_is_not_captured_is_torchs(function):
    compiled = frameloom.compile(function)
    compare_steps(function, compiled, False)
    assert break_codes(function, *leaves())


def test_hooks_are_called_by_torch():
    compiled = frameloom.compile(once)
    seen = []
    arguments = leaves()
    compiled(*arguments)
    compiled(*arguments)
    handle = arguments[0].register_hook(lambda gradient: seen.append("hook"))
    compiled(*arguments)
    handle.remove()
    arguments[0].register_post_accumulate_grad_hook(lambda parameter: seen.append("behind"))
    compiled(*arguments)
    assert seen == ["hook", "behind"]


def test_an_argument_with_a_history_passes_its_gradient_on():
    compiled = frameloom.compile(once)
    for _ in range(3):
        w, v, x = leaves()
        root = w.detach().requires_grad_()
        (root * 2 * x).sum().backward()
        wanted, root.grad = root.grad, None
        inner = root * 2
        with pytest.warns(UserWarning, match="not a leaf"):
            compiled(inner, v, x)
        torch.testing.assert_close(root.grad, wanted)
    compare_steps(once, compiled, False)


def test_a_gradient_that_is_another_parameters_is_written_once():
    def function(w, v, x):
        (w * x).sum().backward()
        return v.grad

    compiled = frameloom.compile(function)
    compare_steps(function, compiled, True)
    plain, other = leaves(True), leaves(True)
    for arguments, call in ((plain, function), (other, compiled)):
        arguments[1].grad = arguments[0].grad
        call(*arguments)
    torch.testing.assert_close(other[1].grad, plain[1].grad)
    assert other[1].grad is other[0].grad


OPTIMIZERS = {
    "SGD": lambda of: torch.optim.SGD(of, lr=0.1),
    "momentum": lambda of: torch.optim.SGD(of, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "dampened": lambda of: torch.optim.SGD(of, lr=0.1, momentum=0.9, dampening=0.3, maximize=True),
    "foreach": lambda of: torch.optim.SGD(of, lr=0.1, momentum=0.9, foreach=True),
    "Adam": lambda of: torch.optim.Adam(of, lr=0.1),
    "amsgrad": lambda of: torch.optim.Adam(of, lr=0.1, amsgrad=True, weight_decay=0.1),
    "AdamW": lambda of: torch.optim.AdamW(of, lr=0.1),
    "groups": lambda of: torch.optim.AdamW([{"params": [one], "lr": 0.1 * i} for i, one in enumerate(of)]),
    "Adagrad": lambda of: torch.optim.Adagrad(of, lr=0.1),
    "Adadelta": lambda of: torch.optim.Adadelta(of),
    "Adamax": lambda of: torch.optim.Adamax(of),
    "NAdam": lambda of: torch.optim.NAdam(of),
    "RMSprop": lambda of: torch.optim.RMSprop(of, momentum=0.5, centered=True),
    "Rprop": lambda of: torch.optim.Rprop(of),
    "Adam of lists": lambda of: torch.optim.Adam(of, lr=0.1, foreach=True),
    "AdamW of lists": lambda of: torch.optim.AdamW(of, lr=0.1, amsgrad=True, foreach=True),
    "Adamax of lists": lambda of: torch.optim.Adamax(of, foreach=True),
    "NAdam of lists": lambda of: torch.optim.NAdam(of, foreach=True, weight_decay=0.1),
    "RAdam": lambda of: torch.optim.RAdam(of, lr=0.1),
    "RAdam with decay": lambda of: torch.optim.RAdam(of, lr=0.1, betas=(0.8, 0.9), weight_decay=0.1, maximize=True),
    "RAdam with decay apart": lambda of: torch.optim.RAdam(of, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True),
    "RAdam of lists": lambda of: torch.optim.RAdam(of, lr=0.1, weight_decay=0.1, foreach=True),
    "ASGD": lambda of: torch.optim.ASGD(of, lr=0.1, t0=2),
    "ASGD with decay": lambda of: torch.optim.ASGD(of, lr=0.1, lambd=0.1, weight_decay=0.1, maximize=True),
    "ASGD of lists": lambda of: torch.optim.ASGD(of, lr=0.1, lambd=0.1, t0=2, weight_decay=0.1, foreach=True),
    "Adafactor": lambda of: torch.optim.Adafactor(of, lr=0.1),
    "Adafactor with decay": lambda of: torch.optim.Adafactor(of, lr=0.5, weight_decay=0.1, eps=(1e-3, 1e-2), d=1.5, maximize=True),
    "Adafactor of lists": lambda of: torch.optim.Adafactor(of, lr=0.1, weight_decay=0.1, foreach=True),
}
# Those whose originals decide in Python by what they keep in tensors.
DECIDING = ("NAdam of lists", "RAdam", "RAdam of lists", "ASGD", "ASGD of lists", "Adafactor", "Adafactor of lists")


def training(make):
    """A step of training a small model, the model and its optimizer."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 8, bias=False), torch.nn.BatchNorm1d(8), torch.nn.GELU(), torch.nn.Linear(8, 4)).double()
    optimizer = make(model.parameters())

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, model, optimizer


def state_of(optimizer):
    return copy.deepcopy(optimizer.state_dict())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_step_is_one_graph(name):
    made = torch.Generator().manual_seed(2)
    plain, model, optimizer = training(OPTIMIZERS[name])
    step, other_model, other = training(OPTIMIZERS[name])
    compiled = frameloom.compile(step)
    for _ in range(8):  # RAdam computes otherwise from the sixth step on
        x, y = torch.randn(5, 6, generator=made, dtype=torch.float64), torch.randint(0, 4, (5,), generator=made)
        loss, other_loss = plain(x, y), compiled(x, y)
        torch.testing.assert_close(other_loss, loss)
        assert other_loss.requires_grad
        with pytest.raises(RuntimeError, match="second time"):
            other_loss.backward()
        torch.testing.assert_close(other_model.state_dict(), model.state_dict())
        torch.testing.assert_close([one.grad for one in other_model.parameters()], [one.grad for one in model.parameters()])
        torch.testing.assert_close(state_of(other)["state"], state_of(optimizer)["state"])
    report = compiled._report()
    assert not report["breaks"]
    assert report["captures"] <= 4  # without gradients and state, with them, and where numbers have changed


def small_steps(make, dtype):
    """A step of an optimizer whose parameters are a matrix, a vector and a number, these parameters and the optimizer."""
    made = torch.Generator().manual_seed(3)
    parameters = [torch.nn.Parameter(torch.randn(size, generator=made).to(dtype)) for size in ((4, 3), (5,), ())]
    optimizer = make(parameters)

    def step(x):
        optimizer.zero_grad()
        for one in parameters:
            (one * one * x).sum().backward()
        optimizer.step()

    return step, parameters, optimizer


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64], ids=str)
@pytest.mark.parametrize("name", DECIDING)
def test_steps_of_smaller_numbers(name, dtype):
    plain, parameters, optimizer = small_steps(OPTIMIZERS[name], dtype)
    step, other_parameters, other = small_steps(OPTIMIZERS[name], dtype)
    compiled = frameloom.compile(step)
    near = {torch.bfloat16: {"rtol": 0.05, "atol": 0.05}, torch.float16: {"rtol": 0.01, "atol": 0.01}}.get(dtype, {})
    for number in range(8):
        x = torch.tensor(0.1 * (number + 1)).to(dtype)
        plain(x)
        compiled(x)
        torch.testing.assert_close(other_parameters, parameters, equal_nan=True, **near)
        torch.testing.assert_close(state_of(other)["state"], state_of(optimizer)["state"], equal_nan=True, **near)
    assert not compiled._report()["breaks"]


@pytest.mark.parametrize("name", ["RAdam", "ASGD"])
def test_a_differentiable_step_decides_in_torch(name):
    results = []
    for compiles in (False, True):
        made = torch.Generator().manual_seed(3)
        roots = [torch.randn(3, generator=made, requires_grad=True) for _ in range(2)]
        parameters = [one.clone() for one in roots]
        optimizer = getattr(torch.optim, name)(parameters, lr=0.1, differentiable=True)

        def step():
            optimizer.step()  # noqa: B023
            return sum(one.square().sum() for one in parameters)  # noqa: B023

        call = frameloom.compile(step) if compiles else step
        for one in parameters:
            one.grad = torch.ones(3)
        with torch.no_grad():
            call()
        results.append((call(), parameters, optimizer.state_dict()["state"]))
        results[-1] += (torch.autograd.grad(results[-1][0], roots, allow_unused=True),)
    torch.testing.assert_close(results[1], results[0])


def scaled(dtype, unscales=True, make=OPTIMIZERS["SGD"]):
    """A step with a gradient scaler, its model and scaler."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torch.nn.Linear(6, 4)
    optimizer, scaler = make(model.parameters()), torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)

    def step(x):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            loss = model(x).float().square().mean()
        scaler.scale(loss).backward()
        if unscales:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return step, model, scaler


@pytest.mark.parametrize("name", ["SGD", "Adam of lists"])
@pytest.mark.parametrize("unscales", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_gradient_scaler_breaks_once_and_is_right(dtype, unscales, name):
    plain, model, scaler = scaled(dtype, unscales, OPTIMIZERS[name])
    step, other_model, other = scaled(dtype, unscales, OPTIMIZERS[name])
    compiled = frameloom.compile(step)
    made = torch.Generator().manual_seed(2)
    for number in range(9):
        x = torch.randn(5, 6, generator=made) * (float("inf") if number == 3 else 1)  # that step is left out
        torch.testing.assert_close(compiled(x), plain(x), rtol=2e-2, atol=2e-2, equal_nan=True)
        torch.testing.assert_close(other_model.state_dict(), model.state_dict(), rtol=2e-2, atol=2e-2)
        assert other.get_scale() == scaler.get_scale()
        assert other._get_growth_tracker() == scaler._get_growth_tracker()
    assert len(compiled._report()["breaks"]) == 1
    assert compiled._report()["captures"] <= 5
    assert set(break_codes(step, x)) == {"FL0002"}


def unscaled(gradients, found, inverse):
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse)


def scale_updated(scale, tracker, found):
    return torch._amp_update_scale_(scale, tracker, found, 2.5, 0.3, 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("value", [1.0, float("inf"), float("-inf"), float("nan"), 1e38])
def test_gradients_are_unscaled_as_by_torch(dtype, value):
    results = []
    with torch.no_grad():
        for function in (unscaled, frameloom.compile(unscaled, fullgraph=True)):
            made = torch.Generator().manual_seed(5)
            gradients = [torch.randn(size, generator=made).to(dtype) for size in ((3, 4), (5,), (), (0,))]
            gradients[1][2] = value
            found = torch.tensor(0.0)
            function(gradients, found, torch.tensor(1 / 3))
            results.append((gradients, found))
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0, equal_nan=True)


def test_a_scale_is_updated_as_by_torch():
    compiled = frameloom.compile(scale_updated, fullgraph=True)
    with torch.no_grad():
        for scale in (1.0, 65536.0, 3e38, 1e-45, float("inf"), float("nan")):
            for tracker in (0, 1, 2, 3):
                for found in (0.0, 1.0, 2.0, float("nan")):
                    results = []
                    for function in (scale_updated, compiled):
                        given = torch.tensor(scale), torch.tensor(tracker, dtype=torch.int32), torch.tensor(found)
                        results.append((function(*given), given))
                        assert results[-1][0] is given[0]
                    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", ["Adam", *DECIDING])
def test_a_changed_learning_rate_has_its_effect(name):
    plain, model, optimizer = training(OPTIMIZERS[name])
    step, other_model, other = training(OPTIMIZERS[name])
    compiled = frameloom.compile(step)
    x, y = torch.randn(5, 6, dtype=torch.float64), torch.randint(0, 4, (5,))
    for number in range(6):
        for each in (optimizer, other):
            each.param_groups[0]["lr"] = 0.1 / (number + 1)
        torch.testing.assert_close(compiled(x, y), plain(x, y))
    torch.testing.assert_close(other_model.state_dict(), model.state_dict())
    assert not compiled._report()["breaks"]


def test_a_schedule_needs_no_new_versions():
    plain, model, optimizer = training(OPTIMIZERS["AdamW"])
    step, other_model, other = training(OPTIMIZERS["AdamW"])
    schedules = [torch.optim.lr_scheduler.LambdaLR(each, lambda number: 1 / (number + 1)) for each in (optimizer, other)]

    def scheduled(x, y):
        loss = step(x, y)
        schedules[1].step()
        return loss

    compiled = frameloom.compile(scheduled)
    x, y = torch.randn(5, 6, dtype=torch.float64), torch.randint(0, 4, (5,))
    for _ in range(9):
        wanted = plain(x, y)
        schedules[0].step()
        torch.testing.assert_close(compiled(x, y), wanted)
    torch.testing.assert_close(other_model.state_dict(), model.state_dict())
    torch.testing.assert_close(schedules[1].get_last_lr(), schedules[0].get_last_lr())
    assert compiled._report()["captures"] <= 4
    assert not compiled._report()["breaks"]


def scales(x, y, number):
    z = x.clone()
    z.add_(y, alpha=number).mul_(1 - number)
    z.addcdiv_(x, y.exp(), value=-number)
    return x * number, number - y, y / number, number / (y.exp() + 1), x.sub(y, alpha=2 * number), torch.addcmul(x, x, y, value=number), z


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_that_change_are_no_new_versions(dtype):
    compiled = frameloom.compile(scales)
    with torch.no_grad():
        for number in (0.5, 0.25, -3.0, 1e-30, float("inf"), float("nan"), 7.0):
            x, y = torch.randn(3, 4, dtype=dtype), torch.randn(4, dtype=dtype)
            torch.testing.assert_close(compiled(x, y, number), scales(x, y, number), equal_nan=True)
    assert compiled._report()["captures"] <= 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x, number: x.int() * number,
        lambda x, number: x[0, 0] * number,
        lambda x, number: x.bfloat16() * number,
        lambda x, number: torch.full((3,), number),
        lambda x, number: x.clamp(min=number),
        lambda x, number: x**number,
        lambda x, number: torch.nn.functional.dropout(x, number, training=False),
    ],
)
def test_numbers_that_torch_takes_otherwise(function):
    compiled = frameloom.compile(function)
    x = torch.rand(3, 4)
    with torch.no_grad():
        for number in (0.5, 0.25, 0.125, 0.75):
            torch.testing.assert_close(compiled(x, number), function(x, number))


def test_a_second_derivative_where_a_number_changes():
    compiled = frameloom.compile(lambda x, number: (x * x).sum() * number)
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    for number in (0.5, 0.25, 0.125):
        (gradient,) = torch.autograd.grad(compiled(x, number), x)
        torch.testing.assert_close(gradient, x.detach() * 2 * number)
        (gradient,) = torch.autograd.grad(compiled(x, number), x, create_graph=True)
        (second,) = torch.autograd.grad(gradient.square().sum(), x)
        torch.testing.assert_close(second, 8 * x.detach() * number**2)


def test_steps_with_hooks_and_closures():
    plain, model, optimizer = training(OPTIMIZERS["SGD"])
    step, other_model, other = training(OPTIMIZERS["SGD"])
    compiled, seen = frameloom.compile(step), []
    x, y = torch.randn(5, 6, dtype=torch.float64), torch.randint(0, 4, (5,))
    for _ in range(2):
        plain(x, y), compiled(x, y)
    for each, name in ((optimizer, "plain"), (other, "compiled")):
        each.register_step_post_hook(lambda optimizer, args, kwargs, name=name: seen.append(name))
    plain(x, y), compiled(x, y)
    assert seen == ["plain", "compiled"]
    torch.testing.assert_close(other_model.state_dict(), model.state_dict())


def test_a_profiler_is_told_of_steps():
    step, *_ = training(OPTIMIZERS["SGD"])
    compiled = frameloom.compile(step)
    x, y = torch.randn(5, 6, dtype=torch.float64), torch.randint(0, 4, (5,))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        compiled(x, y)
    assert any("Optimizer.step" in event.key for event in profile.key_averages())


def into(a, b, c):
    torch.maximum(a, b, out=c)
    torch.add(a, c, alpha=2, out=c)
    return torch.mul(c, b, out=torch.empty_like(c))


def lists(a, b, c):
    torch._foreach_add_([a, b], [b.clone(), c], alpha=2)
    torch._foreach_mul_([a, c], 3.0)
    return torch._foreach_sqrt([a.abs(), c.abs()])


@pytest.mark.parametrize("function", [into, lists])
def test_operations_into_tensors(function):
    compiled = frameloom.compile(function)
    for _ in range(2):
        plain = [torch.randn(4, 3) for _ in range(3)]
        other = copy.deepcopy(plain)
        torch.testing.assert_close(compiled(*other), function(*plain))
        torch.testing.assert_close(other, plain)
    assert not break_codes(function, *plain)


def test_a_result_of_another_size_is_torchs():
    def function(a, out):
        return torch.exp(a, out=out)

    compiled, out = frameloom.compile(function), torch.empty(2)
    with pytest.warns(UserWarning, match="resized"):
        compiled(torch.ones(3), out)
    torch.testing.assert_close(out, torch.ones(3).exp())


def test_random_training_steps_are_as_eagers():
    for seed in range(60):
        source, found = tensor_programs.compare(seed, "training")
        assert not found, f"{found}\n{source}"


LAYERS = [
    torch.nn.GELU(), torch.nn.GELU("tanh"), torch.nn.SiLU(), torch.nn.Mish(), torch.nn.Hardswish(), torch.nn.Hardsigmoid(), torch.nn.LeakyReLU(), torch.nn.Softplus(),
    torch.nn.ELU(), torch.nn.LogSigmoid(), torch.nn.GLU(), torch.nn.LayerNorm(8), torch.nn.GroupNorm(2, 6), torch.nn.BatchNorm1d(6), torch.nn.Softmax(-1),
    torch.nn.LogSoftmax(-1), torch.nn.Hardtanh(), torch.nn.Threshold(0.1, 0.2), torch.nn.Sigmoid(), torch.nn.Tanh(),
]  # fmt: skip
LOSSES = [F.mse_loss, F.huber_loss, F.smooth_l1_loss, F.soft_margin_loss, lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
          lambda x, y: F.cross_entropy(x, y.argmax(1), label_smoothing=0.1), lambda x, y: F.nll_loss(x.log_softmax(1), y.argmax(1))]  # fmt: skip


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_backward_formulas_are_compiled(layer):
    def function(x):
        layer(x).cos().sum().backward()
        return x.grad

    layer = copy.deepcopy(layer).double()
    plain, other = (torch.linspace(-2, 2, 240, dtype=torch.float64).reshape(5, 6, 8).requires_grad_() for _ in range(2))
    torch.testing.assert_close(frameloom.compile(function)(other), function(plain))
    assert "host_call" not in str(frameloom.explain(function, other))


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_compiled(loss):
    def function(x, y):
        loss(x, y).backward()
        return x.grad

    made = torch.Generator().manual_seed(3)
    x, y = (torch.randn(6, 4, generator=made, dtype=torch.float64) for _ in range(2))
    plain, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    torch.testing.assert_close(frameloom.compile(function)(other, y), function(plain, y))
    assert "host_call" not in str(frameloom.explain(function, other, y))
