"""Whether parents are the same architecture: what must agree before weights may be mixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardable.errors import DataError
from rewardable.restore.folders import some
from rewardable.restore.parents import Parent, buffers
from rewardable.restore.places import EMBEDDING, HEAD, has_token_rows
from rewardable.restore.tensors import FLOATS

MEANING = (
    "model_type",
    "hidden_size",
    "n_embd",
    "num_hidden_layers",
    "n_layer",
    "num_attention_heads",
    "n_head",
    "num_key_value_heads",
    "head_dim",
    "hidden_act",
    "activation_function",
    "rms_norm_eps",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "rope_scaling",
    "rotary_pct",
    "sliding_window",
    "use_parallel_residual",
    "num_experts_per_tok",
)
"""Configuration entries under which equal weights would compute something else."""


def check_agreement(parents: Sequence[Parent]) -> None:
    """Raise DataError naming the first disagreement of a parent with the trained one."""
    trained = parents[0]
    for other in parents[1:]:
        _check_config(trained, other)
        _check_tying(trained, other)
        _check_names(trained, other)
        _check_shapes(trained, other)


def _check_config(trained: Parent, other: Parent) -> None:
    one, two = _meaning(trained.config), _meaning(other.config)
    unequal = [
        f"{key} is {one[key]!r} and {two[key]!r}"
        for key in one
        if key in two and one[key] != two[key]
    ]
    if unequal:
        raise DataError(
            f"{trained.source} and {other.source} are different architectures: "
            f"{'; '.join(unequal)}. Their weights cannot be mixed."
        )


def _meaning(config: dict[str, Any]) -> dict[str, Any]:
    found = {key: config[key] for key in MEANING if config.get(key) is not None}
    rope = config.get("rope_parameters")
    theta = rope.get("rope_theta") if isinstance(rope, dict) else None
    theta = config.get("rope_theta") if theta is None else theta
    if theta is not None:
        found["rope_theta"] = theta
    return found


def _check_tying(trained: Parent, other: Parent) -> None:
    if trained.tied and not other.tied and other.has(HEAD):
        raise DataError(
            f"{trained.source} has one matrix for embedding and head, {other.source} has two; a "
            "mix would need two. Save the trained checkpoint untied first (tie_word_embeddings "
            "false, both matrices stored)."
        )


def _check_names(trained: Parent, other: Parent) -> None:
    one = set(trained.entries) - buffers(trained)
    two = set(other.entries) - buffers(other)
    if HEAD in one and other.tied and EMBEDDING in two:
        two.add(HEAD)
    if one != two:
        raise DataError(
            f"{trained.source} and {other.source} hold different tensors: only the first has "
            f"{some(sorted(one - two))}; only the second has {some(sorted(two - one))}. "
            "Check that no shard is missing and that both are the same architecture."
        )


def _check_shapes(trained: Parent, other: Parent) -> None:
    misfits: list[str] = []
    for key in trained.entries:
        if not other.has(key):
            continue
        one, two = trained.entry(key), other.entry(key)
        free = 1 if has_token_rows(key) else 0
        if len(one.shape) != len(two.shape) or one.shape[free:] != two.shape[free:]:
            misfits.append(f"{one.name} {list(one.shape)} and {list(two.shape)}")
        elif (one.dtype in FLOATS) != (two.dtype in FLOATS):
            misfits.append(f"{one.name} is {one.dtype} and {two.dtype}")
    if misfits:
        raise DataError(
            f"{trained.source} and {other.source} differ in shape: {some(misfits)}. "
            "Their weights cannot be mixed."
        )
