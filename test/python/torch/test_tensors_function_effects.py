"""Classes of torch.autograd.Function with side effects: what happens, when, and in which order is as in eager torch."""

import function_programs
import pytest
import torch
from reports import break_codes
from torch.autograd import Function

import frameloom


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_random_classes(first):
    found = [one for one in map(function_programs.differences, range(first, first + 50)) if one]
    assert not found, found[0]


def test_some_of_the_random_classes_are_captured_whole():
    whole = 0
    for seed in range(40):
        program = function_programs.Program(seed)
        _, report = function_programs.history(program.source, "sum", True)
        whole += not report["breaks"]
    assert whole >= 8


class Box:
    def __init__(self):
        self.n, self.items = 0, []


class Base(Function):
    """Multiplies the gradient by what number() gives of what was kept."""

    @staticmethod
    def forward(ctx, x, kept):
        ctx.kept = kept
        return x * 2

    @classmethod
    def backward(cls, ctx, gradient):
        return gradient * cls.number(ctx), None


class Appends(Base):
    @staticmethod
    def number(ctx):
        ctx.kept.append(len(ctx.kept))
        return len(ctx.kept)


class Counts(Base):
    @staticmethod
    def number(ctx):
        ctx.count = getattr(ctx, "count", 0) + 1
        return ctx.count


class Removes(Base):
    @staticmethod
    def number(ctx):
        number = len(ctx.kept)
        del ctx.kept
        return number


class Advances(Base):
    @staticmethod
    def forward(ctx, x, kept):
        ctx.steps = iter((5, 6, 7))
        return x * 2

    @staticmethod
    def number(ctx):
        return next(ctx.steps)


class Generates(Base):
    @staticmethod
    def forward(ctx, x, kept):
        ctx.steps = (k * k for k in range(3, 9))
        return x * 2

    @staticmethod
    def number(ctx):
        return next(ctx.steps)


class Hits(Base):
    @staticmethod
    def forward(ctx, x, kept):
        ctx.box = Box()
        return x * 2

    @staticmethod
    def number(ctx):
        ctx.box.n += 1
        ctx.box.items.append(1)
        return ctx.box.n + len(ctx.box.items)


class Closes(Base):
    @staticmethod
    def forward(ctx, x, kept):
        count = 0

        def add():
            nonlocal count
            count += 1
            return count

        ctx.add = add
        return x * 2

    @staticmethod
    def number(ctx):
        return ctx.add()


class Writes(Base):
    @staticmethod
    def forward(ctx, x, kept):
        ctx.array = x.detach().clone().numpy()
        return x * 2

    @staticmethod
    def number(ctx):
        ctx.array[0] += 1
        return 2


class Reads(Base):
    @staticmethod
    def number(ctx):
        return len(ctx.kept) + sum(ctx.kept)


@pytest.mark.parametrize("cls", [Appends, Counts, Removes, Advances, Generates, Hits, Closes, Writes], ids=lambda one: one.__name__)
def test_a_backward_that_changes_what_it_has_not_made(cls):
    def function(x):
        kept = [1, 2]
        return cls.apply(x, kept), kept

    def told(call):
        found = []
        x = torch.ones(3, requires_grad=True)
        for _ in range(2):
            y, kept = call(x)
            found.append(list(kept))
            for _ in range(2):
                try:
                    found.append(torch.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist())
                except AttributeError as error:
                    found.append(str(error).split()[-1])
                found.append(list(kept))
        return found

    assert told(frameloom.compile(function)) == told(function)
    assert set(break_codes(function, torch.ones(3, requires_grad=True))) & {"FL0004", "FL0030"}


@pytest.mark.parametrize(
    "change", ["kept.append(9)", "kept[0] = 9", "kept.clear()", "kept.sort(reverse=True); kept.pop()", "kept *= 2", "del kept[0]"]
)
def test_what_backward_has_read_changes_behind_the_call(change):
    space = {"Reads": Reads}
    exec(f"def function(x):\n    kept = [1, 2]\n    y = Reads.apply(x, kept)\n    {change}\n    return y", space)
    gradients = []
    for call in (space["function"], frameloom.compile(space["function"])):
        x = torch.ones(3, requires_grad=True)
        call(x).sum().backward()
        gradients.append(x.grad)
    torch.testing.assert_close(gradients[1], gradients[0])


def test_what_it_has_not_read_may_change():
    """A list that grows around the call is no reason to leave it to torch."""

    def function(x):
        made, box = [], Box()
        for k in range(3):
            made.append(Reads.apply(x * k, (k, 2)))
            box.n += 1
        return sum(made) * box.n

    x = torch.ones(3, requires_grad=True)
    compiled = frameloom.compile(function, fullgraph=True)
    torch.testing.assert_close(torch.autograd.grad(compiled(x).sum(), x), torch.autograd.grad(function(x).sum(), x))


class Chooses(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x.sin()

    @staticmethod
    def backward(ctx, first, second):
        if first is None:
            return second * 10
        return first * 3 if second is None else (first + second) * 7


@pytest.mark.parametrize("take", [(0,), (1,), (0, 1)], ids=str)
def test_gradients_that_are_none(take):
    """The function gives both results; which of them has a gradient is known later."""
    gradients = []
    for call in (Chooses.apply, frameloom.compile(lambda x: Chooses.apply(x))):
        x = torch.ones(3, requires_grad=True)
        made = call(x)
        sum(made[i].sum() for i in take).backward()
        gradients.append(x.grad)
    torch.testing.assert_close(gradients[1], gradients[0])


SHARED = {}


class Sets(Function):
    """What its setup_context() changes, each test says."""

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        SHARED["change"](SHARED["made"])

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3



MADE = {
    "list": (list, lambda made: made.append(len(made))),
    "dict": (dict, lambda made: made.__setitem__(len(made), 1)),
    "set": (set, lambda made: made.add(len(made))),
    "attribute": (Box, lambda made: setattr(made, "n", made.n + 1)),
    "list of an object": (Box, lambda made: made.items.append(1)),
    "iterator": (lambda: iter([1, 2, 3, 4]), lambda made: next(made)),
    "generator": (lambda: (k for k in range(5)), lambda made: next(made)),
    "array": (lambda: torch.zeros(2).numpy(), lambda made: made.__iadd__(1)),
}


@pytest.mark.parametrize("kind", MADE)
def test_a_setup_context_that_changes_what_the_call_has_made(kind):
    """torch.func calls it once for each level, so that the change happens as often."""
    make, change = MADE[kind]

    def function(x):
        made = make()
        SHARED["made"] = made
        gradient = torch.func.grad(lambda x: Sets.apply(x).sum())(x)
        return gradient, made

    def content(made):
        return made.__dict__ if isinstance(made, Box) else list(made)

    SHARED["change"] = change
    x = torch.ones(3)
    wanted = [(gradient.tolist(), content(made)) for gradient, made in (function(x), function(x))]
    compiled = frameloom.compile(function)
    assert [(gradient.tolist(), content(made)) for gradient, made in (compiled(x), compiled(x))] == wanted


class Gathers(Sets):
    @staticmethod
    def setup_context(ctx, inputs, output):
        sizes = []
        for one in inputs:
            sizes.append(one.shape[0])
        ctx.sizes = sizes

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.sizes[0]


def test_a_setup_context_that_changes_only_what_it_has_made():
    def function(x):
        return torch.func.grad(lambda x: Gathers.apply(x).sum())(x)

    x = torch.ones(3)
    assert frameloom.compile(function, fullgraph=True)(x).tolist() == function(x).tolist() == [3, 3, 3]


@pytest.mark.parametrize("draw", [lambda made: torch.rand(2), lambda made: torch.nn.functional.dropout(torch.ones(3), 0.5), lambda made: torch.manual_seed(3)])
def test_a_setup_context_that_draws_random_numbers(draw):
    def function(x):
        SHARED["made"] = []
        return torch.func.grad(lambda x: Sets.apply(x).sum())(x), torch.rand(2)

    SHARED["change"] = draw
    found = []
    for call in (function, frameloom.compile(function)):
        torch.manual_seed(1)
        found.append([[one.tolist() for one in call(torch.ones(3))] for _ in range(2)])
    assert found[1] == found[0]
