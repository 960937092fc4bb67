"""The closed forms of an exact prompt against enumeration of all outcomes of a few rollouts."""

from __future__ import annotations

import math
from itertools import product

import pytest

from rewardable.records import Policy
from rewardable.workflows.exact import ExactPolicy, ExactPrompt, ExactText

MASS = {("a", "4*"): 0.5, ("b", "4*"): 0.2, ("a", "7*"): 0.1}
ACCESS = {"4*": 0.8, "7*": 0.1}
TOTALS = {"solution": 4, "entry": 3}
FAILURE = ("", "")


def text(solution: str, entry: str, p: float) -> ExactText:
    return ExactText(
        text=f"{entry} {solution}",
        logprob=math.log(p),
        start_logprob=math.log(ACCESS[entry]),
        solution=solution,
        entry=entry,
    )


@pytest.fixture
def prompt() -> ExactPrompt:
    texts = tuple(text(*label, p) for label, p in MASS.items())
    return ExactPrompt(key="one", texts=texts, totals=TOTALS)


def enumerate_outcomes(k: int) -> list[tuple[float, list[tuple[str, str]]]]:
    """Every sequence of k rollouts: (its probability, the labels of its successes)."""
    law = {**MASS, FAILURE: 1 - sum(MASS.values())}
    return [
        (math.prod(law[each] for each in drawn), [each for each in drawn if each != FAILURE])
        for drawn in product(law, repeat=k)
    ]


@pytest.mark.parametrize("k", [1, 2, 4])
def test_budgets(prompt: ExactPrompt, k: int) -> None:
    outcomes = enumerate_outcomes(k)
    assert prompt.pass_at(k) == pytest.approx(sum(p for p, found in outcomes if found))
    mixed = sum(p for p, found in outcomes if 0 < len(found) < k)
    assert prompt.trainability(k) == pytest.approx(mixed)
    for place, kind in enumerate(("solution", "entry")):
        distinct = sum(p * len({each[place] for each in found}) for p, found in outcomes)
        assert prompt.distinct_at(kind, k) == pytest.approx(distinct)
        assert prompt.coverage(kind, k) == pytest.approx(distinct / TOTALS[kind])


@pytest.mark.parametrize("successes", [1, 3])
def test_rarefied_to_successes(prompt: ExactPrompt, successes: int) -> None:
    outcomes = [each for each in enumerate_outcomes(successes) if len(each[1]) == successes]
    whole = sum(p for p, _ in outcomes)
    distinct = sum(p * len({solution for solution, _ in found}) for p, found in outcomes) / whole
    assert prompt.rarefied("solution", successes) == pytest.approx(distinct / 4)


def test_access_times_execution_is_success(prompt: ExactPrompt) -> None:
    assert prompt.rate == pytest.approx(0.8)
    assert prompt.masses("solution") == pytest.approx({"a": 0.6, "b": 0.2})
    assert prompt.access == pytest.approx(ACCESS)
    assert prompt.execution == pytest.approx({"4*": 0.7 / 0.8, "7*": 1.0})


def test_means_over_prompts(prompt: ExactPrompt) -> None:
    never = ExactPrompt(key="two", texts=(), totals={"solution": 2, "entry": 2})
    policy = Policy(name="p", weights="w", template="raw")
    both = ExactPolicy(policy=policy, prompts=(prompt, never), scored_tokens=0)
    assert both.rates == pytest.approx((0.8, 0.0))
    assert both.pass_at(3) == pytest.approx(prompt.pass_at(3) / 2)
    assert both.support_at(3) == pytest.approx(prompt.pass_at(3))
    assert both.coverage("solution", 3) == pytest.approx(prompt.coverage("solution", 3) / 2)
    assert both.polarisation == pytest.approx(1 - (0.8 * 0.2 / 2) / (0.4 * 0.6))
    assert math.isnan(never.rarefied("solution", 1))


def test_small_masses_keep_their_digits() -> None:
    rare = ExactText(text="", logprob=-40.0, start_logprob=-1.0, solution="a", entry="4*")
    prompt = ExactPrompt(key="rare", texts=(rare,), totals=TOTALS)
    assert prompt.pass_at(1000) == pytest.approx(1000 * math.exp(-40.0), rel=1e-9)
