"""Some of the zoo's hand-written models (test/zoo; all of them: `make test-zoo`), and that its comparison sees what is wrong."""


import classics
import pytest
import steps
from torch_help import (
    fresh,  # noqa: F401
    ft,
    torch,
)

SHORT = ("recommender", "mixture_of_experts", "normalising_flow")


@pytest.fixture(autouse=True)
def settings():
    """The zoo runs as users do, but for recurrent nets."""
    ft.config.strict, torch._dynamo.config.allow_rnn = False, True
    yield
    ft.config.strict, torch._dynamo.config.allow_rnn = True, False


def model(name):
    torch.manual_seed(0)
    return steps.Model(*classics.CLASSICS[name]())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHORT)
def test_classics(name):
    made = model(name)
    for step in ("forward", "training"):
        outcome, detail, facts = steps.check(step, made, name)
        assert outcome == steps.SAME, detail
        assert facts["graphs"] and not facts["eager"] and not facts["warnings"]


@pytest.mark.filterwarnings("ignore")
def test_sizes_as_symbols():
    outcome, detail, facts = steps.check("sizes", model("vae"), "vae")
    assert (outcome, detail) == (steps.SAME, "") and facts["graphs"] == 2  # no others for the larger batch


@pytest.mark.filterwarnings("ignore")
def test_steps_of_an_optimizer():
    outcome, detail, facts = steps.check("optimizer", model("word_vectors"), "word_vectors")
    assert (outcome, detail) == (steps.SAME, "") and facts["graphs"] == 3  # forward, backward, the step


class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.norm = torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6)

    def forward(self, x):
        return self.norm(torch.tanh(self.line(x))), x.argmax(-1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("step, gap", [("forward", 1e-7), ("training", 1e-7), ("forward", 1e-2), ("training", 1e-2)])
def test_what_is_wrong_is_seen(step, gap, monkeypatch):
    """A backend whose results are a little off, in one element of the first of floats."""
    compile_graph = ft._compile_graph

    class Off:
        def __init__(self, graph):
            self.graph, self._boxed_call = graph, True

        def __call__(self, inputs):
            results = list(self.graph(inputs))
            place = next(i for i, t in enumerate(results) if t.is_floating_point())
            results[place] = results[place].clone()
            results[place].view(-1)[:1] += gap
            return tuple(results)

        def __getattr__(self, name):
            return getattr(self.graph, name)

    monkeypatch.setattr(ft, "_compile_graph", lambda *arguments: Off(compile_graph(*arguments)))
    torch.manual_seed(0)
    told = []
    outcome, detail, _ = steps.check(step, steps.Model(Plain(), {"x": torch.randn(5, 6)}), "plain", tell=lambda *row: told.append(row[0]))
    assert outcome == (steps.WRONG if gap > 1e-3 else steps.SAME), detail
    assert outcome == steps.SAME or "interpreter" in detail
    assert told == [steps.WRONG] * (outcome == steps.WRONG), "before other backends are asked"


class Normalised(torch.nn.Module):
    """The mean that the second norm sees is zero but for rounding."""

    def __init__(self):
        super().__init__()
        self.first, self.line, self.second = torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 6, bias=False), torch.nn.BatchNorm1d(6)

    def forward(self, x):
        return self.second(self.line(self.first(x)))


@pytest.mark.parametrize("buffer, gap, right", [
    ("second.running_mean", 8e-8, True), ("second.running_mean", 1e-3, False), ("first.running_mean", 1e-3, False)])
def test_a_mean_that_is_nothing_but_rounding(buffer, gap, right):
    torch.manual_seed(0)
    made, name = steps.Model(Normalised(), {"x": torch.randn(64, 6) + 1}), "buffer " + buffer
    want = steps.training(made, made.module)
    got = want | {name: want[name] + gap}
    suspected = steps.suspects(got, want)
    assert suspected.keys() == {name}
    assert steps.unexplained("training", made, "normalised", got, want, suspected).keys() == ({name} - {name if right else ""})


@pytest.mark.parametrize("torch_too", [False, True])
def test_what_raises(torch_too, monkeypatch):
    """Of the backend alone, or of torch's own as well."""
    run = steps.compiled_run

    def raises(step, model, name, backend, keep=None):
        if backend == "aot_eager" and not torch_too:
            return run(step, model, name, backend)
        raise ZeroDivisionError("of the test")

    monkeypatch.setattr(steps, "compiled_run", raises)
    torch.manual_seed(0)
    outcome, detail, _ = steps.check("forward", steps.Model(Plain(), {"x": torch.randn(5, 6)}), "plain")
    assert outcome == (steps.CANNOT if torch_too else steps.RAISED) and "ZeroDivisionError: of the test" in detail
