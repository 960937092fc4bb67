"""Verdicts as rewards, and recipes that cannot be meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from rewardable.errors import ConfigError
from rewardable.records import Completion, Outcome, Prompt, Verdict, user_prompt
from rewardable.train import GRPORecipe, RewardConfig, ShapedReward
from rewardable.train.rewards import NOTICE_AFTER, VerdictReward, completion_text
from rewardable.train.taps import RolloutBatch

PROMPT = user_prompt("echo", "1", "say yes", {"gold": "yes"})


@dataclass(frozen=True)
class Echo:
    name: str = "echo"
    version: str = "1"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        if completion.text == "boom":
            outcome, reason = Outcome.UNGRADED, "timeout: 5 s"
        else:
            right = completion.text == prompt.facts["gold"]
            outcome, reason = (Outcome.CORRECT if right else Outcome.WRONG), ""
        return Verdict(outcome=outcome, reason=reason, verifier=self.name, version=self.version)


def test_ungraded_gets_no_reward_and_never_zero() -> None:
    reward = VerdictReward(Echo(), {PROMPT.key: PROMPT})
    got = reward(["yes", "no", "boom"], prompt_key=[PROMPT.key] * 3, trainer_state=None)
    assert got == [1.0, 0.0, None]


def test_conversational_completions_are_read() -> None:
    turns = [{"role": "assistant", "content": "ye"}, {"role": "assistant", "content": "s"}]
    assert completion_text(turns) == "yes"
    assert completion_text("yes") == "yes"


@pytest.mark.parametrize(
    "change",
    [{"group_size": 1}, {"steps": 0}, {"prompts_per_step": 0}, {"micro_batch": 7}],
)
def test_recipes_that_cannot_be_meant_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(change))):
        GRPORecipe(**change)


def test_the_raw_verdict_stays_beside_the_shaped_reward() -> None:
    told: list[Sequence[ShapedReward]] = []
    config = RewardConfig(diversity_weight=0.5)
    reward = VerdictReward(Echo(), {PROMPT.key: PROMPT}, config, told.append)
    got = reward(["yes", "yes", "no", "boom"], prompt_key=[PROMPT.key] * 4)
    assert got == [pytest.approx(5 / 6), pytest.approx(5 / 6), 0.0, None]
    right, wrong, none = Outcome.CORRECT, Outcome.WRONG, Outcome.UNGRADED
    assert [row.verdict.outcome for row in reward.last] == [right, right, wrong, none]
    assert [row.base for row in reward.last] == [1.0, 1.0, 0.0, None]
    assert told == [reward.last]


def test_recipes_carry_the_reward() -> None:
    assert GRPORecipe().reward == RewardConfig()
    assert GRPORecipe(reward=RewardConfig(diversity_weight=1.0)).reward.diversity_weight == 1.0


@dataclass(frozen=True)
class Formatted(Echo):
    ok: tuple[str, ...] = ()

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        parts = {"format": float(completion.text in self.ok)}
        return Verdict(outcome=Outcome.WRONG, reason="no", parts=parts, verifier="f", version="1")


@pytest.mark.parametrize(("ok", "notices"), [((), 1), (("yes",), 0)])
def test_case_g03_a_constant_format_part_raises_a_notice(ok: tuple[str, ...], notices: int) -> None:
    reward = VerdictReward(Formatted(ok=ok), {PROMPT.key: PROMPT})
    reward(["no"] * (NOTICE_AFTER - 1), prompt_key=[PROMPT.key] * (NOTICE_AFTER - 1))
    assert reward.notices == ()
    reward(["yes"], prompt_key=[PROMPT.key])
    assert len(reward.notices) == notices


def test_a_prompt_drawn_twice_in_a_row_is_two_groups() -> None:
    seen: list[int] = []

    def tap(batch: RolloutBatch) -> dict[str, float]:
        seen.append(len(batch.groups))
        return {}

    reward = VerdictReward(Echo(), {PROMPT.key: PROMPT}, taps=(tap,), group=2)
    reward(["yes"] * 4, prompt_key=[PROMPT.key] * 4)
    assert seen == [2]
    with pytest.raises(ConfigError, match="a group is split"):
        reward(["yes"] * 3, prompt_key=[PROMPT.key] * 3)
