"""The first section of bench/gpu.py: does it run? Kernels of each form of docs/gpu.md, compared with NumPy's results and
torch's."""

from __future__ import annotations

import numpy as np

from gpu_machine import Row, epsilon_of, random, widened

SMALL = "float32"


def numbers(shape, dtype=SMALL, seed=3):
    rng = np.random.default_rng(seed)
    if np.issubdtype(np.dtype(dtype), np.integer):
        return rng.integers(-50, 50, shape).astype(dtype)
    if dtype == "bool":
        return rng.standard_normal(shape) > 0
    return rng.standard_normal(shape).astype(dtype)


# ---- functions of NumPy ----


def softmaxed(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def normalised(x):
    c = x - x.mean(axis=-1, keepdims=True)
    return c / np.sqrt((c * c).mean(axis=-1, keepdims=True) + np.float32(1e-5))


def stepped(x):
    for _ in range(70):
        x = x * np.float32(0.5) + np.float32(1)
    return x


def updated(x):
    y = x.copy()
    y[1:-1] = x[2:] - x[:-2]
    y[0] = 0
    return y


def scattered(x, i):
    y = np.zeros_like(x)
    np.add.at(y, i, x)
    return y


def attended(q, k, v):
    return softmaxed(q @ k.transpose(0, 1, 3, 2) * np.float32(0.2)) @ v


def numpy_forms():
    """(name, function, arguments, tolerance)."""
    big, wide = numbers((300, 700)), numbers((20, 5000))
    yield "elementwise, a vector and its end", lambda a: np.tanh(a * 2 + 1), [numbers(100003)]
    yield "elementwise, buffers that are not aligned", lambda a: a[1:] * 2 - a[:-1], [numbers(100003)]
    for dtype in ("float64", "int64", "int32", "int8", "uint8", "complex64"):
        kind = numbers((64, 97), dtype) if dtype not in ("complex64", "uint8") else numbers((64, 97), "int8").astype(dtype)
        yield f"elementwise, {dtype}", lambda a: a * a + a, [kind]
    yield "conversions", lambda a: (a.astype(np.int16), a.astype(np.float16), a > 0, (a > 0).astype(np.float64)), [big]
    yield "rows and columns broadcast", lambda a, b: a[:, None] * b + a[:, None], [numbers(300), numbers(700)]
    yield "a turned operand", lambda a, b: a.T + b, [numbers((700, 300)), big]
    yield "strides and reversed axes", lambda a: a[::2, ::-1] + a[1::2], [big]
    yield "concatenated", lambda a, b: np.concatenate([a, b * 2, a]), [big, big]
    for name, axis in (("rows", 1), ("columns", 0), ("all", None)):
        yield f"sum of {name}", lambda a, axis=axis: a.sum(axis=axis), [big]
        yield f"largest of {name}", lambda a, axis=axis: (a.max(axis=axis), a.argmax(axis=axis)), [big]
        yield f"mean of {name}, float64", lambda a, axis=axis: a.astype(np.float64).mean(axis=axis), [big]
    yield "sum of few long rows, in parts", lambda a: a.sum(axis=1), [numbers((3, 400000))]
    yield "sum of many columns, in parts", lambda a: a.sum(axis=0), [numbers((40000, 5))]
    yield "sum of everything, in parts", lambda a: (a * a).sum(), [numbers(2000003)]
    yield "reductions and a result of all elements", lambda a: (a - a.sum(axis=1, keepdims=True), a.sum(axis=1)), [big]
    yield "softmax, a warp a row", softmaxed, [big]
    yield "softmax, a block a row", softmaxed, [wide]
    yield "softmax of rows beyond the registers", softmaxed, [numbers((80, 40000))]
    yield "softmax of few long rows, in parts", softmaxed, [numbers((2, 200000))]
    yield "normalisation, a warp a row", normalised, [big]
    yield "normalisation, a block a row", normalised, [wide]
    yield "normalisation of rows beyond the registers", normalised, [numbers((80, 40000))]
    yield "scan of short rows", lambda a: a.cumsum(axis=1), [numbers((500, 20))]
    yield "scan of rows", lambda a: a.cumsum(axis=1), [big]
    yield "scan of long rows", lambda a: a.cumsum(axis=1), [wide]
    yield "scan of one long row, in parts", lambda a: a.cumsum(), [numbers(300001)]
    yield "scan of columns", lambda a: a.cumsum(axis=0), [big]
    yield "indices", lambda a, i: a[i] + 1, [big, numbers(50, "int64")]
    yield "a scatter", scattered, [numbers((50, 300)), numbers(50, "int64")]
    yield "an update in place", updated, [big]
    yield "product of arrays, float32", lambda a, b: a @ b.T, [big, numbers((200, 700))]
    yield "product of arrays, float64", lambda a, b: a @ b.T, [big.astype(np.float64), numbers((200, 700), "float64")]
    yield "product of arrays, float16", lambda a, b: a @ b, [numbers((256, 128), "float16"), numbers((128, 256), "float16")]
    yield "product of arrays, int32", lambda a, b: a @ b.T, [numbers((100, 70), "int32"), numbers((90, 70), "int32")]
    yield "product with few rows and a depth in parts", lambda a, b: a @ b, [numbers((4, 9000)), numbers((9000, 300))]
    yield "product with one row", lambda a, b: a @ b, [numbers(900), numbers((900, 300))]
    yield "products of a batch with an epilogue", lambda a, b: np.maximum(a @ b + 1, 0), [
        numbers((5, 60, 70)),
        numbers((5, 70, 50)),
    ]
    yield "attention by multiply-adds", attended, [numbers((2, 3, n, 24)) for n in (70, 100, 100)]
    yield "a loop", stepped, [big]


def numpy_row(machine, name, function, arguments):
    import frameloom

    row = Row(machine, "forms", name)
    wanted = function(*arguments)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    exact = [
        a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype in (np.float16, np.float32) else a for a in arguments
    ]
    exact = function(*exact)
    exact = exact if isinstance(exact, tuple) else (exact,)
    gpu = frameloom.device("cuda:0")
    try:
        compiled = frameloom.compile(function, device=gpu)
        for again in range(2):
            got = compiled(*map(gpu.array, arguments))
            got = [np.asarray(g) for g in (got if isinstance(got, tuple) else (got,))]
            judge(row, got, wanted, exact)
    except Exception as error:
        row.facts["failed"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return row.facts


def judge(row, got, wanted, exact):
    """Dtypes and integers as NumPy's; floats within a few roundings of the largest element, or some times NumPy's own
    distance."""
    for g, w, e in zip(got, wanted, exact, strict=True):
        w = np.asarray(w)
        if g.dtype != w.dtype or g.shape != w.shape:
            row.facts["failed"] = f"{g.dtype} of {g.shape}, not {w.dtype} of {w.shape}"
        elif w.dtype.kind not in "fc":
            row.facts.update({"wrong": int((g != w).sum())} if (g != w).any() else {})
        elif w.size:
            wide = np.complex128 if w.dtype.kind == "c" else np.float64
            e = np.asarray(e).astype(wide)
            scale = max(float(np.abs(e).max()), 1e-30)
            gap, own = (float(np.abs(r.astype(wide) - e).max()) / scale for r in (g, w))
            row.facts["errors"] = {"frameloom": gap, "eager": own}
            if not gap <= max(64 * np.finfo(w.dtype).eps, 4 * own):
                row.facts["wrong"] = gap if gap == gap else None


def late_error(machine):
    """An index out of bounds is told, by what comes next."""
    import frameloom

    row = Row(machine, "forms", "an index out of bounds")
    gpu = frameloom.device("cuda:0")
    compiled = frameloom.compile(lambda a, i: a[i] + 1, device=gpu)
    try:
        np.asarray(compiled(gpu.array(numbers((50, 30))), gpu.array(np.array([3, 70], np.int64))))
        row.facts["failed"] = "nothing was raised"
    except IndexError:
        pass
    except Exception as error:
        row.facts["failed"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return row.facts


# ---- functions of torch ----


def torch_forms(machine):
    """(name, function, arguments, gradients?)."""
    import torch
    import torch.nn.functional as F

    def some(*shape, dtype="bfloat16", grad=False):
        return random(machine, shape, dtype, grad)

    def images(*shape, grad=False, last=False):
        made = random(machine, shape, "float32")
        return (made.to(memory_format=torch.channels_last) if last else made).requires_grad_(grad)

    def places(count, limit):
        return torch.arange(count).mul(7919).remainder(limit).cuda()

    def attend(causal=False):
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    n = 128 if machine.tiny else 384
    for dtype in ("bfloat16", "float16"):
        yield f"product, {dtype}", lambda a, b: a @ b, [some(n, n, dtype=dtype), some(n, n, dtype=dtype)], False
        yield f"product turned, {dtype}", lambda a, b: a @ b.t(), [some(n, n, dtype=dtype), some(n, n, dtype=dtype)], False
    yield "product of sizes that are no multiple of a tile", lambda a, b: a @ b.t(), [some(131, 77), some(99, 77)], False
    yield "product with an epilogue, gradients", lambda x, w, b: F.gelu(x @ w.t() + b), [
        some(n, 64, grad=True),
        some(96, 64, grad=True),
        some(96, grad=True),
    ], True
    if not machine.tiny:  # of which the tests' driver has no tensors, or torch none of its own beside them
        yield "product of int8", lambda a, b: torch._int_mm(a, b), [
            (some(n, n, dtype="float32") * 20).to(torch.int8),
            (some(n, n, dtype="float32") * 20).to(torch.int8),
        ], False
    yield "many tiles of a product", lambda a, b: a @ b.t(), [some(8 * n, n), some(4 * n, n)], False
    for columns in (64, 128) + (() if machine.tiny else (40, 256)):
        for grad in (False, True):
            if columns > 128 and grad:
                continue
            yield (
                f"attention of {columns} columns" + ", gradients" * grad,
                attend(),
                [some(1, 2, length, columns, grad=grad) for length in (130, 200, 200)],
                grad,
            )
            yield (
                f"causal attention of {columns} columns" + ", gradients" * grad,
                attend(True),
                [some(1, 2, 200, columns, grad=grad) for _ in range(3)],
                grad,
            )
    yield "attention of float32, gradients", attend(), [some(1, 2, 70, 32, dtype="float32", grad=True) for _ in range(3)], True
    yield (
        "attention with a mask",
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        [some(1, 2, 130, 64), some(1, 2, 200, 64), some(1, 2, 200, 64), some(130, 200)],
        False,
    )
    yield (
        "attention of heads that share keys",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        [some(1, 4, 130, 64), some(1, 2, 200, 64), some(1, 2, 200, 64)],
        False,
    )
    yield "attention of one query", attend(), [some(1, 4, 1, 64), some(1, 4, 1000, 64), some(1, 4, 1000, 64)], False
    for last in (False, True):
        yield (
            "convolution" + ", channels last" * last + ", gradients",
            lambda x, w: F.conv2d(x, w, padding=1),
            [images(2, 16, 20, 20, grad=True, last=last), images(32, 16, 3, 3, grad=True, last=last)],
            True,
        )
    yield "convolution, depthwise, gradients", lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=16), [
        images(2, 16, 20, 20, grad=True),
        images(16, 1, 3, 3, grad=True),
    ], True
    yield "pooling, gradients", lambda x: F.max_pool2d(x, 2) + F.avg_pool2d(x, 2), [images(2, 16, 20, 20, grad=True)], True
    yield "layer norm, gradients", lambda x, w, b: F.layer_norm(x, (300,), w, b), [
        some(70, 300, dtype="float32", grad=True),
        some(300, dtype="float32", grad=True),
        some(300, dtype="float32", grad=True),
    ], True
    yield "sort", lambda x: x.sort(stable=True), [some(40, 300, dtype="float32")], False
    yield "sort of long lines", lambda x: x.sort(stable=True), [some(2, 5000, dtype="float32")], False
    yield "the largest of each row", lambda x: tuple(x.max(1)), [some(40, 300, dtype="float32")], False
    yield "embedding, gradients", lambda w, i: F.embedding(i, w), [
        some(50, 30, dtype="float32", grad=True),
        places(200, 50),
    ], True
    yield "scatter of many indices", lambda x, i, y: x.index_add(0, i, y), [
        some(50, 30, dtype="float32"),
        places(500, 50),
        some(500, 30, dtype="float32"),
    ], False
    if not machine.tiny:
        yield "float8", lambda x: x.to(torch.float8_e4m3fn).to(torch.float32), [some(40, 300, dtype="float32")], False


def torch_row(machine, name, function, arguments, grad):
    import frameloom.torch as ft
    import torch

    row = Row(machine, "forms", name)

    def results(f, operands):
        made = f(*operands)
        if not grad:
            return made
        torch.manual_seed(5)
        seed = torch.randn(tuple(made.shape)).to(device="cuda", dtype=made.dtype)
        return [made, *torch.autograd.grad(made, [a for a in operands if a.requires_grad], seed)]

    epsilon = max([epsilon_of(a.dtype) for a in arguments] + [8 * 2.0**-24])
    integers = not any(a.is_floating_point() for a in arguments)
    exact = (
        (lambda: function(*[a.cpu() for a in arguments]))
        if integers
        else (lambda: results(function, widened(tuple(arguments), torch.float64)))
    )
    if name in ("sort", "sort of long lines", "float8"):
        exact = lambda: function(*arguments)  # noqa: E731  (what is no rounding of a wider result)
    made = torch.compile(function, backend=ft.backend)
    row.judge({"frameloom": lambda: results(made, arguments), "eager": lambda: results(function, arguments)}, exact, epsilon)
    return row.facts


def dynamic_row(machine):
    """Symbolic sizes: several of them by one compilation."""
    import frameloom.torch as ft
    import torch

    row = Row(machine, "forms", "symbolic sizes")

    def function(x, w):
        return (x @ w).softmax(-1), x.sum(0), x.t() + 1

    compiled = torch.compile(function, backend=ft.backend, dynamic=True)
    w = random(machine, (48, 40))
    for count in (17, 130, 5, 64):
        x = random(machine, (count, 48))
        row.judge(
            {"frameloom": lambda: compiled(x, w), "eager": lambda: function(x, w)},
            lambda: function(x.double(), w.double()),
            1e-6,
        )
    return row.facts


# ---- more than a kernel ----


def random_row(machine, name):
    """Philox gives the bits on the device that it gives on the CPU; normal numbers pass through logarithms and sines."""
    import frameloom.torch  # noqa: F401  (which registers the op)
    import torch

    row = Row(machine, "forms", name)
    seed = torch.tensor([1234567, -89], dtype=torch.int64)

    def draw(where):
        made, at = torch.ops.frameloom.random, seed.to(where)
        numbers = [made([3001], at, 2, kind, low, high, dtype=dtype) for kind, low, high, dtype in draws]
        return [t.cpu() for t in numbers]

    draws = [("uniform", 0, 0, torch.float32), ("integers", -5, 1000, torch.int64), ("uniform", 0, 0, torch.float64)]
    got, want = draw("cuda"), draw("cpu")
    row.facts.update({} if all(map(torch.equal, got, want)) else {"wrong": sum(int((g != w).sum()) for g, w in zip(got, want))})
    draws[:] = [("normal", 0, 0, torch.float32)]
    got, want = draw("cuda"), draw("cpu")
    if not torch.allclose(got[0], want[0], rtol=1e-5, atol=1e-5):
        row.facts["wrong"] = float((got[0] - want[0]).abs().max())
    return row.facts


def training_row(machine, name, dtype):
    """Steps of a small network with AdamW, and autocast with torch's scaler where halves are asked for, beside eager torch."""
    import copy

    import frameloom.torch as ft
    import torch
    from torch import nn

    row = Row(machine, "forms", name)
    torch.manual_seed(2)
    first = nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 32))
    x, y = torch.randn(64, 48), torch.randn(64, 32)

    def losses(wrap):
        model = copy.deepcopy(first).to("cuda")
        function, optimizer = wrap(model), torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
        scaler = torch.amp.GradScaler("cuda", enabled=dtype == "float16", init_scale=256.0)
        found = []
        for _ in range(5):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=getattr(torch, dtype or "bfloat16"), enabled=dtype is not None):
                loss = (function(x.cuda()).float() - y.cuda()).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            found.append(float(loss.detach()))
        return torch.tensor(found, dtype=torch.float64)

    want = losses(lambda model: model)
    got = losses(lambda model: torch.compile(model, backend=ft.backend))
    gap = float(((got - want) / want).abs().max())
    row.facts["losses"] = got.tolist()
    if not gap <= (1e-4 if dtype is None else 3e-2):
        row.facts["wrong"] = gap
    if not ft.compiled_graphs:
        row.facts["failed"] = "all of it was left to torch"
    return row.facts


def dropout_row(machine, name, dtype):
    """Attention with dropout is linear in v: gradients for which the same weights were dropped have <dv, v> = <g, out>."""
    import frameloom.torch as ft
    import torch
    import torch.nn.functional as F

    row = Row(machine, "forms", name)
    compiled = torch.compile(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.5), backend=ft.backend)
    q, k, v = (random(machine, (2, 2, 130, 64), dtype, True) for _ in range(3))
    seen = []
    for _ in range(2):
        out = compiled(q, k, v)
        g = random(machine, tuple(out.shape), dtype)
        (dv,) = torch.autograd.grad(out, [v], g)
        left, right = (float((a.double() * b.double()).sum()) for a, b in ((dv, v.detach()), (g, out.detach())))
        size = float((g.double() * out.detach().double()).abs().sum())
        row.facts["errors"] = {"frameloom": abs(left - right) / size}
        if not abs(left - right) <= (1e-5 if dtype == "float32" else 1e-2) * size:
            row.facts["wrong"] = abs(left - right) / size
        seen.append(out.detach())
    if torch.equal(*seen):
        row.facts["failed"] = "two calls drop the same weights"
    ones = compiled(q.detach(), k.detach(), torch.ones_like(v))
    if not abs(float(ones.double().mean()) - 1) <= 0.05:
        row.facts["failed"] = f"weights add up to {float(ones.double().mean()):.3f} on average"
    return row.facts


def interface_row(machine, name):
    """Tensors of torch, on torch's current stream, as arguments of a function of NumPy; the result goes back by DLPack
    (which a torch without CUDA refuses)."""
    import frameloom
    import torch

    row = Row(machine, "forms", name)
    compiled = frameloom.compile(lambda a, b: np.tanh(a) @ b.T, device=frameloom.device("cuda:0"))
    a, b = random(machine, (70, 40)), random(machine, (50, 40))
    for _ in range(3):
        a = a * 0.5 + 1
        got, want = compiled(a, b), a.tanh() @ b.t()
        got = torch.from_numpy(np.asarray(got)) if machine.tiny else torch.from_dlpack(got)
        if not torch.allclose(got.cpu(), want.cpu(), rtol=1e-4, atol=1e-4):
            row.facts["wrong"] = float((got.cpu() - want.cpu()).abs().max())
    return row.facts


def cupy_row(machine, name):
    """Arrays of CuPy in, arrays of CuPy out."""
    import cupy
    import frameloom

    row = Row(machine, "forms", name)
    a = numbers((300, 700))
    got = frameloom.compile(softmaxed, device=frameloom.device("cuda:0"))(cupy.asarray(a))
    if type(got) is not cupy.ndarray:
        row.facts["failed"] = f"a {type(got).__name__} came back"
    elif not np.allclose(cupy.asnumpy(got), softmaxed(a), rtol=1e-5, atol=1e-6):
        row.facts["wrong"] = float(np.abs(cupy.asnumpy(got) - softmaxed(a)).max())
    return row.facts


def captured_row(machine, name):
    """A compiled function in a graph of torch's own, replayed with other numbers in the same places."""
    import frameloom.torch as ft
    import torch

    row = Row(machine, "forms", name)
    x, w = random(machine, (64, 64)), random(machine, (64, 64), scale=0.2)
    compiled = torch.compile(lambda x, w: (x @ w).softmax(-1), backend=ft.backend)
    with torch.no_grad():
        made = []
        replay = machine.replayed(lambda: made.append(compiled(x, w)))
        for _ in range(3):
            x.copy_(random(machine, (64, 64)))
            replay()
            gap = float((made[-1] - (x @ w).softmax(-1)).abs().max())
            if not gap <= 1e-5:
                row.facts["wrong"] = gap
    return row.facts


def whole_forms(machine):
    yield "random numbers, the CPU's bits", random_row
    for dtype in (None, "bfloat16", "float16"):
        yield f"training steps, {dtype or 'float32'}", lambda machine, name, dtype=dtype: training_row(machine, name, dtype)
    for dtype in ("float32", "bfloat16"):
        yield f"attention with dropout, {dtype}", lambda machine, name, dtype=dtype: dropout_row(machine, name, dtype)
    yield "tensors of torch as arrays", interface_row
    if machine.tiny:
        return
    yield "a compiled function in torch's graph", captured_row
    if machine.facts()["cupy"]:
        yield "arrays of CuPy", cupy_row


def forms(machine):
    for form in numpy_forms():
        yield "forms", form[0], lambda form=form: numpy_row(machine, *form)
    yield "forms", "an index out of bounds", lambda: late_error(machine)
    for form in torch_forms(machine):
        yield "forms", form[0], lambda form=form: torch_row(machine, *form)
    yield "forms", "symbolic sizes", lambda: dynamic_row(machine)
    for name, row in whole_forms(machine):
        yield "forms", name, lambda name=name, row=row: row(machine, name)


def forms_warpgroups(machine):
    """What FRAMELOOM_WGMMA gives another form."""
    for form in torch_forms(machine):
        if "product" in form[0] or "attention" in form[0]:
            yield "forms", form[0] + ", warpgroups", lambda form=form: torch_row(machine, form[0] + ", warpgroups", *form[1:])
