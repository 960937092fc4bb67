"""LoRA parents: the product on its base, against peft's own merge."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from rewardable.engines.hf.checkpoints import locate
from rewardable.errors import ConfigError, DataError
from rewardable.restore import MergeRecipe, merge

LLAMA = {"target_modules": ["q_proj", "down_proj"]}


def train(base: str, folder: Path, *, seed: int = 1, **options) -> str:
    """Write an adapter with a non-zero update; the folder's name tells nothing."""
    torch.manual_seed(seed)
    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32),
        LoraConfig(**{"r": 4, "lora_alpha": 16, "init_lora_weights": False, **options}),
    )
    model.save_pretrained(folder)
    return str(folder)


def by_peft(base: str, adapter: str) -> dict[str, torch.Tensor]:
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    merged = PeftModel.from_pretrained(model, adapter).merge_and_unload()
    return {name: tensor.detach() for name, tensor in merged.named_parameters()}


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("llama", LLAMA),
        ("llama", {**LLAMA, "use_rslora": True}),
        ("llama", {**LLAMA, "rank_pattern": {"q_proj": 2}, "alpha_pattern": {"q_proj": 7}}),
        ("gpt2", {"target_modules": ["c_attn", "c_proj"], "fan_in_fan_out": True}),
        ("llama-untied", {**LLAMA, "modules_to_save": ["lm_head"]}),
        ("llama-untied", {"target_modules": ["embed_tokens", "o_proj"]}),
        ("neox", {"target_modules": ["query_key_value"]}),
    ],
)
def test_the_product_is_what_is_mixed(make, kit, tmp_path, family, options) -> None:
    name, *untied = family.split("-")
    base = make(name, tied=not untied)
    adapter = train(base, tmp_path / "final", **options)
    expected, plain = by_peft(base, adapter), dict(kit.load(base).named_parameters())
    for alpha in (0.0, 0.3, 1.0):
        report = merge(
            MergeRecipe(trained=adapter, earlier=(base,), alpha=alpha), tmp_path / str(alpha)
        )
        made = dict(kit.load(tmp_path / str(alpha)).named_parameters())
        assert made.keys() == expected.keys()
        for key, tensor in made.items():
            mixed = (1 - alpha) * expected[key] + alpha * plain[key]
            torch.testing.assert_close(tensor, mixed, atol=2e-6, rtol=1e-5)
    changed = [k for k in expected if not torch.equal(expected[k], plain[k])]
    assert changed
    record = report.parents[0]
    opened = locate(adapter)
    assert (record.weights, record.adapter) == (opened.weights, opened.adapter_digest)


def test_two_adapters_mix_by_their_products_not_by_their_factors(make, kit, tmp_path) -> None:
    base = make("llama")
    one, two = (train(base, tmp_path / f"{s}", seed=s, **LLAMA) for s in (1, 2))
    merge(MergeRecipe(trained=one, earlier=(two,), alpha=0.5), tmp_path / "out")
    made = kit.tensors(tmp_path / "out")
    a, b = by_peft(base, one), by_peft(base, two)
    key = "model.layers.1.self_attn.q_proj.weight"
    torch.testing.assert_close(made[key], (a[key] + b[key]) / 2, atol=2e-6, rtol=1e-5)
    apart = [load_file(Path(p) / "adapter_model.safetensors") for p in (one, two)]
    stem = f"base_model.model.{key.removesuffix('.weight')}.lora_"
    factors = {f: (apart[0][f"{stem}{f}.weight"] + apart[1][f"{stem}{f}.weight"]) / 2 for f in "AB"}
    wrong = kit.tensors(base)[key] + 4 * factors["B"] @ factors["A"]
    assert float((made[key] - wrong).abs().max()) > 0.1


def test_an_adapter_on_bfloat16_is_merged_in_float32_and_rounded_once(make, kit, tmp_path) -> None:
    base = make("llama", dtype=torch.bfloat16)
    adapter = train(base, tmp_path / "final", **LLAMA)
    report = merge(MergeRecipe(trained=adapter, earlier=(base,), alpha=0.25), tmp_path / "out")
    made, merged, plain = kit.tensors(tmp_path / "out"), by_peft(base, adapter), kit.tensors(base)
    for key, tensor in made.items():
        a, b = merged[key].double(), plain[key].double()
        expected = (a + 0.25 * (b - a)).bfloat16()
        assert tensor.dtype == torch.bfloat16
        assert float((tensor == expected).float().mean()) > 0.99
    assert report.rounding[0].dtype == "bfloat16"
    assert "adapter" in report.mergekit


def test_the_adapters_own_tokenizer_travels(make, kit, tmp_path) -> None:
    base = make("llama")
    adapter = Path(train(base, tmp_path / "final", **LLAMA))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path(base) / name, adapter)
    (adapter / "chat_template.jinja").write_text("of the adapter")
    merge(MergeRecipe(trained=str(adapter), earlier=(base,)), tmp_path / "out")
    assert (tmp_path / "out" / "chat_template.jinja").read_text() == "of the adapter"
    assert not list((tmp_path / "out").glob("adapter*"))
    kit.load(tmp_path / "out")


def test_case_k03_other_names_a_lost_half_and_a_lost_base(make, tmp_path) -> None:
    base = make("llama")
    adapter = Path(train(base, tmp_path / "final", **LLAMA))
    file = adapter / "adapter_model.safetensors"
    stored = load_file(file)
    recipe = MergeRecipe(trained=str(adapter), earlier=(base,))
    save_file({k.replace("base_model.", "actor."): v for k, v in stored.items()}, file)
    with pytest.raises(DataError, match=r"12 of its 12 .*actor\.model\.model\.layers\.0"):
        merge(recipe, tmp_path / "out")
    save_file({k: v for k, v in stored.items() if "layers.1.mlp.down_proj.lora_B" not in k}, file)
    with pytest.raises(DataError, match=r"only A of the pair A, B for layers\.1\.mlp\.down_proj"):
        merge(recipe, tmp_path / "out")
    save_file(stored, file)
    config = json.loads((adapter / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "some/where-else"
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="some/where-else"):
        merge(recipe, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    found = MergeRecipe(trained=str(adapter), earlier=(base,), adapter_base=base)
    merge(found, tmp_path / "out")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"use_dora": True}, "use_dora"),
        ({"peft_type": "IA3"}, "IA3 adapter"),
        ({"r": 8}, "says rank 8"),
    ],
)
def test_adapters_that_are_no_plain_product(make, tmp_path, changed, said) -> None:
    base = make("llama")
    adapter = Path(train(base, tmp_path / "final", **LLAMA))
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps({**config, **changed}))
    with pytest.raises((ConfigError, DataError), match=said):
        merge(MergeRecipe(trained=str(adapter), earlier=(base,)), tmp_path / "out")


def test_an_adapter_of_another_width_and_one_on_a_tied_head(make, tmp_path) -> None:
    wide = train(make("llama", hidden_size=32), tmp_path / "wide", **LLAMA)
    recipe = MergeRecipe(trained=wide, earlier=(make("llama"),), adapter_base=make("llama"))
    with pytest.raises(DataError, match="does not fit its base in shape"):
        merge(recipe, tmp_path / "out")
    base = make("llama", tied=False)
    head = train(base, tmp_path / "head", target_modules=["lm_head"])
    recipe = MergeRecipe(trained=head, earlier=(make("llama"),), adapter_base=make("llama"))
    with pytest.raises(DataError, match="would need two matrices"):
        merge(recipe, tmp_path / "out")


def test_an_adapter_that_adds_nothing_is_noted(make, tmp_path) -> None:
    base = make("llama")
    adapter = train(base, tmp_path / "final", **LLAMA, init_lora_weights=True)
    report = merge(MergeRecipe(trained=adapter, earlier=(base,)), tmp_path / "out")
    assert any("adds nothing" in note for note in report.notes)


def test_a_whole_model_beside_an_adapter_is_unclear(make, tmp_path) -> None:
    base = make("llama")
    adapter = Path(train(base, tmp_path / "final", **LLAMA))
    shutil.copy(Path(base) / "model.safetensors", adapter)
    with pytest.raises(ConfigError, match="unclear which is meant"):
        merge(MergeRecipe(trained=str(adapter), earlier=(base,)), tmp_path / "out")
