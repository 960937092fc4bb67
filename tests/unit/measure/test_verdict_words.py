"""What the verdict says, and what it must not say."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rewardable.measure import MeasureConfig, measure_run
from rewardable.measure.words import NATS, PERCENT, amount, change, listing, plural
from rewardable.results import Estimate, Table


def compare(run: Any, policies: list[Any], **more: Any) -> Table:
    config = MeasureConfig(base=policies[0].key, trained=(policies[-1].key,), **more)
    return measure_run(run, config)["verdict"]


def said(verdict: Table, topic: str) -> str:
    return " ".join(str(row.labels["text"]) for row in verdict.select(topic=topic))


def pair_of(
    fake: ModuleType, before: np.ndarray, after: np.ndarray, n: int = 64, seed: int = 0,
    spread: tuple[float, float] = (1.0, 1.0),
) -> tuple[Any, list[Any]]:  # fmt: skip
    run = fake.FakeRun()
    run.tasks_["countdown"] = fake.instances(len(before), seed)
    policies = [run.add_policy("base"), run.add_policy("trained")]
    for i, (rate, width) in enumerate(zip((before, after), spread, strict=True)):
        behaviour = fake.Behaviour(rate_P=rate, spread=width)
        run.add_arm("countdown", policies[i], n, behaviour, 1000 * seed + i)
    return run, policies


def test_rise_and_fall(fake: ModuleType) -> None:
    run, policies = fake.narrowing_run(96, 128)
    config = {"main_task": "countdown", "future_tasks": ("countdown-division",)}
    verdict = compare(run, policies, **config)
    plain = verdict.select(topic="plain")
    assert re.fullmatch(
        r"countdown: step 200 is right more often than base but reaches less: support@64 and "
        r"coverage@64 of solutions fell; \d+ of 96 prompts certified lost "
        r"\(96 prompts, 128 samples each\)\.",
        str(plain[0].labels["text"]),
    )
    assert plain[0].labels["tone"] == "fall"
    assert re.fullmatch(
        r"countdown-division \(not trained yet\): step 200 gives later training less to learn from "
        r"than base; pass@1, support@64 and coverage@64 of solutions fell(; \d+ of 96 prompts "
        r"certified lost)? \(96 prompts, 128 samples each\)\.",
        str(plain[1].labels["text"]),
    )
    number = r"\d\.\d\d \[\d\.\d\d, \d\.\d\d\]"
    assert re.match(rf"pass@1 rose from {number} to {number} \(difference", said(verdict, "pass"))
    assert re.search(r"support@64 \(of 96 prompts\) fell from 9", said(verdict, "support"))
    lost = verdict.select(topic="transitions", task="countdown")[0]
    assert re.match(r"\d+ of 96 prompts certified lost; .*\(false-discovery rate 5 %\)\. At n = 128"
                    r" a fall from 0.1 to 0 is certified in .* % of the cases\.",
                    str(lost.labels["text"]))  # fmt: skip
    forecast = verdict.select(topic="trainability", role="future")[0].labels["text"]
    assert re.match(
        r"\d+ % \[\d+, \d+\] of groups of 8 would show reward variation, was ", forecast
    )
    assert "First-token entropy fell from 1.60" in said(verdict, "shape")
    assert verdict.notes[-1] == "Intervals cover prompts and samples, not training seeds."


def test_nothing_changed_says_so(fake: ModuleType) -> None:
    rate = np.random.default_rng(1).beta(1.5, 3, 80)
    run, policies = pair_of(fake, rate, rate, seed=3)
    verdict = compare(run, policies)
    assert said(verdict, "plain") == (
        "countdown: no change of pass@1, support@32 or coverage@32 of solutions is shown between "
        "base and trained (80 prompts, 64 samples each)."
    )
    assert "no change shown" in said(verdict, "pass")
    assert "interval covers 0" in said(verdict, "pass")
    assert said(verdict, "transitions").startswith("No prompt is certified lost")
    assert "None certified is no proof that none is lost." in said(verdict, "transitions")
    assert {row.labels["tone"] for row in verdict.rows if row.labels["topic"] != "shape"} == {
        "none"
    }


def test_a_fall_alone_and_a_rise_alone(fake: ModuleType) -> None:
    low, high = np.full(60, 0.05), np.full(60, 0.5)
    fell = compare(*pair_of(fake, high, low))
    assert "trained is right less often than base" in said(fell, "plain")
    rose = compare(*pair_of(fake, low, high))
    assert "trained is right more often than base" in said(rose, "plain")
    assert " fell" not in said(rose, "plain")


def test_few_prompts_claim_nothing_that_is_not_shown(fake: ModuleType) -> None:
    rate = np.random.default_rng(1).beta(1.5, 3, 5)
    verdict = compare(*pair_of(fake, rate, np.clip(rate + 0.1, 0, 1)))
    assert " rose" not in said(verdict, "plain")
    assert " fell" not in said(verdict, "plain")
    assert "5 prompts" in said(verdict, "plain")


def test_rose_and_fell_are_said_only_of_intervals_without_zero(fake: ModuleType) -> None:
    run, policies = fake.narrowing_run(60, 64, future=False, ungraded=0.03)
    verdict = compare(run, policies)
    moved = re.compile(r" (rose|fell) from ")
    for row in verdict.rows:
        if moved.search(str(row.labels["text"])):
            assert row.estimate.excludes_zero
            assert row.labels["tone"] == ("rise" if row.estimate.value > 0 else "fall")


def test_unchanged_policies_seldom_cry_wolf(fake: ModuleType) -> None:
    rng = np.random.default_rng(5)
    alarms = 0
    for seed in range(6):
        rate = rng.beta(0.6, 2.0, 50)
        run, policies = pair_of(fake, rate, rate, n=32, seed=seed + 10)
        verdict = compare(run, policies, draws=300)
        alarms += verdict.select(topic="plain")[0].labels["tone"] != "none"
    assert alarms <= 1


@pytest.mark.parametrize(
    ("estimate", "unit", "text"),
    [
        (Estimate(value=0.5, low=0.4, high=0.6), None, "0.50 [0.40, 0.60]"),
        (Estimate(value=0.415, low=0.3, high=0.5), PERCENT, "42 % [30, 50]"),
        (Estimate(value=-0.0001, low=-0.1, high=0.1), None, "0.00 [-0.10, 0.10]"),
        (Estimate(value=1.5, low=1.0, high=2.0), NATS, "1.50 [1.00, 2.00] nats"),
        (Estimate(value=0.5), None, "0.50 (no interval)"),
        (Estimate(value=0.0123, low=0.0101, high=0.0144), None, "0.012 [0.010, 0.014]"),
        (Estimate(value=0.052, low=0.05, high=0.054), PERCENT, "5.2 % [5.0, 5.4]"),
        (Estimate(value=None, warnings=("k > n",)), None, "no value (k > n)"),
    ],
)
def test_amounts(estimate: Estimate, unit: Any, text: str) -> None:
    assert amount(estimate, *([unit] if unit else [])) == text


def test_a_difference_without_interval_claims_nothing() -> None:
    before, after = Estimate(value=0.2), Estimate(value=0.9)
    difference = Estimate(value=0.7, n_prompts=3, warnings=("too few prompts",))
    text = change("pass@1", before, after, difference)
    assert text.startswith("pass@1: nothing can be claimed")
    assert "3 prompts: too few prompts" in text


def test_listing() -> None:
    assert [listing(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_plurals() -> None:
    assert [plural(n, "prompt") for n in (0, 1, 2)] == ["0 prompts", "1 prompt", "2 prompts"]
