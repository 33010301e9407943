"""Sizes of tensors that change from call to call: symbols of one version, compared with eager torch at every size."""

import copy
import random

import pytest
import tensor_sizes
import torch

import frameloom
from frameloom import _tensor_calls

BATCHES = (4, 7, 2, 9, 16, 3, 33, 5, 8, 64, 6, 11, 20, 31, 12, 100, 13, 10, 17, 50)
F = torch.nn.functional


def versions(compiled):
    return len(compiled._report()["entries"])


def agrees(f, calls, most, **options):
    """Calls of a compiled function agree with eager torch; at most so many versions are compiled. Gives the compiled function."""
    compiled = frameloom.compile(f, **options)
    with torch.no_grad():
        for given in calls:
            copies = [one.clone() for one in given]
            wanted, got = f(*copies), compiled(*given)
            torch.testing.assert_close(got, wanted, equal_nan=True, check_stride=True)
            torch.testing.assert_close(given, copies)
    assert versions(compiled) <= most, compiled._report()["recompiles"]
    return compiled


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_at_many_sizes(seed):
    tensor_sizes.compare(seed)


def test_a_pointwise_function_has_two_versions():
    agrees(lambda x: torch.relu(x * 2 + 1), [(torch.randn(n, 3),) for n in BATCHES], 2)


def test_sizes_of_0_and_1_have_versions_of_their_own():
    agrees(lambda x: x.sum(0) + 1, [(torch.randn(n, 3),) for n in (4, 5, 1, 0, 6, 2, 1, 0, 3)], 4)


def test_an_mlp_at_many_batch_sizes():
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 4)).eval()
    agrees(lambda x: model(x).softmax(-1), [(torch.randn(n, 16),) for n in BATCHES], 2)


def test_a_transformer_layer_at_many_batches_and_lengths():
    layer, choose = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval(), random.Random(0)
    agrees(lambda x: layer(x), [(torch.randn(choose.randint(2, 9), choose.randint(2, 12), 16),) for _ in range(20)], 4)


def test_a_convolution_net_at_many_batches_and_sizes_of_images():
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                              torch.nn.Conv2d(8, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()  # fmt: skip
    choose = random.Random(0)
    agrees(lambda x: net(x), [(torch.randn(choose.randint(2, 9), 3, choose.randint(8, 20), choose.randint(8, 20)),) for _ in range(12)], 5)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(50, 16), torch.nn.Parameter(torch.randn(64, 16))
        self.norm, self.mix, self.out = torch.nn.LayerNorm(16), torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)

    def forward(self, tokens):
        batch, length = tokens.shape
        x = self.words(tokens) + self.places[:length]
        q, k, v = self.mix(self.norm(x)).view(batch, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, 16)
        return x + self.out(y)


def test_a_block_of_attention_at_many_batches_and_lengths():
    block, choose = Block().eval(), random.Random(1)
    agrees(lambda tokens: block(tokens), [(torch.randint(0, 50, (choose.randint(2, 9), choose.randint(2, 40))),) for _ in range(20)], 5)


def test_a_recurrent_loop_at_many_batch_sizes():
    inner, outer = torch.nn.Linear(4, 8), torch.nn.Linear(8, 8)

    def run(x):
        state = x.new_zeros(x.shape[1], 8)
        for step in range(3):
            state = torch.tanh(inner(x[step]) + outer(state))
        return state

    agrees(run, [(torch.randn(3, n, 4),) for n in BATCHES], 2)


def test_attention_masks_made_of_sizes():
    def attend(x):
        n = x.shape[1]
        scores = x @ x.transpose(1, 2) / x.shape[-1] ** 0.5
        return scores.masked_fill(torch.ones(n, n).tril() == 0, float("-inf")).softmax(-1) @ x

    agrees(attend, [(torch.randn(2, n, 8),) for n in BATCHES[:12]], 2)


def test_a_broadcast_one_way_and_the_other():
    pairs = ((4, 5), (5, 4), (1, 6), (6, 1), (3, 3), (1, 1), (7, 1), (1, 8), (2, 9))
    agrees(lambda x, y: x * y, [(torch.randn(n, 1), torch.randn(1, m)) for n, m in pairs], 6)
    agrees(lambda x, y: x + y, [(torch.randn(n, 3), torch.randn(m, 3)) for n, m in ((4, 4), (5, 5), (1, 6), (6, 1), (7, 7), (1, 1), (8, 8))], 6)


def test_sizes_that_do_not_fit_raise_as_in_torch():
    compiled = frameloom.compile(lambda x, y: x + y)
    for n, m in ((4, 4), (5, 5), (6, 7), (7, 7), (3, 2), (8, 8)):
        x, y = torch.randn(n), torch.randn(m)
        if n == m:
            assert torch.equal(compiled(x, y), x + y)
            continue
        with pytest.raises(RuntimeError, match="must match the size of tensor"):
            compiled(x, y)
    before = versions(compiled)
    for n in BATCHES:
        x = torch.randn(n)
        assert torch.equal(compiled(x, x), x + x)
    assert versions(compiled) == before


def test_a_decision_on_a_size_is_guarded():
    compiled = agrees(lambda x: x * 2 if x.shape[0] > 10 else x - 1, [(torch.randn(n),) for n in (4, 12, 5, 11, 10, 30, 3)], 4)
    assert "x.shape[0]" in str(frameloom.explain(compiled, torch.randn(5))) or versions(compiled) > 1


def test_numbers_of_sizes_are_computed():
    def tell(x):
        return x.shape, x.size(0), x.numel(), len(x), x.stride(), x.shape[0] // 2, x.shape[0] % 3, x / x.shape[0], x * x.numel(), x.sum() / len(x)

    agrees(tell, [(torch.randn(n, m),) for n, m in zip(BATCHES, reversed(BATCHES))], 2)


def test_slices_and_views_with_changing_sizes():
    def cut(x):
        rows = x.shape[0]
        return x[1:], x[:-1], x[::2], x[: rows // 2], x[-2:], x.reshape(-1), x.view(rows, -1, 2), x.flatten(), x[None].expand(3, -1, -1), x.t()[1]

    agrees(cut, [(torch.randn(n, 6),) for n in (4, 9, 6, 7, 5, 30, 11)], 4)


def test_a_view_that_divides_a_size():
    agrees(lambda x: x.view(-1, 2, 3).sum(1), [(torch.randn(6 * n),) for n in (2, 3, 4, 10, 7)], 2)


def test_writes_into_arguments_and_their_views():
    def write(x):
        x[1:] += 1
        x[0].mul_(2)
        return x.view(-1)

    agrees(write, [(torch.randn(n, 3),) for n in BATCHES[:10]], 3)


def test_transposed_and_sliced_arguments():
    agrees(lambda x: x.relu() + 1, [(torch.randn(n, m).t(),) for n, m in ((4, 5), (6, 7), (3, 9), (8, 2))], 2)
    agrees(lambda x: x.sum(1), [(torch.randn(n, 8)[:, :4],) for n in (4, 5, 9, 12)], 2)
    agrees(lambda x: x * 2, [(torch.randn(n, m + 3)[:, :m],) for n, m in ((4, 5), (6, 7), (3, 9), (8, 2))], 3)
    agrees(lambda x: x * 2, [(torch.randn(n, 2 * n)[:, ::2],) for n in (4, 6, 3, 8)], 3)


def test_layouts_are_told_apart():
    calls = [(torch.randn(n, n),) if turn else (torch.randn(n, n).t(),) for n in (4, 5, 6) for turn in (0, 1)]
    agrees(lambda x: x + 1, calls, 4)


def test_marked_and_dynamic_sizes_are_symbols_at_once():
    x = torch.randn(4, 3)
    frameloom.mark_dynamic(x, 0)
    agrees(lambda x: x * 3, [(x,), *((torch.randn(n, 3),) for n in BATCHES)], 1)
    agrees(lambda x: x.sum(1) * 3, [(torch.randn(n, n + 1),) for n in BATCHES], 1, dynamic=True)
    agrees(lambda x: x * 3, [(torch.randn(n, 3),) for n in BATCHES[:4]], 4, dynamic=False)


def test_a_marked_range_and_a_static_mark():
    compiled, x = frameloom.compile(lambda x: x * 3), torch.randn(4, 3)
    frameloom.mark_dynamic(x, 0, min=2, max=8)
    for given in (x, torch.randn(8, 3), torch.randn(5, 3)):
        assert torch.equal(compiled(given), given * 3)
    assert versions(compiled) == 1
    compiled(torch.randn(9, 3))
    assert versions(compiled) == 2
    compiled = frameloom.compile(lambda x: x * 3, dynamic=True)
    for n in (4, 5):
        x = torch.randn(n, 3)
        frameloom.mark_static(x, 0)
        assert torch.equal(compiled(x), x * 3)
    assert versions(compiled) == 2


def test_explain_says_why_a_size_stays_a_constant():
    report = frameloom.explain(frameloom.compile(lambda x: x.unbind(0)[0] + 1, dynamic=True), torch.randn(5, 3))
    assert [(row.name, row.axis) for row in report.known_sizes] == [("x", 0)]
    assert "unbind" in report.known_sizes[0].reason or "value" in report.known_sizes[0].reason
    assert "sizes that stay constants:\n  x.shape[0]: " in str(report)


def test_two_sizes_that_are_equal_at_first():
    agrees(lambda x, y: (x.sum(0), y.sum(0)), [(torch.randn(n), torch.randn(m)) for n, m in ((4, 4), (5, 5), (6, 7), (7, 9), (8, 8), (3, 2))], 3)


def gradients_agree(f, calls, most, parameters=(), double=False):
    """Results and gradients of a compiled function agree with eager torch; at most so many versions are compiled."""
    compiled, parameters = frameloom.compile(f), list(parameters)
    for given in calls:
        leaves = [one.requires_grad_() for one in given if one.is_floating_point()] + parameters
        told = []
        for function in (f, compiled):
            result = function(*given)
            made = torch.autograd.grad(result.sin().sum(), leaves, create_graph=double, allow_unused=True)
            more = torch.autograd.grad(sum(one.sin().sum() for one in made if one is not None), leaves, allow_unused=True) if double else ()
            told.append([result, *made, *more])
        for wanted, got in zip(*told, strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)
    assert versions(compiled) <= most, compiled._report()["recompiles"]


def test_gradients_of_an_mlp_at_many_batch_sizes():
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
    gradients_agree(lambda x: model(x), [(torch.randn(n, 3),) for n in BATCHES], 2, model.parameters())
    gradients_agree(lambda x: model(x).square().mean(), [(torch.randn(n, 3),) for n in (*BATCHES[:8], 1, 0)], 4, model.parameters())


def test_gradients_that_compute_with_sizes_alone():
    gradients_agree(lambda x: (x * x.shape[0]).sum() / x.numel(), [(torch.randn(n, m),) for n, m in ((4, 3), (5, 7), (6, 6), (2, 9))], 3)
    gradients_agree(lambda x: x.sum(), [(torch.randn(n),) for n in BATCHES[:6]], 2)


def test_gradients_of_attention_at_many_lengths():
    block, choose = Block(), random.Random(3)
    tokens = [(torch.randint(0, 50, (choose.randint(2, 9), choose.randint(2, 40))),) for _ in range(8)]
    gradients_agree(lambda tokens: block(tokens), tokens, 6, block.parameters())


def test_gradients_of_views_and_broadcasts():
    sizes = ((4, 5), (6, 7), (3, 3), (8, 2), (1, 4), (5, 1))
    gradients_agree(lambda x: x[1:].tanh().reshape(-1), [(torch.randn(n + 1, m),) for n, m in sizes], 6)
    gradients_agree(lambda x, y: x * y + y, [(torch.randn(n, 1), torch.randn(m)) for n, m in sizes], 6)
    gradients_agree(lambda x, y: torch.cat([x.exp(), y.tanh()]), [(torch.randn(n, 3), torch.randn(m, 3)) for n, m in sizes], 6)


def test_second_derivatives_at_many_sizes():
    gradients_agree(lambda x: (x * x.shape[0]).tanh() @ x.t(), [(torch.randn(n, 3).double(),) for n in BATCHES[:6]], 2, double=True)
    gradients_agree(lambda x: x.view(-1, 2).exp().sum(0), [(torch.randn(2 * n).double(),) for n in BATCHES[:6]], 2, double=True)


def test_a_gradient_of_one_result_alone():
    def both(x):
        return x.tanh(), x.exp().sum(0)

    compiled = frameloom.compile(both)
    for n in BATCHES[:6]:
        x = torch.randn(n, 3, requires_grad=True)
        for number in (0, 1):
            (wanted,) = torch.autograd.grad(both(x)[number].sum(), x)
            (got,) = torch.autograd.grad(compiled(x)[number].sum(), x)
            torch.testing.assert_close(got, wanted)


def test_a_backward_after_another_size_was_called():
    compiled = frameloom.compile(lambda x: (x * 2).tanh().mean(0))
    inputs = [torch.randn(n, 3, requires_grad=True) for n in BATCHES[:6]]
    results = [compiled(x) for x in inputs]
    for x, result in zip(reversed(inputs), reversed(results)):
        (wanted,) = torch.autograd.grad((x * 2).tanh().mean(0).sum(), x)
        (got,) = torch.autograd.grad(result.sum(), x)
        torch.testing.assert_close(got, wanted)


def test_a_training_step_at_many_sizes():
    models = [torch.nn.Linear(3, 2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    steps = []
    for model in models:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x, y, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        steps.append(step)
    compiled = frameloom.compile(steps[1])
    for n in (4, 5, 6, 7, 4):
        x, y = torch.randn(n, 3), torch.randn(n, 2)
        torch.testing.assert_close(compiled(x, y), steps[0](x, y))
        torch.testing.assert_close(models[1].weight, models[0].weight)


@pytest.mark.parametrize("width", [3, 31, 32, 33, 63, 65, 200])
def test_rows_that_are_shorter_than_they_were(width):
    """The row is cut into as many chunks as a longer one: some have nothing to add."""
    compiled = frameloom.compile(lambda x, i: torch.zeros(6, x.shape[1]).index_add(0, i, x), dynamic=True, fullgraph=True)
    for size in (4000, 3000, width):
        x, i = torch.rand(64, size), torch.arange(64) * 5 % 6
        torch.testing.assert_close(compiled(x, i), torch.zeros(6, size).index_add(0, i, x))
    assert compiled._report()["captures"] <= 2


class Layer(torch.nn.Module):
    """Sizes that have to be known, in parameters, and in buffers (those of the norm, and its own)."""

    def __init__(self):
        super().__init__()
        self.line, self.norm = torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6)
        self.register_buffer("scale", torch.rand(6))

    def forward(self, x):
        n, width = x.shape
        return torch.relu(self.norm(self.line(x)).reshape(n, 2, width // 2).flatten(1)) * self.scale


@pytest.mark.parametrize("train", [False, True])
def test_deep_models_with_all_sizes_as_symbols_are_captured_once(train, monkeypatch):
    """Operations that capture follows: so many for each layer, however many there are. Other batches need no other version."""
    note, counts = _tensor_calls.Recorder.note, []

    def counted(self, *args, **kwargs):
        counts[-1] += 1
        return note(self, *args, **kwargs)

    monkeypatch.setattr(_tensor_calls.Recorder, "note", counted)
    for depth in (2, 4, 12):
        torch.manual_seed(0)
        model = torch.nn.Sequential(*[Layer() for _ in range(depth)]).train(train)
        plain = copy.deepcopy(model)
        compiled = frameloom.compile(lambda x, model=model: model(x), dynamic=True)
        counts.append(0)
        for n in BATCHES[:1] if train else BATCHES:  # the norm's statistics are computed with the number of rows, which has to be known
            x = torch.randn(n, 6)
            with torch.no_grad():
                torch.testing.assert_close(compiled(x), plain(x))
        assert versions(compiled) == 1, compiled._report()["recompiles"]
    assert counts[2] - counts[1] <= 4 * (counts[1] - counts[0]) + depth, counts


def test_a_parameter_that_changes_its_size_has_a_symbol_then():
    model = torch.nn.Module()
    model.table = torch.nn.Parameter(torch.randn(5, 3))
    compiled = frameloom.compile(lambda x: (model.table * 2).sum(0) + x, dynamic=True)
    for rows in (5, 7, 9, 20, 6):
        model.table = torch.nn.Parameter(torch.randn(rows, 3))
        with torch.no_grad():
            torch.testing.assert_close(compiled(torch.ones(3)), (model.table * 2).sum(0) + 1)
    assert versions(compiled) == 2, compiled._report()["recompiles"]


class Holder:
    def __init__(self, size):
        self.x, self.weights = torch.ones(size), dict.fromkeys(range(70), 0.5)


def weighed(holders):
    total = 0
    for one in holders:
        total = total + one.x.sum() * one.weights[one.x.shape[0]]
    return total


def test_it_is_told_where_too_many_sizes_have_to_be_known(capfd):
    compiled, made = frameloom.compile(weighed), random.Random(1)
    frameloom.set_logs("dynamic")
    try:
        for _ in range(3):
            holders = [Holder(made.randrange(3, 60)) for _ in range(90)]
            torch.testing.assert_close(compiled(holders), weighed(holders))
    finally:
        frameloom.set_logs("")
    assert "weighed: not compiled for all sizes, but for each: capture started again too often" in capfd.readouterr().err
