"""The sections of bench/gpu.py that compare kernels: memory, rows, products and attention.

A section is a function of the machine that gives (group, name, callable) of its rows; a row's callable gives its facts. Sizes
on the driver of the tests are tiny, and there are fewer rows.
"""

from __future__ import annotations

import itertools

from gpu_machine import backward_row, epsilon_of, forward_row, random

MIB = 1 << 20


def chosen(machine, large, tiny):
    return tiny if machine.tiny else large


# ---- pointwise, turned, reduced ----


def memory(machine):
    """Elementwise programs and reductions of 256 MiB: their share of a copy's rate."""
    side = chosen(machine, 8192, 64)
    size = {"float32": 4 * side * side, "bfloat16": 2 * side * side}

    def elementwise(name, group, function, shapes, dtype, moved):
        def run():
            return forward_row(
                machine, group, f"{name}, {dtype}", function, [random(machine, shape, dtype) for shape in shapes], bytes=moved
            )

        return group, f"{name}, {dtype}", run

    full, row, column = (side, side), (1, side), (side, 1)
    for dtype in ("float32", "bfloat16"):
        whole = size[dtype]
        yield elementwise("a * b + 1, then relu", "pointwise", lambda a, b: (a * b + 1).relu(), [full, full], dtype, 3 * whole)
        yield elementwise(
            "gelu",
            "pointwise",
            lambda x: 0.5 * x * (1 + (0.7978845608 * (x + 0.044715 * x * x * x)).tanh()),
            [full],
            dtype,
            2 * whole,
        )
        yield elementwise(
            "rows and columns added", "pointwise", lambda a, b, x: x * a + b, [row, column, full], dtype, 2 * whole
        )
        yield elementwise("two vectors to a matrix", "pointwise", lambda a, b: (a - b).abs(), [row, column], dtype, whole)
        yield elementwise("a.T + b", "transposed", lambda a, b: a.t() + b, [full, full], dtype, 3 * whole)
        yield elementwise("a.T, contiguous", "transposed", lambda a: (a.t() * 2).contiguous(), [full], dtype, 2 * whole)
    reductions = {
        "sum": lambda x, dim: x.sum(dim),
        "mean of squares": lambda x, dim: (x * x).mean(dim),
        "largest": lambda x, dim: x.amax(dim),
    }
    reduced = {
        "rows": (full, 1),
        "columns": (full, 0),
        "all": (full, (0, 1)),
        "short rows": ((side * side // 32, 32), 1),
        "long rows": ((16, side * side // 16), 1),
    }
    for (what, function), (where, (shape, dim)), dtype in itertools.product(reductions.items(), reduced.items(), size):
        if dtype == "bfloat16" and (what != "sum" or where not in ("rows", "columns", "all")):
            continue

        def run(function=function, shape=shape, dim=dim, dtype=dtype, name=f"{what} of {where}, {dtype}"):
            x = random(machine, shape, dtype).abs_()  # sums that lose nothing by cancelling: what is left is rounding
            return forward_row(
                machine,
                "reductions",
                name,
                lambda x: function(x, dim),
                [x],
                bytes=x.numel() * x.element_size(),
                epsilon=8 * epsilon_of(x.dtype),
            )

        yield "reductions", f"{what} of {where}, {dtype}", run


# ---- rows ----


def softmax(x):
    return x.softmax(-1)


def layernorm(x, gain, bias):
    import torch.nn.functional as F

    return F.layer_norm(x, (x.shape[-1],), gain, bias, 1e-5)


def rmsnorm(x, gain):
    return x * (x * x).mean(-1, keepdim=True).add(1e-6).rsqrt() * gain


def rows(machine):
    """Softmax and normalisations, forward and backward: 128 MiB of rows of 1,024 to 32,768 elements."""
    kinds = {"softmax": softmax, "layernorm": layernorm, "rmsnorm": rmsnorm}
    lengths = chosen(machine, (4096, 32768, 1024, 16384, 8192, 2048), (64,))
    for length, (kind, function), dtype in itertools.product(lengths, kinds.items(), ("bfloat16", "float32")):
        count = chosen(machine, 128 * MIB // 4 // length, 8)

        def operands(grad, function=function, length=length, dtype=dtype, count=count):
            x = random(machine, (count, length), dtype, grad)
            weights = [random(machine, (length,), dtype, grad) for _ in range(2)]
            return [x] if function is softmax else [x, *weights] if function is layernorm else [x, weights[0]]

        def forward(operands=operands, function=function, name=f"{kind}, {length}, {dtype}"):
            given = operands(False)
            return forward_row(
                machine, "rows forward", name, function, given, bytes=2 * given[0].numel() * given[0].element_size()
            )

        def backward(operands=operands, function=function, name=f"{kind}, {length}, {dtype}, gradient"):
            given = operands(True)
            return backward_row(
                machine, "rows backward", name, function, given, bytes=3 * given[0].numel() * given[0].element_size()
            )

        yield "rows forward", f"{kind}, {length}, {dtype}", forward
        yield "rows backward", f"{kind}, {length}, {dtype}, gradient", backward


# ---- products ----

SHAPES = [
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (6144, 6144, 6144),
    (5120, 5120, 5120),
    (4096, 8192, 4096),
    (8192, 4096, 4096),
    (4096, 4096, 8192),
    (8192, 8192, 4096),
    (4096, 8192, 8192),
    (6144, 8192, 4096),
]


def product(a, b):
    return a @ b


def with_turned(a, b):
    return a @ b.t()


def product_row(machine, group, name, m, n, k, dtype, turned=False, **more):
    a, b = random(machine, (m, k), dtype, scale=k**-0.25), random(machine, (n, k) if turned else (k, n), dtype, scale=k**-0.25)
    return forward_row(
        machine, group, name, with_turned if turned else product, [a, b], flops=2 * m * n * k, inductor=False, **more
    )


def products_of(machine, group):
    shapes = chosen(machine, SHAPES, [(128, 128, 64)])
    for turned, (i, (m, n, k)) in itertools.product((True, False), enumerate(shapes)):
        dtype = "bfloat16" if i % 5 else "float16"
        name = f"{m} x {n} x {k}, {dtype}" + ", b turned" * turned
        yield group, name, lambda name=name, m=m, n=n, k=k, dtype=dtype, turned=turned: product_row(
            machine, group, name, m, n, k, dtype, turned
        )


def products(machine):
    """Twenty products of halves by instructions of warps: cuBLAS beside them is torch's own."""
    yield from products_of(machine, "products by warps")


def warpgroups(machine):
    """The same products by instructions of warpgroups, with FRAMELOOM_WGMMA."""
    yield from products_of(machine, "products by warpgroups")


def other_products(machine):
    """Products of TF32, f32 and f64, and of few rows."""
    import torch

    for side in chosen(machine, (4096, 8192), (64,)):
        for dtype, group, precise in (("float32", "tf32", False), ("float32", "f32", True), ("float64", "f64", True)):

            def run(side=side, dtype=dtype, group=group, precise=precise, name=f"{side}, {group}"):
                torch.backends.cuda.matmul.allow_tf32 = not precise
                try:
                    return product_row(
                        machine, group, name, side, side, side, dtype, turned=True, **({} if precise else {"epsilon": 2.0**-10})
                    )
                finally:
                    torch.backends.cuda.matmul.allow_tf32 = False

            if not machine.tiny or group != "f64":
                yield group, f"{side}, {group}", run
    side = chosen(machine, 8192, 64)
    for count in chosen(machine, (1, 4, 8, 16, 32), (1, 4)):

        def run(count=count, name=f"{count} rows of {side}, bfloat16"):
            return product_row(
                machine, "few rows", name, count, side, side, "bfloat16", turned=True, bytes=2 * side * (side + 2 * count)
            )

        yield "few rows", f"{count} rows of {side}, bfloat16", run


def epilogues(machine):
    """Products with an epilogue, beside Inductor's with max-autotune."""
    import torch.nn.functional as F

    def gelu(x, w, b):
        return F.gelu(x @ w.t() + b, approximate="tanh")

    def residual(x, w, b, y):
        return (x @ w.t() + b) * 0.5 + y

    side, wide = chosen(machine, (4096, 11008), (64, 96))
    for kind, function in (("gelu of a biased product", gelu), ("a biased product added", residual)):
        for m, n in ((side, wide), (wide, side)):

            def run(function=function, m=m, n=n, name=f"{kind}, {m} x {n} x {side}"):
                operands = [
                    random(machine, shape, "bfloat16", scale=side**-0.25) for shape in ((m, side), (n, side), (n,), (m, n))
                ]
                return forward_row(
                    machine,
                    "epilogues",
                    name,
                    function,
                    operands[: 3 + (function is residual)],
                    flops=2 * m * n * side,
                    options={"mode": "max-autotune-no-cudagraphs"},
                )

            yield "epilogues", f"{kind}, {m} x {n} x {side}", run


# ---- attention ----


def attention_of(machine, group):
    import torch
    import torch.nn.functional as F

    def backends(function):
        """torch's own by each of its backends alone."""

        def by(kind):
            def call(*operands):
                from torch.nn.attention import SDPBackend, sdpa_kernel

                with sdpa_kernel(getattr(SDPBackend, kind)):
                    return function(*operands)

            return call

        return {"flash": by("FLASH_ATTENTION"), "efficient": by("EFFICIENT_ATTENTION"), "cudnn": by("CUDNN_ATTENTION")}

    heads, width = chosen(machine, (16, 128), (1, 64))
    lengths = chosen(machine, (4096, 16384, 8192), (64,))
    for length, causal, gradient in itertools.product(lengths, (True, False), (False, True)):
        batch = chosen(machine, 16384 // length, 1)
        name = f"{length}" + ", causal" * causal + ", gradient" * gradient
        of = group + " backward" * gradient
        products = (5 if gradient else 2) * 2 * batch * heads * length * length * width / (2 if causal else 1)

        def run(length=length, causal=causal, gradient=gradient, batch=batch, name=name, products=products, of=of):
            def function(q, k, v):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

            operands = [random(machine, (batch, heads, length, width), "bfloat16", gradient) for _ in range(3)]
            make = backward_row if gradient else forward_row
            return make(
                machine,
                of,
                name,
                function,
                operands,
                flops=products,
                wide=torch.float32,
                inductor=False,
                more=backends(function),
            )

        yield of, name, run


def attention(machine):
    """Attention of bfloat16 with 128 columns by instructions of warps: torch's backends beside it."""
    yield from attention_of(machine, "attention by warps")


def attention_warpgroups(machine):
    """The same by instructions of warpgroups, with FRAMELOOM_WGMMA."""
    yield from attention_of(machine, "attention by warpgroups")
