"""Verdicts as rewards, and recipes that cannot be meant."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rewardable.errors import ConfigError
from rewardable.records import Completion, Outcome, Prompt, Verdict, user_prompt
from rewardable.train import GRPORecipe
from rewardable.train.rewards import VerdictReward, completion_text

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
