"""PPO in a world of one letter: a tiny model must learn which letter is paid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, PreTrainedTokenizerFast

from rewardable.errors import ConfigError, ResumeError
from rewardable.records import Completion, Outcome, Prompt, Verdict, user_prompt
from rewardable.train.ppo import PPORecipe, run_ppo
from rewardable.train.ppo.rollouts import data_order
from rewardable.train.ppo.value import build
from rewardable.train.taps import RolloutBatch

VOCABULARY = ("<pad>", "<eos>", *"abcd?")
SMALL: dict[str, Any] = {
    "steps": 4,
    "prompts_per_step": 2,
    "group_size": 16,
    "train_prompts": 2,
    "max_new_tokens": 1,
    "save_every": 2,
    "minibatches": 2,
    "epochs": 2,
    "value_learning_rate": 3e-3,
}


@dataclass(frozen=True)
class Letters:
    """Each prompt ends in a letter and pays answers that begin with it, or with one in ``more``.

    ungraded: letters whose answers are not graded.
    """

    letters: str = "ab"
    ungraded: str = ""
    more: str = ""
    name: str = "letters"
    version: str = "1"

    @property
    def verifier(self) -> Letters:
        return self

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        del seed
        return [user_prompt("letters", "1", "?" * i + c) for i, c in enumerate(self.letters)][
            :count
        ]

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        if prompt.text[-1] in self.ungraded:
            outcome, reason = Outcome.UNGRADED, "asked not to"
        elif completion.text[:1] == prompt.text[-1] or completion.text[:1] in tuple(self.more):
            outcome, reason = Outcome.CORRECT, ""
        else:
            outcome, reason = Outcome.WRONG, "another letter"
        return Verdict(outcome=outcome, reason=reason, verifier="letters", version="1")


def write_base(folder: Path, family: str = "llama", **special: str | None) -> str:
    core = Tokenizer(models.WordLevel({t: i for i, t in enumerate(VOCABULARY)}, unk_token="?"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    core.decoder = decoders.Fuse()
    named = {"pad_token": "<pad>", "eos_token": "<eos>", **special}
    ids = {"pad_token_id": 0, "eos_token_id": 1 if named["eos_token"] else None}
    torch.manual_seed(1)
    config = {
        "llama": lambda: LlamaConfig(
            vocab_size=7,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=32,
            bos_token_id=None,
            **ids,
        ),
        "gpt2": lambda: GPT2Config(
            vocab_size=7, n_embd=16, n_layer=1, n_head=2, n_positions=32, bos_token_id=None, **ids
        ),
    }[family]()
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=core, **named).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_base(tmp_path_factory.mktemp("base"))


def train(base: str, out: Path, task: Letters | None = None, **options: Any) -> list[Path]:
    taps = options.pop("taps", ())
    on_step = options.pop("on_step", None)
    recipe = PPORecipe(**{**SMALL, **options})
    return run_ppo(base, task or Letters(), recipe, out, on_step, taps)


def log(checkpoint: Path) -> list[dict[str, float]]:
    text = (checkpoint / "trainer_state.json").read_text(encoding="utf-8")
    return json.loads(text)["log_history"]


def weights(folder: Path | str) -> dict[str, torch.Tensor]:
    return load_file(str(Path(folder) / "model.safetensors"))


def same(one: Path | str, other: Path | str) -> bool:
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("critic", ["detached", "shared", "own"])
def test_the_paid_letter_is_found(base: str, tmp_path: Path, critic: str) -> None:
    steps = log(train(base, tmp_path, steps=40, learning_rate=1e-2, critic=critic)[-1])
    assert steps[0]["reward"] < 0.5
    assert steps[-1]["reward"] > 0.95
    assert steps[-1]["entropy"] < steps[0]["entropy"]


class Graded(Letters):
    """Prompt "a" pays four letters of seven, prompt "?b" one."""

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        ours = Letters(more="bcd") if prompt.text[-1] == "a" else self
        return Letters.verify(ours, prompt, completion)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_values_converge_to_the_mean_reward_of_each_prompt(tmp_path: Path, family: str) -> None:
    """The policy stands still. Prompts differ in length: padding must not be seen."""
    base = write_base(tmp_path / "base", family)
    options: dict[str, Any] = {"learning_rate": 1e-12, "value_learning_rate": 5e-3}
    last = train(base, tmp_path / "run", Graded(), steps=40, group_size=256, save_every=40,
                 **options)[-1]  # fmt: skip
    model = build(base, base, PPORecipe(), bf16=False)
    rest = torch.load(last / "ppo_state.pt", weights_only=True)
    model.critic.load_state_dict(rest["critic"])
    with torch.no_grad():
        seen = model(torch.tensor([[0, 2, 1], [6, 3, 1]]), torch.tensor([[0, 1, 1], [1, 1, 1]]), 1)
        often = model.policy(torch.tensor([[2]])).logits[0, -1].softmax(-1)[2:6].sum()
        seldom = model.policy(torch.tensor([[6, 3]])).logits[0, -1].softmax(-1)[3]
    assert often.item() > seldom.item() + 0.3
    assert seen.value_BU[0, 0].item() == pytest.approx(often.item(), abs=0.08)
    assert seen.value_BU[1, 0].item() == pytest.approx(seldom.item(), abs=0.08)


def test_a_killed_run_ends_with_the_weights_of_an_uninterrupted_one(
    base: str, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"max_new_tokens": 3, "kl_coefficient": 0.05, "save_every": 2}
    whole = train(base, tmp_path / "whole", steps=5, **options)

    def die(report: Any) -> None:
        if report.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(base, tmp_path / "cut", steps=5, on_step=die, **options)
    assert [path.name for path in (tmp_path / "cut").iterdir()] == ["checkpoint-2"]
    torch.manual_seed(99)
    resumed = train(base, tmp_path / "cut", steps=5, **options)

    assert [path.name for path in resumed] == ["checkpoint-2", "checkpoint-4", "checkpoint-5"]
    assert not same(whole[0], whole[-1])
    assert all(same(one, other) for one, other in zip(whole, resumed, strict=True))
    assert log(whole[-1]) == log(resumed[-1])
    states = [torch.load(run[-1] / "ppo_state.pt", weights_only=True) for run in (whole, resumed)]
    critics = [state["critic"] for state in states]
    assert all(torch.equal(critics[0][name], critics[1][name]) for name in critics[0])


def test_a_finished_run_stands_and_other_settings_are_refused(base: str, tmp_path: Path) -> None:
    first = train(base, tmp_path)
    before = weights(first[-1])
    assert train(base, tmp_path) == first
    assert all(torch.equal(before[k], v) for k, v in weights(first[-1]).items())
    with pytest.raises(ResumeError, match=r"clip \(0.2 then, 0.1 now\)"):
        train(base, tmp_path, clip=0.1)
    longer = train(base, tmp_path, steps=6)
    assert [line["step"] for line in log(longer[-1])] == [1, 2, 3, 4, 5, 6]


def test_a_batch_without_a_verdict_teaches_nothing(base: str, tmp_path: Path) -> None:
    last = train(base, tmp_path, Letters(ungraded="ab"), steps=2)[-1]
    assert same(base, last)
    assert [line["ungraded"] for line in log(last)] == [1.0, 1.0]
    assert all("reward" not in line and "policy_loss" not in line for line in log(last))


def test_ungraded_prompts_are_not_wrong_ones(base: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"steps": 1, "learning_rate": 1e-2, "minibatches": 1, "epochs": 1}
    half = train(base, tmp_path / "half", Letters(ungraded="b"), **options)[-1]
    wrong = train(base, tmp_path / "wrong", Letters(letters="aa"), **options)[-1]
    assert log(half)[0]["ungraded"] == 0.5
    assert not same(half, wrong)
    assert not same(half, base)


def test_masked_truncated_answers_teach_nothing_and_others_do(base: str, tmp_path: Path) -> None:
    masked = train(base, tmp_path / "one", steps=2, mask_truncated=True)[-1]
    # one token, so whatever is not the end token is truncated; ended answers are all unpaid alike
    assert 0.5 < log(masked)[0]["completions/clipped_ratio"] < 1.0
    paid = train(base, tmp_path / "two", steps=2)[-1]
    assert not same(masked, paid)
    assert not same(base, paid)
    assert abs(log(masked)[0]["policy_loss"]) < 1e-6


def test_taps_see_every_batch_and_are_logged(base: str, tmp_path: Path) -> None:
    seen: list[RolloutBatch] = []

    def tap(batch: RolloutBatch) -> dict[str, float]:
        seen.append(batch)
        return {"mine": float(len(seen))}

    last = train(base, tmp_path, taps=(tap,))[-1]
    assert [batch.step for batch in seen] == [0, 1, 2, 3]
    assert [line["mine"] for line in log(last)] == [1.0, 2.0, 3.0, 4.0]
    for batch, line in zip(seen, log(last), strict=True):
        assert batch.group_size == 16
        assert len(set(batch.prompt_keys)) == 2
        assert all(len(ids) == 1 for ids in batch.token_ids)
        assert [ids[0] != 1 for ids in batch.token_ids] == list(batch.truncated)
        assert line["reward"] == pytest.approx(sum(batch.correct) / 32)
    wanted = {"reward_std", "policy_loss", "value_loss", "policy_kl", "entropy"}
    wanted |= {"entropy/first_token", "clip_ratio/region_mean", "explained_variance"}
    assert wanted | {"completions/mean_length"} <= set().union(*map(set, log(last)))


def test_micro_batches_change_nothing_but_rounding(base: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"steps": 1, "max_new_tokens": 4, "entropy_coefficient": 0.01}
    whole = weights(train(base, tmp_path / "whole", **options)[-1])
    parts = weights(train(base, tmp_path / "parts", micro_batch=5, **options)[-1])
    moved = weights(base)
    for name, weight in whole.items():
        assert torch.allclose(weight, parts[name], atol=2e-6)
    assert any(not torch.allclose(whole[name], moved[name], atol=2e-5) for name in whole)


def test_the_penalty_keeps_the_policy_near_its_reference(base: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"steps": 25, "learning_rate": 1e-2}
    kept = log(train(base, tmp_path / "kept", kl_coefficient=5.0, **options)[-1])
    free = log(train(base, tmp_path / "free", **options)[-1])
    assert kept[0]["kl"] == pytest.approx(0.0, abs=1e-9)
    assert kept[-1]["reward"] < 0.6 < free[-1]["reward"]
    assert "kl" not in free[-1]


def test_checkpoints_are_ordinary_folders(base: str, tmp_path: Path) -> None:
    series = pytest.importorskip("rewardable.train.series")
    made = train(base, tmp_path)
    assert series.checkpoints(tmp_path) == made
    assert {"config.json", "generation_config.json", "tokenizer.json"} <= {
        path.name for path in made[-1].iterdir()
    }
    AutoModelForCausalLM.from_pretrained(made[-1])
    run = json.loads((made[-1] / "ppo_run.json").read_text(encoding="utf-8"))
    assert (run["task"], run["task_version"], run["seed"]) == ("letters", "1", 0)


def test_without_an_end_token_training_is_refused(tmp_path: Path) -> None:
    base = write_base(tmp_path / "base", eos_token=None)
    with pytest.raises(ConfigError, match="end token"):
        train(base, tmp_path / "run")


def test_an_epoch_takes_no_prompt_twice() -> None:
    recipe = PPORecipe(prompts_per_step=3, group_size=2, train_prompts=10, seed=4)
    epochs = [[p for s in range(3) for p in data_order(e * 3 + s, recipe)] for e in range(3)]
    assert all(len(set(epoch)) == 9 for epoch in epochs)
    assert epochs[0] != epochs[1]
    assert data_order(4, recipe) == data_order(4, recipe)
    assert data_order(0, recipe) != data_order(0, replace(recipe, seed=5))
