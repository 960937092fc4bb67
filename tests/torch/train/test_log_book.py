"""The log book by itself, and numbers weighted over micro-batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch

from rewardable.records import Completion, Outcome, Prompt, Verdict, user_prompt
from rewardable.train.core import Forward, _Added
from rewardable.train.logs import StepMetrics
from rewardable.train.logs.book import LogBook
from rewardable.train.logs.entropy import FIRST, MEAN, watch_entropy
from rewardable.train.logs.together import joined
from rewardable.train.shaping import ShapedReward
from rewardable.train.taps import RolloutBatch

PROMPT = user_prompt("t", "1", "q")
WRONG = Verdict(outcome=Outcome.WRONG, verifier="strict", version="1", reason="no answer")


class TakesAll:
    name, version = "takes", "1"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        return Verdict(outcome=Outcome.CORRECT, verifier=self.name, version=self.version)


def batch_of(*texts: str) -> RolloutBatch:
    n = len(texts)
    return RolloutBatch(
        step=0,
        group_size=n,
        prompt_keys=(PROMPT.key,) * n,
        texts=texts,
        token_ids=((1,),) * n,
        truncated=(False,) * n,
        shaped=(ShapedReward(prompt_key=PROMPT.key, verdict=WRONG, base=0.0),) * n,
    )


def test_disagreements_are_written_once_with_their_rows(tmp_path: Path) -> None:
    metrics = StepMetrics(lenient=TakesAll(), prompts={PROMPT.key: PROMPT})
    told: list[tuple[int, int, float]] = []
    book = LogBook(tmp_path, [metrics], lambda step, total, n: told.append((step, total, len(n))))
    book.begin(0)
    book.note(1, 3, metrics(batch_of("nothing", "more")))
    book.note(2, 3, {"reward": float("nan"), "loss": 0.5, "text": "no number"})
    book.note(3, 3, {"train_runtime": 1.0})
    book.save()
    rows = [json.loads(line) for line in (tmp_path / "disagreements.jsonl").open()]
    assert [(row["step"], row["text"], row["strict_reason"], row["lenient"]) for row in rows] == [
        (0, "nothing", "no answer", "correct"),
        (0, "more", "no answer", "correct"),
    ]
    assert [one[:2] for one in told] == [(1, 3), (2, 3)]
    assert told[1][2] == 1
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").open()]
    assert [line["kind"] for line in lines] == ["train", "train", "end"]
    assert lines[1] == {"step": 2, "kind": "train", "reward": None, "loss": 0.5}
    assert (tmp_path / "metrics.parquet").is_file()
    book.begin(0)
    assert (tmp_path / "disagreements.jsonl").read_text() == ""


def test_batches_of_processes_are_joined_in_order() -> None:
    one, two = batch_of("a", "b", "c", "d"), batch_of("e", "f")
    whole = joined([one, two])
    assert whole.texts == ("a", "b", "c", "d", "e", "f")
    assert whole.group_size == 2
    assert [list(rows) for rows in whole.groups] == [[0, 1], [2, 3], [4, 5]]


class Doubling:
    """Reduces over two processes that hold the same."""

    @staticmethod
    def reduce(values: torch.Tensor, reduction: str) -> torch.Tensor:
        assert reduction == "sum"
        return values * 2


class Base:
    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        self.told = logs


class Trainer(_Added, Base):
    pass


def forward(entropy: list[list[float]], mask: list[list[int]], accelerator: Any) -> Forward:
    nothing = torch.zeros(len(entropy), 1)
    return Forward(
        step=0,
        model=None,
        accelerator=accelerator,
        prompt_ids_BP=nothing,
        prompt_mask_BP=nothing,
        completion_ids_BT=nothing,
        completion_mask_BT=torch.tensor(mask),
        advantages_B=nothing[:, 0],
        logp_BT=nothing,
        entropy_BT=torch.tensor(entropy, requires_grad=True),
    )


def test_micro_batches_weigh_by_their_tokens_and_rows() -> None:
    seen = [
        forward([[4.0, 1.0, 1.0], [2.0, 9.0, 9.0]], [[1, 1, 1], [1, 0, 0]], Doubling()),
        forward([[0.0, 9.0, 9.0]], [[0, 0, 0]], Doubling()),
    ]
    trainer = Trainer()
    for one in seen:
        for name, number in watch_entropy(one).items():
            trainer.seen_numbers.setdefault(name, []).append(number)
    trainer.log({})
    assert trainer.told == {FIRST: 3.0, MEAN: 2.0}
    assert trainer.seen_numbers == {}


def test_plain_numbers_are_averaged_and_a_mean_of_nothing_is_left_out() -> None:
    trainer = Trainer()
    trainer.seen_numbers["plain"] = [1.0, 2.0]
    masked = forward([[0.5]], [[0]], Doubling())
    trainer.seen_numbers[MEAN] = [watch_entropy(masked)[MEAN]]
    trainer.log({})
    assert trainer.told == {"plain": 1.5}
