"""torch.autograd.Function inside of compiled functions: results, gradients of the first two orders, shared memory, what breaks."""

import types

import pytest
import torch
from reports import break_codes
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils import _pytree

import frameloom

MADE = torch.Generator().manual_seed(0)
ROWS, W, B = torch.randn(4, 3, generator=MADE), torch.randn(2, 3, generator=MADE), torch.randn(2, generator=MADE)
LAYER = torch.nn.Linear(3, 3)
LOG = []


class Square(Function):
    """Its derivative is not that of its forward, as those of most classes here: so a test sees which one was taken."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * gradient * x


class Reverse(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -ctx.alpha * gradient, None


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient.neg()


class Rounded(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Clipped(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gradient = gradient.clone()
        gradient[x < 0] = 0
        return gradient


class OfResult(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        (y,) = ctx.saved_tensors
        return gradient * y * 2


class OfTwo(Function):
    @staticmethod
    def forward(ctx, x, y, scale=2):
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return x * y * scale, x + y

    @staticmethod
    def backward(ctx, of_product, of_sum):
        x, y = ctx.saved_tensors
        for_x = for_y = None
        if ctx.needs_input_grad[0]:
            for_x = of_product * y * ctx.scale + of_sum * 5
        if ctx.needs_input_grad[1]:
            for_y = of_product * x * ctx.scale + of_sum
        return for_x, for_y, None


class Power(Function):
    @staticmethod
    def forward(x, power=3):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, power = inputs
        ctx.save_for_backward(x, output)
        ctx.power = power

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * ctx.power * x ** (ctx.power - 1) + gradient * y * 0.5, None


class Sorted(Function):
    @staticmethod
    def forward(ctx, x):
        ordered, places = x.sort()
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        return ordered, places

    @staticmethod
    def backward(ctx, gradient, _):
        (places,) = ctx.saved_tensors
        return torch.zeros_like(gradient).scatter(0, places, gradient) * 2


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x.cos() * 4


class Again(Function):
    """Computes its forward once more."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin().exp()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            return torch.autograd.grad(y.sin().exp(), y, gradient)[0]


class Linear(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight, bias)
        y = x.mm(weight.t())
        if bias is not None:
            y += bias.unsqueeze(0).expand_as(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, weight, bias = ctx.saved_tensors
        for_x = for_weight = for_bias = None
        if ctx.needs_input_grad[0]:
            for_x = gradient.mm(weight)
        if ctx.needs_input_grad[1]:
            for_weight = gradient.t().mm(x)
        if bias is not None and ctx.needs_input_grad[2]:
            for_bias = gradient.sum(0)
        return for_x, for_weight, for_bias


class Nested(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Square.apply(x) + 1

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return Square.apply(x) * gradient * 7


class Apart(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        found = 0
        if first is not None:
            found = found + first * 10
        if second is not None:
            found = found + second * 100
        return found


class Part(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.reshape(-1)[1:]

    @staticmethod
    def backward(ctx, gradient):
        whole = gradient.new_zeros(ctx.shape)
        whole[1:] = gradient * 2
        return whole


class Contiguous(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient.contiguous().view(-1) * 2


class Constants(Function):
    @staticmethod
    def forward(ctx, x):
        return x + torch.tensor([1.0, 2.0, 3.0])

    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.tensor([1.0, 2.0, 3.0])


class Pulled(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def vjp(ctx, gradient):
        return gradient * 9


class WithNone(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, None

    @staticmethod
    def backward(ctx, gradient, none):
        return gradient * 11 if none is None else gradient


class Attributes(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x, ctx.count = x, x.shape[0]
        LOG.append("forward")
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.x * ctx.count


class Tripled(Function):
    @staticmethod
    def forward(x, factor):
        return x * 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1] * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor + gradient * torch.tensor([1.0, 2.0, 3.0]), None


class CallsAnother(Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return Tripled.apply(gradient, x.detach())


class Scaling(Function):
    """Keeps a number of what it is given."""

    @staticmethod
    def forward(ctx, x):
        ctx.scale = x.abs().max().item()
        return x * ctx.scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.scale


class OfSizes(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        ctx.save_for_backward(x)
        return x.reshape(2, -1).sum(0)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return (gradient.unsqueeze(0).expand(2, ctx.shape[0] // 2) * x.view(2, -1) * ctx.shape[0]).reshape(ctx.shape)


class ForTuple(Function):
    @staticmethod
    def forward(ctx, parts, y):
        ctx.count = len(parts)
        return parts[0] * parts[1] + y

    @staticmethod
    def backward(ctx, gradient):
        return None, gradient * ctx.count


class ForMany(Function):
    @staticmethod
    def forward(ctx, *parts):
        ctx.save_for_backward(*parts)
        return torch.stack(parts).sum(0)

    @staticmethod
    def backward(ctx, gradient):
        return tuple(gradient * part for part in ctx.saved_tensors)


class OfTheClass(Function):
    @classmethod
    def forward(cls, ctx, x):
        ctx.factor = 3
        return x * 2, x > 0

    @classmethod
    def backward(cls, ctx, gradient, _):
        return gradient * ctx.factor


class Derived(Square):
    @staticmethod
    def backward(ctx, gradient):
        return Square.backward(ctx, gradient) * 2


square = Square.apply


def cubes(x):
    """A gradient of a gradient of calls that call others."""
    inner = lambda y: CallsAnother.apply(y.sin()).pow(3).sum()  # noqa: E731
    return torch.func.grad(lambda y: torch.func.grad(inner)(y).sum())(x)


def first_and_second(x):
    return torch.autograd.grad(OfResult.apply(x).sum(), x, create_graph=True)[0] if x.requires_grad else x


CALLS = {
    "saved argument": lambda x: Square.apply(x),
    "in an expression": lambda x: (Square.apply(x) * x).sum(),
    "twice": lambda x: Square.apply(Square.apply(x)) + Square.apply(x),
    "reversed gradient": lambda x: Reverse.apply(x * 2, 0.3) * x,
    "a view of an argument": lambda x: Reverse.apply(x, 0.3),
    "a view of a value": lambda x: Reverse.apply(x.sin(), 0.3),
    "a view of a view": lambda x: Reverse.apply(x, 0.3)[1:],
    "an argument itself": lambda x: Same.apply(x),
    "a value itself": lambda x: Same.apply(x * 2) * x,
    "a part of an argument": lambda x: Part.apply(x),
    "straight through": lambda x: Rounded.apply(x * 3) * x,
    "a mask": lambda x: Clipped.apply(x * 2),
    "saved result": lambda x: OfResult.apply(x) * x,
    "two results": lambda x: OfTwo.apply(x, x.sin()),
    "number as an argument": lambda x: OfTwo.apply(x, W.flatten()[:3], 5),
    "one result of two": lambda x: OfTwo.apply(x.detach(), x)[0],
    "setup_context()": lambda x: Power.apply(x),
    "setup_context(), a number": lambda x: Power.apply(x, 2),
    "setup_context(), a keyword": lambda x: Power.apply(x, power=4),
    "indices as a result": lambda x: Sorted.apply(x),
    "once differentiable": lambda x: Once.apply(x) * x,
    "forward once more": lambda x: Again.apply(x),
    "linear with a bias": lambda x: Linear.apply(ROWS * x, W, B * x[:2]),
    "linear without one": lambda x: Linear.apply(ROWS * x, W),
    "nested": lambda x: Nested.apply(x),
    "expanded gradient": lambda x: Contiguous.apply(x).sum(),
    "constants": lambda x: Constants.apply(x),
    "vjp()": lambda x: Pulled.apply(x),
    "None as a result": lambda x: WithNone.apply(x)[0],
    "attributes and a side effect": lambda x: (Attributes.apply(x * 2), len(LOG)),
    "no gradients": lambda x: torch.no_grad()(lambda: Square.apply(x))(),
    "autograd.grad()": lambda x: torch.autograd.grad(Square.apply(x).sum(), x)[0] if x.requires_grad else x,
    "autograd.grad() of a graph": first_and_second,
    "torch.func.grad()": lambda x: torch.func.grad(lambda y: Power.apply(y).sum())(x),
    "a tuple as an argument": lambda x: ForTuple.apply((x, x), x),
    "a number of elements": lambda x: Scaling.apply(x.detach() + 1) * x + Scaling.apply(x),
    "any number of arguments": lambda x: ForMany.apply(x, x * 2, x * 3),
    "methods of the class": lambda x: OfTheClass.apply(x),
    "a derived class": lambda x: Derived.apply(x),
    "apply() as a function": lambda x: sum(map(square, [x, x * 2])),
    "a call in backward()": lambda x: CallsAnother.apply(x.sin()),
    "a call in backward(), differentiated": cubes,
    "a checkpoint": lambda x: torch.utils.checkpoint.checkpoint(Square.apply, x, use_reentrant=False) * x,
    "a loop": lambda x: sum(Square.apply(x * k) for k in range(3)),
}


def _gradients(results, x):
    results = [one for one in results if one.requires_grad]
    if not results:
        return []
    total = sum(one.square().sum() for one in results)
    (first,) = torch.autograd.grad(total, x, retain_graph=True)
    (again,) = torch.autograd.grad(total, x, create_graph=True)
    second = torch.autograd.grad(again.square().sum(), x)[0] if again.requires_grad else torch.zeros(0)
    return [first, again, second]


@pytest.mark.parametrize("requires", [False, True], ids=["plain", "gradients"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_captured(name, requires):
    x = torch.tensor([0.6, -0.2, 1.3]).requires_grad_(requires)
    told = []
    for call in (CALLS[name], frameloom.compile(CALLS[name], fullgraph=True)):
        LOG.clear()
        made = call(x)
        tensors = [one for one in _pytree.tree_leaves(made) if isinstance(one, torch.Tensor)]
        facts = [(one.requires_grad, one.data_ptr() == x.data_ptr(), one.shape, one.stride()) for one in tensors]
        told.append((facts, made, _gradients(tensors, x) if requires else []))
    assert told[1][0] == told[0][0]
    torch.testing.assert_close(told[1][1:], told[0][1:])


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode], ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", ["saved argument", "a view of an argument", "an argument itself", "a part of an argument", "two results"])
def test_where_nothing_is_recorded(name, mode):
    facts = []
    for call in (CALLS[name], frameloom.compile(CALLS[name], fullgraph=True)):
        x = torch.ones(3, requires_grad=True)
        with mode():
            made = [one for one in _pytree.tree_leaves(call(x)) if isinstance(one, torch.Tensor)]
        facts.append([(one.round(decimals=3).tolist(), one.requires_grad, one.is_inference(), one.data_ptr() == x.data_ptr()) for one in made])
    assert facts[1] == facts[0]


def test_a_training_step():
    results = []
    for compiles in (False, True):
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 3)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()  # noqa: B023
            loss = Square.apply(Reverse.apply(layer(x), 0.5)).sum()  # noqa: B023
            loss.backward()
            optimizer.step()  # noqa: B023
            return loss.detach()

        call = frameloom.compile(step, fullgraph=True) if compiles else step
        results.append(([call(ROWS) for _ in range(4)], layer.state_dict()))
    torch.testing.assert_close(results[1], results[0])


SCALE = 2.0


class Scaled(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * SCALE


def test_what_backward_reads_is_guarded(monkeypatch):
    compiled = frameloom.compile(lambda x: Scaled.apply(x), fullgraph=True)
    for number in (2.0, 3.0, 4.5):
        monkeypatch.setitem(globals(), "SCALE", number)
        x = torch.ones(3, requires_grad=True)
        compiled(x).sum().backward()
        torch.testing.assert_close(x.grad, torch.full((3,), number))


KNOBS, LEVELS, WEIGHT, LAYER = types.SimpleNamespace(k=3.0), [1.0, 2.0], torch.tensor(2.0), torch.nn.Linear(2, 2)
TABLE = {"a": 1.0}


def _multiplies(number):
    """A function whose gradient is multiplied by what `number` gives when it is computed."""

    class Multiplied(Function):
        @staticmethod
        def forward(ctx, x, by):
            ctx.by = by
            ctx.save_for_backward(x)
            return x * x * by

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * 2 * x * ctx.by * number(), None

    return Multiplied


def _counting():
    count = 1.0

    def add():
        nonlocal count
        count += 1

    return lambda: count, add


COUNT, ADD = _counting()
# What backward() reads, and what changes it.
LATER = {
    "global": (lambda: SCALE, "global SCALE; SCALE += 1"),
    "attribute": (lambda: KNOBS.k, "KNOBS.k += 1"),
    "no attribute": (lambda: 2 if hasattr(KNOBS, "late") else 1, "vars(KNOBS).pop('late') if hasattr(KNOBS, 'late') else setattr(KNOBS, 'late', 1)"),
    "item of a list": (lambda: LEVELS[0], "LEVELS[0] += 1"),
    "length of a list": (lambda: len(LEVELS), "LEVELS.append(1.0)"),
    "list in a loop": (lambda: sum([one * 2 for one in LEVELS]), "LEVELS[-1] += 1"),
    "item of a dict": (lambda: TABLE["a"], "TABLE['a'] += 1"),
    "variable of a closure": (COUNT, "ADD()"),
    "tensor": (lambda: WEIGHT, "WEIGHT.add_(1)"),
    "mode of a module": (lambda: 2 if LAYER.training else 3, "LAYER.train(not LAYER.training)"),
    "parameter": (lambda: LAYER.weight.detach().sum(), "LAYER.weight.data.add_(1)"),
    "function": (lambda: _level(), "global _level; _level = lambda by=_level() + 1: by"),
}


def _level():
    return 5.0


@pytest.mark.parametrize("create_graph", [False, True], ids=["once", "again"])
@pytest.mark.parametrize("name", LATER)
def test_what_backward_reads_changes_between_the_call_and_the_backward(name, create_graph):
    number, change = LATER[name]
    function = _multiplies(number)

    def call(x, by):
        KNOBS.calls = getattr(KNOBS, "calls", 0) + 1  # an effect of the function's own
        return function.apply(x, by).sum()

    compiled, change = frameloom.compile(call, fullgraph=True), compile(change, "<change>", "exec")
    for by in (2, 2, 3, 4):
        x = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
        values = [one(x, by) for one in (compiled, compiled, call)]
        before = [torch.autograd.grad(one, x, create_graph=create_graph, retain_graph=True)[0] for one in values[1:]]
        torch.testing.assert_close(*before)
        exec(change, globals())
        given = [torch.autograd.grad(one, x, create_graph=create_graph)[0] for one in values]
        torch.testing.assert_close(given[0], given[2])
        torch.testing.assert_close(given[1], given[2])
        assert not torch.equal(given[2], before[1])
        if create_graph:
            torch.testing.assert_close(*(torch.autograd.grad(one.sum(), x)[0] for one in given[1:]))


def test_an_object_of_ctx_and_a_change_behind_the_call():
    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.box = types.SimpleNamespace(by=2)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.box.by * KNOBS.k

    compiled = frameloom.compile(lambda x: Keeps.apply(x), fullgraph=True)
    x = torch.ones(3, requires_grad=True)
    for change in (0, 1):
        y = compiled(x).sum()
        KNOBS.k += change
        if change:
            with pytest.raises(RuntimeError, match="reads something that has changed since the call"):
                y.backward()
        else:
            y.backward()
            torch.testing.assert_close(x.grad, torch.full((3,), 2.0 * KNOBS.k))


def test_a_list_that_backward_reads_is_a_result():
    def call(x):
        kept = [1, 2]
        return Counted.apply(x, kept), kept

    gradients = []
    for one in (call, frameloom.compile(call)):
        x = torch.ones(3, requires_grad=True)
        y, kept = one(x)
        kept.append(5)
        gradients += torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradients[1], gradients[0])


class Counted(Function):
    @staticmethod
    def forward(ctx, x, kept):
        ctx.kept = kept
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * sum(ctx.kept), None


def test_sizes_that_change():
    compiled = frameloom.compile(lambda x: OfSizes.apply(x * 2), fullgraph=True)
    for count in (4, 6, 8, 10, 2):
        results = []
        for call in (compiled, lambda x: OfSizes.apply(x * 2)):
            x = torch.linspace(0.5, 1.5, count).requires_grad_()
            value = call(x)
            results.append((value, *_gradients([value], x)))
        torch.testing.assert_close(*results)
    assert compiled._report()["captures"] <= 3


def test_a_saved_argument_that_changes():
    def function(x):
        y = x * 2
        z = Square.apply(y)
        y.add_(1)
        return z

    def told(call):
        x = torch.ones(3, requires_grad=True)
        try:
            call(x).sum().backward()
        except RuntimeError as error:
            return "modified by an inplace operation" in str(error)
        return x.grad

    assert told(function) is True
    assert told(frameloom.compile(function)) is True


def test_results_that_share_memory_break():
    def function(x):
        y = x * 2
        return y, Reverse.apply(y, 0.5)

    results = []
    for call in (function, frameloom.compile(function)):
        x = torch.ones(3, requires_grad=True)
        first, second = call(x)
        (first.sum() + 3 * second.sum()).backward()
        results.append((first.data_ptr() == second.data_ptr(), x.grad))
    assert results[1][0] and results[0][0]
    torch.testing.assert_close(results[1], results[0])


# ---- what breaks ----


class Dirty(Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Drawing(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.rand(3)


class Raising(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        raise KeyError("no gradient")


class Logging(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        LOG.append("backward")
        return gradient * 3


class Counting(Function):
    count = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        Counting.count += 1
        return gradient * 3 * Counting.count


class TooMany(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient, gradient


class Deciding(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2 if ctx.saved_tensors[0].sum() > 0 else gradient * 3


class Numbering(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * gradient.sum().item()


class Bare(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


@pytest.mark.parametrize("one", [Dirty, Drawing, Raising, Logging, Counting, TooMany, Deciding, Numbering, Bare, Apart], ids=lambda one: one.__name__)
def test_what_breaks_is_torchs(one):
    def function(x):
        made = one.apply(x * 2)
        return (made[0] if isinstance(made, tuple) else made) * x

    def told(call):
        torch.manual_seed(0)
        LOG.clear()
        Counting.count = 0
        x = torch.ones(3, requires_grad=True)
        y = call(x)
        before = len(LOG), Counting.count
        try:
            (gradient,) = torch.autograd.grad(y.sum(), x)
        except Exception as error:  # noqa: BLE001
            gradient = type(error).__name__, str(error)
        return y.detach(), before, gradient, len(LOG), Counting.count

    assert str(told(frameloom.compile(function))) == str(told(function))
    assert break_codes(function, torch.ones(3, requires_grad=True))


def test_inside_of_torch_func_it_needs_a_setup_context():
    def function(x):
        return torch.func.grad(lambda y: Square.apply(y).sum())(x)

    for call in (function, frameloom.compile(function)):
        with pytest.raises(RuntimeError, match="setup_context"):
            call(ROWS)


def test_under_vmap_it_breaks():
    def function(x):
        return torch.vmap(lambda row: Power.apply(row))(x)

    def told(call):
        try:
            return call(ROWS)
        except RuntimeError as error:
            return str(error)

    assert "vmap" in told(function)
    assert told(frameloom.compile(function)) == told(function)


def test_what_nothing_reads_is_not_computed():
    """The operations of backward() in the function's own graph, and values that nobody uses."""
    x = torch.ones(3, requires_grad=True)
    assert "loom.cos" not in str(frameloom.explain(lambda x: Once.apply(x), x))
    assert "loom.exp" not in str(frameloom.explain(lambda x: (x.exp(), x.sin())[1], x.detach()))
