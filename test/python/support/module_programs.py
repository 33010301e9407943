"""Random modules of torch that are called and trained, compiled and in eager torch: layers, state that calls change, hooks, containers,
branches, breaks, optimizers, and changes between the calls.

    python module_programs.py COUNT SEED

Prints what differs and ends with 1 if anything does. `compare(seed)` is one program: its source, and what differs (None: nothing).
"""

import random
import sys
import warnings

import torch

import frameloom

SIZE = 6
HEAD = '''
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.save_for_backward(x)
        ctx.by = by
        return x * by

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * ctx.by + x.sign() * 0.01, None


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6))
        self.register_buffer("seen", torch.zeros(6))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.training:
            self.seen.add_(x.detach().double().mean(0))
        return x * self.scale + (self.calls % 2)


class Residual(nn.Module):
    def __init__(self, *inner):
        super().__init__()
        self.inner = nn.ModuleList(inner)

    def forward(self, x):
        for number, one in enumerate(self.inner):
            x = x + one(x) * (0.5 if number else 1.0)
        return x


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept, self.table = [], {}
        self.cell = nn.GRUCell(6, 6)
        self.hidden = None

    def forward(self, x):
        self.kept.append(tuple(x.shape))
        self.table[len(self.kept) % 3] = x.detach().double().sum()
        if self.hidden is None or self.hidden.shape[0] != x.shape[0]:
            self.hidden = torch.zeros(x.shape[0], 6)
        made = self.cell(x.double(), self.hidden)
        self.hidden = made.detach()
        return made + sum(self.table.values()) * 0.01


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"a": nn.Linear(6, 6), "b": nn.Linear(6, 6, bias=False)})
        self.weights = nn.ParameterList([nn.Parameter(torch.full((6,), 0.5)) for _ in range(3)])

    def forward(self, x, which="a"):
        made = {name: part(x) for name, part in self.parts.items()}
        for weight in self.weights:
            made["a"] = made["a"] * weight.cos()
        return made[which] + made["b"].tanh()


class Attended(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True)

    def forward(self, x):
        made, weights = self.attention(x[None].double(), x[None].double(), x[None].double(), need_weights=self.training)
        return made[0] if weights is None else made[0] + weights.mean()


class Custom(nn.Module):
    def forward(self, x):
        return Doubled.apply(x, 1.5)


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(6, 6)

    def forward(self, x):
        return x + self.table(x.detach().double().argmax(-1))


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 2, 3, padding=1)

    def forward(self, x):
        return self.conv(x.double().unsqueeze(1)).mean(1)
'''
LAYERS = (
    "nn.Linear(6, 6)", "nn.Linear(6, 6, bias=False)", "nn.BatchNorm1d(6)", "nn.BatchNorm1d(6, momentum=None)", "nn.BatchNorm1d(6, track_running_stats=False)",
    "nn.LayerNorm(6)", "nn.GroupNorm(2, 6)", "nn.RMSNorm(6)", "nn.Dropout(0.3)", "nn.GELU()", "nn.ReLU(inplace=True)", "nn.PReLU()", "nn.Identity()",
    "Counter()", "Residual(nn.Linear(6, 6), Counter())", "Residual(nn.Tanh())", "Memory()", "Mixed()", "Attended()", "Custom()", "Chosen()", "Wide()",
    "nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 6))", "nn.utils.parametrizations.weight_norm(nn.Linear(6, 6))",
    "nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6))", "nn.Softmax(-1)", "nn.Sequential()", "nn.Unflatten(1, (2, 3))", "nn.Hardtanh(inplace=True)",
    "nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True)", "nn.ELU(inplace=True)", "nn.AlphaDropout(0.2)",
)  # fmt: skip
# With a large `eps`: a gradient that is 0 but for roundings stays small.
OPTIMIZERS = (
    "torch.optim.SGD({}, lr=0.05)", "torch.optim.SGD({}, lr=0.05, momentum=0.9, nesterov=True)", "torch.optim.Adam({}, eps=1e-3, lr=0.01)",
    "torch.optim.AdamW({}, eps=1e-3, lr=0.01, amsgrad=True)", "torch.optim.RMSprop({}, eps=1e-3, lr=0.01, centered=True)", "torch.optim.Adagrad({}, eps=1e-3, lr=0.05)",
    "torch.optim.Adam({}, eps=1e-3, lr=0.01, foreach=True)", "torch.optim.SGD({}, lr=0.05, weight_decay=0.1, maximize=True)", "torch.optim.NAdam({}, eps=1e-3, lr=0.01)",
    "torch.optim.Adamax({}, eps=1e-3, lr=0.01)",
)  # fmt: skip
# Statements of forward(): x is (rows, 6).
STATEMENTS = (
    "x = x + 1", "x = x[:, [0, 2, 1, 5, 4, 3]]", "x = torch.where(x > 0, x, 0.1 * x)", "x = x.clone()\nx[:, 0] = 0.5", "x = x.clone()\nx[:, 1:3] += x[:, 3:5].detach()",
    "x = x.view(-1, 2, 3).transpose(1, 2).reshape(-1, 6)", "x = x.t().contiguous().t()", "first, *rest = x.unbind(1)\nx = torch.stack([first, *rest], 1)",
    "x = torch.cat(x.split(2, 1)[::-1], 1)", "with torch.no_grad():\n    mean = x.double().mean(0)\nx = x - mean", "self.last = x.detach().clone()",
    "self.count = getattr(self, 'count', 0) + 1", "log.append(tuple(x.shape))", "log.append((self.training, x.requires_grad))",
    "if self.training:\n    x = x * 1.1\nelse:\n    x = x * 0.9", "if x.shape[0] > 4:\n    x = x * 2", "if x[0, 0] > 0.1:\n    x = x * 0.5\nelse:\n    x = x + 0.25",
    "print(end='')", "for k in range(3):\n    x = x * 0.9 + k", "for row in [x[:1], x[1:]]:\n    self.total = row.detach().double().sum() + getattr(self, 'total', 0)",
    "state = {'x': x, 'n': [x, x]}\nstate['n'][0] = state['x'] * 2\nx = sum(state['n']) * 0.3", "x = functools.reduce(lambda p, q: p + q, [x, x.tanh()])",
    "try:\n    if x.shape[0] == 4:\n        raise ValueError(x.shape[0])\n    x = x + 0.5\nexcept ValueError as error:\n    x = x - error.args[0] * 0.1",
    "x = checkpoint(torch.tanh, x, use_reentrant=False)", "x = torch.vmap(lambda row: row - row.mean())(x)",
    "with torch.autocast('cpu', dtype=torch.bfloat16):\n    x = x @ x.T @ x\nx = x.double().tanh()", "x = x.masked_fill(x > 2, 2.0)", "x = F.dropout(x, 0.2, self.training)",
    "x = x + torch.randn(6) * 0.01", "x = x[x.detach()[:, 1].argsort()]", "x = x * x.detach().double().abs().max().item()",
    "def inner(p, by=2):\n    return p * by + x.mean()\nx = inner(x, by=0.5)", "x = torch.stack(list(row * 2 for row in x))",
    "x = x.index_add(1, torch.tensor([0, 1]), x[:, :2].detach())", "best = x.detach()[:, 0].argmax()\nx = x + x[best]",
    "with contextlib.suppress(KeyError):\n    x = {'a': x}['a'] * 2\n    x = {'a': x}['b']", "x.register_hook(lambda g: g * 0.5) if x.requires_grad else None",
    "x = x.detach().numpy() * 2 + x if not x.requires_grad else x", "global CALLS\nCALLS += 1", "x, y = x.chunk(2, 1)\nx = torch.cat((y, x), 1)",
    "x = F.normalize(x.double(), dim=1)", "x = (x.unsqueeze(1) * torch.eye(6)).sum(2)", "assert x.shape[1] == 6, x.shape",
    "x = getattr(self, 'last', x).mean() + x", "x = x + self.extra if hasattr(self, 'extra') else x", "x = torch.func.grad(lambda p: (p * p).sum())(x.detach()) + x",
    "self.running = x.detach().mean(0)\nx = x + self.running", "x = torch.einsum('ij,kj->ik', x, x) @ x * 0.01", "x = (x + 0.1).cumsum(0).flip(0)", "x = x.sort(1).values",
    "y = x * 1\ny += 1\nx = y", "x = x * 1\nx.mul_(0.5)", "if hasattr(self, 'last'):\n    del self.last", "x = x[None].squeeze(0)",
    "kept = [x]\nkept.append(kept[0] * 2)\nkept[0] = kept.pop()\nx = kept[0]", "parts = iter(x.split(3, 1))\nx = torch.cat([next(parts), *parts], 1)",
    "x = (lambda a, *b, **k: a + sum(b) + k['c'])(x, x, c=1.0)", "match x.shape:\n    case (4, _):\n        x = x + 0.1\n    case _:\n        x = x - 0.1",
    "x = max([x, x * 2], key=lambda one: one.shape[0])", "assert not torch.isnan(x).any()", "x = torch.tensor([1.0] * 6) * x", "n = int((x > 0).sum())\nx = x + n * 0.01",
    "with torch.inference_mode():\n    n = x.sum().item()\nlog.append(round(n, 2))", "buffer = torch.zeros_like(x)\nbuffer[1:] = x[:-1].detach()\nx = x + buffer",
    "x = checkpoint(lambda a, b: (a * b).sin(), x, x + 1, use_reentrant=False)", "x = x * torch.sigmoid(x.detach().var(0, unbiased=False, keepdim=True))",
    "x = x.index_select(1, torch.randperm(6))", "self.seen_shapes = {**getattr(self, 'seen_shapes', {}), x.shape[0]: tuple(x.stride())}",
    "x = torch.func.functional_call(self.layers[0], {}, (x,)).reshape(-1, 6)", "rows = [row for row in x]\nrows[0] = rows[-1] * 2\nx = torch.stack(rows)",
    "self.scale = (getattr(self, 'scale', 1.0) * 1.5) % 2\nx = x * self.scale",
    "for name, part in self.named_children():\n    log.append((name, len(list(part.parameters()))))", "x = torch.vmap(torch.func.grad(lambda row: (row ** 2).sum()))(x.detach()) * 0.1 + x",
)  # fmt: skip
# Hooks of a layer, named `layer`.
HOOKS = (
    "layer.register_forward_pre_hook(lambda module, given: (given[0] * 0.9,))", "layer.register_forward_hook(lambda module, given, made: made * 1.1)",
    "layer.register_forward_hook(lambda module, given, made: log.append(type(module).__name__))", "layer.register_full_backward_hook(lambda module, inner, outer: log.append(len(outer)))",
    "[p.register_hook(lambda g: g * 0.5) for p in list(layer.parameters())[:1] if p.requires_grad]", "[p.register_post_accumulate_grad_hook(lambda p: log.append(p.grad is None)) for p in list(layer.parameters())[:1] if p.requires_grad]",
    "[p.requires_grad_(False) for p in list(layer.parameters())[:1]]", "layer.register_forward_hook(lambda module, given, kept, made: log.append(sorted(kept)), with_kwargs=True)",
)  # fmt: skip
LOSSES = ("made.double().square().mean()", "F.mse_loss(made.double(), torch.zeros_like(made.double()))", "F.cross_entropy(made.double(), y)", "made.double().sum() * 0.01",
          "F.cross_entropy(made.double(), y, label_smoothing=0.1) + sum(p.square().sum() for p in net.parameters()) * 0.01")  # fmt: skip
STEPS = (
    "torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)", "torch.nn.utils.clip_grad_value_(net.parameters(), 0.5)", "log.append(sum(p.grad is not None for p in net.parameters()))",
    "log.append(round(loss.item(), 3))", "for p in net.parameters():\n    if p.grad is not None:\n        p.grad.mul_(0.5)", "print(end='')",
    "with torch.no_grad():\n    for p in net.parameters():\n        p.mul_(0.99)", "log.append(len(optimizer.param_groups))", "optimizer.param_groups[0]['lr'] *= 0.9",
    "log.append([name for name, _ in net.named_parameters()][:2])", "optimizer.state.clear()", "log.append(sorted(net.state_dict())[:2])",
    "other = net(x.detach() * 0.5).double().square().mean()\nother.backward()", "average = {name: p.detach().clone() for name, p in net.named_parameters()}\nlog.append(len(average))",
    "vector = torch.nn.utils.parameters_to_vector(net.parameters()) if list(net.parameters()) else x\nlog.append(vector.numel())",
    "for p in net.parameters():\n    p.data.clamp_(-2, 2)", "norm = sum(p.grad.square().sum() for p in net.parameters() if p.grad is not None)\nlog.append(round(float(norm), 3))",
)  # fmt: skip
# Between two calls.
CHANGES = (
    "net.train(not net.training)", "x = x[:3] if len(x) > 3 else x", "x = torch.cat([x, x])", "optimizer.param_groups[0]['lr'] = 0.02", "net.zero_grad(set_to_none=False)",
    "net.extra = torch.ones(6)", "net.extra = 0.5", "next(net.parameters()).requires_grad_(False) if any(True for p in net.parameters()) else None",
    "layer = list(net.modules())[-1]\nlayer.register_forward_hook(lambda module, given, made: made)", "net.load_state_dict(net.state_dict())", "x = x.double().double()",
    "net.layers[0] = nn.Linear(6, 6)", "torch.manual_seed(7)", "net = net.eval()", "x = x.t().contiguous().t()",
    "optimizer.add_param_group({'params': [nn.Parameter(torch.ones(2))]})", "net.layers.append(nn.Tanh())", "optimizer.load_state_dict(optimizer.state_dict())",
    "net.apply(lambda module: setattr(module, 'tag', 1))", "x = x.detach().requires_grad_()", "[p.requires_grad_(True) for p in net.parameters()]",
    "for module in net.modules():\n    module._forward_hooks.clear()", "net.layers[-1] = torch.nn.Sequential(net.layers[-1])", "x = x[:1] if net.training is False else x",
)  # fmt: skip


def indented(text, by):
    return "".join(f"{' ' * by}{line}\n" for line in text.split("\n"))


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seed = seed
        pick = self.random.choice
        layers = [pick(LAYERS) for _ in range(self.random.randint(1, 4))]
        body = []
        for number, layer in enumerate(layers):
            body += [pick(STATEMENTS) for _ in range(self.random.choice((0, 1, 1, 2)))]
            body.append(f"x = self.layers[{number}](x)" + ".flatten(1)" * ("Unflatten" in layer))
        body += [pick(STATEMENTS) for _ in range(self.random.choice((0, 1)))]
        hooks = [f"layer = net.layers[{self.random.randrange(len(layers))}]\n{pick(HOOKS)}" for _ in range(self.random.choice((0, 0, 1, 2)))]
        rest = [pick(STEPS) for _ in range(self.random.choice((0, 1, 2)))]
        self.trains = self.random.random() < 0.7
        step = ["made = net(x)", f"loss = {pick(LOSSES)}", f"optimizer.zero_grad({pick(('', 'set_to_none=False'))})", "loss.backward()", *rest, "optimizer.step()",
                pick(("return loss", "return loss.detach(), made.detach()", "return made.detach()"))]  # fmt: skip
        if not self.trains:
            step = [pick(("return net(x)", "made = net(x)\nreturn made, made.shape", "with torch.no_grad():\n    return [net(x), net(x * 0.5)]"))]
        self.casts = any("autocast" in one for one in body)  # roundings, which most optimizers make large
        optimizer = OPTIMIZERS[0] if self.casts else pick(OPTIMIZERS)
        self.changes = [pick(CHANGES) if self.random.random() < 0.6 else "pass" for _ in range(4)]
        self.compiled = pick(("net", "step", "step", "forward")) if self.trains else pick(("net", "step", "forward"))
        self.text = (
            f"{HEAD}\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layers = nn.ModuleList([{', '.join(layers)}])\n\n"
            f"    def forward(self, x):\n{''.join(indented(one, 8) for one in body)}        return x\n\n\ndef build():\n    net = Net()\n"
            f"{''.join(indented(one, 4) for one in hooks)}    parameters = [p for p in net.parameters() if p.requires_grad] or [nn.Parameter(torch.ones(1))]\n"
            f"    return net, {optimizer.format('parameters')}\n\n\ndef step(net, optimizer, x, y):\n{''.join(indented(one, 4) for one in step)}"
        )

    def source(self):
        at = self.text.index("class Net")
        return self.text[at:] + f"\n# compiled: {self.compiled}; between calls: {self.changes}"

    def outcome(self, compiled):
        """What five calls leave, one after the other."""
        import contextlib
        import functools

        from torch import nn
        from torch.nn import functional as F
        from torch.utils.checkpoint import checkpoint

        log = []
        space = {"torch": torch, "nn": nn, "F": F, "log": log, "CALLS": 0, "functools": functools, "contextlib": contextlib, "checkpoint": checkpoint, "__name__": "programs"}
        exec(compile_source(self.text), space)
        torch.manual_seed(self.seed)
        net, optimizer = space["build"]()
        step, called = space["step"], net
        if compiled and self.compiled == "net":
            called = frameloom.compile(net)
        if compiled and self.compiled == "forward":
            net.forward = frameloom.compile(net.forward)
        if compiled and self.compiled == "step":
            step = frameloom.compile(step)
        space.update(net=called, optimizer=optimizer, x=torch.randn(4, SIZE))
        left = []
        for change in ("pass", *self.changes):
            exec(change, space)
            x, y = space["x"].clone(), torch.arange(len(space["x"])) % SIZE
            try:
                result = step(called, optimizer, x, y)
                made = [one for one in torch.utils._pytree.tree_leaves(result) if isinstance(one, torch.Tensor) and one.requires_grad]
                if made and not self.trains:
                    sum(one.double().sum() for one in made).backward()
            except Exception as error:  # noqa: BLE001
                if "modified by an inplace operation" in str(error):
                    return None  # the compiled backward may not need what was modified, or be one with another that does
                left.append(type(error).__name__)
                break
            left.append((result, x))
            left.append([(name, p.detach().clone(), None if p.grad is None else p.grad.clone()) for name, p in net.named_parameters()])
            left.append([(name, one.clone()) for name, one in net.named_buffers()])
        left.append([{k: v for k, v in state.items()} for state in optimizer.state_dict()["state"].values()])
        left.append([{k: v for k, v in vars(one).items() if not k.startswith("_") and k not in ("forward", "training")} for one in net.modules()])
        return [*left, log, space["CALLS"], torch.rand(1)]


def compile_source(text):
    return compile(text, "<program>", "exec")


def difference(one, other, tolerance, at=""):
    """Words for where two trees differ, or None."""
    if type(one) is not type(other) and not (isinstance(one, torch.nn.Module) and isinstance(other, torch.nn.Module)):
        return f"{at}: {type(other).__name__} {str(other)[:80]}, not {type(one).__name__} {str(one)[:80]}"
    if isinstance(one, torch.Tensor):
        if (one.shape, one.dtype, one.requires_grad, one.stride()) != (other.shape, other.dtype, other.requires_grad, other.stride()):
            return f"{at}: {other.shape} {other.dtype} {other.requires_grad} {other.stride()}, not {one.shape} {one.dtype} {one.requires_grad} {one.stride()}"
        one, other = one.detach().double(), other.detach().double()
        largest = one[one.isfinite()].abs().max().item() if one.isfinite().any() else 0
        return None if torch.allclose(one, other, rtol=tolerance, atol=tolerance / 10 * max(largest, 1), equal_nan=True) else f"{at}: other numbers, by {(one - other).abs().max().item():.3g} of {largest:.3g}"
    if isinstance(one, dict):
        if list(one) != list(other):
            return f"{at}: the keys {list(other)}, not {list(one)}"
        return next(filter(None, (difference(one[key], other[key], tolerance, f"{at}[{key!r}]") for key in one)), None)
    if isinstance(one, (list, tuple)):
        if len(one) != len(other):
            return f"{at}: {len(other)} items, not {len(one)}: {str(other)[-150:]} / {str(one)[-150:]}"
        return next(filter(None, (difference(p, q, tolerance, f"{at}[{k}]") for k, (p, q) in enumerate(zip(one, other)))), None)
    if isinstance(one, float):
        return None if abs(one - other) <= tolerance * max(abs(one), 1) or one != one and other != other else f"{at}: {other}, not {one}"
    if isinstance(one, torch.nn.Module) or callable(one):
        return None
    return None if one == other else f"{at}: {other!r}, not {one!r}"


def compare(seed):
    program = Program(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)  # a gradient that is 0 but for roundings stays small behind an optimizer
        try:
            wanted, got = program.outcome(False), program.outcome(True)
        finally:
            torch.set_default_dtype(before)
    if wanted is None or got is None:
        return program.source(), None
    return program.source(), difference(wanted, got, 5e-2 if program.casts else 1e-5)


def main():
    count, seed = (int(word) for word in sys.argv[1:3])
    bad = 0
    for number in range(seed, seed + count):
        source, found = compare(number)
        if found:
            bad += 1
            print(f"seed {number}: {found}\n{source}", flush=True)
        if number % 20 == 19:
            frameloom.reset()
    print(f"{bad} of {count} differ")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
