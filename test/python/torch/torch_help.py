"""What the tests of the torch backend share."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import frameloom.torch as ft  # noqa: E402

ft.config.strict = True  # what goes wrong in a test is to be seen; tests of what then happens say strict=False

BACKENDS = {"frameloom": ft.backend, "frameloom_interpret": ft.backend_interpret}


@pytest.fixture(autouse=True)
def fresh():
    """Import it into a module, and each of its tests begins with a seed, without Dynamo's caches and graphs."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    ft.compiled_graphs.clear()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8)
        self.line = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.line(self.norm(self.conv(x)).relu().mean((2, 3)))


class Block(torch.nn.Module):
    """A block of a transformer: causal where it has no mask."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attention = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.heads = heads

    def attend(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)

    def forward(self, x, mask=None):
        n, t, w = x.shape
        q, k, v = (
            y.view(n, t, self.heads, w // self.heads).transpose(1, 2)
            for y in self.attention(self.norm1(x)).split(w, dim=2)
        )
        x = x + self.out(self.attend(q, k, v, mask).transpose(1, 2).reshape(n, t, w))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def compiled(f, **keywords):
    return torch.compile(f, backend=ft.backend, **keywords)


def host_calls():
    """Names of the ops that ran through torch, in all graphs that are alive."""
    return [str(op) for g in ft.compiled_graphs for v in g.report() for op, _ in v["host_calls"]]


def close(got, expected, **tolerance):
    torch.testing.assert_close(got, expected, equal_nan=True, check_stride=True, **tolerance)


def identical(got, expected):
    """Bit for bit, results one by one."""
    for a, b in zip(got, expected, strict=True):
        close(a, b, rtol=0, atol=0)
