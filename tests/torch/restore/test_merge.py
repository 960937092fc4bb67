"""What is written: arithmetic, identities, windows, types, ties, shards."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from rewardable.engines.hf.checkpoints import locate
from rewardable.restore import MergeRecipe, merge

FAMILIES = ("llama", "qwen2", "qwen3", "gpt2", "neox")


@pytest.mark.parametrize("family", FAMILIES)
def test_transformers_loads_the_mix_and_gives_its_logits(make, kit, tmp_path, family) -> None:
    trained, earlier = make(family, seed=1), make(family, seed=0)
    report = merge(MergeRecipe(trained=trained, earlier=(earlier,), alpha=0.3), tmp_path / "out")
    by_hand = kit.load(trained)
    with torch.no_grad():
        for mine, other in zip(by_hand.parameters(), kit.load(earlier).parameters(), strict=True):
            mine.mul_(0.7).add_(0.3 * other)
    torch.testing.assert_close(
        kit.logits(kit.load(tmp_path / "out")), kit.logits(by_hand), atol=1e-5, rtol=1e-5
    )
    assert report.layers == 3
    assert report.copied == 0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("method", ["linear", "slerp", "task"])
def test_case_k04_the_ends_are_the_parents(make, kit, tmp_path, family, dtype, method) -> None:
    trained, earlier = make(family, seed=1, dtype=dtype), make(family, seed=0, dtype=dtype)
    named = {"base": earlier} if method == "task" else {"earlier": (earlier,)}
    for alpha, parent in ((0.0, trained), (1.0, earlier)):
        recipe = MergeRecipe(trained=trained, method=method, alpha=alpha, **named)
        report = merge(recipe, tmp_path / str(alpha))
        made, expected = kit.tensors(tmp_path / str(alpha)), kit.tensors(parent)
        assert made.keys() == expected.keys()
        assert all(kit.same_bits(made[name], expected[name]) for name in made)
        assert report.mixed == 0
        assert report.rounding == ()


@pytest.mark.parametrize("method", ["linear", "slerp", "task"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_case_k04_a_model_with_itself_is_itself(make, kit, tmp_path, method, dtype) -> None:
    folder = tmp_path / "signed"
    shutil.copytree(make("llama", seed=1, dtype=dtype), folder)
    stored = kit.tensors(folder)
    for tensor in stored.values():  # both zeros: adding would lose the sign
        tensor.view(-1)[:3] = torch.tensor([-0.0, 0.0, -0.0], dtype=dtype)
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    named = {"earlier": (str(folder), str(folder))}
    if method == "slerp":
        named = {"earlier": (str(folder),)}
    if method == "task":
        named = {"base": str(folder), "earlier": (str(folder),), "weights": (0.7,)}
    report = merge(
        MergeRecipe(trained=str(folder), method=method, alpha=0.3, **named), tmp_path / "out"
    )
    made = kit.tensors(tmp_path / "out")
    assert all(kit.same_bits(made[name], stored[name]) for name in stored)
    assert report.mixed == len(stored)
    assert report.rounding[0].moved == 0


def test_case_k04_mixed_types_are_computed_in_float32_and_rounded_once(make, kit, tmp_path) -> None:
    trained = make("llama", seed=1, dtype=torch.bfloat16)
    earlier = make("llama", seed=0, dtype=torch.float16)
    for name, dtype in (
        ("source", torch.bfloat16),
        ("float16", torch.float16),
        ("float32", torch.float32),
    ):
        recipe = MergeRecipe(trained=trained, earlier=(earlier,), alpha=0.5, dtype=name)
        report = merge(recipe, tmp_path / name)
        made, one, two = (kit.tensors(p) for p in (tmp_path / name, trained, earlier))
        for key in made:
            a, b = one[key].float(), two[key].float()
            assert kit.same_bits(made[key], (a + 0.5 * (b - a)).to(dtype))
        config = json.loads((tmp_path / name / "config.json").read_text())
        assert config["dtype"] == str(dtype).removeprefix("torch.")
        (rounding,) = report.rounding
        assert rounding.dtype == config["dtype"]
        if name != "float32":
            assert 0.1 < rounding.mean_ulp < 0.3 < rounding.max_ulp <= 0.5
        else:
            assert rounding.max_abs == 0


def test_case_k04_a_layer_left_alone_stays_bit_for_bit(make, kit, tmp_path) -> None:
    trained, earlier = (make("llama", seed=s, dtype=torch.bfloat16) for s in (1, 0))
    recipe = MergeRecipe(trained=trained, earlier=(earlier,), schedule=(0.2, 0.9, 0.0))
    merge(recipe, tmp_path / "out")
    made, one, two = (kit.tensors(p) for p in (tmp_path / "out", trained, earlier))
    for name in made:
        alpha = next((a for i, a in enumerate((0.2, 0.9)) if f"layers.{i}." in name), None)
        if alpha is None:
            assert kit.same_bits(made[name], one[name]), name
        else:
            a, b = one[name].float(), two[name].float()
            expected = (a.double() + alpha * (b.double() - a.double())).bfloat16()
            torch.testing.assert_close(made[name], expected, atol=0, rtol=2**-7)
            assert not torch.equal(made[name], one[name])


def test_rounding_tells_what_bfloat16_swallowed(make, kit, tmp_path) -> None:
    trained = make("llama", seed=1, dtype=torch.bfloat16)
    near = tmp_path / "near"
    shutil.copytree(trained, near)
    stored = {k: v.float() * (1 + 2**-10) for k, v in kit.tensors(trained).items()}
    save_file(stored, near / "model.safetensors", metadata={"format": "pt"})
    report = merge(MergeRecipe(trained=trained, earlier=(str(near),)), tmp_path / "out")
    assert report.rounding[0].moved > 0.99
    assert report.rounding[0].lost > 0.99  # half of 2**-10 is below half an ulp of 2**-8


@pytest.mark.parametrize(
    ("options", "touched"),
    [
        ({"window": (1, 3)}, ("layers.1.", "layers.2.")),
        ({"parts": ("attention",)}, ("self_attn.",)),
        ({"parts": ("mlp",), "window": (0, 1)}, ("layers.0.mlp",)),
        ({"parts": ("norm", "final_norm")}, ("layernorm", "model.norm")),
        ({"parts": ("embedding",)}, ("embed_tokens",)),
        (
            {"parts": ("head", "norm"), "window": (2, 3)},
            ("lm_head", "layers.2.input", "layers.2.p"),
        ),
    ],
)
def test_windows_and_parts(make, kit, tmp_path, options, touched) -> None:
    trained, earlier = (make("llama", seed=s, tied=False) for s in (1, 0))
    merge(MergeRecipe(trained=trained, earlier=(earlier,), alpha=1.0, **options), tmp_path / "out")
    made, one, two = (kit.tensors(p) for p in (tmp_path / "out", trained, earlier))
    for name in made:
        hit = any(part in name for part in touched)
        assert kit.same_bits(made[name], (two if hit else one)[name]), name


def test_slerp_keeps_the_length_and_task_adds_differences(make, kit, tmp_path) -> None:
    a, b, c = (make("llama", seed=s) for s in (1, 0, 2))
    report = merge(
        MergeRecipe(trained=a, earlier=(b,), method="slerp", alpha=0.4), tmp_path / "slerp"
    )
    one, two, three, made = (kit.tensors(p) for p in (a, b, c, tmp_path / "slerp"))
    name = "model.layers.0.mlp.up_proj.weight"
    x, y = one[name].double(), two[name].double()
    angle = torch.acos((x * y).sum() / x.norm() / y.norm())
    expected = (torch.sin(0.6 * angle) * x + torch.sin(0.4 * angle) * y) / torch.sin(angle)
    torch.testing.assert_close(made[name].double(), expected, atol=1e-6, rtol=1e-5)
    assert 0 <= report.straight < report.mixed

    recipe = MergeRecipe(trained=a, earlier=(c,), weights=(0.5,), base=b, method="task", alpha=-0.2)
    merge(recipe, tmp_path / "task")
    z, made = three[name].double(), kit.tensors(tmp_path / "task")
    expected = y + 1.2 * (x - y) + 0.5 * (z - y)
    torch.testing.assert_close(made[name].double(), expected, atol=1e-6, rtol=1e-5)


def test_several_earlier_checkpoints_by_share(make, kit, tmp_path) -> None:
    a, b, c = (make("gpt2", seed=s) for s in (1, 0, 2))
    recipe = MergeRecipe(trained=a, earlier=(b, c), alpha=0.5, weights=(0.75, 0.25))
    merge(recipe, tmp_path / "out")
    made, one, two, three = (kit.tensors(p) for p in (tmp_path / "out", a, b, c))
    for name in made:
        expected = 0.5 * one[name] + 0.375 * two[name] + 0.125 * three[name]
        torch.testing.assert_close(made[name], expected, atol=1e-6, rtol=1e-5)


def test_case_k01_tied_matrices_stay_one(make, kit, tmp_path) -> None:
    trained, earlier = make("llama", seed=1), make("llama", seed=0)
    twice, as_head = tmp_path / "twice", tmp_path / "head"
    for folder, keep in ((twice, True), (as_head, False)):
        shutil.copytree(earlier, folder)
        stored = kit.tensors(earlier)
        stored["lm_head.weight"] = stored["model.embed_tokens.weight"].clone()
        if not keep:
            del stored["model.embed_tokens.weight"]
        save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    merge(MergeRecipe(trained=trained, earlier=(earlier,)), tmp_path / "plain")
    expected = kit.tensors(tmp_path / "plain")
    assert expected.keys() == kit.tensors(trained).keys()
    for i, parents in enumerate([(trained, twice), (trained, as_head), (twice, trained)]):
        recipe = MergeRecipe(trained=str(parents[0]), earlier=(str(parents[1]),))
        merge(recipe, tmp_path / f"out{i}")
        made = kit.tensors(tmp_path / f"out{i}")
        assert made.keys() == expected.keys()
        for name in made:
            torch.testing.assert_close(made[name], expected[name], atol=1e-7, rtol=1e-5)
        model = kit.load(tmp_path / f"out{i}")
        assert model.num_parameters() == kit.load(trained).num_parameters()
        assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


def test_case_k01_one_tied_one_untied(make, kit, tmp_path) -> None:
    tied, untied = make("llama", seed=1), make("llama", seed=0, tied=False)
    with pytest.raises(ValueError, match="one matrix for embedding and head"):
        merge(MergeRecipe(trained=tied, earlier=(untied,)), tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
    merge(MergeRecipe(trained=untied, earlier=(tied,)), tmp_path / "out")
    made, one, two = (kit.tensors(p) for p in (tmp_path / "out", untied, tied))
    shared = two["model.embed_tokens.weight"]
    for name in ("lm_head.weight", "model.embed_tokens.weight"):
        torch.testing.assert_close(made[name], 0.5 * one[name] + 0.5 * shared)
    kit.load(tmp_path / "out")


def test_a_sharded_checkpoint_keeps_its_layout(make, kit, tmp_path) -> None:
    trained, earlier = make("llama", seed=1, shard="6KB"), make("llama", seed=0)
    report = merge(MergeRecipe(trained=trained, earlier=(earlier,)), tmp_path / "out")
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    source = json.loads((Path(trained) / "model.safetensors.index.json").read_text())
    assert index["weight_map"] == source["weight_map"]
    assert index["metadata"]["total_size"] == report.size
    assert len(set(index["weight_map"].values())) > 2
    for name, file in index["weight_map"].items():
        assert name in load_file(tmp_path / "out" / file)
    assert locate(str(tmp_path / "out")).weights == report.weights
    kit.load(tmp_path / "out")


def test_stored_names_may_differ_before_the_place(make, kit, tmp_path) -> None:
    trained, earlier = make("gpt2", seed=1), make("gpt2", seed=0)
    bare = tmp_path / "bare"
    shutil.copytree(earlier, bare)
    stored = {k.removeprefix("transformer."): v for k, v in kit.tensors(earlier).items()}
    save_file(stored, bare / "model.safetensors", metadata={"format": "pt"})
    merge(MergeRecipe(trained=trained, earlier=(str(bare),)), tmp_path / "out")
    merge(MergeRecipe(trained=trained, earlier=(earlier,)), tmp_path / "same")
    made, expected = kit.tensors(tmp_path / "out"), kit.tensors(tmp_path / "same")
    assert all(kit.same_bits(made[name], expected[name]) for name in expected)
