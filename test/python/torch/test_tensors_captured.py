"""Tensors of torch as values of frameloom.compile: results, views, writes and memory as eager torch has them; guards; what breaks."""

import functools

import numpy as np
import pytest
import tensor_programs
import torch
from reports import break_codes
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

import frameloom

pytestmark = pytest.mark.filterwarnings("ignore:.*lite::")


def views(a, b, c, i):
    return a[1:, ::2], a.T, a.reshape(2, 12), a.unsqueeze(0).expand(3, 4, 6), a[0], a.split(2)[1], a.chunk(3, 1)[2], a.detach()


def writes(a, b, c, i):
    a[1] = b[0]
    a.add_(1)
    a[:, 2:4] *= 2
    b.T.copy_(a.t())
    c.zero_()
    return a, c


def powers_in_place(a, b, c, i):
    a.square_()
    b.pow_(3)
    c.pow_(a[0].abs())
    return a, b, c


def made_and_seen(a, b, c, i):
    made = a + b
    seen = made[1:3]
    seen += 1
    return made, seen


def indices(a, b, c, i):
    made = a.clone()
    made[i, 0] = 1
    made[made > 0] = 0
    return a[i], a.gather(1, i[:, None]), a.index_select(0, i), a[i, i], made


def reductions(a, b, c, i):
    return a.sum(0), a.mean(dim=1, keepdim=True), a.std(0), a.argmax(1), a.amax(), a.cumsum(0), a.softmax(-1)


def layers(a, b, c, i):
    return functional.linear(a, b), functional.gelu(a), functional.layer_norm(a, (6,), c), torch.cat([a, b], 1), torch.where(a > 0, a, b)


def makers(a, b, c, i):
    return torch.zeros(3), torch.arange(5) * 2, torch.ones_like(a), torch.full((2, 2), 3.5), torch.eye(3), a.new_zeros(2), torch.tensor([1.0, 2.0])


def dtypes(a, b, c, i):
    return a.double(), a.int(), a.half() * 2, a.bool(), a.bfloat16() + 1, a.to(torch.float32), 2 - a, a**2, 1 / a, a // 2, a % 2, ~(a > 0)


def attention(a, b, c, i):
    q = a.view(1, 2, 2, 6)
    return functional.scaled_dot_product_attention(q, q, q)


@pytest.mark.parametrize("function", [views, writes, powers_in_place, made_and_seen, indices, reductions, layers, makers, dtypes, attention])
def test_functions(function):
    compiled = frameloom.compile(function, fullgraph=function is not indices)
    for seed in (1, 2):
        program = tensor_programs.Program(seed)
        plain = tensor_programs.outcome(function, program.arguments())
        assert plain[0] is None
        assert tensor_programs.difference(plain, tensor_programs.outcome(compiled, program.arguments())) is None


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_programs(first):
    for seed in range(first, first + 20):
        source, found = tensor_programs.compare(seed)
        assert found is None, f"seed {seed}: {found}\n{source}"


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_random_programs_of_complex_numbers(first):
    for seed in range(first, first + 20):
        source, found = tensor_programs.compare(seed, "complex")
        assert found is None, f"seed {seed}: {found}\n{source}"


def complex_views(a, b, c, i):
    turned = torch.view_as_complex(a.unflatten(1, (-1, 2))) * torch.polar(c[:3].abs(), c[:3])
    made = torch.complex(a, b)
    made.real += 1
    pairs = torch.view_as_real(made)
    pairs[0] = 2
    return torch.view_as_real(turned).flatten(1), made, pairs, made.conj(), made.mH @ made, made.conj()[1:].T


def test_complex_numbers_are_captured_whole():
    compiled = frameloom.compile(complex_views, fullgraph=True)
    for seed in (1, 2):
        program = tensor_programs.Program(seed)
        plain = tensor_programs.outcome(complex_views, program.arguments())
        assert plain[0] is None and plain[1][3].is_conj()
        assert tensor_programs.difference(plain, tensor_programs.outcome(compiled, program.arguments())) is None


def test_numbers_of_tensors():
    def function(x):
        loss = (x * x).sum()
        highest = float(x.detach().amax())
        rows = (x > 0).sum(1).tolist()  # of four numbers
        return loss * highest + x[0, 0] * loss.item(), highest, *rows, int((x > 0).sum()), (x > 1).any().item()

    compiled = frameloom.compile(function, fullgraph=True)
    for seed in (1, 2):
        given = [torch.randn(4, 6, generator=torch.Generator().manual_seed(seed)).requires_grad_() for _ in range(2)]
        (want, *numbers), (got, *found) = function(given[0]), compiled(given[1])
        want.backward()
        got.backward()
        torch.testing.assert_close(given[1].grad, given[0].grad)
        assert [type(one) for one in found] == [type(one) for one in numbers] and found == pytest.approx(numbers, rel=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_dropout_draws_as_torch_does(share):
    compiled = frameloom.compile(lambda x: functional.dropout(x, share, True), fullgraph=True)
    for seed in (1, 2):
        torch.manual_seed(seed)
        want = functional.dropout(torch.ones(4, 6), share, True)
        torch.manual_seed(seed)
        assert torch.equal(compiled(torch.ones(4, 6)), want)


@functools.lru_cache(maxsize=1)
def positions(count, mask=None):
    return mask.cumsum(0) * count


def test_a_cached_call_of_a_new_tensor():
    def function(x):
        mask = x * 2
        return x + positions(3, mask) + positions(3, mask=torch.ones(4)), positions(3, mask) is positions(3, mask)

    compiled = frameloom.compile(function, fullgraph=True)
    for seed in (1, 2):
        x = torch.randn(4, generator=torch.Generator().manual_seed(seed))
        (got, same), (want, _) = compiled(x), function(x)
        torch.testing.assert_close(got, want)
        assert same


def arrays(x):
    array = x.numpy()
    array[0] = 7
    return array, x.sum(), np.sqrt((x + 10).abs().numpy()), (x.T.cpu().numpy()[1:] > 0).any()


def tensors(x):
    tensor = torch.from_numpy(x)
    tensor[1] = 5
    tensor.add_(1)
    return tensor[0], x.sum(), torch.as_tensor(x, dtype=torch.float64), torch.tensor(x), torch.from_numpy(x[:, ::2]).T


@pytest.mark.parametrize("function", [arrays, tensors])
def test_memory_of_numpy_and_torch_is_one(function):
    compiled = frameloom.compile(function, fullgraph=True)
    for start in (0, 1):
        given = [np.arange(start, start + 12, dtype=np.float32).reshape(3, 4) for _ in range(2)]
        given = [torch.from_numpy(one) for one in given] if function is arrays else given
        for plain, made in zip(function(given[0]), compiled(given[1]), strict=True):
            assert type(plain) is type(made) and np.array_equal(np.asarray(plain), np.asarray(made))
            if isinstance(plain, torch.Tensor):
                assert tensor_programs.told(plain) == tensor_programs.told(made)
            assert np.shares_memory(np.asarray(plain), np.asarray(given[0])) == np.shares_memory(np.asarray(made), np.asarray(given[1]))
        assert np.array_equal(np.asarray(given[0]), np.asarray(given[1]))


@pytest.mark.parametrize("function", [lambda x: (x * 2).numpy(), lambda x: torch.from_numpy(x.detach().numpy()[::-1]), lambda x: x.bfloat16().detach().numpy()])
def test_what_numpy_and_torch_refuse_of_each_other(function):
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(Exception) as plain:
        function(x)
    with pytest.raises(type(plain.value)) as compiled:
        frameloom.compile(function)(x)
    assert str(compiled.value) == str(plain.value)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0],
        lambda x: x[x[:, 0] > 0] * 2,
        lambda x: x.masked_select(x > 0).softmax(0),
        lambda x: torch.nonzero(x > 0)[:, 0],
        lambda x: x[torch.where(x < 0)],
        lambda x: x[x > 9],
        lambda x: x / max(x[x > 0].numel(), 1),
        lambda x: x[x[:, 0] > -9] @ x.T,
    ],
)
def test_sizes_that_depend_on_elements(function):
    compiled = frameloom.compile(function, fullgraph=True)
    for seed in (1, 2, 3):
        x = torch.randn(4, 6, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(compiled(x), function(x))


def test_named_results_keep_their_types():
    def function(x):
        values, places = x.max(dim=1)
        return x.sort(dim=1), x.topk(2), values + places, x.shape

    x = torch.randn(3, 4)
    plain, made = function(x), frameloom.compile(function, fullgraph=True)(x)
    assert [type(one) for one in plain] == [type(one) for one in made]
    assert torch.equal(plain[0].values, made[0].values) and torch.equal(plain[1].indices, made[1].indices)
    assert plain[3] == made[3]


def test_what_is_returned_is_the_argument():
    function = frameloom.compile(lambda x: (x, x.contiguous(), x.to(torch.float32), x.add_(1)), fullgraph=True)
    x = torch.zeros(3)
    assert all(one is x for one in function(x)) and x.tolist() == [1, 1, 1]


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(size), nn.Dropout(0.1)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.attention = nn.MultiheadAttention(size, 2, batch_first=True)

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.drop(self.down(functional.gelu(self.up(self.norm(x)))))


def test_a_model_is_one_graph():
    model = nn.Sequential(Block(16), nn.Linear(16, 3)).eval()
    x = torch.randn(2, 5, 16)
    with torch.no_grad():
        assert break_codes(lambda x: model(x), x) == []
        compiled = frameloom.compile(lambda x: model(x))
        for _ in range(2):
            torch.testing.assert_close(compiled(x), model(x))
        model[1].weight.mul_(2)  # the parameters are read at every call
        torch.testing.assert_close(compiled(x), model(x))
        model[1].register_forward_hook(lambda module, args, result: result + 1)
        torch.testing.assert_close(compiled(x), model(x))
        model.train()
        torch.manual_seed(3)
        made = compiled(x)
        torch.manual_seed(3)
        torch.testing.assert_close(made, model(x))


@pytest.mark.parametrize("make", [nn.BatchNorm1d, lambda size: nn.InstanceNorm1d(size, affine=True, track_running_stats=True)])
def test_running_statistics_are_written(make):
    plain, made = make(3), make(3)
    compiled = frameloom.compile(lambda x: made(x))
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(4, 3, 5)
            torch.testing.assert_close(compiled(x), plain(x))
            assert all(torch.allclose(one, other) for one, other in zip(plain.buffers(), made.buffers(), strict=True))
    assert break_codes(lambda x: made(x), x) == []
    with torch.no_grad():
        assert break_codes(lambda x: made(x), x) == []


def test_gradients_are_recorded():
    layer = nn.Linear(3, 2)
    compiled = frameloom.compile(lambda x: layer(x).sum())
    x = torch.randn(4, 3)
    with torch.no_grad():
        assert not compiled(x).requires_grad
    assert compiled(x).requires_grad
    compiled(x).backward()
    torch.testing.assert_close(layer.weight.grad, x.sum(0).expand(2, 3))
    assert break_codes(lambda x: layer(x).sum(), x) == []
    layer.requires_grad_(False)
    assert not compiled(x).requires_grad
    assert compiled(x.clone().requires_grad_()).requires_grad


def test_gradients_are_switched_off_inside():
    layer = nn.Linear(3, 2)

    def function(x):
        with torch.no_grad():
            y = layer(x)
            known = torch.is_grad_enabled()
        return y * 2, known, torch.is_grad_enabled()

    made, known, after = frameloom.compile(function, fullgraph=True)(torch.ones(4, 3))
    assert not made.requires_grad and known is False and after is True and torch.is_grad_enabled()
    switches = frameloom.compile(lambda x: (torch.set_grad_enabled(False), x + 1)[1])
    try:
        assert switches(torch.ones(2)).tolist() == [2, 2] and not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.double(),
        lambda x: x[:2],
        lambda x: x.T.contiguous().T,
        lambda x: x[:, ::2],
        lambda x: x.expand(2, *x.shape),
        lambda x: nn.Parameter(x),
        lambda x: x.clone().requires_grad_(),
        lambda x: torch.complex(x, x).conj(),
        lambda x: torch._neg_view(x),
        lambda x: x.to_sparse(),
        lambda x: x.to("meta"),
        lambda x: x.numpy(),
        lambda x: 3.0,
    ],
)
def test_guards(change):
    """Another argument than the one that was captured gives what plain Python gives."""

    def function(x):
        return x + x

    compiled = frameloom.compile(function)
    x = torch.randn(4, 6)
    other = change(x)
    for argument in (x, x, other, other, x):
        plain, made = function(argument), compiled(argument)
        assert type(plain) is type(made)
        if isinstance(plain, torch.Tensor):
            assert (plain.dtype, plain.shape, plain.layout, plain.requires_grad) == (made.dtype, made.shape, made.layout, made.requires_grad)
            assert plain.device.type == "meta" or torch.equal(plain.to_dense(), made.to_dense())


def test_memory_that_is_taken_away():
    function = frameloom.compile(lambda x: x * 2)
    x = torch.ones(1000)
    assert function(x).sum() == function(x).sum() == 2000
    x.untyped_storage().resize_(4)  # its sizes stay: torch itself reads behind it, so that the call may not be made
    assert function(torch.ones(1000)).sum() == 2000
    assert "FL0006" in break_codes(lambda x: x.shape, x)
    assert function(torch.ones(0, 3)).shape == (0, 3)


def test_attributes_of_the_users():
    def function(x):
        return hasattr(x, "mine"), x.shape, getattr(x * 2, "mine", 7)

    compiled = frameloom.compile(function)
    x = torch.ones(3)
    assert compiled(x) == function(x) == (False, (3,), 7)
    assert break_codes(function, x) == []
    x.mine = 1
    assert compiled(x) == function(x) == (True, (3,), 7)


def test_guards_are_told():
    told = str(frameloom.explain(lambda x: x * 2, torch.ones(3, 4)))
    assert "x: float32[3, 4]" in told and "x requires no gradient" in told and "records gradients" in told
    assert str(frameloom.explain(lambda x: (x + 1) * x - x, torch.ones(3))).count("x requires no gradient") == 1
    compiled = frameloom.compile(lambda x: x * 2)
    compiled(torch.ones(3))
    with torch.no_grad():
        assert compiled(torch.ones(3)).tolist() == [2, 2, 2]
    assert compiled(torch.ones(4)).tolist() == [2, 2, 2, 2]


def test_modes_are_guarded():
    x = torch.randn(8, 8)
    product = frameloom.compile(lambda x, y: x @ y)
    product(x, x)

    def of(result):
        return result.dtype, result.is_inference()

    function = frameloom.compile(lambda x: x @ x)
    assert of(function(x)) == (torch.float32, False) and of(function(x)) == (torch.float32, False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert of(function(x)) == (torch.bfloat16, False)
    with torch.inference_mode():
        assert of(function(x)) == (torch.float32, True)
    with FlopCounterMode(display=False) as counter:
        product(x, x)
        assert counter.get_total_flops() == 2 * 8**3
    with torch.device("meta"):
        assert function(x).device.type == "cpu"
    torch.set_default_dtype(torch.float64)
    try:
        zeros = frameloom.compile(lambda x: x.new_zeros(2) + torch.zeros(2))
        assert zeros(x).dtype == torch.float64
        torch.set_default_dtype(torch.float32)
        assert zeros(x).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda x: x * 2 if x.sum() > 0 else x, "FL0002"),
        (lambda x: x * int(x.sum()), "FL0002"),
        (lambda x: x.repeat(8, 1, 1).tolist(), "FL0030"),
        (lambda x: functional.rrelu(x, training=True) * 0, "FL0030"),
        (lambda x: torch.add(x, x, out=torch.empty(2)), "FL0030"),
    ],
)
def test_breaks(function, code):
    x = torch.randn(4, 6)
    assert code in break_codes(function, x)
    torch.manual_seed(1)
    plain = function(x)
    torch.manual_seed(1)
    torch.testing.assert_close(torch.as_tensor(frameloom.compile(function)(x)), torch.as_tensor(plain))


@pytest.mark.parametrize(
    "function",
    [lambda x: x @ x, lambda x: x.view(5), lambda x: (x > 0).add_(x), lambda x: x[9], lambda x: x.nothing, lambda x: x[1:].copy_(x[:-1].T)],
)
def test_errors_are_torchs(function):
    x = torch.ones(4, 6)
    with pytest.raises(Exception) as plain:
        function(x)
    for _ in range(2):
        with pytest.raises(type(plain.value)) as made:
            frameloom.compile(function)(x)
        assert str(made.value) == str(plain.value)


def test_writes_into_repeated_elements():
    def function(x):
        try:
            x.expand(4, 3).add_(1)
        except ValueError:  # torch's is a RuntimeError
            return 1
        except RuntimeError:
            return 2
        return 3

    x = torch.zeros(1, 3)
    assert [frameloom.compile(function)(x) for _ in range(2)] == [function(x)] * 2 == [2, 2]
    with pytest.raises(RuntimeError, match="single memory location"):
        frameloom.compile(lambda x: x.add_(1))(torch.zeros(3).expand(4, 3))


def test_arguments_that_share_memory():
    def function(x, y):
        x.add_(1)
        return y * 2

    compiled = frameloom.compile(function)
    whole = torch.zeros(8)
    assert compiled(whole[:4], whole[4:]).tolist() == [0] * 4
    assert compiled(whole[:4], whole[2:6]).tolist() == [4, 4, 0, 0]  # the first call has added 1 to it
    assert compiled(whole, whole).tolist() == [6, 6, 6, 6, 2, 2, 2, 2]


def test_writes_are_counted():
    """As often as torch counts them, or more often; each tensor that is not written, not at all."""

    def update(p, m, q):
        m.mul_(0.9)
        p.sub_(m)
        return q + 1

    compiled = frameloom.compile(update)
    tensors = [torch.ones(1000) for _ in range(3)]
    view = tensors[0][3:5]
    for _ in range(3):
        before = [one._version for one in (*tensors, view)]
        compiled(*tensors)
        counted = [one._version - old for one, old in zip((*tensors, view), before, strict=True)]
        assert counted[0] == counted[3] >= 1 and counted[1] >= 1 and counted[2] == 0


def test_writes_are_counted_for_autograd():
    weight = torch.ones(3, requires_grad=True)
    state = torch.ones(3)
    product = weight * state
    frameloom.compile(lambda x: x.add_(1))(state)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_elements_of_constants_are_known():
    def function(x):
        place = torch.arange(4).unsqueeze(0)
        place[0, 0] += 7
        if (place.diff() == 1).all():
            return x + 1
        scale = torch.tensor([2.0, 3.0])
        scale.mul_(2)
        return x * scale.sum().item() + torch.finfo(x.dtype).eps + sum(place[0].tolist())

    compiled = frameloom.compile(function, fullgraph=True)
    x = torch.randn(3)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(x), function(x))

    def written(x):
        made = torch.zeros(3)
        made.add_(x)
        return x * made[0].item()

    compiled = frameloom.compile(written, fullgraph=True)
    for given in (x, x + 1):
        torch.testing.assert_close(compiled(given), written(given))


def test_a_device_is_an_argument():
    compiled = frameloom.compile(lambda x: torch.arange(3).to(x.device) + x.to(torch.float64).to(torch.device("cpu"), torch.float32), fullgraph=True)
    with torch.no_grad():
        torch.testing.assert_close(compiled(torch.ones(3)), torch.arange(3) + 1.0)


STRIDED = (
    lambda x: x.as_strided([2, 2], [2, 1], 0) * 1,
    lambda x: (x * 1)[1:].as_strided([2, 2], [2, 1], 0) + x.as_strided([2, 2], [1, 2]),
    lambda x: torch.as_strided(x[1:], (3,), (1,), storage_offset=1),
    lambda x: torch.as_strided_copy(x, (2,), (1,), 3),
    lambda x: torch.as_strided_scatter(x, torch.ones(2), (2,), (1,), 3),
    lambda x: (x.clone().as_strided((4,), (1,), 2), print(end=""), x[1:].as_strided((2,), (1,), 1)),
)


@pytest.mark.parametrize("function", STRIDED)
def test_a_view_by_strides_counts_from_the_begin_of_memory(function):
    memory = torch.arange(24.0)
    compiled = frameloom.compile(function)
    for begin in (0, 8, 4, 8):
        x = memory[begin : begin + 8].view(4, 2)
        assert str(compiled(x)) == str(function(x))
