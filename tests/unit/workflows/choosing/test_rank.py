"""Ranking of checkpoints: what may never come first, and what the reason says."""

from __future__ import annotations

import random

import pytest

from rewardable.errors import ConfigError
from rewardable.results import Estimate
from rewardable.workflows.choosing.rank import Candidate, Constraint, rank


def interval(value: float, arm: float) -> Estimate:
    return Estimate(value=value, low=value - arm, high=value + arm)


def candidate(name: str, target: float, *changes: tuple[float, float]) -> Candidate:
    """changes: (change, half of the interval) of constraints that tolerate a fall of 0.1."""
    return Candidate(
        policy=name,
        target=interval(target, 0.05),
        constraints=tuple(
            Constraint(name=f"c{i}", task="later", change=interval(value, arm), least=-0.1)
            for i, (value, arm) in enumerate(changes)
        ),
    )


def drawn(rng: random.Random, count: int) -> list[Candidate]:
    return [
        candidate(
            f"checkpoint-{i}",
            rng.choice([0.2, 0.4, rng.random()]),
            *((rng.uniform(-0.4, 0.2), rng.uniform(0.0, 0.2)) for _ in range(rng.randint(0, 3))),
        )
        for i in range(count)
    ]


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_drawn_the_order_keeps_its_promises(seed: int) -> None:
    rng = random.Random(seed)
    some = drawn(rng, rng.randint(1, 7))
    choice = rank(some)
    assert sorted(one.policy for one in choice.ranked) == sorted(one.policy for one in some)
    best = choice.ranked[0]
    free = [one for one in some if not one.judged("violated")]
    inside = [one for one in free if one.worst >= 0]
    assert bool(free) is not bool(best.judged("violated"))
    for pool in (inside, free, some):
        if pool:
            assert best in pool
            assert best.success == max(one.success for one in pool)
            break
    front = [one for one in some if one.policy in choice.pareto]
    assert front
    for one in some:
        better = [o for o in some if o.success > one.success and o.worst > one.worst]
        assert not (better and one in front)
        assert one in front or any(o.success >= one.success and o.worst >= one.worst for o in front)
    assert best.policy in choice.reason


@pytest.mark.parametrize("seed", range(20))
def test_more_success_never_costs_a_place_and_more_loss_never_wins_one(seed: int) -> None:
    rng = random.Random(1000 + seed)
    some = drawn(rng, 5)
    mine = rng.randrange(5)
    name = some[mine].policy
    before = [one.policy for one in rank(some).ranked].index(name)
    rise = Candidate(policy=name, target=interval(some[mine].success + 0.3, 0.05),
                     constraints=some[mine].constraints)  # fmt: skip
    fallen = Constraint(name="new", task="later", change=interval(-0.5, 0.1), least=-0.1)
    loss = Candidate(policy=name, target=some[mine].target,
                     constraints=(*some[mine].constraints, fallen))  # fmt: skip
    for change, sign in ((rise, -1), (loss, 1)):
        changed = [*some[:mine], change, *some[mine + 1 :]]
        after = [one.policy for one in rank(changed).ranked].index(name)
        assert sign * (after - before) >= 0


@pytest.mark.parametrize(
    ("change", "judgement"),
    [
        (Estimate(value=0.0, low=-0.1, high=0.1), "holds"),
        (Estimate(value=-0.3, low=-0.4, high=-0.11), "violated"),
        (Estimate(value=-0.3, low=-0.4, high=-0.1), "open"),
        (Estimate(value=-0.05, low=-0.2, high=0.1), "open"),
        (Estimate(value=-0.5), "open"),
        (Estimate(value=None), "open"),
    ],
)
def test_only_a_whole_interval_judges(change: Estimate, judgement: str) -> None:
    assert Constraint(name="c", task="t", change=change, least=-0.1).judgement == judgement


def test_the_margin_is_in_units_of_the_tolerated_fall() -> None:
    assert candidate("a", 0.5, (0.0, 0.0)).worst == pytest.approx(1.0)
    assert candidate("a", 0.5, (0.0, 0.0), (-0.1, 0.0)).worst == pytest.approx(0.0)
    assert candidate("a", 0.5).worst == 1.0
    strict = Constraint(name="c", task="t", change=interval(-0.2, 0.0), least=-0.0)
    assert strict.margin == pytest.approx(-0.2)


def test_the_reason_says_why_a_better_one_does_not_come_first() -> None:
    choice = rank([candidate("early", 0.4, (0.0, 0.05)), candidate("late", 0.7, (-0.4, 0.1))])
    assert choice.ranked[0].policy == "early"
    assert choice.reason.startswith("Continue from early: target success 0.40 [0.35, 0.45]")
    assert "late succeeds more often (0.70 [0.65, 0.75]) but breaks c0 on later" in choice.reason
    unsure = rank([candidate("early", 0.4, (0.0, 0.3)), candidate("late", 0.7, (-0.2, 0.3))])
    assert "not shown either way: c0 on later" in unsure.reason
    assert "late succeeds more often (0.70 [0.65, 0.75]) but may break c0" in unsure.reason


def test_where_all_break_something_that_is_said() -> None:
    choice = rank([candidate("a", 0.4, (-0.5, 0.1)), candidate("b", 0.6, (-0.6, 0.1))])
    assert choice.ranked[0].policy == "b"
    assert choice.reason.startswith("No checkpoint keeps all constraints. b comes first")


def test_equal_ones_stay_in_order_and_an_unknown_target_is_last() -> None:
    unknown = Candidate(policy="x", target=Estimate(value=None), constraints=())
    choice = rank([unknown, candidate("a", 0.4), candidate("b", 0.4)])
    assert [one.policy for one in choice.ranked] == ["a", "b", "x"]


def test_nothing_to_rank_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no checkpoint"):
        rank([])
