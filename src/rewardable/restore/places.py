"""Where a tensor sits in a language model, read off its name: layer number and part."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rewardable.errors import ConfigError, DataError

IN_LAYERS = ("attention", "mlp", "norm", "other")
OUTSIDE = ("embedding", "head", "final_norm", "outside")
PARTS = IN_LAYERS + OUTSIDE

EMBEDDING = "<embedding>"
HEAD = "<head>"
PREFIXES = ("model.", "transformer.", "gpt_neox.", "backbone.")
"""What stands before a tensor's place in some files and not in others of the same model."""

_LAYER = re.compile(r"^(.*?)(?:^|\.)(\d+)\.")
_TOKENS = re.compile(
    r"(^|\.)(embed_tokens|wte|word_embeddings|embed_in|tok_embeddings|token_embedding|"
    r"embeddings?)\.weight$"
)
_HEAD = re.compile(r"(^|\.)(lm_head|embed_out|output)\.(weight|bias)$")
_NORM = re.compile(r"norm|(^|[._])ln(_|\d|f|\.|$)")
_POSITIONS = re.compile(r"embed|wpe")
_ATTENTION = re.compile(r"attn|attention")
_MLP = re.compile(r"mlp|ffn|feed_forward|moe|expert|(^|\.)fc\d|(^|\.)w\d\.")
_BUFFER = re.compile(r"(^|\.)(rotary_emb\.inv_freq|(attn|attention)\.(masked_)?bias)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """``stack`` is the name of the list of layers; ``layer`` None is outside of it."""

    part: str
    layer: int | None = None
    stack: str = ""


def place(name: str) -> Place:
    """Return where the tensor ``name`` sits."""
    found = _LAYER.match(name)
    if found is None:
        return Place(part=_outside(name))
    inside = name[found.end() :]
    if _NORM.search(inside):
        part = "norm"
    elif _ATTENTION.search(inside):
        part = "attention"
    else:
        part = "mlp" if _MLP.search(inside) else "other"
    return Place(part=part, layer=int(found[2]), stack=found[1])


def _outside(name: str) -> str:
    if name in (EMBEDDING, HEAD):
        return "embedding" if name == EMBEDDING else "head"
    if _HEAD.search(name):
        return "head"
    if _NORM.search(name):
        return "final_norm"
    return "embedding" if _POSITIONS.search(name) or _TOKENS.search(name) else "outside"


def is_buffer(name: str) -> bool:
    """Whether the tensor is computed from the configuration, so that files may leave it out."""
    return bool(_BUFFER.search(name))


def key_of(name: str) -> str:
    """Return what the tensor is called in every file of this model, whatever stands before it."""
    name = name.removeprefix("_orig_mod.")
    if _LAYER.match(name) is None:
        if _TOKENS.search(name):
            return EMBEDDING
        if _HEAD.search(name) and name.endswith(".weight"):
            return HEAD
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def has_token_rows(key: str) -> bool:
    """Whether the rows of the tensor stand for tokens."""
    return key in (EMBEDDING, HEAD) or place(key).part == "head"


def layer_count(keys: Iterable[str]) -> int:
    """Count the layers; ConfigError when the names show none, or several stacks of them."""
    found: dict[str, set[int]] = {}
    listed = sorted(keys)
    for key in listed:
        where = place(key)
        if where.layer is not None:
            found.setdefault(where.stack, set()).add(where.layer)
    if not found:
        raise ConfigError(
            "no layer numbers in the tensors' names, such as model.layers.3.mlp.up_proj.weight "
            f"(got {', '.join(listed[:4])}); leave window and schedule out to mix all tensors."
        )
    if len(found) > 1:
        stacks = ", ".join(f"{name or '(no name)'} ({len(n)})" for name, n in found.items())
        raise ConfigError(f"several stacks of layers ({stacks}): a window would be ambiguous.")
    ((stack, numbers),) = found.items()
    if numbers != set(range(len(numbers))):
        lacking = sorted(set(range(max(numbers))) - numbers)
        raise DataError(f"layers {lacking} of {stack} are not in the files.")
    return len(numbers)
