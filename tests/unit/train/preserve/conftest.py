"""Generation batches made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from rewardable.records import Outcome, Verdict
from rewardable.train.shaping import RewardConfig, shape
from rewardable.train.taps import RolloutBatch

Row = str | None
"""``"+family"``: right; ``"+"``: right, without a label; ``"-0.5"``: wrong with a score; None."""


def verdict(row: Row) -> Verdict:
    if row is None:
        return Verdict(outcome=Outcome.UNGRADED, reason="timeout", verifier="v", version="1")
    right, rest = row[0] == "+", row[1:]
    return Verdict(
        outcome=Outcome.CORRECT if right else Outcome.WRONG,
        verifier="v",
        version="1",
        score=None if right else float(rest or 0),
        parts={"format": 1.0},
        labels={"solution": rest} if right and rest else {},
    )


@pytest.fixture
def make_batch() -> Callable[..., RolloutBatch]:
    def make(
        *groups: Sequence[Row], step: int = 0, reward: RewardConfig | None = None
    ) -> RolloutBatch:
        rows = [row for group in groups for row in group]
        keys = [f"p{i}" for i, group in enumerate(groups) for _ in group]
        texts = [f"text {i}" for i in range(len(rows))]
        verdicts = [verdict(row) for row in rows]
        return RolloutBatch(
            step=step,
            group_size=len(groups[0]),
            prompt_keys=tuple(keys),
            texts=tuple(texts),
            token_ids=tuple((i,) for i in range(len(rows))),
            truncated=(False,) * len(rows),
            shaped=tuple(shape(reward or RewardConfig(), keys, texts, verdicts)),
        )

    return make
