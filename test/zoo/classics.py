"""Models as people write them by hand, one of each sort: (module, keyword arguments), by name.

A module gives its results, losses among them; noise is an argument, so that every backend sees the same.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

CLASSICS = {}


def classic(kind):
    """Adds a module whose `example` makes the arguments."""
    name = "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(kind.__name__))
    CLASSICS[name] = lambda: ((module := kind().eval()), module.example())
    return kind


def mlp(*sizes, act=nn.ReLU):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


@classic
class Gan(nn.Module):
    """Both losses of a generator and a discriminator; the discriminator's sees the generator detached."""

    def __init__(self):
        super().__init__()
        self.start = nn.Linear(16, 32 * 4 * 4)
        self.make = nn.Sequential(nn.BatchNorm2d(32), nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
                                  nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh())
        self.judge = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 4, 2, 1), nn.InstanceNorm2d(32),
                                   nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(512, 1))

    def example(self):
        return {"real": torch.randn(4, 3, 16, 16), "noise": torch.randn(4, 16)}

    def forward(self, real, noise):
        fake = self.make(self.start(noise).view(-1, 32, 4, 4))
        yes, no = self.judge(real), self.judge(fake.detach())
        told = F.binary_cross_entropy_with_logits(yes, torch.ones_like(yes)) + F.binary_cross_entropy_with_logits(no, torch.zeros_like(no))
        return told, F.softplus(-self.judge(fake)).mean()


@classic
class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = mlp(64, 48, 16), mlp(8, 48, 64)

    def example(self):
        return {"x": torch.rand(6, 64), "noise": torch.randn(6, 8)}

    def forward(self, x, noise):
        mean, logvar = self.encode(x).chunk(2, -1)
        logits = self.decode(mean + noise * torch.exp(0.5 * logvar))
        divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp(), -1)
        return F.binary_cross_entropy(torch.sigmoid(logits), x, reduction="sum") + divergence.sum(), logits


@classic
class SequenceToSequence(nn.Module):
    """GRU cells with additive attention over what the encoder read, step by step."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 24, padding_idx=0)
        self.read, self.write = nn.GRU(24, 16, batch_first=True, bidirectional=True), nn.GRUCell(24 + 32, 32)
        self.key, self.query, self.score = nn.Linear(32, 16), nn.Linear(32, 16, bias=False), nn.Linear(16, 1)
        self.out = nn.Linear(64, 40)

    def example(self):
        source = torch.randint(1, 40, (3, 9))
        source[1, 6:] = 0
        return {"source": source, "target": torch.randint(1, 40, (3, 6))}

    def forward(self, source, target):
        memory, _ = self.read(self.words(source))
        keys, hidden, losses = self.key(memory), memory[:, -1], []
        for t in range(target.shape[1] - 1):
            scores = self.score(torch.tanh(keys + self.query(hidden)[:, None])).squeeze(-1)
            weights = scores.masked_fill(source == 0, float("-inf")).softmax(-1)
            seen = torch.einsum("bs,bsd->bd", weights, memory)
            hidden = self.write(torch.cat([self.words(target[:, t]), seen], -1), hidden)
            losses.append(F.cross_entropy(self.out(torch.cat([hidden, seen], -1)), target[:, t + 1], ignore_index=0))
        return torch.stack(losses).mean(), hidden


@classic
class GraphNetwork(nn.Module):
    """Messages along edges, summed by index_add, and attention over the edges of a node."""

    def __init__(self):
        super().__init__()
        self.message, self.update = mlp(2 * 12 + 4, 24, 12), nn.GRUCell(12, 12)
        self.attend, self.out = nn.Linear(24, 1), nn.Linear(12, 3)

    def example(self):
        return {"nodes": torch.randn(10, 12), "edges": torch.randint(0, 10, (2, 30)), "features": torch.randn(30, 4),
                "batch": torch.tensor([0] * 4 + [1] * 6)}

    def forward(self, nodes, edges, features, batch):
        source, target = edges
        for _ in range(2):
            pairs = torch.cat([nodes[source], nodes[target]], -1)
            scores = F.leaky_relu(self.attend(pairs), 0.2).squeeze(-1)
            top = torch.full((len(nodes),), float("-inf")).scatter_reduce(0, target, scores, "amax")
            weights = torch.exp(scores - top[target])
            weights = weights / torch.zeros(len(nodes)).index_add(0, target, weights)[target]
            messages = self.message(torch.cat([pairs, features], -1)) * weights[:, None]
            nodes = self.update(torch.zeros_like(nodes).index_add_(0, target, messages), nodes)
        count = torch.bincount(batch, minlength=2).clamp(min=1)
        return self.out(torch.zeros(2, 12).index_add(0, batch, nodes) / count[:, None])


@classic
class MixtureOfExperts(nn.Module):
    """Two of four experts for each token, without capacity, and the loss that balances them."""

    def __init__(self):
        super().__init__()
        self.route = nn.Linear(16, 4, bias=False)
        self.first, self.second = nn.Parameter(torch.randn(4, 16, 32) * 0.2), nn.Parameter(torch.randn(4, 32, 16) * 0.2)

    def example(self):
        return {"x": torch.randn(2, 7, 16)}

    def forward(self, x):
        flat = x.flatten(0, 1)
        logits = self.route(flat)
        gates, places = logits.softmax(-1).topk(2, -1)
        gates = gates / gates.sum(-1, keepdim=True)
        chosen = F.one_hot(places, 4).to(x.dtype)
        out = torch.zeros_like(flat)
        for e in range(4):
            weight = (gates * chosen[..., e]).sum(-1, keepdim=True)
            out = out + weight * (F.gelu(flat @ self.first[e]) @ self.second[e])
        balance = 4 * (chosen.sum(1).mean(0) * logits.softmax(-1).mean(0)).sum()
        return out.view_as(x), balance, torch.logsumexp(logits, -1).square().mean()


@classic
class Recommender(nn.Module):
    """Bags of categories through embedding_bag, their products in pairs, and a click's loss."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(30, 8, mode=mode) for mode in ("sum", "mean", "max"))
        self.bottom, self.top = mlp(5, 16, 8), mlp(8 + 6, 16, 1)
        self.register_buffer("pairs", torch.tril_indices(4, 4, -1))

    def example(self):
        return {"dense": torch.randn(6, 5), "bags": torch.randint(0, 30, (3, 20)),
                "offsets": torch.tensor([[0, 3, 5, 9, 12, 18]]).repeat(3, 1), "clicked": torch.rand(6).round()}

    def forward(self, dense, bags, offsets, clicked):
        base = self.bottom(dense)
        vectors = torch.stack([base] + [table(bags[i], offsets[i]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(vectors, vectors.mT)[:, self.pairs[0], self.pairs[1]]
        score = self.top(torch.cat([base, products], -1)).squeeze(-1)
        return F.binary_cross_entropy_with_logits(score, clicked), torch.sigmoid(score)


@classic
class NormalisingFlow(nn.Module):
    """Affine couplings, permutations and an invertible matrix, with the logarithm of the determinant."""

    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList(mlp(3, 16, 6, act=nn.Tanh) for _ in range(3))
        self.mix = nn.Parameter(torch.linalg.qr(torch.randn(6, 6))[0])
        self.register_buffer("order", torch.randperm(6))

    def example(self):
        return {"x": torch.randn(8, 6)}

    def forward(self, x):
        total = torch.zeros(x.shape[0])
        for net in self.nets:
            a, b = x.split(3, -1)
            scale, shift = net(a).chunk(2, -1)
            scale = torch.tanh(scale)
            x, total = torch.cat([a, b * scale.exp() + shift], -1)[:, self.order], total + scale.sum(-1)
            x, total = x @ self.mix, total + torch.linalg.slogdet(self.mix)[1]
        return -(torch.distributions.Normal(0.0, 1.0).log_prob(x).sum(-1) + total).mean(), x


@classic
class KalmanFilter(nn.Module):
    """Means and covariances over time, by solves and a Cholesky factor."""

    def __init__(self):
        super().__init__()
        self.move = nn.Parameter(torch.eye(4) + 0.1 * torch.randn(4, 4))
        self.see, self.noise = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(6))

    def example(self):
        return {"seen": torch.randn(3, 7, 2)}

    def forward(self, seen):
        mean, cov = torch.zeros(len(seen), 4, 1), torch.eye(4).expand(len(seen), 4, 4)
        q, r = torch.diag(F.softplus(self.noise[:4])), torch.diag(F.softplus(self.noise[4:]))
        likelihood, means = 0, []
        for t in range(seen.shape[1]):
            mean, cov = self.move @ mean, self.move @ cov @ self.move.T + q
            gap = seen[:, t, :, None] - self.see @ mean
            s = self.see @ cov @ self.see.T + r
            gain = torch.linalg.solve(s, self.see @ cov).mT
            mean, cov = mean + gain @ gap, cov - gain @ self.see @ cov
            factor = torch.linalg.cholesky(s)
            white = torch.linalg.solve_triangular(factor, gap, upper=False)
            likelihood = likelihood - 0.5 * white.square().sum((1, 2)) - factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
            means.append(mean.squeeze(-1))
        return -likelihood.mean(), torch.stack(means, 1)


@classic
class Ctc(nn.Module):
    """A recogniser: convolution over time, LSTM, connectionist temporal classification."""

    def __init__(self):
        super().__init__()
        self.hear = nn.Conv1d(8, 16, 5, 2, 2)
        self.read, self.out = nn.LSTM(16, 12, num_layers=2, bidirectional=True), nn.Linear(24, 10)

    def example(self):
        return {"sound": torch.randn(3, 8, 40), "words": torch.randint(1, 10, (3, 6)), "lengths": torch.tensor([6, 4, 5])}

    def forward(self, sound, words, lengths):
        h, _ = self.read(F.gelu(self.hear(sound)).permute(2, 0, 1))
        logs = self.out(h).log_softmax(-1)
        return F.ctc_loss(logs, words, torch.full((3,), 20), lengths, zero_infinity=True), logs.argmax(-1)


@classic
class NeuralOde(nn.Module):
    """Runge-Kutta steps of a learned field, and the same run backwards in time."""

    def __init__(self):
        super().__init__()
        self.field = mlp(3, 16, 16, 2, act=nn.Tanh)

    def example(self):
        return {"start": torch.randn(5, 2), "times": torch.linspace(0, 1, 6)}

    def slope(self, t, y):
        return self.field(torch.cat([y, t.expand(len(y), 1)], -1))

    def forward(self, start, times):
        path = [start]
        for t0, t1 in zip(times[:-1], times[1:]):
            h, y = t1 - t0, path[-1]
            a = self.slope(t0, y)
            b = self.slope(t0 + h / 2, y + h / 2 * a)
            c = self.slope(t0 + h / 2, y + h / 2 * b)
            d = self.slope(t1, y + h * c)
            path.append(y + h / 6 * (a + 2 * b + 2 * c + d))
        return torch.stack(path)


@classic
class UNet(nn.Module):
    """Two levels down and up, joined, with a Dice loss."""

    def __init__(self):
        super().__init__()
        self.a, self.b = self.block(1, 8), self.block(8, 16)
        self.up, self.c = nn.ConvTranspose2d(16, 8, 2, 2), self.block(16, 8)
        self.out = nn.Conv2d(8, 3, 1)

    @staticmethod
    def block(n, m):
        return nn.Sequential(nn.Conv2d(n, m, 3, padding=1, bias=False), nn.GroupNorm(4, m), nn.SiLU(), nn.Conv2d(m, m, 3, padding=1), nn.ReLU())

    def example(self):
        return {"x": torch.randn(2, 1, 16, 16), "mask": torch.randint(0, 3, (2, 16, 16))}

    def forward(self, x, mask):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        logits = self.out(self.c(torch.cat([a, self.up(b)], 1))) + F.interpolate(b[:, :3], scale_factor=2, mode="bilinear", align_corners=False)
        p, truth = logits.softmax(1), F.one_hot(mask, 3).permute(0, 3, 1, 2)
        dice = 2 * (p * truth).sum((2, 3)) / (p + truth).sum((2, 3)).clamp(min=1e-6)
        return 1 - dice.mean() + F.cross_entropy(logits, mask), logits


@classic
class Crf(nn.Module):
    """A linear chain: the forward algorithm in logarithms, the score of the tags, and Viterbi's path."""

    def __init__(self):
        super().__init__()
        self.emit, self.step = nn.Linear(10, 5), nn.Parameter(torch.randn(5, 5) * 0.3)

    def example(self):
        return {"x": torch.randn(3, 8, 10), "tags": torch.randint(0, 5, (3, 8)), "mask": torch.arange(8) < torch.tensor([[8], [5], [6]])}

    def forward(self, x, tags, mask):
        scores = self.emit(x)
        alpha, best, back = scores[:, 0], scores[:, 0], []
        for t in range(1, x.shape[1]):
            after = torch.logsumexp(alpha[:, :, None] + self.step + scores[:, t, None], 1)
            alpha = torch.where(mask[:, t, None], after, alpha)
            top, where = (best[:, :, None] + self.step).max(1)
            best, _ = top + scores[:, t], back.append(where)
        gold = scores.gather(2, tags[..., None]).squeeze(-1) * mask
        gold = gold.sum(1) + (self.step[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]).sum(1)
        path = [best.argmax(-1)]
        for where in reversed(back):
            path.append(where.gather(1, path[-1][:, None]).squeeze(1))
        return (torch.logsumexp(alpha, -1) - gold).mean(), torch.stack(path[::-1], 1)


@classic
class WaveNet(nn.Module):
    """Dilated causal convolutions with gates, over quantised sound."""

    def __init__(self):
        super().__init__()
        self.start = nn.Embedding(16, 12)
        self.layers = nn.ModuleList(nn.utils.parametrizations.weight_norm(nn.Conv1d(12, 24, 2, dilation=2**i)) for i in range(4))
        self.skips, self.out = nn.ModuleList(nn.Conv1d(12, 12, 1) for _ in range(4)), nn.Conv1d(12, 16, 1)

    def example(self):
        return {"sound": torch.randint(0, 16, (2, 40))}

    def forward(self, sound):
        h, total = self.start(sound).mT, 0
        for i, (layer, skip) in enumerate(zip(self.layers, self.skips)):
            a, b = layer(F.pad(h, (2**i, 0))).chunk(2, 1)
            step = skip(torch.tanh(a) * torch.sigmoid(b))
            h, total = h + step, total + step
        return F.cross_entropy(self.out(F.relu(total))[..., :-1], sound[:, 1:])


@classic
class DeepQ(nn.Module):
    """A step of double Q-learning with a duelling net and a target net without gradients."""

    def __init__(self):
        super().__init__()
        self.body, self.value, self.advantage = mlp(6, 24, 24), nn.Linear(24, 1), nn.Linear(24, 4)
        self.old_body, self.old_value, self.old_advantage = mlp(6, 24, 24), nn.Linear(24, 1), nn.Linear(24, 4)

    def example(self):
        return {"state": torch.randn(8, 6), "after": torch.randn(8, 6), "action": torch.randint(0, 4, (8,)), "reward": torch.randn(8),
                "ended": torch.arange(8) % 3 == 0}

    def q(self, x, old=False):
        body, value, advantage = (self.old_body, self.old_value, self.old_advantage) if old else (self.body, self.value, self.advantage)
        h = F.relu(body(x))
        return value(h) + advantage(h) - advantage(h).mean(-1, keepdim=True)

    def forward(self, state, after, action, reward, ended):
        with torch.no_grad():
            best = self.q(after).argmax(-1, keepdim=True)
            target = reward + 0.99 * self.q(after, True).gather(1, best).squeeze(1) * ~ended
        error = self.q(state).gather(1, action[:, None]).squeeze(1) - target
        return F.smooth_l1_loss(error, torch.zeros_like(error)), error.abs()


@classic
class ActorCritic(nn.Module):
    """The clipped objective over a rollout, advantages by a backward recursion, and entropy."""

    def __init__(self):
        super().__init__()
        self.actor, self.critic = mlp(5, 16, 3, act=nn.Tanh), mlp(5, 16, 1, act=nn.Tanh)

    def example(self):
        return {"states": torch.randn(10, 4, 5), "actions": torch.randint(0, 3, (10, 4)), "rewards": torch.randn(10, 4),
                "before": -torch.rand(10, 4) - 0.5}

    def forward(self, states, actions, rewards, before):
        values, policy = self.critic(states).squeeze(-1), torch.distributions.Categorical(logits=self.actor(states))
        gains, gain = [], torch.zeros(4)
        for t in reversed(range(9)):
            gain = rewards[t] + 0.99 * values[t + 1].detach() - values[t].detach() + 0.95 * gain
            gains.insert(0, gain)
        gains = torch.stack(gains)
        gains = (gains - gains.mean()) / (gains.std() + 1e-8)
        ratio = torch.exp(policy.log_prob(actions)[:-1] - before[:-1])
        clipped = torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains)
        return -clipped.mean() + 0.5 * (gains + values[:-1].detach() - values[:-1]).square().mean() - 0.01 * policy.entropy().mean()


@classic
class WordVectors(nn.Module):
    """Skip-grams with negative samples."""

    def __init__(self):
        super().__init__()
        self.words, self.context = nn.Embedding(50, 12, max_norm=None), nn.Embedding(50, 12)

    def example(self):
        return {"centre": torch.randint(0, 50, (9,)), "near": torch.randint(0, 50, (9,)), "far": torch.randint(0, 50, (9, 5))}

    def forward(self, centre, near, far):
        v = self.words(centre)
        good = F.logsigmoid((v * self.context(near)).sum(-1))
        return -(good + F.logsigmoid(-torch.bmm(self.context(far), v[:, :, None]).squeeze(-1)).sum(-1)).mean()


@classic
class PhysicsInformed(nn.Module):
    """The residual of Burgers' equation, by derivatives of the net with regard to its inputs."""

    def __init__(self):
        super().__init__()
        self.net = mlp(2, 16, 16, 1, act=nn.Tanh)

    def example(self):
        return {"points": torch.rand(12, 2)}

    def forward(self, points):
        u = lambda p: self.net(p).squeeze(-1)  # noqa: E731
        slope = torch.func.vmap(torch.func.grad(u))(points)
        bend = torch.func.vmap(torch.func.hessian(u))(points)
        residual = slope[:, 1] + u(points) * slope[:, 0] - 0.01 / math.pi * bend[:, 0, 0]
        return residual.square().mean(), slope


@classic
class GaussianProcess(nn.Module):
    """Marginal likelihood and prediction with a kernel of learned lengths."""

    def __init__(self):
        super().__init__()
        self.lengths, self.noise = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.tensor(-1.0))

    def example(self):
        return {"x": torch.randn(14, 3), "y": torch.randn(14), "other": torch.randn(5, 3)}

    def kernel(self, a, b):
        return torch.exp(-0.5 * torch.cdist(a / self.lengths.exp(), b / self.lengths.exp()).square())

    def forward(self, x, y, other):
        factor = torch.linalg.cholesky(self.kernel(x, x) + self.noise.exp() * torch.eye(len(x)))
        alpha = torch.cholesky_solve(y[:, None], factor)
        loss = 0.5 * (y @ alpha.squeeze(1)) + factor.diagonal().log().sum() + 7 * math.log(2 * math.pi)
        return loss, (self.kernel(other, x) @ alpha).squeeze(1)


@classic
class FourierOperator(nn.Module):
    """A layer that works on the lowest frequencies, with complex weights."""

    def __init__(self):
        super().__init__()
        self.lift, self.drop = nn.Linear(1, 8), nn.Linear(8, 1)
        self.weight = nn.Parameter(torch.randn(8, 8, 5, 2) * 0.1)
        self.local = nn.Conv1d(8, 8, 1)

    def example(self):
        return {"x": torch.randn(3, 20, 1)}

    def forward(self, x):
        h = self.lift(x).mT
        waves = torch.fft.rfft(h)
        low = torch.einsum("bix,iox->box", waves[..., :5], torch.view_as_complex(self.weight))
        full = torch.zeros(3, 8, 11, dtype=low.dtype)
        full[..., :5] = low
        mixed = torch.fft.irfft(full, n=20)
        return self.drop(F.gelu(mixed + self.local(h)).mT)


@classic
class MixtureDensity(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(3, 24, 5 * 3, act=nn.Tanh)

    def example(self):
        return {"x": torch.randn(11, 3), "y": torch.randn(11)}

    def forward(self, x, y):
        weight, mean, scale = self.net(x).view(-1, 3, 5).unbind(1)
        parts = torch.distributions.Normal(mean, F.softplus(scale) + 1e-3).log_prob(y[:, None])
        return -torch.logsumexp(F.log_softmax(weight, -1) + parts, -1).mean()


@classic
class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(1, 4, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(144, 6))
        self.read = nn.Sequential(nn.Conv2d(1, 6, 3), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(54, 10))

    def example(self):
        return {"x": torch.randn(3, 1, 16, 16)}

    def forward(self, x):
        turn = self.look(x).view(-1, 2, 3) * 0.1 + torch.eye(2, 3)
        return self.read(F.grid_sample(x, F.affine_grid(turn, x.shape, align_corners=False), align_corners=False)), turn


@classic
class RadianceField(nn.Module):
    """Points along rays, their waves, and what is seen through all of them."""

    def __init__(self):
        super().__init__()
        self.body, self.colour = mlp(3 + 24, 24, 24), mlp(24 + 3, 16, 3)
        self.density = nn.Linear(24, 1)

    def example(self):
        return {"origin": torch.randn(6, 3), "direction": F.normalize(torch.randn(6, 3), dim=-1), "seen": torch.rand(6, 3)}

    def forward(self, origin, direction, seen):
        depth = torch.linspace(0.5, 3, 8).expand(6, 8)
        points = origin[:, None] + direction[:, None] * depth[..., None]
        waves = (points[..., None] * 2.0 ** torch.arange(4)).flatten(-2)
        h = F.relu(self.body(torch.cat([points, waves.sin(), waves.cos()], -1)))
        gaps = torch.cat([depth.diff(dim=-1), torch.full((6, 1), 1e3)], -1)
        alpha = 1 - torch.exp(-F.softplus(self.density(h).squeeze(-1)) * gaps)
        through = torch.cumprod(torch.cat([torch.ones(6, 1), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        colour = torch.sigmoid(self.colour(torch.cat([h, direction[:, None].expand(-1, 8, -1)], -1)))
        out = ((through * alpha)[..., None] * colour).sum(1)
        return F.mse_loss(out, seen), out


@classic
class Diffusion(nn.Module):
    """A denoising step's loss, and one step of sampling."""

    def __init__(self):
        super().__init__()
        self.time, self.first, self.second = nn.Linear(16, 16), nn.Linear(8, 16), nn.Linear(16, 8)
        self.register_buffer("kept", torch.cumprod(1 - torch.linspace(1e-4, 0.02, 50), 0))

    def example(self):
        return {"x": torch.randn(6, 8), "noise": torch.randn(6, 8), "t": torch.randint(1, 50, (6,))}

    def forward(self, x, noise, t):
        waves = t[:, None] * torch.exp(-math.log(1e4) * torch.arange(8) / 8)
        kept = self.kept[t][:, None]
        noisy = kept.sqrt() * x + (1 - kept).sqrt() * noise
        guess = self.second(F.silu(self.first(noisy) + self.time(torch.cat([waves.sin(), waves.cos()], -1))))
        return F.mse_loss(guess, noise), (noisy - (1 - kept).sqrt() * guess) / kept.sqrt()


@classic
class StateSpace(nn.Module):
    """A selective scan, step by step, behind a causal convolution."""

    def __init__(self):
        super().__init__()
        self.into, self.conv = nn.Linear(8, 24), nn.Conv1d(12, 12, 3, padding=2, groups=12)
        self.select, self.step, self.out = nn.Linear(12, 2 * 4 + 12), nn.Parameter(torch.zeros(12)), nn.Linear(12, 8)
        self.decay = nn.Parameter(torch.log(torch.arange(1.0, 5.0)).repeat(12, 1))

    def example(self):
        return {"x": torch.randn(2, 10, 8)}

    def forward(self, x):
        h, gate = self.into(x).chunk(2, -1)
        h = F.silu(self.conv(h.mT)[..., :10].mT)
        b, c, size = self.select(h).split([4, 4, 12], -1)
        size = F.softplus(size + self.step)
        state, rows = torch.zeros(2, 12, 4), []
        for t in range(h.shape[1]):
            state = torch.exp(-size[:, t, :, None] * self.decay.exp()) * state + (size[:, t] * h[:, t])[..., None] * b[:, t, None]
            rows.append((state * c[:, t, None]).sum(-1))
        return self.out(torch.stack(rows, 1) * F.silu(gate))


@classic
class LanguageModel(nn.Module):
    """LSTM with tied weights and a packed batch's mask."""

    def __init__(self):
        super().__init__()
        self.words, self.read = nn.Embedding(60, 20), nn.LSTM(20, 20, num_layers=2, batch_first=True)
        self.out = nn.Linear(20, 60)
        self.out.weight = self.words.weight

    def example(self):
        return {"text": torch.randint(0, 60, (3, 12)), "h": torch.zeros(2, 3, 20), "c": torch.zeros(2, 3, 20)}

    def forward(self, text, h, c):
        y, (h, c) = self.read(self.words(text[:, :-1]), (h, c))
        return F.cross_entropy(self.out(y).flatten(0, 1), text[:, 1:].flatten(), label_smoothing=0.1), h, c


@classic
class Encoder(nn.Module):
    """torch's own transformer layers, with a padding mask and a causal decoder."""

    def __init__(self):
        super().__init__()
        self.both = nn.Transformer(16, 4, 1, 1, 32, dropout=0.0, batch_first=True, norm_first=True)

    def example(self):
        return {"source": torch.randn(2, 7, 16), "target": torch.randn(2, 5, 16), "padded": torch.arange(7) >= torch.tensor([[7], [4]])}

    def forward(self, source, target, padded):
        mask = nn.Transformer.generate_square_subsequent_mask(5)
        return self.both(source, target, tgt_mask=mask, src_key_padding_mask=padded, memory_key_padding_mask=padded)


@classic
class Siamese(nn.Module):
    """Contrastive learning: all pairs of two views, a memory bank written in place, and triplets."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
        self.register_buffer("bank", F.normalize(torch.randn(8, 12), dim=0))

    def example(self):
        return {"a": torch.randn(4, 10), "b": torch.randn(4, 10)}

    def forward(self, a, b):
        a, b = F.normalize(self.net(a), dim=-1), F.normalize(self.net(b), dim=-1)
        logits = torch.cat([(a * b).sum(-1, keepdim=True), a @ self.bank.clone()], 1) / 0.07
        with torch.no_grad():
            self.bank[:, :4] = b.T
        pairs = F.cross_entropy(a @ b.T / 0.1, torch.arange(4))
        return F.cross_entropy(logits, torch.zeros(4, dtype=torch.long)) + pairs + F.triplet_margin_loss(a, b, b.roll(1, 0)), a


@classic
class VectorQuantised(nn.Module):
    """Nearest codes with gradients straight through, and the codes' moving averages."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(4, 8, 3, 2, 1), nn.ConvTranspose1d(8, 4, 4, 2, 1)
        self.register_buffer("codes", torch.randn(16, 8))
        self.register_buffer("counts", torch.ones(16))

    def example(self):
        return {"x": torch.randn(3, 4, 12)}

    def forward(self, x):
        z = self.encode(x).mT
        flat = z.reshape(-1, 8)
        places = torch.cdist(flat, self.codes).argmin(-1)
        chosen = self.codes[places].view_as(z)
        if self.training:
            with torch.no_grad():
                one = F.one_hot(places, 16).to(x.dtype)
                self.counts.mul_(0.99).add_(one.sum(0), alpha=0.01)
                self.codes.lerp_(one.T @ flat / self.counts[:, None].clamp(min=1e-5), 0.01)
        out = self.decode((z + (chosen - z).detach()).mT)
        return F.mse_loss(out, x) + 0.25 * F.mse_loss(z, chosen.detach()), places


@classic
class Detector(nn.Module):
    """Boxes and classes on a grid, focal loss, generalised overlap and the best boxes' places."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.Hardswish(), nn.Conv2d(8, 8, 3, 2, 1, groups=8), nn.ReLU6())
        self.head = nn.Conv2d(8, 4 + 5, 1)

    def example(self):
        return {"x": torch.randn(2, 3, 24, 24), "boxes": torch.rand(2, 36, 4) + torch.tensor([0, 0, 1, 1]), "kinds": torch.randint(0, 5, (2, 36))}

    def forward(self, x, boxes, kinds):
        made = self.head(self.body(x)).flatten(2).mT
        corner, size = made[..., :2].sigmoid(), made[..., 2:4].exp()
        mine = torch.cat([corner, corner + size], -1)
        low, high = torch.maximum(mine[..., :2], boxes[..., :2]), torch.minimum(mine[..., 2:], boxes[..., 2:])
        both = (high - low).clamp(min=0).prod(-1)
        whole = size.prod(-1) + (boxes[..., 2:] - boxes[..., :2]).prod(-1) - both
        hull = (torch.maximum(mine[..., 2:], boxes[..., 2:]) - torch.minimum(mine[..., :2], boxes[..., :2])).prod(-1)
        overlap = both / whole - (hull - whole) / hull
        truth = F.one_hot(kinds, 5).to(x.dtype)
        p, loss = made[..., 4:].sigmoid(), F.binary_cross_entropy_with_logits(made[..., 4:], truth, reduction="none")
        focal = (0.25 * truth + 0.75 * (1 - truth)) * (1 - (p * truth + (1 - p) * (1 - truth))) ** 2 * loss
        return focal.sum(), (1 - overlap).mean(), p.amax(-1).topk(5, -1).indices
