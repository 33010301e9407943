"""Ops that run through torch inside a compiled graph: how what they are given and what they give lies in memory."""

import pytest

from torch_help import close, compiled, host_calls, torch
from torch_help import fresh  # noqa: F401

SEEN = []


@torch.library.custom_op("frameloom_test::looked_at", mutates_args=())
def looked_at(x: torch.Tensor) -> torch.Tensor:
    SEEN.append((tuple(x.shape), x.stride(), x.data_ptr()))
    return x * 2  # lies as the operand does


looked_at.register_fake(lambda x: torch.empty_like(x))

STATIC = "static"  # where no size is a symbol
# Of an argument: is the operand of the op the argument's own memory?
VIEWS = {
    "itself": (lambda x: x, True),
    "transposed": (lambda x: x.transpose(-1, -2), True),
    "permuted": (lambda x: x.permute(2, 0, 1), True),
    "of other sizes": (lambda x: x.reshape(6, 20), None),
    "its first part": (lambda x: x[:1], None),
    "computed": (lambda x: x + 1, False),
    "computed and transposed": (lambda x: (x + 1).transpose(0, 2), False),
    "with gaps": (lambda x: x[:, ::2], STATIC),
    "expanded": (lambda x: x[:, :1].expand(3, 4, 10), STATIC),
}
LAYOUTS = {
    "in order": lambda: torch.randn(3, 4, 10),
    "turned": lambda: torch.randn(10, 3, 4).permute(1, 2, 0),
    "other ends": lambda: torch.randn(10, 4, 3).permute(2, 1, 0),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("view", VIEWS)
def test_operands_lie_as_in_eager_torch(view, layout, dynamic):
    take, own = VIEWS[view]
    x = LAYOUTS[layout]()
    run = compiled(lambda x: looked_at(take(x)).sin(), dynamic=dynamic)
    expected = looked_at(take(x)).sin()
    SEEN.clear()
    got = run(x)
    close(got, expected)
    assert got.stride() == expected.stride()
    (shape, strides, place), = SEEN
    operand = take(x)
    assert shape == operand.shape
    if not dynamic and torch._prims_common.is_non_overlapping_and_dense_or_false(operand):
        assert strides == operand.stride()
    if own is not None:
        assert (place == x.data_ptr()) == (own if own is not STATIC else not dynamic)


def test_an_operand_that_is_overwritten_behind_the_op():
    def step(x):
        y = looked_at(x.t())
        x.mul_(3)
        return y + x.t()

    x, z = torch.randn(5, 7), torch.randn(5, 7)
    z.copy_(x)
    close(compiled(step)(x), step(z))
    close(x, z)


def test_results_of_several_layouts():
    model = torch.nn.LSTM(3, 4, batch_first=True).eval()
    x = torch.randn(2, 5, 3)
    with torch.no_grad():
        got, want = compiled(model)(x), model(x)
    close(got[0], want[0])
    close(got[1][1], want[1][1])
    q = torch.randn(6, 4)
    close(compiled(lambda q: torch.linalg.qr(q.t())[1].t() * 2)(q), torch.linalg.qr(q.t())[1].t() * 2)


@torch.library.custom_op("frameloom_test::two_results", mutates_args=())
def two_results(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    SEEN.append(x)
    return x * 2, x.new_empty(5)  # the second is not what is declared


two_results.register_fake(lambda x: (torch.empty_like(x), torch.empty_like(x)))


def test_results_that_nobody_takes_may_be_what_they_are():
    run = compiled(lambda x: two_results(x + 1)[0].sin())
    x = torch.randn(3, 4)
    SEEN.clear()
    for _ in range(2):
        close(run(x), ((x + 1) * 2).sin())
    assert len(SEEN) == 2  # else eager torch has run the graph again
    assert host_calls() == ["frameloom_test.two_results.default"]


@pytest.mark.parametrize("both_ways", [False, True])
def test_an_lstm_without_gradients(both_ways):  # its op has a fourth result, which is undefined
    layer = torch.nn.LSTM(8, 6, batch_first=True, bidirectional=both_ways).eval()
    x = torch.randn(2, 5, 8)
    with torch._dynamo.config.patch(allow_rnn=True), torch.no_grad():
        run = compiled(layer)
        for _ in range(2):
            out, (hidden, cell) = run(x)
            expected, (expected_hidden, expected_cell) = layer(x)
            close(out, expected)
            close(hidden, expected_hidden)
            close(cell, expected_cell)


@pytest.mark.parametrize("name", ["eigvalsh", "svdvals"])
def test_results_that_nobody_takes_are_not_asked_for(name):
    """torch traces these as eigh and svd. Without vectors LAPACK takes another way, whose last bits are others: the same as
    eager's only where it is asked for values alone."""
    function = getattr(torch.linalg, name)
    generator = torch.Generator().manual_seed(7)
    a = torch.randn(20, 32, 32, dtype=torch.float64, generator=generator)
    a = a + a.mT
    compiled = torch.compile(function, backend="frameloom", options={"strict": True})
    assert torch.equal(compiled(a), function(a))
    with_vectors = torch.linalg.eigh(a)[0] if name == "eigvalsh" else torch.linalg.svd(a)[1]
    assert not torch.equal(with_vectors, function(a)), "the two ways cannot be told apart here"

    torch.compiler.reset()
    x = a.clone().requires_grad_()
    (want,) = torch.autograd.grad(function(x).square().sum(), x)
    (got,) = torch.autograd.grad(compiled(x).square().sum(), x)
    torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-9)
