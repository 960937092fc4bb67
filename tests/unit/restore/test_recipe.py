"""Recipes, layer numbers and parts from names, and the coefficients they give."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.restore import MergeRecipe
from rewardable.restore.card import card_text
from rewardable.restore.places import EMBEDDING, HEAD, is_buffer, key_of, layer_count, place
from rewardable.restore.plan import Blend, blend, plan_merge

KEYS = (
    EMBEDDING,
    *(f"layers.{i}.{end}.weight" for i in range(12) for end in ("self_attn.q_proj", "mlp.up_proj")),
    "norm.weight",
    HEAD,
)


@pytest.mark.parametrize(
    ("name", "layer", "part"),
    [
        ("model.layers.11.self_attn.q_proj.weight", 11, "attention"),
        ("model.layers.3.self_attn.q_norm.weight", 3, "norm"),
        ("model.layers.3.post_attention_layernorm.weight", 3, "norm"),
        ("model.layers.7.block_sparse_moe.experts.2.w1.weight", 7, "mlp"),
        ("model.layers.7.mlp.experts.63.down_proj.weight", 7, "mlp"),
        ("transformer.h.0.attn.c_attn.bias", 0, "attention"),
        ("h.10.ln_2.bias", 10, "norm"),
        ("transformer.h.5.mlp.c_fc.weight", 5, "mlp"),
        ("gpt_neox.layers.5.attention.query_key_value.weight", 5, "attention"),
        ("gpt_neox.layers.5.mlp.dense_h_to_4h.bias", 5, "mlp"),
        ("model.decoder.layers.2.fc1.weight", 2, "mlp"),
        ("model.decoder.layers.2.self_attn_layer_norm.weight", 2, "norm"),
        ("transformer.h.1.self_attention.dense.weight", 1, "attention"),
        ("backbone.layers.4.mixer.in_proj.weight", 4, "other"),
        ("model.embed_tokens.weight", None, "embedding"),
        ("transformer.wpe.weight", None, "embedding"),
        ("gpt_neox.embed_in.weight", None, "embedding"),
        ("transformer.ln_f.weight", None, "final_norm"),
        ("gpt_neox.final_layer_norm.bias", None, "final_norm"),
        ("model.norm.weight", None, "final_norm"),
        ("lm_head.weight", None, "head"),
        ("embed_out.weight", None, "head"),
        ("lm_head.bias", None, "head"),
    ],
)
def test_places_are_read_off_names(name: str, layer: int | None, part: str) -> None:
    assert (place(name).layer, place(name).part) == (layer, part)
    assert (place(key_of(name)).layer, place(key_of(name)).part) == (layer, part)


def test_one_key_for_one_tensor() -> None:
    assert key_of("transformer.h.0.attn.c_attn.weight") == key_of("h.0.attn.c_attn.weight")
    assert key_of("model.embed_tokens.weight") == key_of("transformer.wte.weight") == EMBEDDING
    assert key_of("_orig_mod.lm_head.weight") == HEAD
    assert key_of("transformer.wpe.weight") == "wpe.weight"


@pytest.mark.parametrize(
    ("name", "buffer"),
    [
        ("h.0.attn.bias", True),
        ("h.0.attn.masked_bias", True),
        ("gpt_neox.layers.0.attention.bias", True),
        ("model.layers.0.self_attn.rotary_emb.inv_freq", True),
        ("h.0.attn.c_attn.bias", False),
        ("layers.0.self_attn.q_proj.bias", False),
    ],
)
def test_buffers_are_no_weights(name: str, buffer: bool) -> None:
    assert is_buffer(name) is buffer


def test_layers_are_counted_or_the_reason_is_given() -> None:
    assert layer_count(KEYS) == 12
    with pytest.raises(ConfigError, match=r"no layer numbers.*encoder\.weight"):
        layer_count(["encoder.weight"])
    with pytest.raises(ConfigError, match=r"several stacks.*vision"):
        layer_count([*KEYS, "vision.blocks.0.attn.weight"])
    with pytest.raises(DataError, match=r"layers \[1\]"):
        layer_count(["layers.0.mlp.weight", "layers.2.mlp.weight"])


def alphas(**options) -> dict[str, float]:
    plan = plan_merge(MergeRecipe(trained="a", earlier=("b",), **options), KEYS)
    return {key: alpha for key, alpha in plan.alphas.items() if alpha is not None}


def test_everything_without_a_window_and_the_layers_alone_with_one() -> None:
    assert alphas(alpha=0.6) == dict.fromkeys(KEYS, 0.6)
    window = alphas(alpha=0.6, window=(1, 3))
    assert set(window) == {key for key in KEYS if key.startswith(("layers.1.", "layers.2."))}
    whole = alphas(alpha=0.6, window=(0, 12))
    assert set(whole) == {key for key in KEYS if key.startswith("layers.")}


def test_parts_are_named_and_the_schedule_is_by_layer() -> None:
    named = alphas(alpha=0.2, parts=("mlp", "head"), window=(10, 12))
    assert named == {
        "layers.10.mlp.up_proj.weight": 0.2,
        "layers.11.mlp.up_proj.weight": 0.2,
        HEAD: 0.2,
    }
    ramp = alphas(schedule=(0.1, 0.2), window=(4, 6), parts=("attention",))
    assert ramp == {
        "layers.4.self_attn.q_proj.weight": 0.1,
        "layers.5.self_attn.q_proj.weight": 0.2,
    }
    assert set(alphas(parts=("attention",))) == {k for k in KEYS if "self_attn" in k}


def test_names_without_layers_need_no_window() -> None:
    recipe = MergeRecipe(trained="a", earlier=("b",))
    assert plan_merge(recipe, ["encoder.weight"]).alphas == {"encoder.weight": 0.5}
    with pytest.raises(ConfigError, match="no layer numbers"):
        plan_merge(MergeRecipe(trained="a", earlier=("b",), window=(0, 1)), ["encoder.weight"])


def test_ends_of_the_coefficients_are_one_parent() -> None:
    linear = MergeRecipe(trained="a", earlier=("b", "c"), weights=(1.0, 0.0))
    assert blend(linear, 0.0).only == 0
    assert blend(linear, 1.0).only == 1
    assert blend(linear, 0.5).terms == ((1, 0.5),)
    task = MergeRecipe(trained="a", base="b", method="task")
    assert (blend(task, 0.0).only, blend(task, 1.0).only) == (0, 1)
    assert blend(task, 0.25) == Blend(anchor=1, terms=((0, 0.75),))
    more = MergeRecipe(trained="a", earlier=("c",), weights=(0.5,), base="b", method="task")
    assert blend(more, 0.0).terms == ((0, 1.0), (1, 0.5))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "liner"}, "Did you mean 'linear'"),
        ({"parts": ("attn",)}, "unknown part 'attn'"),
        ({"vocabulary": "keep"}, "unknown vocabulary"),
        ({"dtype": "bf16"}, "bfloat16"),
        ({"alpha": 1.2}, r"\[0, 1\]"),
        ({"alpha": float("nan")}, "finite"),
        ({"alpha": True}, "finite"),
        ({"schedule": (0.1, float("inf"))}, "finite"),
        ({"schedule": (0.1, 2.0)}, r"\[0, 1\]"),
        ({"window": (3, 3)}, "first < stop"),
        ({"window": (-2, 3)}, "first < stop"),
        ({"window": (0, 2), "schedule": (0.1,)}, "1 values for 2 layers"),
        ({"weights": (0.5, 0.6)}, "2 weights for 1"),
        ({"earlier": ("b", "c"), "weights": (0.5, 0.6)}, "sum 1"),
        ({"earlier": ("b", "c"), "weights": (1.5, -0.5)}, "not negative"),
        ({"earlier": ()}, "at least one earlier"),
        ({"earlier": ("b", "c"), "method": "slerp"}, "one earlier"),
        ({"base": "c"}, "for method 'task'"),
        ({"method": "task"}, "needs base"),
        ({"method": "task", "base": "c"}, "a weight for each"),
        ({"trained": ""}, "one is empty"),
    ],
)
def test_recipes_that_cannot_be_meant(options: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        MergeRecipe(**{"trained": "a", "earlier": ("b",), **options})


def test_recipes_travel_as_mappings_and_json() -> None:
    recipe = MergeRecipe(
        trained="a", earlier=("b",), window=(2, 4), schedule=(0.1, 0.9), parts=("mlp",)
    )
    assert MergeRecipe.from_json(recipe.to_json()) == recipe
    assert MergeRecipe.from_mapping(recipe.to_mapping()) == recipe
    assert MergeRecipe.from_mapping({"trained": "a", "earlier": "b"}).earlier == ("b",)
    with pytest.raises(FrozenInstanceError):
        recipe.alpha = 0.1  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"trained": "a", "earlier": ["b"], "alhpa": 0.5}, "Did you mean 'alpha'"),
        ({"earlier": ["b"]}, "needs 'trained'"),
        ({"trained": "a", "earlier": ["b"], "alpha": "0.5"}, "a number"),
        ({"trained": "a", "earlier": 3}, "must be a list"),
        ({"trained": "a", "earlier": [3]}, "list of texts"),
        ({"trained": 3}, "must be text"),
        ({"trained": "a", "earlier": ["b"], "window": ["0", "2"]}, "first < stop"),
        ({"trained": "a", "earlier": ["b"], "weights": ["x"]}, "finite"),
    ],
)
def test_mappings_that_cannot_be_meant(raw: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        MergeRecipe.from_mapping(raw)


def test_json_that_is_none() -> None:
    for text, said in (("{", "not JSON"), ("[]", "JSON object, got list")):
        with pytest.raises(ConfigError, match=said):
            MergeRecipe.from_json(text)


def test_the_card_names_parents_and_warns_without_evidence() -> None:
    raw = {
        "weights": "w",
        "parents": [{"role": "trained", "source": "/a", "weights": "d1", "adapter": "d2"}],
        "mixed": 3,
        "copied": 1,
        "recipe": {"alpha": 0.5},
        "rounding": [],
        "evidence": {},
        "notes": ["something"],
        "straight": 2,
        "mergekit": "no words",
    }
    text = card_text(raw)
    assert "| trained | `/a` | `d1` | `d2` |" in text
    assert "none was recorded" in text
    assert "No mergekit.yaml: no words" in text
    assert "2 tensors were nearly parallel" in text
    assert '"pass@1": 0.7' in card_text({**raw, "evidence": {"pass@1": 0.7}})


def test_importing_the_part_loads_no_torch() -> None:
    code = "import sys, rewardable.restore; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
