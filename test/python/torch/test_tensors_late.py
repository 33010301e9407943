"""Functions whose results have sizes that depend on elements, and distributions, which check elements: whole graphs that give what eager
torch gives, values, gradients, dtypes, strides and errors."""

import pytest
import torch
import torch.nn.functional as F
from torch import distributions as D
from torch.nn.utils import rnn as R
from torch.utils import _pytree

import frameloom

MADE = torch.Generator().manual_seed(3)
X = torch.randn(4, 6, generator=MADE)
INTS = torch.randint(0, 9, (4, 6), generator=MADE)
I = torch.tensor([1, 0, 2, 1])
ROWS = torch.tensor([True, False, True, True])

# Of a float tensor x, which may require a gradient, ints, indices i, a mask m of x and one of its rows, r.
MASKS = {
    "mask": "x[m]",
    "mask of the argument": "x[x > 0.2]",
    "rows": "x[r]",
    "columns": "x[:, m[0]]",
    "rows and a slice": "x[r, 1:3]",
    "rows and a new axis": "x[r, :, None]",
    "mask behind an ellipsis": "x[..., m[1]].sum(0)",
    "rows and indices": "x[r, i[:1]]",
    "mask of two": "x[r][:, m[0]]",
    "mask that is expanded": "x[r[:, None].expand(4, 6)]",
    "nothing": "x[m & ~m].sum() + x",
    "all": "x[m | ~m] * 2",
    "masked_select": "x.masked_select(m)",
    "masked_select, broadcast": "torch.masked_select(x, r[:, None])",
    "masked_select of a number": "x.sum().masked_select(r)",
    "nonzero": "x.nonzero()",
    "nonzero of ints": "(ints // 5).nonzero()",
    "nonzero as a tuple": "m.nonzero(as_tuple=True)",
    "nonzero as a tuple, of floats": "torch.nonzero(x.relu(), as_tuple=True)[0]",
    "argwhere": "torch.argwhere(x.relu())",
    "where": "torch.where(x > 0)",
    "mean of the chosen": "(x[m].sin().mean(), x[~m].sum())",
    "loss of the valid": "F.cross_entropy(x[r], i[r])",
    "assigned": "torch.zeros(4, 6).masked_scatter(m, x[m] * 2)",
}
COUNTS = {
    "unique": "torch.unique(ints)",
    "unique, inverse": "torch.unique(ints, return_inverse=True)",
    "unique, counts": "ints.unique(return_counts=True)",
    "unique, everything": "torch.unique(ints, True, True, True)",
    "unique rows": "torch.unique(ints % 2, dim=0, return_inverse=True, return_counts=True)",
    "unique columns": "torch.unique(ints[:2] % 2, dim=-1, return_counts=True)",
    "unique along an axis in the middle": "torch.unique(ints.view(2, 2, 6) % 2, dim=1, return_inverse=True)",
    "unique bools": "torch.unique(m, return_inverse=True)",
    "unique numbers of a view": "torch.unique(ints.T[::2], return_inverse=True)",
    "unique bytes": "ints.to(torch.uint8).unique(return_counts=True)",
    "unique floats": "x.detach().round().unique(return_counts=True)",
    "unique consecutive": "torch.unique_consecutive(ints.flatten() // 4, return_inverse=True, return_counts=True)",
    "unique consecutive rows": "torch.unique_consecutive(ints // 5, dim=0)",
    "number of labels": "x * len(torch.unique(ints))",
    "bincount": "torch.bincount(ints.flatten())",
    "bincount, a longer one": "ints.flatten().bincount(minlength=20)",
    "bincount, a shorter one": "ints.flatten().bincount(minlength=2)",
    "confusion matrix": "torch.bincount(i * 3 + x[:, :3].argmax(1), minlength=9).reshape(3, 3)",
    "bincount of weights": "torch.bincount(ints.flatten(), x.detach().flatten())",
    "bincount of whole weights": "torch.bincount(i, weights=ints[:, 0])",
    "one_hot": "F.one_hot(i)",
    "one_hot of a matrix": "F.one_hot(ints) * 2",
    "repeat_interleave": "x.repeat_interleave(i, 0)",
    "repeat_interleave of a number": "torch.repeat_interleave(x, 2 + i[:1] * 0)",
    "repeat_interleave along the last axis": "torch.repeat_interleave(x, torch.cat([i, i[:2]]), dim=-1)",
    "repeat_interleave of nothing else": "torch.repeat_interleave(i)",
    "repeat_interleave, size known": "x.repeat_interleave(i, dim=0, output_size=4)",
    "repeat_interleave, flat": "x.repeat_interleave(ints.flatten())",
    "combinations": "torch.combinations(i)",
    "combinations of three": "torch.combinations(x[0], 3)",
    "combinations with replacement": "torch.combinations(i, with_replacement=True)",
}
DISTRIBUTIONS = {
    "Normal": "D.Normal(x, x.exp()).log_prob(x)",
    "Normal, not checked": "D.Normal(x, 1.0, validate_args=False).log_prob(x)",
    "Normal, drawn with a gradient": "D.Normal(x, 1.0).rsample()",
    "Normal, drawn": "D.Normal(x, 1.0).sample((2,))",
    "Normal, entropy and cdf": "(D.Normal(x, 2.0).entropy(), D.Normal(x, 1.0).cdf(x))",
    "Categorical": "D.Categorical(logits=x).log_prob(i)",
    "Categorical, entropy": "D.Categorical(probs=x.softmax(-1)).entropy()",
    "Categorical, drawn": "D.Categorical(logits=x).sample()",
    "Bernoulli": "D.Bernoulli(logits=x).log_prob((x > 0).float())",
    "Beta": "D.Beta(x.exp(), 1.0 + x.exp()).log_prob(x.sigmoid())",
    "Gamma": "D.Gamma(x.exp(), x.exp()).log_prob(x.exp())",
    "kl": "D.kl_divergence(D.Normal(x, 1.0), D.Normal(0.0, 1.0))",
    "kl of Categoricals": "D.kl_divergence(D.Categorical(logits=x), D.Categorical(logits=x * 2))",
    "Independent": "D.Independent(D.Normal(x, x.exp()), 1).log_prob(x)",
    "MultivariateNormal": "D.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(x[:, :2])",
    "MultivariateNormal, drawn": "D.MultivariateNormal(x[0], scale_tril=torch.eye(6)).rsample()",
    "Dirichlet": "D.Dirichlet(x.exp()).log_prob(x.softmax(-1))",
    "Uniform": "D.Uniform(x, x + 3).log_prob(x + 1)",
    "transformed": "D.TransformedDistribution(D.Normal(x, 1.0), [D.TanhTransform()]).rsample()",
    "a mixture": "D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x, x.exp())).log_prob(x[:, 0])",
    "LogNormal": "D.LogNormal(x, 1.0).log_prob(x.exp())",
    "StudentT": "D.StudentT(3.0, x, x.exp()).log_prob(x)",
    "OneHotCategorical": "D.OneHotCategorical(logits=x).log_prob(F.one_hot(i, 6).float())",
    "RelaxedOneHotCategorical": "D.RelaxedOneHotCategorical(torch.tensor(0.5), logits=x).rsample()",
    "policy loss": "-(D.Categorical(logits=x).log_prob(i) * ints[:, 0]).mean() - 0.01 * D.Categorical(logits=x).entropy().mean()",
}
SEQUENCES = {
    "packed": "R.pack_padded_sequence(x[..., None], [6, 5, 3, 3], batch_first=True).data",
    "packed and padded": "R.pad_packed_sequence(R.pack_padded_sequence(x[..., None], [6, 5, 3, 3], batch_first=True), batch_first=True)",
    "padded further": "R.pad_packed_sequence(R.pack_padded_sequence(x[..., None], [4, 3, 3, 3, 1, 1]), padding_value=-1.0, total_length=8)",
    "packed out of order": "R.pad_packed_sequence(R.pack_padded_sequence(x[..., None], [2, 6, 1, 5], batch_first=True, enforce_sorted=False))",
    "a packed list": "R.pad_packed_sequence(R.pack_sequence([x[0], x[1, :3], x[2, :1]]))",
    "taken apart": "tuple(R.unpad_sequence(x, torch.tensor([3, 2, 1, 6]), batch_first=True))",
    "LSTM of packed ones": "R.pad_packed_sequence(LSTM(R.pack_padded_sequence(x[..., None], [6, 5, 3, 3], batch_first=True))[0], batch_first=True)[0]",
    "LSTM, out of order": "R.pad_packed_sequence(LSTM(R.pack_padded_sequence(x[..., None], [2, 6, 1, 5], batch_first=True, enforce_sorted=False))[0])[0]",
    "GRU of packed ones": "GRU(R.pack_padded_sequence(x[..., None], [6, 5, 3, 3], batch_first=True))[1]",
    "LSTM of padded ones": "LSTM(x[..., None])[0]",
    "stft": "torch.stft(x.flatten(), 8, return_complex=True, window=torch.hann_window(8)).abs()",
    "stft of a batch": "torch.stft(x.view(2, 12), 8, hop_length=3, win_length=6, return_complex=True, normalized=True, center=False)",
    "stft, both sides": "torch.stft(x.view(2, 12), 8, onesided=False, return_complex=True, pad_mode='constant')",
    "stft and back": "torch.istft(torch.stft(x.flatten(), 8, return_complex=True, window=torch.hann_window(8)), 8, window=torch.hann_window(8), length=20)",
    "cov": "(torch.cov(x), x[0].cov(), torch.corrcoef(x), x.cov(correction=0))",
    "data": "(x.data + 1, x.data.requires_grad)[0]",
    "seed": "(torch.rand(3), torch.manual_seed(4) and torch.rand(3), x * torch.rand(6))[1:]",
}
ALL = {**MASKS, **COUNTS, **DISTRIBUTIONS, **SEQUENCES}
LSTM, GRU = torch.nn.LSTM(1, 3, 2, batch_first=True, bidirectional=True), torch.nn.GRU(1, 3, batch_first=True)


def function(text):
    space = {"torch": torch, "F": F, "D": D, "R": R, "LSTM": LSTM, "GRU": GRU}
    exec(f"def call(x, ints, i, m, r):\n    return {text}", space)
    return space["call"]


def said(call, x, *rest):
    torch.manual_seed(0)
    made = call(x, *rest)
    made = _pytree.tree_leaves(made)
    facts = [(one.dtype, one.shape, one.stride(), one.requires_grad) for one in made]
    with_gradient = [one.abs().square().sum() for one in made if one.requires_grad]
    gradient = torch.autograd.grad(sum(with_gradient), x, allow_unused=True)[0] if with_gradient and x.requires_grad else None
    return facts, [one.detach() for one in made], gradient


@pytest.mark.parametrize("requires", [False, True], ids=["plain", "gradients"])
@pytest.mark.parametrize("name", ALL)
def test_one_graph(name, requires):
    plain = function(ALL[name])
    compiled = frameloom.compile(plain, fullgraph=True)
    for turn in range(3):  # other sizes of results each time
        x = X.roll(turn).detach().requires_grad_(requires)
        rest = INTS // (turn + 1), I * (turn + 1) % 3, X.roll(turn) > 0.2 + turn * 0.4, ROWS.roll(turn)
        if "size known" in name:
            rest = INTS, I, *rest[2:]
        wanted, got = said(plain, x, *rest), said(compiled, x, *rest)
        assert got[0] == wanted[0]
        torch.testing.assert_close(got[1:], wanted[1:], equal_nan=True, rtol=1e-4, atol=1e-5)
    assert compiled._report()["captures"] <= 2


ERRORS = {
    "lengths that do not descend": "R.pack_padded_sequence(x[..., None], [2, 6, 1, 5], batch_first=True)",
    "a length of nothing": "R.pack_padded_sequence(x[..., None], [6, 5, 3, 0], batch_first=True)",
    "a total length that is short": "R.pad_packed_sequence(R.pack_padded_sequence(x[..., None], [6, 5, 3, 1], batch_first=True), total_length=3)",
    "a window of another size": "torch.stft(x.flatten(), 8, return_complex=True, window=torch.ones(7))",
    "a window of zeros": "torch.istft(torch.stft(x.flatten(), 8, return_complex=True), 8, window=torch.zeros(8))",
    "a negative class": "F.one_hot(i - 1)",
    "a negative number": "torch.bincount(i - 1)",
    "negative repetitions": "x.repeat_interleave(i - 1, 0)",
    "other sizes of repetitions": "x.repeat_interleave(ints[0], 0)",
    "another size than is said": "x.repeat_interleave(i, 0, output_size=7)",
    "a mask of other sizes": "x[m[:, :3]]",
    "a negative scale": "D.Normal(x, -x.exp()).log_prob(x)",
    "no number of probabilities": "D.Categorical(probs=x).entropy()",
    "beyond the support": "D.Beta(x.exp(), x.exp()).log_prob(x.exp() + 1)",
    "NaN": "D.Normal(x * float('nan'), 1.0).log_prob(x)",
    "other sizes of a sample": "D.Normal(x, 1.0).log_prob(x[:, :3])",
    "unique with a gradient": "torch.autograd.grad(torch.unique(x.clone().requires_grad_()).sum(), x)",
    "two dimensions of combinations": "torch.combinations(x)",
    "a dimension that there is not": "torch.unique(ints, dim=2)",
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_eager_torch_refuses(name):
    plain = function(ERRORS[name])
    compiled, found = frameloom.compile(plain), []
    for call in (plain, compiled, compiled):
        with pytest.raises(Exception) as error:  # noqa: PT011
            call(X, INTS, I, X > 0, ROWS)
        found.append((error.type, str(error.value)))
    assert found[1:] == [found[0]] * 2


def test_a_check_that_fails_leaves_no_effects():
    """The call runs again in eager torch, which has the effects once."""
    log = []

    def call(x):
        log.append(len(log))
        return D.Normal(x, x).log_prob(x)

    compiled = frameloom.compile(call, fullgraph=True)
    compiled(torch.ones(3))
    with pytest.raises(ValueError, match="scale"):
        compiled(-torch.ones(3))
    assert log == [0, 1]


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64], ids=str
)
@pytest.mark.parametrize("text", ["torch.unique(x, return_inverse=True, return_counts=True)", "torch.unique_consecutive(x, return_counts=True)", "torch.unique(x, dim=0)", "x[m]",
                                  "x.masked_select(m)", "x.nonzero()", "x.repeat_interleave(i, 0)", "torch.combinations(x[0])", "torch.bincount(x.flatten())", "torch.bincount(ints.flatten(), x.flatten())"])  # fmt: skip
def test_dtypes(text, dtype):
    x, results = INTS.to(dtype), []
    for call in (function(text), frameloom.compile(function(text))):
        try:
            made = call(x, INTS, I, X > 0, ROWS)
            results.append([(one.dtype, one.shape, one.stride(), one) for one in (made if isinstance(made, tuple) else (made,))])
        except Exception as error:  # noqa: BLE001
            results.append(str(error)[:60])
    assert str(results[1]) == str(results[0])


EMPTY = ["torch.unique(x, return_inverse=True)", "x[m]", "x.masked_select(m)", "x.nonzero()", "torch.bincount(x.long().flatten(), minlength=3)", "x.repeat_interleave(i[:0], 0)",
         "torch.combinations(x.flatten())", "torch.unique_consecutive(x)", "F.one_hot(x.long())", "torch.repeat_interleave(i[:0])", "torch.unique(x, dim=0)"]  # fmt: skip


@pytest.mark.parametrize("text", EMPTY)
def test_without_elements(text):
    results = []
    for call in (function(text), frameloom.compile(function(text))):
        x = torch.zeros(0, 6)
        try:
            made = call(x, INTS, I, x > 0, ROWS)
            results.append([(one.dtype, one.shape, one.stride()) for one in (made if isinstance(made, tuple) else (made,))])
        except Exception as error:  # noqa: BLE001
            results.append((type(error), str(error)))
    assert results[1] == results[0]


def test_not_a_number_is_no_other_s_equal():
    x = torch.tensor([1.0, float("nan"), 0.0, float("nan"), -0.0, 1.0])
    for text in ("torch.unique(x, return_counts=True)", "torch.unique_consecutive(x, return_counts=True)"):
        torch.testing.assert_close(frameloom.compile(function(text), fullgraph=True)(x, 0, 0, 0, 0), function(text)(x, 0, 0, 0, 0), equal_nan=True)


def test_inside_of_vmap_it_is_torchs():
    def call(x):
        return torch.vmap(lambda row: row[row > 0].sum())(x)

    found = []
    for one in (call, frameloom.compile(call)):
        with pytest.raises(RuntimeError) as error:
            one(X)
        found.append(str(error.value))
    assert found[1] == found[0]


def test_second_derivatives_of_what_a_mask_chooses():
    plain = function("x[m].pow(3).sum()")
    second = []
    for call in (plain, frameloom.compile(plain, fullgraph=True)):
        x = X.clone().requires_grad_()
        (first,) = torch.autograd.grad(call(x, INTS, I, X > 0, ROWS), x, create_graph=True)
        second.append((first, *torch.autograd.grad(first.square().sum(), x)))
    torch.testing.assert_close(second[1], second[0])


DRAWN = ["torch.normal(x.expand(2, 4, 6), 1.0)", "torch.normal(x.T, x.exp().T)", "torch.bernoulli(x.sigmoid().T)", "torch.rand_like(x.expand(2, 4, 6))", "torch.randn_like(x.T)", "F.dropout(x.T)",
         "F.dropout(x.expand(2, 4, 6))", "torch.empty(6, 4).T.bernoulli_(0.3)", "torch.empty(4, 6)[:, ::2].bernoulli_(0.3)", "x.T.clone().uniform_()", "x.T.clone().normal_()", "F.alpha_dropout(x.T, training=True)",
         "torch.poisson(x.exp().T)", "torch.multinomial(x.exp().T, 2)", "x.view(2, 2, 6).permute(2, 0, 1).clone().bernoulli_(0.5)", "torch.bernoulli(x.sigmoid()[:, ::2])", "x.T.clone().geometric_(0.4)"]  # fmt: skip


@pytest.mark.parametrize("text", DRAWN)
def test_numbers_are_drawn_in_the_order_of_memory_and_none_by_capture(text):
    """Of tensors that do not lie in the order of their axes. What capture tries out draws no numbers of the function's."""
    plain, results = function(text), []
    compiled = frameloom.compile(plain)
    for call in (plain, compiled, compiled):
        torch.manual_seed(1)
        made = call(X, INTS, I, X > 0, ROWS)
        results.append((made.stride(), made, torch.rand(3)))
    assert str(results[1:]) == str([results[0]] * 2)


def test_data_of_a_parameter_is_written():
    """As optimizers by hand do."""
    weights = []
    for compiles in (False, True):
        w = torch.nn.Parameter(torch.ones(6))

        def step(x):
            loss = (x @ w).square().sum()  # noqa: B023
            (gradient,) = torch.autograd.grad(loss, w)  # noqa: B023
            w.data.add_(gradient, alpha=-0.01)  # noqa: B023
            w.data *= 0.9  # noqa: B023
            return loss.detach()

        call = frameloom.compile(step, fullgraph=True) if compiles else step
        weights.append(([call(X) for _ in range(3)], w.detach().clone(), w.requires_grad))
    torch.testing.assert_close(weights[1], weights[0])


def test_data_that_is_written_behind_a_saved_value():
    """The gradient is computed from what is there then."""

    def call(x):
        y = x * 2
        z = y * y
        y.data.mul_(3)
        return z

    gradients = []
    for one in (call, frameloom.compile(call)):
        x = X.clone().requires_grad_()
        one(x).sum().backward()
        gradients.append(x.grad)
    assert torch.equal(*gradients)


def test_seeds_are_set_in_the_order_of_the_code():
    def call(x, seed):
        first = torch.rand(3)
        torch.manual_seed(seed)
        second = F.dropout(x)
        torch.manual_seed(seed + 1)
        return first, second, torch.randn(2)

    compiled = frameloom.compile(call, fullgraph=True)
    for seed in (3, 3, 4):
        told = []
        for one in (call, compiled):
            torch.manual_seed(0)
            told.append((one(X, seed), torch.rand(2), torch.initial_seed()))
        torch.testing.assert_close(told[1], told[0])


def test_a_size_of_elements_behind_a_backward_inside():
    def f(b, c):
        c.square().sum().backward()
        return b * 2, c.masked_select(c > 0).exp().sum()

    compiled = frameloom.compile(f)
    for _ in range(2):
        made = []
        for call in (f, compiled):
            b, c = torch.ones(2, requires_grad=True), torch.tensor([1.0, -1.0, 2.0], requires_grad=True)
            first, second = call(b, c)
            made.append((c.grad.clone(), *torch.autograd.grad(first.sum() + second, (b, c))))
        torch.testing.assert_close(made[1], made[0])
