"""Small models of timm: the keyword arguments and configurations of a constructor, with fewer layers and channels.

A function of timm hands what it knows of a model to `build_model_with_cfg`: the class, keyword arguments, and often a
configuration (a dataclass, a dictionary, or lists of blocks). `create` stands in for that function and makes these values smaller:
what a value means is told by its name, as in tiny.py. What a class has as default counts as given.
"""

import contextlib
import dataclasses
import inspect
import re
import sys

# Counts of layers: a number becomes 2 at most where it stands alone, and 1 where a stage of the model has it.
DEPTH = re.compile(r"(serial_|parallel_|transformer_)?depths?(_list)?|layers|stages|num_blocks(_list)?|num_modules|block_config|k_sec|d|"
                   r"layer_per_block|num_vit|global_block_counts")
# Lists with a list of blocks for each stage.
BLOCKS = re.compile(r"block_args|cfgs")
# Channels become half of what they are.
WIDTH = re.compile(r"(embed_|base_)?dims?|channels|widths|width_list|hidden_sizes|intermediate_size|head_widths|num_features|w0|c")


def fewer(value, alone=True):
    if isinstance(value, (list, tuple)):
        return type(value)(fewer(part, False) for part in value)
    return min(value, 2 if alone else 1) if isinstance(value, int) and not isinstance(value, bool) else value


def narrower(value):
    if isinstance(value, (list, tuple)):
        return type(value)(narrower(part) for part in value)
    return value // 2 if isinstance(value, int) and value >= 32 and value % 16 == 0 else value


def smaller(name, value, width):
    """A value of this name: with fewer layers, and narrower where `width` says so."""
    if DEPTH.fullmatch(name):
        return fewer(value)
    if width and WIDTH.fullmatch(name):
        return narrower(value)
    if BLOCKS.fullmatch(name) and isinstance(value, (list, tuple)):
        return [stage[:1] for stage in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{f.name: smaller(f.name, getattr(value, f.name), width)
                                             for f in dataclasses.fields(value) if f.init})
    if isinstance(value, dict):
        return {key: smaller(str(key), part, width) for key, part in value.items()}
    if isinstance(value, (list, tuple)) and any(dataclasses.is_dataclass(part) or isinstance(part, dict) for part in value):
        return type(value)(smaller("", part, width) for part in value)
    return value


def defaults(kind):
    return {p.name: p.default for p in inspect.signature(kind).parameters.values() if p.default is not p.empty}


@contextlib.contextmanager
def small(width):
    """While this lasts, timm's models are small."""
    places = [module for name, module in sys.modules.items() if name.startswith("timm.models.") and hasattr(module, "build_model_with_cfg")]
    real = places[0].build_model_with_cfg

    def build(kind, variant, pretrained, *rest, **keywords):
        has = {name: value for name, value in defaults(kind).items() if DEPTH.fullmatch(name) or WIDTH.fullmatch(name)}
        given = {name: smaller(name, value, width) for name, value in (has | keywords).items()}
        changed = {name: value for name, value in given.items() if name in keywords or value != has[name]}
        return real(kind, variant, pretrained, *rest, **changed)

    for module in places:
        module.build_model_with_cfg = build
    try:
        yield
    finally:
        for module in places:
            module.build_model_with_cfg = real


def create(name, shrunk, **keywords):
    """A model of timm. `shrunk`: "layers", "layers and channels", or nothing of it."""
    import timm

    with small("channels" in shrunk) if shrunk else contextlib.nullcontext():
        return timm.create_model(name, **keywords)
