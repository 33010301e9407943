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
    (r"bottleneck_\w*(dim|channels)|encoder_hidden|decoder_hidden|classifier_proj_size|xvector_output_dim|tdnn_dim|backbone_channel_list", width),
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


# What a configuration may leave to timm, in the sizes of the rest.
BACKBONE = {"model_type": "resnet", "embedding_size": 8, "hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1], "layer_type": "basic"}


def one_of_each(fields, layers):
    """The numbers of layers among which every kind of layer is that a list of the configuration names; at least two."""
    lists = [value for value in fields.values() if layers > 2 and isinstance(value, (list, tuple)) and len(value) == layers
             and all(isinstance(v, str) for v in value)]
    firsts = sorted({value.index(kind) for value in lists for kind in value})
    return firsts if len(firsts) > 1 else [0, 1]


def products(made, fields):
    """Sizes that a configuration demands to be products or sums of others."""
    now = lambda name: made.get(name, fields.get(name))  # noqa: E731
    for heads_of, dim, expand in (("mamba_n_heads", "mamba_d_head", "mamba_expand"), ("mamba_num_heads", "mamba_head_dim", "expand"),
                                  ("num_heads", "head_dim", "expand")):
        if all(numbers(now(name)) for name in (heads_of, dim, expand)):
            made[dim] = now(expand) * now("hidden_size") // now(heads_of)
    if all(numbers(now(name)) for name in ("qk_head_dim", "qk_nope_head_dim", "qk_rope_head_dim")):
        made["qk_head_dim"] = now("qk_nope_head_dim") + now("qk_rope_head_dim")
    if numbers(now("rotary_dim")) and numbers(now("n_head")):
        made["rotary_dim"] = now("n_embd") // now("n_head") // 2


def feature_sizes(made, fields):
    """Sizes of a backbone's maps of features, in proportion to the side of its pictures."""
    before = vars(fields.get("backbone_config") or object).get("image_size")
    after = made.get("backbone_config", {}).get("image_size")
    if "backbone_feature_sizes" in fields and before and after:
        (before, *_), (after, *_) = pair(before), pair(after)
        made["backbone_feature_sizes"] = [[side * after // before for side in sides] for sides in fields["backbone_feature_sizes"]]


def different(config):
    """Fields of a part that are not the defaults of its class."""
    try:
        plain = vars(type(config)())
    except Exception:
        return {}
    return {name: value for name, value in vars(config).items() if not name.startswith("_") and name in plain and value != plain[name]
            and not hasattr(value, "model_type")}


def smaller(config, kept=(), filled=False, shared=None, exact=False):
    """The arguments of a configuration's class that make it small; fields of the names `kept` stay as they are. `filled`: what
    is None gets a value where a name says which. `exact`: every kind of layer stays, parts keep what differs from the defaults of
    their class, and sizes that are products of others are made so."""
    fields = {name: value for name, value in vars(config).items() if not name.startswith("_")}
    shared = hidden_sizes(config) if shared is None else shared
    context = {
        "shared": shared,
        "hidden": first(fields, HIDDEN, first(vars(fields.get("backbone_config") or object), HIDDEN, 256)),
        "heads": first(fields, ("num_attention_heads", "n_head", "num_heads", "n_heads"), 1),
        "patch": first(fields, ("patch_size", "patch_sizes"), 16),
    }
    layers = first(fields, LAYERS, 0)
    chosen = one_of_each(fields, layers) if exact else [0, 1]
    made = {}
    for name, value in fields.items():
        if exact and name == "backbone_config" and getattr(value, "model_type", "timm_backbone") == "timm_backbone":
            made[name] = {**BACKBONE, "out_indices": [1, 2, 3, 4][-first(fields, ("num_feature_levels",), 4):]}
            continue
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            part = smaller(value, kept, filled, shared, exact)
            made[name] = {"model_type": value.model_type, **(different(value) if exact else {}), **part}
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
            made[name] = [value[i] for i in chosen]
        elif exact and name in LAYERS and value == layers > 2:
            made[name] = len(chosen)
        elif rule is None:
            continue
        elif numbers(value):
            made[name] = rule(value, context)
        elif isinstance(value, (list, tuple)) and value and all(numbers(v) for v in value):
            made[name] = type(value)(rule(v, context) for v in value)
    feature_sizes(made, fields)
    if exact:
        products(made, fields)
    return {name: value for name, value in made.items() if name not in fields or value != fields[name]}


LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "encoder_layers", "n_layers")
LISTS = r"depths|out_features|out_indices|\w*_layers|num_\w*block_repeats|stage_\w+|\w*in_channels|hidden_sizes|embed_dims?"
SIZES = (r".*(dim|dims|channels|size|sizes|heads|width|rank|head|kv|model|embd|ff)(_per_stage)?", r"image_size|.*positions.*")
# Fields that stay as they are, whether others are filled, and whether all is exact, one after another until a model runs.
ATTEMPTS = [((), False, False), ((), True, False),
            (("image_size", "num_frames", "context_length", "prediction_length", "max_source_positions"), False, False),
            (SIZES, False, False),
            ((r".*",), False, False),
            ((), False, True), ((), True, True), ((LISTS,), False, True),
            (SIZES, False, True)]


def configurations(name, kind):
    """Small configurations of a class, the smallest first."""
    demanded = DEMANDED.get(name, {})
    for kept, filled, exact in ATTEMPTS:
        try:
            config = kind(**(smaller(kind(**demanded), kept, filled, exact=exact) | demanded))
        except Exception as error:
            yield None, error
            continue
        if getattr(config, "use_cache", None) is True:
            config.use_cache = False
        yield config, None


# Fields that an architecture demands and for which its class has no default, or no small one.
DEMANDED = {
    "xlm": {"emb_dim": WIDTH, "n_heads": HEADS},
    "flaubert": {"emb_dim": WIDTH, "n_heads": HEADS},
    "esm": {"vocab_size": VOCABULARY, "pad_token_id": 1, "mask_token_id": 4},
    "xmod": {"default_language": "en_XX"},
    "time_series_transformer": {"prediction_length": 8},
    "informer": {"prediction_length": 8},
    "autoformer": {"prediction_length": 8},
    "granite_speech5_ctc": {"encoder_config": {"context_size": 16}},
    "granite_speech5_encoder": {"context_size": 16},
    "glm5_next_text": {"index_kpool": 4},
}


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
    size = list(size.values()) if isinstance(size, dict) else size
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
    "qformer_input_ids": [tokens],
    "input_features_mask": [lambda c: torch.ones(2, sound_features(c).shape[2], dtype=torch.long)],
    "pixel_attention_mask": [lambda c: torch.ones(2, GRID * GRID, dtype=torch.long)],
    "spatial_shapes": [lambda c: torch.tensor([[GRID, GRID]] * 2)],
    "prompt_pixel_values": [picture],
    "prompt_masks": [picture],
    "states": [lambda c: torch.randn(2, TOKENS, field(c, "state_dim", default=17))],
    "actions": [lambda c: torch.randn(2, TOKENS, field(c, "act_dim", default=4))],
    "rewards": [lambda c: torch.randn(2, TOKENS, 1)],
    "returns_to_go": [lambda c: torch.randn(2, TOKENS, 1)],
    "timesteps": [lambda c: torch.arange(TOKENS).repeat(2, 1)],
    "past_values_padding": [lambda c: torch.zeros(2, field(c, "context_length", default=16))],
    "audio_mel": [turned(sound_features)],
    "audio_mel_mask": [lambda c: torch.zeros(2, sound_features(c).shape[2], dtype=torch.bool)],
    "pixel_position_ids": [lambda c: torch.cartesian_prod(torch.arange(GRID), torch.arange(GRID)).repeat(2, 1, 1)],
    "decoder_inputs_embeds": [lambda c: torch.randn(2, TOKENS, field(c, "hidden_size", "d_model", default=WIDTH))],
}
# Arguments that a model may ask for though its signature has a default: tried one by one, and all at once.
OPTIONAL = ("bbox", "input_features", "encoder_hidden_states", "pixel_values", "input_ids", "input_features_mask", "qformer_input_ids",
            "pixel_attention_mask", "spatial_shapes", "attention_mask", "states", "actions", "rewards", "returns_to_go", "timesteps")


def inputs(model, config):
    """Sets of arguments, to be tried one after another."""
    arguments = inspect.signature(model.forward).parameters
    wanted = [name for name, p in arguments.items() if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    main = getattr(model, "main_input_name", "input_ids")
    names = [main] if main in arguments else []
    names += [name for name in wanted if name not in names]
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in arguments:
        names.append("decoder_input_ids")
    pictured = "pixel_values" in arguments and "input_ids" in arguments and "pixel_values" not in names and "input_ids" in names
    optional = [name for name in arguments if name in OPTIONAL and name not in names]
    sets = [names] + [names + ["pixel_values"]] * pictured + [names + [name] for name in optional] + [names + optional] * (len(optional) > 1)
    first_unknown = next((name for name in names if name not in INPUTS), None)
    if first_unknown:
        raise Unbuilt(f"no rule for the argument {first_unknown}")
    for names in sets:
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
    for config, error in configurations(name, CONFIG_MAPPING[name]):
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
