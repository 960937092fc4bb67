"""The verdict where something is missing: grades, intervals, labels, answers that were not cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from rewardable.errors import DataError
from rewardable.measure import MeasureConfig, measure_run
from rewardable.measure.clauses import Claim
from rewardable.measure.transitions import _chance
from rewardable.measure.verdict import _headline, _what_happened
from rewardable.results import Estimate, Table
from rewardable.store import NOT_GRADED

Measured = Callable[..., dict[str, Table]]


@pytest.fixture
def measured(fake: ModuleType) -> Measured:
    """Tables of hand-made rollouts: prompt -> outcomes before, and after."""

    def build(
        before: Sequence[Any], after: Sequence[Any], *, totals: int | None = 4, reason: str = ""
    ) -> dict[str, Table]:
        run = fake.GivenRun()
        prompts = 1 + max(one.prompt for one in (*before, *after))
        run.prompts_["hand"] = fake.hand_prompts(prompts, totals=totals)
        policies = [run.add_policy("base"), run.add_policy("trained")]
        for policy, rows in zip(policies, (before, after), strict=True):
            run.give("hand", policy, rows)
        if reason:
            run.samples = renamed(run.samples, reason)
        config = MeasureConfig(base=policies[0].key, trained=(policies[1].key,), group=2, draws=200)
        return measure_run(run, config)

    return build


def renamed(samples: Callable[..., Any], reason: str) -> Callable[..., Any]:
    def read(**where: str) -> Any:
        found = samples(**where)
        return replace(found, reasons={reason: sum(found.reasons.values())})

    return read


def said(tables: dict[str, Table], topic: str) -> str:
    return " ".join(str(row.labels["text"]) for row in tables["verdict"].select(topic=topic))


def rows(fake: ModuleType, prompts: Sequence[int], outcomes: Sequence[int], **more: Any) -> list:
    return [fake.Given(p, o, f"t{i}", **more) for p in prompts for i, o in enumerate(outcomes)]


def test_prompts_without_any_grade_are_told_and_bounded(
    fake: ModuleType, measured: Measured
) -> None:
    before = rows(fake, range(10), [1, 0, 1, 0])
    after = rows(fake, range(8), [1, 0, 1, 0]) + rows(fake, [8, 9], [-1] * 4)
    tables = measured(before, after)
    change = tables["differences"].one(metric="pass@k", k=1, band="simultaneous")
    assert change.n_prompts == 8
    assert change.n_ungraded == 8
    assert change.bound_low == pytest.approx(8 * 0.5 / 10 - 0.5)
    assert change.bound_high == pytest.approx((8 * 0.5 + 2) / 10 - 0.5)
    support = tables["differences"].one(metric="support@k", k=2, band="simultaneous")
    at_two = 5 / 6
    assert support.bound_low == pytest.approx(-2 * at_two)
    assert support.bound_high == pytest.approx(2 * (1 - at_two))
    assert said(tables, "ungraded") == (
        "8 of 80 rollouts are ungraded and in no estimate; 2 prompts are left out for having no "
        "graded rollout of some policy; whatever they are, the change of pass@1 lies between "
        "-0.10 and +0.10 and the change of support@2 lies between -1.7 and +0.3."
    )
    assert any("8 of 40 rollouts of trained at T=1 are ungraded (timeout: 8)" in note
               for note in tables["overview"].notes)  # fmt: skip
    assert any("prompts have graded rollouts of every policy and are compared; the other" in note
               for note in tables["verdict"].notes)  # fmt: skip
    assert any("2 of those left out have rollouts of every policy" in note
               for note in tables["overview"].notes)  # fmt: skip


def test_both_sides_of_a_prompt_can_be_unknown(fake: ModuleType, measured: Measured) -> None:
    before = rows(fake, range(4), [1, 1]) + rows(fake, [4], [-1, -1])
    after = rows(fake, range(3), [1, 1]) + rows(fake, [3], [1, -1]) + rows(fake, [4], [-1])
    change = measured(before, after)["differences"].one(metric="pass@k", k=1, band="simultaneous")
    assert change.n_ungraded == 4
    assert change.bound_low == pytest.approx(3.5 / 5 - 5 / 5)
    assert change.bound_high == pytest.approx(5 / 5 - 4 / 5)


def test_rollouts_that_were_never_graded_ask_for_grading(
    fake: ModuleType, measured: Measured
) -> None:
    before = rows(fake, range(6), [1, 0])
    after = rows(fake, range(5), [1, 0]) + rows(fake, [5], [-1, -1])
    text = said(measured(before, after, reason=NOT_GRADED), "ungraded")
    assert text.endswith("; some rollouts were never graded: run rewardable grade.")
    assert "rewardable grade" not in said(measured(before, after), "ungraded")
    nothing = rows(fake, range(6), [-1, -1])
    with pytest.raises(DataError, match="never graded: run rewardable grade"):
        measured(before, nothing, reason=NOT_GRADED)


def test_one_policy_alone_tells_its_ungraded_rollouts(fake: ModuleType) -> None:
    run = fake.GivenRun()
    run.prompts_["hand"] = fake.hand_prompts(5)
    policy = run.add_policy("base")
    run.give("hand", policy, rows(fake, range(4), [1, 0]) + rows(fake, [4], [-1, -1]))
    tables = measure_run(run, MeasureConfig(base=policy.key, group=2, draws=200))
    assert said(tables, "ungraded").startswith(
        "2 of 10 rollouts are ungraded and in no estimate; 1 prompt is left out for having no "
        "graded rollout; whatever they are, pass@1 lies between 0.40 and 0.60"
    )


def claim_of(topic: str, name: str, tone: str, *, known: bool = True) -> Claim:
    ends = {"rise": (0.1, 0.3), "fall": (-0.3, -0.1), "none": (-0.1, 0.1)}[tone]
    low, high = ends if known else (None, None)
    estimate = Estimate(value=0.0, low=low, high=high)
    return Claim(topic=topic, name=name, text="", estimate=estimate, tone=tone)


def test_a_quantity_without_interval_does_not_silence_the_others() -> None:
    claims = [
        claim_of("pass", "pass@1", "rise"),
        claim_of("support", "support@4 (of 9 prompts)", "fall"),
        claim_of("coverage", "coverage@4 of solutions", "none", known=False),
    ]
    assert _headline("base", "trained", claims) == (
        "trained is right more often than base but reaches less: support@4 fell", "fall"
    )  # fmt: skip


@pytest.mark.parametrize(("rate", "support"), [(False, False), (True, False), (False, True)])
def test_too_little_data_needs_rate_and_support_without_interval(rate: bool, support: bool) -> None:
    claims = [
        claim_of("pass", "pass@1", "none", known=rate),
        claim_of("support", "support@4", "none", known=support),
        claim_of("coverage", "coverage@4 of solutions", "none"),
    ]
    words, tone = _headline("base", "trained", claims)
    assert words.startswith("too little data") == (not rate and not support)
    assert tone == "none"
    assert ("nothing can be told of pass@1" in words) == (support and not rate)


def test_sizes_of_one_are_singular(fake: ModuleType, measured: Measured) -> None:
    tables = measured(rows(fake, [0], [1]), rows(fake, [0], [0]))
    assert said(tables, "plain").endswith("(1 prompt, 1 sample each).")
    assert "support@1 (of 1 prompt)" in said(tables, "support")


def test_lost_prompts_are_in_the_headline_and_its_tone(
    fake: ModuleType, measured: Measured
) -> None:
    before = rows(fake, range(6), [1] * 20) + rows(fake, range(6, 40), [1, 0] * 10)
    after = rows(fake, range(6), [0] * 20) + rows(fake, range(6, 40), [1] * 12 + [0] * 8)
    tables = measured(before, after)
    plain = tables["verdict"].select(topic="plain")[0].labels
    assert "; 6 of 40 prompts certified lost (40 prompts, 20 samples each)." in str(plain["text"])
    assert plain["tone"] == "fall"


def test_a_pass_rate_without_interval_is_not_called_unchanged() -> None:
    named = {"fall": ["support@4"], "rise": [], "none": []}
    text = _what_happened("base", "trained", None, named)
    assert text == ("trained reaches less than base: support@4 fell; nothing can be told of pass@1")


def test_nothing_is_left_when_every_answer_was_cut(fake: ModuleType, measured: Measured) -> None:
    before = rows(fake, range(12), [1, 0, 1, 0])
    after = rows(fake, range(12), [0, 0, 0, 0], finish=1)
    row = measured(before, after)["verdict"].select(topic="truncation")[0]
    text = str(row.labels["text"])
    assert "a fall with them as judged, a fall with them counted as wrong" in text
    assert "with them left out nothing is left to judge by" in text
    assert "no change" not in text
    assert row.labels["tone"] == "fall"


def test_coverage_is_zero_where_no_policy_has_a_success(
    fake: ModuleType, measured: Measured
) -> None:
    nothing = rows(fake, range(5), [0, 0, 0, 0])
    table = measured(nothing, nothing)["coverage"]
    for policy in ("base", "trained"):
        found = table.one(policy=policy, kind="solution", scope="all prompts", k=4,
                          band="simultaneous")  # fmt: skip
        assert found.value == 0
    assert not measured(nothing, nothing, totals=None)["coverage"].rows


def test_totals_without_labels_of_successes_give_no_coverage(
    fake: ModuleType, measured: Measured
) -> None:
    right = rows(fake, range(5), [1, 0, 1, 0])
    assert not measured(right, right)["coverage"].rows


def test_texts_are_not_called_solutions_and_stay_out_of_the_headline(
    fake: ModuleType, measured: Measured
) -> None:
    before = [fake.Given(p, 1, f"t{i % (7 + p % 2)}") for p in range(60) for i in range(8)]
    after = [fake.Given(p, 1, f"t{i % (1 + p % 2)}") for p in range(60) for i in range(8)]
    tables = measured(before, after, totals=None)
    assert said(tables, "coverage").startswith("Distinct rewarded texts in 4 samples fell from")
    plain = tables["verdict"].select(topic="plain")[0].labels
    assert "distinct" not in str(plain["text"])
    assert plain["tone"] == "none"


@pytest.mark.parametrize(
    ("power", "text"), [(0.0, "under 1 %"), (0.004, "under 1 %"), (0.3, "30 %"), (1, "over 99 %")]
)
def test_chances_in_words(power: float, text: str) -> None:
    assert _chance(power) == text


def test_a_claim_is_told_only_with_an_interval() -> None:
    claim = Claim(topic="pass", name="pass@1", text="", estimate=Estimate(value=0.1))
    assert not claim.told
    assert replace(claim, estimate=Estimate(value=0.1, low=0.0, high=0.2)).told
