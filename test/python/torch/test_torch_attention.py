"""loom.attention and its gradient through torch's attention, against float64 and eager."""

import math

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import frameloom.torch as ft  # noqa: E402
from torch_help import BACKENDS, fresh  # noqa: E402, F401

TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-14, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def operands(batch, heads, groups, queries, keys, depth, width, dtype=torch.float32, plain=False):
    """q, k and v as models have them: views of (batch, place, head, column)."""
    def one(heads, places, columns):
        if plain:
            return torch.randn(batch, heads, places, columns, dtype=dtype)
        return torch.randn(batch, places, heads, columns, dtype=dtype).transpose(1, 2)

    return one(heads, queries, depth), one(groups, keys, depth), one(groups, keys, width)


def exact(q, k, v, mask=None, causal=False, scale=None):
    """The same in float64, zeros where no key counts."""
    q, k, v = (t.double() for t in (q, k, v))
    scores = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if mask is not None:
        scores = scores + mask.double()
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    none = (scores == -math.inf).all(-1, keepdim=True)
    p = torch.softmax(scores.masked_fill(none, 0), -1).masked_fill(none, 0)
    lse = torch.logsumexp(scores, -1)
    return p @ v, torch.where(lse == -math.inf, 0, lse)


def attend(q, k, v, mask, causal, scale):
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q, k, v, 0.0, causal, attn_mask=mask, scale=scale)


def hidden_mask(shape, dtype):
    mask = torch.randn(shape, dtype=dtype)
    mask[torch.rand(shape) < 0.3] = -math.inf
    return mask


CASES = [
    # batch, heads, queries, keys, depth, width, mask, causal
    (2, 4, 17, 17, 16, 16, None, False),
    (2, 4, 17, 17, 16, 16, None, True),
    (1, 2, 197, 197, 64, 64, None, False),
    (1, 2, 130, 300, 80, 80, (1, 2, 130, 300), False),
    (2, 2, 65, 129, 24, 24, (2, 1, 1, 129), False),
    (2, 2, 65, 70, 10, 10, (1, 2, 65, 1), False),
    (2, 2, 33, 33, 33, 33, (33, 33), False),
    (1, 3, 1, 50, 64, 64, None, False),
    (1, 3, 2, 5, 7, 7, (1, 3, 2, 5), False),
    (1, 3, 4, 5, 8, 8, None, True),
    (1, 2, 300, 70, 32, 32, None, True),
    (1, 2, 70, 300, 32, 32, None, True),
    (2, 4, 17, 1, 16, 16, None, False),
    (1, 1, 64, 64, 128, 128, None, False),
    (1, 2, 9, 20, 520, 520, (9, 20), False),  # wider than the kernels take
]
# So many keys that several blocks of queries share one of them: the last block is cut, or the last of those that share is missing.
FAR = [
    (2, 16, 130, 1100, 128, 128, None, False),
    (2, 16, 290, 1100, 120, 120, None, True),
    (2, 16, 67, 1400, 100, 100, (2, 1, 67, 1400), False),
    (2, 16, 130, 1400, 100, 100, (2, 1, 130, 1400), False),
    (2, 8, 400, 1100, 128, 128, (1, 1, 1, 1100), False),
]


@pytest.mark.parametrize("case", [*CASES, *FAR], ids=str)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_forward(case, dtype):
    *sizes, shape, causal = case
    q, k, v = operands(sizes[0], sizes[1], *sizes[1:], dtype, plain=sizes[2] == 33)
    mask = None if shape is None else hidden_mask(shape, dtype)
    got = torch.compile(attend, backend=ft.backend, dynamic=False)(q, k, v, mask, causal, None)
    expected = exact(q, k, v, mask, causal)
    assert got[0].dtype == dtype
    for g, e in zip(got, expected):
        torch.testing.assert_close(g.double(), e, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("queries", [2, 9])
def test_queries_without_keys(name, queries):
    q, k, v = operands(1, 2, 2, queries, 9, 8, 8)
    mask = torch.zeros(queries, 9)
    mask[1] = -math.inf
    mask[0, 3] = -math.inf
    got = torch.compile(attend, backend=BACKENDS[name])(q, k, v, mask, False, 0.3)
    expected = attend(q, k, v, mask, False, 0.3)
    for g, e in zip(got, expected):
        torch.testing.assert_close(g, e)
    assert (got[0][:, :, 1] == 0).all() and (got[1][:, :, 1] == 0).all()


def test_infinities_and_nans_stay_with_their_query():
    q, k, v = operands(1, 1, 1, 40, 70, 8, 8)
    mask = torch.zeros(40, 70)
    mask[3, 66] = math.nan
    mask[5, 2] = math.inf
    mask[7, :65] = -math.inf
    got = torch.compile(attend, backend=ft.backend)(q, k, v, mask, False, None)
    expected = attend(q, k, v, mask, False, None)
    torch.testing.assert_close(got[0], expected[0], equal_nan=True, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(got[1][:, :, 6:], expected[1][:, :, 6:])
    assert got[0][0, 0].isnan().any(-1).nonzero().flatten().tolist() == [3, 5]


def test_bits_do_not_depend_on_threads():
    q, k, v = operands(1, 3, 3, 150, 190, 40, 40)
    compiled = torch.compile(attend, backend=ft.backend)
    threads, results = torch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(compiled(q, k, v, None, True, None))
    finally:
        torch.set_num_threads(threads)
    for r in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(r, results[0]))


def test_heads_of_one_product_are_not_copied():
    def f(x):
        q, k, v = (t.view(2, 24, 4, 16).transpose(1, 2) for t in x.split(64, dim=2))
        return F.scaled_dot_product_attention(q, k, v)

    x = torch.randn(2, 24, 192)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(f, backend=ft.backend)(x), f(x))


def test_repeated_heads():
    def f(q, k, v):
        k, v = (t[:, :, None].expand(2, 2, 3, 50, 16).reshape(2, 6, 50, 16) for t in (k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    q, k, v = operands(2, 6, 2, 50, 50, 16, 16)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(f, backend=ft.backend)(q, k, v), f(q, k, v))


@ft.config.patch(strict=False)
@pytest.mark.parametrize("calls, heads, depth", [
    (((2, 9, 12), (3, 70, 33), (4, 5, 200)), 2, 16),
    (((8, 130, 1300), (9, 3, 5), (3, 257, 1100)), 4, 128),
])
def test_symbolic_sizes(calls, heads, depth):
    compiled = torch.compile(attend, backend=ft.backend, dynamic=True)
    for batch, queries, keys in calls:
        q, k, v = operands(batch, heads, heads, queries, keys, depth, depth)
        mask = hidden_mask((batch, 1, queries, keys), torch.float32)
        for g, e in zip(compiled(q, k, v, mask, False, None), exact(q, k, v, mask)):
            torch.testing.assert_close(g.double(), e, rtol=2e-6, atol=2e-6)
    assert len(ft.compiled_graphs) <= 2


def gradients(f, arguments, mask, weight, dtype):
    leaves = [t.detach().to(dtype).requires_grad_() for t in arguments]
    out = f(*leaves, None if mask is None else mask.to(dtype))
    (out * weight.to(dtype)).sum().backward()
    return [t.grad for t in leaves]


@pytest.mark.parametrize("case", [*CASES, (1, 2, 170, 300, 32, 32, None, True)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_gradient(case, dtype):
    batch, heads, queries, keys, depth, width, shape, causal = case
    arguments = operands(batch, heads, heads, queries, keys, depth, width, dtype)
    mask = None if shape is None else hidden_mask(shape, dtype)
    weight = torch.randn(batch, heads, queries, width, dtype=dtype)

    def f(q, k, v, mask):
        return attend(q, k, v, mask, causal, None)[0]

    compiled = torch.compile(f, backend=ft.backend, dynamic=False)
    got = gradients(compiled, arguments, mask, weight, dtype)
    expected = gradients(lambda q, k, v, m: exact(q, k, v, m, causal)[0], arguments, mask, weight,
                         torch.float64)
    tolerance = 5e-6 if dtype == torch.float32 else 4e-2
    for g, e in zip(got, expected):
        assert g.dtype == dtype
        torch.testing.assert_close(g.double(), e, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", BACKENDS)
def test_gradient_of_float64(name):
    arguments = operands(2, 3, 3, 21, 34, 9, 9, torch.float64)
    mask = hidden_mask((2, 1, 21, 34), torch.float64)
    mask[1, 0, 4] = -math.inf
    weight = torch.randn(2, 3, 21, 9, dtype=torch.float64)

    def f(q, k, v, mask):
        return attend(q, k, v, mask, False, 0.4)[0]

    def by_hand(q, k, v, mask):
        return exact(q, k, v, mask, scale=0.4)[0]

    got = gradients(torch.compile(f, backend=BACKENDS[name]), arguments, mask, weight, torch.float64)
    for g, e in zip(got, gradients(by_hand, arguments, mask, weight, torch.float64)):
        torch.testing.assert_close(g, e, rtol=1e-12, atol=1e-13)


def test_gradient_with_symbolic_sizes():
    def f(q, k, v, mask):
        return attend(q, k, v, mask, True, None)[0]

    compiled = torch.compile(f, backend=ft.backend, dynamic=True)
    for batch, queries, keys in ((2, 9, 12), (3, 70, 133), (4, 140, 5)):
        arguments = operands(batch, 2, 2, queries, keys, 16, 16)
        weight = torch.randn(batch, 2, queries, 16)
        got = gradients(compiled, arguments, None, weight, torch.float32)
        expected = gradients(lambda q, k, v, m: exact(q, k, v, m, True)[0], arguments, None, weight,
                             torch.float64)
        for g, e in zip(got, expected):
            torch.testing.assert_close(g.double(), e, rtol=5e-6, atol=5e-6)
    assert len(ft.compiled_graphs) < 6


def test_gradient_bits_do_not_depend_on_threads():
    def f(q, k, v, mask):
        return attend(q, k, v, mask, False, None)[0]

    arguments = operands(2, 3, 3, 150, 190, 40, 40)
    weight = torch.randn(2, 3, 150, 40)
    compiled = torch.compile(f, backend=ft.backend)
    threads, results = torch.get_num_threads(), []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            results.append(gradients(compiled, arguments, None, weight, torch.float32))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(*results))
