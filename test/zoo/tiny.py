"""Small models of every architecture of `transformers`: sizes by the names of a configuration's fields, inputs by the names of
a model's arguments.

A configuration class is called with its own defaults made smaller. What a field means is told by its name (RULES, the first
that matches); fields that no rule knows keep their defaults. Several sets of sizes are tried, until eager torch runs the
model.
"""

import inspect
import re

import torch

WIDTH = 32  # of a hidden state
HEADS = 4
VOCABULARY = 96
POSITIONS = 64
TOKENS = 16  # of a sequence
GRID = 4  # patches on a side of a picture that comes as patches
PARAMETERS = 30_000_000  # of a model that counts as small


class Unbuilt(Exception):
    """No set of sizes gives a model that eager torch runs: the reason."""


# ---- sizes ----------------------------------------------------------------------------------------


def at_most(limit):
    return lambda value, context: min(value, limit) if value > 0 else value


def width(value, context):
    """In proportion to the hidden size, a multiple of eight; sizes that parts of a model share stay the same."""
    if value in context["shared"]:
        return WIDTH
    return max(8, -(-value * WIDTH // context["hidden"]) // 8 * 8) if value > 8 else value


def heads(value, context):
    return next(n for n in (HEADS, 2, 1) if n <= max(value, 1))


def fewer_heads(value, context):
    """Of keys and values, beside all heads: as many, one, or half of them."""
    full = context["heads"]
    return heads(value, context) if value >= full else 1 if value == 1 else 2


def token(value, context):
    """The number of a special token, within the vocabulary and apart from others."""
    return value if value < 8 else VOCABULARY - 1 - value % 8


RULES = [
    (r"num_feat_extract_layers", lambda v, c: v),  # told by the lists of convolutions
    (r"(num_(hidden_|encoder_|decoder_|attention_|\w+_)?|encoder_|decoder_|\w+_num_(hidden_)?|n_|enc_|dec_|\w+_)?(layers?|blocks)|depths?|"
     r"num_\w*block_repeats|stage_num\w*|blocks_per_stage|n_block|num_stacks|iou_head_depth", at_most(2)),
    (r"(num_)?(key_value|kv)_heads|num_key_value_heads|n_head_kv|num_kv_heads|multi_query_group_num|\w*num_key_heads", fewer_heads),
    (r"(\w+_)?(num_|n_)?(attention_|attn_)?heads?(_per_stage)?|encoder_attention_heads|decoder_attention_heads|\w+_num_value_heads|"
     r"index_n_heads|mamba_n_heads", heads),
    (r"vocab_size|\w+_vocab_size", lambda v, c: v if v < 16 else min(v, VOCABULARY)),
    (r"codebook_size", at_most(64)),
    (r"\w*token_(id|index)|\w*_token", token),
    (r"max_position_embeddings|n_positions|n_ctx|max_sequence_length|max_seq_len\w*|seq_length|max_target_positions|"
     r"\w*max_position\w*|block_size", at_most(POSITIONS)),
    (r"max_source_positions|num_position_embeddings", at_most(POSITIONS)),
    (r"head_dim|\w*_head_dim|d_kv|attention_head_size|kv_channels|dim_head|d_head|head_size", lambda v, c: min(v, 8)),
    (r"(num_|n_)?(\w+_)?(experts|moe_num_experts)", at_most(4)),
    (r"num_experts_per_tok|moe_topk|top_k|moe_top_k|num_experts_per_token|moe_k", at_most(2)),
    (r"n_group|topk_group|num_expert_group", at_most(1)),
    (r"\w*(hidden|intermediate|embed|embedding|embeddings|ffn|projection|proj|model|inner|feedforward|mlp|output|out|state|feature|"
     r"channel|latent|attention|cross)_?(size|sizes|dim|dims|channels)|d_model|d_ff|n_embd|n_inner|embed_dim\w*|dim|d_inner|"
     r"\w*_hidden_dim|\w*lora_rank|hidden_dim|num_filters|latent_dim|conv_dim|neck_hidden_sizes|stage_\w+_channels|"
     r"stem_channels|fpn_hidden_size|mlp_dim|d_embed|dim_model|dim_ff|rnn_size|lru_width|\w*ffn_dim", width),
    (r"image_size|pretrain_image_size|input_image_size", lambda v, c: min(v, 32 if c["patch"] <= 8 else 2 * c["patch"])),
    (r"num_queries|num_latents|num_denoising|index_topk|sliding_window|attention_window|local_attention|chunk_size|lsh_\w+_chunk_length|"
     r"local_attn_chunk_length|\w+_window_size", at_most(8)),
    (r"num_frames|prediction_length|num_mask\w+", at_most(8)),
    (r"context_length", at_most(64)),
    (r"bottleneck_\w*(dim|channels)|encoder_hidden|decoder_hidden|classifier_proj_size|xvector_output_dim|tdnn_dim", width),
]
RULES = [(re.compile(pattern), rule) for pattern, rule in RULES]


def first(config, names, default):
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and value > 0:
            return value
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], int):
            return value[0]
    return default


def numbers(value):
    return isinstance(value, int) and not isinstance(value, bool)


HIDDEN = ("hidden_size", "d_model", "n_embd", "hidden_dim", "embed_dim", "dim", "hidden_sizes", "embed_dims")


def hidden_sizes(config):
    """Of a configuration and its parts."""
    parts = [part for part in vars(config).values() if hasattr(part, "model_type")]
    return {first(vars(config), HIDDEN[:3], 0)}.union(*map(hidden_sizes, parts)) - {0}


def sections(value, kept, filled):
    """Parts of the rotary frequencies that belong to axes, for small heads."""
    if isinstance(value, dict) and not kept and ("mrope_section" in value or filled):
        count = len(value.get("mrope_section") or (1, 1, 1))
        whole = {"partial_rotary_factor": 1.0} if filled else {}
        return {**value, **whole, "mrope_section": [4 - (count - 1)] + [1] * (count - 1)}
    return value


# What checkpoints always say, but not the defaults of some classes.
FILLED = [
    (r"(\w+_)?head_dim", WIDTH // HEADS),
    (r"(n|num)_(routed_|local_)?experts|moe_num_experts", 4),
    (r"n_shared_experts|num_shared_experts|n_group|topk_group", 1),
    (r"num_experts_per_tok|moe_topk|top_k\w*", 2),
    (r"(\w+_)?intermediate_size(_mlp)?|\w*lora_rank", WIDTH),
]


def smaller(config, kept=(), filled=False, shared=None):
    """The arguments of a configuration's class that make it small; fields of the names `kept` stay as they are. `filled`: what
    is None gets a value where a name says which."""
    fields = {name: value for name, value in vars(config).items() if not name.startswith("_")}
    shared = hidden_sizes(config) if shared is None else shared
    context = {
        "shared": shared,
        "hidden": first(fields, HIDDEN, 256),
        "heads": first(fields, ("num_attention_heads", "n_head", "num_heads", "n_heads"), 1),
        "patch": first(fields, ("patch_size", "patch_sizes"), 16),
    }
    layers = first(fields, ("num_hidden_layers", "n_layer", "num_layers", "encoder_layers", "n_layers"), 0)
    made = {}
    for name, value in fields.items():
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            made[name] = {"model_type": value.model_type, **smaller(value, kept, filled, shared)}
            continue
        if any(re.fullmatch(pattern, name) for pattern in kept):
            continue
        if name in ("rope_scaling", "rope_parameters"):
            made[name] = sections(value, kept, filled)
            continue
        if filled and value is None:
            made |= {name: number for pattern, number in FILLED if re.fullmatch(pattern, name)}
            continue
        rule = next((rule for pattern, rule in RULES if pattern.fullmatch(name)), None)
        if "dropout" in name or "drop_" in name or name.endswith(("_drop", "pdrop", "layerdrop")) and isinstance(value, float):
            if isinstance(value, float):
                made[name] = 0.0
        elif isinstance(value, (list, tuple)) and layers > 2 and len(value) == layers:
            made[name] = list(value[:2])
        elif rule is None:
            continue
        elif numbers(value):
            made[name] = rule(value, context)
        elif isinstance(value, (list, tuple)) and value and all(numbers(v) for v in value):
            made[name] = type(value)(rule(v, context) for v in value)
    return {name: value for name, value in made.items() if value != fields[name]}


# Fields that stay as they are, and whether others are filled, one after another until a model runs.
ATTEMPTS = [((), False), ((), True),
            (("image_size", "num_frames", "context_length", "prediction_length", "max_source_positions"), False),
            ((r".*(dim|dims|channels|size|sizes|heads|width|rank|head|kv|model|embd|ff)(_per_stage)?", r"image_size|.*positions.*"), False),
            ((r".*",), False)]


def configurations(kind):
    """Small configurations of a class, the smallest first."""
    for kept, filled in ATTEMPTS:
        try:
            config = kind(**smaller(kind(), kept, filled))
        except Exception as error:
            yield None, error
            continue
        if getattr(config, "use_cache", None) is True:
            config.use_cache = False
        yield config, None


# ---- inputs ---------------------------------------------------------------------------------------


def field(config, *names, default=None):
    """The first of these fields that the configuration or one of its parts has."""
    parts = [config] + [part for part in vars(config).values() if hasattr(part, "to_dict")]
    for part in parts:
        for name in names:
            value = getattr(part, name, None)
            if value is not None:
                return value
    return default


def tokens(config, length=TOKENS):
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    size = field(text, "vocab_size", default=VOCABULARY)
    return torch.randint(8, max(9, min(size, VOCABULARY) - 16), (2, length))


def pair(value):
    return tuple(value)[-2:] if isinstance(value, (list, tuple)) else (value, value)


def picture(config):
    size = field(config, "image_size", "input_image_size", "img_size", default=64)
    size = size.values() if isinstance(size, dict) else size
    channels = field(config, "num_channels", "in_channels", "in_chans", default=3)
    return torch.randn(2, channels if numbers(channels) else 3, *pair(size if numbers(size) else tuple(size)))


def video(config):
    one = picture(config)
    frames = field(config, "num_frames", default=4)
    return torch.randn(2, frames, *one.shape[1:])


def sound_features(config):
    bins = field(config, "num_mel_bins", "input_feat_per_channel", "feature_size", "input_dim", "feature_projection_input_dim", default=80)
    length = field(config, "max_source_positions", "max_length", default=POSITIONS)
    return torch.randn(2, bins, 2 * min(length, 512))


def patches(config):
    """Pixels of the patches of two pictures, a row each, as `grids` tells their number."""
    patch, channels = field(config, "patch_size", default=16), field(config, "in_channels", "num_channels", "in_chans", default=3)
    return torch.randn(2 * GRID * GRID, channels * field(config, "temporal_patch_size", default=1) * patch * patch)


def grids(config):
    return torch.tensor([[1, GRID, GRID]] * 2)


def turned(make):
    return lambda config: make(config).mT.contiguous()


def boxes(config):
    corner = torch.randint(0, 8, (2, TOKENS, 2))
    return torch.cat([corner, corner + torch.randint(1, 8, (2, TOKENS, 2))], -1)


# What an argument may be, by its name: the alternatives are tried in this order.
INPUTS = {
    "input_ids": [tokens],
    "decoder_input_ids": [tokens],
    "pixel_values": [picture, video, patches],
    "pixel_values_videos": [video],
    "bbox": [boxes],
    "input_values": [lambda c: torch.randn(2, 4000), lambda c: torch.randn(2, 1, 4000),
                     lambda c: torch.randn(2, 64, field(c, "num_mel_bins", default=80)),
                     lambda c: torch.randn(2, field(c, "max_length", default=64), field(c, "num_mel_bins", default=80))],
    "input_features": [sound_features, turned(sound_features)],
    "past_values": [lambda c: torch.randn(2, field(c, "context_length", default=16) + max(field(c, "lags_sequence", default=[0])),
                                          *([field(c, "num_input_channels")] if field(c, "num_input_channels") else []))],
    "past_time_features": [lambda c: torch.randn(2, field(c, "context_length", default=16) + max(field(c, "lags_sequence", default=[0])),
                                                 field(c, "num_time_features", default=0))],
    "past_observed_mask": [lambda c: torch.ones(2, field(c, "context_length", default=16) + max(field(c, "lags_sequence", default=[0])))],
    "audio_values": [lambda c: torch.randn(2, 1, 4000)],
    "inputs_embeds": [lambda c: torch.randn(2, TOKENS, field(c, "hidden_size", "d_model", default=WIDTH))],
    "hidden_states": [lambda c: torch.randn(2, TOKENS, field(c, "hidden_size", "d_model", default=WIDTH)), picture, patches],
    "grid_thw": [grids],
    "image_grid_thw": [grids],
    "encoder_hidden_states": [lambda c: torch.randn(2, TOKENS, field(c, "encoder_hidden_size", "hidden_size", default=WIDTH))],
    "query_embeds": [lambda c: torch.randn(2, TOKENS, field(c, "hidden_size", default=WIDTH))],
    "attention_mask": [lambda c: torch.ones(2, TOKENS, dtype=torch.long)],
}


def inputs(model, config):
    """Sets of arguments, to be tried one after another."""
    arguments = inspect.signature(model.forward).parameters
    wanted = [name for name, p in arguments.items() if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    main = getattr(model, "main_input_name", "input_ids")
    names = [main] if main in arguments else []
    names += [name for name in wanted if name not in names]
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in arguments:
        names.append("decoder_input_ids")
    if "pixel_values" in arguments and "input_ids" in arguments and "pixel_values" not in names and "input_ids" in names:
        sets = [names, names + ["pixel_values"]]
    else:
        sets = [names]
    for names in sets:
        unknown = [name for name in names if name not in INPUTS]
        if unknown:
            raise Unbuilt(f"no rule for the argument {unknown[0]}")
        for number in range(max(len(INPUTS[name]) for name in names) if names else 1):
            torch.manual_seed(1)
            yield {name: INPUTS[name][min(number, len(INPUTS[name]) - 1)](config) for name in names}


# ---- models ---------------------------------------------------------------------------------------


def names():
    """Every architecture of `transformers` with a base model."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    return sorted(MODEL_MAPPING_NAMES)


def shape_is_small(kind, config):
    with torch.device("meta"):
        count = sum(p.numel() for p in kind(config).parameters())
    return count <= PARAMETERS, count


def built(name):
    """(model, arguments) of an architecture: the first that eager torch runs."""
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    classes = MODEL_MAPPING_NAMES[name]
    kind = getattr(transformers, classes[0] if isinstance(classes, (list, tuple)) else classes)
    why = None
    for config, error in configurations(CONFIG_MAPPING[name]):
        if error is None:
            try:
                return attempt(kind, config)
            except Exception as raised:
                error = raised
        why = why or error
    words = " ".join(line.strip() for line in str(why).strip().splitlines()[:2])
    raise Unbuilt(f"{type(why).__name__}: {words}"[:200]) from why


def attempt(kind, config):
    small, count = shape_is_small(kind, config)
    if not small:
        raise Unbuilt(f"{count / 1e6:.0f} million parameters")
    torch.manual_seed(0)
    model = kind(config).eval()
    why = None
    for arguments in inputs(model, config):
        try:
            with torch.no_grad():
                model(**arguments)
            return model, arguments
        except Exception as error:
            why = why or error
    raise why
