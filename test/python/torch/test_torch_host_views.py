"""Ops that run through torch get views of arguments where they lie, with the strides that eager torch gives them."""

import pytest

torch = pytest.importorskip("torch")

SEEN = []


@torch.library.custom_op("frameloom_test::look", mutates_args=())
def look(x: torch.Tensor) -> torch.Tensor:
    SEEN.append((tuple(x.shape), tuple(x.stride()), x.untyped_storage().data_ptr() + x.storage_offset() * x.element_size()))
    return x * 2 + 1


@look.register_fake
def _(x):
    return torch.empty_like(x)


VIEWS = {
    "rows": lambda x: x[::2], "columns": lambda x: x[:, 1:4], "steps": lambda x: x[1:, ::3], "one": lambda x: x[2], "column": lambda x: x[:, 3], "transposed part": lambda x: x[:, :3].t(),
    "diagonal": lambda x: x.diagonal(1), "windows": lambda x: x.unfold(1, 3, 2), "overlapping": lambda x: x.as_strided((3, 4), (2, 1), 1), "expanded part": lambda x: x[1, None, ::2].expand(3, 4),
    "narrow": lambda x: x.narrow(0, 1, 3), "split": lambda x: x.split(3, 1)[1], "view of view": lambda x: x[:, 2:6][1:4].unsqueeze(0)[..., ::2], "empty": lambda x: x[:, 5:5], "whole": lambda x: x,
}  # fmt: skip
LAYOUTS = {
    "dense": lambda: torch.arange(48.0).reshape(6, 8), "transposed": lambda: torch.arange(48.0).reshape(8, 6).t(), "offset": lambda: torch.arange(64.0)[8:56].reshape(6, 8),
    "gaps": lambda: torch.arange(96.0).reshape(6, 16)[:, ::2], "expanded": lambda: torch.arange(8.0).expand(6, 8), "ints": lambda: torch.arange(48, dtype=torch.int16).reshape(6, 8),
    "complex": lambda: torch.arange(48.0).reshape(6, 8) * (1 + 2j),
}  # fmt: skip


def compiled(function, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend="frameloom", fullgraph=True, options={"strict": True}, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("view", VIEWS)
def test_views(view, layout):
    make, part = LAYOUTS[layout], VIEWS[view]
    if view == "overlapping" and layout in ("offset", "gaps", "expanded"):
        pytest.skip("what looks into a storage needs the whole of it")

    def function(x):
        return look(part(x)), part(x) + 1

    with torch.no_grad():
        f = compiled(function)
        for _ in range(2):
            x = make()
            SEEN.clear()
            want, got = function(x), f(x)
            assert all(torch.equal(w, g) and w.dtype == g.dtype for w, g in zip(want, got, strict=True))
            if view == "empty":  # is not computed
                continue
            eager, ours = SEEN
            assert eager[0] == ours[0]
            if layout in ("dense", "transposed", "offset", "ints", "complex"):
                same = [(s, o) for n, s, o in zip(eager[0], eager[1], ours[1], strict=True) if n > 1]
                assert eager[2] == ours[2] and all(s == o for s, o in same), (eager, ours)


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_what_changes(view):
    """An argument that is written to before and behind: the op sees what was there when it ran."""
    part = VIEWS[view]

    def function(x, y):
        before = look(part(x))
        x.add_(1)
        between = look(part(x))
        x.copy_(y)
        return before, between, look(part(x)), x.sum()

    with torch.no_grad():
        f = compiled(function)
        for _ in range(2):
            results = []
            for g in (function, f):
                x, y = torch.arange(48.0).reshape(6, 8), torch.arange(48.0, 96.0).reshape(6, 8)
                results.append([*g(x, y), x])
            assert all(torch.equal(w, g) for w, g in zip(*results, strict=True))


def test_views_of_any_size():
    def function(x):
        return look(x[::2, 1:]), look(x[:, ::2])

    with torch.no_grad():
        f = compiled(function, dynamic=True)
        for rows in (4, 5, 9):
            x = torch.randn(rows, rows + 3)
            assert all(torch.equal(w, g) for w, g in zip(function(x), f(x), strict=True))
