"""SFT, DPO and on-policy distillation of the pocket policy: short, real, resumed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("trl")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rewardable.errors import ConfigError, DataError
from rewardable.records import Completion, Outcome, Verdict, user_prompt
from rewardable.tasks import load_task
from rewardable.train import StepReport
from rewardable.train.distill import DistillRecipe, check_same_tokens, run_distill
from rewardable.train.dpo import DPORecipe, dpo_examples, run_dpo
from rewardable.train.pairs import pairs
from rewardable.train.rows import GradedRow, TextRow
from rewardable.train.sft import SFTRecipe, run_sft, sft_examples
from rewardable.train.tokens import Encoder, encoder
from rewardable.workflows.sources import resolve_source

TASK = load_task("countdown-steps:numbers=3,values=1-9")
POCKET = resolve_source("pocket")


@pytest.fixture(scope="module")
def told() -> Encoder:
    return encoder(AutoTokenizer.from_pretrained(POCKET), (1,))


def graded() -> list[GradedRow]:
    """A right, a wrong and an ungraded answer to each of 12 prompts, by the task's verifier."""
    rows: list[GradedRow] = []
    for prompt in TASK.prompts(12, 0):
        for text in (*TASK.gold_answers(prompt)[:1], "1+1=2"):
            verdict = TASK.verifier.verify(prompt, Completion(text=text))
            rows.append(GradedRow(prompt=prompt, text=text, verdict=verdict))
        said = Verdict(outcome=Outcome.UNGRADED, reason="t", verifier="countdown", version="1")
        rows.append(GradedRow(prompt=prompt, text="2+2=4", verdict=said))
    return rows


def steps(paths: list[Path]) -> list[str]:
    assert all((path / "trainer_state.json").is_file() for path in paths)
    return [path.name for path in paths]


def log_prob(model: torch.nn.Module, told: Encoder, row: GradedRow) -> float:
    prompt, answer = told.prompt(row.prompt), told.completion(row.text)
    ids = torch.tensor([prompt + answer])
    with torch.no_grad():
        logp = model(input_ids=ids).logits[0].log_softmax(-1)
    return float(logp[range(len(prompt) - 1, ids.size(1) - 1), answer].sum())


def test_labels_are_the_answer_and_its_end_token(told: Encoder) -> None:
    row = TextRow(prompt=user_prompt("t", "1", "1,2=3:"), text="1+2=3")
    (example,) = sft_examples([row], told, 99)
    answer = told.completion("1+2=3")
    assert answer[-1] == 1
    assert example["labels"] == [-100] * 6 + answer
    assert example["input_ids"] == told.prompt(row.prompt) + answer


def test_long_rows_are_left_out_and_said(told: Encoder) -> None:
    prompt = user_prompt("t", "1", "1,2=3:")
    rows = [TextRow(prompt=prompt, text="1+2=3"), TextRow(prompt=prompt, text="1+2=3" * 9)]
    with pytest.warns(UserWarning, match="1 of 2 rows"):
        assert len(sft_examples(rows, told, 20)) == 1
    with pytest.raises(DataError, match="none of 2 rows"):
        sft_examples(rows, told, 4)


def test_sft_on_gold_answers_lowers_their_loss_and_goes_on(tmp_path: Path) -> None:
    told: list[StepReport] = []
    recipe = SFTRecipe(
        steps=6, batch=8, micro_batch=4, learning_rate=1e-3, train_prompts=2,
        answers_per_prompt=2, save_every=3,
    )  # fmt: skip
    made = run_sft(POCKET, TASK, recipe, tmp_path, told.append)
    assert steps(made) == ["checkpoint-3", "checkpoint-6"]
    assert [report.step for report in told] == [1, 2, 3, 4, 5, 6]
    assert told[-1].numbers["loss"] < told[0].numbers["loss"] / 2
    assert run_sft(POCKET, TASK, recipe, tmp_path, told.append) == made
    assert len(told) == 6  # it was done; nothing was trained


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    def recipe(steps: int) -> SFTRecipe:
        return SFTRecipe(steps=steps, batch=4, train_prompts=4, answers_per_prompt=2, save_every=2)

    run_sft(POCKET, TASK, recipe(2), tmp_path / "cut")
    cut = run_sft(POCKET, TASK, recipe(4), tmp_path / "cut")[-1]
    whole = run_sft(POCKET, TASK, recipe(4), tmp_path / "whole")[-1]
    one, other = (AutoModelForCausalLM.from_pretrained(path) for path in (cut, whole))
    for (name, ours), theirs in zip(one.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs), name


def test_dpo_raises_chosen_over_rejected(tmp_path: Path, told: Encoder) -> None:
    rows = graded()
    reports: list[StepReport] = []
    recipe = DPORecipe(steps=4, batch=12, learning_rate=2e-4, save_every=2)
    made = run_dpo(POCKET, rows, recipe, tmp_path, reports.append)
    assert steps(made) == ["checkpoint-2", "checkpoint-4"]
    assert reports[0].numbers["loss"] == pytest.approx(math.log(2), abs=1e-4)  # still the base
    base, trained = (AutoModelForCausalLM.from_pretrained(path) for path in (POCKET, made[-1]))
    margins = [
        sum(
            log_prob(model, told, pair.chosen) - log_prob(model, told, pair.rejected)
            for pair in pairs(rows, 1, 0)
        )
        for model in (base, trained)
    ]
    assert margins[1] > margins[0] + 1


def test_dpo_trains_on_the_ids_that_were_drawn(told: Encoder) -> None:
    prompt = user_prompt("t", "1", "1,2=3:")
    right, wrong = (
        Verdict(outcome=outcome, verifier="v", version="1")
        for outcome in (Outcome.CORRECT, Outcome.WRONG)
    )
    drawn = GradedRow(prompt=prompt, text="1+2=3", verdict=right, token_ids=(5, 6, 1))
    cut = GradedRow(prompt=prompt, text="1+1", verdict=wrong, truncated=True)
    (example,) = dpo_examples(pairs([drawn, cut], 1, 0), told, 99)
    assert example["exact"]["chosen_ids"] == [5, 6, 1]
    assert example["exact"]["rejected_ids"] == told.completion("1+1", ended=False)
    assert example["exact"]["rejected_ids"][-1] != told.end_id


def test_dpo_without_a_pair_says_what_to_do(tmp_path: Path) -> None:
    rows = [row for row in graded() if row.verdict.outcome is not Outcome.WRONG]
    with pytest.raises(DataError, match="no prompt has both"):
        run_dpo(POCKET, rows, DPORecipe(steps=1), tmp_path)


def test_distillation_moves_the_student_to_the_teacher(tmp_path: Path) -> None:
    recipe = SFTRecipe(steps=6, batch=8, learning_rate=1e-3, train_prompts=2)
    teacher = str(run_sft(POCKET, TASK, recipe, tmp_path / "teacher")[-1])
    reports: list[StepReport] = []
    distil = DistillRecipe(
        steps=8, batch=16, learning_rate=3e-4, train_prompts=32, max_new_tokens=24, save_every=4
    )
    made = run_distill(POCKET, teacher, TASK, distil, tmp_path / "student", reports.append)
    assert steps(made) == ["checkpoint-4", "checkpoint-8"]
    losses = [report.numbers["loss"] for report in reports]
    assert min(losses[-2:]) < losses[0] / 2
    itself = run_distill(POCKET, POCKET, TASK.prompts(8, 0), DistillRecipe(steps=1, batch=8),
                         tmp_path / "itself", reports.append)  # fmt: skip
    assert steps(itself) == ["checkpoint-1"]
    assert reports[-1].numbers["loss"] == pytest.approx(0.0, abs=1e-6)


def test_a_teacher_of_other_tokens_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="same tokens"):
        run_distill(POCKET, resolve_source("pocket-routes"), TASK, DistillRecipe(), tmp_path)


def test_a_teacher_that_ends_elsewhere_is_refused() -> None:
    one, other = (AutoTokenizer.from_pretrained(POCKET) for _ in range(2))
    other.eos_token = other.convert_ids_to_tokens(3)
    with pytest.raises(ConfigError, match="never to stop"):
        check_same_tokens(one, other, "a", "b")
