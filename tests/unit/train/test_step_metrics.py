"""The numbers of a generation batch, by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rewardable.collect.wording import mask
from rewardable.metrics import ngram_repetition
from rewardable.records import Completion, Outcome, Prompt, Verdict, user_prompt
from rewardable.tasks.math.verify import MathVerifier
from rewardable.train.logs import StepMetrics
from rewardable.train.logs.numbers import constant_groups, form, repetition_numbers, template_share
from rewardable.train.rewards import VerdictReward
from rewardable.train.shaping import ShapedReward
from rewardable.train.taps import RolloutBatch

RIGHT, WRONG, NONE = Outcome.CORRECT, Outcome.WRONG, Outcome.UNGRADED


def verdict(outcome: Outcome, **more: Any) -> Verdict:
    reason = "timeout: 5 s" if outcome is NONE else ""
    return Verdict(outcome=outcome, verifier="v", version="1", reason=reason, **more)


def batch_of(
    verdicts: Sequence[Verdict],
    *,
    texts: Sequence[str] = (),
    rewards: Sequence[float | None] | None = None,
    ids: Sequence[Sequence[int]] = (),
    size: int = 2,
    cut: Sequence[bool] = (),
) -> RolloutBatch:
    n = len(verdicts)
    keys = tuple(f"p{row // size}" for row in range(n))
    paid = {RIGHT: 1.0, WRONG: 0.0, NONE: None}
    base = [paid[one.outcome] for one in verdicts] if rewards is None else rewards
    rows = zip(keys, verdicts, base, strict=True)
    return RolloutBatch(
        step=3,
        group_size=size,
        prompt_keys=keys,
        texts=tuple(texts) or tuple(f"text {row}" for row in range(n)),
        token_ids=tuple(tuple(row) for row in ids) or ((),) * n,
        truncated=tuple(cut) or (False,) * n,
        shaped=tuple(ShapedReward(prompt_key=k, verdict=v, base=b) for k, v, b in rows),
    )


def test_raw_and_shaped_rewards_and_the_ungraded_row() -> None:
    said = [verdict(RIGHT), verdict(WRONG), verdict(NONE), verdict(WRONG)]
    got = StepMetrics()(batch_of(said, rewards=[1.0, 0.2, None, 0.6]))
    assert got["reward/raw"] == pytest.approx(1 / 3)
    assert got["reward/raw_std"] == pytest.approx(math.sqrt(1 / 3))
    assert got["reward/shaped"] == pytest.approx(0.6)
    assert got["reward/shaped_std"] == pytest.approx(0.4)
    assert got["ungraded"] == 0.25
    assert got["groups/constant_raw"] == 0.5
    assert got["groups/constant"] == 0.5


def test_nothing_graded_gives_no_reward_and_no_nan() -> None:
    got = StepMetrics()(batch_of([verdict(NONE)] * 4))
    assert got["ungraded"] == 1.0
    assert not {"reward/raw", "reward/shaped", "groups/constant"} & set(got)
    assert all(math.isfinite(value) for value in got.values())


def test_a_reward_that_is_no_number_counts_as_none() -> None:
    got = StepMetrics()(batch_of([verdict(RIGHT)] * 4, rewards=[1.0, math.nan, 0.5, None]))
    assert got["reward/shaped"] == 0.75
    assert got["reward/raw"] == 1.0


def test_case_g01_groups_without_signal(cases: Mapping[str, Mapping[str, Any]]) -> None:
    rows = cases["G01"]["input"]["rows"]
    shares = []
    for row in rows:
        values, groups = [], []
        for group in row["groups"]:
            groups.append(range(len(values), len(values) + len(group)))
            values += group
        shares.append(constant_groups(values, groups))
    assert shares == [1.0, 1.0, 1.0, 0.0, 1.0]


def test_case_g01_single_precision_residue_is_no_variation() -> None:
    held = [0.1, 0.10000000149011612, 0.1]
    assert constant_groups(held, [range(3)]) == 1.0
    got = StepMetrics()(batch_of([verdict(WRONG)] * 3, rewards=held, size=3))
    assert got["reward/shaped_std"] == 0.0


def test_lengths_count_the_end_token_and_a_missing_one_is_a_cut() -> None:
    prompt = user_prompt("t", "1", "q")

    class Says:
        name, version = "v", "1"

        def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
            return verdict(WRONG)

    seen: list[RolloutBatch] = []

    def keep(batch: RolloutBatch) -> Mapping[str, float]:
        seen.append(batch)
        return {}

    reward = VerdictReward(Says(), {prompt.key: prompt}, taps=[keep], end_ids=[0])
    ids = [[5, 0], [5, 6, 7], [5, 6, 0], [5, 6, 7, 8]]
    reward(["a", "b", "c", "d"], prompt_key=[prompt.key] * 4, completion_ids=ids)
    got = StepMetrics()(seen[0])
    assert got["truncated"] == 0.5
    assert (got["length/mean"], got["length/max"]) == (3.0, 4.0)
    assert (got["length/p10"], got["length/p50"], got["length/p90"]) == (2.0, 3.0, 4.0)


def test_repetition_within_is_the_measure_of_the_audit() -> None:
    ids = [[1, 2, 1, 2, 1, 2], [3, 4, 5, 6], [7]]
    got = repetition_numbers(batch_of([verdict(WRONG)] * 3, ids=ids, size=3), 2)
    flat = [token for row in ids for token in row]
    rows = [place for place, row in enumerate(ids) for _ in row]
    assert got["repetition/within_2"] == pytest.approx(
        ngram_repetition(flat, rows, 3, 2)[:2].mean()
    )


def test_repetition_across_is_between_answers_of_a_group_alone() -> None:
    alike = [[1, 2, 3], [1, 2, 3], [4, 5, 6], [7, 8, 9]]
    got = repetition_numbers(batch_of([verdict(WRONG)] * 4, ids=alike, size=2), 2)
    assert got == {"repetition/within_2": 0.0, "repetition/across_2": 0.25}
    apart = [[1, 2, 3], [4, 5, 6], [1, 2, 3], [4, 5, 6]]
    got = repetition_numbers(batch_of([verdict(WRONG)] * 4, ids=apart, size=2), 2)
    assert got["repetition/across_2"] == 0.0


def test_distinct_outputs_and_solutions_a_group() -> None:
    one, two = verdict(RIGHT, labels={"solution": "a"}), verdict(RIGHT, labels={"solution": "b"})
    lost = verdict(WRONG, labels={"solution": "c"})
    texts = ["x", "x", "y", "x", "x", "x"]
    got = StepMetrics()(batch_of([one, one, two, lost, lost, one], texts=texts, size=3))
    assert got["distinct/outputs"] == 1.5
    assert got["distinct/solutions"] == 1.5


@pytest.mark.parametrize(
    ("texts", "keys", "share"),
    [
        (["4*7=28", "12*9=108"], ["a", "b"], 1.0),
        (["4*7=28", "4+7=11"], ["a", "b"], 0.0),
        (["4*7=28", "5*7=35", "4+7=11"], ["a", "a", "b"], 0.0),
    ],
)
def test_templates_are_shared_between_prompts_alone(
    texts: list[str], keys: list[str], share: float
) -> None:
    assert template_share(texts, keys) == share


@pytest.mark.parametrize("text", ["First,  12 + 3.5 = 15.5", "", "1,000 and\n2", "x2y 3.", "٣+٤"])
def test_the_form_is_that_of_graded_wording(text: str) -> None:
    assert form(text) == mask(text)


def test_format_and_skipped_steps_are_read_from_the_verdicts() -> None:
    said = [
        verdict(RIGHT, parts={"format": 1.0, "steps": 1.0}),
        verdict(RIGHT, parts={"format": 1.0, "steps": 0.5}),
        verdict(WRONG, parts={"format": 0.0, "steps": 0.0}),
        verdict(RIGHT, parts={"format": None, "steps": None}),
    ]
    got = StepMetrics()(batch_of(said))
    assert got["format"] == pytest.approx(2 / 3)
    assert got["skips_steps"] == 0.5
    assert "format" not in StepMetrics()(batch_of([verdict(RIGHT)] * 2))


def test_case_g03_think_tags_of_the_template(cases: Mapping[str, Mapping[str, Any]]) -> None:
    """A template that writes the opening tag, and answers cut inside their reasoning."""
    rows, expected = cases["G03"]["input"]["rows"], cases["G03"]["expected"]["rows"]
    asked = [user_prompt("t", "1", "q" + row["prompt_ends_with"], {"answer": "13"}) for row in rows]
    seen: list[RolloutBatch] = []
    tap = lambda batch: seen.append(batch) or {}  # noqa: E731
    reward = VerdictReward(MathVerifier(form="hash"), {p.key: p for p in asked}, taps=[tap])
    chat = [[{"role": "assistant", "content": row["resp"]}] for row in rows]
    paid = [reward([one], prompt_key=[p.key])[0] for one, p in zip(chat, asked, strict=True)]
    assert paid == [float(text.startswith("correct")) for text in expected]
    raw = [StepMetrics()(batch)["reward/raw"] for batch in seen]
    assert raw == paid


@dataclass(frozen=True)
class Lenient:
    name: str = "lenient"
    version: str = "1"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        if completion.text == "boom":
            raise ValueError("broken")
        return verdict(RIGHT if "yes" in completion.text else WRONG)


def test_disagreement_comes_with_its_rows_and_failures_are_none() -> None:
    prompts = {f"p{i}": replace(user_prompt("t", "1", "q"), explicit_key=f"p{i}") for i in (0, 1)}
    said = [verdict(RIGHT), verdict(WRONG), verdict(WRONG), verdict(NONE)]
    batch = batch_of(said, texts=["yes", "so yes", "boom", "yes"])
    metrics = StepMetrics(lenient=Lenient(), prompts=prompts)
    got = metrics(batch)
    assert got["strict_lenient/disagree"] == 0.5
    assert got["strict_lenient/ungraded"] == 0.25
    (row,) = metrics.disagreements
    assert (row.step, row.prompt_key, row.text) == (3, "p0", "so yes")
    assert (row.strict, row.lenient) == ("wrong", "correct")
    assert StepMetrics(lenient=Lenient(), prompts=prompts, keep=0)(batch) == got
