"""Recipes as users of torch write them: losses, metrics, attention, searches, augmentation, statistics, modules, containers. Each is a function
of a tensor of (4, 6) floats."""

import collections
import dataclasses
import functools
import itertools
import math
import typing

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
X = torch.randn(4, 6)
Y = torch.randn(4, 6)
I = torch.tensor([1, 0, 2, 1])
W = torch.randn(6, 6)
BOXES = torch.rand(8, 4) * 10
BOXES[:, 2:] += BOXES[:, :2]
SCORES = torch.rand(8)
IMAGES = torch.rand(2, 3, 8, 8)
EDGES = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
SEQUENCES = torch.randn(2, 5, 6)
LINEAR = nn.Linear(6, 6)
EMBEDDING = nn.Embedding(10, 6)
NORM = nn.BatchNorm1d(6)
CONV = nn.Conv2d(3, 4, 3, padding=1)


@dataclasses.dataclass
class Out:
    loss: torch.Tensor
    logits: torch.Tensor = None


class Pair(typing.NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 6)
        self.o = nn.Linear(6, 10, bias=False)
        self.o.weight = self.e.weight
        self.scale = nn.Parameter(torch.ones(1))
        self.ps = nn.ParameterList([nn.Parameter(torch.ones(6)) for _ in range(3)])
        self.pd = nn.ParameterDict({"a": nn.Parameter(torch.ones(6))})
        self.register_buffer("mask", torch.tril(torch.ones(5, 5)))

    @property
    def width(self):
        return self.e.embedding_dim

    def forward(self, t):
        h = self.e(t) * math.sqrt(self.width)
        for p in self.ps:
            h = h * p
        return self.o(h * self.pd["a"]) * self.scale


TIED = Tied()


class Attention(nn.Module):
    def __init__(self, h=2):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(6, 18)
        self.p = nn.Linear(6, 6)

    def forward(self, x, mask=None):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.h, C // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        a = q @ k.transpose(-2, -1) / math.sqrt(C // self.h)
        if mask is not None:
            a = a.masked_fill(~mask, float("-inf"))
        return self.p((a.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))


ATTENTION = Attention()


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(6, 6)
        self.acts = {}
        self.l.register_forward_hook(lambda m, a, o: self.acts.__setitem__("l", o.detach()))

    def forward(self, x):
        return self.l(x).relu()


HOOKED = Hooked()


def box_iou(a, b):
    area = lambda t: (t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1])
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (area(a)[:, None] + area(b) - inter)


def nms(b, s, thr):
    order = s.argsort(descending=True)
    iou = box_iou(b[order], b[order])
    keep = torch.ones(len(b), dtype=torch.bool)
    for k in range(len(b)):
        keep &= ~((iou[k] > thr) & (torch.arange(len(b)) > k) & keep[k])
    return order[keep]


def gp(x):
    a = torch.rand(4, 1)
    m = (a * x + (1 - a) * Y).detach().requires_grad_(True)
    o = (m @ W).tanh().sum()
    (g,) = torch.autograd.grad(o, m, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


def sinus(n, d):
    p = torch.arange(n).unsqueeze(1)
    div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    e = torch.zeros(n, d)
    e[:, 0::2] = torch.sin(p * div)
    e[:, 1::2] = torch.cos(p * div)
    return e


def rope(q):
    T, D = q.shape[-2:]
    f = 1.0 / 10000 ** (torch.arange(0, D, 2).float() / D)
    t = torch.outer(torch.arange(T).float(), f)
    c, s = (t.cos().repeat_interleave(2, -1), t.sin().repeat_interleave(2, -1))
    r = torch.stack((-q[..., 1::2], q[..., ::2]), -1).flatten(-2)
    return q * c + r * s


def gru_cell(x, h):
    gi = (x @ W).chunk(3, -1)
    gh = (h @ W.t()).chunk(3, -1)
    r = (gi[0] + gh[0]).sigmoid()
    z = (gi[1] + gh[1]).sigmoid()
    n = (gi[2] + r * gh[2]).tanh()
    return (1 - z) * n + z * h[:, :2]


def beam(lp, k=2):
    sc = torch.zeros(1, 1)
    seqs = torch.zeros(1, 1, 0, dtype=torch.long)
    for t in range(3):
        tot = (sc.unsqueeze(-1) + lp[t].log_softmax(-1)).flatten(1)
        sc, ix = tot.topk(k, -1)
        prev, tok = (ix // 6, ix % 6)
        seqs = torch.cat([seqs.gather(1, prev.unsqueeze(-1).expand(-1, -1, seqs.size(-1))), tok.unsqueeze(-1)], -1)
    return (sc, seqs)


def ema(m, d=0.9):
    with torch.no_grad():
        for p, q in zip(m.parameters(), LINEAR.parameters()):
            p.lerp_(q, 1 - d)
    return [p.clone() for p in m.parameters()]


AVERAGE = nn.Linear(6, 6)


def top_p(l, p=0.8):
    s, ix = l.softmax(-1).sort(-1, descending=True)
    c = s.cumsum(-1)
    m = c - s > p
    s = s.masked_fill(m, 0)
    return torch.zeros_like(l).scatter(-1, ix, s / s.sum(-1, keepdim=True))


def gen(x):
    for r in x:
        yield (r * 2)


def focal(l, t, g=2.0):
    ce = F.cross_entropy(l, t, reduction="none")
    pt = torch.exp(-ce)
    return ((1 - pt) ** g * ce).mean()


def dice(a, b):
    a = a.sigmoid()
    return 1 - (2 * (a * b).sum() + 1) / (a.sum() + b.sum() + 1)


def info(a, b):
    a, b = (F.normalize(a, dim=-1), F.normalize(b, dim=-1))
    s = a @ b.T / 0.1
    return F.cross_entropy(s, torch.arange(len(a)))


def acc(l, t, k=(1, 3)):
    _, p = l.topk(max(k), 1)
    c = p.t().eq(t.view(1, -1).expand(max(k), -1))
    return [c[:n].reshape(-1).float().sum() * 100 / len(t) for n in k]


def confusion(p, t, n=3):
    return torch.bincount(t * n + p, minlength=n * n).reshape(n, n)


def gcn(x):
    s, d = EDGES
    deg = torch.zeros(4).scatter_add_(0, d, torch.ones(5))
    o = torch.zeros_like(x).index_add_(0, d, x[s])
    return o / deg.clamp(min=1)[:, None]


def gat(x):
    s, d = EDGES
    e = F.leaky_relu((x[s] * x[d]).sum(-1))
    m = torch.full((4,), -torch.inf).scatter_reduce(0, d, e, "amax")
    a = (e - m[d]).exp()
    z = torch.zeros(4).scatter_add(0, d, a)
    return torch.zeros_like(x).index_add(0, d, x[s] * (a / z[d])[:, None])


def mixup(x):
    lam = torch.distributions.Beta(0.4, 0.4).sample()
    p = torch.randperm(4)
    return lam * x + (1 - lam) * x[p]


def cutout(im):
    im = im.clone()
    im[:, :, 2:5, 3:6] = 0
    return im


def cutmix(im):
    a, b = torch.randint(0, 4, (2,)).tolist()
    im = im.clone()
    im[:, :, a : a + 3, b : b + 3] = im.flip(0)[:, :, a : a + 3, b : b + 3]
    return im


def jitter(im):
    m = im.mean((1, 2, 3), keepdim=True)
    return ((im - m) * (1 + torch.rand(2, 1, 1, 1)) + m).clamp(0, 1)


def affine(im):
    t = torch.tensor(0.3)
    th = torch.stack([torch.stack([t.cos(), -t.sin(), t * 0]), torch.stack([t.sin(), t.cos(), t * 0])])[None].expand(2, -1, -1)
    return F.grid_sample(im, F.affine_grid(th, im.shape, align_corners=False), align_corners=False)


def vq(x):
    d = torch.cdist(x, W)
    ix = d.argmin(-1)
    q = W[ix]
    return (x + (q - x).detach(), ix, F.mse_loss(q.detach(), x))


def ctc(x):
    return F.ctc_loss(x.log_softmax(-1)[:, None].expand(4, 2, 6), torch.tensor([[1, 2], [2, 3]]), torch.tensor([4, 4]), torch.tensor([2, 2]))


def logsumexp_pool(x):
    return torch.logsumexp(x, 1) - math.log(x.size(1))


def kd(a, b, T=2.0):
    return F.kl_div(F.log_softmax(a / T, -1), F.softmax(b / T, -1), reduction="batchmean") * T * T


def vae(x):
    mu, lv = x.chunk(2, -1)
    z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
    return (z, -0.5 * (1 + lv - mu**2 - lv.exp()).sum(-1).mean())


def gae(r, v, g=0.9, l=0.95):
    a, out = (0.0, [])
    for t in reversed(range(len(r) - 1)):
        d = r[t] + g * v[t + 1] - v[t]
        a = d + g * l * a
        out.insert(0, a)
    return torch.stack(out)


def ppo(lp, old, adv):
    r = (lp - old).exp()
    return -torch.min(r * adv, r.clamp(0.8, 1.2) * adv).mean()


def warm(x, step=3):
    lr = 0.1 * min(1, step / 10)
    return x - lr * x.sign()


class Meter:
    def __init__(self):
        self.sum = 0.0
        self.n = 0

    def update(self, v, n=1):
        self.sum += v * n
        self.n += n

    @property
    def avg(self):
        return self.sum / max(self.n, 1)


def metered(x):
    m = Meter()
    for r in x:
        m.update(r.mean(), 2)
    return m.avg


def moe(x):
    g = (x @ W[:, :3]).softmax(-1)
    v, ix = g.topk(2, -1)
    o = torch.zeros_like(x)
    for e in range(3):
        m = (ix == e).any(-1)
        ww = (v * (ix == e)).sum(-1, keepdim=True)
        o = o + torch.where(m[:, None], x * (e + 1) * ww, torch.zeros(()))
    return o


def moe_idx(x):
    g = (x @ W[:, :3]).softmax(-1)
    v, ix = g.max(-1)
    o = torch.zeros_like(x)
    for e in range(3):
        r = torch.where(ix == e)[0]
        o = o.index_add(0, r, x[r] * (e + 1) * v[r][:, None])
    return o


def sinkhorn(x):
    a = x[:, :4].exp()
    for _ in range(4):
        a = a / a.sum(1, keepdim=True)
        a = a / a.sum(0, keepdim=True)
    return a


def power_it(x):
    a = x.T @ x
    v = torch.ones(6)
    for _ in range(5):
        v = a @ v
        v = v / v.norm()
    return v @ a @ v


def ns(x):
    a = x[:, :4]
    a = a / a.norm()
    for _ in range(3):
        a = 1.5 * a - 0.5 * a @ a.T @ a
    return a


def fourier(x):
    b = W[:3].T
    p = 2 * math.pi * x @ b
    return torch.cat([p.sin(), p.cos()], -1)


def spectral(x):
    f = torch.fft.rfft(x)
    f = f * torch.complex(torch.ones(4), torch.zeros(4))
    return torch.fft.irfft(f, n=6)


def huber(x):
    return F.huber_loss(x, Y) + F.smooth_l1_loss(x, Y, beta=0.5)


def triplet(x):
    d = torch.cdist(x, x)
    p = d.masked_fill(~(I[:, None] == I), -1).max(1).values
    n = d.masked_fill(I[:, None] == I, 1000000000.0).min(1).values
    return F.relu(p - n + 0.2).mean()


def label_smooth(x):
    return F.cross_entropy(x, I, label_smoothing=0.1, weight=torch.ones(6))


def ssim(a):
    k = torch.ones(3, 1, 3, 3) / 9
    f = lambda t: F.conv2d(t, k, groups=3)
    m = f(a)
    v = f(a * a) - m * m
    return ((2 * m * m + 0.0001) / (m * m + m * m + 0.0001) * (2 * v + 0.0009) / (v + v + 0.0009)).mean()


def psnr(a):
    return 10 * torch.log10(1 / F.mse_loss(a, a * 0.9))


def pixel(a):
    return F.pixel_shuffle(F.pad(a, (0, 0, 0, 0, 0, 1)), 2)


def patches(a):
    B, C, H, W = a.shape
    return a.unfold(2, 4, 4).unfold(3, 4, 4).permute(0, 2, 3, 1, 4, 5).reshape(B, -1, C * 16)


def window(a):
    B, C, H, W = a.shape
    return a.permute(0, 2, 3, 1).view(B, H // 4, 4, W // 4, 4, C).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, C)


def roll_mask(a):
    return (torch.roll(a, (1, 2), (2, 3)), F.max_pool2d(a, 2, return_indices=True), F.adaptive_avg_pool2d(a, 1).flatten(1))


def nested(d):
    return {k: [v * 2, (v.sum(), {"z": v[0]})] for k, v in d.items()}


def qr_loss(x):
    q = torch.tensor([0.1, 0.5, 0.9])
    e = Y[:, :3] - x[:, :3]
    return torch.max(q * e, (q - 1) * e).mean()


def auc(x):
    o = x[:, 0].argsort()
    l = (I > 0)[o].float()
    return (l.cumsum(0) * (1 - l)).sum() / (l.sum() * (1 - l).sum())


def dedup(x):
    u, inv, c = torch.unique(I, return_inverse=True, return_counts=True)
    return torch.zeros(len(u), 6).index_add(0, inv, x) / c[:, None]


def pad_batch(x):
    t = [x[0, :3], x[1, :5], x[2]]
    p = nn.utils.rnn.pad_sequence(t, True)
    m = torch.arange(p.size(1)) < torch.tensor([len(a) for a in t])[:, None]
    return (p, m, (p * m).sum(1) / m.sum(1))


def causal_sd(s):
    return (
        F.scaled_dot_product_attention(s, s, s, is_causal=True),
        F.scaled_dot_product_attention(s, s, s, attn_mask=torch.tril(torch.ones(5, 5, dtype=torch.bool))),
    )


def alibi(s):
    b = -(torch.arange(5)[:, None] - torch.arange(5)).abs() * torch.tensor([0.5, 0.25])[:, None, None]
    return (s @ s.transpose(1, 2) + b).softmax(-1) @ s


def kvcache(s):
    k = torch.zeros(2, 5, 6)
    outs = []
    for t in range(5):
        k[:, t] = s[:, t]
        outs.append((s[:, t : t + 1] @ k[:, : t + 1].transpose(1, 2)).softmax(-1) @ k[:, : t + 1])
    return torch.cat(outs, 1)


def ein(s):
    return (
        torch.einsum("bth,bsh->bts", s, s),
        torch.einsum("bth,hk,bsk->bts", s, W, s),
        torch.einsum("bii->b", s[:, :, :5]),
        torch.einsum("bth->hb", s),
        torch.einsum("...h,...h", s, s),
    )


def linalg(x):
    a = x.T @ x + torch.eye(6)
    return (
        torch.linalg.solve(a, x.T),
        torch.linalg.cholesky(a),
        torch.linalg.slogdet(a),
        torch.linalg.pinv(x),
        torch.linalg.matrix_norm(x, "nuc"),
        torch.linalg.lstsq(a, x.T).solution,
        torch.linalg.matrix_exp(a * 0.1),
        torch.linalg.eigvalsh(a),
        torch.linalg.det(a),
        torch.linalg.cross(x[:, :3], x[:, 3:]),
        torch.linalg.vector_norm(x, 1, -1),
        torch.linalg.vander(x[0]),
        torch.linalg.tensorsolve(a.view(2, 3, 2, 3), x[:2, :3]),
    )


def special(x):
    return (
        torch.special.entr(x.abs()),
        torch.special.logit(x.sigmoid()),
        torch.special.xlogy(x, x.abs()),
        torch.special.expit(x),
        torch.special.erfcx(x),
        torch.special.bessel_j0(x),
        torch.special.zeta(x.abs() + 1.5, 1.0),
        torch.special.multigammaln(x.abs() + 2, 2),
        torch.special.log_ndtr(x),
        torch.special.i1e(x),
        torch.special.round(x, decimals=1),
        torch.special.sinc(x),
    )


def opt_state(x):
    p = x.detach().clone().requires_grad_()
    o = torch.optim.AdamW([p], lr=0.1)
    s = torch.optim.lr_scheduler.StepLR(o, 1)
    for _ in range(2):
        o.zero_grad()
        (p**2).sum().backward()
        o.step()
        s.step()
    return (p.detach(), s.get_last_lr())


def accum(x):
    p = W.detach().clone().requires_grad_()
    for c in x.chunk(2):
        ((c @ p).square().mean() / 2).backward()
    nn.utils.clip_grad_value_([p], 0.1)
    return p.grad


def detach_loop(x):
    h = torch.zeros(6)
    outs = []
    for r in x:
        h = (r + h @ W).tanh()
        outs.append(h)
        h = h.detach()
    return torch.stack(outs)


def stack_mods(x):
    ms = nn.ModuleList([LINEAR, LINEAR])
    for m in ms:
        x = x + m(x)
    return x


def inplace_chain(x):
    z = x.clone()
    z.mul_(2).add_(1).clamp_(-1, 1)
    z[z > 0] = 0
    z[:, [0, 2]] *= 3
    return z


def where_scalar(x):
    return (torch.where(x > 0, x, 0.0), torch.where(x > 0, 1, 0), x.clip(0, None), torch.clamp(x, max=x.mean()))


def argsort_gather(x):
    ix = x.argsort(1)
    return (x.gather(1, ix), torch.take_along_dim(x, ix, 1), ix.argsort(1))


def cummax(x):
    return (x.cummax(1), x.cummin(0).values, x.kthvalue(2, 1), x.aminmax(dim=1), torch.var_mean(x))


def interp1(x):
    xp = torch.linspace(-2, 2, 5)
    fp = xp**2
    k = torch.searchsorted(xp, x.clamp(-2, 1.99), right=True) - 1
    k = k.clamp(0, 3)
    return fp[k] + (x - xp[k]) * (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k])


def hist(x):
    return torch.histc(x, 5, -2, 2)


def strfmt(x):
    n = f"{x.shape[0]}x{x.shape[1]}"
    return {"n": n, "v": x * len(n)}


def optional(x, mask: torch.Tensor | None = None):
    return x if mask is None else x * mask


def sched(x):
    return [x * f for f in map(lambda t: 0.5 * (1 + math.cos(math.pi * t / 4)), range(4))]


def dropout_eval(x):
    return F.dropout(x, 0.5, training=False) + nn.Dropout()(x).mean() * 0


def spectral_norm(x):
    u = F.normalize(torch.ones(6), dim=0)
    v = F.normalize(W.T @ u, dim=0)
    u = F.normalize(W @ v, dim=0)
    return x @ (W / (u @ W @ v))


def weight_norm(x):
    v = W
    g = v.norm(dim=1, keepdim=True)
    return x @ (v * (g / v.norm(dim=1, keepdim=True))).T


def ortho(x):
    return ((W @ W.T - torch.eye(6)) ** 2).sum() + x.abs().sum()


def jac(x):
    return (torch.func.jacrev(lambda a: (a @ W).tanh())(x[0]), torch.func.vmap(torch.func.grad(lambda a: (a @ W).sum()))(x))


def hvp(x):
    f = lambda a: (a**3).sum()
    return torch.func.jvp(torch.func.grad(f), (x,), (Y,))[1]


def maml(x):
    p = W
    g = torch.func.grad(lambda p: ((x @ p) ** 2).mean())(p)
    return ((x @ (p - 0.1 * g)) ** 2).mean()


def kmeans(x):
    c = x[:2].clone()
    for _ in range(3):
        a = torch.cdist(x, c).argmin(1)
        o = F.one_hot(a, 2).float()
        c = o.T @ x / o.sum(0).clamp(min=1)[:, None]
    return (c, a)


def crf(x):
    t = W[:6, :6]
    al = x[0]
    for r in x[1:]:
        al = torch.logsumexp(al[:, None] + t + r[None], 0)
    return torch.logsumexp(al, 0)


def viterbi(x):
    t = W
    v = x[0]
    bp = []
    for r in x[1:]:
        s = v[:, None] + t
        v, ix = s.max(0)
        v = v + r
        bp.append(ix)
    best = v.argmax()
    path = [best]
    for b in reversed(bp):
        best = b[best]
        path.insert(0, best)
    return (torch.stack(path), v.max())


def dtw(x):
    c = torch.cdist(x.T[:3], Y.T[:4])
    D = torch.full((4, 5), torch.inf)
    D[0, 0] = 0
    for a in range(3):
        for b in range(4):
            D[a + 1, b + 1] = c[a, b] + torch.min(torch.stack([D[a, b], D[a + 1, b], D[a, b + 1]]))
    return D[-1, -1]


def quant(x):
    s = x.abs().max() / 127
    q = torch.round(x / s).clamp(-128, 127).to(torch.int8)
    return (q.float() * s, q)


def ste(x):
    q = (x > 0).float()
    return x + (q - x).detach()


def gumbel(x):
    return F.gumbel_softmax(x, tau=0.5, hard=True)


# What breaks, for a tensor that requires no gradient; and for one that does.
BREAKS = {
    "gradient penalty": ("FL0030", None),
    "cutmix": ("FL0030", "FL0030"),
    "cache of keys": (None, "FL0030"),
    "special": (None, "FL0030"),
    "schedule of learning rates": ("FL0003", "FL0003"),
    "dataclass as a tuple": (None, "FL0030"),
}
RECIPES = {
    "nms": lambda x: nms(BOXES + x.sum() * 0, SCORES, 0.3),
    "overlap of boxes": lambda x: box_iou(BOXES * x[0, 0].abs(), BOXES),
    "gradient penalty": gp,
    "sinusoidal embedding": lambda x: x + sinus(4, 6),
    "rotary embedding": lambda x: rope(x),
    "GRU by hand": lambda x: gru_cell(x, Y),
    "beam search": lambda x: beam(x),
    "moving average of weights": lambda x: ema(AVERAGE),
    "nucleus": top_p,
    "generator": lambda x: list(gen(x)),
    "sum of a generator": lambda x: sum(r.sum() for r in gen(x)),
    "focal loss": lambda x: focal(x, I),
    "dice loss": lambda x: dice(x, (Y > 0).float()),
    "contrastive loss": lambda x: info(x, Y),
    "accuracy of the best k": lambda x: acc(x, I),
    "confusion matrix": lambda x: confusion(x[:, :3].argmax(1), I),
    "graph convolution": gcn,
    "graph attention": gat,
    "mixup": mixup,
    "cutout": lambda x: cutout(IMAGES * x[0, 0]),
    "cutmix": lambda x: cutmix(IMAGES),
    "contrast": lambda x: jitter(IMAGES),
    "rotated images": lambda x: affine(IMAGES * x[0, 0]),
    "vector quantisation": vq,
    "CTC loss": ctc,
    "pooling by logsumexp": logsumexp_pool,
    "distillation": lambda x: kd(x, Y),
    "variational autoencoder": vae,
    "advantages": lambda x: gae(x[:, 0], x[:, 1]),
    "clipped policy loss": lambda x: ppo(x[:, 0], Y[:, 0], x[:, 1].detach()),
    "warm-up": warm,
    "meter": metered,
    "mixture of experts": moe,
    "mixture of experts by indices": moe_idx,
    "sinkhorn": sinkhorn,
    "power iteration": power_it,
    "Newton-Schulz": ns,
    "Fourier features": fourier,
    "filter of a spectrum": spectral,
    "Huber loss": huber,
    "triplet loss": triplet,
    "smoothed labels": label_smooth,
    "structural similarity": lambda x: ssim(IMAGES * x[0, 0].abs()),
    "signal to noise": lambda x: psnr(IMAGES * x[0, 0].abs()),
    "pixel shuffle": lambda x: pixel(IMAGES),
    "patches": lambda x: patches(IMAGES),
    "windows of images": lambda x: window(IMAGES),
    "rolled images and pooling": lambda x: roll_mask(IMAGES),
    "nested containers": lambda x: nested({"a": x, "b": Y}),
    "quantile loss": qr_loss,
    "area under a curve": auc,
    "means of groups": dedup,
    "padded batch": pad_batch,
    "causal attention": lambda x: causal_sd(SEQUENCES * x[0, 0]),
    "attention with a bias": lambda x: alibi(SEQUENCES * x[0, 0]),
    "cache of keys": lambda x: kvcache(SEQUENCES * x[0, 0]),
    "einsum": lambda x: ein(SEQUENCES * x[0, 0]),
    "linalg": linalg,
    "special": special,
    "schedule of learning rates": opt_state,
    "accumulated gradients": accum,
    "truncated recurrence": detach_loop,
    "list of modules": stack_mods,
    "chain of writes": inplace_chain,
    "where with numbers": where_scalar,
    "sort and gather": argsort_gather,
    "running extrema": cummax,
    "interpolation": interp1,
    "text of sizes": strfmt,
    "optional": lambda x: optional(x, Y),
    "cosine schedule": sched,
    "spectral norm": spectral_norm,
    "weight norm": weight_norm,
    "orthogonality": ortho,
    "jacobian": jac,
    "product with a Hessian": hvp,
    "inner step": maml,
    "k-means": kmeans,
    "forward algorithm": crf,
    "Viterbi": viterbi,
    "time warping": dtw,
    "quantisation": quant,
    "straight through": ste,
    "Gumbel softmax": gumbel,
    "tied weights": lambda x: TIED(I) * x[0, 0],
    "attention by hand": lambda x: ATTENTION(SEQUENCES * x[0, 0]),
    "masked attention by hand": lambda x: ATTENTION(SEQUENCES, torch.tril(torch.ones(5, 5, dtype=torch.bool))),
    "forward hook": lambda x: (HOOKED(x), dict(HOOKED.acts)),
    "dataclass as a tuple": lambda x: dataclasses.astuple(Out(loss=x.sum(), logits=x)),
    "dataclass": lambda x: Out(x.sum(), x),
    "named tuple": lambda x: Pair(x, x * 2),
    "named tuple, replaced": lambda x: Pair(x, x * 2)._replace(a=Y),
    "partial": lambda x: functools.partial(torch.add, alpha=2)(x, Y),
    "ordered dict": lambda x: collections.OrderedDict(a=x, b=x * 2),
    "dict of lists": lambda x: (lambda d: [d[k].append(r) for k, r in zip("aba", x, strict=False)] and dict(d))(collections.defaultdict(list)),
    "counter": lambda x: collections.Counter([1, 1, 2]).most_common(1)[0][1] * x,
    "state dict": lambda x: {k: v.norm() for k, v in LINEAR.state_dict().items()},
    "number of parameters": lambda x: sum(p.numel() for p in TIED.parameters()),
    "regularisation": lambda x: sum((p.pow(2).sum() for n, p in LINEAR.named_parameters() if n.endswith("weight"))) + x.sum(),
    "batch norm in training": lambda x: NORM(x),
    "embedding": lambda x: EMBEDDING(I) + x,
    "convolution": lambda x: F.relu(CONV(IMAGES)),
    "Sequential": lambda x: nn.Sequential(LINEAR, nn.ReLU(), LINEAR)(x),
    "in float64": lambda x: (x.double() @ W.double()).float(),
    "index of each row": lambda x: x[torch.arange(4), I],
    "lists of indices": lambda x: x[[0, 1], [2, 3]],
    "in chunks": lambda x: torch.cat([LINEAR(c) for c in x.split(3)]),
    "accumulate": lambda x: list(itertools.accumulate(x, lambda a, b: a * 0.5 + b)),
    "zip": lambda x: [a @ b for a, b in zip(x, Y, strict=True)],
    "sorted": lambda x: sorted([x[0], x[1]], key=lambda r: r.shape[0]),
    "hasattr": lambda x: (lambda: x.nofield if hasattr(x, "nofield") else x)(),
    "any": lambda x: any(t.requires_grad for t in [x, Y]),
    "bool": lambda x: x * bool(x.shape[0] > 2),
    "conditional": lambda x: (lambda: x if x.ndim == 2 else None)(),
    "isclose": lambda x: torch.isclose(x, x).all() & torch.isfinite(x).all(),
    "a number": lambda x: x.sum().item() * 2,
    "a list": lambda x: x[0].tolist(),
    "an array": lambda x: x.detach().numpy().mean(),
    "name of a dtype": lambda x: str(x.dtype),
    "text": lambda x: f"{x.shape}",
}
