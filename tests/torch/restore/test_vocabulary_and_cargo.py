"""Unequal vocabularies, the files that travel along, the card, the YAML, memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoTokenizer

from rewardable.errors import ConfigError, DataError
from rewardable.restore import MergeRecipe, merge, record_evidence, to_mergekit_yaml

EMBEDDING = "model.embed_tokens.weight"


def longer(kit) -> tuple[str, ...]:
    return (*kit.tokens, "<think>", "</think>")


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("alpha", [0.25, 1.0])
def test_rows_that_only_the_trained_one_has_are_kept(make, kit, tmp_path, tied, alpha) -> None:
    trained = make("llama", seed=1, tied=tied, tokens=longer(kit))
    earlier = make("llama", seed=0, tied=tied)
    recipe = MergeRecipe(trained=trained, earlier=(earlier,), alpha=alpha)
    with pytest.raises(DataError, match=r"2 of 21 rows of the second are not in the first.*union"):
        merge(recipe, tmp_path / "refused")
    for policy in ("trained", "union"):
        recipe = MergeRecipe(trained=trained, earlier=(earlier,), alpha=alpha, vocabulary=policy)
        report = merge(recipe, tmp_path / policy)
        made, one, two = (kit.tensors(p) for p in (tmp_path / policy, trained, earlier))
        for name in [EMBEDDING] + ([] if tied else ["lm_head.weight"]):
            mixed = one[name][:19] + alpha * (two[name] - one[name][:19])
            torch.testing.assert_close(made[name][:19], mixed, atol=1e-6, rtol=1e-6)
            assert kit.same_bits(made[name][19:], one[name][19:])
        assert kit.load(tmp_path / policy).config.vocab_size == 21
        assert "vocabularies" in report.notes[0]
        assert "vocabularies differ" in report.mergekit


def test_rows_that_only_the_earlier_one_has(make, kit, tmp_path) -> None:
    trained = make("llama", seed=1)
    earlier = make("llama", seed=0, tokens=longer(kit))
    for policy, rows in (("trained", 19), ("union", 21)):
        merge(
            MergeRecipe(trained=trained, earlier=(earlier,), vocabulary=policy), tmp_path / policy
        )
        made, one, two = (kit.tensors(p) for p in (tmp_path / policy, trained, earlier))
        assert made[EMBEDDING].shape[0] == rows
        torch.testing.assert_close(
            made[EMBEDDING][:19], (one[EMBEDDING] + two[EMBEDDING][:19]) / 2, atol=1e-6, rtol=1e-5
        )
        model, tokenizer = (
            kit.load(tmp_path / policy),
            AutoTokenizer.from_pretrained(tmp_path / policy),
        )
        assert model.config.vocab_size == len(tokenizer) == rows
        if policy == "union":
            assert kit.same_bits(made[EMBEDDING][19:], two[EMBEDDING][19:])


def test_tokens_under_other_ids_are_matched_by_token(make, kit, tmp_path) -> None:
    moved = (*kit.tokens[:2], *reversed(kit.tokens[2:]))
    trained, earlier = make("llama", seed=1), make("llama", seed=0, tokens=moved)
    recipe = MergeRecipe(trained=trained, earlier=(earlier,), alpha=0.5)
    with pytest.raises(DataError, match="tokens have another id"):
        merge(recipe, tmp_path / "refused")
    recipe = MergeRecipe(trained=trained, earlier=(earlier,), alpha=0.5, vocabulary="trained")
    merge(recipe, tmp_path / "out")
    made, one, two = (kit.tensors(p)[EMBEDDING] for p in (tmp_path / "out", trained, earlier))
    order = torch.tensor([moved.index(token) for token in kit.tokens])
    torch.testing.assert_close(made, (one + two[order]) / 2, atol=1e-6, rtol=1e-5)
    recipe = MergeRecipe(trained=trained, earlier=(earlier,), method="slerp", vocabulary="trained")
    merge(recipe, tmp_path / "slerp")
    norms = kit.tensors(tmp_path / "slerp")[EMBEDDING].norm(), one.norm(), two.norm()
    assert float(norms[0]) == pytest.approx(float(norms[1] + norms[2]) / 2, rel=0.02)


def test_moved_tokens_with_more_rows_are_no_union(make, kit, tmp_path) -> None:
    moved = ("<think>", *kit.tokens)
    trained, earlier = make("llama", seed=1), make("llama", seed=0, tokens=moved)
    recipe = MergeRecipe(trained=trained, earlier=(earlier,), vocabulary="union")
    with pytest.raises(DataError, match="other ids for 19 tokens"):
        merge(recipe, tmp_path / "out")


def test_padding_rows_without_a_token_are_rows_too(make, kit, tmp_path) -> None:
    trained, earlier = make("llama", seed=1, rows=32), make("llama", seed=0)
    recipe = MergeRecipe(trained=trained, earlier=(earlier,), vocabulary="trained")
    merge(recipe, tmp_path / "out")
    made, one = kit.tensors(tmp_path / "out"), kit.tensors(trained)
    assert kit.same_bits(made[EMBEDDING][19:], one[EMBEDDING][19:])
    same = MergeRecipe(trained=trained, earlier=(make("llama", seed=0, rows=32),))
    assert merge(same, tmp_path / "same").notes == ()


def test_tokenizer_and_generation_config_travel_and_nothing_else(make, kit, tmp_path) -> None:
    trained = tmp_path / "a"
    shutil.copytree(make("llama", seed=1), trained)
    cargo = {
        "generation_config.json": '{"eos_token_id": [1, 5], "temperature": 0.6}',
        "chat_template.jinja": "{{ messages }}",
        "special_tokens_map.json": "{}",
        "LICENSE": "mine",
    }
    for name, text in {**cargo, "optimizer.pt": "x", "trainer_state.json": "{}"}.items():
        (trained / name).write_text(text)
    report = merge(
        MergeRecipe(trained=str(trained), earlier=(make("llama"),)),
        tmp_path / "out",
        evidence={"pass@1": [0.61, 0.59, 0.63]},
    )
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names == {
        *cargo,
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "README.md",
        "provenance.json",
        "mergekit.yaml",
    }
    for name in (*cargo, "config.json", "tokenizer.json"):
        assert (tmp_path / "out" / name).read_bytes() == (trained / name).read_bytes()
    record_evidence(tmp_path / "out", {"coverage": 0.8})
    raw = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert raw["evidence"] == {"pass@1": [0.61, 0.59, 0.63], "coverage": 0.8}
    assert MergeRecipe.from_mapping(raw["recipe"]) == report.recipe
    assert raw["weights"] == report.weights
    assert [p["weights"] for p in raw["parents"]] == [p.weights for p in report.parents]
    assert report.parents[1].weights in (tmp_path / "out" / "README.md").read_text()
    assert AutoTokenizer.from_pretrained(tmp_path / "out").chat_template == "{{ messages }}"


def test_a_parent_without_a_tokenizer_is_noted(make, tmp_path) -> None:
    trained = tmp_path / "a"
    shutil.copytree(make("llama", seed=1), trained)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (trained / name).unlink()
    report = merge(MergeRecipe(trained=str(trained), earlier=(make("llama"),)), tmp_path / "out")
    assert any("no tokenizer" in note for note in report.notes)


def test_the_yaml_says_the_same_layer_by_layer(make) -> None:
    trained, earlier = make("llama", seed=1), make("llama")
    recipe = MergeRecipe(
        trained=trained, earlier=(earlier,), method="slerp", alpha=0.4, parts=("mlp",),
        window=(1, 3),
    )  # fmt: skip
    text = to_mergekit_yaml(recipe)
    assert text.startswith(f'merge_method: slerp\nbase_model: "{trained}"')
    assert '- filter: ".mlp.up_proj.weight"\n      value: [0.0, 0.4, 0.4]' in text
    assert '- filter: ".self_attn.q_proj.weight"\n      value: 0.0' in text
    assert text.endswith("dtype: float32\nout_dtype: float32\n")
    plain = MergeRecipe(trained=trained, earlier=(earlier,), alpha=0.25)
    assert "weight: 0.75" in to_mergekit_yaml(plain)
    assert "weight: 0.25" in to_mergekit_yaml(plain)


def test_what_mergekit_cannot_say_is_told(make, kit, tmp_path) -> None:
    trained = tmp_path / "a"
    shutil.copytree(make("llama", seed=1, dtype=torch.bfloat16), trained)
    stored = kit.tensors(trained)
    stored["model.norm.weight"] = stored["model.norm.weight"].float()
    save_file(stored, trained / "model.safetensors", metadata={"format": "pt"})
    recipe = MergeRecipe(trained=str(trained), earlier=(make("llama"),))
    with pytest.raises(ConfigError, match="one type"):
        to_mergekit_yaml(recipe)
    report = merge(recipe, tmp_path / "out")
    assert "one type" in report.mergekit
    assert not (tmp_path / "out" / "mergekit.yaml").exists()
    assert kit.tensors(tmp_path / "out")["model.norm.weight"].dtype == torch.float32


MEASURE = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from rewardable.restore import MergeRecipe, merge
import rewardable.restore.run
def peak():
    line = next(x for x in Path("/proc/self/status").read_text().split("\\n") if "VmHWM" in x)
    return int(line.split()[1]) * 1024
small, big, other, out = sys.argv[1:]
merge(MergeRecipe(trained=small, earlier=(small,)), out + "-small")
before = peak()
merge(MergeRecipe(trained=big, earlier=(other,), method="slerp"), out)
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_memory_is_a_piece_of_a_tensor_not_a_model(make, tmp_path) -> None:
    """Two parents of 96 MB in one file each; all resident pages count, a file's too."""
    for seed, name in enumerate(("big", "other")):
        shutil.copytree(make("llama"), tmp_path / name)
        torch.manual_seed(seed)
        blown = {f"model.layers.{i}.mlp.up.weight": torch.randn(2048, 4096) for i in range(3)}
        blown["model.embed_tokens.weight"] = torch.randn(19, 16)
        save_file(blown, tmp_path / name / "model.safetensors", metadata={"format": "pt"})
    folders = [str(tmp_path / name) for name in ("big", "other", "out")]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, make("llama"), *folders],
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    assert (tmp_path / "out" / "model.safetensors").stat().st_size > 100e6
    assert int(done.stdout) < 64e6, done.stdout
    for name in ("big", "other", "out"):
        shutil.rmtree(tmp_path / name)
