"""What verdicts pay: the formulas, their properties, and groups."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rewardable.errors import ConfigError
from rewardable.records import Outcome, Verdict
from rewardable.train.shaping import RewardConfig, base_reward, constant_share, shape

RIGHT, WRONG, NONE = Outcome.CORRECT, Outcome.WRONG, Outcome.UNGRADED


def said(outcome: Outcome, score: float | None = None, **parts: float | None) -> Verdict:
    return Verdict(outcome=outcome, reason="" if outcome is RIGHT else "why", score=score,
                   parts=parts, verifier="v", version="1")  # fmt: skip


@pytest.mark.parametrize(
    ("config", "verdict", "paid"),
    [
        ({}, said(RIGHT, 0.2), 1.0),
        ({}, said(WRONG, 0.9, format=1.0), 0.0),
        ({"kind": "soft", "partial": 0.5}, said(WRONG, 0.6), 0.3),
        ({"kind": "soft", "partial": 0.5}, said(RIGHT, 0.6), 1.0),
        ({"kind": "soft", "partial": 0.5}, said(WRONG), 0.0),
        ({"kind": "soft", "format_credit": 0.1}, said(WRONG, 0.6, format=1.0), 0.1),
        ({"kind": "soft", "format_credit": 0.1}, said(WRONG, 0.6, format=0.0), 0.0),
        ({"kind": "soft", "format_credit": 0.1}, said(WRONG), 0.0),
        ({"kind": "soft", "format_credit": 0.1, "partial": 1.0}, said(WRONG, 0.6, format=1.0), 0.6),
        ({"kind": "soft", "parts": {"a": 3, "b": 1}}, said(WRONG, a=1.0, b=0.0), 0.75),
        ({"kind": "soft", "parts": {"a": 3, "b": 1}}, said(WRONG, a=0.5, b=1.0, c=0.0), 0.625),
        ({"kind": "soft", "parts": {"a": 3, "b": 1}}, said(RIGHT, a=1.0, b=1.0), 1.0),
        ({"kind": "soft", "parts": {"a": 3, "b": 1}}, said(WRONG, a=1.0, b=None), None),
        ({"kind": "soft", "parts": {"a": 3, "b": 0}}, said(WRONG, a=1.0, b=None), 1.0),
        ({"kind": "soft", "parts": {"a": 1}}, said(WRONG), 0.0),
    ],
)
def test_formulas(config: dict[str, Any], verdict: Verdict, paid: float | None) -> None:
    got = base_reward(RewardConfig(**config), verdict)
    assert got == (None if paid is None else pytest.approx(paid))


def drawn_config(rng: random.Random) -> RewardConfig:
    soft: dict[str, Any] = {"format_credit": rng.random()}
    soft |= rng.choice([{"partial": rng.random()}, {"parts": {"answer": 0.7, "format": 0.3}}])
    return RewardConfig(
        **({"kind": "soft", **soft} if rng.random() < 0.7 else {}),
        diversity_weight=rng.choice([0.0, 0.3]),
        diversity_threshold=rng.random(),
        among=rng.choice(["all", "correct"]),
    )


def drawn_verdict(rng: random.Random) -> Verdict:
    outcome = rng.choice([RIGHT, WRONG, NONE])
    form = float(outcome is RIGHT or rng.random() < 0.5)
    return said(outcome, rng.random(), answer=float(outcome is RIGHT), format=form)


def test_ungraded_is_never_paid_and_every_reward_keeps_its_verdict_and_range() -> None:
    rng = random.Random(5)
    for _ in range(300):
        config = drawn_config(rng)
        verdicts = [drawn_verdict(rng) for _ in range(6)]
        texts = [rng.choice(["4*7=28", "4*7=28,", "no"]) for _ in verdicts]
        shaped = shape(config, ["p"] * 3 + ["q"] * 3, texts, verdicts)
        for row, verdict in zip(shaped, verdicts, strict=True):
            assert row.verdict is verdict
            assert (row.reward is None) == (verdict.outcome is NONE)
            if row.base is not None:
                assert 0.0 <= row.base <= 1.0
                assert 0.0 <= row.penalty <= config.diversity_weight
        right = [r.base for r in shaped if r.verdict.outcome is RIGHT and r.base is not None]
        wrong = [r.base for r in shaped if r.verdict.outcome is WRONG and r.base is not None]
        assert min(right, default=1.0) >= max(wrong, default=0.0)


def test_the_penalty_is_the_share_of_the_group_that_is_alike() -> None:
    config = RewardConfig(diversity_weight=0.5, diversity_threshold=0.9)
    texts = ["4*7=28", "4*7=28", "9+1=10", "4*7=28", "4*7=28"]
    verdicts = [said(RIGHT), said(RIGHT), said(RIGHT), said(WRONG), said(NONE)]
    shaped = shape(config, ["p"] * 5, texts, verdicts)
    assert [row.alike for row in shaped] == [2, 2, 0, 2, 0]
    assert [row.reward for row in shaped] == [0.75, 0.75, 1.0, -0.25, None]
    some = RewardConfig(diversity_weight=0.5, diversity_threshold=0.9, among="correct")
    shaped = shape(some, ["p"] * 5, texts, verdicts)
    assert [row.reward for row in shaped] == [0.875, 0.875, 1.0, 0.0, None]


def test_other_prompts_are_another_group_and_order_plays_no_part() -> None:
    config = RewardConfig(diversity_weight=0.4)
    texts, right = ["abcdef", "abcdef", "uvwxyz", "abcdef"], [said(RIGHT)] * 4
    keys = ["p", "q", "p", "p"]
    rewards = [row.reward for row in shape(config, keys, texts, right)]
    assert rewards == [0.8, 1.0, 1.0, 0.8]
    turned = [row.reward for row in shape(config, keys[::-1], texts[::-1], right)]
    assert turned[::-1] == rewards


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"kind": "softer"}, "Did you mean 'soft'"),
        ({"partial": 0.5}, "kind='soft'"),
        ({"kind": "soft", "partial": 1.5}, "partial"),
        ({"kind": "soft", "partial": float("nan")}, "partial"),
        ({"kind": "soft", "parts": {"a": -1.0}}, "weights of parts"),
        ({"kind": "soft", "parts": {"a": 0.0}}, "above 0"),
        ({"kind": "soft", "parts": {"a": 1.0}, "partial": 0.5}, "exclude"),
        ({"diversity_weight": -0.1}, "diversity_weight"),
        ({"ngram": 0}, "ngram"),
    ],
)
def test_configurations_that_cannot_be_meant(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RewardConfig(**config)


def test_an_unknown_part_is_an_error_with_a_suggestion() -> None:
    config = RewardConfig(kind="soft", parts={"anwser": 1.0})
    with pytest.raises(ConfigError, match="Did you mean 'answer'"):
        base_reward(config, said(WRONG, answer=1.0))
    with pytest.raises(ConfigError, match="no parts"):
        base_reward(config, said(RIGHT))
    credit = RewardConfig(kind="soft", format_credit=0.1, format_part="fromat")
    with pytest.raises(ConfigError, match="Did you mean 'format'"):
        base_reward(credit, said(WRONG, format=1.0))


def test_case_g01_constant_groups_are_told_within_groups_and_with_a_tolerance() -> None:
    cases = [([[0.3] * 6], 1.0), ([[0.1] * 7], 1.0), ([[1] * 4, [0] * 4], 1.0),
             ([[0.35] * 7 + [0.95]], 0.0), ([[1.0]], 1.0), ([[0.1, 0.1 + 1e-9]], 1.0)]  # fmt: skip
    config = RewardConfig(kind="soft", partial=1.0)
    for groups, expected in cases:
        keys = [str(i) for i, group in enumerate(groups) for _ in group]
        verdicts = [said(WRONG, score) for group in groups for score in group]
        assert constant_share(shape(config, keys, keys, verdicts)) == expected
    assert constant_share(shape(config, ["p"], ["x"], [said(NONE)])) is None
