"""Random functions of torch operations, some of whose arguments want gradients."""

import torch

UNARY = ["torch.sin({0})", "torch.exp({0} * 0.1)", "torch.tanh({0})", "torch.relu({0})", "torch.sigmoid({0})", "-{0}", "torch.abs({0})",
         "torch.nn.functional.gelu({0})", "torch.sqrt(torch.abs({0}) + 0.5)", "torch.log1p(torch.abs({0}))", "{0}.clamp(-1, 1)", "torch.softmax({0}, -1)",
         "torch.log_softmax({0}, -1)", "torch.nn.functional.silu({0})", "{0} ** 2", "{0}.cumsum(-1)", "torch.flip({0}, [-1])",
         "torch.roll({0}, 1, -1)", "{0}.contiguous()", "{0}.clone()", "torch.erf({0})", "torch.square({0})", "{0}.to(torch.float64)",
         "torch.nan_to_num({0})", "torch.sort({0}, -1)[0]", "torch.floor({0})", "torch.sign({0})", "{0}.detach()", "torch.tril({0}) if {0}.dim() > 1 else {0}",
         "torch.nn.functional.layer_norm({0}, {0}.shape[-1:])", "torch.nn.functional.pad({0}, (1, 2))", "torch.cumprod({0} * 0.5, -1)",
         "torch.topk({0}, 1, -1)[0]", "torch.topk({0}.relu(), {0}.shape[-1], -1)[0]", "torch.topk({0}.round(), 2, 0, largest=False)[1].to({0}.dtype)",
         "torch.topk({0}.relu(), 2, -1, sorted=False)[1].to({0}.dtype)",
         "torch.histc({0}.detach(), 5, -2, 2)", "torch.histc({0}.detach(), 3)", "(torch._assert_async(({0} == {0}).all(), 'no NaN'), {0} * 2)[1]",
         "torch.nn.functional.embedding_bag(torch.tensor([[0, 1], [1, 0]]), {0}, mode='mean') if {0}.dim() == 2 else {0}",
         "torch.nn.functional.embedding_bag(torch.tensor([0, 1, 1]), {0}, torch.tensor([0, 2, 2]), mode='sum', padding_idx=1) if {0}.dim() == 2 else {0}"]
PLACES = "(torch.arange({0}.shape[-1]) * 3 % {0}.shape[-1]).expand({0}.shape)"
UNARY += [f"torch.nn.functional.interpolate({{0}}[None], {how})[0] if {{0}}.dim() == {dims} else {{0}}" for dims, how in (
    (2, "scale_factor=2"), (2, "scale_factor=1.5, mode='linear'"), (2, "size=3, mode='linear', align_corners=True"), (3, "scale_factor=3"),
    (3, "scale_factor=(2, 1.7), mode='bilinear'"), (3, "scale_factor=0.7, mode='bicubic'"), (3, "size=(4, 5), mode='bilinear'"),
    (3, "scale_factor=2, mode='nearest-exact'"))]  # fmt: skip
UNARY += [f"torch.nn.functional.pad({{0}}[None], {how})[0] if {{0}}.dim() == {dims} else {{0}}" for dims, how in (
    (2, "(1, 1), mode='reflect'"), (2, "(0, 2), mode='replicate'"), (2, "(1, 2), mode='circular'"), (3, "(1, 0, 0, 1), mode='reflect'"),
    (3, "(2, 1, -1, 1), mode='replicate'"), (3, "(1, 1, 2, 0), mode='circular'"))]  # fmt: skip
UNARY += ["torch.roll({0}, (1, -1), (0, -1))", "torch.roll({0}, 3)", f"{{0}}.scatter_add(-1, {PLACES}, {{0}}.sin())", f"{{0}}.scatter(-1, {PLACES} // 2 * 2, 0.5)",
          f"{{0}}.scatter_reduce(-1, {PLACES} // 2, {{0}} * 2, 'amax')", f"{{0}}.gather(-1, {PLACES})", "{0}.scatter(0, torch.ones_like({0}[:1], dtype=torch.long), {0} * 2)",
          "{0}.index_add(-1, torch.arange({0}.shape[-1]) // 2, {0})", "{0}[:, torch.tensor([0, 1, 0])] if {0}.dim() > 1 else {0}",
          "{0}[..., torch.tensor([[0], [1]]), torch.tensor([1, 0, 1])] if {0}.dim() > 2 else {0}",
          "torch.nn.functional.cross_entropy({0}, torch.arange({0}.shape[0]) % 2) if {0}.dim() == 2 else {0}"]  # fmt: skip
BINARY = ["{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / ({1}.abs() + 1)", "torch.maximum({0}, {1})", "torch.minimum({0}, {1})", "torch.where({0} > {1}, {0}, {1})",
          "torch.atan2({0}, {1} + 3)", "torch.addcmul({0}, {1}, {1}, value=0.5)", "torch.lerp({0}, {1}, 0.3)", "({0} < {1}).to({0}.dtype)",
          "torch.linalg.solve_triangular(3 * torch.eye({0}.shape[-2]) + 0.1 * {1}.tril(), {0}, upper=False) if {0}.dim() > 1 else {0}",
          "torch.linalg.solve_triangular(3 * torch.eye({0}.shape[-1]) + 0.1 * {1}.triu(), {0}, upper=True, left=False) if {0}.dim() > 1 else {0}", "torch.hypot({0}, {1} + 2)"]
SHAPES = ["{0}.sum(0)", "{0}.mean(-1, keepdim=True)", "{0}.amax(0)", "{0}.transpose(0, -1)", "{0}.reshape(-1)", "{0}.unsqueeze(1)", "{0}[1:]",
          "{0}[..., ::2]", "{0}.var(-1)", "{0}.flatten()", "{0}[0]", "torch.cat([{0}, {0}], 0)", "torch.stack([{0}, {0}], -1)", "{0}.expand(2, *{0}.shape)",
          "{0}.T @ {0} if {0}.dim() == 2 else {0}", "{0}.prod(-1)", "{0}.norm()", "{0}.logsumexp(-1)", "{0}.argmax(-1).to({0}.dtype)", "{0}.repeat(2, *[1] * ({0}.dim() - 1))",
          "{0}.index_select(0, torch.tensor([0, 0]))", "{0}.gather(-1, torch.zeros_like({0}, dtype=torch.long))", "{0}.chunk(2, -1)[0]", "{0}.sum()",
          "torch.diagonal({0}) if {0}.dim() == 2 else {0}", "{0}.squeeze()", "{0}.movedim(0, -1)", "{0}.max(-1)[0]", "{0}.min(0).values", "{0}.std(0)"]

JUMPS = ("torch.sign", "torch.floor")  # of arguments only: what rounding leaves of a zero has any sign


def make(rng, head):
    m, n = rng.sample([(3, 5), (4, 6), (5, 2), (2, 3), (6, 4)], 2)
    shapes = [(m, n), (n,), (m, n), ((1, 1), n), (m, (1, 1)), (m, m), (m, n, n)]
    names = "abc"[:rng.randrange(1, 4)]
    lines = ["import torch", "", head, "", "", "def arguments(size):", f"    torch.manual_seed({rng.randrange(1000)})"]
    values = {}
    for name in names:
        shape = rng.choice(shapes)
        sizes = [tuple(d[i] for d in shape) for i in (0, 1)]
        dtype = rng.choice(["torch.float32", "torch.float32", "torch.float64"])
        view = rng.choice(["", "", "", ".transpose(0, -1)", ".flip(0)[...]", "[..., :]"])
        lines.append(f"    {name} = torch.randn(({sizes[0]}, {sizes[1]})[size], dtype={dtype}){view}.requires_grad_({rng.random() < 0.7})"
                     if not view else f"    {name} = torch.randn(({sizes[0]}, {sizes[1]})[size], dtype={dtype}){view}")
        values[name] = eval(f"torch.randn({sizes[0]}, dtype={dtype}){view}")
    lines += [f"    return {', '.join(names)},", "", "", f"def program({', '.join(names)}):"]
    made = []
    for i in range(rng.randrange(1, 8)):
        for _ in range(10):
            a, b = rng.choice(list(values)), rng.choice(list(values))
            text = rng.choice(rng.choice([UNARY, UNARY, BINARY, SHAPES])).format(a, b)
            if text.startswith(JUMPS) and a not in names:
                continue
            try:
                value = eval(text, {"torch": torch, **values})
            except Exception:
                continue
            if value.numel() > 4096 or value.numel() == 0 or not torch.isfinite(value).all():
                continue
            values[f"v{i}"] = value
            made.append(f"v{i}")
            lines.append(f"    v{i} = {text}")
            break
    lines.append(f"    return {', '.join(made) + ',' if made else '()'}")
    return "\n".join(lines) + "\n"
