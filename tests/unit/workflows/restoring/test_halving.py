"""Halving on a known truth, its budget, and that nothing uncertified is ever chosen."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardable.errors import ConfigError
from rewardable.metrics import non_inferiority, paired_interval
from rewardable.workflows.restoring.halving import (
    FINALISTS,
    Schedule,
    Standing,
    choose,
    halve,
    plan_rungs,
)

MARGIN = 0.01


@dataclass
class World:
    """Candidates with a known change of objective and of pass@1; the same noise on each prompt."""

    truth: dict[str, tuple[float, float]]
    noise: float = 0.05
    seed: int = 0
    visits: int = 0

    def look(self, name: str, count: int) -> Standing:
        rng = random.Random(self.seed)
        shared = [rng.gauss(0, 0.1) for _ in range(count)]
        own = random.Random(f"{self.seed} {name}")
        gain, change = self.truth[name]
        rows = [(own.gauss(0, self.noise), own.gauss(0, self.noise / 5)) for _ in range(count)]
        base = [0.3 + s for s in shared]
        lifted = [0.3 + s + gain + a for s, (a, _) in zip(shared, rows, strict=True)]
        kept = [0.5 + s + change + b for s, (_, b) in zip(shared, rows, strict=True)]
        return Standing(
            name=name,
            n_prompts=count,
            gain=paired_interval(base, lifted, bounds=(-2, 2)),
            kept=non_inferiority([0.5 + s for s in shared], kept, MARGIN, bounds=(-2, 2)),
        )


def truth(count: int) -> dict[str, tuple[float, float]]:
    """More gain costs more pass@1; the best within the margin is c10."""
    return {f"c{i:02}": (0.02 * i, -0.002 * i**2 / 20) for i in range(count)}


def test_halving_finds_what_the_full_grid_finds_for_less():
    world = World(truth=truth(24))
    schedule = plan_rungs(24, 128, 0.3)
    found = halve(sorted(world.truth), schedule, world.look)
    full = [world.look(name, 128) for name in world.truth]
    assert (
        choose([found.last[n] for n in found.finalists], MARGIN).name == choose(full, MARGIN).name
    )
    assert found.visits <= 0.3 * 24 * 128
    assert found.visits == schedule.visits


@pytest.mark.parametrize("seed", range(12))
def test_the_winner_is_good_whatever_the_noise(seed: int):
    world = World(truth=truth(24), seed=seed)
    found = halve(sorted(world.truth), plan_rungs(24, 128, 0.3), world.look)
    name = choose([found.last[n] for n in found.finalists], MARGIN).name
    assert name is not None
    gain, change = world.truth[name]
    assert change > -0.015
    assert gain >= 0.14


@settings(deadline=None)
@given(st.integers(24, 200), st.integers(64, 512))
def test_schedules_keep_to_the_share_and_grow(candidates: int, prompts: int):
    schedule = plan_rungs(candidates, prompts, 0.4)
    assert schedule.share <= 0.4
    assert schedule.rungs[0].entrants == candidates
    assert schedule.rungs[-1].prompts == prompts
    sizes = [rung.prompts for rung in schedule.rungs]
    assert sizes == sorted(set(sizes))
    assert all(rung.entrants >= FINALISTS for rung in schedule.rungs)


def test_a_share_out_of_reach_gives_the_cheapest_schedule_and_says_so():
    schedule = plan_rungs(3, 64, 0.1)
    assert schedule.share > 0.1
    assert isinstance(schedule, Schedule)
    with pytest.raises(ConfigError):
        plan_rungs(0, 64, 0.3)


def test_the_best_protected_candidate_goes_on_to_the_end():
    world = World(truth={**truth(20), "plain a": (-0.1, 0.0), "plain b": (-0.2, 0.0)})
    names = sorted(world.truth)
    found = halve(names, plan_rungs(22, 128, 0.3), world.look, protect=("plain a", "plain b"))
    assert "plain a" in found.finalists
    assert "plain b" not in found.finalists


def test_a_candidate_without_a_standing_leaves():
    world = World(truth=truth(12))
    found = halve(
        sorted(world.truth),
        plan_rungs(12, 64, 0.5),
        lambda name, count: None if name == "c08" else world.look(name, count),
    )
    assert "c08" not in found.last
    assert found.finalists


changes = st.lists(
    st.tuples(st.floats(-0.3, 0.3), st.floats(-0.2, 0.2), st.floats(0.01, 0.5)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(changes, st.floats(0.005, 0.1), st.integers(2, 48))
def test_nothing_is_chosen_that_is_not_certified(rows, margin: float, count: int):
    finals = []
    for i, (gain, change, spread) in enumerate(rows):
        rng = random.Random(f"{i} {gain}")
        before = [rng.uniform(0.3, 0.7) for _ in range(count)]
        after = [min(1.0, max(0.0, b + change + rng.gauss(0, spread))) for b in before]
        lifted = [min(1.0, max(0.0, b + gain)) for b in before]
        finals.append(
            Standing(
                name=str(i),
                n_prompts=count,
                gain=paired_interval(before, lifted, bounds=(0.0, 1.0)),
                kept=non_inferiority(before, after, margin, bounds=(0.0, 1.0)),
            )
        )
    choice = choose(finals, margin)
    assert choice.margin >= margin
    assert choice.widened == (choice.margin > margin)
    if choice.name is None:
        return
    kept = finals[int(choice.name)].kept
    assert kept.low > -choice.margin
    assert kept.difference > -margin
    if not choice.widened:
        assert kept.certified


def test_a_certified_loser_does_not_win_over_a_gain():
    world = World(truth={"gain": (0.2, 0.0), "loss": (-0.2, 0.05), "costly": (0.5, -0.2)})
    finals = [world.look(name, 200) for name in world.truth]
    assert choose(finals, MARGIN).name == "gain"
    assert choose(finals[1:], MARGIN).name is None
    assert choose([], MARGIN).name is None
