"""What is refused, with the reason, and that nothing is left behind."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from rewardable.errors import ConfigError, DataError, UserError
from rewardable.restore import MergeRecipe, merge, record_evidence
from rewardable.restore import write as writing


def copied(source: str, to: Path) -> Path:
    shutil.copytree(source, to)
    return to


def left(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name not in ("a", "b"))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("role", ["a", "b"])
@pytest.mark.parametrize("options", [{}, {"window": (0, 1)}])
def test_nan_and_inf_are_named(make, kit, tmp_path, bad, role, options) -> None:
    paths = {n: copied(make("llama", seed=i), tmp_path / n) for i, n in enumerate("ab")}
    stored = kit.tensors(paths[role])
    stored["model.layers.2.mlp.up_proj.weight"][3, 1] = bad
    save_file(stored, paths[role] / "model.safetensors", metadata={"format": "pt"})
    recipe = MergeRecipe(trained=str(paths["a"]), earlier=(str(paths["b"]),), **options)
    with pytest.raises(DataError, match=rf"/{role}: model.layers.2.mlp.up_proj.weight .* NaN"):
        merge(recipe, tmp_path / "out")
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"layers": 2}, "num_hidden_layers is 3 and 2"),
        ({"hidden_size": 32}, "hidden_size is 16 and 32"),
        ({"intermediate_size": 32}, r"mlp.*\[24, 16\] and \[32, 16\]"),
        ({"num_attention_heads": 2}, "num_attention_heads is 4 and 2"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, "rope_theta"),
        ({"attention_bias": True}, "only the second has .*q_proj.bias"),
    ],
)
def test_another_architecture(make, tmp_path, other, said) -> None:
    recipe = MergeRecipe(trained=make("llama", seed=1), earlier=(make("llama", **other),))
    with pytest.raises(DataError, match=said):
        merge(recipe, tmp_path / "out")
    assert left(tmp_path) == []


def test_another_family(make, tmp_path) -> None:
    with pytest.raises(DataError, match="model_type is 'qwen2' and 'llama'"):
        merge(MergeRecipe(trained=make("qwen2"), earlier=(make("llama"),)), tmp_path / "out")


def test_a_missing_shard_and_a_stale_index(make, kit, tmp_path) -> None:
    trained = copied(make("llama", seed=1, shard="6KB"), tmp_path / "a")
    recipe = MergeRecipe(trained=str(trained), earlier=(make("llama"),))
    shards = sorted(trained.glob("model-*.safetensors"))
    kept = shards[1].read_bytes()
    shards[1].unlink()
    with pytest.raises(DataError, match=f"missing shards: {shards[1].name}"):
        merge(recipe, tmp_path / "out")
    shards[1].write_bytes(kept[:-10])
    with pytest.raises(DataError, match="cut off"):
        merge(recipe, tmp_path / "out")
    shards[1].write_bytes(kept)
    index = trained / "model.safetensors.index.json"
    raw = json.loads(index.read_text())
    gone = raw["weight_map"].pop("model.norm.weight")
    index.write_text(json.dumps(raw))
    with pytest.raises(DataError, match=r"stale.*does not name: model\.norm\.weight"):
        merge(recipe, tmp_path / "out")
    raw["weight_map"] |= {"model.norm.weight": gone, "model.old.weight": gone}
    index.write_text(json.dumps(raw))
    with pytest.raises(DataError, match=r"stale.*in no shard: model\.old\.weight"):
        merge(recipe, tmp_path / "out")
    index.unlink()
    with pytest.raises(DataError, match=r"no model\.safetensors\.index\.json"):
        merge(recipe, tmp_path / "out")
    assert left(tmp_path) == []


def test_an_index_beside_a_single_file_is_stale(make, tmp_path) -> None:
    trained = copied(make("llama", seed=1, shard="6KB"), tmp_path / "a")
    shutil.copy(Path(make("llama", seed=1)) / "model.safetensors", trained)
    with pytest.raises(DataError, match=r"does not name: model\.safetensors"):
        merge(MergeRecipe(trained=str(trained), earlier=(make("llama"),)), tmp_path / "out")


def test_the_file_system_gives_out_while_writing(make, tmp_path) -> None:
    """A real refusal by the kernel in the middle of the weights: a limit on the file's size."""
    recipe = MergeRecipe(trained=make("llama", seed=1), earlier=(make("llama"),))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, hard))
    try:
        with pytest.raises(UserError, match="Nothing was left there"):
            merge(recipe, tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert left(tmp_path) == []
    merge(recipe, tmp_path / "out")


def test_a_disk_that_is_full_at_the_end_or_beforehand(make, tmp_path, monkeypatch) -> None:
    recipe = MergeRecipe(trained=make("llama", seed=1), earlier=(make("llama"),))

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(UserError, match="No space left"):
            merge(recipe, tmp_path / "out")
    assert left(tmp_path) == []
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(writing.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(UserError, match=r"0\.0 MB free"):
        merge(recipe, tmp_path / "out")
    assert left(tmp_path) == []


def test_a_target_that_holds_something(make, tmp_path) -> None:
    recipe = MergeRecipe(trained=make("llama", seed=1), earlier=(make("llama"),))
    (tmp_path / "out").mkdir()
    merge(recipe, tmp_path / "out")
    with pytest.raises(ConfigError, match="not empty"):
        merge(recipe, tmp_path / "out")
    with pytest.raises(ConfigError, match="not empty"):
        merge(recipe, recipe.trained)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"window": (1, 4)}, "3 layers, 0 to 2"),
        ({"schedule": (0.5, 0.5)}, "2 values for 3 layers"),
        ({"parts": ("other",)}, "no tensor"),
    ],
)
def test_windows_that_do_not_fit(make, tmp_path, options, said) -> None:
    with pytest.raises(ConfigError, match=said):
        merge(
            MergeRecipe(trained=make("llama", seed=1), earlier=(make("llama"),), **options),
            tmp_path / "out",
        )


def test_overflow_in_the_stored_type_is_an_error(make, kit, tmp_path) -> None:
    trained = copied(make("llama", seed=1), tmp_path / "a")
    stored = kit.tensors(trained)
    stored["model.norm.weight"][0] = 1e6
    save_file(stored, trained / "model.safetensors", metadata={"format": "pt"})
    recipe = MergeRecipe(trained=str(trained), earlier=(make("llama"),), dtype="float16")
    with pytest.raises(DataError, match=r"model\.norm\.weight of the merge overflows float16"):
        merge(recipe, tmp_path / "out")


def test_folders_that_are_no_checkpoint(make, kit, tmp_path) -> None:
    trained = copied(make("llama", seed=1), tmp_path / "a")
    for name, said in (("nowhere", "no such folder"), ("b", "no config.json")):
        (tmp_path / "b").mkdir(exist_ok=True)
        with pytest.raises(ConfigError, match=said):
            merge(
                MergeRecipe(trained=str(tmp_path / name), earlier=(make("llama"),)), tmp_path / "o"
            )
    kit.edit_config(trained, quantization_config={"bits": 4})
    with pytest.raises(DataError, match="quantised"):
        merge(MergeRecipe(trained=str(trained), earlier=(make("llama"),)), tmp_path / "o")
    (trained / "model.safetensors").rename(trained / "pytorch_model.bin")
    kit.edit_config(trained, quantization_config=None)
    with pytest.raises(ConfigError, match="save it as safetensors"):
        merge(MergeRecipe(trained=str(trained), earlier=(make("llama"),)), tmp_path / "o")


def test_two_different_matrices_under_a_tie(make, kit, tmp_path) -> None:
    trained = copied(make("llama", seed=1, tied=False), tmp_path / "a")
    kit.edit_config(trained, tie_word_embeddings=True)
    with pytest.raises(DataError, match="two different matrices"):
        merge(MergeRecipe(trained=str(trained), earlier=(make("llama"),)), tmp_path / "out")


def test_evidence_is_for_merged_folders(make, tmp_path) -> None:
    with pytest.raises(ConfigError, match="no merged checkpoint"):
        record_evidence(make("llama"), {"x": 1})


def test_writing_does_not_touch_the_parents(make, kit, tmp_path) -> None:
    trained, earlier = make("llama", seed=1), make("llama")
    before = {p: p.read_bytes() for f in (trained, earlier) for p in Path(f).iterdir()}
    merge(MergeRecipe(trained=trained, earlier=(earlier,)), tmp_path / "out")
    assert {p: p.read_bytes() for f in (trained, earlier) for p in Path(f).iterdir()} == before
    assert torch.isfinite(kit.logits(kit.load(tmp_path / "out"))).all()
