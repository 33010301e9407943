"""The models of `make bench-models`: (module, example inputs) with random weights, by name.

Transformers come from the `transformers` package at reduced depth, convolutional nets as their papers
describe them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

MODELS = {}


def model(name):
    def add(build):
        MODELS[name] = build
        return build

    return add


def _hf(kind, config, **inputs):
    import transformers

    transformers.logging.set_verbosity_error()
    module = getattr(transformers, kind)(config)

    class Whole(nn.Module):
        """The first tensor of the model's output."""

        def __init__(self):
            super().__init__()
            self.inner = module
            self.names = list(inputs)

        def forward(self, *values):
            return self.inner(**dict(zip(self.names, values)), return_dict=False)[0]

    return Whole(), tuple(inputs.values())


def _tokens(vocabulary, batch=2, length=128):
    return torch.randint(0, vocabulary, (batch, length))


@model("GPT-2")
def gpt2():
    import transformers

    config = transformers.GPT2Config(n_layer=3, vocab_size=8000, n_positions=256, use_cache=False,
                                     bos_token_id=0, eos_token_id=0, attn_pdrop=0.0, embd_pdrop=0.0,
                                     resid_pdrop=0.0)
    return _hf("GPT2LMHeadModel", config, input_ids=_tokens(8000))


@model("BERT")
def bert():
    import transformers

    config = transformers.BertConfig(num_hidden_layers=3, vocab_size=8000, hidden_dropout_prob=0.0,
                                     attention_probs_dropout_prob=0.0)
    return _hf("BertModel", config, input_ids=_tokens(8000))


@model("T5")
def t5():
    import transformers

    config = transformers.T5Config(num_layers=2, num_decoder_layers=2, vocab_size=8000, use_cache=False,
                                   dropout_rate=0.0)
    return _hf("T5Model", config, input_ids=_tokens(8000, 2, 64), decoder_input_ids=_tokens(8000, 2, 64))


@model("ViT")
def vit():
    import transformers

    config = transformers.ViTConfig(num_hidden_layers=3, hidden_dropout_prob=0.0,
                                    attention_probs_dropout_prob=0.0)
    return _hf("ViTModel", config, pixel_values=torch.randn(1, 3, 224, 224))


@model("LLaMA")
def llama():
    import transformers

    config = transformers.LlamaConfig(num_hidden_layers=3, hidden_size=512, intermediate_size=1376,
                                      num_attention_heads=8, num_key_value_heads=2, vocab_size=8000,
                                      use_cache=False)
    return _hf("LlamaForCausalLM", config, input_ids=_tokens(8000))


@model("Whisper encoder")
def whisper():
    import transformers
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    transformers.logging.set_verbosity_error()
    config = transformers.WhisperConfig(encoder_layers=2, d_model=256, encoder_attention_heads=4,
                                        encoder_ffn_dim=1024, max_source_positions=300, dropout=0.0)
    encoder = WhisperEncoder(config)

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = encoder

        def forward(self, x):
            return self.encoder(x, return_dict=False)[0]

    return Whole(), (torch.randn(1, 80, 600),)


class Residual(nn.Module):
    """A basic or bottleneck block (He et al., 2015)."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = width * (4 if bottleneck else 1)
        if bottleneck:
            shapes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        else:
            shapes = [(inputs, width, 3, stride), (width, width, 3, 1)]
        layers = []
        for i, o, k, s in shapes:
            layers += [nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), nn.ReLU()]
        self.body = nn.Sequential(*layers[:-1])
        self.skip = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


def resnet(depths, bottleneck):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for block in range(depth):
            layers.append(Residual(inputs, width, 2 if stage and not block else 1, bottleneck))
            inputs = width * (4 if bottleneck else 1)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


@model("ResNet-18")
def resnet18():
    return resnet([2, 2, 2, 2], False), (torch.randn(2, 3, 160, 160),)


@model("ResNet-50")
def resnet50():
    return resnet([3, 4, 6, 3], True), (torch.randn(2, 3, 160, 160),)


class Inverted(nn.Module):
    """An inverted residual with a depthwise convolution (Sandler et al., 2018)."""

    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        hidden = inputs * expand
        layers = []
        if expand != 1:
            layers += [nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6()]
        layers += [
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        ]
        self.body = nn.Sequential(*layers)
        self.same = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


@model("MobileNet-v2")
def mobilenet():
    layers = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()]
    inputs = 32
    for expand, outputs, depth, stride in [
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ]:
        for block in range(depth):
            layers.append(Inverted(inputs, outputs, 1 if block else stride, expand))
            inputs = outputs
    layers += [nn.Conv2d(inputs, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)), (
        torch.randn(2, 3, 160, 160),
    )


class UNet(nn.Module):
    """Three levels of double convolutions with skips (Ronneberger et al., 2015)."""

    def __init__(self, width=32):
        super().__init__()

        def double(i, o):
            return nn.Sequential(
                nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
            )

        widths = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList(double(i, o) for i, o in zip([3] + widths, widths))
        self.up = nn.ModuleList(double(i + o, o) for i, o in zip(widths[:0:-1], widths[-2::-1]))
        self.out = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for block, skip in zip(self.up, kept[-2::-1]):
            x = block(torch.cat([F.interpolate(x, scale_factor=2, mode="nearest"), skip], 1))
        return self.out(x)


@model("U-Net")
def unet():
    return UNet(), (torch.randn(1, 3, 128, 128),)


class LSTM(nn.Module):
    """One layer, unrolled over the steps of a sequence."""

    def __init__(self, inputs=64, width=128):
        super().__init__()
        self.x, self.h = nn.Linear(inputs, 4 * width), nn.Linear(width, 4 * width, bias=False)
        self.width = width

    def forward(self, x):
        h = c = x.new_zeros(x.shape[1], self.width)
        out = []
        for step in self.x(x).unbind(0):
            i, f, g, o = (step + self.h(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            out.append(h)
        return torch.stack(out)


@model("LSTM")
def lstm():
    return LSTM(), (torch.randn(24, 16, 64),)


class Diffusion(nn.Module):
    """A residual block with a time embedding, then self- and cross-attention (Rombach et al., 2021)."""

    def __init__(self, width=128, context=96, heads=4):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, width), nn.GroupNorm(32, width)
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.q = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.kv = nn.ModuleList([nn.Linear(width, 2 * width, bias=False), nn.Linear(context, 2 * width, bias=False)])
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def attend(self, i, x, context):
        def split(t):
            return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        k, v = self.kv[i](context).chunk(2, -1)
        y = F.scaled_dot_product_attention(split(self.q[i](x)), split(k), split(v))
        return self.out[i](y.transpose(1, 2).flatten(2))

    def forward(self, x, time, context):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        x = x + self.conv2(F.silu(self.norm2(h)))
        n, c, height, width = x.shape
        y = x.flatten(2).transpose(1, 2)
        z = self.norms[0](y)
        y = y + self.attend(0, z, z)
        y = y + self.attend(1, self.norms[1](y), context)
        gate, value = self.up(self.norms[2](y)).chunk(2, -1)
        y = y + self.down(value * F.gelu(gate))
        return y.transpose(1, 2).reshape(n, c, height, width)


@model("diffusion block")
def diffusion():
    return Diffusion(), (torch.randn(2, 128, 16, 16), torch.randn(2, 128), torch.randn(2, 77, 96))
