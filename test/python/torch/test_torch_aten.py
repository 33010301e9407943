"""Families of ATen ops against eager torch, with the inputs that are special for them; none of them
may run through torch."""

import functools
import math

import pytest

torch = pytest.importorskip("torch")

import frameloom.torch  # noqa: E402

INF, NAN = math.inf, math.nan


def known_graphs():
    return list(frameloom.torch.compiled_graphs)  # it forgets graphs that nobody uses


def made_since(before):
    return [graph for graph in frameloom.torch.compiled_graphs if all(graph is not old for old in before)]


def as_eager(fn, *args, exact=True, host=False):
    """Runs `fn` compiled and in eager torch; the results."""
    torch._dynamo.reset()
    before = known_graphs()
    with torch.no_grad():
        expected = fn(*args)
        got = torch.compile(fn, backend=frameloom.torch.backend)(*args)
    graphs = made_since(before)
    calls = [call for graph in graphs for version in graph.report() for call in version["host_calls"]]
    assert graphs
    assert bool(calls) == host, calls
    tolerance = {"rtol": 0, "atol": 0} if exact else {}
    torch.testing.assert_close(got, expected, equal_nan=True, **tolerance)


SPECIAL = torch.tensor([[3.0, NAN, -0.0, 0.0, INF, -2.0, 3.0], [1.0, 1.0, -INF, 5.0, NAN, NAN, 0.5]])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_stable_sort(dim, descending):
    for x in (SPECIAL, SPECIAL.double(), SPECIAL.bfloat16(), (torch.arange(60).reshape(12, 5) * 7 % 11)):
        as_eager(lambda x: torch.sort(x, dim=dim, descending=descending, stable=True), x)
        as_eager(lambda x: torch.sort(x, dim=dim, descending=descending)[0], x)


def test_sort_of_one():
    as_eager(lambda x: torch.sort(x), torch.tensor(2.0))
    as_eager(lambda x: torch.sort(x, dim=1), torch.zeros(3, 0))
    as_eager(lambda x: torch.sort(x, dim=1), torch.zeros(0, 3))


def test_topk_and_kthvalue():
    x = torch.randn(4, 300)
    as_eager(lambda x: torch.topk(x, 7)[0], x)
    as_eager(lambda x: torch.topk(x, 7, dim=0 - 1, largest=False)[0], x)
    as_eager(lambda x: torch.topk(x, 2, dim=0)[0], x)
    as_eager(lambda x: torch.kthvalue(x, 5, dim=1, keepdim=True)[0], x)
    as_eager(lambda x: torch.topk(x, 3)[0], torch.arange(12) % 5)
    for y in (x, x.relu(), torch.arange(12) % 5):  # eager's choice of equal ones
        as_eager(lambda x: torch.topk(x, 3), y)
        as_eager(lambda x: torch.kthvalue(x, 3), y, host=True)


def test_medians():
    for x in (SPECIAL, SPECIAL[:, 2:], SPECIAL.nan_to_num(0, 1, -1), torch.full((2, 3), NAN)):
        for fn in (torch.median, torch.nanmedian):
            as_eager(lambda x: fn(x, dim=1), x)
            as_eager(lambda x: fn(x, dim=0, keepdim=True), x)
            as_eager(lambda x: fn(x), x)
    as_eager(lambda x: torch.median(x, dim=0), torch.arange(24).reshape(8, 3) % 5)


@pytest.mark.parametrize("right", [False, True])
def test_searches(right):
    values = torch.tensor([-5.0, 0.0, 1.0, 1.5, 7.0, 99.0, NAN, INF, -INF])
    edges = torch.tensor([0.0, 1.0, 1.0, 7.0, 20.0])
    as_eager(lambda v, e: torch.bucketize(v, e, right=right), values, edges)
    as_eager(lambda v, e: torch.bucketize(v, e, right=right, out_int32=True), values, edges)
    as_eager(lambda v, e: torch.bucketize(v, e, right=right), values, torch.tensor([3.0, NAN, 1.0, 0.0]))
    as_eager(lambda v, e: torch.searchsorted(e, v, right=right), values.reshape(3, 3), edges.expand(3, 5))
    order = torch.tensor([4, 0, 3, 2, 1])
    as_eager(lambda v, e, s: torch.searchsorted(e, v, right=right, sorter=s), values, edges[order], order.argsort())


@pytest.mark.parametrize("number", [0, 1, 2, -1, 0.5, 300, True, NAN])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int64, torch.float16, torch.float32])
def test_searches_for_a_number(dtype, number):
    edges, host = torch.tensor([0, 0, 1]).to(dtype), not dtype.is_floating_point
    if number is True and dtype is torch.bool:
        pytest.skip("torch has no such search")
    for right in (False, True):
        as_eager(lambda e: torch.bucketize(number, e, right=right), edges, host=host)
        as_eager(lambda e: torch.searchsorted(e, number, right=right), edges, host=host)


def test_running_extremes():
    for x in (SPECIAL, SPECIAL.double(), torch.arange(12).reshape(3, 4) % 5, torch.tensor([[True, False, True]])):
        for dim in (0, 1):
            as_eager(lambda x: torch.cummax(x, dim), x)
            as_eager(lambda x: torch.cummin(x, dim), x)


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce(reduce, include):
    index = torch.tensor([[0, 2, 0], [1, 1, 1]])
    for dtype in (torch.float32, torch.int64, torch.int8, torch.bfloat16):
        x = torch.arange(1, 13).reshape(3, 4).to(dtype)
        src = torch.tensor([[5, -2, 3], [-7, 4, 2]]).to(dtype)
        as_eager(lambda x, i, s: x.scatter_reduce(0, i, s, reduce, include_self=include), x, index, src)
        if reduce != "sum" and not (reduce == "mean" and dtype == torch.bfloat16):
            rows = torch.tensor([2, 0, 2])
            as_eager(lambda x, i, s: x.index_reduce(0, i, s, reduce, include_self=include), x, rows, x.flip(0) - 6)
    nan = torch.tensor([1.0, NAN, 3.0])
    as_eager(lambda x: torch.zeros(2).scatter_reduce(0, torch.tensor([0, 0, 1]), x, reduce, include_self=include), nan)


def test_scatter_wrong_index():
    def fn(x, i):
        return x.scatter_add(0, i, torch.ones(3))

    compiled = torch.compile(fn, backend=frameloom.torch.backend)
    with pytest.raises((IndexError, RuntimeError)):
        compiled(torch.zeros(2), torch.tensor([0, 1, 2]))


def test_masked_scatter():
    mask = torch.tensor([[True, False, True], [False, True, True]])
    as_eager(lambda x, m, s: x.masked_scatter(m, s), torch.zeros(2, 3), mask, torch.arange(7.0))
    as_eager(lambda x, m, s: x.masked_scatter(m, s), torch.zeros(2, 3), ~mask[0], torch.arange(7.0))
    compiled = torch.compile(lambda x, m, s: x.masked_scatter(m, s), backend=frameloom.torch.backend)
    with pytest.raises((IndexError, RuntimeError)):
        compiled(torch.zeros(2, 3), mask, torch.arange(3.0))


def test_strided():
    x = torch.arange(24.0)
    as_eager(lambda x: x.as_strided((3, 4), (2, 5), 1) + 0, x)
    as_eager(lambda x: x.as_strided((3, 2), (2, 1), 4) + 0, x)
    as_eager(lambda x: torch.as_strided_scatter(x, torch.full((3, 2), 7.0), (3, 2), (8, 1), 2), x)
    as_eager(lambda x: torch.as_strided_scatter(x, torch.full((3, 2), 7.0), (3, 2), (2, 1), 2), x.reshape(4, 6))
    as_eager(lambda x: x.unfold(0, 5, 3).sum(1), x, exact=False)
    as_eager(lambda x: x.unfold(1, 2, 1) * 2, x.reshape(4, 6))


STORED = torch.arange(60.0).reshape(5, 12)
PARTS = {"steps": STORED[:, ::2], "rows": STORED[1:], "first rows": STORED[:3], "columns": STORED[:, 3:9], "transposed": STORED.T,
         "expanded": STORED[:1].expand(5, 12), "whole": STORED, "of another type": STORED.view(torch.int32)[:, :12]}
LOOKS = [lambda x: x.as_strided((2, 3), (1, 3)) + 0, lambda x: x.as_strided((2, 3), (1, 3), 2) * 1, lambda x: torch.as_strided_copy(x, (2, 3), (1, 3)),
         lambda x: torch.as_strided_scatter(x, torch.full_like(x[:2, :3], 7), (2, 3), (1, 3)), lambda x: (x + 1).as_strided((2, 3), (1, 3)) * 2,
         lambda x: x[1:, 1:].as_strided((2, 3), (1, 3)) * 2, lambda x: (x + 1).T.as_strided((2, 3), (1, 3)) * 2,
         lambda x: (x + 1)[1:].as_strided((2, 3), (1, 3)) * 2, lambda x: (x + 1)[:, ::2].as_strided((2, 3), (1, 3)) * 2]


@frameloom.torch.config.patch(strict=False)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("first", PARTS)
def test_what_looks_into_a_storage(first, dynamic):
    """Elements beside the operand's own count, those of what is given later as well."""
    for look in LOOKS:
        torch._dynamo.reset()
        compiled = torch.compile(look, backend=frameloom.torch.backend, dynamic=dynamic)
        given = PARTS[first]
        again = torch.cat([given.new_zeros(7), torch.as_strided(given, (60,), (1,), 0)])[7:].as_strided(given.shape, given.stride(), 7 + given.storage_offset())
        for x in (given, again, given):
            with torch.no_grad():
                want = look(x)
                assert torch.equal(compiled(x), want), (first, LOOKS.index(look))


def test_put_and_single_elements():
    x = torch.arange(6.0).reshape(2, 3)
    as_eager(lambda x, i, s: x.put(i, s), x, torch.tensor([[0, -1]]), torch.tensor([[7.0, 8.0]]))
    as_eager(lambda x, i, s: x.put(i, s, accumulate=True), x, torch.tensor([1, 1]), torch.tensor([7.0, 8.0]))
    as_eager(lambda x: torch.max(x, dim=0), torch.tensor(3.0))
    as_eager(lambda x, i: x.index_select(0, i), torch.tensor(3.0), torch.tensor([0]))
    as_eager(lambda x, i: torch.gather(x, 0, i), torch.tensor(3.0), torch.tensor([0, 0]))


def test_pointwise():
    x = torch.tensor([0.0, -0.0, 1.5, -2.5, 1e-40, -1e38, INF, -INF, NAN, 0.1, 8.0])
    as_eager(torch.frexp, x)
    as_eager(torch.frexp, x.double())
    as_eager(torch.frexp, x.bfloat16())
    as_eager(torch.angle, x)
    as_eager(torch.nextafter, x, x.flip(0))
    for decimals in (0, 2, -1):
        as_eager(lambda x: torch.round(x, decimals=decimals), x * 13.377)
    counts = torch.tensor([0, 1, 5, 7, 30, 3])
    for dtype in (torch.int64, torch.int32, torch.uint8):
        y = torch.tensor([1, 100, 7, 9, 3, 255 if dtype == torch.uint8 else -5]).to(dtype)
        small = torch.minimum(counts, torch.tensor(7)).to(dtype)
        as_eager(torch.bitwise_left_shift, y, small)
        as_eager(torch.bitwise_right_shift, y, small)
        as_eager(torch.gcd, y, small)


SPECIAL_FUNCTIONS = {
    "erfc": (torch.erfc, 1e-14),
    "erfcx": (torch.special.erfcx, 1e-14),
    "erfinv": (torch.erfinv, 1e-14),
    "ndtri": (torch.special.ndtri, 1e-14),
    "lgamma": (torch.lgamma, 1e-13),
    "digamma": (torch.digamma, 1e-11),
    "polygamma1": (lambda x: torch.polygamma(1, x), 1e-8),  # what eager's own is good for
    "polygamma4": (lambda x: torch.polygamma(4, x), 1e-11),
    "i0": (torch.i0, 1e-14),
    "i0e": (torch.special.i0e, 1e-14),
    "i1": (torch.special.i1, 1e-14),
    "i1e": (torch.special.i1e, 1e-14),
    "k0": (torch.special.modified_bessel_k0, 1e-13),
    "k1": (torch.special.modified_bessel_k1, 1e-13),
    "k0e": (torch.special.scaled_modified_bessel_k0, 1e-13),
    "k1e": (torch.special.scaled_modified_bessel_k1, 1e-13),
    "j0": (torch.special.bessel_j0, 2e-6),
    "j1": (torch.special.bessel_j1, 2e-6),
    "y0": (torch.special.bessel_y0, 2e-6),
    "y1": (torch.special.bessel_y1, 2e-6),
    "spherical_j0": (torch.special.spherical_bessel_j0, 1e-14),
    "airy": (torch.special.airy_ai, 5e-6),
}


@pytest.mark.parametrize("name", SPECIAL_FUNCTIONS)
def test_special(name):
    """In parts of 1 + |value|; eager's Bessel functions of float64 are no better than that."""
    fn, tolerance = SPECIAL_FUNCTIONS[name]
    ends = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1e-30, NAN, 8.0, 5.0, 7.999, 8.001], dtype=torch.float64)
    x = torch.cat([ends, torch.linspace(-12, 12, 1001, dtype=torch.float64) + 1e-3, torch.linspace(0, 40, 99) + 1e-3])
    if name in ("erfinv", "ndtri"):
        x = torch.cat([x, torch.rand(300, dtype=torch.float64), torch.tensor([1e-20, 1e-200, 1 - 1e-15])])
    if name == "polygamma1":
        x = x[x != -1]  # a pole, which eager takes for a large number
    for dtype in (torch.float64, torch.float32):
        given = x.to(dtype)
        expected = fn(given.double())
        torch._dynamo.reset()
        before = known_graphs()
        got = torch.compile(fn, backend=frameloom.torch.backend)(given).double()
        assert not made_since(before)[0].report()[0]["host_calls"]
        if dtype == torch.float32:
            expected = torch.where(expected.abs() > 3e38, expected * INF, expected)
        torch.testing.assert_close(
            got, expected, rtol=max(tolerance, 2e-7 if dtype == torch.float32 else 0),
            atol=max(tolerance, 2e-7 if dtype == torch.float32 else 0), equal_nan=True,
        )


def test_complex():
    x = torch.randn(3, 4, 6)
    turn = torch.polar(torch.ones(4, 3), torch.randn(4, 3))

    def rotary(x, turn):
        pairs = torch.view_as_complex(x.reshape(3, 4, 3, 2))
        return torch.view_as_real(pairs * turn).flatten(2)

    as_eager(rotary, x, turn, exact=False)
    z, w = torch.randn(5, 3, dtype=torch.complex64), torch.randn(3, 4, dtype=torch.complex128)
    as_eager(lambda z: (z.abs(), z.angle(), z.conj() * z, z.real + z.imag, torch.sgn(z)), z, exact=False)
    as_eager(lambda z, w: z.to(torch.complex128) @ w, z, w, exact=False)
    as_eager(lambda z: (z * (2 - 1j) + 0.5j) / (z - 3), z, exact=False)
    as_eager(lambda z: torch.where(z.real > 0, z, 0).sum(0), z, exact=False)
    as_eager(lambda z: (z == z.conj(), z != 0, torch.isnan(z)), z)
    as_eager(lambda r, i: torch.complex(r, i) * 1j, torch.randn(4), torch.randn(4))
    as_eager(lambda z: torch.sin(z), z, exact=False, host=True)


def test_bytes_as_mask():
    """As an index a tensor of uint8 is a mask, not a list of positions."""
    def put(x, bytes, v):
        return torch.index_put(x, (bytes,), v)

    x, bytes, v = torch.zeros(3, 2), torch.tensor([1, 0, 1], dtype=torch.uint8), torch.arange(1.0, 5).reshape(2, 2)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(put, backend=frameloom.torch.backend)(x, bytes, v), put(x, bytes, v))


def rows_of(index, x):
    return index[:, None].expand(len(index), x.shape[1])


POSITIONS = {
    "index_add": lambda x, i, v: x.index_add(0, i, v),
    "index_add of a multiple": lambda x, i, v: x.index_add(1, i, v[:, :2].T.repeat(3, 1)[:5], alpha=3),
    "index_copy": lambda x, i, v: x.index_copy(0, i, v),
    "index_fill": lambda x, i, v: x.index_fill(0, i, 2.0),
    "index_fill with a tensor": lambda x, i, v: x.index_fill(1, i % 3, v[1, 1]),
    "index_put": lambda x, i, v: x.index_put((i,), v, accumulate=True),
    "index_reduce": lambda x, i, v: x.index_reduce(0, i, v, "mean"),
    "index_select": lambda x, i, v: x.index_select(0, i),
    "gather": lambda x, i, v: x.gather(0, rows_of(i, x)),
    "scatter": lambda x, i, v: x.scatter(0, rows_of(i, x), v),
    "scatter_add": lambda x, i, v: x.scatter_add(0, rows_of(i, x), v),
    "scatter_reduce": lambda x, i, v: x.scatter_reduce(0, rows_of(i, x), v, "amax"),
    "take": lambda x, i, v: x.take(i),
    "embedding": lambda x, i, v: torch.nn.functional.embedding(i, x),
}


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_positions_out_of_bounds(name, dynamic):
    """Positions count from the end where they do in eager torch, and else raise what it raises."""

    def result(f, index):
        try:
            return f(torch.ones(5, 3), index, torch.arange(6.0).reshape(2, 3))
        except (IndexError, RuntimeError) as error:
            return type(error), str(error)

    torch._dynamo.reset()
    run = torch.compile(POSITIONS[name], backend=frameloom.torch.backend, dynamic=dynamic)
    for places in ([2, 1], [0, -1], [0, 15], [-19, 1]):
        for dtype in (torch.int64, torch.int32)[:1 if name == "take" else 2]:  # Dynamo has a text of its own
            index = torch.tensor(places, dtype=dtype)
            got, want = result(run, index), result(POSITIONS[name], index)
            assert torch.equal(got, want) if isinstance(want, torch.Tensor) else got == want


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF])
def test_cdist(p):
    """Forward and backward, with rows that are equal."""
    x, y = torch.randn(2, 4, 3, dtype=torch.float64), torch.randn(2, 5, 3, dtype=torch.float64)
    y[:, 0] = x[:, 0]
    results = []
    for fn in (torch.cdist, torch.compile(torch.cdist, backend=frameloom.torch.backend)):
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        far = fn(a, b, p)
        (far * torch.arange(1.0, 21).reshape(4, 5)).sum().backward()
        results.append((far.detach(), a.grad, b.grad))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF])
@pytest.mark.parametrize("width", [3, 19])
def test_cdist_of_unknown_differences(p, width):
    x, y = torch.randn(5, width), torch.randn(4, width)
    for rows in (x, y):
        rows[torch.rand_like(rows) < 0.1] = NAN
        rows[torch.rand_like(rows) < 0.1] = INF
    y[0], x[1], y[1], x[2], y[2] = x[0], 1.0, 1.0, INF, 0.5
    far = functools.partial(torch.cdist, p=p, compute_mode="donot_use_mm_for_euclid_dist")
    results = []
    for fn in (far, torch.compile(far, backend=frameloom.torch.backend)):
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        out = fn(a, b)
        out.backward(torch.ones_like(out))
        results.append((out.detach(), a.grad, b.grad))
    torch.testing.assert_close(*results, equal_nan=True)


@pytest.mark.parametrize("pads", [(2, 1), (-1, 2), (1, -2), (-4, 2), (3, -6, 1, 1), (-1, -1, 2, 0)])
def test_replication_pad_gradient(pads):
    def fn(x):
        y = torch.nn.functional.pad(x, pads, mode="replicate")
        return (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum()

    x = torch.randn(2, 3, 4, 4) if len(pads) == 4 else torch.randn(2, 3, 4)
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    try:
        fn(a).backward()
    except RuntimeError:
        pytest.skip("eager torch refuses these")
    torch._dynamo.reset()
    torch.compile(fn, backend=frameloom.torch.backend)(b).backward()
    torch.testing.assert_close(b.grad, a.grad)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("options", [(3, 2, 1), (2, 1, 1), (3, (1, 2), (1, 0)), (3, 1, 1, 2), (2, 1, 1, 3), (3, 2, 1, 1, True)])
def test_largest_of_negative_infinities(options, dynamic):
    """A window whose elements are all as small as the padding names its first element, not a place of the padding."""
    x = torch.randn(2, 3, 7, 6)
    x[0, :, :4], x[1, 0] = -INF, -INF
    x[1, 1, 0, 0], x[1, 2, :, -1] = NAN, -INF
    results = []
    torch._dynamo.reset()
    pool = lambda x: torch.nn.functional.max_pool2d(x, *options, return_indices=True)
    for fn in (pool, torch.compile(pool, backend=frameloom.torch.backend, dynamic=dynamic)):
        given = x.clone().requires_grad_()
        y, places = fn(given)
        torch.where(y > -INF, y, 1.0).sum().backward()
        results.append((y.detach(), places, given.grad))
        given.grad = None
        y, places = fn(given)
        y.backward(torch.arange(1.0, y.numel() + 1).reshape(y.shape))
        results[-1] += (given.grad,)
    torch.testing.assert_close(*results, equal_nan=True)


POOLS = {
    "cut": lambda x: torch.nn.functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "ceil": lambda x: torch.nn.functional.avg_pool2d(x, (3, 2), 2, (1, 0), ceil_mode=True),
    "divisor": lambda x: torch.nn.functional.avg_pool2d(x, 2, 1, divisor_override=3),
    "wide": lambda x: torch.nn.functional.avg_pool3d(x, (2, 3, 5), (1, 2, 3), (1, 1, 2)),
    "adaptive": lambda x: torch.nn.functional.adaptive_avg_pool2d(x, (3, 4)),
    "larger": lambda x: torch.nn.functional.adaptive_avg_pool2d(x, (11, 5)),
    "adaptive3": lambda x: torch.nn.functional.adaptive_avg_pool3d(x, (2, 3, 4)),
    "max": lambda x: torch.nn.functional.adaptive_max_pool2d(x, (3, 4)),
    "max3": lambda x: torch.nn.functional.max_pool3d(x, 2, (1, 2, 2), 1, (1, 2, 1)),
    "indices": lambda x: torch.nn.functional.adaptive_max_pool3d(x, (2, 3, 4), return_indices=True)[0],
}


@pytest.mark.parametrize("name", POOLS)
def test_pools(name):
    """Forward and gradient, with equal elements."""
    x = torch.randint(0, 5, (2, 3, 7, 10, 9)).float() if "3" in name or name in ("wide", "indices") else None
    x = torch.randint(0, 5, (2, 3, 10, 9)).float() if x is None else x
    results = []
    torch._dynamo.reset()
    before = known_graphs()
    for fn in (POOLS[name], torch.compile(POOLS[name], backend=frameloom.torch.backend)):
        given = x.clone().requires_grad_()
        y = fn(given)
        (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum().backward()
        results.append((y.detach(), given.grad))
    torch.testing.assert_close(*results)
    for graph in made_since(before):
        assert not graph.report()[0]["host_calls"]
