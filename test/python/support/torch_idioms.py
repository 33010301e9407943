"""Functions of one tensor as users of torch write them. IDIOMS: (arguments, an expression or a body that returns) by name. BREAKS: those that
are not captured whole, with the reason's code."""

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import logging
import math
import operator
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

x = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
y = torch.randn(4, 6, generator=torch.Generator().manual_seed(2))
w = torch.randn(6, 6, generator=torch.Generator().manual_seed(3))
i, m, ints, CONST = torch.tensor([0, 2, 1, 3]), x > 0, torch.arange(24).reshape(4, 6), torch.ones(6)
log = logging.getLogger("idioms")
Point = collections.namedtuple("Point", "a b")


@dataclasses.dataclass
class DC:
    a: torch.Tensor
    b: int = 3


class Mode(enum.Enum):
    A = 1
    B = 2


class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


IDIOMS = {
    "mask_set": ("x", 'y = x.clone()\ny[y > 0] = 0\nreturn y'),
    "mask_set_tensor": ("x", 'y = x.clone()\ny[y > 0] = y[y > 0] * 2\nreturn y'),
    "mask_get": ('x', 'x[x > 0].sum()'),
    "where1": ('x', 'torch.where(x > 0)[0].sum()'),
    "nonzero": ('x', '(x > 0).nonzero().float().sum()'),
    "unique": ('x', 'torch.unique(ints).float().sum() + x'),
    "item_mul": ('x', 'x * x.sum().item()'),
    "float_of": ('x', 'x * float(x.mean())'),
    "int_of": ('x', 'x + int(ints.max())'),
    "tolist_const": ('x', 'x * sum(torch.tensor([1, 2, 3]).tolist())'),
    "tolist_data": ('x', 'x * sum(ints[0].tolist())'),
    "if_item": ("x", 'if x.sum() > 0:\n    return x\nreturn -x'),
    "assert_finite": ("x", 'assert torch.isfinite(x).all()\nreturn x * 2'),
    "new_tensor": ('x', 'x.new_tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) + x'),
    "as_tensor_np": ('x', 'torch.as_tensor(np.arange(6.0, dtype=np.float32)) + x'),
    "np_index": ('x', 'x[:, np.array([0, 1])]'),
    "range_index": ('x', 'x[:, range(3)]'),
    "place": ('x', 'x[x.sum(1).argmax()] * 2 + x[i[1], i[0]]'),
    "place_known": ('x', 'x[torch.tensor(1) :] + x[torch.tensor(-1)]'),
    "place_set": ("x", 'y = x.clone()\ny[:, y[0].argmax()] = 0\ny[i[0]] += 1\nreturn y'),
    "place_view": ("x", 'y = x.clone()\nrow = y[i[1]]\nrow.mul_(2)\nrow[0] = 1\nreturn y'),
    "place_loop": ("x", 'o = 0\nfor k in i:\n    o = o + x[k] * k\nreturn o'),
    "grad_fn": ('x', 'x if x.grad_fn is None else x * 2'),
    "tuple_index": ('x', 'x[0, 1]'),
    "slice_obj": ('x', 'x[slice(0, 2)]'),
    "ell": ('x', 'x[..., 0, None]'),
    "neg_step": ('x', 'x.flip(-1)[:, ::2]'),
    "dict_out": ('x', "{'a': x, 'b': [x * 2]}"),
    "nt_out": ('x', 'Point(x, x + 1)'),
    "dc_out": ('x', 'DC(x + 1)'),
    "enum_branch": ('x, mode=Mode.A', 'x if mode is Mode.A else -x'),
    "mode_value": ('x', 'x * Mode.B.value'),
    "fmt": ('x', "(x, f'{x.shape} {x.dtype} {tuple(x.shape)}')"),
    "printed": ("x", "print(end='')\nreturn x * 2"),
    "logged": ("x", "log.debug('shape %s', x.shape)\nreturn x * 2"),
    "warned": ("x", "if x.shape[0] > 100:\n    warnings.warn('big')\nreturn x"),
    "tryexc": ("x", 'try:\n    return x @ torch.ones(5)\nexcept RuntimeError:\n    return x'),
    "ctx": ("x", 'with contextlib.nullcontext(), torch.no_grad():\n    return x * 2'),
    "suppress": ("x", 'with contextlib.suppress(ValueError):\n    return x * 2'),
    "partial": ('x', 'functools.partial(F.softmax, dim=-1)(x)'),
    "reduce": ('x', 'functools.reduce(operator.add, [x, x, x])'),
    "mapz": ('x', '[a * b for a, b in zip(x, x.unbind(0))]'),
    "stackcomp": ('x', 'torch.stack([r.sum() for r in x])'),
    "enum_": ("x", 'o = 0\nfor k, r in enumerate(x):\n    o = o + k * r\nreturn o'),
    "chain": ('x', 'torch.cat(list(itertools.chain(x.split(2), x.split(1))))'),
    "pad": ('x', 'F.pad(x, [1, 2], value=3)'),
    "interp": ('x', "F.interpolate(x[None, None], scale_factor=2, mode='bilinear')"),
    "einsum": ('x', "torch.einsum('ij,jk->ik', x, w)"),
    "einsum_ell": ('x', "torch.einsum('...j,jk->...k', x, w)"),
    "tensordot": ('x', 'torch.tensordot(x, w, 1)'),
    "topk": ("x", 'v, ix = x.topk(2)\nreturn (v, ix)'),
    "sortd": ('x', 'x.sort(dim=1, descending=True).values'),
    "scatter_add": ('x', 'torch.zeros(4, 6).scatter_add_(0, ints % 4, x)'),
    "index_add": ('x', 'torch.zeros(4, 6).index_add_(0, i, x)'),
    "bincount": ('x', 'torch.bincount(ints.flatten() % 3) + x.sum()'),
    "histc": ('x', 'torch.histc(x, 5)'),
    "onehot": ('x', 'F.one_hot(i, 4)'),
    "onehot_unknown": ('x', 'F.one_hot(i)'),
    "embedding": ('x', 'F.embedding(i, w)'),
    "ce": ('x', 'F.cross_entropy(x, i)'),
    "multi": ('x', '(torch.linalg.norm(x), torch.linalg.inv(w), torch.linalg.svd(w)[1])'),
    "fft": ('x', 'torch.fft.rfft(x).abs()'),
    "stft": ('x', 'torch.stft(x.flatten(), 8, return_complex=True, window=torch.hann_window(8)).abs()'),
    "cplx": ('x', 'torch.polar(x.abs(), x).real'),
    "rng": ('x', 'torch.rand(3) + torch.randn_like(x)[0, :3]'),
    "gen": ("x", 'g = torch.Generator().manual_seed(1)\nreturn torch.rand(3, generator=g)'),
    "seed": ("x", 'torch.manual_seed(0)\nreturn torch.rand(3) + x[0, :3]'),
    "randperm": ('x', 'x[torch.randperm(4)]'),
    "multinomial": ('x', 'torch.multinomial(x.abs(), 2)'),
    "dropout": ('x', 'F.dropout(x, 0.5, True)'),
    "causal": ('x', "torch.tril(torch.ones(6, 6)).masked_fill(torch.triu(torch.ones(6, 6, dtype=torch.bool), 1), float('-inf'))"),
    "meshgrid": ('x', "torch.meshgrid(torch.arange(3), torch.arange(4), indexing='ij')"),
    "cartesian": ('x', 'torch.cartesian_prod(torch.arange(3), torch.arange(2))'),
    "combos": ('x', 'torch.combinations(torch.arange(4))'),
    "globalt": ('x', 'x * CONST'),
    "device": ('x', 'torch.zeros(x.shape, device=x.device, dtype=x.dtype) + x.to(x.device)'),
    "totype": ('x', 'x.type(torch.float64).type_as(x)'),
    "data": ('x', 'x.data + 1'),
    "detach_np": ('x', 'x.detach().numpy().sum()'),
    "detach_cpu_np": ('x', 'x.detach().cpu().numpy()'),
    "vmap": ('x', 'torch.vmap(lambda r: (r * r).sum())(x)'),
    "fgrad": ('x', 'torch.func.grad(lambda a: (a ** 2).sum())(x)'),
    "jacrev": ('x', 'torch.func.jacrev(lambda a: a.sin())(x[0])'),
    "jvp": ('x', 'torch.func.jvp(torch.sin, (x,), (x,))[1]'),
    "hessian": ('x', 'torch.func.hessian(lambda a: (a ** 3).sum())(x[0])'),
    "autofn": ('x', 'Sq.apply(x)'),
    "train": ("x", 'p = w.clone().requires_grad_()\nl = (x @ p).square().mean()\nl.backward()\nreturn p.grad'),
    "ckpt": ('x', 'torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)'),
    "amp": ("x", "with torch.autocast('cpu', dtype=torch.bfloat16):\n    return x @ w"),
    "math_": ('x', 'x * math.sqrt(x.size(-1)) + math.pi'),
    "shape_arith": ("x", 'b, n = x.shape\nreturn x.view(b, 2, n // 2).transpose(1, 2).reshape(b, -1)'),
    "numel": ('x', 'x / x.numel()'),
    "isinst": ('x', 'x if isinstance(x, torch.Tensor) and torch.is_tensor(x) else None'),
    "maxmin": ('x', '(max(x.shape), torch.max(x, 1).indices, x.max(), min(3, x.size(0)))'),
    "builtin_sum": ('x', 'sum([x, x])'),
    "abs_": ('x', '(abs(x), round(3.7), divmod(7, 2), pow(x, 2))'),
    "eq": ('x', '(torch.equal(x, x), torch.allclose(x, x))'),
    "tbool": ('x', 'bool(torch.tensor(True))'),
    "cond_and": ('x', 'x if x is not None and x.dim() == 2 else None'),
    "walrus": ("x", 'if (n := x.size(0)) > 2:\n    return x * n'),
    "match_": ("x", 'match x.dim():\n    case 2:\n        return x\n    case _:\n        return -x'),
    "unpack": ("x", 'a, *b = x.unbind(0)\nreturn (a, b)'),
    "star": ('x', 'torch.cat([*x.split(2)])'),
    "kw": ('x, **k', "x * k.get('s', 2)"),
    "setattr_": ("x", "o = type('O', (), {})()\no.v = x\nreturn o.v * 2"),
    "nested_fn": ("x", 'def g(a):\n    return a * x\nreturn g(2)'),
    "gen_expr": ('x', 'torch.stack(tuple((r * 2 for r in x)))'),
    "rec": ('x, n=3', 'x if n == 0 else rec(x * 2, n - 1)'),
    "while_": ("x", 'k = 0\nwhile k < 5:\n    x = x * 1.1\n    k += 1\nreturn x'),
    "while_data": ("x", 'while x.abs().max() > 0.1:\n    x = x * 0.5\nreturn x'),
    "copy_": ('x', 'copy.copy(x)'),
    "deepcopy": ('x', 'copy.deepcopy(x)'),
    "cdist": ('x', 'torch.cdist(x, x)'),
    "cosine": ('x', 'F.cosine_similarity(x, y)'),
    "normalize": ('x', 'F.normalize(x, dim=-1)'),
    "gumbel": ('x', 'F.gumbel_softmax(x, hard=True)'),
    "unfold": ('x', 'F.unfold(x[None, None], 2)'),
    "gridsample": ('x', 'F.grid_sample(x[None, None], torch.zeros(1, 2, 2, 2), align_corners=False)'),
    "conv": ('x', 'F.conv1d(x[None], torch.ones(2, 4, 3))'),
    "pack": ('x', 'nn.utils.rnn.pad_sequence([x[0], x[1, :3]])'),
    "packed": ('x', 'nn.utils.rnn.pack_padded_sequence(x[..., None], [6, 5, 4, 3], batch_first=True).data'),
    "clipg": ("x", 'p = nn.Parameter(x.clone())\n(p * p).sum().backward()\nnn.utils.clip_grad_norm_([p], 1.0)\nreturn p.grad'),
    "sgd": ("x", 'p = nn.Parameter(x.clone())\no = torch.optim.SGD([p], lr=0.1)\n(p * p).sum().backward()\no.step()\no.zero_grad()\nreturn p.data'),
    "dist_normal": ('x', 'torch.distributions.Normal(x, 1.0).log_prob(x)'),
    "dist_cat": ('x', 'torch.distributions.Categorical(logits=x).entropy()'),
    "dist_sample": ('x', 'torch.distributions.Normal(x, 1.0).rsample()'),
    "mvn": ('x', 'torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(x[:, :2])'),
    "kl": ("x", 'd = torch.distributions\nreturn d.kl_divergence(d.Normal(x, 1.0), d.Normal(0.0, 1.0))'),
    "triu_idx": ("x", 'r, c = torch.triu_indices(4, 4, 1)\nreturn (x @ x.T)[r, c]'),
    "pairwise": ('x', 'F.pairwise_distance(x, y)'),
    "bucket": ('x', '(torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), torch.searchsorted(torch.tensor([0.0, 1.0]), x))'),
    "quant": ('x', '(x.quantile(0.3), x.median(), x.mode().values)'),
    "repeat_il": ('x', '(x.repeat_interleave(2, 0), x.repeat_interleave(i, 0))'),
    "trapz": ('x', '(torch.trapezoid(x), torch.cumprod(x, 1), torch.logcumsumexp(x, 1), x.diff())'),
    "segments": ('x', "torch.segment_reduce(x[:, 0], 'sum', lengths=torch.tensor([2, 2]))"),
    "block_diag": ('x', '(torch.block_diag(x, x), torch.kron(x, x))'),
    "tensor_split": ('x', '(torch.tensor_split(x, [1, 3]), x.hsplit(2))'),
    "masked_sel": ('x', '(x.masked_select(m).sum(), x.masked_scatter(m, y))'),
    "take_along": ('x', '(x.take_along_dim(ints % 6, 1), x.take(i), x.put(i, x[0, :4]))'),
    "swap": ("x", 'x = x.clone()\nx[[0, 1]] = x[[1, 0]]\nreturn x'),
    "roll": ('x', '(x.roll((1, 2), (0, 1)), x.rot90(), x.movedim(0, 1))'),
    "iadd_slice": ("x", 'x = x.clone()\nx[:, 0] += 1\nx[1] *= 2\nx[..., -1] -= x[..., 0]\nreturn x'),
    "bits": ('x', '(ints & 3, ints << 1, ints ^ 5, ~ints)'),
    "divs": ('x', "(ints // 3, ints % 3, torch.div(x, y, rounding_mode='floor'), torch.fmod(x, 2), torch.remainder(x, 2))"),
    "special": ('x', '(torch.special.gammaln(x.abs()), torch.erfinv(x.tanh()), torch.i0(x), torch.polygamma(1, x.abs()))'),
    "isin": ('x', 'torch.isin(ints, i)'),
    "cov": ('x', '(torch.cov(x), torch.corrcoef(x))'),
    "lobpcg": ("x", 'a = w @ w.T\nreturn (torch.linalg.eigvalsh(a), torch.linalg.cholesky(a + 7 * torch.eye(6)), torch.linalg.qr(w).R)'),
    "bmm": ('x', '(torch.baddbmm(torch.zeros(1, 4, 4), x[None], x.T[None]), torch.addmm(torch.zeros(4, 4), x, x.T), torch.chain_matmul(x, w, w) if False else torch.linalg.multi_dot([x, w, w]))'),
}
BREAKS = {
    "if_item": "FL0002",
    "assert_finite": "FL0002",
    "printed": "FL0004",
    "setattr_": "FL0005",
    "while_data": "FL0002",
}


def function(name):
    """The function of an idiom."""
    arguments, text = IDIOMS[name]
    lines = text.split("\n")
    body = lines if len(lines) > 1 else [f"return {text}"]
    space = dict(globals())
    exec(f"def {name}({arguments}):\n" + "".join(f"    {line}\n" for line in body), space)
    return space[name]
